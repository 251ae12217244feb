"""An edge's documents, policy and settings as one archive without secrets, and the way of its documents into another edge."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from importlib import metadata
from typing import Annotated, Literal

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import UploadFile

from edge_node.api.access import GuardedRoute, Node
from edge_node.api.documents import Labels, validated
from edge_node.documents.archive import POLICY, SETTINGS, archive_of
from edge_node.documents.store import Accepted
from edge_node.node import EdgeNode
from edge_node.records import Offered, document_id
from edge_node.settings import CloudLineSettings, EdgeSettings, NodeSettings
from shared.errors import Conflict
from shared.http.json_shape import check_shape
from shared.records import DocumentId
from shared.settings_reference import reference
from shared.text.document_names import document_name
from shared.wire import MAX_NAME_CHARS

ZIP = "application/zip"
OF_THE_MACHINE = {  # also all that may hold a secret; an archive holds the policy itself, so no first one
    *NodeSettings.model_fields,
    *CloudLineSettings.model_fields,
    "policy_file",
    "share",
    "folders",
}
Outcome = Literal["added", "here", "kept"]

router = APIRouter(prefix="/v1", tags=["archive"], route_class=GuardedRoute)


class ImportAbout(BaseModel):
    """What an archive's manifest tells of a document.

    ``source``: the sync that put it there; "": none. ``replace``: also where another version of its name is here.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]
    title: Annotated[str, Field(max_length=512)] = ""
    labels: Labels = ()
    reader: Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]
    created_at: Annotated[float, Field(ge=0, lt=2**40)]
    source: Annotated[str, Field(max_length=MAX_NAME_CHARS)] = ""
    replace: bool = False


class Imported(BaseModel):
    """What became of a document.

    ``added``: committed, and indexed soon after; ``here``: it was here already, and stays as it is, with its labels; ``kept``: another
    version of its name is here, and stays.
    """

    document_id: DocumentId
    outcome: Outcome


IMPORT_SCHEMA = {"requestBody": {"content": {"multipart/form-data": {"schema": {
    "type": "object",
    "required": ["file", "about"],
    "properties": {"file": {"type": "string", "format": "binary"}, "about": {
        "type": "string", "contentMediaType": "application/json", "contentSchema": ImportAbout.model_json_schema(),
    }},
}}}}}  # fmt: skip


@router.get("/export", response_class=StreamingResponse, responses={200: {"content": {ZIP: {}}}})
async def export(node: Node) -> StreamingResponse:
    """The documents as they came, with titles, labels and dates; the policy; and the settings that are not this machine's. No secret.

    The zip is made while it is sent: one that has no end is not whole, and `dgrag import` refuses it.
    """
    texts = await asyncio.to_thread(texts_of, node)
    edge, release = node.settings.id, metadata.version("dgrag")
    pieces: Iterator[bytes] = archive_of(node.documents.originals(), texts, release=release, edge=edge, made_at=node.documents.clock.now())
    return StreamingResponse(pieces, media_type=ZIP, headers={"content-disposition": f'attachment; filename="{edge}.zip"'})


def texts_of(node: EdgeNode) -> dict[str, str]:
    """What an archive has beside the documents: the policy where it can be read, and the settings. Reads the disk."""
    try:
        policy = {POLICY: node.policies.present().text}
    except Conflict:
        policy = {}
    return policy | {SETTINGS: settings_text(node.settings)}


def settings_text(settings: EdgeSettings) -> str:
    r"""A line for each setting that is not as it comes, without those of the machine and its connections.

    >>> settings_text(EdgeSettings(strategy="naive", cloud_url="https://me:secret@cloud"))
    'DGRAG_EDGE_STRATEGY=naive\n'
    """
    prefix = EdgeSettings.model_config.get("env_prefix", "")
    machine = {f"{prefix}{name.upper()}" for name in OF_THE_MACHINE}
    own = (one for subject in reference(settings) for one in subject.settings if not one.is_default and one.name not in machine)
    return "".join(f"{one.name}={one.value}\n" for one in own)


@router.post("/import", openapi_extra=IMPORT_SCHEMA)
async def import_document(request: Request, node: Node) -> Imported:
    """Accept one document of an archive, with the date at which it came to its edge. Nothing that is here is changed, unless ``replace``.

    The same document again changes nothing. Raises as ``POST /v1/documents``.
    """
    async with request.form(max_files=1, max_fields=1) as form:
        file, said = form.get("file"), form.get("about")
        if not isinstance(file, UploadFile) or not isinstance(said, str):
            raise RequestValidationError([{"type": "missing", "loc": ("body",), "msg": "the form has no parts 'file' and 'about'"}])
        check_shape(said.encode())
        about, raw = validated(lambda: ImportAbout.model_validate_json(said)), await file.read()
    name, source = document_name(about.name), about.source or None
    identity = await asyncio.to_thread(document_id, name, raw)
    offered = Offered(identity, name, raw, about.reader, about.title, about.labels, about.created_at, source)
    done = await node.bring(offered, replace=about.replace)
    return Imported(document_id=identity, outcome="added" if isinstance(done, Accepted) else done)
