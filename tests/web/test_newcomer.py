"""What somebody meets who has only a file and the page: nothing wrong in silence."""
import numpy as np

import points
from harness import Api
from test_login import TOKEN, closed  # noqa: F401

SESSION = "window.spacelandSession"


def table(rows, header):
    return header + "\n" + "".join(row + "\n" for row in rows)


def pending(page):
    return page.run("return document.querySelector('.pending').innerText")


def test_before_the_upload(page, api, tmp_path):
    """The list of columns shows the first rows although a later one is refused; how the file is read and laid out can still be
    chosen; the line says what the whole file holds."""
    page.expected = "400"   # files that are refused
    lab = tmp_path / "lab results.csv"
    lab.write_text(table((f"{i};{'NA' if i == 11 else i / 4};{i * 7 % 5}" for i in range(1, 60)), "id;pH;Na"))
    page.drop(lab)
    page.see("Leave out rows with missing values")
    assert page.run("return [...document.querySelectorAll('.pending td.examples')].map(e => e.innerText)")[1] == "0.25, 0.5, 0.75"
    mixed = tmp_path / "mixed.csv"
    mixed.write_text(table((f"{i / 4},{i * 3 % 7},{'unknown' if i == 50 else i % 5}" for i in range(60)), "a,b,c"))
    page.drop(mixed)
    page.see("it must be a number")
    assert not page.maybe("//button[normalize-space()='Upload and lay out']")
    page.run("""const s = document.querySelector("select[aria-label='Column c is taken as']");
        s.value = "label"; s.dispatchEvent(new Event("change", {bubbles: true}));""")
    page.button("Upload and lay out").click()   # the column that was refused is labels now
    page.wait(lambda: [(g["columns"], [c["name"] for c in g["label_columns"]]) for g in api.get("/v1/graphs").json()["items"] if g["name"] == "mixed"] == [(2, ["c"])], 15, "it is uploaded")
    page.find("canvas.gl", 15)
    page.go("about:blank")
    page.go(api.daemon.url + "/")
    page.find(".drop")
    genes = tmp_path / "expression.tsv"
    genes.write_text(table((f"GENE{g}\t" + "\t".join(str(2 + (g * c * c) % 7) for c in range(1, 31)) for g in range(6)),
                           "gene\t" + "\t".join(f"CELL{c}" for c in range(1, 31))))
    page.drop(genes)
    page.see("6 rows of 31 columns: 30 coordinates")
    assert "Its beginning" not in pending(page)
    page.choose("Dimensions", "1")
    page.find("//label[contains(., 'Swap rows and columns')]/input").click()
    page.see("the 30 columns of numbers are the points", 10)
    page.button("Upload and lay out").click()
    page.find("canvas.gl", 15)
    job = api.get("/v1/jobs").json()["items"][0]
    assert job["name"] == "expression" and job["nodes"] == 30 and job["parameters"]["dims"] == 1


def test_texts_that_are_not_utf8(page, api, tmp_path):
    """The page converts them, since the person has a browser and no iconv."""
    rows = table((f"Köln {i};{i * 7 % 13},25;{i % 5},5" for i in range(60)), "Ort;Größe;y")
    for name, encoding, button in (("western", "latin-1", "Its letters are Western European"), ("sixteen", "utf-16", "Convert it from UTF-16")):
        (tmp_path / f"{name}.csv").write_bytes(rows.encode(encoding))
        page.drop(tmp_path / f"{name}.csv")
        page.button(button).click()
        page.see("Köln 0, Köln 1, Köln 2")
        page.button("Upload and lay out").click()
        page.wait(lambda: api.get("/v1/jobs").json()["items"][0]["name"] == name, 15, "it runs")
        g = next(g for g in api.get("/v1/graphs").json()["items"] if g["name"] == "western")   # the same data
        assert api.get(f"/v1/graphs/{g['id']}/names?count=1").json()["names"] == ["Köln 0"] and g["columns"] == 2
        page.expected = "400"   # the upload that was refused
    page.see("The server has these data already, as western.")
    assert "Größe" in str(g["taken"]["listed"])


def test_a_note_is_a_button_beside_the_layout(page, api, tmp_path):
    """Classes in the last column without a title: the run's page offers to read them as labels. Values in messages stay as they
    are; more than a few notes are folded."""
    rng = np.random.default_rng(2)
    file = tmp_path / "twoclass.txt"
    np.savetxt(file, np.c_[rng.normal(size=(80, 3)), np.arange(80) % 2], fmt="%.3f %.3f %.3f %d")
    page.drop(file)
    page.find(".job .added", 15)
    page.button("Take column 4 as labels").click()
    page.wait(lambda: [g["columns"] for g in api.get("/v1/graphs").json()["items"] if g["name"] == "twoclass"] == [3, 4] or
              (page.maybe("//button[normalize-space()='Upload and lay out']") or page.find("body")).click(), 15, "it is read once more")
    np.save(tmp_path / "far.npy", rng.normal(size=(60, 7)) + 20240131)
    page.go("about:blank")
    page.go(api.daemon.url + "/")
    page.find(".drop")
    page.drop(tmp_path / "far.npy")
    page.find(".job .added", 15)
    notes = page.run("return [...document.querySelectorAll('.added .taken > p, .added .taken > details > summary')].map(e => e.innerText)")
    assert len(notes) == 5 and notes[-1] == "2 more notes", notes
    (tmp_path / "days.csv").write_text(table((f"{20240101 + i % 28},{i % 17}" for i in range(60)), "day,value"))
    page.drop(tmp_path / "days.csv")
    page.button("Upload and lay out", 15).click()   # it was dropped on a run's page, so the page asks
    page.see("dates such as 20240101 as whole numbers", 15)


def test_a_reader_who_drops_a_file(page, closed, tmp_path):  # noqa: F811
    admin = Api(closed)
    admin.session.headers["Authorization"] = f"Bearer {TOKEN}"
    admin.post("/v1/users", 201, json={"name": "rita", "role": "reader"})
    token = admin.post("/v1/users/rita/tokens", 201, json={}).json()["token"]
    page.expected = "401"
    page.go("about:blank")
    page.go(closed.url + f"/#/?token={token}")
    page.see("Your role is that of a reader", 15)
    (tmp_path / "points.csv").write_text("1.5,2\n3,4\n5,7\n")
    page.drop(tmp_path / "points.csv")
    page.see("who cannot upload files")
    page.button("Log out").click()
    page.see("needs a token")
    page.go("about:blank")
    page.expected = "/v1/"


def test_nodes_are_found_and_told(page, api):
    """A node's number finds it although others have names with the digits, and its details have all columns. Names are written
    on the map only where their nodes are the most."""
    rng = np.random.default_rng(5)
    rows = (f"{'Élodie' if i == 30 else 'cell'}{i + 100},{x:.3f},{y:.3f},{'abcdef'[i % 6]},{i / 8}" for i, (x, y) in enumerate(
        rng.normal(size=(480, 2)) + 9 * np.c_[np.arange(480) % 2, np.arange(480) // 240]))
    g = api.upload(table(rows, "name,x,y,kind,age").encode(), name="people", label_column="kind,age")["id"]
    job = api.run(g, iterations=60, perplexity=8)["id"]
    page.go(f"{api.daemon.url}/#/job/{job}")
    page.wait(lambda: page.run(f"return {SESSION}?.frame.value?.final && !!{SESSION}.values.value"), 15, "the layout")
    assert page.run("return document.querySelector('canvas.over').spacelandNames") == []
    page.find("#node-search").send("élodie")
    page.wait(lambda: page.run("return [...document.querySelectorAll('.found button')].map(b => b.innerText)") == ["Élodie130"], 10, "in lower case")
    page.find("#node-search").command("POST", "/clear", {})
    page.find("#node-search").send("7")
    page.wait(lambda: page.run("return document.querySelector('.found button')?.innerText") == "cell107", 10, "the node of this number is the first")
    page.find(".found button").click()
    page.see("Node 7")
    page.wait(lambda: page.run("return document.querySelector('[aria-label=\"Labels of the node\"]')?.innerText.split(/\\s+/)") == ["kind", "b", "age", "0.875"], 10, "all columns")


def test_labels_that_replace_others(page, api, tmp_path):
    g = api.upload(points.npy(np.random.default_rng(1).normal(size=(90, 4)).astype("f4")), name="plain")["id"]
    job = api.run(g, iterations=50, perplexity=5, name="plain")["id"]
    page.go(f"{api.daemon.url}/#/job/{job}")
    page.see("Add labels from a file", 15)
    for rows, told in (((f"{i},{'ab'[i % 2]}" for i in range(90)), "have labels in kind"), ((f"{i},{'xyz'[i % 3]}" for i in range(90)), "Replaced: kind.")):
        (tmp_path / "meta.csv").write_text(table(rows, "id,kind"))
        page.find("input[aria-label='File of labels']").send(str(tmp_path / "meta.csv"))
        page.see(told)
    (tmp_path / "orte.csv").write_bytes(table((f"{i},{['Köln', 'Ulm'][i % 2]}" for i in range(90)), "id,Ort").encode("latin-1"))
    page.drop(tmp_path / "orte.csv")   # on the page of a run a file may be one of labels
    page.button("Add it as labels to plain").click()
    page.button("Its letters are Western European").click()   # beside the reason why it was refused
    page.see("Labels joined by the nodes' numbers")
    page.wait(lambda: sorted(page.run("return [...document.querySelectorAll('.legend-name')].map(e => e.innerText)")) == ["Köln", "Ulm"], 10, "it colours")
    assert [j["name"] for j in api.get("/v1/jobs").json()["items"]][0] != "orte"
    page.expected = "400"


def test_order_and_colours_of_categories(page, api, shot):
    """They are arranged by hand, for legends and pictures, and given back to the server."""
    rng = np.random.default_rng(8)
    rows = (f"{x:.3f},{y:.3f},{'low' if i < 60 else 'high' if i < 100 else 'mid'}" for i, (x, y) in enumerate(rng.normal(size=(130, 2))))
    g = api.upload(table(rows, "x,y,dose").encode(), name="doses")["id"]
    job = api.run(g, iterations=50, perplexity=5)["id"]
    page.go(f"{api.daemon.url}/#/job/{job}")

    def legend():
        return page.run("return [...document.querySelectorAll('.legend-name')].map(e => e.innerText)")

    def column():
        return {k: v for k, v in api.get(f"/v1/graphs/{g}").json()["label_columns"][0].items() if k in ("ordered", "colors")}
    page.wait(lambda: legend() == ["low", "high", "mid"], 15, "by size")
    page.find("//summary[contains(., '1 column of labels')]").click()
    page.button("Order and colours of dose").click()
    page.button("Move mid up").click()
    page.button("Save").click()
    page.wait(lambda: legend() == ["low", "mid", "high"], 10, "in the new order")
    assert column() == {"ordered": True}
    page.button("Order and colours of dose").click()
    page.find("input[aria-label='Colour of mid']")
    for colour in ("#ffffe0", "#ff00aa"):
        page.run("""const e = document.querySelector("input[aria-label='Colour of mid']");
            Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(e, arguments[0]);
            e.dispatchEvent(new Event("input", {bubbles: true}));""", colour)
        page.wait(lambda: ("mid is hard to see on light pages" in page.find(".arrange").text) is (colour == "#ffffe0"), 10, "it is told")   # noqa: B023
    shot("arranged")
    page.button("Save").click()
    page.wait(lambda: column().get("colors", ["", ""])[1] == "#ff00aa", 10, "it has its colour")
    page.wait(lambda: page.run("return document.querySelectorAll('.legend circle')[1].getAttribute('fill')") == "rgb(255 0 170)", 10, "the legend shows it")
    page.button("Order and colours of dose").click()
    page.button("By size again").click()
    page.wait(lambda: legend() == ["low", "high", "mid"] and column() == {}, 10, "as at first")
