"""Golden numbers of Adam: a Kraus map, and a stack of two without Gamma, trained by Keras' own optimiser in float64.

usage: KERAS_BACKEND=jax JAX_ENABLE_X64=1 python3 adam_keras.py > adam_keras.json     (pip install keras jax)

The loss is Keras' mse, the gradient is JAX's, every step sees all samples, so the order of the samples does not matter.
"""

import json

import jax
import jax.numpy as jnp
import keras
import numpy as np

keras.config.set_floatx("float64")


def layer(ops, x):
    return jnp.einsum("kai,sij,kcj->sac", ops, x, ops)


def loss(layers, x, y):
    for ops in layers:
        x = layer(ops, x)
    return jnp.mean((x - y) ** 2)


def train(dims, ranks, samples, steps, rate):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(samples, dims[0], dims[0]))
    y = rng.normal(size=(samples, dims[-1], dims[-1]))
    start = [0.5 * rng.normal(size=(r, q, p)) for r, q, p in zip(ranks, dims[1:], dims)]
    weights = [keras.Variable(ops, dtype="float64") for ops in start]
    adam = keras.optimizers.Adam(learning_rate=rate)
    adam.build(weights)
    value = jax.value_and_grad(loss)
    losses = []
    for _ in range(steps):
        now, gradient = value([w.value for w in weights], x, y)
        losses.append(float(now))
        adam.apply(gradient, weights)
    flat = lambda arrays: [float(v) for a in arrays for v in np.asarray(a).ravel()]
    return {
        "dims": dims, "ranks": ranks, "samples": samples, "rate": rate,
        "x": flat([x]), "y": flat([y]), "start": flat(start), "losses": losses, "end": flat([w.value for w in weights]),
    }


print(json.dumps({
    "made_by": f"keras {keras.__version__}, jax {jax.__version__}",
    "cases": [train([3, 2], [2], 6, 25, 0.001), train([3, 4, 2], [2, 3], 5, 25, 0.01)],
}))
