"""The subjects of Triton's tutorials 01 to 10, written for small shapes, each with a reference of NumPy in double precision."""
import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice
import bench

# 01: the sum of two vectors
add = bench.op("add_vectors", fields={"n": 3001}, terms=0, tensors="x y: [n]; z: [n] written", dtypes=["f32", "f16"], reference=lambda x, y: x + y)


@add.kernel(grid="ceil(n, 256)", BLOCK=256)
@triton.jit
def t01_add(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


# 02: a softmax whose programs walk over rows, with loads ahead
@bench.kernel("softmax", grid="min(rows, 8)", args="input output rows cols", BLOCK="next_power_of_2(cols)", num_stages=3)
@triton.jit
def t02_softmax(x, y, rows, cols, BLOCK: tl.constexpr, num_stages: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=num_stages):
        v = tl.load(x + row * cols + i, mask=i < cols, other=-float("inf")).to(tl.float32)
        v = tl.exp(v - tl.max(v, 0))
        tl.store(y + row * cols + i, (v / tl.sum(v, 0)).to(y.dtype.element_ty), mask=i < cols)


# 03: a product of matrices, tiles in groups of rows
def leaky_product(a, b):
    c = a @ b
    return np.where(c >= 0, c, 0.01 * c)


matmul = bench.op("leaky_matmul", fields={"m": 200, "n": 136, "k": 160}, terms="k", dtypes=["f16", "bf16"], op_exact=False, crop={"m": 200, "n": 136, "k": 160},
                  tensors="a: [m, k]; b: [k, n] weight; c: [m, n] written", reference=leaky_product)


@matmul.kernel(grid="ceil(m, 64) * ceil(n, 64)", args="a b c m n k", BM=64, BN=64, BK=32, GROUP=2, num_stages=3, dtype={"a": ["f16", "bf16"], "b": "same", "c": "same"})
@triton.jit
def t03_matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(m, BM), tl.cdiv(n, BN)
    first = pid // (GROUP * tiles_n) * GROUP
    size = min(tiles_m - first, GROUP)
    pm, pn = first + pid % (GROUP * tiles_n) % size, pid % (GROUP * tiles_n) // size
    im, jn, kk = (pm * BM + tl.arange(0, BM)) % m, (pn * BN + tl.arange(0, BN)) % n, tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, tl.cdiv(k, BK)):
        left = k - at * BK
        ta = tl.load(a + im[:, None] * k + (at * BK + kk)[None, :], mask=kk[None, :] < left, other=0.0)
        tb = tl.load(b + (at * BK + kk)[:, None] * n + jn[None, :], mask=kk[:, None] < left, other=0.0)
        acc = tl.dot(ta, tb, acc)
    acc = tl.where(acc >= 0, acc, 0.01 * acc)
    i, j = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
    tl.store(c + i[:, None] * n + j[None, :], acc.to(c.dtype.element_ty), mask=(i < m)[:, None] & (j < n)[None, :])


# 04: dropout whose mask is never stored: Philox 4x32-10 of (seed, place)
def philox(seed, places):
    """The first of the four words; Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (2011)."""
    c = [places.astype(np.uint64), *(np.zeros(places.shape, np.uint64) for _ in range(3))]
    k = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        p, q = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [q >> np.uint64(32) ^ c[1] ^ k[0], q & low, p >> np.uint64(32) ^ c[3] ^ k[1], p & low]
        k = [k[0] + np.uint64(0x9E3779B9) & low, k[1] + np.uint64(0xBB67AE85) & low]
    return c[0].astype(np.uint32)


def dropped(x, p, seed):
    bits = philox(int(seed), np.arange(x.size)).view(np.int32)
    drawn = np.where(bits < 0, -(bits + 1), bits) * np.float32(4.6566127342e-10)
    return np.where(drawn.astype(np.float32) > np.float32(p), x / (1 - p), 0)


drop = bench.op("dropout", fields={"n": 3000, "p": 0.5, "seed": 123}, terms=1, tensors="x: [n]; y: [n] written", reference=dropped)


@drop.kernel(grid="ceil(n, 512)", BLOCK=512)
@triton.jit
def t04_dropout(x, y, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.where(tl.rand(seed, i) > p, v / (1 - p), 0.0), mask=i < n)


# 05: layer norm, forward; the gradient of its input, with the sums for weight and bias under a lock; the sum of those
def norm_truth(x, w, b, eps):
    mean = x.mean(-1, keepdims=True)
    var = ((x - mean) ** 2).mean(-1, keepdims=True)
    return {"y": (x - mean) / np.sqrt(var + eps) * w + b}


norm = bench.op("layer_norm", fields={"rows": 13, "cols": 300, "eps": 1e-5}, terms="cols", dtypes=["f32", "f16"],
                tensors="x: [rows, cols] {uniform: [-2, 0.5]}; w: [cols] {uniform: [0, 1]}; b: [cols] addend; y: [rows, cols] written", reference=norm_truth)


@norm.kernel(grid="rows", args="x y w b cols eps", BLOCK=128, enable_fp_fusion=False)
@triton.jit
def t05_layer_norm(x, y, w, b, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * cols
    y += row * cols
    total = tl.zeros([BLOCK], tl.float32)
    for at in range(0, cols, BLOCK):
        i = at + tl.arange(0, BLOCK)
        total += tl.load(x + i, mask=i < cols, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / cols
    total = tl.zeros([BLOCK], tl.float32)
    for at in range(0, cols, BLOCK):
        i = at + tl.arange(0, BLOCK)
        v = tl.where(i < cols, tl.load(x + i, mask=i < cols, other=0.0).to(tl.float32) - mean, 0.0)
        total += v * v
    scale = 1 / tl.sqrt(tl.sum(total, 0) / cols + eps)
    for at in range(0, cols, BLOCK):
        i = at + tl.arange(0, BLOCK)
        inside = i < cols
        v = (tl.load(x + i, mask=inside).to(tl.float32) - mean) * scale
        tl.store(y + i, v * tl.load(w + i, mask=inside).to(tl.float32) + tl.load(b + i, mask=inside).to(tl.float32), mask=inside)


def grad_truth(x, w, dy, eps):
    mean = x.mean(-1, keepdims=True)
    scale = 1 / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + eps)
    hat = (x - mean) * scale
    wdy = w * dy
    c1, c2 = (hat * wdy).mean(-1, keepdims=True), wdy.mean(-1, keepdims=True)
    return {"dx": (wdy - (hat * c1 + c2)) * scale, "dw": (dy * hat).sum(0), "db": dy.sum(0)}


grad = bench.op("layer_norm_backward", fields={"rows": 12, "cols": 200, "eps": 1e-5}, terms="cols",
                tensors="x: [rows, cols] {uniform: [-2, 0.5]}; w: [cols] {uniform: [0, 1]}; dy: [rows, cols] {uniform: [-1, 1]}; "
                        "dx: [rows, cols] written; dw db: [cols] written", reference=grad_truth)


@grad.kernel(grid=1, args="x w dy dx dw db rows cols eps", BLOCK="next_power_of_2(cols)", enable_fp_fusion=False, num_warps=8)
@triton.jit
def t05_backward(x, w, dy, dx, dw, db, rows, cols, eps, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    inside = i < cols
    gain = tl.load(w + i, mask=inside, other=0.0)
    sum_w, sum_b = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32)
    for row in range(0, rows):
        v = tl.load(x + row * cols + i, mask=inside, other=0.0)
        g = tl.load(dy + row * cols + i, mask=inside, other=0.0)
        mean = tl.sum(v, 0) / cols
        v = tl.where(inside, v - mean, 0.0)
        scale = 1 / tl.sqrt(tl.sum(v * v, 0) / cols + eps)
        hat = v * scale
        wdy = gain * g
        c1, c2 = tl.sum(hat * wdy, 0) / cols, tl.sum(wdy, 0) / cols
        tl.store(dx + row * cols + i, (wdy - (hat * c1 + c2)) * scale, mask=inside)
        sum_w += g * hat
        sum_b += g
    tl.store(dw + i, sum_w, mask=inside)
    tl.store(db + i, sum_b, mask=inside)


def columns_truth(x):
    return x.sum(0)


columns = bench.op("column_sums", fields={"rows": 40, "cols": 200}, terms="rows", tensors="x: [rows, cols]; y: [cols] written", reference=columns_truth)


@columns.kernel(grid="ceil(rows, 8)", args="x y lock rows cols", scratch={"lock": "i32[2]"}, fill={"lock": 0}, needs="cols > 128", what="sums of eight rows, added under a lock", BLOCK="next_power_of_2(cols)",
                ROWS=8)
@triton.jit
def t05_locked(x, y, lock, rows, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    part = tl.sum(tl.load(x + r[:, None] * cols + i[None, :], mask=(r < rows)[:, None] & (i < cols)[None, :], other=0.0), 0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(lock + 1) == 0:
        tl.atomic_xchg(lock + 1, 1)
    else:
        part += tl.load(y + i, mask=i < cols)
    tl.store(y + i, part, mask=i < cols)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


# 06: attention, causal or not, without the matrix of scores
def attention_truth(q, k, v, scale, causal):
    s = scale * (q @ np.swapaxes(k, -1, -2))
    if causal:
        s = np.where(np.tri(s.shape[-1], dtype=bool), s, -np.inf)
    s = np.exp(s - s.max(-1, keepdims=True))
    s /= s.sum(-1, keepdims=True)
    return {"o": s @ v, "o_magnitude": s @ np.abs(v)}


attention = bench.op("attend", fields={"heads": 2, "seq": 128, "dim": {"default": 64, "min": 64, "max": 64}, "scale": 0.125, "causal": {"default": 1, "min": 0, "max": 1}},
                     terms="seq + dim", tolerance=2e-3, dtypes=["f16"], crop={"heads": 2, "seq": 128, "dim": 64}, tensors="q k v: [heads, seq, dim]; o: [heads, seq, dim] written",
                     trial={"causal": {"dtype": "f16"}, "all": {"dtype": "f16", "causal": 0}}, reference=attention_truth)


@attention.kernel(grid="seq // 64, heads", args="q k v o seq scale", needs="dim == 64 and seq % 64 == 0 and causal == 1", D=64, BM=64, BN=32, CAUSAL=1, num_warps=4)
@triton.jit
def t06_causal(q, k, v, o, seq, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    at = tl.program_id(1) * seq * D
    first = tl.program_id(0) * BM
    dq = tl.make_tensor_descriptor(q + at, [seq, D], [D, 1], [BM, D])
    dk = tl.make_tensor_descriptor(k + at, [seq, D], [D, 1], [BN, D])
    dv = tl.make_tensor_descriptor(v + at, [seq, D], [D, 1], [BN, D])
    do = tl.make_tensor_descriptor(o + at, [seq, D], [D, 1], [BM, D])
    tile = dq.load([first, 0])
    most, total = tl.full([BM], -float("inf"), tl.float32), tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    i = first + tl.arange(0, BM)
    end = first + BM if CAUSAL else seq
    for j in tl.range(0, end, BN):
        s = tl.dot(tile, dk.load([j, 0]).T) * (scale * 1.4426950408889634)
        if CAUSAL:
            s = tl.where(i[:, None] >= (j + tl.arange(0, BN))[None, :], s, -1.0e6)
        new = tl.maximum(most, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        shrink = tl.exp2(most - new)
        total = total * shrink + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), dv.load([j, 0]), acc * shrink[:, None])
        most = new
    do.store([first, 0], (acc / total[:, None]).to(tl.float16))


attention.kernel(name="t06_all", grid="seq // 64, heads", args="q k v o seq scale", needs="dim == 64 and seq % 64 == 0 and causal == 0", D=64, BM=64, BN=32, CAUSAL=0, num_warps=4)(t06_causal)


# 07: a function of libdevice
asin = bench.op("asin", fields={"n": 2000}, terms=1, tensors="x: [n] {uniform: [-1, 1]}; y: [n] written", reference=lambda x: np.arcsin(x), tolerance=1e-6)


@asin.kernel(grid="ceil(n, 256)", args="x y n", BLOCK=256)
@triton.jit
def t07_asin(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, libdevice.asin(tl.load(x + i, mask=i < n)), mask=i < n)


# 08: products of several sizes in one launch: group g has 32 * (1 + size[g]) rows
def grouped_truth(a, b, size):
    c, at = np.zeros((a.shape[0], b.shape[-1])), 0
    for g, s in enumerate(size):
        rows = 32 * (1 + int(s))
        c[at:at + rows] = a[at:at + rows] @ b[g]
        at += rows
    return c


grouped = bench.op("grouped_matmul", fields={"groups": 4, "n": 64, "k": 64}, terms="k", dtypes=["f16"], crop={"groups": 4, "n": 64, "k": 64}, op_exact=False,
                   tensors="a: [groups * 128, k]; b: [groups, k, n] weight; size: [groups] i32 {indices: 4}; c: [groups * 128, n] written", reference=grouped_truth)


@grouped.kernel(grid=3, args="a b size c groups n k", needs="k % 32 == 0", PROGRAMS=3, BM=32, BN=32, BK=32)
@triton.jit
def t08_grouped(a, b, size, c, groups, n, k, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile = tl.program_id(0)
    done, first = 0, 0
    for g in range(0, groups):
        rows = BM * (1 + tl.load(size + g))
        tiles_n = tl.cdiv(n, BN)
        tiles = rows // BM * tiles_n
        while tile >= done and tile < done + tiles:
            t = tile - done
            i, j = first + t // tiles_n * BM + tl.arange(0, BM), t % tiles_n * BN + tl.arange(0, BN)
            kk = tl.arange(0, BK)
            acc = tl.zeros((BM, BN), tl.float32)
            for at in range(0, k, BK):
                acc = tl.dot(tl.load(a + i[:, None] * k + (at + kk)[None, :]),
                             tl.load(b + g * k * n + (at + kk)[:, None] * n + j[None, :], mask=(j < n)[None, :], other=0.0), acc)
            tl.store(c + i[:, None] * n + j[None, :], acc.to(tl.float16), mask=(j < n)[None, :])
            tile += PROGRAMS
        done += tiles
        first += rows
    for row in range(first + tl.program_id(0), groups * 4 * BM, PROGRAMS):
        for at in range(0, n, BN):
            j = at + tl.arange(0, BN)
            tl.store(c + row * n + j, tl.zeros([BN], tl.float16), mask=j < n)


# 09: a persistent product with TMA descriptors
@bench.kernel("gemm", grid="2", args=[bench.descriptor("a", [128, 64]), bench.descriptor("b", [64, 64]), bench.descriptor("c", [128, 64]), "m", "n", "k"],
              needs="k % 8 == 0 and n % 8 == 0", dtype={"a": "f16", "b": "same", "c": "same"}, PROGRAMS=2, BM=128, BN=64, BK=64, num_stages=3, num_warps=4)
@triton.jit
def t09_persistent(a, b, c, m, n, k, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles_n = tl.cdiv(n, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, BM) * tiles_n, PROGRAMS, flatten=True):
        i, j = tile // tiles_n * BM, tile % tiles_n * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for at in range(0, tl.cdiv(k, BK)):
            acc = tl.dot(a.load([i, at * BK]), b.load([at * BK, j]), acc)
        c.store([i, j], acc.to(tl.float16))


# 10: products with block scales: 8-bit and 4-bit floats, a power of two as the scale of every 32 of them
def scaled(values, scales):
    return values * np.repeat(scales, 32, -1)


mxfp8 = bench.op("mxfp8_matmul", fields={"m": 128, "n": 64, "k": 256}, terms="k", dtypes=["bf16"], op_exact=False, crop={"m": 128, "n": 64, "k": 256},
                 tensors="a: [m, k] e4m3; b: [n, k] e4m3 weight; sa: [m, k / 32] e8m0 {uniform: [0.01, 8]}; sb: [n, k / 32] e8m0 {uniform: [0.01, 8]}; c: [m, n] written",
                 reference=lambda a, b, sa, sb: scaled(a, sa) @ scaled(b, sb).T)
mxfp4 = bench.op("mxfp4_matmul", fields={"m": 128, "n": 64, "k": 256}, terms="k", dtypes=["bf16"], op_exact=False, crop={"m": 128, "n": 64, "k": 256},
                 tensors="a: [m, k] e2m1; b: [n, k] e2m1 weight; sa: [m, k / 32] e8m0 {uniform: [0.01, 8]}; sb: [n, k / 32] e8m0 {uniform: [0.01, 8]}; c: [m, n] written",
                 reference=lambda a, b, sa, sb: scaled(a, sa) @ scaled(b, sb).T)


@mxfp8.kernel(grid="m // 128, n // 64", args="a b sa sb c m n k", needs="m % 128 == 0 and n % 64 == 0 and k % 128 == 0", FORMAT="'e4m3'", PACK=1, BM=128, BN=64, BK=128)
@triton.jit
def t10_mxfp8(a, b, sa, sb, c, m, n, k, FORMAT: tl.constexpr, PACK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    kk, ks = tl.arange(0, BK // PACK), tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, k, BK):
        ta = tl.load(a + i[:, None] * (k // PACK) + at // PACK + kk[None, :])
        tb = tl.load(b + j[:, None] * (k // PACK) + at // PACK + kk[None, :])
        xa = tl.load(sa + i[:, None] * (k // 32) + at // 32 + ks[None, :])
        xb = tl.load(sb + j[:, None] * (k // 32) + at // 32 + ks[None, :])
        acc = tl.dot_scaled(ta, xa, FORMAT, tb.T, xb, FORMAT, acc)
    tl.store(c + i[:, None] * n + j[None, :], acc.to(c.dtype.element_ty))


mxfp4.kernel(name="t10_mxfp4", grid="m // 128, n // 64", args="a b sa sb c m n k", needs="m % 128 == 0 and n % 64 == 0 and k % 128 == 0", FORMAT="'e2m1'", PACK=2, BM=128, BN=64,
             BK=128)(t10_mxfp8)
