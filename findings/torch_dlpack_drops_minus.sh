#!/bin/sh
# Behaviour: PyTorch keeps the imaginary part of a conjugated tensor as a view with a "negative bit", and its DLPack export passes the memory without the sign:
# z.conj().imag of 1 + 2i is -2 in PyTorch, and numpy.from_dlpack(z.conj().imag) is 2, with no error; so is torch.from_dlpack of it. For the conjugate bit the export
# raises BufferError, and Tensor.numpy() refuses both. An FFT's conjugate that goes to another library by DLPack has imaginary parts of the wrong sign.
# (The packages of torch need 6 GB of disk.)
# Seen with: torch 2.15.0, numpy 2.4.6, on 2026-12-01. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --no-cache-dir 'torch==2.15.0' 'numpy==2.4.6'
cat >"$dir/sign.py" <<'PY'
import numpy
import torch


def said(function):
    try:
        return function().tolist()
    except (BufferError, RuntimeError) as error:
        return type(error).__name__


z = torch.tensor([1 + 2j, 3 - 4j])
part = z.conj().imag
values = {"torch": part.tolist(), "numpy.from_dlpack": said(lambda: numpy.from_dlpack(part)), "torch.from_dlpack": said(lambda: torch.from_dlpack(part)),
          "numpy()": said(part.numpy), "from_dlpack of resolve_neg()": said(lambda: numpy.from_dlpack(part.resolve_neg())),
          "from_dlpack of conj()": said(lambda: numpy.from_dlpack(z.conj()))}
print("torch", torch.__version__, "the imaginary part of the conjugate of 1 + 2i, 3 - 4i; negative bit:", part.is_neg())
for name, value in values.items():
    print(f"{name}: {value}")
raise SystemExit(0 if list(values.values()) == [[-2, 4], [2, -4], [2, -4], "RuntimeError", [-2, 4], "BufferError"] else 1)
PY
"$dir/venv/bin/python" "$dir/sign.py"
