#!/usr/bin/env bash
# One sitting: all of our benches and what people use today on the same inputs, as one file, a table of ratios and a figure.
#
# usage: benches/peers.sh [output.json]        (default: benches/results.json; the figure is then figures/speed.svg, else output.svg)
# Needs Rust, Python 3.11 or newer with `venv`, and on the first run the network: what is compared with is installed into benches/.venv
# from benches/requirements.txt. Nothing outside the repository is read.
# PYTHON names another python for the environment; PEERS_PYTHON one that has the packages already, so that nothing is installed.
# SCENARIOS=S1,S2 restricts the epochs, THREADS="1" what they are timed on (two need an idle machine); PARTS="epoch networks spd svm exact exact-large
# scaling" the parts; BUDGET the seconds per program and scenario.
#
# The file: {"date", "machine": {"model", "cores", "load"}, "rows": [{"group", "case", "who", "threads", "milliseconds"}]}. Some rows
# have more fields: "wall" beside CPU time, "gflops", "mse". Times are the least of several runs: CPU time at one thread,
# which is what an idle machine would take, and wall time at two.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
here=$root/benches
output=$(realpath -m "${1:-$here/results.json}")
figure=$([ "$output" = "$here/results.json" ] && echo "$root/figures/speed" || echo "${output%.json}")
scenarios=${SCENARIOS:-S1,S2,S3,S4,S5,S6a,S6b,S6c}
parts=${PARTS:-epoch networks spd svm exact exact-large scaling}

# The environment, made anew when the list has changed.
if [ -z "${PEERS_PYTHON:-}" ]; then
    venv=$here/.venv
    if ! cmp -s "$here/requirements.txt" "$venv/installed.txt"; then
        echo "installing the peers into $venv" >&2
        rm -rf "$venv"
        "${PYTHON:-python3}" -m venv "$venv"
        "$venv/bin/python" -m pip install --quiet --requirement "$here/requirements.txt"
        cp "$here/requirements.txt" "$venv/installed.txt"
    fi
    PEERS_PYTHON=$venv/bin/python
fi

out=$(mktemp -d); trap 'rm -rf "$out"' EXIT
export REPRO_BENCH_DATA=$out PYTHONDONTWRITEBYTECODE=1 BUDGET=${BUDGET:-3}
wanted() { [[ " $parts " == *" $1 "* ]]; }
ours() { (cd "$root" && RAYON_NUM_THREADS=$1 cargo bench -q --workspace --bench "$2" -- "${@:3}"); }
theirs() { "$PEERS_PYTHON" "$here/$1.py" "${@:2}" >>"$out/rows.jsonl"; }

theirs peers "$out" 1 gemm
if wanted epoch; then
    for threads in ${THREADS:-1 2}; do
        ours $threads epoch --json ${scenarios//,/ } >>"$out/ours.jsonl"
        theirs epochs $threads jax "$scenarios"
        theirs epochs $threads torch "$scenarios"
        # Once more, so that a busy moment spoils neither side.
        ours $threads epoch --json ${scenarios//,/ } >>"$out/ours.jsonl"
    done
fi
if wanted networks && [ -f "$here/networks.py" ]; then ours 1 networks >>"$out/rows.jsonl"; theirs networks 1; fi
if wanted spd; then
    ours 1 geometry >>"$out/geometry.jsonl"; theirs peers "$out" 1 spd; ours 1 geometry >>"$out/geometry.jsonl"
fi
if wanted svm; then ours 1 svm >>"$out/rows.jsonl"; theirs peers "$out" 1 svm; fi
if wanted exact; then ours 1 limits exact >>"$out/rows.jsonl"; theirs peers "$out" 1 converge; fi
if wanted exact-large; then ours 1 limits exact-large >>"$out/rows.jsonl"; theirs peers "$out" 1 converge-large; fi
if wanted scaling; then ours 1 limits scaling >>"$out/rows.jsonl"; fi
theirs peers "$out" 1 gemm
"$PEERS_PYTHON" "$here/collect.py" "$out" "$output"
(cd "$root" && cargo run -q --release -- bench draw "$output" -o "$figure")
