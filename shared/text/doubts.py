"""Why a reader should look at the source though the samples agree: what a question asks and its answer passes by (DGRAG §III-C ⑤)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from shared.records import Citation, Evidence
from shared.text.citations import MARKER
from shared.text.comparing import compares
from shared.text.links import are_linked
from shared.text.sentences import NUMBER_WORDS, content_words, names_in, sentences
from shared.text.short_answers import asks_to_calculate, is_named, verdict_of, without_verdict
from shared.text.support import stems
from shared.text.values import values_held, values_in

PASSED_BY = 0.25  # of the question's words that the passages hold: so many in others than the cited ones raise a doubt
MANY = 3  # everyday words that are passed by raise a doubt, where they are most of the question's
_ASKS_WHEN = re.compile(  # not "given when a patient is allergic"
    r"(?:^|[.?!,;:]\s|\b(?:and|et|since|until|till|by|from|depuis|jusqu'à)\s)\W*(?:since\s|until\s|by\s|from\s)?(?:when|quand)\b"
    r"|\b(?:wann|cuándo)\b|什么时候",
    re.IGNORECASE,
)
_ASKS_FIGURE = re.compile(r"\b(?:how (?:many|much)|wie ?viele?|combien|cuánt[oa]s?)\b|多少", re.IGNORECASE)
_TIME = re.compile(
    r"\d|\b(?:if|when|while|once|after|before|during|as soon as|until|always|never|daily|weekly|monthly|yearly|annually"
    r"|wenn|sobald|nach|vor|während|bis|immer|nie|täglich|wöchentlich|monatlich|jährlich"
    r"|si|quand|lorsque|dès|après|avant|jusqu|pendant|toujours|jamais"
    r"|cuando|tras|después|antes|hasta|durante|siempre|nunca"
    r"|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|januar|februar|märz|mai|juni|juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre"
    r"|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?"
    r"|immediately|now|noon|midnight|at once|whenever|on (?:arrival|admission|receipt)|each|every"
    r"|sofort|jetzt|mittags?|mitternacht|jede[nrsm]?"
    r"|spring|summer|autumn|winter|frühjahr|sommer|herbst|today|tomorrow|yesterday|heute|morgen|gestern)\b"
    r"|[年月日时]",
    re.IGNORECASE,
)
_EITHER = re.compile(r"\b(?:or|oder|ou|o)\b", re.IGNORECASE)
_AMOUNT = re.compile(
    r"\b(?:no|none|nothing|all|both|half|every|one|zero|once|a single"
    r"|null|eine?[nmrs]?|keine?|einmal|alle|beide|aucune?|tou(?:s|tes)|ningun[oa]s?|tod[oa]s)\b",
    re.IGNORECASE,
)


def doubt_about(question: str, answer: str, citations: Sequence[Citation], read: Sequence[Evidence]) -> str:
    """The first reason to doubt an answer that stands in its passages; "" where there is none. ``read``: all passages that were read."""
    if _ASKS_WHEN.search(question) and not _TIME.search(answer):
        return "the question asks for a time, and the answer names none"
    if _ASKS_FIGURE.search(question) and not values_in(answer) and not _AMOUNT.search(answer):
        return "the question asks for a figure, and the answer names none"
    if compares(question) and len({(citation.edge, citation.document_id) for citation in citations}) < 2:
        return "the question compares what several documents say, and one alone is cited"
    if _is_echo(answer, question):
        return "the answer only repeats words of the question"
    has_one_citation = len(citations) < 2
    if has_one_citation and verdict_of(answer) is not None and not content_words(without_verdict(MARKER.sub("", answer))):
        return "the answer is a bare yes or no, without a reason"
    if strange := not_in_cited(question, answer, citations, read):
        return f"the passages cited do not name {strange[0]}"
    if stands_apart(question, citations, read):
        return "what is cited stands apart from all words of the question"
    words = passed_by(question, answer, citations, read)
    return f"the passages cited say nothing of {', '.join(words)}, of which others speak" if words else ""


def not_in_cited(question: str, answer: str, citations: Sequence[Citation], read: Sequence[Evidence]) -> list[str]:
    """The figures, dates and codes of an answer that no cited passage holds; one that may be worked out need not stand there.

    A Yes or No may name those of the question.
    """
    said = MARKER.sub("", answer)
    if asks_to_calculate(question) or not any(map(str.isdigit, said)):
        return []
    cited = [passage for passage in read if any(_is_from(citation, passage) for citation in citations)]
    held = values_held(f"{one.title}\n{one.document}\n{one.text}" for one in cited)
    named = values_in(question) if verdict_of(answer) is not None else frozenset()
    strange = (value for value in values_in(said) if not value.is_in(held) and not value.is_in(named))
    return sorted(f"{min(value.readings)} {value.unit}".strip() for value in strange)


def stands_apart(question: str, citations: Sequence[Citation], read: Sequence[Evidence]) -> bool:
    """Whether no cited sentence, with those beside it and its document's names, has a word of a question that its passage has."""
    asked = stems(content_words(question) - NUMBER_WORDS)
    places = [(citation, passage) for citation in citations for passage in read if _is_from(citation, passage)]
    near = (_words_of([_around(citation, passage)]) & asked for citation, passage in places)
    return not any(near) and bool(_words_of([passage for _, passage in places]) & asked)


def _around(citation: Citation, passage: Evidence) -> Evidence:
    """The passage, cut to the cited sentence and the one on either side."""
    start, end = (at - passage.span[0] for at in citation.span)
    spans = sentences(passage.text)
    first = next((row for row, span in enumerate(spans) if span[1] > start), 0)
    last = next((row for row, span in enumerate(spans) if span[1] >= end), len(spans) - 1)
    beside = spans[max(0, first - 1) : last + 2]
    return replace(passage, text=passage.text[beside[0][0] : beside[-1][1]] if beside else "")


def passed_by(question: str, answer: str, citations: Sequence[Citation], read: Sequence[Evidence]) -> list[str]:
    """The question's words that passages speak of and those that tell the answer do not, if they are many of all.

    An answer that is taken from a passage about something else has its words, and not those of the question. What tells the answer
    are the cited passages with its own words, and those that they share a name or a code with: a second hop. Of a question with
    names their words alone count, as everyday words have others in the passages: "died" and "death".
    """
    cited = [passage for passage in read if any(_is_from(citation, passage) for citation in citations)]
    own = stems(content_words(MARKER.sub("", answer)) - content_words(question))
    is_verdict = verdict_of(answer) is not None  # of two things that are compared, each has its passage
    counts = [len(own & _words_of([passage])) for passage in cited]
    least = max(counts, default=0) / 2  # a year alone makes no passage one that tells the answer
    bearing = cited if is_verdict else [passage for passage, count in zip(cited, counts, strict=True) if count >= least]
    telling = [passage for passage in cited if passage in bearing or any(are_linked(passage, one, question, read) for one in bearing)]
    others = [passage for passage in read if passage not in telling]
    known, elsewhere = _words_of(telling), _words_of(others)

    def split(words: Iterable[str]) -> tuple[list[str], list[str]]:
        """Those that only other passages have, and those that these have."""
        wanted = {word: stems([word]) for word in sorted(words) if word not in NUMBER_WORDS}
        missing = [word for word, stem in wanted.items() if not stem <= known and stem <= elsewhere]
        return missing, [word for word, stem in wanted.items() if stem <= known]

    missing, held = split(_names_asked(question) or content_words(question))
    if missing and len(missing) >= PASSED_BY * (len(missing) + len(held)):
        return missing
    missing, held = split(content_words(question))
    return missing if len(missing) >= MANY and len(missing) > len(held) else []


def _is_echo(answer: str, question: str) -> bool:
    """Whether all that an answer says stands in the question, in small letters or as a value: what a name is, is asked for."""
    bare = MARKER.sub("", answer)
    if _EITHER.search(question) or verdict_of(answer) is not None:
        return False
    values, named = values_in(bare), values_in(question)
    small = {word for word in re.findall(r"\w+", question) if word.islower()}
    words = {word for word in content_words(bare) if not any(map(str.isdigit, word))}
    is_new = any(not is_named(value, named) for value in values) or bool(words - small)
    return bool(values or words) and not is_new


def _is_from(citation: Citation, passage: Evidence) -> bool:
    is_same = (citation.edge, citation.document_id) == (passage.edge, passage.document_id)
    return is_same and passage.span[0] <= citation.span[0] and citation.span[1] <= passage.span[1]


def _names_asked(question: str) -> frozenset[str]:
    """The words of a question's names; its first word has a capital anyhow."""
    first = question.split(maxsplit=1)[0].strip("\"'“‘„") if question.strip() else ""
    return content_words(" ".join(name for name in names_in(question) if name != first))


def _words_of(passages: Sequence[Evidence]) -> frozenset[str]:
    texts = " ".join(f"{one.title} {one.document} {one.edge} {one.text}" for one in passages)
    return stems(content_words(texts))
