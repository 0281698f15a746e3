"""Server-sent events: the job at once, progress while it runs, its last state, the end."""
import json

from harness import CONTRACT, ENDED, ENGINE


# enough iterations for progress events
ITERATIONS = 150 if ENGINE.get("engine", "cpu") == "cpu" else 20000


def read_events(response):
    """(event, data) pairs of a text/event-stream, until it ends."""
    event, data = "message", []
    for line in response.iter_lines(decode_unicode=True, chunk_size=None):
        if not line:
            if data:
                yield event, json.loads("\n".join(data))
            event, data = "message", []
        elif line.startswith("event:"):
            event = line[6:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].strip())
        else:
            assert line.startswith((":", "id:", "retry:")), line


def test_a_whole_run(api, large):
    job = api.submit(large, iterations=ITERATIONS)["id"]
    reply = api.get(f"/v1/jobs/{job}/events", stream=True)
    assert reply.headers["Content-Type"].startswith("text/event-stream")
    assert reply.headers["Cache-Control"] == "no-store"
    events = list(read_events(reply))
    assert events[0][0] == "state" and events[-1][0] == "state"
    states = [data["state"] for event, data in events if event == "state"]
    assert states[-1] == "done" and not set(states[:-1]) & set(ENDED)
    for event, data in events:
        schema = {"state": "Job", "progress": "Progress"}[event]
        CONTRACT.validate({"$ref": f"#/components/schemas/{schema}"}, data, f"event {event}")
    at = [data["iteration"] for event, data in events if event == "progress"]
    assert at and at == sorted(at)
    assert events[-1][1]["iteration"] == ITERATIONS


def test_pause_is_an_event(api, large):
    job = api.submit(large, iterations=1000000)["id"]
    reply = api.get(f"/v1/jobs/{job}/events", stream=True)
    events = read_events(reply)
    assert next(events)[0] == "state"
    api.wait_iteration(job, 3)
    api.patch(f"/v1/jobs/{job}", json={"paused": True})
    for event, data in events:
        if event == "state" and data["state"] == "paused":
            break
    api.delete(f"/v1/jobs/{job}", 200)
    assert [data["state"] for event, data in events if event == "state"][-1] == "cancelled"


def test_a_finished_job_says_so_and_ends(api, graph):
    job = api.run(graph, iterations=5)["id"]
    events = list(read_events(api.get(f"/v1/jobs/{job}/events", stream=True)))
    assert [(e, d["state"]) for e, d in events] == [("state", "done")]
