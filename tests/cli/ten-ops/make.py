"""The files of axpy: inputs and the right result."""
import struct


def npy(name, values):
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack("<%df" % len(values), *values))


a, b = [i * 0.5 - 3 for i in range(50)], [(i * 7) % 11 - 5 for i in range(50)]
npy("ops/a.npy", a)
npy("ops/b.npy", b)
npy("ops/y.npy", [2 * x + y for x, y in zip(a, b)])
