"""A number of iterations is a budget: more of them never end above fewer, nor above the automatic number."""
import numpy as np
import pytest
import scipy.sparse as sp

N = 600
BUDGETS = (500, 700, 1000, 2000)


def graph(i, j):
    a = sp.coo_matrix((np.ones(len(i), "f4"), (i, j)), shape=(N, N))
    a = ((a + a.T) > 0).astype("f4").tocsr()
    a.setdiag(0)
    a.eliminate_zeros()
    return a


def kinds():
    r = np.random.default_rng(1)
    group = np.arange(N) % 10
    x = r.normal(size=(N, 3))
    turn = r.random(N) * 4.5 * np.pi
    k = np.arange(N)
    return {
        "mixture": r.normal(size=(N, 20)) + 8 * r.normal(size=(10, 20))[group], "plane": r.normal(size=(N, 2)),
        "gaussian": r.normal(size=(N, 50)), "sphere": x / np.linalg.norm(x, axis=1, keepdims=True),
        "roll": np.c_[turn * np.cos(turn), turn * np.sin(turn), 20 * r.random(N)], "heavy tails": r.standard_t(2, size=(N, 10)),
        "whole numbers": r.integers(0, 4, (N, 8)), "mesh": graph(np.r_[k[k % 25 < 24], k[:-25]], np.r_[k[k % 25 < 24] + 1, k[25:]]),
        "random graph": graph(r.integers(0, N, 3 * N), r.integers(0, N, 3 * N)),
        "blocks": graph(*(lambda i, j: (i[i % 10 == j % 10], j[i % 10 == j % 10]))(*r.integers(0, N, (2, 40 * N)))),
    }


# Only ./dev test all takes more than those that differ most.
FEW = ("mixture", "heavy tails", "whole numbers", "mesh")


@pytest.mark.parametrize("name", [name if name in FEW else pytest.param(name, marks=pytest.mark.longest) for name in kinds()])
def test_more_iterations_never_end_higher(client, name):
    x = kinds()[name]
    file = "x.npz" if sp.issparse(x) else "x.npy"
    if sp.issparse(x):
        sp.save_npz(client.folder / file, x)
    else:
        np.save(client.folder / file, x.astype("f4"))

    def run(*options):
        done = client("embed", file, "--local", "--engine", "cpu", "--threads", "1", "--seed", "1", "--json", *options)
        assert done.status == 0, done
        return done.json
    auto = run()
    least = np.inf
    for budget in BUDGETS:
        got = run("--iterations", budget)
        assert got["iterations"] == budget and got["stop"] == "iterations"
        assert got["kl"] <= least * 1.001 + 1e-4, (budget, got["kl"], least)
        if budget >= auto["iterations"]:
            assert got["kl"] <= auto["kl"] * 1.001 + 1e-4, (budget, got["kl"], auto)
        least = min(least, got["kl"])
    same = run("--iterations", auto["iterations"])
    assert same["kl"] <= auto["kl"] * 1.001 + 1e-4
    patient = run("--kl-patience", 20, "--kl-tolerance", 0)
    assert patient["iterations"] <= auto["iterations"], "a rule that stops never makes a run longer"


def test_presets_keep_their_rules(client):
    """The common schedule has a sudden end of exaggeration and no search."""
    np.save(client.folder / "x.npy", kinds()["mixture"].astype("f4"))
    files = []
    for k, options in enumerate((["--preset", "sklearn"], ["--preset", "sklearn", "--iterations", "1000"],
                                 ["--iterations", "1000", "--exaggeration-iterations", "250", "--rescale", "off",
                                  "--preset", "sklearn"])):
        assert client("embed", "x.npy", "--local", "--engine", "cpu", "--threads", "1", "-o", f"{k}.npy", *options).status == 0
        files.append((client.folder / f"{k}.npy").read_bytes())
    assert files[0] == files[1] == files[2]
