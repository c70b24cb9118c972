# shellcheck shell=bash
# Fetches MLX, and builds and tests it on Weft (bindings/mlx), in build/mlx.
# Part of ./dev, which sources it.

readonly mlx_build=$project/build/mlx

# fetch_mlx: sets mlx_source to the directory of MLX's source, which is fetched if it is absent.
fetch_mlx() {
  mlx_source=${WEFT_MLX_SOURCE:-$mlx_build/source}
  if [[ -n ${WEFT_MLX_SOURCE:-} ]]; then
    [[ -e $mlx_source/mlx/version.h ]] || fail "WEFT_MLX_SOURCE names $mlx_source, which has no MLX"
  elif [[ ! -e $mlx_source/mlx/version.h ]]; then
    unpack_mlx "$mlx_source"
  fi
}

# unpack_mlx DIRECTORY: puts MLX's source there, completely or not at all, from the crate of mlx-crate.txt: cargo
# fetches it, its patches are undone.
unpack_mlx() (
  directory=$1 partial=$1.partial
  read -r crate version hash < <(grep -v '^#' "$lists/mlx-crate.txt")
  trap 'rm -rf -- "$partial"' EXIT
  heed_stops
  rm -rf -- "$partial"
  mkdir -p "$partial/src"
  command -v cargo >/dev/null ||
    fail "MLX's source is fetched by cargo, which this host lacks. Name a clone of MLX in WEFT_MLX_SOURCE instead."
  say "fetching MLX's source (8 MB, once) into $directory"
  touch "$partial/src/lib.rs"
  printf '[package]\nname = "mlx_source"\nversion = "0.0.0"\n[dependencies]\n%s = "=%s"\n' "$crate" "$version" \
    >"$partial/Cargo.toml"
  cargo fetch --quiet --manifest-path "$partial/Cargo.toml" ||
    fail "the crate $crate could not be fetched: see cargo's message above"
  archive=$(find "${CARGO_HOME:-$HOME/.cargo}/registry/cache" -name "$crate-$version.crate" | head -n 1)
  sha256sum --status -c <<<"${hash#sha256:}  $archive" ||
    fail "the fetched $archive is not the pinned one (${hash#sha256:})"
  tar -xzf "$archive" -C "$partial" --strip-components=1 "$crate-$version/vendor/mlx" "$crate-$version/patches"
  find "$partial/patches" -name '*.patch' | sort -r | while read -r patch; do
    "${prefix[@]}" patch --silent --no-backup-if-mismatch -p1 -R -d "$partial/vendor/mlx" <"$patch" ||
      fail "$patch could not be taken back from MLX's source"
  done
  mv -T "$partial/vendor/mlx" "$directory"
)

# enter_mlx_environment: the environment with what only MLX needs: the host if it has that, else a root of its own.
enter_mlx_environment() {
  local root
  local -a names
  if [[ $environment == host ]]; then
    has_packages mlx-packages.txt ||
      fail "this host lacks packages that MLX needs. Run once: apt-get install $(packages mlx-packages.txt | paste -sd ' ')"
    return
  fi
  root=$(root_directory mlx-packages.txt mlx-)
  if [[ ! -e $root/.complete ]]; then
    mapfile -t names < <(packages && packages mlx-packages.txt)
    make_root "$root" 'the environment of MLX' '1.6 GB' "${names[@]}"
  fi
  enter_root "$root" "${environment_settings[@]}"
}

# build_mlx [TARGET...]: builds MLX with Weft as its GPU, against an installation of this build's libraries; in the
# preset "thread" it has the thread sanitizer too.
build_mlx() {
  local -a flags=()
  fetch_mlx
  build_all weft_cli
  "${prefix[@]}" cmake --install "$build" --prefix "$mlx_build/$preset/weft" >/dev/null
  enter_mlx_environment
  if [[ ! -e $mlx_build/$preset/build.ninja ]]; then
    [[ $preset != thread ]] || flags=(-DCMAKE_CXX_FLAGS='-fsanitize=thread -g1')
    "${prefix[@]}" cmake -G Ninja -S "$mlx_source" -B "$mlx_build/$preset" -DCMAKE_BUILD_TYPE=Release "${flags[@]}" \
      -DCMAKE_PROJECT_mlx_INCLUDE="$project/bindings/mlx/inject.cmake" \
      -DCMAKE_PREFIX_PATH="$mlx_build/$preset/weft" >&2 ||
      fail "CMake could not configure MLX; what it said is above"
  fi
  "${prefix[@]}" ninja -C "$mlx_build/$preset" "$@" 2>&1 | show_progress ||
    fail "the build of MLX failed; the first error is above"
}

# check_mlx: compiles the backend against MLX's headers, without MLX itself and what only that needs.
check_mlx() {
  local source
  fetch_mlx
  build_all weft_kernels
  # The objects lie where ccache finds them again, and tell nobody anything.
  mkdir -p "$mlx_build/check"
  for source in "$project"/bindings/mlx/*.cpp; do
    printf '%s\0' "$source" "$mlx_build/check/$(basename "$source" .cpp).o"
  done | "${prefix[@]}" xargs -0 -n 2 -P "$(nproc)" sh -c \
    'ccache c++ -std=c++20 -Wall -Wno-deprecated-declarations -Wno-sign-compare -I "$0" -I "$1/include" -I "$2/include" -c "$3" -o "$4"' \
    "$mlx_source" "$project" "$build" || fail "the backend does not compile against MLX's headers; see above"
  say "bindings/mlx compiles against MLX's headers"
}

# make_mlx_python [examples]: sets mlx_python to a Python that has MLX's front end, and what the examples need.
make_mlx_python() {
  local directory=$mlx_build/python requirements=$project/bindings/mlx/requirements.txt
  mlx_python=$directory/bin/python
  if [[ $requirements -nt $directory/.complete ]]; then
    rm -rf -- "$directory"
    "${prefix[@]}" python3 -m venv "$directory" >&2 || fail "Python could not make $directory"
    fetch_mlx_packages "$requirements" "$directory/.complete"
  fi
  requirements=$project/bindings/mlx/examples/requirements.txt
  [[ ${1:-} != examples || ! $requirements -nt $directory/.complete-examples ]] ||
    fetch_mlx_packages "$requirements" "$directory/.complete-examples"
}

# fetch_mlx_packages LIST STAMP: installs the packages of a list, and makes the stamp when all are there.
fetch_mlx_packages() {
  "${prefix[@]}" "$mlx_python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$1" >&2 ||
    fail "the Python packages of $1 could not be fetched: see pip's message above"
  touch "$2"
}

# make_mlx_wheel LIBRARY: makes the wheel of it, and prints its path.
make_mlx_wheel() { "${prefix[@]}" python3 "$project/bindings/mlx/wheel.py" "$1" 0.32.4 "$mlx_build"; }

verb_mlx() {
  local part=${1:-} library=$mlx_build/$preset/libmlx.so
  local -a sanitizer=()
  (($# == 0)) || shift
  # Without a word on the device tests run on the software GPU.
  export WEFT_DEVICE=${WEFT_DEVICE:-llvmpipe}
  case $part in
    build)
      build_mlx "$@"
      (($#)) || make_mlx_wheel "$library"
      ;;
    check) check_mlx ;;
    test)
      build_mlx
      "${prefix[@]}" "$mlx_build/$preset/weft_mlx_lost_device" || fail "weft_mlx_lost_device failed"
      exec "${prefix[@]}" "$mlx_build/$preset/tests/tests" --test-case-exclude='*gguf*' "$@"
      ;;
    python-test)
      build_mlx
      make_mlx_python
      exec "${prefix[@]}" "$mlx_python" "$project/bindings/mlx/python_suite.py" "$mlx_source" "$library" "$@"
      ;;
    thread-test)
      build_mlx
      make_mlx_python
      "${prefix[@]}" "$mlx_python" "$project/bindings/mlx/python_suite.py" --install "$library"
      # Python itself has no sanitizer, which must be there before all that has one. What other libraries do among
      # themselves it cannot judge.
      [[ $preset != thread ]] || sanitizer=(env LD_PRELOAD="$("${prefix[@]}" c++ -print-file-name=libtsan.so)"
        TSAN_OPTIONS="ignore_noninstrumented_modules=1:suppressions=$project/bindings/mlx/tests/threads.supp")
      exec "${prefix[@]}" "${sanitizer[@]}" "$mlx_python" "$project/bindings/mlx/test_threads.py" "$@"
      ;;
    corner-test)
      build_mlx
      make_mlx_python
      "${prefix[@]}" "$mlx_python" "$project/bindings/mlx/python_suite.py" --install "$library"
      WEFT_MLX_WHEEL=$(make_mlx_wheel "$library") || fail "the wheel could not be made; see above"
      export WEFT_MLX_WHEEL
      exec "${prefix[@]}" "$mlx_python" "$project/bindings/mlx/test_corners.py" "$@"
      ;;
    examples)
      build_mlx
      make_mlx_python examples
      "${prefix[@]}" "$mlx_python" "$project/bindings/mlx/python_suite.py" --install "$library"
      for example in "digits.py" "smollm2.py --check"; do
        # shellcheck disable=SC2086  # a program and its arguments
        "${prefix[@]}" "$mlx_python" "$project/bindings/mlx/examples/"$example || fail "$example failed"
      done
      ;;
    bench)
      build_mlx
      exec "${prefix[@]}" "$mlx_build/$preset/weft_mlx_bench" "$@"
      ;;
    *) usage_error "./dev mlx needs build, check, test, python-test, corner-test, thread-test, examples or bench, got '$part'" ;;
  esac
}
