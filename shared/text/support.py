"""Does a passage say what a sentence says that cites it? By words where they decide, else by one token of a model (ADR 26)."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from shared.errors import ModelError
from shared.limits import Deadline
from shared.ports import Generator, Message, Prompt
from shared.records import Evidence
from shared.telemetry.trace import Trace
from shared.text.citations import ENUMERATED, NEGATION
from shared.text.fence import FENCE_BYTES, Fence, one_line
from shared.text.prompts import MAX_NAME_CHARS, load_prompt
from shared.text.refusals import YES_OR_NO, probability_of
from shared.text.sentences import WORD, content_words, names_in, sentences

PROBE = load_prompt("shared", "support")
PROBE_TOKENS, TOP_LOGPROBS = 1, 10
MIN_PROBABILITY = 0.83  # of Yes; chosen on labelled sentences of real answers (ADR 26)
MIN_SHARED = 1 / 3  # of a sentence's content words: a passage that holds fewer is about something else, and no model is asked
MOST_PROBES = 6  # calls for one answer; a sentence behind them is decided by words alone
MOST_CHARS = 2_000  # of the passages that a model reads for one sentence
_ACRONYM = re.compile(r"\b(?:[A-Z]\.){2,9}|\b[A-Z]{2,9}\b")
_OPENING = "\"'“‘*([# "
_FIRST_WORD = re.compile(rf"[{re.escape(_OPENING)}]*[\w'’-]+")
_INNER_CAPITAL = re.compile(r"[a-z'’][A-Z]")
_LISTED = re.compile(r"^(?:[#*>|•–-]+\s+|\d{1,2}[.)]\s+)+")
_PUNCTUATION, _ARTICLES = "\"'“”‘’*,;:.!?", frozenset({"a", "an", "the"})
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d\W*")
_JOINTS = frozenset({"at", "by", "during", "in", "on", "since"})  # before a name: where, when or who; "in theory" and "in few" limit
_ENGLISH = frozenset("and are by can for from had has have he is it of she that the their they to was were will with".split())  # noqa: SIM905
_NOT_ENGLISH = frozenset(  # small words of the other packs' languages
    "das dem den der des die ein eine einem einen einer es ist mit sich sie sind und von wird wurde wurden zu zum zur au aux avec dans du"  # noqa: SIM905
    " elle est et il la le les ont par pour sont un une con del el en es la las los para por se son una y".split()
)
_STOPS, _CLOSING = (".", "!", "?", ";", "…"), "\"'”’)"  # behind these a sentence begins of itself
# a condition, a contrast, a doubt or another's word: what stands before it is not said without it
_HEDGE = re.compile(
    r"\b(?:may|MAY|(?i:according|alleged(?:ly)?|although|assum\w+|barely|believ\w+|but|claim\w*|could|den(?:y|ie[sd])|despite|doubt\w*"
    r"|except|false\w*|formerly|hardly|however|hypothe\w+|if|instead|less|likely|might|only|or|ought|perhaps|possibl[ey]|probabl[ey]"
    r"|provided|rarely|rather|reject\w*|said|scarcely|seldom|should|suggest\w*|suppos\w+|though|unless|unlikely|until|when|whenever|whereas"
    r"|whether|while|would|wrong\w*|yet))\b"  # "May" is a month
)
# a word that makes what stands before it, behind it or below it no statement
_UNTRUE = re.compile(
    r"\b(?:alleg(?:ed(?:ly)?|ations?|es?)|avoid\w*|beliefs?|believ\w+|claim(?:s|ed|ing)?|contradict\w*|contraindicat\w*|debunk\w*|deni(?:al|ed|es)"
    r"|deny|disprov\w+|erroneous\w*|errors?|fake\w*|fallac(?:y|ies|ious)|false\w*|fiction\w*|forbid\w*|hoax\w*|hypothetical\w*|incorrect\w*"
    r"|jok(?:e|es|ed|ing)|(?:an?|the|this) lie|misconceptions?|misinformation|mistake\w*|myth\w*|nonsense|prohibit\w*|refut\w*|reject\w*"
    r"|rumou?r\w*|superstiti\w+|suppos(?:e|ed|edly)|unproven|unsafe|untrue|wrong\w*"
    r"|angeblich\w*|behaupte\w*|bestritten|dementiert?\w*|erfunden\w*|falsch\w*|fehler\w*|gelogen|gerüchte?n?|irrtum|irrtümer|irrtümlich\w*"
    r"|lügen?|märchen|mutma(?:ß|ss)lich\w*|mythen|mythos|unwahr\w*|vermeintlich\w*|widerleg\w*"
    r"|démenti\w*|erreurs?|fau(?:x|sses?)|inexacte?s?|mensong\w*|mythes?|prétend\w*|réfut\w*"
    r"|bulos?|desm(?:ent|int)\w*|error(?:es)?|fals[oa]s?|mentiras?|mitos?|presunt\w*|supuest\w*)\b"
    r"|谣言|谣传|传言|错误|虚假|误解|误传|据称|所谓|不实|否认|谎言|迷信",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(
    r"\W*(?:(?:both|but|however|it|neither|no|none|nobody|not|that|these|they|this|those|yet"
    r"|aber|beides?|das|dies\w*|doch|er|es|jedoch|kein\w*|nein|nicht|nichts|sie|ce|ceci|cela|cependant|elles?|ils?|mais|non|toutefois"
    r"|ell[ao]s?|es[ao]s?|est[aeo]s?|no|pero|sin embargo)\b|c['’]|[但这那它此不没])",
    re.IGNORECASE,
)
_POINTS_ON = re.compile(r"\b(?:as follows|below|following|so|that|these|this|those)\W*\Z", re.IGNORECASE)
_LEAD_IN = re.compile(r"#|.*:\s*\Z", re.DOTALL)  # a heading, or the line above a list
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ied|ies|ed|es|ly|e|y)$")


def by_words(sentence: str, texts: Sequence[str], *, heading: str = "", aside: AbstractSet[str] = frozenset()) -> bool | None:
    """Whether ``texts`` say what a sentence says, as far as words tell; None: they leave it open.

    They do where one sentence of them begins with all its words, in its order, and goes on with nothing that hedges, limits or denies them
    (``_opens``), and nothing around takes it back (``_is_stated``). They do not where they lack one of its names or figures, or hold fewer
    than ``MIN_SHARED`` of its words, or where the sentence denies something and they nothing. ``heading``: what may name the subject beside
    them, as a title does. ``aside``: words that need no support. Linear in the lengths of both.

    >>> pumps = ["Two of 9 pumps failed in May. The others were replaced by Ann Lee."]
    >>> [by_words(said, pumps) for said in ("Two of 9 pumps failed.", "In May, 8 pumps failed.", "Bo Orr replaced pumps.")]
    [True, False, False]
    >>> [by_words(said, pumps) for said in ("Pumps failed in May for want of oil.", "9 of two pumps failed.", "The others were replaced.")]
    [None, None, True]
    """
    said = ENUMERATED.sub("", sentence)
    words = stems(content_words(said) - aside)
    held = stems(content_words(f"{heading} {' '.join(texts)}"))
    if not words or not must_stand(said, " ".join([heading, *texts])) - aside <= held or len(words & held) < MIN_SHARED * len(words):
        return False
    if NEGATION.search(said) and not any(map(NEGATION.search, texts)):
        return False
    opening = [_bare(word) for word in _spoken(said)]
    return True if any(_is_stated(opening, text) for text in texts) else None


def _is_stated(opening: Sequence[str], text: str) -> bool:
    r"""Whether a sentence of a text begins with these words, and nothing around takes it back.

    It must begin of itself: one behind a bare line break may go on from the line before. The sentences on both sides and the last lead-in
    above are looked at. Linear in the text.

    >>> [_is_stated(["it", "leaks"], text) for text in ("It leaks. It is old.", "It leaks. This is a myth.", "# Myths\nIt leaks.")]
    [True, False, False]
    """
    pieces = [piece for start, end in sentences(text) if (piece := text[start:end].strip())]
    before, is_doubted = "", False  # by the lead-in
    for piece, behind in zip(pieces, [*pieces, ""][1:], strict=True):
        begins = not before or before.startswith("#") or before.rstrip(_CLOSING).endswith(_STOPS)
        if begins and not is_doubted and _opens(opening, piece) and not _takes_back(before, behind):
            return True
        if _LEAD_IN.match(piece):
            is_doubted = not is_plain(piece)
        before = piece
    return False


def is_plain(text: str) -> bool:
    """Whether a text has no word that denies, hedges or doubts something.

    >>> is_plain("(born 1950)"), is_plain("(if that is true)")
    (True, False)
    """
    return not any(said.search(text) for said in (NEGATION, _HEDGE, _UNTRUE))


def _takes_back(before: str, behind: str) -> bool:
    """Whether a sentence is taken back by the one before it, or by the one behind it.

    >>> _takes_back("Never do this.", ""), _takes_back("", "This is a myth."), _takes_back("It never rains.", "Its motor does not run.")
    (True, True, False)
    """
    limits = (around for around, points in ((before, _POINTS_ON.search), (behind, _POINTS_BACK.match)) if points(around))
    return any(map(_UNTRUE.search, (before, behind))) or any(NEGATION.search(around) or _HEDGE.search(around) for around in limits)


def _opens(opening: Sequence[str], sentence: str) -> bool:
    """Whether a sentence begins with these words and may be cut behind them: it says no less of them for what follows.

    The order decides who does what, and so does each small word; only articles, quotes and commas may differ. A cut is before a name or
    before a year at the end, and never behind a figure: "1 in 10", "cures pain, a myth holds" and "cures pain in theory" say less. Only
    what is English by its small words is cut: in German each noun has a capital, as in "leckt in Ausnahmefällen".

    >>> [_opens(["pump", "leaks"], said) for said in ("The pump leaks in May.", "The pump leaks, if hot.", "A new pump leaks.")]
    [True, False, False]
    """
    words = _spoken(sentence)
    same, rest = words[: len(opening)], words[len(opening) :]
    if not opening or [_bare(word) for word in same] != opening:
        return False
    behind = " ".join(rest)
    before_name = len(rest) > 1 and _is_english(sentence) and _bare(rest[0]) in _JOINTS and rest[1][:1].isupper()
    before_year = len(rest) == 2 and rest[0] in ("in", "since") and _YEAR.fullmatch(rest[1]) is not None
    may_end = not rest or ((before_name or before_year) and not any(map(str.isdigit, same[-1])))
    return may_end and not sentence.rstrip().endswith("?") and not _HEDGE.search(behind) and not NEGATION.search(behind)


def _is_english(sentence: str) -> bool:
    """Whether its small words are English.

    >>> [_is_english(said) for said in ("It leaks in May.", "Was leckt, ist die Pumpe in Ulm.", "Pumpe leckt in Ulm.")]
    [True, False, False]
    """
    words = set(sentence.casefold().split())
    return not _ENGLISH.isdisjoint(words) and _NOT_ENGLISH.isdisjoint(words)


def _spoken(text: str) -> list[str]:
    """The words as they are written, signs and units with them ("-5", ".5", "20.5"), without articles and the marks of lists.

    >>> _spoken("- A dose of .5 mg of Hepatitis A")
    ['dose', 'of', '.5', 'mg', 'of', 'Hepatitis', 'A']
    """
    words = enumerate(_LISTED.sub("", text).split())
    return [word for at, word in words if _bare(word) and not (_bare(word) in _ARTICLES and (at == 0 or word.islower()))]


def _bare(word: str) -> str:
    inner = word.lstrip(_PUNCTUATION)
    point = word[: len(word) - len(inner)].endswith(".") and inner[:1].isdigit()
    return ("." * point + inner.rstrip(_PUNCTUATION)).casefold()


def heading_of(passages: Sequence[Evidence]) -> str:
    """What names the subject of passages beside their words."""
    return " ".join({f"{passage.title} {passage.document} {passage.edge}" for passage in passages})


def must_stand(said: str, held: str) -> frozenset[str]:
    """The stems of a sentence's names and figures, without names that ``held`` has as an acronym, or the other way round.

    Its first word alone has a capital anyhow: only a capital inside, as in "McGregor", makes it a name for sure.

    >>> sorted(must_stand("The United States and the ANS helped 2 Kurds", "In the U.S. the autonomic nervous system"))
    ['2', 'kurd']
    """
    first = _FIRST_WORD.match(said)
    runs = [run for run in names_in(said) if first is None or run != first[0].lstrip(_OPENING) or _INNER_CAPITAL.search(run)]
    names = [name for run in runs for name in re.split(r" (?:and|the)(?: the)? ", run.removeprefix("The "))]
    figures = (word for word in content_words(said) if any(map(str.isdigit, word)))
    short = {match[0].replace(".", "").casefold() for match in _ACRONYM.finditer(held)}
    initials = "".join(word[0] for word in WORD.findall(held.casefold()))
    known = (_ACRONYM.fullmatch(name) and name.replace(".", "").casefold() in initials for name in names)
    unknown = [name for name, is_known in zip(names, known, strict=True) if not is_known and _initials(name) not in short]
    return stems({*figures, *(word for name in unknown for word in content_words(name))})


def _joined(passages: Iterable[Evidence]) -> list[str]:
    """The texts of passages; those that follow each other in a document are one, as a sentence may go on from one to the next."""
    texts, last = list[str](), None
    for passage in sorted(passages, key=lambda one: (one.edge, one.document_id, one.span)):
        if last and (last.edge, last.document_id) == (passage.edge, passage.document_id) and 0 <= passage.span[0] - last.span[1] <= 1:
            texts[-1] += f" {passage.text}"
        else:
            texts.append(passage.text)
        last = passage
    return texts


def _initials(name: str) -> str:
    return "".join(word[0] for word in WORD.findall(name.casefold()))


def stems(words: Iterable[str]) -> frozenset[str]:
    """Words without the commonest endings, so that "failing" is found where "failed" stands."""
    return frozenset(_ENDING.sub("", word) for word in words)


def probe(sentence: str, passages: Sequence[Evidence], fence: Fence) -> tuple[Message, ...]:
    """The messages that ask for one token. Rules and examples stand first, the same for all, so that a server keeps them."""
    texts = (
        f"{one_line(passage.title)[:MAX_NAME_CHARS]}: {one_line(passage.text)}" if passage.title else one_line(passage.text)
        for passage in passages
    )
    return PROBE.render(passage=fence.around(" ".join(dict.fromkeys(texts))[:MOST_CHARS]), sentence=one_line(sentence))


@dataclass(slots=True)
class Checking:
    """The check of one answer's sentences, or of its samples': at most ``MOST_PROBES`` calls of the model, all before the deadline.

    What several samples say alike is asked once.

    Without a model, or where it fails or says neither yes nor no, what words leave open is not supported.
    """

    generator: Generator | None
    trace: Trace
    deadline: Deadline
    left: int = MOST_PROBES
    _asked_before: dict[tuple[str, tuple[Evidence, ...]], bool] = field(default_factory=dict)
    _fence: Fence = field(default_factory=lambda: Fence(secrets.token_hex(FENCE_BYTES)))

    async def holds(self, sentence: str, passages: Sequence[Evidence], *, aside: AbstractSet[str] = frozenset()) -> bool:
        """Whether the texts of the passages say what a sentence, without its markers, says."""
        if not passages:
            return False
        decided = by_words(sentence, _joined(passages), heading=heading_of(passages), aside=aside)
        if decided is not None:
            return decided
        key = (sentence.strip(), tuple(passages))
        if key not in self._asked_before:
            self._asked_before[key] = await self._asked(*key)
        return self._asked_before[key]

    async def _asked(self, sentence: str, passages: Sequence[Evidence]) -> bool:
        if self.generator is None or self.left <= 0 or self.deadline.left_s() <= 0:
            return False
        self.left -= 1
        try:
            with self.trace.step("support") as step:
                prompt = Prompt(probe(sentence, passages, self._fence), PROBE_TOKENS, top_logprobs=TOP_LOGPROBS, choices=YES_OR_NO)
                reply = step.model(await self.generator.generate(prompt, deadline_s=self.deadline.left_s()))
        except ModelError:
            self.left = 0  # it is late, or away: words decide the rest
            return False
        return (probability_of(reply.first_token, "yes", ["no"]) or 0.0) >= MIN_PROBABILITY
