"""Imports ONNX files with their weights, runs each network whole on emu, and compares with onnxruntime: compare.py BENCH FILE.onnx[@SHAPE] ...

SHAPE is that of an input whose sizes the file leaves open, such as 1x3x224x224.

A line a file: layers, whether it is whole, and the largest error over onnxruntime's tolerance (1e-5 + 1e-3 |value|; f16: 5e-3 of the value and
the standard deviation). Exit 1: an output
differs. Needs numpy and onnxruntime.
"""
import os
import subprocess
import sys
import tempfile

import numpy
import onnxruntime


def compare(bench, file, folder, device="emu"):
    scenario, name = os.path.join(folder, "net.yaml"), "imported"
    file, shape = file.split("@") if "@" in file else (file, "")
    made = subprocess.run([bench, "import", file, "--weights", "--name", name, "--to", scenario] + (["--shape", shape] if shape else []),
                          capture_output=True, text=True)
    if made.returncode:
        return f"not imported: {made.stderr.strip().splitlines()[0]}", True
    text = open(scenario).read()
    layers = text.count(": {op: ")
    if "\nnetwork:" not in text:
        return f"{layers} layers, no whole network: {made.stderr.strip()}", True
    out = os.path.join(folder, "out")
    ran = subprocess.run([bench, "exec", scenario, f"{name}/{name}/chain/best", "--device", device, "--save", out], capture_output=True, text=True)
    if ran.returncode:
        return f"{layers} layers, whole; not run: {(ran.stdout + ran.stderr).strip().splitlines()[-1][:300]}", True
    x, got = numpy.load(os.path.join(out, "input.npy")), numpy.load(os.path.join(out, "output.npy"))
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    sizes = [int(d) for d in shape.split("x")] if shape else [d if isinstance(d, int) else x.shape[i] for i, d in enumerate(given.shape)]
    x = x.reshape(sizes)
    half = given.type == "tensor(float16)"
    want = [w.astype(numpy.float32) for w in session.run(None, {given.name: x.astype(numpy.float16 if half else numpy.float32)})]
    same = [w for w in want if w.size == got.size]
    if not same:
        return f"{layers} layers, whole; an output of {got.shape}, onnxruntime's {[w.shape for w in want]}", True
    ratio = min(float(numpy.max(numpy.abs(got.reshape(w.shape) - w) / (1e-5 + 1e-3 * numpy.abs(w) if not half else 5e-3 * (numpy.abs(w) + w.std())))) for w in same)
    w = same[-1]
    return f"{layers} layers, whole; {ratio:.3g} of the tolerance, values of {float(numpy.sqrt(numpy.mean(w * w))):.3g}", not ratio <= 1


def main():
    bad = 0
    for file in sys.argv[2:]:
        with tempfile.TemporaryDirectory() as folder:
            said, wrong = compare(sys.argv[1], file, folder)
            bad += wrong
            print(f"{os.path.basename(file).split('.onnx')[0]}: {said}", flush=True)
    print(f"{len(sys.argv) - 2 - bad} of {len(sys.argv) - 2} whole and equal")
    sys.exit(bad > 0)


main()
