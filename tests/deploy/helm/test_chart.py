"""The Helm chart, rendered by Helm's own engine: what it makes is what a cluster takes, closed, and as it is in ``golden``.

After an intended change ``python -m tests.deploy.helm.record`` writes the golden files anew.
"""

import copy
import hashlib
import json
import re

import pytest
import yaml
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from pydantic import TypeAdapter

from cloud_server.database.letters import CONNECTIONS
from deploy.container.first_start import KnownKey
from shared.http.keyring import TOKEN
from tests.conftest import ROOT

helm = pytest.importorskip("helm_python")
kubernetes_validate = pytest.importorskip("kubernetes_validate")

CHART = ROOT / "deploy" / "helm" / "dgrag"
GOLDEN = ROOT / "tests" / "deploy" / "helm" / "golden"
VERSIONS = ("1.30", "1.34", "1.37")  # of Kubernetes
OTHERS = {"Certificate", "ServiceMonitor"}  # of cert-manager and the Prometheus operator: their schemas are not Kubernetes's
SMALL = {"secrets": {"existing": "dgrag-secrets"}, "model": {"url": "http://model:8090/v1"}}
MONITORING = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
FULL = {
    **SMALL,
    "model": {"secret": "model-key"},
    "cloud": {"autoscaling": {"min": 4}, "env": {"DGRAG_CLOUD_MATCH_M": "8"}},
    "postgresql": {"bundled": False, "external": {"cidr": "10.0.0.7/32"}},
    "tls": {"issuer": {"name": "private", "kind": "ClusterIssuer"}},
    "vllm": {"enabled": True, "nodeSelector": {"gpu": "a100"}},
    "monitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "networkPolicy": {"monitoring": MONITORING},
}
VALUES = {"small": SMALL, "full": FULL}


def rendered(values):
    """The text of each template, by its file's name."""
    with helm.Chart.load(CHART) as chart:
        texts = chart.render(values, name="dgrag", namespace="dgrag")
    return {name.rpartition("/")[2]: text for name, text in texts.items() if text.strip()}


def objects(values):
    texts = rendered(values)
    return [one for name in sorted(texts) if name.endswith(".yaml") for one in yaml.safe_load_all(texts[name]) if one]


def golden(values):
    """What stands in a golden file: all objects, without the templates' comments and order of keys."""
    return yaml.safe_dump_all(objects(values), width=140)


def of(found, kind, name):
    return next(one for one in found if (one["kind"], one["metadata"]["name"]) == (kind, name))


def pods(found):
    return {one["metadata"]["name"]: one["spec"]["template"]["spec"] for one in found if one["kind"] in ("Deployment", "StatefulSet")}


@pytest.mark.parametrize("name", VALUES)
def test_the_chart_makes_what_it_made(name):
    assert golden(VALUES[name]) == (GOLDEN / f"{name}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", VALUES)
def test_kubernetes_takes_each_object_and_knows_each_of_its_fields(name, version):
    known = [one for one in objects(VALUES[name]) if one["kind"] not in OTHERS]
    assert len(known) > 8
    for one in known:
        kubernetes_validate.validate(one, version, strict=True)


def test_a_field_that_kubernetes_does_not_know_is_found():
    broken = copy.deepcopy(of(objects(SMALL), "Deployment", "dgrag-cloud"))
    broken["spec"]["template"]["spec"]["containers"][0]["imagePullPolice"] = "Always"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, VERSIONS[-1], strict=True)


def test_helm_finds_nothing_to_say_against_it_but_the_missing_picture():
    found = helm.lint(CHART, SMALL, strict=True)
    assert [message["error"] for message in found["messages"]] == ["icon is recommended"]


@pytest.mark.parametrize(
    "values",
    [
        {"cloud": {"replica": 5}},
        {"cloud": {"env": {"PATH": "/"}}},
        {"cloud": {"autoscaling": {"min": 0}}},
        {"model": {"url": ""}},
        {"postgresql": {"bundled": False}, "secrets": {"existing": ""}},
    ],
)
def test_values_that_cannot_be_meant_are_refused(values):
    with pytest.raises(helm.HelmError):
        rendered({**SMALL, **values})


@pytest.mark.parametrize("name", VALUES)
def test_a_container_of_ours_may_do_little(name):
    for pod in pods(objects(VALUES[name])).values():
        assert pod["automountServiceAccountToken"] is False
        for container in [*pod.get("initContainers", ()), *pod["containers"]]:
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            if container["name"] != "vllm":
                assert container["securityContext"]["readOnlyRootFilesystem"] is True
                assert pod["securityContext"]["runAsNonRoot"] is True


def test_no_secret_stands_in_an_environment():
    words = re.compile("KEY|PASSWORD|TOKEN|SECRET|URL$")
    for pod in pods(objects(FULL)).values():
        for container in pod["containers"]:
            for variable in container.get("env", ()):
                if words.search(variable["name"]) and not variable["name"].endswith("_FILE"):
                    assert "valueFrom" in variable or variable["value"].startswith(("http", "/"))


def test_who_holds_which_secret():
    """The clouds: their key. Nobody: tokens. An edge: hashes of two keys, and no operator's."""
    found = pods(objects(SMALL))
    cloud = next(volume["secret"] for volume in found["dgrag-cloud"]["volumes"] if volume["name"] == "secrets")
    assert {item["key"] for item in cloud["items"]} == {"cloud.key", "cloud-keys.json", "database-url"}
    trust = next(volume["projected"]["sources"] for volume in found["dgrag-edge"]["volumes"] if volume["name"] == "trust")
    assert {item["key"] for source in trust for item in source["secret"]["items"]} == {"ca.crt", "edge-keys.json"}
    database = next(volume["secret"] for volume in found["dgrag-postgresql"]["volumes"] if volume["name"] == "secrets")
    assert {item["key"] for item in database["items"]} == {"database-password"}


@pytest.mark.parametrize("name", VALUES)
def test_each_pod_has_a_network_policy_and_only_clouds_reach_the_database(name):
    found = objects(VALUES[name])
    policies = {
        one["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"]: one["spec"]
        for one in found
        if one["kind"] == "NetworkPolicy"
    }
    parts = {pod["metadata"]["labels"]["app.kubernetes.io/component"] for pod in found if pod["kind"] in ("Deployment", "StatefulSet")}
    assert set(policies) == parts
    if "postgresql" in policies:
        (rule,) = policies["postgresql"]["ingress"]
        assert [peer["podSelector"]["matchLabels"]["app.kubernetes.io/component"] for peer in rule["from"]] == ["cloud"]
        assert policies["postgresql"]["egress"] == []
    edges = [peer for rule in policies["edge"]["ingress"] for peer in rule["from"]]
    assert edges == (MONITORING if name == "full" else [])


DNS = {
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
    "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
}


def leaving(values, part):
    """(port, peers) of each way out of a part's pods."""
    policy = of(objects(values), "NetworkPolicy", f"dgrag-{part}")
    return [(rule["ports"][0]["port"], rule.get("to")) for rule in policy["spec"]["egress"]]


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("part", ["cloud", "edge"])
def test_no_pod_of_ours_reaches_any_address_but_those_that_are_named(name, part):
    ways = leaving(VALUES[name], part)
    assert ways[0] == (53, [DNS])
    assert len(ways) == 3
    for port, peers in ways:
        assert peers, f"port {port} leads anywhere"
        assert not [peer for peer in peers if peer.get("ipBlock", {}).get("cidr") in ("0.0.0.0/0", "::/0")]


@pytest.mark.parametrize(
    ("url", "port", "peer"),
    [
        ("http://10.1.2.3:8000/v1", 8000, {"ipBlock": {"cidr": "10.1.2.3/32"}}),
        ("http://[fd00::7]:8000/v1", 8000, {"ipBlock": {"cidr": "fd00::7/128"}}),
        ("http://model/v1", 80, {"podSelector": {}}),
        ("http://llm.models:8000/v1", 8000, {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "models"}}}),
        ("https://llm.models.svc/v1", 443, {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "models"}}}),
        ("http://llm.models.svc.cluster.local:8/v1", 8, {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "models"}}}),
    ],
)
def test_the_way_to_the_model_ends_at_the_address_or_the_namespace_of_its_url(url, port, peer):
    for part in ("cloud", "edge"):
        assert leaving({**SMALL, "model": {"url": url}}, part)[-1] == (port, [peer])


def test_of_a_name_over_tls_that_may_be_the_worlds_the_chart_says_how_a_service_is_called():
    with pytest.raises(helm.HelmError, match=r"llm\.models is a name outside .* NAME\.NAMESPACE\.svc"):
        rendered({**SMALL, "model": {"url": "https://llm.models/v1"}})


def test_a_model_outside_of_the_cluster_and_a_database_of_yours_are_named_by_their_addresses():
    outside = {**SMALL, "model": {"url": "https://api.example.com/v1"}}
    with pytest.raises(helm.HelmError, match=r"networkPolicy\.model"):
        rendered(outside)
    block = {"ipBlock": {"cidr": "203.0.113.0/24"}}
    assert leaving({**outside, "networkPolicy": {"model": [block]}}, "edge")[-1] == (443, [block])
    assert rendered({**outside, "networkPolicy": {"enabled": False}})
    with pytest.raises(helm.HelmError, match=r"postgresql\.external\.cidr: .* postgresql\.external\.peers"):
        rendered({**SMALL, "postgresql": {"bundled": False}})
    assert rendered({**SMALL, "postgresql": {"bundled": False}, "networkPolicy": {"enabled": False}})


DATABASES = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "databases"}}}


def test_a_database_of_yours_in_this_cluster_is_named_by_its_namespace():
    values = {**SMALL, "postgresql": {"bundled": False, "external": {"peers": [DATABASES], "port": 6432}}}
    assert (6432, [DATABASES]) in leaving(values, "cloud")
    with pytest.raises(helm.HelmError):  # it would be everybody
        rendered({**SMALL, "postgresql": {"bundled": False, "external": {"peers": [{}]}}})


def settings_and_secrets(values):
    """Of the cloud: what its environment says, and which keys of the Secret it sees."""
    cloud = pods(objects(values))["dgrag-cloud"]
    mounted = next(volume["secret"]["items"] for volume in cloud["volumes"] if volume["name"] == "secrets")
    environment = {one["name"]: one.get("value") for one in cloud["containers"][0]["env"]}
    return environment, {f"/secrets/{item['path']}" for item in mounted if item["key"] == item["path"]}


def test_clouds_behind_a_pooler_hear_from_each_other_by_a_url_of_the_secret_that_leads_to_postgresql_itself():
    external = {"peers": [DATABASES], "port": 6432, "notices": {"enabled": True, "cidr": "10.0.0.7/32"}}
    values = {**SMALL, "postgresql": {"bundled": False, "external": external}}
    environment, mounted = settings_and_secrets(values)
    assert environment["DGRAG_CLOUD_NOTICES_URL_FILE"] in mounted
    assert leaving(values, "cloud")[1:3] == [(6432, [DATABASES]), (5432, [{"ipBlock": {"cidr": "10.0.0.7/32"}}])]
    for one in objects(values):
        kubernetes_validate.validate(one, VERSIONS[-1], strict=True)
    plain, kept = settings_and_secrets(FULL)
    assert "DGRAG_CLOUD_NOTICES_URL_FILE" not in plain
    assert "/secrets/notices-url" not in kept  # a Secret without it still mounts


@pytest.mark.parametrize(
    ("postgresql", "said"),
    [
        ({"bundled": True, "external": {"notices": {"enabled": True}}}, r"bundled PostgreSQL has no pooler"),
        ({"bundled": False, "external": {"cidr": "10.0.0.7/32", "notices": {"enabled": True}}}, r"postgresql\.external\.notices\.cidr"),
    ],
)
def test_a_way_for_notices_that_leads_nowhere_is_refused_with_the_value_to_set(postgresql, said):
    with pytest.raises(helm.HelmError, match=said):
        rendered({**SMALL, "postgresql": postgresql})


def test_the_clusters_dns_can_be_another_one():
    node = {"ipBlock": {"cidr": "169.254.20.10/32"}}
    assert leaving({**SMALL, "networkPolicy": {"dns": [node], "dnsPort": 5353}}, "edge")[0] == (5353, [node])


def test_images_can_be_named_by_digest():
    digest = "sha256:" + "a" * 64
    image = {"cloud": "registry/dgrag-cloud", "tag": "1", "digest": {"cloud": digest}}
    found = pods(objects({**SMALL, "image": image}))
    cloud = [one["image"] for kind in ("initContainers", "containers") for one in found["dgrag-cloud"][kind]]
    assert cloud == [f"registry/dgrag-cloud@{digest}"] * 2
    assert [one["image"] for one in found["dgrag-edge"]["containers"]] == ["dgrag-edge:1"]
    with pytest.raises(helm.HelmError):
        rendered({**SMALL, "image": {"digest": {"cloud": "latest"}}})


def test_a_rollout_takes_no_cloud_away_before_another_is_ready():
    found = objects(SMALL)
    assert of(found, "Deployment", "dgrag-cloud")["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert of(found, "PodDisruptionBudget", "dgrag-cloud")["spec"]["maxUnavailable"] == 1
    assert "replicas" not in of(found, "Deployment", "dgrag-cloud")["spec"]  # the autoscaler's


@pytest.mark.parametrize(
    ("cloud", "most"), [({}, 10), ({"autoscaling": {"max": 25}}, 25), ({"autoscaling": {"enabled": False}, "replicas": 4}, 4)]
)
def test_the_bundled_postgresql_takes_the_connections_of_as_many_clouds_as_there_may_be(cloud, most):
    (container,) = pods(objects(SMALL | {"cloud": cloud}))["dgrag-postgresql"]["containers"]
    assert container["args"] == ["-c", f"max_connections={CONNECTIONS * (most + 1) + 20}"]


def test_each_render_without_a_cluster_makes_other_keys_and_with_a_secret_of_yours_none():
    """So whoever renders and applies, as GitOps does, names a Secret; an install and an upgrade look into the cluster."""
    one, other = ([found for found in objects({"model": SMALL["model"]}) if found["kind"] == "Secret"] for _ in range(2))
    assert one[0]["stringData"]["cloud.key"] != other[0]["stringData"]["cloud.key"]
    assert objects(SMALL) == objects(SMALL)
    assert not [found for found in objects(SMALL) if found["kind"] == "Secret"]


def test_the_first_install_makes_secrets_that_our_services_read():
    (secret,) = [one for one in objects({"model": SMALL["model"]}) if one["kind"] == "Secret"]
    data = secret["stringData"]
    assert load_pem_private_key(data["cloud.key"].encode(), password=None).public_key()
    known = {file: TypeAdapter(tuple[KnownKey, ...]).validate_json(data[file]) for file in ("cloud-keys.json", "edge-keys.json")}
    assert {key.key.name: key.key.role for key in known["cloud-keys.json"]} == {"enrol": "admin", "user": "write", "metrics": "metrics"}
    assert {key.key.name for key in known["edge-keys.json"]} == {"user", "metrics"}
    for one in known["cloud-keys.json"]:
        token = data[one.key.name]
        assert TOKEN.fullmatch(token)[1] == one.key.key_id
        assert hashlib.sha256(token.rpartition(one.key.key_id + "_")[2].encode()).hexdigest() == one.hash
    assert data["database-password"] in data["database-url"]
    assert json.loads(data["edge-keys.json"]) != json.loads(data["cloud-keys.json"])
