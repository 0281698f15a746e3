"""The same content is stored once."""
import graphs


def test_second_upload_finds_the_first(api):
    body = graphs.mtx(graphs.ring(61))
    first = api.upload(body, name="one")
    again = api.upload(body, status=200, name="two")
    assert again["id"] == first["id"] and again["digest"] == first["digest"]
    listed = [g["id"] for g in api.get("/v1/graphs?limit=1000").json()["items"]]
    assert listed.count(first["id"]) == 1


def test_other_content_is_another_graph(api):
    a, b = api.upload(graphs.mtx(graphs.ring(62))), api.upload(graphs.mtx(graphs.ring(63)))
    assert a["id"] != b["id"] and a["digest"] != b["digest"]


def test_after_deletion_it_is_new(api):
    body = graphs.mtx(graphs.ring(64))
    first = api.upload(body)
    api.delete(f"/v1/graphs/{first['id']}", 204)
    assert api.upload(body)["id"] != first["id"]


def test_two_uploads_at_once(api):
    """Both get a reply, and there is one graph."""
    from concurrent.futures import ThreadPoolExecutor
    from harness import Api
    body = graphs.npz(graphs.clusters(n=3000, k=15, seed=9)[0])

    def send(_):
        return Api(api.daemon).post("/v1/graphs", data=body)
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(send, range(4)))
    assert all(r.status_code in (200, 201) for r in replies), [r.text for r in replies]
    assert len({r.json()["id"] for r in replies}) == 1


def test_labels_of_another_title(api):
    """The same words in a column of another name: each upload gets the name that it requests."""
    labels = "".join(f"w{i % 3}\n" for i in range(65)).encode()

    def send(title, status):
        files = {"file": ("a.mtx", graphs.mtx(graphs.ring(65))), "labels": ("labels.txt", labels)}
        return api.post("/v1/graphs", status, files=files, params={"labels_name": title} if title else {}).json()
    titles = ["kind", "sort", ""]
    first = [send(title, 201) for title in titles]
    assert [[c["name"] for c in g["label_columns"]] for g in first] == [["kind"], ["sort"], ["label"]]
    assert [send(title, 200)["id"] for title in titles] == [g["id"] for g in first]
    table = "x,y,{}\n" + "".join(f"{i},{i * i},w{i % 2}\n" for i in range(40))
    one, two = (api.upload(table.format(title).encode(), kind="points") for title in ("kind", "sort"))
    assert [g["label_columns"][0]["name"] for g in (one, two)] == ["kind", "sort"] and one["id"] != two["id"]


def test_each_reply_is_of_its_own_file(api):
    """The content is the same, the files are not: what was left out of each is told to the one who sent it."""
    rows = [(k * 7 % 11 + 0.5, k * k % 13) for k in range(20)]
    bare = "a,b\n" + "".join(f"{a},{b}\n" for a, b in rows)
    numbered = "a,b,n\n" + "".join(f"{a},{b},{k}\n" for k, (a, b) in enumerate(rows))
    first = api.upload(bare.encode(), name="bare", kind="points", ignore_columns="")
    again = api.upload(numbered.encode(), status=200, name="numbered", kind="points", ignore_columns="n")
    assert again["id"] == first["id"]
    assert first["taken"]["columns"] == 2 and again["taken"]["columns"] == 3, again["taken"]
    assert again["taken"]["roles"] == {"coordinate": 2, "ignored": 1} and '"n"' in again["taken"]["text"]
    assert api.get(f"/v1/graphs/{first['id']}").json()["taken"] == first["taken"]
    edges = "ann,bob\nbob,eve\n"
    one = api.upload(edges.encode(), name="edges")
    two = api.upload(("source,target,when\n" + edges.replace("\n", ",2024-01-01\n") + "bob,ann,2024-01-02\n").encode(), status=200)
    assert two["id"] == one["id"] and two["report"] != one["report"]
    assert two["taken"]["roles"]["left out"] == 1, two


def test_replies_to_uploads_at_once(api):
    """One waits for the other, whose record it gets, with its own `taken`."""
    from concurrent.futures import ThreadPoolExecutor
    from harness import Api
    rows = [f"{k * 7 % 1013 + 0.5},{k * k % 1319}" for k in range(20000)]
    files = [("a,b" + "".join(f",c{c}" for c in range(extra)) + "\n" + "".join(row + ",x" * extra + "\n" for row in rows)).encode()
             for extra in range(4)]

    def send(extra):
        query = {"kind": "points", "neighbours": 0, "ignore_columns": ",".join(map(str, range(3, 3 + extra)))}
        return Api(api.daemon).post("/v1/graphs", data=files[extra], params=query)
    with ThreadPoolExecutor(4) as pool:
        replies = [reply.json() for reply in pool.map(send, range(4))]
    assert len({reply["id"] for reply in replies}) == 1
    assert [reply["taken"]["columns"] for reply in replies] == [2, 3, 4, 5]
