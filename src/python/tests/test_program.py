"""The package and the program `repro` give the same bits."""

import json
import subprocess

import numpy as np
import pytest

import kraus
from conftest import pairs, two_days
from kraus import MDM, KrausRegressor, KrausTransport, PSDCompleter, load_model


@pytest.fixture
def repro(program, tmp_path):
    def run(*words):
        done = subprocess.run([program, *words, "--json"], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "params, options",
    [
        ({}, []),
        ({"rank": 2}, ["--rank", "2"]),
        ({"rank": "cv"}, ["--ranks", "1..20"]),
        ({"positivity": "complete", "random_state": 3}, ["--positivity", "complete", "--seed", "3"]),
        ({"positivity": "none"}, ["--positivity", "none"]),
        ({"rank": 2, "folds": 0, "solver": "lbfgs"}, ["--rank", "2", "--folds", "0", "--solver", "lbfgs"]),
        ({"rank": 1, "solver": "adam", "max_iter": 3}, ["--rank", "1", "--solver", "adam", "--epochs", "3"]),
        (
            {"rank": 1, "depth": 2, "hidden": [4], "gamma": 1e-4, "max_iter": 20},
            ["--rank", "1", "--depth", "2", "--hidden", "4", "--gamma", "clamp:1e-4", "--epochs", "20"],
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fit_and_predict(repro, tmp_path, params, options, dtype):
    x, y, _ = (a.astype(dtype) for a in pairs(count=80, noise=0.1))
    # Symmetric up to rounding only: both sides make it exact.
    x[:, 0, 1] *= 1 + 4 * np.finfo(dtype).eps
    np.save(tmp_path / "X.npy", x)
    np.save(tmp_path / "Y.npy", y)
    repro("fit", "--x", "X.npy", "--y", "Y.npy", "-o", "model.npz", *options)
    model = KrausRegressor(**params).fit(x, y)
    assert model.model_.to_bytes() == (tmp_path / "model.npz").read_bytes()
    repro("predict", "--model", "model.npz", "--x", "X.npy", "-o", "Z.npy")
    z = np.load(tmp_path / "Z.npy")
    assert z.dtype == dtype and np.array_equal(z, model.predict(x))
    assert np.array_equal(load_model(tmp_path / "model.npz").predict(x), z)
    model.save(tmp_path / "ours.npz")
    repro("predict", "--model", "ours.npz", "--x", "X.npy", "-o", "Z2.npy")
    assert np.array_equal(np.load(tmp_path / "Z2.npy"), z)


def test_complete(repro, tmp_path):
    w = np.random.default_rng(0).standard_normal((30, 3))
    m = w @ w.T
    gone = np.triu(np.random.default_rng(1).random(m.shape) < 0.2, 1)
    m[gone | gone.T] = np.nan
    np.save(tmp_path / "M.npy", m)
    repro("complete", "--matrix", "M.npy", "-o", "K.npy")
    assert np.array_equal(np.load(tmp_path / "K.npy"), PSDCompleter().fit_transform(m))
    repro("complete", "--matrix", "M.npy", "--p", "6", "--q", "5", "--rank", "3", "-o", "B.npy")
    assert np.array_equal(np.load(tmp_path / "B.npy"), PSDCompleter(blocks=(6, 5), rank=3).fit_transform(m))


def test_adapt_and_mdm(repro, tmp_path):
    (x, y), (x2, y2) = two_days(trials=40)
    for name, a in [("a", x), ("b", x2), ("y", y), ("y2", y2)]:
        np.save(tmp_path / f"{name}.npy", a)
    labels = ["--labels", "y.npy"]
    for params, options, ys in [
        ({}, [], None),
        ({}, labels, y),
        ({"filter": "auto"}, [*labels, "--filter", "auto"], y),
        ({"filter": 1}, [*labels, "--filter", "1"], y),
        ({"filter": "none"}, [*labels, "--filter", "none"], y),
        ({"rank": 2, "random_state": 4}, [*labels, "--rank", "2", "--seed", "4"], y),
        ({"rank": "auto"}, ["--rank", "auto"], None),
        ({"paper": True, "rank": 3, "epochs": 4}, ["--paper", "--rank", "3", "--epochs", "4"], None),
    ]:
        told = repro("adapt", "--source", "a.npy", "--target", "b.npy", "-o", "out.npz", "--model", "map.npz", *options)
        ours = KrausTransport(**params).fit(x, x2, ys)
        kept = told["learned_map"].get("kept", "no filter")
        assert kept == (ours.filter_["kept"] if ours.filter_ else "no filter"), params
        assert np.array_equal(np.load(tmp_path / "map.npz")["layer0"], ours.operators_), params
        out = np.load(tmp_path / "out.npz")
        assert np.array_equal(out["mapped"], ours.transform(x))
        assert np.array_equal(out["plan"], ours.plan_) and np.array_equal(out["transported"], ours.transported_)
    # Other channels: what fills those of the target alone is part of the map.
    np.save(tmp_path / "small.npy", x[:, :3, :3])
    repro("adapt", "--source", "small.npy", "--target", "b.npy", "--common", "0:0,1:1,2:2", "-o", "out.npz")
    ours = KrausTransport(common=[(0, 0), (1, 1), (2, 2)]).fit(x[:, :3, :3], x2)
    assert np.array_equal(np.load(tmp_path / "out.npz")["mapped"], ours.transform(x[:, :3, :3]))
    repro("mdm", "--train", "a.npy", "--labels", "y.npy", "--test", "b.npy", "-o", "p.npy", "--proba", "q.npy")
    mdm = MDM().fit(x, y)
    assert np.array_equal(np.load(tmp_path / "p.npy"), mdm.predict(x2))
    # numpy's exponential may round otherwise than the program's.
    assert np.allclose(np.load(tmp_path / "q.npy"), mdm.predict_proba(x2), rtol=1e-14)


def test_kernels(repro, tmp_path):
    f = np.abs(np.random.default_rng(0).standard_normal((12, 5)))
    np.save(tmp_path / "F.npy", f)
    for kind, ours in [("rbf", kraus.rbf_kernel), ("chi2", kraus.chi2_kernel)]:
        for option, width in [([], "mean"), (["--bandwidth", "median"], "median"), (["--bandwidth", "0.5"], 0.5), (["--preset", "published"], "published")]:
            repro("kernel", kind, "--features", "F.npy", *option, "-o", "K.npy")
            assert np.array_equal(np.load(tmp_path / "K.npy"), ours(f, width=width)), (kind, width)
