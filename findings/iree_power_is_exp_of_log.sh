#!/bin/sh
# Behaviour: IREE compiles the power of two tensors for a CPU as exp2 of a product with a logarithm, for whole exponents and for integers too.
# - (-1.5)^2, (-2)^3 and 0^0 are NaN. With the exponent as a constant of the model the same powers are right (2.25, -8, 1).
# - int32: (-7)^2 and (-7)^1 are -2147483648, 3^19 is off by 1061 and 10^9 by 768, silently. int64: 10^15 is 999999986991104, 2^40 is 1099511758848.
# - Mod with fmod = 1 is x - trunc(x / y) * y with one rounded quotient: 5.5 and 0.1 have a negative remainder, 1e10 and 3 have 256.
# - Div and Mod of uint8 and uint32 divide signed numbers, and the result arrives as a signed type: 200 / 3 is -18 (66), 1 / 255 is -1 (0).
# Seen with: iree-base-compiler and -runtime 3.13.0 (llvm-cpu for the host, x86-64 with AVX512), onnx 1.23.2, on 2026-12-01. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --no-cache-dir 'iree-base-compiler[onnx]==3.13.0' 'iree-base-runtime==3.13.0' 'onnx==1.23.2' 'numpy==2.4.6'
cat >"$dir/power.py" <<'PY'
import math
import subprocess
import sys
import iree.runtime
import numpy
import onnx
from onnx import helper, numpy_helper

folder = sys.argv[1]


def run(op, kind, x, y, constant=False, **attributes):
    """What IREE makes of one node of two tensors; constant: the second stands in the model."""
    x, y = numpy.array(x, kind), numpy.array(y, kind)
    element = helper.np_dtype_to_tensor_dtype(x.dtype)
    inputs = {"x": x} if constant else {"x": x, "y": y}
    graph = helper.make_graph([helper.make_node(op, ["x", "y"], ["z"], **attributes)], "g", [helper.make_tensor_value_info(n, element, v.shape) for n, v in inputs.items()],
                              [helper.make_tensor_value_info("z", element, x.shape)], [numpy_helper.from_array(y, "y")] if constant else [])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), folder + "/m.onnx")
    subprocess.run([folder + "/venv/bin/iree-import-onnx", folder + "/m.onnx", "-o", folder + "/m.mlir"], check=True)
    subprocess.run([folder + "/venv/bin/iree-compile", "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host",
                    folder + "/m.mlir", "-o", folder + "/m.vmfb"], check=True)
    context = iree.runtime.SystemContext(config=iree.runtime.Config("local-sync"))
    with open(folder + "/m.vmfb", "rb") as f:
        context.add_vm_module(iree.runtime.VmModule.copy_buffer(context.instance, f.read()))
    z = context.modules.module.g(*inputs.values()).to_host().tolist()
    print(op, kind, "of", x.tolist(), "and", y.tolist(), "(a constant)" if constant else "", "is", z)
    return z


def exact(powers, x, y):
    return [p == a ** b for p, a, b in zip(powers, x, y)]


variable = run("Pow", "float32", [-1.5, -2, 0, 2, 3], [2, 3, 0, 0.5, 2])
squares, cubes, ones = (run("Pow", "float32", x, [e], constant=True) for x, e in (([-1.5, 3], 2), ([-2, 3], 3), ([0, -1.5], 0)))
as_seen = all(map(math.isnan, variable[:3])) and math.isclose(variable[3], math.sqrt(2), rel_tol=1e-6) and math.isclose(variable[4], 9, rel_tol=1e-6) and \
    squares == [2.25, 9] and cubes == [-8, 27] and ones == [1, 1]
x, y = [-7, -7, 3, 10, 2, 3], [2, 1, 19, 9, 5, 3]
powers = run("Pow", "int32", x, y)
as_seen = as_seen and powers[:2] == [-2 ** 31] * 2 and exact(powers, x, y) == [False] * 4 + [True] * 2 and powers[2] - 3 ** 19 == 1061 and powers[3] - 10 ** 9 == 768
as_seen = as_seen and run("Pow", "int64", [10, 2], [15, 40]) == [999999986991104, 1099511758848]
quotients = run("Div", "uint8", [200, 1], [3, 255])
print("the quotients as uint8:", *(q % 256 for q in quotients), "- right: 66 0")
as_seen = as_seen and quotients == [-18, -1]
remainders = run("Mod", "float32", [5.5, 1e10, -7], [0.1, 3, 3], fmod=1)
print("C's fmod of the same:", *(math.fmod(numpy.float32(a), numpy.float32(b)) for a, b in ((5.5, 0.1), (1e10, 3), (-7, 3))))
as_seen = as_seen and -1e-6 < remainders[0] < 0 and remainders[1:] == [256, -1]
raise SystemExit(0 if as_seen else 1)
PY
"$dir/venv/bin/python" "$dir/power.py" "$dir"
