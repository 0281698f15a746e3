"""t-SNE with the interface of scikit-learn and additional parameters of openTSNE."""
from __future__ import annotations

import math
import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from ._estimator import check_rows, seed_of
from ._server_estimator import Transformer, numbered
from ._sparse import is_sparse
from .client import Client
from .errors import BadInput, BadValue, Conflict, NotFound, SpacelandError, others_errors, own_errors_of
from .frames import Frame
from .graph import Graph
from .job import Job

__all__ = ["TSNE"]

Callback = Callable[[int, Optional[float], npt.NDArray[np.float32]], Any]

SKLEARN_STEP = 4  # a factor of scikit-learn's gradient that others omit, so its learning rates are smaller


@own_errors_of
class TSNE(Transformer):
    """t-SNE. Replaces `sklearn.manifold.TSNE` and, except for the result of fit(), `openTSNE.TSNE`.

    Parameters
    ----------
    n_components : 1, 2 or 3.
    perplexity : effective number of neighbours; a list for several at once. Must be less than the number of points;
        reduced to a third of the other points if larger, with a warning.
    early_exaggeration, early_exaggeration_iter : factor on the attraction at first, and number of these iterations.
        None: the server's number, 120 to 260.
    learning_rate : "auto", or a number as in scikit-learn (in openTSNE and other programs it is four times as large).
    max_iter : total number of iterations, including early exaggeration; "auto" or None: 400, or more for inputs that
        need them. They reach a lower divergence than 1,000 iterations of other programs, since the layout is scaled to
        the least divergence near the end.
    n_iter_without_progress, min_grad_norm : stop when the KL divergence has not fallen for so many iterations after
        early exaggeration, or when the gradient (as scikit-learn defines it) is smaller. None: never, since layouts
        improve until the end.
    metric, metric_params : a name of scikit-learn's or SciPy's, a function of two rows, or "precomputed": X holds
        distances, dense or sparse.
    init : "pca", "random", "spectral", or an array [n_samples, n_components], used unchanged. "pca" becomes "random"
        with metric="precomputed" or fewer columns than n_components.
    verbose : more than 0: a progress bar (with tqdm).
    random_state : None, an integer, or a generator of NumPy's. The same integer gives the same layout.
    method : how the repulsive forces are computed: "fft" on grids, or over all pairs where that is faster (the default,
        and the fastest); "barnes_hut" with Barnes and Hut's tree, scikit-learn's default; "exact" over all pairs.
    angle : of method "barnes_hut": a cell of the tree acts as one point if its width is less than `angle` times its
        distance. 0 to 1; lower is more accurate and slower. Other methods ignore it.
    n_jobs : accepted and ignored; the server decides how many threads it uses.
    exaggeration : factor on the attraction after early exaggeration. None: 1.
    dof : degrees of freedom of the kernel; 1 is t-SNE's.
    callbacks, callbacks_every_iters : functions (iteration, KL divergence or None, layout), called after
        every so many iterations, exactly, while the run waits; if one returns True, the optimisation ends there. An object may have a method
        optimization_about_to_start().
    parameters : dict of any other parameters of the server, by its names.
    client : spaceland.Client; None: a server on this machine, started if necessary.
    n_iter : the name of max_iter in scikit-learn before 1.5; with a warning, since openTSNE's n_iter excludes early
        exaggeration.

    Attributes
    ----------
    embedding_ : float32 [n_samples, n_components]
    kl_divergence_ : its KL divergence as the server computed it with the forces; quality() measures it over all pairs.
    n_iter_ : iterations done
    learning_rate_ : the final learning rate, as in scikit-learn
    n_features_in_, feature_names_in_ : columns of X
    """

    _arguments = {"dims": "n_components", "iterations": "max_iter", "exaggeration": "early_exaggeration",
                  "exaggeration_iterations": "early_exaggeration_iter", "late_exaggeration": "exaggeration", "seed": "random_state",
                  "kl_patience": "n_iter_without_progress"}

    def __init__(self, n_components: int = 2, *, perplexity: Union[float, Sequence[float]] = 30.0,
                 early_exaggeration: float = 12.0, learning_rate: Union[float, str] = "auto", max_iter: Union[int, str, None] = None,
                 n_iter_without_progress: Optional[int] = None, min_grad_norm: Optional[float] = None,
                 metric: Any = "euclidean", metric_params: Optional[Dict[str, Any]] = None, init: Any = "pca",
                 verbose: int = 0, random_state: Any = None, method: str = "fft", angle: float = 0.5,
                 n_jobs: Optional[int] = None, early_exaggeration_iter: Optional[int] = None,
                 exaggeration: Optional[float] = None, dof: float = 1.0,
                 callbacks: Union[Callback, Sequence[Callback], None] = None, callbacks_every_iters: int = 50,
                 parameters: Optional[Dict[str, Any]] = None, client: Optional[Client] = None,
                 n_iter: Optional[int] = None):
        self.n_components = n_components
        self.perplexity = perplexity
        self.early_exaggeration = early_exaggeration
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.n_iter_without_progress = n_iter_without_progress
        self.min_grad_norm = min_grad_norm
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.verbose = verbose
        self.random_state = random_state
        self.method = method
        self.angle = angle
        self.n_jobs = n_jobs
        self.early_exaggeration_iter = early_exaggeration_iter
        self.exaggeration = exaggeration
        self.dof = dof
        self.callbacks = callbacks
        self.callbacks_every_iters = callbacks_every_iters
        self.parameters = parameters
        self.client = client
        self.n_iter = n_iter

    # ---- fitting ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> "TSNE":
        """Lays the rows of X out; y is ignored."""
        rows = check_rows(X, type(self).__name__, 2)
        self._note_features(X, int(rows.shape[1]))
        job = self._submit(rows, self._job_parameters(rows))
        with job.wanted():
            self._watch(job)
        self._await(job)
        self._keep(job, rows)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> npt.NDArray[np.float32]:
        """fit(X).embedding_"""
        return self.fit(X).embedding_

    def _submit(self, rows: Any, parameters: Dict[str, Any]) -> Job:
        arguments = dict(parameters, metric=self.metric, metric_params=self.metric_params)
        if not self._pairwise():
            arguments["kind"] = "points"
        elif is_sparse(rows):
            arguments["kind"] = "neighbours"
        client = self._client()
        lease = self._new_lease(client)
        try:
            return client._submit(rows, lease, **arguments)
        except BadInput as error:
            raise self._renamed(error) from None

    def _pairwise(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _perplexity(self, n: int) -> Any:
        """The perplexity for n points, reduced if necessary; None: the server chooses for so few points."""
        given = np.asarray(self.perplexity)
        if given.dtype.kind not in "iuf" or not given.size or not np.all(given > 0):
            raise BadValue(f"perplexity is {self.perplexity!r}; it must be a number above 0, or a list of such numbers")
        largest = float(np.max(given))
        if not largest < n:
            raise BadValue(f"perplexity must be less than n_samples; it is {largest:g}, and n_samples is {n}")
        allowed = (n - 1) / 3
        if largest <= allowed:
            return self.perplexity
        warnings.warn(f"perplexity {largest:g} is too large for {n} points; it is reduced to {max(allowed, 1):.4g}, a third "
                      "of the others", stacklevel=4)
        return None if np.ndim(self.perplexity) == 0 else [min(p, allowed) for p in np.ravel(self.perplexity).tolist()]

    def _iterations(self) -> Union[int, str, None]:
        if self.n_iter is None:
            return self.max_iter
        if self.max_iter is not None:
            raise BadValue("max_iter and n_iter are two names of one parameter; pass max_iter alone")
        warnings.warn("n_iter is called max_iter now; it counts all iterations, as in scikit-learn (in openTSNE it counts those "
                      "after early exaggeration)", FutureWarning, stacklevel=4)
        return self.n_iter

    def _job_parameters(self, rows: Any) -> Dict[str, Any]:
        """The parameters by the server's names."""
        self._calls()
        parameters: Dict[str, Any] = {
            "dims": self.n_components, "perplexity": self._perplexity(rows.shape[0]), "iterations": self._iterations(),
            "exaggeration": self.early_exaggeration, "exaggeration_iterations": self.early_exaggeration_iter,
            "late_exaggeration": 1 if self.exaggeration is None else self.exaggeration, "dof": self.dof,
            "seed": seed_of(self.random_state),
        }
        if not (isinstance(self.learning_rate, str) and self.learning_rate == "auto"):
            if not isinstance(self.learning_rate, (int, float, np.number)) or not self.learning_rate > 0:
                raise BadValue(f"learning_rate is {self.learning_rate!r}; it must be \"auto\" or a number above 0")
            parameters["learning_rate"] = SKLEARN_STEP * float(self.learning_rate)
        if self.min_grad_norm is not None:
            parameters["min_gradient_norm"] = self.min_grad_norm / SKLEARN_STEP
        if self.n_iter_without_progress is not None:
            parameters.update(kl_patience=self.n_iter_without_progress, kl_tolerance=0)
        parameters.update(self._forces())
        parameters["init"] = self._init(rows)
        if self.callbacks is not None:
            parameters["pause_at"] = self._every()
        parameters.update(self.parameters or {})
        return parameters

    def _forces(self) -> Dict[str, Any]:
        """The parameters for method and angle, by the server's names."""
        if self.method not in ("barnes_hut", "fft", "auto", "exact"):
            raise BadValue(f'method is {self.method!r}; it must be "fft", "barnes_hut" or "exact"')
        if self.method != "barnes_hut":
            return {"repulsion": "exact"} if self.method == "exact" else {}
        if not isinstance(self.angle, (int, float, np.number)) or not 0 <= self.angle <= 1:
            raise BadValue(f"angle is {self.angle!r}; it must be a number from 0 to 1")
        return {"repulsion": "barnes_hut", "theta": float(self.angle)}

    def _init(self, rows: Any) -> Any:
        if not isinstance(self.init, str):
            return np.asarray(self.init)
        if self.init not in ("pca", "random", "spectral"):
            raise BadValue(f"init is {self.init!r}; it must be \"pca\", \"random\", \"spectral\" or an array")
        from .inputs import Options, _known
        no_axes = self._pairwise() or not _known(Options(metric=self.metric, metric_params=self.metric_params))
        if self.init == "pca" and (no_axes or min(rows.shape) < self.n_components):
            return "random"
        return self.init

    def _calls(self) -> List[Any]:
        if self.callbacks is None:
            return []
        calls = list(self.callbacks) if isinstance(self.callbacks, Sequence) else [self.callbacks]
        if not all(callable(call) for call in calls):
            raise BadValue(f"callbacks is {self.callbacks!r}; it must be a function or a list of functions")
        return calls

    def _watch(self, job: Job) -> None:
        """Calls the callbacks until the job has ended or a callback ends it."""
        if self.callbacks is None:
            return
        calls = self._calls()
        for call in calls:
            if hasattr(call, "optimization_about_to_start"):
                call.optimization_about_to_start()
        while self._stands(job):
            frame = job.frames("f32").at_least(job.iteration)
            if frame is not None and any([_called(call, frame) for call in calls]):
                job.stop()
                return
            job.steer(pause_at=job.iteration + self._every(), paused=False)
        last = job.frames("f32").next() if job.state == "done" and job.iteration % self._every() == 0 else None
        if last is not None and last.n:
            for call in calls:
                _called(call, last)

    def _every(self) -> int:
        every = self.callbacks_every_iters
        if not isinstance(every, (int, np.integer)) or every < 1:
            raise BadValue(f"callbacks_every_iters is {every!r}; it must be a whole number from 1 on")
        return int(every)

    def _stands(self, job: Job) -> bool:
        """Waits until the job has paused itself for the callbacks; False: it has ended."""
        pause, every = 0.001, self._every()
        while not job.ended:
            if job.state == "paused" and job.iteration == job.parameters["pause_at"] and job.iteration % every == 0:
                return True
            job.client.http.pause(pause)
            pause = min(0.1, 1.3 * pause)
            job._patiently(job.refresh)
        return False

    def _keep(self, job: Job, rows: Any) -> None:
        self.embedding_ = job.layout()
        self.n_iter_ = job.iteration
        self.kl_divergence_ = math.nan if job.kl is None else job.kl
        trace = job.trace()
        if trace:
            self.learning_rate_ = trace[-1]["learning_rate"] / SKLEARN_STEP
        self._n_features_out = self.n_components
        self._rows = rows
        self._attach(job)

    # ---- afterwards --------------------------------------------------------------------------

    def _fitted_job(self) -> Job:
        """The job that fit() made. After pickling, or if the server has removed it, makes a new one."""
        self._check_fitted()
        job: Optional[Job] = getattr(self, "_job", None)
        if job is not None:
            try:
                return job.refresh()
            except SpacelandError:
                pass
        return self._new_job()

    def _new_job(self) -> Job:
        options = {**self._job_parameters(self._rows), "init": self.embedding_, "iterations": 1, "exaggeration": 1,
                   "learning_rate": 1e-6, "rate_limit": "off", "rescale": "off", "exaggeration_iterations": 0, "pause_at": 0}
        made = self._submit(self._rows, options).wait()
        self._attach(made)
        return made

    def _of_job(self, ask: Callable[[Job], Any]) -> Any:
        """The answer of the job that fit() made; of a new one, if somebody has deleted its graph."""
        job = self._fitted_job()
        try:
            return ask(job)
        except (Conflict, NotFound):
            if Graph(job.client, {"id": job.record["graph"]}).exists():
                raise
        return ask(self._new_job())

    def transform(self, X: Any) -> npt.NDArray[np.float32]:
        """Places new points in the layout, which does not change. Rows that fit() has seen keep their positions."""
        self._check_fitted()
        rows = check_rows(X, type(self).__name__, 1)
        self._check_features(X, rows)
        if rows.shape == self._rows.shape and _equal(rows, self._rows):
            return self.embedding_.copy()
        found: npt.NDArray[np.float32] = self._of_job(lambda job: job.transform(rows))
        where = _seen(self._rows, rows)
        found[where >= 0] = self.embedding_[where[where >= 0]]
        return found

    def quality(self, k: int = 10) -> Dict[str, Any]:
        """Returns KL divergence over all pairs, recall of k neighbours and trustworthiness, measured by the server."""
        measured: Dict[str, Any] = self._of_job(lambda job: job.quality(k))
        return measured

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """tsne0, tsne1, ..."""
        self._check_fitted()
        return numbered(type(self).__name__.lower(), self._n_features_out)

    def _more_tags(self) -> Dict[str, Any]:
        return {"pairwise": self._pairwise(), "preserves_dtype": [], "_xfail_checks": {}}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = self._pairwise()
        return tags


def _called(call: Callback, frame: Frame) -> bool:
    """True: the callback ends the run. Its errors are its own."""
    with others_errors():
        return bool(call(frame.iteration, frame.kl, frame.layout))


def _equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if is_sparse(a) or is_sparse(b):
        return is_sparse(a) and is_sparse(b) and (a != b).nnz == 0
    return bool(np.array_equal(a, b))


def _seen(old: Any, new: Any) -> npt.NDArray[np.int64]:
    """For each row of new, the number of the row of old with the same values; -1 if there is none."""
    if is_sparse(old) or is_sparse(new):
        return np.full(new.shape[0], -1, dtype=np.int64)

    def keys(rows: Any) -> npt.NDArray[Any]:
        a = np.ascontiguousarray(rows, dtype=np.float64) + 0.0  # turns -0.0 into 0.0
        return a.view(np.dtype((np.void, a.dtype.itemsize * a.shape[1]))).ravel()
    old_keys, first = np.unique(keys(old), return_index=True)
    new_keys = keys(new)
    at = np.minimum(np.searchsorted(old_keys, new_keys), len(old_keys) - 1)
    return np.where(old_keys[at] == new_keys, first[at], -1)
