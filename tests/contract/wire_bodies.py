"""What edges of this release send a cloud: ``python -m tests.contract.wire_bodies`` records it under the present number of the wire.

A file of a former number is never written again: clouds have to take what it holds.
"""

import asyncio
import json
import re
import tempfile
from pathlib import Path
from unittest.mock import patch

from shared.wire import WIRE_VERSION
from tests.support.federation import PLANT, REFUSAL, SwitchableTransport, federation

FOLDER = Path(__file__).parent / "wire"
QUESTION = "Which lot of the battery pack caused the failure of infusion pumps?"
REQUEST = re.compile(r"(?<=/replies/)\w+")


async def sent(folder):
    """The longest body of each edge to each path: who sent it, the method, the path and the body; in the order of the first ones."""
    members, said = {"bank": ("The bank lends money to bakeries.", REFUSAL), "plant": (PLANT, REFUSAL)}, {}
    send = SwitchableTransport.handle_async_request

    async def recording(line, request):
        path, body = REQUEST.sub("{request_id}", request.url.raw_path.decode()), await request.aread()
        said[line, request.method, path] = max(said.get((line, request.method, path), b""), body, key=len)
        return await send(line, request)

    with patch.object(SwitchableTransport, "handle_async_request", recording):
        async with federation(folder, cloud_answer="Lot L-7713 caused the failure [1].", edge_answers=members) as (edges, lines, _):
            assert (await edges["bank"].ask(QUESTION))["route"] == "cloud"
            names = {line: name for name, line in lines.items()}
    return [
        {"edge": names[line], "method": method, "path": path, "body": json.loads(body or b"null")}
        for (line, method, path), body in said.items()
    ]


def main():
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(sent(Path(folder)))
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{WIRE_VERSION}.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
