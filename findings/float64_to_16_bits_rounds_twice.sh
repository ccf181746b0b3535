#!/bin/sh
# Behaviour: onnxruntime's Cast from double to float16 and bfloat16, and ml_dtypes' bfloat16, round to float32 first and then again: 65519.999999
# becomes infinity in float16 (nearest: 65504), 1 + 2^-11 + 2^-30 becomes 1 (nearest: 1 + 2^-10), and 1 + 2^-8 + 2^-30 becomes 1 in bfloat16 (nearest:
# 1 + 2^-7). NumPy's float16 rounds once, and so do the instructions cvt.rn.f16.f64 and cvt.rn.bf16.f64 that Triton writes (H200, driver
# 580.159.04). A reference in double that ends with such a cast is one step off a kernel that rounds right.
# Seen with: onnxruntime 1.32.0 (CPU), ml_dtypes 0.6.0, numpy 2.4.6, on 2026-11-30. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q 'onnx==1.23.2' 'onnxruntime==1.32.0' 'ml_dtypes==0.6.0' 'numpy==2.4.6'
cat >"$dir/casts.py" <<'PY'
import ml_dtypes
import numpy
import onnxruntime
from fractions import Fraction
from onnx import TensorProto, helper

numpy.seterr(all="ignore")


def cast(values, kind):
    """By onnxruntime, back in double."""
    nodes = [helper.make_node("Cast", ["x"], ["z"], to=kind), helper.make_node("Cast", ["z"], ["y"], to=TensorProto.DOUBLE)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.DOUBLE, values.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": values})[0].tolist()


def nearest(value, digits):
    """Of normal numbers with so many binary digits, by exact arithmetic."""
    step = Fraction(2) ** (int(numpy.frexp(value)[1]) - digits)
    return float(round(Fraction(value) / step) * step)


half = numpy.array([65519.999999, 1 + 2**-11 + 2**-30])
brain = numpy.array([1 + 2**-8 + 2**-30])
tools = {"float16 nearest": [nearest(v, 11) for v in half], "float16 numpy": half.astype(numpy.float16).astype(float).tolist(),
         "float16 onnxruntime": cast(half, TensorProto.FLOAT16), "bfloat16 nearest": [nearest(v, 8) for v in brain],
         "bfloat16 ml_dtypes": brain.astype(ml_dtypes.bfloat16).astype(float).tolist(), "bfloat16 onnxruntime": cast(brain, TensorProto.BFLOAT16)}
for name, values in tools.items():
    print(name, *values)
once = [65504, 1 + 2**-10]
as_seen = tools["float16 nearest"] == once == tools["float16 numpy"] and tools["float16 onnxruntime"] == [numpy.inf, 1] and \
    tools["bfloat16 nearest"] == [1 + 2**-7] and tools["bfloat16 ml_dtypes"] == [1] == tools["bfloat16 onnxruntime"]
raise SystemExit(0 if as_seen else 1)
PY
"$dir/venv/bin/python" "$dir/casts.py"
