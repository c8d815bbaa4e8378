"""Partial trace regression as an estimator."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from . import _check, _kraus


class KrausRegressor(RegressorMixin, BaseEstimator):
    """Regression from matrices to matrices: Y = sum_k s_k A_k X A_k^T + B.

    The paper's model has all signs +1 and no B: a completely positive map, which keeps positive semidefinite matrices so. The same
    arguments give the same model as the command ``repro fit``, to the bit.

    Parameters
    ----------
    rank : None, int or "cv", default=None
        Number of operators A_k. None fits completely positive maps and maps with signs, both with intercept and penalty, and takes the
        better by cross-validation. A number, or "cv" (the smallest of `ranks` within one standard error of the best), fits one
        completely positive map without penalty and intercept.
    ranks : sequence of int, default=None
        Ranks that "cv" tries, upwards until three in a row bring nothing; None for 1 to 20.
    positivity : {"auto", "complete", "output", "none"}, default="auto"
        Family of maps: completely positive; any that keep symmetry, with outputs projected into the cone ("output") or not ("none");
        or the better one ("auto").
    folds : int, default=5
        Folds of the cross-validation; 0 for none, which needs a rank.
    noise_free : bool, default=False
        Y is exact: take the smallest rank that explains it.
    depth : int, default=1
        Layers: maps applied one after the other.
    hidden : sequence of int, default=None
        Sizes between the layers; None for equal steps from p to q.
    gamma : float, default=None
        Between layers eigenvalues below this are raised to it; None for nothing.
    solver : {"auto", "adam", "lbfgs", "closed-form", "block-coordinate"}, default="auto"
        How to fit a map without penalty. "adam" is the paper's.
    max_iter : int, default=None
        Iterations at most; None for 2000 (adam: 100 epochs).
    restarts : int, default=3
        Random starts of L-BFGS, of which the best is kept.
    batch_size : int, default=16
        Samples per step of adam.
    learning_rate : float, default=1e-3
        Learning rate of adam.
    random_state : int, RandomState, Generator or None, default=None
        Seed of starts and folds; None stands for 0, so that equal data give equal models.
    n_jobs : int, default=None
        Threads; None and -1 for all. The result does not depend on it.
    verbose : int, default=0
        Print progress.
    callback : callable, default=None
        Called with (step, share of it done). An error that it raises ends the fit.

    Attributes
    ----------
    operators_ : ndarray (rank, q, p), or a list of one such array per layer if depth > 1
        The A_k.
    signs_ : ndarray (rank,)
        The s_k.
    intercept_ : ndarray (q, q) or None
        B.
    choi_ : ndarray (p q, p q)
        The Choi matrix sum_k s_k w_k w_k^T, w_k the stacked columns of A_k; positive semidefinite exactly for completely positive
        maps. For one layer only.
    rank_ : int
        Number of operators.
    positivity_ : str
        Family of the map.
    history_ : dict
        Solver, losses, why it stopped, notes.
    cv_results_ : list of dict
        Validation error of each family and rank: keys ``complete``, ``rank``, ``folds``, ``mean``, ``chosen``.
    reason_ : str
        Why this model was chosen.
    fit_time_ : float
        Seconds that the method itself took; the rest of the time of `fit` are checks of the arrays and the passage to Rust.
    n_features_in_ : int
        Rows p of the inputs.

    Notes
    -----
    X and Y are not copied if they are float64, in C order and symmetric to the bit. Else a copy is made: matrices that are symmetric up to
    rounding are made exactly so. While a fit runs other Python threads go on; do not change X and Y there.

    Examples
    --------
    >>> import numpy as np
    >>> from kraus import KrausRegressor
    >>> rng = np.random.default_rng(0)
    >>> A = rng.standard_normal((2, 3, 4))
    >>> G = rng.standard_normal((200, 4, 4))
    >>> X = G @ G.transpose(0, 2, 1)
    >>> Y = sum(a @ X @ a.T for a in A)
    >>> model = KrausRegressor(rank="cv").fit(X, Y)
    >>> model.rank_
    2
    >>> bool(model.score(X, Y) > 0.999999)
    True
    """

    def __init__(
        self,
        rank=None,
        *,
        ranks=None,
        positivity="auto",
        folds=5,
        noise_free=False,
        depth=1,
        hidden=None,
        gamma=None,
        solver="auto",
        max_iter=None,
        restarts=3,
        batch_size=16,
        learning_rate=1e-3,
        random_state=None,
        n_jobs=None,
        verbose=0,
        callback=None,
    ):
        self.rank = rank
        self.ranks = ranks
        self.positivity = positivity
        self.folds = folds
        self.noise_free = noise_free
        self.depth = depth
        self.hidden = hidden
        self.gamma = gamma
        self.solver = solver
        self.max_iter = max_iter
        self.restarts = restarts
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit(self, X, Y):
        """Fit the map.

        Parameters
        ----------
        X : array-like (l, p, p)
            Inputs.
        Y : array-like (l, q, q)
            Outputs.

        Returns
        -------
        self : KrausRegressor
        """
        x, single_x = _check.matrices("X", X)
        y, single_y = _check.matrices("Y", Y)
        l, p, q = len(x), x.shape[1], y.shape[1]
        if len(y) != l:
            raise ValueError(f"X has {l} samples and Y has {len(y)}; sample i of X belongs to sample i of Y")
        found = _kraus.fit(x, y, single=(single_x, single_y), **self._settings(l, p, q))
        self._learned(found["model"])
        self.reason_ = found["reason"]
        self.fit_time_ = found["seconds"]
        self.cv_results_ = [
            {"complete": complete, "rank": rank, "folds": folds, "mean": float(np.mean(folds)), "chosen": k == chosen}
            for complete, curve, chosen, _ in found["tried"]
            for k, (rank, folds) in enumerate(curve)
        ]
        self._bound_at = (l, found.get("train"), found["peak"])
        for name, at in [("X", found["asymmetric"]), ("Y", found["lopsided"])]:
            if at is not None:
                warnings.warn(f"{name}: matrix {at} is not symmetric; general maps without penalty are fitted", stacklevel=2)
        if not found["converged"]:
            text = f"{found['iterations']} iterations were not enough; raise max_iter, or leave out rank and solver"
            warnings.warn(text, ConvergenceWarning, stacklevel=2)
        return self

    def _settings(self, l, p, q):
        """The arguments of Rust's fit, checked."""
        rank, ranks = self.rank, self.ranks
        if isinstance(rank, str):
            if rank != "cv":
                raise ValueError(f"rank = {rank!r} is not known; use None, a number or 'cv'")
            rank, ranks = None, list(range(1, 21)) if ranks is None else ranks
        elif rank is not None:
            rank = _check.whole("rank", rank, 1, p * q)
        if ranks is not None:
            ranks = sorted({_check.whole("ranks", r, 1) for r in ranks})
            if not ranks:
                raise ValueError("ranks is empty; give at least one rank")
        folds = _check.whole("folds", self.folds, 0, 1000)
        if rank is None and not self.noise_free and folds < 2:
            raise ValueError(f"folds = {folds} cannot choose a rank; give a rank, or at least 2 folds")
        if folds > l:
            raise ValueError(f"{folds} folds need at least {folds} samples, X has {l}; lower folds (0 for none)")
        depth = _check.whole("depth", self.depth, 1, 100)
        if self.hidden is None:
            hidden = [(p * (depth - k) + q * k) // depth for k in range(1, depth)]
        else:
            hidden = [_check.whole("hidden", h, 1) for h in self.hidden]
            if len(hidden) + 1 != depth:
                raise ValueError(f"hidden has {len(hidden)} sizes for depth = {depth}; give one size fewer than layers")
        return {
            "positivity": str(self.positivity),
            "solver": str(self.solver),
            "hidden": hidden,
            "clamp": _check.clamp(self.gamma),
            "max_iter": None if self.max_iter is None else _check.whole("max_iter", self.max_iter, 1),
            "batch_size": _check.whole("batch_size", self.batch_size, 1),
            "learning_rate": _check.positive("learning_rate", self.learning_rate),
            "restarts": _check.whole("restarts", self.restarts, 1, 1000),
            "seed": _check.seed(self.random_state),
            "rank": rank,
            "ranks": ranks,
            "noise_free": bool(self.noise_free),
            "folds": folds,
            "memory": _check.memory(),
            "threads": _check.threads(self.n_jobs),
            "callback": _check.reporter(self.verbose, self.callback),
        }

    def _learned(self, model):
        """Sets the attributes of a fitted model."""
        self.model_ = model
        layers = model.layers
        self.operators_ = layers[0] if len(layers) == 1 else layers
        self.rank_ = len(layers[0])
        self.signs_ = np.ones(self.rank_) if model.signs is None else np.asarray(model.signs)
        self.intercept_ = model.intercept
        self.positivity_ = model.positivity
        self.history_ = model.history
        self.n_features_in_ = model.p
        self._bound_at = None

    @property
    def choi_(self):
        """The Choi matrix of a map of one layer."""
        check_is_fitted(self, "model_")
        if isinstance(self.operators_, list):
            raise AttributeError("choi_ is that of one map; a stack of several layers is not linear")
        return _kraus.choi(self.operators_, self.signs_)

    def predict(self, X):
        """Apply the map.

        Parameters
        ----------
        X : array-like (l, p, p)
            Inputs.

        Returns
        -------
        Y : ndarray (l, q, q)
            Outputs, in the precision of X.
        """
        check_is_fitted(self, "model_")
        x, single = _check.matrices("X", X)
        if x.shape[1] != self.model_.p:
            raise ValueError(f"X holds {x.shape[1]} x {x.shape[1]} matrices and the model takes {self.model_.p} x {self.model_.p}")
        y, _ = self.model_.apply(x, single, _check.threads(self.n_jobs))
        return y.astype(np.float32) if single else y

    def score(self, X, Y, sample_weight=None):
        """Coefficient of determination: 1 - ||Y - predicted||^2 / ||Y - mean of Y||^2 over all samples and entries.

        Parameters
        ----------
        X : array-like (l, p, p)
            Inputs.
        Y : array-like (l, q, q)
            Outputs.
        sample_weight : array-like (l,), default=None
            Weight of each sample.

        Returns
        -------
        score : float
            At most 1; 0 for predicting the mean.
        """
        y, _ = _check.matrices("Y", Y)
        predicted = np.asarray(self.predict(X), dtype=np.float64)
        if predicted.shape != y.shape:
            raise ValueError(f"Y has shape {y.shape} and the predictions have {predicted.shape}; both must agree")
        weight = np.ones(len(y)) if sample_weight is None else _check.one_each("sample_weight", sample_weight, "Y", len(y))
        mean = np.average(y, axis=0, weights=weight)
        wrong = np.einsum("l,lij,lij->", weight, y - predicted, y - predicted)
        total = np.einsum("l,lij,lij->", weight, y - mean, y - mean)
        if total == 0.0:
            return 1.0 if wrong == 0.0 else 0.0
        return float(1.0 - wrong / total)

    def bound(self, gamma=None, delta=0.05, version="proved"):
        """Theorem 4: a bound of the expected squared error of an entry, for one completely positive map without penalty.

        Parameters
        ----------
        gamma : float, default=None
            The largest squared error of an entry that can occur; None for 4 max Y^2.
        delta : float, default=0.05
            The bound fails with at most this probability.
        version : {"proved", "printed"}, default="proved"
            The form that the paper's proof gives, or that its text prints.

        Returns
        -------
        bound : dict
            ``total``, ``train``, ``complexity``, ``confidence``, ``pseudo_dimension``, ``vacuous`` (total >= gamma).
        """
        check_is_fitted(self, "model_")
        if self._bound_at is None or self._bound_at[1] is None or isinstance(self.operators_, list):
            raise ValueError("theorem 4 is about one map fitted here without penalty; give a rank and depth 1")
        l, train, peak = self._bound_at
        gamma = 4.0 * peak * peak if gamma is None else _check.positive("gamma", gamma)
        complexity, confidence, dimension = _kraus.bound(l, self.model_.p, self.model_.q, self.rank_, gamma, float(delta), version)
        total = train + complexity + confidence
        return {
            "total": total,
            "train": train,
            "complexity": complexity,
            "confidence": confidence,
            "pseudo_dimension": dimension,
            "vacuous": total >= gamma,
        }

    def save(self, path):
        """Write the model as .npz, for `load_model`, ``repro predict`` and ``numpy.load``.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        check_is_fitted(self, "model_")
        self.model_.save(path)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.target_tags.two_d_labels = False
        tags.target_tags.single_output = False
        return tags


def load_model(path):
    """Read a model that `KrausRegressor.save` or ``repro fit`` wrote.

    Parameters
    ----------
    path : str or path-like
        The .npz file.

    Returns
    -------
    model : KrausRegressor
        Fitted; it predicts what ``repro predict`` does.
    """
    model = KrausRegressor()
    model._learned(_kraus.Model.load(path))
    model.reason_, model.cv_results_ = "read from a file", []
    return model
