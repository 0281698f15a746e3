"""The client of a server."""
from __future__ import annotations

import math
import os
import secrets
import time
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np
import requests

from ._body import Body, multipart
from ._events import server_sent
from ._http import Http, Patience, document_of
from ._label_tables import in_order, tell_of_file
from ._lease import Lease
from ._signatures import UPLOAD, Submitting
from .errors import BadInput, BadType, BadValue, Conflict, ConnectionLost, own_errors_of, SpacelandError, Unavailable, tell
from .frames import Frame, decode
from .graph import Graph
from .inputs import Options, Source, source_of
from .job import Job
from .listing import Listing
from .people import People
from .progress import Progress
from .projects import Project
from .server import LocalServer, find_server, normal_url, shared_server

__all__ = ["Client", "default_client"]

#: Names that TSNE and other programs use for some arguments.
_HERE = {"n_components": "dims", "max_iter": "iterations", "n_iter": "iterations", "random_state": "seed",
         "early_exaggeration": "exaggeration", "early_exaggeration_iter": "exaggeration_iterations",
         "initialization": "init", "n_neighbors": "neighbours"}


def _without_search(source: Source) -> Source:
    """For methods that need no neighbours. If a later job does, the server searches them."""
    if source.kind == "points":
        source.query["neighbours"] = 0
    return source


_STREAM_QUIET_MS = 2000   # without a frame, the server is asked how the job is
#: A stream that lasted for longer was one, even if there were no events.
_QUIET_S = 20


@own_errors_of
class Client(Submitting, People):
    """A spacelandd.

    Without `url`: the server of $SPACELAND_SERVER, else one that runs on this machine, else a new one on a free port,
    which ends with this process. `token` (or $SPACELAND_TOKEN) is for servers that require one. `ca_file` (or
    $SPACELAND_CA_FILE) has the certificates that verify an https server, instead of the system's.
    """

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, ca_file: Optional[str] = None):
        self.server: Optional[LocalServer] = None   #: the server that this process started, if any
        token = token or os.environ.get("SPACELAND_TOKEN") or None
        self._ca_file = ca_file or os.environ.get("SPACELAND_CA_FILE") or None
        found = normal_url(url) if url else find_server()
        if found is None:
            self.server = shared_server()
            found, token = self.server.url, None
        self.url = found
        self.http = Http(found, token, ca_file=self._ca_file)
        self._methods: Optional[Dict[str, Dict[str, Any]]] = None
        if not url and os.environ.get("SPACELAND_SERVER"):
            self.http.hint = "; the environment variable SPACELAND_SERVER names this server"

    # ---- contents of the server ----------------------------------------------------------------------

    def status(self) -> Dict[str, Any]:
        """Version, engines, number of jobs, limits."""
        return dict(self.http.json("GET", "/v1/status"))

    def methods(self) -> Dict[str, Dict[str, Any]]:
        """The methods that the server's jobs can have, by name: what each computes, from what, with its parameters and
        results. Asked for once."""
        if self._methods is None:
            self._methods = {one["name"]: one for one in self.http.json("GET", "/v1/methods")["methods"]}
        return self._methods

    def devices(self) -> List[Dict[str, Any]]:
        """The devices that compute jobs."""
        return list(self.http.json("GET", "/v1/devices")["items"])

    def _pages(self, path: str, query: Dict[str, Any]) -> Iterator[List[Dict[str, Any]]]:
        query = {name: value for name, value in query.items() if value is not None}
        while True:
            page = self.http.json("GET", path, query=query)
            yield page["items"]
            if page["next"] is None:
                return
            query["cursor"] = page["next"]

    def graphs(self, name: Optional[str] = None, user: Optional[str] = None) -> Listing[Graph]:
        """All graphs and tables of points, newest first; or those of this name, or of this user. The result is used as a
        list."""
        pages = self._pages("/v1/graphs", {"name": name, "user": user})
        return Listing(([Graph(self, record) for record in page] for page in pages), "graphs", Graph._row)

    def graph(self, id: str) -> Graph:
        """Returns a graph or table of points by its id."""
        return Graph(self, self.http.json("GET", f"/v1/graphs/{id}"))

    def jobs(self, state: Union[str, Sequence[str], None] = None, graph: Union[Graph, str, None] = None,
             name: Optional[str] = None, sort: Optional[str] = None, project: Optional[str] = None,
             user: Optional[str] = None) -> Listing[Job]:
        """All jobs, newest first. The result is used as a list: client.jobs()[0] is the newest job.

        Filters: state (one or several), graph, text in the name, project ("": without a project), user (who owns it).
        sort: created, started or finished; with a leading minus, the latest first.
        """
        of = graph.id if isinstance(graph, Graph) else graph
        states = state if state is None or isinstance(state, str) else ",".join(state)
        pages = self._pages("/v1/jobs", {"state": states, "graph": of, "name": name, "sort": sort, "project": project,
                                          "user": user})
        return Listing(([Job(self, record) for record in page] for page in pages), "jobs", Job._row)

    def projects(self) -> List[Project]:
        """Projects of which you are a member; for administrators, all."""
        return [Project(self, record) for page in self._pages("/v1/projects", {}) for record in page]

    def project(self, name: str) -> Project:
        return Project(self, {"name": name}).refresh()

    def add_project(self, name: str, members: Sequence[str] = (), *, share: float = 1,
                    limits: Optional[Dict[str, Any]] = None) -> Project:
        """Makes a project; for administrators. limits: {"running_jobs": 8, "disk_bytes": 5e11}, see
        docs/operations.md."""
        body = {"name": name, "members": list(members), "share": share, **({"limits": limits} if limits else {})}
        return Project(self, self.http.json("POST", "/v1/projects", json=body))

    def job(self, id: str) -> Job:
        return Job(self, self.http.json("GET", f"/v1/jobs/{id}"))

    def events(self, patience: float = 600) -> Iterator[Tuple[str, Dict[str, Any]]]:
        """Yields the server's events, without end: ("job", record), ("graph", record), ("device", record), ("progress",
        iteration and more of the job `id`), ("removed", kind and id), ("reset", {}: discard all records).

        If the connection breaks or the server restarts, a new connection sends what was missed; or, if that is no longer
        known, "reset" and all records. Raises ConnectionLost when no connection could be made for `patience` seconds
        (math.inf: never).
        """
        last, waiting = "", Patience(patience)
        while True:
            headers = {"Last-Event-ID": last} if last else None
            why: Optional[Exception] = None
            opened = math.inf
            try:
                with self.http.request("GET", "/v1/events", headers=headers, stream=True) as reply:
                    opened = time.monotonic()
                    for name, data, number in server_sent(reply):
                        last, opened = number or last, -math.inf
                        waiting.answered()
                        yield name, data
            except (requests.RequestException, ConnectionLost, Unavailable) as error:
                self.http.close()
                why = error
            if time.monotonic() - opened > _QUIET_S:
                waiting.answered()
            gone = self.server is not None and not self.server.alive()
            if gone or not waiting.pause():
                raise ConnectionLost(f"{self.url} sends no events any more ({why or 'its streams end at once'})") from why

    # ---- uploads ----------------------------------------------------------------------------

    def upload(self, x: Any, *, name: Optional[str] = None, kind: Optional[str] = None, metric: Any = None,
               metric_params: Optional[Dict[str, Any]] = None, pca: Optional[int] = None, perplexity: Any = None,
               labels: Any = None, columns: Optional[Sequence[Any]] = None, weight: Optional[str] = "weight",
               use_rep: Optional[str] = None, layer: Optional[str] = None, **query: Any) -> Graph:
        """Uploads x, of any type that embed() accepts. The server stores the same content only once.

        `perplexity`: the largest perplexity of future jobs on these points. `query` may have neighbours, recall,
        directed, source, target, weight, bipartite, format, name_column, label_column, ignore_columns, drop_not_finite,
        isolated, values and project (docs/api.md); columns may be lists.
        """
        unknown = sorted(set(query) - set(UPLOAD))
        if unknown:
            raise BadType(f"upload() has no argument {unknown[0]!r}; there are also: {', '.join(UPLOAD)}")
        options = Options(kind, metric, metric_params, pca, perplexity, labels, columns, weight, use_rep, layer, None, dict(query))
        return self._upload(source_of(x, options), name)

    def _upload(self, source: Source, name: Optional[str], lease: Optional[Lease] = None) -> Graph:
        query = {key: str(value).lower() if isinstance(value, bool) else
                 ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value for key, value in source.query.items()}
        if name or source.file_name:
            query["name"] = name or source.file_name
        body: Body = source.body
        if source.labels is not None or source.files:
            parts = [("file", *file) for file in source.files or [(source.file_name or name or "upload", body)]]
            body = multipart(parts + ([("labels", "labels", source.labels)] if source.labels is not None else []))
        reply = self.http.request("POST", "/v1/graphs", query={**query, **(lease.query() if lease else {})}, body=lambda: body,
                                  headers={"Content-Type": body.content_type})
        graph = Graph(self, document_of(reply), source, reply.status_code == 201)
        if lease is not None:
            lease.uploaded(graph.id)
        for note in (graph.record.get("taken") or {}).get("notes", []):
            if note["changes"]:
                tell(note["text"])
        if source.labels is not None and source.values is None:
            tell_of_file(graph.record.get("labels_taken"))
        if source.labels is not None and source.values is not None and graph.record["labels"]:
            listed = [column["name"] for column in graph.record["label_columns"]]
            graph._keep_order(source.column if source.column in listed else "label", source.values, source.colours)
        for column, values in source.more.items():
            graph._set_column(column, values, None)
            graph._keep_order(column, values, source.palettes.get(column))
        if source.more:
            graph.refresh()
        return graph

    def upload_layout(self, layout: Any) -> str:
        """Uploads a layout [nodes, dims] from which jobs can start. Returns its id, for `initial`."""
        from ._body import npy
        body = npy(np.asarray(layout, dtype=np.float32))
        return str(self.http.json("POST", "/v1/layouts", body=lambda: body,
                                  headers={"Content-Type": body.content_type})["id"])

    # ---- jobs ---------------------------------------------------------------------------------

    def _submit(self, x: Any, lease: Optional[Lease], *, dims: int = 2, perplexity: Any = None, lambda_: Any = None,
               iterations: Optional[int] = None, init: Any = None, seed: Optional[int] = None,
               name: Optional[str] = None, kind: Optional[str] = None, metric: Any = None,
               metric_params: Optional[Dict[str, Any]] = None, pca: Optional[int] = None, labels: Any = None,
               columns: Optional[Sequence[Any]] = None, weight: Optional[str] = "weight",
               use_rep: Optional[str] = None, layer: Optional[str] = None, key_added: Optional[str] = None,
                **parameters: Any) -> Job:
        for key in parameters:
            if key in _HERE:
                raise BadType(f"use {_HERE[key]} instead of {key}; only the class TSNE has scikit-learn's names")
        if isinstance(x, Graph):
            graph = x
            given = {"kind": kind, "metric": metric, "metric_params": metric_params, "pca": pca, "labels": labels,
                     "columns": columns, "use_rep": use_rep, "layer": layer, "key_added": key_added}
            extra = [key for key, value in given.items() if value is not None]
            if extra:
                raise BadType(f"{extra[0]} is a parameter of uploads, and this graph has been uploaded already")
        else:
            query = {key: parameters[key] if key == "project" else parameters.pop(key) for key in UPLOAD if key in parameters}
            options = Options(kind, metric, metric_params, pca, perplexity, labels, columns, weight, use_rep, layer, key_added, query)
            graph = self._upload(source_of(x, options), name, lease)
        arguments = {"dims": dims, "perplexity": perplexity, "lambda": lambda_, "iterations": iterations, "seed": seed,
                 "name": name, **{key.rstrip("_"): value for key, value in parameters.items()}}
        request = _plain_all(arguments)
        request["graph"] = graph.id
        if init is not None:
            request.update(self._initial(init, graph, dims))
        record = self.http.json("POST", "/v1/jobs", json=request, headers={"Idempotency-Key": secrets.token_hex(16)})
        if lease is not None:
            lease.add_job(f"/v1/jobs/{record['id']}")
        job = Job(self, record, graph._source, graph.created and graph is not x)
        job._taken = graph.taken
        return job

    def kmeans(self, x: Any, clusters: int = 8, *, initial: Any = None, name: Optional[str] = None, **parameters: Any) -> Job:
        """Starts k-means on points; does not wait. job.labels() and job.centroids() wait for the result.

        x: a Job, whose layout is clustered; a Graph of points; or a table of points to upload. initial: replaces
        k-means++ and gives the number of clusters: the centroids, the label of each row (-1: none), or a Job with
        labels. parameters: metric, restarts, seeding ("plusplus" or "parallel"), batch (rows of a mini-batch),
        iterations, tolerance, seed; engine as in method().
        """
        return self.method("kmeans", x, name=name, initial=_start(initial), clusters=clusters, **parameters)

    def gmm(self, x: Any, components: Any = 1, *, initial: Any = None, name: Optional[str] = None, **parameters: Any) -> Job:
        """Starts to fit a mixture of Gaussians; does not wait. job.labels(), job.responsibilities(), job.means(),
        job.covariances() and job.weights() wait for the result; job.predict(), job.score() and job.sample() apply the
        mixture.

        x: as for kmeans(). components: a number, or several numbers, of which the result is the one with the least BIC;
        job.record["models"] lists all. initial: replaces k-means and gives the number of components: the label of each
        row (-1: none), the mean of each component, or a Job with labels. parameters: covariance, restarts, iterations,
        tolerance, reg_covar, seed.
        """
        return self.method("gmm", x, name=name, initial=_start(initial), components=components, **parameters)

    def method(self, method: str, x: Any, *, name: Optional[str] = None, engine: Optional[str] = None, initial: Any = None,
               **parameters: Any) -> Job:
        """Starts a job of the named method; does not wait. x: a Job, whose layout is the input; a Graph; or a table of
        points to upload. engine: "cpu", or a GPU engine that supports the method; by default the server chooses.
        job.array() fetches results."""
        return self._method(None, method, x, name=name, engine=engine, initial=initial, **parameters)

    def _method(self, lease: Optional[Lease], method: str, x: Any, *, name: Optional[str] = None, engine: Optional[str] = None,
                initial: Any = None, **parameters: Any) -> Job:
        request: Dict[str, Any] = {"method": method, "params": _plain_all(parameters)}
        made = False
        if isinstance(x, Job):
            request.update(input={"job": x.id}, after=x.id)
        else:
            graph = x if isinstance(x, Graph) else self._upload(_without_search(source_of(x, Options(kind="points"))), name, lease)
            request["graph"] = graph.id
            made = graph.created and graph is not x
        request.update({key: value for key, value in (("name", name), ("engine", engine), ("initial", _plain(initial, "initial")))
                        if value is not None})
        if lease is not None:
            lease.take(str(x.record["graph"] if isinstance(x, Job) else graph.id))
        record = self.http.json("POST", "/v1/jobs", json=request, headers={"Idempotency-Key": secrets.token_hex(16)})
        if lease is not None:
            lease.add_job(f"/v1/jobs/{record['id']}")
        return Job(self, record, x._source if isinstance(x, Job) else graph._source, made)

    def sammon(self, x: Any, dims: int = 2, *, kind: Optional[str] = None, name: Optional[str] = None,
               **parameters: Any) -> Job:
        """Starts to lay out points so that distances are preserved, or a graph so that distances are close to the
        lengths of shortest paths; does not wait. job.layout() waits for the result.

        x: a Graph, of points or of edges; points or a graph to upload, as in submit() (kind: "points" or "graph", if it
        is not recognised); or a Job, whose layout is laid out again. parameters: stress ("auto", "sammon", "metric" or
        "kamada_kawai"), optimiser, start, iterations, step, tolerance, seed; points only: partners; graphs only:
        lengths ("unit", "weights" or "inverse") and pivots.
        """
        if not isinstance(x, (Job, Graph)):
            x = self._upload(_without_search(source_of(x, Options(kind=kind))), name)
        return self.method("sammon", x, name=name, dims=dims, **parameters)

    def signal(self, x: Any, model: str = "heat", *, state: Any = None, name: Optional[str] = None, **parameters: Any) -> Job:
        """Starts a simulation of values at the nodes of a graph, which change with those of neighbours; does not wait.

        x: a Graph, or a graph to upload. model: heat, fitzhugh_nagumo, nagumo, sir, sir_chance, pagerank. state:
        initial values [nodes, values]. parameters: duration, step, diffusion, start_nodes and others, see
        docs/methods.md. job.frames() yields the values while they change; job.values() returns the latest ones,
        job.signal() and job.snapshots() wait for the end.
        """
        graph = x if isinstance(x, Graph) else self._upload(source_of(x, Options()), name)
        request: Dict[str, Any] = {"method": "signal", "graph": graph.id, "params": {
            "model": model, **_plain_all({key.rstrip("_"): value for key, value in parameters.items()})}}
        if state is not None:
            state = in_order(state, graph, "state")
            request["input"] = {"layout": self.upload_layout(np.asarray(state).reshape(len(state), -1))}
        if name is not None:
            request["name"] = name
        return Job(self, self.http.json("POST", "/v1/jobs", json=request, headers={"Idempotency-Key": secrets.token_hex(16)}))

    def sweep(self, x: Any, parameters: Any, *, name: Optional[str] = None, **shared: Any) -> List[Job]:
        """Submits a job for each combination of values, {"perplexity": [10, 30], "seed": [1, 2]}, or for each
        dictionary of a list.

        The server accepts all jobs or none. `shared`: arguments of all jobs, as in submit(); x: a Graph or data to
        upload, as in submit(). Returns the jobs in the order of the combinations; the last parameter varies fastest.
        """
        query = {key: shared[key] for key in ("project",) if key in shared}
        graph = x if isinstance(x, Graph) else self._upload(source_of(x, Options(query=query)), name)
        def named(each: Dict[str, Any]) -> Dict[str, Any]:
            return _plain_all({key.rstrip("_"): value for key, value in each.items()})
        request = {**named(shared), "graph": graph.id,
                   "parameters": named(parameters) if isinstance(parameters, dict) else [named(each) for each in parameters]}
        if name is not None:
            request["name"] = name
        batch = self.http.json("POST", "/v1/batches", json=request, headers={"Idempotency-Key": secrets.token_hex(16)})
        return [Job(self, self.http.json("GET", f"/v1/jobs/{job['id']}"), graph._source, False) for job in batch["jobs"]]

    def _initial(self, init: Any, graph: Graph, dims: int) -> Dict[str, Any]:
        """The members of a request for an initial layout: a word, a job whose layout it is, or a layout, which keeps
        its size."""
        if isinstance(init, str):
            return {"init": init}
        if isinstance(init, Job):
            return {"initial": init.id, "init_std": 0}
        layout = np.asarray(in_order(init, graph, "init"), dtype=np.float32)
        if layout.shape != (graph.nodes, dims):
            raise BadValue(f"init has the shape {layout.shape}; it must be ({graph.nodes}, {dims}), a row for each node")
        if not np.isfinite(layout).all():
            raise BadValue("init has values that are not finite")
        return {"initial": {"layout": self.upload_layout(layout)}, "init_std": 0}

    def _embed(self, x: Any, progress: Union[bool, None, Progress], **arguments: Any) -> Any:
        if arguments.get("pause_at") not in (None, 0, "off"):
            raise BadValue("pause_at is for submit(), whose job one resumes; embed() waits for the end")
        job = self._submit(x, None, **arguments)
        with job.wanted():
            job.wait(progress=progress)
        return job.result()

    # ---- ZeroMQ ----------------------------------------------------------------------------------

    def stream(self, job: Union[Job, str, None] = None) -> Iterator[Frame]:
        """Yields frames by ZeroMQ, of one job or of all; needs pyzmq. The stream of one job ends with its final
        frame."""
        import zmq
        prefix = "" if job is None else (job if isinstance(job, Job) else self.job(job)).id
        keys = self._stream_keys()
        endpoint = keys["endpoint"] if keys else self.status()["stream"]
        if not endpoint:
            raise SpacelandError(f"{self.url} does not publish frames by ZeroMQ (its option zmq is empty)")
        known = None if not prefix else job if isinstance(job, Job) else self.job(prefix)
        try:
            with zmq.Context.instance().socket(zmq.SUB) as socket:
                if keys:
                    socket.curve_serverkey = keys["server_key"].encode()
                    socket.curve_publickey, socket.curve_secretkey = keys["public_key"].encode(), keys["secret_key"].encode()
                socket.setsockopt(zmq.RCVHWM, 4)
                socket.subscribe(prefix.encode())
                socket.connect(endpoint)
                while True:
                    while not socket.poll(_STREAM_QUIET_MS):
                        # ZeroMQ tells neither that the server is gone, nor that a job ended before: HTTP does
                        if known is None:
                            self.status()
                        elif known._patiently(known.refresh).ended and not socket.poll(_STREAM_QUIET_MS):
                            return
                    frame = decode(socket.recv())
                    yield frame
                    if frame.final and prefix:
                        return
        except zmq.ZMQError as error:
            raise ConnectionLost(f"no frames come from {endpoint}: {error}") from error

    def _stream_keys(self) -> Optional[Dict[str, str]]:
        """The keys of a ZeroMQ subscriber if requests need tokens. None: they need none, or there is no stream."""
        try:
            return dict(self.http.json("POST", "/v1/stream/keys"))
        except Conflict:
            return None

    def __deepcopy__(self, memo: Any) -> "Client":
        return self  # copies of an estimator share the client

    def __reduce__(self) -> Any:
        return Client, (None if self.server else self.url, None, self._ca_file)  # pickles must not contain the token

    def __repr__(self) -> str:
        return f"<spaceland.Client {self.url}{', started by this process' if self.server else ''}>"


def _start(initial: Any) -> Any:
    """The start of k-means or of a mixture: labels, or means."""
    if initial is None:
        return None
    a = np.asarray(initial.labels() if isinstance(initial, Job) else initial)
    if a.ndim not in (1, 2) or a.ndim == 1 and not np.issubdtype(a.dtype, np.integer):
        raise BadValue("initial must be whole numbers, a label for each row, or a table of means, a row each; not an "
                         f"array of {a.dtype} of shape {a.shape}")
    return a


def _plain(value: Any, name: str = "a parameter") -> Any:
    """Converts NumPy's numbers, arrays, ranges and columns of tables for JSON."""
    if isinstance(value, (list, tuple, range)):
        return [_plain(item, name) for item in value]
    plain = value.tolist() if hasattr(value, "tolist") else value  # NumPy, pandas
    if isinstance(plain, float) and not math.isfinite(plain):
        raise BadValue(f"{name} is {plain}; it must be finite")
    if not isinstance(plain, (str, int, float, bool, list, dict, type(None))):
        raise BadType(f"{name} is a {type(value).__name__}; parameters are numbers, texts, and lists of them")
    return plain


def _plain_all(values: Dict[str, Any]) -> Dict[str, Any]:
    return {key: _plain(value, key) for key, value in values.items() if value is not None}


_default: Optional[Client] = None
_default_of: Any = None


def default_client() -> Client:
    """The default client of embed() and TSNE, made on first use."""
    global _default, _default_of
    # a new client after a fork or a change of settings
    now = (os.getpid(), os.environ.get("SPACELAND_SERVER"), os.environ.get("SPACELAND_TOKEN"))
    if _default is None or now != _default_of or (_default.server is not None and not _default.server.alive()):
        _default, _default_of = Client(), now
    return _default


