#!/usr/bin/env python3
"""Makes tests/data/encoders: tiny BERT and DistilBERT models with random weights in Hugging Face's layout, with other
poolings and modules than all-MiniLM-L6-v2 has, and their embeddings by transformers and PyTorch in f32 on the CPU.

  python3 tests/reference/encoders.py
"""
import json
import pathlib
import shutil

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertModel, BertTokenizerFast, DistilBertConfig, DistilBertModel

ROOT = pathlib.Path(__file__).resolve().parent.parent / "data" / "encoders"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", "a", "b", "c", "hello", "world", "##s", "##ing", "sing"]
SENTENCES = ["hello world", "a", "", "singing worlds , a b c . hello hello hello hello hello", "unknown word sing sings",
             "a b c " * 20]


def pool(tokens, mask, mode):
    m = mask.unsqueeze(2).float()
    if mode == "cls_token":
        return tokens[:, 0]
    if mode == "max_tokens":
        return tokens.masked_fill(m == 0, -1e9).max(1).values
    total = (tokens * m).sum(1)
    count = m.sum(1).clamp(min=1e-9)
    return total / (count if mode == "mean_tokens" else count.sqrt())


def make(name, model, modes, dense, normalize, max_length, half=False):
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    torch.manual_seed(11)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn_like(p) * 0.4)
    if half:
        model.half()
    save_file({k: v.contiguous() for k, v in model.state_dict().items() if "position_ids" not in k}, folder / "model.safetensors")
    model.float().eval()
    (folder / "config.json").write_text(model.config.to_json_string())
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    tokenizer = BertTokenizerFast(vocab=str(folder / "vocab.txt"), do_lower_case=True)
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True, "tokenizer_class": "BertTokenizer"}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": max_length, "do_lower_case": False}))
    modules = [("", "Transformer"), ("1_Pooling", "Pooling")]
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(
        {"word_embedding_dimension": model.config.hidden_size, **{f"pooling_mode_{m}": True for m in modes}}))
    linear = None
    if dense:
        linear = torch.nn.Linear(model.config.hidden_size * len(modes), dense)
        (folder / "2_Dense").mkdir()
        (folder / "2_Dense" / "config.json").write_text(json.dumps(
            {"in_features": linear.in_features, "out_features": dense, "bias": True,
             "activation_function": "torch.nn.modules.activation.Tanh"}))
        save_file({"linear.weight": linear.weight.data, "linear.bias": linear.bias.data}, folder / "2_Dense" / "model.safetensors")
        modules.append(("2_Dense", "Dense"))
    if normalize:
        modules.append(("9_Normalize", "Normalize"))
    (folder / "modules.json").write_text(json.dumps(
        [{"idx": i, "name": str(i), "path": p, "type": f"sentence_transformers.models.{t}"} for i, (p, t) in enumerate(modules)]))
    rows = []
    with torch.no_grad():
        for sentence in SENTENCES:
            e = tokenizer(sentence, truncation=True, max_length=max_length, return_tensors="pt", return_token_type_ids=False)
            tokens = model(**e).last_hidden_state
            y = torch.cat([pool(tokens, e["attention_mask"], m) for m in modes], 1)
            if linear is not None:
                y = torch.tanh(linear(y))
            if normalize:
                y = torch.nn.functional.normalize(y)
            rows.append(y[0].numpy())
    np.save(folder / "embeddings.npy", np.stack(rows).astype(np.float32))
    (folder / "sentences.json").write_text(json.dumps(SENTENCES))


def main():
    common = {"vocab_size": len(WORDS), "max_position_embeddings": 40}
    bert = {"hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 3, **common}
    distil = {"dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 4, **common}
    make("bert_cls", BertModel(BertConfig(hidden_act="gelu_new", **bert)), ["cls_token"], 0, False, 40)
    make("bert_max_mean_dense", BertModel(BertConfig(hidden_act="relu", layer_norm_eps=1e-5, **bert)),
         ["max_tokens", "mean_tokens"], 10, True, 20)
    make("bert_f16_weights", BertModel(BertConfig(**bert)), ["mean_tokens"], 0, True, 40, half=True)
    make("distilbert_mean_sqrt", DistilBertModel(DistilBertConfig(activation="gelu", **distil)), ["mean_sqrt_len_tokens"], 0,
         False, 30)


if __name__ == "__main__":
    main()
