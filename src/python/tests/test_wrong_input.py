"""Wrong input: one clear sentence that names the argument, the sample and the entry, and never a panic."""

import numpy as np
import pytest

import kraus
from conftest import pairs, spd, two_days
from kraus import MDM, KrausRegressor, KrausTransport, PSDCompleter

X, Y, _ = pairs(count=30, p=4, q=3)
(D1, L1), (D2, _) = two_days(trials=12)


def changed(a, at, value):
    a = np.array(a)
    a[at] = value
    return a


def fit(x=X, y=Y, **params):
    return lambda: KrausRegressor(**params).fit(x, y)


def complete(m, **params):
    return lambda: PSDCompleter(**params).fit(m)


def adapt(xs=D1, xt=D2, ys=None, **params):
    return lambda: KrausTransport(**params).fit(xs, xt, ys)


K = spd(1, 6)[0]

CASES = {
    "NaN names sample and entry": (fit(x=changed(X, (3, 1, 2), np.nan)), r"X: sample 3, entry \(1, 2\) is NaN"),
    "infinity in Y": (fit(y=changed(Y, (7, 0, 2), np.inf)), r"Y: sample 7, entry \(0, 2\) is inf"),
    "one matrix": (fit(x=X[0]), r"X has shape \(4, 4\).*\(l, n, n\)"),
    "not square": (fit(x=X[:, :, :3]), r"X has shape \(30, 4, 3\)"),
    "no samples": (fit(x=X[:0], y=Y[:0]), r"X is empty"),
    "other numbers of samples": (fit(y=Y[:-1]), r"X has 30 samples and Y has 29"),
    "text": (fit(x=X.astype(str)), r"X has entries of type <U.*astype\(float\)"),
    "complex": (fit(x=X + 1j), r"X has entries of type complex128"),
    "objects": (fit(x=X.astype(object)), r"X has entries of type object"),
    "rank 0": (fit(rank=0), r"rank = 0 is out of range; at least 1"),
    "rank above p q": (fit(rank=13), r"rank = 13 is out of range; at least 1 and at most 12"),
    "rank 1.5": (fit(rank=1.5), r"rank = 1.5 is no whole number"),
    "rank in words": (fit(rank="many"), r"rank = 'many' is not known"),
    "no folds to choose with": (fit(folds=0), r"folds = 0 cannot choose a rank"),
    "more folds than samples": (fit(folds=40), r"40 folds need at least 40 samples, X has 30"),
    "unknown solver": (fit(rank=1, solver="sgd"), r"solver = 'sgd' is not known; use auto, adam"),
    "unknown family": (fit(positivity="all"), r"positivity = 'all' is not known"),
    "sizes that do not fit the depth": (fit(rank=1, depth=3, hidden=[2]), r"hidden has 1 sizes for depth = 3"),
    "negative clamp": (fit(rank=1, depth=2, gamma=-1.0), r"gamma = -1.0 is out of range"),
    "learning rate NaN": (fit(rank=1, solver="adam", learning_rate=float("nan")), r"learning_rate = nan is out of range"),
    "n_jobs 0": (fit(n_jobs=0), r"n_jobs = 0 is out of range"),
    "seed in words": (fit(random_state="x"), r"random_state = 'x' is no whole number"),
    "callback that is none": (fit(callback=3), r"callback = 3 cannot be called"),
    "signs for lopsided inputs": (fit(x=changed(X, (0, 0, 1), 9.0), positivity="none"), r"a map with signs cannot fit this"),
    "other size in predict": (lambda: KrausRegressor(rank=1).fit(X, Y).predict(Y), r"X holds 3 x 3 matrices and the model takes 4 x 4"),
    "score with other outputs": (lambda: KrausRegressor(rank=1).fit(X, Y).score(X, X), r"Y has shape \(30, 4, 4\)"),
    "infinite entry to complete": (complete(changed(K, (1, 2), np.inf)), r"M: entry \(1, 2\) is inf"),
    "mirror entries that differ": (complete(changed(K, (0, 1), 5.0)), r"entries \(1, 0\) = .* and \(0, 1\) = 5 differ"),
    "negative diagonal": (complete(changed(K, (2, 2), -1.0)), r"diagonal entry 2 is -1"),
    "blocks that do not make n": (complete(K, blocks=(2, 2)), r"blocks = \(2, 2\) do not make n = 6"),
    "nothing observed": (complete(np.full((3, 3), np.nan)), r"M has NaN everywhere; at least one entry must be observed"),
    "views of other sizes": (complete([K, K[:3, :3]]), r"views of shapes \(6, 6\), \(3, 3\)"),
    "cvkt with one view": (complete(K, method="cvkt"), r"give a list of two or more kernels"),
    "single entries for cvkt": (complete([changed(changed(K, (0, 1), np.nan), (1, 0), np.nan), K], method="cvkt"), r"M\[0\]: entry \(0, 1\) is missing alone"),
    "not positive definite": (adapt(xs=changed(D1, 2, -np.eye(4))), r"matrix 2 is not positive definite"),
    "not symmetric": (adapt(xt=changed(D2, (5, 0, 1), 9.0)), r"Xt: matrix 5 is not symmetric, entry \(0, 1\) is 9"),
    "other channels unnamed": (adapt(xt=D2[:, :3, :3]), r"name the channels that both have by common="),
    "labels of other length": (adapt(ys=L1[:3]), r"ys has shape \(3,\) and Xs has 12 samples"),
    "one matrix is no domain": (adapt(xs=D1[:1]), r"Xs holds one matrix"),
    "filter without classes": (adapt(filter=2), r"filter needs ys"),
    "filter in words": (adapt(ys=L1, filter="all"), r"filter = 'all' is not known; use None, a number, 'auto' or 'none'"),
    "filter of a map from pairs": (adapt(ys=L1, filter=2, rank=3), r"filter does not go with paper=True or a rank"),
    "two weights of the entropy": (adapt(relative=0.1, regularisation=1.0), r"give one"),
    "one class": (lambda: MDM().fit(D1, np.zeros(12)), r"y has one class only"),
    "unknown metric": (lambda: MDM("euclid").fit(D1, L1), r"metric = 'euclid' is not known"),
    "negative histogram": (lambda: kraus.chi2_kernel([[1.0, -2.0], [1.0, 1.0]]), r"row 0, column 1 is -2"),
    "kernels of other features": (lambda: kraus.rbf_kernel(np.eye(3), np.eye(2)), r"Y has 2 columns and X has 3"),
    "weights that do not add up": (lambda: kraus.sinkhorn([0.5, 0.5], [1.0, 1.0], np.eye(2), 0.1), r"total mass of b"),
    "cost with NaN": (lambda: kraus.sinkhorn([], [], [[0.0, np.nan]], 0.1), r"M: entry \(0, 1\) is NaN"),
    "trace of other blocks": (lambda: kraus.partial_trace(np.eye(5), 2), r"partial trace: expected shape"),
    "indefinite Choi matrix": (lambda: kraus.kraus_from_choi(-np.eye(4), 2), r"not completely positive"),
    "p that does not divide": (lambda: kraus.kraus_from_choi(np.eye(4), 3), r"p = 3 does not divide"),
    "signs that are none": (lambda: kraus.choi(np.ones((1, 2, 2)), signs=[2]), r"signs: expected one \+1 or -1"),
}


def test_there_are_thirty_cases_at_least():
    assert len(CASES) >= 30


@pytest.mark.parametrize("case", CASES, ids=str)
def test_wrong_input(case):
    call, message = CASES[case]
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
