"""R9: the disk is full or broken for a while."""

import os

import pytest

from tests.faults.report import told

pytestmark = pytest.mark.process


@pytest.mark.usefixtures("strace")
def test_a_disk_that_fails_from_the_nth_write_on_costs_refusals_and_nothing_else():
    report = told("full_disk", 4)
    assert report.faults == []
    assert report.figures["refusals"] >= 1  # most faults are met by the background work
    assert report.figures["went on without a restart"] == 4  # the seed's first four points kill none of the edges


@pytest.mark.long
@pytest.mark.usefixtures("strace")
def test_a_disk_that_fails_from_the_nth_write_on_costs_nothing_at_many_more_points():
    assert told("full_disk", 500, "--seed", 8).faults == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root may mount a small disk")
def test_an_edge_on_a_disk_of_sixteen_megabytes_refuses_reads_on_and_goes_on():
    report = told("full_disk", 3, "--small-disk")
    assert report.faults == []
    assert report.figures["refusals"] > 0
