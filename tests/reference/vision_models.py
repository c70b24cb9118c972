#!/usr/bin/env python3
"""Weights, inputs and PyTorch's outputs for examples/resnet.cc:  vision_models.py [DIRECTORY]

Without a directory it writes the slim networks of the tests to tests/data/vision: ResNet-50 with 1/16 of its channels
and MobileNet-v3-large with 1/8, ten classes, images of 64x64. With one it writes the networks at their full size,
1000 classes, images of 224x224 (125 MB). Of each network NAME:
  NAME.safetensors           the weights, with torchvision's names
  NAME.expected.safetensors  "input" [2, 3, size, size] and "output" [2, classes]
The weights are random, from fixed seeds. Batch norm's statistics are those of its inputs on random images, changed by up
to a fifth, so that they are not trivial and activations stay near 1.
"""
import pathlib
import sys

import torch
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[1] / "data" / "vision"


class Bottleneck(nn.Module):
    def __init__(self, inputs, channels, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, channels, 1, bias=False), nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv3, self.bn3 = nn.Conv2d(channels, 4 * channels, 1, bias=False), nn.BatchNorm2d(4 * channels)
        self.downsample = None
        if stride != 1 or inputs != 4 * channels:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, 4 * channels, 1, stride, bias=False),
                                            nn.BatchNorm2d(4 * channels))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet50(nn.Module):
    def __init__(self, classes=1000, width=1.0):
        super().__init__()
        first = round(64 * width)
        self.conv1, self.bn1 = nn.Conv2d(3, first, 7, 2, 3, bias=False), nn.BatchNorm2d(first)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        inputs = first
        for stage, blocks in enumerate((3, 4, 6, 3)):
            channels, layers = first << stage, []
            for block in range(blocks):
                layers.append(Bottleneck(inputs, channels, 2 if stage > 0 and block == 0 else 1))
                inputs = 4 * channels
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        y = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        y = self.layer4(self.layer3(self.layer2(self.layer1(y))))
        return self.fc(y.mean((2, 3)))


def divisible_by_8(channels):
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


def conv_norm(inputs, outputs, window=1, stride=1, groups=1, activation=None):
    layers = [nn.Conv2d(inputs, outputs, window, stride, (window - 1) // 2, groups=groups, bias=False),
              nn.BatchNorm2d(outputs, eps=1e-3)]
    return nn.Sequential(*layers, *([activation()] if activation else []))


class SqueezeExcitation(nn.Module):
    def __init__(self, channels):
        super().__init__()
        squeezed = divisible_by_8(channels / 4)
        self.fc1, self.fc2 = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)

    def forward(self, x):
        return x * nn.functional.hardsigmoid(self.fc2(torch.relu(self.fc1(x.mean((2, 3), keepdim=True)))))


class InvertedResidual(nn.Module):
    def __init__(self, inputs, window, expanded, outputs, squeeze, activation, stride):
        super().__init__()
        layers = []
        if expanded != inputs:
            layers.append(conv_norm(inputs, expanded, activation=activation))
        layers.append(conv_norm(expanded, expanded, window, stride, expanded, activation))
        if squeeze:
            layers.append(SqueezeExcitation(expanded))
        layers.append(conv_norm(expanded, outputs))
        self.block = nn.Sequential(*layers)
        self.shortcut = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.block(x) if self.shortcut else self.block(x)


RE, HS = nn.ReLU, nn.Hardswish
BLOCKS = [(3, 16, 16, False, RE, 1), (3, 64, 24, False, RE, 2), (3, 72, 24, False, RE, 1), (5, 72, 40, True, RE, 2),
          (5, 120, 40, True, RE, 1), (5, 120, 40, True, RE, 1), (3, 240, 80, False, HS, 2), (3, 200, 80, False, HS, 1),
          (3, 184, 80, False, HS, 1), (3, 184, 80, False, HS, 1), (3, 480, 112, True, HS, 1), (3, 672, 112, True, HS, 1),
          (5, 672, 160, True, HS, 2), (5, 960, 160, True, HS, 1), (5, 960, 160, True, HS, 1)]


class MobileNetV3Large(nn.Module):
    def __init__(self, classes=1000, width=1.0):
        super().__init__()
        inputs = divisible_by_8(16 * width)
        layers = [conv_norm(3, inputs, 3, 2, activation=HS)]
        for window, expanded, outputs, squeeze, activation, stride in BLOCKS:
            expanded, outputs = divisible_by_8(expanded * width), divisible_by_8(outputs * width)
            layers.append(InvertedResidual(inputs, window, expanded, outputs, squeeze, activation, stride))
            inputs = outputs
        layers.append(conv_norm(inputs, 6 * inputs, activation=HS))
        self.features = nn.Sequential(*layers)
        last = divisible_by_8(1280 * width)
        self.classifier = nn.Sequential(nn.Linear(6 * inputs, last), nn.Hardswish(), nn.Dropout(0.2),
                                        nn.Linear(last, classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


NETWORKS = {"resnet50": (ResNet50, 1 / 16), "mobilenet_v3_large": (MobileNetV3Large, 1 / 8)}


def varied(tensor, part=0.2):
    return tensor * (1 + part * (2 * torch.rand_like(tensor) - 1))


@torch.no_grad()
def randomize(network, images):
    """Random weights; batch norm's statistics near those of its inputs."""
    for name, module in network.named_modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            fan_in = module.weight[0].numel()
            module.weight.copy_(torch.randn_like(module.weight) * (2 / fan_in) ** 0.5)
            if module.bias is not None:
                module.bias.copy_(torch.randn_like(module.bias) * 0.1)
        elif isinstance(module, nn.BatchNorm2d):
            # A branch that is small beside its shortcut does not amplify rounding from block to block.
            branch_ends = name.endswith("bn3") or name.endswith("block.3.1") or name.endswith("downsample.1")
            module.weight.copy_(varied(torch.full_like(module.weight, 0.3 if branch_ends else 0.9)))
            module.bias.copy_(0.5 + torch.randn_like(module.bias) * 0.2)

    def observe(module, inputs):
        x = inputs[0]
        mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3), unbiased=False)
        module.running_mean.copy_(mean + 0.1 * variance.sqrt() * torch.randn_like(mean))
        module.running_var.copy_(varied(variance) + 0.2 * variance.mean())  # no channel is amplified much

    norms = [m for m in network.modules() if isinstance(m, nn.BatchNorm2d)]
    hooks = [m.register_forward_pre_hook(observe) for m in norms]
    network(images)
    for hook in hooks:
        hook.remove()


def save(directory, name, network, size):
    from safetensors.torch import save_file  # (bench/torch_vision.py needs the networks alone)

    randomize(network, torch.randn(4, 3, size, size))
    images = torch.randn(2, 3, size, size)
    with torch.no_grad():
        expected = network(images)
        exact = network.double()(images.double())  # what f32 itself loses
    error = ((expected - exact).abs().max() / exact.abs().max()).item()
    weights = {k: v.float().contiguous() for k, v in network.state_dict().items() if not k.endswith("num_batches_tracked")}
    save_file(weights, directory / f"{name}.safetensors")
    save_file({"input": images, "output": exact.float()}, directory / f"{name}.expected.safetensors")
    print(f"{name}: outputs up to {exact.abs().max():.3g}, PyTorch's f32 is off by {error:.1e}")


def main():
    full = len(sys.argv) > 1
    directory = pathlib.Path(sys.argv[1]) if full else ROOT
    directory.mkdir(parents=True, exist_ok=True)
    for name, (network, width) in NETWORKS.items():
        torch.manual_seed(7)
        model = network(classes=1000 if full else 10, width=1.0 if full else width).eval()
        save(directory, name, model, 224 if full else 64)


if __name__ == "__main__":
    main()
