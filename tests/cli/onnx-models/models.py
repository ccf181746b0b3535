"""Public networks as small ONNX files: models.py DIR [SEED] [NAME ...]

The networks of super-resolution are written here from their papers; the others come from torchvision and timm. The seed draws weights,
image size, batch, opset and exporter. Prints one line a file. Needs torch, onnx, torchvision, timm, onnxscript.
"""
import contextlib
import importlib.util
import io
import os
import random
import sys
import warnings

import torch
from torch import nn
from torch.nn import functional as F

warnings.filterwarnings("ignore")


def conv(c, k, size=3, **more):
    return nn.Conv2d(c, k, size, padding=more.pop("padding", size // 2), **more)


class Skip(nn.Module):
    """x + scale * body(x)"""

    def __init__(self, *body, scale=1.0):
        super().__init__()
        self.body, self.scale = nn.Sequential(*body), scale

    def forward(self, x):
        return self.body(x) + x if self.scale == 1 else x + self.body(x) * self.scale


def upper(c, r, out=3):
    return [conv(c, c * r * r), nn.PixelShuffle(r), conv(c, out)]


def espcn():
    return nn.Sequential(conv(1, 64, 5), nn.Tanh(), conv(64, 32), nn.Tanh(), conv(32, 9), nn.PixelShuffle(3))


def fsrcnn():
    body = [m for _ in range(4) for m in (conv(12, 12), nn.PReLU(12))]
    return nn.Sequential(conv(1, 56, 5), nn.PReLU(56), conv(56, 12, 1), nn.PReLU(12), *body, conv(12, 56, 1), nn.PReLU(56),
                         nn.ConvTranspose2d(56, 1, 9, stride=2, padding=4, output_padding=1))


def srcnn():
    return nn.Sequential(conv(1, 64, 9), nn.ReLU(), conv(64, 32, 1), nn.ReLU(), conv(32, 1, 5))


class Vdsr(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(conv(1, 64, bias=False), nn.ReLU(), *[m for _ in range(18) for m in (conv(64, 64, bias=False), nn.ReLU())],
                                  conv(64, 1, bias=False))

    def forward(self, x):
        x = F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)
        return self.body(x) + x


def edsr(blocks=16, c=64, scale=1.0):
    return nn.Sequential(conv(3, c), Skip(*[Skip(conv(c, c), nn.ReLU(), conv(c, c), scale=scale) for _ in range(blocks)], conv(c, c)),
                         *upper(c, 2))


class ChannelAttention(nn.Module):
    def __init__(self, c, squeeze):
        super().__init__()
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), conv(c, c // squeeze, 1), nn.ReLU(), conv(c // squeeze, c, 1), nn.Sigmoid())

    def forward(self, x):
        return x * self.gate(x)


def rcan(groups=3, blocks=4, c=64):
    def block():
        return Skip(conv(c, c), nn.ReLU(), conv(c, c), ChannelAttention(c, 16))
    return nn.Sequential(conv(3, c), Skip(*[Skip(*[block() for _ in range(blocks)], conv(c, c)) for _ in range(groups)], conv(c, c)), *upper(c, 2))


class Dense(nn.Module):
    def __init__(self, c=32, grow=16):
        super().__init__()
        self.layers = nn.ModuleList([conv(c + i * grow, grow if i < 4 else c) for i in range(5)])

    def forward(self, x):
        all = [x]
        for i, layer in enumerate(self.layers):
            y = layer(torch.cat(all, 1))
            all.append(F.leaky_relu(y, 0.2) if i < 4 else y)
        return all[-1] * 0.2 + x


class Rrdb(nn.Module):
    def __init__(self, blocks=3, c=32):
        super().__init__()
        self.first, self.last_body = conv(3, c), conv(c, c)
        self.body = nn.Sequential(*[Skip(Dense(c), Dense(c), Dense(c), scale=0.2) for _ in range(blocks)])
        self.up1, self.up2, self.hr, self.last = conv(c, c), conv(c, c), conv(c, c), conv(c, 3)

    def forward(self, x):
        x = self.first(x)
        x = x + self.last_body(self.body(x))
        x = F.leaky_relu(self.up1(F.interpolate(x, scale_factor=2, mode="nearest")), 0.2)
        x = F.leaky_relu(self.up2(F.interpolate(x, scale_factor=2, mode="nearest")), 0.2)
        return self.last(F.leaky_relu(self.hr(x), 0.2))


class Carn(nn.Module):
    def __init__(self, c=64):
        super().__init__()
        self.first = conv(3, c)
        self.blocks = nn.ModuleList([nn.ModuleList([Skip(conv(c, c), nn.ReLU(), conv(c, c)) for _ in range(3)]) for _ in range(3)])
        self.inner = nn.ModuleList([nn.ModuleList([conv(c * (i + 2), c, 1) for i in range(3)]) for _ in range(3)])
        self.outer = nn.ModuleList([conv(c * (i + 2), c, 1) for i in range(3)])
        self.up = nn.Sequential(conv(c, 4 * c), nn.ReLU(), nn.PixelShuffle(2), conv(c, 3))

    def cascade(self, x, blocks, joins):
        all = y = x
        for block, join in zip(blocks, joins):
            all = torch.cat([all, F.relu(block(y))], 1)
            y = join(all)
        return y

    def forward(self, x):
        x = all = y = self.first(x)
        for blocks, inner, join in zip(self.blocks, self.inner, self.outer):
            all = torch.cat([all, self.cascade(y, blocks, inner)], 1)
            y = join(all)
        return self.up(y)


class Imd(nn.Module):
    """A block of IMDN: three times, a quarter of the channels is kept and the rest goes on."""

    def __init__(self, c=64):
        super().__init__()
        self.kept = c // 4
        self.convs = nn.ModuleList([conv(c, c)] + [conv(c - self.kept, c) for _ in range(2)] + [conv(c - self.kept, self.kept)])
        self.attention, self.join = ChannelAttention(c, 16), conv(c, c, 1)

    def forward(self, x):
        kept, y = [], x
        for layer in self.convs[:3]:
            a, y = torch.split(F.leaky_relu(layer(y), 0.05), (self.kept, layer.out_channels - self.kept), 1)
            kept.append(a)
        return self.join(self.attention(torch.cat(kept + [self.convs[3](y)], 1))) + x


class Imdn(nn.Module):
    def __init__(self, c=64, blocks=6):
        super().__init__()
        self.first, self.blocks = conv(3, c), nn.ModuleList([Imd(c) for _ in range(blocks)])
        self.join, self.last = nn.Sequential(conv(c * blocks, c, 1), nn.LeakyReLU(0.05), conv(c, c)), nn.Sequential(conv(c, 12), nn.PixelShuffle(2))

    def forward(self, x):
        x = y = self.first(x)
        all = []
        for b in self.blocks:
            all.append(y := b(y))
        return self.last(self.join(torch.cat(all, 1)) + x)


class Esa(nn.Module):
    def __init__(self, c, f=16):
        super().__init__()
        self.c1, self.cf, self.c2 = conv(c, f, 1), conv(f, f, 1), nn.Conv2d(f, f, 3, 2)
        self.c3, self.c4 = nn.Sequential(conv(f, f), nn.ReLU(), conv(f, f), nn.ReLU(), conv(f, f)), conv(f, c, 1)

    def forward(self, x):
        a = self.c1(x)
        b = self.c3(F.max_pool2d(self.c2(a), 7, 3))
        b = F.interpolate(b, (x.shape[2], x.shape[3]), mode="bilinear", align_corners=False)
        return x * torch.sigmoid(self.c4(b + self.cf(a)))


class Rfdb(nn.Module):
    def __init__(self, c=50):
        super().__init__()
        self.distil, self.refine = nn.ModuleList([conv(c, c // 2, 1) for _ in range(3)]), nn.ModuleList([conv(c, c) for _ in range(3)])
        self.last, self.join, self.esa = conv(c, c // 2), conv(c // 2 * 4, c, 1), Esa(c)

    def forward(self, x):
        all = []
        for d, r in zip(self.distil, self.refine):
            all.append(F.leaky_relu(d(x), 0.05))
            x = F.leaky_relu(r(x) + x, 0.05)
        all.append(F.leaky_relu(self.last(x), 0.05))
        return self.esa(self.join(torch.cat(all, 1)))


class Rfdn(Imdn):
    def __init__(self, c=50, blocks=4):
        nn.Module.__init__(self)
        self.first, self.blocks, self.join = conv(3, c), nn.ModuleList([Rfdb(c) for _ in range(blocks)]), nn.Sequential(conv(c * blocks, c, 1), nn.LeakyReLU(0.05), conv(c, c))
        self.last = nn.Sequential(conv(c, 48), nn.PixelShuffle(4))


class Safm(nn.Module):
    """The modulation of SAFMN: four parts of the channels, each on a coarser image."""

    def __init__(self, c=36, levels=4):
        super().__init__()
        self.levels = levels
        self.mix, self.join = nn.ModuleList([conv(c // levels, c // levels, groups=c // levels) for _ in range(levels)]), conv(c, c, 1)

    def forward(self, x):
        h, w = x.shape[2], x.shape[3]
        parts = list(x.chunk(self.levels, 1))
        for i, m in enumerate(self.mix):
            p = m(F.max_pool2d(parts[i], 2 ** i)) if i else m(parts[i])
            parts[i] = F.interpolate(p, size=(h, w), mode="nearest") if i else p
        return F.gelu(self.join(torch.cat(parts, 1))) * x


class Safmn(nn.Module):
    def __init__(self, c=36, blocks=4):
        super().__init__()
        self.first = conv(3, c)
        self.body = nn.Sequential(*[nn.Sequential(Skip(Safm(c)), Skip(conv(c, 2 * c), nn.GELU(), conv(2 * c, c, 1))) for _ in range(blocks)])
        self.last = nn.Sequential(conv(c, 12), nn.PixelShuffle(2))

    def forward(self, x):
        x = self.first(x)
        return self.last(self.body(x) + x)


class Spab(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a, self.b, self.c = conv(c, c), conv(c, c), conv(c, c)

    def forward(self, x):
        first = self.a(x)
        y = self.c(F.silu(self.b(F.silu(first))))
        gate = torch.sigmoid(y) - 0.5
        return (y + x) * gate, first


class Span(nn.Module):
    """SPAN, the fastest network of NTIRE 2024's challenge of efficient super-resolution."""

    def __init__(self, c=48):
        super().__init__()
        self.first, self.blocks = conv(3, c), nn.ModuleList([Spab(c) for _ in range(6)])
        self.end, self.join, self.last = conv(c, c), conv(4 * c, c, 1), nn.Sequential(conv(c, 48), nn.PixelShuffle(4))

    def forward(self, x):
        x = y = self.first(x)
        outs = []
        for b in self.blocks:
            y, first = b(y)
            outs.append((y, first))
        return self.last(self.join(torch.cat([x, self.end(y), outs[0][0], outs[5][1]], 1)))


class UNet(nn.Module):
    def __init__(self, c=16, depth=3):
        super().__init__()
        def two(a, b):
            return nn.Sequential(conv(a, b, bias=False), nn.BatchNorm2d(b), nn.ReLU(), conv(b, b, bias=False), nn.BatchNorm2d(b), nn.ReLU())
        self.down = nn.ModuleList([two(3 if not i else c << i - 1, c << i) for i in range(depth + 1)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(c << i + 1, c << i, 2, 2) for i in reversed(range(depth))])
        self.merge, self.last = nn.ModuleList([two(c << i + 1, c << i) for i in reversed(range(depth))]), conv(c, 2, 1)

    def forward(self, x):
        seen = []
        for i, d in enumerate(self.down):
            x = d(F.max_pool2d(x, 2) if i else x)
            seen.append(x)
        for i, (u, m) in enumerate(zip(self.up, self.merge)):
            x = m(torch.cat([seen[-2 - i], u(x)], 1))
        return self.last(x)


class Cbs(nn.Sequential):
    def __init__(self, c, k, size=1, stride=1, padding=None):
        super().__init__(nn.Conv2d(c, k, size, stride, size // 2 if padding is None else padding, bias=False), nn.BatchNorm2d(k, eps=1e-3), nn.SiLU())


class C3(nn.Module):
    def __init__(self, c, k, depth, shortcut=True):
        super().__init__()
        h = k // 2
        self.a, self.b, self.join = Cbs(c, h), Cbs(c, h), Cbs(2 * h, k)
        inner = [(Cbs(h, h), Cbs(h, h, 3)) for _ in range(depth)]
        self.body = nn.Sequential(*[Skip(*p) if shortcut else nn.Sequential(*p) for p in inner])

    def forward(self, x):
        return self.join(torch.cat([self.body(self.a(x)), self.b(x)], 1))


class Yolo(nn.Module):
    """YOLOv5s (release 6): backbone, neck and the three heads."""

    def __init__(self, c=32):
        super().__init__()
        self.p3 = nn.Sequential(Cbs(3, c, 6, 2, 2), Cbs(c, 2 * c, 3, 2), C3(2 * c, 2 * c, 1), Cbs(2 * c, 4 * c, 3, 2), C3(4 * c, 4 * c, 2))
        self.p4 = nn.Sequential(Cbs(4 * c, 8 * c, 3, 2), C3(8 * c, 8 * c, 3))
        self.p5 = nn.Sequential(Cbs(8 * c, 16 * c, 3, 2), C3(16 * c, 16 * c, 1))
        self.pool_in, self.pool_out = Cbs(16 * c, 8 * c), Cbs(32 * c, 16 * c)
        self.l5, self.n4, self.l4, self.n3 = Cbs(16 * c, 8 * c), C3(16 * c, 8 * c, 1, False), Cbs(8 * c, 4 * c), C3(8 * c, 4 * c, 1, False)
        self.d3, self.m4, self.d4, self.m5 = Cbs(4 * c, 4 * c, 3, 2), C3(8 * c, 8 * c, 1, False), Cbs(8 * c, 8 * c, 3, 2), C3(16 * c, 16 * c, 1, False)
        self.heads = nn.ModuleList([nn.Conv2d(k * c, 255, 1) for k in (4, 8, 16)])

    def forward(self, x):
        a = self.p3(x)
        b = self.p4(a)
        y = self.pool_in(self.p5(b))
        one = F.max_pool2d(y, 5, 1, 2)
        two = F.max_pool2d(one, 5, 1, 2)
        l5 = self.l5(self.pool_out(torch.cat([y, one, two, F.max_pool2d(two, 5, 1, 2)], 1)))
        l4 = self.l4(self.n4(torch.cat([F.interpolate(l5, scale_factor=2.0), b], 1)))
        n3 = self.n3(torch.cat([F.interpolate(l4, scale_factor=2.0), a], 1))
        m4 = self.m4(torch.cat([self.d3(n3), l4], 1))
        m5 = self.m5(torch.cat([self.d4(m4), l5], 1))
        return self.heads[0](n3), self.heads[1](m4), self.heads[2](m5)


class EfficientDet(nn.Module):
    """EfficientDet-D0: EfficientNet-B0, three layers of BiFPN with 64 channels, and the heads of its coarsest level. Fusion adds."""

    def __init__(self, classes=90):
        super().__init__()
        import timm
        c = 64
        self.body = timm.create_model("efficientnet_b0", pretrained=False, features_only=True, out_indices=(2, 3, 4))
        self.first = nn.ModuleList([nn.Sequential(nn.Conv2d(k, c, 1, bias=False), nn.BatchNorm2d(c)) for k in (40, 112, 320)])
        self.p6 = nn.Sequential(nn.Conv2d(320, c, 1, bias=False), nn.BatchNorm2d(c), nn.MaxPool2d(3, 2, 1))
        self.p7 = nn.MaxPool2d(3, 2, 1)

        def separable(k=c, norm=True):
            return nn.Sequential(nn.Conv2d(c, c, 3, padding=1, groups=c, bias=False), nn.Conv2d(c, k, 1, bias=not norm), *([nn.BatchNorm2d(k)] if norm else []))
        self.nodes = nn.ModuleList([nn.ModuleList([separable() for _ in range(8)]) for _ in range(3)])
        self.boxes = nn.Sequential(*[m for _ in range(3) for m in (separable(), nn.SiLU())], separable(36, False))
        self.classes = nn.Sequential(*[m for _ in range(3) for m in (separable(), nn.SiLU())], separable(9 * classes, False))

    def forward(self, x):
        all = self.body(x)
        p = [f(y) for f, y in zip(self.first, all)]
        p.append(self.p6(all[-1]))
        p.append(self.p7(p[-1]))
        for nodes in self.nodes:
            down = [p[4]]
            for i in range(3, -1, -1):  # from coarse to fine
                down.insert(0, nodes[i](F.silu(p[i] + F.interpolate(down[0], scale_factor=2.0))))
            up = [down[0]]
            for i in range(1, 5):  # from fine to coarse
                finer = F.max_pool2d(up[-1], 3, 2, 1)
                up.append(nodes[3 + i](F.silu(p[i] + down[i] + finer if i < 4 else p[i] + finer)))
            p = up
        return [h(y) for y in p for h in (self.boxes, self.classes)]


class Nin(nn.Sequential):
    def __init__(self):
        def part(c, k, size, stride, padding):
            return [nn.Conv2d(c, k, size, stride, padding), nn.ReLU(), conv(k, k, 1), nn.ReLU(), conv(k, k, 1), nn.ReLU()]
        super().__init__(*part(3, 96, 11, 4, 0), nn.MaxPool2d(3, 2, ceil_mode=True), *part(96, 256, 5, 1, 2), nn.MaxPool2d(3, 2, ceil_mode=True),
                         *part(256, 384, 3, 1, 1), nn.MaxPool2d(3, 2, ceil_mode=True), nn.Dropout(), *part(384, 1000, 3, 1, 1), nn.AdaptiveAvgPool2d(1))


class Inception(nn.Module):
    """Two blocks of Inception-v3 with filters of 1 x 7 and 7 x 1, and a mean without its padding."""

    def __init__(self):
        super().__init__()
        def cbr(c, k, size, padding=0, stride=1):
            return nn.Sequential(nn.Conv2d(c, k, size, stride, padding, bias=False), nn.BatchNorm2d(k, eps=1e-3), nn.ReLU())
        self.stem = nn.Sequential(cbr(3, 32, 3, 0, 2), cbr(32, 64, 3, 1))
        self.a, self.p = cbr(64, 48, 1), cbr(64, 48, 1)
        self.b = nn.Sequential(cbr(64, 32, 1), cbr(32, 32, (1, 7), (0, 3)), cbr(32, 48, (7, 1), (3, 0)))
        self.last = nn.Linear(144, 10)

    def forward(self, x):
        x = self.stem(x)
        x = torch.cat([self.a(x), self.b(x), self.p(F.avg_pool2d(x, 3, 1, 1, count_include_pad=False))], 1)
        return self.last(x.mean((2, 3)))


class Parts(nn.Module):
    """No published network: what exporters write in many nodes. Pads by side, a mirrored one, GELU, factors, hard swish, align_corners."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.last = nn.Conv2d(3, 8, 3, stride=2), nn.Conv2d(8, 8, (1, 7), padding=(0, 3)), nn.Linear(8, 5)

    def forward(self, x):
        x = F.pad(self.a(F.pad(x, (1, 2, 0, 1))), (1, 1, 2, 2), mode="reflect")
        x = F.gelu(F.avg_pool2d(self.b(x), 3, 2, 1, ceil_mode=True, count_include_pad=False))
        x = F.hardswish((3 - (x * 2.5 - 0.5)) / 1.7)
        x = F.interpolate(x, size=(7, 11), mode="bilinear", align_corners=True)
        return self.last(F.adaptive_avg_pool2d(x, 1).flatten(1))


def tv(name, **more):
    def make():
        import torchvision
        return getattr(torchvision.models, name)(weights=None, **more)
    return make


def features(name, size):
    """A network's features at a small size, and a classifier of its kind that fits them."""
    def make():
        import torchvision
        body = getattr(torchvision.models, name)(weights=None).features
        with torch.no_grad():
            count = body(torch.zeros(1, 3, size, size)).numel()
        return nn.Sequential(body, nn.Flatten(), nn.Dropout(), nn.Linear(count, 256), nn.ReLU(), nn.Dropout(), nn.Linear(256, 100))
    return make


def tm(name, **more):
    def make():
        import timm
        return timm.create_model(name, pretrained=False, **more)
    return make


class Axes(nn.Module):
    """Tensors whose axes are moved, split, joined, cut and stretched."""

    def __init__(self):
        super().__init__()
        self.first, self.row = nn.Conv2d(3, 8, 3), nn.Conv1d(8, 6, 3, padding=1, groups=2)
        self.norm, self.mix, self.group, self.plane = nn.LayerNorm(8), nn.Linear(8, 12), nn.GroupNorm(3, 12), nn.InstanceNorm2d(12, affine=True)
        for p in (*self.norm.parameters(), *self.group.parameters(), *self.plane.parameters()):
            nn.init.uniform_(p, 0.5, 1.5)
        self.last = nn.Linear(12, 5)

    def forward(self, x):
        n = x.shape[0]
        x = torch.cat((x[:, :, ::2, 1::2], x[:, :, 1::2, ::2]), 3)
        x = F.elu(self.first(x))
        h, w = x.shape[2:]
        lines = self.row(F.softmax(x, 1).flatten(2)).view(n, 6, h, w)
        x = self.mix(self.norm(x.permute(0, 2, 3, 1)))
        x = torch.cat((x[..., :4] * x[..., 4:8], x[..., 8:], x[:, :, :, :4]), 3).permute(0, 3, 1, 2)
        x = self.plane(self.group(x)) + torch.cat((lines, lines.mean((2, 3), keepdim=True).expand(n, 6, h, w)), 1)
        return F.softmax(self.last(F.gelu(x).mean((2, 3))), -1)


class Joined(nn.Module):
    """Differences, constants that are joined to tensors, pads of channels and of signals, the largest of all pixels, logarithms of shares."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.row = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 1), nn.Conv1d(8, 8, 3, dilation=2)
        self.first, self.last = nn.Parameter(torch.randn(1, 1, 12)), nn.Linear(12, 7)

    def forward(self, x):
        x = self.a(x)
        x = x - self.b(F.relu(x))                                  # of a branch that ends in a convolution, and of one that does not
        x = F.pad(F.relu(x) - torch.sigmoid(x), (1, 0, 0, 2, 1, 3), value=0.5)
        y = x.amax((2, 3), keepdim=True) - -F.adaptive_max_pool2d(x, 1) + x.sum((2, 3), keepdim=True) / 100
        x = (x * y)[:, :8].flatten(2)
        x = self.row(F.pad(x, (4, 0)))[:, :, :12] + F.pad(x[:, :, :11], (0, 1))
        x = torch.cat((self.first.expand(x.shape[0], -1, -1), x), 1)
        return F.log_softmax(self.last(x), -1)


class Attention(nn.Module):
    """Patches with embedded places, two heads of queries, one of keys and values."""

    def __init__(self):
        super().__init__()
        self.patches, self.norm, self.queries, self.shared = nn.Conv2d(3, 16, 4, stride=4), nn.LayerNorm(16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.places, self.near = nn.Parameter(torch.randn(1, 9, 16)), nn.Parameter(torch.randn(2, 9, 9))
        self.out = nn.Linear(16, 16)

    def forward(self, x):
        x = F.interpolate(self.patches(x), size=(3, 3)).flatten(2).transpose(1, 2) + self.places
        n, t, c = x.shape
        y = self.norm(x)
        q = self.queries(y).view(n, t, 2, c // 2).transpose(1, 2) * (c // 2) ** -0.5
        k, v = self.shared(y).view(n, t, 2, c // 2).permute(2, 0, 1, 3)
        y = F.softmax(q @ k.unsqueeze(1).transpose(2, 3) + self.near, -1) @ v.unsqueeze(1)
        return x + self.out(y.transpose(1, 2).reshape(n, t, c))


class Resized(nn.Module):
    """Images that shrink without aliases, and vectors of length one: of pixels, and of a row."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.last = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1), nn.Linear(8, 6)

    def forward(self, x):
        h, w = x.shape[2:]
        x = F.normalize(self.a(F.interpolate(x, size=(h * 2 // 3, w // 2), mode="bilinear", antialias=True)), dim=1)
        x = self.b(F.interpolate(x, size=(h // 4, w), mode="bicubic", antialias=True))
        return F.normalize(self.last(x.mean((2, 3))), dim=1)


# name: (maker, channels, sizes of the image to draw from)
MODELS = {
    "espcn": (espcn, 1, (16, 23)), "fsrcnn": (fsrcnn, 1, (14, 21)), "srcnn": (srcnn, 1, (18, 25)), "vdsr": (Vdsr, 1, (8, 11)),
    "edsr": (edsr, 3, (10, 15)), "edsr_full": (lambda: edsr(32, 256, 0.1), 3, (4, 6)), "rcan": (rcan, 3, (10, 14)), "rrdb": (Rrdb, 3, (8, 12)),
    "carn": (Carn, 3, (9, 13)), "imdn": (Imdn, 3, (10, 14)), "rfdn": (Rfdn, 3, (20, 26)), "safmn": (Safmn, 3, (16, 24)), "span": (Span, 3, (10, 15)),
    "unet": (UNet, 3, (16, 24)), "nin": (Nin, 3, (67, 83)), "inception": (Inception, 3, (15, 22)), "yolov5s": (Yolo, 3, (32, 64)), "efficientdet": (EfficientDet, 3, (128,)),
    "alexnet": (features("alexnet", 95), 3, (95,)), "vgg11": (features("vgg11_bn", 32), 3, (32,)), "googlenet": (tv("googlenet", init_weights=False, aux_logits=False), 3, (32, 47)),
    "resnet18": (tv("resnet18"), 3, (32, 45)), "resnet50": (tv("resnet50"), 3, (32, 41)), "squeezenet": (tv("squeezenet1_1"), 3, (35, 49)),
    "mobilenet_v2": (tv("mobilenet_v2"), 3, (32, 45)), "mobilenet_v3": (tv("mobilenet_v3_small"), 3, (32, 45)),
    "shufflenet": (tv("shufflenet_v2_x0_5"), 3, (32, 45)), "densenet": (tv("densenet121"), 3, (32, 39)), "mnasnet": (tv("mnasnet0_5"), 3, (32, 45)),
    "efficientnet_b0": (tm("efficientnet_b0"), 3, (32, 45)), "hrnet_w32": (tm("hrnet_w32"), 3, (32, 64)), "parts": (Parts, 3, (17, 22)), "axes": (Axes, 3, (16, 22)), "attention": (Attention, 3, (12, 16)),
    "joined": (Joined, 3, (17, 22)), "resized": (Resized, 3, (17, 22)),
}


def image_size(model, sizes, fixed, draw):
    """A size to draw from; of a model of timm a small one if it takes that."""
    if sizes:
        size = draw.choice(sizes)
        return [size, size if fixed else draw.choice(sizes)]
    for size in (64, model.default_cfg["input_size"][1]):
        try:
            with torch.no_grad():
                model(torch.zeros(1, 3, size, size))
            return [size, size]
        except Exception:
            continue


def main():
    folder, seed, names = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 30), sys.argv[3:]
    os.makedirs(folder, exist_ok=True)
    print(f"seed {seed}")
    every = {**MODELS, **{n: (tm(n[5:]), 3, None) for n in names if n.startswith("timm:")}}
    for name, (maker, channels, sizes) in every.items():
        if names and name not in names:
            continue
        draw = random.Random(f"{seed} {name}")
        torch.manual_seed(draw.randrange(1 << 30))
        model = maker().eval()
        for m in model.modules():  # statistics that a training would leave
            if isinstance(m, nn.BatchNorm2d):
                nn.init.uniform_(m.running_mean, -0.2, 0.2)
                nn.init.uniform_(m.running_var, 0.7, 1.4)
                nn.init.uniform_(m.weight, 0.7, 1.3)
                nn.init.uniform_(m.bias, -0.2, 0.2)
            if isinstance(m, nn.PReLU):
                nn.init.uniform_(m.weight, -0.1, 0.4)
        size = image_size(model, sizes, name in ("yolov5s", "hrnet_w32", "unet"), draw)
        opset, dynamo, path = draw.randint(11, 22), draw.random() < 0.4 and bool(importlib.util.find_spec("onnxscript")), f"{folder}/{name[5:] if sizes is None else name}.onnx"
        x = torch.randn(draw.choice((1, 1, 2)) if sizes else 1, channels, *size)
        for by_dynamo in (dynamo, not dynamo):  # the other exporter, where one cannot write this model
            more = {"verbose": False, "external_data": draw.random() < 0.3} if by_dynamo else {}
            used = max(opset, 18) if by_dynamo else min(opset, 20)
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    torch.onnx.export(model, (x,), path, opset_version=used, dynamo=by_dynamo, **more)
            except Exception as e:
                print(f"{name}: {'dynamo' if by_dynamo else 'script'}: {type(e).__name__}: {(str(e).splitlines() or [''])[0][:100]}")
                continue
            print(f"{name}: {tuple(x.shape)} opset {used} {'dynamo' if by_dynamo else 'script'} {os.path.getsize(path)} bytes", flush=True)
            break


if __name__ == "__main__":
    main()
