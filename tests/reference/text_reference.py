"""Writes the reference data of the text tests; see README.md."""
import json
import pathlib
import struct
import sys

import numpy
import torch
from sentence_transformers import SentenceTransformer
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from generated import DATA, fnv1a, generate, hash_ids
from sentences import SENTENCES

GENERATED = 10_000
GENERATED_SMALL = 3_000
BLOCK = 4096


def write_hashes(path, hashes):
    path.write_bytes(struct.pack(f"<{len(hashes)}Q", *hashes))


def model_reference(model_dir):
    """Ids and embeddings of the sentences, hashes of the ids of the generated strings."""
    model = SentenceTransformer(str(model_dir), device="cpu").eval()
    tokenizer, length = model.tokenizer, model.max_seq_length
    raw = Tokenizer.from_file(str(model_dir / "tokenizer.json"))
    raw.no_padding()
    raw.enable_truncation(length)

    def ids_of(text):
        ids = tokenizer(text, truncation=True, max_length=length)["input_ids"]
        assert ids == raw.encode(text).ids, text
        return ids

    ids = [ids_of(text) for text in SENTENCES]
    with torch.no_grad():
        rows = [model.encode(text, convert_to_numpy=True, show_progress_bar=False) for text in SENTENCES]
    embeddings = numpy.stack(rows).astype(numpy.float32)
    assert numpy.isfinite(embeddings).all()
    for text, row in zip(SENTENCES, ids):
        assert model.preprocess([text])["input_ids"][0].tolist() == row, text

    words = [token for token, _ in sorted(raw.get_vocab(with_added_tokens=False).items(), key=lambda item: item[1])]
    (DATA / "sentences.jsonl").write_text("".join(json.dumps(text) + "\n" for text in SENTENCES), encoding="utf-8")
    (DATA / "sentence_ids.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ids), encoding="utf-8")
    numpy.save(DATA / "sentence_embeddings.npy", embeddings)
    write_hashes(DATA / "generated_ids.u64", [hash_ids(ids_of(generate(i, words))) for i in range(GENERATED)])
    print(f"{len(SENTENCES)} sentences, at most {max(map(len, ids))} ids; {GENERATED} generated strings")


def small_vocabulary():
    """A few hundred tokens: letters of several scripts and marks, alone and continuing, and some words."""
    singles = [chr(c) for first, last in ((0x21, 0x7E), (0xC0, 0x17F), (0x300, 0x333), (0x3B1, 0x3C9), (0x410, 0x44F),
                                          (0x1100, 0x1112), (0x1161, 0x1175), (0x11A8, 0x11C2)) for c in range(first, last + 1)]
    singles += list("中文語漢字한국어") + [chr(c) for c in (0x130, 0x307, 0x302E, 0x302F, 0x1D165, 0x1D16D, 0xAD, 0x200B, 0x200D, 0xFFFD, 0, 0x2003)]
    words = ["the", "The", "new", "New", "day", "##ay", "##day", "tok", "##tok", "Été", "##té", "ing", "##ing", "www", "http", "##ttp"]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + singles + ["##" + s for s in singles] + words
    return {token: i for i, token in enumerate(dict.fromkeys(tokens))}


def bert_template(tokenizer, **types):
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:{cls} $A:{text} [SEP]:{sep}".format(**{"cls": 0, "text": 0, "sep": 0, **types}),
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", tokenizer.token_to_id("[CLS]")), ("[SEP]", tokenizer.token_to_id("[SEP]"))])


def small_tokenizers():
    """Name → (tokenizer, longest sequence): every option of the format that Weft reads."""
    variants = {}

    def add(name, normalizer, tokens=(), length=0, template=True, **word_piece):
        vocabulary = small_vocabulary()
        if word_piece.get("continuing_subword_prefix") is not None:
            prefix = word_piece["continuing_subword_prefix"]
            renamed = [prefix + t[2:] if t.startswith("##") and len(t) > 2 else t for t in vocabulary]
            vocabulary = {t: i for i, t in enumerate(dict.fromkeys(t for t in renamed if t))}
        tokenizer = Tokenizer(models.WordPiece(vocabulary, **{"unk_token": "[UNK]", **word_piece}))
        tokenizer.normalizer = normalizer
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
        tokenizer.add_tokens(list(tokens))
        if template:
            bert_template(tokenizer)
        variants[name] = (tokenizer, length)

    bert = normalizers.BertNormalizer
    add("uncased", bert())
    add("cased", bert(lowercase=False))
    add("cased_stripped", bert(lowercase=False, strip_accents=True))
    add("lower_accented", bert(lowercase=True, strip_accents=False))
    add("no_ideographs", bert(handle_chinese_chars=False), length=20)
    add("unclean", bert(clean_text=False), length=64)
    add("unclean_cased", bert(clean_text=False, lowercase=False, handle_chinese_chars=False))
    add("no_normalizer", None)
    add("short_words", bert(), max_input_chars_per_word=4)
    add("plain_prefix", bert(), continuing_subword_prefix="")
    add("other_prefix", bert(), continuing_subword_prefix="@@")
    add("no_template", bert(), template=False, length=7)
    add("bert_processing", bert(), length=3)
    variants["bert_processing"][0].post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    add("other_unknown", bert(), unk_token="[MASK]")
    add("added_raw", bert(), [AddedToken("New", normalized=False), AddedToken("tok", normalized=False, single_word=True),
                              AddedToken("x", normalized=False, lstrip=True), AddedToken("day", normalized=False, rstrip=True),
                              AddedToken("aa", normalized=False), AddedToken("aaa", normalized=False),
                              AddedToken(" ", normalized=False, single_word=True)])
    add("added_normalized", bert(), [AddedToken("Day", normalized=True), AddedToken("Été", normalized=True, single_word=True),
                                     AddedToken("x", normalized=True, lstrip=True, rstrip=True), AddedToken("_", normalized=False, lstrip=True, rstrip=True),
                                     AddedToken("TOK", normalized=True, lstrip=True), AddedToken("new", normalized=True, rstrip=True)])
    add("added_cased", bert(lowercase=False), [AddedToken("Été", normalized=True), AddedToken("é", normalized=True, single_word=True),
                                               AddedToken("DAY", normalized=False, single_word=True, lstrip=True, rstrip=True)])
    add("typed", bert())
    bert_template(variants["typed"][0], cls=2, text=1, sep=3)
    return variants


def small_reference():
    """Small tokenizers and the hashes of their ids: sentences first, then generated strings."""
    folder = DATA / "tokenizers"
    folder.mkdir(exist_ok=True)
    texts = SENTENCES + [generate(i, []) for i in range(GENERATED_SMALL)]
    lengths = {}
    for name, (tokenizer, length) in small_tokenizers().items():
        (folder / f"{name}.json").write_text(tokenizer.to_str(), encoding="utf-8")
        if length:
            tokenizer.enable_truncation(length)
        encodings = [tokenizer.encode(text) for text in texts]
        write_hashes(folder / f"{name}.u64", [hash_ids(encoding.ids) for encoding in encodings])
        lengths[name] = {"max_length": length, "type_ids": encodings[0].type_ids}
    (folder / "index.json").write_text(json.dumps(lengths, indent=1) + "\n", encoding="utf-8")
    print(f"{len(lengths)} small tokenizers, {len(texts)} texts each")


def unicode_reference():
    """What the reference does to each code point, a hash for each 4,096 of them."""
    options = [dict(clean_text=clean, handle_chinese_chars=chinese, strip_accents=strip, lowercase=lower)
               for clean, chinese, strip, lower in ((True, True, None, True), (True, False, False, False),
                                                    (False, True, False, True), (False, False, True, False))]
    singles = [chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
    blocks = [[c for c in singles[at:at + BLOCK]] for at in range(0, len(singles), BLOCK)]

    def digest(line):
        return [f"{fnv1a(''.join(line(c) for c in block).encode()):016x}" for block in blocks]

    split = pre_tokenizers.BertPreTokenizer()

    def word_class(c):
        words = [word for word, _ in split.pre_tokenize_str(f"a{c}b")]
        return {1: "w", 2: "s", 3: "p"}[len(words)]

    vocabulary = {"[UNK]": 0, "x": 1}
    single_word = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    single_word.add_tokens([AddedToken("x", single_word=True, normalized=False)])
    generated = [generate(i, []) for i in range(GENERATED_SMALL)]
    result = {"block": BLOCK, "normalizers": []}
    for option in options:
        normalizer = normalizers.BertNormalizer(**option)
        result["normalizers"].append({
            **option,
            "code_points": digest(lambda c: normalizer.normalize_str(f"A{c}\u0301b") + "\n"),
            "generated": f"{fnv1a(''.join(normalizer.normalize_str(text) for text in generated).encode()):016x}"})
    result["word_classes"] = digest(word_class)
    result["word_characters"] = digest(lambda c: "w" if len(single_word.encode("x" + c).ids) == 1 else "-")
    (DATA / "unicode.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{len(blocks)} blocks of code points")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: text_reference.py MODEL_DIR")
    unicode_reference()
    small_reference()
    model_reference(pathlib.Path(sys.argv[1]))
