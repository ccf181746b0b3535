"""An independent model of `bench mask`: clips in every stream format, and what their masks must be.

make DIR KIND W H FRAMES [SEED]   writes DIR/clip of that kind (pictures also one by one) and the mask of every frame, DIR/want_N.pgm, by THRESHOLD, DILATE and SIZE
                                  of the environment
count FILE R TILE                 of a PGM mask: marked pixels, outputs of an R x R filter (stride 1, padded to the same size), active tiles of TILE x TILE outputs
sent CLIP THRESHOLD               of a mono Y4M: mean share of pixels that a sequence sends on, over the frames after the first
"""
import os
import random
import struct
import sys


def scene(width, height, frames, most, channels, seed):
    """Per frame and channel a plane of numbers: two things move, the left fifth of the first channel brightens slowly, and every sample has noise of one step."""
    rng = random.Random(seed)
    texture = [[rng.randrange(most // 4, most // 2) for _ in range(width)] for _ in range(height)]
    out = []
    for n in range(frames):
        planes = []
        for c in range(channels):
            plane = [[texture[y][x] + (most // 40 * n if x < width // 5 and c == 0 else 0) + rng.randrange(2) for x in range(width)] for y in range(height)]
            for size, x0, y0, value in ((height // 4, 7 * n + 3, height // 3, most), (3, width - 5 * n - 4, 2 * n, 0)):
                for y in range(max(0, y0), min(height, y0 + size)):
                    for x in range(max(0, x0), min(width, x0 + size)):
                        plane[y][x] = value
            planes.append(plane)
        out.append(planes)
    return out


def sample(value, wide, little=True):
    return struct.pack(('<' if little else '>') + 'H', value) if wide else bytes([value])


def plane_bytes(plane, wide, little=True):
    return b''.join(sample(v, wide, little) for row in plane for v in row)


SHRINK = {'420': (2, 2), '422': (2, 1), '411': (4, 1), '444': (1, 1), 'mono': (0, 0)}


def y4m(kind, width, height, frames, seed):
    name = kind.split('p')[0] if not kind.startswith('mono') else 'mono'
    digits = kind[len('mono'):] if name == 'mono' else kind[len(name) + 1:]
    bits = int(digits) if digits.isdigit() else 8
    most, wide = (1 << bits) - 1, bits > 8
    fx, fy = SHRINK[name[:3] if name != 'mono' else 'mono']
    luma = scene(width, height, frames, most, 1, seed)
    data = b'YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C%s XYSCSS=TEST\n' % (width, height, kind.encode())
    full = []
    for n in range(frames):
        data += (b'FRAME\n' if n % 2 else b'FRAME Ip\n') + plane_bytes(luma[n][0], wide)
        planes = [luma[n][0]]
        if fx:
            cw, ch = -(-width // fx), -(-height // fy)
            for chroma in scene(cw, ch, n + 1, most, 2, seed + 1)[n]:
                data += plane_bytes(chroma, wide)
                planes.append([[chroma[y // fy][x // fx] for x in range(width)] for y in range(height)])
        full.append(planes)
    return data, full, most


def pnm(kind, width, height, frames, seed):
    """pgm8, pgm16 (binary, high byte first), plain (P2, with comments), ppm: one stream of pictures."""
    most = {'pgm8': 255, 'pgm16': 40000, 'plain': 1000, 'ppm': 255}[kind]
    full = scene(width, height, frames, most, 3 if kind == 'ppm' else 1, seed)
    pictures = []
    for planes in full:
        if kind == 'plain':
            body = ''.join('# row %d\n%s\n' % (y, ' '.join(map(str, row))) for y, row in enumerate(planes[0]))
            pictures.append(('P2 # a comment\n# another\n%d\n# and one\n%d %d\n%s' % (width, height, most, body)).encode())
        elif kind == 'ppm':
            pixels = b''.join(bytes(planes[c][y][x] for c in range(3)) for y in range(height) for x in range(width))
            pictures.append(b'P6\n# made here\n%d %d\n%d\n' % (width, height, most) + pixels)
        else:
            pictures.append(b'P5\n# made here\n%d %d\n%d\n' % (width, height, most) + plane_bytes(planes[0], most > 255, False))
    return pictures, full, most


def raw(kind, width, height, frames, seed):
    if kind == 'yuv420p':
        data, full, most = y4m('420jpeg', width, height, frames, seed)
        head, _, rest = data.partition(b'\n')
        return rest.replace(b'FRAME Ip\n', b'').replace(b'FRAME\n', b''), full, most  # no sample spells FRAME: it would need five in a row
    full = scene(width, height, frames, 255, 3 if kind == 'rgb24' else 1, seed)
    data = b''.join(bytes(planes[c][y][x] for y in range(height) for x in range(width) for c in range(len(planes))) for planes in full)
    return data, full, 255


def dilate(mask, reach):
    height, width = len(mask), len(mask[0])
    out = [[0] * width for _ in range(height)]
    for y in range(height):
        for x in range(width):
            if mask[y][x]:
                for i in range(max(0, y - reach), min(height, y + reach + 1)):
                    for k in range(max(0, x - reach), min(width, x + reach + 1)):
                        out[i][k] = 1
    return out


def masks(full, most, threshold, reach):
    """A pixel is active when a channel is further than the threshold from what it was when the pixel was last active; then dilation; active pixels are remembered."""
    height, width = len(full[0][0]), len(full[0][0][0])
    last = [[[p[y][x] for p in full[0]] for x in range(width)] for y in range(height)]
    out = [[[1] * width for _ in range(height)]]
    for planes in full[1:]:
        mask = [[int(any(abs(p[y][x] - old) > threshold * most for p, old in zip(planes, last[y][x]))) for x in range(width)] for y in range(height)]
        mask = dilate(mask, reach)
        for y in range(height):
            for x in range(width):
                if mask[y][x]:
                    last[y][x] = [p[y][x] for p in planes]
        out.append(mask)
    return out


def fit(mask, width, height):
    """At another size a pixel is active when its place, [x / w, (x + 1) / w), overlaps that of an active one."""
    h0, w0 = len(mask), len(mask[0])
    return [[int(any(mask[i][k] for i in range(h0) if i * height < (y + 1) * h0 and (i + 1) * height > y * h0
                     for k in range(w0) if k * width < (x + 1) * w0 and (k + 1) * width > x * w0)) for x in range(width)] for y in range(height)]


def write_pgm(path, mask):
    with open(path, 'wb') as f:
        f.write(b'P5\n%d %d\n255\n' % (len(mask[0]), len(mask)) + bytes(255 * v for row in mask for v in row))


def read_pgm(path):
    data = open(path, 'rb').read()
    _, size, _, pixels = data.split(b'\n', 3)
    width, height = map(int, size.split())
    return [[int(pixels[y * width + x] > 127) for x in range(width)] for y in range(height)]


def make(folder, kind, width, height, frames, seed):
    if kind in ('pgm8', 'pgm16', 'plain', 'ppm'):
        pictures, full, most = pnm(kind, width, height, frames, seed)
        for n, picture in enumerate(pictures):
            open('%s/picture_%02d.pnm' % (folder, n), 'wb').write(picture)
        data = b'\n'.join(pictures)
    elif kind in ('gray', 'rgb24', 'yuv420p'):
        data, full, most = raw(kind, width, height, frames, seed)
    else:
        data, full, most = y4m(kind, width, height, frames, seed)
    open(folder + '/clip', 'wb').write(data)
    wanted = masks(full, most, float(os.environ.get('THRESHOLD', '0.05')), int(os.environ.get('DILATE', '0')))
    size = os.environ.get('SIZE')
    for n, mask in enumerate(wanted):
        write_pgm('%s/want_%d.pgm' % (folder, n), fit(mask, *map(int, size.split('x'))) if size else mask)


def count(path, taps, tile):
    mask = read_pgm(path)
    out = dilate(mask, taps // 2)
    tiles = {(y // tile, x // tile) for y, row in enumerate(out) for x, v in enumerate(row) if v}
    print(sum(map(sum, mask)), sum(map(sum, out)), len(tiles))


def sent(path, threshold):
    """What a sequence sends on: it keeps what it last sent of each pixel, as `bench mask` does without dilation; 8-bit mono."""
    head, _, data = open(path, 'rb').read().partition(b'\n')
    words = dict((w[:1], w[1:]) for w in head.split()[1:])
    width, height = int(words[b'W']), int(words[b'H'])
    planes, at = [], 0
    while at < len(data):
        at = data.index(b'\n', at) + 1
        planes.append(data[at:at + width * height])
        at += width * height
    last, total = list(planes[0]), 0
    for plane in planes[1:]:
        for i, v in enumerate(plane):
            if abs(v - last[i]) > threshold * 255:
                last[i] = v
                total += 1
    print('%.9g' % (total / (len(planes) - 1) / (width * height)))


verb, *rest = sys.argv[1:]
if verb == 'make':
    make(rest[0], rest[1], *(int(v) for v in rest[2:5]), int(rest[5]) if len(rest) > 5 else 1)
elif verb == 'count':
    count(rest[0], int(rest[1]), int(rest[2]))
else:
    sent(rest[0], float(rest[1]))
