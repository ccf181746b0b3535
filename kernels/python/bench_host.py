"""bench_host: calls an author's function with bench's own buffers, on bench's stream. It runs inside a worker of bench (host.c), or, to make the
sidecar of such a row, in the process that compiles."""
import contextlib
import ctypes
import faulthandler
import importlib.metadata
import inspect
import json
import os
import sys
import sysconfig
import threading
import traceback

import bench

C = ctypes


class Tensor(C.Structure):
    _fields_ = [("name", C.c_char_p), ("dtype", C.c_char_p), ("layout", C.c_char_p), ("dim", C.c_longlong * 4), ("data", C.c_void_p),
                ("bytes", C.c_ulonglong)]


class Shape(C.Structure):
    _fields_ = [("rank", C.c_int), ("dim", C.c_longlong * 8)]


class Call(C.Structure):
    """struct bench_call of harness/op/foreign.h."""
    _fields_ = [("version", C.c_int), ("on_host", C.c_int), ("stream", C.c_void_p), ("op", C.c_char_p), ("math", C.c_char_p),
                ("tensor_count", C.c_int), ("workspace_count", C.c_int), ("symbol_count", C.c_int), ("tensors", C.POINTER(Tensor)),
                ("workspaces", C.POINTER(Tensor)), ("symbols", C.c_void_p), ("epilogue", C.c_char_p), ("slope", C.c_double),
                ("message", C.c_void_p), ("message_bytes", C.c_ulonglong), ("shapes", C.POINTER(Shape)), ("open_library", C.c_void_p),
                ("real_count", C.c_int), ("reals", C.c_void_p), ("source", C.c_char_p), ("defers", C.c_int)]


TYPESTR = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "bf16": "<i2", "i8": "|i1", "u8": "|u1", "u16": "<u2", "i32": "<i4", "u32": "<u4",
           "e4m3": "|u1", "e5m2": "|u1", "i64": "<i8", "u64": "<u8", "bool": "|b1", "e2m1": "|u1", "e8m0": "|u1"}
ML_DTYPES = {"bf16": "bfloat16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "e8m0": "float8_e8m0fnu"}
NO_NUMPY = ("bf16", "e4m3", "e5m2", "e2m1", "e8m0")
PAIRS = ("e2m1",)  # two elements a byte, along the last axis


def in_bytes(shape, dtype):
    """The shape of a tensor as its memory is addressed."""
    if dtype not in PAIRS or not shape:
        return list(shape)
    if shape[-1] % 2:
        raise bench.Refused(f"the last axis of {list(shape)} is odd, but a byte holds two elements of {dtype}")
    return [*shape[:-1], shape[-1] // 2]


class Buffer:
    """Device memory of bench as every library reads it."""

    def __init__(self, address, shape, dtype, stream):
        self.__cuda_array_interface__ = {"shape": tuple(shape), "typestr": TYPESTR[dtype], "data": (address, False), "version": 3,
                                         "stream": stream or 1}


def order(shape, layout):
    """The sizes as they lie in memory, and the permutation to the op's axes."""
    canonical = "NCHW" if set(layout) == set("NCHW") else "KCRS" if set(layout) == set("KCRS") else None
    if canonical is None or len(shape) != 4:
        return list(shape), None
    sizes = dict(zip(canonical, shape))
    return [sizes[letter] for letter in layout], [layout.index(letter) for letter in canonical]


def torch_tensor(address, size, shape, dtype, layout, call):
    import torch
    memory, permutation = order(in_bytes(shape, dtype), layout)
    kind = torch_kind(dtype)
    if call.on_host:
        tensor = torch.frombuffer((C.c_char * size).from_address(address), dtype=torch.uint8 if dtype in NO_NUMPY else kind)
        tensor = tensor.view(kind)[:max(1, product(memory))].reshape(memory)
    else:
        tensor = torch.as_tensor(Buffer(address, memory, dtype, call.stream), device="cuda")
        tensor = tensor.view(kind) if tensor.dtype != kind else tensor
    return tensor if permutation is None else tensor.permute(permutation)


def plain_array(address, size, shape, dtype, layout, call):
    memory, permutation = order(in_bytes(shape, dtype), layout)
    if not call.on_host and "jax" in sys.modules:
        raise bench.Refused("JAX queues its work on streams of its own, which the events of bench's stream do not time; on emu the row is verified")
    if not call.on_host:
        return Buffer(address, memory, dtype, call.stream)
    import numpy
    kind = TYPESTR[dtype]
    if dtype in NO_NUMPY and dtype not in PAIRS:
        if dtype not in ML_DTYPES or "ml_dtypes" not in sys.modules:  # JAX brings it
            raise bench.Refused(f"NumPy has no {dtype}")
        kind = getattr(sys.modules["ml_dtypes"], ML_DTYPES[dtype])
    array = numpy.frombuffer((C.c_char * size).from_address(address), dtype=kind)[:product(memory)].reshape(memory)
    return array if permutation is None else array.transpose(permutation)


def product(sizes):
    n = 1
    for size in sizes:
        n *= size
    return n


class Row:
    """One callable for one work."""

    def __init__(self, source):
        with open(source) as file:
            self.path, self.kernel, asked = json.loads(file.read().split("\n", 3)[3])
        if not bench.entries:
            bench.load(self.path)
        self.work = bench.Work(bench.entries[self.kernel], asked)
        self.function = self.work.entry.function
        self.torch = uses_torch(self.work.entry)
        self.tensors = {}
        self.takes = inspect.signature(self.function).parameters
        self.warmed = False
        self.kept = []

    def words(self, call):
        """The arguments for these buffers: made once for each address."""
        key = tuple(call.tensors[i].data for i in range(call.tensor_count)), call.stream
        if key not in self.tensors:
            made = {}
            for i in range(call.tensor_count):
                t, shape = call.tensors[i], call.shapes[i]
                make = torch_tensor if self.torch else plain_array
                made[t.name.decode()] = make(t.data, t.bytes, list(shape.dim[:shape.rank]), t.dtype.decode(), t.layout.decode(), call)
            self.tensors[key] = made
            if call.on_host: # copies, which lie elsewhere each time
                self.tensors.clear()
            return made
        return self.tensors[key]

    def run(self, call):
        self.apply(self.words(call), keeps=call.defers == 1)

    def finish(self, call):
        """The copies that the last run left: its time ends before them."""
        kept, self.kept = self.kept, []
        for to, value in kept:
            to.copy_(value)

    def apply(self, made, keeps=False):
        given = {**self.work.f, **self.work.constants, **made}
        missing = [name for name, p in self.takes.items() if name not in given and p.default is p.empty]
        if missing:
            raise bench.Mistake(f"{self.kernel} takes '{missing[0]}'; there are {', '.join(given)}")
        result = self.function(**{name: given[name] for name in self.takes if name in given})
        if result is None:
            return
        rest = [name for name in made if name not in self.takes]
        results = result if isinstance(result, dict) else dict(zip(rest, result if isinstance(result, (tuple, list)) else [result]))
        for name, value in results.items():
            if name not in made:
                raise bench.Mistake(f"{self.kernel} returns '{name}'; the op has {', '.join(made)}")
            if tuple(value.shape) != tuple(made[name].shape):
                raise bench.Mistake(f"{self.kernel} returns {name} of shape {tuple(value.shape)}; the op's is {tuple(made[name].shape)}")
            if self.torch and keeps:
                self.kept.append((made[name], value))
            elif self.torch:
                made[name].copy_(value)
            else:
                made[name][...] = value


    def warm(self, call):
        """A first call with zeros of its own, outside of the time limit of a run: compilers and libraries set themselves up."""
        if call.on_host or not self.torch or self.warmed:
            return
        import torch
        made = {}
        for name, tensor in self.work.t.items():
            memory, permutation = order(in_bytes(tensor.shape, tensor.dtype), tensor.layout)
            bytewise = TYPESTR[tensor.dtype] == "|u1" # torch fills no tensor of 4-bit floats
            made[name] = torch.zeros(memory, dtype=torch.uint8 if bytewise else torch_kind(tensor.dtype), device="cuda").view(torch_kind(tensor.dtype))
            made[name] = made[name] if permutation is None else made[name].permute(permutation)
        self.apply(made)
        torch.cuda.synchronize()
        self.warmed = True


def torch_kind(dtype):
    import torch
    return getattr(torch, {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "u8": "uint8", "u16": "uint16",
                           "i32": "int32", "u32": "uint32", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "i64": "int64", "u64": "uint64",
                           "bool": "bool", "e2m1": "float4_e2m1fn_x2", "e8m0": "float8_e8m0fnu"}[dtype])


def uses_torch(entry):
    """True if the function gets tensors of torch: its file imports torch, unless it says tensors="numpy" (or "cuda", for objects with
    __cuda_array_interface__)."""
    given = entry.keys.get("tensors")
    return given == "torch" if given else "torch" in sys.modules


rows = {}
callers = set()


def keep_thread_state():
    """Python frees its state of a thread of bench when the first call returns, unless the state is acquired once more. The pybind11 of torch 2.11
    (before 3.0.2) keeps a pointer to the state of the thread that first imports it; the next call then waits for the GIL with the freed state,
    forever (pybind11's pull request 5870)."""
    if threading.get_ident() not in callers:
        callers.add(threading.get_ident())
        ctypes.pythonapi.PyGILState_Ensure()


def answer(address):
    call = Call.from_address(address)
    keep_thread_state()
    try:
        source = call.source.decode()
        row = rows.get(source) or rows.setdefault(source, Row(source))
        with contextlib.ExitStack() as stack:
            if row.torch:
                import torch
                stack.enter_context(torch.no_grad())
                if not call.on_host:
                    stack.enter_context(torch.cuda.stream(torch.cuda.ExternalStream(call.stream)))
            (row.finish if call.defers == 2 else row.run if call.tensor_count else row.warm)(call)
        return 0
    except BaseException as e:
        traceback.print_exc()
        text = str(e) if isinstance(e, bench.Refused) else bench.place(os.path.abspath(row.path) if "row" in dir() else "", e)
        text = text.encode()[:call.message_bytes - 1] + b"\0"
        C.memmove(call.message, text, len(text))
        return 1 if isinstance(e, (bench.Refused, ImportError)) else 2


def serve(ready):
    """Hands `answer` to the worker and stays: ready is the address of host_ready."""
    trace = os.environ.get("BENCH_PYTHON_TRACE")
    if trace:  # where a row that hangs is
        faulthandler.dump_traceback_later(5, repeat=True, file=open(f"{trace}.{os.getpid()}", "w"))
    function = C.CFUNCTYPE(C.c_int, C.c_void_p)(answer)
    C.CFUNCTYPE(None, C.c_void_p)(int(ready, 16))(C.cast(function, C.c_void_p))


def libpython():
    """The shared library of this interpreter."""
    names = [sysconfig.get_config_var("INSTSONAME"), sysconfig.get_config_var("LDLIBRARY"), f"libpython{sys.version_info[0]}.{sys.version_info[1]}.so.1.0"]
    folders = [sysconfig.get_config_var("LIBDIR"), os.path.join(sys.base_prefix, "lib"), os.path.join(sys.base_prefix, "lib64"),
               os.path.join("/usr/lib", sysconfig.get_config_var("MULTIARCH") or "")]
    for name in names:
        for folder in folders:
            if name and ".so" in name and folder and os.path.exists(os.path.join(folder, name)):
                return os.path.join(folder, name)
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    raise bench.Refused(f"{sys.executable} has no libpython{version}.so, in which a worker of bench could run it: apt-get install libpython{version}, "
                        "or a Python of conda or uv")


class Called:
    """A callable as a tool: its row calls it."""

    def takes(self, function):
        return False

    def label(self):
        return "called"

    def sidecar(self, work, key, folder, asked, path):
        entry = work.entry
        label = f"called, torch {importlib.metadata.version('torch')}" if uses_torch(entry) else "called"
        text = "\n".join([sys.executable, libpython(), os.path.join(bench.HERE, "bench.py"), json.dumps([path, entry.name, asked])])
        bench.write(os.path.join(folder, key + ".call"), text)
        keys = {"op": entry.op, "what": f"{entry.name} ({label})"}
        keys.update({name: entry.keys[name] for name in bench.HEAD if name in entry.keys and name not in ("what", "needs", "where", "claims")})
        keys.setdefault("algorithm", "library")
        return bench.document({**keys, "source": key + ".call", "on": ["cuda", "emu"]}) + "steps:\n  - call: bench_python_call\n"
