"""Large uploads are read a few at a time; small ones and jobs do not wait for them."""
import gzip
import os
import threading
import time

import pytest
import requests

import graphs
from harness import Api, in_time, wait_until

pytestmark = pytest.mark.limit(120)


@pytest.fixture(scope="module")
def huge():
    """A small graph in a large file: comments that do not compress, so that reading takes a while."""
    comment = b"".join(b"%% %s\n" % os.urandom(60).hex().encode() for _ in range(390_000))
    head, rest = graphs.mtx(graphs.ring(100)).split(b"\n", 1)
    body = gzip.compress(head + b"\n" + comment + rest, 1)
    assert len(body) * 12 >= 256 << 20, "not large"
    return body


def gauges(api):
    lines = [line.split(" ") for line in api.get("/metrics").text.splitlines() if line.startswith("spaceland_uploads_")]
    return {name: float(value) for name, value in lines}


def send(api, body, count):
    """Starts so many clients at the same time; returns their threads and replies."""
    got = []

    def one():
        got.append(Api(api.daemon).post("/v1/graphs", data=body, timeout=100,
                                        headers={"Content-Type": "application/octet-stream"}).status_code)
    threads = [threading.Thread(target=one) for _ in range(count)]
    for t in threads:
        t.start()
    return threads, got


@pytest.mark.address
def test_eight_at_once(fresh, huge):
    api = Api(fresh())
    threads, got = send(api, huge, 8)
    wait_until(lambda: gauges(api)["spaceland_uploads_waiting"] >= 2, 60, "some wait")
    most = 0
    start = time.monotonic()
    ring = graphs.mtx(graphs.ring(50))
    assert api.upload(ring)["nodes"] == 50
    took = time.monotonic() - start
    assert api.run(api.upload(ring, 200)["id"], iterations=5)["state"] == "done"
    while any(t.is_alive() for t in threads):
        most = max(most, gauges(api)["spaceland_uploads_reading"])
        time.sleep(0.02)
    assert sorted(got) == [200] * 7 + [201], got
    assert 1 <= most <= 2
    assert took < in_time(10)
    assert gauges(api) == {"spaceland_uploads_reading": 0, "spaceland_uploads_waiting": 0}
    assert list((api.daemon.state / "tmp").iterdir()) == []


def test_memory_for_one_at_a_time(fresh, huge):
    api = Api(fresh(upload_memory_bytes="1 MiB"))
    threads, got = send(api, huge, 3)
    seen = set()
    while any(t.is_alive() for t in threads):
        seen.add(gauges(api)["spaceland_uploads_reading"])
        time.sleep(0.02)
    assert seen <= {0, 1} and 1 in seen
    assert sorted(got) == [200, 200, 201]


def test_who_goes_away_waits_no_more(fresh, huge):
    api = Api(fresh(upload_memory_bytes="1 MiB"))
    threads, got = send(api, huge, 2)
    wait_until(lambda: gauges(api)["spaceland_uploads_waiting"] == 1, 60, "one waits")
    with pytest.raises(requests.RequestException):
        requests.post(api.daemon.url + "/v1/graphs", data=huge, timeout=(5, 0.2))
    for t in threads:
        t.join()
    assert sorted(got) == [200, 201]
    wait_until(lambda: gauges(api) == {"spaceland_uploads_reading": 0, "spaceland_uploads_waiting": 0}, 20, "nobody waits")
    wait_until(lambda: not list((api.daemon.state / "tmp").iterdir()), 10, "nothing is left over")


def test_stop_and_crash_with_a_line(fresh, huge):
    daemon = fresh(upload_memory_bytes="1 MiB")
    api = Api(daemon)

    def quietly():
        try:
            requests.post(daemon.url + "/v1/graphs", data=huge, timeout=60)
        except requests.RequestException:
            pass
    for end in (daemon.stop, daemon.kill):
        threads = [threading.Thread(target=quietly) for _ in range(3)]
        for t in threads:
            t.start()
        wait_until(lambda: gauges(api)["spaceland_uploads_waiting"] >= 1, 60, "one waits")
        end()
        for t in threads:
            t.join()
        daemon.start()
        assert not list((daemon.state / "tmp").iterdir())
