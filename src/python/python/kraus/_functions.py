"""Functions on matrices and features, and the MDM classifier."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from . import _check, _kraus


def riemann_distance(A, B, *, metric="riemann", n_jobs=None):
    """Distances between SPD matrices: sqrt(sum_k log^2 lambda_k(A^-1 B)).

    Parameters
    ----------
    A : array-like (n, n) or (k, n, n)
        SPD matrices.
    B : array-like (n, n) or (m, n, n)
        SPD matrices.
    metric : {"riemann", "logeuclid", "wasserstein"}, default="riemann"
        The geometry.
    n_jobs : int, default=None
        Threads; None for all.

    Returns
    -------
    distances : float, or ndarray (k,), (m,) or (k, m)
        An axis for every argument that holds several matrices.
    """
    one_a, one_b = np.ndim(A) == 2, np.ndim(B) == 2
    a, _ = _check.matrices("A", np.asarray(A)[None] if one_a else A)
    b, _ = _check.matrices("B", np.asarray(B)[None] if one_b else B)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"A holds {a.shape[1]} x {a.shape[1]} matrices and B {b.shape[1]} x {b.shape[1]}; both must agree")
    d = _kraus.distances(a, b, metric, _check.threads(n_jobs))
    if one_a and one_b:
        return float(d[0, 0])
    return d[0] if one_a else d[:, 0] if one_b else d


def riemann_mean(X, *, sample_weight=None, metric="riemann", tol=1e-9, max_iter=200, n_jobs=None):
    """The SPD matrix with the least (weighted) sum of squared distances.

    Parameters
    ----------
    X : array-like (k, n, n)
        SPD matrices.
    sample_weight : array-like (k,), default=None
        Weights; None for equal ones.
    metric : {"riemann", "logeuclid", "wasserstein"}, default="riemann"
        The geometry.
    tol : float, default=1e-9
        Stop when the norm of the gradient is at most this.
    max_iter : int, default=200
        Iterations at most.
    n_jobs : int, default=None
        Threads; None for all.

    Returns
    -------
    mean : ndarray (n, n)
    """
    x, _ = _check.matrices("X", X)
    weights = None
    if sample_weight is not None:
        weights = np.asarray(_check.one_each("sample_weight", sample_weight, "X", len(x)), dtype=float).tolist()
    means, _ = _kraus.means(
        x, weights, [0] * len(x), metric, _check.positive("tol", tol), _check.whole("max_iter", max_iter, 1), _check.threads(n_jobs)
    )
    return means[0]


def sinkhorn(a, b, M, reg, *, numItermax=1000, stopThr=1e-9, log=False, n_jobs=None):
    """Entropic optimal transport: min <P, M> - reg H(P) over plans P with row sums a and column sums b.

    Named and ordered as in POT. Where the scalings leave the range of float64 the log domain is used.

    Parameters
    ----------
    a : array-like (k,)
        Row sums; empty for uniform ones.
    b : array-like (m,)
        Column sums; empty for uniform ones.
    M : array-like (k, m)
        Costs.
    reg : float
        Weight of the entropy.
    numItermax : int, default=1000
        Iterations at most.
    stopThr : float, default=1e-9
        Stop when the error of the column sums is below this; 0 makes all iterations.
    log : bool, default=False
        Also return how it went.
    n_jobs : int, default=None
        Threads; None for all.

    Returns
    -------
    plan : ndarray (k, m)
    log : dict
        ``iterations``, ``marginal_error``, ``log_domain``; only with ``log=True``.
    """
    cost = _check.features("M", M)
    sums = []
    for name, w, count in [("a", a, cost.shape[0]), ("b", b, cost.shape[1])]:
        w = np.full(count, 1.0 / count) if len(w) == 0 else _check.numbers_only(name, w)
        if w.ndim != 1 or len(w) != count:
            raise ValueError(f"{name} has shape {w.shape} and M {cost.shape}; one weight per {'row' if name == 'a' else 'column'} is needed")
        sums.append(np.ascontiguousarray(w, dtype=np.float64))
    plan, how = _kraus.sinkhorn(
        cost,
        *sums,
        _check.positive("reg", reg),
        _check.whole("numItermax", numItermax, 1),
        _check.positive("stopThr", stopThr, zero=True),
        _check.threads(n_jobs),
    )
    return (plan, how) if log else plan


def rbf_kernel(X, Y=None, *, width="mean", n_jobs=None):
    """exp(-d^2 / w) with Euclidean distances d between rows.

    Parameters
    ----------
    X : array-like (l, d)
        Features of the training samples, which fix the width.
    Y : array-like (m, d), default=None
        Features of other samples.
    width : {"mean", "median", "published"} or float, default="mean"
        w: the mean or median of d^2 over pairs of training samples; 2 s^2 with s the mean of d ("published") or with s a number.
    n_jobs : int, default=None
        Threads; None for all.

    Returns
    -------
    K : ndarray (l, l), or (m, l) with Y
    """
    return _kernel("rbf", X, Y, width, n_jobs)


def chi2_kernel(X, Y=None, *, width="mean", n_jobs=None):
    """exp(-h / w) with h = 1/2 sum (x - y)^2 / (x + y), for histograms.

    Parameters
    ----------
    X : array-like (l, d)
        Features of the training samples, none negative, which fix the width.
    Y : array-like (m, d), default=None
        Features of other samples.
    width : {"mean", "median", "published"} or float, default="mean"
        w: the mean or median of h over pairs of training samples, 2 (mean of h)^2 ("published"), or a number.
    n_jobs : int, default=None
        Threads; None for all.

    Returns
    -------
    K : ndarray (l, l), or (m, l) with Y
    """
    return _kernel("chi2", X, Y, width, n_jobs)


def _kernel(kind, X, Y, width, n_jobs):
    x = _check.features("X", X)
    y = None if Y is None else _check.features("Y", Y)
    if y is not None and y.shape[1] != x.shape[1]:
        raise ValueError(f"Y has {y.shape[1]} columns and X has {x.shape[1]}; both must hold the same features")
    if isinstance(width, str) and width not in ("mean", "median", "published"):
        raise ValueError(f"width = {width!r} is not known; use 'mean', 'median', 'published' or a number")
    rule, value = (width, 0.0) if isinstance(width, str) else ("value", _check.positive("width", width))
    return _kraus.kernel(kind, x, y, rule, value, _check.threads(n_jobs))[0]


def partial_trace(M, m):
    """tr_m: replace each m x m block of a (q m) x (q m) matrix by its trace.

    Parameters
    ----------
    M : array-like (q m, q m)
        The matrix.
    m : int
        Rows of a block.

    Returns
    -------
    traces : ndarray (q, q)
    """
    return _kraus.partial_trace(_check.matrix("M", M)[0], _check.whole("m", m, 1))


def choi(operators, signs=None):
    """The Choi matrix of X -> sum_k s_k A_k X A_k^T: the p x p grid of q x q blocks Phi(E_ij).

    Parameters
    ----------
    operators : array-like (r, q, p)
        The A_k.
    signs : array-like (r,), default=None
        The s_k, +1 or -1; None for all +1.

    Returns
    -------
    C : ndarray (p q, p q)
    """
    a = np.ascontiguousarray(_check.numbers_only("operators", operators), dtype=np.float64)
    if a.ndim != 3:
        raise ValueError(f"operators has shape {a.shape}; matrices A_k are needed: (r, q, p)")
    return _kraus.choi(a, None if signs is None else np.ascontiguousarray(signs, dtype=np.float64))


def kraus_from_choi(C, p, *, rank=None, tol=1e-10):
    """Operators of the completely positive map with this Choi matrix, largest first.

    Parameters
    ----------
    C : array-like (p q, p q)
        Positive semidefinite.
    p : int
        Rows of the map's inputs.
    rank : int, default=None
        Keep this many; None for those with eigenvalues above `tol` times the largest.
    tol : float, default=1e-10
        See `rank`. Eigenvalues below minus this share are refused.

    Returns
    -------
    operators : ndarray (r, q, p)
    """
    rank = None if rank is None else _check.whole("rank", rank, 1)
    return _kraus.kraus_from_choi(_check.matrix("C", C)[0], _check.whole("p", p, 1), rank, _check.positive("tol", tol, zero=True))


def read_gdf(path, channels=None):
    """Read a GDF recording (versions 1.x and 2.x).

    Parameters
    ----------
    path : str or path-like
        The file.
    channels : sequence of str, default=None
        Names of the channels to read; None for all with samples.

    Returns
    -------
    recording : dict
        ``signals`` (channels, samples) with NaN where clipped or lost, ``rate`` in Hz, ``channels``, and ``events``, a list of
        (sample, code, duration).
    """
    return _kraus.read_gdf(path, None if channels is None else [str(c) for c in channels])


def read_mat(path):
    """Read a MATLAB v5 file (``save -v7`` or older, or scipy's ``savemat``).

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    variables : dict
        Arrays, texts, lists of cells, lists of dictionaries for struct arrays; None for classes that are not read.
    """
    return _kraus.read_mat(path)


class MDM(ClassifierMixin, BaseEstimator):
    """Minimum distance to mean: one Riemannian mean per class, the nearest wins.

    Parameters
    ----------
    metric : {"riemann", "logeuclid", "wasserstein"}, default="riemann"
        The geometry.
    n_jobs : int, default=None
        Threads; None for all.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    covmeans_ : ndarray (classes, n, n)
        The mean of each class.
    """

    def __init__(self, metric="riemann", n_jobs=None):
        self.metric = metric
        self.n_jobs = n_jobs

    def fit(self, X, y, sample_weight=None):
        """Learn the class means.

        Parameters
        ----------
        X : array-like (k, n, n)
            SPD matrices.
        y : array-like (k,)
            Labels.
        sample_weight : array-like (k,), default=None
            Weights.

        Returns
        -------
        self : MDM
        """
        x, _ = _check.matrices("X", X)
        y = _check.one_each("y", y, "X", len(x))
        self.classes_, groups = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class only, {self.classes_[0]}; two at least are needed to tell apart")
        weights = None
        if sample_weight is not None:
            weights = np.asarray(_check.one_each("sample_weight", sample_weight, "X", len(x)), dtype=float).tolist()
        self.covmeans_ = _kraus.means(x, weights, groups.tolist(), self.metric, 1e-9, 200, _check.threads(self.n_jobs))[0]
        self.n_features_in_ = x.shape[1]
        return self

    def transform(self, X):
        """Distances to the class means.

        Parameters
        ----------
        X : array-like (k, n, n)
            SPD matrices.

        Returns
        -------
        distances : ndarray (k, classes)
        """
        check_is_fitted(self, "covmeans_")
        x, _ = _check.matrices("X", X)
        n = self.covmeans_.shape[1]
        if x.shape[1] != n:
            raise ValueError(f"X holds {x.shape[1]} x {x.shape[1]} matrices and the classifier takes {n} x {n}")
        return np.ascontiguousarray(_kraus.distances(self.covmeans_, x, self.metric, _check.threads(self.n_jobs)).T)

    def predict(self, X):
        """The label of the nearest mean.

        Parameters
        ----------
        X : array-like (k, n, n)
            SPD matrices.

        Returns
        -------
        labels : ndarray (k,)
        """
        return self.classes_[np.argmin(self.transform(X), axis=1)]

    def predict_proba(self, X):
        """softmax of minus the squared distances.

        Parameters
        ----------
        X : array-like (k, n, n)
            SPD matrices.

        Returns
        -------
        probabilities : ndarray (k, classes)
        """
        d = -self.transform(X) ** 2
        e = np.exp(d - d.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)
