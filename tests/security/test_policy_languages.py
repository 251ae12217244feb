"""Goal P5 outside English: under a rule that masks types, what is in a language whose names nobody finds stays at the site."""

import itertools
import json
import re
from pathlib import Path

import pytest

from edge_node.database.schema import Database
from edge_node.documents.languages import SOUND, Languages
from edge_node.egress.bodies import reply_body
from edge_node.egress.dry_run import next_sync
from edge_node.egress.policy_file import NAME
from edge_node.extraction import languages as telling
from edge_node.extraction import nlp
from edge_node.extraction.languages import languages_of
from edge_node.policy.redaction import Redactor
from edge_node.policy.rules import Redact
from shared.models.fake import ScriptedGenerator
from shared.wire import EvidenceRequest
from tests.support.running_edge import running_edge
from tests.support.waiting import until

MASKED = 'version = 1\n[redact]\ntypes = ["person"]\n'
FOREIGN = {
    "tr": ("Hasta Ayşe Yılmaz pazartesi günü yoğun bakım servisine kabul edildi ve insülin pompası değiştirildi.", "Yılmaz"),
    "fr": ("La patiente Aïcha Benali a été admise lundi dans le service de cardiologie, et sa pompe a été remplacée.", "Benali"),
    "es": ("La paciente María García fue ingresada el lunes en la sala de cardiología, y su bomba fue reemplazada.", "García"),
    "de": ("Die Patientin Annelie Kohlhase wurde am Montag auf die Station aufgenommen, und ihre Pumpe wurde ersetzt.", "Kohlhase"),
    "it": ("La paziente Giulia Bernasconi è stata ricoverata lunedì nel reparto di cardiologia con una pompa nuova.", "Bernasconi"),
    "zh": ("患者张伟于星期一入院，护士王芳更换了他的胰岛素泵。医生李娜签署了报告。", "张伟"),
    "ru": ("Пациент Иван Петров поступил в отделение в понедельник, и его насос был заменён.", "Петров"),
}
ENGLISH = "The infusion pump of the ward was replaced on Monday, and the nurse wrote a report of the failure for the agency."
QUESTION = "What happened to the pump of the patient on Monday?"
NAMES = [name.encode() for _, name in FOREIGN.values()]


async def leaving(folder, *, policy=MASKED, texts=None, **settings):
    """All bytes that leave an edge with these documents: its summaries, and passages for a question; and what its status says."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_text(policy)
    async with running_edge(folder, strategy="dgrag", reader_threshold=-1.0, **settings) as edge:
        for name, text in (texts or {f"{code}.md": text for code, (text, _) in FOREIGN.items()} | {"en.md": ENGLISH}).items():
            await edge.add(name, text)
        await until(edge.node.sharing.is_told)
        left = next_sync(edge.node.graph, epoch="", version=-1)
        for question in (QUESTION, *(text for text, _ in FOREIGN.values())):
            request = EvidenceRequest(request_id="r", question=question, budget_tokens=4000, whole=True, deadline_ms=9000)
            left.append(reply_body((await edge.node.for_others.evidence(request)).reply))
        return b"\n".join(left), edge.node.sharing.view()


async def test_a_name_in_a_language_that_the_detector_does_not_read_never_leaves_and_the_status_says_why(tmp_path):
    left, view = await leaving(tmp_path)
    assert [name for name in NAMES if name in left] == []
    assert b"infusion pump" in left
    kept = view["kept_back"]
    assert (kept["documents"], kept["all_documents"]) == (len(FOREIGN), len(FOREIGN) + 1)
    (rule,) = (hold["rule"] for hold in kept["holds"])
    assert all(f"{code} (1)" in rule for code in ("de", "fr", "zh"))


async def test_null_control_without_languages_such_names_leave(tmp_path, monkeypatch):
    monkeypatch.setattr(Languages, "unread", lambda *_: frozenset())
    monkeypatch.setattr(Languages, "are_read", lambda *_: True)
    monkeypatch.setattr(Redact, "masks_persons", False)
    left, _ = await leaving(tmp_path)
    assert [name for name in NAMES if name in left]


async def test_a_rule_that_masks_names_alone_asks_for_no_language(tmp_path):
    left, view = await leaving(tmp_path, policy='version = 1\n[redact]\nnames = ["Aïcha Benali"]\n')
    assert (b"Benali" in left, b"Kohlhase" in left, view["kept_back"]["holds"]) == (False, True, ())


@pytest.mark.parametrize("reads", [True, False], ids=["read in German", "null control"])
async def test_a_short_german_note_stays_where_nothing_reads_german(tmp_path, monkeypatch, reads):
    note = "Befund: Anna Schulz, Diabetes Typ 2, Insulin 40 mg."
    monkeypatch.setattr(Redact, "masks_persons", False)  # which masks capitalised words: here the language alone shall keep it
    monkeypatch.setattr(nlp, "installed_pack", lambda language: "" if language != "en" else "spacy")
    monkeypatch.setattr("edge_node.egress.sharing.languages_of", lambda title, texts: ["en"] * len(texts))  # it passes for English
    if not reads:
        monkeypatch.setattr("edge_node.documents.languages.IS_READ", f"{SOUND} AND language = 'en'")
        monkeypatch.setattr("edge_node.documents.languages.UNREAD", "SELECT chunk_id, document_id FROM chunks WHERE 0")
    left, _ = await leaving(tmp_path, texts={"note.md": note, "en.md": ENGLISH})
    assert (b"Schulz" in left, b"infusion pump" in left) == (not reads, True)


@pytest.mark.parametrize(("policy", "leaves"), [(MASKED, False), ("version = 1\n", True)], ids=["masked", "null control"])
async def test_a_name_that_only_the_model_has_found_stays_as_nobody_measured_how_many_it_overlooks(tmp_path, policy, leaves):
    text, name = FOREIGN["ru"]
    model = ScriptedGenerator(lambda prompt: [f"person | Иван {name}" if text in prompt.messages[-1].content else "NONE"] * prompt.n)
    settings = {"generator": model, "extraction_share": 1.0}
    left, _ = await leaving(tmp_path, policy=policy, texts={"ru.md": text, "en.md": ENGLISH}, **settings)
    assert any("Lines:" in prompt.messages[-1].content for prompt in model.prompts)
    assert (name.encode() in left, b"infusion pump" in left) == (leaves, True)


async def test_of_a_mixed_document_the_english_passages_leave_and_the_foreign_ones_with_all_that_they_tell_stay(tmp_path):
    english = " ".join(
        f"The infusion pump of ward {n} was replaced on Monday, and the nurse wrote a report of the failure." for n in range(20)
    )
    turkish = FOREIGN["tr"][0]
    left, view = await leaving(tmp_path, texts={"mixed.md": f"{english}\n\n{' '.join([turkish] * 20)}\n"})
    assert (b"infusion pump" in left, "Yılmaz".encode() in left, b"servisine" in left) == (True, False, False)
    kept = view["kept_back"]
    assert kept["documents"] == 0
    assert kept["holds"][0]["passages"] > 0


async def test_a_store_that_knows_no_languages_shares_nothing_until_they_are_told(tmp_path):
    await leaving(tmp_path, policy="version = 1\n")  # no rule asked for languages
    database = Database(tmp_path / "edge.db")
    languages = Languages(database)
    assert (languages.counts().keys(), len(languages.unread())) == ({""}, len(FOREIGN) + 1)
    assert not languages.are_read([next(iter(languages.texts(languages.untold()[0])[1]))])
    database.close()
    left, view = await leaving(tmp_path)
    assert [name for name in NAMES if name in left] == []
    assert b"infusion pump" in left
    assert view["current"]


@pytest.mark.parametrize("code", FOREIGN)
def test_a_foreign_sentence_in_an_english_passage_makes_it_foreign(code):
    assert languages_of("", [f"{ENGLISH}\n{FOREIGN[code][0]}\n{ENGLISH}"]) != ["en"]
    assert languages_of(FOREIGN[code][0], [ENGLISH]) != ["en"]


@pytest.mark.parametrize(
    "text",
    [
        "María García was admitted to the ward on Monday.",
        "| Pump | Lot | Date |\n|---|---|---|\n| P-7 | L-22 | 2024-03-02 |\n| P-8 | L-23 | 2 October 2023 |",
        "MR-2232 MR-2241 MR-2242 MR-2243 MR-2244 MR-2245 MR-2246 MR-2247",
        "TC = AVC + AFC; MC = (TC2 - TC1) / (Q2 - Q1); α = 0.05, β = 1",
        "Insulin",
        "",
    ],
)
def test_english_tables_codes_and_formulas_are_not_taken_for_foreign(text):
    assert languages_of("", [text]) == ["en"]


@pytest.mark.parametrize(
    "name", ["Ayşe Yılmaz", "Aïcha Benali", "María García", "María de la Cruz García", "张伟", "Иван Петров", "Đặng Văn Hòa"]
)
def test_a_foreign_name_in_an_english_passage_is_masked_whether_or_not_it_was_found(name):
    text = f"The nurse reported that {name} was admitted on Monday."
    said = Redactor.of(Redact(types=["person"])).mask(text)
    assert not any(word in said for word in name.split() if word not in {"de", "la"})
    assert (len(said), "was admitted on Monday" in said) == (len(text), True)
    assert Redactor.of(Redact(types=["place"])).mask(text) == text


NOTE = "Befund: Anna Schulz, Diabetes Typ 2"  # too short to be sure


async def test_a_note_too_short_to_tell_stays_with_its_german_name(tmp_path):
    left, view = await leaving(tmp_path, texts={"note.txt": NOTE, "en.md": ENGLISH})
    assert (b"Schulz" in left, b"infusion pump" in left) == (False, True)
    assert view["kept_back"]["documents"] == 1


async def test_null_control_a_note_that_is_taken_for_english_leaves_with_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr(Redact, "masks_persons", False)  # which masks two capitalised words
    monkeypatch.setattr(telling, "_whole", lambda _: "en")
    monkeypatch.setattr(nlp, "reading_languages", lambda texts, _: ["en"] * len(texts))  # else the German pack finds it, and it is masked
    left, _ = await leaving(tmp_path, texts={"note.txt": NOTE, "en.md": ENGLISH})
    assert b"Schulz" in left


def test_a_passage_that_does_not_tell_is_in_the_language_of_most_of_its_document():
    german = FOREIGN["de"][0]
    assert languages_of("", [german, NOTE, "P-7 L-22"]) == ["de"] * 3
    assert languages_of("", [NOTE, ENGLISH]) == ["en", "en"]
    assert languages_of("", [german, f"{ENGLISH} {ENGLISH}", NOTE]) == ["de", "en", "en"]
    assert languages_of("", [german, german, ENGLISH, NOTE]) == ["de", "de", "en", "de"]
    assert languages_of("", ["140/90", "Ayşe Yılmaz, diyabet"]) == ["tr", "tr"]  # taken as a whole


def told(folder):
    """The language of each passage of a store, by document and place."""
    database = Database(folder / "edge.db")
    query = "SELECT name, ordinal, language FROM chunk_languages JOIN chunks USING (chunk_id) JOIN documents USING (document_id)"
    found = {(row["name"], row["ordinal"]): row["language"] for row in database.rows(query)}
    assert len(found) == database.row("SELECT count(*) AS n FROM chunks")["n"]
    database.close()
    return found


@pytest.mark.campaign
async def test_languages_are_those_of_a_fresh_build_in_whatever_order_documents_came_went_and_changed(tmp_path):
    mixed = "\n\n".join([*[ENGLISH] * 12, *[FOREIGN["de"][0]] * 30, NOTE])
    texts = {"mixed.md": mixed, "note.txt": NOTE, "en.md": ENGLISH, "codes.md": "MR-2232 MR-2241"}
    found = []
    for row, names in enumerate(list(itertools.permutations(texts))[::7]):
        folder = tmp_path / str(row)
        async with running_edge(folder, strategy="dgrag", policy_file=policy(tmp_path), chunk_tokens=60) as edge:
            await edge.add(names[0], FOREIGN["tr"][0])  # another version first
            for name in (*names, names[0]):
                await edge.add(name, texts[name])
            await until(edge.node.sharing.is_told)
        found.append(told(folder))
    assert all(languages == found[0] for languages in found)
    assert {found[0][name, 0] for name in texts} == {"en", "de"}


def policy(folder):
    file = folder / NAME
    file.write_text(MASKED)
    return file


DATA = Path(__file__).parents[2] / "../shared/data/multihop"


@pytest.mark.skipif(not DATA.is_dir(), reason="no evaluation data here")
def test_of_english_notes_of_three_to_eight_words_hardly_any_is_kept_back():
    notes = [
        " ".join(words[-3 - row % 6 :])
        for name in ("hotpotqa", "musique", "2wikimultihopqa")
        for row, line in enumerate((DATA / name / "corpus.jsonl").read_text().splitlines())
        for sentence in re.split(r"(?<=[.!?])\s+", json.loads(line)["text"])[-1:]
        if len(words := sentence.split()) >= 8
    ]
    kept = [note for note in notes if languages_of("", [note]) != ["en"]]
    assert len(notes) > 2000
    assert len(kept) <= 0.01 * len(notes), kept
