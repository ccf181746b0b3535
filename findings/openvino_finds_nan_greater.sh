#!/bin/sh
# Behaviour: in OpenVINO's CPU code every number is greater than NaN, and NaN is greater than every number and than itself: Greater and GreaterOrEqual are true
# where one operand is NaN, while Less, LessOrEqual and Equal are false, as IEEE 754 has all five. Where(x > limit, ...) takes the other branch than elsewhere.
# A NaN also becomes a number: Exp gives infinity, HardSigmoid 1, Relu and Celu 0. A check of outputs for NaN passes over what made them.
# onnxruntime and onnx's reference agree with IEEE 754 in all of these.
# Seen with: openvino 2026.4.1 (CPU, x86-64 with AVX512, inference precision f32), onnxruntime 1.32.0, on 2026-12-01. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --no-cache-dir 'openvino==2026.4.1' 'onnx==1.23.2' 'onnxruntime==1.32.0' 'numpy==2.4.6'
cat >"$dir/nan.py" <<'PY'
import numpy
import onnx
import onnxruntime
import openvino
from onnx import helper
from onnx.reference import ReferenceEvaluator


def run(op, *inputs):
    """What OpenVINO, onnxruntime and onnx's reference make of one node."""
    names = [f"x{i}" for i in range(len(inputs))]
    bool_result = op.startswith(("Greater", "Less", "Equal"))
    graph = helper.make_graph([helper.make_node(op, names, ["y"])], "g",
                              [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, x.shape) for n, x in zip(names, inputs)],
                              [helper.make_tensor_value_info("y", onnx.TensorProto.BOOL if bool_result else onnx.TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    feeds = dict(zip(names, inputs))
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return [numpy.asarray(y).ravel().tolist() for y in (compiled(feeds)[0], session.run(None, feeds)[0], ReferenceEvaluator(model).run(None, feeds)[0])]


nan = numpy.nan
x, y = (numpy.array(v, numpy.float32) for v in ([1, nan, nan, 1], [nan, 1, nan, 2]))
print("openvino", openvino.__version__)
as_seen = True
for op in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal"):
    ours, *others = run(op, x, y)
    print(op, "of 1 and NaN, NaN and 1, NaN and NaN, 1 and 2:", *ours, "- onnxruntime and the reference:", *others[0])
    as_seen = as_seen and others[0] == others[1] == [False] * 3 + [op.startswith("Less")] and ours == [op.startswith("Greater")] * 3 + [op.startswith("Less")]
for op, number in (("Exp", numpy.inf), ("HardSigmoid", 1), ("Relu", 0), ("Celu", 0)):
    ours, *others = run(op, numpy.array([nan, nan, nan], numpy.float32))
    print(op, "of NaN:", *ours, "- onnxruntime and the reference:", *others[0])
    as_seen = as_seen and ours == [number] * len(ours) and numpy.isnan(others).all()
raise SystemExit(0 if as_seen else 1)
PY
"$dir/venv/bin/python" -W ignore "$dir/nan.py"
