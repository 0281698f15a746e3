"""multipart/form-data bodies of other programs: names, quotes, boundaries, pieces."""
import random

import pytest

import graphs
import points
from harness import raw

FORM = b"Content-Disposition: form-data; name=\"file\"; filename=\"ring.mtx\""
NO_NAME = "a part of the form has no name; it needs Content-Disposition: form-data; name=\"file\""


def form(header, body=None, boundary=b"b"):
    return b"--" + boundary + b"\r\n" + header + b"\r\n\r\n" + (body or graphs.mtx(graphs.ring(20))) + \
        b"\r\n--" + boundary + b"--\r\n"


def send(api, body, path="/v1/graphs", boundary="b"):
    return api.post(path, data=body, headers={"Content-Type": f"multipart/form-data; boundary={boundary}"})


@pytest.fixture(scope="module")
def transform(api):
    x = points.clusters(n=60)[0]
    job = api.run(api.upload(points.npy(x))["id"], iterations=5)["id"]
    return f"/v1/jobs/{job}/transform", points.npy(x[:3])


@pytest.mark.parametrize("header", [
    b"Content-Disposition: form-data; name=file", b"content-disposition:form-data;name=file;filename=ring.mtx",
    FORM, b"Content-Disposition: form-data; filename=\"a;name=b\\\"c.mtx\"; name=\"file\"",
    b"X-Other: name=\"z\"\r\n" + FORM + b"\r\nContent-Transfer-Encoding: binary"])
def test_names(api, header):
    assert send(api, form(header)).json()["nodes"] == 20


@pytest.mark.parametrize("header", [b"Content-Disposition: form-data", b"Content-Disposition: form-data; filename=\"x\"",
                                    b"Content-Type: text/plain", b"", b"Content-Disposition: form-data; name=\"\"",
                                    b"Content-Disposition: form-data; name=", b"Content-Disposition: form-data; xname=file"])
def test_no_name(api, transform, header):
    for path in ("/v1/graphs", transform[0]):
        problem = send(api, form(header), path)
        assert problem.status_code == 400 and problem.json()["detail"] == NO_NAME, problem.text


def test_transform_unquoted(api, transform):
    path, body = transform
    assert send(api, form(b"Content-Disposition: form-data; name=file", body), path).status_code == 200


@pytest.mark.parametrize("body,why", [
    (form(FORM + b"; name=\"open"), None), (form(b"Content-Disposition: form-data; name=\"open"), "quotes do not end"),
    (form(b"Content-Disposition: form-data; name=" + b"x" * 300), "too long"),
    (form(b"X: " + b"y" * 20000), "header of a part is too long"), (b"--b", "ends too early"), (b"nothing", "ends too early"),
    (b"--b\r\n" + FORM, "ends too early"), (b"--bx\r\n" + FORM, "end of a line is missing"),
    (form(b"A: \x00\r\n" + FORM), "zero byte"), (form(FORM + b"\r\nContent-Transfer-Encoding: base64"), "base64"),
    (form(FORM) * 2, None), (form(FORM)[:-6] + b"\r\n" + form(FORM)[5:], None)])
def test_bad_forms(api, body, why):
    reply = send(api, body)
    if why is None:
        assert reply.status_code in (200, 201, 400)
    else:
        assert reply.status_code == 400 and why in reply.json()["detail"], reply.text


@pytest.mark.parametrize("boundary,status", [("", 400), ("x" * 71, 400), ("x" * 70, 201), ("\"a b:c\"", 201), ("z", 201)])
def test_boundaries(api, boundary, status):
    body = form(FORM, graphs.mtx(graphs.ring(30 + len(boundary))), boundary.strip('"').encode())
    assert send(api, body, boundary=boundary).status_code == status


@pytest.mark.limit(150)
def test_the_same_in_any_pieces(api, daemon):
    """Every position of the boundary across two pieces; the data contains near-boundaries."""
    data = b"%% \r\n--\r\n--a\r\n-\r--bb\r\n\r\n".replace(b"\r\n--bb", b"\r\n-bb") + b"x"
    text = b"%%MatrixMarket matrix coordinate pattern general\n%" + data.replace(b"\r-", b"\r%-").replace(b"\n", b"\n%") + b"\n3 3 2\n1 2\n2 3\n"
    body = b"preamble\r\n" + form(FORM, text) + b"epilogue --b\r\n"
    head = b"POST /v1/graphs HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\nContent-Length: %d\r\n" \
           b"Content-Type: multipart/form-data; boundary=b\r\n\r\n" % (daemon.port, len(body))
    for step in (None, 1, 2, 3, 7):
        reply = raw(daemon, head + body, timeout=50, piece=step)
        assert b"\"nodes\":3" in reply, (step, reply)


@pytest.mark.limit(120)
def test_mutated_forms(api, daemon):
    """A valid form with some bytes changed, removed or repeated: always a reply, and never a 5xx."""
    rng = random.Random(5)
    good = form(FORM, b"1 2\n2 3\n")[:-5] + b"\r\nContent-Disposition: form-data; name=labels\r\n\r\na\nb\nc\n\r\n--b--\r\n"
    for _ in range(400):
        data = bytearray(good)
        for _ in range(rng.choice([1, 1, 2, 8])):
            at = rng.randrange(len(data))
            what = rng.randrange(4)
            if what == 0:
                data[at] = rng.choice(b"\r\n-;=\"\\\0b :xX")
            elif what == 1:
                del data[at:at + rng.randrange(20)]
            elif what == 2:
                data[at:at] = data[at:at + rng.randrange(40)]
            else:
                data[at] = rng.randrange(256)
        reply = send(api, bytes(data), rng.choice(["/v1/graphs", "/v1/graphs?kind=points"]))
        assert reply.status_code in (200, 201, 400), (data, reply.text)
    assert daemon.alive()
