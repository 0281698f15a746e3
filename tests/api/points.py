"""Tables of points for tests, in the formats that the daemon reads."""
import io

import numpy as np
from scipy.spatial import cKDTree

from harness import sanitized, wait_until


def clusters(n=500, d=12, groups=4, seed=0, spread=6.0):
    """Well separated Gaussian groups. Returns the points (float32) and the group of each."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, n)
    x = rng.normal(size=(n, d)) + spread * rng.normal(size=(groups, d))[group]
    return x.astype(np.float32), group


def npy(x, order="C"):
    out = io.BytesIO()
    np.save(out, np.asarray(x, order=order))
    return out.getvalue()


def npz(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def csv(x, header=True, separator=",", names=None, labels=None):
    """Writes numbers so that they read back as the same float32."""
    titles = (["name"] if names is not None else []) + [f"x{k}" for k in range(x.shape[1])]
    titles += ["label"] if labels is not None else []
    lines = [separator.join(titles)] if header else []
    for i, row in enumerate(x):
        fields = [f"{v:.9g}" for v in row]
        lines.append(separator.join(([names[i]] if names is not None else []) + fields
                                    + ([str(labels[i])] if labels is not None else [])))
    return ("\n".join(lines) + "\n").encode()


def nearest(x, k):
    """Indices and distances of the k nearest others of each row."""
    distance, index = cKDTree(x).query(x, k + 1)
    return index[:, 1:].astype(np.int32), distance[:, 1:].astype(np.float32)


def slow(n=9000, d=64, seed=1):
    """With SLOW, a search of this takes the CPU at least a second, also with a sanitizer, which is about 20 times
    slower."""
    n = n // 3 if sanitized() else n
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


SLOW = {"metric": "lp", "metric_p": 2.5, "recall": 1}


def found(api, graph, seconds=60):
    """Waits for the end of the search; returns the record."""
    return wait_until(lambda: (lambda g: g if g["neighbours"]["state"] != "searching" else None)(
        api.get(f"/v1/graphs/{graph}").json()), seconds, "neighbours are found")
