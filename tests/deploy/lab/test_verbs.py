import asyncio
import json
import os
from functools import partial

import pytest

from deploy.cli.main import run
from deploy.cluster import control
from deploy.cluster.processes import Mark, birth
from deploy.cluster.state import ClusterState, Member, StateDir
from deploy.lab.links import Star, obeyed
from deploy.lab.network import LINKS
from deploy.lab.topology import LinkShape, numbered


@pytest.fixture
async def net(tmp_path, capsys):
    """``dgrag net`` on links that run in this process."""
    star = Star(numbered(["plant", "ward"]), LinkShape(), lambda _: lambda: 0.5)
    server = await control.serve(tmp_path, partial(obeyed, star))

    async def called(*words):
        with pytest.raises(SystemExit) as ended:
            await asyncio.to_thread(run, ["net", *words, "--state", str(tmp_path)])
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    yield called
    server.close()


async def test_a_link_is_shaped_cut_and_healed_and_each_verb_says_what_it_is_now(net):
    assert await net("set", "ward", "rate=5mbit", "loss=1%") == (0, "ward: rate=5mbit delay=15ms loss=1% queue=100ms\n", "")
    assert await net("cut", "all") == (0, "plant: cut\nward: cut\n", "")
    assert (await net("heal", "plant"))[1] == "plant: rate=50mbit delay=15ms loss=0% queue=100ms\n"


async def test_stats_are_a_table_and_for_scripts_one_value(net):
    assert "plant" in (await net("stats"))[1]
    code, out, _ = await net("stats", "--json")
    assert code == 0
    assert out.startswith('{"links":[{"edge":"plant","cut":false')


async def test_a_wrong_word_is_refused_in_one_line(net):
    code, _, err = await net("set", "ward", "rate=fast")
    assert (code, err.count("\n")) == (1, 1)
    assert "a link cannot be 'rate=fast'" in err


async def test_status_knows_whether_the_links_hold(tmp_path, capsys):
    members = (Member("link", LINKS, "", Mark(os.getpid(), birth(os.getpid()))),)
    StateDir(tmp_path).save(ClusterState(members=members))

    async def states():
        with pytest.raises(SystemExit):
            await asyncio.to_thread(run, ["status", "--json", "--state", str(tmp_path)])
        return json.loads(capsys.readouterr().out)["link"]["ready"]

    assert await states() is False
    server = await control.serve(tmp_path, partial(obeyed, Star(numbered(["ward"]), LinkShape(), lambda _: lambda: 0.5)))
    assert await states() is True
    server.close()
