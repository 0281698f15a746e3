"""One layout, three formats, byte ranges and entity tags."""
import csv
import io

import numpy as np
import pytest

import graphs


@pytest.fixture(scope="module")
def job(api, graph):
    return api.run(graph, iterations=100)["id"]


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_formats_agree(api, graph, dims):
    job = api.run(graph, dims=dims, iterations=60)["id"]
    y = graphs.load_npy(api.get(f"/v1/jobs/{job}/layout?format=npy").content)
    document = api.get(f"/v1/jobs/{job}/layout?format=json").json()
    assert document["job"] == job and document["graph"] == graph
    assert document["dims"] == dims and document["nodes"] == 600
    assert np.array_equal(np.array(document["layout"], np.float32), y)
    rows = list(csv.reader(io.StringIO(api.get(f"/v1/jobs/{job}/layout?format=csv").text)))
    assert rows[0] == ["node", "x", "y", "z"][:dims + 1]
    assert [r[0] for r in rows[1:]] == [str(i) for i in range(600)]
    assert np.array_equal(np.array([r[1:] for r in rows[1:]], np.float32), y)


def test_npy_header(api, job):
    data = api.layout_bytes(job)
    assert data[:8] == b"\x93NUMPY\x01\x00"
    assert (10 + int.from_bytes(data[8:10], "little")) % 64 == 0
    y = graphs.load_npy(data)
    assert y.dtype == np.dtype("<f4") and y.flags.c_contiguous


@pytest.mark.parametrize("wanted,first,last", [("0-9", 0, 9), ("100-", 100, None), ("-50", -50, None),
                                               ("10-999999999", 10, None)])
def test_ranges(api, job, wanted, first, last):
    whole = api.layout_bytes(job)
    reply = api.get(f"/v1/jobs/{job}/layout", 206, headers={"Range": f"bytes={wanted}"})
    expected = whole[first:None if last is None else last + 1]
    assert reply.content == expected
    start = len(whole) + first if first < 0 else first
    assert reply.headers["Content-Range"] == f"bytes {start}-{start + len(expected) - 1}/{len(whole)}"


def test_range_beyond_the_end(api, job):
    size = len(api.layout_bytes(job))
    reply = api.get(f"/v1/jobs/{job}/layout", 416, headers={"Range": f"bytes={size}-"})
    assert reply.headers["Content-Range"] == f"bytes */{size}"


@pytest.mark.parametrize("wanted", ["bytes=5-2", "lines=1-2", "bytes=a-b", "bytes=0-1,5-6", "bytes="])
def test_ranges_not_understood_are_ignored(api, job, wanted):
    reply = api.get(f"/v1/jobs/{job}/layout", headers={"Range": wanted})
    assert reply.content == api.layout_bytes(job)


def test_etag(api, job, graph):
    reply = api.get(f"/v1/jobs/{job}/layout")
    tag = reply.headers["ETag"]
    assert tag.startswith('"') and tag.endswith('"')
    assert reply.headers["Accept-Ranges"] == "bytes"
    assert api.get(f"/v1/jobs/{job}/layout", 304, headers={"If-None-Match": tag}).content == b""
    assert api.get(f"/v1/jobs/{job}/layout", 304, headers={"If-None-Match": f'"x", W/{tag}'}).content == b""
    assert api.get(f"/v1/jobs/{job}/layout", 304, headers={"If-None-Match": "*"}).content == b""
    api.get(f"/v1/jobs/{job}/layout", 200, headers={"If-None-Match": '"x"'})
    assert api.get(f"/v1/jobs/{job}/layout?format=csv").headers["ETag"] != tag


def test_if_range(api, job):
    whole = api.get(f"/v1/jobs/{job}/layout")
    same = {"Range": "bytes=0-3", "If-Range": whole.headers["ETag"]}
    assert api.get(f"/v1/jobs/{job}/layout", 206, headers=same).content == whole.content[:4]
    for tag in ('"other"', "*", "W/" + same["If-Range"], f'"other", {same["If-Range"]}', "nonsense"):  # one strong tag only
        assert api.get(f"/v1/jobs/{job}/layout", 200, headers={**same, "If-Range": tag}).content == whole.content


@pytest.mark.parametrize("kind", ["npy", "csv", "json"])
def test_head(api, job, kind):
    reply = api.head(f"/v1/jobs/{job}/layout?format={kind}")
    assert int(reply.headers["Content-Length"]) == len(api.get(f"/v1/jobs/{job}/layout?format={kind}").content)
    assert reply.content == b""
