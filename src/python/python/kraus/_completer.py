"""Completion of positive semidefinite matrices as an estimator."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _check, _kraus

#: Unknowns n rank above which `determined_` would take longer than the completion.
_LARGEST = 2000


class PSDCompleter(BaseEstimator):
    """Fill the missing entries of a positive semidefinite matrix: a kernel, a covariance.

    Without `blocks`, `rank`, `depth` and `gamma` the model of ``repro complete`` is chosen by validation: low rank plus a diagonal, with a
    penalty on the trace. With one of them the paper's model is fitted: a p x p grid of q x q blocks and a map from the position
    of a block to the block.

    Parameters
    ----------
    blocks : (p, q), default=None
        Cut the matrix into p x p blocks of q x q entries, n = p q.
    rank : int, default=None
        Number of operators of the block model; None to choose by hidden entries.
    depth : int, default=None
        Layers of the block model.
    gamma : float, default=None
        Between layers eigenvalues below this are raised to it.
    method : {"kraus", "cvkt"}, default="kraus"
        For several views: complete each by ``repro complete`` with the others as views, or by cross-view kernel transfer
        (whole missing rows only).
    psd : bool or None, default=None
        The result is positive semidefinite if the observed entries allow it (None), in any case, moving observed entries as little as
        that needs (True), or as it comes (False).
    denoise : bool, default=False
        Replace observed entries by the model's values too.
    n_restarts : int, default=0
        Further completions with other seeds, for `spread_`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of starts and of what validation hides; None stands for 0.
    n_jobs : int, default=None
        Threads; None and -1 for all. The result does not depend on it.
    verbose : int, default=0
        Print progress.
    callback : callable, default=None
        Called with (step, share of it done). An error that it raises ends the work.

    Attributes
    ----------
    completed_ : ndarray (n, n), or a list of them
        The result.
    determined_ : ndarray of bool (n, n), or a list of them, or None
        Which entries the observed ones determine, given the rank of the model: entries that no small change of the fitted factor W can
        move while every observed entry of W W^T stays (off the diagonal only where the model has a diagonal of its own). None where
        n times the rank exceeds 2000, where this would take longer than the completion.
    spread_ : ndarray (n, n), or a list of them, or None
        Standard deviation of each entry over the restarts; None without `n_restarts`.
    scores_ : list of (name, error)
        Relative errors on hidden entries: the chosen way first, then softImpute, mean and zero. Empty for the block model.
    rank_ : int
        Rank of the model.
    psd_ : bool
        Whether the result is positive semidefinite up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from kraus import PSDCompleter
    >>> W = np.random.default_rng(0).standard_normal((30, 2))
    >>> K = W @ W.T
    >>> M = K.copy()
    >>> M[3, 7] = M[7, 3] = np.nan
    >>> full = PSDCompleter().fit_transform(M)
    >>> bool(abs(full[3, 7] - K[3, 7]) < 0.01)
    True
    """

    def __init__(
        self,
        blocks=None,
        rank=None,
        *,
        depth=None,
        gamma=None,
        method="kraus",
        psd=None,
        denoise=False,
        n_restarts=0,
        random_state=None,
        n_jobs=None,
        verbose=0,
        callback=None,
    ):
        self.blocks = blocks
        self.rank = rank
        self.depth = depth
        self.gamma = gamma
        self.method = method
        self.psd = psd
        self.denoise = denoise
        self.n_restarts = n_restarts
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit(self, M, y=None):
        """Complete a matrix, or several views of the same samples.

        Parameters
        ----------
        M : array-like (n, n), or a list of them
            NaN marks what is missing.
        y : None
            Not used, here for compatibility with scikit-learn.

        Returns
        -------
        self : PSDCompleter
        """
        views = isinstance(M, (list, tuple)) and len(M) > 0 and np.ndim(M[0]) == 2
        given = [_check.matrix(f"M[{k}]" if views else "M", m) for k, m in enumerate(M if views else [M])]
        if len({m.shape for m, _ in given}) > 1:
            raise ValueError(f"views of shapes {', '.join(str(m.shape) for m, _ in given)}; all show the same samples")
        for k, (m, _) in enumerate(given):
            if np.isnan(m).all():
                raise ValueError(f"{f'M[{k}]' if views else 'M'} has NaN everywhere; at least one entry must be observed")
        if self.method not in ("kraus", "cvkt"):
            raise ValueError(f"method = {self.method!r} is not known; use 'kraus' or 'cvkt'")
        if self.method == "cvkt":
            if len(given) < 2:
                raise ValueError("method = 'cvkt' completes a view from others; give a list of two or more kernels")
            done = self._transfer([m for m, _ in given])
        else:
            done = [self._one(k, given) for k in range(len(given))]
        self.completed_ = [d["matrix"] for d in done]
        self.determined_ = [d["determined"] for d in done]
        self.spread_ = [d["spread"] for d in done]
        self.rank_ = done[0]["rank"]
        self.scores_ = done[0]["scores"]
        self.n_features_in_ = given[0][0].shape[0]
        values = [np.linalg.eigvalsh(m) for m in self.completed_]
        self.psd_ = all(bool(v[0] >= -1e-10 * abs(v).max()) for v in values)
        if not views:
            self.completed_, self.determined_, self.spread_ = self.completed_[0], self.determined_[0], self.spread_[0]
        return self

    def fit_transform(self, M, y=None):
        """Complete a matrix, or several views; see `fit`.

        Parameters
        ----------
        M : array-like (n, n), or a list of them
            NaN marks what is missing.
        y : None
            Not used.

        Returns
        -------
        completed : ndarray (n, n), or a list of them
        """
        return self.fit(M).completed_

    def _seeds(self):
        first = _check.seed(self.random_state)
        return [first + k for k in range(1 + _check.whole("n_restarts", self.n_restarts, 0, 1000))]

    def _one(self, which, given):
        m, single = given[which]
        tolerance = 1e3 * float(np.finfo(np.float32 if single else np.float64).eps)
        shared = {
            "tolerance": tolerance,
            "psd": self.psd if self.psd is None else bool(self.psd),
            "denoise": bool(self.denoise),
            "threads": _check.threads(self.n_jobs),
            "callback": _check.reporter(self.verbose, self.callback),
        }
        by_blocks = any(v is not None for v in (self.blocks, self.rank, self.depth, self.gamma))
        if by_blocks:
            n = len(m)
            empty = bool(np.isnan(m).all(axis=1).any())
            blocks = self.blocks
            if blocks is not None:
                blocks = tuple(_check.whole("blocks", b, 1) for b in blocks)
                if len(blocks) != 2 or blocks[0] * blocks[1] != n:
                    raise ValueError(f"blocks = {self.blocks} do not make n = {n}; choose (p, q) with p q = n")
            shared.update(
                blocks=blocks,
                rank=None if self.rank is None else _check.whole("rank", self.rank, 1, n * n),
                depth=(2 if empty else 1) if self.depth is None else _check.whole("depth", self.depth, 1, 20),
                clamp=_check.clamp(self.gamma),
            )
            runs = [_kraus.complete_blocks(m, seed=s, **shared) for s in self._seeds()]
        else:
            others = [v for k, (v, _) in enumerate(given) if k != which]
            runs = [_kraus.complete(m, others, seed=s, **shared) for s in self._seeds()]
        done = runs[0]
        done["spread"] = np.std([r["matrix"] for r in runs], axis=0) if len(runs) > 1 else None
        done["determined"] = determined(m, done["matrix"], done["rank"], diagonal=by_blocks)
        return done

    def _transfer(self, kernels):
        observed = []
        for k, m in enumerate(kernels):
            missing = np.isnan(m)
            rows = missing.all(axis=1)
            if (missing & ~rows[:, None] & ~rows[None, :]).any():
                i, j = np.argwhere(missing & ~rows[:, None] & ~rows[None, :])[0]
                raise ValueError(f"M[{k}]: entry ({i}, {j}) is missing alone; cvkt completes whole rows, use method='kraus'")
            observed.append((~rows).tolist())
        runs = [_kraus.cvkt(kernels, observed, s, _check.threads(self.n_jobs)) for s in self._seeds()]
        none = {"rank": None, "scores": [], "determined": None}
        spreads = [np.std([r[k] for r in runs], axis=0) if len(runs) > 1 else None for k in range(len(kernels))]
        return [{**none, "matrix": m, "spread": s} for m, s in zip(runs[0], spreads)]

    def __sklearn_is_fitted__(self):
        return hasattr(self, "completed_")

    def transform(self, M):
        """The completion of the matrix that was given to `fit`: this model has nothing to say about others.

        Parameters
        ----------
        M : ignored

        Returns
        -------
        completed : ndarray (n, n), or a list of them
        """
        check_is_fitted(self)
        return self.completed_


def determined(observed, completed, rank, diagonal=True):
    """Which entries of a matrix of this rank the observed entries determine, near the completed one.

    M = W W^T with W (n, rank). A small change dW moves entry (i, j) by w_i . dw_j + w_j . dw_i; an entry is determined if it stays under
    every dW that moves no observed entry. Without `diagonal` the diagonal is free and says nothing.
    """
    n = len(completed)
    if rank is None or rank < 1 or n * rank > _LARGEST:
        return None
    values, vectors = np.linalg.eigh(completed)
    w = vectors[:, -rank:] * np.sqrt(np.maximum(values[-rank:], 0.0))
    seen = ~np.isnan(observed)
    seen = seen | seen.T
    known = seen.copy()
    if not diagonal:
        np.fill_diagonal(seen, False)
    values, vectors = np.linalg.eigh(_stiffness(w, seen))
    free = vectors[:, values <= 1e-9 * max(values[-1], np.finfo(float).tiny)].reshape(n, rank, -1)
    limit = 1e-4 * np.sqrt(np.abs(np.diagonal(completed)).max())
    for i in range(n):
        # w_i . dw_j + w_j . dw_i for all j and all free directions.
        moved = np.einsum("a,jak->jk", w[i], free) + np.einsum("ja,ak->jk", w, free[i])
        still = np.linalg.norm(moved, axis=1) <= limit
        still[i] &= diagonal
        known[i] |= still
    return known


def _stiffness(w, seen):
    """The quadratic form whose null space holds the dW that move no observed entry of W W^T.

    1/2 sum over observed (i, j) of (w_j . dw_i + w_i . dw_j)^2: block (i, j) is w_j w_i^T where observed, and block (i, i) has the sum of
    w_j w_j^T over the observed entries of row i besides.
    """
    n, rank = w.shape
    seen = seen.astype(float)
    out = np.einsum("ij,ja,ib->iajb", seen, w, w)
    own = np.einsum("ij,ja,jb->iab", seen, w, w)
    out[np.arange(n), :, np.arange(n), :] += own
    return out.reshape(n * rank, n * rank)
