"""``dgrag export`` and ``import``: an edge's documents, policy and settings in one file, for another release, machine or site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import httpx2
import orjson
import typer

from deploy.cli.board import err, out, waiting
from deploy.cli.rest import DEFAULT_STATE, Edge, Force, Json, State, client, only_edge_url, require_free
from deploy.cli.sending import UPLOAD_TIMEOUT, patiently
from deploy.cluster.errors import ClusterError
from deploy.cluster.state import StateDir
from edge_node.documents.archive import POLICY, SETTINGS, Archive, ArchivedDocument, checked_archive
from shared.client.errors import ServiceError, body
from shared.errors import InputError
from shared.plural import counted
from shared.text.plain import one_line

LEFT_OUT = 4
REFUSED_ALL = frozenset({401, 403, 404, 507})  # by a status that the next document would get too
SAID = {
    "added": "added, and indexed soon",
    "here": "here already",
    "kept": "not taken: another version is here (--replace takes it)",
    "refused": "refused",
}


def export(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The archive, a zip.")],
    force: Force = False,
    edge: Edge = None,
    as_json: Json = False,
    state: State = DEFAULT_STATE,
) -> None:
    """Write an edge's documents as they came, its policy and its settings to one file. It holds no key, token or password.

    It is for another release, machine or site; a backup (`dgrag edge backup`) is the store as it is. Exit codes: 0 done; 4 done, but
    documents that are damaged on the edge's disk are left out.
    """
    require_free(target, force=force)
    url, part = only_edge_url(StateDir(state), edge), target.with_name(f"{target.name}.part")
    try:
        with client() as http, waiting("reading the edge's documents"):
            _fetch(http, f"{url}/v1/export", part)
            with checked_archive(part) as archive:
                manifest = archive.manifest
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    if as_json:
        said = {"documents": len(manifest.documents), "bytes": target.stat().st_size, "left_out": manifest.left_out}
        typer.echo(orjson.dumps({"file": str(target), **said}).decode())
    else:
        out().print(f"{target}: {counted(len(manifest.documents), 'document')} of {manifest.edge}, checked", markup=False)
    if manifest.left_out:
        err().print(f"damaged on the edge's disk, and left out: {', '.join(map(one_line, manifest.left_out))}", markup=False)
        raise typer.Exit(LEFT_OUT)


def _fetch(http: httpx2.Client, url: str, part: Path) -> None:
    with http.stream("GET", url, timeout=UPLOAD_TIMEOUT) as response:
        if not response.is_success:
            response.read()
            body(response)
        with part.open("wb") as file:
            for piece in response.iter_bytes():
                file.write(piece)


def import_archive(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An archive that `dgrag export` made.", exists=True, dir_okay=False)],
    with_policy: Annotated[
        bool, typer.Option("--policy", help="Put the archive's sharing policy in force first, in the place of the edge's.")
    ] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Also where another version of a document's name is here.")] = False,
    edge: Edge = None,
    as_json: Json = False,
    state: State = DEFAULT_STATE,
) -> None:
    """Give a running edge the documents of an archive, with their titles, labels and dates.

    The whole file is checked before anything is sent. What the edge has already stays as it is, so an import that was interrupted goes on
    when it is run again. Exit codes: 0 done; 1 the file is no whole archive, and nothing was changed, or documents were refused.
    """
    url = only_edge_url(StateDir(state), edge)
    with client() as http, waiting("checking the archive") as tell, checked_archive(file) as archive:
        if with_policy:
            _put_policy(http, url, archive)
        results = list(_sent(http, url, archive, tell, replace=replace))
        settings = archive.text(SETTINGS).splitlines()
        has_policy = bool(archive.text(POLICY))
    counts = Counter(outcome for _, outcome, _ in results)
    if as_json:
        refused = [{"name": name, "reason": reason} for name, outcome, reason in results if outcome == "refused"]
        typer.echo(orjson.dumps({**{name: counts[name] for name in SAID}, "refusals": refused}).decode())
    else:
        _show(results, counts, settings, has_policy=has_policy and not with_policy)
    if counts["refused"]:
        said = f"{counts['refused']} of {counted(len(results), 'document')} refused"
        raise ClusterError(said, next_step="set right what is said above, and import it again")


def _show(results: list[tuple[str, str, str]], counts: Counter[str], settings: list[str], *, has_policy: bool) -> None:
    for outcome, said in SAID.items():
        if counts[outcome]:
            out().print(f"{counted(counts[outcome], 'document')} {said}", markup=False)
    for name, outcome, reason in results:
        if outcome == "refused":
            err().print(f"{name}: {reason}", markup=False)
    if has_policy:
        out().print("the sharing policy stays as it is; --policy takes the archive's", markup=False)
    if settings:
        out().print("its edge was started with these settings; an import does not set them:", markup=False)
        for line in settings:
            out().print(f"  {line}", markup=False, soft_wrap=True)


def _put_policy(http: httpx2.Client, url: str, archive: Archive) -> None:
    if not (text := archive.text(POLICY)):
        raise InputError("the archive has no sharing policy", next_step="import it without --policy")
    body(http.put(f"{url}/v1/policy", json={"text": text, "base": ""}))


def _sent(http: httpx2.Client, url: str, archive: Archive, tell: Callable[[str], None], *, replace: bool) -> Iterator[tuple[str, str, str]]:
    """Name, outcome and reason of each document. Raises ServiceError where the edge takes none."""
    documents = archive.manifest.documents
    for number, one in enumerate(documents, start=1):
        tell(f"document {number} of {len(documents)}")
        try:
            yield one.name, body(patiently(partial(_post, http, url, one, archive.raw(one), replace=replace)))["outcome"], ""
        except ServiceError as problem:
            if problem.status in REFUSED_ALL:
                raise
            yield one.name, "refused", problem.message


def _post(http: httpx2.Client, url: str, document: ArchivedDocument, raw: bytes, *, replace: bool) -> httpx2.Response:
    about = document.model_dump(exclude={"file", "sha256", "bytes"}) | {"replace": replace}
    form = {"about": orjson.dumps(about).decode()}
    return http.post(f"{url}/v1/import", files={"file": ("document", raw)}, data=form, timeout=UPLOAD_TIMEOUT)
