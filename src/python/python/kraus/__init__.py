"""Partial trace regression, completion of kernels and transport of SPD matrices, as scikit-learn estimators.

The methods are Rust, the same crates that the program ``repro`` is built from: equal arguments give equal bits.
"""

from ._completer import PSDCompleter
from ._functions import (
    MDM,
    chi2_kernel,
    choi,
    kraus_from_choi,
    partial_trace,
    rbf_kernel,
    read_gdf,
    read_mat,
    riemann_distance,
    riemann_mean,
    sinkhorn,
)
from ._regressor import KrausRegressor, load_model
from ._transport import KrausTransport, TLKraus

__version__ = "0.2.0"

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
