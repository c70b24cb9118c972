# shellcheck shell=bash
# Builds the Python package (bindings/python) in build/python, and tests it. Part of ./dev, which sources it.

readonly python_build=$project/build/python
readonly python_modules=$python_build/modules # what PyPI alone has, of bindings/python/tests/requirements.txt

# enter_python_environment: the environment with what only the package needs: the host if it has that, else a root of
# its own.
enter_python_environment() {
  enter_environment_and python-packages.txt python- 'the environment of ./dev python' '1.9 GB'
}

# build_python [TARGET...]: builds the package in build/python/package.
build_python() {
  build=$python_build preset=python
  build_all "$@"
}

# fetch_python_modules: fetches what the tests need of PyPI, all or nothing. Where it cannot be reached, they skip what
# needs it; WEFT_REQUIRE_PYPI=on makes that an error.
fetch_python_modules() (
  requirements=$project/bindings/python/tests/requirements.txt
  [[ ! -e $python_modules/.complete || $requirements -nt $python_modules/.complete ]] || exit 0
  partial=$python_modules.partial
  heed_stops
  rm -rf -- "$partial" "$python_modules"
  say "fetching the Python packages of ${requirements#"$project"/} into $python_modules (once)"
  "${prefix[@]}" python3 -m pip install --quiet --disable-pip-version-check --no-deps --target "$partial" \
    -r "$requirements" >&2 || {
    rm -rf -- "$partial"
    [[ ${WEFT_REQUIRE_PYPI:-off} != on ]] || fail "pip could not fetch them: see its message above"
    say 'pip could not fetch them: see its message above; tests that need them are skipped'
    exit 0
  }
  touch "$partial/.complete"
  mv -T "$partial" "$python_modules"
)

# python_of_package ARGS...: that Python, which finds the package. Without a word on the device it is the cpu.
python_of_package() {
  "${prefix[@]}" env PYTHONPATH="$python_build/package:$python_modules${PYTHONPATH:+:$PYTHONPATH}" PYTHONDONTWRITEBYTECODE=1 \
    WEFT_DEVICE="${WEFT_DEVICE:-cpu}" python3 "$@"
}

verb_python() {
  local part=${1:-build} tests=$project/bindings/python/tests
  (($# == 0)) || shift
  enter_python_environment
  case $part in
    build) build_python "$@" ;;
    test)
      build_python
      fetch_python_modules
      python_of_package -m pytest -q -p no:cacheprovider "$tests" "$@" || fail 'tests of the Python package failed'
      ;;
    types)
      build_python
      "${prefix[@]}" env MYPYPATH="$python_build/package" mypy --strict --follow-imports silent \
        "$tests/types_of_a_program.py" || fail 'mypy found errors'
      ;;
    run)
      build_python
      python_of_package "$@"
      ;;
    *) usage_error "./dev python needs a part: build, test, types or run, got '$part'" ;;
  esac
}
