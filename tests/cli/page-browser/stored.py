"""A database of a CSV that `bench export -f csv` wrote: stored.py EMPTY.db ROWS.csv SCENARIO OUT.db [TIMES [HOSTILE]]
EMPTY is any database of this bench. TIMES repeats the rows as other layers. Rounds are drawn around the medians: the CSV has none."""
import csv
import json
import os
import random
import re
import sqlite3
import struct
import sys

empty, rows_csv, scenario, out = sys.argv[1:5]
times = int(sys.argv[5]) if len(sys.argv) > 5 else 1
hostile = sys.argv[6] if len(sys.argv) > 6 else None
source, db = sqlite3.connect(empty), sqlite3.connect(out)
source.backup(db)
tables = ('run', 'case', 'result', 'kernel', 'timing', 'metric', 'axis', 'param')
for table in tables + ('network', 'part', 'plan', 'launch', 'wisdom', 'roof', 'seal'):
    db.execute(f'delete from "{table}"')
types = {t: {r[1]: r[2] for r in db.execute(f'pragma table_info("{t}")')} for t in tables}
random.seed(1)


def put(table, values):
    row = {k: x if types[table][k] in ('TEXT', 'BLOB') else float(x) if types[table][k] == 'REAL' else int(float(x))
           for k, x in values.items() if k in types[table] and x not in ('', None)}
    names, marks = ','.join(f'"{k}"' for k in row), ','.join('?' * len(row))
    return db.execute(f'insert into "{table}" ({names}) values ({marks})', list(row.values())).lastrowid


def pairs(table, result, words, sign):
    for i, pair in enumerate(w.strip() for w in (words or '').split(',') if sign in w):
        name, value = pair.split(sign, 1)
        number = value if re.fullmatch(r'[0-9.]+', value) else None
        put(table, {'result': result, f'{table}_index': i, table: name, f'{table}_value': value, f'{table}_number': number})


def family(metric):
    """What it is one of, by its name: harness/store/family.h."""
    of = {'hw.stall_': 'stall', 'hw.samples_': 'samples', 'static.sass_': 'sass'}
    return next((f for begins, f in of.items() if metric.startswith(begins)), metric.split('.')[0])


def rounds(row):
    n, low, high, middle = int(float(row['rounds'])), float(row['p05_ns']), float(row['p95_ns']), float(row['median_ns'])
    drawn = {'samples_ns': [max(0.97 * low, random.gauss(middle, (high - low) / 3.3)) for _ in range(n)],
             'samples_clock_hz': [1.98e9 - random.choice((0, 0, 0, 15e6, 30e6)) for _ in range(n)],
             'samples_power_w': [random.gauss(300, 8) for _ in range(n)]}
    return {k: struct.pack(f'<{n}d', *v) for k, v in drawn.items()}


rows = list(csv.DictReader(open(rows_csv, encoding='utf-8')))
roofs = (('copy', 4.0e12), ('l2', 7.5e12), ('f32', 62e12), ('f16_acc32', 790e12), ('tf32', 395e12), ('launch', 1100.0))
run = put('run', {'started': '2026-11-20T10:00:00Z', 'ended': '2026-11-20T10:10:00Z', 'scenario_name': rows[0]['scenario'],
                  'scenario_path': scenario, 'scenario_text': open(scenario, encoding='utf-8').read(), 'verb': 'run',
                  'argv': 'bench run ' + scenario, 'commit': 'gallery', 'run_device': 'cuda:0', 'seed': 1, 'planned': times * len(rows),
                  'device_about': 'NVIDIA H200 · driver 580.159.04 · 132 SMs', 'wall_s': 600, 'run_compiler': 'nvrtc 13.0.88',
                  'environment': json.dumps({'roofs': {'measured': '2026-11-20T09:00:00Z', **{k: {'value': v} for k, v in roofs}}})})
cases = {}
for n in range(times):
    for row in rows:
        row = dict(row)
        if n:
            layer = row['layer']
            for key in ('case', 'id'):
                row[key] = row[key].replace('/' + layer, f'/{layer}_{n}', 1)
            row.update(layer=f'{layer}_{n}', case_index=int(row['case_index']) + 1000 * n)
        if hostile:
            for key in ('layer', 'what', 'note', 'reason', 'work'):
                row[key] = hostile + (row[key] or '')
        if row['case'] not in cases:
            cases[row['case']] = put('case', {**row, 'run': run})
        library = row['variant'].split(' + ')[0].endswith('cudnn')
        result = put('result', {**row, 'run': run, 'case_key': cases[row['case']], 'library': int(library), 'kernels': ''})
        pairs('axis', result, row['axes'], '=')
        pairs('param', result, row['params'] if not hostile else 'P=' + hostile, '=')
        for i, part in enumerate(row['variant'].split(' + ')):
            db.execute('insert into part (result, part_index, part, part_name) values (?,?,?,?)', (result, i, part, part.split('/')[-1]))
        if row['note']:
            db.execute('insert into note values (?,?,?)', (result, 0, row['note']))
        for i, network in enumerate(w.strip() for w in row['networks'].split(',') if ':' in w):
            db.execute('insert into network values (?,?,?,?)', (result, i, *network.split(':')))
        if row['registers']:
            put('kernel', {**row, 'result': result, 'step_index': 0, 'step': row['step'] or row['variant'], 'kind': row['kind'] or 'kernel'})
        if row['median_ns']:
            put('timing', {**row, **rounds(row), 'result': result, 'time_index': 0, 'time_step': -1})
        index = 0
        for name in (c for c in row if '.' in c and row[c] != ''):
            for step in (-1, 0) if name.startswith(('static.', 'model.')) and row['registers'] else (-1,):
                put('metric', {'result': result, 'metric_index': index, 'metric_step': step, 'line': 0, 'metric': name, 'metric_family': family(name), 'unit': '',
                               'source': name.split('.')[0], 'value': row[name]})
                index += 1
db.commit()
