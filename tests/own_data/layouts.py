"""The same samples in every layout that numpy writes must give the same map. Run by tests/own_data.rs in a temporary folder."""

import subprocess
import sys

import numpy as np

REPRO = sys.argv[1]


def repro(*words):
    done = subprocess.run([REPRO, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


rng = np.random.default_rng(8)
A = rng.standard_normal((5, 10, 20))
A /= abs(A).max()
G = rng.standard_normal((2200, 20, 20))
X = G @ G.transpose(0, 2, 1)
Y = sum(a @ X @ a.T for a in A)
x, y = X[:2000], Y[:2000]
np.save("new.npy", X[2000:])

layouts = {
    "c": (x, y, 1e-8),
    "fortran": (np.asfortranarray(x), np.asfortranarray(y), 1e-8),
    "big endian": (x.astype(">f8"), y.astype(">f8"), 1e-8),
    "single": (x.astype("f4"), y.astype("f4"), 1e-4),
    "strided": (x[::2], y[::2], 1e-8),
}
for name, (a, b, tolerance) in layouts.items():
    np.save("X.npy", a)
    np.save("Y.npy", b)
    for more in ([], ["--memory", "0.008"]):
        repro("fit", "--x", "X.npy", "--y", "Y.npy", "--rank", "5", "--folds", "0", "-o", "model.npz", *more)
        repro("predict", "--model", "model.npz", "--x", "new.npy", "-o", "P.npy")
        error = np.linalg.norm(np.load("P.npy") - Y[2000:]) / np.linalg.norm(Y[2000:])
        print(f"{name} {' '.join(more)}: relative error {error:.1e}")
        assert error < tolerance, (name, more, error)
