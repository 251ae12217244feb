"""Questions with answers from facts, by templates and without a model (FD-RAG §4.1: what an edge without a model remembers)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from edge_node.extraction.facts import DATE, NUMBER, Fact
from edge_node.memory.anchors import anchors_of
from edge_node.memory.records import Memory, Support, memory_of
from shared.ports import FloatArray
from shared.text.sentences import NUMBER_WORDS, content_words

MOST_OF_SENTENCE = 4
MOST_OF_CHUNK = 12
MOST_WORDS = 10  # that carry meaning, of a question

_AGENTS = frozenset({"person", "group", "organization"})
_AT_A_PLACE = frozenset({"in", "at", "near"})
_AT_A_TIME = frozenset({"", "in", "on", "during"})
_ASKABLE = frozenset({"as", "at", "for", "from", "in", "into", "of", "on", "to", "with"})  # "What was it made of?"
_ASKABLE_OF_DOING = frozenset({"for", "from", "into", "of", "on", "to"})
_ASKABLE_OF_BEING = frozenset({"for", "of", "to", "with"})  # "What is it famous for?"
_PERSON = re.compile(
    r"\w*(?:ian|ist|man|woman|eer|tor|ger|player|lawyer|ter|ader|nder|ller|mmer|ner|cer|pher|ress|ssor|per|cher|rer|ver|ker)"
)
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_CALENDAR = re.compile(rf"\b(?:1\d{{3}}|20\d\d)s?\b|\b{_MONTH} \d|\d {_MONTH}\b|\dth century\b|\b\d+ BCE?\b")
_BE = frozenset({"are", "is", "was", "were"})
_FORMS_OF_BE = _BE | {"be", "been", "being"}
_PRESENT = frozenset({"are", "do", "does", "is"})
_PLURAL = frozenset({"are", "do", "have", "were"})

MAKING = frozenset(
    """
    acquire build buy commission compose create design develop direct edit establish form found illustrate invent join lead make manufacture
    own perform produce publish record release replace sign sing start win write
    """.split()  # noqa: SIM905 - a list would be a page long
)
LIGHT = frozenset(
    """
    accuse allow be bear become begin blame bring cause come criticize describe discuss do face fall feel find follow get give go have hear
    help include involve keep know label leave let like look make mean mention need play praise provide put question recall remember run say
    see seem show start take tell think try turn use want warn
    """.split()  # noqa: SIM905 - a list would be a page long
)
# what can be done without an object: other verbs that have none were misread ("raised in Leeds")
ALONE = frozenset(
    """
    air appear arrive begin close collapse compete crash debut depart die disband dissolve emerge end erupt expire fight graduate grow land
    launch leave live marry meet occur open operate originate perform play premiere reside resign retire return rule settle sink start study
    teach train
    """.split()  # noqa: SIM905 - a list would be a page long
)
NO_EVENTS = frozenset({"do", "get", "have", "hear", "keep", "know", "make", "see", "take"})  # "took the government" in 1978
NAMING = frozenset({"call", "dub", "name", "nickname", "term", "title"})
SERVING = frozenset({"act", "function", "play", "serve", "work"})  # as something
IN_SOMETHING = frozenset({"believe", "compete", "consist", "engage", "invest", "participate", "result", "specialize"})
NOT_COUNTED = frozenset({"and", "of", "or", "per", "percent", "to"})  # "How many per cent"
OPEN = frozenset({"all", "both", "few", "many", "more", "most", "mostly", "several", "some", "such", "various"})
PEOPLE = frozenset(
    """
    activist artist athlete bishop brother candidate captain chef chief coach cousin critic daughter economist father figure friend general
    golfer governor graduate head heir hero husband judge king lord mate matriarch mayor member mother native nominee nurse one patriarch
    philosopher physicist pilot poet president prince princess queen representative scholar scientist secretary sister soldier son star
    surgeon veteran widow wife
    """.split()  # noqa: SIM905 - a list would be a page long
)
EMPTY = frozenset(  # "a general term", "a type of good"
    {"concept", "example", "form", "kind", "name", "part", "reason", "reminder", "term", "thing", "type", "way", "word"}
)
THINGS = frozenset(
    """
    album band barrier beer book border brewery car center centre chain channel chapter city club company computer country county disease
    drama drug duo episode factor family festival film firm franchise game group hospital hotel lager language law league letter magazine
    matter motor movement movie museum newspaper novel number order organization paper park party place play power program publication
    quarter region river road route school season sector sequel series ship show single song sport station street studio suburb system
    team theater theatre theory thriller title tower town train tree university variant vector village war website winter
    """.split()  # noqa: SIM905 - a list would be a page long
)
IRREGULAR = {
    "beaten": "beat", "begun": "began", "borne": "bore", "broken": "broke", "chosen": "chose", "done": "did", "drawn": "drew",
    "driven": "drove", "drunk": "drank", "eaten": "ate", "flown": "flew", "forgotten": "forgot", "given": "gave", "grown": "grew",
    "hidden": "hid", "known": "knew", "overseen": "oversaw", "overthrown": "overthrew", "ridden": "rode", "rewritten": "rewrote",
    "run": "ran", "seen": "saw", "shaken": "shook", "shown": "showed", "spoken": "spoke", "stolen": "stole", "sung": "sang",
    "taken": "took", "thrown": "threw", "undertaken": "undertook", "woven": "wove", "won": "won", "worn": "wore", "written": "wrote",
}  # fmt: skip

Anchoring = Literal["question", "own"]  # whose words: the memory's question's, or those of the sentences that it rests on

ANCHORINGS: tuple[Anchoring, ...] = ("question", "own")
TEMPLATES = 1  # to be raised when what is made of facts differs
SAME_FROM = 0.97  # cosine of two questions with one answer


@dataclass(frozen=True, slots=True)
class QuestionDraft:
    """A question, its answer in the words of the text, and the fact that both are taken from."""

    question: str
    answer: str
    fact: Fact


def asked_of(facts: Sequence[Fact]) -> list[QuestionDraft]:
    """Return what the facts of one chunk answer, at most 4 a sentence and 12 in all, names, dates and numbers before the rest.

    A question with two answers in the chunk is left out: asked alone it has no right one.

    >>> fact = Fact("d:0", 0, 37, "the Anchor Building", "place", "was built", "build", "in", "1962", "date", False)
    >>> [(draft.question, draft.answer) for draft in asked_of([fact])]
    [('When was the Anchor Building built?', '1962')]
    """
    drafts: defaultdict[str, list[QuestionDraft]] = defaultdict(list)
    kinds = _kinds(facts)
    for fact in facts:
        if not (fact.negated or _is_example(fact)):
            for question, answer in _questions(fact, kinds):
                if _is_fit(question, answer):
                    drafts[question.casefold()].append(QuestionDraft(question, answer, fact))
    single = [same[0] for same in drafts.values() if len({draft.answer.casefold() for draft in same}) == 1]
    return _best(single)


def _is_example(fact: Fact) -> bool:
    """True for what somebody with a first name does now: the people of a textbook's examples, and of a story told in the present."""
    return fact.subject_type == "person" and " " not in fact.subject and fact.lemma != "be" and _tells_now(fact)


def _best(drafts: Sequence[QuestionDraft]) -> list[QuestionDraft]:
    of_sentence: Counter[tuple[int, int]] = Counter()
    kept: list[QuestionDraft] = []
    for draft in sorted(drafts, key=_is_plain):
        place = (draft.fact.start, draft.fact.end)
        if of_sentence[place] < MOST_OF_SENTENCE and len(kept) < MOST_OF_CHUNK:
            of_sentence[place] += 1
            kept.append(draft)
    return kept


def _is_plain(draft: QuestionDraft) -> bool:
    return draft.answer.islower()


def _is_fit(question: str, answer: str) -> bool:
    """A question of one word of meaning is fit where it asks what that is: "What is narcolepsy?"; of a first name it is not."""
    asked, said = content_words(question), content_words(answer)
    enough = 1 if len(said) >= 2 and question.startswith("What is ") else 2
    return enough <= len(asked) <= MOST_WORDS and bool(said) and not said <= asked


def _kinds(facts: Sequence[Fact]) -> dict[str, str]:
    """The types of subjects of which the text says what they are: a "film" is no person, whatever its name looks like."""
    return {fact.subject: _kind(fact) for fact in facts if fact.lemma == "be" and not fact.preposition}


def _kind(fact: Fact) -> str:
    """Empty where the name looks like a person's and what is said of it does not."""
    heads = (_head(fact.subject), _head(fact.object))
    if not THINGS.isdisjoint(heads):
        return "concept" if fact.subject_type == "person" else fact.subject_type
    if fact.object_type == "person" or any(head in PEOPLE for head in heads) or _PERSON.fullmatch(heads[1]):
        return "person"
    return "" if fact.subject_type == "person" else fact.subject_type


def _head(phrase: str) -> str:
    """The last word before a preposition: "film" of "a 1997 film by Ann Lee"."""
    return re.split(r",| (?:of|in|by|from|for|on|at|with|to|that|which|who) |(?<=\w{3}) \w+(?:ed|ing) ", phrase)[0].split()[-1].casefold()


def _questions(fact: Fact, kinds: dict[str, str]) -> Iterator[tuple[str, str]]:
    auxiliary, rest = _inverted(fact)
    if auxiliary in _PLURAL and not _is_plural(fact.subject):
        return  # misread: "What do Ann guest?"
    stem = " ".join(part for part in (auxiliary, fact.subject, rest) if part)
    if fact.object_type == DATE:
        if _is_date(fact) and _says_enough(fact, auxiliary):
            yield f"When {stem}?", fact.object
    elif fact.object_type == NUMBER:
        yield from _counted(fact, stem)
    elif not fact.preposition:
        yield from _defined(fact, kinds) if fact.lemma == "be" else _direct(fact, kinds, stem)
    elif fact.preposition == "by" and _is_passive(fact):
        yield _active(fact, kinds, stem), fact.object
    elif fact.object_type == "place" and fact.preposition in _AT_A_PLACE:
        if fact.lemma == "be" or _says_enough(fact, auxiliary):
            yield f"Where {stem}?", fact.object
    elif _is_askable(fact, auxiliary, rest) and _is_one_answer(fact):
        wh = "What" if fact.preposition == "as" else _wh(fact.object, fact.object_type, kinds)
        yield f"{wh} {stem} {fact.preposition}?", fact.object


def _is_date(fact: Fact) -> bool:
    return fact.preposition in _AT_A_TIME and _CALENDAR.search(fact.object) is not None and " age " not in fact.object


def _says_enough(fact: Fact, auxiliary: str) -> bool:
    """False where nobody would ask when or where: it was a member, it took something; and for what was misread."""
    if fact.lemma == "take place" or auxiliary in _BE:
        return fact.lemma.split()[0] != "be"
    verb, *more = fact.lemma.split()
    return verb not in NO_EVENTS if more else verb in ALONE


def _is_askable(fact: Fact, auxiliary: str, rest: str) -> bool:
    """True for prepositions that belong to their verb ("made of"), not those that add a circumstance."""
    verb = fact.lemma.split()[0]
    if len(rest.split()) > 2 or (fact.object_type == "person" and fact.preposition in _AT_A_PLACE) or fact.lemma == "be":
        return False
    if verb == "be":
        return fact.preposition in _ASKABLE_OF_BEING
    if auxiliary in _BE:
        return fact.preposition in _ASKABLE
    if fact.preposition == "as":
        return verb in SERVING
    if fact.preposition == "in":
        return verb in IN_SOMETHING
    return fact.preposition in _ASKABLE_OF_DOING and verb not in LIGHT and rest == verb


def _direct(fact: Fact, kinds: dict[str, str], stem: str) -> Iterator[tuple[str, str]]:
    if fact.lemma.split()[0] in LIGHT:
        return
    if _is_one_answer(fact):
        wh = "What" if fact.lemma in NAMING else _wh(fact.object, fact.object_type, kinds)
        yield f"{wh} {stem}?", fact.object
    if _is_known(fact.object) and fact.verb != fact.lemma and _inverted(fact)[0] not in _BE:
        yield f"{_agent(fact.subject, fact.subject_type, fact, kinds)} {fact.verb} {fact.object}?", fact.subject


def _is_one_answer(fact: Fact) -> bool:
    """True where the text gives the answer: a name, or what something does in general; "some goods" that it once sold are not."""
    first = fact.object.split()[0]
    if first in OPEN or (first in ("a", "an") and not fact.preposition and fact.subject[:1].isupper()):
        return False
    return fact.preposition == "as" or _tells_now(fact) or _is_known(fact.object)


def _is_plural(phrase: str) -> bool:
    return " and " in phrase or phrase.endswith("s")


def _tells_now(fact: Fact) -> bool:
    return _inverted(fact)[0] in _PRESENT


def _is_known(phrase: str) -> bool:
    """True for what a reader can tell without the sentence: names, and definite phrases of three words that mean something."""
    if phrase.startswith(("a ", "an ")):
        return False
    return any(letter.isupper() for letter in phrase) or (
        phrase.startswith("the ") and len(content_words(phrase)) >= 3 and " a " not in phrase
    )


def _defined(fact: Fact, kinds: dict[str, str]) -> Iterator[tuple[str, str]]:
    if kinds[fact.subject] and _head(fact.object) not in EMPTY:
        wh = "Who" if kinds[fact.subject] == "person" else "What"
        if wh == "Who" or len(content_words(fact.object)) > 1 or not fact.object.startswith(("a ", "an ")):
            yield f"{wh} {fact.verb} {fact.subject}?", fact.object
        if fact.object.startswith("the ") and fact.verb in ("is", "was") and _is_known(fact.object):
            yield f"{wh} {fact.verb} {fact.object}?", fact.subject


def _counted(fact: Fact, stem: str) -> Iterator[tuple[str, str]]:
    words = fact.object.split()
    figures = next((n for n, word in enumerate(words) if not _is_figure(word)), len(words))
    noun = words[figures:]
    states = not fact.preposition and fact.lemma.split()[0] != "be" and words[0] not in ("one", "1")
    if figures and noun and states and noun[0] not in NOT_COUNTED and not re.search(r"[,\d]", " ".join(noun)):
        yield f"How many {' '.join(noun)} {stem}?", " ".join(words[:figures])


def _is_figure(word: str) -> bool:
    return word[:1].isdigit() or word.casefold() in NUMBER_WORDS or word in ("about", "over", "around", "nearly", "almost")


def _is_passive(fact: Fact) -> bool:
    auxiliaries = fact.verb.split()[: len(fact.verb.split()) - len(fact.lemma.split())]
    return bool(auxiliaries) and auxiliaries[-1] in _FORMS_OF_BE


def _active(fact: Fact, kinds: dict[str, str], stem: str) -> str:
    """What asks for the agent of a passive, "Who built it?" of "It was built by …"; the passive where no past tense is known."""
    wh = _agent(fact.object, fact.object_type, fact, kinds)
    auxiliary, participle, *more = fact.verb.split()
    past = IRREGULAR.get(participle, participle if not participle.endswith("n") else "")
    if auxiliary in ("was", "were") and past:
        return " ".join((wh, past, *more, fact.subject)) + "?"
    return f"{wh} {stem} by?"


def _inverted(fact: Fact) -> tuple[str, str]:
    """The auxiliary that a question begins with, and the rest of the verb: ("was", "built"), ("did", "build")."""
    verb, base = fact.verb.split(), fact.lemma.split()
    if len(verb) > len(base) or base[0] == "be":
        return verb[0], " ".join(verb[1:])
    if verb[0] == base[0]:
        return "do", fact.lemma
    return ("does" if verb[0].endswith("s") else "did"), fact.lemma


def _wh(phrase: str, type_: str, kinds: dict[str, str]) -> str:
    return "Who" if kinds.get(phrase, type_) == "person" else "What"


def _agent(phrase: str, type_: str, fact: Fact, kinds: dict[str, str]) -> str:
    """The word that asks for who did it: a firm is a "who" where it made or did something once."""
    acts = type_ in _AGENTS or fact.object_type == "person" or fact.lemma in MAKING
    if acts and not _tells_now(fact) and any(letter.isupper() for letter in phrase):
        return "Who"
    return _wh(phrase, type_, kinds)


def version_of(anchoring: Anchoring) -> int:
    """A number above 0 that is another one where the same facts bring other memories, or other anchors.

    >>> version_of("question") != version_of("own")
    True
    """
    return TEMPLATES * len(ANCHORINGS) + ANCHORINGS.index(anchoring)


def names_in(facts: Iterable[Fact]) -> frozenset[str]:
    """What facts tell of by name.

    >>> names_in([Fact("d:0", 0, 9, "the Orrin Mill", "place", "has", "have", "", "two looms", "concept", False)])
    frozenset({'the Orrin Mill'})
    """
    phrases = (phrase for fact in facts for phrase in (fact.subject, fact.object))
    return frozenset(phrase for phrase in phrases if any(letter.isupper() for letter in phrase))


def anchored(memory: Memory, names: Iterable[str], texts: Mapping[str, str], anchoring: Anchoring) -> Memory:
    """A memory with its anchors. ``names``: those that its chunks tell of; ``texts``: its chunks', by id."""
    if anchoring == "question":
        return replace(memory, anchors=anchors_of(memory.question, names))
    told = (texts[place.chunk_id][place.start : place.end] for place in memory.supports if place.chunk_id in texts)
    return replace(memory, anchors=anchors_of(" ".join(told), names))


def asked_of_chunk(facts: Sequence[Fact], text: str, anchoring: Anchoring) -> list[Memory]:
    """Return what the templates ask of the facts of one chunk, its text beside them, with anchors; best first, each once.

    >>> fact = Fact("d:0", 0, 42, "Orrin Mill", "place", "was built", "build", "in", "1962", "date", False)
    >>> [(memory.question, sorted(memory.anchors)) for memory in asked_of_chunk([fact], "", "question")]
    [('When was Orrin Mill built?', ['built', 'orrin mill'])]
    """
    names = names_in(facts)
    drafts = (
        memory_of("template", draft.question, draft.answer, [Support(draft.fact.chunk_id, draft.fact.start, draft.fact.end)], ())
        for draft in asked_of(facts)
    )
    memories = {draft.memory_id: draft for draft in drafts}.values()
    return [anchored(memory, names, {place.chunk_id: text for place in memory.supports}, anchoring) for memory in memories]


def without_repeats(memories: Sequence[Memory], vectors: FloatArray) -> list[int]:
    """Rows of the memories of one chunk but those that ask with other words what an earlier one asks, and answer the same.

    vectors (n, d), of norm 1.
    """
    kept = list[int]()
    for row, memory in enumerate(memories):
        same = [other for other in kept if memories[other].answer.casefold() == memory.answer.casefold()]
        if not same or float((vectors[same] @ vectors[row]).max()) < SAME_FROM:
            kept.append(row)
    return kept
