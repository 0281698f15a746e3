"""Several users: none occupies all places, they share device time, and the one who has had the least is next."""
import pytest

import graphs
from harness import Api, Daemon, wait_until

ROOT = "root-token-of-a-test-that-is-long-enough"


class Lab:
    def __init__(self, folder):
        (folder / "tokens").write_text(ROOT + "\n")
        self.daemon = Daemon(folder, token_file=str(folder / "tokens"), max_jobs=4096).start()
        root = self.api(ROOT)
        for name in ("ann", "bob", "cat"):
            root.post("/v1/users", 201, json={"name": name, "role": "user"})
            token = root.post(f"/v1/users/{name}/tokens", 201).json()["token"]
            setattr(self, name, self.api(token))
        self.graph = self.ann.upload(graphs.npz(graphs.ring(10001, 1)))["id"]
        self.ann.request("PUT", f"/v1/access/{self.graph}", 200, json={"everybody": True})

    def api(self, token):
        api = Api(self.daemon)
        api.session.headers["Authorization"] = f"Bearer {token}"
        return api


@pytest.fixture
def lab(tmp_path):
    made = Lab(tmp_path)
    yield made
    made.daemon.stop()


def running(api):
    return sum(job["state"] == "running" for job in api.get("/v1/jobs", params={"limit": 1000}).json()["items"])


@pytest.mark.limit(150)
def test_no_user_holds_all_places(lab):
    jobs = [lab.ann.submit(lab.graph, iterations=1000000)["id"] for _ in range(40)]
    wait_until(lambda: running(lab.ann) == 24, 60, "ann has her places")
    told = lab.ann.job(jobs[-1])["waiting"]
    assert told["reason"] == "place" and "one user may have" in told["detail"]
    other = lab.bob.submit(lab.graph, iterations=1000000)["id"]
    wait_until(lambda: lab.bob.job(other)["state"] == "running", 20, "bob's job runs")
    wait_until(lambda: lab.bob.job(other)["iteration"] > 5, 20, "it gets on")
    # bob gets half of the device, although ann has 24 jobs
    first = {job: lab.ann.job(job)["seconds"] for job in jobs}
    had = lab.bob.job(other)["seconds"]
    wait_until(lambda: lab.bob.job(other)["seconds"] > had + 4, 100, "bob has had four seconds")
    bob = lab.bob.job(other)["seconds"] - had
    ann = sum(lab.ann.job(job)["seconds"] - first[job] for job in jobs)
    assert 0.6 < bob / ann < 1.6, (bob, ann)  # by number of jobs it would be 0.04
    assert running(lab.ann) == 24
    lab.daemon.kill()
    lab.daemon.start()  # jobs keep their users over a restart
    wait_until(lambda: lab.bob.job(other)["state"] == "running", 60, "bob's job runs again")
    wait_until(lambda: running(lab.ann) == 24, 60, "ann has her places again")


@pytest.mark.longest
@pytest.mark.limit(150)
def test_no_user_keeps_out_the_small_jobs_of_others(lab):
    """A user whose jobs never end has at most three quarters of the places for small jobs."""
    small = lab.ann.upload(graphs.mtx(graphs.ring(12)))["id"]
    lab.ann.request("PUT", f"/v1/access/{small}", 200, json={"everybody": True})
    jobs = [lab.ann.submit(small, iterations=1000000, seed=seed)["id"] for seed in range(520)]
    wait_until(lambda: running(lab.ann) == 384, 60, "ann has her places for small jobs")
    told = lab.ann.job(jobs[-1])["waiting"]
    assert told["reason"] == "place" and "one user may have for small jobs" in told["detail"]
    assert lab.bob.run(small, iterations=20, seconds=60)["state"] == "done"
    for job in jobs[:10]:
        lab.ann.patch(f"/v1/jobs/{job}", json={"cancelled": True})
    wait_until(lambda: lab.ann.job(jobs[393])["state"] == "running", 60, "others of ann follow")
    assert running(lab.ann) == 384


def test_the_one_who_has_had_least_is_next(lab):
    """Of two users with waiting jobs, the one without device time is next, although the other came first."""
    ann = [lab.ann.submit(lab.graph, iterations=1000000)["id"] for _ in range(24)]
    bob = [lab.bob.submit(lab.graph, iterations=1000000)["id"] for _ in range(9)]
    wait_until(lambda: running(lab.ann) == 24 and running(lab.bob) == 8, 60, "all places are taken")
    wait_until(lambda: all(lab.bob.job(job)["iteration"] for job in bob[:8]), 60, "they have computed")
    cat = lab.cat.submit(lab.graph, iterations=1000000)["id"]
    assert lab.bob.job(bob[8])["state"] == lab.cat.job(cat)["state"] == "queued"
    lab.ann.patch(f"/v1/jobs/{ann[0]}", json={"cancelled": True})
    wait_until(lambda: lab.cat.job(cat)["state"] == "running", 20, "cat is next")
    assert lab.bob.job(bob[8])["state"] == "queued"
    lab.ann.patch(f"/v1/jobs/{ann[1]}", json={"cancelled": True})
    wait_until(lambda: lab.bob.job(bob[8])["state"] == "running", 20, "then bob")


def test_the_one_without_a_place_is_next(lab):
    """Even if a user has used the most: without a place the user gets none of its share."""
    first = lab.cat.submit(lab.graph, iterations=1000000)["id"]
    wait_until(lambda: lab.cat.job(first)["seconds"] > 4, 60, "cat has computed")
    lab.cat.patch(f"/v1/jobs/{first}", json={"cancelled": True})
    ann = [lab.ann.submit(lab.graph, iterations=1000000)["id"] for _ in range(24)]
    bob = [lab.bob.submit(lab.graph, iterations=1000000)["id"] for _ in range(9)]
    wait_until(lambda: running(lab.ann) == 24 and running(lab.bob) == 8, 60, "all places are taken")
    cat = lab.cat.submit(lab.graph, iterations=1000000)["id"]
    lab.ann.patch(f"/v1/jobs/{ann[0]}", json={"cancelled": True})
    wait_until(lambda: lab.cat.job(cat)["state"] == "running", 20, "cat is next")
    assert lab.bob.job(bob[8])["state"] == "queued"
