#!/usr/bin/env python3
"""Trains a multilayer perceptron on handwritten digits of 8x8 pixels, with MLX on Weft, and says how many digits that
it never saw it names right.

Nothing here is Weft's: it is MLX's API, and the GPU is what Weft finds. Choose another with WEFT_DEVICE (part of a
name; llvmpipe is the software GPU), or MLX's CPU with --device cpu, and compare.

The 1,797 digits are those of scikit-learn, in examples/data. Every fifth is held out; the others are shuffled anew
for each epoch, and each batch of them is a step: one compiled function of the loss, its gradient and Adam's update of
the weights. Values stay on the GPU until .item() reads them.
"""

import argparse
import functools
import pathlib
import time

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
import numpy as np

DATA = pathlib.Path(__file__).resolve().parents[3] / "examples" / "data"
HELD_OUT = 5  # every fifth digit


class Perceptron(nn.Module):
    """Two hidden layers."""

    def __init__(self, hidden: int):
        super().__init__()
        self.layers = [nn.Linear(64, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 10)]

    def __call__(self, pixels: mx.array) -> mx.array:
        for layer in self.layers[:-1]:
            pixels = nn.relu(layer(pixels))
        return self.layers[-1](pixels)


def load(directory: pathlib.Path) -> tuple[mx.array, mx.array, mx.array, mx.array]:
    """Pixels from 0 to 1 and labels: those to learn, and those held out."""
    pixels = np.load(directory / "digits.npy").astype(np.float32) / 16
    labels = np.load(directory / "digits_labels.npy").astype(np.uint32)
    held = np.arange(len(labels)) % HELD_OUT == 0
    return tuple(map(mx.array, (pixels[~held], labels[~held], pixels[held], labels[held])))


def accuracy(model: nn.Module, pixels: mx.array, labels: mx.array) -> float:
    return mx.mean(mx.argmax(model(pixels), axis=1) == labels).item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["gpu", "cpu"], default="gpu", help="MLX's device (gpu)")
    parser.add_argument("--epochs", type=int, default=20, help="times that each digit is seen (20)")
    parser.add_argument("--batch", type=int, default=64, help="digits a step (64)")
    parser.add_argument("--hidden", type=int, default=64, help="width of the hidden layers (64)")
    parser.add_argument("--rate", type=float, default=3e-3, help="Adam's learning rate (0.003)")
    parser.add_argument("--seed", type=int, default=0, help="of the first weights and the shuffles (0)")
    parser.add_argument("--data", type=pathlib.Path, default=DATA, help="where digits.npy and digits_labels.npy are")
    parser.add_argument("--at-least", type=float, default=0.95, metavar="PART",
                        help="fail if fewer of the held-out digits are named right (0.95)")
    options = parser.parse_args()

    mx.set_default_device(mx.Device(getattr(mx, options.device)))
    mx.random.seed(options.seed)
    pixels, labels, held_pixels, held_labels = load(options.data)
    model = Perceptron(options.hidden)
    optimizer = optim.Adam(learning_rate=options.rate)
    state = [model.state, optimizer.state]

    @functools.partial(mx.compile, inputs=state, outputs=state)
    def step(batch_pixels: mx.array, batch_labels: mx.array) -> mx.array:
        def loss(p: mx.array, l: mx.array) -> mx.array:
            return nn.losses.cross_entropy(model(p), l, reduction="mean")

        value, gradient = nn.value_and_grad(model, loss)(batch_pixels, batch_labels)
        optimizer.update(model, gradient)
        return value

    name = mx.device_info(mx.default_device()).get("device_name", "")
    print(f"{mx.default_device()} {name}: {len(labels)} digits to learn, {len(held_labels)} held out")
    start = time.perf_counter()
    for epoch in range(1, options.epochs + 1):
        order = mx.random.permutation(len(labels))
        # The last batch may be shorter: leaving it out keeps one shape, and the shuffle leaves out others each time.
        for first in range(0, len(labels) - options.batch + 1, options.batch):
            batch = order[first : first + options.batch]
            value = step(pixels[batch], labels[batch])
            mx.eval(state)
        if epoch % 5 == 0 or epoch == options.epochs:
            right = accuracy(model, held_pixels, held_labels)
            print(f"epoch {epoch:3}: loss {value.item():.4f}, accuracy on held-out digits {right:.1%}")
    print(f"{time.perf_counter() - start:.1f} s")
    if options.epochs and right < options.at_least:
        raise SystemExit(f"{right:.1%} of the held-out digits are right, less than {options.at_least:.0%}")


if __name__ == "__main__":
    main()
