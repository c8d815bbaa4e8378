"""The training problems S1 to S6c: their shapes, their data and how an epoch of them is timed. Our own bench `epoch` has the same shapes.

Data as the paper's released generator makes them: X = G^T G, Y = sum_k A_k X A_k^T with A normal, divided by its largest entry. Completion trains on
matrix units with half of the entries hidden. Starts are Glorot's for a weight of shape (rank, q, p)."""
import json, os, time
from typing import NamedTuple, Optional

import numpy as np


class Shape(NamedTuple):
    p: int
    q: int
    rank: int
    samples: int
    batch: int = 16
    middle: Optional[int] = None  # rows between two maps
    clamp: Optional[str] = None  # what the layer between them clamps: eigenvalues or singular values
    masked: bool = False


SHAPES = dict(
    S1=Shape(20, 10, 5, 10000),
    S2=Shape(20, 10, 20, 10000),
    S3=Shape(100, 40, 20, 1000),
    S4=Shape(22, 22, 20, 230),
    S5=Shape(20, 10, 20, 1000, middle=15, clamp='eigenvalues'),
    S6a=Shape(20, 10, 50, 400, batch=4, masked=True),
    S6b=Shape(20, 10, 50, 400, batch=4, middle=15, masked=True),
    S6c=Shape(20, 10, 50, 400, batch=4, middle=15, clamp='singular values', masked=True),
)
LEAST = 0.1  # what singular values and eigenvalues are raised to


def true_map(rng, rank, q, p):
    a = rng.standard_normal((rank, q, p))
    return a / np.abs(a).max()


def covariances(rng, count, p):
    g = rng.standard_normal((count, p, p))
    return g.transpose(0, 2, 1) @ g


def outputs(a, x):
    return sum(k @ x @ k.T for k in a)


def glorot(rng, rank, q, p):
    limit = np.sqrt(6 / (rank * (q + p)))
    return rng.uniform(-limit, limit, (rank, q, p))


def make(s, seed=0):
    """Inputs, outputs, mask (or None) and the starts of the maps, in single precision."""
    rng = np.random.default_rng(seed)
    if s.masked:
        x = np.eye(s.p * s.p).reshape(-1, s.p, s.p)
        y = outputs(true_map(rng, 5, s.q, s.p), x)
        mask = rng.random(y.shape) < 0.5
        y = (y - 2 * y.min()) * mask
    else:
        x, mask = covariances(rng, s.samples, s.p), None
        y = outputs(true_map(rng, min(s.rank, 20), s.q, s.p), x)
    sides = [s.p, s.q] if s.middle is None else [s.p, s.middle, s.q]
    starts = [glorot(rng, s.rank, to, of) for of, to in zip(sides, sides[1:])]
    single = lambda a: None if a is None else np.ascontiguousarray(a, np.float32)
    return single(x), single(y), single(mask), [single(w) for w in starts]


def time_epochs(epoch, threads):
    """Milliseconds of the fastest epoch: CPU time of the process at one thread, which is what an idle machine would take, else wall time; and its wall time."""
    budget = float(os.environ.get('BUDGET', '3'))
    epoch(), epoch()
    times, begun = [], time.perf_counter()
    while len(times) < 5 or (len(times) < 40 and time.perf_counter() - begun < budget):
        wall, cpu = time.perf_counter(), time.process_time()
        epoch()
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    wall = 1e3 * min(t[0] for t in times)
    return (1e3 * min(t[1] for t in times) if threads == 1 else wall), wall


def row(group, case, who, threads, milliseconds, **more):
    """One line of results on stdout, as benches/collect.py reads them."""
    print(json.dumps(dict(group=group, case=case, who=who, threads=threads, milliseconds=milliseconds, **more)), flush=True)


def limit_threads(threads):
    """Before numpy's libraries, JAX or PyTorch are imported."""
    for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'):
        os.environ[name] = str(threads)
    if threads == 1:
        os.environ['XLA_FLAGS'] = '--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1'
        if hasattr(os, 'sched_setaffinity'):
            # XLA starts threads whatever it is told; on one core they cannot help.
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.environ['JAX_PLATFORMS'] = 'cpu'
