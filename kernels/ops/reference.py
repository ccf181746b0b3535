"""Runs the function of Python that is an op's reference (docs/OP.md): reference.py FILE FUNCTION FOLDER OUTPUT=(SHAPE) ... -- FIELD=VALUE ...

FOLDER/NAME.npy are the inputs; the results are written beside them, in double. FOLDER/reads then lists what the results depend on: a line
`SHA256 FILE` for each file that the reference imported or opened (`- FILE`: it did not exist), or a line `untracked` if that is not known."""
import hashlib
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

reads, untracked = set(), False
UNTRACKED = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect", "ctypes.dlopen", "os.scandir", "glob.glob",
             "pathlib.Path.glob", "pathlib.Path.rglob")


def see(event, words):
    global untracked
    if event == "open" and isinstance(words[0], (str, bytes)) and not (isinstance(words[1], str) and words[1][:1] in "wx"):
        reads.add(os.fsdecode(words[0]))
    elif event in UNTRACKED:
        untracked = True


def installed(file):
    """Of the standard library or NumPy, which change with the version of NumPy or Python alone."""
    library = os.path.dirname(os.__file__) + os.sep
    return any(file.startswith(folder) for folder in (os.path.dirname(numpy.__file__) + os.sep, library)) and \
        ("site-packages" not in file[len(library):] or file.startswith(os.path.dirname(numpy.__file__) + os.sep))


def content(file):
    try:
        with open(file, "rb") as opened:
            return hashlib.sha256(opened.read()).hexdigest()
    except OSError:
        return "-"


def tell_reads():
    global untracked
    files = {file for file in set(reads) if not installed(file) and not file.startswith(os.path.join(folder, "")) and not file.startswith("/proc/")}
    for loaded in list(sys.modules.values()):
        file = getattr(loaded, "__file__", None)
        if file and file != __file__ and not installed(file):
            files.add(file)
            untracked |= not file.endswith(".py")  # machine code may open files unseen
    files.add(os.path.join(os.path.dirname(numpy.__file__), "version.py"))
    untracked |= any("\n" in file for file in files)
    lines = ["untracked"] if untracked else [content(file) + " " + file for file in sorted(files)]
    with open(os.path.join(folder, "reads"), "w") as opened:
        opened.write("".join(line + "\n" for line in lines))


# compiled files may be older than their source, of which only the second is known
sys.dont_write_bytecode, sys.pycache_prefix = True, os.path.join(folder, "compiled")
sys.addaudithook(see)
sys.path.insert(0, os.path.dirname(path))
spec = importlib.util.spec_from_file_location("op_reference", path)
module = importlib.util.module_from_spec(spec)
try:
    spec.loader.exec_module(module)
except SystemExit as ended:
    sys.exit(f"it calls sys.exit({ended.code!r}) where it is imported")
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
tell_reads()
