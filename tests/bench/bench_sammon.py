"""bench_sammon.py -- jobs of method sammon, an iteration's time and the stress, beside scikit-learn's SMACOF where its matrix
of distances is small enough. --rows: of MNIST, besides the usual numbers. --picture FILE: nothing but the picture of
docs/methods.md, 6,000 digits, to this file (.png)."""
import gzip
import io
import tempfile
import time

import numpy as np

import common

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


def main():
    args = common.arguments(__doc__, rows={"type": int, "default": 0}, picture={"metavar": "FILE"})
    folder = common.data_folder()
    if args.picture:
        picture(folder, args.picture)
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


if __name__ == "__main__":
    main()
