#!/usr/bin/env bash
# One sitting: our epoch benchmark, then JAX (hand gradient and autodiff) and PyTorch on the same scenarios, and the ratios.
# usage: PEERS_PYTHON=python-with-jax-and-torch benches/peers.sh [scenarios, comma separated] [threads]
# Ratios are of CPU time at one thread (what an idle machine would take) and of wall time at more, the least of all epochs.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
peers=$root/../shared/peers
scenarios=${1:-S1,S2,S3,S4,S5,S6a,S6b,S6c}
threads=${2:-1}
[ -d "$peers" ] || { echo "no peers at $peers: nothing to compare with" >&2; exit 1; }
: "${PEERS_PYTHON:?set it to a python that has jax and torch}"
out=$(mktemp -d); trap 'rm -rf "$out"' EXIT
cd "$root"
RAYON_NUM_THREADS=$threads cargo bench -q --workspace --bench epoch -- --json ${scenarios//,/ } >"$out/ours.jsonl"
cd "$peers"
export RESULTS=$out/peers.jsonl BUDGET=${BUDGET:-1.5} PYTHONDONTWRITEBYTECODE=1
touch "$RESULTS"
"$PEERS_PYTHON" bench_jax.py "$threads" hand gemm "$scenarios" >&2
"$PEERS_PYTHON" bench_jax.py "$threads" auto gemm "$scenarios" >&2
"$PEERS_PYTHON" bench_torch.py "$threads" eager gemm2 "$scenarios" >&2
"$PEERS_PYTHON" - "$out" "$threads" <<'PY'
import json, sys
out, threads = sys.argv[1], int(sys.argv[2])
rows = lambda name: [json.loads(line) for line in open(f'{out}/{name}.jsonl')]
key = 'cmin' if threads == 1 else 'wmin'
peers = {(r['lib'] + '-' + r['variant'].split('-')[0], r['scen']): 1e3 * r[key] for r in rows('peers')}
kinds = ['jax-hand', 'jax-auto', 'torch-eager']
print('least ms per epoch (%s time, %d thread%s), and how many times ours' % (
    'CPU' if threads == 1 else 'wall', threads, '' if threads == 1 else 's'))
print('%-5s %10s ' % ('', 'ours') + ' '.join('%22s' % k for k in kinds))
for r in rows('ours'):
    cells = ['%12.2f (%5.1fx)' % (peers[k, r['scen']], peers[k, r['scen']] / r[key]) if (k, r['scen']) in peers else '-' for k in kinds]
    print('%-5s %10.2f ' % (r['scen'], r[key]) + ' '.join('%22s' % c for c in cells))
print('load average: ' + open('/proc/loadavg').read().strip())
PY
