# shellcheck shell=bash
# Builds Naga, Firefox's WGSL compiler, for the test that compiles every kernel with it.
# Part of ./dev, which sources it.

readonly naga_version=30.0.1

# fetch_naga: builds the program naga in the user's cache, once, with the host's cargo. Only its test needs it: without
# it that test is skipped, with the reason. With WEFT_REQUIRE_NAGA=on, as CI sets it, the test fails instead, and Debian
# testing's cargo is used if the host's cannot build it.
fetch_naga() {
  local directory=$cache/naga log=$cache/naga.log required='' program
  # The places where the test looks; the host's own programs are not visible in a root.
  for program in "${WEFT_NAGA:-}" "$directory/bin/naga" "$HOME/.cargo/bin/naga" \
    "$([[ ${environment:-} != host ]] || command -v naga)"; do
    [[ ! -x $program ]] || return 0
  done
  [[ ${WEFT_REQUIRE_NAGA:-off} == off ]] || required=yes
  if [[ -z $required ]]; then
    if ! command -v cargo >/dev/null; then
      say "no Naga, and no cargo to build it: the test of the kernels for Metal and Direct3D will be skipped"
      return 0
    fi
    # A build that failed in the last ten hours is not repeated at every run.
    [[ -z $(find "$cache/naga.failed" -mmin -600 2>/dev/null) ]] || return 0
  fi
  say "building Naga $naga_version, which checks the kernels (once, a few minutes)"
  if { command -v cargo >/dev/null && install_naga "$directory.partial" >"$log" 2>&1; } ||
    { [[ -n $required ]] && install_naga_in_root "$directory.partial" >>"$log"; }; then
    mv -T "$directory.partial" "$directory" && rm -f "$log" "$cache/naga.failed"
  else
    touch "$cache/naga.failed"
    say "Naga could not be built ($log says why); its test will $([[ -n $required ]] && echo fail || echo be skipped)"
  fi
  rm -rf -- "$cache/naga.build" "$directory.partial"
}

# install_naga DIRECTORY [COMMAND...]: builds it there; the command starts cargo.
install_naga() {
  local directory=$1
  shift
  CARGO_TARGET_DIR=$cache/naga.build timeout 1200 "$@" cargo install --locked --quiet --version "$naga_version" \
    --root "$directory" naga-cli
}

# install_naga_in_root DIRECTORY: the same in a root with Debian's cargo, which is removed afterwards. Linked without
# shared libraries, so that the program runs with any libc.
install_naga_in_root() (
  root=$cache/root-cargo
  trap 'rm -rf --one-file-system -- "$root"' EXIT
  make_root "$root" 'an environment with cargo' '1 GB, removed afterwards' cargo libc6-dev ca-certificates || exit 1
  # With an explicit target the flags do not apply to the build's own tools, which cannot be linked statically.
  enter_root "$root" CARGO_HOME="${CARGO_HOME:-$cache/naga.build/home}" RUSTFLAGS='-C target-feature=+crt-static' \
    CARGO_BUILD_TARGET="$(uname -m)-unknown-linux-gnu"
  install_naga "$1" "${prefix[@]}" 2>&1
)
