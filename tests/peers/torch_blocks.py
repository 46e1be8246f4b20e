"""Blocks of well-known CNNs as PyTorch exports them: for each its module, and the shape of an image."""

import math

import torch
from torch import nn
from torch.nn import functional as F


def conv(inputs, outputs, kernel=1, stride=1, groups=1, activation=nn.SiLU):
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([activation()] if activation else []))


class Focus(nn.Module):
    """YOLOv5: every second pixel becomes channels."""

    def __init__(self):
        super().__init__()
        self.conv = conv(12, 8, 3)

    def forward(self, x):
        return self.conv(torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1))


class Bottleneck(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first, self.second = conv(channels, channels, 3), conv(channels, channels, 3)

    def forward(self, x):
        return x + self.second(self.first(x))


class C3(nn.Module):
    """YOLOv5."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = conv(6, 4), conv(6, 4), conv(8, 6)
        self.blocks = nn.Sequential(Bottleneck(4), Bottleneck(4))

    def forward(self, x):
        return self.last(torch.cat((self.blocks(self.first(x)), self.second(x)), 1))


class C2f(nn.Module):
    """YOLOv8: the parts are cut by `chunk`, or by `split`."""

    def __init__(self, by_chunk):
        super().__init__()
        self.by_chunk = by_chunk
        self.first, self.last = conv(6, 8), conv(16, 8)
        self.blocks = nn.ModuleList([Bottleneck(4), Bottleneck(4)])

    def forward(self, x):
        y = self.first(x)
        parts = list(y.chunk(2, 1) if self.by_chunk else y.split((4, 4), 1))
        parts.extend(block(parts[-1]) for block in self.blocks)
        return self.last(torch.cat(parts, 1))


class Sppf(nn.Module):
    """YOLOv5 and YOLOv8."""

    def __init__(self):
        super().__init__()
        self.first, self.last, self.pool = conv(6, 4), conv(16, 6), nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        x = self.first(x)
        y = self.pool(x)
        z = self.pool(y)
        return self.last(torch.cat((x, y, z, self.pool(z)), 1))


class Neck(nn.Module):
    """YOLO's levels: stride 2, and up again by nn.Upsample."""

    def __init__(self):
        super().__init__()
        self.down, self.lateral, self.up = conv(4, 6, 3, 2), conv(6, 4), nn.Upsample(None, 2, "nearest")

    def forward(self, x):
        y = self.lateral(self.down(x))
        return torch.cat([self.up(y), x], 1), y


class Yolov5Head(nn.Module):
    """Boxes up to NMS; the grid is made from the shape, as the original does."""

    def __init__(self):
        super().__init__()
        self.numbers = 5 + 3
        self.convs = nn.ModuleList(nn.Conv2d(channels, 3 * self.numbers, 1) for channels in (4, 6))
        self.down = conv(4, 6, 3, 2)
        self.register_buffer("anchors", torch.tensor([[1.25, 1.625, 2.0, 3.75, 4.125, 2.875],
                                                      [1.875, 3.8125, 3.875, 2.8125, 3.6875, 7.4375]]).view(2, 1, 3, 1, 1, 2))

    def forward(self, x):
        boxes = []
        for level, (features, to_boxes) in enumerate(zip((x, self.down(x)), self.convs)):
            y = to_boxes(features)
            images, _, rows, columns = y.shape
            y = y.view(images, 3, self.numbers, rows, columns).permute(0, 1, 3, 4, 2).contiguous()
            grid_y, grid_x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
            grid = torch.stack((grid_x, grid_y), 2).expand((1, 3, rows, columns, 2)).float() - 0.5
            stride = 8.0 * 2**level
            centre, size, rest = y.sigmoid().split((2, 2, self.numbers - 4), 4)
            centre = (centre * 2 + grid) * stride
            size = (size * 2) ** 2 * (self.anchors[level] * stride)
            boxes.append(torch.cat((centre, size, rest), 4).view(images, -1, self.numbers))
        return torch.cat(boxes, 1)


class Yolov8Head(nn.Module):
    """Boxes up to NMS: distributions of distances become sides by a softmax and a convolution with 0, 1, 2, ..."""

    def __init__(self, bins=8, classes=3):
        super().__init__()
        self.bins, self.classes = bins, classes
        self.down = conv(4, 6, 3, 2)
        self.sides = nn.ModuleList(nn.Conv2d(channels, 4 * bins, 1) for channels in (4, 6))
        self.scores = nn.ModuleList(nn.Conv2d(channels, classes, 1) for channels in (4, 6))
        self.mean = nn.Conv2d(bins, 1, 1, bias=False)
        self.mean.weight.data[:] = torch.arange(bins, dtype=torch.float).view(1, bins, 1, 1)

    def forward(self, x):
        levels = [torch.cat((sides(features), scores(features)), 1)
                  for features, sides, scores in zip((x, self.down(x)), self.sides, self.scores)]
        images = x.shape[0]
        points, strides = [], []
        for level, y in enumerate(levels):
            rows, columns = y.shape[2:]
            grid_y, grid_x = torch.meshgrid(torch.arange(rows) + 0.5, torch.arange(columns) + 0.5, indexing="ij")
            points.append(torch.stack((grid_x, grid_y), -1).view(-1, 2))
            strides.append(torch.full((rows * columns, 1), 8.0 * 2**level))
        points, strides = torch.cat(points).transpose(0, 1), torch.cat(strides).transpose(0, 1)
        both = torch.cat([y.view(images, 4 * self.bins + self.classes, -1) for y in levels], 2)
        sides, scores = both.split((4 * self.bins, self.classes), 1)
        count = sides.shape[2]
        distances = self.mean(sides.view(images, 4, self.bins, count).transpose(2, 1).softmax(1)).view(images, 4, count)
        before, after = distances.chunk(2, 1)
        begin, end = points.unsqueeze(0) - before, points.unsqueeze(0) + after
        return torch.cat((torch.cat(((begin + end) / 2, end - begin), 1) * strides, scores.sigmoid()), 1)


class ShuffleUnit(nn.Module):
    """ShuffleNetV2, of either stride."""

    def __init__(self, stride):
        super().__init__()
        inputs, half = (8, 8) if stride == 2 else (4, 4)
        self.stride = stride
        self.left = nn.Sequential(conv(inputs, inputs, 3, stride, inputs, None), conv(inputs, half, activation=nn.ReLU))
        self.right = nn.Sequential(conv(inputs, half, activation=nn.ReLU), conv(half, half, 3, stride, half, None),
                                   conv(half, half, activation=nn.ReLU))

    def forward(self, x):
        if self.stride == 1:
            left, right = x.chunk(2, 1)
            y = torch.cat((left, self.right(right)), 1)
        else:
            y = torch.cat((self.left(x), self.right(x)), 1)
        images, channels, rows, columns = y.size()
        y = y.view(images, 2, channels // 2, rows, columns)
        return torch.transpose(y, 1, 2).contiguous().view(images, -1, rows, columns)


class Squeeze(nn.Module):
    def __init__(self, channels, inner, activation, gate):
        super().__init__()
        self.layers = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, inner, 1), activation(),
                                    nn.Conv2d(inner, channels, 1), gate())

    def forward(self, x):
        return x * self.layers(x)


class EfficientNet(nn.Module):
    """Two MBConv blocks, and TensorFlow's padding by F.pad in the first."""

    def __init__(self):
        super().__init__()
        self.strided = nn.Conv2d(16, 16, 3, 2, groups=16, bias=False)
        self.first = conv(4, 16)
        self.rest = nn.Sequential(nn.BatchNorm2d(16), nn.SiLU(), Squeeze(16, 2, nn.SiLU, nn.Sigmoid),
                                  conv(16, 6, activation=None))
        self.second = nn.Sequential(conv(6, 24), conv(24, 24, 5, 1, 24), Squeeze(24, 2, nn.SiLU, nn.Sigmoid),
                                    conv(24, 6, activation=None))

    def forward(self, x):
        y = self.first(x)
        more = [max((math.ceil(length / 2) - 1) * 2 + 3 - length, 0) for length in (12, 12)]
        y = F.pad(y, (more[1] // 2, more[1] - more[1] // 2, more[0] // 2, more[0] - more[0] // 2))
        y = self.rest(self.strided(y))
        return y + self.second(y)


class UNet(nn.Module):
    """One level: up by a transposed convolution or bilinearly, padded to the other branch."""

    def __init__(self, bilinear):
        super().__init__()
        self.first, self.second = conv(3, 4, 3, activation=nn.ReLU), conv(4, 8, 3, activation=nn.ReLU)
        self.up = (nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True) if bilinear
                   else nn.ConvTranspose2d(8, 8, 2, 2))
        self.last = nn.Conv2d(12, 2, 3, padding=1)

    def forward(self, x):
        x = self.first(x)
        y = self.up(self.second(F.max_pool2d(x, 2)))
        rows, columns = x.size()[2] - y.size()[2], x.size()[3] - y.size()[3]
        y = F.pad(y, [columns // 2, columns - columns // 2, rows // 2, rows - rows // 2])
        return self.last(torch.cat([x, y], 1))


class DeepLab(nn.Module):
    """Atrous pooling, and up to the size of the image."""

    def __init__(self):
        super().__init__()
        self.stem = conv(3, 6, 3, 2, activation=nn.ReLU)
        self.branches = nn.ModuleList([conv(6, 4, activation=nn.ReLU)] + [nn.Sequential(
            nn.Conv2d(6, 4, 3, padding=rate, dilation=rate, bias=False), nn.BatchNorm2d(4), nn.ReLU()) for rate in (2, 4)])
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), conv(6, 4, activation=nn.ReLU))
        self.last = nn.Conv2d(16, 3, 1)

    def forward(self, x):
        y = self.stem(x)
        whole = F.interpolate(self.pool(y), size=y.shape[-2:], mode="bilinear", align_corners=False)
        y = self.last(torch.cat([branch(y) for branch in self.branches] + [whole], 1))
        return F.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)


class Ssd(nn.Module):
    """Heads of two levels: locations, and classes by a softmax."""

    def __init__(self):
        super().__init__()
        self.down = conv(4, 6, 3, 2, activation=nn.ReLU6)
        self.places = nn.ModuleList(nn.Conv2d(channels, 4 * 3, 3, padding=1) for channels in (4, 6))
        self.classes = nn.ModuleList(nn.Conv2d(channels, 5 * 3, 3, padding=1) for channels in (4, 6))

    def forward(self, x):
        levels = (x, self.down(x))

        def all_of(heads, numbers):
            return torch.cat([head(y).permute(0, 2, 3, 1).contiguous().view(y.size(0), -1, numbers)
                              for head, y in zip(heads, levels)], 1)
        return all_of(self.places, 4), F.softmax(all_of(self.classes, 5), -1)


class Espcn(nn.Module):
    """Super-resolution by pixel shuffle."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 8, 5, padding=2), nn.Tanh(), nn.Conv2d(8, 9, 3, padding=1), nn.PixelShuffle(3))

    def forward(self, x):
        return self.layers(x)


class ConvNext(nn.Module):
    def __init__(self):
        super().__init__()
        self.depthwise, self.norm = nn.Conv2d(8, 8, 7, padding=3, groups=8), nn.LayerNorm(8, eps=1e-6)
        self.up, self.down = nn.Linear(8, 32), nn.Linear(32, 8)
        self.scale = nn.Parameter(torch.full((8,), 0.3))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.scale * self.down(F.gelu(self.up(y)))
        return x + y.permute(0, 3, 1, 2)


class Vit(nn.Module):
    """Patches, a class token, one block of attention, a classifier."""

    def __init__(self, width=16, heads=2, patches=9, classes=5):
        super().__init__()
        self.heads = heads
        self.patch = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, patches + 1, width) / 4)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.head = nn.Linear(width, classes)

    def attention(self, x):
        images, tokens, width = x.shape
        q, k, v = self.qkv(x).reshape(images, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        weights = ((q @ k.transpose(-2, -1)) * (width // self.heads) ** -0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(images, tokens, width))

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.places
        x = x + self.attention(self.norms[0](x))
        x = x + self.mlp(self.norms[1](x))
        return self.head(self.norms[2](x)[:, 0])


class VitByHeads(Vit):
    """The same, with attention whose images stay axis 0."""

    def attention(self, x):
        images, tokens, width = x.shape

        def heads(part):
            return part.view(images, tokens, self.heads, width // self.heads).permute(0, 2, 1, 3)

        q, k, v = (heads(part) for part in self.qkv(x).split(width, -1))
        weights = ((q @ k.transpose(-2, -1)) * (width // self.heads) ** -0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(images, tokens, width))


class ResNet(nn.Module):
    """A bottleneck with a projection, the average, a classifier."""

    def __init__(self):
        super().__init__()
        self.branch = nn.Sequential(conv(6, 4, activation=nn.ReLU), conv(4, 4, 3, 2, activation=nn.ReLU), conv(4, 12, activation=None))
        self.short, self.head = conv(6, 12, 1, 2, activation=None), nn.Linear(12, 5)

    def forward(self, x):
        y = F.relu(self.branch(x) + self.short(x))
        return self.head(torch.flatten(F.adaptive_avg_pool2d(y, 1), 1))


class MobileNetV3(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(conv(4, 12, activation=nn.Hardswish), conv(12, 12, 5, 2, 12, nn.Hardswish),
                                    Squeeze(12, 4, nn.ReLU, nn.Hardsigmoid), conv(12, 6, activation=None))

    def forward(self, x):
        return self.layers(x)


class DenseNet(nn.Module):
    """A block, and a transition."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.BatchNorm2d(n), nn.ReLU(), nn.Conv2d(n, 3, 3, padding=1)) for n in (4, 7))
        self.transition = nn.Sequential(nn.BatchNorm2d(10), nn.ReLU(), nn.Conv2d(10, 5, 1), nn.AvgPool2d(2, 2))

    def forward(self, x):
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)
        return self.transition(x)


class StyleTransfer(nn.Module):
    """Reflected borders, instance norms, nearest neighbours."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.ReflectionPad2d(4), nn.Conv2d(3, 6, 9), nn.InstanceNorm2d(6, affine=True), nn.ReLU(),
                                    nn.Upsample(scale_factor=2), nn.ReflectionPad2d(1), nn.Conv2d(6, 3, 3))

    def forward(self, x):
        return self.layers(x)


class Darknet(nn.Module):
    """YOLOv3 and v4: leaky ReLUs, Mish, pools of 5, 9 and 13."""

    def __init__(self):
        super().__init__()
        self.first, self.second = conv(4, 6, 3, activation=lambda: nn.LeakyReLU(0.1)), conv(24, 4, activation=nn.Mish)

    def forward(self, x):
        x = self.first(x)
        return self.second(torch.cat([F.max_pool2d(x, size, 1, size // 2) for size in (13, 9, 5)] + [x], 1))


class GroupNormed(nn.Module):
    """Group norms, and deconvolution as RetinaNet-like heads have it."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ELU(),
                                    nn.ConvTranspose2d(8, 4, 4, 2, 1), nn.Softplus())

    def forward(self, x):
        return self.layers(x)


BLOCKS = {
    "focus": (Focus, (3, 12, 12)),
    "c3": (C3, (6, 8, 8)),
    "c2f-chunk": (lambda: C2f(True), (6, 8, 8)),
    "c2f-split": (lambda: C2f(False), (6, 8, 8)),
    "sppf": (Sppf, (6, 8, 8)),
    "neck": (Neck, (4, 8, 8)),
    "yolov5-head": (Yolov5Head, (4, 8, 8)),
    "yolov8-head": (Yolov8Head, (4, 8, 8)),
    "shufflenetv2-1": (lambda: ShuffleUnit(1), (8, 8, 8)),
    "shufflenetv2-2": (lambda: ShuffleUnit(2), (8, 8, 8)),
    "efficientnet": (EfficientNet, (4, 12, 12)),
    "unet-transposed": (lambda: UNet(False), (3, 11, 13)),
    "unet-bilinear": (lambda: UNet(True), (3, 11, 13)),
    "deeplab": (DeepLab, (3, 18, 18)),
    "ssd": (Ssd, (4, 8, 8)),
    "espcn": (Espcn, (1, 9, 9)),
    "convnext": (ConvNext, (8, 9, 9)),
    "vit": (Vit, (3, 12, 12)),
    "vit-by-heads": (VitByHeads, (3, 12, 12)),
    "resnet": (ResNet, (6, 8, 8)),
    "mobilenetv3": (MobileNetV3, (4, 9, 9)),
    "densenet": (DenseNet, (4, 8, 8)),
    "style-transfer": (StyleTransfer, (3, 12, 12)),
    "darknet": (Darknet, (4, 14, 14)),
    "group-norm": (GroupNormed, (4, 6, 6)),
}


def make(name):
    """The block in evaluation, with statistics of its norms as if it had been trained."""
    torch.manual_seed(1)
    module = BLOCKS[name][0]().eval()
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean.uniform_(-0.3, 0.3)
            part.running_var.uniform_(0.5, 1.5)
    return module
