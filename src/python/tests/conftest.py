"""Data that several tests use."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest


def spd(count, n, seed=0):
    """Random SPD matrices, symmetric to the bit."""
    g = np.random.default_rng(seed).standard_normal((count, n, 2 * n))
    x = g @ g.transpose(0, 2, 1) / (2 * n)
    return (x + x.transpose(0, 2, 1)) / 2


def pairs(count=200, p=5, q=3, rank=2, noise=0.0, seed=0):
    """X, Y = sum_k A_k X A_k^T + noise, and the A_k."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((rank, q, p))
    x = spd(count, p, seed + 1)
    y = sum(k @ x @ k.T for k in a)
    e = rng.standard_normal(y.shape)
    y = y + noise * (e + e.transpose(0, 2, 1))
    return x, (y + y.transpose(0, 2, 1)) / 2, a


def two_days(trials=60, n=4, seed=0):
    """SPD matrices of two classes on two days with other mixing: (X1, y1), (X2, y2)."""
    rng = np.random.default_rng(seed)
    days = []
    for mixing in (np.eye(n), rng.standard_normal((n, n)) / 2 + np.eye(n)):
        labels = np.arange(trials) % 2
        signals = rng.standard_normal((trials, n, 200))
        signals[labels == 0, 0] *= 3
        signals[labels == 1, 1] *= 3
        signals = np.einsum("ij,kjt->kit", mixing, signals)
        x = signals @ signals.transpose(0, 2, 1) / 200
        days.append(((x + x.transpose(0, 2, 1)) / 2, labels))
    return days


@pytest.fixture
def program():
    """The program `repro` of this project: $REPRO, or the release build beside us."""
    built = Path(__file__).parents[3] / "target" / "release" / "repro"
    path = os.environ.get("REPRO") or (str(built) if built.exists() else shutil.which("repro"))
    if not path:
        pytest.skip("the program `repro` is not built (cargo build --release), so its results cannot be compared")
    return path
