#!/bin/sh
# Behaviour: onnxruntime's ReduceMax of a row with a NaN may return neither NaN nor the largest number: of 1, NaN, 3, 4 it returns 3. The halves of a vector
# are compared with each other, a comparison with NaN keeps the other operand, and 4 is lost with the NaN that took its place. Of the 16 rows of 1 to 16 with one
# NaN, one result is NaN, and three are 15 though 16 is there. MaxPool keeps a NaN only in the first place of its window, and ArgMax too. A
# calibration or a reference that looks for the range of values with ReduceMax gets a limit that a value exceeds.
# onnx's reference returns NaN for all rows of ReduceMax.
# Seen with: onnx 1.23.2, onnxruntime 1.32.0 (CPU, x86-64), on 2026-12-01. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q 'onnx==1.23.2' 'onnxruntime==1.32.0' 'numpy==2.4.6'
cat >"$dir/reduce.py" <<'PY'
import numpy
import onnx
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator


def model_of(op, x, **attributes):
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], **attributes)], "g", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y", onnx.TensorProto.INT64 if op == "ArgMax" else onnx.TensorProto.FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def run(op, x, **attributes):
    session = onnxruntime.InferenceSession(model_of(op, x, **attributes).SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0].ravel()


row = numpy.array([[1, numpy.nan, 3, 4]], numpy.float32)
four = run("ReduceMax", row, axes=[1], keepdims=0)[0]
rows = numpy.tile(numpy.arange(1, 17, dtype=numpy.float32), (16, 1))
rows[numpy.arange(16), numpy.arange(16)] = numpy.nan
largest = run("ReduceMax", rows, axes=[1], keepdims=0)
pooled = run("MaxPool", rows.reshape(16, 1, 1, 16), kernel_shape=[1, 16])
where = run("ArgMax", rows, axis=1, keepdims=0)
reference = ReferenceEvaluator(model_of("ReduceMax", rows, axes=[1], keepdims=0)).run(None, {"x": rows})[0]
lost = numpy.flatnonzero(~numpy.isnan(largest) & (largest != numpy.nanmax(rows, 1)))
print("onnxruntime", onnxruntime.__version__, "ReduceMax of 1, NaN, 3, 4:", four)
print("1 to 16 with a NaN in each place:", *largest)
print("not the maximum with a NaN in place", *lost, "- MaxPool:", int(numpy.isnan(pooled).sum()), "of 16 NaN - ArgMax finds the NaN:", int((where == numpy.arange(16)).sum()))
print("onnx's reference:", int(numpy.isnan(reference).sum()), "of 16 NaN")
as_seen = four == 3 and lost.size > 0 and (largest[lost] == 15).all() and numpy.isnan(largest).sum() == 1 and numpy.isnan(pooled).sum() == 1 and \
    (where == numpy.arange(16)).sum() == 1 and numpy.isnan(reference).all()
raise SystemExit(0 if as_seen else 1)
PY
"$dir/venv/bin/python" "$dir/reduce.py"
