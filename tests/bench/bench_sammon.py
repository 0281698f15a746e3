"""bench_sammon.py -- jobs of method sammon: time of an iteration and stress, compared with scikit-learn's SMACOF if its
matrix of distances is small enough. --rows: further numbers of rows of MNIST. --picture FILE: only writes the picture
of docs/methods.md, 6,000 digits (.png). --reference: only compares the stress with a reference in double precision from
the same start (sammon_peers.py), on iris, letter and MNIST. --graphs: only compares the stress of layouts of graphs
with networkx's kamada_kawai_layout and scikit-learn's MDS. --graph-picture FILE: only writes the picture of a graph."""
import gzip
import io
import tempfile
import time

import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph as csgraph

import common
import peers
import sammon_peers

ITERATIONS = 20


def npy(x):
    out = io.BytesIO()
    np.save(out, x)
    return out.getvalue()


def ours(api, graph, **parameters):
    job = api.run(graph, method="sammon", tolerance=0, iterations=ITERATIONS, **parameters)
    return job["seconds"] / job["iteration"], job["stress"]


def theirs(x):
    """SMACOF from principal axes; the square of Kruskal's stress 1."""
    from sklearn.manifold import smacof
    from sklearn.metrics import euclidean_distances
    z = x.astype(float) - x.mean(0, dtype=float)
    start = z @ np.linalg.eigh(z.T @ z)[1][:, :-3:-1]
    far = euclidean_distances(z)
    began = time.time()
    _, stress = smacof(far, init=start, n_init=1, max_iter=ITERATIONS - 1, eps=0, normalized_stress=False)
    return (time.time() - began) / ITERATIONS, stress / (np.triu(far, 1) ** 2).sum()


def picture(folder, path):
    digits, labels = np.load(folder / "mnist-70k-pca50-f32.npy")[:6000], np.load(folder / "mnist-70k-labels-u8.npy")[:6000]
    with tempfile.TemporaryDirectory() as state, common.Daemon(state) as daemon:
        api = common.Api(daemon)
        graph = api.upload(npy(digits))["id"]
        api.request("PUT", f"/v1/graphs/{graph}/labels/digit?kind=category", 200, data=npy(labels.astype("i4")),
                    headers={"Content-Type": "application/octet-stream"})
        job = api.run(graph, method="sammon")
        with open(path, "wb") as file:
            file.write(api.get(f"/v1/jobs/{job['id']}/picture.png?width=480&height=480&color=digit").content)


def grid(side):
    line = sp.diags([np.ones(side - 1)] * 2, [-1, 1])
    return sp.csr_matrix(sp.kron(line, sp.eye(side)) + sp.kron(sp.eye(side), line))


def cycle(n):
    i = np.arange(n)
    a = sp.coo_matrix((np.ones(n), (i, (i + 1) % n)), (n, n))
    return sp.csr_matrix(a + a.T)


def tree(n):
    i = np.arange(1, n)
    a = sp.coo_matrix((np.ones(n - 1), (i, (i - 1) // 2)), (n, n))
    return sp.csr_matrix(a + a.T)


def nearest(folder, name, n, node=0):
    """The graph of the nodes that are nearest to one of them, and which these are."""
    with gzip.open(folder / f"{name}.mtx.gz") as file:
        lines = [line for line in file if not line.startswith(b"%")]
    i, j = np.array([line.split()[:2] for line in lines[1:]], int).T - 1
    total = int(lines[0].split()[0])
    a = sp.csr_matrix((np.ones(len(i)), (i, j)), (total, total))
    near = np.sort(csgraph.breadth_first_order(a + a.T, node)[0][:n])
    return sp.csr_matrix((a + a.T)[near][:, near]), near


def upload(api, a):
    out = io.BytesIO()
    sp.save_npz(out, a)
    return api.upload(out.getvalue())["id"]


def share(far, y, power):
    """The stress of a layout of any size, in the unit in which it has the least."""
    i = np.triu_indices(len(far), 1)
    near, far = np.sqrt(((y[:, None] - y[None]) ** 2).sum(2))[i], far[i]
    w = far ** -float(power)
    near = near * (w * far).dot(near) / (w * near).dot(near)
    return (w * (far - near) ** 2).sum() / (w * far ** 2).sum()


def networkx_layout(a, far, dims, seed):
    import networkx
    start = {i: p for i, p in enumerate(np.random.default_rng(seed).random((len(far), dims)))} if seed else None
    y = networkx.kamada_kawai_layout(networkx.from_scipy_sparse_array(a), dim=dims, pos=start,
                                     dist={i: dict(enumerate(row)) for i, row in enumerate(far)})
    return np.array([y[i] for i in range(len(far))])


def mds(far, dims, seed):
    from sklearn.manifold import MDS
    return MDS(dims, dissimilarity="precomputed", n_init=1, max_iter=1000, eps=1e-7, random_state=seed,
               normalized_stress=False).fit_transform(far)


def graphs(folder, quick):
    sets = [("grid 10 × 10", grid(10)), ("cycle of 60", cycle(60))] if quick else [
        ("grid 30 × 30", grid(30)), ("cycle of 100", cycle(100)), ("binary tree of 255", tree(255)),
        ("Facebook pages, 800 nearest to one", nearest(folder, "facebook-pages", 800)[0]),
        ("PubMed, 800 nearest to one", nearest(folder, "pubmed", 800)[0])]
    rows = []
    with tempfile.TemporaryDirectory() as state, common.Daemon(state) as daemon:
        api = common.Api(daemon)
        for name, a in sets:
            graph, far = upload(api, a), csgraph.dijkstra(a, unweighted=True)
            for dims in (1, 2, 3):
                for stress, power in (("kamada_kawai", 2), ("metric", 0)):
                    own = [api.run(graph, method="sammon", dims=dims, stress=stress, start=start, iterations=1000)["stress"]
                           for start in ("classical", "random")]
                    other = [share(far, networkx_layout(a, far, dims, seed) if power else mds(far, dims, seed), power)
                             for seed in (0, 1)]
                    rows.append((name, dims, stress, f"{own[0]:.6f}", f"{own[1]:.6f}", f"{min(other):.6f}",
                                 f"{min(own) / min(other):.4f}"))
    common.table("Layouts of graphs: stress, and the best of two beside the best of two of networkx (kamada_kawai) or scikit-learn "
                 "(metric)", ("graph", "dims", "stress", "classical start", "random start", "theirs", "ours / theirs"), rows)


def graph_picture(folder, path):
    with tempfile.TemporaryDirectory() as state, common.Daemon(state) as daemon:
        api = common.Api(daemon)
        a, near = nearest(folder, "pubmed", 4000)
        graph, labels = upload(api, a), np.load(folder / "pubmed-labels-u8.npy")[near]
        api.request("PUT", f"/v1/graphs/{graph}/labels/kind?kind=category", 200, data=npy(labels.astype("i4")),
                    headers={"Content-Type": "application/octet-stream"})
        job = api.run(graph, method="sammon")
        with open(path, "wb") as file:
            file.write(api.get(f"/v1/jobs/{job['id']}/picture.png?width=480&height=480&color=kind").content)


def main():
    args = peers.arguments(__doc__, rows={"type": int, "default": 0}, picture={"metavar": "FILE"},
                           graphs={"action": "store_true"}, graph_picture={"metavar": "FILE"},
                           reference={"action": "store_true"}, only={"help": "of --reference: iris, letter or MNIST"},
                           letter={"type": int, "default": 20000, "help": "rows for --reference"},
                           mnist={"type": int, "default": 10000, "help": "rows for --reference"},
                           passes={"type": int, "default": 100, "help": "of both, for --reference (default 100)"},
                           most={"type": int, "default": 3000, "help": "passes of spaceland to its end (default 3,000)"},
                           reference_most={"type": int, "default": 300, "help": "the same of the reference (default 300)"},
                           descend={"type": int, "default": 0, "help": "passes of SciPy's L-BFGS from the start, too"})
    if args.reference:
        sammon_peers.run(args)
    folder = common.data_folder()
    if args.picture:
        picture(folder, args.picture)
        return
    if args.graph_picture:
        graph_picture(folder, args.graph_picture)
        return
    if args.graphs:
        graphs(folder, args.quick)
        return
    letter = np.load(folder / "letter-20k-f32.npy")
    with gzip.open(folder / "mnist-70k-images-u8.npy.gz") as file:
        mnist = np.load(file)
    sets = [("letter", letter[:300])] if args.quick else [("letter", letter[:2000]), ("letter", letter),
                                                          ("MNIST", mnist[:2000]), ("MNIST", mnist[:10000])]
    if args.rows:
        sets.append(("MNIST", mnist[:args.rows]))
    rows = []
    with tempfile.TemporaryDirectory() as state:
        with common.Daemon(state) as daemon:
            api = common.Api(daemon)
            for name, x in sets:
                graph = api.upload(npy(x))["id"]
                for stress, optimiser in (("sammon", "newton"), ("sammon", "gradient"), ("metric", "smacof")):
                    seconds, value = ours(api, graph, stress=stress, optimiser=optimiser)
                    rows.append((name, f"{len(x):,} × {x.shape[1]}", stress, optimiser, f"{1e3 * seconds:.3g}", f"{value:.5f}"))
                if len(x) <= 2000:
                    seconds, value = theirs(x)
                    rows.append((name, f"{len(x):,} × {x.shape[1]}", "metric", "scikit-learn's smacof",
                                 f"{1e3 * seconds:.3g}", f"{value:.5f}"))
    common.table(f"Sammon's mapping, {ITERATIONS} iterations", ("data", "size", "stress", "optimiser", "ms an iteration",
                                                               "stress then"), rows)
    sammon_peers.run(args)


if __name__ == "__main__":
    main()
