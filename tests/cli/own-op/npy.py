# x.npy and y.npy without NumPy: y[i] = 2 x[i] + 1, 3 x 5, f32 and f64
import struct


def write(name, kind, values):
    text = "{'descr': '%s', 'fortran_order': False, 'shape': (3, 5), }" % kind
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        f.write(struct.pack("<15" + {"<f4": "f", "<f8": "d"}[kind], *values))


x = [((i * 7) % 11 - 5) / 4 for i in range(15)]
write("x.npy", "<f4", x)
write("y.npy", "<f8", [2 * v + 1 for v in x])
