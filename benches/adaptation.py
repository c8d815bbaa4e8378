"""The rivals of the learned map by their own libraries: pyRiemann and POT on the trials and splits of `repro run adaptations-table`.

    repro run adaptations-table adaptations-new --data-dir DATA --set draws=0..19
    python benches/adaptation.py --repro target/release/repro --data-dir DATA --draws 20

Prints, for each method and both ways to train the classifier, our mean accuracy and theirs, and ends with 1 where a mean over the
subjects differs by more than 0.01 points. RPA is printed but not judged: its rotation depends on the signs that LAPACK gives to
eigenvectors. Without the packages, or without real recordings, it says so and ends with 0.
"""

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--repro", default="target/release/repro")
parser.add_argument("--project", default=".")
parser.add_argument("--data-dir", required=True)
parser.add_argument("--subjects", type=int, nargs="+", default=[1, 3, 7, 8, 9])
parser.add_argument("--classes", default="[1,2,3,4]", help="as in pipeline.yaml; covariances of left and right hand: [1,2]")
parser.add_argument("--draws", type=int, default=3)
args = parser.parse_args()

try:
    import numpy as np
    import ot
    from pyriemann.classification import MDM
    from pyriemann.tangentspace import TangentSpace
    from pyriemann.transfer import MDWM, TLCenter, TLRotate, TLScale, encode_domains
    from pyriemann.geometry.distance import pairwise_distance
    from pyriemann.geometry.mean import mean_riemann
except ImportError as missing:
    print(f"skipped: {missing}; pip install pyriemann==0.12 POT==0.9.7.post1")
    sys.exit(0)

JUDGED_TO = 0.01


def path(unit, artefact):
    """The file of an artefact."""
    options = ["--offline", "--data-dir", args.data_dir, "--set", f"draws=0..{args.draws - 1}", "--set", f"classes={args.classes}"]
    options += ["--set", f"subjects={json.dumps(args.subjects)}".replace(" ", "")]
    options += ["--set", f"pictured=[{args.subjects[0]}]"]
    said = subprocess.run([args.repro, "path", unit, artefact, *options], cwd=args.project, capture_output=True, text=True)
    if said.returncode:
        sys.exit(f"{unit}: {said.stderr.strip()}")
    return Path(args.project) / said.stdout.strip()


def mdm(train, labels, test):
    return MDM(metric="riemann").fit(train, labels).predict(test)


def domains(source, source_labels, target, target_labels):
    x = np.concatenate([source, target])
    y = np.concatenate([source_labels, target_labels]).astype(int)
    return encode_domains(x, y, ["source"] * len(source) + ["target"] * len(target))


def centred(source, target):
    """A TLCenter of both domains; it needs no labels, so any will do."""
    x, y = domains(source, np.ones(len(source)), target, np.ones(len(target)))
    centre = TLCenter("target").fit(x, y)
    return lambda m: centre.centers_["source"].transform(m), lambda m: centre.centers_["target"].transform(m)


def transported(x, y):
    """All of the source by the paper's transport (POT's sinkhorn), means of the 20 best targets."""
    cost = pairwise_distance(x, y, metric="riemann") ** 2
    plan = ot.sinkhorn(*(np.full(len(m), 1 / len(m)) for m in (x, y)), cost, 2 * (0.05 * np.median(cost)) ** 2,
                       numItermax=1000, stopThr=0, warn=False)
    best = np.argsort(-plan, axis=1, kind="stable")[:, :20]
    return np.stack([mean_riemann(y[b], sample_weight=row[b]) for b, row in zip(best, plan)])


def rpa(x, lx, y, calibration):
    """TLCenter and TLScale on all trials, TLRotate on the labelled ones."""
    to_source, to_target = centred(x, y)
    a, b = to_source(x), to_target(y)
    data, labels = domains(a, np.ones(len(a)), b, np.ones(len(b)))
    scale = TLScale("target", centered_data=True).fit(data, labels)
    stretch = lambda m, d: scale._strech(m, scale.scales_[d], 1.0)
    n = len(calibration)
    data, labels = domains(stretch(a, "source"), lx, stretch(b[:n], "target"), calibration)
    turn = TLRotate("target", metric="euclid").fit(data, labels).rotations_["source"]
    return lambda m: turn @ stretch(to_source(m), "source") @ turn.T, lambda m: stretch(to_target(m), "target")


ours, theirs = defaultdict(list), defaultdict(list)
for subject in args.subjects:
    full = None
    for draw in range(args.draws):
        sessions = {}
        for session in "TE":
            unit = f"covariances/session={session},subject={subject}"
            sessions[session] = tuple(np.load(path(unit, name)) for name in ("covariances.npy", "labels.npy"))
        (x, lx), (y, ly) = sessions["T"], sessions["E"]
        at = f"draw={draw},subject={subject},variant=unsupervised"
        rows = json.loads(path(f"adaptations/{at}", "rows.json").read_text())
        for row in rows:
            ours[row["method"], row["trained"]].append((subject, row["accuracy"]))
        order = np.load(path(f"adapt/{at}", "order.npy"))
        known, new = np.split(order, [round(0.8 * len(order))])
        cut = round(0.2 * len(y))
        rest, truth = y[cut:], ly[cut:]
        to_source, to_target = centred(x[known], y)
        tangent = TangentSpace(metric="riemann")
        tangent.fit(np.eye(x.shape[1])[None])
        vectors = lambda m: tangent.transform(m)
        emd = ot.da.EMDTransport().fit(Xs=vectors(to_source(x[known])), Xt=vectors(to_target(y)))
        moved = np.empty_like(x)
        moved[known] = tangent.inverse_transform(emd.transform(vectors(to_source(x[known]))))
        moved[new] = tangent.inverse_transform(emd.transform(vectors(to_source(x[new]))))
        turned, target = rpa(x[known], lx[known], y, ly[:cut])
        full = transported(x, y) if full is None else full
        images = {
            "NoAdapt": (x, rest),
            "FullAdapt": (full, rest),
            "recentring": (to_source(x), to_target(rest)),
            "POT": (moved, to_target(rest)),
            "RPA": (turned(x), target(rest)),
        }
        for trained, which in (("all", np.arange(len(x))), ("new", new)):
            for method, (source, tested) in images.items():
                hits = mdm(source[which], lx[which], tested) == truth
                theirs[method, trained].append((subject, 100 * hits.mean()))
            data, labels = domains(x[which], lx[which], y[:cut], ly[:cut])
            found = MDWM(0.5, "target", metric="riemann").fit(data, labels).predict(rest)
            theirs["MDWM", trained].append((subject, 100 * (found.astype(int) == truth).mean()))


def mean(rows, subject=None):
    return float(np.mean([v for s, v in rows if subject in (None, s)]))


print(f"{args.draws} draws; ours / theirs, mean accuracy (%) by subject and over all")
wrong = False
for (method, trained), rows in ours.items():
    other = theirs.get((method, trained))
    cells = [f"S{s} {mean(rows, s):.2f}" + (f" / {mean(other, s):.2f}" if other else "") for s in args.subjects]
    last = f"{mean(rows):.2f} / {mean(other):.2f}" if other else f"{mean(rows):.2f}"
    far = other is not None and method != "RPA" and abs(mean(rows) - mean(other)) > JUDGED_TO
    wrong |= far
    print(f"{method:24} trained on {trained}: {'  '.join(cells)}  all {last}{'  DIFFERS' if far else ''}")
sys.exit(int(wrong))
