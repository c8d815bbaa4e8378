"""Two sessions of real EEG covariances: TLKraus beside pyRiemann's and POT's ways to transfer, in one table of accuracy and time.

Data: ../shared/data/bci beside the project (BCI Competition IV 2a, two classes), or the folder $KRAUS_BCI. Train on session T, test on session E. The ways
without labels of E see the matrices of E; TLStretch + TLRotate and MDWM need labels of E and get a fifth of them, which is not tested on by any.
"""

import os
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from kraus import KrausRegressor, TLKraus  # noqa: F401  (the table is about TLKraus)

FOLDER = Path(os.environ.get("KRAUS_BCI") or Path(__file__).parents[4] / "shared" / "data" / "bci")
SUBJECTS = [f.name[1:3] for f in sorted(FOLDER.glob("A??T.npz"))] if FOLDER.is_dir() else []


def sessions(subject):
    loaded = [np.load(FOLDER / f"A{subject}{s}.npz") for s in "TE"]
    return [(f["covariances"].astype(float), f["labels"].astype(int)) for f in loaded]


def ways():
    """Name, and a function (training set, encoded labels, target, weights) -> pipeline."""
    from pyriemann.classification import MDM
    from pyriemann.transfer import MDWM, TLCenter, TLClassifier, TLDummy, TLRotate, TLStretch

    weights = {"T": 1.0, "E": 0.0}
    mdm = lambda: TLClassifier(target_domain="E", estimator=MDM(), domain_weight=weights)
    return {
        "no transfer": lambda: make_pipeline(TLDummy(), mdm()),
        "TLCenter": lambda: make_pipeline(TLCenter(target_domain="E"), mdm()),
        "TLCenter + TLStretch + TLRotate": lambda: make_pipeline(
            TLCenter(target_domain="E"), TLStretch(target_domain="E"), TLRotate(target_domain="E"), mdm()
        ),
        "MDWM": lambda: MDWM(domain_tradeoff=0.5, target_domain="E"),
        "TLKraus": lambda: make_pipeline(TLKraus(target_domain="E"), mdm()),
        "TLKraus without labels of T": lambda: make_pipeline(TLKraus(target_domain="E", use_labels=False), mdm()),
    }


def mapping_transport(x, y, x2, test):
    """POT's MappingTransport on tangent vectors at the mean of each session, then MDM in the tangent space."""
    import ot
    from pyriemann.tangentspace import TangentSpace
    from sklearn.linear_model import LogisticRegression

    v, v2 = TangentSpace().fit_transform(x), TangentSpace().fit_transform(x2)
    moved = ot.da.MappingTransport(max_iter=10).fit(Xs=v, Xt=v2).transform(Xs=v)
    return LogisticRegression(max_iter=1000).fit(moved, y).predict(v2[test])


@pytest.mark.skipif(not SUBJECTS, reason="the real covariances are not there (../shared/data/bci beside the project, or $KRAUS_BCI)")
def test_two_sessions(capsys):
    transfer = pytest.importorskip("pyriemann.transfer")
    pytest.importorskip("ot")
    hits, seconds = {}, {}

    def note(name, subject, right, took):
        hits.setdefault(name, {})[subject] = 100 * right
        seconds.setdefault(name, []).append(took)

    for subject in SUBJECTS:
        (x, y), (x2, y2) = sessions(subject)
        fifth = np.arange(len(x2)) < len(x2) // 5
        for name, make in ways().items():
            began = time.perf_counter()
            # The ways without labels of E see all its matrices under one label that no class has.
            labelled = name in ("MDWM", "TLCenter + TLStretch + TLRotate")
            target, labels = (x2[fifth], y2[fifth]) if labelled else (x2, np.zeros(len(x2), dtype=int))
            both = np.concatenate([x, target])
            domains = np.repeat(["T", "E"], [len(x), len(target)])
            _, encoded = transfer.encode_domains(both, np.concatenate([y, labels]), domains)
            model = make()
            if not labelled:
                predicted = unlabelled(model, both, encoded, domains, x2[~fifth])
            else:
                predicted = model.fit(both, encoded).predict(x2[~fifth])
            right = np.mean(np.asarray(predicted).astype(int) == y2[~fifth])
            note(name, subject, right, time.perf_counter() - began)
        began = time.perf_counter()
        predicted = mapping_transport(x, y, x2, ~fifth)
        note("POT MappingTransport, tangent vectors", subject, np.mean(predicted == y2[~fifth]), time.perf_counter() - began)
    with capsys.disabled():
        print("\naccuracy on session E in %, and seconds per subject")
        print(f"{'':40}" + "".join(f"{'S' + s:>8}" for s in SUBJECTS) + f"{'mean':>8}{'s':>8}")
        for name, row in hits.items():
            values = [row[s] for s in SUBJECTS]
            print(f"{name:40}" + "".join(f"{v:8.1f}" for v in values) + f"{np.mean(values):8.1f}{np.mean(seconds[name]):8.2f}")
    mean = {name: np.mean(list(row.values())) for name, row in hits.items()}
    # Two sessions are closer than chance, and the map is no worse than nothing; which way is best the table says.
    assert mean["TLKraus"] > 60 and mean["TLKraus"] > mean["no transfer"] - 5


def unlabelled(model, both, encoded, domains, test):
    """Fits the transformer to both domains and the classifier to the source alone: the target has no labels."""
    moved = model[:-1].fit_transform(both, encoded)
    source = domains == "T"
    model[-1].estimator.fit(moved[source], [e.split("/")[-1] for e in encoded[source]])
    return model[-1].estimator.predict(model[:-1].transform(test))
