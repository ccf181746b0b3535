#!/usr/bin/env python3
"""Times the layers of scenarios/peers.yaml through PyTorch under bench's own protocol, and compares with a bench export.

usage: torch_peers.py SCENARIO.yaml [EXPORT.json]

Protocol (decision 6): flush by writing, then reading back, 2x L2; event; one call; event; nothing waited for between; median of the rounds. PyTorch runs in
benchmark mode, so cuDNN's engine is the fastest that PyTorch found. Prints one line a layer: PyTorch us, bench's row 0 us, ratio.
"""
import json
import statistics
import sys

import torch
import yaml

ROUNDS = 60


def time_layer(layer, flush, sink):
    dtype = {"f16": torch.float16, "f32": torch.float32, "bf16": torch.bfloat16}[layer["dtype"]]
    layout = torch.channels_last if layer["layout"] == "NHWC" else torch.contiguous_format
    tf32 = layer.get("math") == "tf32"
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True
    x = torch.randn(layer["n"], layer["c"], layer["h"], layer["w"], device="cuda", dtype=dtype).contiguous(memory_format=layout)
    w = torch.randn(layer["k"], layer["c"], layer["kernel"], layer["kernel"], device="cuda", dtype=dtype).contiguous(memory_format=layout)
    with torch.no_grad():
        for _ in range(5):
            torch.nn.functional.conv2d(x, w, padding=layer["pad"])
        times = []
        for _ in range(ROUNDS):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            flush.fill_(1)
            torch.sum(flush, dim=0, out=sink)
            start.record()
            torch.nn.functional.conv2d(x, w, padding=layer["pad"])
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end) * 1e3)
    return statistics.median(times[10:])


def main():
    scenario = yaml.safe_load(open(sys.argv[1]))
    ours = {}
    if len(sys.argv) > 2:
        for row in json.load(open(sys.argv[2]))["rows"]:
            if row.get("variant", "").startswith("conv2d/cudnn"):
                for t in row.get("times", []):
                    if t.get("step", -1) == -1 and t["cache"] == "cold" and t["load"] == "isolated":
                        us = t["median_ns"] / 1e3
                        ours[row["layer"]] = min(us, ours.get(row["layer"], us))
    properties = torch.cuda.get_device_properties(0)
    flush = torch.empty(2 * properties.L2_cache_size // 4, device="cuda", dtype=torch.float32)
    sink = torch.empty((), device="cuda", dtype=torch.float32)
    print(f"torch {torch.__version__} cudnn {torch.backends.cudnn.version()} {properties.name}")
    result = {}
    for name, layer in scenario["layers"].items():
        layer = {**scenario["defaults"], **layer}
        us = time_layer(layer, flush, sink)
        result[name] = {"torch_us": us, "bench_us": ours.get(name)}
        other = f"  bench {ours[name]:8.2f} us  ratio {ours[name] / us:.3f}" if name in ours else ""
        print(f"{name:16s} torch {us:8.2f} us{other}")
    print(json.dumps(result))


main()
