"""What the policy in force says of this site's documents: to summaries, to another site's question, to a question that leaves."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from operator import itemgetter
from typing import Any, TypeVar

from edge_node.database.public_ids import PublicIds
from edge_node.documents.counting import label_counts, parked_count, served_count
from edge_node.documents.filters import outside
from edge_node.documents.languages import Languages, State
from edge_node.documents.store import LABELS_CHANGED, DocumentStore
from edge_node.egress.bodies import always, body_of, chunks_of
from edge_node.egress.meter import EgressMeter, Told
from edge_node.egress.policy_file import PolicyFile
from edge_node.extraction.languages import languages_of
from edge_node.extraction.names import normalise
from edge_node.extraction.syntax import CONCEPT
from edge_node.extraction.words import STOP_WORDS
from edge_node.graph.release import SummaryRelease
from edge_node.graph.store import OBEYS, GraphStore
from edge_node.graph.titles import titles_marked
from edge_node.policy.keeping import WithheldCounts, holds
from edge_node.policy.persons import names_like_persons
from edge_node.policy.redaction import CONTEXT_CHARS, Redactor, last_words, words_in, words_of
from edge_node.policy.rules import EscalationMode, Level, Policy, Redact, share_of
from edge_node.records import NOTHING_WITHHELD, Filters, Share
from shared.errors import Conflict
from shared.records import (
    DENIED,
    SOME_SUMMARIES_ONLY,
    SUMMARIES_ONLY,
    ChunkId,
    DocumentId,
    Evidence,
    TraceStep,
    document_of,
    is_chunk,
    located,
)
from shared.sqlite import crc
from shared.text.quoting import is_copy
from shared.wire import MAX_EVIDENCE, EvidenceBody, EvidenceReply

MAX_REPLY_BYTES = 250_000  # the cloud reads 256 KiB of a reply
COMMA_BYTES = 1
AT_ONCE = 500  # chunks, at least, whose languages are noted in one transaction, but for the last ones
UNREAD = "types"  # the rule that keeps what the detector of names does not read
STAYS = "a question with filters stays at this site"
TRIES = 5  # of a question whose documents change while it is read
SURE = 3  # mentions of a single word as a company, a place and so on: it is no surname then
T = TypeVar("T")
SPENT = f"{DENIED}: the limit of the day"
Allowed = Callable[[str, Sequence[Told], Policy, int], int]  # how many of these a requester gets today, of so many that there are


@dataclass(frozen=True, slots=True)
class Requester:
    """Who asks through the cloud, which vouches for the name, and what for."""

    name: str
    purpose: str | None


@dataclass(frozen=True, slots=True)
class ReportCoverage:
    """How far reports were read for points.

    there: so many this requester may be told of; unread: chosen, and not read in time or without failure.
    """

    read: int = 0
    there: int = 0
    unread: int = 0
    without_model: bool = False


NO_REPORTS = ReportCoverage()


@dataclass(frozen=True, slots=True)
class Served:
    """A reply, and the rule of each of its passages or points for the ledger.

    ``holds``: whether policy and labels still are what it was made by.
    """

    reply: EvidenceReply
    rule: str
    holds: Callable[[], bool] = always


@dataclass(frozen=True, slots=True)
class OutgoingQuestion:
    """What one policy says of a question: whether it may leave, as which text, and by which rule; both "" where it may not."""

    escalation: EscalationMode
    text: str = ""
    rule: str = ""


class Sharing:
    """Asks the file anew each time. Reads disk and store: to be called in a thread. Raises DiskFull and DiskFailed when it is made."""

    def __init__(self, file: PolicyFile, documents: DocumentStore, graph: GraphStore, meter: EgressMeter, edge: str = "") -> None:
        """``edge``: this one, as the cloud names it."""
        self.file = file
        self._edge = edge
        self._asking = Counter[frozenset[str]]()  # labels of own readers whose questions are with the cloud; on the event loop only
        self._documents = documents
        self._graph = graph
        self._meter = meter
        self._redacting: tuple[tuple[str, int, int], Redactor] | None = None  # the last one with names of types, and what it was made of
        self._languages = Languages(documents.database)
        self._unread: tuple[State, frozenset[str]] | None = None  # the last ones, and what they were read from
        self._spoken: tuple[State, dict[DocumentId, str]] | None = None  # the last languages of documents, likewise
        self.outside_ids = PublicIds(documents.database)

    @property
    def policy(self) -> Policy:
        """The one in force."""
        return self.file.current()

    def view(self) -> dict[str, Any]:
        """For the status: which policy is in force, why it shares nothing if it does not, and whether the summaries obey it already.

        ``kept_back``: how many summaries and documents stay here, and which rules hold them.
        """
        policy = self.policy
        return {
            "key": policy.key,
            "fault": policy.fault,
            "unlabelled": policy.unlabelled,
            "questions": policy.questions,
            "current": self.is_told(),
            "kept_back": asdict(self.kept_back(policy)),
        }

    def kept_back(self, policy: Policy) -> WithheldCounts:
        """What a policy keeps here, this one or another; of summaries what the one in force keeps."""
        database = self._documents.database
        counts = label_counts(database)
        shut = [labels for labels in counts if labels is None or policy.summary_level(labels) < Level.SUMMARY]
        unread = self.unread(policy)
        documents = {identity for identity in unread if not is_chunk(identity)}
        if shut:
            documents |= self._documents.not_labelled([labels for labels in counts if labels is not None and labels not in shut])
        blank, summaries = self._graph.blank_summaries()
        why = holds(policy, counts, self._languages.counts() if unread else {}, blank)
        return WithheldCounts(blank, summaries, served_count(database, documents), served_count(database), why, parked_count(database))

    def of_labels(self, labels: Sequence[str]) -> tuple[Share, tuple[str, ...]]:
        """How much of a document with these labels may leave, before exceptions, and those that a policy in force does not name."""
        policy = self.policy
        unnamed = () if policy.fault else tuple(label for label in labels if label not in policy.labels)
        return share_of(policy.summary_level(labels)), unnamed

    # ------------------------------------------------------------ summaries

    def summaries(self) -> SummaryRelease:
        """What summaries may tell now."""
        changed = self._labels_changed()  # before the labels are read
        policy = self.file.lasting()
        redactor = self.redactor(policy)
        sets = self._documents.label_sets()
        told, titled = (
            [labels for labels in sets if labels is not None and policy.summary_level(labels) >= least]
            for least in (Level.SUMMARY, Level.EVIDENCE)
        )
        unread = self.unread(policy)
        return SummaryRelease(
            f"{policy.summaries_key}:{changed}:{redactor.key}{_key_of(unread)}",
            unread | (self._documents.not_labelled(told) if len(told) < len(sets) else frozenset()),
            policy.minimum_support,
            redactor,
            self._documents.not_labelled(titled) if len(titled) < len(sets) else frozenset(),
        )

    def is_told(self) -> bool:
        """Whether all stored summaries obey the policy and the labels as they are now; not known while a policy is just being saved."""
        if self.file.lasting() is not self.policy:
            return False
        obeyed = self._graph.database.meta(OBEYS, "").rpartition(":")[0]
        return obeyed == self.wanted() or self._graph.database.row("SELECT 1 FROM summaries WHERE removed = 0 LIMIT 1") is None

    def wanted(self) -> str:
        """What of policy and labels the summaries should obey."""
        return f"{self.file.lasting().summaries_key}:{self._labels_changed()}"

    def rule(self) -> str:
        """What lets summaries go, for the ledger."""
        return f"summaries; policy {self.policy.key}, labels {self._labels_changed()}"

    # ------------------------------------------------------------ evidence

    def beyond(self, labels: frozenset[str] | None, filters: Filters | None = None) -> frozenset[str]:
        """The documents that one of this site's readers may not read: those with a label that it lacks; None: it may read all.

        ``filters``: and those that do not match them. Raises DiskFull and DiskFailed where languages are to be noted first.
        """
        unreadable = NOTHING_WITHHELD if labels is None else self._documents.beyond(labels)
        if filters is None:
            return unreadable
        return unreadable | outside(self._documents.database, filters, self._languages_of_documents() if filters.languages else {})

    def is_newly_beyond(self, labels: frozenset[str] | None, filters: Filters, before: frozenset[str]) -> bool:
        """Whether questions may find a document that is ``beyond`` now, and was not ``before``."""
        return self._documents.served(self.beyond(labels, filters) - before)

    async def read_filtered(
        self, labels: frozenset[str] | None, filters: Filters | None, work: Callable[[frozenset[str]], Awaitable[T]]
    ) -> T:
        """What ``work`` makes without the documents that the asker may not read or does not ask about.

        Where one of these came to be served meanwhile, and ``work`` may have read it, it works again. (Labels have a check of their own,
        after the whole answer: ``EdgeNode.read_by``.) Raises Conflict where that happens again and again, and as ``work``.
        """
        for _ in range(TRIES):
            withheld = await asyncio.to_thread(self.beyond, labels, filters)
            made = await work(withheld)
            if filters is None or not await asyncio.to_thread(self.is_newly_beyond, labels, filters, withheld):
                return made
        raise Conflict("documents that do not match the filters keep coming while it is read", next_step="ask again in a while")

    def matches_nothing(self, labels: frozenset[str] | None, filters: Filters) -> bool:
        """Whether questions find no document that one of this site's readers may read and that matches."""
        return not self._documents.serves_others(self.beyond(labels, filters))

    @contextmanager
    def asking_for(self, labels: frozenset[str] | None) -> Iterator[None]:
        """Within, a question of a reader with these labels is with the cloud, which asks this site too: that reply is for this reader."""
        if labels is None:
            yield
            return
        self._asking[labels] += 1
        try:
            yield
        finally:
            self._asking[labels] -= 1

    def withheld(self, requester: Requester) -> frozenset[str] | None:
        """The documents of which this requester gets no passage, and single chunks that it does not get; None: it gets nothing at all.

        This site's own question tells nobody more than any of the readers may read for whom it asks at this moment.
        """
        if (withheld := self._withheld(requester)) is None or requester.name != self._edge:
            return withheld
        return withheld.union(*(self._documents.beyond(labels) for labels, asking in self._asking.copy().items() if asking))

    def lets_own_passages_go(self, purpose: str | None) -> bool:
        """Whether passages of this site may go with a question that is asked here."""
        return self._withheld(Requester(self._edge, purpose)) is not None

    def has_summaries_only(self, requester: Requester) -> bool:
        """Whether there are documents of which this requester gets summaries and no passages, whatever it asks."""
        policy = self.policy
        return any(
            labels is not None and policy.summary_level(labels) >= Level.SUMMARY and _granted(policy, labels, requester)[0] == Level.SUMMARY
            for labels in self._documents.label_sets()
        )

    def nothing_granted(self, requester: Requester) -> Served:
        """The reply to a requester that gets no passage at all: whether summaries are shared is known to it already."""
        return self.refused(SUMMARIES_ONLY if self.has_summaries_only(requester) else DENIED)

    def nothing_found(self, requester: Requester, served: Served) -> Served:
        """A reply without passages; it says where documents are shared as summaries, which is no fact of the question."""
        if served.reply.evidence or served.reply.refused or not self.has_summaries_only(requester):
            return served
        return replace(served, reply=served.reply.model_copy(update={"refused": SOME_SUMMARIES_ONLY}))

    def _withheld(self, requester: Requester) -> frozenset[str] | None:
        policy, sets = self.policy, self._documents.label_sets()
        given = [labels for labels in sets if labels is not None and _granted(policy, labels, requester)[0] >= Level.EVIDENCE]
        if policy.fault or (sets and not given):
            return None
        return self.unread(policy) | (self._documents.not_labelled(given) if len(given) < len(sets) else frozenset())

    def held(self, requester: Requester, found: Iterable[Evidence]) -> list[tuple[Evidence, str]]:
        """Those of these passages that the policy keeps from this requester, each with the rule that does."""
        policy, passages = self.policy, list(found)
        grants, kept = self._grants(policy, requester, passages), list[tuple[Evidence, str]]()
        for item in passages:
            granted, rule = min((grants[identity] for identity in _rests_on(item)), key=itemgetter(0))
            if granted < Level.EVIDENCE:
                kept.append((item, rule))
            elif not self._is_read(item, policy):
                kept.append((item, UNREAD))
        return kept

    def titles_marked(self, marks: Collection[int], withheld: Collection[str]) -> list[str]:
        """As ``graph.titles.titles_marked``, under the policy in force."""
        return titles_marked(marks, self._documents, withheld, self.redactor_now())

    def is_spent(self, requester: Requester) -> bool:
        """Whether the limit of the day leaves this requester nothing, however small: then nothing need be read for it."""
        return not self._meter.allowance(requester.name, [Told(len(body_of(EvidenceReply())))], self.policy, self._there())

    def served(
        self,
        requester: Requester,
        found: Sequence[Evidence],
        trace: Sequence[TraceStep],
        *,
        reports: ReportCoverage = NO_REPORTS,
        most_bytes: int = MAX_REPLY_BYTES,
    ) -> Served:
        """The reply with what may leave of passages or points, best first, by the policy as it is now. It counts as sent.

        A point leaves if each document that it rests on may be read by this requester, and is quotable if each may be quoted. The last
        ones stay here where the reply would have more than ``most_bytes``.
        """
        return self._served(requester, found, _bare(trace, reports), most_bytes, self._meter.take)

    def tried(
        self,
        requester: Requester,
        found: Sequence[Evidence],
        trace: Sequence[TraceStep],
        *,
        reports: ReportCoverage = NO_REPORTS,
        most_bytes: int = MAX_REPLY_BYTES,
    ) -> Served:
        """The same reply, which is not going to leave."""
        return self._served(requester, found, _bare(trace, reports), most_bytes, self._meter.allowance)

    def _served(self, requester: Requester, found: Sequence[Evidence], bare: EvidenceReply, most_bytes: int, allowed: Allowed) -> Served:
        policy, changed = self.policy, self._labels_changed()
        redactor, grants = self.redactor(policy), self._grants(policy, requester, found)
        parcel = list[tuple[EvidenceBody, str]]()
        for item in found[:MAX_EVIDENCE]:
            granted, rule = min((grants[identity] for identity in _rests_on(item)), key=itemgetter(0))
            if granted >= Level.EVIDENCE and self._is_read(item, policy):
                narrowed = self._narrowed(item, policy, redactor, quotable=granted >= Level.FULL)
                parcel.append((EvidenceBody.from_record(narrowed), rule))
        sizes = [len(body_of(body)) + (COMMA_BYTES if row else len(body_of(bare))) for row, (body, _) in enumerate(parcel)]
        told = [Told(size, chunks_of(body)) for size, (body, _) in zip(_fitting(sizes, most_bytes), parcel, strict=False)]
        kept = allowed(requester.name, told, policy, self._there()) if told else 0
        if policy.fault or (told and not kept):
            return self.refused(SPENT if told else DENIED)
        reply = bare.model_copy(update={"evidence": [body for body, _ in parcel[:kept]]})
        rule = f"{_listed([rule for _, rule in parcel[:kept]])}; policy {policy.key}"
        return Served(reply, rule, lambda: (self.policy.key, self._labels_changed()) == (policy.key, changed))

    def _there(self) -> int:
        return self._documents.totals()["chunks"]

    def _grants(self, policy: Policy, requester: Requester, found: Iterable[Evidence]) -> dict[DocumentId, tuple[Level, str]]:
        """How much of each document that is told of this requester gets, by the strictest of its versions, and the rule that says so."""
        documents = {identity for item in found for identity in _rests_on(item)}
        labels = self._documents.labels_of(documents)
        return {
            identity: min((_granted(policy, of_it, requester) for of_it in labels.get(identity, [None])), key=itemgetter(0))
            for identity in documents
        }

    def _is_read(self, item: Evidence, policy: Policy) -> bool:
        """Whether a passage or point may leave under a policy that masks types: it rests on chunks that the detector reads alone."""
        return not policy.redact.types or self._languages.are_read([item.chunk_id, *item.chunk_ids])

    def refused(self, why: str = DENIED) -> Served:
        """A reply without evidence; it names no document."""
        return Served(EvidenceReply(refused=why), f"{why}; policy {self.policy.key}")

    def _narrowed(self, item: Evidence, policy: Policy, redactor: Redactor, *, quotable: bool) -> Evidence:
        start, end = item.span
        said, point = self.masked(item, redactor), redactor.mask(item.point)
        if point and not quotable and self._is_copied(item, point, said, redactor):
            point = ""
        text = said[: policy.snippet_chars]
        return replace(
            item,
            document_id=self.outside_ids.of(item.document_id),
            document=redactor.mask(located(item.document, item.place)),  # no field of its own: older peers show the name as well
            places=(),
            title=redactor.mask(item.title),
            chunk_id=self.outside_ids.of_chunk(item.chunk_id),
            text=text,
            span=(start, min(end, start + len(text))),
            quotable=quotable,
            point=point[: policy.snippet_chars],
            report=self.outside_ids.of_report(item.report),
            chunk_ids=tuple(map(self.outside_ids.of_chunk, item.chunk_ids)),
        )

    def _is_copied(self, item: Evidence, point: str, said: str, redactor: Redactor) -> bool:
        """Whether a point shows words of a passage that it rests on as they stand; also where one of these cannot be read."""
        rests_on = {item.chunk_id, *item.chunk_ids}
        chunks = self._documents.chunks(sorted(rests_on)).values()
        texts = (said, *(redactor.mask(chunk.text) for chunk, _, _ in chunks))
        return len(chunks) < len(rests_on) or any(is_copy(point, text) for text in texts)

    def masked(self, item: Evidence, redactor: Redactor) -> str:
        """A passage's text with everything masked that it holds, or holds a part of; what is masked in it already stays so."""
        start, end = item.span
        around, begins = (item.text, start)
        if not redactor.idle:
            around, begins = self._documents.around(item.document_id, max(0, start - CONTEXT_CHARS), end + CONTEXT_CHARS)
        stored = around[start - begins : end - begins]
        if len(stored) == len(item.text):
            masked = redactor.mask_within(around, start - begins, end - begins)
            if item.text in (stored, masked):
                return masked
        return redactor.mask(item.text)

    def says(self, item: Evidence, words: frozenset[str]) -> bool:
        """Whether a passage, its title, or what stands right beside it, has one of these words; they are in lower case without accents."""
        start, end = item.span
        around, _ = self._documents.around(item.document_id, max(0, start - CONTEXT_CHARS), end + CONTEXT_CHARS)
        return any(not words.isdisjoint(words_in(text)) for text in {around, item.text, item.title})

    def _labels_changed(self) -> str:
        return self._documents.database.meta(LABELS_CHANGED, "0")

    def redactor_now(self) -> Redactor:
        """What masks under the policy in force."""
        return self.redactor(self.policy)

    def redactor(self, policy: Policy) -> Redactor:
        """What masks under a policy, with the names of the types that it masks as the store knows them now."""
        if not policy.redact.types:
            return Redactor.of(policy.redact)
        mentions = self._graph.mentions
        made_of, last = (policy.key, *mentions.state()), self._redacting  # before the names are read
        if last is not None and last[0] == made_of:
            return last[1]
        names = mentions.names_of_types(policy.redact.types)
        if policy.redact.masks_all_names:
            names |= mentions.names_of_other_types([CONCEPT])
        lasts = self._likely_surnames(policy.redact) if policy.redact.masks_persons else set()
        redactor = Redactor.of(policy.redact, names, mentions.common_names(last_words(names) | lasts), lasts)
        self._redacting = (made_of, redactor)
        return redactor

    def _likely_surnames(self, redact: Redact) -> set[str]:
        """Last words of what may be persons though the detector takes them for something else, but for those that it surely knows alone."""
        mentions = self._graph.mentions
        names = set(names_like_persons(mentions.names_of_other_types(redact.types)))
        lasts = (last_words(names) | {words[0] for words in map(words_of, names) if len(words) == 1}) - STOP_WORDS
        sure = mentions.sure_of_other_types(set(map(normalise, lasts)), redact.types, SURE)
        return {word for word in lasts if normalise(word) not in sure}

    # ------------------------------------------------------------ languages

    def tell_languages(self) -> None:
        """Note the languages of the chunks that came since the last time, where the policy masks types. Raises DiskFull and DiskFailed."""
        if self.file.lasting().redact.types:
            self._note_languages()

    def _note_languages(self) -> None:
        told = dict[ChunkId, str]()
        for document in self._languages.untold():
            title, texts = self._languages.texts(document)
            told |= zip(texts, languages_of(title, list(texts.values())), strict=True)
            if len(told) >= AT_ONCE:
                self._languages.save(told)
                told = {}
        if told:
            self._languages.save(told)

    def _languages_of_documents(self) -> dict[DocumentId, str]:
        self._note_languages()
        state, last = self._languages.state(), self._spoken
        if last is None or last[0] != state:
            last = self._spoken = state, self._languages.of_documents()
        return last[1]

    def unread(self, policy: Policy) -> frozenset[str]:
        """The documents and single chunks that a policy keeps here, as it masks types, and nobody finds the names in their languages."""
        if not policy.redact.types:
            return frozenset()
        state, last = self._languages.state() + self._graph.mentions.state(), self._unread  # before anything is read
        if last is None or last[0] != state:
            last = self._unread = state, self._languages.unread()
        return last[1]

    # ------------------------------------------------------------ questions

    def escalation(self, client: EscalationMode | None) -> EscalationMode:
        """Whether a question may leave, as things stand; what counts in the end is what ``departing`` says."""
        return self.policy.escalation(client)

    def departing(self, question: str, client: EscalationMode | None) -> OutgoingQuestion:
        """What leaves of a question now: one policy decides, masks, and is named."""
        policy = self.policy
        escalation = policy.escalation(client)
        if escalation == "no":
            return OutgoingQuestion("no")
        return OutgoingQuestion(
            escalation, self.redactor(policy).mask_question(question), f"questions: {policy.questions}; policy {policy.key}"
        )


def _key_of(unread: frozenset[str]) -> str:
    return f".{crc(*sorted(unread)):x}" if unread else ""


def _granted(policy: Policy, labels: tuple[str, ...] | None, requester: Requester) -> tuple[Level, str]:
    """No labels at all (None): they cannot be read, or the document is gone."""
    return (Level.NEVER, "damaged") if labels is None else policy.evidence_level(labels, requester.name, requester.purpose)


def _bare(trace: Sequence[TraceStep], reports: ReportCoverage) -> EvidenceReply:
    return EvidenceReply(
        trace=list(trace),
        reports=reports.read,
        reports_there=reports.there,
        unread=reports.unread,
        without_model=reports.without_model,
    )


def _rests_on(item: Evidence) -> list[DocumentId]:
    """The documents of a passage or point, its own first."""
    return list(dict.fromkeys((item.document_id, *map(document_of, (item.chunk_id, *item.chunk_ids)))))


def _fitting(sizes: list[int], most_bytes: int) -> list[int]:
    while sum(sizes) > most_bytes:
        sizes = sizes[:-1]
    return sizes


def _listed(rules: Sequence[str]) -> str:
    """The rule of each passage; one where all have the same."""
    return ", ".join(rules if len(set(rules)) > 1 else rules[:1]) or "nothing found"
