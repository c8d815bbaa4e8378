"""PSDCompleter: single entries, whole rows, several views, what is determined."""

import numpy as np
import pytest
from sklearn.base import clone

from kraus import PSDCompleter


def low_rank(n=40, rank=3, seed=0):
    w = np.random.default_rng(seed).standard_normal((n, rank))
    return w @ w.T


def holes(k, share=0.2, seed=1):
    m = k.copy()
    gone = np.triu(np.random.default_rng(seed).random(k.shape) < share, 1)
    m[gone | gone.T] = np.nan
    return m


def test_missing_entries_are_found_and_observed_ones_kept():
    k = low_rank()
    m = holes(k)
    completer = PSDCompleter()
    full = completer.fit_transform(m)
    gone = np.isnan(m)
    assert np.array_equal(full[~gone], k[~gone])
    assert np.linalg.norm((full - k)[gone]) < 1e-2 * np.linalg.norm(k[gone])
    assert completer.scores_[0][1] < 0.05 and completer.spread_ is None
    assert completer.fit(m).transform(m) is completer.completed_


def test_the_paper_model():
    k = low_rank(n=24, rank=2)
    m = holes(k)
    full = PSDCompleter(blocks=(6, 4), rank=2).fit_transform(m)
    gone = np.isnan(m)
    assert np.linalg.norm((full - k)[gone]) < 1e-5 * np.linalg.norm(k[gone])
    chosen = PSDCompleter(rank=2, depth=1).fit(m)
    assert chosen.rank_ == 2 and chosen.completed_.shape == k.shape


def test_what_is_determined():
    k = low_rank(n=20, rank=2)
    m = holes(k, share=0.1)
    m[4, :] = m[:, 4] = np.nan  # nothing is known of sample 4
    m[7, :] = m[:, 7] = np.nan
    m[7, 3] = m[3, 7] = k[3, 7]  # one number of sample 7: too little for two dimensions
    completer = PSDCompleter(blocks=(20, 1), rank=2, depth=1).fit(m)
    known = completer.determined_
    others = [i for i in range(20) if i not in (4, 7)]
    assert known[np.ix_(others, others)].all()
    assert not known[4].any()
    assert known[7, 3] and known[7].sum() == 1
    assert np.array_equal(known, known.T)


def test_spread_over_restarts():
    k = low_rank(n=20, rank=2)
    m = holes(k, share=0.1)
    m[4, :] = m[:, 4] = np.nan
    completer = PSDCompleter(blocks=(20, 1), rank=2, depth=1, n_restarts=3).fit(m)
    spread = completer.spread_
    assert spread[completer.determined_].max() < 1e-3 * spread[4].max()


def test_several_views():
    w = np.random.default_rng(0).standard_normal((30, 3))
    kernels = [w @ np.diag(d) @ w.T for d in ([1, 1, 1], [1, 2, 1], [2, 1, 1])]
    gone = [[3, 9], [12, 20], [25]]
    views = []
    for k, rows in zip(kernels, gone):
        m = k.copy()
        m[rows, :] = m[:, rows] = np.nan
        views.append(m)
    for method in ("kraus", "cvkt"):
        full = PSDCompleter(method=method).fit_transform(views)
        assert len(full) == 3 and not np.isnan(full).any()
        for k, m, f, rows in zip(kernels, views, full, gone):
            assert np.array_equal(f[~np.isnan(m)], k[~np.isnan(m)])
            # Better than nothing: the other views say something about these rows.
            assert np.linalg.norm(f[rows] - k[rows]) < 0.9 * np.linalg.norm(k[rows]), method


def test_scikit_learn():
    completer = clone(PSDCompleter(rank=2, psd=True).set_params(denoise=True))
    assert completer.get_params()["psd"] is True and set(vars(completer)) == set(completer.get_params())
    m = holes(low_rank(n=20))
    one, two = (PSDCompleter(n_jobs=n).fit_transform(m) for n in (1, 3))
    assert np.array_equal(one, two)
    full = PSDCompleter(psd=True).fit(m)
    assert full.psd_ and np.linalg.eigvalsh(full.completed_)[0] > -1e-8


def test_a_callback_can_end_it():
    def stop(step, share):
        raise KeyError("enough")

    with pytest.raises(KeyError):
        PSDCompleter(callback=stop).fit(holes(low_rank()))
