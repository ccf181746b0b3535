#!/bin/sh
# Behaviour: onnx's reference evaluator resizes with align_corners otherwise than the operator's definition, and onnxruntime, do if the scale gives no whole
# number of columns: it divides by 7 * 1.5 - 1 where the definition divides by the resized length less 1, 10 - 1, so that the last column is no
# longer the input's last: 0, 10 ... 60 by 1.5 ends with 56.84 in place of 60, and with 60 if `sizes` says 10. In pytorch_half_pixel it reads
# one resized column at -0.5, where the definition has 0: a cubic Resize of 7 columns to 1 gives 98.03 in place of the first value, 100.
# Seen with: onnx 1.23.2, onnxruntime 1.32.0 (CPU), opset 19, on 2026-11-30. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q 'onnx==1.23.2' 'onnxruntime==1.32.0' 'numpy<3'
cat >"$dir/resize.py" <<'PY'
import numpy
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator


def both(row, by, mode, coordinates):
    """The last resized column by onnxruntime and by the reference."""
    x = numpy.array(row, numpy.float32).reshape(1, 1, 1, -1)
    scales = isinstance(by, float)
    last = helper.make_tensor("by", TensorProto.FLOAT if scales else TensorProto.INT64, [4], [1, 1, 1, by])
    node = helper.make_node("Resize", ["x", "", "by"] if scales else ["x", "", "", "by"], ["y"], mode=mode, coordinate_transformation_mode=coordinates)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [last])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return [round(float(tool.run(None, {"x": x})[0].ravel()[-1]), 2) for tool in (session, ReferenceEvaluator(model))]


tens, squares = [10 * i for i in range(7)], [i * i for i in range(10, 17)]
seen = []
for row, by, mode, coordinates in ((tens, 1.5, "linear", "align_corners"), (tens, 0.6, "linear", "align_corners"), (tens, 10, "linear", "align_corners"),
                                   (squares, 1, "cubic", "pytorch_half_pixel"), (squares, 1, "linear", "pytorch_half_pixel")):
    seen.append(both(row, by, mode, coordinates))
    print(f"{mode}, {coordinates}, {'scale' if isinstance(by, float) else 'size'} {by}: the last column is {seen[-1][0]} in onnxruntime, {seen[-1][1]} in the reference")
raise SystemExit(0 if seen == [[60, 56.84], [60, 56.25], [60, 60], [100, 98.03], [100, 100]] else 1)
PY
"$dir/venv/bin/python" "$dir/resize.py"
