"""Whatever a request makes the server hold is booked before it is held: the worst megabyte of each type goes to every
route that takes a body, many at a time, in a control group of 512 MiB, while another user works.

The routes are those of daemon/routes/routes.h: a new one is attacked without being named here, unless its path has a
parameter of a new name; then PLACES must say what stands for it."""
import collections
import concurrent.futures
import contextlib
import functools
import itertools
import random
import re
import statistics
import threading
import time

import numpy as np
import pytest

import attacks
import points
from contract import ROOT
from harness import in_time, sanitized, wait_until
from test_attacks import metric
from test_memory import group_of, peak
from test_upload_budget import booked
from test_users import NONE, As, Lab

MIB = 1 << 20
GROUP = 512
UPLOADS, REQUESTS = 192, 48   # MiB of the two budgets
KEPT = 24                     # MiB that the server may have more than before when all is over
ROUTE = re.compile(r'X\("(\w+)", "([^"]+)", (\w+), (\w+), ([^,]*SL_BODY_(?:JSON|UPLOAD)[^,]*),')
ROUTES = [match.groups() for match in ROUTE.finditer((ROOT / "daemon/routes/routes.h").read_text(encoding="utf-8"))]
# Bodies of the light form: those that once cost most. Each route gets every third, and each of them goes to every third route.
LIGHT = ("window.zst", "window.json.zst", "wide empty", "zeros.gz", "PK zeros.gz", "values.gz", "edges.gz", "short rows.gz",
         "json.zst", "directory.gz", "directory of extras", "mtx promises", "wide words", "many ends", "names")
LIGHT_JSON = ("empty arrays", "empty objects", "nested", "many keys")
LIGHT_FORMS = ("many parts", "a table and labels")


def test_every_route_with_a_body_is_found():
    """The table's routes with a body are those of the OpenAPI file."""
    from harness import CONTRACT
    described = {(method.upper(), re.sub(r"\{\w+\}", "{}", path)) for path, item in CONTRACT.document["paths"].items()
                 for method, operation in item.items() if isinstance(operation, dict) and "requestBody" in operation}
    assert described == {(method, re.sub(r"\{\w+\}", "{}", path)) for method, path, *_ in ROUTES}


@contextlib.contextmanager
def laboratory(folder):
    """A server in a control group, if one can be made here; ann's table and jobs, which rita may read; bob works."""
    with contextlib.ExitStack() as stack:
        try:
            group = stack.enter_context(group_of(GROUP))
        except pytest.skip.Exception:
            group = None
        lab = Lab(folder, upload_memory_bytes=UPLOADS * MIB, request_memory_bytes=REQUESTS * MIB)
        if group and not sanitized():
            (group / "cgroup.procs").write_text(str(lab.daemon.process.pid))
        lab.table = lab.ann.upload(points.npy(np.random.default_rng(1).normal(size=(300, 8)).astype("float32")), neighbours=15)["id"]
        lab.placed = lab.ann.run(lab.table, iterations=5, perplexity=5)["id"]
        lab.grouped = lab.ann.run(lab.table, method="gmm", components=2)["id"]
        # several, since a graph whose labels change refuses other changes meanwhile
        lab.small = itertools.cycle([lab.ann.upload(b"0 1\n1 %d\n" % (i + 2), format="edges")["id"] for i in range(12)])
        lab.root.post("/v1/projects", 201, json={"name": "genes"})
        for thing in (lab.table, lab.placed, lab.grouped):
            lab.ann.request("PUT", f"/v1/access/{thing}", 200, json={"readers": ["rita"]})
        try:
            yield lab
        except BaseException:
            lab.daemon.process.kill()
            raise
        lab.daemon.stop()


def place(lab, path):
    """The path with things that exist."""
    things = {"id": lab.grouped if path.endswith("/predict") else lab.placed, "graph": next(lab.small), "column": "c", "cluster": "0-0", "project": "genes",
              "user": "cat", "token": NONE, "link": NONE, "name": "x"}
    return re.sub(r"\{(\w+)\}", lambda m: things[m[1]], path)


def attack_list(lab, light):
    """(who, method, path, query, content type, name of the body, function that makes it), for every route."""
    turns = itertools.count()

    def some(bodies, names):
        names = names[next(turns) % 3::3] if light else bodies
        return [(name, bodies[name]) for name in names]
    for method, path, _, verb, flags in ROUTES:
        who = "root" if verb == "MANAGE" else "rita" if verb in ("OPEN", "LOOK", "READ") else "ann"
        if "JSON" in flags:
            for name, make in some(attacks.JSON, LIGHT_JSON):
                yield who, method, place(lab, path), {}, "application/json", name, make
            continue
        queries = [{}, {"kind": "points"}] if path == "/v1/graphs" else [{"dims": 2}] if path == "/v1/layouts" else [{}]
        for query in queries:
            for name, make in some(attacks.BODIES, LIGHT):
                yield who, method, place(lab, path), query, "application/octet-stream", name, make
            for name, make in some(attacks.FORMS, LIGHT_FORMS):
                yield who, method, place(lab, path), query, None, name, make


class Work:
    """What bob does all the time, and how long it takes."""

    def __init__(self, lab):
        self.bob, self.ended, self.failed = As(lab.daemon, lab.tokens["bob"]), False, []
        self.graph = self.bob.upload(b"0 1\n1 2\n2 3\n", format="edges")["id"]
        self.job = self.bob.run(self.graph, iterations=2)["id"]
        self.number = 0
        self.kinds = {
            "a look": lambda: self.bob.get(f"/v1/jobs/{self.job}", check=False),
            "a layout": lambda: self.bob.get(f"/v1/jobs/{self.job}/layout", check=False),
            "a dry run": lambda: self.bob.post("/v1/jobs/dry-run", 200, json={"graph": self.graph}, check=False),
            "labels": lambda: self.bob.request("PUT", f"/v1/graphs/{self.graph}/labels/mine", 200, data=b"a\nb\na\nb\n", check=False),
            "an upload": self.upload,  # and its end
        }

    def upload(self):
        self.number += 1
        body = b"0 1\n1 2\n2 %d\n" % (3 + self.number)
        made = self.bob.post("/v1/graphs?format=edges", 201, data=body, headers={"Content-Type": "text/plain"}, check=False)
        self.bob.delete(f"/v1/graphs/{made.json()['id']}", 204, check=False)

    def times(self, rounds=None):
        taken = {kind: [] for kind in self.kinds}
        while not self.ended if rounds is None else rounds > 0:
            rounds = None if rounds is None else rounds - 1
            for kind, act in self.kinds.items():
                since = time.monotonic()
                try:
                    act()
                except AssertionError as why:
                    self.failed.append(str(why)[:300])
                taken[kind].append(time.monotonic() - since)
        return taken

    @contextlib.contextmanager
    def beside(self):
        out = {}
        thread = threading.Thread(target=lambda: out.update(self.times()))
        thread.start()
        try:
            yield out
        finally:
            self.ended = True
            thread.join()


@functools.lru_cache(maxsize=None)
def made(make):
    return make()


def strike(lab, one):
    who, method, path, query, kind, name, make = one
    body = made(make)
    kind, body = body if kind is None else (kind, body)
    client = As(lab.daemon, lab.root.api.session.headers["Authorization"][7:] if who == "root" else lab.tokens[who])
    for wait in (0.2, 0.4, 0.8, None):  # 503: others take the budget at this moment
        reply = client.request(method, path, data=body, params=query, headers={"Content-Type": kind}, check=False, timeout=120)
        if reply.status_code != 503 or wait is None:
            break
        time.sleep(wait)
    return reply.status_code, f"{method} {path} {name}: {reply.status_code} {reply.text[:200]}"


def held(folder, light):
    with laboratory(folder) as lab:
        everything = list(attack_list(lab, light))
        random.Random(3).shuffle(everything)
        work = Work(lab)
        idle = work.times(8)
        peak(lab.daemon)
        base = lab.daemon.memory()
        with work.beside() as busy, concurrent.futures.ThreadPoolExecutor(6) as pool:
            replies = list(pool.map(lambda one: strike(lab, one), everything))
        most = peak(lab.daemon)
        assert lab.daemon.alive()
        strange = [text for status, text in replies if status >= 500 and status not in (503, 507)]
        assert not strange, strange[:10]
        assert not work.failed, work.failed[:5]
        wait_until(lambda: booked(lab.root) == [0, 0] and metric(lab.root, "spaceland_request_booked_bytes") == 0, 20, "all is given back")
        left = lab.daemon.memory()
        report = {kind: (round(statistics.median(idle[kind]), 3), round(statistics.median(busy[kind]), 3), round(max(busy[kind]), 2),
                         len(busy[kind])) for kind in busy}
        statuses = collections.Counter(status for status, _ in replies)
        assert statuses[503] < len(replies) / 4, statuses  # most of them have been read
        print(f"{len(replies)} attacks {dict(statuses)}; {base / MIB:.0f} MiB before, {most / MIB:.0f} MiB at most, {left / MIB:.0f} MiB after; median idle, busy, longest:", report)
        if sanitized():
            return
        assert most < 1.1 * (base + (UPLOADS + REQUESTS) * MIB), f"{most / MIB:.0f} MiB"
        assert left < base + KEPT * MIB, f"{left / MIB:.0f} MiB"  # what was freed went back to the system
        for kind, (before, now, longest, _) in report.items():
            assert now < max(2 * before, in_time(0.25)), (kind, report)
            assert longest < in_time(5), (kind, report)


@pytest.mark.limit(120)
def test_light_attacks_on_every_route(tmp_path):
    held(tmp_path, True)


@pytest.mark.longest
@pytest.mark.limit(600)
def test_attacks_on_every_route(tmp_path):
    held(tmp_path, False)
