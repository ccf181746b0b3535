#!/bin/sh
# Behaviour: ONNX defines GroupNormalization by a function whose variance is mean(x * x) - mean(x)^2 in float32. onnx's reference and onnxruntime both run
# that function: on 128 normal values of mean 1000 and deviation 1, results are off by more than 0.01, and of mean 3000 by more than 0.5, or NaN
# where the variance comes out negative. LayerNormalization and InstanceNormalization of the same values are right to 0.001 in both.
# Seen with: onnx 1.23.2, onnxruntime 1.32.0 (CPU), opset 23, on 2026-11-30. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q 'onnx==1.23.2' 'onnxruntime==1.32.0' 'numpy<3'
cat >"$dir/norms.py" <<'PY'
import numpy
import onnx
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator

numpy.seterr(all="ignore")


def model_of(op, feeds, **attributes):
    inputs = [helper.make_tensor_value_info(k, onnx.TensorProto.FLOAT, v.shape) for k, v in feeds.items()]
    graph = helper.make_graph([helper.make_node(op, list(feeds), ["y"], **attributes)], "g", inputs,
                              [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def error(op, feeds, axes, **attributes):
    """The largest error of onnx's reference and of onnxruntime, against double precision."""
    x = feeds["x"].astype(numpy.float64)
    right = (x - x.mean(axes, keepdims=True)) / numpy.sqrt(x.var(axes, keepdims=True) + 1e-5)
    model = model_of(op, feeds, **attributes)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return [float(abs(tool.run(None, feeds)[0] - right).max()) for tool in (ReferenceEvaluator(model), session)]


print("onnx %s, onnxruntime %s" % (onnx.__version__, onnxruntime.__version__))
seen = []
for mean in (0, 1000, 3000):
    x = (mean + numpy.random.default_rng(0).standard_normal((1, 2, 64))).astype(numpy.float32)
    one, none = numpy.ones(2, numpy.float32), numpy.zeros(2, numpy.float32)
    grouped = error("GroupNormalization", {"x": x, "scale": one, "bias": none}, (1, 2), num_groups=1)
    layer = error("LayerNormalization", {"x": x, "scale": numpy.ones(64, numpy.float32)}, (2,))
    instance = error("InstanceNormalization", {"x": x, "scale": one, "bias": none}, (2,))
    print("mean %4d: errors of GroupNormalization %.2g %.2g, Layer %.2g %.2g, Instance %.2g %.2g" % (mean, *grouped, *layer, *instance))
    seen.append((grouped, layer + instance))
right = all(e < 0.001 for _, others in seen for e in others) and all(e < 0.001 for e in seen[0][0])
off = not any(e < 0.01 for e in seen[1][0]) and not any(e < 0.5 for e in seen[2][0])
raise SystemExit(0 if right and off else 1)
PY
"$dir/venv/bin/python" "$dir/norms.py"
