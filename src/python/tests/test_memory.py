"""No copy of C-ordered float64, and little time in the binding: measured in a process of its own."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

resource = pytest.importorskip("resource")

HEAD = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
import resource, time
import numpy as np
import kraus
from kraus import KrausRegressor
from conftest import pairs
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
"""


def run(text):
    done = subprocess.run([sys.executable, "-c", HEAD + textwrap.dedent(text)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    return dict(line.split() for line in done.stdout.splitlines())


def test_predictions_copy_no_input():
    # X takes 320 MiB, Y 80 MiB. Beside Y a prediction may take what a few samples need.
    found = run("""
        a = np.random.default_rng(0).standard_normal((2, 10, 20))
        x, y, _ = pairs(count=200, p=20, q=10)
        model = KrausRegressor(rank=2, folds=0, solver="closed-form", n_jobs=2).fit(x, y)
        many = np.zeros((104858, 20, 20)); many[:] = x[0]
        model.predict(many[:1000])
        before = peak()
        out = model.predict(many)
        print("grown", peak() - before)
        print("output", out.nbytes / 2**20)
        print("input", many.nbytes / 2**20)
        """)
    assert float(found["input"]) > 300
    assert float(found["grown"]) < float(found["output"]) + 40, found


def test_a_fit_copies_no_input():
    # X and Y take 256 and 64 MiB; a fit keeps moments of 210 + 55 coordinates, far below a MiB each, per fold.
    found = run("""
        x, y, _ = pairs(count=2000, p=20, q=10, rank=2)
        X, Y = np.tile(x, (42, 1, 1)), np.tile(y, (42, 1, 1))
        KrausRegressor(rank=2, folds=0, solver="closed-form", n_jobs=2).fit(x, y)
        before = peak()
        KrausRegressor(rank=2, folds=0, solver="closed-form", n_jobs=2).fit(X, Y)
        print("grown", peak() - before)
        print("input", (X.nbytes + Y.nbytes) / 2**20)
        """)
    assert float(found["input"]) > 300
    # The error on the samples is computed at the end, which needs predictions; the inputs are not copied.
    assert float(found["grown"]) < 0.5 * float(found["input"]), found


def test_the_binding_costs_less_than_a_twentieth_of_a_fit():
    # Ten thousand samples 20 x 20: what Python adds is the time of the call less the time that Rust reports at its first and last step.
    found = run("""
        x, y, _ = pairs(count=10_000, p=20, q=10, rank=5, noise=0.1)
        from kraus import _check, _kraus
        model = KrausRegressor(rank=5)
        best = []
        for _ in range(3):
            t = time.perf_counter(); model.fit(x, y); whole = time.perf_counter() - t
            settings = model._settings(10_000, 20, 10)
            t = time.perf_counter(); _kraus.fit(x, y, single=(False, False), **settings); inner = time.perf_counter() - t
            t = time.perf_counter(); model._learned(model.model_); after = time.perf_counter() - t
            t = time.perf_counter(); _check.matrices("X", x); _check.matrices("Y", y); model._settings(10_000, 20, 10); before = time.perf_counter() - t
            best.append((before + after, whole))
        extra, whole = min(b[0] for b in best), min(b[1] for b in best)
        print("extra", extra)
        print("whole", whole)
        """)
    assert float(found["extra"]) < 0.05 * float(found["whole"]), found
