# x.npy and y.npy without NumPy: y[i] = 2 x[i] + 1, 3 x 5, f32 and f64; and how far off y may be: 1; less; an array of another shape
import struct


def write(name, kind, values):
    text = "{'descr': '%s', 'fortran_order': False, 'shape': (3, %d), }" % (kind, len(values) // 3)
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        f.write(struct.pack("<%d" % len(values) + {"<f4": "f", "<f8": "d"}[kind], *values))


x = [((i * 7) % 11 - 5) / 4 for i in range(15)]
write("x.npy", "<f4", x)
write("y.npy", "<f8", [2 * v + 1 for v in x])
write("one.npy", "<f8", [1.0] * 15)
write("most.npy", "<f8", [0.9375] * 15)
write("x2.npy", "<f8", [1.0] * 12)
