"""Mixtures of Gaussians with the interface of scikit-learn."""
from __future__ import annotations

import math
import warnings
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from ._estimator import ConvergenceWarning, seed_of
from ._server_estimator import ServerEstimator
from ._sparse import is_sparse
from .client import Client
from .clusters import single
from .errors import BadType, BadValue, own_errors_of

__all__ = ["GaussianMixture"]

BLOCK_VALUES = 1 << 20  # values of rows, or densities, computed at a time


@own_errors_of
class GaussianMixture(ServerEstimator):
    """A mixture of Gaussians. Replaces `sklearn.mixture.GaussianMixture`.

    Parameters
    ----------
    n_components : number of Gaussians; or several, [4, 6, 8]: the one with the least BIC is kept.
    covariance_type : "full", "tied", "diag" or "spherical".
    tol : a fit ends when the mean log-likelihood of a row changes by less.
    reg_covar : added to each variance.
    max_iter : most iterations of a fit.
    n_init : number of fits from different seeds, of which the one with the highest likelihood is kept.
    init_params : "kmeans", the only start that the server has.
    weights_init, precisions_init : must be None; the server takes only means.
    means_init : [n_components, n_features] instead of k-means. Each row begins in the component with the nearest mean; in
        scikit-learn weights and covariances begin as those of k-means.
    random_state : None, an integer, or a generator of NumPy's. The same integer gives the same mixture.
    warm_start : must be False.
    verbose, verbose_interval : verbose more than 0: a progress bar (with tqdm).
    parameters : dict of any other parameters of the server, by its names: {"engine": "cpu"}.
    client : spaceland.Client; None: a server on this machine, started if necessary.

    Attributes
    ----------
    weights_, means_, covariances_, precisions_, precisions_cholesky_ : float64, in the shapes of scikit-learn's
    converged_, n_iter_ : whether the fit ended before max_iter, and its iterations
    lower_bound_ : the mean log-likelihood of a row of X under the mixture
    n_components_ : the number of Gaussians, which is the best one if n_components lists several
    models_ : a dict for each of n_components: components, log_likelihood, aic, bic, iterations, converged, regularised
    n_features_in_, feature_names_in_ : columns of X

    fit() takes a table (array, DataFrame); or points that the server has, as a Graph; or a Job, whose
    layout is the table. The server computes in double precision on single-precision values.
    """

    _arguments = {"components": "n_components", "covariance": "covariance_type", "restarts": "n_init", "iterations": "max_iter",
                  "tolerance": "tol", "seed": "random_state", "initial": "means_init"}
    _result = "means_"
    _estimator_type = "DensityEstimator"

    def __init__(self, n_components: Union[int, Sequence[int]] = 1, *, covariance_type: str = "full", tol: float = 1e-3,
                 reg_covar: float = 1e-6, max_iter: int = 100, n_init: int = 1, init_params: str = "kmeans",
                 weights_init: Any = None, means_init: Any = None, precisions_init: Any = None, random_state: Any = None,
                 warm_start: bool = False, verbose: int = 0, verbose_interval: int = 10,
                 parameters: Optional[Dict[str, Any]] = None, client: Optional[Client] = None):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.parameters = parameters
        self.client = client

    # ---- fitting ---------------------------------------------------------------------------

    def _job_parameters(self) -> Dict[str, Any]:
        """The parameters by the server's names."""
        if self.init_params != "kmeans":
            raise BadValue(f'init_params is {self.init_params!r}; the server has only "kmeans", or means_init')
        for name in ("weights_init", "precisions_init"):
            if getattr(self, name) is not None:
                raise BadValue(f"{name} must be None: the server takes only means_init")
        if self.warm_start:
            raise BadValue("warm_start must be False; means_init=model.means_ begins with the means of an earlier fit")
        several = np.ndim(self.n_components) > 0
        parameters: Dict[str, Any] = {
            "components": np.asarray(self.n_components).tolist() if several else self.n_components,
            "covariance": self.covariance_type, "tolerance": self.tol, "reg_covar": self.reg_covar,
            "iterations": self.max_iter, "restarts": self.n_init, "seed": seed_of(self.random_state)}
        if self.means_init is not None:
            means = np.asarray(self.means_init, dtype=np.float64)
            if means.ndim != 2 or (not several and len(means) != self.n_components):
                raise BadValue(f"means_init has the shape {means.shape}; it must be (n_components, n_features), with n_components "
                                 f"{self.n_components}")
            parameters["initial"] = means
        return parameters

    def fit(self, X: Any, y: Any = None) -> "GaussianMixture":
        """Fits the mixture to the rows of X; y is ignored."""
        self._fit(X)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> npt.NDArray[np.int32]:
        """Fits the mixture; returns the most likely component of each row, -1 for one that the server has dropped."""
        return self._fit(X)

    def _fit(self, X: Any) -> npt.NDArray[np.int32]:
        _refuse_sparse(X)
        _, job = self._start(X, "gmm", self._job_parameters())
        self._await(job)
        labels = job.labels()
        self.weights_, self.means_, self.covariances_ = job.weights(), job.means(), job.covariances()
        self.precisions_cholesky_ = _cholesky_of_inverse(self.covariances_, self.covariance_type)
        self.models_ = list(job.record["models"])
        self.n_components_ = len(self.weights_)
        model = next(each for each in self.models_ if each["components"] == self.n_components_)
        self.converged_, self.n_iter_ = bool(model["converged"]), int(model["iterations"])
        self.lower_bound_ = float(model["log_likelihood"]) / max(1, int((labels >= 0).sum()))
        self._note_features(X, int(self.means_.shape[1]))
        self._attach(job)
        if not self.converged_:
            warnings.warn(f"the mixture had not converged after {self.n_iter_} iterations; increase max_iter or tol",
                          ConvergenceWarning, stacklevel=3)
        return labels

    # ---- afterwards, in this process --------------------------------------------------------

    @property
    def precisions_(self) -> npt.NDArray[np.float64]:
        """The inverse covariances."""
        self._check_fitted()
        root = self.precisions_cholesky_
        found: npt.NDArray[np.float64] = (root @ np.swapaxes(root, -1, -2) if self.covariance_type in ("full", "tied")
                                          else root ** 2)
        return found

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """The most likely component of each row of X: a table, or the layout of a Job."""
        found: npt.NDArray[np.int32] = np.concatenate([part.argmax(axis=1) for part in self._weighted(X)]).astype(np.int32)
        return found

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The probability of each component for each row of X, [rows, components]."""
        return np.concatenate([np.exp(part - _log_sum(part)[:, None]) for part in self._weighted(X)])

    def score_samples(self, X: Any) -> npt.NDArray[np.float64]:
        """The logarithm of the mixture's density at each row of X."""
        return np.concatenate([_log_sum(part) for part in self._weighted(X)])

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of score_samples(X)."""
        return float(self.score_samples(X).mean())

    def bic(self, X: Any) -> float:
        """Bayesian information criterion of the mixture on X: less is better."""
        scores = self.score_samples(X)
        return float(-2 * scores.sum() + self._free_parameters() * math.log(len(scores)))

    def aic(self, X: Any) -> float:
        """Akaike's information criterion of the mixture on X: less is better."""
        return float(-2 * self.score_samples(X).sum() + 2 * self._free_parameters())

    def sample(self, n_samples: int = 1) -> Tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Draws rows from the mixture: (rows, their components), sorted by component."""
        self._check_fitted()
        if not isinstance(n_samples, (int, np.integer)) or n_samples < 1:
            raise BadValue(f"n_samples is {n_samples!r}; it must be a whole number from 1")
        random = self.random_state
        if not isinstance(random, (np.random.RandomState, np.random.Generator)):
            random = np.random.default_rng(seed_of(random))
        counts = random.multinomial(n_samples, self.weights_ / self.weights_.sum())
        normal = random.normal(size=(n_samples, self.means_.shape[1]))
        component = np.repeat(np.arange(len(counts)), counts)
        drawn: npt.NDArray[np.float64] = self.means_[component]
        if self.covariance_type in ("full", "tied"):
            for j in range(len(counts)):
                root = np.linalg.cholesky(self.covariances_[j] if self.covariance_type == "full" else self.covariances_)
                drawn[component == j] += normal[component == j] @ root.T
        else:
            deviation = np.sqrt(self.covariances_[component])
            drawn += normal * (deviation if deviation.ndim == 2 else deviation[:, None])
        return drawn, component

    def _weighted(self, X: Any) -> List[npt.NDArray[np.float64]]:
        """For blocks of rows of X, the logarithms of weight times density, [rows, components]."""
        _refuse_sparse(X)
        rows = self._table(X)
        step = max(1, BLOCK_VALUES // max(self.means_.shape))
        return [self._log_densities(single(rows[at:at + step])) for at in range(0, rows.shape[0], step)]

    def _log_densities(self, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        columns = x.shape[1]
        found = np.empty((len(x), len(self.means_)))
        root = self.precisions_cholesky_
        for j, mean in enumerate(self.means_):
            own = root if self.covariance_type == "tied" else root[j]
            if own.ndim == 2:
                y, log_det = (x - mean) @ own, float(np.log(np.diagonal(own)).sum())
            else:  # a number for each column, or one for all
                y, log_det = (x - mean) * own, float(np.log(own).sum() * (columns if own.ndim == 0 else 1))
            found[:, j] = log_det - 0.5 * (columns * math.log(2 * math.pi) + (y ** 2).sum(axis=1))
        with np.errstate(divide="ignore"):  # a component without points
            found += np.log(self.weights_)
        return found

    def _free_parameters(self) -> int:
        """Number of free parameters of the mixture."""
        k, d = self.means_.shape
        of_covariances = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": k * d, "spherical": k}
        return of_covariances[self.covariance_type] + k * d + k - 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.estimator_type = "density_estimator"
        return tags


def _refuse_sparse(X: Any) -> None:
    if is_sparse(X):
        raise BadType("a mixture of sparse rows is not possible; pass X.toarray() if that fits into memory")


def _log_sum(a: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """log(sum(exp(a), axis=1)), without overflow."""
    top = a.max(axis=1)
    found: npt.NDArray[np.float64] = top + np.log(np.exp(a - top[:, None]).sum(axis=1))
    return found


def _cholesky_of_inverse(covariances: npt.NDArray[np.float64], kind: str) -> npt.NDArray[np.float64]:
    """Upper triangular U with U U' = the inverse of a covariance, for each of them; for variances, 1 / their roots."""
    if kind not in ("full", "tied"):
        of_variances: npt.NDArray[np.float64] = 1 / np.sqrt(covariances)
        return of_variances
    root = np.linalg.cholesky(covariances)
    found: npt.NDArray[np.float64] = np.swapaxes(np.linalg.solve(root, np.broadcast_to(np.eye(root.shape[-1]), root.shape)), -1, -2)
    return found
