"""Fixtures of the edge's tests."""

import pytest

from tests.support.running_edge import running_edge


@pytest.fixture
async def edge(tmp_path):
    async with running_edge(tmp_path) as started:
        yield started
