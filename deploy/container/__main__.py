"""``python -m deploy.container WORD``: what a container of docker-compose.yml runs; most words end as the service itself.

setup · enrol COUNT|ID… [again ID…] · again ID… · edge [COUNT] · cloud · model NAME [THREADS] · key [NAME] · healthy URL [CA] · asked URL
"""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

# What a word does is imported when it is said: the health check runs every few seconds, and the cloud's image lacks an edge's packages.
STATE, TRUST, KEYS, INVITATIONS = map(Path, ("/state", "/trust", "/keys", "/invitations"))  # mounted by docker-compose.yml
CLOUD = "https://cloud:8099"
MODEL = "standard"  # the name that all model servers of docker-compose.yml answer to
log = logging.getLogger("dgrag.container")


def main(words: Sequence[str]) -> int:
    """Do what the words say; returns the exit status: 1 with one line in the log where it could not be done, 2 for other words."""
    word, arguments = next(iter(words), ""), words[1:]
    if word == "healthy" and takes(_healthy, arguments):
        return _healthy(*arguments)
    if word == "asked" and takes(_asked, arguments):
        return _asked(*arguments)
    act = ACTIONS.get(word)
    if act is None or not takes(act, arguments):
        sys.stderr.write(__doc__ or "")
        return 2
    from shared.http.service import run

    return run(partial(act, *arguments))


def takes(act: Callable[..., object], arguments: Sequence[str]) -> bool:
    """Whether a function can be called with so many arguments.

    >>> takes(len, []), takes(len, ["one"])
    (False, True)
    """
    try:
        inspect.signature(act).bind(*arguments)
    except TypeError:
        return False
    return True


def _healthy(url: str, ca: str | None = None) -> int:
    from deploy.container.health import fault

    said = fault(url, ca)
    sys.stderr.write(said)
    return 1 if said else 0


def _asked(url: str) -> int:
    """Whether the model server here answers its key."""
    from urllib.request import Request, urlopen

    from deploy.container.first_start import model_key

    key = Path(model_key(TRUST)["DGRAG_MODEL_API_KEY_FILE"]).read_text(encoding="utf-8").strip()
    try:
        with urlopen(Request(url, headers={"Authorization": f"Bearer {key}"}), timeout=5):  # noqa: S310 # nosec B310 - an http URL of docker-compose.yml
            return 0
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _setup() -> None:
    import time

    from cloud_server.settings import CloudSettings
    from deploy.container.first_start import set_up

    set_up(STATE, TRUST, KEYS, now=time.time(), store_url=CloudSettings(state_dir=STATE).store_url())
    log.info("certificates and keys are there; `docker compose run --rm setup key` prints the user's")


def _key(name: str = "user") -> None:
    from deploy.container.first_start import token

    sys.stdout.write(token(KEYS, name) + "\n")


def _enrol(first: str, *further: str) -> None:
    words = [first, *further]
    place = words.index("again") if "again" in words else len(words)
    for some, replace in ((words[:place], False), (words[place + 1 :], True)):
        if some:
            _invite(some, replace=replace)


def _again(first: str, *further: str) -> None:
    _invite([first, *further], replace=True)


def _invite(words: Sequence[str], *, replace: bool) -> None:
    import httpx2

    from deploy.cli.rest import TIMEOUT
    from deploy.container.first_start import AUTHORITY, named, token, write_invitations
    from shared.client.access import Bearer
    from shared.tls import client_context

    trusted, key = client_context(TRUST / AUTHORITY), Bearer(token(KEYS, "enrol"))
    with httpx2.Client(base_url=CLOUD, verify=trusted, auth=key, timeout=TIMEOUT, trust_env=False) as http:
        invited = write_invitations(http, named(words), INVITATIONS, replace=replace)
    log.info("%d edges are invited for an hour; the others have joined", len(invited))


def count(word: str) -> int:
    """A whole number from 1 on. Raises SettingsError.

    >>> count("4")
    4
    """
    from shared.errors import SettingsError

    if word.isdecimal() and int(word):
        return int(word)
    raise SettingsError(f"{word!r} is no number of edges or threads", next_step="give a whole number, from 1 on")


def _edge(most: str = "1") -> None:
    from deploy.cli.rest import become
    from deploy.container.edge_start import prepared
    from deploy.container.first_start import model_key
    from edge_node.settings import EdgeSettings
    from shared.telemetry import logs

    settings = EdgeSettings()
    logs.use(settings.log, service="edge", edge=settings.id)
    site = prepared(settings, most=count(most), trust=TRUST, invitations=INVITATIONS)
    log.info("this is %s", site.edge)
    become("edge_node", {**site.environment(), **model_key(TRUST)})


def _cloud() -> None:
    from deploy.cli.rest import become
    from deploy.container.first_start import model_key

    become("cloud_server", model_key(TRUST))


def _model(name: str, threads: str = "2") -> None:
    import os

    from deploy.cluster.launch import fetch_generator
    from deploy.container.first_start import model_key
    from shared.models.serve import ServeOptions, command
    from shared.models.settings import ModelSettings

    weights = fetch_generator(name, ModelSettings(), _fetching)
    options = ServeOptions(weights, MODEL, host="0.0.0.0", threads=count(threads), allow_host=("model",))  # noqa: S104 # nosec B104 - on the networks of the containers only
    words = command(options)
    os.execve(words[0], words, {**os.environ, **model_key(TRUST)})  # noqa: S606 - no shell is meant


def _fetching(file: str, step: str, done: int, total: int) -> None:
    if done == total:
        log.info("%s: %s, %d bytes", file, step, done)


ACTIONS: Mapping[str, Callable[..., None]] = {
    "setup": _setup,
    "enrol": _enrol,
    "again": _again,
    "edge": _edge,
    "cloud": _cloud,
    "model": _model,
    "key": _key,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
