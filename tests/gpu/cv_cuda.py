"""CV-CUDA's calls for the README pipeline, for torch_peers.py --callable LAYER=cv_cuda.py:thumbnails. It has no op that cuts out and fits with the ratio kept: rectangles are
views of the frame, resized each to its own size, padded and stacked, converted (x 1.4 / 255 - 0.5 / 255), red and blue exchanged, split into planes: five calls, pixels between them
in bytes."""
import cvcuda
import torch

SIZES = [[34, 25], [70, 15], [60, 59], [20, 23], [12, 11]]


def thumbnails(layer):
    h, w, crops, th, tw = (layer.get(k, d) for k, d in (("h", 2160), ("w", 3840), ("crops", 5), ("to_h", 60), ("to_w", 60)))
    image = torch.randint(0, 256, (h, w, 3), device="cuda", dtype=torch.uint8)
    views, fitted, tops, lefts = [], [], [], []
    for i in range(crops):
        bw, bh = SIZES[i % 5]
        x, y = 37 * i % (w - 70), 91 * i % (h - 59)
        wide = bw * th > bh * tw
        own_h, own_w = (max((bh * tw + bw // 2) // bw, 1), tw) if wide else (th, max((bw * th + bh // 2) // bh, 1))
        views.append(cvcuda.as_image(image[y:y + bh, x:x + bw], cvcuda.Format.RGB8))
        fitted.append(cvcuda.as_image(torch.empty(own_h, own_w, 3, device="cuda", dtype=torch.uint8), cvcuda.Format.RGB8))
        tops.append((th - own_h) // 2)
        lefts.append((tw - own_w) // 2)
    source, resized = cvcuda.ImageBatchVarShape(crops), cvcuda.ImageBatchVarShape(crops)
    source.pushback(views)
    resized.pushback(fitted)
    top, left = (cvcuda.as_tensor(torch.tensor(v, device="cuda", dtype=torch.int32).view(1, 1, crops, 1), "NHWC") for v in (tops, lefts))
    stacked = cvcuda.as_tensor(torch.empty(crops, th, tw, 3, device="cuda", dtype=torch.uint8), "NHWC")
    numbers, swapped = (cvcuda.as_tensor(torch.empty(crops, th, tw, 3, device="cuda"), "NHWC") for _ in range(2))
    result = torch.empty(crops, 3, th, tw, device="cuda")
    planes = cvcuda.as_tensor(result, "NCHW")

    def run():
        stream = cvcuda.as_stream(torch.cuda.current_stream())
        cvcuda.resize_into(resized, source, cvcuda.Interp.LINEAR, stream=stream)
        cvcuda.padandstack_into(stacked, resized, top, left, cvcuda.Border.CONSTANT, 0, stream=stream)
        cvcuda.convertto_into(numbers, stacked, 1.4 / 255, -0.5 / 255, stream=stream)
        cvcuda.channelreorder_into(swapped, numbers, [2, 1, 0], stream=stream)
        cvcuda.reformat_into(planes, swapped, stream=stream)
        return result

    run.__doc__ = f"CV-CUDA {cvcuda.__version__}: resize, padandstack, convertto, channelreorder, reformat"
    run()
    torch.cuda.synchronize()
    got = result.cpu()
    print(f"cvcuda: {crops} crops, mean {got.mean():.4f}, least {got.min():.5f} (a background is {-0.5 / 255:.5f}), largest {got.max():.4f}")
    return run
