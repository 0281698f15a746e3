"""Sammon's mapping and metric scaling with the interface of scikit-learn's estimators."""
from __future__ import annotations

from typing import Any, Dict, Optional

import numpy as np
import numpy.typing as npt

from ._estimator import seed_of
from ._server_estimator import Transformer, numbered
from .client import Client
from .errors import own_errors_of

__all__ = ["Sammon"]


@own_errors_of
class Sammon(Transformer):
    """Sammon's mapping: distances in the layout approximate those of the rows. With stress="metric" it replaces
    `sklearn.manifold.MDS`.

    Parameters
    ----------
    n_components : 1, 2 or 3.
    stress : the function to minimise: "sammon" weights each squared error by 1 / distance, "metric" all equally;
        "kamada_kawai", for graphs, by 1 / distance squared; "auto": "sammon", for graphs "kamada_kawai".
    optimiser : "auto", "newton", "gradient" or "smacof"; all find about the same stress.
    init : "auto", "pca" (classical scaling) or "random". There is one run, from this start.
    max_iter : most iterations, each a pass over the pairs.
    tol : the run ends when an iteration lowers the stress by less than this times the stress.
    verbose : more than 0: a progress bar (with tqdm).
    random_state : None, an integer, or a generator of NumPy's: seed of a random start and, for more than 100,000 rows,
        of the pairs that an iteration compares. The same integer gives the same layout.
    parameters : dict of any other parameters of the server, by its names: {"lengths": "weights"} for graphs.
    client : spaceland.Client; None: a server on this machine, started if necessary.

    Attributes
    ----------
    embedding_ : float32 [n_samples, n_components]
    stress_ : the relative stress of the layout, 0 if all distances are exact; MDS has the sum of squared errors
    n_iter_ : iterations done
    n_features_in_, feature_names_in_ : columns of X

    fit() takes a table (array, DataFrame, sparse matrix); or points or a graph that the server has, as a Graph (of a
    graph, the lengths of shortest paths count); or a Job, whose layout is laid out again. New rows have no place in the
    layout: there is no transform().
    """

    _arguments = {"dims": "n_components", "iterations": "max_iter", "tolerance": "tol", "seed": "random_state", "start": "init"}

    def __init__(self, n_components: int = 2, *, stress: str = "auto", optimiser: str = "auto", init: str = "auto",
                 max_iter: int = 300, tol: float = 1e-5, verbose: int = 0, random_state: Any = None,
                 parameters: Optional[Dict[str, Any]] = None, client: Optional[Client] = None):
        self.n_components = n_components
        self.stress = stress
        self.optimiser = optimiser
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.parameters = parameters
        self.client = client

    def fit(self, X: Any, y: Any = None) -> "Sammon":
        """Lays the rows of X out; y is ignored."""
        rows, job = self._start(X, "sammon", {
            "dims": self.n_components, "stress": self.stress, "optimiser": self.optimiser, "start": self.init,
            "iterations": self.max_iter, "tolerance": self.tol, "seed": seed_of(self.random_state)})
        self._await(job)
        self.embedding_ = job.layout()
        self.stress_ = float(job.record["stress"])
        self.n_iter_ = job.iteration
        self._n_features_out = int(self.embedding_.shape[1])
        if rows is not None:
            self._note_features(X, int(rows.shape[1]))
        self._attach(job)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> npt.NDArray[np.float32]:
        """fit(X).embedding_"""
        return self.fit(X).embedding_

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """sammon0, sammon1, ..."""
        self._check_fitted()
        return numbered(type(self).__name__.lower(), self._n_features_out)
