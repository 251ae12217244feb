"""The tools that an edge offers to agents: one table, for HTTP and for a desktop program's pipe. Each tool is a route of REST."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from mcp.server import ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from edge_node.api.filtering import FiltersBody
from edge_node.api.mcp import results
from edge_node.api.mcp.harmless import framed
from edge_node.api.mcp.rest import Rest
from edge_node.api.mcp.results import AnswerResult, LeavingResult, PassagesResult, Site, SitesResult, TextResult
from edge_node.api.steps import told_step
from shared.errors import DgragError
from shared.text.fence import FENCE_BYTES
from shared.wire import MAX_NAME_CHARS, MAX_QUESTION_CHARS

Request = ServerRequestContext[Any, Any]
Asked = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_CHARS, description="A question in plain words, complete in itself.")]
MayLeave = Annotated[
    Literal["yes", "no", "ask"] | None,
    Field(description="Whether the question may leave this site: 'ask' shows first what would leave; null: as the site has it set."),
]
Purpose = Annotated[str | None, Field(max_length=64, description="Told to the sites that are asked, as 'treatment'.")]
Narrowed = Annotated[FiltersBody | None, Field(description="Only these documents of this site; nothing leaves then.")]
DocumentKey = Annotated[str, Field(min_length=1, max_length=200, description="As a citation or the list of documents has it.")]
DOCUMENT_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")  # it becomes a part of a path
MOST_SITES = 100
MOST_FACTS = 50


@dataclass(frozen=True, slots=True)
class Offer:
    """A row of the table: a method of ``EdgeTools``, and the role that its route takes."""

    name: str
    role: str
    title: str
    asks_others: bool = False  # it may send something to other sites, as the sharing policy says
    writes: bool = False


OFFERS = (
    Offer("ask", "read", "Ask a question", asks_others=True),
    Offer("retrieve", "read", "Find passages", asks_others=True),
    Offer("open_passage", "read", "Read a document"),
    Offer("overview", "read", "Ask about everything", asks_others=True),
    Offer("entity", "read", "Look up a name"),
    Offer("documents", "read", "List documents"),
    Offer("sites", "read", "List sites"),
    Offer("would_leave", "admin", "What would leave this site"),
    Offer("add_document", "write", "Add a document", writes=True),
)


class EdgeTools:
    """The methods that ``OFFERS`` names. ``rest_of``: the routes for whoever a request is from."""

    def __init__(self, rest_of: Callable[[Request], Rest]) -> None:
        self._rest_of = rest_of
        self._others = dict[str, Site]()  # as the last answers saw them; which sites there are is no secret among an edge's readers

    def rest(self, ctx: Context) -> Rest:
        """The routes for the caller."""
        return self._rest_of(ctx.request_context)

    async def ask(
        self,
        question: Asked,
        ctx: Context,
        scope: Annotated[Literal["auto", "local"], Field(description="'local': this site's documents alone.")] = "auto",
        may_leave: MayLeave = None,
        purpose: Purpose = None,
        filters: Narrowed = None,
    ) -> Annotated[CallToolResult, AnswerResult]:
        """Answer a question from this site's documents or, where they do not suffice, from other sites'. Every sentence is cited."""
        leaving = {"allow_escalation": may_leave, "purpose": purpose}
        return await self._answered(ctx, {"question": question, "mode": scope, "filters": _told(filters)} | leaving)

    async def overview(
        self, question: Asked, ctx: Context, may_leave: MayLeave = None, purpose: Purpose = None, filters: Narrowed = None
    ) -> Annotated[CallToolResult, AnswerResult]:
        """Answer a question about all documents together, as "What are the main risks?". Takes minutes; single facts: use ask."""
        leaving = {"allow_escalation": may_leave, "purpose": purpose}
        return await self._answered(ctx, {"question": question, "mode": "global", "filters": _told(filters)} | leaving)

    async def retrieve(
        self,
        question: Asked,
        ctx: Context,
        scope: Annotated[Literal["local", "all_sites"], Field(description="'all_sites': the question leaves.")] = "local",
        top_k: Annotated[int, Field(ge=1, le=50)] = 8,
        may_leave: MayLeave = None,
        purpose: Purpose = None,
        filters: Narrowed = None,
    ) -> Annotated[CallToolResult, PassagesResult]:
        """The passages nearest a question, without an answer: for a model that reads them itself."""
        mode = "cloud" if scope == "all_sites" else "local"
        leaving = {"allow_escalation": may_leave, "purpose": purpose}
        asked = {"question": question, "mode": mode, "top_k": top_k, "filters": _told(filters)} | leaving
        told = PassagesResult.model_validate(await self._done(self.rest(ctx).post("/v1/retrieve", asked)))
        self._note(told)
        return _result(results.passages_text(told, _token()), told)

    async def open_passage(
        self,
        document_id: DocumentKey,
        ctx: Context,
        start: Annotated[int, Field(ge=0, description="First character, as a citation's span has it.")] = 0,
        end: Annotated[int | None, Field(ge=0, description="Behind the last one; null: as much as one reply holds.")] = None,
    ) -> Annotated[CallToolResult, TextResult]:
        """Read a part of one of this site's documents. Another site's are read there."""
        told = await text_of(self.rest(ctx), document_id, start=start, end=end)
        return _result(results.document_text(told, _token()), told)

    async def entity(
        self,
        name: Annotated[str, Field(max_length=512, description="Empty: the names that most is known of.")],
        ctx: Context,
        hops: Annotated[int, Field(ge=0, le=3)] = 1,
    ) -> Annotated[CallToolResult, dict[str, Any]]:
        """What this site's knowledge graph has of a person, place or thing: its description, and how it relates to others."""
        told = await self._done(self.rest(ctx).get("/v1/graph", entity=name, hops=hops, limit=MOST_FACTS))
        lines = [f"{one['name']} ({one['type']}): {one['description']}" for one in told["entities"]]
        lines += [f"{one['source']} – {one['target']}: {one['description']}" for one in told["relations"]]
        text = framed("\n".join(lines), _token()) if lines else "The graph of this site has no such name."
        return CallToolResult(content=[TextContent(text=text)], structured_content=told)

    async def documents(
        self,
        ctx: Context,
        name: Annotated[str, Field(max_length=MAX_NAME_CHARS, description="The whole name of one; empty: all.")] = "",
        after: Annotated[str, Field(max_length=MAX_NAME_CHARS, description="'next' of the page before.")] = "",
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
    ) -> Annotated[CallToolResult, dict[str, Any]]:
        """A page of this site's documents, with their state."""
        told = await self._done(self.rest(ctx).get("/v1/documents", name=name, after=after, limit=limit))
        lines = [f"{one['name']} ({one['status']}), id {one['document_id']}" for one in told["documents"]]
        return CallToolResult(content=[TextContent(text=framed("\n".join(lines), _token()))], structured_content=told)

    async def sites(self, ctx: Context) -> Annotated[CallToolResult, SitesResult]:
        """List this site with its line to the cloud, and the other sites that the last answers asked."""
        told = await self._done(self.rest(ctx).get("/v1/status"))
        line, counts, others = told["cloud"], told["documents"], tuple(self._others.values())
        found = SitesResult(home=told["edge"], documents=counts["indexed"], connected=line["connected"], error=line["error"], others=others)
        return _result(results.sites_text(found), found)

    async def would_leave(
        self,
        ctx: Context,
        question: Annotated[str | None, Field(max_length=MAX_QUESTION_CHARS, description="Somebody's; null: the next sync alone.")] = None,
        requester: Annotated[str, Field(max_length=80, description="The site that asks.")] = "",
        purpose: Purpose = None,
    ) -> Annotated[CallToolResult, LeavingResult]:
        """Try what would leave this site under its sharing policy. Nothing leaves."""
        asked = {"question": question, "requester": requester, "purpose": purpose}
        told = await self._done(self.rest(ctx).post("/v1/policy/try", asked))
        evidence = results.shortened(told["evidence"]) if told["evidence"] else None
        found = LeavingResult(current=told["current"], sync=tuple(map(results.shortened, told["sync"])), evidence=evidence)
        return _result(results.leaving_text(found, _token()), found)

    async def add_document(
        self,
        name: Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS, description="As 'minutes.md'; the same name: a new version.")],
        text: Annotated[str, Field(min_length=1)],
        ctx: Context,
        title: Annotated[str, Field(max_length=512)] = "",
        labels: Annotated[list[str] | None, Field(description="The sharing policy decides by them what may leave.")] = None,
    ) -> Annotated[CallToolResult, dict[str, Any]]:
        """Add a text to this site's documents. It is stored when this answers, and indexed soon after."""
        told = await self._done(self.rest(ctx).post("/v1/documents", {"name": name, "text": text, "title": title, "labels": labels}))
        said = f"{name} is there already." if told["duplicate"] else f"{name} is stored (id {told['document_id']}) and will be indexed."
        return CallToolResult(content=[TextContent(text=said)], structured_content=told)

    async def _answered(self, ctx: Context, asked: dict[str, Any]) -> CallToolResult:
        done = 0

        async def tell(step: str) -> None:
            nonlocal done
            done += 1
            await ctx.report_progress(done, message=told_step(step))

        told = AnswerResult.model_validate(await self._done(self.rest(ctx).answer(asked, tell)))
        self._note(told)
        return _result(results.answer_text(told), told)

    def _note(self, told: AnswerResult | PassagesResult) -> None:
        for one in told.edges:
            self._others.pop(one.edge, None)
            self._others[one.edge] = Site(edge=one.edge, status=one.status, reason=one.reason)
        while len(self._others) > MOST_SITES:
            del self._others[next(iter(self._others))]

    async def _done(self, call: Awaitable[dict[str, Any]]) -> dict[str, Any]:
        """What a route tells; why it says no, for the model to read. Raises ToolError."""
        try:
            return await call
        except DgragError as error:
            raise ToolError(_why(error)) from error


async def text_of(rest: Rest, document_id: str, *, start: int = 0, end: int | None = None) -> TextResult:
    """A part of a document. Raises ToolError."""
    if not DOCUMENT_ID.fullmatch(document_id):
        raise ToolError("that is no id of a document (take it from a citation or from the list of documents)")
    try:
        return TextResult.model_validate(await rest.get(f"/v1/documents/{document_id}/text", start=start, end=end))
    except DgragError as error:
        raise ToolError(_why(error)) from error


def _told(filters: FiltersBody | None) -> dict[str, Any] | None:
    return None if filters is None else filters.model_dump(exclude_none=True)


def _why(error: DgragError) -> str:
    return error.message + (f" ({error.next_step})" if error.next_step else "")


def _result(text: str, told: BaseModel) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], structured_content=told.model_dump(mode="json"))


def _token() -> str:
    return secrets.token_hex(FENCE_BYTES)
