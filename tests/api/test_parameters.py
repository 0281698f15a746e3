"""core/params.c, openapi.yaml and the daemon's replies agree about the parameters of a job."""
import json
import subprocess

import pytest

import harness

SCHEMAS = harness.CONTRACT.document["components"]["schemas"]


@pytest.fixture(scope="module")
def table():
    """What core/params.c says, printed by tests/plugin/dump_params.c."""
    out = subprocess.run([harness.program("dump_params")], capture_output=True, text=True, timeout=10, check=True)
    return {line["name"]: line for line in json.loads(out.stdout)}


def test_same_names_in_the_same_order(table):
    assert list(SCHEMAS["Parameters"]["properties"]) == list(table)
    required = SCHEMAS["JobParameters"]["allOf"][1]["required"]
    assert sorted(required) == sorted(table)


@pytest.mark.parametrize("name", SCHEMAS["Parameters"]["properties"])
def test_same_type_range_default(table, name):
    schema, row = SCHEMAS["Parameters"]["properties"][name], table[name]
    assert schema.get("x-automatic") == row["automatic"]
    assert schema.get("x-steerable", False) == row["steerable"]
    assert schema["x-default"] == row["default"]  # not `default`: generated types would ask for all of them
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


@pytest.mark.parametrize("name", [n for n, s in SCHEMAS["Parameters"]["properties"].items() if "enum" in s])
def test_every_word(api, graph, name):
    for word in SCHEMAS["Parameters"]["properties"][name]["enum"]:
        if word == "pca":  # of points, not of graphs
            continue
        body = {"graph": graph, "dry_run": True, name: word}
        if word == "given":
            body["initial"] = [[i, 0] for i in range(600)]
        assert api.post("/v1/jobs", 200, json=body).json()["parameters"][name] == word
