"""peers.py SEED COUNT: draws layers of resizing, padding and pooling, runs the rows of bench on emu, and compares them with onnxruntime."""
import os
import random
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

POINTS = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]


def resize(r, mode):
    h, w = r.randint(2, 12), r.randint(2, 12)
    up, down = r.randint(1, 9), r.randint(1, 6)
    right, left = r.randint(1, 9), r.randint(1, 6)
    while h * up < down or w * right < left:
        h, w = h + 1, w + 1
    keys = dict(h=h, w=w, up=up, down=down, up_x=right, down_x=left, coordinates=r.choice(POINTS))
    attributes = dict(mode=mode, coordinate_transformation_mode=keys["coordinates"])
    if mode == "nearest":
        keys["rounding"] = attributes["nearest_mode"] = r.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        keys["a"] = attributes["cubic_coeff_a"] = r.choice([-0.75, -0.5])
    return keys, "Resize", attributes, [("", None), ("scales", np.array([1, 1, up / down, right / left], np.float32))]


def pad(r):
    h, w = r.randint(4, 12), r.randint(4, 12)
    sides = [r.randint(0, 3) for _ in range(4)]  # top, left, bottom, right
    fill = r.choice(["constant", "reflect", "edge", "wrap"])
    keys = dict(h=h, w=w, pad=sides, fill=fill)
    inputs = [("pads", np.array([0, 0, sides[0], sides[1], 0, 0, sides[2], sides[3]], np.int64))]
    if fill == "constant":
        keys["value"] = r.choice([0.0, 0.1, -3.5])
        inputs.append(("value", np.array(keys["value"], np.float32)))
    return keys, "Pad", dict(mode=fill), inputs


def pool(r, average):
    kernel, stride, dilation = [[r.randint(1, 4) for _ in range(2)] for _ in range(3)]
    dilation = [min(d, 2) for d in dilation]
    h, w = [r.randint(dilation[i] * (kernel[i] - 1) + 1, 14) for i in range(2)]
    most = [(dilation[i] * (kernel[i] - 1) + 1) // 2 for i in range(2)]
    sides = [r.randint(0, min(most[i % 2], 2)) for i in range(4)]
    keys = dict(h=h, w=w, kernel=kernel, stride=stride, dilation=dilation, pad=sides, ceil_mode=r.randint(0, 1))
    attributes = dict(kernel_shape=kernel, strides=stride, dilations=dilation, pads=sides, ceil_mode=keys["ceil_mode"])
    if average:
        keys["count_include_pad"] = attributes["count_include_pad"] = r.randint(0, 1)
    return keys, "AveragePool" if average else "MaxPool", attributes, []


OPS = {
    "resize_nearest": lambda r: resize(r, "nearest"),
    "resize_linear": lambda r: resize(r, "linear"),
    "resize_cubic": lambda r: resize(r, "cubic"),
    "pad": pad,
    "pool_max": lambda r: pool(r, False),
    "pool_average": lambda r: pool(r, True),
}
VARIANTS = {"pool_max": ["element"], "pool_average": ["element"]}


def peer(layer, x):
    """The result of onnxruntime, in f32 of the values that bench drew."""
    keys, kind, attributes, inputs = layer
    names = ["x"] + [name for name, _ in inputs]
    constants = [onnx.numpy_helper.from_array(value, name) for name, value in inputs if name]
    node = helper.make_node(kind, names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])
    model.ir_version = 9
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


def text(value):
    return "[%s]" % ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def main(seed, count):
    r = random.Random(seed)
    layers, lines = {}, []
    for i in range(count):
        op = list(OPS)[i % len(OPS)]
        layer = OPS[op](r)
        name = "l%d" % i
        keys = dict(layer[0], n=r.randint(1, 2), c=r.choice([1, 3, 8, 10]), layout=r.choice(["NCHW", "NHWC"]), dtype=r.choice(["f32", "f16"]))
        layers[name] = (op, layer, keys)
        lines.append("  %s: {op: %s, %s}" % (name, op, ", ".join("%s: %s" % (k, text(v)) for k, v in keys.items())))
    rows = ["%s/%s" % (op, v) for op in OPS for v in VARIANTS.get(op, ["element", "pixel"])]
    with open("peers.yaml", "w") as f:
        f.write("scenario: peers\nlayers:\n%s\nvariants: [%s]\non: {emu: {chip: sm_90}}\n" % ("\n".join(lines), ", ".join(rows)))
    worst = 0
    for name, (op, layer, keys) in layers.items():
        for variant in VARIANTS.get(op, ["element", "pixel"]):
            subprocess.run([os.environ.get("BENCH", "bench"), "exec", "peers.yaml", name, op + "/" + variant, "--device", "emu", "--save", "out"], check=True,
                           stdout=subprocess.DEVNULL)
            x, y = np.load("out/input.npy").astype(np.float32), np.load("out/output.npy").astype(np.float64)
            want = peer(layer, x).astype(np.float64)
            if y.shape != want.shape:
                print("%s %s: shape %s, onnxruntime %s" % (name, keys, y.shape, want.shape))
                return 1
            unit = 2 ** -10 if keys["dtype"] == "f16" else 2 ** -20  # onnxruntime computes coordinates and weights in f32
            error = np.max(np.abs(y - want)) / (np.max(np.abs(want)) + 1e-30)
            worst = max(worst, error / unit)
            if not error <= unit:
                print("%s %s/%s %s: error %g" % (name, op, variant, keys, error))
                return 1
    print("%d layers equal onnxruntime" % count)
    print("seed %d: largest error %.3f of the limit" % (seed, worst), file=sys.stderr)
    return 0


sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
