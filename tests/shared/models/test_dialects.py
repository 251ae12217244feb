"""Each kind of server that calls itself OpenAI-compatible answers a question at a real edge."""

import contextlib

import httpx2
import pytest

from shared.models.openai_compatible import OpenAIGenerator
from shared.ports import Message, Prompt
from tests.support.model_dialects import ANSWER, DIALECTS, DOCUMENT, QUESTION, Dialect, SmallContext, events_of, served
from tests.support.running_edge import running_edge
from tests.support.waiting import until

TURN_S = 0.05  # longer than a turn of the server that answers one at a time


@contextlib.asynccontextmanager
async def edge_at(folder, dialect, *, base=None, **settings):
    async with served(dialect) as url, httpx2.AsyncClient(base_url=base(url) if base else url, trust_env=False) as http:
        generator = OpenAIGenerator(http, model="m", retry_wait_s=TURN_S)
        async with running_edge(folder, generator=generator, model_server=generator, **settings) as edge:
            await edge.add("quarry.md", DOCUMENT)
            yield edge


@pytest.mark.parametrize("kind", DIALECTS)
async def test_a_question_is_answered_with_its_citation_whatever_the_server_speaks(tmp_path, kind):
    async with edge_at(tmp_path, DIALECTS[kind]()) as edge:
        for _ in range(2):  # what was learned by the first one holds for the second
            answer = await edge.ask(QUESTION, mode="local", memory=False)
            assert (answer["answered"], answer["answer"]) == (True, ANSWER), answer
            assert [citation["document"] for citation in answer["citations"]] == ["quarry.md"]


async def test_a_server_is_refused_by_once_and_never_again(tmp_path):
    class Counted(type(DIALECTS["OpenAI's current models"]())):
        refused = 0

        def refuses(self, body):
            found = super().refuses(body)
            self.refused += found is not None
            return found

    dialect = Counted()
    async with edge_at(tmp_path, dialect) as edge:
        await edge.ask(QUESTION, mode="local", memory=False)
        first = dialect.refused
        await edge.ask(QUESTION, mode="local", memory=False)
    assert (first > 0, dialect.refused) == (True, first)


@pytest.mark.parametrize("paths", [("/v1",), ("",)])
@pytest.mark.parametrize("given", ["/v1", "", "/v1/", "/v1/chat/completions"])
async def test_an_address_is_right_with_and_without_its_version(tmp_path, paths, given):
    def base(url):
        return url.removesuffix("/v1") + given

    async with edge_at(tmp_path, Dialect(paths=paths), base=base) as edge:
        assert (await edge.ask(QUESTION, mode="local", memory=False))["answer"] == ANSWER


async def test_a_wrong_route_that_is_a_success_by_its_status_is_found_out(tmp_path):
    async with edge_at(tmp_path, DIALECTS["LM Studio"](), base=lambda url: url.removesuffix("/v1")) as edge:
        assert (await edge.ask(QUESTION, mode="local", memory=False))["answer"] == ANSWER


async def asked(edge):
    """The status and the problem of a question that no model answers."""
    response = await edge.http.post("/v1/query", json={"question": QUESTION, "mode": "local", "memory": False})
    return response.status_code, response.json()


class Silent(Dialect):
    """It says yes, and gives no answer: nothing at all, or thoughts without an end."""

    def __init__(self, *, thoughts="", text=""):
        super().__init__(thoughts=thoughts)
        self.answer = text

    def text(self, body):
        found = super().text(body)
        return self.answer if found == ANSWER else found


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        (lambda: Silent(), "the model gave no text (finish reason stop)"),
        (lambda: Silent(thoughts="Hm."), "the model gave thoughts and no answer"),
        (lambda: Silent(text="<think> Hm. </think>"), "the model gave thoughts and no answer"),
        (lambda: Dialect(thoughts="Hm. " * 9_000), "all its tokens went into its thoughts"),
        (lambda: Dialect(before="<think>" + "Hm. " * 9_000), "all its tokens went into its thoughts"),
    ],
    ids=["empty", "thoughts in a field", "thoughts in the text", "endless thoughts in a field", "endless thoughts in the text"],
)
async def test_an_empty_reply_is_the_models_failure_and_not_the_documents(tmp_path, dialect, words):
    async with edge_at(tmp_path, dialect()) as edge:
        status, problem = await asked(edge)
    assert (status, problem["code"]) == (502, "model_reply_error")
    assert words in problem["detail"]
    assert problem["next_step"]
    assert "document" not in problem["detail"]


async def test_a_context_that_is_too_small_is_asked_once_more_over_fewer_passages(tmp_path):
    text = "\n\n".join(
        f"Ida Tarrow opened Merle Quarry in {year}, and the pit number {year} has a railway of its own." for year in range(1936, 1960)
    )
    measured = SmallContext(10**6)
    async with edge_at(tmp_path / "large", measured) as edge:
        await edge.add("pits.md", text)
        await edge.ask(QUESTION, mode="local", memory=False)
    longest = max(words_of(body) for body in measured.seen if "quarry.md" in str(body) or "pits.md" in str(body))
    small = SmallContext(longest - 1)
    async with edge_at(tmp_path / "small", small) as edge:
        await edge.add("pits.md", text)
        assert (await edge.ask(QUESTION, mode="local", memory=False))["answered"] is True
    assert any(words_of(body) >= longest for body in small.seen)  # it was refused first


def words_of(body):
    return sum(len(str(message["content"]).split()) for message in body["messages"]) + body["max_tokens"]


async def test_a_context_that_is_far_too_small_names_the_setting(tmp_path):
    async with edge_at(tmp_path, SmallContext(60)) as edge:
        status, problem = await asked(edge)
    assert (status, problem["code"]) == (502, "context_overflow")
    assert "DGRAG_EDGE_CONTEXT_TOKENS" in problem["next_step"]


async def test_a_server_that_always_breaks_off_is_said_to_be_there(tmp_path):
    class Breaking(type(DIALECTS["breaks off"]())):
        @property
        def seen(self):
            return ["always"]

        @seen.setter
        def seen(self, value):
            pass

    async with edge_at(tmp_path, Breaking()) as edge:
        status, problem = await asked(edge)
    assert (status, problem["code"]) == (503, "model_unavailable")
    assert "is there, but broke off" in problem["detail"]


async def test_an_unknown_model_is_told_with_the_names_that_the_server_has(tmp_path):
    class Unknown(Dialect):
        def refuses(self, body):
            return 404, {"error": {"message": 'model "m" not found, try pulling it first', "type": "api_error"}}

    async with edge_at(tmp_path, Unknown()) as edge:
        status, problem = await asked(edge)
    assert status == 503
    assert "it has another-name" in problem["next_step"]


async def test_what_a_server_lacks_is_told_in_the_status_and_at_the_console(tmp_path):
    async with edge_at(tmp_path, DIALECTS["ollama"]()) as edge:
        await until(lambda: edge.node.models.shortfalls())  # the probe at the start, without a question
        told = (await edge.http.get("/v1/status")).json()["model"]
        page = (await edge.http.get("/console/health/model")).text
    lacks = [shortfall["lacks"] for shortfall in told["shortfalls"]]
    assert (told["name"], lacks) == ("m", ["several samples in one request", "log-probabilities"])
    assert all(shortfall["costs"] in page.replace("&#39;", "'") for shortfall in told["shortfalls"])


async def test_a_server_that_takes_everything_lacks_nothing(tmp_path):
    async with edge_at(tmp_path, Dialect()) as edge:
        await edge.ask(QUESTION, mode="local", memory=False)
        assert (await edge.http.get("/v1/status")).json()["model"]["shortfalls"] == []


class Streaming(Dialect):
    """Streams in a form of its own, where a stream is asked for."""

    def __init__(self, *, refuse=None, whole=False, **form):
        super().__init__()
        self.refuse, self.whole, self.form = refuse, whole, form

    def refuses(self, body):
        return (400, {"error": self.refuse}) if self.refuse and body.get("stream") else None

    def answers(self, body):
        status, made = super().answers(body)
        return (status, events_of(made["choices"][0], **self.form)) if body.get("stream") and not self.whole else (status, made)


@pytest.mark.parametrize(
    "dialect",
    [
        lambda: Streaming(),
        lambda: Streaming(done=False),
        lambda: Streaming(ending="\r\n\r\n"),
        lambda: Streaming(head="data:"),
        lambda: Streaming(ending="\n", head=""),
        lambda: Streaming(whole=True),
        lambda: Streaming(refuse="Streaming is not supported by this deployment"),
    ],
    ids=["usual", "without DONE", "CRLF", "no blank", "lines of JSON", "a whole answer", "refused"],
)
async def test_a_stream_in_any_form_is_the_text(dialect):
    prompt = Prompt((Message("user", QUESTION),), 100)
    async with served(dialect()) as url, httpx2.AsyncClient(base_url=url, trust_env=False) as http:
        generator = OpenAIGenerator(http, model="m", retry_wait_s=0.0)
        for _ in range(2):
            assert "".join([piece async for piece in generator.stream(prompt, deadline_s=30)]) == ANSWER


async def test_thoughts_in_a_stream_are_not_its_text():
    class Thinking(Streaming):
        def text(self, body):
            return f"<think>\nHm, Ada?\n</think>\n\n{ANSWER}"

    prompt = Prompt((Message("user", QUESTION),), 100)
    async with served(Thinking()) as url, httpx2.AsyncClient(base_url=url, trust_env=False) as http:
        pieces = [piece async for piece in OpenAIGenerator(http, model="m").stream(prompt, deadline_s=30)]
    assert "".join(pieces) == ANSWER
    assert len(pieces) > 1
