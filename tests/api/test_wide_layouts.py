"""Few nodes that start far apart must not occupy the device or the memory."""
import time

import pytest

import graphs
from harness import in_time


@pytest.fixture(scope="module")
def ring(api):
    return api.upload(graphs.npz(graphs.ring(200, 3)), name="ring")["id"]


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_wide_beginnings_end_soon(api, ring, dims):
    began = time.monotonic()
    job = api.run(ring, dims=dims, repulsion="grid", init_std=1e4, iterations=5, learning_rate=1)
    assert job["iteration"] == 5
    assert time.monotonic() - began < in_time(20)  # without a limit, 3-D alone would take longer


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_grids_are_booked(api, ring, dims):
    def booked(**parameters):
        return api.post("/v1/jobs/dry-run", 200, json={"graph": ring, "dims": dims, **parameters}).json()["device_bytes"]

    small, wide = booked(repulsion="grid"), booked(repulsion="grid", init_std=1e4)
    assert 2**20 < wide < 2**28 and wide > 10 * small
    assert booked(init_std=1e4) < 2**17  # all pairs cost less
