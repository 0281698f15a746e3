"""spaceland admin worker-token"""
import re


def test_worker_tokens(online):
    made = online("admin", "worker-token", "--name", "rack 4", "--days", "30")
    token = made.out.strip()
    assert re.fullmatch(r"spw_[0-9A-Z]{26}_[\w-]{43}", token), made
    assert "worker_listen is not set" in made.err  # of the server that tests share
    listed = online("admin", "worker-token", "--list")
    assert "rack 4" in listed.out and token not in listed.out
    assert online("admin", "worker-token", "--revoke", token[4:30]).status == 0
    assert "rack 4" not in online("admin", "worker-token", "--list").out
    assert online("admin", "worker-token", "--revoke", token[4:30]).status != 0
