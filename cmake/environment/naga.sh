# shellcheck shell=bash
# Builds Naga, Firefox's WGSL compiler, for the test that gives it every kernel. Part of ./dev, which sources it.

readonly naga_version=30.0.1

# fetch_naga: puts the program naga into the user's cache, once, where the host has cargo. Nothing else needs
# it, so that a failure is told and no more; the test then says that it is skipped.
fetch_naga() {
  local directory=$cache/naga log=$cache/naga.log
  [[ ! -x $directory/bin/naga ]] || return 0
  command -v cargo >/dev/null || return 0
  # What failed today is not tried at every run.
  [[ -z $(find "$cache/naga.failed" -mmin -600 2>/dev/null) ]] || return 0
  say "building Naga $naga_version, which checks the kernels (once, a few minutes)"
  if CARGO_TARGET_DIR=$cache/naga.build timeout 1200 cargo install --locked --quiet --version "$naga_version" \
    --root "$directory.partial" naga-cli >"$log" 2>&1; then
    mv -T "$directory.partial" "$directory" && rm -f "$log"
  else
    touch "$cache/naga.failed"
    say "Naga could not be built ($log says why); its test will be skipped"
  fi
  rm -rf -- "$cache/naga.build" "$directory.partial"
}
