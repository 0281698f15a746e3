"""Columns of any kind beside a graph: what is recognised and told, how values come back, rows by words, ranges and categories,
images and their thumbnails; and that they are counted, backed up, checked, and survive a kill."""
import io
import json
import os
import struct
import zipfile
import zlib

import numpy as np
import pytest

import png
import points
from harness import Api
from test_backup import backup, restore
from test_state_check import inspect

NAMES = ["ada", "bob", "cyd", "dan", "eve", "fay"]
RING = "".join(f"{a}\t{b}\n" for a, b in zip(NAMES, NAMES[1:] + NAMES[:1]))
TABLE = """name,born,price,day,home,motto,zip
bob,1990,0.30000000000000004,2024-02-29,https://example.org/bob,"Neural networks learn, and forget",00210
ada,1815,12345678.91,1815-12-10T12:00,http://example.org/ada,Émile counts the stars of heaven,01000
zoe,1,1,2024-01-01,https://example.org/zoe,nobody knows me,99999
dan,1970,,2000-01-01T00:00:00+02:00,https://example.org/dan,Networks of neural stars,00210
eve,NA,-3e5,1999-12-31,https://example.org/eve,a neural star,04444
"""


def npy(x):
    out = io.BytesIO()
    np.save(out, x)
    return out.getvalue()


def make_zip(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in files.items():
            z.writestr(name, data)
    return out.getvalue()


def make_png(width, height, rgb):
    rows = b"".join(b"\0" + bytes(rgb) * width for _ in range(height))
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def put(api, g, body, status=200, column=None, **query):
    path = f"/v1/graphs/{g}/columns" + (f"/{column}" if column else "")
    return api.request("PUT", path, status, data=body, params=query, headers={"Content-Type": "application/octet-stream"}).json()


def listed(api, g):
    return {c["name"]: c for c in api.get(f"/v1/graphs/{g}/columns").json()["columns"]}


def rows(api, g, status=200, **query):
    return api.request("GET", f"/v1/graphs/{g}/rows", status, params=query).json()


def found(api, g, **query):
    reply = rows(api, g, **query)
    assert reply["total"] == len(reply["rows"]) and reply["next"] is None
    return [row["name"] for row in reply["rows"]]


def ring(api, name):
    return api.post("/v1/graphs", None, files={"file": ("ring.tsv", RING + f"ada\t{name}\n" if name else RING)},
                    params={"name": name or "ring"}).json()["id"]


@pytest.fixture(scope="module")
def people(api):
    g = api.post("/v1/graphs", 201, files={"file": ("r.tsv", RING)}, params={"name": "ring of columns"}).json()["id"]
    reply = put(api, g, TABLE.encode())
    assert [c["name"] for c in reply["columns"]] == ["born", "price", "day", "home", "motto", "zip"]
    assert reply["taken"]["rows"] == {"all": 5, "used": 4, "left_out": 1}
    return g


def test_kinds_are_recognised_and_told(api, people):
    c = listed(api, people)
    assert {name: c[name]["kind"] for name in c} == {"born": "number", "price": "number", "day": "date", "home": "link",
                                                    "motto": "category", "zip": "category"}
    assert (c["born"]["read"], c["born"]["missing"], c["born"]["unmatched"]) == (3, 3, 1)
    assert c["born"]["examples"] == ["1815", "1990", "1970"] and "type" not in c["born"]
    assert c["price"]["type"] == "float64" and c["price"]["min"] == -3e5 and c["price"]["max"] == 12345678.91
    assert "postal codes" in c["zip"]["why"] and not c["zip"]["warns"]
    assert "UTC" in c["day"]["why"]
    put(api, people, TABLE.encode(), column="motto", kind="text")
    assert listed(api, people)["motto"]["kind"] == "text"


def test_values_come_back_as_they_were(api, people):
    row = {r["name"]: r["values"] for r in rows(api, people)["rows"]}
    assert row["ada"] == {"born": 1815, "price": 12345678.91, "day": "1815-12-10T12:00:00Z", "home": "http://example.org/ada",
                          "motto": "Émile counts the stars of heaven", "zip": "01000"}
    assert row["bob"]["motto"] == "Neural networks learn, and forget" and row["bob"]["price"] == 0.1 + 0.2
    assert row["dan"]["day"] == "1999-12-31T22:00:00Z" and row["dan"]["price"] is None
    assert set(row["fay"].values()) == {None}
    price = api.get(f"/v1/graphs/{people}/columns/price", headers={"Accept": "application/octet-stream"}).content
    assert np.frombuffer(price, "<f8")[:2].tolist() == [12345678.91, 0.1 + 0.2]
    page = api.get(f"/v1/graphs/{people}/columns/motto?from=1&count=2").json()
    assert page["values"] == ["Neural networks learn, and forget", None] and page["next"] == 3 and page["total"] == 6
    # numbers colour pictures, whatever their width
    assert {"born", "price", "zip"} == {x["name"] for x in api.get(f"/v1/graphs/{people}/labels").json()["columns"]}
    narrow = api.get(f"/v1/graphs/{people}/labels/price", headers={"Accept": "application/octet-stream"}).content
    assert np.frombuffer(narrow, "<f4")[0] == np.float32(12345678.91)


@pytest.mark.parametrize("query, names", [
    ({"search": "neural"}, {"bob", "dan", "eve"}),
    ({"search": "neural networks"}, {"bob", "dan"}),
    ({"search": '"neural networks"'}, {"bob"}),
    ({"search": "star"}, {"eve"}),
    ({"search": "STAR*", "in": "motto"}, {"ada", "dan", "eve"}),
    ({"search": "emile"}, {"ada"}),
    ({"search": "nothing OR neural"}, set()),
    ({"search": '") OR c0:x*'}, set()),
    ({"range": "born:1800..1970"}, {"ada", "dan"}),
    ({"range": "born:..1969.5"}, {"ada"}),
    ({"range": "day:1999-12-31..1999-12-31"}, {"dan", "eve"}),
    ({"range": "day:1999-12..1999-12"}, {"dan", "eve"}),
    ({"range": "day:2024-02..2024-02;born:1.9" + "0" * 70 + "e3.."}, {"bob"}),
    ({"range": "born:1.9" + "0" * 70 + "e3.."}, {"bob", "dan"}),
    ({"range": "day:2000-01-01..;born:1900.."}, {"bob"}),
    ({"category": "zip:00210;zip:01000"}, {"ada", "bob", "dan"}),
    ({"category": "zip:00210", "search": "networks", "range": "born:..1980"}, {"dan"}),
])
def test_rows_meet_all_conditions(api, people, query, names):
    assert set(found(api, people, **query)) == names
    ids = api.request("GET", f"/v1/graphs/{people}/rows", params=query, headers={"Accept": "application/octet-stream"}).content
    assert {NAMES[i] for i in np.frombuffer(ids, "<u4")} == names


def test_order_and_pages(api, people):
    assert found(api, people, sort="born") == ["ada", "dan", "bob", "cyd", "eve", "fay"]
    assert found(api, people, sort="-born") == ["bob", "dan", "ada", "cyd", "eve", "fay"]
    assert found(api, people, sort="motto")[:4] == ["eve", "dan", "bob", "ada"]
    assert found(api, people, sort="-name") == NAMES[::-1] and found(api, people, sort="-node") == NAMES[::-1]
    assert found(api, people, nodes="4,0,2", columns="") == ["eve", "ada", "cyd"]
    assert found(api, people, nodes="4,0,2", sort="name", range="born:..2000") == ["ada"]
    seen, cursor = [], None
    while cursor is not None or not seen:
        page = rows(api, people, sort="day", limit=2, columns="day", **({"cursor": cursor} if cursor else {}))
        assert page["total"] == 6 and len(page["rows"]) == 2
        seen += [row["name"] for row in page["rows"]]
        cursor = page["next"]
    assert seen == ["ada", "eve", "dan", "bob", "cyd", "fay"]
    row = rows(api, people, columns="motto;born", cut=9, limit=1)["rows"][0]
    assert row["values"] == {"motto": "Émile co", "born": 1815} and row["cut"] == ["motto"]
    cursor = rows(api, people, limit=1)["next"]
    put(api, people, b"x\n" * 6, column="passing")
    assert "changed" in rows(api, people, 409, limit=1, cursor=cursor)["detail"]
    api.delete(f"/v1/graphs/{people}/columns/passing", 204)


@pytest.mark.parametrize("query, parameter, word", [
    ({"search": "..."}, "search", "words"), ({"search": "x", "in": "zip"}, "in", "zip"), ({"in": "motto"}, "in", "search"),
    ({"range": "born:low..2"}, "range", '"low"'), ({"range": "born:1-2"}, "range", "two dots"), ({"range": "size:1..2"}, "range", "size"),
    ({"range": "zip:1..2"}, "range", "category"), ({"category": "zip:7"}, "category", '"7"'), ({"category": "born:1"}, "category", "number"),
    ({"sort": "size"}, "sort", "size"), ({"sort": "rank"}, "sort", "search"), ({"nodes": "1,x"}, "nodes", "x"),
    ({"nodes": "6"}, "nodes", "0 to 5"), ({"columns": "born;size"}, "columns", "size"), ({"cursor": "x"}, "cursor", "next"),
    ({"limit": 0}, "limit", "1"),
])
def test_wrong_requests_name_the_parameter(api, people, query, parameter, word):
    problem = rows(api, people, 400, **query)
    assert problem["parameter"] == parameter and word in problem["detail"]


def test_nothing_is_read_wrongly_in_silence(api):
    g = api.upload(points.npy(np.random.default_rng(7).normal(size=(200, 3)).astype("float32")), name="kinds", neighbours=9)["id"]
    number = [str(i / 8) for i in range(199)]
    reply = put(api, g, "\n".join(["reading,day,key,when,note"] + [
        f"{value},{i % 28 + 1:02d}/{i % 12 + 1:02d}/2024,{9007199254740993 + i},2024-0{i % 9 + 1}-01,a remark about number {i}"
        for i, value in enumerate(number + ["broken"])]).encode())
    c = {x["name"]: x for x in reply["columns"]}
    assert c["reading"]["kind"] == "text" and c["reading"]["warns"] and '"broken"' in c["reading"]["why"]
    assert c["day"]["kind"] in ("category", "text") and c["day"]["warns"] and "day and month" in c["day"]["why"]
    assert c["key"]["kind"] == "text" and "2^53" in c["key"]["why"]
    assert c["when"]["kind"] == "date" and c["note"]["kind"] == "text" and "why" not in c["note"]
    assert rows(api, g, nodes="1", columns="key")["rows"][0]["values"]["key"] == "9007199254740994"
    before = listed(api, g)
    problem = put(api, g, "\n".join(["a,b"] + [f"{i}.5,{i}" for i in range(199)] + ["x,1"]).encode(), 400, kind="a:number")
    assert '"x"' in problem["detail"] and '"a"' in problem["detail"]
    assert put(api, g, b"a\n" + b"1.5\n" * 200, 400, kind="b:text")["parameter"] == "kind"
    assert put(api, g, b"a\n" + b"1.5\n" * 200, 400, kind="words")["parameter"] == "kind"
    assert listed(api, g) == before
    # a column that counts the rows may be a rank
    put(api, g, ("id,rank,unnamed: 0\n" + "".join(f"{i},{i},{i}\n" for i in range(200))).encode())
    assert "rank" in listed(api, g) and "unnamed: 0" not in listed(api, g)
    # arrays: whole numbers, dates and strings keep all that they say
    put(api, g, npy(np.arange(200) + (1 << 60)), column="big")
    put(api, g, npy(np.array(["2024-03-01T10:00:00.5"] * 199 + ["NaT"], "M8[ns]")), column="stamp")
    put(api, g, json.dumps({"values": [0.1] * 199 + [None]}).encode(), column="tenth")
    values = rows(api, g, nodes="3,199", columns="big;stamp;tenth")["rows"]
    assert values[0]["values"] == {"big": str((1 << 60) + 3), "stamp": "2024-03-01T10:00:00.500Z", "tenth": 0.1}
    assert values[1]["values"]["stamp"] is None and values[1]["values"]["tenth"] is None
    assert put(api, g, npy(np.zeros((200, 4, 4))), 400, column="x")["detail"].count("uint8") == 1


def test_images_of_an_array(api):
    g = ring(api, "pixels")
    x = np.random.default_rng(1).integers(0, 256, (7, 4, 6), dtype="uint8")
    c = put(api, g, npy(x), column="digit")
    assert c["kind"] == "image" and c["images"] == {"encoding": "raw", "width": 6, "height": 4, "channels": 1}
    reply = api.get(f"/v1/graphs/{g}/columns/digit/images/2")
    assert reply.headers["Content-Type"] == "image/png"
    assert (png.decode(reply.content)[..., 0] == x[2]).all()
    sheet = png.decode(api.get(f"/v1/graphs/{g}/columns/digit/sprites?from=1&count=5&size=12&across=2").content)
    assert sheet.shape[:2] == (36, 24)
    assert (sheet[2:10, 0:12, 0] == np.repeat(np.repeat(x[1], 2, 0), 2, 1)).all() and not sheet[0:2, :, 3].any()
    picked = png.decode(api.get(f"/v1/graphs/{g}/columns/digit/sprites?nodes=5,0&size=12&across=2").content)
    assert (picked[2:10, 12:24, 0] == np.repeat(np.repeat(x[0], 2, 0), 2, 1)).all()
    assert rows(api, g, nodes="0")["rows"][0]["values"]["digit"] == "image/png"
    large = f"/v1/graphs/{g}/columns/digit/sprites?size=256&nodes={','.join('0' * 257)}"
    assert "at most 256 of this size" in api.get(large, 400).json()["detail"]
    assert put(api, g, npy(x[:5]), 400, column="digit")["detail"].startswith("The array has 5 images")
    assert put(api, g, npy(x.T), 400, column="digit")["status"] == 400
    api.get(f"/v1/graphs/{g}/columns/digit/images/7", 404)
    put(api, g, npy(x[:, 0, 0]), column="plain")
    flat = put(api, g, npy(x[:, :2, :2].reshape(7, 4)), column="flat", kind="image")   # as MNIST often comes
    assert flat["images"]["width"] == 2 and "2 x 2" in flat["why"]
    assert (png.decode(api.get(f"/v1/graphs/{g}/columns/flat/images/3").content)[..., 0] == x[3, :2, :2]).all()
    assert "no square" in put(api, g, npy(x.reshape(7, 24)), 400, column="flat", kind="image")["detail"]
    assert listed(api, g)["plain"]["kind"] == "number"


def test_images_of_a_zip(api):
    g = ring(api, None)
    red, jpeg = make_png(64, 16, (255, 0, 0)), b"\xff\xd8\xff\xc0\0\x0b\x08\0\x05\0\x07\x01\x01\x11\0" + b"\0" * 40
    c = put(api, g, make_zip({"faces/ada.png": red, "faces/eve.jpg": jpeg, "__MACOSX/faces/._ada.png": b"x", "zoe.png": red}),
            column="face")
    assert (c["read"], c["missing"], c["unmatched"]) == (2, 4, 1) and c["images"]["types"] == {"PNG": 1, "JPEG": 1}
    assert any("zoe.png" in note["text"] for note in c["taken"]["notes"])
    assert any("JPEG" in note["text"] for note in c["taken"]["notes"])
    one = api.get(f"/v1/graphs/{g}/columns/face/images/0")
    assert one.content == red and api.get(f"/v1/graphs/{g}/columns/face/images/4").headers["Content-Type"] == "image/jpeg"
    assert "no image" in api.get(f"/v1/graphs/{g}/columns/face/images/1", 404).json()["detail"]
    sheet = png.decode(api.get(f"/v1/graphs/{g}/columns/face/sprites?size=16").content)
    assert sheet[8, 8].tolist() == [255, 0, 0, 255] and not sheet[0:6, 0:16, 3].any() and not sheet[:, 16:, 3].any()
    assert "PNG, JPEG" in put(api, g, make_zip({"ada.svg": b"<svg/>"}), 400, column="face")["detail"]
    assert "numbers from 0" in put(api, g, make_zip({"house.png": red}), 400, column="face")["detail"]
    numbered = put(api, g, make_zip({f"img/{i}.png": red for i in range(1, 7)}), column="numbered")
    assert numbered["read"] == 6 and "counted from 1" in numbered["taken"]["notes"][0]["text"]


def files(d, g):
    return sorted(name for name in os.listdir(d.state / "graphs") if name.startswith(g))


def test_columns_live_and_die_with_their_graph(fresh):
    d = fresh()
    api = Api(d)
    g = api.post("/v1/graphs", 201, files={"file": ("r.tsv", RING)}).json()["id"]
    disk = lambda: api.get(f"/v1/graphs/{g}").json()["bytes"]["disk"]
    before = disk()
    put(api, g, TABLE.encode(), kind="motto:text")
    assert disk() == before + sum(os.path.getsize(d.state / "graphs" / name) for name in files(d, g)
                                      if not name.endswith(".slg"))
    want = rows(api, g)
    d.kill()
    # what a crash leaves: values that no column names, and an index that is not whole
    (d.state / "graphs" / f"{g}.c40").write_bytes(b"left over")
    (d.state / "graphs" / f"{g}.index").write_bytes(b"cut off")
    d.start()
    assert f"{g}.c40" not in files(d, g) and rows(api, g) == want
    assert found(api, g, search="star") == ["eve"]
    put(api, g, b"".join(b"about %s\n" % name.encode() for name in NAMES), kind="text", column="motto")
    assert found(api, g, search="fay") == ["fay"] and not found(api, g, search="star")
    for name in listed(api, g):
        api.delete(f"/v1/graphs/{g}/columns/{name}", 204)
    assert files(d, g) == [f"{g}.slg"] and disk() == before
    put(api, g, TABLE.encode())
    api.delete(f"/v1/graphs/{g}", 204)
    assert not files(d, g)


def test_backups_have_them_and_damage_is_found(fresh, tmp_path):
    (tmp_path / "backups").mkdir()
    d = fresh(backup_dir=tmp_path / "backups")
    api = Api(d)
    g = api.post("/v1/graphs", 201, files={"file": ("r.tsv", RING)}).json()["id"]
    put(api, g, TABLE.encode(), kind="motto:text")
    want = rows(api, g)
    backup(api, "columns")
    copy = Api(restore(tmp_path / "backups" / "columns", fresh))
    assert rows(copy, g) == want and found(copy, g, search="star") == ["eve"]
    d.stop()
    assert inspect(d)[0] == 0
    gone, bad = (name for name in files(d, g) if name.split(".")[1] in ("c00", "c01"))
    (d.state / "graphs" / gone).unlink()
    raw = bytearray((d.state / "graphs" / bad).read_bytes())
    raw[0] ^= 1
    (d.state / "graphs" / bad).write_bytes(raw)
    code, text = inspect(d)
    assert code == 1 and f"graphs/{gone}: " in text and f"graphs/{bad}: " in text
