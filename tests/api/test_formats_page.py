"""docs/formats.md says of each program's export what is read; every row of its table is executed."""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "readers"))
import exports  # noqa: E402
from batch import Batch  # noqa: E402


def rows():
    """Program, export, and what is read, of each row."""
    page = (ROOT / "docs/formats.md").read_text()
    found = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in page.splitlines() if line.startswith("| ")]
    return {(row[0], row[1]): row[2] for row in found if len(row) == 3 and row[0] not in ("program", "---")}


def test_the_page_has_each_export():
    assert list(rows()) == list(exports.EXPORTS)


@pytest.mark.parametrize("program,export", exports.EXPORTS, ids=lambda text: text)
def test_each_row(program, export):
    batch = Batch()
    name, data = exports.EXPORTS[program, export]
    assert exports.outcome(batch.read(data, "-", name)) == rows()[program, export]
    batch.close()
