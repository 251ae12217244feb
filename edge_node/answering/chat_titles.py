"""A title for a conversation of a chat program, by the site's own model, from what its user asked first."""

from __future__ import annotations

import logging
import secrets

from shared.errors import ModelError
from shared.ports import Generator, Prompt
from shared.telemetry.logs import redacted
from shared.text.citations import NUMBER_SHOWN
from shared.text.fence import FENCE_BYTES, Fence, one_line
from shared.text.prompts import load_prompt
from shared.text.sentences import content_words

log = logging.getLogger("dgrag.edge.chat")
CHAT_TITLE = load_prompt("edge_node", "chat_title")
DEADLINE_S = 20.0
MAX_TOKENS = 20
TOPIC_CHARS = 400


async def written_title(generator: Generator, topic: str) -> str:
    """The title; "" where the model fails, or writes of something else."""
    about = Fence(secrets.token_hex(FENCE_BYTES)).around(one_line(topic)[:TOPIC_CHARS])
    prompt = Prompt(CHAT_TITLE.render(topic=about), MAX_TOKENS, stop=("\n",))
    try:
        written = (await generator.generate(prompt, deadline_s=DEADLINE_S)).texts[0]
    except ModelError as error:
        log.warning("a chat got no title: %s", redacted(error))
        return ""
    title = one_line(NUMBER_SHOWN.sub("", written))
    return title if content_words(title) & content_words(topic) else ""
