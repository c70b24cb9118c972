# shellcheck shell=bash
# Makes the wheels of the Python package (bindings/python) and its source distribution, and tests them.
# Part of ./dev, which sources it, behind python.sh.

# make_debian12: sets debian12 to the directory of a root of Debian 12, which is made if it is absent.
make_debian12() {
  local root_suite=bookworm
  local -a names
  debian12=$(root_directory debian12-packages.txt debian12-)
  [[ ! -e $debian12/.complete ]] || return 0
  mapfile -t names < <(packages debian12-packages.txt)
  make_root "$debian12" 'Debian 12, the oldest system of the wheels' '0.4 GB' "${names[@]}"
}

# copy_python_311_headers: sets python_headers to a directory of Python 3.11's headers alone: Debian 12 has others beside
# them, of its C library.
copy_python_311_headers() {
  local of_processor
  python_headers=$python_build/headers
  [[ ! -e $python_headers/python3.11/Python.h ]] || return 0
  make_debian12
  of_processor=$(uname -m)-linux-gnu
  rm -rf -- "$python_headers.partial"
  mkdir -p "$python_headers.partial/$of_processor"
  cp -rL "$debian12/usr/include/python3.11" "$python_headers.partial/"
  cp -rL "$debian12/usr/include/$of_processor/python3.11" "$python_headers.partial/$of_processor/"
  mv -T "$python_headers.partial" "$python_headers"
}

# make_wheels DIRECTORY: builds the package, whose library is built once, with an extension for either wheel.
make_wheels() {
  copy_python_311_headers
  build_python weft_python_package
  grep -qxF "WEFT_PYTHON_311_HEADERS:PATH=$python_headers" "$python_build/CMakeCache.txt" ||
    "${prefix[@]}" cmake -DWEFT_PYTHON_311_HEADERS="$python_headers" "$python_build" >&2 ||
    fail "CMake could not configure the extension for Python 3.11; what it said is above"
  build_python weft_python_311
  "${prefix[@]}" python3 "$project/bindings/python/wheel.py" "$python_build" "$1" || fail "the wheels could not be made"
}

# make_sdist DIRECTORY: packs the sources.
make_sdist() {
  "${prefix[@]}" python3 -c 'import os, sys, scikit_build_core.build as build
os.chdir(sys.argv[1])
print(os.path.join(sys.argv[2], build.build_sdist(sys.argv[2])))' "$project" "$1" >"$1/.sdist" ||
    fail "the source distribution could not be made; see above"
  tail -n 1 "$1/.sdist"
  rm "$1/.sdist"
}

# use_installed DIRECTORY PYTHON WHAT ARGS...: installs with pip's ARGS into an environment of that Python in DIRECTORY,
# without a network, and uses what was installed, alone and beside the modules that this Python has. Entered by prefix.
use_installed() {
  local directory=$1 python=$2 what=$3 tour=$project/bindings/python/tests/wheel_tour.py
  shift 3
  rm -rf -- "$directory"
  say "$what: installing weft"
  "${prefix[@]}" "$python" -m venv --system-site-packages "$directory" >&2 || fail "$what: no environment could be made"
  "${prefix[@]}" "$directory/bin/python" -m pip install --quiet --no-index --disable-pip-version-check "$@" >&2 ||
    fail "$what: pip could not install weft; see its message above"
  "${prefix[@]}" "$directory/bin/python" "$tour" || fail "$what: weft does not work; see above"
  "${prefix[@]}" "$directory/bin/python" "$tour" beside || fail "$what: weft does not work beside others; see above"
}

# use_wheels_in_debian12 SCRATCH DIRECTORY
use_wheels_in_debian12() {
  local environment environment_root
  local -a prefix
  make_debian12
  enter_root "$debian12"
  use_installed "$1/debian12" python3 'Debian 12' --find-links "$2" --only-binary weft weft
}

# use_wheels_here SCRATCH DIRECTORY PYTHON: with a Python of the host.
use_wheels_here() {
  local -a prefix=(env)
  use_installed "$1/host" "$3" "$3" --find-links "$2" --only-binary weft weft
}

# use_sdist SCRATCH FILE: pip builds it as ./dev python does, so that the compiler's cache has what that has built.
use_sdist() {
  local scratch=$1/sdist
  local -a outer=("${prefix[@]}") prefix
  # Its compilers would be those that Python was built by.
  prefix=("${outer[@]}" CC=cc CXX=c++ CCACHE_BASEDIR="$scratch" TMPDIR="$scratch")
  rm -rf -- "$scratch"
  mkdir "$scratch"
  use_installed "$scratch/python" python3 'the source distribution' --no-build-isolation -C build-dir=build/python \
    -C cmake.define.WEFT_WARNINGS_AS_ERRORS=ON "$2"
}

# test_wheels DIRECTORY PYTHON...: reads the wheels in DIRECTORY, and uses them in Debian 12, here, and by each PYTHON of
# the host; then the same with the source distribution, here.
test_wheels() {
  local directory=$1 scratch=$python_build/installed python
  shift
  mkdir -p "$scratch"
  "${prefix[@]}" env WEFT_WHEELS="$directory" PYTHONPATH="$python_build/package" PYTHONDONTWRITEBYTECODE=1 \
    python3 -m pytest -q -p no:cacheprovider "$project/bindings/python/tests/test_wheel.py" ||
    fail 'the wheels are not as they must be; see above'
  use_wheels_in_debian12 "$scratch" "$directory"
  use_installed "$scratch/testing" python3 'Debian testing' --find-links "$directory" --only-binary weft weft
  for python; do
    use_wheels_here "$scratch" "$directory" "$python"
  done
  use_sdist "$scratch" "$(compgen -G "$directory/weft-*.tar.gz")"
  rm -rf -- "$scratch"
}

verb_wheel() {
  local directory=$python_build/dist
  if [[ ${1:-} == test ]]; then
    shift
    enter_python_environment
    make_wheels "$directory"
    make_sdist "$directory"
    test_wheels "$directory" "$@"
    return
  fi
  (($# <= 1)) && [[ ${1:-} != -* ]] || usage_error "./dev wheel takes one directory, or test, got $*"
  mkdir -p "${1:-$directory}"
  directory=$(cd "${1:-$directory}" && pwd -P)
  enter_python_environment
  make_wheels "$directory"
  make_sdist "$directory"
}
