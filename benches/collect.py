"""Puts the lines of one sitting together: one JSON file, and a table of ratios on stdout.

usage: collect.py FOLDER OUTPUT   (see peers.sh for the layout of the file)"""
import datetime, json, os, platform, sys

from scenarios import SHAPES

folder, output = sys.argv[1:3]


def lines(name):
    path = f'{folder}/{name}.jsonl'
    return [json.loads(line) for line in open(path)] if os.path.exists(path) else []


rows = {}


def keep(group, case, who, threads, milliseconds, **more):
    key = (group, case, who, threads)
    if key not in rows or rows[key]['milliseconds'] > milliseconds:
        rows[key] = dict(group=group, case=case, who=who, threads=threads, milliseconds=round(milliseconds, 4), **more)


for r in lines('ours'):
    keep('epoch', r['scen'], 'ours', r['threads'], r['cmin'] if r['threads'] == 1 else r['wmin'], wall=r['wmin'])
for r in lines('geometry'):
    keep('spd', r['name'].split(' (')[0], 'ours', r['threads'], 1e3 * r['cpu'], wall=1e3 * r['wall'])
for r in lines('rows'):
    keep(**r)
peak = next((r['gflops'] for r in rows.values() if r['group'] == 'limit'), None)
for case in {r['case'] for r in rows.values() if r['group'] == 'epoch'} if peak else ():
    s = SHAPES[case]
    if s.middle is None and not s.masked:
        # A symmetric problem with one map needs three products.
        keep('epoch', case, 'floor: 3 products at GEMM peak', 1, 2e-6 * s.samples * s.rank * s.q * s.p * (s.p + 2 * s.q) / peak)

def fact(name):
    """From the kernel's list of processors; empty where a system has none."""
    try:
        return next((l.split(':')[1].strip() for l in open('/proc/cpuinfo') if l.startswith(name)), '')
    except OSError:
        return ''


model, flags = fact('model name') or platform.processor() or 'unknown', fact('flags')
best = 'AVX-512' if 'avx512f' in flags else 'AVX2' if 'avx2' in flags else 'no AVX2'
machine = dict(model=f'{model}, {best}', cores=os.cpu_count(), load=os.getloadavg()[0])
order = sorted(rows.values(), key=lambda r: (r['group'], r['threads'], r['case'], r['who'] != 'ours', r['who']))
with open(output, 'w') as f:
    head = dict(date=datetime.date.today().isoformat(), machine=machine)
    f.write(json.dumps(head)[:-1] + ', "rows": [\n' + ',\n'.join(json.dumps(r) for r in order) + '\n]}\n')

print(f"{machine['model']}, {machine['cores']} cores, load {machine['load']:.1f}; GEMM peak {peak or 0:.0f} GFLOP/s a core")
for group in dict.fromkeys(r['group'] for r in order):
    print(f'\n{group}: milliseconds (how many times ours)')
    for threads, case in dict.fromkeys((r['threads'], r['case']) for r in order if r['group'] == group):
        cells = [r for r in order if (r['group'], r['threads'], r['case']) == (group, threads, case)]
        mine = next((r['milliseconds'] for r in cells if r['who'] == 'ours'), None)
        text = [f"{r['who']} {r['milliseconds']:.2f}" + (f" ({r['milliseconds'] / mine:.1f}x)" if mine and r['who'] != 'ours' else '')
                + ('' if r.get('reached', True) else ' not reached') for r in cells]
        print(f"  {case}, {threads} thread{'s' * (threads > 1)}: " + ', '.join(text))
