"""These tests start hundreds of services, each with stores of its own: most of their time on a disk is waiting for it."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.faults.report import MEMORY


@pytest.fixture
def tmp_path():
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)
