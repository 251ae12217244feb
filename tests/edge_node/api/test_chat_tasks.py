"""Prompts of chat programs themselves are answered here, without the documents; a question stays one (C21).

The prompts have the build of those programs' own, in other words.
"""

import json

import orjson
import pytest

from edge_node.api import chat
from edge_node.api.chat_tasks import quotes_conversation, task_of
from edge_node.egress.policy_file import NAME
from edge_node.policy.rules import STANDARD
from shared.errors import ModelUnavailable
from shared.models.fake import ScriptedGenerator
from tests.support.running_edge import running_edge, scripted

TOLD = "<chat_history>\nUSER: Which ward reported the pumps?\nASSISTANT: Juniper Ward, to Ida Tarrow [1].\n</chat_history>"


def sections(task, output):
    """A prompt as Open WebUI builds them."""
    return f"### Task:\n{task}\n### Guidelines:\n- Keep to the point.\n### Output:\n{output}\n### Chat History:\n{TOLD}"


TITLE = sections("Write a name of a few words for what was talked about.", 'JSON: { "title": "the name" }')
TASKS = {
    "title": ([("user", TITLE)], {"title": "Which ward reported the pumps"}),
    "tags": ([("user", sections("Sort the talk under some heads.", 'JSON: { "tags": ["one", "two"] }'))], {"tags": ["General"]}),
    "follow-ups": ([("user", sections("What could be asked next?", 'JSON: { "follow_ups": ["One?"] }'))], {"follow_ups": []}),
    "queries": ([("user", sections("Is a search needed?", 'Strictly:\n{\n "queries": ["one"]\n}'))], {"queries": []}),
    "picture": (
        [("user", sections("Describe a picture of it.", '{ "prompt": "words" }'))],
        {"prompt": "Which ward reported the pumps?"},
    ),
    "autocompletion": (
        [("user", f'### Task:\nGo on with the text.\n### Output:\n`{{ "text": "" }}`\n---\n{TOLD}\n<type>General</type>\n<text>Wh</text>')],
        {"text": ""},
    ),
    "tools": (
        [("system", 'Available Tools: [{}]\nAnswer with { "tool_calls": [] }'), ("user", 'Query: History:\nUSER: """Which ward?"""')],
        {"tool_calls": []},
    ),
    "plain title": (
        [("user", sections("Write a title of three words.", "The title alone."))],
        "Which ward reported the pumps",
    ),
    "title behind an instruction": (
        [
            (
                "user",
                "Give a title of 5 words or less for the conversation, without punctuation."
                "\n\nConversation:\nUser: Which ward?\nAI: Juniper",
            )
        ],
        "Which ward",
    ),
    "title by rules": (
        [
            ("system", "You sum conversations up. Write a title for one.\n- At most 10 words\n- Output only the title"),
            ("user", "user: Which ward?\nassistant: Juniper"),
        ],
        "Which ward",
    ),
    "title of a first message": (
        [("system", "Generate a short title for this chat from the user's message. No quotes, 3 to 5 words."), ("user", "Which ward?")],
        "Which ward",
    ),
    "title within the rules": (
        [("system", 'Write a title for this conversation. 5 words or less.\n||>User:\n"Which ward?"\n||>Response:\n"Juniper"')],
        "Which ward",
    ),
    "title behind a conversation": (
        [
            ("user", "Which ward?"),
            ("assistant", "Juniper"),
            ("user", "Please generate a five word title for our conversation, no quotes."),
        ],
        "Which ward",
    ),
    "digest": (
        [("user", "Which ward?"), ("assistant", "Juniper"), ("system", "Sum the talk up in 200 words, as a prompt for future context.")],
        "Which ward?",
    ),
    "title of a quoted message": (
        [("user", 'Summarize in a 7-word title. Only the title. "Which ward?"')],
        "Which ward",
    ),
    "title of what follows": (
        [
            (
                "user",
                "Given the following... please reply with a title for the chat of three words.\n\nJuniper Ward.",
            )
        ],
        "Juniper Ward",
    ),
    "title before examples": (
        [
            (
                "user",
                "Here is the query:\nWhich ward?\n\nCreate a 3-5 word phrase as a title for the previous query."
                "\nONLY THE TITLE.\n\nExamples:\nStock trends",
            )
        ],
        "Which ward",
    ),
    "title by a role with an example": (
        [
            ("system", "You're a title generator. Nothing else leaves your mouth."),
            ("user", "Who leads Gabon?"),
            ("assistant", "Gabon's president"),
            ("user", "Which ward?"),
        ],
        "Which ward",
    ),
    "title of messages as JSON": (
        [
            ("system", "Summarize the user's conversation into a title within 10 words. No punctuation, only the title."),
            ("user", '[{"role": "user", "content": "Which \\"ward\\"?"}]'),
        ],
        'Which "ward',
    ),
    "title asked as a question": (
        [
            ("user", "Which ward?"),
            ("assistant", "Juniper"),
            ("user", "What would be a fitting title for this chat? Answer with the title only, no other text."),
        ],
        "Which ward",
    ),
    "tags without headings": (
        [("user", f'Tag this talk.\n{TOLD}\nReply {{ "tags": ["one"] }}')],
        {"tags": ["General"]},
    ),
    "a question made whole": (
        [
            (
                "user",
                "From the talk below, rephrase the last words as a standalone question.\n"
                "Human: Which ward?\nAssistant: Juniper\nFollow Up Input: and when?",
            )
        ],
        "and when?",
    ),
    "a compacted conversation": (
        [
            ("user", "Which ward?"),
            ("assistant", "Juniper"),
            ("user", "Write a detailed summary of the conversation. It will be used to go on. " + "Be exact. " * 200),
        ],
        "Which ward?",
    ),
    "title by rules in German": (
        [("system", "Erstelle einen kurzen Titel für dieses Gespräch. Nur den Titel, 5 Wörter, no quotes."), ("user", "Which ward?")],
        "Which ward",
    ),
    "title by rules in Chinese": (
        [("system", "你是一名助理，你需要将用户的会话总结为 10 个字以内的标题"), ("user", "user: Which ward?")],
        "Which ward",
    ),
    "title of a new topic": (
        [
            (
                "system",
                "Analyze if this message opens a new conversation topic. If it does, extract a 2-3 word title."
                " Write a JSON object, no other text.",
            ),
            ("user", "Which ward?"),
        ],
        {"title": "Which ward"},
    ),
    "emoji by rules": (
        [("system", "You are an emoji expert.\n\nRules:\n- Output ONLY a single emoji"), ("user", "Which ward?")],
        "💬",
    ),
    "emoji": ([("user", "Your task is to find one fitting emoji for the speaker.\n\nMessage: ```Which ward?```")], "💬"),
}
QUESTIONS = {
    "a template around a question": (
        "### Task:\nAnswer the query from the context.\n### Output:\nA clear answer\n<context>\n"
        "<source>a</source>\n</context>\n<user_query>\nWhich ward?\n</user_query>"
    ),
    "marks inside": f"What does a chat program mean by this? {TITLE}",
    "a title of a report": "Generate a short title for the report on infusion pumps, in five words, without quotes.",
    "a conversation in a document": "Which title was given to the conversation between Juniper Ward and Larch Ward, in five words?",
    "minutes": "Write a title for the conversation in the minutes of 3 May: only the title, at most five words.",
    "headings": "### Task\nWhich wards reported failures?\n### Output\nA list, in at most five words each.",
    "a transcript": "User: the pump stopped\nAssistant: which one?\nWhich pump stopped, in two words?",
    "tags": 'Which tags were given to the <chat_history> exports? Answer as { "tags": [] }',
    "a log": "The log says:\nUser: create a title\nAI: no\nWhy did the session fail?",
}

# rules of assistants that people write; a question behind them is answered from the documents
ASSISTANTS = [
    "Use only one emoji per answer.",
    "You are a friendly ward bot. Use only one emoji per answer, at the end.",
    "You are an emoji expert for our museum. Explain each emoji, and use only one emoji per line.",
    "Reply with only an emoji when the user says thanks; otherwise answer from the documents.",
    "You are the assistant of our hospital. Use the documents to answer. Give the title of each "
    "document that you cite. Keep the conversation polite, and write only the answer, no additional text.",
    "You are a helpful assistant. Provide document titles as sources. If the user's message is in "
    "German, answer in German. Do not use quotes, no explanations.",
    "Answer in this chat in at most 50 words. Always name the title of the source.",
    "When the user starts a session, give sources with title and page, in no more than 3 words.",
    "This GPT works on documents. In this conversation, provide page titles; use no extra text.",
    "Write a short title above your answer, then the answer to the user's message in 50 words.",
    "Begin each reply with a title of at most five words that sums up the conversation.",
    "Give the conversation a title of five words in your first message, then help the user.",
    "Generate a title for this conversation first, in 5 words, then go on with the user's request.",
    "Create a title for this chat of 5 words. You are the assistant of Juniper Ward.",
    "Write a title for this conversation, in five words. Be brave.",
    "Give titles and names in the user's language. No quotes in this chat.",
    "You are a land title assistant. Answer questions on title deeds in this chat, in 50 words.",
    "You are a title assistant of a law firm. Examine titles of land; no explanations in the chat.",
    "You are a senior Python developer. Write only code, no explanations. Name the file in a title "
    "comment, and keep the conversation short.",
    "You are a legal assistant. Cite the title and the section of the act. Use no more than 100 words.",
    "You are a medical assistant for nurses. Name the title of the guideline. Give no diagnosis in the conversation without a source.",
    "You are a customer service agent of a bank. Greet the user with Mr or Ms and their title. Keep "
    "each message in the chat under 80 words.",
    "Summarize the user's message in one sentence, then answer it from the knowledge base. Only titles as sources.",
    "Summarize the documents that the user's message asks for into a report with a title. No quotes.",
    "Extract the title, date and author of the document in the user's message. Only JSON, no text.",
    "Create a table of titles for this chat's documents, in at most 5 words each.",
    "Provide the title of the policy that the user's message is about, with no additional text.",
    "Du bist ein hilfreicher Assistent. Nenne den Titel der Quelle, ohne weitere Erklärungen.",
    "Du bist der Assistent der Klinik. Erstelle einen Titel für jede Antwort im Gespräch, nur 5 Wörter.",
    "Antworte höflich auf Deutsch. Schreibe über jede Antwort einen Titel. Keine Unterhaltung.",
    "Sie sind Rechtsberater. Schreiben Sie den Titel des Gesetzes dazu; nur aus den Dokumenten.",
    "Verwende nur ein Emoji pro Antwort. Halte das Gespräch freundlich.",
]
FOLLOW_UPS = [
    "Give a summary of the session of the board on 3 May, with its action items.",
    "Write a summary of the conversation with the supplier. It will be used to plan the audit.",
    "Where is the chat history summary of the incident stored?",
    "Please summarize our conversation in 50 words, and give it a title.",
    "Give the title of the above report, only the title, and who chaired the session.",
]
FIRST_QUESTIONS = [
    "Summarize this chat in less than 50 words\nWho said the pump is broken?",
    "Summarize in a 5-word title: report on pumps",
    "### Question\nWhich ward?\n### Notes\nbe short\n<messages>\nmail: pump broken\n</messages>",
    "<conversation>\nUser: hi\nAssistant: ho\n</conversation>\nSummarize who reported the failure.",
]


def messages(turns):
    return [{"role": role, "content": text} for role, text in turns]


def silent(prompt):
    raise ModelUnavailable("there is none")


@pytest.mark.parametrize("name", TASKS)
async def test_a_chat_programs_own_prompt_gets_what_the_program_expects(name, tmp_path):
    turns, expected = TASKS[name]
    async with running_edge(tmp_path, generator=ScriptedGenerator(silent)) as edge:
        for model in chat.MODES:
            body = {"model": model, "messages": messages(turns)}
            text = (await edge.http.post("/v1/chat/completions", json=body)).json()["choices"][0]["message"]["content"]
            assert (json.loads(text) if isinstance(expected, dict) else text) == expected
            reply = await edge.http.post("/api/chat", json={**body, "stream": False})
            assert reply.json()["message"]["content"] == text


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_with_such_words_is_a_question(name):
    assert task_of([("user", QUESTIONS[name])]) is None
    assert task_of([("system", "Answer in five words, without quotes. Give no title."), ("user", QUESTIONS[name])]) is None
    assert task_of([("user", "Which ward?"), ("assistant", "Juniper"), ("user", QUESTIONS[name])]) is None


@pytest.mark.parametrize("rules", ASSISTANTS)
def test_an_assistants_rules_leave_its_users_question_a_question(rules):
    for question in ("Which ward has the pumps?", "Who wrote the report on the conversation?"):
        assert task_of([("system", rules), ("user", question)]) is None
        earlier = [("user", "Hello"), ("assistant", "Good morning")]
        assert task_of([("system", rules), *earlier, ("user", question)]) is None


def test_questions_close_to_a_programs_prompts_are_questions():
    earlier = [("user", "Which ward?"), ("assistant", "Juniper")]
    assert [text for text in FOLLOW_UPS if task_of([*earlier, ("user", text)])] == []
    assert [text for text in FIRST_QUESTIONS if task_of([("user", text)])] == []


async def test_a_question_with_such_words_is_answered_from_the_documents(edge):
    await edge.add("report.md", "Juniper Ward reported the failure of four infusion pumps.")
    body = {"model": "dgrag-local", "messages": messages([("user", QUESTIONS["headings"])])}
    assert (await edge.http.post("/v1/chat/completions", json=body)).json()["dgrag"]["citations"]


async def test_a_question_that_quotes_a_conversation_stays_here(tmp_path):
    """The null control is the same question without the conversation: it is sent to the cloud, which is away."""
    quoted = "Which pumps are meant?\nUser: Which ward?\nAssistant: Juniper Ward."
    settings = {"cloud_url": "http://127.0.0.1:9"}
    async with running_edge(tmp_path, generator=scripted(sufficient=0.1), **settings) as edge:
        await edge.add("report.md", "Juniper Ward reported the failure of four infusion pumps.")
        for text, leaves in ((quoted, False), ("Which pumps are meant?", True)):
            assert quotes_conversation(text) is not leaves
            body = {"model": "dgrag", "messages": messages([("user", text)])}
            reply = (await edge.http.post("/v1/chat/completions", json=body)).json()["dgrag"]
            assert reply["degraded"] is leaves


async def test_the_model_here_writes_the_title_where_it_can(tmp_path):
    def answer(prompt):
        about_title = prompt.messages[0].content.startswith("You write titles")
        return ['Title: "Pumps reported by Juniper Ward".' if about_title else pytest.fail("a question was asked")]

    async with running_edge(tmp_path, generator=ScriptedGenerator(answer)) as edge:
        reply = await edge.http.post("/v1/chat/completions", json={"model": "dgrag", "messages": messages([("user", TITLE)])})
    assert json.loads(reply.json()["choices"][0]["message"]["content"]) == {"title": "Pumps reported by Juniper Ward"}


async def test_a_stream_brings_it_too_in_both_forms(edge):
    body = {"model": "dgrag", "messages": messages([("user", TITLE)]), "stream": True}
    lines = (await edge.http.post("/v1/chat/completions", json=body)).text.splitlines()
    events = [orjson.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]
    text = "".join(event["choices"][0]["delta"].get("content", "") for event in events)
    assert set(json.loads(text)) == {"title"}
    assert events[-1]["choices"][0]["finish_reason"] == "stop"
    pieces = [orjson.loads(line) for line in (await edge.http.post("/api/chat", json=body)).text.splitlines()]
    assert set(json.loads("".join(piece["message"]["content"] for piece in pieces))) == {"title"}
    generated = await edge.http.post("/api/generate", json={"model": "dgrag", "prompt": TITLE, "stream": False})
    assert set(json.loads(generated.json()["response"])) == {"title"}


async def test_nothing_of_it_leaves_is_remembered_or_waits_for_a_yes(tmp_path):
    """The null control asks the same as a question by another route: that one is sent to the cloud, which is away."""
    settings = {"cloud_url": "http://127.0.0.1:9", "memory_learn": "gate"}
    (tmp_path / NAME).write_text(STANDARD)
    async with running_edge(tmp_path, generator=scripted(sufficient=0.1), **settings) as edge:
        await edge.add("report.md", "Juniper Ward reported the failure of four infusion pumps.")

        async def state():
            audit, memories = await edge.http.get("/v1/audit"), await edge.http.get("/v1/memories")
            return audit.json(), memories.json(), edge.node.feedback.arrivals, edge.node.fast_path.looked

        before = await state()
        for name, (turns, _) in TASKS.items():
            reply = await edge.http.post("/v1/chat/completions", json={"model": "dgrag", "messages": messages(turns)})
            told = reply.json()["dgrag"]
            assert (told["route"], told["would_ask"], told["edges"], told["trace"]) == ("local", "", [], []), name
        assert await state() == before
        question = await edge.ask("Which ward reported the pumps?", earlier=[])
        assert question["degraded"]
        assert await state() != before
