#!/usr/bin/env python3
"""Times PyTorch's own ops for the layers of a scenario under bench's protocol, for `bench import`.

usage: torch_peers.py SCENARIO.yaml [-o FILE.json] [--rounds N] [EXPORT.json]

Protocol (decision 6): a rest of 0.3 ms; flush by writing, then reading back, 2x L2; event; the layer's ops; event; nothing waited for in between; median of the rounds.
Layers take turns within a round. PyTorch runs in benchmark mode, so cuDNN's engine is the fastest that PyTorch found. A layer is its op and its epilogue
as a user writes them: conv2d (with bias), relu, add, pixel_shuffle, interpolate, to(memory_format). What PyTorch has no op for (DCR) is left out and said.

With -o the times go to a file for `bench import`; with a bench export (JSON), row 0's time stands beside each.
"""
import argparse
import hashlib
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F
import yaml

DTYPES = {"f16": torch.float16, "f32": torch.float32, "bf16": torch.bfloat16}
FORMATS = {"NHWC": torch.channels_last, "NCHW": torch.contiguous_format}


class Unsupported(Exception):
    pass


def make(layer, *dims):
    return torch.randn(*dims, device="cuda", dtype=DTYPES[layer.get("dtype", "f32")]).contiguous(memory_format=FORMATS[layer.get("layout", "NCHW")])


def epilogue_ops(layer, channels, conv):
    """What follows the op, as functions of one tensor; a bias directly behind a convolution is the convolution's own."""
    ops, bias = [], None
    for at, item in enumerate(layer.get("epilogue", [])):
        name, value = next(iter(item.items())) if isinstance(item, dict) else (item, None)
        if name == "bias":
            b = torch.randn(channels, device="cuda", dtype=DTYPES[layer.get("dtype", "f32")])
            if conv and at == 0:
                bias = b
            else:
                ops.append(lambda y, b=b: y + b.view(1, -1, 1, 1))
        elif name == "relu":
            ops.append(lambda y: F.relu_(y))
        elif name == "leaky_relu":
            ops.append(lambda y, a=value or 0.01: F.leaky_relu_(y, a))
        elif name == "residual":
            other = {}

            def add(y, other=other):
                if "r" not in other:
                    other["r"] = torch.randn_like(y)
                return y.add_(other["r"])

            ops.append(add)
        elif name == "depth_to_space":
            if value["mode"] != "CRD":
                raise Unsupported("PyTorch's pixel_shuffle is CRD")
            ops.append(lambda y, b=value["block"]: F.pixel_shuffle(y, b))
        elif name == "layout":
            ops.append(lambda y, f=FORMATS[value]: y.contiguous(memory_format=f))
        else:
            raise Unsupported(f"epilogue {name}")
    return ops, bias


def conv_call(layer):
    kernel = layer["kernel"] if isinstance(layer["kernel"], list) else [layer["kernel"]] * 2
    groups = layer.get("groups", 1)
    options = {"stride": layer.get("stride", 1), "padding": layer.get("pad", 0), "dilation": layer.get("dilation", 1), "groups": groups}
    x = make(layer, layer.get("n", 1), layer["c"], layer["h"], layer["w"])
    ops, bias = epilogue_ops(layer, layer["k"], True)
    if layer["op"] == "conv2d":
        w = make(layer, layer["k"], layer["c"] // groups, *kernel)
        return lambda: F.conv2d(x, w, bias, **options), ops
    w = make(layer, layer["c"], layer["k"] // groups, *kernel)
    options["output_padding"] = layer.get("output_pad", 0)
    return lambda: F.conv_transpose2d(x, w, bias, **options), ops


def call_of(layer):
    """A function that queues the layer's ops, and its name."""
    op, block = layer["op"], layer.get("block")
    if op in ("conv2d", "conv_transpose2d"):
        first, ops = conv_call(layer)
    else:
        x = make(layer, layer.get("n", 1), layer["c"], layer["h"], layer["w"])
        ops, _ = epilogue_ops(layer, layer["c"], False)
        if op in ("depth_to_space", "space_to_depth") and layer["mode"] != "CRD":
            raise Unsupported("PyTorch's pixel_shuffle and pixel_unshuffle are CRD")
        if op == "depth_to_space":
            first = lambda: F.pixel_shuffle(x, block)  # noqa: E731
        elif op == "space_to_depth":
            first = lambda: F.pixel_unshuffle(x, block)  # noqa: E731
        elif op == "upsample":
            first = lambda: F.interpolate(x, scale_factor=block, mode="nearest")  # noqa: E731
        elif op == "layout":
            first = lambda: x.to(memory_format=FORMATS[layer["to"]])  # noqa: E731
        else:
            raise Unsupported(f"op {op}")

    def run():
        y = first()
        for f in ops:
            y = f(y)
        return y

    return run, "+".join([op] + [i if isinstance(i, str) else next(iter(i)) for i in layer.get("epilogue", [])])


def measure(calls, rounds):
    properties = torch.cuda.get_device_properties(0)
    flush = torch.empty(2 * properties.L2_cache_size // 4, device="cuda", dtype=torch.float32)
    sink = torch.empty((), device="cuda", dtype=torch.float32)
    samples = {name: [] for name in calls}
    for round_ in range(-10, rounds):
        pending = []
        names = list(calls) if round_ % 2 else list(reversed(calls))
        for name in names:
            run, tf32 = calls[name]
            torch.backends.cudnn.allow_tf32 = tf32
            torch.backends.cuda.matmul.allow_tf32 = tf32
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda.synchronize()
            time.sleep(0.0003)
            flush.fill_(1)
            torch.sum(flush, dim=0, out=sink)
            start.record()
            run()
            end.record()
            pending.append((name, start, end))
        torch.cuda.synchronize()
        for name, start, end in pending:
            if round_ >= 0:
                samples[name].append(start.elapsed_time(end) * 1e6)
    return samples


def ours_of(path):
    ours = {}
    for row in json.load(open(path))["rows"] if path else []:
        if row.get("variant", "").startswith("conv2d/cudnn"):
            for t in row.get("times", []):
                if t.get("step", -1) == -1 and t["cache"] == "cold" and t["load"] == "isolated":
                    us = t["median_ns"] / 1e3
                    ours[row["layer"]] = min(us, ours.get(row["layer"], us))
    return ours


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("scenario")
    parser.add_argument("export", nargs="?")
    parser.add_argument("-o", "--output")
    parser.add_argument("--rounds", type=int, default=50)
    a = parser.parse_args()
    scenario = yaml.safe_load(open(a.scenario))
    ours = ours_of(a.export)
    torch.backends.cudnn.benchmark = True
    properties = torch.cuda.get_device_properties(0)
    calls, names = {}, {}
    with torch.no_grad():
        for name, own in scenario["layers"].items():
            layer = {**scenario.get("defaults", {}), **own}
            try:
                run, what = call_of(layer)
                for _ in range(3):
                    run()
                calls[name], names[name] = (run, layer.get("math") == "tf32"), what
            except Unsupported as why:
                print(f"{name:16s} left out: {why}", file=sys.stderr)
        samples = measure(calls, a.rounds)
    tool = f"torch {torch.__version__} cudnn {torch.backends.cudnn.version()}"
    print(f"{tool} {properties.name}")
    rows = []
    for name, values in samples.items():
        us = statistics.median(values) / 1e3
        other = f"  bench {ours[name]:8.2f} us  ratio {ours[name] / us:.3f}" if name in ours else ""
        print(f"{name:16s} torch {us:8.2f} us  {names[name]}{other}")
        op = names[name].split("+")[0]
        rows.append({"layer": name, "variant": f"torch/{op}", "what": f"PyTorch's own ops: {names[name].replace('+', ', ')}", "cache": "cold",
                     "load": "isolated", "samples_ns": values})
    if a.output:
        provenance = {"tool": tool, "device": properties.name, "uuid": f"GPU-{properties.uuid}", "script": hashlib.sha256(open(__file__, "rb").read()).hexdigest(),
                      "scenario_sha256": hashlib.sha256(open(a.scenario, "rb").read()).hexdigest(), "measured": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                      "method": "rest of 0.3 ms, flush 2x L2, event, ops, event; layers in turns; cudnn.benchmark", "rounds": a.rounds}
        json.dump({"bench_import": 1, "scenario": scenario["scenario"], "provenance": provenance, "rows": rows}, open(a.output, "w"))


main()
