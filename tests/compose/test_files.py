"""What no linter says of the Dockerfiles and of docker-compose.yml; each service is closed, small and reached from this machine only."""

import os
import re
import shutil
import subprocess

import pytest
import yaml

from cloud_server.settings import CloudSettings
from deploy.container.__main__ import ACTIONS
from deploy.environment import FILES, FOLDER
from tests.conftest import ROOT

DOCKERFILES = sorted((ROOT / "deploy" / "docker").glob("*.Dockerfile"))
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("dgrag-")}
CALLERS = ("cloud", "edge", "clouds", "sites")  # of models
VLLM = ("vllm-edge", "vllm-cloud")
DOTENV = (ROOT / ".env").read_text()
VARIABLE = re.compile(r"\$\{([A-Z_]+)(?::-([^}]*))?\}")


def head(path):
    """Up to the first line that is its service's own."""
    return path.read_text().partition("COPY deploy/docker/")[0]


def test_there_is_an_image_for_each_of_ours():
    assert [path.name for path in DOCKERFILES] == ["cloud.Dockerfile", "edge.Dockerfile", "model.Dockerfile"]
    assert {service["image"] for service in OURS.values()} == {
        f"dgrag-{name}:${{DGRAG_VERSION:-local}}" for name in ("cloud", "edge", "model")
    }


def test_the_dockerfiles_begin_alike_so_that_they_share_layers():
    assert len({head(path) for path in DOCKERFILES}) == 1
    assert len(head(DOCKERFILES[0]).splitlines()) > 5


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.stem)
def test_a_dockerfile_needs_no_buildkit_and_ends_without_root(path):
    text = path.read_text()
    assert not re.search(r"--mount|^# *syntax|<<", text, re.MULTILINE)
    assert re.findall(r"^FROM (\S+)", text, re.MULTILINE) == ["${PYTHON_IMAGE}", "base", "base"]
    assert re.findall(r"^ARG (\S+)", text, re.MULTILINE) == ["PYTHON_IMAGE=python:3.11-slim-bookworm"]
    assert text.rpartition("FROM base\n")[2].count("USER 10001:10001") == 1


def test_the_compose_file_suits_the_old_and_the_new_compose():
    assert "version" not in COMPOSE
    assert "name" not in COMPOSE  # 1.29 refuses it
    assert not [name for name, service in SERVICES.items() if "container_name" in service or "extends" in service]
    assert not [
        name
        for name, service in SERVICES.items()
        for needed in service.get("depends_on", {})
        if not set(service.get("profiles", ["none"])) <= set(SERVICES[needed].get("profiles", service.get("profiles", ["none"])))
    ]  # a service of a profile that is off is "undefined"


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_published_on_this_machine_only(name):
    assert all(str(port).startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))


@pytest.mark.parametrize("name", OURS)
def test_a_service_of_ours_may_do_little(name):
    service = OURS[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"user", "privileged", "cap_add", "pid"} & set(service)
    assert not [volume for volume in service["volumes"] if "docker.sock" in volume or volume.startswith((".", "/"))]


@pytest.mark.parametrize("name", ["vllm-edge", "vllm-cloud"])
def test_a_model_server_of_somebody_else_has_no_capabilities(name):
    assert SERVICES[name]["cap_drop"] == ["ALL"]
    assert SERVICES[name]["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.stem)
def test_an_image_installs_by_hash(path):
    name = path.stem
    assert f"--require-hashes --requirement {name}.lock" in path.read_text()
    lock = (ROOT / "deploy" / "docker" / f"{name}.lock").read_text()
    assert lock.count("--hash=sha256:") >= lock.count("==") > 20
    assert "://" not in lock


@pytest.mark.parametrize("name", ["cloud", "edge", "model", "clouds", "sites", "database", "proxy"])
def test_a_service_that_stays_has_limits_and_a_health_check(name):
    assert {"mem_limit", "cpus", "healthcheck"} <= set(SERVICES[name])


@pytest.mark.parametrize("name", ["cloud", "edge", "clouds", "sites"])
def test_healthy_is_who_can_be_asked(name):
    """In safe mode, and while caches are built, /health is 200 and /ready is not."""
    urls = [word for word in SERVICES[name]["healthcheck"]["test"] if word.startswith("http")]
    assert len(urls) == 1
    assert urls[0].endswith("/ready")


def test_the_two_large_models_have_a_gpu_each():
    found = [SERVICES[name]["deploy"]["resources"]["reservations"]["devices"] for name in ("vllm-edge", "vllm-cloud")]
    (edge,), (cloud,) = ([VARIABLE.fullmatch(gpu)[2] for device in devices for gpu in device["device_ids"]] for devices in found)
    assert edge != cloud
    assert not [device for devices in found for device in devices if "count" in device]  # so many, from the first on: the same for both


@pytest.mark.parametrize("name", OURS)
def test_commands_are_words_that_a_container_knows(name):
    assert OURS[name]["command"][0] in ACTIONS


def test_an_edge_meets_the_cloud_on_a_network_of_its_own():
    """That one can be cut while the published port goes on; a service on internal networks alone would publish none."""
    assert COMPOSE["networks"]["link"] == {"internal": True}
    assert set(SERVICES["edge"]["networks"]) & set(SERVICES["cloud"]["networks"]) == {"link"}
    assert set(SERVICES["edge"]["networks"]) - {"link"}
    assert set(SERVICES["cloud"]["networks"]) - {"link"}


def test_several_clouds_are_reached_through_the_proxy_alone_and_their_database_by_them_alone():
    on = {
        network: {name for name, service in SERVICES.items() if network in service.get("networks", ())} for network in COMPOSE["networks"]
    }
    assert on["store"] == {"database", "clouds-setup", "clouds"}
    assert on["front"] == {"proxy", "clouds"}
    assert on["link"] == {"cloud", "edge", "enrol", "proxy", "clouds-enrol", "sites"}
    assert [name for name in ("front", "store") if COMPOSE["networks"][name] != {"internal": True}] == []
    assert SERVICES["proxy"]["networks"]["link"] == {"aliases": ["cloud"]}  # as edges call it
    assert SERVICES["clouds"]["ports"] == []


def test_secrets_stay_where_they_are_needed():
    """Tokens: setup and enrol. The cloud's private key: setup and the cloud. An edge holds its own alone, with the other replicas."""
    holders = {
        volume: {name for name, service in SERVICES.items() for mount in service["volumes"] if mount.startswith(f"{volume}:")}
        for volume in ("keys", "cloud", "edges", "invitations", "database", "proxy")
    }
    assert holders == {
        "keys": {"setup", "enrol", "clouds-setup", "clouds-enrol"},
        "cloud": {"setup", "cloud", "clouds-setup", "clouds"},
        "edges": {"edge", "sites"},
        "invitations": {"enrol", "edge", "clouds-enrol", "sites"},
        "database": {"database-secrets", "database", "clouds-setup", "clouds"},
        "proxy": {"clouds-setup", "proxy"},
    }
    assert "invitations:/invitations:ro" in SERVICES["edge"]["volumes"]


def test_every_model_server_is_called_model():
    servers = [SERVICES[name] for name in ("model", "vllm-edge", "vllm-cloud")]
    assert len(servers) == 3
    assert all(network["aliases"] == ["model"] for service in servers for network in service["networks"].values())
    assert all("standard" in service["command"] for service in servers[1:])


def test_each_variable_of_the_compose_file_stands_in_dotenv_with_its_default():
    asked = dict(VARIABLE.findall((ROOT / "docker-compose.yml").read_text()))
    told = dict(re.findall(r"^#(DGRAG_[A-Z_]+)=(.*)$", DOTENV, re.MULTILINE))
    assert told == asked


def test_settings_of_the_services_come_from_the_generated_files():
    used = {file for service in SERVICES.values() for file in service.get("env_file", [])}
    assert used == {f"deploy/compose/{name}" for name in [*FILES, "scale.env"]}
    assert [value for service in OURS.values() for value in service.get("environment", {}).values() if value is not None] == []


def test_a_key_is_a_secret_and_in_no_environment():
    """`docker inspect` shows the environment."""
    assert {name for name, service in SERVICES.items() if service.get("secrets")} == {*CALLERS, "model", *VLLM}
    assert not [name for name, service in SERVICES.items() if any("KEY" in variable for variable in service.get("environment", {}))]
    assert (ROOT / "deploy" / "compose" / "no-key").read_bytes() == b""
    assert not [name for name in FILES if re.search(r"^#?DGRAG_MODEL_API_KEY=", (FOLDER / name).read_text(), re.MULTILINE)]


@pytest.mark.parametrize("name", VLLM)
@pytest.mark.parametrize(("own", "key"), [("", "made by setup"), ("of a server of yours", "of a server of yours")])
def test_vllm_answers_those_alone_who_show_its_key_as_the_model_on_the_cpu_does(tmp_path, name, own, key):
    """The words of the file, with folders of this machine and a program that says what it was started with."""
    shell, flag, script, named = SERVICES[name]["entrypoint"]
    (tmp_path / "model.key").write_text("made by setup")
    (tmp_path / "secret").write_text(own)
    (tmp_path / "vllm").write_text('#!/bin/sh\nprintf "%s|" "$VLLM_API_KEY" "$@"\n')
    (tmp_path / "vllm").chmod(0o755)
    here = script.replace("$$", "$").replace("/run/secrets/model_key", f"{tmp_path}/secret").replace("/trust", str(tmp_path))
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([shell, flag, here, named, "Qwen", "--port", "8090"], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{key}|serve|Qwen|--port|8090|"
    assert {"trust:/trust:ro"} <= set(SERVICES[name]["volumes"])
    assert SERVICES[name]["group_add"] == ["10001"]


def test_every_image_can_be_named_with_its_digest():
    """`${…_IMAGE}` whole, or built here upon one that can: a tag may be another image tomorrow."""
    others = [service["image"] for name, service in SERVICES.items() if name not in OURS]
    built = [service["build"]["args"]["PYTHON_IMAGE"] for service in OURS.values() if "build" in service]
    assert {service["image"] for service in OURS.values()} == {service["image"] for service in OURS.values() if "build" in service}
    assert [image for image in [*others, *built] if not re.fullmatch(r"\$\{DGRAG_[A-Z]+_IMAGE:-[^}]+\}", image)] == []


def test_clouds_behind_the_proxy_count_its_clients_and_not_the_proxy():
    named = re.search("^DGRAG_CLOUD_TRUSTED_PROXIES=(.+)$", (FOLDER / "scale.env").read_text(), re.MULTILINE)[1]
    networks = CloudSettings(trusted_proxies=named).trusted_proxies
    assert all(network.is_private for network in networks)
    assert SERVICES["clouds"]["ports"] == []  # so nobody else can say who asks


@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("", 0)])
def test_a_check_that_is_left_out_is_an_error_in_ci_alone(tmp_path, ci, status):
    for name in ("bash", "dirname", "id"):
        (tmp_path / name).symlink_to(shutil.which(name))
    script = ROOT / "tests" / "compose" / "config.sh"
    done = subprocess.run([tmp_path / "bash", script], env={"PATH": str(tmp_path), "CI": ci}, capture_output=True, text=True)
    assert (done.returncode, "LEFT OUT" in done.stderr) == (status, True)


def test_an_image_gets_what_the_ignore_file_lists_and_nothing_else():
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert lines[0] == "*"
    assert {line for line in lines if line.startswith("!")} == {
        f"!{name}"
        for name in ("pyproject.toml", "constraints.txt", "README.md", "LICENSE", "NOTICE", "shared", "edge_node", "cloud_server", "deploy")
    }
