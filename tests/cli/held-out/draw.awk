# awk -v seed=N -v layers=N -v what=dense|movement|sparse|chain -f draw.awk: a scenario of shapes that nobody chose. The same on every awk: the generator is written out.
function next_random() { state = state * 16807 % 2147483647; return state } # Park and Miller's; products stay below 2^53
function below(n) { return int(next_random() / 2147483647 * n) }
function between(a, b) { return a + below(b - a + 1) }
function chance(percent) { return below(100) < percent }
function one_of(words,    list, n) { n = split(words, list, " "); return list[1 + below(n)] }
function ceiling(a, b) { return int((a + b - 1) / b) }

function channels(    kind) {
    kind = below(100)
    if (kind < 35) return 16 * between(1, 8)
    if (kind < 55) return 8 * between(1, 16)
    if (kind < 75) return between(1, 9)
    return between(1, 130)
}

function activation() { return one_of("relu relu leaky_relu {leaky_relu:_0.2}") }
function epilogue(    list) {
    list = ""
    if (chance(70)) list = list " bias"
    if (chance(15)) list = list " " activation() " residual"
    else {
        if (chance(30)) list = list " residual"
        if (chance(60)) list = list " " activation()
    }
    return list
}
function bracketed(list) {
    sub(/^ /, "", list); gsub(/ /, ", ", list); gsub(/_/, " ", list); gsub(/leaky relu/, "leaky_relu", list); gsub(/depth to space/, "depth_to_space", list)
    return "[" list "]"
}
function common(type, layout) { return sprintf("n: %d, dtype: %s, layout: %s", n, type, layout) }

# An image whose work stays below `most` multiply-adds, often wide, seldom a multiple of anything.
function image(per_pixel, least_h, least_w, most) {
    n = chance(40) ? 1 : between(1, 7)
    h = chance(10) ? between(1, 3) : between(2, 40); w = chance(25) ? between(33, 150) : between(1, 40)
    if (h < least_h) h = least_h
    if (w < least_w) w = least_w
    while (n > 1 && per_pixel * n * h * w > most) n--
    while (h > least_h && per_pixel * h * w > most) h = h > least_h + 1 ? int((h + least_h) / 2) : least_h
    while (w > least_w && per_pixel * h * w > most) w = w > least_w + 1 ? int((w + least_w) / 2) : least_w
}

function conv2d(masked,    type, layout, c, k, r, s, stride, pad, dilation, groups, math, tail, block) {
    type = masked ? one_of("f16 f16 bf16 f32") : one_of("f16 f16 f16 f16 bf16 bf16 f32 f32 f32 i8")
    layout = chance(masked ? 95 : 65) ? "NHWC" : "NCHW"
    c = channels(); k = channels()
    if (masked) { if (chance(60)) { c = 16 * between(1, 6) ; k = 2 * between(1, 65) } }
    r = s = one_of("1 3 3 3 3 5 7 11")
    if (chance(10)) s = one_of("1 2 3 4 5")
    stride = one_of("1 1 1 1 1 1 2 2 4"); dilation = chance(85) ? 1 : between(2, 3); groups = 1
    if (chance(12)) {
        groups = between(2, 8); c = groups * between(1, 6); k = groups * between(1, 6)
        if (chance(50)) { groups = c; k = c }
    }
    tail = epilogue()
    if (!masked && chance(15)) {
        block = one_of("2 2 2 3 4"); k = block * block * (chance(50) ? 16 * between(1, 2) : between(1, 12)); if (k % groups) { groups = 1 }
        sub(/ residual/, "", tail)
        tail = tail " {depth_to_space:_{block:_" block ",_mode:_" one_of("CRD DCR") "}}"
    } else if (!masked && chance(7)) tail = tail " {layout:_" (layout == "NHWC" ? "NCHW" : "NHWC") "}"
    if (masked) gsub(/ residual/, "", tail)
    pad = chance(70) ? int(((r > s ? r : s) - 1) * dilation / 2) : between(0, 3)
    image(c / groups * k * r * s / stride / stride, (r - 1) * dilation + 1 - 2 * pad > 1 ? (r - 1) * dilation + 1 - 2 * pad : 1,
        (s - 1) * dilation + 1 - 2 * pad > 1 ? (s - 1) * dilation + 1 - 2 * pad : 1, most)
    math = ""
    if (type == "f32" && chance(50) && !masked) math = ", math: tf32"
    if (type == "f16" && chance(8)) math = ", math: f16_acc16"
    return sprintf("{op: conv2d, %s%s, c: %d, k: %d, h: %d, w: %d, kernel: [%d, %d], stride: %d, pad: %d, dilation: %d, groups: %d, epilogue: %s}",
        common(type, layout), math, c, k, h, w, r, s, stride, pad, dilation, groups, bracketed(tail))
}

function conv_transpose2d(masked,    type, c, k, r, s, stride, pad, out, groups, tail) {
    type = one_of("f16 f16 bf16 f32"); c = channels(); k = chance(40) ? between(1, 3) : channels(); r = s = one_of("2 3 4 4 5 6 9"); stride = one_of("1 2 2 2 3 4")
    if (masked) { r = s = one_of("2 4 4 6"); stride = one_of("2 2 4") }
    if (chance(10)) s = one_of("1 2 3 4")
    out = chance(30) ? below(stride) : 0; pad = chance(50) ? int((r - 1) / 2) : below(3)
    if (pad > int((r < s ? r : s) / 2)) pad = 0
    groups = 1
    if (!masked && chance(8)) { groups = between(2, 4); c = groups * between(1, 5); k = groups * between(1, 5) }
    if (masked) out = 0
    image(c * k * r * s, 2, 2, most)
    tail = epilogue(); gsub(/ residual/, "", tail)
    return sprintf("{op: conv_transpose2d, %s, c: %d, k: %d, h: %d, w: %d, kernel: [%d, %d], stride: %d, pad: %d, output_pad: %d, groups: %d, epilogue: %s}",
        common(type, chance(80) ? "NHWC" : "NCHW"), c, k, h, w, r, s, stride, pad, out, groups, bracketed(tail))
}

function upsample_conv2d(    c, k, r, s, pad) {
    c = channels(); k = channels(); r = s = one_of("3 3 3 1 5 2"); if (chance(10)) s = between(1, 4)
    pad = chance(70) ? int((r - 1) / 2) : between(0, 2); if (2 * pad > (r < s ? r : s)) pad = 0
    block = one_of("2 2 2 3 4")
    image(c * k * r * s * block * block, r, s, most)
    return sprintf("{op: upsample_conv2d, %s, c: %d, k: %d, h: %d, w: %d, kernel: [%d, %d], pad: %d, block: %d, epilogue: %s}",
        common(one_of("f16 f16 bf16 f32"), chance(80) ? "NHWC" : "NCHW"), c, k, h, w, r, s, pad, block, bracketed(epilogue()))
}

function conv3d(    c, k, d, t, r, s) {
    c = between(1, 34); k = between(1, 34); t = between(1, 3); r = between(1, 5); s = between(1, 4); d = between(t, 7)
    image(c * k * t * r * s * d, r, s, most)
    return sprintf("{op: conv3d, %s, c: %d, k: %d, d: %d, h: %d, w: %d, kernel: [%d, %d, %d], stride: %d, pad: %d, epilogue: [bias, relu]}",
        common(one_of("f16 bf16 f32"), "NHWC"), c, k, d, h, w, t, r, s, chance(70) ? 1 : 2, int((t - 1) / 2))
}

# Ops without products. `most` counts elements here.
function moved(masked,    op, type, layout, c, block, r, stride, more) {
    op = masked ? one_of("upsample upsample_bilinear pool_average pool_max_change truncate add concat densify pointwise conv_transpose2d conv3d") : \
        one_of("upsample upsample_bilinear depth_to_space depth_to_space space_to_depth layout layout layout pool_average pool_max upsample_conv2d conv_transpose2d conv3d pointwise")
    if (op == "conv_transpose2d") return conv_transpose2d(masked)
    if (op == "conv3d") return conv3d()
    if (op == "upsample_conv2d") return upsample_conv2d()
    type = one_of("f16 f16 bf16 f32"); layout = masked || chance(55) ? "NHWC" : "NCHW"; c = channels(); block = one_of("2 2 3 4 8"); more = ""
    image(c, 1, 1, 40000)
    if (op ~ /^upsample/) { if (op == "upsample_bilinear" && block == 3) block = 2; more = ", block: " block }
    else if (op == "depth_to_space") { c = block * block * (chance(60) ? between(1, 5) : 8 * between(1, 2)); more = ", block: " block ", mode: " one_of("CRD DCR") }
    else if (op == "space_to_depth") { h = block * ceiling(h, block); w = block * ceiling(w, block); more = ", block: " block ", mode: " one_of("CRD DCR") }
    else if (op == "layout") more = ", to: " (layout == "NHWC" ? "NCHW" : "NHWC")
    else if (op ~ /^pool/) { r = between(2, 4); stride = between(1, 2); if (h < r) h = r; if (w < r) w = r; more = sprintf(", kernel: %d, stride: %d, pad: %d", r, stride, chance(40) ? 1 : 0) }
    else if (op == "truncate") more = sprintf(", norm: %s, above: %.1f, slope: %s", one_of("max l2 rms"), 0.5 + below(20) / 10, one_of("0 0 0.1 1"))
    else if (op == "concat") more = ", k: " (c + channels())
    else if (op == "pointwise") more = ", epilogue: [bias" (chance(50) ? ", residual" : "") ", relu]"
    return sprintf("{op: %s, %s, c: %d, h: %d, w: %d%s}", op, common(type, layout), c, h, w, more)
}

function mask(    drawn) {
    do drawn = any_mask(); while (drawn in masks) # an axis has each value once
    masks[drawn] = 1
    return drawn
}
function any_mask(    pattern) {
    pattern = one_of("iid iid iid blobs blobs box scanline pixel checkerboard full empty")
    if (pattern ~ /^(checkerboard|full|empty)$/) return pattern
    if (pattern == "pixel") return sprintf("{pattern: pixel, seed: %d}", between(1, 999))
    return sprintf("{pattern: %s, density: %.3f%s%s}", pattern, one_of("0.002 0.01 0.03 0.1 0.3 0.6 0.9"), pattern == "blobs" ? ", radius: " between(1, 9) : "",
        pattern ~ /iid|blobs/ ? ", seed: " between(1, 999) : "")
}

function chain(    width, i) {
    width = 16 * one_of("1 2 3 4 4 4 5 6"); image(width * width * 9, 1, 1, most)
    printf "defaults: {op: conv2d, n: %d, h: %d, w: %d, kernel: 3, stride: 1, pad: 1, dtype: %s, layout: NHWC}\nlayers:\n", n, h, w, one_of("f16 f16 bf16")
    printf "  head: {c: %d, k: %d, epilogue: [bias]}\n", between(1, 4), width
    printf "  a: {c: %d, k: %d, epilogue: %s}\n", width, width, bracketed(" bias " activation())
    printf "  b: {c: %d, k: %d, epilogue: %s}\n", width, width, bracketed((chance(50) ? " bias" : "") " residual")
    printf "  c: {c: %d, k: %d, epilogue: %s}\n", width, width, bracketed(chance(50) ? " bias" : "")
    printf "networks:\n  net: {order: [%s{repeat: %d, of: [a, b]}%s]}\n", chance(50) ? "head, " : "a, ", between(1, 3), chance(50) ? ", c" : ""
}

BEGIN {
    state = seed * 7919 % 2147483646 + 1
    for (i = 0; i < 8; i++) next_random()
    most = most ? most : 4000000
    printf "scenario: drawn_%s_%d\n", what, seed
    if (what == "chain") chain()
    else {
        print "layers:"
        for (i = 1; i <= layers; i++)
            printf "  l%d: %s\n", i, what == "movement" ? moved(0) : what == "sparse" ? (chance(65) ? conv2d(1) : moved(1)) : conv2d(0)
        if (what == "sparse") printf "axes:\n  mask: {values: [%s, %s, %s]}\n", mask(), mask(), mask()
    }
    printf "on:\n  emu: {chip: sm_90a}\n"
}
