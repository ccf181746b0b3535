#!/bin/sh
# Behaviour: onnx's shape inference and onnxruntime's kernels disagree about the size of an output. A Resize of 5 columns by the scale 1.8 (a float) has 8
# columns for the inference, which multiplies in double, and 9 for the kernel, which multiplies in float. In opset 19, a pooling with ceil_mode = 1
# whose last window would begin behind the input has one output more for the inference; the kernel leaves it out (in opset 22 both do).
# Seen with: onnx 1.23.2, onnxruntime 1.32.0 (CPU), on 2026-11-29. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q 'onnx==1.23.2' 'onnxruntime==1.32.0' 'numpy<3'
cat >"$dir/seen.py" <<'PY'
import sys
import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


def sizes(node, shape, constants):
    """The height and width of the output, inferred and computed."""
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(v, k) for k, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    inferred = onnx.shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.shape.dim
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    computed = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, {"x": numpy.zeros(shape, "f4")})[0].shape
    return [d.dim_value for d in inferred][2:], list(computed)[2:]


cases = {
    "Resize 5 columns by 1.8": (helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="nearest"), (1, 1, 4, 5), {"scales": numpy.array([1, 1, 1, 1.8], "f4")}),
    "MaxPool of 6 columns, stride 2, ceil_mode": (helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[1, 1], strides=[1, 2], ceil_mode=1), (1, 1, 4, 6), {}),
}
print("onnx %s, onnxruntime %s" % (onnx.__version__, onnxruntime.__version__))
differ = 0
for name, (node, shape, constants) in cases.items():
    inferred, computed = sizes(node, shape, constants)
    differ += inferred != computed
    print("%s: inferred %s, computed %s" % (name, inferred, computed))
sys.exit(differ != len(cases))
PY
"$dir/venv/bin/python" "$dir/seen.py"
