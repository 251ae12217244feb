"""What a model is asked by each system, told by the prompt, and the shared extraction said in the form that this prompt wants."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zlib import crc32

from benchmarks.stand_ins import LONG_WORD, Say
from edge_node.extraction.words import STOP_WORDS

COMPLETE = "<|COMPLETE|>"  # LightRAG's and nano-graphrag's end of a list
REPORT_WORDS, SUMMARY_WORDS, DESCRIPTION_WORDS, RELATION_WORDS = 60, 120, 30, 4
NAME = re.compile(r"\b[A-Z][a-zA-Z]+(?:[ \-][A-Z][a-zA-Z]+){0,3}\b")
_FORBIDDEN = str.maketrans({'"': "'", "(": "[", ")": "]", "\n": " "})  # what would end a field of some system's format


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply, and which step of the system asked for it: extract, glean, loop, keywords, merge, report, summary or other."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Form:
    """How one system asks for one thing: all ``marks`` are in its last message, the subject is between ``before`` and ``after``."""

    system: str
    kind: str
    marks: tuple[str, ...]
    write: Callable[[str, Say], str]
    before: str = ""
    after: str = ""

    def asked(self, message: str) -> bool:
        """Whether this is what a message asks."""
        return all(mark in message for mark in self.marks)

    def subject(self, message: str) -> str:
        """What the question is about: a passage, a question, a list of notes."""
        text = message.rpartition(self.before)[2] if self.before else message
        return text.rpartition(self.after)[0] if self.after and self.after in text else text


def names(sentence: str) -> list[str]:
    """Capitalised phrases without the stop words in front of them.

    >>> names("The Orrin Mill was sold. In June Ann left.")
    ['Orrin Mill', 'June Ann']
    """
    found = []
    for phrase in NAME.findall(sentence):
        words = phrase.split()
        while words and words[0].lower() in STOP_WORDS:
            words = words[1:]
        if len(name := " ".join(words)) > 2:
            found.append(name)
    return found


def clean(text: str) -> str:
    """A field of at most DESCRIPTION_WORDS words that no system's format takes for its own marks."""
    words = text.translate(_FORBIDDEN).replace("<|", "").replace("|", "/").replace("##", "").split()
    return " ".join(words[:DESCRIPTION_WORDS])


def answer(messages: Sequence[str], say: Say) -> Answer:
    """The reply to a conversation, told by its last message."""
    last = messages[-1]
    form = next((form for form in FORMS if form.asked(last)), None)
    return Answer(form.kind, form.write(form.subject(last), say)) if form else Answer("other", "An answer.")


def lightrag_rows(passage: str, say: Say) -> str:
    """Entity and relation rows of LightRAG."""
    said = say(passage)
    rows = [("entity", clean(name), kind, clean(text)) for name, kind, text in said.entities]
    links = [("relation", clean(a), clean(b), clean(words) or "related", clean(text)) for a, b, words, text, _ in said.relations]
    return "\n".join(["<|#|>".join(row) for row in [*rows, *links]] + [COMPLETE])


def nano_records(passage: str, say: Say) -> str:
    """Entity and relationship records of nano-graphrag (and of Microsoft's GraphRAG, whose prompt it has)."""
    said = say(passage)
    records = [f'("entity"<|>"{clean(name)}"<|>"{kind}"<|>"{clean(text)}")' for name, kind, text in said.entities]
    records += [f'("relationship"<|>"{clean(a)}"<|>"{clean(b)}"<|>"{clean(text)}"<|>{weight})' for a, b, _, text, weight in said.relations]
    return "##".join(records) + COMPLETE


def fast_graph(passage: str, say: Say) -> str:
    """A passage's graph for fast-graphrag. It wants every entity in a relation, as only these lead to passages: lone ones get one."""
    said = say(passage)
    entities = [{"name": clean(name), "type": kind, "desc": clean(text)} for name, kind, text in said.entities]
    links = [{"source": clean(a), "target": clean(b), "desc": clean(text)} for a, b, _, text, _ in said.relations]
    linked = [name for link in links for name in (link["source"], link["target"])]
    lone = [entity for entity in entities if entity["name"] not in linked]
    others = [{"source": entity["name"], "target": name, "desc": entity["desc"]} for entity in lone for name in linked[:1]]
    return json.dumps({"entities": entities, "relationships": links, "other_relationships": others}, ensure_ascii=False)


def edge_lines(passage: str, say: Say) -> str:
    """Relation lines of our edge, whose entities were found before; "NONE" where there are none."""
    lines = [f"{clean(a)} | {_relation(words)} | {clean(b)}" for a, b, words, _, _ in say(passage).relations]
    return "\n".join(lines) or "NONE"


def edge_keywords(question: str, _: Say) -> str:
    """Keywords on two levels for our edge."""
    low, high = keywords(question)
    return json.dumps({"low": low, "high": high}, ensure_ascii=False)


def lightrag_keywords(question: str, _: Say) -> str:
    """Keywords on two levels for LightRAG."""
    low, high = keywords(question)
    return json.dumps({"high_level_keywords": high, "low_level_keywords": low}, ensure_ascii=False)


def fast_entities(question: str, say: Say) -> str:
    """What a question names, each with its type before it as fast-graphrag wants it; it looks for the whole question too."""
    named = [f"[{kind.upper()}] {name}" for name, kind, _ in say(question).entities]
    return json.dumps({"named": named, "generic": []}, ensure_ascii=False)


def keywords(question: str) -> tuple[list[str], list[str]]:
    """What a question names, and its first long words; never empty.

    >>> keywords("Which company supplied the Orrin Mill?")
    (['Orrin Mill'], ['company', 'supplied'])
    """
    low = [name for name in dict.fromkeys(names(question)) if name.lower() not in STOP_WORDS]
    high = [word for word in LONG_WORD.findall(question) if word not in STOP_WORDS][:5]
    return low or [question], high or [question]


def nano_report(listing: str, _: Say) -> str:
    """A community report of nano-graphrag."""
    text = clean_words(listing, REPORT_WORDS)
    findings = [{"summary": text[:60], "explanation": text} for _ in range(3)]
    report = {"title": "Community", "summary": text, "rating": 5.0, "rating_explanation": "moderate", "findings": findings}
    return json.dumps(report, ensure_ascii=False)


def merged(listing: str, _: Say) -> str:
    """A merged description: the last words of what was to be merged."""
    return clean_words(listing, SUMMARY_WORDS)


def fast_description(listing: str, say: Say) -> str:
    """The same for fast-graphrag."""
    return json.dumps({"description": merged(listing, say)}, ensure_ascii=False)


def nothing_alike(_: str, __: Say) -> str:
    """Of the facts between two entities of fast-graphrag, each says something else."""
    return json.dumps({"grouped_facts": []})


def edge_summary(listing: str, _: Say) -> str:
    """Three sentences about a subgraph; a number makes them differ where the subgraphs do."""
    return f"The documents cover {crc32(listing.encode())} things. They belong together. Each has its use."


def nothing_missed(_: str, __: Say) -> str:
    """The end of a list at once."""
    return COMPLETE


def none(_: str, __: Say) -> str:
    """No relation was missed."""
    return "NONE"


def no(_: str, __: Say) -> str:
    """No further round is needed."""
    return "no"


def clean_words(text: str, most: int) -> str:
    """The last ``most`` words, fit for any field."""
    return " ".join(text.translate(_FORBIDDEN).replace("|", "/").split()[-most:])


def _relation(words: str) -> str:
    return " ".join(words.replace(",", " ").split()[:RELATION_WORDS]) or "goes with"


FORMS = (
    Form("LightRAG", "extract", ("---Input Text---\n```",), lightrag_rows, "---Input Text---\n```\n", "\n```"),
    Form("LightRAG", "glean", ("Based on the last extraction task",), nothing_missed),
    Form("LightRAG", "keywords", ("high_level_keywords", "User Query: "), lightrag_keywords, "User Query: ", "\n\n---Output---"),
    Form("nano-graphrag", "extract", ("-Real Data-", "Entity_types: "), nano_records, "\nText: ", "\n######"),
    Form("nano-graphrag", "glean", ("MANY entities were missed",), nothing_missed),
    Form("nano-graphrag", "loop", ("It appears some entities",), no),
    Form("nano-graphrag", "report", ("comprehensive report of a community", "report_title"), nano_report, "-----Relationships-----"),
    Form("fast-graphrag", "extract", ("<<DOCUMENT_START>>",), fast_graph, "<<DOCUMENT_START>>\n**Document**:\n", "\n<<DOCUMENT_END>>"),
    Form("fast-graphrag", "keywords", ("to perform information retrieval", "-INPUT-"), fast_entities, "\nQuery: ", "\nOutput:"),
    Form("fast-graphrag", "summary", ("generating a summary of the data", "Current:"), fast_description, "\nCurrent:\n", "\n\nUpdated:"),
    Form("fast-graphrag", "merge", ("maintaining a list of facts",), nothing_alike),
    Form("both peers", "summary", ("Description List:",), merged, "Description List:", "---Output---"),
    Form("our edge", "extract", ("\nPassage: ", "\nRelations:"), edge_lines, "\nPassage: ", "\nRelations:"),
    Form("our edge", "glean", ("Some relations of the passage are missing.",), none),
    Form("our edge", "keywords", ("Question: ",), edge_keywords, "Question: "),
    Form("our edge", "report", ("The first begins with", "Facts:\n"), edge_summary, "Names: ", "\n\nWrite three"),
    Form("our edge", "summary", ("Notes about ", "in two or three sentences:"), merged, "Notes about ", "\n\nDescribe "),
)
