#!/bin/sh
# Behaviour: onnx's reference adds the zero point of the result before it rounds in QLinearMatMul and QLinearConv, and after it in QuantizeLinear (as ONNX defines it:
# x / scale is rounded to even). So with an odd zero point every tie goes the other way: 0.5 with zero point 1 is 2, and DequantizeLinear, MatMul, QuantizeLinear of the
# same numbers give 1, in the same reference. onnxruntime rounds first in both. With an even zero point all agree, so a test with 0 or 128 does not see it.
# Seen with: onnx 1.23.2, onnxruntime 1.32.0 (CPU), numpy 2.4.6, on 2026-12-01. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q 'onnx==1.23.2' 'onnxruntime==1.32.0' 'numpy==2.4.6'
cat >"$dir/ties.py" <<'PY'
import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

A = numpy.arange(-4, 5, dtype=numpy.int8).reshape(1, 1, 3, 3)
GRAPHS = {"QLinearMatMul": [("QLinearMatMul", "x half zero eye one zero one z", "y")], "QLinearConv": [("QLinearConv", "x half zero one8 one zero one z", "y")],
          "QuantizeLinear": [("DequantizeLinear", "x half zero", "b"), ("MatMul", "b eye32", "c"), ("QuantizeLinear", "c one z", "y")]}


def results(steps, zero):
    """Of onnx's reference and of onnxruntime: half of -4 to 4 by a weight of 1."""
    values = {"half": numpy.float32(0.5), "one": numpy.float32(1), "zero": numpy.int8(0), "z": numpy.int8(zero), "eye": numpy.eye(3, dtype=numpy.int8),
              "eye32": numpy.eye(3, dtype=numpy.float32), "one8": numpy.ones((1, 1, 1, 1), numpy.int8)}
    used = {name for _, names, _ in steps for name in names.split()}
    constants = [numpy_helper.from_array(numpy.asarray(value), name) for name, value in values.items() if name in used]
    graph = helper.make_graph([helper.make_node(op, names.split(), [out]) for op, names, out in steps], "g",
                              [helper.make_tensor_value_info("x", TensorProto.INT8, A.shape)], [helper.make_tensor_value_info("y", TensorProto.INT8, A.shape)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return [tool.run(None, {"x": A})[0].ravel().tolist() for tool in (ReferenceEvaluator(model), session)]


as_seen = True
for zero in (0, 1, 2, 3):
    before = [int(numpy.rint(v * 0.5)) + zero for v in A.ravel()]
    behind = [int(numpy.rint(v * 0.5 + zero)) for v in A.ravel()]
    for name, steps in GRAPHS.items():
        reference, runtime = results(steps, zero)
        print(f"zero point {zero}, {name}: reference", *reference, "- onnxruntime", *runtime)
        as_seen = as_seen and runtime == before and reference == (before if name == "QuantizeLinear" else behind)
    as_seen = as_seen and (before == behind) == (zero % 2 == 0)
raise SystemExit(0 if as_seen else 1)
PY
"$dir/venv/bin/python" "$dir/ties.py"
