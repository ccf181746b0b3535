#!/bin/sh
# Behaviour: JAX computes exp2 as exp of x times the logarithm of 2, both rounded to the type of x. In bfloat16 the logarithm is 0.69140625, so that 2^20 is 995328
# (1048576 is right and has an exact bfloat16), 2^100 is 27 % too small, and of the 249 whole exponents from -126 to 122 only 10 give the exact power. In float16
# 2^15 is 32800. `2 ** x` of the same values is exact. The product stands in StableHLO, so it is no choice of one device. Pallas's interpreter has it too, and
# Pallas's code for a GPU has not: the Triton module of the same kernel has one math.exp2. So an attention kernel that rescales by exp2 differs from its interpreted
# form and from the same line of jax.numpy.
# Seen with: jax 0.10.2 (CPU), on 2026-12-01. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --no-cache-dir 'jax==0.10.2' 'jaxlib==0.10.2' 'numpy==2.4.6'
cat >"$dir/exp2.py" <<'PY'
import contextlib
import io
import re
import jax
import jax.numpy as jnp
import numpy
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton


def kernel(x, out):
    out[...] = jnp.exp2(x[...])


exact, far = {}, {}
for kind, low, high in (("bfloat16", -126, 122), ("float16", -14, 15)):
    x = jnp.arange(low, high + 1).astype(kind)
    right = 2.0 ** numpy.asarray(x, float)
    for name, function in (("exp2", jax.jit(jnp.exp2)), ("power", jax.jit(lambda x: 2 ** x))):
        got = numpy.asarray(function(x), float)
        exact[kind, name], far[kind, name] = int((got == right).sum()), float(abs(got / right - 1).max())
        print(f"{kind} {name}: {exact[kind, name]} of {right.size} powers of 2 are exact, the farthest is {far[kind, name]:.2%} off")
x = jnp.array([20, 100], "bfloat16")
got = numpy.asarray(jax.jit(jnp.exp2)(x), float)
shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
interpreted = numpy.asarray(pl.pallas_call(kernel, out_shape=shape, interpret=True)(x), float)
text = io.StringIO()
with contextlib.redirect_stdout(text):
    gpu = pl.pallas_call(kernel, out_shape=shape, debug=True, compiler_params=triton.CompilerParams(num_warps=1))
    jax.jit(gpu).trace(x).lower(lowering_platforms=("cuda",))
compiled = re.findall(r"math\.exp2?\b|arith\.mulf", text.getvalue())
factor = re.search(r"constant dense<([^>]*)> : tensor<bf16>", jax.jit(jnp.exp2).lower(x).as_text())
print("exp2 of bfloat16 20 and 100:", *got, "- Pallas's interpreter:", *interpreted, "- factor in StableHLO:", factor and factor.group(1))
print("Pallas's Triton module has", *compiled)
print("float16 15:", half := float(jax.jit(jnp.exp2)(jnp.array([15], "float16"))[0]))
as_seen = got[0] == 995328 and 0.2 < 1 - got[1] / 2.0 ** 100 < 0.3 and (interpreted == got).all() and factor is not None and abs(float(factor.group(1)) - 0.69140625) < 1e-6 and \
    compiled == ["math.exp2"] and half == 32800 and exact["bfloat16", "exp2"] < 60 and far["bfloat16", "power"] == far["float16", "power"] == 0
raise SystemExit(0 if as_seen else 1)
PY
JAX_PLATFORMS=cpu "$dir/venv/bin/python" "$dir/exp2.py"
