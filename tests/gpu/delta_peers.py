#!/usr/bin/env python3
"""How delta_tile stands to DeltaCNN's own kernel, mask by mask: delta_peers.py OWN.csv ROWS.csv...

OWN.csv: times measured outside bench, reports/gallery/deltacnn_own-h200.csv. ROWS.csv: bench export deltacnn_peers --format csv, of one run or of several.
Prints Markdown; exit status 1 when a mask is above the limit. DeltaCNN computes f16 in half2, so its f16 stands beside our f16_acc16."""
import csv
import sys

LIMIT = 1.15
LAYERS = {'f32': 'f32', 'f16': 'f16_acc16'}  # column of OWN: layer of the scenario


def read_own(path):
    with open(path) as f:
        lines = f.readlines()
    about = ' '.join(line[1:].strip() for line in lines if line.startswith('#'))
    return about, list(csv.DictReader(line for line in lines if not line.startswith('#')))


def read_rows(paths):
    """(layer, mask) -> variant -> (us, low, high) of verified rows."""
    out = {}
    for path in paths:
        with open(path, newline='') as f:
            for row in csv.DictReader(f):
                if row['status'] != 'ok' or not row['median_ns']:
                    continue
                mask = dict(a.split('=', 1) for a in row['axes'].split(',')).get('mask', '')
                times = tuple(float(row[k]) / 1e3 for k in ('median_ns', 'low_ns', 'high_ns'))
                out.setdefault((row['layer'], mask), {})[row['variant'].split('/')[-1]] = times
    return out


def us(v):
    return '%.0f' % v if v >= 1000 else '%.3g' % v


def line(mask, kind, own, variants):
    cells, above = [mask, kind, us(own)], False
    for name in ('delta_tile', 'delta_very_sparse'):
        times = variants.get(name)
        cells += [us(times[0]), '%.2f [%.2f %.2f]' % tuple(t / own for t in times)] if times else ['', '']
        above |= name == 'delta_tile' and times is not None and times[0] / own > LIMIT
    others = {n: t for n, t in variants.items() if n.startswith(('sparse_', 'very_sparse'))}
    best = min(others, key=lambda n: others[n][0]) if others else None
    cells += [us(variants['cudnn'][0]) if 'cudnn' in variants else '', '%s %s' % (us(others[best][0]), best) if best else '']
    return '| ' + ' | '.join(cells) + ' |', above


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    about, own = read_own(sys.argv[1])
    rows = read_rows(sys.argv[2:])
    lines, above, missing = [], [], []
    for kind, layer in LAYERS.items():
        for o in own:
            variants = rows.get((layer, o['mask']), {})
            text, bad = line(o['mask'], kind, float(o[kind]), variants)
            lines.append(text)
            above += ['%s %s' % (kind, o['mask'])] * bad
            missing += ['%s %s' % (kind, o['mask'])] * ('delta_tile' not in variants)
    print('# delta_tile beside DeltaCNN\n\nDeltaCNN: %s\n\nOurs: isolated, cold, of the run of this folder; the quotient is of medians of two processes and two days, its interval '
          'only ours.\n' % about)
    print('| mask | type | DeltaCNN us | delta_tile us | x DeltaCNN | delta_very_sparse us | x DeltaCNN | cudnn us | fastest of ours us |\n|---|---|---:|---:|---:|---:|---:|---:|---|')
    print('\n'.join(lines))
    print('\n%d of %d at most %g x DeltaCNN%s%s' % (len(lines) - len(above) - len(missing), len(lines), LIMIT, '; above it: ' + ', '.join(above) if above else '',
                                                  '; not timed: ' + ', '.join(missing) if missing else ''))
    sys.exit(bool(above))


main()
