"""An edge, and who sends it the documents of an archive, are killed at any write or time, often again: a second import sets all right.

``python -m tests.faults.import_kills 200`` is the long run. ``--without`` is the null control: a client that notes a document as sent
before it is, and leaves it out the next time.
"""

import argparse
import asyncio
import json
import random
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tests.faults import workload
from tests.faults.forks import run
from tests.faults.kills import Normal, repeated, writes_of
from tests.faults.on_disk import DERIVED, digest, opened
from tests.faults.report import campaign, tell
from tests.support.running_edge import running_edge

TEXTS = {f"note {number}.md": f"Ward {number} uses the Halden pump. It came in lot {number}." for number in range(12)}
AS_SENT = {"documents": "SELECT document_id, name, title, labels, source, created_at, status, raw FROM documents ORDER BY document_id"}
NOTED = "noted"  # a file of the client


def imported(folder, say, *, notes_first=False):
    """Give an edge the documents of an archive, one after the other, and wait until they are indexed."""
    noted = folder / NOTED

    async def life():
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        async with running_edge(folder, strategy="naive", min_free_bytes=0, memory="off") as edge:  # facts would follow in idle time
            for number, (name, text) in enumerate(TEXTS.items()):
                if notes_first and noted.exists() and f"{name}\n" in noted.read_text():
                    continue
                with noted.open("a") as file:
                    file.write(f"{name}\n")
                about = {"name": name, "title": f"Note {number}", "labels": ["ward"], "reader": name, "created_at": 1e9 + number}
                form = {"file": ("document", text.encode())}
                response = await edge.http.post("/v1/import", files=form, data={"about": json.dumps(about)})
                assert response.status_code == 200, response.text
                say(f"{name}: {response.json()['outcome']}")
            await edge.settled()

    asyncio.run(life())


def left_in(folder):
    """The documents as they came, and what was made of them."""
    with opened(folder / "edge.db") as connection:
        return {name: digest(connection, sql) for name, sql in {**AS_SENT, **DERIVED}.items()}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("points", type=int)
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--without", action="store_true")
    chosen = options.parse_args()
    workload.preload()
    rng, work = random.Random(chosen.seed), partial(imported, notes_first=chosen.without)
    with campaign() as (report, top):
        started = time.perf_counter()
        assert run(partial(imported, top / "normal"))[1] == 0
        seconds = time.perf_counter() - started
        normal = Normal(seconds, writes_of(partial(imported, top / "counted"), top / "trace"), left_in(top / "normal"))
        while report.points < chosen.points and not (chosen.without and report.faults):
            repeated(report, rng, normal, work, left_in, top / "killed")
            shutil.rmtree(top / "killed", ignore_errors=True)
    tell(report)


if __name__ == "__main__":
    main()
