"""Projects on a server with users: a job's project, its readers, members."""
import sys

import numpy as np
import pytest

import spaceland
from conftest import ROOT, clusters

sys.path.insert(0, str(ROOT / "tests" / "api"))
from harness import Api, Daemon  # noqa: E402

TOKEN = "a-token-of-twenty-characters"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A server, and the clients of its administrator, of ann and of bob."""
    folder = tmp_path_factory.mktemp("projects")
    (folder / "tokens").write_text(TOKEN + "\n")
    (folder / "tokens").chmod(0o600)
    daemon = Daemon(folder / "daemon", token_file=str(folder / "tokens")).start()
    admin = Api(daemon)
    admin.session.headers["Authorization"] = f"Bearer {TOKEN}"

    def client(name):
        admin.post("/v1/users", 201, json={"name": name})
        return spaceland.Client(daemon.url, admin.post(f"/v1/users/{name}/tokens", 201, json={}).json()["token"])
    yield spaceland.Client(daemon.url, TOKEN), client("ann"), client("bob")
    daemon.stop()


def test_members(lab):
    root, ann, bob = lab
    genes = root.add_project("genes", ["ann"], share=2, limits={"running_jobs": 3})
    assert genes.members == ["ann"] and genes.record["share"] == 2 and genes.record["limits"]["running_jobs"] == 3
    assert [p.name for p in ann.projects()] == ["genes"] and bob.projects() == []
    assert genes.add("bob").members == ["ann", "bob"] and bob.project("genes").members == ["ann", "bob"]
    assert genes.remove("bob").members == ["ann"] and genes.change(share=0.5).record["share"] == 0.5
    with pytest.raises(spaceland.SpacelandError):
        bob.project("genes")
    with pytest.raises(spaceland.NotAllowed):
        ann.add_project("mine")
    genes.delete()
    assert root.projects() == []


def test_jobs_of_a_project(lab):
    root, ann, bob = lab
    root.add_project("cells", ["ann", "bob"])
    x = clusters(100, seed=5)[0]
    job = ann.submit(x, project="cells", iterations=5, perplexity=5)
    job.wait(60)
    other = ann.submit(job.graph, iterations=5, perplexity=5)
    other.wait(60)
    assert job.record["project"] == "cells" and job.graph.share()["counts_for"] == ["cells"]
    assert [j.id for j in ann.jobs(project="cells")] == [job.id] == [j.id for j in ann.project("cells").jobs()]
    assert [j.id for j in ann.jobs(project="")] == [other.id]
    with pytest.raises(spaceland.NotFound):
        bob.job(job.id)
    assert job.share(projects=["cells"])["projects"] == ["cells"]
    job.graph.share(projects=["cells"])
    assert np.array_equal(bob.job(job.id).layout(), job.layout()) and bob.job(job.id).graph.nodes == 100
    assert job.share(projects=[])["projects"] == [] and job.share(readers=["bob"])["readers"] == ["bob"]
    assert ann.upload(x + 1, project="cells").share()["counts_for"] == ["cells"]
