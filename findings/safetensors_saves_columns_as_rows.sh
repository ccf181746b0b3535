#!/bin/sh
# Behaviour: safetensors.numpy of 0.8.0 writes the memory of an array as it lies, with the array's shape: a transposed or Fortran-ordered matrix comes back
# with other elements at its places, and neither save nor load says so. 0.7.0 copied such arrays into rows first. Weights that were transposed by
# `.T`, or that SciPy or scikit-learn computed in Fortran order, are scrambled by the update alone. In both versions save() writes bfloat16
# of ml_dtypes and load_file() reads it, but load() of the same bytes is a KeyError.
# Seen with: safetensors 0.7.0 and 0.8.0, numpy 2.4.6, ml_dtypes 0.6.0, on 2026-11-30. Exit status 0: as described; 1: it has changed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/trip.py" <<'PY'
import sys

import ml_dtypes
import numpy
from safetensors.numpy import load, load_file, save, save_file

rows = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
said = []
for name, array in (("rows", rows), ("transposed", rows.T), ("Fortran order", numpy.asfortranarray(rows))):
    said.append(bool((load(save({"w": array}))["w"] == array).all()))
    print(f"{name}: {'same' if said[-1] else 'other elements'}")
narrow = {"w": rows.astype(ml_dtypes.bfloat16)}
save_file(narrow, sys.argv[1])
for name, read in (("load", lambda: load(save(narrow))), ("load_file", lambda: load_file(sys.argv[1]))):
    try:
        said.append(bool((read()["w"] == narrow["w"]).all()))
    except Exception as error:
        said.append(type(error).__name__)
    print(f"bfloat16 by {name}: {said[-1]}")
print(said, file=open(sys.argv[1], "w"))
PY
for version in 0.7.0 0.8.0; do
    python3 -m venv "$dir/$version"
    "$dir/$version/bin/pip" install -q safetensors==$version numpy==2.4.6 ml_dtypes==0.6.0
    echo "safetensors $version"
    "$dir/$version/bin/python" "$dir/trip.py" "$dir/said.$version"
done
grep -qx "\[True, True, True, 'KeyError', True\]" "$dir/said.0.7.0"
grep -qx "\[True, False, False, 'KeyError', True\]" "$dir/said.0.8.0"
