#!/bin/sh
# Behaviour: TVM's importer of ONNX models computes four layers otherwise than onnxruntime and onnx's reference, which agree with each other, and warns of none.
# - ConvTranspose with output_shape has the size that it would have without: 5 x 6 pixels, kernel 3, stride 2 to 12 x 14 become 11 x 13.
# - Resize with antialias is Resize without: 8 pixels 0, 0, 80, 0, 0, 0, 80, 0 on 2 become 40 and 40, onnxruntime has 17.5 and 20.
# - Resize by scales recomputes the scale from the rounded sizes: 5 pixels by 1.5 are 7, and TVM resizes by 1.4 (the last pixel of 0 ... 40 is 40, not 38.3).
# - Max of -infinity and -infinity is -3.4e38, and Min of two infinities 3.4e38: the fold begins with the largest finite number. A row that is masked by -infinity
#   everywhere is no longer recognised.
# Seen with: apache-tvm 0.27.0.post1 (target llvm), onnx 1.23.2, onnxruntime 1.26.0, on 2026-12-01. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --no-cache-dir 'apache-tvm==0.27.0.post1' 'apache-tvm-ffi==0.1.15.post2' 'onnx==1.23.2' 'onnxruntime==1.26.0' 'numpy==2.4.6' 'scipy==1.17.1'
cat >"$dir/layers.py" <<'PY'
import numpy
import onnx
import onnxruntime
import tvm
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def run(op, inputs, constants=(), **attributes):
    """What TVM, onnxruntime and onnx's reference make of one node; constants are its other inputs, None one that is left out."""
    names = [f"x{i}" for i in range(len(inputs))]
    graph = helper.make_graph([helper.make_node(op, names + [f"c{i}" if c is not None else "" for i, c in enumerate(constants)], ["y"], **attributes)], "g",
                              [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, x.shape) for n, x in zip(names, inputs)],
                              [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)], [numpy_helper.from_array(c, f"c{i}") for i, c in enumerate(constants) if c is not None])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    feeds = dict(zip(names, inputs))
    module = relax.transform.LegalizeOps()(relax.transform.DecomposeOpsForInference()(from_onnx(model, keep_params_in_input=False)))
    machine = relax.VirtualMachine(relax.build(module, target="llvm"), tvm.cpu())
    ours = machine["main"](*map(tvm.runtime.tensor, inputs))
    ours = (ours if hasattr(ours, "numpy") else ours[0]).numpy()
    other = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)[0]
    reference = ReferenceEvaluator(model).run(None, feeds)[0]
    agree = other.shape == reference.shape and bool(numpy.allclose(other, reference, rtol=1e-5, atol=1e-5))
    print(op, attributes, "of TVM:", ours.shape, *map("{:.4g}".format, ours.ravel()[:7]), "- onnxruntime:", other.shape, *map("{:.4g}".format, other.ravel()[:7]),
          "- the reference agrees" if agree else "- the reference differs")
    return ours, other, agree


print("tvm", tvm.__version__)
image, weights = numpy.ones((1, 1, 5, 6), numpy.float32), numpy.ones((1, 1, 3, 3), numpy.float32)
ours, other, agree = run("ConvTranspose", [image], [weights], strides=[2, 2], output_shape=[12, 14])
as_seen = agree and other.shape == (1, 1, 12, 14) and ours.shape == (1, 1, 11, 13)
peaks = numpy.array([0, 0, 80, 0, 0, 0, 80, 0], numpy.float32).reshape(1, 1, 1, 8)
small = [None, None, numpy.array([1, 1, 1, 2])]
ours, other, agree = run("Resize", [peaks], small, mode="linear", antialias=1)
as_seen = as_seen and agree and ours.ravel().tolist() == run("Resize", [peaks], small, mode="linear")[0].ravel().tolist() == [40, 40] and numpy.allclose(other.ravel(), [17.5, 20])
row = numpy.array([0, 10, 20, 30, 40], numpy.float32).reshape(1, 1, 1, 5)
ours, other, agree = run("Resize", [row], [None, numpy.array([1, 1, 1, 1.5], numpy.float32)], mode="linear")
at = lambda scale: numpy.clip((numpy.arange(7) + 0.5) / scale - 0.5, 0, 4) * 10
as_seen = as_seen and agree and numpy.allclose(other.ravel(), at(1.5), atol=1e-4) and numpy.allclose(ours.ravel(), at(1.4), atol=1e-4)
for op, sign in (("Max", -1), ("Min", 1)):
    infinite = numpy.full(2, sign * numpy.inf, numpy.float32)
    ours, other, agree = run(op, [infinite, infinite])
    as_seen = as_seen and agree and numpy.isinf(other).all() and numpy.isfinite(ours).all() and (sign * ours > 3.4e38).all()
raise SystemExit(0 if as_seen else 1)
PY
"$dir/venv/bin/python" -W ignore "$dir/layers.py"
