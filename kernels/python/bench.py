"""bench.py: kernels and references of a Python file as rows of bench (docs/PYTHON.md). Needs the standard library alone.

An author writes `import bench` and decorates kernels; `bench try FILE.py` and `bench run SCENARIO --variants my=FILE.py` do the rest. A file
that must not import it can hold a dict BENCH instead: {"softmax": {"op": "softmax", "grid": "rows", ...}}, by the name of the function.

bench itself runs this file: bench.py list FILE KERNEL CACHE ANSWER   writes a folder of sidecars, and its path into the file ANSWER
                             bench.py serve FILE FOLDER              compiles what it is asked for on its standard input, a socket
                      bench.py host ADDRESS                  calls functions, inside a worker of bench (bench_host.py)"""
import atexit
import contextlib
import functools
import hashlib
import importlib
import importlib.util
import inspect
import itertools
import json
import numbers
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
HEAD = ("what", "needs", "layout", "dtype", "math", "algorithm", "exact", "check", "graph", "epilogue", "let", "where", "claims", "columns")
DTYPES = ("f64", "f32", "f16", "bf16", "i8", "u8", "u16", "i32", "u32", "e4m3", "e5m2", "i64", "u64", "bool", "e2m1", "e8m0")


class Mistake(Exception):
    """A mistake of the author, told without a traceback."""


class Refused(Exception):
    """This kernel cannot take this work here: the row is skipped with the reason."""


class Ended(BaseException):
    """bench needs this process no more, or is interrupted."""


class Names(dict):
    """Fields, parameters and tensors as attributes: f.rows."""

    def __getattr__(self, name):
        if name in self:
            return self[name]
        raise AttributeError(f"there is no '{name}'; there are {', '.join(self)}")


class Descriptor:
    """An argument that is a TMA descriptor of a tensor: bench.descriptor("x", [64, 64]); Gluon's have a layout."""

    def __init__(self, tensor, block, shape=None, layout=None):
        self.tensor, self.block, self.shape, self.layout = tensor, block, shape, layout


def descriptor(tensor, block, shape=None, layout=None):
    return Descriptor(tensor, block, shape, layout)


class Entry:
    def __init__(self, name, function, op, keys):
        self.name, self.function, self.op, self.keys = name, function, op, keys


class Op:
    def __init__(self, name, keys):
        self.name, self.keys, self.truth = name, keys, keys.pop("reference", None)

    def reference(self, function):
        self.truth = function
        return function

    def kernel(self, **keys):
        return kernel(self, **keys)

    def call(self, function=None, **keys):
        return call(self, **keys) if function is None else call(self, **keys)(function)


entries, ops, parameters = {}, {}, {}


def plain(function):
    """The Python function inside what a tool's decorator made of it."""
    for _ in range(8):
        inner = [getattr(function, name, None) for name in ("fn", "py_func", "_pyfunc", "func", "__wrapped__")]
        inner = [f for f in inner if f is not None]
        if inspect.isfunction(function) or not inner:
            break
        function = inner[0]
    return function


def name_of(function):
    name = getattr(plain(function), "__name__", None)
    if isinstance(name, str):
        return name
    raise Mistake("a kernel without a name: give bench.kernel(..., name=NAME)")


OP_KEYS = ("about", "fields", "lets", "tensors", "dtypes", "flop", "bytes", "terms", "tolerance", "reference", "trial", "crop", "op_needs", "op_exact")


def op(name, **keys):
    """An op of this file: fields={name: default}, tensors="x: [rows, cols]; y: [rows, cols] written", dtypes=[...], reference=FUNCTION."""
    unknown = [key for key in keys if key not in OP_KEYS]
    if unknown:
        raise Mistake(f"bench.op: there is no '{unknown[0]}'; there are {', '.join(OP_KEYS)}")
    ops[name] = Op(name, keys)
    return ops[name]


def kernel(of, **keys):
    """Marks a kernel. `of`: an op's name, or what bench.op returned; with `tensors` and `reference` it is a new op."""
    own = {key: keys.pop(key) for key in OP_KEYS if key in keys and not (key == "tensors" and keys.get("called"))}
    if own and isinstance(of, str):
        of = op(of, **own)
    elif own:
        raise Mistake(f"{next(iter(own))}= belongs to bench.op")

    def mark(function):
        name = keys.pop("name", None) or name_of(function)
        entries[name] = Entry(name, function, of.name if isinstance(of, Op) else of, keys)
        return function
    return mark


def call(of, **keys):
    """Marks a callable that gets the tensors themselves: torch, JAX, several launches."""
    return kernel(of, called=True, **keys)


def configs(**values):
    """Values of parameters that `bench tune` searches; the first of each is the default: configs(num_warps=[4, 8])."""
    def mark(function):
        parameters[id(function)] = {**values, **parameters.get(id(function), {})}
        for entry in entries.values():
            if entry.function is function:
                entry.keys.setdefault("params", {}).update(values)
        return function
    return mark


# Reading the author's file

class Idle:
    """Stands for a compiler, or torch, while only a reference is wanted that needs none: every attribute, call and subscript is itself, a
    decorator leaves its function. It has no truth, so that nothing is decided by it."""
    asked = False  # once the file is read: an attribute was wanted

    def __bool__(self):
        raise TypeError("not known")

    def __call__(self, *words, **keys):
        return words[0] if len(words) == 1 and not keys and callable(words[0]) and not isinstance(words[0], Idle) else self

    def __getattr__(self, name):
        if name.startswith("__") or Idle.asked:
            raise AttributeError(name)
        return self

    def __getitem__(self, key):
        return self

    def __mro_entries__(self, bases):
        return (object,)


class IdleFinder:
    compilers = ("triton", "numba", "cutlass", "cuda", "warp", "tilelang", "helion", "max")

    def __init__(self, tools):
        self.tools = tools

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self, is_package=True) if name.split(".")[0] in self.tools else None

    def create_module(self, spec):
        module = type("IdleModule", (type(sys),), {"__getattr__": lambda self, name: getattr(Idle(), name)})(spec.name)
        return module

    def exec_module(self, module):
        module.__path__ = []


def load(path):
    """Runs the author's file; returns its module."""
    sys.modules["bench"] = sys.modules[__name__]
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location("bench_kernels", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_kernels"] = module
    spec.loader.exec_module(module)
    for name, keys in getattr(module, "BENCH", {}).items():
        keys = dict(keys)
        function = getattr(module, keys.pop("function", name), None)
        if function is None or "op" not in keys:
            raise Mistake(f"BENCH: {name}: " + ("there is no such function" if function is None else "the dict has no 'op'"))
        if isinstance(keys.get("reference"), str):
            keys["reference"] = getattr(module, keys["reference"])
        kernel(keys.pop("op"), name=name, **keys)(function)
    return module


def reference(path, name):
    """The reference of an op of a file, for NumPy arrays; a function that uses torch gets tensors. To import torch and compilers takes
    seconds: this happens only if the file or the function fails without them."""
    function = load_reference(path, name, IdleFinder.compilers + ("torch",))
    if not function:
        return real_reference(path, name)

    @functools.wraps(function)
    def first_without(**keys):
        try:
            Idle.asked = True
            return function(**keys)
        except Exception as error:
            first = error
        finally:
            Idle.asked = False
        try:
            real = real_reference(path, name)
        except Exception:
            raise first from None  # what the function says is told, not that a tool has no device here
        return real(**keys)
    return first_without


def load_reference(path, name, idle):
    """The function, where modules of these names stand for nothing; None: it needs them."""
    entries.clear()
    ops.clear()
    finder = IdleFinder(idle)
    sys.meta_path.insert(0, finder)
    try:
        load(path)
        function = ops[name].truth
        return None if "torch" in idle and uses(function, "torch") else function
    except Exception:
        if not idle:
            raise
        return None
    finally:
        sys.meta_path.remove(finder)
        for loaded in [m for m in sys.modules if m.split(".")[0] in idle and isinstance(sys.modules[m].__loader__, IdleFinder)]:
            del sys.modules[loaded]


def real_reference(path, name):
    function = load_reference(path, name, IdleFinder.compilers)
    if not function:
        own("bench_tools").before(path)
        function = load_reference(path, name, ())
    if "torch" not in sys.modules or not uses(function, "torch"):
        return function

    @functools.wraps(function)
    def with_torch(*words, **keys):
        import numpy
        import torch
        given = {key: torch.from_numpy(value) if isinstance(value, numpy.ndarray) else value for key, value in keys.items()}
        result = function(*words, **given)
        plain = lambda value: value.detach().numpy() if isinstance(value, torch.Tensor) else value
        if isinstance(result, tuple):
            return tuple(plain(value) for value in result)
        return {key: plain(value) for key, value in result.items()} if isinstance(result, dict) else plain(result)
    return with_torch


def uses(function, module):
    """Does a function's code name that module?"""
    code = getattr(inspect.unwrap(function), "__code__", None)
    names = getattr(inspect.unwrap(function), "__globals__", {})
    return code is not None and any(name == module or str(getattr(names.get(name), "__module__", "")).startswith(module) or
                                    str(getattr(names.get(name), "__name__", "")).split(".")[0] == module for name in code.co_names)


# YAML in flow style, which is nearly JSON

def flow(value):
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]*", value) else json.dumps(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    return json.dumps(value)


def document(keys):
    return "".join(f"{key}: {flow(value)}\n" for key, value in keys.items() if value is not None)


def tensor_lines(text):
    """`q k: [heads, seq] i32; o: [heads, seq] written` as the tensors of an op file."""
    tensors = {}
    for part in filter(str.strip, text.replace("\n", ";").split(";")):
        found = re.fullmatch(r"\s*([\w\s,]+):\s*\[(.*?)\]\s*([\w\s]*?)\s*(\{.*\})?\s*", part)
        if not found:
            raise Mistake(f"tensors: '{part.strip()}' is not of the form `x y: [rows, cols] written`")
        keys = {"shape": [size.strip() for size in found[2].split(",")]}
        for word in found[3].split():
            if word in DTYPES:
                keys["dtype"] = word
            elif word in ("written", "constant"):
                keys[word] = True
            else:
                keys["data"] = word
        if found[4]:
            keys["data"] = Raw(found[4])
        for name in re.split(r"[\s,]+", found[1].strip()):
            tensors[name] = keys
    return tensors


class Raw(str):
    """Text that is YAML already."""


def op_field(name, value):
    if isinstance(value, dict):
        return {"what": name, **value}
    if isinstance(value, bool):
        return {"what": name, "min": 0, "max": 1, "default": int(value)}
    if isinstance(value, float):
        return {"what": name, "type": "real", "default": value}
    if isinstance(value, (list, tuple)):
        return {"what": name, "words": list(value), "default": value[0]}
    return {"what": name, "default": value}


SMALL = 1 << 17 # elements of an op that emu verifies whole


def elements_of(shape, sizes):
    """Of a tensor with the fields' defaults; SMALL + 1 if its shape says something else."""
    try:
        n = 1
        for size in shape:
            n *= max(1, int(eval(str(size).replace("/", "//"), {"__builtins__": {}}, dict(sizes))))
        return n
    except Exception:
        return SMALL + 1


def op_file(of, path):
    """The text of the op's file."""
    k, fields = of.keys, {name: op_field(name, value) for name, value in of.keys.get("fields", {}).items()}
    if of.truth is None or not k.get("tensors"):
        raise Mistake(f"op '{of.name}' has no {'reference' if of.truth is None else 'tensors'}: bench.op(..., tensors=..., reference=FUNCTION)")
    tensors = k["tensors"] if isinstance(k["tensors"], dict) else tensor_lines(k["tensors"])
    read = [t for t in tensors.values() if not t.get("written")]
    dtypes = list(k.get("dtypes", ["f32"]))
    trial = k.get("trial") or {"usual": {"dtype": dtypes[0]}, **{f"as_{t}": {"dtype": t} for t in dtypes[1:]}}
    sizes = {name: field["default"] for name, field in fields.items() if type(field.get("default")) is int}
    elements = sum(elements_of(t["shape"], sizes) for t in tensors.values())
    crop = k.get("crop") or (None if elements <= SMALL else {name: min(64, size) for name, size in sizes.items()})
    about = k.get("about") or (inspect.getdoc(of.truth) or f"{of.name} of {os.path.basename(path)}").split("\n\n")[0].replace("\n", " ")
    keys = {"about": about, "fields": fields, "let": k.get("lets"), "needs": k.get("op_needs"), "tensors": tensors, "dtype": dtypes,
            "flop": k.get("flop"), "bytes": k.get("bytes"), "terms": k.get("terms", read[0]["shape"][-1]), "tolerance": k.get("tolerance"),
            "exact": k.get("op_exact", False), "reference": {"python": f"{of.name}_reference.py:truth"}, "trial": trial, "crop": crop or None}
    return document(keys)


# The folder of sidecars

def own(name):
    """A module of this folder, which may be read-only or shared: nothing is written into it."""
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    module = importlib.import_module(name)
    sys.dont_write_bytecode = kept
    return module


def tool_of(entry):
    return own("bench_tools").tool_of(entry)


def all_parameters(entry):
    """Of configs(), and of the tool's own list (triton.autotune)."""
    function, found = entry.function, dict(entry.keys.get("params", {}))
    for _ in range(8):
        found = {**parameters.get(id(function), {}), **found}
        listed = getattr(function, "configs", None)
        if isinstance(listed, list) and listed and hasattr(listed[0], "kwargs"):
            found.setdefault("config", list(range(len(listed))))
        function = getattr(function, "fn", None)
    return {name: list(values) if isinstance(values, (list, tuple)) else [values] for name, values in found.items()}


def sidecar(entry, path):
    tool = tool_of(entry)
    keys = {"op": entry.op, "what": entry.keys.get("what") or f"{entry.name} of {os.path.basename(path)} ({tool.label()})"}
    keys.update({key: entry.keys[key] for key in HEAD if key in entry.keys and key != "what"})
    params = all_parameters(entry)
    if params:
        keys["params"] = {name: {"values": values, "default": values[0]} if len(values) > 1 else values for name, values in params.items()}
    keys["source"] = path
    return document(keys) + f"steps:\n  - python: {entry.name}\n"


def depends():
    """The files that the kernels were made of: every module outside of Python's library and site-packages, and this folder."""
    library = os.path.dirname(os.__file__)
    files = {os.path.join(HERE, name) for name in os.listdir(HERE) if name.endswith(".py")}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and file.endswith(".py") and not file.startswith(library) and "-packages" + os.sep not in file and os.path.exists(file):
            files.add(file)
    return sorted(files)


def write(path, text):
    part = f"{path}.{os.getpid()}"
    with open(part, "wb" if isinstance(text, bytes) else "w") as file:
        file.write(text)
    os.replace(part, path)


def unmarked(module):
    """What to write into a file without a kernel: the line for the first function that a tool compiles."""
    tools, found = own("bench_tools").TOOLS.values(), []
    for name, function in vars(module).items():
        if any(tool.takes(function) for tool in tools):
            found.append((name, getattr(function, "arg_names", None) or list(inspect.signature(plain(function)).parameters)))
    if not found:
        return "no kernel: put @bench.kernel(OP, grid=..., args=...) before a function, or BENCH = {FUNCTION: {'op': ...}} into the file"
    name, words = found[0]
    return (f'no kernel is marked: put @bench.kernel(OP, grid=..., args="...") before the decorator of {name}; args names what its parameters get '
            f"({' '.join(words)}); `bench list ops` has the ops, `bench list op OP` their tensors and fields, and docs/PYTHON.md the rest")


def list_file(path, only, cache):
    """Writes the sidecars and op files of a Python file; returns the folder, which is named by all that they depend on."""
    own("bench_tools").before(path)
    module = load(path)
    chosen = {name: entry for name, entry in entries.items() if not only or name == only}
    if not chosen:
        raise Mistake(f"there is no kernel '{only}'; there are {', '.join(entries)}" if entries else unmarked(module))
    files = {f"{name}.yaml": sidecar(entry, path) for name, entry in chosen.items()}
    for entry in chosen.values():
        if entry.op in ops:
            name = entry.op
            files[os.path.join("ops", f"{name}.yaml")] = op_file(ops[name], path)
            files[os.path.join("ops", f"{name}_reference.py")] = (
                f"import sys\nsys.path.insert(0, {HERE!r})\nimport bench\ntruth = bench.reference({path!r}, {name!r})\n")
    digest = hashlib.sha256()
    for name in depends():
        with open(name, "rb") as file:
            digest.update(hashlib.sha256(file.read()).digest())
    for part in (path, sys.executable, *itertools.chain(*sorted(files.items()))):
        digest.update(hashlib.sha256(part.encode()).digest())
    folder = os.path.join(cache, digest.hexdigest()[:32])
    for part in ("ops", "made"):
        os.makedirs(os.path.join(folder, part), exist_ok=True)
    for name, text in files.items():
        write(os.path.join(folder, name), text)
    return folder


# Compiling for one work

def evaluate(value, f, p, t):
    """A number or list given as such, as an expression of Python over fields and parameters, or as a function of (f), (f, p) or (f, p, t)."""
    if callable(value):
        return value(*(f, p, t)[:len(inspect.signature(value).parameters)])
    if isinstance(value, str):
        ceil = lambda a, b: -(-a // b)
        power = lambda n: 1 << max(0, int(n) - 1).bit_length()
        words = {"ceil": ceil, "cdiv": ceil, "next_power_of_2": power, "min": min, "max": max, "len": len}
        try:
            return eval(value, {"__builtins__": {}}, {**words, **t, **f, **p})
        except NameError as e:
            raise Mistake(f"'{value}': {e}; there are {', '.join([*f, *p])}")
    return value


def three(value, what):
    value = list(value) if isinstance(value, (list, tuple)) else [value]
    if not 1 <= len(value) <= 3 or not all(isinstance(v, int) for v in value):
        raise Mistake(f"{what} is {value}: one to three whole numbers are needed")
    return value


def words_of(value):
    if isinstance(value, str):
        return [word.strip() for word in (value.split(",") if "," in value else value.split())]
    return list(value)


class Work:
    """What one row asks for: `f` fields, `p` parameters, `t` tensors (dtype, shape, layout), `cc`."""

    def __init__(self, entry, asked):
        self.entry, self.cc, self.arch = entry, asked["cc"], asked["arch"]
        self.f, self.p = Names(asked["fields"]), Names(asked["params"])
        self.t = Names({name: Names(tensor) for name, tensor in asked["tensors"].items()})
        self.f["dtype"] = next(iter(self.t.values())).dtype
        keys = entry.keys
        known = (*HEAD, "grid", "block", "args", "smem", "cluster", "cooperative", "params", "dim", "scratch", "fill", "tool", "called", "tensors")
        self.constants = dict(self.p)
        for key, value in keys.items():  # a constant may use those before it
            if key not in known:
                self.p[key] = self.constants[key] = self.value(value)

    def value(self, value):
        return evaluate(value, self.f, self.p, self.t)

    def argument(self, word):
        if word.isidentifier() and word not in self.f and word not in self.p:
            raise Mistake(f"{self.entry.name}: '{word}' is no tensor and no field: args=\"...\" says in their place what each parameter gets, of "
                          f"{', '.join(self.t)} (tensors), {', '.join(self.f)}")
        return self.value(word)

    def words(self, names):
        """What `args` says, or the names of the parameters."""
        given = self.entry.keys.get("args")
        return names if given is None else words_of(given(self.f, self.p) if callable(given) else given)

    def reached(self, names):
        """The first of these parameters, as far as `args` goes; without `args` those that are a tensor, a field or a constant."""
        if self.entry.keys.get("args") is not None:
            return names[:len(self.words(names))]
        known = {*self.t, *self.f, *self.p, *self.entry.keys.get("scratch", {})}
        return list(itertools.takewhile(known.__contains__, names))

    def arguments(self, names):
        """(name, value) of each argument: value is a Descriptor, a number, or None for the tensor or scratch buffer of that name."""
        given = self.words(names)
        if names and len(given) != len(names):  # constants that args leaves out stand at the places of their names
            rest = iter(given)
            placed = [name if name in self.constants and name not in given else next(rest, None) for name in names]
            if None in placed or next(rest, None) is not None:
                raise Mistake(f"args has {len(given)} of the {len(names)} arguments of {self.entry.name}: {', '.join(names)}")
            given = placed
        out = []
        for word in given:
            if not isinstance(word, (Descriptor, str, numbers.Real)):
                raise Mistake(f"{self.entry.name}: {word!r} among args: each is a tensor, a field, a number or a descriptor; give a constant by its name, NAME=VALUE")
            if not isinstance(word, str):
                out.append((word.tensor if isinstance(word, Descriptor) else str(word), word))
            elif word in self.t or word in self.entry.keys.get("scratch", {}):
                out.append((word, None))
            else:
                out.append((word, self.constants[word] if word in self.constants else self.argument(word)))
        return out

    def dtype(self, name):
        if name in self.t:
            return self.t[name].dtype
        return self.entry.keys["scratch"][name].split("[")[0]

    def shape(self, name):
        """Of a tensor, or of a scratch buffer: one dimension."""
        if name in self.t:
            return self.t[name].shape
        size = re.search(r"\[(.*)\]", self.entry.keys["scratch"][name])[1]
        return [int(self.value(size.replace("/", "//")))]

    def grid(self):
        return three(self.value(self.entry.keys.get("grid", 1)), "grid")


class Made:
    """What a tool made: the code, its entry, and the launch. `args` are words of a head."""

    def __init__(self, code, entry, args, block, grid, smem=0, cluster=None, cooperative=False, pdl=False, scratch=None, maps=None, cubin=None):
        self.code, self.entry, self.args, self.block, self.grid, self.smem = code, entry, args, block, grid, smem
        self.cluster, self.cooperative, self.pdl, self.scratch, self.maps = cluster, cooperative, pdl, scratch or {}, maps or {}
        self.cubin = cubin  # what the tool's own ptxas made of the PTX: its registers


def made_sidecar(work, made, folder):
    """Writes the code beside the sidecar whose text it returns."""
    binary = isinstance(made.code, bytes)
    name = hashlib.sha256(made.code if binary else made.code.encode()).hexdigest()[:32] + (".cubin" if binary else ".ptx")
    write(os.path.join(folder, name), made.code)
    if made.cubin and not binary:
        write(os.path.join(folder, name + ".cubin"), made.cubin)
    entry = work.entry
    keys = {"op": entry.op, "what": entry.name}
    keys.update({key: entry.keys[key] for key in HEAD if key in entry.keys and key not in ("what", "needs", "where", "claims")})
    keys["source"] = name
    keys["scratch"] = {**entry.keys.get("scratch", {}), **made.scratch} or None
    keys["tensor_maps"] = made.maps or None
    step = {"kernel": made.entry, "grid": made.grid, "block": made.block, "smem": made.smem, "args": made.args}
    attributes = {"cluster": made.cluster, "cooperative": made.cooperative or None, "pdl": made.pdl or None}
    attributes = {key: value for key, value in attributes.items() if value is not None}
    if attributes:
        step["attributes"] = attributes
    fills = "".join(f"  - fill: {name} = {value}\n" for name, value in entry.keys.get("fill", {}).items())
    return document(keys) + "steps:\n" + fills + "  - " + flow(step) + "\n"


COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # CuTe DSL colours its messages


def place(path, error):
    """`FILE:LINE: message`, with the last line of the author's file in the traceback."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if os.path.abspath(frame.filename) == path]
    line = frames[-1].lineno if frames else 0
    text = COLOUR.sub("", str(error)).strip() or type(error).__name__
    text = text if isinstance(error, Mistake) else f"{type(error).__name__}: {text}"
    return f"{path}:{line}: {text}" if line else f"{path}: {text}"


def printed(log, since):
    """The first error that the tool printed: Triton's exception alone says `error encountered during parsing`."""
    sys.stderr.flush()
    with open(log, errors="replace") as file:
        file.seek(since)
        for line in file:
            found = re.search(r"\berror: (.+)", line)
            if found:
                return line.strip()
    return ""


def answer(entry, key, asked, path, folder):
    """Leaves KEY.yaml (a sidecar), KEY.no (why it is not possible) or KEY.error in the folder."""
    suffix, log = "yaml", os.path.join(folder, "log")
    since = os.path.getsize(log) if os.path.exists(log) else 0
    try:
        work, tool = Work(entry, asked), tool_of(entry)
        text = tool.sidecar(work, key, folder, asked, path) if hasattr(tool, "sidecar") else made_sidecar(work, tool.make(work), folder)
    except Refused as e:
        suffix, text = "no", str(e)
    except ImportError as e:
        suffix, text = "no", f"{sys.executable}: {e}"
    except (Exception, SystemExit) as e:
        said = printed(log, since) if os.path.exists(log) else ""
        traceback.print_exc()
        suffix, text = "error", said or place(path, e)
    write(os.path.join(folder, f"{key}.{suffix}"), text)


def load_for(path, arch):
    """Loads the file for a chip; returns what is wrong with it, or None. CuTe DSL reads its variables when it is imported."""
    dump = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, dump, ignore_errors=True)
    os.environ.update(CUTE_DSL_ARCH=arch, CUTE_DSL_KEEP="ptx", CUTE_DSL_DUMP_DIR=dump, CUTE_DSL_LINEINFO="1")
    try:
        own("bench_tools").before(path, arch)
        load(path)
        return None
    except (KeyboardInterrupt, Ended):
        raise
    except BaseException as e:
        return place(path, e)


def end(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it may come twice
    raise Ended


def serve(path, folder):
    signal.signal(signal.SIGTERM, end)
    channel = socket.socket(fileno=os.dup(0))
    asked = channel.makefile("r")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    failed = "not loaded"
    for line in asked:
        name, key, request = line.split(" ", 2)
        if failed == "not loaded":
            failed = load_for(path, json.loads(request)["arch"])
        if failed:
            write(os.path.join(folder, f"{key}.error"), failed)
        else:
            answer(entries[name], key, json.loads(request), path, folder)
        channel.sendall(b".")


def main(words):
    if HERE not in sys.path:
        sys.path.append(HERE)
    sys.modules["bench"] = sys.modules[__name__]
    if words[0] == "host":
        return own("bench_host").serve(words[1])
    path = os.path.abspath(words[1])
    if words[0] == "serve":
        return serve(path, words[2])
    try:
        text = list_file(path, words[2], words[3])
    except Exception as e:
        if not isinstance(e, Mistake):
            traceback.print_exc()
        text = "error " + place(path, e)
    write(words[4], text)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, Ended):
        main(sys.argv[1:])
