#!/usr/bin/env python3
"""Makes a picture, or a video of a few frames, that looks like one: soft light, edges, small print, grain. For scenarios whose `data: {input: FILE}` names it.

usage: made_frame.py FILE.png|FILE.y4m [WIDTH HEIGHT [FRAMES]]       3840 2160 1 when nothing is said; a video has a quarter of the colours (4:2:0)
"""
import math
import struct
import sys
import zlib


def frame(w, h, at):
    """Rows of red, green, blue bytes."""
    bars = [bytes((40, 40, 48)), bytes((220, 30, 40)), bytes((30, 200, 90)), bytes((40, 90, 230)), bytes((250, 250, 245))]
    shade = [int(60 + 80 * (1 + math.sin(2 * math.pi * (x / w + at / 50)))) for x in range(w)]
    for y in range(h):
        base = 40 + 120 * y // h
        if y % 67 < 9:  # small print
            bit = zlib.crc32(struct.pack("<II", y // 67, at))
            row = b"".join(bars[4] if (bit >> (x // 3 % 31)) & 1 else bars[0] for x in range(w))
        else:
            grain = zlib.crc32(struct.pack("<II", y, at))
            row = b"".join(bytes((s, base, 255 - s // 2)) for s in shade)
            cut = grain % (w // 2 + 1)
            length = min(40, w - cut)
            row = row[:3 * cut] + bars[1 + grain % 3] * length + row[3 * (cut + length):]
        yield row


def write_png(path, w, h):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    raw = b"".join(b"\0" + row for row in frame(w, h, 0))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(raw, 1)) + chunk(b"IEND", b""))


def write_y4m(path, w, h, frames):
    with open(path, "wb") as f:
        f.write(b"YUV4MPEG2 W%d H%d F25:1 C420\n" % (w, h))
        for at in range(frames):
            bright, blue, red = bytearray(), bytearray(), bytearray()
            for y, row in enumerate(frame(w, h, at)):
                r, g, b = row[0::3], row[1::3], row[2::3]
                line = bytes((299 * i + 587 * j + 114 * k + 500) // 1000 for i, j, k in zip(r, g, b))
                bright += line
                if y % 2 == 0:
                    blue += bytes(max(0, min(255, 128 + (k - i) * 564 // 1000)) for i, k in zip(line[::2], b[::2]))
                    red += bytes(max(0, min(255, 128 + (k - i) * 713 // 1000)) for i, k in zip(line[::2], r[::2]))
            f.write(b"FRAME\n" + bright + blue + red)


def main():
    if len(sys.argv) not in (2, 4, 5):
        sys.exit(__doc__)
    w, h = (int(v) for v in sys.argv[2:4]) if len(sys.argv) > 3 else (3840, 2160)
    if sys.argv[1].endswith(".y4m"):
        write_y4m(sys.argv[1], w, h, int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    else:
        write_png(sys.argv[1], w, h)


main()
