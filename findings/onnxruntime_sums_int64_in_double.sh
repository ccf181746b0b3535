#!/bin/sh
# Behaviour: onnxruntime 1.32.0 computes ReduceSum, ReduceProd and ReduceL1 of int64 in double (1.26.0 did not): the sum of the one number
# 9007199254740993 is 9007199254740992. An int32 or int64 sum that exceeds its type becomes the largest number of the type, where CumSum wraps,
# as 1.26.0's ReduceSum did and NumPy does. So the sum of whole numbers differs from the last element of their CumSum.
# Seen with: onnxruntime 1.32.0 and 1.26.0 (CPU), onnx 1.23.2, on 2026-11-30. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/sums.py" <<'PY'
import numpy
import onnxruntime
from onnx import helper


def compute(op, x, *more):
    names = ["x", "axis"][:1 + len(more)]
    feeds = dict(zip(names, (x, *more)))
    inputs = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in feeds.items()]
    keep = {} if more else {"keepdims": 0}
    graph = helper.make_graph([helper.make_node(op, names, ["y"], **keep)], "g", inputs, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)[0]


def said(op, values, kind):
    print(onnxruntime.__version__, op, kind, values, compute(op, numpy.array(values, kind)))


def last_of_cumsum(values, kind):
    print(onnxruntime.__version__, "CumSum", kind, values, compute("CumSum", numpy.array(values, kind), numpy.array(0))[-1])


said("ReduceSum", [2**53 + 1], "int64")
last_of_cumsum([2**53 + 1], "int64")
said("ReduceProd", [2**53 + 1, 1], "int64")
said("ReduceL1", [2**53 + 1], "int64")
said("ReduceSum", [2**31 - 1, 1], "int32")
last_of_cumsum([2**31 - 1, 1], "int32")
PY
for version in 1.26.0 1.32.0; do
    python3 -m venv "$dir/$version"
    "$dir/$version/bin/pip" install -q "onnxruntime==$version" 'onnx==1.23.2' 'numpy<3'
    "$dir/$version/bin/python" "$dir/sums.py" | tee -a "$dir/said"
done
for version in 1.26.0 1.32.0; do
    case $version in 1.26.0) sum=9007199254740993 most=-2147483648 ;; *) sum=9007199254740992 most=2147483647 ;; esac
    grep -qxF "$version ReduceSum int64 [9007199254740993] $sum" "$dir/said"
    grep -qxF "$version ReduceProd int64 [9007199254740993, 1] $sum" "$dir/said"
    grep -qxF "$version ReduceL1 int64 [9007199254740993] $sum" "$dir/said"
    grep -qxF "$version ReduceSum int32 [2147483647, 1] $most" "$dir/said"
    grep -qxF "$version CumSum int64 [9007199254740993] 9007199254740993" "$dir/said"
    grep -qxF "$version CumSum int32 [2147483647, 1] -2147483648" "$dir/said"
done
