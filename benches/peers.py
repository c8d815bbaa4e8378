"""What a user would run instead, on the same inputs as our benches, as JSON lines on stdout.

usage: peers.py FOLDER THREADS part...   parts: gemm spd svm converge converge-large
FOLDER holds x.bin, y.bin (288 x 22 x 22) and kernel.bin (288 x 288), which our benches wrote.
Times are the least CPU time of the process at one thread, the least wall time at more."""
import os, sys, time, warnings

import scenarios

folder, threads, parts = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
scenarios.limit_threads(threads)
import numpy as np

warnings.filterwarnings('ignore')
clock = time.process_time if threads == 1 else time.perf_counter


def row(group, case, who, milliseconds, **more):
    scenarios.row(group, case, who, threads, milliseconds, **more)


def least(f, runs):
    f()
    times = []
    for _ in range(runs):
        begun = clock()
        f()
        times.append(1e3 * (clock() - begun))
    return min(times)


def gemm():
    """The machine's own limit: one large product of single precision, milliseconds for 16 GFLOP."""
    import torch
    torch.set_num_threads(threads)
    a, b, c = torch.rand(2000, 2000), torch.rand(2000, 2000), torch.empty(2000, 2000)
    ms = least(lambda: torch.mm(a, b, out=c), 12)
    row('limit', 'GEMM 2000 x 2000 x 2000, f32', 'PyTorch', ms, gflops=16e3 / ms)


def spd():
    from pyriemann.classification import MDM
    from pyriemann.utils.distance import pairwise_distance
    from pyriemann.utils.mean import mean_riemann
    import ot
    x, y = (np.fromfile(f'{folder}/{n}.bin').reshape(288, 22, 22) for n in 'xy')
    row('spd', 'pairwise 288 x 288 of 22 x 22', 'pyRiemann', least(lambda: pairwise_distance(x, y, metric='riemann'), 3))
    picks = [[(i * 7 + k * 13) % 288 for k in range(20)] for i in range(288)]
    weights = np.arange(1.0, 21.0)
    means = lambda: [mean_riemann(x[p], sample_weight=weights, tol=1e-8, maxiter=50) for p in picks]
    row('spd', '288 weighted means of 20', 'pyRiemann', least(means, 2))
    labels = np.arange(288) % 4
    row('spd', 'mdm fit and predict, 4 classes', 'pyRiemann', least(lambda: MDM(metric='riemann').fit(x, labels).predict(y), 3))
    cost = pairwise_distance(x, y, metric='riemann') ** 2
    uniform, reg = np.full(288, 1 / 288), 2 * (0.05 * np.median(cost)) ** 2
    plan = lambda: ot.sinkhorn(uniform, uniform, cost, reg, numItermax=1000, stopThr=0, warn=False)
    row('spd', 'sinkhorn 288 x 288, 1000 iterations', 'POT', least(plan, 4))


def svm():
    from sklearn.svm import SVC
    kernel, labels = np.fromfile(f'{folder}/kernel.bin').reshape(288, 288), np.arange(288) % 4

    def fit():
        for c in range(4):
            SVC(C=1.0, kernel='precomputed', tol=1e-3).fit(kernel, labels == c)
    row('svm', 'SVM on a kernel of 288, 4 classes', 'scikit-learn', least(fit, 7))


def converge(case, p, q, r, budget):
    """JAX, Adam, hand gradient: CPU time until the test MSE is below 1e-6, or the budget in seconds is spent."""
    import jax, jax.numpy as jnp
    from jax import lax
    rng, l, batch = np.random.default_rng(1000), 10000, 16
    truth = scenarios.true_map(rng, r, q, p)
    single = lambda a: jnp.asarray(a, jnp.float32)
    blocks = [scenarios.covariances(rng, 1000, p) for _ in range(l // 1000 + 1)]
    x = single(np.concatenate([b.astype(np.float32) for b in blocks]))
    y = single(np.concatenate([scenarios.outputs(truth, b).astype(np.float32) for b in blocks]))
    del blocks

    def gradient(w, x, y):
        b = x.shape[0]
        t = (x.reshape(b * p, p) @ w.reshape(r * q, p).T).reshape(b, p, r, q).transpose(0, 3, 2, 1).reshape(b * q, r * p)
        d = (t @ w.transpose(0, 2, 1).reshape(r * p, q)).reshape(b, q, q) - y
        return jnp.mean(d * d), (4.0 / d.size) * (d.reshape(b * q, q).T @ t).reshape(q, r, p).transpose(1, 0, 2)

    def step(c, batch_of):
        w, m, v, t = c
        loss, g = gradient(w, *batch_of)
        t = t + 1
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        rate = 1e-3 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        return (w - rate * m / (jnp.sqrt(v) + 1e-7), m, v, t), loss

    @jax.jit
    def epoch(c, key):
        # One shuffled copy an epoch: gathering inside the scan takes twice as long.
        order = jax.random.permutation(key, l)
        parts = tuple(a[order].reshape(l // batch, batch, *a.shape[1:]) for a in (x, y))
        return lax.scan(step, c, parts)[0]
    test = jax.jit(lambda w: gradient(w, x[l:], y[l:])[0])
    w, key = single(scenarios.glorot(rng, r, q, p)), jax.random.key(0)
    c = (w, jnp.zeros_like(w), jnp.zeros_like(w), jnp.float32(0))
    epoch(c, key)[0].block_until_ready(), float(test(w))  # compiled before the clock starts
    spent, epochs, mse, best = 0.0, 0, np.inf, np.inf
    while mse >= 1e-6 and spent < budget:
        key, k = jax.random.split(key)
        begun = clock()
        c = epoch(c, k)
        c[0].block_until_ready()
        spent, epochs = spent + clock() - begun, epochs + 1
        mse = float(test(c[0]))
        best = min(best, mse)
    row('to test MSE 1e-6', case, 'JAX Adam', 1e3 * spent, reached=mse < 1e-6, epochs=epochs, mse=best)


for part in parts:
    if part == 'converge':
        converge('S1', 20, 10, 5, 120)
    elif part == 'converge-large':
        converge('S3, l = 10000', 100, 40, 20, float(os.environ.get('LARGE_BUDGET', '150')))
    else:
        dict(gemm=gemm, spd=spd, svm=svm)[part]()
