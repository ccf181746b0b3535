#!/usr/bin/env python3
"""How delta_tile stands to DeltaCNN's own kernel, mask by mask: delta_peers.py OWN.csv ROWS.csv...

OWN.csv: times measured outside bench, reports/gallery/deltacnn_own-h200.csv. ROWS.csv: bench export deltacnn_peers --format csv, of one run or of several; of a row that is in two the later counts.
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
    return '%.0f' % v if v >= 100 else '%#.3g' % v


HEADS = ['mask', 'type', 'DeltaCNN us', 'delta_tile us', 'x DeltaCNN', 'delta_very_sparse us', 'cudnn us', 'fastest of ours us']


def cells_of(mask, kind, own, variants):
    tile, sparse = variants.get('delta_tile'), variants.get('delta_very_sparse')
    ours = {n: t for n, t in variants.items() if n.startswith(('sparse_', 'very_sparse'))}
    best = min(ours, key=lambda n: ours[n][0]) if ours else None
    return [mask, kind, us(own), us(tile[0]) if tile else '', '%.2f [%.2f %.2f]' % tuple(t / own for t in tile) if tile else '', us(sparse[0]) if sparse else '',
            us(variants['cudnn'][0]) if 'cudnn' in variants else '', '%s %s' % (us(ours[best][0]), best) if best else '']


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    about, own = read_own(sys.argv[1])
    rows = read_rows(sys.argv[2:])
    lines, above, missing = [], [], []
    for kind, layer in LAYERS.items():
        for o in own:
            variants, name = rows.get((layer, o['mask']), {}), '%s %s' % (kind, o['mask'])
            lines.append(cells_of(o['mask'], kind, float(o[kind]), variants))
            if 'delta_tile' not in variants:
                missing.append(name)
            elif variants['delta_tile'][0] / float(o[kind]) > LIMIT:
                above.append(name)
    shown = [i for i in range(len(HEADS)) if any(line[i] for line in lines)]
    print('# delta_tile beside DeltaCNN\n\nDeltaCNN: %s\n\nOurs: isolated, cold, verified. The quotient is of medians of two processes on two days, its interval only ours.\n' % about)
    for cells in [HEADS, ['---' if i < 2 else '---:' for i in range(len(HEADS))], *lines]:
        print('| ' + ' | '.join(cells[i] for i in shown) + ' |')
    print('\n%d of %d at most %g x DeltaCNN%s%s' % (len(lines) - len(above) - len(missing), len(lines), LIMIT, '; above it: ' + ', '.join(above) if above else '',
                                                  '; not timed: ' + ', '.join(missing) if missing else ''))
    sys.exit(bool(above))


main()
