"""bench_numba: what numba-cuda does with a device, done without one: signatures, functions of the device, and the C++ that a kernel is linked with."""
import functools
import re
from types import SimpleNamespace
from unittest import mock

import bench

GRID = """#include <cooperative_groups.h>
extern "C" __device__ unsigned long long bench_GetIntrinsicHandle(unsigned) { return 1; }
extern "C" __device__ unsigned bench_Synchronize(unsigned long long, unsigned) { cooperative_groups::this_grid().sync(); return 0; }
"""  # of the device runtime, which numba's linker adds: all that cuda.cg calls; the header declares the true names, cudaCG...


def before(cc):
    """A signature in @cuda.jit makes numba compile for this process's device, which may not exist: it is kept for chosen() instead. Functions of
    the device are compiled for that of the run."""
    from numba.cuda import dispatcher

    def keep(self, signature):
        self.overloads[tuple(signature)] = None
    dispatcher.CUDADispatcher.compile = keep
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=divmod(cc, 10))


def takes(kind, given):
    from numba import types
    if isinstance(kind, types.Array) and isinstance(given, types.Array):
        return (kind.dtype, kind.ndim) == (given.dtype, given.ndim) and kind.layout in "AC"
    return isinstance(kind, types.Number) and isinstance(given, types.Number)


def chosen(function, given):
    """The types of the parameters: those of the arguments, or of the kernel's signature that takes them."""
    for signature in function.signatures or [given]:
        if len(signature) == len(given) and all(map(takes, signature, given)):
            return signature
    said = " or ".join(f"({', '.join(map(str, signature))})" for signature in function.signatures)
    raise bench.Refused(f"its signature is {said}, the arguments are ({', '.join(map(str, given))})")


class Program:
    """In place of cuda.core's, whose compile() asks for a driver."""

    def __init__(self, source, _, options):
        self.source, self.options = source, options

    def compile(self, *_, **__):
        options = [word for word in self.options.as_bytes("nvrtc", "ptx") if b"line-info" not in word]
        return ptx_of(self.source.encode(), tuple(options))


@functools.cache
def ptx_of(source, options):
    from cuda.bindings import nvrtc
    _, program = nvrtc.nvrtcCreateProgram(source, b"linked.cu", 0, [], [])
    error, = nvrtc.nvrtcCompileProgram(program, len(options), list(options))
    _, size = nvrtc.nvrtcGetProgramLogSize(program) if error else nvrtc.nvrtcGetPTXSize(program)
    text = bytes(size)
    (nvrtc.nvrtcGetProgramLog if error else nvrtc.nvrtcGetPTX)(program, text)
    text = text.rstrip(b"\0").decode()
    if error:
        raise bench.Refused(f"numba links C++ that its NVRTC does not compile: {text[:400]}")
    return text


def joined(kernel, linked):
    """One module of several: the linked ones first, since a function stands before its calls; the kernel's declarations of what they define go."""
    begin = r"(?s)^.*?\.address_size\s+\d+\s*"
    bodies = [re.sub(begin, "", text, count=1) for text in linked]
    defined = {name for body in bodies for name in re.findall(r"\.visible\s+\.func\s+(?:\([^)]*\)\s*)?([\w$]+)", body)}
    declared = r"\.extern\s+\.func\s+(?:\([^)]*\)\s*)?([\w$]+)[^;{]*;"
    kernel = re.sub(declared, lambda found: "" if found[1] in defined else found[0], kernel)
    head = re.match(begin, kernel)[0]
    newest = max(re.findall(r"\.version\s+(\d+\.\d+)", "\n".join([kernel, *linked])), key=lambda said: [int(n) for n in said.split(".")])
    return re.sub(r"(\.version\s+)[\d.]+", rf"\g<1>{newest}", head) + "\n".join(bodies) + kernel[len(head):]


def compiled(function, types_, cc, **options):
    """The kernel's PTX, with all that numba would link."""
    from numba import cuda, types
    from numba.cuda.cudadrv import nvrtc
    registers = options.pop("max_registers", None)
    with mock.patch.object(nvrtc, "Program", Program):
        kernel, *linked = cuda.compile_all(function.py_func, types.void(*types_), cc=divmod(cc, 10), device=False, output="ptx", abi="numba", lineinfo=True, **options)[0]
        if "cudaCGSynchronize" in kernel:
            linked.append(nvrtc.compile(GRID, "grid.cu", divmod(cc, 10))[0].replace("bench_", "cudaCG"))
    unknown = [part for part in linked if not isinstance(part, str)]
    if unknown:
        raise bench.Refused(f"numba links it with {unknown[0]}, which is neither C++ nor PTX")
    if linked:
        kernel = joined(kernel, linked)
    return re.sub(r"(\.entry\s+[\w$.]+\s*\([^)]*\))", rf"\1\n.maxnreg {registers}", kernel) if registers else kernel
