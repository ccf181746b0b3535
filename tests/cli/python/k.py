"""Kernels of a Python file, of a tool that returns PTX as it is: what bench and kernels/python/bench.py say to each other."""
import threading

import bench

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def text(name, block, body):
    return (HEAD + f".visible .entry {name}(.param .u64 x, .param .u64 y, .param .u32 n, .param .f32 a)\n.reqntid {block}, 1, 1\n{{\n"
            ".reg .pred %p;\n.reg .b32 %r<8>;\n.reg .f32 %f<4>;\n.reg .b64 %d<8>;\n"
            "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.u32 %r4, %r1, %r2, %r3;\nld.param.u32 %r5, [n];\n"
            "setp.ge.u32 %p, %r4, %r5;\n@%p bra DONE;\nld.param.u64 %d1, [x];\nld.param.u64 %d2, [y];\nld.param.f32 %f1, [a];\n"
            "mul.wide.u32 %d3, %r4, 4;\nadd.u64 %d4, %d1, %d3;\nadd.u64 %d5, %d2, %d3;\nld.global.f32 %f2, [%d4];\n"
            f"{body}\nst.global.f32 [%d5], %f3;\nDONE:\nret;\n}}\n")


def truth(x, a):
    """Scales every element."""
    return a * x


scale = bench.op("scale", fields={"n": 1000, "a": 2.5}, tensors="x: [n]; y: [n] written", terms=1, reference=truth)


@scale.kernel(grid=lambda f, p: (-(-f.n // p.threads),), args="x y n a", tool="ptx", threads="threads")
@bench.configs(threads=[64, 128])
def right(threads):
    return text("right", threads, "mul.f32 %f3, %f1, %f2;")


@scale.kernel(grid="ceil(n, 64)", args="x y n a", tool="ptx", what="x, y and n in a struct by value")
def packed():
    return (text("packed", 64, "mul.f32 %f3, %f1, %f2;").replace(".param .u64 x, .param .u64 y, .param .u32 n,", ".param .align 8 .b8 s[20],")
            .replace("[n]", "[s+16]").replace("[x]", "[s]").replace("[y]", "[s+8]"))


@scale.kernel(grid="ceil(n, 64)", args="x y n a", tool="ptx", what="a float of type .b32, as Mojo writes it")
def untyped():
    return text("untyped", 64, "mul.f32 %f3, %f1, %f2;").replace(".param .f32 a", ".param .b32 a")


@scale.kernel(grid="ceil(n, 64)", args="x, y, n, a", tool="ptx", what="adds instead")
def wrong():
    return text("wrong", 64, "add.f32 %f3, %f1, %f2;")


@scale.kernel(grid="ceil(n, 64)", args="x y n a", tool="ptx")
def impossible():
    raise bench.Refused("needs a chip that does not exist")


@scale.kernel(grid="ceil(n, 64)", args="x y n a", tool="ptx")
def broken():
    return missing


@scale.kernel(grid="ceil(n, 64)", args="x y n a", tool="ptx")
def printed():
    import os
    os.write(2, b"k.py:7:3: error: operand 1 is wrong\n")
    raise RuntimeError("error encountered during parsing")


@scale.kernel(grid="ceil(n, 64)", args="x y n a", tool="ptx", size="n")
def sized(size):
    return text("sized", 64, f"// for {size} elements\nmul.f32 %f3, %f1, %f2;")


@scale.kernel(grid="ceil(n, 64)", args="x y n a", tool="ptx")
def coloured():
    raise RuntimeError("\x1b[91m\x1b[1moperand 2\x1b[0m is wrong")


@scale.kernel(grid="ceil(n, 64)", args="x y n a", tool="ptx", what="adds to what nothing has written")
def adds():
    return (text("adds", 64, '.file 1 "k.py"\n.loc 1 80 1\nld.global.f32 %f3, [%d5];\nfma.rn.f32 %f3, %f1, %f2, %f3;')
            .replace('.file 1 "k.py"\n', "") + '.file 1 "k.py"\n')


thread = threading.local()
states = []


@scale.call
def called(x, a):
    if not hasattr(thread, "mine"):  # lives as long as Python's state of this thread, to which libraries keep a pointer
        thread.mine = len(states)
        states.append(threading.get_ident())
    return a * x if len(set(states)) == len(states) else 0 * x


@scale.call(what="writes in place, and one element too many")
def outside(x, y, a):
    import ctypes
    y[...] = a * x
    ctypes.memset(y.ctypes.data + y.nbytes, 0, 4)


@scale.call
def dies(x):
    import os
    os.abort()
