"""Runs the function of Python that is an op's reference (docs/OP.md): reference.py FILE FUNCTION FOLDER OUTPUT=(SHAPE) ... -- FIELD=VALUE ...

FOLDER/NAME.npy are the inputs; the results are written beside them, in double."""
import importlib.util
import inspect
import keyword
import os
import sys

import numpy


def number(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


path, name, folder = sys.argv[1:4]
split = sys.argv.index("--")
outputs = {word.split("=")[0]: tuple(int(size) for size in word.split("=")[1].strip("()").split(",") if size) for word in sys.argv[4:split]}
given = {word.split("=", 1)[0]: number(word.split("=", 1)[1]) for word in sys.argv[split + 1:]}
for entry in sorted(os.listdir(folder)):
    if entry.endswith(".npy"):
        given[entry[:-4]] = numpy.load(os.path.join(folder, entry)).astype(numpy.float64)

sys.path.insert(0, os.path.dirname(path))
spec = importlib.util.spec_from_file_location("op_reference", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
function = getattr(module, name, None)
if function is None:
    sys.exit(f"there is no function '{name}'")
takes = inspect.signature(function).parameters.values()
if any(p.kind == p.VAR_KEYWORD for p in takes):
    wanted = given
else:
    given = {key + "_" if keyword.iskeyword(key) else key: value for key, value in given.items()}
    unknown = [p.name for p in takes if p.name not in given and p.default is p.empty]
    if unknown:
        in_place = "; it writes that one, which holds nothing before: what is read and written is two tensors" if unknown[0] in outputs else ""
        sys.exit(f"it takes '{unknown[0]}'; the op has {', '.join(sorted(given))}{in_place}")
    wanted = {p.name: given[p.name] for p in takes if p.name in given}
try:
    result = function(**wanted)
except SystemExit as ended:
    sys.exit(f"it calls sys.exit({ended.code!r}) and returns nothing")
if not isinstance(result, dict):
    result = {next(iter(outputs)): result}
for key, value in result.items():
    owner = key[:-len("_magnitude")] if key.endswith("_magnitude") else key
    if owner not in outputs:
        sys.exit(f"it returns '{key}'; the op writes {', '.join(outputs)}")
    if numpy.iscomplexobj(value):
        sys.exit(f"it returns {key} in complex numbers; reals are compared")
    value = numpy.asarray(value, dtype=numpy.float64)
    if value.shape != outputs[owner]:
        sys.exit(f"it returns {key} of shape {value.shape}; the op's is {outputs[owner]}")
    numpy.save(os.path.join(folder, key + ".npy"), numpy.ascontiguousarray(value))
missing = [key for key in outputs if key not in result]
if missing:
    sys.exit(f"it returns no '{missing[0]}'")
