#!/usr/bin/env python3
"""Makes tests/data/tokenizer_directories.json: the ids that transformers gives for models' directories whose tokens are in
several files, and for texts that are cut at their start.

  python3 tests/reference/tokenizer_directories.py
"""
import json
import pathlib
import tempfile

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "tokenizer_directories.json"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "a", "b", "##c", ".", "<", ">", "x", "y", "foo"]
TEXTS = ["hello world.", "Hello <x> world", "a<x>b <Y> c", "foo<y>FOO Foo", "<y> <x><x>  .", "abc [MASK] a [mask]", "",
         "a b a b a b <x> hello hello world foo <y>", "a b ac bc [SEP] hello . . . . x y foo"]


def token(content, **more):
    return {"content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True,
            **more}


def tokenizer_json(truncation=None):
    tokenizer = Tokenizer(models.WordPiece({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]",
                                                             special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.add_special_tokens(WORDS[:5])
    if truncation:
        tokenizer.enable_truncation(max_length=100, direction=truncation)
    return json.loads(tokenizer.to_str())


def vocab(words=WORDS):
    return "\n".join(words) + "\n"


def cases():
    config = {"do_lower_case": True, "tokenizer_class": "BertTokenizer"}
    decoder = {str(i): token(w) for i, w in enumerate(WORDS[:5])}
    beyond = {"17": token("<Y>", special=False, normalized=True), "16": token("<x>", rstrip=True), "15": token("foo", special=False)}
    yield "white space at the end of lines", {"vocab.txt": "[PAD]\n[UNK] \n[CLS]\t\n[SEP]\r\n[MASK]\u3000\nhello \n world\na\u00a0\n##c\n.\n"}
    yield "added_tokens_decoder", {"vocab.txt": vocab(), "tokenizer_config.json": {**config, "added_tokens_decoder": {**decoder, **beyond}}}
    yield "additional_special_tokens", {"vocab.txt": vocab(), "tokenizer_config.json": {
        **config, "additional_special_tokens": ["<y>", token("<x>", lstrip=True, __type="AddedToken"), "foo"]}}
    yield "extra_special_tokens", {"vocab.txt": vocab(), "tokenizer_config.json": {
        **config, "extra_special_tokens": ["<y>", token("<x>", lstrip=True, __type="AddedToken")]}}
    yield "both", {"vocab.txt": vocab(), "tokenizer_config.json": {
        **config, "added_tokens_decoder": {**decoder, **beyond}, "additional_special_tokens": ["<y>", "<x>"]}}
    yield "additional_special_tokens past special ones that the vocabulary lacks", {
        "vocab.txt": vocab([w for w in WORDS if w != "[MASK]"]), "tokenizer_config.json": {**config, "additional_special_tokens": ["<x>"]}}
    yield "added_tokens.json", {"vocab.txt": vocab(), "added_tokens.json": {"<Y>": 17, "<x>": 16},
                                "tokenizer_config.json": config}
    yield "added_tokens.json of special tokens", {
        "vocab.txt": vocab(), "added_tokens.json": {"<Y>": 17, "<x>": 16},
        "tokenizer_config.json": {**config, "extra_special_tokens": ["<Y>"]}}
    yield "special_tokens_map.json", {
        "vocab.txt": vocab(), "tokenizer_config.json": config,
        "special_tokens_map.json": {"cls_token": "foo", "sep_token": token("x"), "extra_special_tokens": ["<y>"]}}
    yield "special_tokens_map.json without effect", {
        "vocab.txt": vocab(), "tokenizer_config.json": {**config, "added_tokens_decoder": decoder},
        "special_tokens_map.json": {"cls_token": "foo"}}
    yield "tokenizer.json and added_tokens_decoder", {"tokenizer.json": tokenizer_json(), "tokenizer_config.json": {
        **config, "added_tokens_decoder": {**decoder, **beyond}}}
    yield "tokenizer.json and other properties", {"tokenizer.json": tokenizer_json(), "tokenizer_config.json": {
        **config, "added_tokens_decoder": {**decoder, "4": token("[MASK]", normalized=True, special=False)}}}
    yield "tokenizer.json and additional_special_tokens", {"tokenizer.json": tokenizer_json(), "tokenizer_config.json": {
        **config, "additional_special_tokens": ["<x>", "foo"]}}
    yield "tokenizer.json and added_tokens.json", {"tokenizer.json": tokenizer_json(), "added_tokens.json": {"<x>": 16},
                                                   "tokenizer_config.json": config}
    for length in (2, 3, 5, 8):
        yield f"truncation_side, {length}", {"vocab.txt": vocab(), "tokenizer_config.json": {
            **config, "truncation_side": "left", "model_max_length": length}}
    yield "truncation_side of tokenizer.json", {"tokenizer.json": tokenizer_json("left"), "tokenizer_config.json": {
        **config, "model_max_length": 6}}
    yield "truncation_side before that of tokenizer.json", {"tokenizer.json": tokenizer_json("left"), "tokenizer_config.json": {
        **config, "model_max_length": 6, "truncation_side": "right"}}


def main():
    done = []
    for name, files in cases():
        with tempfile.TemporaryDirectory() as scratch:
            directory = pathlib.Path(scratch)
            (directory / "config.json").write_text(json.dumps({"model_type": "bert"}))
            for file, contents in files.items():
                (directory / file).write_text(contents if isinstance(contents, str) else json.dumps(contents), newline="")
            tokenizer = AutoTokenizer.from_pretrained(scratch)
            length = files.get("tokenizer_config.json", {}).get("model_max_length", 100)
            ids = [tokenizer(text, truncation=True, max_length=length)["input_ids"] for text in TEXTS]
            done.append({"name": name, "files": files, "ids": ids})
    lines = ",\n".join(json.dumps(c) for c in done)
    OUT.write_text(f'{{"texts": {json.dumps(TEXTS)},\n"cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
