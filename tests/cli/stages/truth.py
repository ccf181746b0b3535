"""Ops made of stages, and what comes out of them, by plain loops in double: nothing of it is bench's.

An image is a list of rows of pixels, a pixel a list of channels."""
import math
import random
import struct
import sys

random.seed(1)


def write(name, kind, shape, values):
    text = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (kind, "".join("%d, " % s for s in shape))
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        f.write(struct.pack("<%d%s" % (len(values), {"<f4": "f", "<f8": "d"}[kind]), *values))


def picture(h, w, c, low=100, high=255):
    return [[[random.randint(low, high) for _ in range(c)] for _ in range(w)] for _ in range(h)]


def planes(images):
    return [image[y][x][c] for image in images for c in range(len(image[0][0])) for y in range(len(image)) for x in range(len(image[0]))]


def each(image, f):
    return [[f(p) for p in row] for row in image]


def crop(image, box):
    x, y, w, h = box
    return [row[x:x + w] for row in image[y:y + h]]


def bilinear(image, v, u):
    """At row v, column u of the centres of pixels; beyond the edge the edge."""
    h, w = len(image), len(image[0])
    y, x = math.floor(v), math.floor(u)
    fy, fx = v - y, u - x
    at = lambda i, k: image[min(max(i, 0), h - 1)][min(max(k, 0), w - 1)]
    return [(1 - fy) * ((1 - fx) * a + fx * b) + fy * ((1 - fx) * c + fx * d)
            for a, b, c, d in zip(at(y, x), at(y, x + 1), at(y + 1, x), at(y + 1, x + 1))]


def resize(image, h, w):
    sy, sx = len(image) / h, len(image[0]) / w
    return [[bilinear(image, (y + 0.5) * sy - 0.5, (x + 0.5) * sx - 0.5) for x in range(w)] for y in range(h)]


def fit(image, h, w, background):
    ih, iw = len(image), len(image[0])
    scale = min(h / ih, w / iw)
    oh, ow = (max(1, math.floor(ih * scale + 0.5)), w) if iw * h > ih * w else (h, max(1, math.floor(iw * scale + 0.5)))
    small, top, left = resize(image, oh, ow), (h - oh) // 2, (w - ow) // 2
    return [[small[y - top][x - left] if 0 <= y - top < oh and 0 <= x - left < ow else [background] * len(image[0][0]) for x in range(w)]
            for y in range(h)]


def nearest(image, h, w):
    return [[image[int((y + 0.5) * len(image) / h)][int((x + 0.5) * len(image[0]) / w)] for x in range(w)] for y in range(h)]


def mirror(image, by):
    at = lambda i, size: -i if i < 0 else 2 * (size - 1) - i if i >= size else i
    h, w = len(image), len(image[0])
    return [[image[at(y, h)][at(x, w)] for x in range(-by, w + by)] for y in range(-by, h + by)]


def yuv(p):
    b, u, v = p[0], p[1] - 128, p[2] - 128
    return [b + 1.402 * v, b - 0.344136 * u - 0.714136 * v, b + 1.772 * u]


def nv12(image):
    h, w, out = len(image) * 2 // 3, len(image[0]), []
    for y in range(h):
        out.append([])
        for x in range(w):
            out[y].append(yuv([image[y][x][0], image[h + y // 2][x - x % 2][0], image[h + y // 2][x - x % 2 + 1][0]]))
    return out


def i420(image):
    """The planes, cut out of the bytes as they lie."""
    flat = [p[0] for row in image for p in row]
    h, w = len(image) * 2 // 3, len(image[0])
    bright, quarter = flat[:h * w], h // 2 * (w // 2)
    blue, red = flat[h * w:h * w + quarter], flat[h * w + quarter:]
    assert len(red) == quarter
    return [[yuv([bright[y * w + x], blue[y // 2 * (w // 2) + x // 2], red[y // 2 * (w // 2) + x // 2]]) for x in range(w)] for y in range(h)]


def turn(image):
    return [[image[len(image) - 1 - x][y] for x in range(len(image))] for y in range(len(image[0]))]


def warp(image, m, value):
    h, w, out = len(image), len(image[0]), []
    for y in range(h):
        out.append([])
        for x in range(w):
            u, v = (m[0] * x + m[1] * y + m[2]) / 65536, (m[3] * x + m[4] * y + m[5]) / 65536
            inside = 0 <= math.floor(u) < w and 0 <= math.floor(v) < h
            out[y].append(bilinear(image, v, u) if inside else [value] * len(image[0][0]))
    return out


def whole(most):
    def cast(v):
        v = min(max(v, 0), most)
        assert abs(v - math.floor(v) - 0.5) > 2e-4, "a case in which rounding could decide: choose another seed"
        return float(round(v))
    return cast


def op(name, images, into, stages, shape, kinds, boxes=None):
    """NAME.yaml, its inputs and its result."""
    n, c, h, w = len(images), len(images[0][0][0]), len(images[0]), len(images[0][0])
    write(name + "_in.npy", "<f4", (n, c, h, w), planes(images))
    write(name + "_out.npy", "<f8", shape, planes(into))
    box = ""
    if boxes:
        write(name + "_boxes.npy", "<f4", (len(boxes), 4), [v for b in boxes for v in b])
        box = "  boxes: {shape: [%d, 4], dtype: i32, data: {npy: %s_boxes.npy}}\n" % (len(boxes), name)
    with open(name + ".yaml", "w") as f:
        f.write("about: %s\nfields: {n: %d}\nmath: none\ntensors:\n" % (name, n) +
                "  input: {shape: [n, %d, %d, %d], dtype: %s, layout: %s, data: {npy: %s_in.npy}}\n" % (c, h, w, kinds[0], kinds[1], name) + box +
                "  output: {shape: [%s], dtype: %s, layout: %s, written: yes}\n" % (", ".join(map(str, shape)), kinds[2], kinds[3]) +
                "terms: 64\nstages: [%s]\nreference: {npy: {output: %s_out.npy}}\ntrial: {one: {}}\n" % (", ".join(stages), name))


frames = [picture(41, 53, 3) for _ in range(2)]
boxes = [(5, 3, 34, 25), (0, 30, 50, 7), (20, 2, 11, 39), (52, 40, 1, 1)]
into = []
for i, b in enumerate(boxes):
    image = fit(crop(frames[i // 2], b), 12, 10, 150)
    into.append(each(image, lambda p: [(v * m - 0.5) / 255 for v, m in zip(p, (1.4, 1.1, 0.9))][::-1]))
op("thumbs", frames, into, ["crop: {most_h: 39, most_w: 50, each: 2}", "fit: {to_h: 12, to_w: 10, background: 150}", "mul: [1.4, 1.1, 0.9]", "sub: 0.5",
                            "div: 255", "swap"], (4, 3, 12, 10), ("u8", "NHWC", "f32", "NCHW"), boxes)

video = [picture(30, 22, 1)]
image = each(resize(nv12(video[0]), 13, 17), lambda p: [0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2]])
image = each(image, lambda p: [whole(255)(min(max(p[0], 120), 230) * 1.01)] * 3)
op("video", video, [image], ["nv12", "resize: {to_h: 13, to_w: 17}", "grey", "clamp: {low: 120, high: 230}", "mul: 1.01", "cast: u8", "spread"],
   (1, 3, 13, 17), ("u8", "NCHW", "u8", "NHWC"))

# of 10 rows: V begins in the middle of a row of the tensor
film = [picture(15, 14, 1, 0), picture(15, 14, 1, 0)]
op("film", film, [resize(i420(frame), 7, 9) for frame in film], ["i420", "resize: {to_h: 7, to_w: 9}"], (2, 3, 7, 9), ("u8", "NCHW", "f32", "NCHW"))

half = lambda v: struct.unpack("<e", struct.pack("<e", v))[0]
marks = [each(picture(9, 14, 4), lambda p: [half(v / 8) for v in p])]
image = each(nearest(turn(mirror(marks[0], 3)), 11, 23), lambda p: [half(max(min(p[1] + 0.3, 30), 16))])
op("marks", marks, [image], ["border: {by: 3, mode: 1}", "turn", "nearest: {to_h: 11, to_w: 23}", "take: 1", "add: 0.3", "min: 30", "max: 16", "cast: f16"],
   (1, 1, 11, 23), ("f16", "NHWC", "f16", "NCHW"))

deep = [picture(19, 31, 2, 20000, 65535)]
m = (60000, -9000, 200000, 8000, 70000, -90000)
image = each(warp(deep[0], m, 30000), lambda p: [v * 1.2 for v in p])
op("deep", deep, [image], ["warp: {a: %d, b: %d, c: %d, d: %d, e: %d, f: %d, value: 30000}" % m, "mul: 1.2"], (1, 2, 19, 31),
   ("u16", "NCHW", "f32", "NHWC"))
op("round", deep, [turn(deep[0])], ["cast: f32", "turn", "cast: u16"], (1, 2, 31, 19), ("u16", "NHWC", "u16", "NCHW"))

tones = [picture(9, 21, 3, 0)]
op("tones", tones, [each(tones[0], lambda p: [min(max(v, 0), 255) for v in yuv(p)])], ["yuv", "clamp: {low: 0, high: 255}"], (1, 3, 9, 21),
   ("u8", "NHWC", "f32", "NCHW"))

own = [picture(7, 33, 3)]
op("own", own, [each(own[0], lambda p: [min(max((v / 255) ** 2 * 3, 0), 1) for v in p])], ["div: 255", "power: {by: 3}", "saturate"], (1, 3, 7, 33),
   ("u8", "NHWC", "f32", "NHWC"))

trio = [picture(19, 14, 3) for _ in range(5)]
into = []
for i, image in enumerate(trio):
    image = each(image, lambda p: [v / 2 for v in p])
    if i % 3 == 0:
        image = each(nearest(image, 11, 23), lambda p: [v * 1.2 for v in p])
    elif i % 3 == 1:
        image = each(resize(image, 11, 23), lambda p: [0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2]] * 3)
    else:
        image = resize(turn(image), 11, 23)
    into.append(each(resize(image, 7, 6), lambda p: [v - 1 for v in p[::-1]]))
op("forks", trio, into, ["div: 2", "branch: [[nearest: {to_h: 11, to_w: 23}, mul: 1.2], [resize: {to_h: 11, to_w: 23}, grey, spread], [turn, resize: {to_h: 11, to_w: 23}]]",
                         "resize: {to_h: 7, to_w: 6}", "sub: 1", "swap"], (5, 3, 7, 6), ("u8", "NHWC", "f32", "NCHW"))
op("ends", trio, [each(image, lambda p: [v * 2 for v in p] if i % 2 else [v / 2 for v in p]) for i, image in enumerate(trio)],
   ["branch: [[div: 2], [mul: 4, div: 2]]"], (5, 3, 19, 14), ("u8", "NHWC", "f32", "NCHW"))
