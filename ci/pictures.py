"""pictures.py FOLDER OUT.html [FILE.py:FUNCTION]: what `bench exec ... --save FOLDER` left of an op of images, beside NumPy's result of the same input.

Without a function it knows thumbnails and frames; a function takes the read tensors by name and returns the result, as a reference in Python does
(docs/OP.md). The page holds the input, both results and their difference as pictures and fetches nothing. The last line says how far apart they are; the
exit status is 0 where results of whole numbers are the same in every bit, and others within 1e-5 of the largest value (f16: 1e-3)."""
import base64
import html
import importlib.util
import os
import struct
import sys
import zlib

import numpy


def bilinear(image, to_h, to_w):
    """image: h, w, c; centres of pixels are aligned, and beyond the edge is the edge."""
    h, w = image.shape[:2]
    v = (numpy.arange(to_h) + 0.5) * h / to_h - 0.5
    u = (numpy.arange(to_w) + 0.5) * w / to_w - 0.5
    y, x = numpy.floor(v).astype(int), numpy.floor(u).astype(int)
    fy, fx = (v - y)[:, None, None], (u - x)[None, :, None]
    rows, columns = lambda i: numpy.clip(y + i, 0, h - 1), lambda i: numpy.clip(x + i, 0, w - 1)
    at = lambda i, k: image[rows(i)][:, columns(k)]
    return (1 - fy) * ((1 - fx) * at(0, 0) + fx * at(0, 1)) + fy * ((1 - fx) * at(1, 0) + fx * at(1, 1))


def thumbnails(input, boxes, output):
    """kernels/ops/thumbnails.yaml: cut out, fitted with the ratio kept, scaled, red and blue exchanged."""
    made = numpy.zeros(output.shape)
    to_h, to_w = output.shape[2:]
    crops = len(boxes) // len(input)
    for i, (x, y, w, h) in enumerate(boxes.astype(int)):
        image = input[i // crops].transpose(1, 2, 0)[y:y + h, x:x + w]
        scale = min(to_h / h, to_w / w)
        oh, ow = (max(1, int(h * scale + 0.5)), to_w) if w * to_h > h * to_w else (to_h, max(1, int(w * scale + 0.5)))
        fitted = numpy.zeros((to_h, to_w, 3))
        top, left = (to_h - oh) // 2, (to_w - ow) // 2
        fitted[top:top + oh, left:left + ow] = bilinear(image, oh, ow)
        made[i] = ((fitted * 1.4 - 0.5) / 255)[:, :, ::-1].transpose(2, 0, 1)
    return made


def frames(input, output):
    """kernels/ops/frames.yaml: NV12 as RGB (BT.601, the full range, not cut off), resized, less the mean and over the spread."""
    made = numpy.zeros(output.shape)
    for n, frame in enumerate(input[:, 0]):
        h = frame.shape[0] * 2 // 3
        u, v = (frame[h:, i::2].repeat(2, 0).repeat(2, 1) - 128 for i in (0, 1))
        y = frame[:h]
        rgb = numpy.stack([y + 1.402 * v, y - 0.344136 * u - 0.714136 * v, y + 1.772 * u], 2)
        small = bilinear(rgb, *output.shape[2:]) / 255
        made[n] = ((small - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]).transpose(2, 0, 1)
    return made


def png(image):
    """h, w, 3 of u8, as the bytes of a PNG."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    h, w = image.shape[:2]
    lines = b"".join(b"\0" + image[y].tobytes() for y in range(h))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")


def figure(planes, low, high, caption):
    """c, h, w as an <img>: low is black, high is white; one channel is grey."""
    scaled = numpy.clip((planes - low) * (255 / max(high - low, 1e-30)), 0, 255).round().astype(numpy.uint8)
    step = max(1, planes.shape[2] // 800)
    picture = (scaled if len(scaled) == 3 else scaled[:1].repeat(3, 0)).transpose(1, 2, 0)[::step, ::step]
    zoom = max(1, 240 // picture.shape[1])
    return '<figure><img width="%d" src="data:image/png;base64,%s" alt="%s"><figcaption>%s</figcaption></figure>' % (
        picture.shape[1] * zoom, base64.b64encode(png(numpy.ascontiguousarray(picture))).decode(), html.escape(caption), html.escape(caption))


def function_of(argument, inputs):
    if not argument:
        return thumbnails if "boxes" in inputs else frames
    path, name = argument.rsplit(":", 1)
    spec = importlib.util.spec_from_file_location("own", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    folder, page = sys.argv[1:3]
    tensors = {name[:-4]: numpy.load(os.path.join(folder, name)).astype(numpy.float64) for name in sorted(os.listdir(folder)) if name.endswith(".npy")}
    got, inputs = tensors["output"], {name: value for name, value in tensors.items() if name != "output"}
    function = function_of(sys.argv[3] if len(sys.argv) == 4 else None, inputs)
    wants = function.__code__.co_varnames[:function.__code__.co_argcount]
    want = numpy.asarray(function(**{name: tensors[name] for name in wants}), dtype=numpy.float64)
    if want.shape != got.shape:
        sys.exit("NumPy makes %s, the kernel %s" % (want.shape, got.shape))
    off, low, high = abs(got - want), want.min(), want.max()
    whole = (want == want.round()).all()
    allowed = 0 if whole else (1e-3 if (got == got.astype(numpy.float16)).all() else 1e-5) * max(abs(low), abs(high))
    right = off.max() <= allowed
    said = "%d of %d values are the same; the largest difference is %.3g of %.3g" % ((off == 0).sum(), off.size, off.max(), max(abs(low), abs(high)))
    parts = ['<!doctype html><meta charset="utf-8"><title>pictures</title>',
             "<style>body{font:15px sans-serif;margin:2em}figure{display:inline-block;margin:0 1em 1em 0}img{image-rendering:pixelated;border:1px solid #888}</style>",
             "<h1>%s: bench beside NumPy</h1><p>%s.</p>" % (html.escape(function.__name__), said)]
    parts += [figure(image, 0, 255, "input %d" % i) for i, image in enumerate(inputs["input"][:4])]
    for i in range(min(len(got), 50)):
        parts.append("<div>%s%s%s</div>" % (figure(got[i], low, high, "bench %d" % i), figure(want[i], low, high, "NumPy"),
                                            figure(off[i], 0, off.max() or 1, "difference, white is %.3g" % (off.max() or 1))))
    with open(page, "w", encoding="utf-8") as f:
        f.write("\n".join(parts) + "\n")
    print("%s: %s" % ("right" if right else "WRONG", said))
    sys.exit(0 if right else 4)


if __name__ == "__main__":
    main()
