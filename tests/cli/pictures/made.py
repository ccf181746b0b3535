"""What the test shows: a picture, NumPy's cuts of it, and whether the page holds what the files do."""
import base64
import importlib.util
import os
import re
import struct
import sys
import zlib

import numpy


def tiles(input, boxes, output):
    made = numpy.zeros(output.shape)
    for i, (x, y, w, h) in enumerate(boxes.astype(int)):
        cut = input[i // (len(boxes) // len(input))][:, y:y + h, x:x + w]
        rows, columns = ((2 * numpy.arange(14) + 1) * h // 28), ((2 * numpy.arange(15) + 1) * w // 30)
        made[i] = numpy.rot90(cut[::-1][:, rows][:, :, columns], -1, (1, 2))
    return made


def unpack(data):
    """The samples of a PNG that pictures.png wrote."""
    w, h = struct.unpack(">II", data[16:24])
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    return numpy.frombuffer(zlib.decompress(packed), numpy.uint8).reshape(h, 3 * w + 1)[:, 1:].reshape(h, w, 3)


if __name__ == "__main__" and sys.argv[1] == "page":
    got = numpy.load(os.path.join(sys.argv[3], "output.npy"))
    pictures = [unpack(base64.b64decode(code)) for code in re.findall('base64,([^"]*)', open(sys.argv[2]).read())]
    low, high = got.min(), got.max()
    for i in range(4):  # behind the input: of each image bench's, NumPy's, their difference
        ours, theirs, off = pictures[1 + 3 * i:4 + 3 * i]
        shown = ((got[i] - low) * (255 / (high - low))).round().astype(numpy.uint8).transpose(1, 2, 0)
        assert (ours == shown).all() and (theirs == ours).all() and not off.any()
elif __name__ == "__main__" and sys.argv[1] == "spoil":
    path = os.path.join(sys.argv[2], "output.npy")
    got = numpy.load(path)
    got[1, 2, 3, 4] += 1 if got[1, 2, 3, 4] < 255 else -1
    numpy.save(path, got)
elif __name__ == "__main__":
    spec = importlib.util.spec_from_file_location("pictures", os.path.join(sys.argv[1], "ci/pictures.py"))
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    y, x = numpy.mgrid[0:64, 0:96]
    waves = numpy.stack([128 + 100 * numpy.sin(x / 7), 128 + 100 * numpy.cos(y / 5), (x * 3 + y * 2) % 256], 2)
    with open("made.png", "wb") as f:
        f.write(pictures.png(numpy.ascontiguousarray(waves.astype(numpy.uint8))))
