"""The containers as README and docs/scale.md tell to start them, in use, with faults. For a release, on a machine with a Docker engine.

    .venv/bin/python -m tests.compose.release_trial             # some 40 minutes on two cores; ends with 1 if something is wrong
    .venv/bin/python -m tests.compose.release_trial --record    # and writes what it has seen into docs/containers.md

It clones the last commit, runs the lines of the two pages in the clone, and takes away what it has started. It needs Compose 2, the ports
that docker-compose.yml publishes, and a package index; tests/compose/engine.sh gets an engine where there is none.
"""

import argparse
import contextlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.compose.faults import ELSEWHERE, HERE, OF_ONE_CLOUD, OF_SEVERAL_CLOUDS, PLANT, WARD, played
from tests.compose.trial_record import Paper, Question, Record, page, tell, written
from tests.conftest import ROOT
from tests.support import sample_files
from tests.support.containers import SEVERAL_CLOUDS, Compose, added, asked, document, said

SETTINGS = {"DGRAG_MODEL": "small", "DGRAG_VERSION": "trial"}
REPORT = "Dunmoor Hall replaced seal S-12 of the east door on 3 June. A crack in seal S-12 let rain into Dunmoor Hall."
SCAN = "Osprey Works replaced gauge G-4471 of the Hallow Bridge on 4 May. A crack in gauge G-4471 caused the alarm at the Hallow Bridge."
PICTURE = "Cedar Clinic recalled pump P-2093 of the flood room on 9 July. A leak in pump P-2093 flooded the store of the Cedar Clinic."


def sentences(text):
    """Each is a line of a file.

    >>> sentences("It rains. It snows.")
    ['It rains.', 'It snows.']
    """
    return re.split(r"(?<=\.) ", text)


PAPERS = [
    Paper("edge-1", "ward.docx", sample_files.word(*sentences(WARD)), ("Juniper Ward", "second floor")),
    Paper("edge-2", "plant.pdf", sample_files.pdf(*sentences(PLANT)), ("Brackwell Works", "L-7713")),
    Paper("edge-3", "scan.pdf", sample_files.scanned_pdf(*sentences(SCAN)), ("Osprey Works", "G-4471")),
    Paper("edge-4", "picture.png", sample_files.picture(*sentences(PICTURE)), ("Cedar Clinic", "P-2093")),
]
OF_PAPERS = [
    Question(*HERE, "second", "edge-1", "local"),
    Question(*ELSEWHERE, "L-7713", "edge-2"),
    Question("edge-2", "Which gauge of the Hallow Bridge did Osprey Works replace?", "G-4471", "edge-3"),
    Question("edge-1", "Which pump of the flood room did Cedar Clinic recall?", "P-2093", "edge-4"),
]


def lines_of(page, beginning):
    """The lines of the page's block of commands that has this beginning."""
    blocks = re.findall(r"^```(?:bash)?\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return next(block for block in blocks if block.startswith(beginning)).splitlines()


def in_shell(lines, folder, environment):
    """What bash prints for lines of a page."""
    return said("bash", "-euo", "pipefail", "-c", "\n".join(lines), environment=environment, folder=folder)


def one_cloud(record, clone):
    """README's lines; papers, questions and faults."""
    environment = {**SETTINGS, "COMPOSE_PROJECT_NAME": "dgrag-trial", "COMPOSE_PROFILES": "cpu"}
    cluster = Compose(("docker", "compose"), "dgrag-trial", environment, folder=clone)
    up, *more = lines_of("README.md", "docker compose up -d --scale edge=4")
    with taken_down(cluster):
        with record.step(f"`{command(up)}`"):
            in_shell([up], clone, environment)
        with record.step("until all is healthy and each edge is connected (the model's weights are fetched meanwhile)"):
            key_of(cluster)
            cluster.wait_whole()
        (clone / "report.pdf").write_bytes(sample_files.pdf(*sentences(REPORT)))
        with record.step("README's other lines: a key, an address, a PDF"):
            sent, site = in_shell([*more, 'printf "\\n%s\\n" "$EDGE"'], clone, environment).splitlines()[-2:]
        edge = next(name for name, (url, _) in cluster.edges().items() if url == site)
        read(record, cluster, Paper(edge, "report.pdf", b"", ("Dunmoor Hall", "S-12")), json.loads(sent)["document_id"])
        kept = send(record, cluster)
        ask(record, cluster)
        play(record, cluster, OF_ONE_CLOUD, kept, "one cloud")
        record.memory |= memory_of(cluster)


def several_clouds(record, clone):
    """The lines of docs/scale.md; papers, questions and faults."""
    environment = {**SETTINGS, "COMPOSE_PROJECT_NAME": "dgrag-trial-scale", "COMPOSE_PROFILES": "cpu"}  # as in .env: --profile says another
    inside = {**environment, "COMPOSE_PROFILES": "scale"}
    cluster = Compose(("docker", "compose"), "dgrag-trial-scale", inside, folder=clone, services=SEVERAL_CLOUDS)
    up, key = lines_of("docs/scale.md", "docker compose --profile scale up")
    with taken_down(cluster):
        with record.step(f"`{command(up)}`"):
            in_shell([up], clone, environment)
        with record.step("until all is healthy and each edge is connected"):
            cluster.key = in_shell([key], clone, environment).splitlines()[-1]
            cluster.wait_whole()
        kept = send(record, cluster)
        ask(record, cluster)
        play(record, cluster, OF_SEVERAL_CLOUDS, kept, "three clouds")
        record.memory |= memory_of(cluster)


@contextlib.contextmanager
def taken_down(cluster):
    """Volumes too. What went wrong is said before, with the logs."""
    try:
        yield
    except AssertionError:
        tell(cluster.logs())
        raise
    finally:
        cluster("down", "--volumes", "--timeout", "5")


def command(line):
    """A line without its comment."""
    return line.partition(" #")[0].strip()


def key_of(cluster):
    cluster.key = cluster("run", "--rm", "-T", "setup", "key").splitlines()[-1]


def send(record, cluster):
    """All papers; returns those that were acknowledged."""
    kept = []
    with record.step("a Word file, a PDF, a scanned PDF and a picture are sent, read and known to the cloud"):
        for paper in PAPERS:
            reply = added(cluster, paper.edge, paper.name, paper.data)
            if reply.status == 202:
                kept.append((paper.edge, reply.body["document_id"]))
                read(record, cluster, paper, reply.body["document_id"])
            else:
                record.see(f"{paper.name} is answered by {reply.status}: {reply.body}")
        cluster.wait_settled(*cluster.edges())
        cluster.wait_known(*{edge for edge, _ in kept})
    return kept


def read(record, cluster, paper, identity):
    """Wait until an edge has done with a paper, and look at what it read."""
    began = time.monotonic()
    found = {}

    def done():
        found.update(document(cluster, paper.edge, identity))
        return found["status"] in ("indexed", "parked")

    cluster.wait(done)
    record.papers.append((paper, found["status"], time.monotonic() - began))
    if found["status"] == "parked":
        record.see(f"{paper.name} is parked: {found}")
        return
    with cluster.http() as http:
        text = http.get(f"{cluster.edges()[paper.edge][0]}/v1/documents/{identity}/text").json()["text"]
    record.see(*(f"{paper.name} was read without {words!r}: {text!r}" for words in paper.words if words not in text))


def ask(record, cluster):
    """The questions on the papers. The small model may find that a passage does not say what it says; it may not say another thing."""
    right = set()
    for question in OF_PAPERS:
        with record.step(f"{question.edge} is asked: {question.text}", listed=False):
            reply = asked(cluster, question.edge, question.text, mode=question.mode)
        record.answers.append((question, reply))
        tell(f"         {reply.body.get('route')}: {reply.body.get('answer', reply.status)!r}")
        sources = {citation["edge"] for citation in reply.body.get("citations", ())}
        if reply.status != 200 or reply.body["degraded"] or reply.body["partial"]:
            record.see(f"{question.text!r} got {reply.status}: {reply.body}")
        elif sources and (question.answer not in reply.body["answer"] or sources != {question.source}):
            record.see(f"{question.text!r} got {reply.body['answer']!r} of {sources}")
        elif sources:
            right.add(question.source != question.edge)
    if right != {True, False}:
        record.see("not one question was answered from the asked site's own documents, or not one from another site's")


def play(record, cluster, faults, kept, where):
    """Each fault, while people ask and add."""
    for fault in faults:
        with record.step(f"{fault.act.__doc__} ({where})", listed=False):
            outcome = played(cluster, fault, kept)
        record.outcomes.append((where, outcome))
        tell(f"         back after {outcome.back_s:.0f} s, {len(outcome.kept)} acknowledged, {len(outcome.lost)} lost")
        record.see(*(f"{fault.name}: {words}" for words in outcome.wrong()))


def memory_of(cluster):
    """What a container of each service uses: the most of its replicas, in MB."""
    used = {}
    for service in cluster.services:
        lines = said("docker", "stats", "--no-stream", "--format", "{{.MemUsage}}", *cluster.containers(service)).splitlines()
        used[service] = max(megabytes(line.split()[0]) for line in lines)
    return used


def megabytes(text):
    """Of a size as docker writes it.

    >>> megabytes("386.7MiB"), megabytes("1.5GiB")
    (405.5, 1610.6)
    """
    number, unit = re.fullmatch(r"([\d.]+)([KMG])iB", text).groups()
    return round(float(number) * 1024 ** "_KMG".index(unit) / 1e6, 1)


def machine():
    """What it ran on."""
    cores = os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    engine = said("docker", "version", "--format", "{{.Server.Version}}")
    compose = said("docker", "compose", "version", "--short")
    return f"{cores} cores, {memory:.0f} GiB, {platform.system()} {platform.release().split('-')[0]}, Docker {engine}, Compose {compose}"


def images(clone):
    """Size of each image that was built, and which of the others are official: those that came from a registry."""
    sizes = [f"{name} {image(f'dgrag-{name}:trial')['Size'] / 1e6:.0f} MB" for name in ("edge", "cloud", "model")]
    others = said("docker", "compose", "config", "--images", environment={**SETTINGS, "COMPOSE_PROFILES": "scale"}, folder=clone).split()
    base = re.search(r"^FROM (\S+)", (clone / "deploy/docker/edge.Dockerfile").read_text(), re.MULTILINE)[1]
    made = [name for name in sorted({base, *others}) if not name.startswith("dgrag-") and not image(name)["RepoDigests"]]
    yield f"Images: {', '.join(sizes)}; the base is {image(base)['Size'] / 1e6:.0f} MB of each."
    if made:
        yield f"Not the official images, as no registry could be reached, but made by `tests/compose/engine.sh`: {', '.join(made)}."


def image(name):
    return json.loads(said("docker", "image", "inspect", name))[0]


PARTS = {"one": (one_cloud,), "several": (several_clouds,)}


def main():
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write the record into docs/containers.md")
    parser.add_argument("--cached", action="store_true", help="use what earlier builds have left")
    parser.add_argument("--only", choices=PARTS, help="a part of it, while it is worked on")
    options = parser.parse_args()
    build = "docker compose build" if options.cached else "docker compose build --no-cache"
    record, began = Record(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dgrag-trial-") as folder:
        clone = Path(folder) / "clone"
        with record.step("a fresh clone"):
            subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        commit, subject = said("git", "log", "-1", "--format=%h\n%s", folder=clone).splitlines()
        try:
            with record.step(f"`{build}`"):
                in_shell([build], clone, {**SETTINGS, "COMPOSE_PROFILES": "cpu"})
            for part in PARTS[options.only] if options.only else (one_cloud, several_clouds):
                part(record, clone)
        except AssertionError as error:
            record.see(f"ended early: {str(error)[:2000]}")
        minutes = (time.monotonic() - began) / 60
        record.facts = [
            f"Commit `{commit}` ({subject}), {datetime.now(UTC):%Y-%m-%d}, {minutes:.0f} minutes in all. {machine()}; the small model.",
            *images(clone),
        ]
    text = "\n".join(page(record))
    tell(text)
    if options.record:
        written(text)
    return bool(record.wrong)


if __name__ == "__main__":
    sys.exit(main())
