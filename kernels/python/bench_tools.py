"""bench_tools: how each tool is asked for the code and the launch of one kernel; TOOLS at the end is the table. To add a tool: a class with
`takes(function)`, `label()` and `make(work)`, which returns a bench.Made, and its place in the table."""
import contextlib
import ctypes
import importlib.metadata
import inspect
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from unittest import mock

import bench
import bench_host
import bench_numba


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "of an unknown version"


def module_of(function):
    return type(function).__module__.split(".")[0]


def block_of(ptx, entry, otherwise=None):
    """The block that the code demands (.reqntid); without one `otherwise`, and without that the most that it takes."""
    at = re.search(r"\.entry\s+" + re.escape(entry) + r"\s*\(", ptx)
    wanted = r"\.(?:reqntid|maxntid)\s+([\d, ]+)" if otherwise is None else r"\.reqntid\s+([\d, ]+)"
    found = at and re.compile(wanted).search(ptx, at.end(), ptx.find("{", at.end()))
    return [int(n) for n in found[1].split(",")] if found else otherwise


def entry_of(ptx, name):
    """The entry of that name, or the only one, or the shortest that contains the name: `rows_wrong` contains that of `rows`."""
    entries = re.findall(r"\.entry\s+([\w$.]+)", ptx)
    found = [e for e in entries if e == name] or [e for e in entries if name in e] or entries
    if not found:
        raise bench.Mistake("the tool made no kernel (.entry) of it")
    return min(found, key=len)


def parameter_count(ptx, entry):
    begin = ptx.index("(", re.search(r"\.entry\s+" + re.escape(entry) + r"\b", ptx).end())
    return len(re.findall(r"\.param\b", ptx[begin:ptx.index(")", begin)]))


def number(value):
    """A number as a word of a head; a real keeps its point."""
    if isinstance(value, bool):
        return int(value)
    return repr(float(value)) if isinstance(value, float) else int(value)


class Triton:
    KINDS = {"f64": "fp64", "f32": "fp32", "f16": "fp16", "bf16": "bf16", "i8": "i8", "u8": "u8", "u16": "u16", "i32": "i32", "u32": "u32",
             "e4m3": "fp8e4nv", "e5m2": "fp8e5", "i64": "i64", "u64": "u64", "bool": "i1", "e2m1": "u8", "e8m0": "u8"}

    def takes(self, function):
        return module_of(function) == "triton"

    def label(self):
        return f"Triton {version('triton')}"

    @staticmethod
    def unwrap(work, constants):
        """The plain function under autotune and heuristics, which add constants and options."""
        function, heuristics = work.entry.function, []
        while hasattr(function, "fn") and not hasattr(function, "params"):
            if isinstance(getattr(function, "configs", None), list):
                config = function.configs[work.p.get("config", 0)]
                constants.pop("config", None)
                constants.update(config.all_kwargs())
                work.p.update(constants)
            heuristics += list(getattr(function, "values", {}).items()) if hasattr(function, "values") else []
            function = function.fn
        return function, heuristics

    def make(self, work):
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.backends.nvidia.compiler import CUDAOptions
        constants = dict(work.constants)
        function, heuristics = self.unwrap(work, constants)
        names = [p.name for p in function.params]
        given = [p.name for p in function.params if p.name not in constants and not p.is_constexpr]
        values = self.values(work, function, given)
        all_values = {name: value for name, (_, value) in zip(given, values)}
        for name, value in heuristics:
            constants[name] = value({**all_values, **constants})
        for p in function.params:  # `BLOCK: tl.constexpr = 64`
            if p.is_constexpr and p.has_default and p.name not in constants:
                constants[p.name] = work.p.setdefault(p.name, p.default)
        options = {key: constants.pop(key) for key in list(constants) if key in CUDAOptions.__dataclass_fields__ and key not in names}
        options = {key: value for key, value in options.items() if value is not None}
        unknown = [key for key in constants if key not in names]
        if unknown:
            raise bench.Mistake(f"'{unknown[0]}' is neither a parameter of {work.entry.name} nor an option of Triton")
        signature, attrs, args, maps = {}, {}, [], {}
        for i, p in enumerate(function.params):
            if p.name in constants:
                signature[p.name] = "constexpr"
            elif p.name not in given:
                raise bench.Mistake(f"{work.entry.name}: the constant '{p.name}' has no value")
            else:
                word, value = values[given.index(p.name)]
                self.argument(work, p, i, word, value, signature, attrs, args, constants, maps)
        source = self.source_class(function)(fn=function, signature=signature, constexprs=constants, attrs=attrs)
        kernel = triton.compile(source, target=GPUTarget("cuda", work.cc, 32), options=options)
        return self.launch(work, kernel, args, maps, constants)

    @staticmethod
    def source_class(function):
        if getattr(function, "is_gluon", lambda: False)():
            from triton.experimental.gluon._runtime import GluonASTSource
            return GluonASTSource
        from triton.compiler import ASTSource
        return ASTSource

    @staticmethod
    def values(work, function, given):
        """(word, value) of each parameter; one that `args` does not reach has its default: None (the word) stands for a pointer that is not there."""
        reached = work.reached(given)
        rest = [p for p in function.params if p.name in given[len(reached):]]
        if not all(p.has_default for p in rest):
            return work.arguments(given)
        return work.arguments(reached) + [(None if p.default is None else p.name, p.default) for p in rest]

    def argument(self, work, p, i, word, value, signature, attrs, args, constants, maps):
        kind = p.annotation_type # `n: tl.int64`
        specialised = not p.do_not_specialize
        if isinstance(value, bench.Descriptor):
            block = [work.value(n) for n in value.block]
            layout = f",{value.layout!r}" if value.layout else ""
            signature[p.name] = f"tensordesc<{self.KINDS[work.dtype(value.tensor)]}{block}".replace(" ", "") + layout + ">"
            maps[p.name] = (value, block, len(args))
            args.append("map_" + p.name)
            return
        if word is None or isinstance(value, int) and value == 1 and specialised and not kind: # as triton.jit does
            signature[p.name] = "constexpr"
            constants[p.name] = value
            return
        if value is None:
            signature[p.name] = kind or "*" + self.KINDS[work.dtype(word)]
        elif kind[:2] in ("fp", "bf", "u1"):
            signature[p.name], specialised = kind, False
        elif isinstance(value, float):
            signature[p.name], specialised = kind or "fp32", False
        else:
            signature[p.name] = kind or ("i32" if -2**31 <= value < 2**31 else "i64" if value < 2**63 else "u64")
        if specialised and not getattr(p, "do_not_specialize_on_alignment", False) and (value is None or value % 16 == 0):
            attrs[(i,)] = [["tt.divisibility", 16]]
        args.append(word if value is None else self.scalar(kind, value))

    @staticmethod
    def scalar(kind, value):
        """A number as Triton's launcher passes it: 16-bit reals as their bits, of bfloat16 the upper ones of the float32."""
        if kind == "fp16":
            return int.from_bytes(struct.pack("<e", value), "little")
        if kind == "bf16":
            return int.from_bytes(struct.pack("<f", value)[2:], "little")
        return number(float(value) if kind.startswith("fp") else value)

    def launch(self, work, kernel, args, maps, constants):
        meta, ptx = kernel.metadata, kernel.asm["ptx"]
        grid, scratch, tensor_maps = work.grid(), {}, {}
        blocks = meta.num_ctas
        for n in grid:
            blocks *= n
        if meta.num_ctas > 1:  # the grid counts clusters
            grid = [grid[0] * meta.num_ctas, *grid[1:]]
        for at, (name, (descriptor, block, index)) in reversed(list(enumerate(maps.items()))):
            made, sizes = self.tensor_map(work, descriptor, meta.tensordesc_meta[at] if meta.tensordesc_meta else None, block)
            args[index:index + 1] = ["map_" + name if made else descriptor.tensor, *sizes]
            if made:
                tensor_maps["map_" + name] = made
        for size, name in ((meta.global_scratch_size, "triton_scratch"), (meta.profile_scratch_size, "triton_profile")):
            if size:
                scratch[name] = f"u8[{size * blocks}]"
            args = [*args, name if size else 0]
        wanted = parameter_count(ptx, meta.name)
        if len(args) > wanted and not scratch:  # older ones have fewer hidden pointers
            args = args[:wanted]
        if len(args) != wanted:
            raise bench.Refused(f"the kernel has {wanted} parameters, {len(args)} are known: this Triton passes something that bench does not know")
        return bench.Made(ptx, meta.name, args, block_of(ptx, meta.name, [meta.num_warps * 32]), grid, meta.shared,
                          [meta.num_ctas] if meta.num_ctas > 1 else None, getattr(meta, "launch_cooperative_grid", False),
                          getattr(meta, "launch_pdl", False), scratch, tensor_maps, kernel.asm.get("cubin"))

    @staticmethod
    def tensor_map(work, descriptor, meta, block):
        """The descriptor that Triton's launcher makes (a CUtensorMap), and the shape and strides that follow it as arguments."""
        shape = [work.value(n) for n in descriptor.shape] if descriptor.shape else list(work.t[descriptor.tensor].shape)
        strides = strides_of(shape)
        sizes = [*shape, *strides]
        if meta is None:
            return None, sizes
        box = list(meta.get("block_size", block))
        swizzle = {0: 0, 1: 32, 2: 64, 3: 128}[meta["swizzle"]]
        return {"of": descriptor.tensor, "box": box[::-1], "dims": shape[::-1],
                "strides": strides[::-1][1:], "swizzle": swizzle}, sizes


def words_of_struct(value, pointer=None):
    """A struct of ctypes as the arguments of a by-value parameter: a whole number for each 8 bytes; its first is `pointer`."""
    raw = bytes(value)
    raw += bytes(-len(raw) % 8)
    words = [int.from_bytes(raw[i:i + 8], "little", signed=True) for i in range(0, len(raw), 8)]
    return ([pointer] if pointer else words[:1]) + words[1:]


def strides_of(shape):
    """Of a packed array, in elements."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    return strides


def product(sizes):
    n = 1
    for size in sizes:
        n *= size
    return n


def typed(kinds, dtype, tool):
    if dtype not in kinds:
        raise bench.Refused(f"{tool} has no {dtype}")
    return kinds[dtype]


def block_given(work):
    if "block" not in work.entry.keys:
        raise bench.Mistake(f"{work.entry.name}: block= is missing; the tool leaves it to the launch")
    return bench.three(work.value(work.entry.keys["block"]), "block")


def launch_of(work, ptx, entry, args, block=None, name=None):
    """A launch as the decorator says it; what the code demands is taken from the code."""
    keys = work.entry.keys
    cluster = re.search(r"\.reqnctapercluster\s+([\d, ]+)", ptx)
    if name and name != entry:  # mangled names may be longer than a row's
        ptx = re.sub(re.escape(entry) + r"(?![\w$])", name, ptx)
        entry = name
    return bench.Made(ptx, entry, args, block_of(ptx, entry) or block or block_given(work), work.grid(), work.value(keys.get("smem", 0)),
                      [int(n) for n in cluster[1].split(",")] if cluster else keys.get("cluster"), keys.get("cooperative", False))


def parameters_of(work, function, options=()):
    """The names of its parameters; each constant of the decorator must be one of them, or an option of the tool."""
    names = list(inspect.signature(function).parameters)
    unknown = [key for key in work.constants if key not in names and key not in options]
    if unknown:
        raise bench.Mistake(f"'{unknown[0]}' is no parameter of {work.entry.name}: {', '.join(names)}")
    return names


class Numba:
    KINDS = {"f64": "float64", "f32": "float32", "f16": "float16", "i8": "int8", "u8": "uint8", "u16": "uint16", "i32": "int32", "u32": "uint32",
             "i64": "int64", "u64": "uint64", "bool": "boolean", "e2m1": "uint8", "e8m0": "uint8"}

    def takes(self, function):
        return module_of(function) in ("numba", "numba_cuda") and hasattr(function, "py_func")

    def label(self):
        return f"numba-cuda {version('numba-cuda')}"

    def make(self, work):
        from numba import typeof, types
        own = ("fastmath", "opt", "launch_bounds", "max_registers")
        function = work.entry.function
        pairs = work.arguments(parameters_of(work, function.py_func, own))
        given = [typeof(value) if value is not None else
                 types.Array(getattr(types, typed(self.KINDS, work.dtype(word), "numba")), len(work.shape(word)), "C", aligned=True) for word, value in pairs]
        chosen, args = bench_numba.chosen(function, given), []
        for (word, value), kind in zip(pairs, chosen):
            if value is None:
                shape, size = work.shape(word), kind.dtype.bitwidth // 8
                args += [0, 0, product(shape), size, word, *shape, *(n * size for n in strides_of(shape))]
            else:
                args.append(number(float(value) if isinstance(kind, types.Float) else value))
        options = {**function.targetoptions, **work.constants}
        options = {key: options[key] for key in own if options.get(key) is not None}
        ptx = bench_numba.compiled(function, chosen, work.cc, **options)
        return launch_of(work, ptx, entry_of(ptx, work.entry.name), args, name=work.entry.name)


class Cute:
    """A @cute.jit function that launches one kernel with its own arguments in the same order."""
    KINDS = {"f64": "Float64", "f32": "Float32", "f16": "Float16", "bf16": "BFloat16", "i8": "Int8", "u8": "Uint8", "u16": "Uint16", "i32": "Int32",
             "u32": "Uint32", "e4m3": "Float8E4M3FN", "e5m2": "Float8E5M2", "i64": "Int64", "u64": "Uint64", "bool": "Boolean"}

    def takes(self, function):
        return module_of(inspect.unwrap(function)) == "cutlass" or "cutlass" in str(getattr(inspect.unwrap(function), "_dsl_cls", "")) or \
            hasattr(function, "_dsl_object")

    def label(self):
        return f"CuTe DSL {version('nvidia-cutlass-dsl')}"

    @staticmethod
    def constants_of(work):
        """What the decorator gives, and the defaults of parameters that are neither tensors nor fields."""
        constants = {name: value for name, value in work.constants.items() if name not in work.f}
        for name, p in inspect.signature(work.entry.function).parameters.items():
            if p.default is not p.empty and name not in constants and name not in work.t and name not in work.f:
                constants[name] = work.p.setdefault(name, p.default)
        return constants

    def make(self, work):
        import cutlass
        import cutlass.cute as cute
        from cutlass.cute.runtime import make_fake_compact_tensor
        constants = self.constants_of(work)
        names, given, args = parameters_of(work, work.entry.function), [], []
        for word, value in work.arguments([name for name in names if name not in constants]):
            if value is None:
                shape = tuple(work.shape(word))
                given.append(make_fake_compact_tensor(getattr(cutlass, typed(self.KINDS, work.dtype(word), "CuTe DSL")), shape,
                                                      stride_order=tuple(reversed(range(len(shape)))), assumed_align=16))
                args.append(word)
            else:
                given.append(cutlass.Float32(value) if isinstance(value, float) else cutlass.Int32(value))
                args.append(number(value))
        rest = iter(given)
        with self.launches() as seen:
            made = cute.compile(work.entry.function, *(constants[name] if name in constants else next(rest) for name in names))
        ptx = made.__ptx__
        if ptx and os.path.exists(str(ptx)):
            with open(ptx) as file:
                ptx = file.read()
        entries = re.findall(r"\.entry\s+([\w$.]+)", ptx or "")
        if len(entries) != 1:
            raise bench.Refused(f"{work.entry.name} launches {len(entries)} kernels; a row of compiled code has one: use @bench.call")
        grid, block, smem = seen[0] if len(seen) == 1 else (None, None, None)
        keys = work.entry.keys
        made = launch_of(work, ptx, entries[0], args, block, name=work.entry.name)
        if "grid" not in keys:
            if grid is None:
                raise bench.Mistake(f"{work.entry.name}: grid= is missing, and its launch has no numbers for it")
            made.grid = grid
        if "smem" not in keys and re.search(r"\.extern\s+\.shared", ptx):
            if smem is None:
                raise bench.Mistake(f"{work.entry.name} has dynamic shared memory: say smem=BYTES here, or a number in its launch(smem=...)")
            made.smem = smem
        return made

    @staticmethod
    @contextlib.contextmanager
    def launches():
        """(grid, block, shared memory) of each launch that the function asks for; None where it is no number yet."""
        import cutlass
        seen, kind = [], getattr(cutlass, "LaunchConfig", None)
        whole = lambda sizes: list(sizes) if all(type(n) is int for n in sizes) else None
        before = getattr(kind, "__post_init__", None)

        def note(config):
            before(config)
            seen.append((whole(config.grid), whole(config.block), config.smem if type(config.smem) is int else None))
        with mock.patch.object(kind, "__post_init__", note) if before else contextlib.nullcontext():
            yield seen


class Warp:
    KINDS = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "u8": "uint8", "u16": "uint16", "i32": "int32",
             "u32": "uint32", "i64": "int64", "u64": "uint64", "bool": "bool", "e4m3": "uint8", "e5m2": "uint8", "e2m1": "uint8", "e8m0": "uint8"}

    def takes(self, function):
        return module_of(function) == "warp"

    def label(self):
        return f"Warp {version('warp-lang')}"

    def make(self, work):
        import warp
        keys, function, folder = work.entry.keys, work.entry.function, tempfile.mkdtemp()
        pairs = work.arguments(parameters_of(work, function.func))
        if function.is_generic:
            function = function.add_overload([self.concrete(kind, work, *pair) for kind, pair in zip(function.adj.arg_types.values(), pairs)])
        block = [work.value(keys.get("block", 256))]
        module = function.module
        module.options["block_dim"] = block[0]  # by which tiles are spread over threads
        try:
            warp.config.quiet, warp.config.lineinfo = True, True
            warp.compile_aot_module(module, device=None, arch=work.cc, module_dir=folder, use_ptx=True)
            files = {name.split(".")[-1]: open(os.path.join(folder, name)).read() for name in os.listdir(folder) if name.endswith((".ptx", ".meta"))}
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        dim = bench.three(work.value(keys.get("dim", 1)), "dim")
        shape = (ctypes.c_uint32 * (len(dim) + len(dim) % 2))(*dim)
        args = words_of_struct(shape) + [product(dim), 1]
        for (name, kind), (word, value) in zip(function.adj.arg_types.items(), pairs):
            args += self.array(work, name, kind, word) if value is None else [number(value)]
        keys.setdefault("grid", lambda f, p, t: 1)
        entry = function.get_mangled_name() + "_cuda_kernel_forward"
        made = launch_of(work, files["ptx"], entry, args, block, name=work.entry.name)
        made.grid = [-(-product(dim) // product(made.block))]
        made.smem = made.smem or json.loads(files.get("meta", "{}")).get(entry + "_smem_bytes", 0)
        return made

    def concrete(self, kind, work, word, value):
        """The type of an argument where the kernel says typing.Any."""
        import warp
        if not warp._src.types.type_is_generic(kind):
            return kind
        if value is None:
            return warp.array(dtype=getattr(warp, self.KINDS[work.dtype(word)], None), ndim=len(work.shape(word)))
        return warp.float32 if isinstance(value, float) else warp.int32

    def array(self, work, name, kind, word):
        """A tensor as the kernel's annotation has it: of vectors or matrices, the last dimensions belong to the element."""
        import warp
        from warp._src.types import array_t, type_scalar_type
        shape, given = list(work.shape(word)), getattr(warp, self.KINDS[work.dtype(word)], None)
        if not hasattr(kind, "ndim"):
            raise bench.Refused(f"its parameter {name} is {kind}: bench has tensors for warp.array alone")
        item = list(getattr(kind.dtype, "_shape_", ()))
        sizes = shape[:len(shape) - len(item)]
        if warp._src.types.type_to_warp(type_scalar_type(kind.dtype)) != given or len(sizes) != kind.ndim or shape[len(sizes):] != item:
            raise bench.Refused(f"its parameter {name} is {warp._src.types.type_repr(kind)}, {word} is {work.dtype(word)}{shape}")
        size = ctypes.sizeof(given._type_) if hasattr(given, "_type_") else 1
        return words_of_struct(array_t(1, 0, len(sizes), sizes, [n * size for n in strides_of(shape)[:len(sizes)]]), word)


class TileLang:
    """A function that returns the prim_func for given sizes (tool="tilelang"): its parameters are fields and constants."""

    def takes(self, function):
        return module_of(function) == "tilelang"

    def label(self):
        return f"TileLang {version('tilelang')}"

    def make(self, work):
        import tilelang
        from tilelang.backend.target import determine_target
        function = work.entry.function
        for name in ("func", "orig_func", "__wrapped__"):  # of @tilelang.jit
            function = function if module_of(function) == "builtins" or inspect.isfunction(function) else getattr(function, name, function)
        if inspect.isfunction(function):
            given = {**work.f, **work.constants}
            function = function(**{name: given[name] for name, p in inspect.signature(function).parameters.items() if name in given})
        target = determine_target({"kind": "cuda", "arch": work.arch}, return_object=True)
        with target:
            made = tilelang.lower(function, target=target, enable_device_compile=False)
        kernels = [(name.name_hint, kernel.attrs) for name, kernel in made.device_mod.functions.items()]
        if len(kernels) != 1:
            raise bench.Refused(f"{work.entry.name} makes {len(kernels)} kernels; a row of compiled code has one: use @bench.call")
        name, attrs = kernels[0]
        extent = {key: int(value) for key, value in attrs["thread_extent"].items()}
        launch = {part: [extent.get(f"{part}.{axis}", 1) for axis in "xyz"] for part in ("blockIdx", "threadIdx")}
        ptx = self.compile(made.kernel_source, work.arch)
        names = [buffer.name for buffer in (function.buffer_map[p] for p in function.params if p in function.buffer_map)]
        args = [word if value is None else number(value) for word, value in work.arguments(names)]
        args, maps = self.with_maps(made, dict(zip(names, args)), args)
        if parameter_count(ptx, name) != len(args):
            raise bench.Refused(f"{name} has {parameter_count(ptx, name)} parameters, of which bench knows {len(args)}")
        smem = int(attrs["dyn_shared_memory_buf"]) if "dyn_shared_memory_buf" in attrs else 0
        return bench.Made(ptx, name, args, block_of(ptx, name, launch["threadIdx"]), launch["blockIdx"], smem, maps=maps)

    @staticmethod
    def with_maps(made, words, args):
        """The kernel's arguments where TMA descriptors take the place of tensors, as TileLang's host code would make them."""
        described, maps = {}, {}
        for host in made.host_mod.functions.values():
            described.update({v.name: list(made) for v, made in dict((host.attrs or {}).get("tma_descriptor_args", {})).items()})
        if not described:
            return args, {}
        kernel, = made.device_mod.functions.values()
        for name, (maker, _, _, rank, tensor, *sizes) in described.items():
            rank, sizes = int(rank), [int(n) for n in sizes]
            dims, strides, box, steps = (sizes[k * rank:(k + 1) * rank] for k in range(4))
            interleave, swizzle, _, fill = sizes[4 * rank:]
            if str(getattr(maker, "value", maker)) != "__tvm_tensormap_create_tiled" or interleave or fill or steps != [1] * rank:
                raise bench.Refused("this kernel has a TMA descriptor of a kind that bench does not make")
            maps["map_" + name] = {"of": words[tensor.name], "box": box, "dims": dims, "strides": [n // strides[0] for n in strides[1:]], "swizzle": [0, 32, 64, 128][swizzle]}
        return ["map_" + p.name if p.name in described else words.get(p.name, 0) for p in kernel.params], maps

    @staticmethod
    def compile(source, arch):
        from tilelang import env
        beside = [os.path.join(folder, "nvidia", "cu13", "bin") for folder in sys.path]
        nvcc = shutil.which("nvcc") or shutil.which("nvcc", path=os.pathsep.join(beside))
        if not nvcc:
            raise bench.Refused("TileLang writes CUDA C++: nvcc is missing (pip install nvidia-cuda-nvcc)")
        folder = tempfile.mkdtemp()
        try:
            with open(os.path.join(folder, "k.cu"), "w") as file:
                file.write(source)
            done = subprocess.run([nvcc, "-ptx", "-std=c++17", "-O3", "-lineinfo", f"-arch={arch}", "-I", env.TILELANG_TEMPLATE_PATH, "-I",
                                   env.CUTLASS_INCLUDE_DIR, "-o", "k.ptx", "k.cu"], cwd=folder, capture_output=True, text=True)
            if done.returncode:
                raise bench.Mistake("nvcc: " + done.stderr[-1500:])
            with open(os.path.join(folder, "k.ptx")) as file:
                return file.read()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class CuTile:
    KINDS = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "u8": "uint8", "i32": "int32", "u32": "uint32",
             "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "i64": "int64", "u64": "uint64", "bool": "bool_"}

    def takes(self, function):
        return type(function).__module__.startswith("cuda.tile")

    def label(self):
        return f"cuTile {version('cuda-tile')}"

    def make(self, work):
        import cuda.tile as ct
        from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature, ScalarConstraint, export_kernel
        names = parameters_of(work, bench.plain(work.entry.function))
        constraints, args = [], []
        for word, value in work.arguments(names):
            if word in work.constants and word not in work.f:
                constraints.append(value)
            elif value is None:
                shape, strides = work.shape(word), strides_of(work.shape(word))
                constraints.append(ArrayConstraint(getattr(ct, typed(self.KINDS, work.dtype(word), "cuTile")), len(shape), index_dtype=ct.int32,
                                                   stride_lower_bound_incl=0, alias_groups=[], may_alias_internally=False,
                                                   stride_constant=[None] * (len(shape) - 1) + [1], base_addr_divisible_by=16,
                                                   stride_divisible_by=[16 if n % 16 == 0 else 1 for n in strides],
                                                   shape_divisible_by=[16 if n % 16 == 0 else 1 for n in shape]))
                args += [word, *shape, *strides]
            else:
                constraints.append(ScalarConstraint(ct.float32 if isinstance(value, float) else ct.int32))
                args.append(number(value))
        signature = KernelSignature(constraints, CallingConvention.cutile_python_v1(), work.entry.name)
        cubin = io.BytesIO()
        ptx = self.ptx(lambda: export_kernel(work.entry.function, [signature], cubin, gpu_code="sm_%d" % work.cc, output_format="cubin"))
        made = launch_of(work, ptx, entry_of(ptx, work.entry.name), args)
        if ".hidden" in ptx:  # TMA descriptors behind the arguments: the driver makes them from the cubin, for emu nobody does
            made.code = cubin.getvalue()
        return made

    @staticmethod
    def ptx(export):
        """tileiras prints no PTX: it starts the ptxas that lies beside it, so a folder with another ptxas keeps what it is given."""
        from cuda.tile import _compile
        real, top = _compile._find_compiler_bin(), tempfile.mkdtemp()
        folder = os.path.dirname(real.path)
        try:
            for path in (os.path.dirname(folder), folder):
                to = top if path != folder else os.path.join(top, "bin")
                os.makedirs(to, exist_ok=True)
                for name in os.listdir(path):
                    if name not in ("bin", "ptxas", os.path.basename(real.path)):
                        os.symlink(os.path.join(path, name), os.path.join(to, name))
            tool = shutil.copy(real.path, os.path.join(top, "bin"))
            script = os.path.join(top, "bin", "ptxas")
            with open(script, "w") as file:
                file.write(f'#!/bin/sh\nfor f; do case $f in *.ptx) cp "$f" {top}/$$.kept;; esac; done\nexec {folder}/ptxas "$@"\n')
            os.chmod(script, 0o755)
            other = _compile._CompilerBinary(tool, real.bin_path, real.ld_path, real.pass_cuda_home_var)
            with mock.patch.multiple(_compile, _find_compiler_bin=lambda: other, _get_compiler_version_string=lambda: None):  # the second: no cache
                export()
            kept = [open(os.path.join(top, name)).read() for name in os.listdir(top) if name.endswith(".kept")]
        finally:
            shutil.rmtree(top, ignore_errors=True)
        kept = [text for text in kept if ".entry" in text]
        if not kept:
            raise bench.Refused("tileiras gave no PTX away: this version does not start a ptxas")
        return kept[0]


class Fake:
    """A tool of the tests: a function that returns the PTX itself, with the launch in the decorator (tool="ptx")."""

    def takes(self, function):
        return False

    def label(self):
        return "PTX"

    def make(self, work):
        keys = work.entry.keys
        text = work.entry.function(**{name: value for name, value in work.constants.items()})
        entry = entry_of(text, work.entry.name)
        args = [word if value is None else number(value) for word, value in work.arguments([])]
        return bench.Made(text, entry, args, block_of(text, entry, keys.get("block") and bench.three(work.value(keys["block"]), "block")), work.grid(),
                          work.value(keys.get("smem", 0)))


TOOLS = {"triton": Triton(), "numba": Numba(), "cutile": CuTile(), "cute": Cute(), "tilelang": TileLang(), "warp": Warp(), "ptx": Fake(), "called": bench_host.Called()}


def before(path, arch="sm_90"):
    """What the tools that a file imports need before they read it."""
    with open(path, errors="replace") as file:
        text = file.read()
    if re.search(r"^\s*(?:from|import)\s+numba\b", text, re.M):
        with contextlib.suppress(ImportError):  # told when the file is read
            bench_numba.before(int(re.search(r"\d+", arch)[0]))


def tool_of(entry):
    named = "called" if entry.keys.get("called") else entry.keys.get("tool")
    if named and named not in TOOLS:
        raise bench.Mistake(f"tool '{named}': the tools are {', '.join(TOOLS)}")
    for name, tool in TOOLS.items():
        if name == named or (not named and tool.takes(entry.function)):
            return tool
    raise bench.Mistake(f"{entry.name}: no tool of {', '.join(TOOLS)} made it; mark a plain callable with @bench.call, or a function that returns "
                        'PTX with tool="ptx"')
