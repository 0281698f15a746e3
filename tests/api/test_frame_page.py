"""The reader in proto/frame.md understands what the daemon sends."""
import re

import numpy as np

import frames
from contract import ROOT


def test_the_reader_on_the_page(api, graph):
    code = re.search(r"^```python\n(.*?)^```", (ROOT / "proto" / "frame.md").read_text(), re.S | re.M)[1]
    scope = {}
    exec(code, scope)
    job = api.run(graph, iterations=20)["id"]
    for kind in ("u16", "f32"):
        data = api.get(f"/v1/jobs/{job}/frame?type={kind}").content
        name, iteration, final, y = scope["decode"](data)
        assert (name, iteration, final) == (job, 20, True)
        assert np.array_equal(y, frames.decode(data).y)
