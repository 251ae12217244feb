"""Write the golden files anew: ``python -m tests.contract.record``."""

import tempfile
from pathlib import Path

from tests.contract.product import contracts, written

GOLDEN = Path(__file__).parent / "golden"


def record(golden=GOLDEN):
    """One file for each contract."""
    with tempfile.TemporaryDirectory() as folder:
        for name, value in contracts(Path(folder)).items():
            (golden / f"{name}.json").write_text(written(value), encoding="utf-8")


if __name__ == "__main__":
    record()
