"""The lab of year.py: its server with a clock that runs ahead, its people and their work, and the book of what the server
has promised."""
import contextlib
import datetime
import email.utils
import hashlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "api"))

import requests  # noqa: E402

import certificates  # noqa: E402  (tests/api)
import graphs  # noqa: E402
import nginx  # noqa: E402
from harness import BUILD, Api, Daemon, program, wait_until  # noqa: E402

DAY = 86400
YEAR = 364 * DAY
ROOT_TOKEN = "the-token-of-the-administrator root"
BINARY = {"Content-Type": "application/octet-stream"}
FIRST = ["ann", "bob", "cat", "dan", "eva", "fay", "gus", "hal", "ida", "jon", "kim", "leo", "mia", "ned", "ona", "pia", "quinn", "rob",
         "sue", "tom"]
# Names as an institute's login has them.
BY_LOGIN = ["ulla@lab.example", "Jürgen.Müßig@lab.example", "w.b+x@lab.example", "zoë@lab.example", "Ø" * 100 + "@lab.example",
            "yan li@lab.example", "vera@lab.example", "xaver@lab.example", "o'hara@lab.example", "ŁUCJA@LAB.EXAMPLE"]
TWIN = {"iterations": 300, "seed": 3, "name": "twin"}  # runs of it are interrupted, and end with the same bytes
KEPT_BACKUPS = 5


class Clock:
    """The server's clock."""

    def __init__(self, path):
        self.path, self.ahead = path, 0
        self.move(0)

    def move(self, seconds):
        self.ahead += seconds
        self.path.with_suffix(".new").write_text(f"{self.ahead} {self.ahead}")
        self.path.with_suffix(".new").rename(self.path)

    def now(self):
        return time.time() + self.ahead

    def read(self, text):
        """A time of the server."""
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Table:
    """What was promised, and what is there."""

    def __init__(self):
        self.rows = []

    def compare(self, promise, said, found):
        said, found = (sorted(x, key=str) if isinstance(x, (set, frozenset)) else x for x in (said, found))
        self.rows.append((promise, said, found, said == found))

    def note(self, promise, text):
        self.rows.append((promise, text, "", None))

    @staticmethod
    def brief(value):
        if isinstance(value, float):
            return f"{value:.6g}"
        if isinstance(value, (list, tuple, dict)):
            return f"{len(value)}" if len(value) > 3 or len(str(value)) > 30 else ", ".join(map(str, value)) or "none"
        return str(value) if len(str(value)) <= 30 else str(value)[:12] + "..."

    def text(self):
        lines = [f"{'promise':62} {'said':>12} {'there':>12}"]
        for promise, said, found, good in self.rows:
            if good is None:
                lines.append(f"{promise:62} {said}")
            else:
                lines.append(f"{promise:62} {self.brief(said):>12} {self.brief(found):>12}{'' if good else '  DIFFERENT'}")
        return "\n".join(lines)

    def wrong(self):
        found = []
        for promise, said, there, good in self.rows:
            if good is False and isinstance(said, (list, tuple)) and isinstance(there, (list, tuple)):
                found.append(f"{promise}: missing {[x for x in said if x not in there][:5]}, not said {[x for x in there if x not in said][:5]}")
            elif good is False:
                found.append(f"{promise}: said {said!r}, there is {there!r}")
        return found


class From(requests.adapters.HTTPAdapter):
    """Requests from an address of loopback: those with tokens that are refused delay nobody else's."""

    def __init__(self, address):
        self.address = address
        super().__init__()

    def init_poolmanager(self, *arguments, **options):
        super().init_poolmanager(*arguments, source_address=(self.address, 0), **options)


class Person:
    def __init__(self, year, name, role="user", by_login=False):
        self.year, self.name, self.role, self.by_login = year, name, role, by_login
        self.id, self.state, self.projects, self.limits, self.groups = None, "active", set(), {}, []
        self.tokens = []  # [secret, id, time of its end, revoked]
        self.api = Api(year.daemon)
        number = len(year.people) + 2
        self.address = f"127.0.{number}.1"
        self.wrong_address = (f"127.1.{number}.{k}" for k in range(1, 255))
        if not by_login:
            self.api.session.mount("https://", From(self.address))

    def token(self):
        """One that is valid, if there is one."""
        now = self.year.clock.now()
        return next((t[0] for t in self.tokens if not t[3] and (t[2] is None or t[2] > now + 60)), None)

    def can(self):
        return self.state == "active" and (self.by_login or self.token() is not None)

    def ask(self, method, path, status=None, **options):
        return self.year.ask(self, method, path, status, **options)


class Job:
    def __init__(self, record, owner, project):
        self.id, self.owner, self.project = record["id"], owner, project
        self.digest = self.seconds = self.ended = self.finished = self.expires = None
        self.state, self.keep, self.gone, self.links = "queued", False, None, []
        self.unsure, self.payer = False, None  # accounting may lack it; whom it counted for


class Lab:
    """The server, the people, what they do, and what was promised to them."""

    def __init__(self, below, steps, seed, say):
        self.below, self.steps, self.say = pathlib.Path(below), steps, say
        self.below.mkdir(parents=True, exist_ok=True)
        self.rng, self.table, self.wrong = random.Random(seed), Table(), []
        self.clock = Clock(self.below / "clock")
        self.step_s = YEAR // steps
        (self.below / "tokens").write_text(ROOT_TOKEN + "\n")
        (self.below / "tokens").chmod(0o600)
        (self.below / "backups").mkdir()
        certificate, key = certificates.make(self.below, days=400)
        self.login = shutil.which("nginx") is not None
        options = {**nginx.options(0), **nginx.options(1)}
        options.update(token_file=str(self.below / "tokens"), tls_certificate=certificate, tls_key=key, result_retention_s=120 * DAY,
                       checkpoint_interval_s=0.05, backup_dir=str(self.below / "backups"), backup_interval_s=DAY,
                       backup_keep=KEPT_BACKUPS, log_level="info", max_finished_jobs=0, request_log="off",
                       proxy_group_roles="heads=administrator, staff=user, students=reader", proxy_group_projects="genes-lab=genes",
                       proxy_new_users="refuse")
        os.environ["LD_PRELOAD"] = str(BUILD / "tests/plugin/clock-shim.so")
        os.environ["CLOCK"] = str(self.clock.path)
        self.daemon = Daemon(self.below / "daemon", **options)
        self.daemon.state.mkdir(parents=True)
        self.disk = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m,mode=700", "tmpfs", str(self.daemon.state)],
                                   capture_output=True, check=False).returncode == 0
        self.people, self.jobs, self.graphs, self.projects, self.links, self.changes = [], {}, {}, {}, {}, []
        self.removed, self.joined, self.requests, self.counts = {}, 0, 0, {}
        self.backups_seen, self.said = set(), {}
        self.front = None

    @contextlib.contextmanager
    def true_clock(self):
        """For other programs than the server."""
        shim = os.environ.pop("LD_PRELOAD")
        yield
        os.environ["LD_PRELOAD"] = shim

    # ---- requests ----

    def ask(self, who, method, path, status=None, **options):
        """A request of a person, or of the administrator with the token of the file (None). Changes are noted."""
        self.requests += 1
        number = f"year-{self.requests}"
        headers = {"X-Request-Id": number, **options.pop("headers", {})}
        api, name, check = self.root, "", options.pop("check", True)
        if who is not None:
            api, name = who.api, who.name
            if who.by_login and self.front:
                cookie = urllib.parse.quote(who.name) + "|" + urllib.parse.quote(", ".join(who.groups))
                reply = api.session.request(method, self.front + path, timeout=60, headers={
                    "Host": "lab.example", "Cookie": f"_oauth2_proxy={cookie}", **headers}, **options)
                return self.noted(number, name, method, path, status, reply)
            headers.setdefault("Authorization", f"Bearer {who.token()}")
        else:
            headers.setdefault("Authorization", f"Bearer {ROOT_TOKEN.split()[0]}")
        return self.noted(number, name, method, path, status, api.request(method, path, headers=headers, check=check, **options))

    def noted(self, number, name, method, path, status, reply):
        assert status is None or reply.status_code == status, f"{method} {path}: {reply.status_code}, not {status}: {reply.text[:600]}"
        if method != "GET" and reply.status_code < 300 and "dry" not in path:
            self.changes.append((number, name, method, path.partition("?")[0], reply.status_code))
        return reply

    def listed(self, path):
        if path in ("/v1/users", "/v1/projects"):
            return self.ask(None, "GET", path, 200).json()["items"]
        items, cursor = [], ""
        while cursor is not None:
            page = self.ask(None, "GET", f"{path}?limit=200{cursor and '&cursor=' + cursor}", 200).json()
            items += page["items"]
            cursor = page.get("next")
        return items

    # ---- people ----

    def unlimited(self):
        """Somebody whose jobs start at once."""
        return self.rng.choice([p for p in self.people if p.can() and p.role == "user" and not p.limits])

    def person(self, *names):
        """Somebody who can work, or one of these."""
        for p in self.people:
            if p.name in names and p.state == "active" and not p.can():
                self.give_token(p, 100)
        return self.rng.choice([p for p in self.people if p.can() and p.role != "reader" and (not names or p.name in names)])

    def join(self, name, role="user", by_login=False, groups=()):
        p = Person(self, name, role, by_login)
        if by_login:
            p.groups = list(groups)
            me = p.ask("GET", "/v1/me", 200).json()  # the first login makes the user
            p.id, p.role = self.ask(None, "GET", f"/v1/users/{urllib.parse.quote(name)}", 200).json()["id"], me["role"]
            assert me["name"] == name, (me, name)
        else:
            p.id = self.ask(None, "POST", "/v1/users", 201, json={"name": name, "role": role}).json()["id"]
            self.give_token(p, self.rng.choice([40, 100, 300, None]))
        self.people.append(p)
        self.joined += 1
        return p

    def give_token(self, p, days):
        body = {"name": f"token {len(p.tokens)}", **({"days": days} if days else {})}
        made = self.ask(None, "POST", f"/v1/users/{urllib.parse.quote(p.name)}/tokens", 201, json=body).json()
        p.tokens.append([made["token"], made["id"], made["expires"], False])

    def path_of(self, p):
        return f"/v1/users/{urllib.parse.quote(p.name)}"

    def out(self, p):
        """What ends with the login: tokens, links."""
        for t in p.tokens:
            t[3] = True

    def newcomers(self, step):
        """Thirty join over the first three quarters of the year."""
        wanted = min(30, 12 + (18 * step * 4) // (self.steps * 3) + 1)
        while self.joined < wanted:
            k = self.joined
            if k % 3 == 2 and self.front and k // 3 < len(BY_LOGIN):
                self.join(BY_LOGIN[k // 3], by_login=True, groups=[["staff"], ["Staff", "genes-lab"], ["students", "staff"]][k // 3 % 3])
                if "genes-lab" in self.people[-1].groups:
                    self.projects["genes"]["members"].add(self.people[-1].id)
            else:
                own = k - k // 3 if self.front else k  # of those with tokens
                self.join(FIRST[own] if own < len(FIRST) else f"guest{k}", "reader" if k in (14, 21, 25) else "user")
            if self.people[-1].role == "user":
                self.finish_new(self.people[-1])

    # ---- work ----

    def upload(self, p, n=None, **query):
        body = graphs.npz(graphs.ring(n or self.rng.randrange(40, 4000)))
        made = p.ask("POST", "/v1/graphs" + ("?" + urllib.parse.urlencode(query) if query else ""), data=body, headers=BINARY)
        if made.status_code in (200, 201):
            self.graphs.setdefault(made.json()["id"], {p.id})
        return made

    def submit(self, p, graph, status=202, **parameters):
        reply = p.ask("POST", "/v1/jobs", status, json={"graph": graph, **parameters})
        if reply.status_code != 202:
            return reply
        job = Job(reply.json(), p.id, reply.json()["project"])
        self.jobs[job.id] = job
        return job

    def record(self, job):
        return self.ask(None, "GET", f"/v1/jobs/{job.id}", 200, check=False).json()

    def finish(self, job):
        """Waits for its end, and writes down what the server says then."""
        def ended():
            record = self.record(job)
            return record if record["state"] in ("done", "failed", "cancelled") else None
        record = wait_until(ended, 60, f"the end of job {job.id}", every=0.004)
        self.ended(job, record)
        return record

    def ended(self, job, record):
        job.state, job.seconds, job.ended = record["state"], record["seconds"], time.time()
        job.project, job.payer = record["project"], job.owner
        job.finished = self.clock.read(record["finished"])
        self.promise(job, record)
        if job.state == "done":
            layout = self.ask(None, "GET", f"/v1/jobs/{job.id}/layout", 200, check=False)
            job.digest = hashlib.sha256(layout.content).hexdigest()
            sunset = layout.headers.get("Sunset")
            told = email.utils.parsedate_to_datetime(sunset).timestamp() if sunset else None
            if (told is None) != (job.expires is None) or (told and abs(told - job.expires) > 1):
                self.wrong.append(f"job {job.id}: Sunset is {sunset}, its record says {record['expires']}")

    def promise(self, job, record):
        job.expires = self.clock.read(record["expires"]) if record["expires"] else None
        job.keep = record["keep"]

    def ordinary(self):
        """What people do in a step."""
        for _ in range(self.rng.randrange(2, 5)):
            p = self.person()
            made = self.upload(p)
            if made.status_code not in (200, 201):
                self.wrong.append(f"upload of {p.name}: {made.status_code} {made.text[:300]}")
                continue
            graph = made.json()["id"]
            project = self.rng.choice([None, *self.member_of(p)])
            job = self.submit(p, graph, iterations=self.rng.randrange(3, 40), seed=self.rng.randrange(99), project=project)
            self.finish(job)
            chance = self.rng.random()
            if chance < 0.15:
                self.promise(job, p.ask("PATCH", f"/v1/jobs/{job.id}", 200, json={"keep": True}).json())
            elif chance < 0.45:
                self.link(p, job, self.rng.choice([20, 60, 150, 200]) * DAY)
            elif chance < 0.6:
                reader = self.person()
                p.ask("PUT", f"/v1/access/{job.id}", 200, json={"readers": [reader.name]})
            elif chance < 0.7:
                p.ask("DELETE", f"/v1/jobs/{job.id}", 204)
                job.gone = "deleted by its owner"
        for p in self.people:  # whoever's token ends soon gets or makes a new one
            if p.state == "active" and not p.by_login and self.rng.random() < 0.3:
                valid = [t for t in p.tokens if not t[3] and (t[2] is None or t[2] > self.clock.now() + 60)]
                if valid and valid[0][2]:
                    made = p.ask("POST", "/v1/me/tokens", 201, json={"replaces": "this", "overlap_seconds": 0}).json()
                    valid[0][3] = True
                    p.tokens.append([made["token"], made["id"], made["expires"], False])
                elif not valid:
                    self.give_token(p, self.rng.choice([50, 200]))

    def link(self, p, job, seconds):
        made = p.ask("POST", f"/v1/jobs/{job.id}/links", 201, json={"seconds": seconds}).json()
        self.links[made["id"]] = [made["link"], job.id, made["expires"], False]
        job.links.append(made["id"])
        if not job.gone:
            self.promise(job, self.record(job))

    def member_of(self, p):
        return [name for name, project in self.projects.items() if p.id in project["members"]]

    # ---- between the steps ----

    def advance(self):
        """The machine sleeps. Then it removes what is due, and makes a backup."""
        wait_until(lambda: all(b["state"] != "running" for b in self.ask(None, "GET", "/v1/backups", 200).json()["items"]), 30,
                   "the end of the last backup", every=0.02)
        self.clock.move(self.step_s)
        since = "auto-" + time.strftime("%Y-%m-%dT%H%M%SZ", time.gmtime(self.clock.now() - 60))
        due = [j for j in self.jobs.values() if self.due(j)]
        wait_until(lambda: all(self.is_gone(j) for j in due), 30, "what is due is removed", every=0.05)
        wait_until(lambda: max(self.backups(), default="") >= since, 30, "a scheduled backup", every=0.05)
        self.backups_seen |= self.backups()
        self.look()

    def backups(self):
        """Scheduled ones."""
        return {b for b in os.listdir(self.below / "backups") if b.startswith("auto-") and not b.endswith(".part")}

    def due(self, job):
        return job.gone is None and job.expires is not None and job.expires < self.clock.now() and job.state != "queued"

    def is_gone(self, job):
        return self.ask(None, "GET", f"/v1/jobs/{job.id}", check=False).status_code == 404

    def look(self):
        """All that was acknowledged is there, unless it said before that it would go."""
        there = {j["id"]: j for j in self.listed("/v1/jobs")}
        for job in self.jobs.values():
            record = there.get(job.id)
            if record is None and job.gone is None:
                if job.expires is None or job.expires > self.clock.now():
                    self.wrong.append(f"job {job.id} is gone, though it was promised until {job.expires} (now {self.clock.now():.0f})")
                job.gone = "result_retention_s"
                self.removed[job.id] = "result_retention_s"
            elif record is not None and job.gone is not None:
                self.wrong.append(f"job {job.id} is back: {job.gone}")
            elif record is not None and job.ended is not None:
                said = self.clock.read(record["expires"]) if record["expires"] else None
                if (said is None) != (job.expires is None) or (said and abs(said - job.expires) > 0.01):
                    self.wrong.append(f"job {job.id}: expires was {job.expires}, is {said}")

    # ---- starts and stops ----

    def stop(self, crash):
        """SIGTERM or kill -9: an upgrade begins so, or a crash."""
        if crash:
            for job in self.jobs.values():
                job.unsure = job.unsure or not job.ended or time.time() - job.ended < 12
            self.daemon.kill()
        else:
            self.daemon.stop()

    def offline(self, *arguments, folder_=None):
        command = [program("spacelandd"), *arguments, "--state-dir", str(folder_ or self.daemon.state)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        return run.returncode, run.stdout + run.stderr

    def twin(self, p):
        """A job like the first twin, and a job without an end; both run."""
        graph = self.upload(p, 6000).json()["id"]
        made = [self.submit(p, graph, **TWIN), self.submit(p, graph, iterations=1000000, name="endless")]
        wait_until(lambda: all(self.record(j)["iteration"] >= 1 for j in made), 30, "both run", every=0.01)
        return made

    def twins_end(self, p, made):
        record = self.finish(made[0])
        self.said.setdefault("twins", []).append(made[0].digest)
        if made[0].state != "done":
            self.wrong.append(f"an interrupted job: {record['state']} {record['problem']}")
        p.ask("PATCH", f"/v1/jobs/{made[1].id}", 200, json={"cancelled": True})
        self.finish(made[1])

    # ---- smaller things ----

    def finish_new(self, p, **parameters):
        job = self.submit(p, self.upload(p).json()["id"], iterations=9, **parameters)
        self.finish(job)
        return job

    def erase(self, p):
        """Deletes somebody with all that nobody else owns."""
        self.ask(None, "DELETE", self.path_of(p) + "?data=delete", 204)
        p.state = "deleted"
        self.forget(p)
        mine = [j for j in self.jobs.values() if j.owner == p.id and j.gone is None]
        wait_until(lambda: all(self.is_gone(j) for j in mine), 30, "the jobs are removed", every=0.05)
        for job in mine:
            job.gone, self.removed[job.id] = "erasure", f"erasure of {p.name}"
            for one in job.links:
                self.links[one][3] = True
        self.graphs = {g: owners - {p.id} for g, owners in self.graphs.items()}
        self.graphs = {g: owners for g, owners in self.graphs.items() if owners}

    def forget(self, p):
        self.out(p)
        for project in self.projects.values():
            project["members"].discard(p.id)

    def member(self, name, p, leaves=False):
        path = f"/v1/projects/{name}/members/{urllib.parse.quote(p.name)}"
        self.ask(None, "DELETE" if leaves else "PUT", path, 204 if leaves else 200)
        (self.projects[name]["members"].discard if leaves else self.projects[name]["members"].add)(p.id)

    def metric(self, name):
        text = self.ask(None, "GET", "/metrics", 200, check=False).text
        return next(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name + " ") or line.startswith(name + "{"))

    def reload(self, **options):
        self.daemon.options.update(options)
        self.daemon.write_config()
        before = self.daemon.stderr().count("configuration read again")
        self.daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.daemon.stderr().count("configuration read again") > before, 10, "the configuration is read again")

    def expiry(self, job, days):
        """As the documentation says."""
        return max([job.finished + days * DAY, *(self.links[i][2] for i in job.links if not self.links[i][3])])

    def digests(self):
        return {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in self.daemon.state.rglob("*") if p.is_file()}

    def alone(self, address, path, **options):
        """The status of one request from an address of its own."""
        with requests.Session() as session:
            session.trust_env, session.verify = False, self.daemon.authority
            session.mount("https://", From(address))
            return session.get(self.daemon.url + path, timeout=30, **options).status_code

    def name_of(self, id_):
        return next((p.name for p in self.people if p.id == id_), None)
