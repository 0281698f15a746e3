"""What the estimators have in common: their job on the server, names of columns, errors."""
from __future__ import annotations

import warnings
import weakref
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import numpy as np
import numpy.typing as npt

from ._estimator import EstimatorBase, NotFittedError, check_rows, feature_names
from ._lease import Lease
from .client import Client, default_client
from .errors import BadInput, BadValue
from .graph import Graph
from .job import Job
from .progress import make_progress

__all__ = ["ServerEstimator", "Transformer", "Clusterer", "numbered"]


class ServerEstimator(EstimatorBase):
    """An estimator that a job on a server fits."""

    _arguments: Dict[str, str] = {}   # arguments of the class, by the server's names of the parameters
    _result = "embedding_"            # the attribute that fit() sets

    if TYPE_CHECKING:
        client: Optional[Client]
        parameters: Optional[Dict[str, Any]]
        verbose: int

    def _client(self) -> Client:
        return self.client or default_client()

    def _renamed(self, error: BadInput) -> BadInput:
        """Replaces the server's names of parameters by those of this class in an error."""
        name, *places = (error.pointer or "/").removeprefix("/params").split("/")[1:]
        if name not in self._arguments or name in (self.parameters or {}):
            return error
        here = self._arguments[name]
        detail = error.detail.removeprefix(name + " ")
        named = f"{here}{''.join(f'[{place}]' for place in places)}{' ' if detail != error.detail else ': '}{detail}"
        return BadInput({**error.problem, "detail": named, "pointer": "/".join(["", here, *places])})

    # ---- the job ---------------------------------------------------------------------------

    def _start(self, X: Any, method: str, parameters: Dict[str, Any]) -> Tuple[Any, Job]:
        """Starts a job on X: a table of numbers, or a Graph or the layout of a Job, which the server has. Returns the
        checked table, or None, and the job."""
        there = isinstance(X, (Graph, Job))
        rows = None if there else check_rows(X, type(self).__name__, 2)
        given = {key: value for key, value in {**parameters, **(self.parameters or {})}.items() if value is not None}
        client = X.client if there else self._client()
        lease = self._new_lease(client)
        try:
            return rows, client._method(lease, method, X if there else rows, **given)
        except BadInput as error:
            raise self._renamed(error) from None

    def _await(self, job: Job) -> None:
        """Waits for the job. An interrupt cancels it."""
        with job.wanted():
            job.wait(progress=make_progress(self.verbose > 0 or False))

    def _new_lease(self, client: Client) -> Lease:
        """A lease for the next job, which is given back when this estimator is freed."""
        lease = Lease(client)
        freed = weakref.finalize(self, lease.give_back)
        freed.atexit = False  # at exit the server ends, too
        self._leases: List[Any] = [*getattr(self, "_leases", []), freed]
        return lease

    def _attach(self, job: Job) -> None:
        """Keeps the job on the server as long as this estimator exists, and gives back what former ones needed."""
        self._job: Optional[Job] = job
        *former, latest = self._leases
        self._leases = [latest]
        for freed in former:
            freed()

    def __getstate__(self) -> Dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in ("_job", "_leases")}

    # ---- checks ----------------------------------------------------------------------------

    def _check_fitted(self) -> None:
        if not hasattr(self, self._result):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate "
                                 "arguments before using this estimator.")

    def _note_features(self, X: Any, columns: int) -> None:
        self.n_features_in_ = columns
        names = feature_names(X)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_features(self, X: Any, rows: Any) -> None:
        names, fitted = feature_names(X), getattr(self, "feature_names_in_", None)
        me = type(self).__name__
        if names is None and fitted is not None and not isinstance(X, Job):
            warnings.warn(f"X does not have valid feature names, but {me} was fitted with feature names", stacklevel=3)
        elif names is not None and fitted is None:
            warnings.warn(f"X has feature names, but {me} was fitted without feature names", stacklevel=3)
        elif names is not None and fitted is not None and list(names) != list(fitted):
            _complain_of_names(list(names), list(fitted))
        if rows.shape[1] != self.n_features_in_:
            raise BadValue(f"X has {rows.shape[1]} features, but {me} is expecting {self.n_features_in_} features as "
                             "input.")

    def _table(self, X: Any) -> Any:
        """The rows of X for a fitted estimator: a table, or the layout of a Job. A sparse table stays sparse."""
        self._check_fitted()
        if isinstance(X, Graph):
            raise BadValue("the server does not return the points of a Graph; pass the table that was uploaded (the result "
                             "for the fitted points themselves is in the attributes)")
        rows = check_rows(X.layout() if isinstance(X, Job) else X, type(self).__name__, 1)
        self._check_features(X, rows)
        return rows


if TYPE_CHECKING:
    Transformer = ServerEstimator
    Clusterer = ServerEstimator
else:
    try:
        from sklearn.base import ClusterMixin, TransformerMixin

        class Transformer(TransformerMixin, ServerEstimator):
            """With set_output() of scikit-learn."""

            def _more_tags(self) -> Dict[str, Any]:
                return {"preserves_dtype": []}

            def __sklearn_tags__(self) -> Any:
                tags = super().__sklearn_tags__()
                tags.input_tags.sparse = True
                tags.transformer_tags.preserves_dtype = []
                return tags

        class Clusterer(ClusterMixin, Transformer):
            """Known to scikit-learn's tools as one that finds clusters."""
    except ImportError:
        Transformer = Clusterer = ServerEstimator


def _complain_of_names(names: List[str], fitted: List[str]) -> None:
    unseen, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    text = "The feature names should match those that were passed during fit.\n"
    for title, listed in (("Feature names unseen at fit time:\n", unseen),
                          ("Feature names seen at fit time, yet now missing:\n", missing)):
        if listed:
            text += title + "".join(f"- {name}\n" for name in listed[:5]) + ("- ...\n" if len(listed) > 5 else "")
    if not unseen and not missing:
        text += "Feature names must be in the same order as they were in fit.\n"
    raise BadValue(text)


def numbered(name: str, count: int) -> npt.NDArray[Any]:
    """Names of the columns that an estimator returns: tsne0, tsne1, ..."""
    return np.array([f"{name}{axis}" for axis in range(count)], dtype=object)
