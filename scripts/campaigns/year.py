"""A lab's year with one server, and at its end a table: what was promised, and what is there.

usage: year.py [STEPS]    (./dev soak year [STEPS]; default 52: weeks)

Thirty people join, leave and come back; projects change hands; there are limits, public links, backups, three upgrades
(the present program takes the place of itself, after SIGTERM and after kill -9), two drains, a full disk, a lost data
base, a renewed certificate, and logins through nginx. The clock of the server runs ahead: between two steps the machine
seems to have slept (tests/clock/shim.c), so that retention, links, tokens, backups and accounting have their real times.

What the server says is written down: replies, times of expiry, the audit log, accounting. In the end, and after each
step, all of it is compared with what is there. Exit status: 1 for any difference.
"""
import contextlib
import hashlib
import os
import shutil
import subprocess
import sqlite3
import sys
import time
import urllib.parse

from common import folder, seed_of_run
from year_lab import BY_LOGIN, DAY, KEPT_BACKUPS, ROOT_TOKEN, TWIN, From, Lab, Person  # also the path of tests/api

import requests  # noqa: E402

import certificates  # noqa: E402  (tests/api)
import nginx  # noqa: E402
from harness import Api, Daemon, wait_until  # noqa: E402


class Year(Lab):
    """What happens, and the balance."""

    # ---- what happens in the year ----

    def founding(self):
        """The first people, and three projects."""
        self.ask(None, "POST", "/v1/projects", 201, json={"name": "genes", "share": 2})
        self.ask(None, "POST", "/v1/projects", 201, json={"name": "atlas", "keep": True})
        self.ask(None, "POST", "/v1/projects", 201, json={"name": "old", "limits": {"queued_jobs": 1}})
        for name in ("genes", "atlas", "old"):
            self.projects[name] = {"members": set(), "keep": name == "atlas"}
        self.newcomers(0)
        users = [p for p in self.people if p.role == "user" and not p.by_login]  # groups decide about the others in genes
        for k, p in enumerate(users):
            self.member(self.rng.choice(["genes", "atlas", "old"]) if k > 2 else ["genes", "atlas", "old"][k], p)
        self.said["twin"] = self.first_twin(users[0])

    def first_twin(self, p):
        graph = self.upload(p, 6000).json()["id"]
        job = self.submit(p, graph, **TWIN)
        self.finish(job)
        return job.digest

    def first_drain(self):
        """It lasts over an upgrade; what runs is saved, and goes on."""
        p = self.person("ann")
        twins = self.twin(p)
        self.ask(None, "PUT", "/v1/maintenance/banner", 200, json={"text": "New disks on Friday.", "until": 3600})
        self.ask(None, "PUT", "/v1/maintenance/drain", 200, json={"by": 0, "reason": "New disks."})
        wait_until(lambda: all(self.record(j)["state"] == "queued" for j in twins), 30, "they are saved", every=0.02)
        refused = p.ask("POST", "/v1/jobs", 503, json={"graph": self.record(twins[0])["graph"]})
        self.table.compare("drain 1: new jobs are refused, and told when to come back", True,
                           "New disks." in refused.json()["detail"] and "Retry-After" in refused.headers)
        self.stop(crash=True)
        self.daemon.start_unready()
        state = self.ask(None, "GET", "/v1/maintenance", 200).json()
        self.table.compare("drain 1 and its banner last over kill -9", ["New disks.", "New disks on Friday."],
                           [state["drain"]["reason"], state["banner"]["text"]])
        self.table.compare("drain 1: saved jobs wait after the upgrade", ["queued", "queued"], [self.record(j)["state"] for j in twins])
        self.ask(None, "DELETE", "/v1/maintenance/drain", 200)
        self.ask(None, "DELETE", "/v1/maintenance/banner", 200)
        self.twins_end(p, twins)

    def quotas(self):
        p = self.person("bob")
        used = self.ask(None, "GET", self.path_of(p), 200).json()["use"]["disk_bytes"]
        p.limits = {"disk_bytes": used + 2_000_000, "queued_jobs": 1, "running_jobs": 1}
        self.ask(None, "PATCH", self.path_of(p), 200, json={"limits": p.limits})
        shown = self.ask(None, "GET", self.path_of(p), 200).json()
        self.table.compare("limits in force are those of the user", ["user"] * 3,
                           [shown["in_force"][name]["of"] for name in ("disk_bytes", "queued_jobs", "running_jobs")])
        big = self.upload(p, 100000)
        self.table.compare("a graph beyond disk_bytes is refused", (413, "disk_bytes"), (big.status_code, big.json().get("limit", {}).get("name")))
        graph = self.upload(p, 8000).json()["id"]
        made = [self.submit(p, graph, iterations=50000)]
        wait_until(lambda: self.record(made[0])["state"] == "running", 20, "it runs")
        made.append(self.submit(p, graph, iterations=2))
        refused = self.submit(p, graph, None, iterations=2)
        self.table.compare("a third job is refused by queued_jobs", 429, getattr(refused, "status_code", 202))
        self.ask(None, "DELETE", self.path_of(p) + "/tokens", 204)  # it lifts no limit
        self.out(p)
        self.table.compare("without tokens the limits stay", "limit", (self.record(made[1])["waiting"] or {}).get("reason"))
        self.give_token(p, None)
        p.ask("PATCH", f"/v1/jobs/{made[0].id}", 200, json={"cancelled": True})
        for job in made:
            self.finish(job)

    def leave(self):
        """One is disabled, one is deleted and all goes to another, one is deleted with data; a name comes back."""
        ann, cat, dan, eva = (self.person(name) for name in ("ann", "cat", "dan", "eva"))
        waiting = {}
        for p in (ann, cat):
            self.ask(None, "PATCH", self.path_of(p), 200, json={"limits": {"running_jobs": 1}})
            p.limits = {"running_jobs": 1}
            graph = self.upload(p, 9000).json()["id"]
            waiting[p.name] = [self.submit(p, graph, iterations=1000000)]
            wait_until(lambda p=p: self.record(waiting[p.name][0])["state"] == "running", 20, "it runs")
            waiting[p.name].append(self.submit(p, graph, iterations=3))
        shared = self.finish_new(dan)
        self.link(dan, shared, 200 * DAY)
        self.ask(None, "PATCH", self.path_of(ann), 200, json={"disabled": True})
        ann.state = "disabled"
        self.ask(None, "DELETE", self.path_of(cat), 204)
        cat.state = "deleted"
        self.forget(cat)
        for p in (ann, cat):
            self.ask(None, "PATCH", f"/v1/jobs/{waiting[p.name][0].id}", 200, json={"cancelled": True})
            self.finish(waiting[p.name][0])
        time.sleep(0.3)
        self.table.compare("jobs of owners who are gone wait for a decision", ["owner", "owner"],
                           [(self.record(waiting[p.name][1])["waiting"] or {}).get("reason") for p in (ann, cat)])
        self.ask(None, "POST", f"/v1/users/{cat.id}/transfer", 200, json={"to": eva.name})
        for things in (self.jobs.values(),):
            for job in things:
                job.owner = eva.id if job.owner == cat.id and job.gone is None else job.owner
        for graph, owners in self.graphs.items():
            if cat.id in owners:
                self.graphs[graph] = owners - {cat.id} | {eva.id}
        self.finish(waiting["cat"][1])
        again = self.join("cat")  # somebody else
        self.table.compare("a name that comes back is another person, who owns nothing", (False, 0),
                           (again.id == cat.id, len(again.ask("GET", "/v1/jobs", 200).json()["items"])))
        self.erase(dan)
        self.said["waits for ann"] = waiting["ann"][1]

    def return_(self):
        """Ann is let in again; fay is deleted and restored, gus gets another name."""
        ann = next(p for p in self.people if p.name == "ann")
        self.table.compare("a disabled user's job has waited all the time", "owner",
                           (self.record(self.said["waits for ann"])["waiting"] or {}).get("reason"))
        self.ask(None, "PATCH", self.path_of(ann), 200, json={"disabled": False, "limits": {"running_jobs": None}})
        ann.state, ann.limits = "active", {}
        self.finish(self.said["waits for ann"])
        fay, gus = self.person("fay"), self.person("gus")
        job = self.finish_new(fay)
        self.ask(None, "DELETE", self.path_of(fay), 204)
        self.forget(fay)
        self.ask(None, "POST", "/v1/users", 201, json={"name": "fay", "restore": True})
        self.give_token(fay, None)
        self.table.compare("a restored user has the same things", (200, True), (
            fay.ask("GET", f"/v1/jobs/{job.id}").status_code, fay.ask("GET", f"/v1/jobs/{job.id}").json().get("may_change")))
        self.ask(None, "PATCH", self.path_of(gus), 200, json={"name": "Gustav Öhm"})
        gus.name = "Gustav Öhm"
        long = [p for p in self.people if len(p.name) > 100]
        if long:  # accounting goes on to name who is gone
            self.erase(long[0])
        self.table.compare("a renamed user's token goes on", "Gustav Öhm", gus.ask("GET", "/v1/me", 200).json()["name"])

    def hands(self):
        """A project's members change; another is removed."""
        genes = self.projects["genes"]
        for name in ("gus", "hal"):
            p = self.person(name)
            if p.id not in genes["members"]:
                self.member("genes", p)
        members = [p for p in self.people if p.id in genes["members"] and p.can() and not p.by_login and not p.limits]
        others = [p for p in self.people if p.can() and p.id not in genes["members"] and not p.by_login and p.role == "user"]
        job = self.finish_new(members[0], project="genes")
        members[0].ask("PUT", f"/v1/access/{job.id}", 200, json={"projects": ["genes"]})
        self.member("genes", others[0])
        self.member("genes", members[-1], leaves=True)
        told = [p.ask("GET", f"/v1/jobs/{job.id}").status_code for p in (others[0], members[-1])]
        self.table.compare("a project's job: its new member reads it, its former one does not",
                           [200, 404] if members[-1] is not members[0] else [200, 200], told)
        self.ask(None, "PATCH", "/v1/projects/genes", 200, json={"share": 3})
        self.ask(None, "DELETE", "/v1/projects/old", 204)
        del self.projects["old"]
        for job in self.jobs.values():
            if job.project == "old":
                job.project = None

    def retention(self):
        """A shorter time is a dry run, also over a restart; then somebody confirms."""
        self.reload(result_retention_s=60 * DAY)
        pending = self.ask(None, "GET", "/v1/retention", 200).json()["pending"]
        soon = self.clock.now() + DAY
        doomed = [j for j in self.jobs.values() if j.gone is None and j.expires is not None and self.expiry(j, 60) <= soon and self.expiry(j, 60) < j.expires]
        self.table.compare("retention: the dry run names as many results as it would delete within a day", len(doomed),
                           pending["jobs"] if pending else 0)
        time.sleep(0.3)
        self.look()
        self.stop(crash=False)
        self.daemon.start()
        self.look()  # a restart is no confirmation
        if pending:
            self.ask(None, "POST", "/v1/retention", 200, json={"result_retention_s": 60 * DAY, "max_finished_jobs": 0})
        for job in self.jobs.values():
            if job.gone is None and job.expires is not None:
                job.expires = self.expiry(job, 60)
        due = [j for j in self.jobs.values() if self.due(j)]
        wait_until(lambda: all(self.is_gone(j) for j in due), 30, "they are removed", every=0.05)
        self.look()

    def full_disk(self):
        if not self.disk:
            self.table.note("a full disk", "skipped: nothing can be mounted here")
            return
        p = self.person("hal", "ida", "jon", "leo")
        job, other = self.finish_new(p), self.finish_new(p)
        ballast = self.daemon.state / "ballast"
        with open(ballast, "wb", buffering=0) as f, contextlib.suppress(OSError):
            while True:
                f.write(bytes(65536))
        refused = self.upload(p, 50000)
        self.table.compare("full disk: uploads are refused with 507", 507, refused.status_code)
        self.table.compare("full disk: it is not ready, before or after", True,
                           requests.get(self.daemon.url + "/v1/health/ready", timeout=20, verify=self.daemon.authority).status_code == 507)
        layout = p.ask("GET", f"/v1/jobs/{job.id}/layout", 200, check=False)
        self.table.compare("full disk: results are served", job.digest, hashlib.sha256(layout.content).hexdigest())
        self.promise(job, p.ask("PATCH", f"/v1/jobs/{job.id}", 200, json={"keep": True}).json())
        p.ask("DELETE", f"/v1/jobs/{other.id}", 204)
        other.gone = "deleted by its owner"
        self.stop(crash=True)
        self.daemon.start_unready()
        self.table.compare("full disk: what was changed on it outlives kill -9", [True, 404], [
            self.record(job)["keep"], self.ask(None, "GET", f"/v1/jobs/{other.id}").status_code])
        ballast.unlink()
        wait_until(lambda: requests.get(self.daemon.url + "/v1/health/ready", timeout=20, verify=self.daemon.authority).status_code == 200,
                   20, "it is ready again")
        self.finish_new(p)

    def upgrade(self):
        """SIGTERM, while jobs run; a folder of another version is refused, and stays as it is."""
        p = self.unlimited()
        twins = self.twin(p)
        self.stop(crash=False)
        with contextlib.closing(sqlite3.connect(self.daemon.state / "spacelandd.db")) as db, db:
            schema = db.execute("pragma user_version").fetchone()[0]
            db.execute(f"pragma user_version = {schema + 1}")
        before = self.digests()
        code, said = self.offline("--config", str(self.daemon.write_config()))
        self.table.compare("a state folder of another version is refused, unchanged", (2, True, True),
                           (code, "Nothing was changed" in said, self.digests() == before))
        with contextlib.closing(sqlite3.connect(self.daemon.state / "spacelandd.db")) as db, db:
            db.execute(f"pragma user_version = {schema}")
        self.daemon.start()
        self.twins_end(p, twins)

    def certificate(self):
        """A new one, while a stream is open."""
        with requests.get(self.daemon.url + "/v1/events", stream=True, timeout=30, verify=self.daemon.authority,
                          headers={"Authorization": f"Bearer {ROOT_TOKEN.split()[0]}"}) as stream:
            lines = stream.iter_lines()
            next(lines)
            before = (self.below / "server.pem").read_bytes()
            was = self.metric("spaceland_tls_certificate_expiry_timestamp_seconds")
            with self.true_clock():
                certificates.make(self.below, key="rsa", days=800)
            self.reload()
            for p in self.people:
                p.api.session.close()
            self.root.session.close()
            self.table.compare("certificate: renewed by a reload, with its new time in /metrics", (True, True), (
                before != (self.below / "server.pem").read_bytes(),
                self.metric("spaceland_tls_certificate_expiry_timestamp_seconds") > was + 300 * DAY))
            p = self.unlimited()
            job = self.finish_new(p)
            seen = next(line for line in lines if job.id.encode() in line)
            self.table.compare("certificate: streams that were open go on", True, bool(seen))

    def second_drain(self):
        """Running jobs finish, others wait; SIGTERM and a start in between."""
        p = self.unlimited()
        graph = self.upload(p, 9000).json()["id"]
        running = self.submit(p, graph, iterations=1000000)
        wait_until(lambda: self.record(running)["state"] == "running", 20, "it runs")
        after = self.submit(p, graph, iterations=3, after=running.id)
        self.ask(None, "PUT", "/v1/maintenance/drain", 200, json={"reason": "The roof."})
        p.ask("PATCH", f"/v1/jobs/{running.id}", 200, json={"stop": True})
        self.finish(running)
        self.table.compare("drain 2: what runs finishes", "done", running.state)
        self.stop(crash=False)
        self.daemon.start_unready()
        self.table.compare("drain 2: what waits goes on waiting", "maintenance", (self.record(after)["waiting"] or {}).get("reason"))
        self.ask(None, "DELETE", "/v1/maintenance/drain", 200)
        self.finish(after)

    def lost(self):
        """The data base is lost, with its log; the records are made from the files and people.json."""
        time.sleep(2.5)  # the copy of people.json is at most ten seconds old, and comes with the end of the process
        self.stop(crash=False)
        for path in self.daemon.state.glob("spacelandd.db*"):
            if not path.name.endswith(".generation"):
                path.unlink()
        code, _ = self.offline("--config", str(self.daemon.write_config()))
        self.table.compare("a lost data base: the start is refused", True, code not in (0, None))
        code, said = self.offline("--repair-state")
        self.table.compare("a lost data base: --repair-state brings the people back", (0, True), (code, "are restored as of" in said))
        self.daemon.start()
        there = {j["id"]: j for j in self.listed("/v1/jobs")}
        for job in self.jobs.values():
            if job.gone is None and job.id not in there and job.state == "cancelled":
                job.gone = "told: had no result"
        self.look()

    def logins(self):
        """Through nginx: a new group, none, a disabled user, other letters."""
        if not self.front:
            return
        ulla, other = (p for p in self.people if p.name in (BY_LOGIN[0], BY_LOGIN[1]))
        ulla.groups = ["genes-lab", "heads"]
        me = ulla.ask("GET", "/v1/me", 200).json()
        self.table.compare("login: groups give role and project", ("administrator", True), (me["role"], "genes" in me["projects"]))
        ulla.groups = ["Staff"]
        me = ulla.ask("GET", "/v1/me", 200).json()
        self.table.compare("login: they take them again", ("user", False), (me["role"], "genes" in me["projects"]))
        ulla.groups = ["visitors"]
        self.table.compare("login: without a group of the list nobody comes in", 403, ulla.ask("GET", "/v1/me").status_code)
        ulla.groups = ["staff"]
        stranger = Person(self, other.name.upper().replace("SS", "ß"), by_login=True)
        stranger.groups = other.groups
        me = stranger.ask("GET", "/v1/me", 200).json()
        self.table.compare("login: other letters are the same person", other.name, me["name"])
        self.ask(None, "PATCH", self.path_of(other), 200, json={"disabled": True})
        other.state = "disabled"
        self.table.compare("login: a disabled user stays out", [403, 403], [other.ask("GET", "/v1/me").status_code,
                                                                           stranger.ask("GET", "/v1/me").status_code])

    def go_back(self):
        """A backup of the middle of the year, on a machine of its own."""
        names = sorted(self.backups())
        copy = self.below / "copy"
        shutil.copytree(self.below / "backups" / names[-1], copy / "state", symlinks=True)
        code, said = self.offline("--verify-state", folder_=copy / "state")
        self.table.compare("the newest backup has no damage", (0, ""), (code, said if code else ""))
        d = Daemon(copy, **self.daemon.options)
        d.options["backup_dir"] = ""
        with d:
            api = Api(d)
            api.session.headers["Authorization"] = f"Bearer {ROOT_TOKEN.split()[0]}"
            api.session.mount("https://", From("127.0.1.1"))
            users = {u["id"] for u in api.get("/v1/users").json()["items"]}
        self.table.compare("the newest backup starts, with the people of its time", set(),
                           {p.name for p in self.people if p.state != "deleted" and p.id not in users and p.id in self.said["people"]})

    # ---- the end of the year ----

    def balance(self):
        """The table."""
        t = self.table
        users = {u["id"]: u for u in self.listed("/v1/users")}
        active = [p for p in self.people if p.state != "deleted"]
        t.compare("people: names, roles and states", {(p.name, p.role, p.state) for p in active},
                  {(u["name"], u["role"], u["state"]) for u in users.values()})
        t.compare("people: limits of their own", {(p.name, k, v) for p in active for k, v in p.limits.items()},
                  {(u["name"], k, v) for u in users.values() for k, v in u["limits"].items() if v is not None})
        t.compare("projects and their members", {(n, id_) for n, p in self.projects.items() for id_ in p["members"]},
                  {(p["name"], next(u["id"] for u in users.values() if u["name"] == m)) for p in self.listed("/v1/projects") for m in p["members"]})
        good, bad, found_good, found_bad = [], [], [], []
        for p in self.people:
            for secret, id_, ends, revoked in p.tokens:
                valid = not revoked and p.state == "active" and (ends is None or ends > self.clock.now() + 5)
                status = self.alone(p.address if valid else next(p.wrong_address), "/v1/me", headers={"Authorization": f"Bearer {secret}"})
                (good if valid else bad).append(id_)
                if status == 200:
                    (found_good if valid else bad).append(id_)
                elif status == 401:
                    (found_bad if not valid else found_good).append(id_ if not valid else f"{id_}: 401")
        t.compare("tokens that are valid", set(good), set(found_good))
        t.compare("tokens that have ended, were revoked or replaced: refused", set(bad), set(found_bad))
        there = {j["id"]: j for j in self.listed("/v1/jobs")}
        alive = {j.id: j for j in self.jobs.values() if j.gone is None}
        t.compare("jobs that were acknowledged, and not deleted", set(alive), set(there))
        t.compare("jobs: state and owner", {(j.id, j.state, self.name_of(j.owner)) for j in alive.values()},
                  {(j["id"], j["state"], j["owner"]) for j in there.values()})
        t.compare("results, by their digests", {(j.id, j.digest) for j in alive.values() if j.digest}, {
            (id_, hashlib.sha256(self.ask(None, "GET", f"/v1/jobs/{id_}/layout", check=False).content).hexdigest())
            for id_, j in there.items() if j["state"] == "done"})
        t.compare("interrupted runs with the bytes of the first one", [self.said["twin"]] * len(self.said["twins"]), self.said["twins"])
        t.compare("graphs", set(self.graphs), {g["id"] for g in self.listed("/v1/graphs")})
        t.compare("kept jobs", {j.id for j in alive.values() if j.keep}, {j["id"] for j in there.values() if j["keep"]})
        t.compare("expiry of the remaining results as their records and headers said",
                  {(j.id, j.expires and round(j.expires)) for j in alive.values() if j.ended},
                  {(id_, j["expires"] and round(self.clock.read(j["expires"]))) for id_, j in there.items() if j["finished"]})
        self.balance_links()
        self.balance_audit()
        self.balance_accounting()
        log = self.daemon.stderr()
        kept = set(sorted(self.backups_seen)[-KEPT_BACKUPS:])
        told = [b for b in self.backups() if f"{b} stays, with those after it" in log]
        kept |= {b for b in self.backups_seen if told and b >= min(told)}
        t.compare("scheduled backups: the newest are kept, with those whose number of files the log tells", kept, self.backups())
        t.compare("metrics: users, projects", (float(len(active)), float(len(self.projects))),
                  (self.metric("spaceland_users"), self.metric("spaceland_projects")))
        t.compare("metrics: the last backup is younger than two steps", True,
                  self.clock.now() - self.metric("spaceland_last_backup_timestamp_seconds") < 2 * self.step_s)
        self.daemon.stop()
        code, said = self.offline("--verify-state")
        t.compare("--verify-state finds nothing", (0, ""), (code, said if code else ""))

    def balance_links(self):
        said, found = {}, {}
        for k, (id_, (secret, job, ends, revoked)) in enumerate(self.links.items()):
            maker = next(p for p in self.people if p.id == self.jobs[job].owner)
            valid = not revoked and ends > self.clock.now() + 5 and self.jobs[job].gone is None and maker.state == "active"
            address = f"127.0.2.{k % 250 + 1}" if valid else f"127.2.{k // 250}.{k % 250 + 1}"
            status = self.alone(address, f"/v1/jobs/{job}", params={"link": secret})
            said[id_], found[id_] = valid, status == 200
        self.table.compare("public links that are valid", {i for i, v in said.items() if v}, {i for i, v in found.items() if v})
        self.table.compare("no result went before its public links", set(), {
            j.id for j in self.jobs.values() if j.gone == "result_retention_s"
            and any(self.links[i][2] > self.clock.now() and not self.links[i][3] for i in j.links)})

    def balance_audit(self):
        items = self.ask(None, "GET", "/v1/audit?limit=100000", 200).json()["items"]
        changes = {c[0] for c in self.changes}

        def line(request, user, method, path, status):
            return request, user, method, urllib.parse.unquote(path), status
        mine = [line(e["request"], e["user"], e["method"], e["path"], e["status"]) for e in items if e["request"] in changes]
        self.table.compare("audit: one line for each change, with user, path and status", sorted(line(*c) for c in self.changes), sorted(mine))
        self.table.compare("audit: a line for each person whom the login has added", {p.name for p in self.people if p.by_login}, {
            e["user"] for e in items if e["request"] and e["request"] not in changes and (e["method"], e["status"]) == ("POST", 201)})
        self.table.compare("audit: every result that the server deleted", {(f"/v1/jobs/{j}", why) for j, why in self.removed.items()},
                           {(e["path"], e["user"]) for e in items if not e["request"] and e["method"] == "DELETE"
                            and e["path"].startswith("/v1/jobs/")})

    def balance_accounting(self):
        """After kill -9, what ended in the ten seconds before may be missing; what a crash interrupted was computed twice."""
        rows = {r["user_id"]: r for r in self.ask(None, "GET", "/v1/accounting?by=user", 200).json()["items"]}
        ended = [j for j in self.jobs.values() if j.ended]
        said, there = {}, {}
        for id_ in {j.payer for j in ended} | set(rows):
            mine = [j for j in ended if j.payer == id_]
            row = rows.get(id_, {"user": None, "jobs": 0, "device_seconds": 0})
            least, most = (sum(f(j) for j in mine) for f in (lambda j: not j.unsure, lambda j: 1))
            if mine or row["jobs"] or row["device_seconds"]:
                said[id_] = self.name_of(id_), most, True
                used, unsure = sum(j.seconds for j in mine), sum(j.seconds for j in mine if j.unsure)
                there[id_] = (row["user"], most if least <= row["jobs"] <= most else row["jobs"],
                              abs(row["device_seconds"] - used) <= 2 * unsure + 0.1 * used + 0.01)
        self.table.compare("accounting: name, jobs, and device time of each user", set(said.values()), set(there.values()))
        self.table.compare("accounting: all jobs of the year", True, sum(not j.unsure for j in ended) <= sum(
            r["jobs"] for r in rows.values()) <= len(ended))

    # ---- the whole ----

    def play(self):
        events = [(0.0, self.founding), (0.1, self.first_drain), (0.18, self.quotas), (0.25, self.leave), (0.32, self.hands), (0.38, self.upgrade),
                  (0.45, self.retention), (0.5, self.full_disk), (0.55, self.return_), (0.6, self.certificate), (0.66, self.second_drain),
                  (0.72, self.upgrade), (0.8, self.lost), (0.88, self.logins), (0.93, self.upgrade)]
        self.daemon.start()
        self.root = Api(self.daemon)
        self.root.session.mount("https://", From("127.0.1.1"))
        with contextlib.ExitStack() as stack:
            if self.login:
                (self.below / "nginx").mkdir()
                self.front, _ = stack.enter_context(nginx.in_front(self.below / "nginx", self.daemon.port, https=True))
            else:
                self.table.note("logins through nginx", "skipped: nginx is not installed")
            for step in range(self.steps):
                while events and events[0][0] <= step / self.steps:
                    event = events.pop(0)[1]
                    begun = time.monotonic()
                    event()
                    self.say(f"step {step}: {event.__name__} ({time.monotonic() - begun:.1f} s)", flush=True)
                self.newcomers(step)
                self.ordinary()
                self.said["people"] = {p.id for p in self.people}
                self.advance()
            self.go_back()
            self.balance()

    def end(self):
        if self.daemon.process:
            self.daemon.process.kill()
            self.daemon.process.wait()
        if self.disk:
            subprocess.run(["umount", "-l", str(self.daemon.state)], check=True)
        for name in ("LD_PRELOAD", "CLOCK"):
            os.environ.pop(name, None)


def campaign(below, steps, seed, say=print):
    """Returns (errors, figures, the table's text)."""
    year = Year(below, steps, seed, say)
    try:
        year.play()
    except (AssertionError, requests.RequestException) as error:
        year.wrong.append(f"{type(error).__name__}: {error}\n{year.daemon.stderr()[-2000:]}")
        if os.environ.get("SOAK_TRACE"):
            raise
    finally:
        year.end()
    figures = {"people": year.joined, "requests": year.requests, "changes": len(year.changes), "jobs": len(year.jobs),
               "removed by age": sum(1 for why in year.removed.values() if why == "result_retention_s"), "links": len(year.links)}
    return year.wrong + year.table.wrong(), figures, year.table.text()


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 52
    seed = seed_of_run()
    begun = time.monotonic()
    with folder("year") as below:
        wrong, figures, text = campaign(below, steps, seed)
    print(text)
    print("\n".join(wrong) or "what was promised is there")
    print(", ".join(f"{k}: {v}" for k, v in figures.items()) + f", {time.monotonic() - begun:.0f} s", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
