"""The tables of parameters (core/param_table.h), openapi.yaml and the daemon's replies agree."""
import json
import subprocess

import pytest

import harness

SCHEMAS = harness.CONTRACT.document["components"]["schemas"]


# Intended differences between tables and contract: the server's limits, words of other programs, several values.
SCHEMA_SAYS_MORE = {"kind": {"enum"}, "format": {"enum"}, "metric": {"enum"}}
QUERIES = {"uploads": "/v1/graphs", "transforms": "/v1/jobs/{job}/transform", "columns": "/v1/jobs/{job}/predict"}
NOT_IN_THE_TABLES = {"uploads": {"name", "project", "labels_name", "labels_column", "hold"}, "transforms": {"format"},
                     "columns": {"format", "give"}}


def all_tables():
    """The tables, printed by tests/plugin/dump_params.c; new points have the parameters of columns, too."""
    out = subprocess.run([harness.program("dump_params")], capture_output=True, text=True, timeout=10, check=True)
    found = {name: {line["name"]: line for line in table} for name, table in json.loads(out.stdout).items()}
    found["transforms"] |= found["columns"]
    return found


@pytest.fixture(scope="module")
def tables():
    return all_tables()


@pytest.fixture(scope="module")
def table(tables):
    return tables["jobs"]


@pytest.mark.parametrize("which", QUERIES)
def test_queries_are_those_of_the_table(tables, which):
    parameters = harness.CONTRACT.document["paths"][QUERIES[which]]["post"]["parameters"]
    queries = {p["name"]: p for p in parameters if p.get("in") == "query"}
    assert set(queries) - NOT_IN_THE_TABLES[which] == set(tables[which])
    for name, row in tables[which].items():
        schema = queries[name]["schema"]
        if "$ref" in schema:
            schema = SCHEMAS[schema["$ref"].rsplit("/", 1)[1]]
        kind = {"bool": "boolean", "int": "integer", "double": "number", "enum": "string", "text": "string"}[row["type"]]
        assert schema["type"] == kind, name
        if row["type"] in ("int", "double"):
            assert (schema["minimum"], schema["maximum"]) == (row["min"], row["max"]), name
        if row["type"] == "enum":
            ours, theirs = set(row["words"]) - {"auto"}, set(schema["enum"]) - {"auto"}
            assert ours <= theirs and (ours == theirs or name in SCHEMA_SAYS_MORE), name
        if "$ref" not in queries[name]["schema"]:
            assert schema.get("default") == row["default"], name


@pytest.mark.parametrize("name", ["neighbours", "recall", "pca", "metric_p"])
def test_limits_of_uploads(api, tables, name):
    row = tables["uploads"][name]
    for value in (row["min"] - 1, row["max"] * 2 + 1, "many", ""):
        query = {name: value, "metric": "lp"} if name == "metric_p" else {name: value}
        problem = api.post("/v1/graphs", 400, params=query, data=b"1.5 2.5\n3.5 4.5\n").json()
        assert problem["parameter"] == name and name in problem["detail"]


@pytest.mark.parametrize("name", ["perplexity", "neighbours", "iterations", "learning_rate", "momentum", "exaggeration"])
def test_limits_of_new_points(api, graph, tables, name):
    row = tables["transforms"][name]
    job = api.post("/v1/jobs", 202, json={"graph": graph, "iterations": 1}).json()["id"]
    for value in (row["min"] - 1, row["max"] * 2 + 1, "many", ""):
        problem = api.post(f"/v1/jobs/{job}/transform", 400, params={name: value}, data=b"1.5 2.5\n").json()
        assert problem["parameter"] == name and name in problem["detail"]


def test_same_names_in_the_same_order(table):
    assert list(SCHEMAS["Parameters"]["properties"]) == list(table)
    required = SCHEMAS["JobParameters"]["allOf"][1]["required"]
    assert sorted(required) == sorted(table)


@pytest.mark.parametrize("name", SCHEMAS["Parameters"]["properties"])
def test_same_type_range_default(table, name):
    schema, row = SCHEMAS["Parameters"]["properties"][name], table[name]
    assert schema.get("x-automatic") == row["automatic"]
    assert schema.get("x-steerable", False) == row["steerable"]
    assert schema["x-default"] == row["default"]  # not `default`, which would make generated types require all of them
    kind = schema["oneOf"][0] if "oneOf" in schema else schema
    if "oneOf" in schema:
        assert schema["oneOf"][1] == {"const": row["automatic"]}
    if row["type"] == "enum":
        assert kind["type"] == "string" and kind["enum"] == row["words"]
    else:
        assert kind["type"] == {"bool": "boolean", "int": "integer", "uint64": "integer", "double": "number",
                                "list": "number"}[row["type"]]
        assert (len(schema.get("oneOf", [])) == 3) == (row["type"] == "list")
        if row["type"] != "bool":
            assert (kind["minimum"], kind["maximum"]) == (row["min"], row["max"])


def test_the_daemon_agrees(api, graph, table):
    given = api.post("/v1/jobs", 200, json={"graph": graph, "dry_run": True}).json()["parameters"]
    assert list(given) == list(table)
    for name, row in table.items():
        assert given[name] == row["default"], name


@pytest.mark.parametrize("name", [n for n, s in SCHEMAS["Parameters"]["properties"].items()
                                  if s.get("oneOf", [s])[0]["type"] in ("integer", "number")])
def test_limits_are_inclusive(api, graph, table, name):
    if name == "perplexity":
        pytest.skip("skipped: of points, not of graphs")
    row = table[name]
    for value in (row["min"], row["max"]):
        value = int(value) if row["type"] != "double" else value
        body = {"graph": graph, "dry_run": True, name: value}
        if name == "init_std" and value == 0:
            body.update(init="given", initial=[[0, i] for i in range(600)])
        if name == "grid_side" and value > 8192:
            body["dims"] = 1
        api.post("/v1/jobs", 200, json=body)
    for value in (row["min"] - 1, row["max"] * 2 + 1):
        if row["automatic"] and value == row["automatic_value"]:
            continue
        value = int(value) if row["type"] != "double" else value
        problem = api.post("/v1/jobs", 400, json={"graph": graph, "dry_run": True, name: value}).json()
        assert problem["pointer"] == f"/{name}" and name in problem["detail"]


@pytest.mark.parametrize("text", ["0x10", "0X1p4", "%209", "%0a9", "inf", "nan", "infinity", "9z", "-", ".", ""])
def test_numbers_are_decimal(api, graph, text):
    for path in (f"/v1/graphs?kind=points&neighbours={text}", f"/v1/graphs?kind=points&metric=minkowski&metric_p={text}",
                 f"/v1/graphs/dry-run?kind=points&recall={text}"):
        problem = api.post(path, data=b"1,2\n3,4\n5,6\n").json()
        assert problem["status"] == 400 and problem["parameter"] == path.split("&")[-1].split("=")[0], problem
    wait = text.replace("%20", " ").replace("%0a", " ")
    api.post("/v1/jobs", 400, json={"graph": graph, "iterations": 1}, headers={"Prefer": f"wait={wait}"})


@pytest.mark.parametrize("values,given", [([], "an empty list"), ([30] * 9, "more than 8"), ([30] * 1000, "more than 8")])
def test_lengths_of_lists(api, graph, values, given):
    problem = api.post("/v1/jobs", 400, json={"graph": graph, "perplexity": values}).json()
    assert problem["pointer"] == "/perplexity" and given in problem["detail"], problem


@pytest.mark.parametrize("name", [n for n, s in SCHEMAS["Parameters"]["properties"].items() if "enum" in s])
def test_every_word(api, graph, name):
    for word in SCHEMAS["Parameters"]["properties"][name]["enum"]:
        if word == "pca":  # of points, not of graphs
            continue
        body = {"graph": graph, "dry_run": True, name: word}
        if word == "given":
            body["initial"] = [[i, 0] for i in range(600)]
        assert api.post("/v1/jobs", 200, json=body).json()["parameters"][name] == word


def test_signal_parameters_are_those_of_the_table(api, graph, tables):
    schema, table = SCHEMAS["SignalParameters"]["properties"], tables["signal"]
    assert list(schema) == list(table) and SCHEMAS["SignalParameters"]["required"] == list(table)
    for name, row in table.items():
        kind = schema[name]["oneOf"][0] if "oneOf" in schema[name] else schema[name]
        assert schema[name]["x-default"] == row["default"], name
        assert schema[name].get("x-steerable", False) == row["steerable"], name
        assert schema[name].get("x-automatic") == row["automatic"], name
        if row["type"] == "enum":
            assert kind["enum"] == row["words"], name
        else:
            assert (kind["minimum"], kind["maximum"]) == (row["min"], row["max"]), name
    told = api.post("/v1/jobs/dry-run", 200, json={"graph": graph, "method": "signal"}).json()["parameters"]
    assert list(told) == list(table)
    for name, row in table.items():
        assert told[name] == row["default"], name
    for name, row in table.items():
        if row["type"] not in ("int", "double", "uint64"):
            continue
        for value in (row["min"] - 1, row["max"] * 2 + 1):
            if not (row["automatic"] and value == row["automatic_value"]):
                assert api.post("/v1/jobs/dry-run", 400, json={"graph": graph, "method": "signal", name: value}).json()["pointer"] \
                    == f"/{name}"


TABLES = {"tsne": "Parameters", "sammon": "SammonParameters", "signal": "SignalParameters", "kmeans": "KmeansParameters",
          "gmm": "GmmParameters"}


@pytest.mark.parametrize("method", TABLES)
def test_automatic_values_are_words(api, graph, method):
    """In the server's memory 0 stands for auto or off; requests must use the word, as in the contract."""
    for name, schema in SCHEMAS[TABLES[method]]["properties"].items():
        number = next((s for s in schema.get("oneOf", []) if s.get("type") in ("number", "integer")), None)
        if not schema.get("x-automatic") or name == "initial":
            continue
        for value in (0, -1, -1e9):
            if value < number["minimum"]:
                body = {"graph": graph, "method": method, "params": {name: int(value)}}
                problem = api.post("/v1/jobs/dry-run", 400, json=body).json()
                assert problem["pointer"] == f"/params/{name}" and schema["x-automatic"] in problem["detail"], (name, value)
