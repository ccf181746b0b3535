#!/usr/bin/env python3
"""Times PyTorch's own ops for the layers of a scenario under bench's protocol, for `bench import`.

usage: torch_peers.py SCENARIO.yaml [-o FILE.json] [--rounds N] [--layers A,B] [--compile] [--callable LAYER=FILE.py:FUNCTION] [EXPORT.json]

Protocol: a rest of 1 ms; 144 KiB of code that is no op's; flush by writing, then reading back, 2x L2; event; the layer's ops; event; nothing waited for in between;
median of the rounds.
A kernel that only waits stands before the flush, long enough that the host has queued the ops by the time the first event is reached: else the GPU would wait for Python
between the events (on an H200 that was 1 to 21 % of the layers of scenarios/peers.yaml). A sample whose first event had passed too early is taken again behind a longer one.
Layers take turns within a round. PyTorch runs in benchmark mode, so cuDNN's engine is the fastest that PyTorch found. A layer is its op and its epilogue
as a user writes them: conv2d (with bias), relu, add, pixel_shuffle, interpolate, to(memory_format). What PyTorch has no op for (DCR) is left out and said.

Ops that are files (softmax, rmsnorm, reduce, transpose, gemm, points, thumbnails) are made of PyTorch's ops, too, with the fields' defaults of the op's file. --compile adds a
row torch.compile/OP to each, whose first calls, which compile, are outside the time. --callable brings a function of yours: FUNCTION(layer) is given the layer's keys, may
allocate, and returns what is timed, a callable without arguments; its row is NAME/FUNCTION, with NAME the file's, and says the first line of the callable's own text.

With -o the times go to a file for `bench import`; with a bench export (JSON), row 0's time stands beside each.
"""
import argparse
import ctypes
import hashlib
import importlib.util
import json
import os
import random
import statistics
import sys
import tempfile
import time

import torch
import torch.nn.functional as F
import yaml

DTYPES = {"f16": torch.float16, "f32": torch.float32, "bf16": torch.bfloat16}
HOLD_CYCLES = 200_000  # 0.1 ms, of a kernel that waits while the host queues what is timed
TRIES = 6
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

            def add(y, other=other, scale=value):
                if "r" not in other:
                    other["r"] = torch.randn_like(y)
                return y.add_(other["r"]) if scale is None else torch.add(other["r"], y, alpha=scale)

            ops.append(add)
        elif name == "prelu":
            slopes = torch.full((channels,), 0.25, device="cuda", dtype=DTYPES[layer.get("dtype", "f32")])
            ops.append(lambda y, s=slopes: F.prelu(y, s))
        elif name in ("silu", "sigmoid", "tanh", "gelu", "hard_swish", "elu"):
            ops.append({"silu": F.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "gelu": F.gelu, "hard_swish": F.hardswish, "elu": F.elu}[name])
        elif name == "gelu_tanh":
            ops.append(lambda y: F.gelu(y, approximate="tanh"))
        elif name == "clip":
            ops.append(lambda y, v=value: y.clamp_(*v))
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
    pad = layer.get("pad", 0)
    if isinstance(pad, str) and pad.startswith("same_") and layer.get("stride", 1) == 1 and all(k % 2 for k in kernel):
        pad = [k // 2 for k in kernel]
    if isinstance(pad, str) and pad != "valid" or isinstance(pad, list) and len(pad) != 2:
        raise Unsupported("PyTorch's convolutions pad both ends alike")
    options = {"stride": layer.get("stride", 1), "padding": 0 if pad == "valid" else pad, "dilation": layer.get("dilation", 1), "groups": groups}
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
    if "c" not in layer:
        return file_op(layer), op
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


def with_defaults(layer):
    """The fields of an op that is a file, with its defaults; None: no such file."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../kernels/ops", layer["op"] + ".yaml")
    if not os.path.exists(path):
        return None
    fields = yaml.safe_load(open(path))["fields"]
    given = {**{k: v["default"] for k, v in fields.items() if isinstance(v, dict) and "default" in v}, **layer}
    reals = [k for k, v in fields.items() if isinstance(v, dict) and v.get("type") == "real" and k in given]
    return {**given, **{k: float(given[k]) for k in reals}}  # to PyYAML 1e-5 is a text


def thumbnails(f):
    """The pipeline of the op as one writes it with PyTorch: rectangles known on the host, one after the other."""
    sizes = [[34, 25], [70, 15], [60, 59], [20, 23], [12, 11]]
    if f["n"] != 1 or f["crops"] > 10:
        raise Unsupported("more than 10 crops: PyTorch has no op for rectangles of different sizes")
    image = torch.randint(0, 256, (f["h"], f["w"], 3), device="cuda", dtype=torch.uint8)
    boxes = [(37 * i % (f["w"] - 70), 91 * i % (f["h"] - 59), *sizes[i % 5]) for i in range(f["crops"])]
    th, tw = f["to_h"], f["to_w"]

    def run():
        out = []
        for x, y, w, h in boxes:
            wide = w * th > h * tw
            own_h, own_w = (max((h * tw + w // 2) // w, 1), tw) if wide else (th, max((w * th + h // 2) // h, 1))
            part = image[y:y + h, x:x + w].permute(2, 0, 1)[None].float()
            part = F.interpolate(part, size=(own_h, own_w), mode="bilinear", align_corners=False)
            top, left = (th - own_h) // 2, (tw - own_w) // 2
            out.append(F.pad(part, (left, tw - own_w - left, top, th - own_h - top)))
        y = (torch.cat(out) * 1.4 - 0.5) / 255
        y = y.flip(1)
        return y.permute(0, 2, 3, 1).contiguous() if f.get("layout") == "NHWC" else y

    return run


def file_op(layer):
    f = with_defaults(layer)
    if f is None:
        raise Unsupported(f"op {layer['op']}")
    dtype = DTYPES[f.get("dtype", "f32")]

    def draw(*dims):
        return torch.randn(*dims, device="cuda", dtype=dtype)

    op = f["op"]
    if op == "gemm":
        a, b = draw(f["m"], f["k"]), draw(f["k"], f["n"])
        return lambda: a @ b
    if op == "points":
        x = draw(f["n"], 1, f["h"], f["w"])

        def run(x=x):
            y = x
            for _ in range(f["length"]):
                y = y * 1.001
            return y

        return run
    if op == "thumbnails":
        return thumbnails(f)
    if op not in ("softmax", "rmsnorm", "reduce", "transpose"):
        raise Unsupported(f"op {op}")
    x = draw(f["rows"], f["cols"])
    gain = draw(f["cols"])
    return {"softmax": lambda: torch.softmax(x, -1), "rmsnorm": lambda: F.rms_norm(x, (f["cols"],), gain, f.get("eps", 1e-5)),
            "reduce": lambda: torch.sum(x, -1, dtype=torch.float32) if f.get("what", "sum") == "sum" else torch.amax(x, -1).float(),
            "transpose": lambda: x.t().contiguous()}[op]


def own_callable(spec, layer):
    """LAYER=FILE.py:FUNCTION"""
    path, function = spec.rsplit(":", 1)
    module = importlib.util.module_from_spec(found := importlib.util.spec_from_file_location("own", path))
    found.loader.exec_module(module)
    return getattr(module, function)(dict(layer)), f"{os.path.splitext(os.path.basename(path))[0]}/{function}"


def strange_code():
    """A function that queues code, 144 KiB, which one warp of each block goes through: none of what is timed is in a cache of instructions behind it, as in bench (docs/reference/columns.md, `load`)."""
    step = "".join(f"mad.lo.u32 %a{i}, %a{i}, %by, %a{i};\n" for i in range(4))
    ptx = (".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry strange(.param .u64 sink, .param .u32 by)\n.maxntid 1024, 1, 1\n{\n"
           ".reg .pred %p<2>; .reg .b32 %a<4>, %by, %t; .reg .b64 %d;\nmov.u32 %t, %tid.x; setp.ge.u32 %p0, %t, 32; @%p0 bra out; ld.param.u32 %by, [by]; setp.eq.u32 %p1, %by, 0;\n"
           + "".join(f"add.u32 %a{i}, %by, {i};\n" for i in range(4)) + 9 * ("@%p1 bra out;\n" + 256 * step) +
           "add.u32 %a0, %a0, %a1; add.u32 %a2, %a2, %a3; add.u32 %a0, %a0, %a2; setp.ne.u32 %p1, %a0, 12345; @%p1 bra out;\n"
           "ld.param.u64 %d, [sink]; cvta.to.global.u64 %d, %d; st.global.u32 [%d], %a0;\nout: ret;\n}\n")
    cuda, module, entry = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_void_p()
    sink = torch.zeros(16, device="cuda")
    failed = cuda.cuModuleLoadData(ctypes.byref(module), ptx.encode()) or cuda.cuModuleGetFunction(ctypes.byref(entry), module, b"strange")
    if failed:
        sys.exit(f"the code between two samples is not taken: CUDA error {failed}")
    arguments = [ctypes.c_uint64(sink.data_ptr()), ctypes.c_uint32(0)]
    pointers = (ctypes.c_void_p * 2)(*[ctypes.cast(ctypes.pointer(a), ctypes.c_void_p) for a in arguments])
    blocks = 2 * torch.cuda.get_device_properties(0).multi_processor_count

    def run():
        arguments[1].value = random.randrange(1, 1 << 30)
        failed = cuda.cuLaunchKernel(entry, blocks, 1, 1, 1024, 1, 1, 0, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), pointers, None)
        if failed:
            sys.exit(f"the code between two samples does not run: CUDA error {failed}")
        return sink  # which lives as long as the function

    return run


def measure(calls, rounds):
    properties = torch.cuda.get_device_properties(0)
    strange = strange_code()
    flush = torch.empty(2 * properties.L2_cache_size // 4, device="cuda", dtype=torch.float32)
    sink = torch.empty((), device="cuda", dtype=torch.float32)
    samples = {name: [] for name in calls}
    hold = {name: HOLD_CYCLES for name in calls}
    late, turns = 0, random.Random(1)
    for round_ in range(-10, rounds):
        names = list(calls) if round_ % 2 else list(reversed(calls))
        for name in names:
            run, tf32 = calls[name]
            torch.backends.cudnn.allow_tf32 = tf32
            torch.backends.cuda.matmul.allow_tf32 = tf32
            for _ in range(TRIES):
                start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                torch.cuda.synchronize()
                time.sleep(0.001)
                strange()
                for _ in range(turns.randrange(4)):  # every fourth launch takes some 0.9 us longer: none shall always be a layer's own
                    torch.cuda._sleep(100)
                torch.cuda._sleep(hold[name])
                flush.fill_(1)
                torch.sum(flush, dim=0, out=sink)
                start.record()
                run()
                end.record()
                if not start.query():  # all of it was queued before the GPU came to it
                    break
                hold[name] *= 2
            else:
                late += 1
            torch.cuda.synchronize()
            if round_ >= 0:
                samples[name].append(start.elapsed_time(end) * 1e6)
    if late:
        print(f"{late} samples hold time in which the GPU waited for the host", file=sys.stderr)
    return samples


def kernels_of(run, tf32):
    """What one call launches, each as "name grid block"; None where the profiler sees nothing. PyTorch's benchmark mode does not choose the same plan in every process."""
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace.json")
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            run()
            torch.cuda.synchronize()
        profile.export_chrome_trace(trace)
        events = [e for e in json.load(open(trace))["traceEvents"] if e.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")]
    return [f"{e['name']} {e['args'].get('grid', [])} {e['args'].get('block', [])}" for e in sorted(events, key=lambda e: e["ts"])] or None


def ours_of(path):
    ours = {}
    for row in json.load(open(path))["rows"] if path else []:
        if row.get("variant", "").startswith("conv2d/cudnn"):
            for t in row.get("times", []):
                if t.get("step", -1) == -1 and t["cache"] == "cold" and t["load"] == "isolated":
                    us = t["median_ns"] / 1e3
                    ours[row["layer"]] = min(us, ours.get(row["layer"], us))
    return ours


def span(values):
    """The values of an axis: a list, or a range."""
    if isinstance(values, dict) and "from" in values:
        return list(range(values["from"], values["to"] + 1, values.get("step", 1)))
    return values


def cases_of(scenario, name, layer):
    """(case id, layer) of each value of the axis that varies the layer; (None, layer) where none does."""
    axes = {axis: x for axis, x in scenario.get("axes", {}).items() if not (isinstance(x, dict) and "layers" in x and name not in x["layers"])}
    if not axes:
        return [(None, layer)]
    (axis, x), more = next(iter(axes.items())), len(axes) - 1
    fields = x["zip"] if isinstance(x, dict) and "zip" in x else {axis: x["values"] if isinstance(x, dict) and "values" in x else x}
    columns = {field: span(values) for field, values in fields.items()}
    if more or any(isinstance(v, (dict, list)) for values in columns.values() for v in values):
        raise Unsupported("its axes are not one of plain values")
    out = []
    for values in zip(*columns.values()):
        own = dict(zip(columns, values))
        label = "" if all(layer.get(field) == v for field, v in own.items()) else f"[{axis}={'x'.join(map(str, values))}]"
        out.append((f"{scenario['scenario']}/{name}{label}", {**layer, **own}))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("scenario")
    parser.add_argument("export", nargs="?")
    parser.add_argument("-o", "--output")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--layers", help="only these, a comma list")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--callable", action="append", default=[], metavar="LAYER=FILE.py:FUNCTION")
    a = parser.parse_args()
    scenario = yaml.safe_load(open(a.scenario))
    ours = ours_of(a.export)
    torch.backends.cudnn.benchmark = True
    properties = torch.cuda.get_device_properties(0)
    own = dict(c.split("=", 1) for c in a.callable)
    if unknown := set(own) - set(scenario["layers"]):
        sys.exit(f"--callable: there is no layer {', '.join(sorted(unknown))}; there are {', '.join(scenario['layers'])}")
    calls, names, variants = {}, {}, {}

    def add(key, variant, what, run, layer):
        for _ in range(3):
            run()
        torch.cuda.synchronize()
        calls[key], names[key], variants[key] = (run, layer.get("math") == "tf32"), what, variant

    with torch.no_grad():
        for name, keys in scenario["layers"].items():
            if a.layers and name not in a.layers.split(","):
                continue
            layer = {**scenario.get("defaults", {}), **keys}
            try:
                cases = cases_of(scenario, name, layer)
            except Unsupported as why:
                print(f"{name:16s} left out: {why}", file=sys.stderr)
                continue
            for case, layer in cases:
                try:
                    run, what = call_of(layer)
                    op = what.split("+")[0]
                    add((case or name, "torch"), f"torch/{op}", f"PyTorch's own ops: {what.replace('+', ', ')}", run, layer)
                    if a.compile:
                        torch._dynamo.reset()
                        began = time.monotonic()
                        compiled = torch.compile(run)
                        compiled()
                        torch.cuda.synchronize()
                        spent = time.monotonic() - began
                        add((case or name, "compile"), f"torch.compile/{op}", f"torch.compile of {what.replace('+', ', ')}; {spent:.1f} s to compile", compiled, layer)
                except Unsupported as why:
                    print(f"{case or name:16s} left out: {why}", file=sys.stderr)
            if name in own and cases[0][0]:
                sys.exit(f"--callable: {name} has several cases, and a callable belongs to one")
            if name in own:
                run, variant = own_callable(own[name], layer)
                add((name, "own"), variant, (run.__doc__ or f"a callable: {os.path.basename(own[name])}").split("\n")[0], run, layer)
        if not calls:
            sys.exit("nothing to time: PyTorch has none of the layers' ops")
        samples = measure(calls, a.rounds)
        kernels = {key: kernels_of(*call) for key, call in calls.items()}
    tool = f"torch {torch.__version__} cudnn {torch.backends.cudnn.version()}"
    print(f"{tool} {properties.name}")
    rows = []
    for key, values in samples.items():
        name, us = key[0], statistics.median(values) / 1e3
        other = f"  bench {ours[name]:8.2f} us  ratio {ours[name] / us:.3f}" if name in ours and key[1] == "torch" else ""
        print(f"{name:16s} {variants[key]:24s} {us:8.2f} us  {names[key]}{other}")
        rows.append({"case" if "/" in name else "layer": name, "variant": variants[key], "what": names[key], "cache": "cold", "load": "isolated", "samples_ns": values,
                     "kernels": kernels[key]})
    if a.output:
        provenance = {"tool": tool, "protocol": "bench", "device": properties.name, "uuid": f"GPU-{properties.uuid}", "script": hashlib.sha256(open(__file__, "rb").read()).hexdigest(),
                      "scenario_sha256": hashlib.sha256(open(a.scenario, "rb").read()).hexdigest(), "measured": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                      "method": "rest of 1 ms, strange code, wait for the host, flush 2x L2, event, ops, event; layers in turns; cudnn.benchmark", "rounds": a.rounds}
        json.dump({"bench_import": 1, "scenario": scenario["scenario"], "provenance": provenance, "rows": rows}, open(a.output, "w"))


main()
