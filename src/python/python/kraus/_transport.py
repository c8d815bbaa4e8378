"""Transport of SPD matrices between domains (sessions, subjects, devices) as estimators."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _check, _kraus


class KrausTransport(TransformerMixin, BaseEstimator):
    """Domain adaptation of SPD matrices, with a learned map for new matrices: the procedure of ``repro adapt``.

    Every map starts at recentring, which moves the mean of the source to the mean of the target. With classes of the source it is followed by
    a filter that keeps what tells these classes apart; cross-validation within the source decides whether the filter helps.
    Without, entropic transport pairs each source matrix with a weighted Riemannian mean of targets, and a Kraus map is learned from
    the pairs; held-out pairs decide when to stop. Where there is no gain, the result is recentring itself, and `fell_back_` says so.
    The same arguments give the same map as ``repro adapt``, to the bit.

    Parameters
    ----------
    rank : None, int or "auto", default=None
        Number of operators of a map learned from the pairs; None for 1 (with `paper` 20), "auto" to choose by held-out pairs. A rank
        other than None turns the class filter off.
    filter : None, int, "auto" or "none", default=None
        Directions that the class filter keeps, with classes of the source only: None for three eighths of the channels, "auto" by
        cross-validation, "none" to learn from the pairs as without classes.
    paper : bool, default=False
        The paper's method: transport of matrices as recorded, Adam on the square loss from a random start.
    neighbours : int, default=20
        Targets in each mean.
    relative : float, default=None
        Weight of the entropy as a share of the median cost; None for 0.05 (with `paper` its 2 (0.05 median)^2).
    regularisation : float, default=None
        Weight of the entropy as a number, instead of `relative`.
    max_iter : int, default=1000
        Sinkhorn iterations.
    epochs : int, default=500
        Epochs of Adam; with `paper` only.
    scaling : {"whitened", "recorded"}, default="whitened"
        Coordinates in which the map is learned; with `paper` only.
    common : sequence of (source channel, target channel), default=None
        Channels that both domains have, counted from 0; needed where their numbers differ.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the training; None stands for 0.
    n_jobs : int, default=None
        Threads; None and -1 for all. The result does not depend on it.
    verbose : int, default=0
        Print progress.
    callback : callable, default=None
        Called with (step, share of it done). An error that it raises ends the fit.

    Attributes
    ----------
    operators_ : ndarray (r, q, p)
        The learned map X -> sum_k A_k X A_k^T; one operator where it is recentring between domains of the same channels.
    transported_ : ndarray (k, q, q)
        The mean of targets that transport pairs each source matrix with.
    plan_ : ndarray (k, m)
        The transport plan.
    held_out_ : (float, float) or None
        Mean squared distance of held-out pairs: by recentring, and by the learned map. None with the class filter.
    filter_ : dict or None
        The class filter where one was tried: `kept` directions (None where cross-validation was against it), accuracy within the source by
        `recentring` alone, and `tried`, a list of (directions, accuracy).
    fell_back_ : bool
        Whether the map is recentring and nothing else.
    """

    def __init__(
        self,
        rank=None,
        *,
        filter=None,
        paper=False,
        neighbours=20,
        relative=None,
        regularisation=None,
        max_iter=1000,
        epochs=500,
        scaling="whitened",
        common=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
        callback=None,
    ):
        self.rank = rank
        self.filter = filter
        self.paper = paper
        self.neighbours = neighbours
        self.relative = relative
        self.regularisation = regularisation
        self.max_iter = max_iter
        self.epochs = epochs
        self.scaling = scaling
        self.common = common
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit(self, Xs, Xt, ys=None):
        """Learn the map from one domain to another. Labels of the target are never used.

        Parameters
        ----------
        Xs : array-like (k, p, p)
            SPD matrices of the source.
        Xt : array-like (m, q, q)
            SPD matrices of the target.
        ys : array-like (k,), default=None
            Classes of the source, for the class filter; the transport keeps them together.

        Returns
        -------
        self : KrausTransport
        """
        source, single_s = _check.matrices("Xs", Xs)
        target, single_t = _check.matrices("Xt", Xt)
        for what, x in [("Xs", source), ("Xt", target)]:
            if len(x) < 2:
                raise ValueError(f"{what} holds one matrix; a domain needs two at least, for a mean and a spread")
        labels = None
        if ys is not None:
            ys = _check.one_each("ys", ys, "Xs", len(source))
            labels = np.unique(ys, return_inverse=True)[1].tolist()
        found = _kraus.adapt(source, target, labels, single=(single_s, single_t), **self._settings(source, target, labels))
        self.operators_ = found["operators"]
        # The map in its shortest form: operators, and measurements that fill in channels of the target alone.
        self._map = found["map"]
        self.transported_ = found["transported"]
        self.plan_ = found["plan"]
        self.held_out_ = found["held_out"]
        self.fell_back_ = found["fell_back"]
        self.filter_ = found["filter"]
        self.rank_ = found["rank"]
        self.n_features_in_ = source.shape[1]
        return self

    def _kept(self, labels):
        """The directions for the class filter to try, as ``repro adapt`` makes them of its options; None for no filter."""
        if self.filter is None:
            return None if labels is None or self.paper or self.rank is not None else []
        if self.paper or self.rank is not None:
            raise ValueError("filter does not go with paper=True or a rank: a map from pairs has no filter; leave one out")
        if labels is None:
            raise ValueError("filter needs ys: it keeps what tells the classes of the source apart")
        if self.filter == "none":
            return None
        if self.filter == "auto":
            return [2, 3, 4, 6, 8, 12, 16, 24, 32]
        if isinstance(self.filter, str):
            raise ValueError(f"filter = {self.filter!r} is not known; use None, a number, 'auto' or 'none'")
        return [_check.whole("filter", self.filter, 1, 10_000)]

    def _settings(self, source, target, labels):
        auto = self.rank == "auto"
        if isinstance(self.rank, str) and not auto:
            raise ValueError(f"rank = {self.rank!r} is not known; use None, a number or 'auto'")
        if auto and self.paper:
            raise ValueError("rank = 'auto' does not go with paper=True; give a number")
        if self.scaling not in ("whitened", "recorded"):
            raise ValueError(f"scaling = {self.scaling!r} is not known; use 'whitened' or 'recorded'")
        if self.scaling == "recorded" and not self.paper:
            raise ValueError("scaling = 'recorded' needs paper=True")
        if self.relative is not None and self.regularisation is not None:
            raise ValueError("relative and regularisation are two ways to say the same; give one")
        p, q = source.shape[1], target.shape[1]
        if self.common is None and p != q:
            raise ValueError(
                f"Xs holds {p} x {p} matrices and Xt {q} x {q}; name the channels that both have by common=[(source, target), ...]"
            )
        common = None
        if self.common is not None:
            common = [(_check.whole("common", a, 0), _check.whole("common", b, 0)) for a, b in self.common]
        number = lambda name, value: None if value is None else _check.positive(name, value)
        return {
            "common": common,
            "paper": bool(self.paper),
            "neighbours": _check.whole("neighbours", self.neighbours, 1),
            "relative": number("relative", self.relative),
            "regularisation": number("regularisation", self.regularisation),
            "iterations": _check.whole("max_iter", self.max_iter, 1),
            "rank": None if self.rank is None or auto else _check.whole("rank", self.rank, 1, 10_000),
            "auto": auto,
            "kept": self._kept(labels),
            "epochs": _check.whole("epochs", self.epochs, 1),
            "whitened": self.scaling == "whitened",
            "seed": _check.seed(self.random_state),
            "threads": _check.threads(self.n_jobs),
            "callback": _check.reporter(self.verbose, self.callback),
        }

    def transform(self, X):
        """Map matrices of the source's domain, seen or new.

        Parameters
        ----------
        X : array-like (l, p, p)
            SPD matrices.

        Returns
        -------
        images : ndarray (l, q, q)
            In the precision of X.
        """
        check_is_fitted(self, "operators_")
        return _mapped(self._map, X, self.n_jobs)

    def fit_transform(self, Xs, Xt, ys=None):
        """Learn the map and apply it to the source.

        Parameters
        ----------
        Xs : array-like (k, p, p)
            SPD matrices of the source.
        Xt : array-like (m, q, q)
            SPD matrices of the target.
        ys : array-like (k,), default=None
            Classes of the source.

        Returns
        -------
        images : ndarray (k, q, q)
        """
        return self.fit(Xs, Xt, ys).transform(Xs)


def _mapped(parts, X, n_jobs):
    x, single = _check.matrices("X", X)
    p = parts[0].shape[2]
    if x.shape[1] != p:
        raise ValueError(f"X holds {x.shape[1]} x {x.shape[1]} matrices and the map takes {p} x {p}")
    y = _kraus.apply_map(*parts, x, single, _check.threads(n_jobs))
    return y.astype(np.float32) if single else y


class TLKraus(TransformerMixin, BaseEstimator):
    """`KrausTransport` in the form of pyRiemann's transfer transformers.

    One map per source domain, each to the target domain. `fit_transform` moves the sources of the training set and leaves the target as it is;
    `transform` is for matrices of the target domain and leaves them as they are. Labels of the target are not used.

    Parameters
    ----------
    target_domain : str
        The domain that the others are moved to.
    use_labels : bool, default=True
        Use the classes of each source, for the class filter. Classes of the target are never used.
    rank, filter, paper, neighbours, relative, regularisation, max_iter, epochs, scaling, random_state, n_jobs
        See `KrausTransport`.

    Attributes
    ----------
    transports_ : dict of KrausTransport
        One per source domain.

    Examples
    --------
    ``make_pipeline(TLKraus(target_domain="tuesday"), TLClassifier("tuesday", MDM()))``, with domains encoded in y by pyRiemann's
    ``encode_domains``.
    """

    def __init__(
        self,
        target_domain,
        *,
        use_labels=True,
        rank=None,
        filter=None,
        paper=False,
        neighbours=20,
        relative=None,
        regularisation=None,
        max_iter=1000,
        epochs=500,
        scaling="whitened",
        random_state=None,
        n_jobs=None,
    ):
        self.target_domain = target_domain
        self.use_labels = use_labels
        self.rank = rank
        self.filter = filter
        self.paper = paper
        self.neighbours = neighbours
        self.relative = relative
        self.regularisation = regularisation
        self.max_iter = max_iter
        self.epochs = epochs
        self.scaling = scaling
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y_enc):
        """Learn one map per source domain.

        Parameters
        ----------
        X : array-like (l, n, n)
            SPD matrices of all domains.
        y_enc : array-like (l,)
            "domain/label" for each, as pyRiemann's ``encode_domains`` gives.

        Returns
        -------
        self : TLKraus
        """
        x, _ = _check.matrices("X", X)
        labels, domains = _decode(_check.one_each("y_enc", y_enc, "X", len(x)))
        names = list(dict.fromkeys(domains))
        if self.target_domain not in names:
            raise ValueError(f"target_domain = {self.target_domain!r} is not in y_enc, which has {', '.join(names)}")
        if len(names) < 2:
            raise ValueError(f"y_enc has the domain {names[0]} alone; give at least one source beside the target")
        if self.filter is not None and not self.use_labels:
            raise ValueError("filter needs use_labels=True: it keeps what tells the classes of the source apart")
        target = x[domains == self.target_domain]
        own = set(self.get_params()) - {"target_domain", "use_labels"}
        self.transports_ = {}
        for name in names:
            if name != self.target_domain:
                at = domains == name
                transport = KrausTransport(**{k: getattr(self, k) for k in own})
                self.transports_[name] = transport.fit(x[at], target, labels[at] if self.use_labels else None)
        self.n_features_in_ = x.shape[1]
        return self

    def fit_transform(self, X, y_enc):
        """Learn the maps and move the sources.

        Parameters
        ----------
        X : array-like (l, n, n)
            SPD matrices of all domains.
        y_enc : array-like (l,)
            "domain/label" for each.

        Returns
        -------
        X_new : ndarray (l, n, n)
        """
        self.fit(X, y_enc)
        out = np.array(X)
        domains = _decode(np.asarray(y_enc))[1]
        for name, transport in self.transports_.items():
            out[domains == name] = transport.transform(out[domains == name])
        return out

    def transform(self, X, y_enc=None):
        """Matrices of the target domain, as they are; with `y_enc`, those of the sources are mapped.

        Parameters
        ----------
        X : array-like (l, n, n)
            SPD matrices.
        y_enc : array-like (l,), default=None
            "domain/label" for each.

        Returns
        -------
        X_new : ndarray (l, n, n)
        """
        check_is_fitted(self, "transports_")
        if y_enc is None:
            return X
        out = np.array(X)
        domains = _decode(np.asarray(y_enc))[1]
        for name in set(domains) - {self.target_domain}:
            if name not in self.transports_:
                raise ValueError(f"domain {name!r} was not in the training set, which has {', '.join(self.transports_)}")
            out[domains == name] = self.transports_[name].transform(out[domains == name])
        return out


def _decode(y_enc):
    """Labels and domains of "domain/label"."""
    texts = [str(y) for y in y_enc]
    for k, text in enumerate(texts):
        if "/" not in text:
            raise ValueError(f"y_enc: entry {k} is {text!r}; encode domains and labels as 'domain/label', as pyRiemann's encode_domains does")
    parts = [text.rsplit("/", 1) for text in texts]
    return np.array([p[1] for p in parts]), np.array([p[0] for p in parts])
