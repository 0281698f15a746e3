"""What administrators tell everybody, and when the server deletes a run."""
import pytest

from test_runs import open_job


@pytest.fixture
def quiet(api):
    yield
    api.request("DELETE", "/v1/maintenance/banner", 200)
    api.request("DELETE", "/v1/maintenance/drain", 200)


def test_banner_and_drain(page, api, daemon, graph, quiet):
    api.request("PUT", "/v1/maintenance/banner", 200, json={"text": "New GPUs on Friday."})
    api.request("PUT", "/v1/maintenance/drain", 200, json={"reason": "A new disk."})
    page.expected = "503"
    page.go(f"{daemon.url}/")
    page.see("New GPUs on Friday.", 15)
    page.see("drained for maintenance", 15)
    page.see("A new disk.")


def test_a_run_that_expires(page, api, daemon, graph):
    job = api.run(graph, iterations=20)["id"]
    open_job(page, daemon, job)
    page.see("The server deletes it in 30 days.", 10)
    page.button("Keep").click()
    page.see("Kept: the server does not delete it by itself.", 10)
    assert api.job(job)["keep"] is True and api.job(job)["expires"] is None
    page.button("Keep no longer").click()
    page.see("The server deletes it in 30 days.", 10)
