#!/usr/bin/env python3
"""Makes tests/data/modules: what sentence-transformers computes of tests/data/encoders/bert_cls with other poolings,
dense layers and prompts. cases.json has, for each, the files that are put over the model's and the vectors; the weights
of the dense layers are beside it.

  python3 tests/reference/modules.py
"""
import json
import pathlib
import shutil
import tempfile

import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
MODEL = DATA / "encoders" / "bert_cls"
OUT = DATA / "modules"
HIDDEN = 24
SENTENCES = ["hello world.", "a", "", "sing singing, hello hello a b c. world", "zzz hello"]
PROMPTS = {"query": "hello: a b ", "passage": "singing ", "long": "a b c " * 20, "nothing": ""}


def modules(*more, folder=""):
    parts = [(folder, "Transformer"), ("1_Pooling", "Pooling"), *more]
    return [{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for i, (path, kind) in enumerate(parts)]


def flags(*names, **more):
    every = ["cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"]
    return {"word_embedding_dimension": HIDDEN, **{f"pooling_mode_{n}": n in names for n in every}, **more}


def mode(name, **more):
    return {"embedding_dimension": HIDDEN, "pooling_mode": name, "include_prompt": True, **more}


def prompts(default):
    return {"prompts": PROMPTS, "default_prompt_name": default, "similarity_fn_name": "cosine"}


def case(name, pooling, dense=(), normalize=False, config=None, prompt=None, folder="", folders=("2_Dense", "3_Dense"),
         normalize_first=False):
    files = {"1_Pooling/config.json": pooling}
    more = [("2_Normalize", "Normalize")] if normalize_first else []
    for path, (weights, settings) in zip(folders, dense):
        files[f"{path}/config.json"] = settings
        files[f"{path}/model.safetensors"] = weights
        more.append((path, "Dense"))
    if normalize:
        more.append(("4_Normalize", "Normalize"))
    files["modules.json"] = modules(*more, folder=folder)
    if config:
        files["config_sentence_transformers.json"] = config
    return {"name": name, "files": files, "prompt": prompt, "folder": folder}


def cases():
    tanh = {"activation_function": "torch.nn.modules.activation.Tanh"}
    identity = {"activation_function": "torch.nn.modules.linear.Identity"}
    same = {"in_features": HIDDEN, "out_features": HIDDEN, "bias": True}
    narrow = {"in_features": HIDDEN, "out_features": 10, "bias": False}
    for name in ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"):
        yield case(name, mode(name))
        yield case(f"{name}, without the prompt", mode(name, include_prompt=False), config=prompts("query"))
        yield case(f"{name}, without a prompt that is too long", mode(name, include_prompt=False), config=prompts("long")) \
            if name != "max" else case("max, with the prompt", mode(name), config=prompts("query"))
    for flag in ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"):
        yield case(f"the flag {flag}", flags(flag))
    yield case("all flags false", flags())
    yield case("no mode", {"word_embedding_dimension": HIDDEN})
    yield case("all flags true", flags("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens",
                                       "lasttoken"))
    yield case("a list", mode(["cls", "mean"]))
    yield case("a list in another order, with one twice", mode(["lasttoken", "max", "cls", "max"]))
    yield case("a list of one", mode(["weightedmean"]))
    yield case("names count before flags", {**flags("cls_token"), "pooling_mode": "mean"})
    yield case("dense, Tanh by default", mode("mean"), [("same.safetensors", same)])
    yield case("dense, Identity", mode("mean"), [("same.safetensors", {**same, **identity})])
    yield case("dense, residual", mode("mean"), [("same.safetensors", {**same, **tanh, "use_residual": True})])
    yield case("dense, residual of another size", mode("mean"),
               [("narrow.safetensors", {**narrow, **identity, "use_residual": True})], normalize=True)
    yield case("dense twice", mode("mean"), [("same.safetensors", {**same, "use_residual": True}),
                                             ("narrow.safetensors", {**narrow, "use_residual": True})])
    yield case("dense after normalisation, and again", mode("mean"), [("same.safetensors", same)], normalize=True,
               normalize_first=True)
    yield case("other folders", mode("mean"), [("same.safetensors", same)], normalize=True, folders=("Projection/of mine",))
    yield case("the transformer in a folder", mode("mean"), folder="0_Transformer")
    for prompt in (None, "query", "passage", "nothing", "document"):
        yield case(f"the prompt {prompt}", mode("mean"), config=prompts("passage"), prompt=prompt)
    yield case("no default prompt", mode("mean"), config=prompts(None))


def weights():
    torch.manual_seed(5)
    save_file({"linear.weight": torch.randn(HIDDEN, HIDDEN) * 0.3, "linear.bias": torch.randn(HIDDEN) * 0.3},
              OUT / "same.safetensors")
    save_file({"linear.weight": torch.randn(10, HIDDEN) * 0.3, "residual.weight": torch.randn(10, HIDDEN) * 0.3},
              OUT / "narrow.safetensors")


def embed(case):
    with tempfile.TemporaryDirectory() as scratch:
        model = pathlib.Path(scratch) / "model"
        shutil.copytree(MODEL, model)
        if case["folder"]:
            inner = model / case["folder"]
            inner.mkdir()
            for file in [f for f in model.iterdir() if f.is_file() and f.name != "modules.json"]:
                file.rename(inner / file.name)
        for name, contents in case["files"].items():
            (model / name).parent.mkdir(parents=True, exist_ok=True)
            if isinstance(contents, str):
                shutil.copy(OUT / contents, model / name)
            else:
                (model / name).write_text(json.dumps(contents))
        encoder = SentenceTransformer(str(model), device="cpu")
        return encoder.encode(SENTENCES, prompt_name=case["prompt"], convert_to_numpy=True)


def main():
    OUT.mkdir(exist_ok=True)
    weights()
    # NaN and infinities, which JSON lacks, do not occur.
    done = [{**c, "embeddings": [[float(f"{v:.9g}") for v in row] for row in embed(c)]} for c in cases()]
    lines = ",\n".join(json.dumps(c) for c in done)
    (OUT / "cases.json").write_text(f'{{"sentences": {json.dumps(SENTENCES)},\n"cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
