"""Golden numbers of one simulated subject, by pyRiemann: means, distances, tangent vectors, MDM, with and without an average reference.

usage: python3 subject.py T.npz E.npz subject.npz > subject.json     (pip install pyriemann)

T.npz and E.npz hold `covariances` and `labels` of subject 1, written by this project, so that anybody can make them again: with
`trials_per_class: 12` in the profile smoke of pipeline.yaml, `repro run covariances --profile smoke --offline`, and
`repro path 'covariances/*' --profile smoke` says where the arrays are.
Left hand (1) against right hand (2). The matrices are stored in single precision, to be small; the golden numbers are those of the stored ones.
"""

import json
import sys

import numpy
import pyriemann
import scipy
from pyriemann.classification import MDM
from pyriemann.tangentspace import tangent_space
from pyriemann.utils.distance import pairwise_distance
from pyriemann.utils.mean import mean_riemann

arrays = {}
for session, file in zip("TE", sys.argv[1:3]):
    with numpy.load(file) as stored:
        two = stored["labels"] <= 2
        arrays[session] = stored["covariances"][two].astype(numpy.float32)
        arrays[session + "_labels"] = stored["labels"][two]
numpy.savez_compressed(sys.argv[3], **arrays)
labels = {s: arrays[s + "_labels"] for s in "TE"}
raw = {s: arrays[s].astype(numpy.float64) for s in "TE"}
channels = raw["T"].shape[1]
# After an average reference the direction (1, ..., 1) is missing; its complement is the common range, in whatever basis.
centre = numpy.eye(channels) - 1.0 / channels
rest = scipy.linalg.null_space(numpy.ones((1, channels)))


def numbers(t, e):
    mdm = MDM(metric="riemann").fit(t, labels["T"])
    distances = pairwise_distance(t, e, metric="riemann")
    means = [mean_riemann(t[labels["T"] == c], tol=1e-12, maxiter=500) for c in (1, 2)]
    return {
        "distances": distances[:4, :4].ravel().tolist(),
        "distance_sum": distances.sum(),
        "distance_of_means": float(pairwise_distance(means[0][None], means[1][None], metric="riemann")[0, 0]),
        "to_means": mdm.transform(e).ravel().tolist(),
        "probabilities": mdm.predict_proba(e).ravel().tolist(),
        "predicted": mdm.predict(e).tolist(),
        "accuracy": float(mdm.score(e, labels["E"])),
        "accuracy_logeuclid": float(MDM(metric="logeuclid").fit(t, labels["T"]).score(e, labels["E"])),
    }, means


whole, means = numbers(raw["T"], raw["E"])
referenced = {s: rest.T @ centre @ raw[s] @ centre @ rest for s in "TE"}
reduced, _ = numbers(referenced["T"], referenced["E"])
print(json.dumps({
    "made_by": f"pyRiemann {pyriemann.__version__}, numpy {numpy.__version__}",
    "mean": means[0].ravel().tolist(),
    "tangent": tangent_space(raw["E"][:2], means[0], metric="riemann").ravel().tolist(),
    "whole": whole,
    "reduced": reduced,
}))
