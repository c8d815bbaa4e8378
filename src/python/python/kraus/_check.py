"""Checks of arguments, with messages that name the sample and the entry.

Arrays reach Rust as float64 in C order. What has that form already is not copied; everything else is, once: float32 and integers, Fortran
order, views with other strides.
"""

import numbers
import os

import numpy as np


def numbers_only(what, x):
    """An array of real numbers, of any type and order."""
    x = np.asarray(x)
    if x.dtype.kind not in "fiub":
        raise ValueError(f"{what} has entries of type {x.dtype}; real numbers are needed, convert it with .astype(float)")
    return x


def matrices(what, x):
    """Square matrices (l, n, n) as float64 in C order, and whether they came in single precision."""
    x = numbers_only(what, x)
    if x.ndim != 3 or x.shape[1] != x.shape[2]:
        raise ValueError(f"{what} has shape {x.shape}; square matrices, samples first, are needed: (l, n, n)")
    if 0 in x.shape:
        raise ValueError(f"{what} is empty, shape {x.shape}; at least one matrix with at least one row is needed")
    return np.ascontiguousarray(x, dtype=np.float64), x.dtype.itemsize < 8 and x.dtype.kind == "f"


def matrix(what, x):
    """One square matrix as float64 in C order, and whether it came in single precision."""
    x = numbers_only(what, x)
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise ValueError(f"{what} has shape {x.shape}; one square matrix is needed: (n, n)")
    if x.shape[0] == 0:
        raise ValueError(f"{what} is empty; a matrix with at least one row is needed")
    return np.ascontiguousarray(x, dtype=np.float64), x.dtype.itemsize < 8 and x.dtype.kind == "f"


def features(what, x):
    """A feature matrix (l, d) as float64 in C order."""
    x = numbers_only(what, x)
    if x.ndim != 2 or 0 in x.shape:
        raise ValueError(f"{what} has shape {x.shape}; features are one row per sample: (l, d), both at least 1")
    return np.ascontiguousarray(x, dtype=np.float64)


def one_each(what, values, of, count):
    """Refuses lists that do not have one entry per sample."""
    values = np.asarray(values)
    if values.ndim != 1 or len(values) != count:
        raise ValueError(f"{what} has shape {values.shape} and {of} has {count} samples; give one for each")
    return values


def whole(name, value, least, most=None):
    """A whole number in a range."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ValueError(f"{name} = {value!r} is no whole number")
    if value < least or (most is not None and value > most):
        upto = "" if most is None else f" and at most {most}"
        raise ValueError(f"{name} = {value} is out of range; at least {least}{upto} is needed")
    return int(value)


def positive(name, value, zero=False):
    """A finite number above zero, or from zero on."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError(f"{name} = {value!r} is no number")
    value = float(value)
    if not np.isfinite(value) or value < 0 or (value == 0 and not zero):
        raise ValueError(f"{name} = {value} is out of range; a finite number {'>= 0' if zero else '> 0'} is needed")
    return value


def clamp(gamma):
    """None, or the least eigenvalue between layers."""
    return None if gamma is None else positive("gamma", gamma, zero=True)


def seed(random_state):
    """A seed from None (0: the same result every time), a whole number or a numpy generator."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**31 - 1))
    return whole("random_state", random_state, 0, 2**64 - 1)


def threads(n_jobs):
    """Number of threads: None or -1 for all that this process may use, else n_jobs.

    joblib tells its workers by OMP_NUM_THREADS how many threads each may start; None keeps to it.
    """
    try:
        available = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        available = os.cpu_count() or 1
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "")
        return min(available, int(limit)) if limit.isdigit() and int(limit) > 0 else available
    if n_jobs == -1:
        return available
    return whole("n_jobs", n_jobs, 1, 4096)


def memory():
    """A quarter of the machine's memory in bytes: what moments may take."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    except (AttributeError, ValueError, OSError):
        return 2**31


def reporter(verbose, callback):
    """The callable that Rust calls with a step and the share of it done, or None."""
    if callback is not None and not callable(callback):
        raise ValueError(f"callback = {callback!r} cannot be called; give a function of (step, share)")
    if not verbose:
        return callback

    def report(step, share):
        print(f"[kraus] {step}: {100 * share:.0f} %", flush=True)
        if callback is not None:
            callback(step, share)

    return report
