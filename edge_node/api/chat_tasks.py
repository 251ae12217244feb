"""What chat programs ask a model beside their user's questions: a title, tags, follow-ups, search queries. Pure.

They send these prompts to the model of the conversation, with words of earlier answers in them, and wait for a certain form. Such a prompt
is recognised by its build, which nobody types: an instruction about the conversation, what the reply has to look like, and a transcript.
Marks are of the prompts of Open WebUI, LibreChat, LobeChat, NextChat, Chatbox, HuggingFace's chat-ui, n8n, Continue, Cline, Roo, Jan,
Zed, Goose, opencode, Cherry Studio, TypingMind, SillyTavern, Dify and LangChain.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from shared.text.fence import one_line
from shared.text.inert import inert

Kind = Literal["title", "tags", "follow_ups", "queries", "prompt", "text", "tool_calls", "emoji", "summary", "responses", "other"]
Turn = tuple[str, str]  # role and text of a message
RULERS = frozenset(("system", "developer"))
MAX_TITLE_CHARS = 60
MAX_TITLE_WORDS = 8
MAX_SUMMARY_CHARS = 1_200
MAX_INSTRUCTION_CHARS = 6_000  # of the longest template; those of Open WebUI have up to 2,500
MAX_ASIDE_CHARS = 600  # of an instruction behind a conversation, or of rules that want a title
MAX_EMOJI_RULES_CHARS = 1_000
MAX_HEADING_WORDS = 3
MAX_READ_CHARS = 20_000  # of a message: its first and its last half; instructions stand at the ends
JSON_KEYS: tuple[Kind, ...] = ("title", "tags", "follow_ups", "queries", "prompt", "text", "tool_calls")
_KINDS = {str(kind): kind for kind in JSON_KEYS}

_HISTORY = re.compile(r"<(?P<tag>chat_history|conversation|messages)>(?P<told>.*?)(?:</(?P=tag)>|\Z)", re.DOTALL)
_SECTION = re.compile(r"^#{1,4}[ \t]+\S", re.MULTILINE)
_QUESTION_INSIDE = re.compile(r"<(?:user_query|context|source)\b")  # a question with passages, in a template of the same look
_KEY = re.compile(r"\{\s*\\?[\"“'](title|tags|follow_ups|queries|prompt|text|tool_calls)\\?[\"”']\s*:")
_ROLE = re.compile(
    r"^[ \t]*+(?:[-*>|#]{1,4}[ \t]*+)?(?:\*\*)?(?P<role>user|human|assistant|ai|bot|response|用户|助手)(?: message)?(?:\*\*)?[ \t]*[:：]",
    re.IGNORECASE | re.MULTILINE,
)
_TAGGED = re.compile(  # stops at the next tag, so that many which are never closed take linear time
    r"<(?P<role>user|assistant)>(?P<told>[^<]*+(?:<(?!/?(?:user|assistant)>)[^<]*+)*+)</(?P=role)>", re.IGNORECASE
)
_RULE = re.compile(r"^[ \t]*[-=*_]{3,}[ \t]*$", re.MULTILINE)
_CONTENT = re.compile(r"\"(?:content|text)\"\s*:\s*(\"(?:[^\"\\]|\\.)*+\")")
_ASKERS = frozenset(("user", "human", "用户"))
_FENCED = re.compile(r"(?:```|\"\"\")(?P<told>.*?)(?:```|\"\"\")", re.DOTALL)

_TITLE = re.compile(
    r"\btitl(?:e|es|ing)\b|\bdescription of this (?:session|chat)\b|\bname the conversation\b|\bthe name\b"
    r"|标题|命名|主题|título|\btitre\b|\btitel\b|заголов|タイトル",
    re.IGNORECASE,
)
_CONVERSATION = re.compile(
    r"\b(?:conversation|chat|dialog(?:ue)?|thread|session|first message|user'?s? message|previous query)s?\b"
    r"|会话|对话|聊天|这句话|conversación|conversa\b|\bgespräch|\bunterhaltung|разговор|диалог|会話",
    re.IGNORECASE,
)
_MAKES = re.compile(
    r"\bwhat would be\b|\b(?:generat|creat|writ|produc|provid|summari[sz]|nam|suggest|com(?:e|ing) up"
    r"|titling|captur|output|submit|giv|mak)\w*\b|总结|生成|命名|返回"
    r"|\bgener|\bresum|\berstell|\bschreib|\bfass|созда|сгенерир|напиш|要約|生成",
    re.IGNORECASE,
)
_FORM = re.compile(
    r"\b(?:\d{1,3}|two|three|four|five|six|seven|eight|ten)(?:\s?(?:[-–]|to|or)\s?(?:\d{1,3}|three|four|five|six|seven|eight|ten|less)){0,2}"
    r"[\s-](?:or[- ](?:less|fewer)[\s-])?(?:word|character)s?\b|\bword-or-less\b|个字以内|\d\s*个字"
    r"|\b(?:only|solely|nothing else|no|without|don'?t use|do not use)\b[^.\n]{0,40}"
    r"\b(?:titles?|names?|punctuation|quotes?|quotation|explanations?|(?:extra|additional|other) text|lead-in)\b"
    r"|\bnothing else\b|仅|不需要|不要|只",
    re.IGNORECASE,
)
_POINTING = re.compile(r"\b(?:our|this|above|previous|so far)\b|上述|以上|这句话", re.IGNORECASE)
_BEFORE_ORDER = (
    r"\W*(?:please\W+|now\W+|goal\W+|if it does\W+|based on the (?:conversation|chat) so far\W+"
    r"|you (?:will|must|should|need to)\W+|your (?:task|job|goal) is to\W+)*"
)
_MAKE = r"(?:generat|creat|writ|provid|produc|suggest|giv|extract|craft|mak)e?"
_ADJECTIVE = r"(?:(?!(?:with|of|from|about|that|which|who|in|on|under|each|every)\b)\S+[ \t]+)"
_WORK_ON = r"(?:conversation|chat|dialog(?:ue)?|discussion|message|request|query)s?"
_NO_OTHER = (  # "the title of the report" is a question's
    r"(?![ \t]+of\b(?![ \t]+(?:\d|three|four|five|six|seven|eight|ten|no more|at most"
    r"|(?:the|this|our) (?:conversation|chat|thread|session|dialog)\b)))"
)
_TITLE_JOB = re.compile(  # the title is the object of the first verb
    rf"{_BEFORE_ORDER}(?:"
    rf"{_MAKE}[ \t]+{_ADJECTIVE}{{1,9}}?titles?\b{_NO_OTHER}"
    rf"|{_MAKE}[ \t]+{_ADJECTIVE}{{1,5}}?description of this (?:session|chat)\b"
    rf"|summari[sz]e[ \t]+{_ADJECTIVE}{{0,5}}?{_WORK_ON}[ \t]+(?:in|into|as|to)[ \t]+(?:(?!and\b)[^\s,]+[ \t]+){{1,6}}?title\b"
    r"|name the (?:conversation|chat)\b|give this (?:conversation|chat) a name\b"
    r"|what would be an? [^?\n]{0,40}\btitle\b"
    r"|(?:generiere|erstelle?|schreibe?)(?:[ \t]+sie)?(?:[ \t]+\S+){1,4}?[ \t]+(?:titel|überschrift)\b"
    r"|(?:genera|generar|crea|gere|gerar|crie|génère|générer)(?:[ \t]+\S+){1,4}?[ \t]+(?:título|titre|titolo)\b"
    r"|(?:создай|напиши|сгенерируй)\w*(?:[ \t]+\S+){0,4}?[ \t]+заголов\w*"
    r"|[^。\n]{0,40}(?:总结|生成|返回|命名|要約)[^。\n]{0,40}(?:标题|主题|タイトル))",
    re.IGNORECASE,
)
_STATEMENT = re.compile(  # may stand before the job: who the model is, and what lies before it
    r"\W*(?:you(?:'re| are)?\b|du bist\b|sie sind\b|analy[sz]e (?:if|whether) this message\b|你是)", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"(?<=[.!?。])\s+|\n+")
_OF_FORM = re.compile(  # what rules say of a title; an assistant has other duties
    r"\b(?:titl(?:e|es)|words?|characters?|punctuation|quotes?|quotation|languages?|concise|short|output|emojis?"
    r"|JSON|case|text|topic|explanations?|symbols|prefix(?:es)?|summary|lead-in|fields|formatting)\b"
    r"|titel|wörter|zeichen|sprache|título|titre|заголов|слов|标题|字|标点|语种|タイトル",
    re.IGNORECASE,
)
_DUTY = re.compile(  # words of an assistant that works for its user, from documents or not
    r"\b(?:documents?|sources?|cit(?:e|es|ed|ing|ations?)|references?|answer(?:s|ed|ing)?|questions?|passages?|excerpts?"
    r"|knowledge|files?|records?|help(?:s|ful|ing)?|assist(?:s|ing)?|polite|friendly|tone|each|every|repl(?:y|ies)"
    r"|then|afterwards|colleagues?|customers?|patients?|clients?|your (?:\w+ )?messages?)\b"
    r"|dokument|quelle|antwort|\bfrage|beleg|hilf|höflich|freundlich|\bjede|danach|kund(?:e|in)",
    re.IGNORECASE,
)
_ROLE_AGAIN = re.compile(r"\b(?:you(?:'re| are) (?:an?|the|our)|act as|du bist|sie sind)\b", re.IGNORECASE)
_TITLER = re.compile(  # a role that has no other work, whatever the messages behind it are
    r"\A\W*you(?:'re| are) (?:an? |the )?(?:(?:AI )?title generator\b"
    r"|(?:[^.\n]{0,40}\b)?(?:conversation|chat|thread|session)s? (?:\w+ )?titl(?:e|es|ing) (?:generator|assistant|writer|AI|agent)\b"
    r"|expert in (?:crafting|writing) [^.\n]{0,30}\btitles for (?:\w+ )?(?:conversation|chat)s\b"
    r"|summari[sz]ation AI\b.{0,300}\bdo not try to answer\b)",
    re.IGNORECASE | re.DOTALL,
)
_BARE = re.compile(  # first words of prompts that have the message behind them without a mark
    r"\A\W*(?:summari[sz]e in an? \d{1,2}[- ]word title\.[^.\n\"“]{0,40}\btitle\b[^.\n\"“]{0,20}\.(?=\s*[\"“])"
    r"|summari[sz]e this (?:conversation|chat) in (?:less|fewer) than \d{1,2} words,[^:\n]{0,40}\b(?:just|only)\b[^:\n]{0,40}(?=:)"
    r"|create a concise, \d[-–]\d word phrase\b[^:\n]{0,40}\bas an? (?:title|header) for the following (?:query|message|conversation)\b"
    r"|given the following\W+please reply with a title for the chat\b)",
    re.IGNORECASE,
)
_LEAD = re.compile(r"\A[^\n]{0,120}\btitle\b[^\n]{0,80}:\s*", re.IGNORECASE)
_NAMED = re.compile(r"\b(?:the following is the conversation|here is the query|conversation)[ \t]*:", re.IGNORECASE)
_DIGEST = re.compile(
    r"\A\W*(?:please )?(?:summari[sz]e|sum|write|create)\b[^.\n]{0,120}"
    r"\b(?:prompt for future context|context summary|chat history summary)\b"
    r"|后续.{0,12}prompt|用作.{0,12}上下文提示"
    r"|\bsummary of (?:the|this|our) (?:conversation|chat|session)(?: so far)?[.,]\s+(?:which|it)"
    r" will be used to (?:compact|continue|go on|resume)\b"
    r"|\A\W*generate an? (?:\w+ )?summary of this conversation\. include:\s*1\."
    r"|\bsummari[sz]e the (?:conversation|chat) so far, as described in\b|\A\W*pause your roleplay\b.{0,40}\bsummari[sz]e\b",
    re.IGNORECASE | re.DOTALL,
)
_ABOVE = re.compile(r"\s*(?:please )?summari[sz]e the above (?:conversation|chat)\b", re.IGNORECASE)
_NEXT = re.compile(r"\bpredict the (?:\w+ )?(?:most likely|next) questions that (?:the )?(?:human|user)\b", re.IGNORECASE)
_REWRITE = re.compile(r"\brephrase\b.{0,160}\bstandalone (?:question|query)\b", re.IGNORECASE | re.DOTALL)
_FOLLOWING = re.compile(r"^[ \t]*follow[- ]?up (?:input|question|query)[ \t]*:[ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_FACE = re.compile(r"\bfacial expression\b[^.]{0,60}\bemoji|\bfitting emoji\b", re.IGNORECASE)
_EMOJI_RULES = re.compile(
    r"\A\W*you(?:'re| are) an emoji (?:expert|picker|selector|generator)\b.{0,200}\boutput only (?:a |one )?(?:single )?emoji\b",
    re.IGNORECASE | re.DOTALL,
)
_RESPONSES = re.compile(r"\bset of responses from (?:various|several|multiple) models\b", re.IGNORECASE)
_OPENING_QUOTES, _CLOSING_QUOTES = ('"', "“"), ('"', "”")
_TOOLS = re.compile(r"\A\s*Available Tools:.*\"tool_calls\"", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ChatTask:
    """A prompt of a chat program's own. ``asked``: what the user of the conversation said, first things first."""

    kind: Kind
    asked: tuple[str, ...]
    is_json: bool

    @property
    def topic(self) -> str:
        """What the conversation began with, in one line."""
        return self.asked[0] if self.asked else ""

    def reply(self, title: str) -> str:
        """What the program expects, with a title where it wants one."""
        value: object = {
            "title": title,
            "tags": ["General"],
            "prompt": self.topic,
            "text": "",
            "emoji": "💬",
            "summary": "\n".join(self.asked)[:MAX_SUMMARY_CHARS],
            "responses": self.topic,
        }.get(self.kind, [])
        if self.is_json:
            return json.dumps({self.kind: value} if self.kind in JSON_KEYS else {}, ensure_ascii=False)
        return ", ".join(value) if isinstance(value, list) else str(value)


def task_of(turns: Sequence[Turn]) -> ChatTask | None:
    r"""The task that a conversation's messages are; None: its last one is a question of the user.

    >>> history = "<chat_history>\nUSER: Which ward?\n</chat_history>"
    >>> title = '### Task:\nWrite a title.\n### Output:\n{ "title": "..." }\n' + history
    >>> task_of([("user", title)])
    ChatTask(kind='title', asked=('Which ward?',), is_json=True)
    >>> task_of([("user", "What is the title of the report on this conversation, in five words?")])
    """
    rules = _ends("\n".join(text for role, text in turns if role in RULERS).strip())
    said = [text for role, text in turns if role == "user" and text.strip()]
    if not said:
        return _in_one(rules)
    asked, answered = _ends(said[-1]), any(role == "assistant" for role, _ in turns)
    if _TITLER.match(rules):
        return _of_rules(rules, said)
    if answered:
        return _of_sections(asked) or _behind(_ends(turns[-1][1]), said)
    return _of_sections(asked) or _of_rules(rules, said) or _in_one(asked)


def quotes_conversation(text: str) -> bool:
    r"""Whether a text holds a conversation of two roles: as a prompt of a program that is not known does.

    >>> quotes_conversation("Judge this.\nUser: which ward?\nAssistant: Juniper")
    True
    >>> quotes_conversation("User: which ward?")
    False
    """
    read = _ends(text)
    if (history := _HISTORY.search(read)) is not None and history[0].endswith(f"</{history['tag']}>"):
        return True
    roles = {match["role"].lower() for match in (*_ROLE.finditer(read), *_TAGGED.finditer(read))}
    return bool(roles & _ASKERS) and bool(roles - _ASKERS)


def title_from(written: str, topic: str) -> str:
    """A title that a model wrote, as one short line; of its topic, where the model wrote none.

    >>> title_from('Title: "Failed pumps of Juniper Ward."', "Which pumps failed on Juniper Ward?")
    'Failed pumps of Juniper Ward'
    >>> title_from("", "Which of the infusion pumps failed on Juniper Ward in the night of 3 May?")
    'Which of the infusion pumps failed on'
    """
    line = one_line(inert(re.sub(r"^\W*title\W+", "", written.strip().partition("\n")[0], flags=re.IGNORECASE)))
    words = (line or one_line(inert(topic))).strip("\"'“”„«»*#`. ?!…").split()[: MAX_TITLE_WORDS - 1]
    return " ".join(words)[:MAX_TITLE_CHARS].strip() or "Conversation"


def _ends(text: str) -> str:
    """A text without its middle, where it is long."""
    half = MAX_READ_CHARS // 2
    return text if len(text) <= MAX_READ_CHARS else f"{text[:half]}\n…\n{text[-half:]}"


def _of_sections(asked: str) -> ChatTask | None:
    """One in sections, as Open WebUI writes them: a heading first, the conversation between tags at its end."""
    history = _HISTORY.search(asked)
    if history is None or _QUESTION_INSIDE.search(asked, 0, history.start()):
        return None
    around = asked[: history.start()] + asked[history.end() :]
    key = _KEY.search(around)
    is_closed = history[0].endswith(f"</{history['tag']}>")
    is_headed = bool(re.match(r"\s*#{1,4}[ \t]+\S", asked)) and len(_SECTION.findall(around)) > 1
    told = _askings(history["told"])
    is_order = bool(key) and is_closed and re.match(r"[^\n?]*+(?:\n|\Z)", asked) is not None
    kind: Kind = _KINDS[key[1]] if key else _named_in(around)
    is_known = bool(key) or (history["tag"] == "chat_history" and kind != "other")
    if (is_order or (is_headed and is_known)) and len(around) <= MAX_INSTRUCTION_CHARS:
        return ChatTask(kind, told, is_json=bool(key) or "JSON" in around)
    is_first = history["tag"] == "chat_history" and not asked[: history.start()].strip()
    if _DIGEST.search(around) or (is_first and _ABOVE.match(asked, history.end())):
        return ChatTask("summary", told, is_json=False)
    return None


def _named_in(instruction: str) -> Kind:
    words: tuple[tuple[str, Kind], ...] = (("title", "title"), ("tag", "tags"), ("follow-up", "follow_ups"), ("quer", "queries"))
    return next((kind for word, kind in words if word in instruction.lower()), "other")


def _of_rules(rules: str, said: Sequence[str]) -> ChatTask | None:
    """One whose instruction is the system's message, and whose conversation is all that the user says."""
    if not rules or len(rules) > MAX_INSTRUCTION_CHARS:
        return None
    if _TOOLS.search(rules):
        return ChatTask("tool_calls", (), is_json=True)
    if _EMOJI_RULES.match(rules) and len(rules) <= MAX_EMOJI_RULES_CHARS and not _DUTY.search(rules):
        return ChatTask("emoji", (), is_json=False)
    if not _TITLER.match(rules) and (len(said) > 1 or not _are_of_a_titler(rules)):
        return None
    first = _LEAD.sub("", _ends(said[-1]))
    told = _askings(rules) or _askings(first) or (one_line(first),)
    return ChatTask("title", told, is_json=bool(_KEY.search(rules)) or "JSON object" in rules)


def _in_one(text: str) -> ChatTask | None:
    """One in a single message: an instruction, and a transcript below or above it."""
    quoted = _FENCED.findall(text)
    if quoted and _FACE.search(text) and re.match(r"\s*Your task is to\b", text):
        return ChatTask("emoji", (), is_json=False)
    if quoted and _RESPONSES.search(text[:200]):
        return ChatTask("responses", (quoted[-1],), is_json=False)
    if (bare := _BARE.match(text)) is not None:
        return ChatTask("title", (_behind_instruction(text[bare.end() :]),), is_json=False)
    if _REWRITE.search(text[:MAX_ASIDE_CHARS]) and (following := _FOLLOWING.findall(text)):
        return ChatTask("responses", (one_line(following[-1]),), is_json=False)
    named, roles = _NAMED.search(text), list(_ROLE.finditer(text))
    if named is None and len({turn["role"].lower() for turn in roles}) < 2:
        return None
    begin = named.end() if named else roles[0].start()
    instructions = (text[:begin], *text[begin:].rstrip().split("\n\n")[-3:])
    if not any(_writes_a_title(part) for part in instructions if len(part) <= MAX_ASIDE_CHARS):
        return None
    told = _askings(text) or (_first_line(text[begin:]),)
    return ChatTask("title", told, is_json=bool(_KEY.search(instructions[0])))


def _behind(asked: str, said: Sequence[str]) -> ChatTask | None:
    """One behind the conversation itself, as NextChat's."""
    told = tuple(one_line(text) for text in said if text != asked)
    if len(asked) <= MAX_INSTRUCTION_CHARS and _DIGEST.search(asked):
        return ChatTask("summary", told, is_json=False)
    if len(asked) > MAX_ASIDE_CHARS:
        return None
    if _NEXT.search(asked):
        return ChatTask("follow_ups", told, is_json=False)
    return ChatTask("title", told, is_json=False) if _is_order(asked) else None


def _is_order(asked: str) -> bool:
    """Whether the first sentence orders a title of the conversation before it."""
    first = _SENTENCE_END.split(asked.strip())[0]
    return bool(_TITLE_JOB.match(first) and _POINTING.search(first) and _CONVERSATION.search(first) and _FORM.search(asked))


def _are_of_a_titler(rules: str) -> bool:
    """Whether rules order a title of the conversation first, and say nothing behind that but how it has to look.

    >>> _are_of_a_titler("Write a title for this conversation. Use five words, without quotes.")
    True
    >>> _are_of_a_titler("Write a title for this conversation, in five words. Be brave.")
    False
    """
    transcript = _ROLE.search(rules)
    instruction = rules[: transcript.start()] if transcript else rules
    if len(instruction) > MAX_ASIDE_CHARS or _DUTY.search(instruction) or not _FORM.search(instruction):
        return False
    sentences = [sentence for sentence in _SENTENCE_END.split(instruction) if any(map(str.isalnum, sentence))]
    before = list(itertools.takewhile(lambda text: not _TITLE_JOB.match(text) and _STATEMENT.match(text), sentences))
    job, rest = sentences[len(before) : len(before) + 1], sentences[len(before) + 1 :]
    if not job or not _TITLE_JOB.match(job[0]) or not _CONVERSATION.search(" ".join(before + job)):
        return False
    return all(_is_about_form(sentence) for sentence in rest)


def _is_about_form(sentence: str) -> bool:
    is_heading = sentence.rstrip().endswith(":") and len(sentence.split()) <= MAX_HEADING_WORDS
    return is_heading or (bool(_OF_FORM.search(sentence)) and not _ROLE_AGAIN.search(sentence))


def _writes_a_title(text: str) -> bool:
    """Whether a text wants a title of a conversation, in a form that a program can take."""
    return all(pattern.search(text) for pattern in (_MAKES, _TITLE, _CONVERSATION, _FORM))


def _askings(told: str) -> tuple[str, ...]:
    """What the user says in a transcript."""
    if tagged := [match for match in _TAGGED.finditer(told) if match["role"].lower() in _ASKERS]:
        return _lines(match["told"] for match in tagged)
    if re.match(r"\s*(?:\[\s*)?\{\s*\"", told):
        return _lines(map(_unquoted, _CONTENT.findall(told)))
    turns = list(_ROLE.finditer(told))
    ends = [turn.start() for turn in turns[1:]] + [len(told)]
    pairs = zip(turns, ends, strict=False)
    return _lines(told[turn.end() : end] for turn, end in pairs if turn["role"].lower() in _ASKERS)


def _unquoted(literal: str) -> str:
    try:
        return str(json.loads(literal))
    except ValueError:
        return ""


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    lines = (one_line(_RULE.sub(" ", text)).strip("\"' ") for text in texts)
    return tuple(line for line in lines if line)


def _first_line(text: str) -> str:
    lines = map(one_line, text.splitlines())
    return next((line for line in lines if any(map(str.isalnum, line))), "")


def _behind_instruction(text: str) -> str:
    """The message behind an instruction: between quotes, below a blank line or behind a colon."""
    body = text.rstrip()
    opened = [at for mark in _OPENING_QUOTES if (at := body.find(mark)) >= 0]
    is_quoted = bool(opened) and body.endswith(_CLOSING_QUOTES) and min(opened) + 1 < len(body) - 1
    below = body[min(opened) + 1 : -1] if is_quoted else text.partition("\n\n")[2] or text.partition(":")[2]
    return _first_line(below)
