"""Golden numbers of cross-view kernel transfer, by another way than ours: the optimum in closed form.

usage: python3 cvkt.py > cvkt.json     (pip install numpy scipy)

With U of full width the centred alignment of Phi U U^T Phi^T with K depends on S = U U^T alone. The best direction is the projection of the
centred kernel on the convex cone {Phi S Phi^T, S >= 0}. With Phi = Q R, R invertible, it is Q (Q^T K Q)_+ Q^T, the negative eigenvalues cut.
Our program climbs by conjugate gradients instead. Views have low rank, so that Phi has full column rank and S is unique.
"""

import json

import numpy
import scipy
from scipy import linalg


def features(columns, a, b, c, d, wave):
    i, j = numpy.mgrid[0:18, 0:columns]
    return wave(a + b * i + c * j + d * i * j)


def nystrom(kernel, seen):
    """All seen samples are landmarks; rows of other samples are zero."""
    values, vectors = linalg.eigh(kernel[numpy.ix_(seen, seen)])
    kept = values > 1e-10 * values.max()
    features = numpy.zeros((len(kernel), kept.sum()))
    features[seen] = kernel[numpy.ix_(seen, seen)] @ vectors[:, kept] / numpy.sqrt(values[kept])
    return features


def complete(kernels, observed):
    """The last view from the others."""
    psi = numpy.hstack([nystrom(k, numpy.flatnonzero(o)) for k, o in zip(kernels[:-1], observed[:-1])])
    seen = numpy.flatnonzero(observed[-1])
    target = kernels[-1][numpy.ix_(seen, seen)]
    centre = numpy.eye(len(seen)) - 1.0 / len(seen)
    q, r = linalg.qr(centre @ psi[seen], mode="economic")
    values, vectors = linalg.eigh(q.T @ centre @ target @ centre @ q)
    best = vectors @ numpy.diag(numpy.maximum(values, 0.0)) @ vectors.T
    m = q @ best @ q.T
    alignment = (m * (centre @ target @ centre)).sum() / linalg.norm(m) / linalg.norm(centre @ target @ centre)
    s = linalg.solve(r, linalg.solve(r, best).T)
    predicted = psi @ s @ psi.T
    slope = (target.max() - target.min()) / (predicted.max() - predicted.min())
    predicted = target.min() + slope * (predicted - predicted.min())
    predicted += target.mean() - predicted[numpy.ix_(seen, seen)].mean()
    return {"alignment": alignment, "cut": int((values < 0).sum()), "predicted": predicted.ravel().tolist()}


samples = numpy.arange(18)
one, two = features(3, 1.0, 3.0, 7.0, 0.7, numpy.sin), features(2, 2.0, 5.0, 3.0, 0.9, numpy.cos)
# The third view mixes features of the others with some of its own.
three = numpy.stack([
    one[:, 0] + 0.5 * two[:, 1] + 0.3 * numpy.sin(11.0 + 2.0 * samples),
    one[:, 1] - one[:, 2] + 0.4 * numpy.cos(1.3 * samples * samples),
    two[:, 0] + 0.2 * numpy.sin(1.0 * samples * samples),
], axis=1)
kernels = [f @ f.T for f in (one, two, three)]
whole = samples >= 0
print(json.dumps({
    "made_by": f"numpy {numpy.__version__}, scipy {scipy.__version__}",
    "cases": [complete(kernels, [whole, whole, samples % 3 != 1]), complete(kernels, [whole, samples % 5 != 2, samples % 3 != 1])],
}))
