"""What the policy in force says of this site's documents: to summaries, to another site's question, to a question that leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from edge_node.link.bodies import always
from edge_node.policy.file import PolicyFile
from edge_node.policy.meter import Meter
from edge_node.policy.redaction import CONTEXT_CHARS, Redactor, last_words
from edge_node.policy.release import SummaryRelease
from edge_node.policy.rules import DENIED, Escalation, Level, Policy, Share, share_of
from edge_node.store.documents import DocumentStore
from edge_node.store.graph import OBEYS, GraphStore
from edge_node.store.labels import LABELS_CHANGED
from edge_node.store.outside_ids import OutsideIds
from shared.records import DocumentId, Evidence, TraceStep
from shared.wire import MAX_EVIDENCE, EvidenceBody, EvidenceReply

MAX_REPLY_BYTES = 250_000  # the cloud reads 256 KiB of a reply
COMMA_BYTES = 1
Allowed = Callable[[str, Sequence[int], Policy], int]  # how many passages of these sizes a requester gets today


@dataclass(frozen=True, slots=True)
class Requester:
    """Who asks through the cloud, which vouches for the name, and what for."""

    name: str
    purpose: str | None


@dataclass(frozen=True, slots=True)
class Served:
    """A reply, and the rule of each of its passages for the ledger. ``holds``: whether policy and labels still are what it was made by."""

    reply: EvidenceReply
    rule: str
    holds: Callable[[], bool] = always


@dataclass(frozen=True, slots=True)
class Departing:
    """What one policy says of a question: whether it may leave, as which text, and by which rule; both "" where it may not."""

    escalation: Escalation
    text: str = ""
    rule: str = ""


class Sharing:
    """Asks the file anew each time. Reads disk and store: to be called in a thread. Raises DiskFull and DiskFailed when it is made."""

    def __init__(self, file: PolicyFile, documents: DocumentStore, graph: GraphStore, meter: Meter) -> None:
        self._file = file
        self._documents = documents
        self._graph = graph
        self._meter = meter
        self._redacting: tuple[tuple[str, int, int], Redactor] | None = None  # the last one with names of types, and what it was made of
        self.outside_ids = OutsideIds(documents.database)

    @property
    def policy(self) -> Policy:
        """The one in force."""
        return self._file.current()

    def view(self) -> dict[str, str | bool]:
        """For the status: which policy is in force, why it shares nothing if it does not, and whether the summaries obey it already."""
        policy = self.policy
        return {"key": policy.key, "fault": policy.fault, "current": self.is_told()}

    def of_labels(self, labels: Sequence[str]) -> tuple[Share, tuple[str, ...]]:
        """How much of a document with these labels may leave, before exceptions, and those that a policy in force does not name."""
        policy = self.policy
        unnamed = () if policy.fault else tuple(label for label in labels if label not in policy.labels)
        return share_of(policy.summary_level(labels)), unnamed

    # ------------------------------------------------------------ summaries

    def summaries(self) -> SummaryRelease:
        """What summaries may tell now."""
        changed = self._labels_changed()  # before the labels are read
        policy = self._file.lasting()
        redactor = self._redactor(policy)
        sets = self._documents.label_sets()
        told = [labels for labels in sets if labels is not None and policy.summary_level(labels) >= Level.SUMMARY]
        return SummaryRelease(
            f"{policy.summaries_key}:{changed}:{redactor.key}",
            self._documents.not_labelled(told) if len(told) < len(sets) else frozenset(),
            policy.minimum_support,
            redactor,
        )

    def is_told(self) -> bool:
        """Whether all stored summaries obey the policy and the labels as they are now; not known while a policy is just being saved."""
        if self._file.lasting() is not self.policy:
            return False
        obeyed = self._graph.database.meta(OBEYS, "").rpartition(":")[0]
        return obeyed == self.wanted() or self._graph.database.row("SELECT 1 FROM summaries WHERE removed = 0 LIMIT 1") is None

    def wanted(self) -> str:
        """What of policy and labels the summaries should obey."""
        return f"{self._file.lasting().summaries_key}:{self._labels_changed()}"

    def rule(self) -> str:
        """What lets summaries go, for the ledger."""
        return f"summaries; policy {self.policy.key}, labels {self._labels_changed()}"

    # ------------------------------------------------------------ evidence

    def withheld(self, requester: Requester) -> frozenset[DocumentId] | None:
        """The documents of which this requester gets no passage; None: it gets nothing at all."""
        policy, sets = self.policy, self._documents.label_sets()
        given = [labels for labels in sets if labels is not None and _granted(policy, labels, requester)[0] >= Level.EVIDENCE]
        if policy.fault or (sets and not given):
            return None
        return self._documents.not_labelled(given) if len(given) < len(sets) else frozenset()

    def served(self, requester: Requester, found: Sequence[Evidence], trace: Sequence[TraceStep]) -> Served:
        """The reply with what may leave of the passages, best first, by the policy as it is now. It counts as sent."""
        return self._served(requester, found, trace, self._meter.take)

    def tried(self, requester: Requester, found: Sequence[Evidence], trace: Sequence[TraceStep]) -> Served:
        """The same reply, which is not going to leave."""
        return self._served(requester, found, trace, self._meter.allowance)

    def _served(self, requester: Requester, found: Sequence[Evidence], trace: Sequence[TraceStep], allowed: Allowed) -> Served:
        policy, changed = self.policy, self._labels_changed()
        redactor = self._redactor(policy)
        labels = self._documents.labels_of([item.document_id for item in found])
        parcel = list[tuple[EvidenceBody, str]]()
        for item in found[:MAX_EVIDENCE]:
            versions = labels.get(item.document_id, [None])
            granted, rule = min((_granted(policy, of_it, requester) for of_it in versions), key=lambda one: one[0])
            if granted >= Level.EVIDENCE:
                quotable = granted >= Level.FULL
                parcel.append((EvidenceBody.from_record(self._narrowed(item, policy, redactor, quotable=quotable)), rule))
        empty = len(EvidenceReply(trace=list(trace)).model_dump_json())
        sizes = _fitting([len(body.model_dump_json().encode()) + COMMA_BYTES + empty * (not row) for row, (body, _) in enumerate(parcel)])
        kept = allowed(requester.name, sizes, policy) if sizes else 0
        if policy.fault or (sizes and not kept):
            return self.refused(f"{DENIED}: the limit of the day" if sizes else DENIED)
        reply = EvidenceReply(evidence=[body for body, _ in parcel[:kept]], trace=list(trace))
        rule = f"{_listed([rule for _, rule in parcel[:kept]])}; policy {policy.key}"
        return Served(reply, rule, lambda: (self.policy.key, self._labels_changed()) == (policy.key, changed))

    def refused(self, why: str = DENIED) -> Served:
        """A reply without evidence; it names no document."""
        return Served(EvidenceReply(refused=why), f"{why}; policy {self.policy.key}")

    def _narrowed(self, item: Evidence, policy: Policy, redactor: Redactor, *, quotable: bool) -> Evidence:
        start, end = item.span
        around, begins = (item.text, start)
        if not redactor.idle:
            around, begins = self._documents.around(item.document_id, max(0, start - CONTEXT_CHARS), end + CONTEXT_CHARS)
        if around[start - begins : end - begins] == item.text:
            text = redactor.mask_within(around, start - begins, end - begins)
        else:
            text = redactor.mask(item.text)
        text = text[: policy.snippet_chars]
        return replace(
            item,
            document_id=self.outside_ids.of(item.document_id),
            document=redactor.mask(item.document),
            title=redactor.mask(item.title),
            chunk_id=self.outside_ids.of_chunk(item.chunk_id),
            text=text,
            span=(start, min(end, start + len(text))),
            quotable=quotable,
        )

    def _labels_changed(self) -> str:
        return self._documents.database.meta(LABELS_CHANGED, "0")

    def _redactor(self, policy: Policy) -> Redactor:
        if not policy.redact.types:
            return Redactor.of(policy.redact)
        mentions = self._graph.mentions
        made_of, last = (policy.key, *mentions.state()), self._redacting  # before the names are read
        if last is not None and last[0] == made_of:
            return last[1]
        names = mentions.names_of_types(policy.redact.types)
        redactor = Redactor.of(policy.redact, names, mentions.common_names(last_words(names)))
        self._redacting = (made_of, redactor)
        return redactor

    # ------------------------------------------------------------ questions

    def escalation(self, client: Escalation | None) -> Escalation:
        """Whether a question may leave, as things stand; what counts in the end is what ``departing`` says."""
        return self.policy.escalation(client)

    def departing(self, question: str, client: Escalation | None) -> Departing:
        """What leaves of a question now: one policy decides, masks, and is named."""
        policy = self.policy
        escalation = policy.escalation(client)
        if escalation == "no":
            return Departing("no")
        return Departing(escalation, self._redactor(policy).mask(question), f"questions: {policy.questions}; policy {policy.key}")


def _granted(policy: Policy, labels: tuple[str, ...] | None, requester: Requester) -> tuple[Level, str]:
    """No labels at all (None): they cannot be read, or the document is gone."""
    return (Level.NEVER, "damaged") if labels is None else policy.evidence_level(labels, requester.name, requester.purpose)


def _fitting(sizes: list[int]) -> list[int]:
    while sum(sizes) > MAX_REPLY_BYTES:
        sizes = sizes[:-1]
    return sizes


def _listed(rules: Sequence[str]) -> str:
    """The rule of each passage; one where all have the same."""
    return ", ".join(rules if len(set(rules)) > 1 else rules[:1]) or "nothing found"
