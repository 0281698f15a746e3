"""The base of estimators: scikit-learn's interface, also if scikit-learn is not installed."""
from __future__ import annotations

import inspect
import os
from typing import TYPE_CHECKING, Any, Dict, List, Optional

import numpy as np
import numpy.typing as npt

from ._sparse import is_sparse
from .errors import BadType, BadValue

__all__ = ["EstimatorBase", "ConvergenceWarning", "NotFittedError", "check_rows", "feature_names", "seed_of"]


class _Plain:
    """Parameters named like the arguments of __init__(), as in scikit-learn's BaseEstimator."""

    @classmethod
    def _get_param_names(cls) -> List[str]:
        return sorted(name for name in inspect.signature(cls).parameters)

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Any:
        for name in params:
            if name not in self._get_param_names():
                raise BadValue(f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: "
                                 f"{self._get_param_names()!r}.")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __getstate__(self) -> Dict[str, Any]:
        return self.__dict__.copy()

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        changed = [f"{name}={value!r}" for name, value in self.get_params().items()
                   if repr(value) != repr(defaults[name].default)]
        return f"{type(self).__name__}({', '.join(changed)})"


if TYPE_CHECKING:
    EstimatorBase = _Plain
    _NotFitted = AttributeError

    class ConvergenceWarning(UserWarning):
        """The iterations were used up before the end."""
else:
    try:
        from sklearn.base import BaseEstimator as EstimatorBase  # so that its tools accept the estimators
        from sklearn.exceptions import ConvergenceWarning, NotFittedError as _NotFitted
    except ImportError:
        EstimatorBase = _Plain
        _NotFitted = AttributeError

        class ConvergenceWarning(UserWarning):
            """The iterations were used up before the end."""


class NotFittedError(BadValue, _NotFitted):
    """fit() has not been called. It is scikit-learn's NotFittedError, too, if that is installed."""


def feature_names(x: Any) -> Optional[npt.NDArray[Any]]:
    """Names of a table's columns if all are strings, else None."""
    columns = getattr(x, "columns", None)
    if columns is None or not hasattr(x, "dtypes"):
        return None
    names = np.asarray(columns, dtype=object)
    return names if len(names) and all(isinstance(name, str) for name in names) else None


def _numbers(x: Any) -> Any:
    """Returns a sparse matrix as CSR, everything else as an array, of real numbers."""
    if is_sparse(x):
        a = x.tocsr()
        kind = a.dtype.kind
    else:
        if hasattr(x, "__array__") or not hasattr(x, "tolist"):
            a = np.asarray(x)
        else:
            a = np.asarray(x.tolist())
        kind = a.dtype.kind
    if kind == "c":
        raise BadValue("Complex data not supported\n")
    if kind in "OUS":
        a = a.astype(np.float64)  # its error message names the value that is not a number
    elif kind not in "fiub":
        raise BadValue(f"X has type {a.dtype}; its values must be numbers")
    return a


def _refuse(x: Any, name: str) -> None:
    """Raises TypeError for what other functions of this package take, but estimators do not."""
    kind = type(x).__name__
    if isinstance(x, (str, os.PathLike)):
        raise BadType(f"X is the name of a file; {name} takes tables. spaceland.embed(), kmeans() and others read files")
    if hasattr(x, "obsm") and hasattr(x, "n_obs"):
        raise BadType(f'X is an AnnData; {name} takes tables, such as X.X and X.obsm["X_pca"]')
    if hasattr(x, "is_directed") and hasattr(x, "number_of_edges"):
        raise BadType(f"X is a graph; {name} takes tables. spaceland.embed(graph) and sammon(graph) lay graphs out")
    if type(x).__module__.startswith("spaceland.") and kind in ("Graph", "Job"):
        instead = "X.submit() starts a job on it" if kind == "Graph" else "X.layout() is one"
        raise BadType(f"X is a spaceland.{kind}; {name} takes tables. {instead}")


def check_rows(x: Any, name: str, least: int) -> Any:
    """Returns x as a table of finite numbers with at least so many rows; otherwise raises ValueError or TypeError."""
    _refuse(x, name)
    a = _numbers(x)
    if a.ndim != 2:
        raise BadValue(f"Expected 2D array, got {('scalar', '1D array')[a.ndim] if a.ndim < 2 else f'{a.ndim}D array'} "
                         "instead. Reshape your data either using array.reshape(-1, 1) if your data has a single feature "
                         "or array.reshape(1, -1) if it contains a single sample.")
    if a.shape[0] < least:
        raise BadValue(f"Found array with {a.shape[0]} sample(s) (shape={a.shape}) while a minimum of {least} is "
                         f"required by {name}.")
    if a.shape[1] < 1:
        raise BadValue(f"Found array with 0 feature(s) (shape={a.shape}) while a minimum of 1 is required by {name}.")
    values = a.data if is_sparse(a) else a
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        what = "NaN" if np.isnan(values).any() else "infinity"
        raise BadValue(f"Input X contains {what}. {name} does not accept missing or infinite values: drop or impute "
                         "these rows first.")
    return a


def seed_of(random_state: Any) -> int:
    """Makes the server's seed from scikit-learn's random_state: None, an integer, a RandomState or a Generator."""
    if random_state is None:
        return int(np.random.randint(1 << 31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(1 << 31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(1 << 31))
    if isinstance(random_state, (int, np.integer)) and 0 <= int(random_state) <= 1 << 53:
        return int(random_state)
    raise BadValue(f"random_state is {random_state!r}; it must be None, an integer from 0, or a NumPy generator")
