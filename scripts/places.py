#!/usr/bin/env python3
"""places.py -- shows how many places must be touched to add something: adds a made-up parameter of t-SNE that can be
steered, a parameter of k-means, an endpoint, an engine and a kernel to a copy of the checkout, each at the places that
docs/architecture.md names, builds the copy, and tests that what was added is there for users.

usage: places.py [--keep] [FOLDER]   (FOLDER: for the copy and its build; a temporary one by default)

Files in the same folder as a meson.build that names them count as one place with it. What a script makes from another
place is not counted. Fails if more than MOST places are needed, or if a test fails. Takes minutes.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
MOST = 3
NEW = None  # instead of an anchor: the file is new

# {what: [(file, the text after which it is added, what is added)]}
ADDED = {
    "a parameter of t-SNE": [
        ("core/params.h", "	int pause_at;                   /* iteration at which status.held is told once; 0: off */\n",
         "	double warp;\n"),
        ("core/params.c", '	 "the whole run is the same bytes."},\n',
         '	{PARAM(warp, DOUBLE, 0, 50, 2), STEERABLE, .doc = "Bends nothing."},\n'),
        ("proto/openapi.yaml", "The layout of the whole run is the same bytes. Default: off.\"}\n",
         "        warp: {type: number, minimum: 0, maximum: 50, x-default: 2, x-steerable: true, description: Bends nothing.}\n"),
        ("proto/openapi.yaml", "trace_interval, pause_at", ", warp"),
    ],
    "a parameter of a method": [
        ("core/kmeans/kmeans.h", "	int seeding;           /* enum sl_kmeans_seeding */\n", "	int bends;\n"),
        ("core/kmeans/kmeans.c", '	 "candidates at a time, in few passes over the points."},\n',
         '	{PARAM(bends, INT, 1, 5, 1), .doc = "Bends nothing."},\n'),
        ("proto/openapi.yaml", "      required: [clusters, metric, restarts, seeding, ", "bends, "),
        ("proto/openapi.yaml", "from many candidates at a time, in few passes over the points.\"}\n",
         "        bends: {type: integer, minimum: 1, maximum: 5, x-default: 1, description: Bends nothing.}\n"),
        ("proto/openapi.yaml", "            seeding: {type: string, enum: [plusplus, parallel], x-default: plusplus, description: \"How the "
         "first centroids are chosen.\"}\n", "            bends: {type: integer, minimum: 1, maximum: 5, x-default: 1}\n"),
    ],
    "an endpoint": [
        ("daemon/routes/server/greeting.c", NEW, '''#include "daemon/routes/routes.h"

/* GET /v1/greeting */
void sl_route_greeting(struct sl_request *r)
{
	sl_reply_json(r, 200, json_pack("{s:s}", "greeting", "good morning"));
}
'''),
        ("daemon/routes/server/meson.build", "'backups.c', ", "'greeting.c', "),
        ("daemon/routes/routes.h", '	  "metric_p name name_column neighbours pca recall source target transpose values weight") \\\n',
         '	X("GET", "/v1/greeting", greeting, OPEN, SL_BODY_NONE, NULL) \\\n'),
        ("proto/openapi.yaml", "paths:\n", '''  /v1/greeting:
    get:
      tags: [server]
      operationId: getGreeting
      responses:
        '200':
          description: A greeting.
          content:
            application/json:
              schema: {type: object, required: [greeting], properties: {greeting: {type: string}}, additionalProperties: false}
'''),
    ],
    "an engine": [
        ("core/cpu/twin.c", NEW, '''/* The CPU engine under another name. */
#include "core/engine/engine.h"

const struct sl_engine *sl_engine_twin(void);

const struct sl_engine *sl_engine_twin(void)
{
	static struct sl_engine twin;
	twin = *sl_engine_cpu();
	twin.name = "twin";
	return &twin;
}
'''),
        ("core/cpu/meson.build", "'tree.c', ", "'twin.c', "),
        ("core/engine/load.h", '	X("hybrid", IN_PLUGIN, sl_engine_hybrid) \\\n', '	X("twin", HERE, sl_engine_twin) \\\n'),
        ("proto/openapi.yaml", "    Engine: {type: string, enum: [auto, cuda, hybrid, ", "twin, "),
    ],
    "a kernel": [
        ("gpu/device/halve.cu", NEW, '''/* Halves an array. */
#include "gpu/device/device.h"
#include "gpu/device/launch.cuh"

static __global__ void halve(float *x, uint64_t count)
{
	for (uint64_t at = (uint64_t)blockIdx.x * 256 + threadIdx.x; at < count; at += (uint64_t)gridDim.x * 256)
		x[at] *= 0.5f;
}

cudaError_t sl__halve(float *x, uint64_t count, cudaStream_t stream)
{
	halve<<<blocks_for(count, 1024), 256, 0, stream>>>(x, count);
	return cudaGetLastError();
}
'''),
        ("gpu/device/meson.build", "files('fault.cu', 'fill.cu'", ", 'halve.cu'"),
        ("gpu/device/device.h", "cudaError_t sl__scale(float *x, float factor, uint64_t count, cudaStream_t stream);\n",
         "cudaError_t sl__halve(float *x, uint64_t count, cudaStream_t stream);\n"),
        # its call: twice the initial layout, halved
        ("gpu/device/device.c", "	code = set_up(d, options, err);\n", '''	float two = 2, *there = NULL, one = 0;
	if (!code)
		code = sl__device_alloc(d, sizeof two, "a number", &there, err);
	if (!code && (cudaMemcpy(there, &two, sizeof two, cudaMemcpyHostToDevice) || sl__halve(there, 1, 0) ||
		      cudaMemcpy(&one, there, sizeof one, cudaMemcpyDeviceToHost) || one != 1.0f))
		code = sl_error_set(err, SL_DEVLOST, "2 was not halved.");
	sl__device_free(d, there, sizeof two);
	if (getenv("SPACELAND_HALVED"))
		fprintf(stderr, "halved to %g\\n", (double)one);
'''),
    ],
}

TESTS = '''"""What scripts/places.py has added."""
from harness import Api, program
import subprocess

import graphs
import numpy
import points


def test_parameter(fresh):
    api = Api(fresh())
    graph = api.upload(graphs.mtx(graphs.ring(60)))["id"]
    job = api.submit(graph, iterations=1000000, warp=3)["id"]
    api.wait_iteration(job, 1)
    assert api.job(job)["parameters"]["warp"] == 3
    assert api.patch(f"/v1/jobs/{job}", json={"warp": 4}).json()["parameters"]["warp"] == 4
    assert "--warp" in subprocess.run([program("spaceland"), "embed", "--help"], capture_output=True, text=True).stdout


def test_parameter_of_a_method(fresh):
    api = Api(fresh())
    table = api.upload(points.npy(numpy.random.default_rng(1).normal(size=(50, 3)).astype("f4")))["id"]
    job = api.wait(api.submit(table, method="kmeans", bends=2)["id"])
    assert job["state"] == "done" and job["parameters"]["bends"] == 2
    assert "--bends" in subprocess.run([program("spaceland"), "kmeans", "--help"], capture_output=True, text=True).stdout


def test_endpoint(fresh):
    assert Api(fresh()).get("/v1/greeting").json() == {"greeting": "good morning"}


def test_engine(fresh):
    api = Api(fresh())
    graph = api.upload(graphs.mtx(graphs.ring(60)))["id"]
    job = api.wait(api.submit(graph, iterations=50, engine="twin")["id"])
    assert job["state"] == "done" and job["device"] == "twin0"
    assert api.layout_bytes(job["id"]) == api.layout_bytes(api.run(graph, iterations=50, engine="cpu")["id"])
'''


def place_of(file, files):
    """A meson.build is one place with a file of its folder."""
    folder, name = os.path.split(file)
    beside = [f for f in files if os.path.dirname(f) == folder and not f.endswith("meson.build")]
    return beside[0] if name == "meson.build" and beside else file


def add(tree, file, after, text):
    path = tree / file
    if after is NEW:
        path.write_text(text)
        return
    old = path.read_text()
    if old.count(after) != 1:
        sys.exit(f"places.py: {file} has {old.count(after)} times the text after which it adds; correct ADDED:\n{after}")
    path.write_text(old.replace(after, after + text))


def run(tree, *command, **environment):
    print("places.py:", " ".join(map(str, command)), flush=True)
    return subprocess.run(command, cwd=tree, env={**os.environ, "SPACELAND_BUILD": str(tree / "build"), **environment},
                          check=False).returncode


def copy(tree):
    for file in subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0"):
        if file and (ROOT / file).is_file():
            (tree / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, tree / file)
    modules = ROOT / "clients" / "web" / "node_modules"
    if modules.is_dir():
        (tree / "clients" / "web" / "node_modules").symlink_to(modules)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--keep"]
    folder = pathlib.Path(arguments[0] if arguments else tempfile.mkdtemp(prefix="places-"))
    tree = folder / "spaceland"
    copy(tree)
    most = 0
    for what, edits in ADDED.items():
        for file, after, text in edits:
            add(tree, file, after, text)
        files = [file for file, _, _ in edits]
        places = sorted({place_of(file, files) for file in files})
        most = max(most, len(places))
        print(f"{what}: {len(places)} places: {', '.join(places)}")
    (tree / "tests" / "api" / "test_places.py").write_text(TESTS)
    failed = run(tree, "python3", "scripts/python_signatures.py")
    failed = failed or run(tree, "./dev", "build", "programs", "unit-tests", "api-tests", "emulated-tests")
    pytest = ("/usr/bin/python3", "-m", "pytest", "-q")
    failed = failed or run(tree, *pytest, "tests/api/test_places.py", "tests/api/test_parameters.py")
    failed = failed or run(tree, *pytest, "tests/web/test_look.py", "-k", "slider")
    failed = failed or run(tree, *pytest, "tests/python/test_signatures.py")
    failed = failed or run(tree, "build/tests/gpu/test_cuda", SPACELAND_PLUGINS=str(tree / "build/tests/emulated"), SPACELAND_ENGINE="cuda",
                           SPACELAND_TEST_FILTER="first_steps_*", SPACELAND_TEST_LIGHT="1", SPACELAND_HALVED="1")
    if "--keep" not in sys.argv and not arguments:
        shutil.rmtree(folder)
    if most > MOST:
        print(f"places.py: {most} places, but at most {MOST} shall be needed")
    print("places.py:", "failed" if failed or most > MOST else "all of them are there for users")
    return 1 if failed or most > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
