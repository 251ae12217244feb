"""One process a store (R11)."""

import subprocess
import sys

import pytest

from edge_node.database.commits import only_user
from shared.errors import StoreInUse

pytestmark = pytest.mark.process

IMPORTS = "import sys; from pathlib import Path; from edge_node.database.commits import only_user; from shared.http.service import run\n"
HOLD = IMPORTS + "with only_user(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
SERVE = IMPORTS + "def serve():\n    with only_user(Path(sys.argv[1])): pass\nsys.exit(run(serve))"


def test_a_second_user_of_the_same_store_is_refused_and_the_next_one_is_not(tmp_path):
    with only_user(tmp_path), pytest.raises(StoreInUse, match="another process"), only_user(tmp_path):
        pass
    with only_user(tmp_path):
        pass


def test_another_process_ends_with_status_3_and_a_killed_one_lets_go(tmp_path, root):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with holder:
        assert holder.stdout.readline() == b"held\n"
        second = subprocess.run([sys.executable, "-c", SERVE, str(tmp_path)], cwd=root, capture_output=True, text=True, check=False)
        assert second.returncode == 6
        assert "another process uses the store" in second.stderr
        holder.kill()
    with only_user(tmp_path):
        pass
