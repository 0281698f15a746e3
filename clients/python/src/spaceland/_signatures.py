"""embed() and submit() with the parameters of proto/openapi.yaml. Made by scripts/python_signatures.py; do not edit."""
# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Literal, NoReturn, Optional, Sequence, Union, overload

import numpy as np
import numpy.typing as npt

from .errors import own_errors, own_errors_of

if TYPE_CHECKING:
    from .client import Client
    from .graph import Graph
    from .job import Job
    from .progress import Progress

__all__ = ["UPLOAD", "Submitting", "embed", "submit"]

#: Parameters of an upload that are passed on; all others are the job's.
UPLOAD = (
    "project", "format", "directed", "source", "target", "bipartite", "isolated", "values", "neighbours", "recall",
    "name_column", "label_column", "labels_column", "ignore_columns", "keep_columns", "decimal", "transpose",
    "drop_not_finite"
)

_OWN = ("self", "x", "client", "progress", "unknown")


def _given(local: Dict[str, Any]) -> Dict[str, Any]:
    """The arguments that were given, or have a default other than None."""
    found = {name: value for name, value in local.items() if name not in _OWN and (value is not None or name == "weight")}
    return {**found, **local["unknown"]}


@own_errors_of
class Submitting:
    """The part of Client that starts jobs."""

    if TYPE_CHECKING:
        def _submit(self, x: Any, lease: Any, **arguments: Any) -> Job: ...
        def _embed(self, x: Any, progress: Any, **arguments: Any) -> Any: ...

    def submit(
        self, x: Any, *,
        dims: Optional[int] = None, perplexity: Union[float, Sequence[float], Literal["auto"], None] = None,
        lambda_: Union[float, Literal["auto"], None] = None, iterations: Union[int, Literal["auto"], None] = None,
        init: Union[Literal["random", "pca", "spectral", "auto"], npt.ArrayLike, "Job", None] = None,
        seed: Optional[int] = None, metric: Union[str, Callable[..., float], None] = None,
        metric_params: Optional[Dict[str, Any]] = None, pca: Optional[int] = None,
        kind: Optional[Literal["graph", "points", "neighbours"]] = None, labels: Any = None,
        columns: Optional[Sequence[Any]] = None, use_rep: Optional[str] = None, layer: Optional[str] = None,
        key_added: Optional[str] = None, weight: Optional[str] = "weight", name: Optional[str] = None,
        project: Optional[str] = None, format: Optional[Literal["mtx", "edges", "npz", "npy", "csv"]] = None,
        directed: Optional[bool] = None, source: Optional[str] = None, target: Optional[str] = None,
        bipartite: Optional[bool] = None, isolated: Optional[bool] = None,
        values: Optional[Literal["auto", "similarities", "distances"]] = None, neighbours: Optional[int] = None,
        recall: Optional[float] = None, name_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        label_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        labels_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        ignore_columns: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        keep_columns: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        decimal: Optional[Literal["auto", "point", "comma"]] = None, transpose: Optional[bool] = None,
        drop_not_finite: Optional[bool] = None,
        preset: Optional[Literal["default", "sgtsnepi", "fitsne", "opentsne", "sklearn", "tsnecuda", "sklearn_barnes_hut", "tsnecuda1"]] = None,
        drop_leaf_edges: Optional[bool] = None, exaggeration: Optional[float] = None,
        exaggeration_iterations: Optional[Union[int, Literal["auto"]]] = None,
        exaggeration_decay: Optional[Union[int, Literal["auto"]]] = None, late_exaggeration: Optional[float] = None,
        dof: Optional[float] = None, optimizer: Optional[Literal["momentum", "adam"]] = None,
        learning_rate: Optional[Union[float, Literal["auto"]]] = None,
        learning_rate_rule: Optional[Literal["phase", "early"]] = None, early_momentum: Optional[float] = None,
        momentum: Optional[float] = None, gains: Optional[Literal["node", "coordinate"]] = None,
        gain_least: Optional[float] = None, gain_added: Optional[float] = None,
        rate_limit: Optional[Union[float, Literal["off"]]] = None,
        max_step: Optional[Union[float, Literal["off"]]] = None,
        restart: Optional[Literal["nothing", "velocities", "all"]] = None,
        rescale: Optional[Union[float, Literal["off"]]] = None,
        accuracy: Optional[Literal["draft", "normal", "fine", "auto"]] = None,
        grid_side: Optional[Union[int, Literal["auto"]]] = None,
        repulsion: Optional[Literal["auto", "grid", "exact", "barnes_hut"]] = None, theta: Optional[float] = None,
        init_std: Optional[float] = None, min_gradient_norm: Optional[Union[float, Literal["off"]]] = None,
        kl_patience: Optional[Union[int, Literal["off"]]] = None,
        kl_tolerance: Optional[Union[float, Literal["auto"]]] = None,
        max_seconds: Optional[Union[float, Literal["off"]]] = None,
        trace_interval: Optional[Union[int, Literal["off"]]] = None,
        pause_at: Optional[Union[int, Literal["off"]]] = None, priority: Optional[int] = None,
        time_limit: Optional[float] = None,
        engine: Optional[Literal["auto", "cuda", "hybrid", "hybrid-double", "slurm", "cpu"]] = None,
        after: Optional[str] = None, **unknown: NoReturn
    ) -> Job:
        """Uploads x, unless it is a Graph, and starts a job on it; does not wait. See embed() for the arguments."""
        return self._submit(x, None, **_given(locals()))

    @overload
    def embed(
        self, x: Union[npt.NDArray[Any], Graph], *, progress: Union[bool, None, Progress] = None,
        dims: Optional[int] = None, perplexity: Union[float, Sequence[float], Literal["auto"], None] = None,
        lambda_: Union[float, Literal["auto"], None] = None, iterations: Union[int, Literal["auto"], None] = None,
        init: Union[Literal["random", "pca", "spectral", "auto"], npt.ArrayLike, "Job", None] = None,
        seed: Optional[int] = None, metric: Union[str, Callable[..., float], None] = None,
        metric_params: Optional[Dict[str, Any]] = None, pca: Optional[int] = None,
        kind: Optional[Literal["graph", "points", "neighbours"]] = None, labels: Any = None,
        columns: Optional[Sequence[Any]] = None, use_rep: Optional[str] = None, layer: Optional[str] = None,
        key_added: Optional[str] = None, weight: Optional[str] = "weight", name: Optional[str] = None,
        project: Optional[str] = None, format: Optional[Literal["mtx", "edges", "npz", "npy", "csv"]] = None,
        directed: Optional[bool] = None, source: Optional[str] = None, target: Optional[str] = None,
        bipartite: Optional[bool] = None, isolated: Optional[bool] = None,
        values: Optional[Literal["auto", "similarities", "distances"]] = None, neighbours: Optional[int] = None,
        recall: Optional[float] = None, name_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        label_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        labels_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        ignore_columns: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        keep_columns: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        decimal: Optional[Literal["auto", "point", "comma"]] = None, transpose: Optional[bool] = None,
        drop_not_finite: Optional[bool] = None,
        preset: Optional[Literal["default", "sgtsnepi", "fitsne", "opentsne", "sklearn", "tsnecuda", "sklearn_barnes_hut", "tsnecuda1"]] = None,
        drop_leaf_edges: Optional[bool] = None, exaggeration: Optional[float] = None,
        exaggeration_iterations: Optional[Union[int, Literal["auto"]]] = None,
        exaggeration_decay: Optional[Union[int, Literal["auto"]]] = None, late_exaggeration: Optional[float] = None,
        dof: Optional[float] = None, optimizer: Optional[Literal["momentum", "adam"]] = None,
        learning_rate: Optional[Union[float, Literal["auto"]]] = None,
        learning_rate_rule: Optional[Literal["phase", "early"]] = None, early_momentum: Optional[float] = None,
        momentum: Optional[float] = None, gains: Optional[Literal["node", "coordinate"]] = None,
        gain_least: Optional[float] = None, gain_added: Optional[float] = None,
        rate_limit: Optional[Union[float, Literal["off"]]] = None,
        max_step: Optional[Union[float, Literal["off"]]] = None,
        restart: Optional[Literal["nothing", "velocities", "all"]] = None,
        rescale: Optional[Union[float, Literal["off"]]] = None,
        accuracy: Optional[Literal["draft", "normal", "fine", "auto"]] = None,
        grid_side: Optional[Union[int, Literal["auto"]]] = None,
        repulsion: Optional[Literal["auto", "grid", "exact", "barnes_hut"]] = None, theta: Optional[float] = None,
        init_std: Optional[float] = None, min_gradient_norm: Optional[Union[float, Literal["off"]]] = None,
        kl_patience: Optional[Union[int, Literal["off"]]] = None,
        kl_tolerance: Optional[Union[float, Literal["auto"]]] = None,
        max_seconds: Optional[Union[float, Literal["off"]]] = None,
        trace_interval: Optional[Union[int, Literal["off"]]] = None,
        pause_at: Optional[Union[int, Literal["off"]]] = None, priority: Optional[int] = None,
        time_limit: Optional[float] = None,
        engine: Optional[Literal["auto", "cuda", "hybrid", "hybrid-double", "slurm", "cpu"]] = None,
        after: Optional[str] = None, **unknown: NoReturn
    ) -> npt.NDArray[np.float32]: ...

    @overload
    def embed(
        self, x: Any, *, progress: Union[bool, None, Progress] = None,
        dims: Optional[int] = None, perplexity: Union[float, Sequence[float], Literal["auto"], None] = None,
        lambda_: Union[float, Literal["auto"], None] = None, iterations: Union[int, Literal["auto"], None] = None,
        init: Union[Literal["random", "pca", "spectral", "auto"], npt.ArrayLike, "Job", None] = None,
        seed: Optional[int] = None, metric: Union[str, Callable[..., float], None] = None,
        metric_params: Optional[Dict[str, Any]] = None, pca: Optional[int] = None,
        kind: Optional[Literal["graph", "points", "neighbours"]] = None, labels: Any = None,
        columns: Optional[Sequence[Any]] = None, use_rep: Optional[str] = None, layer: Optional[str] = None,
        key_added: Optional[str] = None, weight: Optional[str] = "weight", name: Optional[str] = None,
        project: Optional[str] = None, format: Optional[Literal["mtx", "edges", "npz", "npy", "csv"]] = None,
        directed: Optional[bool] = None, source: Optional[str] = None, target: Optional[str] = None,
        bipartite: Optional[bool] = None, isolated: Optional[bool] = None,
        values: Optional[Literal["auto", "similarities", "distances"]] = None, neighbours: Optional[int] = None,
        recall: Optional[float] = None, name_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        label_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        labels_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        ignore_columns: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        keep_columns: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        decimal: Optional[Literal["auto", "point", "comma"]] = None, transpose: Optional[bool] = None,
        drop_not_finite: Optional[bool] = None,
        preset: Optional[Literal["default", "sgtsnepi", "fitsne", "opentsne", "sklearn", "tsnecuda", "sklearn_barnes_hut", "tsnecuda1"]] = None,
        drop_leaf_edges: Optional[bool] = None, exaggeration: Optional[float] = None,
        exaggeration_iterations: Optional[Union[int, Literal["auto"]]] = None,
        exaggeration_decay: Optional[Union[int, Literal["auto"]]] = None, late_exaggeration: Optional[float] = None,
        dof: Optional[float] = None, optimizer: Optional[Literal["momentum", "adam"]] = None,
        learning_rate: Optional[Union[float, Literal["auto"]]] = None,
        learning_rate_rule: Optional[Literal["phase", "early"]] = None, early_momentum: Optional[float] = None,
        momentum: Optional[float] = None, gains: Optional[Literal["node", "coordinate"]] = None,
        gain_least: Optional[float] = None, gain_added: Optional[float] = None,
        rate_limit: Optional[Union[float, Literal["off"]]] = None,
        max_step: Optional[Union[float, Literal["off"]]] = None,
        restart: Optional[Literal["nothing", "velocities", "all"]] = None,
        rescale: Optional[Union[float, Literal["off"]]] = None,
        accuracy: Optional[Literal["draft", "normal", "fine", "auto"]] = None,
        grid_side: Optional[Union[int, Literal["auto"]]] = None,
        repulsion: Optional[Literal["auto", "grid", "exact", "barnes_hut"]] = None, theta: Optional[float] = None,
        init_std: Optional[float] = None, min_gradient_norm: Optional[Union[float, Literal["off"]]] = None,
        kl_patience: Optional[Union[int, Literal["off"]]] = None,
        kl_tolerance: Optional[Union[float, Literal["auto"]]] = None,
        max_seconds: Optional[Union[float, Literal["off"]]] = None,
        trace_interval: Optional[Union[int, Literal["off"]]] = None,
        pause_at: Optional[Union[int, Literal["off"]]] = None, priority: Optional[int] = None,
        time_limit: Optional[float] = None,
        engine: Optional[Literal["auto", "cuda", "hybrid", "hybrid-double", "slurm", "cpu"]] = None,
        after: Optional[str] = None, **unknown: NoReturn
    ) -> Any: ...

    def embed(
        self, x: Any, *, progress: Union[bool, None, Progress] = None,
        dims: Optional[int] = None, perplexity: Union[float, Sequence[float], Literal["auto"], None] = None,
        lambda_: Union[float, Literal["auto"], None] = None, iterations: Union[int, Literal["auto"], None] = None,
        init: Union[Literal["random", "pca", "spectral", "auto"], npt.ArrayLike, "Job", None] = None,
        seed: Optional[int] = None, metric: Union[str, Callable[..., float], None] = None,
        metric_params: Optional[Dict[str, Any]] = None, pca: Optional[int] = None,
        kind: Optional[Literal["graph", "points", "neighbours"]] = None, labels: Any = None,
        columns: Optional[Sequence[Any]] = None, use_rep: Optional[str] = None, layer: Optional[str] = None,
        key_added: Optional[str] = None, weight: Optional[str] = "weight", name: Optional[str] = None,
        project: Optional[str] = None, format: Optional[Literal["mtx", "edges", "npz", "npy", "csv"]] = None,
        directed: Optional[bool] = None, source: Optional[str] = None, target: Optional[str] = None,
        bipartite: Optional[bool] = None, isolated: Optional[bool] = None,
        values: Optional[Literal["auto", "similarities", "distances"]] = None, neighbours: Optional[int] = None,
        recall: Optional[float] = None, name_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        label_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        labels_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        ignore_columns: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        keep_columns: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
        decimal: Optional[Literal["auto", "point", "comma"]] = None, transpose: Optional[bool] = None,
        drop_not_finite: Optional[bool] = None,
        preset: Optional[Literal["default", "sgtsnepi", "fitsne", "opentsne", "sklearn", "tsnecuda", "sklearn_barnes_hut", "tsnecuda1"]] = None,
        drop_leaf_edges: Optional[bool] = None, exaggeration: Optional[float] = None,
        exaggeration_iterations: Optional[Union[int, Literal["auto"]]] = None,
        exaggeration_decay: Optional[Union[int, Literal["auto"]]] = None, late_exaggeration: Optional[float] = None,
        dof: Optional[float] = None, optimizer: Optional[Literal["momentum", "adam"]] = None,
        learning_rate: Optional[Union[float, Literal["auto"]]] = None,
        learning_rate_rule: Optional[Literal["phase", "early"]] = None, early_momentum: Optional[float] = None,
        momentum: Optional[float] = None, gains: Optional[Literal["node", "coordinate"]] = None,
        gain_least: Optional[float] = None, gain_added: Optional[float] = None,
        rate_limit: Optional[Union[float, Literal["off"]]] = None,
        max_step: Optional[Union[float, Literal["off"]]] = None,
        restart: Optional[Literal["nothing", "velocities", "all"]] = None,
        rescale: Optional[Union[float, Literal["off"]]] = None,
        accuracy: Optional[Literal["draft", "normal", "fine", "auto"]] = None,
        grid_side: Optional[Union[int, Literal["auto"]]] = None,
        repulsion: Optional[Literal["auto", "grid", "exact", "barnes_hut"]] = None, theta: Optional[float] = None,
        init_std: Optional[float] = None, min_gradient_norm: Optional[Union[float, Literal["off"]]] = None,
        kl_patience: Optional[Union[int, Literal["off"]]] = None,
        kl_tolerance: Optional[Union[float, Literal["auto"]]] = None,
        max_seconds: Optional[Union[float, Literal["off"]]] = None,
        trace_interval: Optional[Union[int, Literal["off"]]] = None,
        pause_at: Optional[Union[int, Literal["off"]]] = None, priority: Optional[int] = None,
        time_limit: Optional[float] = None,
        engine: Optional[Literal["auto", "cuda", "hybrid", "hybrid-double", "slurm", "cpu"]] = None,
        after: Optional[str] = None, **unknown: NoReturn
    ) -> Any:
        """Submits, waits, and returns the layout in the form of x. See spaceland.embed."""
        return self._embed(x, progress, **_given(locals()))


def _client(client: Optional[Client]) -> Client:
    from .client import default_client
    return client or default_client()


@own_errors
def submit(
    x: Any, *, client: Optional[Client] = None,
    dims: Optional[int] = None, perplexity: Union[float, Sequence[float], Literal["auto"], None] = None,
    lambda_: Union[float, Literal["auto"], None] = None, iterations: Union[int, Literal["auto"], None] = None,
    init: Union[Literal["random", "pca", "spectral", "auto"], npt.ArrayLike, "Job", None] = None,
    seed: Optional[int] = None, metric: Union[str, Callable[..., float], None] = None,
    metric_params: Optional[Dict[str, Any]] = None, pca: Optional[int] = None,
    kind: Optional[Literal["graph", "points", "neighbours"]] = None, labels: Any = None,
    columns: Optional[Sequence[Any]] = None, use_rep: Optional[str] = None, layer: Optional[str] = None,
    key_added: Optional[str] = None, weight: Optional[str] = "weight", name: Optional[str] = None,
    project: Optional[str] = None, format: Optional[Literal["mtx", "edges", "npz", "npy", "csv"]] = None,
    directed: Optional[bool] = None, source: Optional[str] = None, target: Optional[str] = None,
    bipartite: Optional[bool] = None, isolated: Optional[bool] = None,
    values: Optional[Literal["auto", "similarities", "distances"]] = None, neighbours: Optional[int] = None,
    recall: Optional[float] = None, name_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    label_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    labels_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    ignore_columns: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    keep_columns: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    decimal: Optional[Literal["auto", "point", "comma"]] = None, transpose: Optional[bool] = None,
    drop_not_finite: Optional[bool] = None,
    preset: Optional[Literal["default", "sgtsnepi", "fitsne", "opentsne", "sklearn", "tsnecuda", "sklearn_barnes_hut", "tsnecuda1"]] = None,
    drop_leaf_edges: Optional[bool] = None, exaggeration: Optional[float] = None,
    exaggeration_iterations: Optional[Union[int, Literal["auto"]]] = None,
    exaggeration_decay: Optional[Union[int, Literal["auto"]]] = None, late_exaggeration: Optional[float] = None,
    dof: Optional[float] = None, optimizer: Optional[Literal["momentum", "adam"]] = None,
    learning_rate: Optional[Union[float, Literal["auto"]]] = None,
    learning_rate_rule: Optional[Literal["phase", "early"]] = None, early_momentum: Optional[float] = None,
    momentum: Optional[float] = None, gains: Optional[Literal["node", "coordinate"]] = None,
    gain_least: Optional[float] = None, gain_added: Optional[float] = None,
    rate_limit: Optional[Union[float, Literal["off"]]] = None,
    max_step: Optional[Union[float, Literal["off"]]] = None,
    restart: Optional[Literal["nothing", "velocities", "all"]] = None,
    rescale: Optional[Union[float, Literal["off"]]] = None,
    accuracy: Optional[Literal["draft", "normal", "fine", "auto"]] = None,
    grid_side: Optional[Union[int, Literal["auto"]]] = None,
    repulsion: Optional[Literal["auto", "grid", "exact", "barnes_hut"]] = None, theta: Optional[float] = None,
    init_std: Optional[float] = None, min_gradient_norm: Optional[Union[float, Literal["off"]]] = None,
    kl_patience: Optional[Union[int, Literal["off"]]] = None,
    kl_tolerance: Optional[Union[float, Literal["auto"]]] = None,
    max_seconds: Optional[Union[float, Literal["off"]]] = None,
    trace_interval: Optional[Union[int, Literal["off"]]] = None,
    pause_at: Optional[Union[int, Literal["off"]]] = None, priority: Optional[int] = None,
    time_limit: Optional[float] = None,
    engine: Optional[Literal["auto", "cuda", "hybrid", "hybrid-double", "slurm", "cpu"]] = None,
    after: Optional[str] = None, **unknown: NoReturn
) -> Job:
    """Starts a job on x and does not wait; see embed() for the arguments. `Job.result()` returns the same as embed()."""
    return _client(client)._submit(x, None, **_given(locals()))


@overload
def embed(
    x: Union[npt.NDArray[Any], Graph], *, client: Optional[Client] = None, progress: Union[bool, None, Progress] = None,
    dims: Optional[int] = None, perplexity: Union[float, Sequence[float], Literal["auto"], None] = None,
    lambda_: Union[float, Literal["auto"], None] = None, iterations: Union[int, Literal["auto"], None] = None,
    init: Union[Literal["random", "pca", "spectral", "auto"], npt.ArrayLike, "Job", None] = None,
    seed: Optional[int] = None, metric: Union[str, Callable[..., float], None] = None,
    metric_params: Optional[Dict[str, Any]] = None, pca: Optional[int] = None,
    kind: Optional[Literal["graph", "points", "neighbours"]] = None, labels: Any = None,
    columns: Optional[Sequence[Any]] = None, use_rep: Optional[str] = None, layer: Optional[str] = None,
    key_added: Optional[str] = None, weight: Optional[str] = "weight", name: Optional[str] = None,
    project: Optional[str] = None, format: Optional[Literal["mtx", "edges", "npz", "npy", "csv"]] = None,
    directed: Optional[bool] = None, source: Optional[str] = None, target: Optional[str] = None,
    bipartite: Optional[bool] = None, isolated: Optional[bool] = None,
    values: Optional[Literal["auto", "similarities", "distances"]] = None, neighbours: Optional[int] = None,
    recall: Optional[float] = None, name_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    label_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    labels_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    ignore_columns: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    keep_columns: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    decimal: Optional[Literal["auto", "point", "comma"]] = None, transpose: Optional[bool] = None,
    drop_not_finite: Optional[bool] = None,
    preset: Optional[Literal["default", "sgtsnepi", "fitsne", "opentsne", "sklearn", "tsnecuda", "sklearn_barnes_hut", "tsnecuda1"]] = None,
    drop_leaf_edges: Optional[bool] = None, exaggeration: Optional[float] = None,
    exaggeration_iterations: Optional[Union[int, Literal["auto"]]] = None,
    exaggeration_decay: Optional[Union[int, Literal["auto"]]] = None, late_exaggeration: Optional[float] = None,
    dof: Optional[float] = None, optimizer: Optional[Literal["momentum", "adam"]] = None,
    learning_rate: Optional[Union[float, Literal["auto"]]] = None,
    learning_rate_rule: Optional[Literal["phase", "early"]] = None, early_momentum: Optional[float] = None,
    momentum: Optional[float] = None, gains: Optional[Literal["node", "coordinate"]] = None,
    gain_least: Optional[float] = None, gain_added: Optional[float] = None,
    rate_limit: Optional[Union[float, Literal["off"]]] = None,
    max_step: Optional[Union[float, Literal["off"]]] = None,
    restart: Optional[Literal["nothing", "velocities", "all"]] = None,
    rescale: Optional[Union[float, Literal["off"]]] = None,
    accuracy: Optional[Literal["draft", "normal", "fine", "auto"]] = None,
    grid_side: Optional[Union[int, Literal["auto"]]] = None,
    repulsion: Optional[Literal["auto", "grid", "exact", "barnes_hut"]] = None, theta: Optional[float] = None,
    init_std: Optional[float] = None, min_gradient_norm: Optional[Union[float, Literal["off"]]] = None,
    kl_patience: Optional[Union[int, Literal["off"]]] = None,
    kl_tolerance: Optional[Union[float, Literal["auto"]]] = None,
    max_seconds: Optional[Union[float, Literal["off"]]] = None,
    trace_interval: Optional[Union[int, Literal["off"]]] = None,
    pause_at: Optional[Union[int, Literal["off"]]] = None, priority: Optional[int] = None,
    time_limit: Optional[float] = None,
    engine: Optional[Literal["auto", "cuda", "hybrid", "hybrid-double", "slurm", "cpu"]] = None,
    after: Optional[str] = None, **unknown: NoReturn
) -> npt.NDArray[np.float32]: ...


@overload
def embed(
    x: Any, *, client: Optional[Client] = None, progress: Union[bool, None, Progress] = None,
    dims: Optional[int] = None, perplexity: Union[float, Sequence[float], Literal["auto"], None] = None,
    lambda_: Union[float, Literal["auto"], None] = None, iterations: Union[int, Literal["auto"], None] = None,
    init: Union[Literal["random", "pca", "spectral", "auto"], npt.ArrayLike, "Job", None] = None,
    seed: Optional[int] = None, metric: Union[str, Callable[..., float], None] = None,
    metric_params: Optional[Dict[str, Any]] = None, pca: Optional[int] = None,
    kind: Optional[Literal["graph", "points", "neighbours"]] = None, labels: Any = None,
    columns: Optional[Sequence[Any]] = None, use_rep: Optional[str] = None, layer: Optional[str] = None,
    key_added: Optional[str] = None, weight: Optional[str] = "weight", name: Optional[str] = None,
    project: Optional[str] = None, format: Optional[Literal["mtx", "edges", "npz", "npy", "csv"]] = None,
    directed: Optional[bool] = None, source: Optional[str] = None, target: Optional[str] = None,
    bipartite: Optional[bool] = None, isolated: Optional[bool] = None,
    values: Optional[Literal["auto", "similarities", "distances"]] = None, neighbours: Optional[int] = None,
    recall: Optional[float] = None, name_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    label_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    labels_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    ignore_columns: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    keep_columns: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    decimal: Optional[Literal["auto", "point", "comma"]] = None, transpose: Optional[bool] = None,
    drop_not_finite: Optional[bool] = None,
    preset: Optional[Literal["default", "sgtsnepi", "fitsne", "opentsne", "sklearn", "tsnecuda", "sklearn_barnes_hut", "tsnecuda1"]] = None,
    drop_leaf_edges: Optional[bool] = None, exaggeration: Optional[float] = None,
    exaggeration_iterations: Optional[Union[int, Literal["auto"]]] = None,
    exaggeration_decay: Optional[Union[int, Literal["auto"]]] = None, late_exaggeration: Optional[float] = None,
    dof: Optional[float] = None, optimizer: Optional[Literal["momentum", "adam"]] = None,
    learning_rate: Optional[Union[float, Literal["auto"]]] = None,
    learning_rate_rule: Optional[Literal["phase", "early"]] = None, early_momentum: Optional[float] = None,
    momentum: Optional[float] = None, gains: Optional[Literal["node", "coordinate"]] = None,
    gain_least: Optional[float] = None, gain_added: Optional[float] = None,
    rate_limit: Optional[Union[float, Literal["off"]]] = None,
    max_step: Optional[Union[float, Literal["off"]]] = None,
    restart: Optional[Literal["nothing", "velocities", "all"]] = None,
    rescale: Optional[Union[float, Literal["off"]]] = None,
    accuracy: Optional[Literal["draft", "normal", "fine", "auto"]] = None,
    grid_side: Optional[Union[int, Literal["auto"]]] = None,
    repulsion: Optional[Literal["auto", "grid", "exact", "barnes_hut"]] = None, theta: Optional[float] = None,
    init_std: Optional[float] = None, min_gradient_norm: Optional[Union[float, Literal["off"]]] = None,
    kl_patience: Optional[Union[int, Literal["off"]]] = None,
    kl_tolerance: Optional[Union[float, Literal["auto"]]] = None,
    max_seconds: Optional[Union[float, Literal["off"]]] = None,
    trace_interval: Optional[Union[int, Literal["off"]]] = None,
    pause_at: Optional[Union[int, Literal["off"]]] = None, priority: Optional[int] = None,
    time_limit: Optional[float] = None,
    engine: Optional[Literal["auto", "cuda", "hybrid", "hybrid-double", "slurm", "cpu"]] = None,
    after: Optional[str] = None, **unknown: NoReturn
) -> Any: ...


@own_errors
def embed(
    x: Any, *, client: Optional[Client] = None, progress: Union[bool, None, Progress] = None,
    dims: Optional[int] = None, perplexity: Union[float, Sequence[float], Literal["auto"], None] = None,
    lambda_: Union[float, Literal["auto"], None] = None, iterations: Union[int, Literal["auto"], None] = None,
    init: Union[Literal["random", "pca", "spectral", "auto"], npt.ArrayLike, "Job", None] = None,
    seed: Optional[int] = None, metric: Union[str, Callable[..., float], None] = None,
    metric_params: Optional[Dict[str, Any]] = None, pca: Optional[int] = None,
    kind: Optional[Literal["graph", "points", "neighbours"]] = None, labels: Any = None,
    columns: Optional[Sequence[Any]] = None, use_rep: Optional[str] = None, layer: Optional[str] = None,
    key_added: Optional[str] = None, weight: Optional[str] = "weight", name: Optional[str] = None,
    project: Optional[str] = None, format: Optional[Literal["mtx", "edges", "npz", "npy", "csv"]] = None,
    directed: Optional[bool] = None, source: Optional[str] = None, target: Optional[str] = None,
    bipartite: Optional[bool] = None, isolated: Optional[bool] = None,
    values: Optional[Literal["auto", "similarities", "distances"]] = None, neighbours: Optional[int] = None,
    recall: Optional[float] = None, name_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    label_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    labels_column: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    ignore_columns: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    keep_columns: Optional[Union[str, int, Sequence[Union[str, int]]]] = None,
    decimal: Optional[Literal["auto", "point", "comma"]] = None, transpose: Optional[bool] = None,
    drop_not_finite: Optional[bool] = None,
    preset: Optional[Literal["default", "sgtsnepi", "fitsne", "opentsne", "sklearn", "tsnecuda", "sklearn_barnes_hut", "tsnecuda1"]] = None,
    drop_leaf_edges: Optional[bool] = None, exaggeration: Optional[float] = None,
    exaggeration_iterations: Optional[Union[int, Literal["auto"]]] = None,
    exaggeration_decay: Optional[Union[int, Literal["auto"]]] = None, late_exaggeration: Optional[float] = None,
    dof: Optional[float] = None, optimizer: Optional[Literal["momentum", "adam"]] = None,
    learning_rate: Optional[Union[float, Literal["auto"]]] = None,
    learning_rate_rule: Optional[Literal["phase", "early"]] = None, early_momentum: Optional[float] = None,
    momentum: Optional[float] = None, gains: Optional[Literal["node", "coordinate"]] = None,
    gain_least: Optional[float] = None, gain_added: Optional[float] = None,
    rate_limit: Optional[Union[float, Literal["off"]]] = None,
    max_step: Optional[Union[float, Literal["off"]]] = None,
    restart: Optional[Literal["nothing", "velocities", "all"]] = None,
    rescale: Optional[Union[float, Literal["off"]]] = None,
    accuracy: Optional[Literal["draft", "normal", "fine", "auto"]] = None,
    grid_side: Optional[Union[int, Literal["auto"]]] = None,
    repulsion: Optional[Literal["auto", "grid", "exact", "barnes_hut"]] = None, theta: Optional[float] = None,
    init_std: Optional[float] = None, min_gradient_norm: Optional[Union[float, Literal["off"]]] = None,
    kl_patience: Optional[Union[int, Literal["off"]]] = None,
    kl_tolerance: Optional[Union[float, Literal["auto"]]] = None,
    max_seconds: Optional[Union[float, Literal["off"]]] = None,
    trace_interval: Optional[Union[int, Literal["off"]]] = None,
    pause_at: Optional[Union[int, Literal["off"]]] = None, priority: Optional[int] = None,
    time_limit: Optional[float] = None,
    engine: Optional[Literal["auto", "cuda", "hybrid", "hybrid-double", "slurm", "cpu"]] = None,
    after: Optional[str] = None, **unknown: NoReturn
) -> Any:
    """The layout of x, in its form.

    x                                    returned
    array [rows, columns]                array [rows, dims], float32
    pandas DataFrame                     DataFrame with its index, columns x, y (and z); a row is a point
       of edges, or an adjacency matrix  DataFrame with a row for each node
    sparse matrix, square                array; the matrix is a graph, its entries are similarities
    sparse matrix, not square            array; a row is a point
    AnnData                              array, which is also written to obsm["X_tsne"]
    networkx graph                       dict from node to position
    igraph graph                         array, in the order of the vertices
    (indices, distances)                 array; nearest neighbours as pynndescent and scikit-learn give them
    path of a file                       array (Parquet: DataFrame); all formats of the server, .parquet and .h5ad
    Graph (Client.upload)                array

    Arguments, all by name:

    dims           1, 2 or 3; 2
    perplexity     points: effective number of neighbours; 30. Several: [30, 300]
    lambda_        graphs: each node's weights are rescaled to this sum; 10
    iterations     "auto": 400, or more for inputs that need them
    init           "auto" (default: "pca" for points, else "random"), "spectral", an array [rows, dims], or a Job
    seed           same input, parameters and seed: same layout; 1
    metric         points: a name of scikit-learn's or SciPy's, a function, or "precomputed" (x holds distances)
    metric_params  {"p": 3} for minkowski
    pca            points: first project them on so many principal axes
    kind           what x holds: "graph" (edges or a matrix of weights), "points" or "neighbours"; needed if that is not clear
    labels         one per row, or the name of a column; they colour pictures. Several columns: a list of names, or
                   {name: one per row}; default for tables: all columns without numbers
    columns        DataFrame: the columns to embed
    use_rep        AnnData: "X", a key of obsm, or of obsp: "distances" takes the neighbours that scanpy found,
                   "connectivities" its graph; default: X_pca if present, else X (on 50 principal axes)
    layer          AnnData: a key of layers, in place of X
    key_added      AnnData: the key of obsm for the layout; default: X_tsne, for other than two dimensions X_tsne_3d
    weight         edges: the attribute or column with the weights; "weight". None: all edges count the same
    name           of the upload and the job, for people
    project        that upload and job count for, on a server with projects
    progress       True, False; None: a bar in terminals and notebooks
    client         Client; default: the server on this machine, started if necessary

    Of uploads, for files and some other inputs:

    format         Recognised from the content when left out
    directed       Edge lists: `a,b` is the one entry (row a, column b), not both directions
    source         Edge lists: the column of the source nodes, by title or number from 1
    target         Edge lists: the column of the target nodes
    bipartite      Edge lists: the two columns hold nodes of two kinds, such as users and films, so that equal names
                   in both are two nodes
    isolated       A matrix may declare many more nodes, or rows of a sparse table, than its entries reach: beyond
                   65,536, more than 16 an entry
    values         Sparse matrices: similarities (a graph: the larger, the closer) or distances (neighbours: the
                   smaller, the closer)
    neighbours     Number of neighbours to search for each point: three times the largest perplexity you expect; 0:
                   none, for points that only k-means, mixtures or Sammon's mapping need
    recall         The recall that the search must reach: the share of the true neighbours that it finds; 1: all of
                   them
    name_column    Texts: the column of names, by title or number from 1; empty: none
    label_column   Texts: columns of labels, by titles or numbers with commas between them; the first colours
                   pictures
    labels_column  Columns of the part `labels`, if it is a text, to take: by title or by number from 1, with commas
                   between them
    ignore_columns  Texts: columns to leave out, by titles or numbers with commas between them
    keep_columns   Texts: columns of numbers that are coordinates although they count the rows or have titles of
                   names or labels, by titles or numbers with commas between them
    decimal        Texts: the decimal mark of formatted numbers; with point, `1,234` is 1234
    transpose      The file has a column for each point, such as genes in rows and cells in columns
    drop_not_finite  Leave out rows with a NaN or an infinity, instead of refusing the file

    Of the job:

    preset         Values of the parameters that are not given: spaceland's own, or those of SG-t-SNE-Pi, FIt- SNE,
                   openTSNE, scikit-learn or t-SNE-CUDA
    drop_leaf_edges  Graphs: leave out the edges of nodes that have only one neighbour; these nodes are placed
                   around the layout
    exaggeration   Early exaggeration: factor on the attractive forces in the first iterations
    exaggeration_iterations  Number of iterations with early exaggeration
    exaggeration_decay  Number of iterations after early exaggeration in which exaggeration falls to
                   late_exaggeration, by equal ratios
    late_exaggeration  Factor on the attractive forces after early exaggeration; 1 is plain t-SNE. Default: 1
    dof            Degrees of freedom of the kernel in the layout, (1 + r^2 / dof)^-dof
    optimizer      Gradient descent with momentum and gains, or Adam
    learning_rate  Step size on a quarter of the gradient; auto: nodes / exaggeration, at least 200 (with adam: 0.5)
    learning_rate_rule  The exaggeration by which learning_rate auto divides: phase, that of the present phase;
                   early, early exaggeration throughout
    early_momentum  Momentum during early exaggeration
    momentum       Momentum after early exaggeration
    gains          Factors on the learning rate that grow while a node moves downhill and fall when it moves uphill:
                   one for each node or one for each coordinate
    gain_least     Smallest gain
    gain_added     A gain that falls is multiplied by 0.8; then this is added
    rate_limit     Limit of learning rate x exaggeration x mass of a node
    max_step       Longest step of a node in one iteration
    restart        What is reset when early exaggeration ends: nothing, velocities, or all (velocities and gains)
    rescale        After this part of the run, the whole layout is scaled by the factor that lowers the KL
                   divergence most; with iterations auto and dof 1 or more again before each tenth by which the run
                   is extended
    accuracy       Largest grid spacing allowed for the repulsive forces: draft 0.42, normal 0.35, fine 0.25 in 2-D;
                   auto: normal; draft in 3-D and for more than 100,000 nodes
    grid_side      Number of grid nodes a side; auto: by accuracy
    repulsion      How repulsive forces are computed: grid, by Fourier transforms; exact, over all pairs;
                   barnes_hut, over near points and far cells of a tree
    theta          With repulsion barnes_hut: a cell farther away than 1 / theta times its width acts as one point
    init_std       Standard deviation to which the initial layout is scaled; 0 leaves a given one unchanged
    min_gradient_norm  Stop when the norm of a quarter of the gradient falls below this (checked at trace points
                   after early exaggeration)
    kl_patience    Stop when the KL divergence has not fallen by kl_tolerance for this many iterations after early
                   exaggeration
    kl_tolerance   Smallest relative fall of the KL divergence that counts for kl_patience and for iterations auto
    max_seconds    Stop after this much compute time, in seconds
    trace_interval  Iterations between two points of the trace (KL divergence, gradient norm, extent); off: only the
                   last one
    pause_at       The job pauses by itself after exactly this many iterations, with a point in its trace; off:
                   never
    priority       Each step doubles the job's share of its device
    time_limit     Seconds that the job may be running, by the clock; then it ends, and its present layout is its
                   result
    engine         Engine that computes the job; auto: the server's default
    after          The job starts when this one is done, and fails with a reason if this one fails, is cancelled or
                   is deleted

    ^C cancels the job.
    """
    return _client(client)._embed(x, progress, **_given(locals()))
