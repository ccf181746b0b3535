"""bench_tools: how each tool is asked for the code and the launch of one kernel; TOOLS at the end is the table. To add a tool: a class with
`takes(function)`, `label()` and `make(work)`, which returns a bench.Made, and its place in the table."""
import importlib.metadata
import re

import bench
import bench_host


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "of an unknown version"


def module_of(function):
    return type(function).__module__.split(".")[0]


def block_of(ptx, entry, otherwise=None):
    """The block that the code demands (.reqntid)."""
    at = re.search(r"\.entry\s+" + re.escape(entry) + r"\s*\(", ptx)
    found = at and re.compile(r"\.(?:reqntid|maxntid)\s+([\d, ]+)").search(ptx, at.end(), ptx.find("{", at.end()))
    return [int(n) for n in found[1].split(",")] if found else otherwise


def entry_of(ptx, name):
    """The entry of that name, or the only one, or the one that contains the name."""
    entries = re.findall(r"\.entry\s+([\w$.]+)", ptx)
    found = [e for e in entries if e == name] or [e for e in entries if name in e] or entries
    if not found:
        raise bench.Mistake("the tool made no kernel (.entry) of it")
    return found[0]


def parameter_count(ptx, entry):
    begin = ptx.index("(", re.search(r"\.entry\s+" + re.escape(entry) + r"\b", ptx).end())
    return len(re.findall(r"\.param\b", ptx[begin:ptx.index(")", begin)]))


def number(value):
    """A number as a word of a head; a real keeps its point."""
    if isinstance(value, bool):
        return int(value)
    return repr(float(value)) if isinstance(value, float) else int(value)


class Triton:
    KINDS = {"f64": "fp64", "f32": "fp32", "f16": "fp16", "bf16": "bf16", "i8": "i8", "u8": "u8", "u16": "u16", "i32": "i32", "u32": "u32"}

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
            heuristics += list(getattr(function, "values", {}).items()) if hasattr(function, "values") else []
            function = function.fn
        return function, heuristics

    def make(self, work):
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.backends.nvidia.compiler import CUDAOptions
        from triton.compiler import ASTSource
        constants = dict(work.constants)
        function, heuristics = self.unwrap(work, constants)
        names = [p.name for p in function.params]
        given = [p.name for p in function.params if p.name not in constants and not p.is_constexpr]
        values = work.arguments(given)
        if len(values) != len(given):
            raise bench.Mistake(f"args has {len(values)} of the {len(given)} arguments of {work.entry.name}: {', '.join(given)}")
        all_values = {name: value for name, (_, value) in zip(given, values)}
        for name, value in heuristics:
            constants[name] = value({**all_values, **constants})
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
        source = ASTSource(fn=function, signature=signature, constexprs=constants, attrs=attrs)
        kernel = triton.compile(source, target=GPUTarget("cuda", work.cc, 32), options=options)
        return self.launch(work, kernel, args, maps, constants)

    def argument(self, work, p, i, word, value, signature, attrs, args, constants, maps):
        if isinstance(value, bench.Descriptor):
            block = [work.value(n) for n in value.block]
            signature[p.name] = f"tensordesc<{self.KINDS[work.dtype(value.tensor)]}{block}>".replace(" ", "")
            maps[p.name] = (value, block, len(args))
            args.append(p.name)
        elif value is None:
            signature[p.name] = "*" + self.KINDS[work.dtype(word)]
            attrs[(i,)] = [["tt.divisibility", 16]]
            args.append(word)
        elif isinstance(value, float):
            signature[p.name] = "fp32"
            args.append(number(value))
        elif int(value) == 1 and not p.do_not_specialize: # as triton.jit does
            signature[p.name] = "constexpr"
            constants[p.name] = 1
        else:
            signature[p.name] = "i32" if -2**31 <= value < 2**31 else "i64" if value < 2**63 else "u64"
            if value % 16 == 0 and not p.do_not_specialize:
                attrs[(i,)] = [["tt.divisibility", 16]]
            args.append(number(value))

    def launch(self, work, kernel, args, maps, constants):
        meta, ptx = kernel.metadata, kernel.asm["ptx"]
        grid, scratch, tensor_maps = work.grid(), {}, {}
        blocks = meta.num_ctas
        for n in grid:
            blocks *= n
        if meta.num_ctas > 1:  # the grid counts clusters
            grid = [grid[0] * meta.num_ctas, *grid[1:]]
        for at, (name, (descriptor, block, index)) in enumerate(reversed(maps.items())):
            index_of = list(maps).index(name)
            tensor_maps[name], sizes = self.tensor_map(work, descriptor, meta.tensordesc_meta[index_of] if meta.tensordesc_meta else None, block)
            args[index + 1:index + 1] = sizes
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
                          getattr(meta, "launch_pdl", False), scratch, tensor_maps)

    @staticmethod
    def tensor_map(work, descriptor, meta, block):
        """The descriptor that Triton's launcher makes (a CUtensorMap), and the shape and strides that follow it as arguments."""
        shape = [work.value(n) for n in descriptor.shape] if descriptor.shape else list(work.t[descriptor.tensor].shape)
        strides = [1]
        for n in reversed(shape[1:]):
            strides.insert(0, strides[0] * n)
        sizes = [*shape, *strides]
        if meta is None:
            return None, sizes
        box = list(meta.get("block_size", block))
        swizzle = {0: 0, 1: 32, 2: 64, 3: 128}[meta["swizzle"]]
        return {"of": descriptor.tensor, "box": box[::-1], "dims": shape[::-1],
                "strides": [s for s in strides[::-1][1:]], "swizzle": swizzle}, sizes


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


TOOLS = {"triton": Triton(), "ptx": Fake(), "called": bench_host.Called()}


def tool_of(entry):
    named = "called" if entry.keys.get("called") else entry.keys.get("tool")
    if named and named not in TOOLS:
        raise bench.Mistake(f"tool '{named}': the tools are {', '.join(TOOLS)}")
    for name, tool in TOOLS.items():
        if name == named or (not named and tool.takes(entry.function)):
            return tool
    raise bench.Mistake(f"{entry.name}: no tool of {', '.join(TOOLS)} made it; mark a plain callable with @bench.call, or a function that returns "
                        'PTX with tool="ptx"')
