"""validate.py FOLDER-OF-SCHEMAS <LINES: each is NUMBER, SCHEMA, EXIT, COMMAND: the one document in documents/NUMBER is of that schema, and carries
that exit status where it has one; or NUMBER, "field", an expression of the document `d`, its value as it prints. A tab between them."""
import json
import sys

import jsonschema

folder, wrong, schemas = sys.argv[1], 0, {}


def schema(name):
    if name not in schemas:
        with open(f"{folder}/{name}.json", encoding="utf-8") as f:
            of = json.load(f)
        jsonschema.Draft202012Validator.check_schema(of)
        schemas[name] = jsonschema.Draft202012Validator(of)
    return schemas[name]


for line in sys.stdin:
    number, name, *rest = line.rstrip("\n").split("\t")
    said = []
    with open(f"documents/{number}", encoding="utf-8") as f:
        text = f.read()
    try:
        d = json.loads(text)
        if name == "field":
            value = str(eval(rest[0]))
            if value != rest[1]:
                said.append(f"{rest[0]} is {value}, not {rest[1]}")
        else:
            errors = sorted(schema(name).iter_errors(d), key=lambda e: list(e.path))
            said += [f"{list(e.path)}: {e.message[:300]}" for e in errors[:5]]
            if d.get("exit", int(rest[0])) != int(rest[0]):
                said.append(f"exit is {d['exit']}, the process's was {rest[0]}")
    except Exception as e:
        said.append(f"{name} {rest[0]}: {e!r}: {text[:2000]}")
    for s in said:
        print(f"document {number}: {name} {' '.join(rest)}: {s}")
    wrong += len(said)
sys.exit(wrong > 0)
