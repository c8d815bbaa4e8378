"""Two sessions of real EEG covariances: TLKraus beside pyRiemann's and POT's ways to transfer, in one table of accuracy and time.

Data: ../shared/data/bci beside the project (BCI Competition IV 2a, two classes), or the folder $KRAUS_BCI. Train on session T, test on the last four
fifths of session E. What each way sees of E is part of its name's row: its matrices alone, or the labels of the first fifth besides.
"""

import os
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from kraus import TLKraus

FOLDER = Path(os.environ.get("KRAUS_BCI") or Path(__file__).parents[4] / "shared" / "data" / "bci")
SUBJECTS = [f.name[1:3] for f in sorted(FOLDER.glob("A??T.npz"))] if FOLDER.is_dir() else []
NEEDED = pytest.mark.skipif(not SUBJECTS, reason="the real covariances are not there (../shared/data/bci beside the project, or $KRAUS_BCI)")
#: Label of matrices of E whose class nobody knows.
UNKNOWN = 0


def sessions(subject):
    loaded = [np.load(FOLDER / f"A{subject}{s}.npz") for s in "TE"]
    return [(f["covariances"].astype(float), f["labels"].astype(int)) for f in loaded]


def ways():
    """Name: (whether it needs labels of E, a function that makes its pipeline). The classifier is trained on T alone, except in MDWM."""
    from pyriemann.classification import MDM
    from pyriemann import transfer
    from pyriemann.transfer import MDWM, TLCenter, TLClassifier, TLDummy, TLRotate

    # pyRiemann renamed TLStretch.
    TLScale = getattr(transfer, "TLScale", None) or transfer.TLStretch

    def pipeline(*steps):
        mdm = TLClassifier(target_domain="E", estimator=MDM(), domain_weight={"T": 1.0, "E": 0.0})
        return lambda: make_pipeline(*steps, mdm)

    return {
        "no transfer": (False, pipeline(TLDummy())),
        "TLCenter": (False, pipeline(TLCenter(target_domain="E"))),
        "TLCenter + TLScale + TLRotate": (True, pipeline(TLCenter("E"), TLScale("E", centered_data=True), TLRotate("E"))),
        "MDWM": (True, lambda: MDWM(domain_tradeoff=0.5, target_domain="E")),
        "TLKraus": (False, pipeline(TLKraus("E"))),
        "TLKraus(filter='auto')": (False, pipeline(TLKraus("E", filter="auto"))),
        "TLKraus(use_labels=False)": (False, pipeline(TLKraus("E", use_labels=False))),
    }


def mapping_transport(x, y, x2, test):
    """POT's MappingTransport on tangent vectors at the mean of each session, then logistic regression."""
    import ot
    from pyriemann.tangentspace import TangentSpace
    from sklearn.linear_model import LogisticRegression

    v, v2 = TangentSpace().fit_transform(x), TangentSpace().fit_transform(x2)
    moved = ot.da.MappingTransport(max_iter=10).fit(Xs=v, Xt=v2).transform(Xs=v)
    return LogisticRegression(max_iter=1000).fit(moved, y).predict(v2[test])


def by_pipeline(model, labelled, x, y, x2, y2, known):
    """Predictions for the matrices of E that are not `known`. TLClassifier weighs E by zero, so unknown labels train nothing."""
    from pyriemann.transfer import encode_domains

    target, labels = (x2[known], y2[known]) if labelled else (x2, np.full(len(x2), UNKNOWN))
    both = np.concatenate([x, target])
    domains = np.repeat(["T", "E"], [len(x), len(target)])
    _, encoded = encode_domains(both, np.concatenate([y, labels]), domains)
    if not labelled:
        # MDM would make a class of the unknown label; the transformers see both sessions, the classifier T alone.
        moved = model[:-1].fit_transform(both, encoded)
        model[-1].fit(moved[domains == "T"], encoded[domains == "T"])
        return model[-1].predict(model[:-1].transform(x2[~known]))
    return model.fit(both, encoded).predict(x2[~known])


def what_became_of(model):
    """How TLKraus ended: the filter, the rank, or that it fell back to recentring."""
    transport = model[0].transports_["T"] if hasattr(model, "steps") and isinstance(model[0], TLKraus) else None
    if transport is None:
        return ""
    if transport.fell_back_:
        return "recentring"
    return f"filter {transport.filter_['kept']}" if transport.filter_ else f"rank {transport.rank_}"


@NEEDED
def test_two_sessions(capsys):
    pytest.importorskip("pyriemann.transfer")
    pytest.importorskip("ot")
    hits, seconds, ended = {}, {}, {}

    def now():
        return np.array([time.perf_counter(), time.process_time()])

    def note(name, right, began, how=""):
        seconds.setdefault(name, []).append(now() - began)
        hits.setdefault(name, []).append(100 * np.mean(right))
        ended.setdefault(name, []).append(how)

    for subject in SUBJECTS:
        (x, y), (x2, y2) = sessions(subject)
        known = np.arange(len(x2)) < len(x2) // 5
        for name, (labelled, make) in ways().items():
            model, began = make(), now()
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Convergence not reached")
                predicted = by_pipeline(model, labelled, x, y, x2, y2, known)
            note(name, np.asarray(predicted).astype(int) == y2[~known], began, what_became_of(model))
        began = now()
        predicted = mapping_transport(x, y, x2, ~known)
        note("POT MappingTransport, tangent vectors", predicted == y2[~known], began)
    with capsys.disabled():
        print("\naccuracy on session E in %, seconds and CPU seconds per subject, labels of E used, and what TLKraus chose for each subject")
        print(f"{'':38}" + "".join(f"{'S' + s:>7}" for s in SUBJECTS) + f"{'mean':>7}{'s':>7}{'CPU s':>7}  labels of E")
        for name, row in hits.items():
            wall, cpu = np.mean(seconds[name], axis=0)
            labels = "a fifth" if ways().get(name, (False,))[0] else "none"
            how = f"  {', '.join(ended[name])}" if any(ended[name]) else ""
            print(f"{name:38}" + "".join(f"{v:7.1f}" for v in row) + f"{np.mean(row):7.1f}{wall:7.2f}{cpu:7.2f}  {labels:8}{how}")
    mean = {name: np.mean(row) for name, row in hits.items()}
    # Two sessions are closer than chance, and the map is no worse than nothing; which way is best the table says.
    assert mean["TLKraus"] > 60 and mean["TLKraus"] > mean["no transfer"] - 5
    # Where it fell back to recentring it is recentring: what pyRiemann's does, up to the point that both means go to.
    for name in ("TLKraus", "TLKraus(use_labels=False)"):
        for k, how in enumerate(ended[name]):
            assert how != "recentring" or abs(hits[name][k] - hits["TLCenter"][k]) < 2, (name, SUBJECTS[k])


@NEEDED
def test_the_whole_pipeline_with_a_fifth_of_the_labels():
    """make_pipeline(TLKraus, TLClassifier(MDM)) as pyRiemann means it: both sessions labelled in training, the rest of E predicted."""
    pytest.importorskip("pyriemann.transfer")
    (x, y), (x2, y2) = sessions(SUBJECTS[0])
    known = np.arange(len(x2)) < len(x2) // 5
    model = ways()["TLKraus"][1]()
    predicted = by_pipeline(model, True, x, y, x2, y2, known)
    assert np.mean(np.asarray(predicted).astype(int) == y2[~known]) > 0.6
