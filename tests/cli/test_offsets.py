"""Columns that lie far from 0 in relation to their spread (Unix times, UTM metres, Julian days): no command depends on
an offset, and what comes back has the user's units."""
import numpy
import pytest

OFFSETS = {"plain": (0, 0), "utm": (448000.0, 5411000.0), "unix": (1.7e9, 1.7e9), "julian": (2460000.5, 2460000.5),
           "far": (1e12, -1e12), "farthest": (1e15, 1e15)}
CENTRES = numpy.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]])


def table(offset, step=0.0):
    """Three groups 20 apart, of standard deviation 1; values are multiples of `step`."""
    rng = numpy.random.default_rng(1)
    x = numpy.repeat(CENTRES, 200, axis=0) + rng.normal(size=(600, 2))
    x = numpy.round(x / step) * step if step else x
    return x + numpy.array(offset)


def written(client, kind, x):
    """The table in a file of that kind."""
    name = f"x.{kind}"
    if kind == "npy":
        numpy.save(client.folder / name, x)
    elif kind == "fortran.npy":
        numpy.save(client.folder / name, numpy.asfortranarray(x))
    elif kind == "npz":
        numpy.savez(client.folder / name, X=x)
    elif kind == "sparse.npz":
        from scipy.sparse import csr_matrix, save_npz
        save_npz(client.folder / name, csr_matrix(x))
    elif kind == "mtx":
        lines = [f"{i + 1} {k + 1} {x[i, k]!r}" for i in range(len(x)) for k in range(x.shape[1])]
        (client.folder / name).write_text("%%MatrixMarket matrix coordinate real general\n"
                                          f"{len(x)} {x.shape[1]} {x.size}\n" + "\n".join(lines) + "\n")
    else:
        (client.folder / name).write_text("a,b\n" + "".join(f"{float(p)!r},{float(q)!r}\n" for p, q in x))
    return name


def same_groups(label):
    return all(len(set(label[g * 200:g * 200 + 200])) == 1 for g in range(3)) and len(set(label)) == 3


def reference(x):
    """Inertia and log-likelihood of the three groups, in double precision, about the mean."""
    x = x - x.mean(0)
    groups = x.reshape(3, 200, 2)
    inertia = ((groups - groups.mean(1, keepdims=True)) ** 2).sum()
    log = numpy.empty((600, 3))
    for c in range(3):
        away, cov = x - groups[c].mean(0), numpy.cov(groups[c].T, bias=True)
        log[:, c] = numpy.log(1 / 3) - 0.5 * (2 * numpy.log(2 * numpy.pi) + numpy.linalg.slogdet(cov)[1] +
                                              (away @ numpy.linalg.inv(cov) * away).sum(1))
    top = log.max(1)
    return inertia, (top + numpy.log(numpy.exp(log - top[:, None]).sum(1))).sum()


@pytest.mark.parametrize("offset, kind", [(offset, "npy") for offset in OFFSETS] + [("plain", "csv"), ("unix", "csv")] +
                         [("farthest", kind) for kind in ("fortran.npy", "npz", "sparse.npz", "mtx", "csv")])
def test_clusters_and_mixtures_do_not_depend_on_offsets(client, offset, kind):
    step = 0 if offset == "plain" else float(numpy.spacing(max(abs(v) for v in OFFSETS[offset])))
    x = table(OFFSETS[offset], step)
    inertia, likelihood = reference(table((0, 0), step))
    name = written(client, kind, x)
    found = client("kmeans", name, "--clusters", "3", "-o", "l.npy", "--centroids", "c.npy", "--json")
    assert found.status == 0, found
    assert found.json["inertia"] == pytest.approx(inertia, rel=1e-5)
    label, centroid = numpy.load(client.folder / "l.npy"), numpy.load(client.folder / "c.npy")
    assert same_groups(label)
    assert centroid.dtype == ("f4" if offset == "plain" else "f8")
    for j in range(3):
        near = (x[label == j] - OFFSETS[offset]).mean(0) + OFFSETS[offset]
        assert numpy.abs(centroid[j] - near).max() <= max(2 * step, 1e-5)
    told = client("kmeans", name, "--clusters", "3", "-o", "l.npy").err
    assert "equal to an earlier one" not in told or len(numpy.unique(x, axis=0)) < 600
    assert "constant" not in told and "differ" not in told, told
    assert ("far from 0" in told) == (offset != "plain"), told
    mixed = client("gmm", name, "--components", "3", "-o", "m.npy", "--means", "means.npy", "--json")
    assert mixed.status == 0, mixed
    assert mixed.json["models"][0]["log_likelihood"] == pytest.approx(likelihood, rel=1e-5)
    assert same_groups(numpy.load(client.folder / "m.npy"))
    means = numpy.load(client.folder / "means.npy")
    assert numpy.abs(numpy.sort(means, 0) - numpy.sort(centroid, 0)).max() <= max(2 * step, 1e-2)


@pytest.mark.parametrize("offset", ["utm", "unix", "far"])
def test_layouts_do_not_depend_on_offsets(client, offset):
    quantum = 2.0 ** -9  # of all tables, so that the offset rounds nothing
    numpy.save(client.folder / "plain.npy", table((0, 0), quantum))
    numpy.save(client.folder / "x.npy", table(OFFSETS[offset], quantum))
    plain = client("sammon", "plain.npy", "-o", "y.npy", "--json")
    moved = client("sammon", "x.npy", "-o", "z.npy", "--json")
    assert moved.status == 0 and moved.json["stress"] < 1e-6 and plain.json["stress"] < 1e-6, moved
    done = client("embed", "x.npy", "--local", "--engine", "cpu", "--seed", "3", "-o", "z.npy")
    assert done.status == 0 and "equal to an earlier" not in done.err and "constant" not in done.err, done
    label = numpy.repeat([0, 1, 2], 200)
    numpy.save(client.folder / "l.npy", label)
    good = client("quality", "z.npy", "--points", "x.npy", "--labels", "l.npy", "--json").json
    assert good["silhouette"] > 0.5 and good["trustworthiness"] > 0.9 and good["recall"] > 0.4, good


def test_a_start_has_the_users_units(client):
    x = table(OFFSETS["unix"])
    numpy.save(client.folder / "x.npy", x)
    numpy.save(client.folder / "start.npy", CENTRES + OFFSETS["unix"])
    found = client("kmeans", "x.npy", "--start", "start.npy", "-o", "l.npy", "--centroids", "c.npy", "--json")
    assert found.status == 0 and found.json["iterations"] <= 2, found
    assert (numpy.load(client.folder / "l.npy") == numpy.repeat([0, 1, 2], 200)).all()
    assert numpy.abs(numpy.load(client.folder / "c.npy") - CENTRES - OFFSETS["unix"]).max() < 0.3


@pytest.mark.parametrize("kind", ["npy", "csv"])
@pytest.mark.parametrize("pca", [0, 2])
def test_new_points_are_centred_as_the_old_ones(client, kind, pca):
    x = table(OFFSETS["unix"])
    numpy.save(client.folder / "old.npy", x)
    assert client("embed", "old.npy", "--local", "--engine", "cpu", "--seed", "3", "-o", "y.npy").status == 0
    new = written(client, kind, (CENTRES + OFFSETS["unix"])[[2, 0, 1, 1]])
    more = ["--pca", str(pca)] if pca else []
    placed = client("transform", "y.npy", new, "--points", "old.npy", "-o", "z.npy", *more)
    assert placed.status == 0, placed
    y, z = numpy.load(client.folder / "y.npy"), numpy.load(client.folder / "z.npy")
    middle = y.reshape(3, 200, 2).mean(1)
    assert [int(((at - middle) ** 2).sum(1).argmin()) for at in z] == [2, 0, 1, 1]


def test_what_is_equal_is_decided_by_the_file(client):
    numpy.save(client.folder / "x.npy", numpy.array([[1.7e9, 5.0], [1.7e9 + 1, 5.0], [1.7e9, 5.0], [1.7e9 + 2, 5.0],
                                                     [1.7e9 + 3, 5.0], [1.7e9 + 5, 5.0]]))
    told = client("kmeans", "x.npy", "--clusters", "2", "-o", "l.npy").err
    assert " 1 point is equal to an earlier one" in told and " 1 column is constant" in told, told


def test_rows_that_rounding_makes_equal_are_told(client):
    """Two groups far apart in one column, each with a spread of 1e-6: no centre helps both."""
    x = numpy.concatenate([numpy.linspace(0, 1e-3, 50), 1e9 + numpy.linspace(0, 1e-3, 50)])
    numpy.save(client.folder / "x.npy", numpy.stack([x, x], 1))
    told = client("kmeans", "x.npy", "--clusters", "2", "-o", "l.npy")
    assert told.status == 0 and "49 points differ from earlier ones by less than single precision" in told.err, told


def test_outliers_hide_no_offset(client):
    x = table(OFFSETS["unix"])
    x[::50] = 0  # missing times
    numpy.save(client.folder / "x.npy", x)
    found = client("kmeans", "x.npy", "--clusters", "4", "--restarts", "3", "-o", "l.npy", "--json")
    label = numpy.load(client.folder / "l.npy")
    assert len(set(label[::50])) == 1 and len(set(label)) == 4, found
    assert all(len(set(numpy.delete(label[g * 200:g * 200 + 200], numpy.s_[::50]))) == 1 for g in range(3))


@pytest.mark.parametrize("metric", ["cosine", "inner_product", "correlation"])
def test_metrics_that_need_the_offset_refuse_too_few_steps(client, metric):
    numpy.save(client.folder / "x.npy", table((1.7e9, -1.7e9) if metric == "correlation" else OFFSETS["unix"]))
    refused = client("embed", "x.npy", "--local", "--metric", metric, "-o", "y.npy")
    assert refused.status != 0 and "Column 1 lies near" in refused.err and "metric euclidean" in refused.err, refused


def test_cosine_sees_the_offset_where_it_has_the_steps(client):
    """Directions of points near (300, 300) and of the same table in single precision are the same."""
    x = (table((3000, 3000)) / 10).astype("f4")
    numpy.save(client.folder / "narrow.npy", x)
    numpy.save(client.folder / "wide.npy", x.astype("f8"))
    layouts = []
    for name in ("narrow.npy", "wide.npy"):
        done = client("embed", name, "--local", "--engine", "cpu", "--metric", "cosine", "--seed", "3", "--init", "random",
                      "-o", "y.npy")
        assert done.status == 0, done
        layouts.append(numpy.load(client.folder / "y.npy"))
        clusters = client("kmeans", name, "--clusters", "3", "--metric", "cosine", "-o", "l.npy", "--json")
        assert clusters.status == 0 and clusters.json["inertia"] > 0, clusters
    assert (layouts[0] == layouts[1]).all()


def test_tables_near_0_keep_their_bytes(client):
    """Integers, pixels, standardised and projected values get no center."""
    rng = numpy.random.default_rng(2)
    x = numpy.concatenate([rng.integers(0, 16, (500, 3)), rng.normal(size=(500, 3)), rng.gamma(2, size=(500, 2)) + 5], 1)
    for name, values in (("wide.npy", x.astype("f4").astype("f8")), ("narrow.npy", x.astype("f4"))):
        numpy.save(client.folder / name, values)
        done = client("kmeans", name, "--clusters", "5", "--centroids", name + ".c.npy")
        assert done.status == 0 and "far from 0" not in done.err, done
    a, b = (numpy.load(client.folder / (name + ".c.npy")) for name in ("wide.npy", "narrow.npy"))
    assert a.dtype == "f4" and (a == b).all()


def lloyd(x, centroids):
    """Labels and inertia after Lloyd's iterations in double precision; None if a cluster becomes empty."""
    old = None
    while True:
        label = ((x[:, None] - centroids) ** 2).sum(2).argmin(1)
        if len(set(label)) < len(centroids):
            return None
        if old is not None and (label == old).all():
            return label, ((x - centroids[label]) ** 2).sum()
        old, centroids = label, numpy.array([x[label == j].mean(0) for j in range(len(centroids))])


def test_random_offsets_up_to_1e15(client):
    """Labels and inertia are those of the table without its offset, in double precision; values have steps of the
    offset's resolution."""
    for seed in range(12):
        rng = numpy.random.default_rng(seed)
        d, k = int(rng.integers(1, 6)), int(rng.integers(2, 6))
        offset = rng.choice([-1, 1], d) * 10 ** rng.uniform(0, 15, d)
        step = numpy.spacing(2 * (numpy.abs(offset) + 1000))
        x = rng.normal(size=(400, d)) * 10 ** rng.uniform(0, 2, d) + 30 * rng.normal(size=(k, d))[rng.integers(0, k, 400)]
        offset = numpy.round(offset / step) * step
        x = numpy.round(x / step) * step
        moved = x + offset
        assert (moved - offset == x).all()  # the offset rounds nothing
        start = x[rng.choice(400, k, replace=False)]
        right = lloyd(x, start) if len(numpy.unique(start, axis=0)) == k else None
        if right is None:
            continue
        name = written(client, "npy", moved) if seed % 2 or d < 2 else "x.csv"
        if name == "x.csv":
            (client.folder / name).write_text("\n".join(",".join(repr(v) for v in row) for row in moved.tolist()) + "\n")
        numpy.save(client.folder / "start.npy", start + offset)
        found = client("kmeans", name, "--start", "start.npy", "--tolerance", "0", "-o", "l.npy", "--json")
        assert found.status == 0, found
        label = numpy.load(client.folder / "l.npy")
        assert (label != right[0]).sum() <= 1 and found.json["inertia"] == pytest.approx(right[1], rel=1e-5), (seed, offset)
