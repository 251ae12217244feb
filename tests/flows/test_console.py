"""The console as a person uses it: a real browser, two sites and a cloud in processes of their own, the small model."""

import pytest
from playwright.async_api import expect

from tests.support.browser import visitor
from tests.support.real_cluster import cluster_of

pytestmark = [pytest.mark.process, pytest.mark.model]
WARD = "Juniper Ward reported the failure of four infusion pumps on 14 March. Juniper Ward lies in the Anchor Building.\n"
ROOF = "The Anchor Building has a roof garden. Ida Tarrow opened the roof garden of the Anchor Building in 1998.\n"
PLANT = "Brackwell Works recalled lot L-7713 of the CX-40 battery pack on 2 May. A bad weld in lot L-7713 broke the cells.\n"
FORBIDDEN = '\n[[exceptions]]\nedges = ["ward"]\nshare = "never"\n'
FOREIGN = "Which lot of the CX-40 battery pack did Brackwell Works recall?"
LONG_MS = 120_000  # an answer of the model on two busy cores; it only ends a test that hangs


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    root = tmp_path_factory.mktemp("console")
    for site, text in (("ward", WARD), ("plant", PLANT)):
        (root / site).mkdir()
        (root / site / "report.md").write_text(text)
    (root / "roof.md").write_text(ROOF)
    with cluster_of(root, "ward", "plant") as started:
        yield started | {edge["edge"]: edge["url"] for edge in started["edges"]}


async def ask(page, question, *, mode="auto"):
    await page.goto("/")
    await page.fill("#question", question)
    await page.check(f"input[name=mode][value={mode}]")
    await page.get_by_role("button", name="Ask").click()
    await expect(page.locator("[data-answer]")).to_be_visible(timeout=LONG_MS)


async def upload(page, file):
    await page.goto("/console/documents")
    await page.set_input_files("#files", file)
    row = page.locator("tr", has_text=file.name)
    await expect(row.locator(".badge", has_text="indexed")).to_be_visible(timeout=LONG_MS)


async def open_source(page):
    """Click the first number in the answer: the passage opens with the sentence marked."""
    await page.locator("[data-answer] button.cite").first.click()
    await expect(page.locator("#cited")).to_be_visible()
    return await page.locator("#cited").inner_text()


async def kinds_in_ledger(page):
    await page.goto("/console/audit")
    return await page.locator("tbody tr td:nth-of-type(2)").all_inner_texts()


async def test_a_document_is_added_asked_for_and_its_sentence_shown_and_a_rule_stops_what_left_before(cluster):
    async with visitor(cluster["ward"]) as ward, visitor(cluster["plant"]) as plant:
        await upload(ward.page, cluster["root"] / "roof.md")
        await ask(ward.page, "Which names are mentioned most often?", mode="global")
        shown = await open_source(ward.page)
        assert shown in WARD + ROOF
        assert shown in await ward.page.locator("li[id^=source] q").all_inner_texts()  # what the answer quotes is what is marked

        await ask(ward.page, FOREIGN)
        await ward.page.get_by_role("button", name="Send it").click()  # who asks has read what goes with it
        await expect(ward.page.locator(".route")).to_contain_text("plant", timeout=LONG_MS)
        await expect(ward.page.locator(".route")).to_contain_text("It sent 1 passage.")
        left = await kinds_in_ledger(plant.page)

        await plant.page.goto("/console/sharing")
        await plant.page.locator("summary", has_text="As text").click()
        policy = plant.page.get_by_label("The text of the policy file")
        await policy.fill(await policy.input_value() + FORBIDDEN)
        await plant.page.get_by_role("button", name="Save the text").click()
        await expect(plant.page.locator("#sharing")).to_contain_text("never")

        await ask(ward.page, FOREIGN)
        await expect(ward.page.locator(".route")).to_contain_text("Its sharing policy forbids it")
        after = await kinds_in_ledger(plant.page)
        assert ("evidence" in left, "refusal" in left) == (True, False)
        assert "refusal" in after  # beside what left before
    assert ward.complaints == plant.complaints == []
