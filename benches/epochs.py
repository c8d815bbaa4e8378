"""An epoch of training in JAX or PyTorch, as JSON lines on stdout.

usage: epochs.py THREADS jax|torch S1,S2,...
JAX compiles an epoch whole (a scan over shuffled batches), once with its own derivatives and, where the problem is symmetric and has one map, once with the three
products that a gradient by hand needs. PyTorch runs step by step with its fused Adam. Both take two flat products for a map, the fastest form of several tried."""
import sys

import scenarios

threads, library, names = int(sys.argv[1]), sys.argv[2], sys.argv[3].split(',')
scenarios.limit_threads(threads)
RATE, FIRST, SECOND, TINY = 1e-3, 0.9, 0.999, 1e-7


def by_jax(name, shape):
    import jax
    import jax.numpy as jnp

    x, y, mask, starts = scenarios.make(shape)
    data = tuple(jnp.asarray(a) for a in (x, y, mask) if a is not None)

    def through(w, x):
        """Rows (sample, a) of all A_k X side by side, (k, i), and the outputs."""
        (r, q, p), b = w.shape, len(x)
        t = (x.reshape(b * p, p) @ w.reshape(r * q, p).T).reshape(b, p, r, q).transpose(0, 3, 2, 1).reshape(b * q, r * p)
        return t, (t @ w.transpose(0, 2, 1).reshape(r * p, q)).reshape(b, q, q)

    def clamp(m):
        if shape.clamp == 'eigenvalues':
            w, v = jnp.linalg.eigh(m)
            return (v * jnp.maximum(w, scenarios.LEAST)[..., None, :]) @ v.swapaxes(-1, -2)
        u, s, v = jnp.linalg.svd(m, full_matrices=False)
        return (u * jnp.maximum(s, scenarios.LEAST)[..., None, :]) @ v

    def loss(weights, batch):
        out = batch[0]
        for i, w in enumerate(weights):
            out = through(w, clamp(out) if i and shape.clamp else out)[1].swapaxes(1, 2)
        d = out - batch[1]
        return jnp.mean((d * batch[2] if shape.masked else d) ** 2)

    def by_hand(weights, batch):
        (w,), (x, y) = weights, batch
        r, q, p = w.shape
        t, out = through(w, x)
        d = out - y
        return jnp.mean(d * d), [(4 / d.size) * (d.reshape(-1, q).T @ t).reshape(q, r, p).transpose(1, 0, 2)]

    ways = {'JAX, autodiff': jax.value_and_grad(loss)}
    if len(starts) == 1 and not shape.masked:
        ways['JAX, hand gradient'] = by_hand
    for who, gradient in ways.items():
        def step(state, batch):
            weights, m, v, t = state
            value, g = gradient(weights, batch)
            t = t + 1
            rate = RATE * jnp.sqrt(1 - SECOND**t) / (1 - FIRST**t)
            m = jax.tree.map(lambda m, g: FIRST * m + (1 - FIRST) * g, m, g)
            v = jax.tree.map(lambda v, g: SECOND * v + (1 - SECOND) * g * g, v, g)
            weights = jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(v) + TINY), weights, m, v)
            return (weights, m, v, t), value

        whole = len(x) // shape.batch * shape.batch

        @jax.jit
        def train(state, key, data):
            # One shuffled copy an epoch: gathering inside the scan takes twice as long.
            order = jax.random.permutation(key, len(x))
            mixed = [a[order] for a in data]
            state, values = jax.lax.scan(step, state, tuple(a[:whole].reshape(-1, shape.batch, *a.shape[1:]) for a in mixed))
            if whole < len(x):
                state, _ = step(state, tuple(a[whole:] for a in mixed))
            return state, values.mean()
        weights = [jnp.asarray(w) for w in starts]
        zeros = [jnp.zeros_like(w) for w in weights]
        now = [(weights, zeros, zeros, jnp.float32(0)), jax.random.key(0)]

        def epoch():
            now[1], key = jax.random.split(now[1])
            now[0], value = train(now[0], key, data)
            return float(value)
        time, wall = scenarios.time_epochs(epoch, threads)
        scenarios.row('epoch', name, who, threads, time, wall=wall)


def by_torch(name, shape):
    import torch

    torch.set_num_threads(threads)
    x, y, mask, starts = (scenarios.make(shape))
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    mask = None if mask is None else torch.from_numpy(mask)
    weights = [torch.nn.Parameter(torch.from_numpy(w)) for w in starts]
    adam = torch.optim.Adam(weights, lr=RATE, eps=TINY, fused=True)

    def through(w, x):
        (r, q, p), b = w.shape, len(x)
        t = (x.reshape(b * p, p) @ w.reshape(r * q, p).t()).view(b, p, r, q).permute(0, 3, 2, 1).reshape(b * q, r * p)
        return (t @ w.transpose(1, 2).reshape(r * p, q)).view(b, q, q).transpose(1, 2)

    def clamp(m):
        if shape.clamp == 'eigenvalues':
            w, v = torch.linalg.eigh(m)
            return (v * w.clamp(min=scenarios.LEAST).unsqueeze(-2)) @ v.mT
        u, s, v = torch.linalg.svd(m, full_matrices=False)
        return (u * s.clamp(min=scenarios.LEAST).unsqueeze(-2)) @ v

    def epoch():
        for rows in torch.randperm(len(x)).split(shape.batch):
            out = x[rows]
            for i, w in enumerate(weights):
                out = through(w, clamp(out) if i and shape.clamp else out)
            d = out - y[rows]
            adam.zero_grad()
            (d * mask[rows] if shape.masked else d).square().mean().backward()
            adam.step()
    time, wall = scenarios.time_epochs(epoch, threads)
    scenarios.row('epoch', name, 'PyTorch', threads, time, wall=wall)


for name in names:
    dict(jax=by_jax, torch=by_torch)[library](name, scenarios.SHAPES[name])
