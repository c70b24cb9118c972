#!/usr/bin/env python3
"""Continues a text with SmolLM2-135M, by mlx-lm and its own model, on the GPU that Weft finds (WEFT_DEVICE chooses).

With --check nothing is continued: logits of the model on the GPU are held against those of MLX's CPU in float32, for
the prompt at once and then 64 tokens one by one from the cache of keys and values. Greedy tokens in float32 have to be
equal. Logits in bfloat16 and of 4-bit weights are of the same tokens (teacher forcing). The distance of two sets of
logits is the root of the mean square of their difference, as a part of that of the second. It has to be less than what
roundings alone explain: in each of the 30 layers 14 results are rounded (norms, projections, rotations, products,
sums), which, independent of each other and each off by its worst, come to a distance of sqrt(14 * 30) * 2^-9 = 0.040
in bfloat16; in float32, where the sums of products of up to 1536 numbers are rounded term by term, to
sqrt(14 * 30 * 1536) * 2^-24 = 4.8e-5. 4-bit weights are held so against the same weights written out in float32;
against the weights that they were rounded from, the distance that float32 on the CPU finds between the two is added.
"""

import argparse
import pathlib
import time

import mlx.core as mx
import mlx.nn as nn
import mlx_lm
import numpy as np
from convert_smollm2 import convert
from mlx.utils import tree_flatten
from mlx_lm.models.cache import make_prompt_cache

DIRECTORY = pathlib.Path(__file__).resolve().parents[3] / "build" / "mlx" / "smollm2"
PROMPT = "The first computers were built in the 1940s. They filled whole rooms, and"
# A text that the model knows: with weights or tokens out of order it would surprise it (by 5.0 nats a token with GGUF's
# order of q's and k's rows, by 3.0 without).
KNOWN = (
    "Four score and seven years ago our fathers brought forth on this continent a new nation, conceived in liberty, "
    "and dedicated to the proposition that all men are created equal."
)
SURPRISE = 3.5
STEPS = 64
ROUNDINGS = 14 * 30
FLOAT32 = (ROUNDINGS * 1536) ** 0.5 * 2.0**-24
BFLOAT16 = ROUNDINGS**0.5 * 2.0**-9
SIZES = {"float32": {}, "bfloat16": {}, "4bit": {"bits": 4, "group_size": 32}}


def load(directory: pathlib.Path, kind: str = "float32"):
    """The model and its tokeniser; 4-bit weights have scales in bfloat16, as mlx-lm makes them."""
    model, tokenizer = mlx_lm.load(str(directory))
    if kind != "float32":
        model.set_dtype(mx.bfloat16)
    if SIZES[kind]:
        nn.quantize(model, **SIZES[kind])
    mx.eval(model.parameters())
    return model, tokenizer


def decode(name: str, device, model: nn.Module, prompt: list[int], forced: list[int] | None = None):
    """The greedy tokens, and logits, of STEPS steps; the tokens that the model is given are the forced ones, if any."""
    start = time.perf_counter()
    tokens, logits = [], []
    with mx.stream(device):
        cache = make_prompt_cache(model)
        given = prompt
        for i in range(STEPS):
            last = model(mx.array([given]), cache)[0, -1].astype(mx.float32)
            tokens.append(mx.argmax(last).item())
            logits.append(np.array(last, np.float64))
            given = [(forced or tokens)[i]]
    print(f"{name}: {STEPS} tokens in {time.perf_counter() - start:.1f} s", flush=True)
    return tokens, np.stack(logits)


def written_out(quantized: nn.Module, directory: pathlib.Path) -> nn.Module:
    """The model of the same weights in float32."""
    model, _ = load(directory)
    arrays = dict(tree_flatten(quantized.parameters()))
    with mx.stream(mx.cpu):
        for name in [name for name in arrays if name.endswith(".scales")]:
            layer = name.removesuffix(".scales")
            parts = [arrays.pop(f"{layer}.{part}") for part in ("weight", "scales", "biases")]
            scale = [part.astype(mx.float32) for part in parts[1:]]
            arrays[f"{layer}.weight"] = mx.dequantize(parts[0], *scale, **SIZES["4bit"])
        model.load_weights([(name, array.astype(mx.float32)) for name, array in arrays.items()])
        mx.eval(model.parameters())
    return model


def check(directory: pathlib.Path, text: str) -> int:
    failures = 0

    def hold(what: str, got: np.ndarray, expected: np.ndarray, bound: float) -> float:
        nonlocal failures
        distance = float(np.sqrt(np.mean((got - expected) ** 2) / np.mean(expected**2)))
        good = distance <= bound  # false of a NaN
        failures += not good
        print(f"{'ok  ' if good else 'FAIL'} {what}: distance {distance:.2g}, at most {bound:.2g}", flush=True)
        return distance

    model, tokenizer = load(directory)
    with mx.stream(mx.cpu):
        known = mx.array(tokenizer.encode(KNOWN))
        nats = nn.losses.cross_entropy(model(known[None, :-1])[0], known[1:], reduction="mean").item()
    failures += not nats <= SURPRISE
    print(f"{'ok  ' if nats <= SURPRISE else 'FAIL'} a known text has {nats:.2f} nats a token, at most {SURPRISE}")
    prompt = tokenizer.encode(text)
    tokens, reference = decode("float32, CPU", mx.cpu, model, prompt)
    greedy, logits = decode("float32, GPU", mx.gpu, model, prompt)
    margin = np.diff(np.sort(reference)[:, -2:]).min()
    failures += greedy != tokens
    print(f"{'ok  ' if greedy == tokens else 'FAIL'} greedy tokens of the GPU are the CPU's")
    if greedy != tokens:
        first = next(i for i in range(STEPS) if greedy[i] != tokens[i])
        print(f"     the first other one is token {first}: CPU {tokens[:first + 1]}, GPU {greedy[:first + 1]}")
    else:
        furthest = np.abs(logits - reference).max()
        print(f"     logits differ by {furthest:.2g} at most; the least lead of a token is {margin:.2g}")
        hold("float32", logits, reference, FLOAT32)
    del model

    model, _ = load(directory, "bfloat16")
    _, logits = decode("bfloat16, GPU", mx.gpu, model, prompt, tokens)
    hold("bfloat16", logits, reference, BFLOAT16)
    del model

    with mx.stream(mx.cpu):
        model, _ = load(directory, "4bit")
    _, logits = decode("4-bit, GPU", mx.gpu, model, prompt, tokens)
    _, same = decode("its weights in float32, CPU", mx.cpu, written_out(model, directory), prompt, tokens)
    hold("4-bit, its weights", logits, same, BFLOAT16)
    size = np.linalg.norm(reference)
    rounded = np.linalg.norm(same - reference) / size
    hold("4-bit, the weights before", logits, reference, rounded + BFLOAT16 * np.linalg.norm(same) / size)
    model.set_dtype(mx.float32)
    _, logits = decode("4-bit, results in float32, GPU", mx.gpu, model, prompt, tokens)
    hold("4-bit, its weights, results in float32", logits, same, FLOAT32)
    print(tokenizer.decode(prompt + tokens))
    return failures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prompt", nargs="?", default=PROMPT, help="the text to continue")
    parser.add_argument("--check", action="store_true", help="hold the GPU's logits against the CPU's")
    parser.add_argument("--chat", action="store_true", help="answer the prompt instead of continuing it")
    parser.add_argument("--weights", choices=SIZES, default="bfloat16", help="what the weights are (bfloat16)")
    parser.add_argument("--tokens", type=int, default=64, help="tokens at most (64)")
    parser.add_argument("--directory", type=pathlib.Path, default=DIRECTORY,
                        help="the model, which convert_smollm2.py writes there if it is absent (build/mlx/smollm2)")
    options = parser.parse_args()
    if not (options.directory / "config.json").exists():
        convert(options.directory)
    if options.check:
        raise SystemExit(f"{failures} failures" if (failures := check(options.directory, options.prompt)) else 0)

    model, tokenizer = load(options.directory, options.weights)
    prompt = options.prompt
    if options.chat:
        prompt = tokenizer.apply_chat_template([{"role": "user", "content": prompt}], add_generation_prompt=True)
    else:
        print(prompt)
    for response in mlx_lm.stream_generate(model, tokenizer, prompt, max_tokens=options.tokens):
        print(response.text, end="", flush=True)
    print(f"\n{response.prompt_tokens} tokens read, {response.generation_tokens} written, "
          f"{response.generation_tps:.1f} a second, on {mx.device_info()['device_name']}")


if __name__ == "__main__":
    main()
