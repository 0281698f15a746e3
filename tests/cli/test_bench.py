"""bench: tables and JSON of a short measurement on the CPU engine."""
import numpy
import pytest

from harness import BUILD

SHORT = ("--engine", "cpu", "--iterations", "120", "--exaggeration-iterations", "60", "--threads", "2")
GRID = ["spread", "convolve", "read back", "attraction", "step"]


def check_spread(spread):
    assert set(spread) == {"median", "least", "most"}
    assert 0 < spread["least"] <= spread["median"] <= spread["most"] < 10, spread


@pytest.mark.parametrize("dims, repulsion, phases", [
    pytest.param(2, "grid", GRID, marks=pytest.mark.long), pytest.param(3, "grid", GRID, marks=pytest.mark.longest),
    (1, "grid", GRID), pytest.param(2, "exact", ["all pairs", "attraction", "step"], marks=pytest.mark.longest)])
def test_json_of_a_synthetic_graph(client, dims, repulsion, phases):
    result = client("bench", "--nodes", 3000, "--neighbours", 10, *SHORT, "--repeat", 2, "--json", "--dims", dims,
                    "--repulsion", repulsion)
    assert result.status == 0 and result.err == "", result
    got = result.json
    assert set(got) == {"graph", "engine", "job", "iteration", "copy_bytes_per_second", "phases", "start", "memory",
                        "jobs", "notes"}
    assert got["graph"]["source"] == "synthetic" and got["graph"]["nodes"] == 3000
    assert 3000 * 10 < got["graph"]["entries"] <= 2 * 3000 * 10
    assert got["engine"]["name"] == "cpu" and "thread" in got["engine"]["device"]
    assert got["job"]["dims"] == dims and got["job"]["repulsion"] == repulsion and got["job"]["iterations"] == 120
    for kind in ("early", "late", "mean"):
        check_spread(got["iteration"][kind])
    assert got["copy_bytes_per_second"] > 1e8
    assert [phase["name"] for phase in got["phases"]] == phases
    for phase in got["phases"]:
        assert 0 < phase["least"] <= phase["seconds"] <= phase["most"] and phase["bytes"] > 0
        assert phase["share_of_copy"] == pytest.approx(phase["bytes"] / phase["seconds"] / got["copy_bytes_per_second"],
                                                       rel=1e-3)
    attraction = next(phase for phase in got["phases"] if phase["name"] == "attraction")
    assert attraction["bytes"] >= 8 * got["graph"]["entries"]
    assert set(got["start"]["first_job"]) == {"open_device", "upload", "embedding", "first_iteration",
                                              "other_iterations", "plans"}
    assert set(got["start"]["next_job"]) == {"embedding", "first_iteration", "other_iterations"}
    memory = got["memory"]
    assert memory["graph"] >= 8 * got["graph"]["entries"] and memory["embedding"] > 3000 * dims * 4
    first, second = got["jobs"]
    assert first["layout_bits"] == second["layout_bits"] and first["kl"] == second["kl"] > 0
    assert first["first_iteration"] <= first["all_iterations"]


def test_every_job_gives_the_same_bytes(client):
    bits = []
    for repeat in (1, 3):
        got = client("bench", "--nodes", 2000, "--neighbours", 8, *SHORT, "--repeat", repeat, "--json").json
        bits += [job["layout_bits"] for job in got["jobs"]]
        assert (got["start"]["next_job"] is None) == (repeat == 1)
    assert len(set(bits)) == 1 and len(bits) == 4


def test_tables_of_a_file(client, ring):
    result = client("bench", ring, *SHORT, "--repeat", 2, "--stretches")
    assert result.status == 0, result
    assert result.out.startswith(f"{ring}: 40 nodes, 160 entries of P, 4.0 a node; read in "), result
    for title in ("an iteration, 1 job", "a phase by itself", "start", "memory", "job"):
        assert any(line.startswith(title + " ") for line in result.out.splitlines()), (title, result)
    notes = result.err.splitlines()
    assert "run 2 of 2" in notes and sum("  to iteration 60: " in line for line in notes) == 2, result


def test_points(client):
    points = numpy.random.default_rng(3).normal(size=(900, 4)) + numpy.repeat(numpy.eye(4) * 9, 225, 0)
    numpy.save(client.folder / "points.npy", points)
    result = client("bench", "points.npy", *SHORT, "--repeat", 1, "--json", "--neighbours", 30, "--perplexity", 8)
    assert result.status == 0 and result.err == "", result
    got = result.json
    assert got["graph"]["source"] == "points.npy" and got["graph"]["nodes"] == 900
    assert 900 * 24 <= got["graph"]["entries"] <= 900 * 60 and got["start"]["neighbours"] > 0
    table = client("bench", "points.npy", *SHORT, "--repeat", 1, "--no-phases")
    assert table.out.startswith("points.npy: 900 nodes, ") and "neighbours found in " in table.out, table


def test_without_phases(client, ring):
    got = client("bench", ring, *SHORT, "--repeat", 1, "--no-phases", "--json").json
    assert got["phases"] == [] and got["copy_bytes_per_second"] is None and got["start"]["next_job"] is None


def test_a_gradual_end_of_exaggeration(client):
    """Many short stretches."""
    got = client("bench", "--nodes", 300, "--neighbours", 5, "--engine", "cpu", "--threads", 1, "--iterations", 700,
                 "--exaggeration-iterations", 20, "--exaggeration-decay", 660, "--repeat", 2, "--no-phases", "--json").json
    assert got["job"]["iterations"] == 700
    check_spread(got["iteration"]["late"])


@pytest.mark.parametrize("arguments, status, message", [
    ((), 2, "bench needs a graph: FILE, or --nodes for a synthetic one"),
    (("ring.tsv", "--nodes", 100), 2, "bench measures one graph: FILE or --nodes, not both"),
    (("ring.tsv", "--kind", "graph", "--neighbours", 9, "--engine", "cpu"), 2, "--neighbours"),
    (("ring.tsv", "--perplexity", 9, "--engine", "cpu"), 2, "--perplexity"),
    (("--nodes", 100, "--format", "mtx"), 2, "--format: only with FILE"),
    (("--nodes", 100, "--recall", 1), 2, "--recall: only with FILE"),
    (("--nodes", 100, "--neighbours", 1), 2, "--neighbours must be a whole number from 2 to 1000, not '1'"),
    (("--nodes", 100, "--repeat", 0), 2, "--repeat must be a whole number from 1 to 1000, not '0'"),
    (("--nodes", 50, "--engine", "cpu"), 2, "--nodes: There are 50 nodes with 90 neighbours each; there must be more than 90 and"),
    (("ring.tsv", "--engine", "abacus"), 2, '--engine: There is no engine "abacus"'),
    (("missing.mtx", "--engine", "cpu"), 5, "missing.mtx"),
])
def test_what_is_wrong(client, ring, arguments, status, message):
    result = client("bench", *arguments)
    assert result.status == status and result.out == "", result
    assert result.err.splitlines()[-1].startswith("spaceland: " + message), result  # after what was taken of the file
    assert "Traceback" not in result.err and result.err.count("\n") <= 3, result


@pytest.mark.parametrize("makes, told", [("0", ""), ("0, full", "the processor makes the affinities: no room for making P")])
def test_a_device_makes_the_affinities(client, ring, tmp_path, makes, told):
    plugin = BUILD / "tests" / "plugin"
    if not (plugin / "spaceland-cuda.so").exists():
        pytest.skip("skipped: the test plug-in is not built")
    device, host = tmp_path / "device.npy", tmp_path / "host.npy"
    result = client("embed", "--local", ring, "--engine", "cuda", "--iterations", 30, "-o", device,
                    environment={"SPACELAND_PLUGINS": str(plugin), "SPACELAND_TEST_MAKES": makes})
    assert result.status == 0 and told in result.err and ("processor" in result.err) == bool(told), result
    assert client("embed", "--local", ring, "--engine", "cpu", "--iterations", 30, "-o", host).status == 0
    assert device.read_bytes() == host.read_bytes()
