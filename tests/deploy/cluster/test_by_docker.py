"""Containers, with a `docker` that writes down what it is told; the real engine is asked in tests/compose."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest
import yaml

from deploy.cluster import docker as by_docker
from deploy.cluster.docker import COMPOSE_FILE, ByDocker, compose, composed
from deploy.cluster.errors import ChildCrashError, ClusterError
from deploy.cluster.launch import Plan
from deploy.cluster.runtimes import runtime_of
from deploy.cluster.services import EdgeOptions, ModelEndpoint
from deploy.cluster.state import ClusterState, Member, StateDir

BASE = yaml.safe_load(COMPOSE_FILE.read_text())
DOCKER = """#!/bin/sh
echo "$*" >> "$0.log"
case "$*" in
  *"ps --all --quiet") echo one; echo two ;;
  inspect*) cat "$0.facts" ;;
  *"setup key") echo dgk_abc ;;
  *ca.pem) echo PEM ;;
  *" logs "*) echo "the last words" ;;
  *" build") echo "Step 1" ;;
  "volume ls"*) cat "$0.volumes" ;;
  *" pause "*) echo "Pausing"; echo "ERROR: No such service" >&2; echo "that was it" >&2; exit 1 ;;
esac
"""


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    script = tmp_path / "bin" / "docker"
    script.parent.mkdir()
    script.write_text(DOCKER)
    script.chmod(0o755)
    Path(f"{script}.facts").write_text("cloud true 0 0 healthy\nedge-ward true 0 0 healthy\nmodel true 0 0 starting\n")
    Path(f"{script}.volumes").write_text("p_cloud cloud\np_edge-ward edge-ward\np_edge-bank edge-bank\n")
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")
    return script


@pytest.fixture
def runtime(docker: Path, tmp_path: Path) -> ByDocker:
    return ByDocker(StateDir(tmp_path / "state"))


def told(docker: Path) -> list[str]:
    """What compose was told, without the words that say which project."""
    lines = Path(f"{docker}.log").read_text().splitlines()
    return [line.partition(f"--project-directory {COMPOSE_FILE.parent} ")[2] for line in lines if "--project-directory" in line]


def start(runtime: ByDocker, **plan):
    with httpx2.Client() as http:
        return runtime.start(Plan(("ward", "bank"), **plan), http, lambda *_: None)


def of(file, service):
    return file["services"][service]


def test_each_edge_is_a_service_with_its_own_volume_id_and_port():
    file = composed(BASE, {"ward": 81, "bank": 82}, cloud_port=80, options=EdgeOptions(0.5, "model"), model="small")
    ward, bank = of(file, "edge-ward"), of(file, "edge-bank")
    assert (ward["ports"], bank["ports"], of(file, "cloud")["ports"]) == (
        ["127.0.0.1:81:8100"],
        ["127.0.0.1:82:8100"],
        ["127.0.0.1:80:8099"],
    )
    assert (ward["environment"]["DGRAG_EDGE_ID"], ward["environment"]["DGRAG_EDGE_EXTRACTION_SHARE"]) == ("ward", "0.5")
    assert ward["volumes"][0] == "edge-ward:/state"
    assert {"edge-ward", "edge-bank"} <= set(file["volumes"])
    assert "edges" not in file["volumes"]
    assert ward["volumes"][1:] == of(BASE, "edge")["volumes"][1:]
    assert (of(file, "enrol")["command"], ward["command"]) == (["enrol", "ward", "bank"], ["edge"])
    assert "edge" not in file["services"]
    assert ("build" in ward, "build" in bank) == (True, False)
    assert of(file, "model")["command"][:2] == ["model", "small"]


def test_the_file_of_the_project_is_not_touched():
    before = json.dumps(BASE)
    composed(BASE, {"ward": 81}, cloud_port=80, options=EdgeOptions(), model="small")
    assert json.dumps(BASE) == before


def test_a_model_server_of_somebody_else_takes_the_place_of_the_own_one():
    file = composed(BASE, {"ward": 81}, cloud_port=80, options=EdgeOptions(), model=ModelEndpoint("http://gpu:8000/v1", "big"))
    assert "model" not in file["services"]
    assert of(file, "cloud")["environment"]["DGRAG_MODEL_URL"] == "http://gpu:8000/v1"
    assert of(file, "edge-ward")["environment"]["DGRAG_MODEL_NAME"] == "big"


def test_the_key_of_a_model_server_is_a_secret_and_in_no_environment(runtime: ByDocker, docker: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DGRAG_MODEL_API_KEY", "s3cret")
    start(runtime, model="http://gpu:8000/v1")
    written = (runtime.directory.root / "compose.json").read_text()
    services = json.loads(written)["services"]
    for name in ("cloud", "edge-ward", "edge-bank"):
        environment = services[name]["environment"]
        assert (environment.get("DGRAG_MODEL_API_KEY"), environment["DGRAG_MODEL_URL"]) == (None, "http://gpu:8000/v1")
        assert services[name]["secrets"] == ["model_key"]
    assert "s3cret" not in written
    secret = Path(json.loads(written)["secrets"]["model_key"]["file"])
    assert secret.read_text() == "s3cret"
    assert secret.parent.stat().st_mode & 0o077 == 0


def test_a_new_site_shares_summaries_where_nobody_chose_whatever_the_demonstration_does():
    shares = []
    for options in (EdgeOptions(), EdgeOptions(share="full")):
        file = composed(BASE, {"ward": 81}, cloud_port=80, options=options, model="small")
        shares.append(file["services"]["edge-ward"]["environment"]["DGRAG_EDGE_SHARE"])
    assert shares == ["summary", "full"]


def test_all_edges_are_found_by_the_one_name_that_a_scaled_one_has():
    file = composed(BASE, {"ward": 81, "bank": 82}, cloud_port=80, options=EdgeOptions(), model="small")
    for name in ("edge-ward", "edge-bank"):
        assert of(file, name)["networks"] == {"site": {"aliases": ["edge"]}, "link": {"aliases": ["edge"]}}


def test_a_start_builds_starts_and_keeps_key_and_authority_for_this_user(runtime: ByDocker, docker: Path):
    services = start(runtime)
    assert [service.name for service in services] == ["ward", "bank"]
    assert told(docker)[:2] == ["build", "up --detach"]
    assert runtime.directory.key_file.read_text() == "dgk_abc\n"
    assert runtime.directory.authority.read_text() == "PEM\n"
    assert runtime.directory.key_file.stat().st_mode & 0o077 == 0
    assert [member.name for member in runtime.state.members] == ["standard", "cloud", "ward", "bank"]
    assert isinstance(runtime_of(runtime.directory), ByDocker)
    assert runtime.is_up()


def test_a_stop_takes_the_containers_down_and_forgets_the_key(runtime: ByDocker, docker: Path):
    start(runtime)
    assert [member.name for member in runtime.stop()] == ["standard", "cloud", "ward", "bank"]
    assert told(docker)[-1] == "down"
    assert not runtime.directory.key_file.exists()
    assert runtime.state == ClusterState(runtime="docker")


def test_the_edges_that_have_a_volume_are_known_for_the_next_start(runtime: ByDocker):
    assert runtime.known_edges() == ["bank", "ward"]


def test_sites_keep_their_ports_and_their_order_when_they_start_again(runtime: ByDocker):
    before = {service.name: service.url for service in start(runtime)}
    runtime.stop()
    assert runtime.known_edges() == ["ward", "bank"]
    with httpx2.Client() as http:
        again = runtime.start(Plan(("bank", "attic", "ward")), http, lambda *_: None)
    assert {service.name: service.url for service in again if service.name != "attic"} == before


def test_a_purge_takes_the_volumes_also_of_edges_that_the_last_start_left_out(runtime: ByDocker, docker: Path):
    start(runtime)
    runtime.stop()
    runtime.purge()
    assert told(docker)[-1] == "down --volumes"
    assert Path(f"{docker}.log").read_text().splitlines()[-1] == "volume rm p_cloud p_edge-ward p_edge-bank"


def test_without_containers_a_purge_asks_no_engine(runtime: ByDocker, docker: Path):
    runtime.purge()
    assert not Path(f"{docker}.log").exists()


def test_how_the_build_goes_can_be_read_while_it_goes(runtime: ByDocker, docker: Path):
    heard: list[str] = []
    runtime = ByDocker(runtime.directory, heard.append)
    start(runtime)
    log = runtime.directory.log("images")
    assert str(log) in heard[0]
    assert log.read_text() == "Step 1\n"
    docker.write_text(DOCKER.replace('echo "Step 1"', "echo error: no space; exit 1"))
    with pytest.raises(ClusterError, match="compose build failed: error: no space"):
        start(runtime)


def test_the_model_server_that_only_containers_reach_is_ready_when_it_is_healthy(runtime: ByDocker, docker: Path):
    start(runtime)
    model, cloud, *_ = runtime.state.members
    assert (runtime.is_ready(model), runtime.is_ready(cloud)) == (False, None)
    facts = Path(f"{docker}.facts")
    facts.write_text(facts.read_text().replace("starting", "healthy"))
    assert runtime.is_ready(model) is True


def test_an_edge_whose_volume_is_lost_is_invited_anew_where_the_cloud_may_know_it(runtime: ByDocker, docker: Path):
    def enrolled():
        start(runtime)
        return json.loads((runtime.directory.root / "compose.json").read_text())["services"]["enrol"]["command"]

    volumes = Path(f"{docker}.volumes")
    assert enrolled() == ["enrol", "ward", "bank"]
    volumes.write_text("p_cloud cloud\np_edge-ward edge-ward\n")
    assert enrolled() == ["enrol", "ward", "again", "bank"]
    volumes.write_text("p_edge-ward edge-ward\n")  # a cloud that is new knows nobody
    assert enrolled() == ["enrol", "ward", "bank"]


def test_a_container_that_crashed_is_told_with_its_last_words(runtime: ByDocker, docker: Path):
    start(runtime)
    Path(f"{docker}.facts").write_text("setup false 0 0 unasked\nedge-ward true 1 0 healthy\n")
    with pytest.raises(ChildCrashError) as caught:
        runtime.check()
    assert (caught.value.message, caught.value.tail) == ("edge-ward ended, and was started again", "the last words")
    assert runtime.directory.log("edge-ward").read_text() == "the last words\n"  # the container will be gone


def test_a_service_that_has_done_its_work_is_no_crash(runtime: ByDocker, docker: Path):
    start(runtime)
    Path(f"{docker}.facts").write_text("setup false 0 0 unasked\nedge-ward true 0 137 healthy\n")
    runtime.check()


def test_watch_returns_when_nothing_runs(runtime: ByDocker, docker: Path, monkeypatch: pytest.MonkeyPatch):
    start(runtime)
    told_of: list[str] = []
    later = iter(["edge-ward true 1 0 healthy", "edge-ward false 1 0 healthy"])
    monkeypatch.setattr(by_docker.time, "sleep", lambda _: Path(f"{docker}.facts").write_text(next(later)))
    Path(f"{docker}.facts").write_text("edge-ward true 0 0 healthy")
    runtime.watch(told_of.append)
    assert told_of == ["edge-ward was started again"]


def test_one_that_was_killed_by_hand_is_started_by_hand(runtime: ByDocker, docker: Path):
    runtime.inflict("kill", Member("edge", "ward", "http://e"))
    runtime.inflict("resume", Member("cloud", "cloud", "https://c"))
    assert told(docker) == ["kill edge-ward", "start edge-ward", "unpause cloud"]


def test_what_fails_is_told_by_the_line_that_says_why(runtime: ByDocker):
    with pytest.raises(ClusterError, match="docker failed: ERROR: No such service"):
        runtime.inflict("pause", Member("edge", "ward", "http://e"))


def test_a_model_server_of_this_machine_alone_is_refused_before_anything_starts(runtime: ByDocker, docker: Path):
    with pytest.raises(ClusterError, match=r"a container does not reach http://127\.0\.0\.1"):
        start(runtime, model="http://127.0.0.1:8000/v1")
    assert not runtime.directory.file.exists()
    assert runtime.stop() == []


def test_without_compose_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match="Docker Compose is not installed"):
        compose()


def test_two_state_folders_are_two_projects(docker: Path, tmp_path: Path):
    for name in ("one", "two"):
        ByDocker(StateDir(tmp_path / name)).inflict("restart", Member("cloud", "cloud", "https://c"))
    projects = {line.split()[2] for line in Path(f"{docker}.log").read_text().splitlines() if "--project-name" in line}
    assert len(projects) == 2


def test_one_cloud_runs_whatever_profile_the_project_names_and_nothing_of_several():
    services = composed(BASE, {"ward": 8110}, cloud_port=8099, options=EdgeOptions(), model="standard")["services"]
    assert not {"clouds", "database", "proxy", "sites"} & set(services)
    assert [name for name in ("setup", "cloud", "enrol", "edge-ward") if "profiles" in services[name]] == []
