#!/bin/sh
# Behaviour: onnxruntime's Cast with saturate = 0 makes the largest e4m3 number of some values that are too large, and NaN of some that are infinite
# in e5m2. To e4m3 (largest 448, NaN above 464) it turns 464.5 to 479.5 and 496 to NaN, but 480 to 495.5 to 448; to e5m2 (largest 57344) it turns
# 61440 to 65504 to NaN and 65536 to infinity, where ONNX's table has infinity for all. ml_dtypes and onnx's reference follow the table.
# Seen with: onnxruntime 1.32.0 (CPU), onnx 1.23.2, ml_dtypes 0.6.0, on 2026-11-30. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q 'onnx==1.23.2' 'onnxruntime==1.32.0' 'ml_dtypes==0.6.0' 'numpy<3'
cat >"$dir/casts.py" <<'PY'
import ml_dtypes
import numpy
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

numpy.seterr(all="ignore")


def cast(values, kind):
    """By onnxruntime, onnx's reference and ml_dtypes."""
    nodes = [helper.make_node("Cast", ["x"], ["z"], to=getattr(TensorProto, kind), saturate=0), helper.make_node("Cast", ["z"], ["y"], to=TensorProto.FLOAT)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, values.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    narrow = {"FLOAT8E4M3FN": ml_dtypes.float8_e4m3fn, "FLOAT8E5M2": ml_dtypes.float8_e5m2}[kind]
    return [session.run(None, {"x": values})[0], ReferenceEvaluator(model).run(None, {"x": values})[0], values.astype(narrow).astype(numpy.float32)]


def spans(values, results):
    """First and last value of each stretch with one result."""
    said, first = [], 0
    for i in range(1, len(values) + 1):
        if i == len(values) or str(results[i]) != str(results[first]):
            said.append("%g-%g: %g" % (values[first], values[i - 1], results[first]))
            first = i
    return ", ".join(said)


seen = []
for kind, low, high, step in (("FLOAT8E4M3FN", 440, 512, 0.5), ("FLOAT8E5M2", 57344, 66560, 32)):
    values = numpy.arange(low, high, step, dtype=numpy.float32)
    for tool, results in zip(("onnxruntime", "onnx's reference", "ml_dtypes"), cast(values, kind)):
        print(kind, tool, spans(values, results))
        seen.append(spans(values, results))
as_seen = ["440-464: 448, 464.5-479.5: nan, 480-495.5: 448, 496-511.5: nan"] + ["440-464: 448, 464.5-511.5: nan"] * 2 + \
    ["57344-61408: 57344, 61440-65504: nan, 65536-66528: inf"] + ["57344-61408: 57344, 61440-66528: inf"] * 2
raise SystemExit(0 if seen == as_seen else 1)
PY
"$dir/venv/bin/python" "$dir/casts.py"
