# x.npy, 2 x + 1 in y.npy, 0.5 in half.npy, and x.npy of one element with its y.npy in one/, without NumPy
import os
import struct


def write(name, kind, values):
    text = "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }" % (kind, len(values))
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        f.write(struct.pack("<%d%s" % (len(values), {"<f4": "f", "<f8": "d"}[kind]), *values))


x = [((i * 7) % 11 - 5) / 4 for i in range(40)]
write("ops/x.npy", "<f4", x)
write("ops/y.npy", "<f8", [2 * v + 1 for v in x])
write("ops/half.npy", "<f8", [0.5 for v in x])
write("ops/x1.npy", "<f4", x[:1])
write("ops/y1.npy", "<f8", [2 * x[0] + 1])
