#!/bin/sh
# Behaviour: MNN on the CPU computes these layers of converted ONNX models otherwise than ONNX defines them, without a word of its converter.
# - Less of float32 compares the bits as integers: -2 < -0.5 is false and -0.5 < -2 true. Equal does too: 0 and -0 differ, and NaN equals itself. Greater is right.
# - Max, Min and Abs of int32 go through float32: Max of 16777217 and 0 is 16777216, Max of 2147483647 and 1 and Abs of 2147483647 are -2147483648.
# - Mod with fmod = 1 of floats is the floored remainder (-7 and 3: 2, C's fmod has -1).
# - Exp ends at 87: exp(88) is 6.08e37 (1.65e38), and Softplus of everything above 87 is 87.
# Seen with: MNN 3.6.1 (wheel, x86-64 with AVX512), onnx 1.23.2, on 2026-12-01. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --no-cache-dir 'MNN==3.6.1' 'onnx==1.23.2' 'numpy==2.4.6'
cat >"$dir/layers.py" <<'PY'
import math
import subprocess
import sys
import numpy
import onnx
import MNN
import MNN.expr as expr
import MNN.nn
from onnx import helper
from onnx.reference import ReferenceEvaluator

folder = sys.argv[1]


def run(op, *inputs, whole=False, **attributes):
    """What MNN and onnx's reference make of one node; whole: of int32, otherwise of float32 with a Cast of the result to it."""
    names, kind = ["a", "b"][: len(inputs)], onnx.TensorProto.INT32 if whole else onnx.TensorProto.FLOAT
    nodes = [helper.make_node(op, names, ["y" if whole else "c"], **attributes)] + ([] if whole else [helper.make_node("Cast", ["c"], ["y"], to=onnx.TensorProto.FLOAT)])
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, kind, [len(x)]) for n, x in zip(names, inputs)],
                              [helper.make_tensor_value_info("y", kind, [len(inputs[0])])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder + "/m.onnx")
    subprocess.run([folder + "/venv/bin/mnnconvert", "-f", "ONNX", "--modelFile", folder + "/m.onnx", "--MNNModel", folder + "/m.mnn", "--bizCode", "m"], check=True, capture_output=True)
    net = MNN.nn.load_module_from_file(folder + "/m.mnn", names, ["y"])
    result = net.forward([expr.const(list(x), [len(x)], expr.NCHW, expr.int if whole else expr.float) for x in inputs])
    result = result[0] if isinstance(result, list) else result
    got = numpy.array(result.read(), copy=True).ravel().tolist()
    want = ReferenceEvaluator(model).run(None, {n: numpy.array(x, numpy.int32 if whole else numpy.float32) for n, x in zip(names, inputs)})[0].tolist()
    print(op, *inputs, "of MNN:", *map("{:.10g}".format, got), "- the reference:", *map("{:.10g}".format, want))
    return got, want


low, top = -(2 ** 31), 2 ** 31 - 1
cases = [(run("Less", [-2.0, -0.5, 1.0, -1.0], [-0.5, -2.0, 2.0, 1.0]), [0, 1, 1, 1], [1, 0, 1, 1]),
         (run("Greater", [-2.0, -0.5, 1.0, -1.0], [-0.5, -2.0, 2.0, 1.0]), [0, 1, 0, 0], [0, 1, 0, 0]),
         (run("Equal", [0.0, math.nan, 1.0], [-0.0, math.nan, 1.0]), [0, 1, 1], [1, 0, 1]),
         (run("Max", [2 ** 24 + 1, top], [0, 1], whole=True), [2 ** 24, low], [2 ** 24 + 1, top]),
         (run("Abs", [top, -5], whole=True), [low, 5], [top, 5]),
         (run("Mod", [-7.0, 7.0], [3.0, -3.0], fmod=1), [2, -2], [-1, 1]),
         (run("Softplus", [50.0, 88.0, 300.0]), [50, 87, 87], [50, 88, 300])]
(exponential, _), (right, _) = run("Exp", [88.0, -1.0])
as_seen = all(got == seen and want == defined for (got, want), seen, defined in cases) and 6.0e37 < exponential < 6.2e37 and right > 1.6e38
raise SystemExit(0 if as_seen else 1)
PY
"$dir/venv/bin/python" -W ignore "$dir/layers.py" "$dir"
