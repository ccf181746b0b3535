"""validate.py FOLDER-OF-SCHEMAS FILE SCHEMA [EXIT]: the one document in FILE is of that schema, and carries that exit code where it has one."""
import json
import sys

import jsonschema

folder, path, name = sys.argv[1:4]
with open(path, encoding="utf-8") as f:
    document = json.load(f)
with open(f"{folder}/{name}.json", encoding="utf-8") as f:
    schema = json.load(f)
jsonschema.Draft202012Validator.check_schema(schema)
errors = sorted(jsonschema.Draft202012Validator(schema).iter_errors(document), key=lambda e: list(e.path))
for e in errors[:5]:
    print(f"{path}: {list(e.path)}: {e.message[:300]}")
if len(sys.argv) > 4 and document.get("exit", int(sys.argv[4])) != int(sys.argv[4]):
    errors.append(None)
    print(f"{path}: exit is {document['exit']}, the process's was {sys.argv[4]}")
sys.exit(bool(errors))
