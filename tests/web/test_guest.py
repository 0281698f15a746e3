"""A method that this page has never heard of (tests/guest/degree.c): its forms, its runs and its charts are made of what the
server tells of it."""
import pytest
import requests

import graphs
from conftest import BUILD, Api, Daemon
from test_signal import write

FOLDER = BUILD / "tests" / "guest"
pytestmark = pytest.mark.skipif(not (FOLDER / "guest-spacelandd").exists(), reason="the guest is not built")


class Host(Daemon):
    """A server whose table of methods has one more."""

    def command(self):
        return [str(FOLDER / "guest-spacelandd"), *super().command()[1:]]


def test_a_guest_has_a_form_and_a_page(api, chromium, tmp_path):
    with Host(tmp_path) as host:
        own = Api(host)
        graph = own.upload(graphs.npz(graphs.ring(n=50, k=2)), name="ring")["id"]
        layout = own.run(graph, iterations=10)["id"]
        chromium.size(1280, 800)
        chromium.go(f"{host.url}/#/job/{layout}?tab=steer")
        offered = "return [...document.querySelectorAll('option')].map(o => o.textContent)"
        chromium.wait(lambda: "degree: lay out nodes by their degrees" in chromium.run(offered), 20, "it is offered")
        assert not [text for text in chromium.run(offered) if text.startswith("unheard")]
        chromium.choose("Method", "degree")
        assert chromium.find("input[name=rounds]") and chromium.run("return document.querySelector('input[name=rounds]').value") == "20"
        write(chromium, "rounds", "30")
        chromium.find("//section[h2='Another run']//button[normalize-space()='Start']").click()
        # the contract of this repository does not know its job
        made = chromium.wait(lambda: [j for j in requests.get(host.url + "/v1/jobs", timeout=10).json()["items"]
                                      if j["method"] == "degree" and j["state"] == "done"], 10, "it is done")[0]
        assert made["parameters"] == {"rounds": 30}
        chromium.see("rest of the way", 20)
        chromium.go(f"{host.url}/#/")
        chromium.see("degree · 50 nodes", 20)
        chromium.errors()
