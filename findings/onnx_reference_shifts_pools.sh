#!/bin/sh
# Behaviour: onnx's reference evaluator pools otherwise than the operators' definition, and onnxruntime, do. An AveragePool (opset 22) with ceil_mode
# whose last window hangs over the end moves all windows: 1 to 7 by 3, stride 3, gives 1.5 4 6 in place of 2 5 7. A MaxPool with auto_pad SAME_LOWER,
# 7 columns and stride 2 has 3 results in place of ceil(7 / 2) = 4. Its QuantizeLinear turns 3e9 and infinity into -128, where the
# definition saturates to 127.
# Seen with: onnx 1.23.2, onnxruntime 1.32.0 (CPU), on 2026-11-30. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q 'onnx==1.23.2' 'onnxruntime==1.32.0' 'numpy<3'
cat >"$dir/pools.py" <<'PY'
import numpy
import onnx
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator

numpy.seterr(all="ignore")


def both(op, feeds, **attributes):
    """By onnx's reference and by onnxruntime."""
    inputs = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in feeds.items()]
    graph = helper.make_graph([helper.make_node(op, list(feeds), ["y"], **attributes)], "g", inputs, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    results = [tool.run(None, feeds)[0].ravel().tolist() for tool in (ReferenceEvaluator(model), session)]
    print(op, "reference", *results[0], "- onnxruntime", *results[1])
    return results


print("onnx %s, onnxruntime %s" % (onnx.__version__, onnxruntime.__version__))
row = numpy.arange(1, 8, dtype=numpy.float32).reshape(1, 1, 7)
large = numpy.array([100, 200, 3e9, numpy.inf], numpy.float32)
average = both("AveragePool", {"x": row}, kernel_shape=[3], strides=[3], ceil_mode=1)
most = both("MaxPool", {"x": row}, kernel_shape=[3], strides=[2], auto_pad="SAME_LOWER")
byte = both("QuantizeLinear", {"x": large, "scale": numpy.array(1, numpy.float32), "zero": numpy.array(0, numpy.int8)})
right = average[1] == [2, 5, 7] and len(most[1]) == 4 and byte[1] == [100, 127, 127, 127]
off = average[0] == [1.5, 4, 6] and len(most[0]) == 3 and byte[0] == [100, 127, -128, -128]
raise SystemExit(0 if right and off else 1)
PY
"$dir/venv/bin/python" "$dir/pools.py"
