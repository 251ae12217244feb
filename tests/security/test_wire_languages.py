"""Goal P5 on the line itself: names and numbers of patients in documents of six languages, among all bytes between sites and cloud."""

import contextlib
from collections import Counter

import httpx2
import pytest

from edge_node.egress.policy_file import NAME
from shared.http.open_mode import CALLER
from shared.models.fake import ScriptedGenerator
from tests.support.federation import REFUSAL, federation_cloud
from tests.support.running_edge import running_edge
from tests.support.sockets import on_a_socket
from tests.support.waiting import until
from tests.support.wiretap import tapped

TEXTS = {  # a document, what the other site asks about it, and the names and numbers that are to stay
    "de": (
        "Die Patientin Annelie Kohlhase, Aktenzeichen 7301946, wurde am Montag auf die Station aufgenommen. Annelie Kohlhase bekam eine"
        " neue Insulinpumpe.",
        "Wer bekam am Montag eine neue Insulinpumpe?",
        ("Annelie Kohlhase", "Kohlhase", "7301946"),
    ),
    "fr": (
        "La patiente Solenne Guivarch, dossier n° 7412057, a été admise lundi dans le service. Solenne Guivarch a reçu une nouvelle"
        " pompe à insuline.",
        "Qui a reçu lundi une nouvelle pompe à insuline ?",
        ("Solenne Guivarch", "Guivarch", "7412057"),
    ),
    "es": (
        "La paciente Itziar Olazabal, expediente 7523168, fue ingresada el lunes en la sala. Itziar Olazabal recibió una nueva bomba de"
        " insulina.",
        "¿Quién recibió el lunes una nueva bomba de insulina?",
        ("Itziar Olazabal", "Olazabal", "7523168"),
    ),
    "zh": (
        "患者诸葛慧敏，病历号7634279，于星期一入院。护士为诸葛慧敏更换了胰岛素泵MRN-7634280并签署了报告。",
        "星期一给谁更换了胰岛素泵？",
        ("诸葛慧敏", "7634279", "7634280"),
    ),
    "ru": (
        "Пациент Ярополк Загоруйко, номер карты 7745380, поступил в отделение в понедельник. Ярополк Загоруйко получил новую помпу.",
        "Кто получил новую помпу в понедельник?",
        ("Ярополк Загоруйко", "Загоруйко", "7745380"),
    ),
    "pl": (  # in letters as English has them, and read by no pack
        "Pacjent Wiktor Brzozowicz, numer karty 7856491, został przyjęty na oddział w poniedziałek. Wiktor Brzozowicz dostał nową pompę.",
        "Kto dostał nową pompę w poniedziałek?",
        ("Wiktor Brzozowicz", "Brzozowicz", "7856491"),
    ),
}
ENGLISH = "The infusion pump of the ward was replaced on Monday. The nurse wrote a report of the failure of the infusion pump."
CANARIES = [canary for _, _, canaries in TEXTS.values() for canary in canaries]
PEOPLE = [canaries[0] for _, _, canaries in TEXTS.values()]
OPEN = "version = 1\n"
POLICIES = {
    "types": 'version = 1\n[redact]\ntypes = ["person"]\nidentifiers = ["record"]\n',
    "names": f'version = 1\n[redact]\nnames = {PEOPLE}\nidentifiers = ["record"]\n',
    "labels": 'version = 1\nunlabelled = "never"\nquestions = "no"\n',
}


def helpful(prompt):
    """A model of the site that says what it reads: it would tell anything."""
    return [prompt.messages[-1].content[-400:]] * prompt.n


def refusing(prompt):
    return [REFUSAL] * prompt.n


@contextlib.asynccontextmanager
async def site(folder, name, tap, model):
    async with httpx2.AsyncClient(headers=CALLER, base_url=tap.url, timeout=30) as line:
        settings = {"strategy": "dgrag", "reader_threshold": -1.0}
        async with running_edge(folder / name, id=name, generator=ScriptedGenerator(model), cloud=line, **settings) as edge:
            yield edge


async def on_the_wire(folder, policy):
    """The tap of a ward with these documents, asked by a bank in each language, and asking itself; and what it sent, by kind."""
    (folder / "ward").mkdir(parents=True)
    (folder / "ward" / NAME).write_text(policy, encoding="utf-8")
    async with (
        federation_cloud(folder / "cloud", REFUSAL) as (_, app),
        on_a_socket(app, lifespan="off") as url,
        tapped(url) as tap,
        site(folder, "ward", tap, helpful) as ward,
        site(folder, "bank", tap, refusing) as bank,
    ):
        await ward.add("report.md", ENGLISH)
        for code, (text, _, (name, *_)) in TEXTS.items():
            await ward.add(f"{code} {name}.md", text, title=f"{code}: {name}")
        await until(lambda: ward.node.sharing.is_told() and ward.node.link.in_sync)
        await bank.add("loans.md", "The bank lends money to bakeries.")
        for _, question, _ in TEXTS.values():
            await bank.ask(question, mode="cloud")
        for text, *_ in TEXTS.values() if 'questions = "no"' not in policy else ():
            await ward.ask(text, mode="cloud")  # somebody pastes a whole passage
        return tap, Counter(entry.kind for entry in ward.node.ledger.entries(limit=1000))


@pytest.mark.parametrize("policy", POLICIES)
async def test_no_name_or_number_that_a_policy_keeps_is_on_the_wire_in_any_language(tmp_path, policy):
    tap, sent = await on_the_wire(tmp_path, POLICIES[policy])
    assert [canary for canary in CANARIES if tap.holds(canary)] == []
    assert (tap.holds("infusion pump"), sent["question"]) == ((False, 0) if policy == "labels" else (True, len(TEXTS)))
    assert (sent["evidence"] > 0) == (policy != "labels")  # masked passages leave, or the test would see nothing


async def test_null_control_under_an_open_policy_all_of_them_are_on_the_wire(tmp_path):
    tap, _ = await on_the_wire(tmp_path, OPEN)
    assert [canary for canary in CANARIES if not tap.holds(canary)] == []
