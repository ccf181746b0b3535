#!/bin/sh
# Behaviour: OpenVINO computes four layers of ONNX (opset 22) otherwise than onnxruntime and onnx's reference, which agree with each other, and says nothing.
# - MaxPool with ceil_mode keeps a window that holds only padding: 5 x 7 pixels with kernel 3, stride 3, pads 1 become 3 x 3 with a last row of -3.4e38. ONNX leaves
#   out windows that start in the padding behind the image: 2 x 3.
# - AveragePool with ceil_mode and count_include_pad divides a window that reaches beyond the padding by the whole kernel (9.83), ONNX by what is image or padding (14.75).
# - Resize (cubic) ignores exclude_outside: 0, 10, 20, 30 twice as wide begins with -1.05 instead of -1.36.
# - QuantizeLinear adds the zero point before it rounds, so that with an odd one every tie differs: 0.5, 1.5, 2.5 with zero point 3 are 4, 4, 6; ONNX has 3, 5, 5.
# Seen with: openvino 2026.4.1 (CPU, x86-64 with AVX512, inference precision f32), onnx 1.23.2, onnxruntime 1.32.0, on 2026-12-01.
# Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --no-cache-dir 'openvino==2026.4.1' 'onnx==1.23.2' 'onnxruntime==1.32.0' 'numpy==2.4.6'
cat >"$dir/layers.py" <<'PY'
import numpy
import onnx
import onnxruntime
import openvino
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator


def run(op, x, constants=(), out=onnx.TensorProto.FLOAT, **attributes):
    """What OpenVINO, onnxruntime and onnx's reference make of one node; constants are its other inputs, None one that is left out."""
    names = ["x"] + [f"c{i}" if c is not None else "" for i, c in enumerate(constants)]
    graph = helper.make_graph([helper.make_node(op, names, ["y"], **attributes)], "g", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y", out, None)],
                              [numpy_helper.from_array(c, f"c{i}") for i, c in enumerate(constants) if c is not None])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    ours, other, reference = compiled({"x": x})[0], session.run(None, {"x": x})[0], ReferenceEvaluator(model).run(None, {"x": x})[0]
    agree = other.shape == reference.shape and bool(numpy.allclose(other, reference, rtol=1e-5, atol=1e-6))
    print(op, "of OpenVINO:", ours.shape, *map("{:.4g}".format, ours.ravel()[-9:]), "- onnxruntime:", other.shape, *map("{:.4g}".format, other.ravel()[-9:]), "- the reference agrees" if agree else "- the reference differs")
    return ours, other, agree


print("openvino", openvino.__version__)
image = numpy.arange(1, 36, dtype=numpy.float32).reshape(1, 1, 5, 7)
ours, other, agree = run("MaxPool", image, kernel_shape=[3, 3], strides=[3, 3], pads=[1, 1, 1, 1], ceil_mode=1)
as_seen = agree and other.shape == (1, 1, 2, 3) and ours.shape == (1, 1, 3, 3) and (ours[..., :2, :] == other).all() and (ours[..., 2, :] < -3.4e38).all()
ours, other, agree = run("AveragePool", image, kernel_shape=[3, 2], strides=[2, 2], pads=[0, 0, 1, 1], ceil_mode=1, count_include_pad=1)
# the window's pixels are 29 and 30, and two pixels of padding below them; 3 rows of the kernel
as_seen = as_seen and agree and other[0, 0, 2, 0] == (29 + 30) / 4 and abs(ours[0, 0, 2, 0] - (29 + 30) / 6) < 1e-5
row = numpy.array([[[[0, 10, 20, 30]]]], numpy.float32)
ours, other, agree = run("Resize", row, (None, None, numpy.array([1, 1, 1, 8])), mode="cubic", exclude_outside=1)
plain = run("Resize", row, (None, None, numpy.array([1, 1, 1, 8])), mode="cubic")
as_seen = as_seen and agree and abs(ours[0, 0, 0, 0] - other[0, 0, 0, 0]) > 0.3 and (ours == plain[0]).all() and plain[2] and numpy.allclose(plain[0], plain[1], atol=1e-4)
ours, other, agree = run("QuantizeLinear", numpy.array([0.5, 1.5, 2.5], numpy.float32), (numpy.float32(1), numpy.uint8(3)), onnx.TensorProto.UINT8)
as_seen = as_seen and ours.tolist() == [4, 4, 6] and other.tolist() == [3, 5, 5] and agree
raise SystemExit(0 if as_seen else 1)
PY
"$dir/venv/bin/python" -W ignore "$dir/layers.py"
