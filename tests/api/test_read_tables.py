"""Tables as Python's csv, pandas, numpy and R write them: ours equals theirs, or refuses, or tells. The campaign of
100,000 files is tests/readers/tables.py."""
import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "readers"))
import tables  # noqa: E402
from batch import Batch  # noqa: E402

FILES = 500 if os.environ.get("SPACELAND_TEST_LIGHT") else 4000


def test_random_tables_are_read_as_others_read_them():
    equal, refused, differ = tables.campaign(FILES, int(os.environ.get("SPACELAND_TEST_SEED", "1")) * 1000003 % 10 ** 9)
    assert not differ, f"seeds {differ[:10]}: tests/readers/tables.py"
    assert equal > 0.7 * FILES, refused


@pytest.fixture(scope="module")
def batch():
    made = Batch()
    yield made
    made.close()


def readable():
    """Files of the tests, of the fuzzers, and those that were once read wrongly, where they are."""
    folders = ["tests/bad/graphs", "tests/bad/points", "tests/bad/others", "tests/fuzz/corpus", "tests/unit/files", "docs",
               "../shared/cases"]
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*")) if path.is_file()]


@pytest.mark.parametrize("query", ["-", "kind=points", "kind=graph", "kind=neighbours", "drop=true", "transpose=true", "directed=true&kind=graph"])
def test_each_row_and_column_is_in_one_class(batch, query):
    """Every file that can be read at all, as each kind."""
    taken = 0
    for path in readable():
        reply = batch.read(path.read_bytes(), query, "".join(c if c.isascii() and c > " " else "_" for c in path.name))
        if "error" in reply:
            continue
        assert reply["taken"] and reply["taken"]["adds_up"], (path, reply["taken"])
        assert reply["taken"]["used"] <= reply["taken"]["rows"], (path, reply["taken"])
        if reply["kind"] == "points":
            listed = sum(last - first + 1 for first, last, role, _, _ in reply["taken"]["listed"] if role == "coordinate")
            assert listed == reply["d"] or len(reply["taken"]["listed"]) == 64, path
            assert reply["taken"]["used"] == reply["n"], path
        taken += 1
    assert taken > 3 if "neighbours" in query else taken > 10


def test_the_cases_are_there(batch):
    """Of those that were once read wrongly, all but a few are read, or say what they are."""
    cases = [path for path in readable() if "cases" in path.parts and path.suffix not in (".md", ".npy")]
    if not cases:
        pytest.skip("skipped: no ../shared/cases")
    for path in cases:
        reply = batch.read(path.read_bytes(), "-", path.name)
        assert "error" not in reply or reply["error"].endswith("."), (path, reply)
        assert "error" in reply or reply["taken"]["text"], path
