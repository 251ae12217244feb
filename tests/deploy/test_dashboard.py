"""The dashboard asks for metrics that the services have, and the scraper asks the services that the dashboard tells apart."""

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.support.both_services import SERVICES
from tests.support.metrics_pages import names_of

DEPLOY = Path(__file__).parents[2] / "deploy"
NOT_SHOWN = {"process_virtual_memory_bytes", "process_start_time_seconds", "process_open_fds", "process_max_fds"}


@pytest.fixture(scope="module")
def panels():
    return json.loads((DEPLOY / "grafana" / "dgrag.json").read_text(encoding="utf-8"))["panels"]


def expressions(panels):
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


def asked_for(panels):
    """The metrics of all expressions, histograms by their own name."""
    words = {word for text in expressions(panels) for word in re.findall(r"\b(?:dgrag|process)_\w+", text)}
    return {re.sub(r"(_seconds|_transfer_bytes)_(bucket|sum|count)$", r"\1", word) for word in words}


async def test_each_metric_is_shown_or_named_here_and_no_other_is_asked_for(tmp_path, panels):
    told = set()
    for name, service in SERVICES.items():
        async with service(tmp_path / name) as running:
            told |= names_of((await running.call("GET", "/metrics")).body)
    assert asked_for(panels) == told - NOT_SHOWN
    assert told > NOT_SHOWN


def test_panels_have_ids_of_their_own_and_no_two_stand_in_one_place(panels):
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) == 23


def test_the_scraper_has_the_jobs_that_the_dashboard_tells_apart(panels):
    scraped = yaml.safe_load((DEPLOY / "compose" / "prometheus.yml").read_text(encoding="utf-8"))["scrape_configs"]
    assert {job["job_name"] for job in scraped} == {"edge", "cloud", "vllm"}
    assert {job for text in expressions(panels) for job in re.findall(r'job="(\w+)"', text)} == {"edge", "cloud"}


def test_the_scraper_asks_services_that_the_compose_file_has():
    scraped = yaml.safe_load((DEPLOY / "compose" / "prometheus.yml").read_text(encoding="utf-8"))["scrape_configs"]
    services = yaml.safe_load((DEPLOY.parent / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    targets = {target for job in scraped for static in job.get("static_configs", ()) for target in static["targets"]}
    assert targets == {"cloud:8099", *(f"{name}:8090" for name in services if name.startswith("vllm-"))}
    names = {name for job in scraped for found in job.get("dns_sd_configs", ()) for name in found["names"]}
    assert names == {"edge"} & set(services)
