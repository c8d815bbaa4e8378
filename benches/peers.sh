#!/usr/bin/env bash
# One sitting: all of our benches and what people use today on the same inputs, as one file and as a table of ratios.
#
# usage: PEERS_PYTHON=python benches/peers.sh [output.json]        (default: benches/results.json)
# PEERS_PYTHON needs jax, torch, pyriemann, POT and scikit-learn; shared/peers must lie beside the repository.
# SCENARIOS=S1,S2 restricts the epochs, THREADS="1" what they are timed on (two need an idle machine); PARTS="epoch spd svm exact exact-large scaling" the parts; BUDGET the seconds per program and scenario.
#
# The file: {"date", "machine": {"model", "cores", "load"}, "rows": [{"group", "case", "who", "threads", "milliseconds"}]}. Some rows
# have more fields: "wall" beside CPU time, "gflops", "mse". Times are the least of several runs: CPU time at one thread,
# which is what an idle machine would take, and wall time at two.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
peers=$root/../shared/peers
output=$(realpath -m "${1:-$root/benches/results.json}")
scenarios=${SCENARIOS:-S1,S2,S3,S4,S5,S6a,S6b,S6c}
parts=${PARTS:-epoch spd svm exact exact-large scaling}
[ -d "$peers" ] || { echo "no peers at $peers: nothing to compare with" >&2; exit 1; }
: "${PEERS_PYTHON:?set it to a python that has jax, torch, pyriemann, POT and scikit-learn}"
out=$(mktemp -d); trap 'rm -rf "$out"' EXIT
export REPRO_BENCH_DATA=$out PYTHONDONTWRITEBYTECODE=1 BUDGET=${BUDGET:-3}
wanted() { [[ " $parts " == *" $1 "* ]]; }
ours() { (cd "$root" && RAYON_NUM_THREADS=$1 cargo bench -q --workspace --bench "$2" -- "${@:3}"); }
theirs() { "$PEERS_PYTHON" "$root/benches/peers.py" "$out" "$peers" "$@"; }

theirs 1 gemm >>"$out/rows.jsonl"
if wanted epoch; then
    for threads in ${THREADS:-1 2}; do
        ours $threads epoch --json ${scenarios//,/ } >>"$out/ours.jsonl"
        cd "$peers"
        export RESULTS=$out/peers.jsonl
        "$PEERS_PYTHON" bench_jax.py $threads hand gemm "$scenarios" >&2
        "$PEERS_PYTHON" bench_jax.py $threads auto gemm "$scenarios" >&2
        "$PEERS_PYTHON" bench_torch.py $threads eager gemm2 "$scenarios" >&2
        # Once more, so that a busy moment spoils neither side.
        ours $threads epoch --json ${scenarios//,/ } >>"$out/ours.jsonl"
    done
fi
if wanted spd; then
    ours 1 geometry >>"$out/geometry.jsonl"; theirs 1 spd >>"$out/rows.jsonl"; ours 1 geometry >>"$out/geometry.jsonl"
fi
if wanted svm; then ours 1 svm >>"$out/rows.jsonl"; theirs 1 svm >>"$out/rows.jsonl"; fi
if wanted exact; then ours 1 limits exact >>"$out/rows.jsonl"; theirs 1 converge >>"$out/rows.jsonl"; fi
if wanted exact-large; then ours 1 limits exact-large >>"$out/rows.jsonl"; theirs 1 converge-large >>"$out/rows.jsonl"; fi
if wanted scaling; then ours 1 limits scaling >>"$out/rows.jsonl"; fi
theirs 1 gemm >>"$out/rows.jsonl"
"$PEERS_PYTHON" "$root/benches/collect.py" "$out" "$output"
