import asyncio
import contextlib

import pytest

from deploy.cluster import control
from deploy.cluster.control import Command
from deploy.cluster.errors import ClusterError


@contextlib.asynccontextmanager
async def served(folder, obey):
    server = await control.serve(folder, obey)
    try:
        yield lambda command: asyncio.to_thread(control.told, folder, command)
    finally:
        server.close()


async def test_a_command_comes_as_it_was_given_and_its_rows_come_back(tmp_path):
    heard = []
    command = Command("set", "ward", ("rate=5mbit",), 1.5)
    async with served(tmp_path, lambda said: heard.append(said) or [{"edge": "ward"}]) as tell:
        assert await tell(command) == [{"edge": "ward"}]
    assert heard == [command]


async def test_a_refusal_is_told_in_its_own_words_and_the_next_command_is_heard(tmp_path):
    def refuse(command):
        raise ClusterError("no link leads there", next_step="name another")

    async with served(tmp_path, refuse) as tell:
        for _ in range(2):
            with pytest.raises(ClusterError, match="no link leads there") as refused:
                await tell(Command("cut"))
            assert refused.value.next_step == "name another"


async def test_only_its_user_may_use_the_socket_and_one_that_was_left_is_replaced(tmp_path):
    (tmp_path / control.SOCKET).touch()
    async with served(tmp_path, lambda command: []) as tell:
        assert (tmp_path / control.SOCKET).stat().st_mode & 0o777 == 0o600
        assert await tell(Command("stats")) == []


async def test_a_folder_with_a_long_path_will_do(tmp_path):
    folder = tmp_path / ("long" * 50)
    folder.mkdir()
    async with served(folder, lambda command: []) as tell:
        assert await tell(Command("stats")) == []


@pytest.mark.parametrize("line", [b"no json", b'{"do":"explode"}', b"{}"])
async def test_what_is_no_command_is_refused_and_reaches_nobody(tmp_path, line):
    async with served(tmp_path, lambda command: pytest.fail("obeyed")):
        reader, writer = await asyncio.open_unix_connection(tmp_path / control.SOCKET)
        writer.write(line + b"\n")
        assert b"do not understand" in await reader.read()
        writer.close()


def test_a_cluster_without_links_is_told_so(tmp_path):
    with pytest.raises(ClusterError, match="has no links"):
        control.told(tmp_path, Command("stats"))
