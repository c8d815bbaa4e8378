"""Types of the public names."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin

from . import _kraus

_F = NDArray[np.float64]
_Path = str | PathLike[str]
_Callback = Callable[[str, float], Any] | None
_Seed = int | np.random.RandomState | np.random.Generator | None
_Metric = Literal["riemann", "logeuclid", "wasserstein"]

__version__: str

__all__ = [
    "MDM",
    "KrausRegressor",
    "KrausTransport",
    "PSDCompleter",
    "TLKraus",
    "chi2_kernel",
    "choi",
    "kraus_from_choi",
    "load_model",
    "partial_trace",
    "rbf_kernel",
    "read_gdf",
    "read_mat",
    "riemann_distance",
    "riemann_mean",
    "sinkhorn",
]

class KrausRegressor(RegressorMixin, BaseEstimator):
    model_: _kraus.Model
    operators_: _F | list[_F]
    signs_: _F
    intercept_: _F | None
    rank_: int
    positivity_: str
    history_: dict[str, Any]
    cv_results_: list[dict[str, Any]]
    reason_: str
    fit_time_: float
    n_features_in_: int
    def __init__(
        self,
        rank: int | Literal["cv"] | None = None,
        *,
        ranks: Sequence[int] | None = None,
        positivity: Literal["auto", "complete", "output", "none"] = "auto",
        folds: int = 5,
        noise_free: bool = False,
        depth: int = 1,
        hidden: Sequence[int] | None = None,
        gamma: float | None = None,
        solver: Literal["auto", "adam", "lbfgs", "closed-form", "block-coordinate"] = "auto",
        max_iter: int | None = None,
        restarts: int = 3,
        batch_size: int = 16,
        learning_rate: float = 1e-3,
        random_state: _Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: _Callback = None,
    ) -> None: ...
    @property
    def choi_(self) -> _F: ...
    def fit(self, X: ArrayLike, Y: ArrayLike) -> KrausRegressor: ...
    def predict(self, X: ArrayLike) -> NDArray[np.floating[Any]]: ...
    def score(self, X: ArrayLike, Y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...
    def bound(
        self, gamma: float | None = None, delta: float = 0.05, version: Literal["proved", "printed"] = "proved"
    ) -> dict[str, float]: ...
    def save(self, path: _Path) -> None: ...

def load_model(path: _Path) -> KrausRegressor: ...

class PSDCompleter(BaseEstimator):
    completed_: _F | list[_F]
    determined_: Any
    spread_: Any
    scores_: list[tuple[str, float]]
    rank_: int | None
    psd_: bool
    n_features_in_: int
    def __init__(
        self,
        blocks: tuple[int, int] | None = None,
        rank: int | None = None,
        *,
        depth: int | None = None,
        gamma: float | None = None,
        method: Literal["kraus", "cvkt"] = "kraus",
        psd: bool | None = None,
        denoise: bool = False,
        n_restarts: int = 0,
        random_state: _Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: _Callback = None,
    ) -> None: ...
    def fit(self, M: ArrayLike | Sequence[ArrayLike], y: None = None) -> PSDCompleter: ...
    def fit_transform(self, M: ArrayLike | Sequence[ArrayLike], y: None = None) -> Any: ...
    def transform(self, M: Any) -> Any: ...

class KrausTransport(TransformerMixin, BaseEstimator):
    operators_: _F
    transported_: _F
    plan_: _F
    held_out_: tuple[float, float] | None
    fell_back_: bool
    rank_: int
    filter_: dict[str, Any] | None
    n_features_in_: int
    def __init__(
        self,
        rank: int | Literal["auto"] | None = None,
        *,
        filter: int | Literal["auto", "none"] | None = None,
        paper: bool = False,
        neighbours: int = 20,
        relative: float | None = None,
        regularisation: float | None = None,
        max_iter: int = 1000,
        epochs: int = 500,
        scaling: Literal["whitened", "recorded"] = "whitened",
        common: Sequence[tuple[int, int]] | None = None,
        random_state: _Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: _Callback = None,
    ) -> None: ...
    def fit(self, Xs: ArrayLike, Xt: ArrayLike, ys: ArrayLike | None = None) -> KrausTransport: ...
    def transform(self, X: ArrayLike) -> NDArray[np.floating[Any]]: ...
    def fit_transform(self, Xs: ArrayLike, Xt: ArrayLike, ys: ArrayLike | None = None) -> NDArray[np.floating[Any]]: ...

class TLKraus(TransformerMixin, BaseEstimator):
    transports_: dict[str, KrausTransport]
    n_features_in_: int
    def __init__(
        self,
        target_domain: str,
        *,
        use_labels: bool = True,
        rank: int | Literal["auto"] | None = None,
        filter: int | Literal["auto", "none"] | None = None,
        paper: bool = False,
        neighbours: int = 20,
        relative: float | None = None,
        regularisation: float | None = None,
        max_iter: int = 1000,
        epochs: int = 500,
        scaling: Literal["whitened", "recorded"] = "whitened",
        random_state: _Seed = None,
        n_jobs: int | None = None,
    ) -> None: ...
    def fit(self, X: ArrayLike, y_enc: ArrayLike) -> TLKraus: ...
    def fit_transform(self, X: ArrayLike, y_enc: ArrayLike) -> NDArray[np.floating[Any]]: ...
    def transform(self, X: ArrayLike, y_enc: ArrayLike | None = None) -> Any: ...

class MDM(ClassifierMixin, BaseEstimator):
    classes_: NDArray[Any]
    covmeans_: _F
    n_features_in_: int
    def __init__(self, metric: _Metric = "riemann", n_jobs: int | None = None) -> None: ...
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> MDM: ...
    def transform(self, X: ArrayLike) -> _F: ...
    def predict(self, X: ArrayLike) -> NDArray[Any]: ...
    def predict_proba(self, X: ArrayLike) -> _F: ...

def riemann_distance(A: ArrayLike, B: ArrayLike, *, metric: _Metric = "riemann", n_jobs: int | None = None) -> Any: ...
def riemann_mean(
    X: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    metric: _Metric = "riemann",
    tol: float = 1e-9,
    max_iter: int = 200,
    n_jobs: int | None = None,
) -> _F: ...
def sinkhorn(
    a: ArrayLike,
    b: ArrayLike,
    M: ArrayLike,
    reg: float,
    *,
    numItermax: int = 1000,
    stopThr: float = 1e-9,
    log: bool = False,
    n_jobs: int | None = None,
) -> Any: ...
def rbf_kernel(X: ArrayLike, Y: ArrayLike | None = None, *, width: str | float = "mean", n_jobs: int | None = None) -> _F: ...
def chi2_kernel(X: ArrayLike, Y: ArrayLike | None = None, *, width: str | float = "mean", n_jobs: int | None = None) -> _F: ...
def partial_trace(M: ArrayLike, m: int) -> _F: ...
def choi(operators: ArrayLike, signs: ArrayLike | None = None) -> _F: ...
def kraus_from_choi(C: ArrayLike, p: int, *, rank: int | None = None, tol: float = 1e-10) -> _F: ...
def read_gdf(path: _Path, channels: Sequence[str] | None = None) -> dict[str, Any]: ...
def read_mat(path: _Path) -> dict[str, Any]: ...
