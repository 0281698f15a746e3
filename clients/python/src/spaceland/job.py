"""Jobs: computations on a server."""
from __future__ import annotations

import asyncio
import contextlib
import html
import math
import time
import warnings
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, ContextManager, Dict, Iterator, List, Optional, Sequence, Tuple, TypeVar, Union

import numpy as np
import numpy.typing as npt
import requests

from ._body import Body
from ._events import server_sent
from ._http import Patience, array_of, document_of
from .errors import BadInput, BadValue, Conflict, ConnectionLost, JobCancelled, JobFailed, LimitReached, own_errors_of, SpacelandError, TimedOut, Unavailable, tell
from .frames import Frame, decode
from .listing import cells, moment
from .progress import Progress, make_progress
from .projects import shared

if TYPE_CHECKING:
    from .client import Client
    from .inputs import Source

__all__ = ["Job", "Frames"]

ENDED = ("done", "failed", "cancelled")
POLL_SECONDS = 20
EMPTY_PAUSE_S = 0.5   # before a stream is requested again that ended without an event
PATIENCE_SECONDS = 60   # for a server that does not answer while a job is awaited
Answer = TypeVar("Answer")


@own_errors_of
class Frames:
    """Yields the frames of a job; `for` and `async for` both work.

    A slow reader gets the latest frame and misses earlier ones, but never the final one.
    """

    def __init__(self, job: "Job", type: str = "u16", max_points: Optional[int] = None):
        if type not in ("u16", "f32"):
            raise BadValue(f"type is {type!r}; it must be u16 or f32")
        self._job = job
        self._query: Dict[str, Any] = {"type": type, "wait": POLL_SECONDS, "after": 0}
        if max_points is not None:
            self._query["max_points"] = max_points

    def next(self) -> Optional[Frame]:
        """Waits for the next frame; None after the last."""
        while True:
            ask: Callable[[], Any] = lambda: self._job.client.http.request("GET", self._job.path + "/frame", query=self._query)
            reply = self._job._patiently(ask)
            if reply.status_code == 200:
                frame = decode(reply.content)
                self._query["after"] = frame.sequence
                return frame
            if self._job.refresh().ended:
                return None

    def at_least(self, iteration: int) -> Optional[Frame]:
        """Waits for a frame of this iteration or a later one; None: the job ended without one."""
        while True:
            frame = self.next()
            if frame is None or frame.iteration >= iteration or frame.final:
                return frame

    def __iter__(self) -> Iterator[Frame]:
        final = False
        while not final:
            frame = self.next()
            if frame is None:
                return
            final = frame.final
            yield frame

    async def __aiter__(self) -> AsyncIterator[Frame]:
        final = False
        while not final:
            frame = await asyncio.to_thread(self.next)
            if frame is None:
                return
            final = frame.final
            yield frame


@own_errors_of
class Job:
    """A job that is queued, running or finished. `record` is the server's latest record of it."""

    def __init__(self, client: "Client", record: Dict[str, Any], source: "Optional[Source]" = None,
                 made_graph: bool = False):
        self.client = client
        self.record = record
        self.made_graph = made_graph   #: its graph was uploaded for it and was new to the server
        self._source = source
        self._taken = ""   # what the server took of the upload

    # ---- the record ----------------------------------------------------------------------

    @property
    def id(self) -> str:
        return str(self.record["id"])

    @property
    def path(self) -> str:
        return f"/v1/jobs/{self.id}"

    @property
    def url(self) -> str:
        """Address of its page in the server's dashboard."""
        return f"{self.client.url}/#/job/{self.id}"

    @property
    def state(self) -> str:
        """queued, running, paused, done, failed or cancelled, as of the last record."""
        return str(self.record["state"])

    @property
    def method(self) -> str:
        """The name of its method, as Client.methods() lists them: "tsne", "kmeans" and others."""
        return str(self.record["method"])

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def iteration(self) -> int:
        return int(self.record["iteration"])

    @property
    def kl(self) -> Optional[float]:
        """The latest KL divergence."""
        value = self.record["kl"]
        return None if value is None else float(value)

    @property
    def parameters(self) -> Dict[str, Any]:
        return dict(self.record["parameters"])

    @property
    def graph(self) -> Any:
        """The Graph of the job."""
        return self.client.graph(self.record["graph"])

    @property
    def owner(self) -> Optional[str]:
        """The name of the user who owns it; None: nobody, or a server without users."""
        value = self.record["owner"]
        return None if value is None else str(value)

    @property
    def expires(self) -> Optional[str]:
        """When the server deletes it, as a time in UTC; None: it does not by itself."""
        value = self.record["expires"]
        return None if value is None else str(value)

    def refresh(self) -> "Job":
        self.record = self.client.http.json("GET", self.path)
        return self

    # ---- waiting --------------------------------------------------------------------------

    def events(self) -> Iterator[Tuple[str, Dict[str, Any]]]:
        """Yields ("state", record of the job) and ("progress", iteration, kl, ...) until the job has ended."""
        lost = 0
        while not self.ended:
            some = False
            try:
                with self.client.http.request("GET", self.path + "/events", stream=True) as reply:
                    for name, data, _ in server_sent(reply):
                        some = True
                        if name == "state":
                            self.record = data
                        elif name == "progress":
                            self.record.update(data)
                        lost = 0
                        yield name, data
            except (requests.RequestException, ConnectionLost) as error:
                lost += 1
                if lost > 3:
                    raise ConnectionLost(f"{self.client.url} breaks every connection ({error})") from error
                self.client.http.close()
            if not self.ended:
                if not some:
                    time.sleep(EMPTY_PAUSE_S)
                self._patiently(self.refresh)

    def _patiently(self, request: Callable[[], Answer]) -> Answer:
        """Repeats a request while the server does not answer, which may restart, or has too many requests: jobs go on."""
        waiting, told = Patience(PATIENCE_SECONDS), False

        def go_on(why: str) -> bool:
            nonlocal told
            if not told:
                tell(f"{self.client.url} {why}; waiting. Job {self.id} goes on")
            told = True
            return waiting.pause(self.client.http.left())
        while True:
            try:
                return request()
            except (LimitReached, Unavailable):  # too many requests at once, or it is being stopped or started
                if not go_on("has too much to do"):
                    raise
            except ConnectionLost as error:
                own = self.client.server
                if (own is not None and not own.alive()) or not go_on("does not answer"):
                    raise ConnectionLost(f"{error}; if it starts again, job {self.id} goes on: client.job({self.id!r})") from error

    @contextlib.contextmanager
    def wanted(self) -> Iterator[None]:
        """A block that needs this job. If an error or ^C ends the block, the job is cancelled."""
        try:
            yield
        except BaseException as error:
            try:
                self.cancel()
                now = f"job {self.id} was cancelled"
            except Conflict:
                now = f"job {self.id} had ended"
            except SpacelandError:
                now = f"job {self.id} could not be cancelled"  # the server is gone
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(now) from None
            raise

    def _searching(self, progress: Progress) -> None:
        graph = self.client.http.json("GET", f"/v1/graphs/{self.record['graph']}")
        search = graph.get("neighbours")
        if search and search["state"] == "searching":
            progress.waiting(f"neighbours {100 * search['progress']:.0f} %")
        else:
            waiting = self.record.get("waiting") or {}
            progress.waiting(f"waits for {waiting['reason']}" if waiting.get("reason") else "queued")

    def wait(self, timeout: Optional[float] = None, progress: Union[bool, None, Progress] = False) -> "Job":
        """Waits until the job is done. Raises JobFailed, JobCancelled or, while the job continues, TimedOut (a TimeoutError).

        ^C ends the waiting, and the job continues. The waiting survives a restart of the server of up to a minute.
        """
        with self._within(timeout):
            return self._wait(timeout, progress)

    def _within(self, timeout: Optional[float]) -> ContextManager[None]:
        """A block that ends with TimedOut after so many seconds."""
        return self.client.http.within(timeout, lambda: f"job {self.id} was not done within {timeout} s; it "
                                       f"was {self.state} when the server answered last")

    def _wait(self, timeout: Optional[float], progress: Union[bool, None, Progress]) -> "Job":
        bar = make_progress(progress)
        shows = type(bar) is not Progress
        pause = 0.005
        try:
            while not self.ended:
                left = self.client.http.left()
                if self.state == "running" and left == math.inf:
                    for _ in self.events():
                        bar.update(self.record)
                    break
                if shows and self.state == "queued":
                    self._searching(bar)
                elif shows:
                    bar.update(self.record)
                self.client.http.pause(pause)
                pause = min(0.25, 1.5 * pause)
                self._patiently(self.refresh)
            bar.update(self.record)
        except KeyboardInterrupt:
            limit = " while this program runs, which started the server" if self.client.server else ""
            raise KeyboardInterrupt(f"job {self.id} continues{limit}; job.cancel() ends it") from None
        finally:
            bar.close()
        if self.state == "failed":
            raise JobFailed(self.record["problem"])
        if self.state == "cancelled":
            raise JobCancelled(f"job {self.id} was cancelled after {self.iteration} iterations")
        return self

    # ---- results ----------------------------------------------------------------------------

    def _fetch(self, path: str) -> requests.Response:
        def ask() -> requests.Response:
            reply: requests.Response = self.client.http.request("GET", path)
            return reply
        return self._patiently(ask)

    def layout(self, timeout: Optional[float] = None) -> npt.NDArray[np.float32]:
        """Waits, and fetches the layout: float32 [nodes, dims], rows in the order of the input."""
        with self._within(timeout):
            self.wait()
            reply = self._fetch(self.path + "/layout")
        found: npt.NDArray[np.float32] = array_of(reply)
        return found

    def result(self, timeout: Optional[float] = None) -> Any:
        """Waits. Returns a layout in the form of the input, as embed() does; of methods without a layout their first array:
        labels() of clusters, signal() of signals."""
        with self._within(timeout):
            self.wait()
            if not self.gives_layout:
                return self.array(str(self.record["results"][0]))
            layout = self.layout()
        if self._source and self._source.store:
            self._source.store(layout, self.method)
        return self._source.give(layout) if self._source else layout

    @property
    def gives_layout(self) -> bool:
        """True if its method gives a layout; otherwise its results are array() and are drawn on the layout of another job."""
        return bool(self.client.methods()[self.method]["layout"])

    def array(self, name: str, timeout: Optional[float] = None) -> Any:
        """Waits, and fetches one of the arrays that record["results"] names."""
        with self._within(timeout):
            self.wait()
            reply = self._fetch(f"{self.path}/results/{name}")
        return array_of(reply)

    def labels(self, timeout: Optional[float] = None) -> npt.NDArray[np.int32]:
        """Of kmeans and gmm: waits, and fetches the cluster of each row; -1 for a dropped row."""
        found: npt.NDArray[np.int32] = self.array("labels", timeout)
        return found

    def centroids(self, timeout: Optional[float] = None) -> npt.NDArray[Any]:
        """Of kmeans: waits, and fetches the centroids: float32 [clusters, columns], or float64 if columns of the points lie
        far from 0."""
        found: npt.NDArray[Any] = self.array("centroids", timeout)
        return found

    def responsibilities(self, timeout: Optional[float] = None) -> npt.NDArray[np.float32]:
        """Of gmm: waits, and fetches the probability of each component for each row: float32 [rows, components]."""
        found: npt.NDArray[np.float32] = self.array("responsibilities", timeout)
        return found

    def means(self, timeout: Optional[float] = None) -> npt.NDArray[np.float64]:
        """Of gmm: waits, and fetches the means: [components, columns]."""
        found: npt.NDArray[np.float64] = self.array("means", timeout)
        return found

    def covariances(self, timeout: Optional[float] = None) -> npt.NDArray[np.float64]:
        """Of gmm: waits, and fetches the covariances, in the shapes of scikit-learn's covariances_."""
        found: npt.NDArray[np.float64] = self.array("covariances", timeout)
        return found

    def weights(self, timeout: Optional[float] = None) -> npt.NDArray[np.float64]:
        """Of gmm: waits, and fetches the weights of the components."""
        found: npt.NDArray[np.float64] = self.array("weights", timeout)
        return found

    def predict(self, x: Any, give: str = "labels", **options: Any) -> Any:
        """Of gmm: waits, and applies the mixture to new points; returns their labels, responsibilities or
        log_likelihoods. options: of a file's columns, as of transform()."""
        self.wait()
        body = self._new_points(x)
        reply = self.client.http.request("POST", self.path + "/predict", query={"give": give, **_listed(options)},
                                         body=lambda: body, headers={"Content-Type": body.content_type})
        return array_of(reply)

    def _new_points(self, x: Any) -> Body:
        """The upload of new points. The server finds the columns of a file by those of the first file; a DataFrame goes
        there as one, unless the first points were a DataFrame, too, whose columns are known here."""
        from .inputs import Options, source_of
        convert = self._source.convert if self._source else None
        of_file = self._source is None or self._source.file_name is not None
        if of_file and hasattr(x, "to_csv") and hasattr(x, "columns"):
            return Body(x.to_csv(index=False).encode(), content_type="text/plain")
        return source_of(convert(x) if convert and not _is_path(x) else x, Options(kind="points", new_points=True)).body

    def score(self, x: Any) -> float:
        """Of gmm: the mean log-likelihood of new points, as scikit-learn's score()."""
        return float(self.predict(x, "log_likelihoods").mean())

    def sample(self, count: int = 100, seed: int = 0) -> Any:
        """Of gmm: waits, and draws points from the mixture: (points, labels), as scikit-learn's sample()."""
        self.wait()
        query = {"count": count, "seed": seed}
        replies = [self.client.http.request("GET", self.path + "/sample", query={**query, "give": give})
                   for give in ("points", "labels")]
        points, labels = [array_of(reply) for reply in replies]
        return points, labels

    def signal(self, timeout: Optional[float] = None) -> npt.NDArray[np.float32]:
        """Of signal: waits, and fetches the values of each node: float32 [nodes, values]."""
        found: npt.NDArray[np.float32] = self.array("signal", timeout)
        return found

    def snapshots(self, timeout: Optional[float] = None) -> Tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Of signal: waits, and fetches the times and the values at them: float32 [moments], [moments, nodes, values]."""
        with self._within(timeout):
            times: npt.NDArray[np.float32] = self.array("times")
            found: npt.NDArray[np.float32] = self.array("snapshots")
        return times, found

    def values(self) -> npt.NDArray[np.float32]:
        """Of signal: the latest values, also while the job runs."""
        reply = self.client.http.request("GET", f"{self.path}/values")
        found: npt.NDArray[np.float32] = array_of(reply)
        return found

    def trace(self) -> List[Dict[str, Any]]:
        """Measurements during the run: iteration, kl, gradient_norm, seconds, ..."""
        return list(self.client.http.json("GET", self.path + "/trace")["points"])

    def quality(self, k: int = 10) -> Dict[str, Any]:
        """KL divergence, recall of k neighbours, trustworthiness, silhouette; measured on the first request. Waits.

        recall_k and trustworthiness_k are the neighbours that these used: k, or fewer if fewer are known, or if k is half
        of the rows or more, which a warning tells."""
        self.wait()
        found = dict(self.client.http.json("GET", self.path + "/quality", query={"k": k}))
        for measure in ("recall", "trustworthiness"):
            if 0 < found.get(measure + "_k", 0) < k:
                warnings.warn(f"{measure} is that of {found[measure + '_k']} neighbours, not of {k}: " +
                              ("no more are known" if measure == "recall" else "k must be less than half of the rows"),
                              stacklevel=2)
        return found

    def clusters(self, columns: Union[str, Sequence[str], None] = None, of: "Optional[Job]" = None) -> Dict[str, Any]:
        """The clusters of the layout, in nested levels, coarse first, each with a name from the columns of its nodes, where
        its name goes, and what is characteristic of it. Waits.

        columns: those to name from; default: texts and categories. of: a Job of kmeans or gmm on the same graph, whose
        clusters are named instead of the density peaks of the layout."""
        self.wait()
        chosen = columns if columns is None or isinstance(columns, str) else ";".join(columns)
        query = {"columns": chosen, "clusters_of": None if of is None else of.id}
        return dict(self.client.http.json("GET", self.path + "/clusters",
                                          query={k: v for k, v in query.items() if v is not None}))

    def cluster_codes(self, level: int = 0) -> Any:
        """The cluster of each node at a level: its place in clusters()["levels"][level]["clusters"]; -1: none. Waits."""
        self.wait()
        raw = self.client.http.request("GET", self.path + "/clusters", query={"level": level}).content
        return np.frombuffer(raw, "<i4").copy()

    def name_cluster(self, cluster: str, name: Optional[str]) -> None:
        """Gives a cluster (its id) a name by hand, which is kept; None: the automatic name again."""
        self.client.http.request("PATCH", self.path + "/clusters/" + cluster, json={"name": name})

    def picture(self, path: Any = None, *, layout: "Optional[Job]" = None, color: "Union[str, Job, None]" = None,
                **options: Any) -> bytes:
        """A picture of the layout. Waits. Returns it and, if `path` is given, writes it: PNG, SVG or PDF, as the path
        ends (.png, .svg, .pdf; other endings are refused). An SVG has circles and text; a PDF has an image, of 300 dpi
        unless the option dpi says otherwise.

        color: "density", "degree", the name of a column of labels, or a Job of kmeans, gmm or signal on the same graph;
        default: the labels of the upload, if any. layout: a Job on the same graph, on whose layout the result of kmeans,
        gmm or signal is drawn; default: the layout that it was computed from. options: width, height, light,
        legend, names, dpi.
        """
        from .widget import picture
        return picture(self, path, layout, color, options)

    def transform(self, x: Any, **options: Any) -> Any:
        """Places new points in this layout, which does not change; waits for it.

        x has the columns of the layout's points; a file has those of the first file, by titles or order, and may lack
        names and labels. Options: perplexity, neighbours, start, iterations, learning_rate, momentum, exaggeration, and of
        a file name_column, label_column, ignore_columns, keep_columns, decimal, transpose, see docs/api.md.
        """
        self.wait()
        if self._source and self._source.kind in ("graph", "neighbours"):
            what = "a graph" if self._source.kind == "graph" else "neighbours alone"
            raise BadValue(f"this is a layout of {what}, without columns to compare new points by")
        body = self._new_points(x)
        reply = self.client.http.request("POST", self.path + "/transform", query=_listed(options), body=lambda: body,
                                         headers={"Content-Type": body.content_type})
        found: npt.NDArray[np.float32] = array_of(reply)
        return found

    # ---- watching ------------------------------------------------------------------------------

    def frames(self, type: str = "u16", max_points: Optional[int] = None) -> Frames:
        """Yields snapshots of the layout during the job. max_points: limits a frame to every stride-th node."""
        return Frames(self, type, max_points)

    def widget(self, **options: Any) -> Any:
        """Shows the layout in a notebook, live; see spaceland.widget.show."""
        from .widget import show
        return show(self, **options)

    def save_html(self, path: Any, **options: Any) -> None:
        """Writes one HTML file that shows the layout in any browser, without a network."""
        from .widget import save_html
        save_html(self, path, **options)

    def movie(self, path: Any, labels: Any = None, side: int = 720, seconds: float = 8, max_points: int = 200_000) -> int:
        """Writes a .mp4 or .gif of the layout as it forms; returns the number of frames. Needs ffmpeg.

        Call it while the job runs; it waits for the end. labels: as for widget(). side: width and height in pixels, even.
        seconds: the longest the movie takes, but for one second in which the final layout stays.
        """
        from ._movie import movie
        return movie(self, path, labels, side, seconds, max_points)

    # ---- steering --------------------------------------------------------------------------------

    def _change(self, **members: Any) -> "Job":
        self.record = self.client.http.json("PATCH", self.path, json=members)
        return self

    def steer(self, **parameters: Any) -> "Job":
        """Changes parameters of a running job: iterations, late_exaggeration, learning_rate, momentum, ..."""
        return self._change(**parameters)

    def pause(self) -> "Job":
        return self._change(paused=True)

    def resume(self) -> "Job":
        return self._change(paused=False)

    def cancel(self) -> "Job":
        """Ends the job without a result. A finished job stays as it is (Conflict)."""
        return self._change(cancelled=True)

    def stop(self) -> "Job":
        """Ends the job now and keeps its present layout."""
        return self._change(stop=True)

    def keep(self, keep: bool = True) -> "Job":
        """Keeps the job and its result: the server does not delete them because of their age or to make room. keep(False):
        no longer. record["expires"] says when the server deletes them; None: it does not."""
        return self._change(keep=keep)

    def share(self, *, readers: Optional[Sequence[str]] = None, projects: Optional[Sequence[str]] = None,
              everybody: Optional[bool] = None) -> Dict[str, Any]:
        """Sets who may read it: users, members of projects, or everybody with a token. Returns the present access. Its
        graph is shared separately, with job.graph.share()."""
        return shared(self.client, self.id, readers, projects, everybody)

    def delete(self) -> None:
        """Cancels the job if it has not ended, and deletes it with its results."""
        reply = self.client.http.request("DELETE", self.path, missing_is_done=True)
        if reply.status_code == 200:  # the request only cancelled the job
            self.record = document_of(reply)
            self.client.http.request("DELETE", self.path, missing_is_done=True)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        from .widget import mimebundle
        return mimebundle(self, include, exclude)

    @property
    def _measured(self) -> str:
        """The latest value of what the method minimises or maximises: "KL 0.732"; empty if there is none yet."""
        name = str(self.record.get("measure", "kl"))
        value = self.record.get(name)
        if value is None:
            return ""
        return f"KL {max(value, 0):.3f}" if name == "kl" else f"{name.replace('_', '-')} {value:.6g}"

    def _row(self) -> Dict[str, str]:
        """A row of Client.jobs() in a notebook."""
        row = cells(id=self.id, name=self.record["name"], method=self.method, state=self.state, iteration=f"{self.iteration:,}",
                    result=self._measured, created=moment(self.record["created"]))
        return {**row, "id": f'<a href="{html.escape(self.url)}" target="_blank">{row["id"]}</a>'}

    def __repr__(self) -> str:
        name = self.record["name"]
        what = [self.method, self.state, f"iteration {self.iteration}", self._measured]
        problem = self.record.get("problem")
        if problem:
            what.append(problem.get("detail") or problem.get("title") or "")
        taken = f"; taken: {self._taken}" if self._taken else ""
        return f"<spaceland.Job {self.id}{'' if name is None else f' {name!r}'}: {', '.join(filter(None, what))}{taken}>"


def _listed(options: Dict[str, Any]) -> Dict[str, Any]:
    """Options with lists of columns as the server wants them."""
    return {name: ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value for name, value in options.items()}


def _is_path(x: Any) -> bool:
    return isinstance(x, str) or hasattr(x, "__fspath__")
