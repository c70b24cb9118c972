# shellcheck shell=bash
# Builds Weft as WebAssembly in build/web, and tests it in Node and in Chromium (bindings/web). Part of ./dev, which
# sources it.

readonly web_build=$project/build/web
readonly web_modules=$web_build/modules # the npm packages of web-modules.txt

# enter_web_environment: the environment of the web: the host if it has Emscripten, else a root of its own.
enter_web_environment() {
  set_environment_settings
  # Emscripten compiles its own libraries once, where the user may write, and calls ccache itself.
  environment_settings+=(EM_CACHE="${EM_CACHE:-$cache/emscripten}" EM_COMPILER_WRAPPER="${EM_COMPILER_WRAPPER-ccache}")
  if [[ ${WEFT_ENVIRONMENT:-auto} != root ]] && command -v dpkg-query >/dev/null && has_packages web-packages.txt; then
    environment=host
    prefix=(env "${environment_settings[@]}")
    return
  fi
  [[ ${WEFT_ENVIRONMENT:-auto} != host ]] ||
    fail "this host lacks packages that ./dev web needs. Run once: apt-get install $(packages web-packages.txt | paste -sd ' ')"
  enter_root_of web-packages.txt web- 'the environment of ./dev web' '2.5 GB' "${environment_settings[@]}"
}

# build_web [TARGET...]: builds them in build/web.
build_web() {
  build=$web_build preset=web
  build_all "$@"
}

# report_web_sizes: prints the bytes of what ./dev web makes.
report_web_sizes() {
  local file
  for file in "$web_build"/package/weft.{js,wasm}; do
    printf '%s: %s bytes, %s compressed by gzip\n' "${file#"$project"/}" "$(stat -c %s "$file")" \
      "$(gzip -9 -c "$file" | wc -c)"
  done
}

# fetch_web_modules: fetches the npm packages of web-modules.txt, all or nothing.
fetch_web_modules() (
  mapfile -t modules < <(packages web-modules.txt)
  [[ "$(cat "$web_modules/.list" 2>/dev/null)" != "${modules[*]}" ]] || exit 0
  partial=$web_modules.partial
  heed_stops
  rm -rf -- "$partial" "$web_modules"
  mkdir -p "$partial"
  say "fetching the npm packages ${modules[*]} into $web_modules (once)"
  "${prefix[@]}" npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$partial" "${modules[@]}" >&2 ||
    fail "npm could not fetch ${modules[*]}: see its message above"
  printf '%s' "${modules[*]}" >"$partial/.list"
  mv -T "$partial" "$web_modules"
)

# web_node FILE [ARGS...]: runs a script in the environment's Node, where bindings/web/tests/place.mjs finds WebGPU.
web_node() {
  "${prefix[@]}" env WEFT_WEB_MODULES="$web_modules" VK_DRIVER_FILES="${VK_DRIVER_FILES:-/usr/share/vulkan/icd.d/lvp_icd.json}" \
    node --stack-size=4000 "$@"
}

# package_web: makes the npm package in build/web, and a bundle of a program that uses it.
package_web() {
  fetch_web_modules
  "${prefix[@]}" env WEFT_WEB_MODULES="$web_modules" node "$project/bindings/web/tests/package.mjs" "$web_build" ||
    fail "the npm package could not be made or used"
}

# site_web: puts the page of web/ and the package together in build/web/site, for any server of files.
site_web() {
  local site=$web_build/site
  rm -rf -- "$site"
  mkdir -p "$site/weft"
  cp -- "$project"/web/*.{html,css,js,svg,safetensors} "$project/examples/data/digits.onnx" "$site"
  cp -- "$web_build"/package/*.{js,wasm} "$project/LICENSE" "$site/weft"
}

verb_web() {
  local part=${1:-build} place program data places=(node chromium)
  local -a programs
  (($# == 0)) || shift
  case $part in
    build)
      enter_web_environment
      build_web "${@:-weft_web}"
      (($#)) || report_web_sizes
      ;;
    test | api-test)
      if [[ ${1:-} == node || ${1:-} == chromium ]]; then
        places=("$1")
        shift
      fi
      enter_web_environment
      if [[ $part == test ]]; then
        build_web weft_web_tests
        fetch_web_modules
        programs=(bindings/web/weft_web_tests.mjs)
      else
        build_web weft_web
        package_web
        fetch_model
        export WEFT_MODEL_DIR=$model
        mapfile -t programs < <(cd "$web_build" && printf '%s\n' tests/*_test.mjs)
      fi
      for place in "${places[@]}"; do
        for program in "${programs[@]}"; do
          say "$program in $place"
          web_node "$project/bindings/web/tests/run.mjs" "$place" "$web_build/$program" "$@" ||
            fail "$program failed in $place"
        done
      done
      ;;
    conformance)
      [[ -n ${1:-} ]] || usage_error './dev web conformance needs the directory of the data that docs/conformance.md describes'
      data=$1
      shift
      if [[ ${1:-} == node || ${1:-} == chromium ]]; then
        places=("$1")
        shift
      fi
      enter_web_environment
      build_web weft_web
      fetch_web_modules
      for place in "${places[@]}"; do
        say "the data in $place"
        web_node "$web_build/tests/conformance.mjs" "$place" "$data" "$@" || fail "cases failed in $place"
      done
      ;;
    node)
      [[ -n ${1:-} ]] || usage_error './dev web node needs a script'
      enter_web_environment
      build_web weft_web
      fetch_web_modules
      web_node "$@"
      ;;
    package)
      enter_web_environment
      build_web weft_web
      package_web
      ;;
    page | page-test | serve)
      enter_web_environment
      build_web weft_web
      site_web
      case $part in
        page) say "the page is in ${web_build#"$project"/}/site: any server of files may send it" ;;
        serve) exec "${prefix[@]}" node "$project/web/serve.mjs" "$web_build/site" "$@" ;;
        page-test)
          fetch_model
          web_node "$project/bindings/web/tests/page.mjs" "$web_build/site" "$model" "$@" || fail 'the page failed'
          ;;
      esac
      ;;
    shell)
      enter_web_environment
      exec "${prefix[@]}" "${@:-bash}"
      ;;
    *) usage_error "./dev web needs a part: build, test, api-test, conformance, node, package, page, page-test, serve or shell, got '$part'" ;;
  esac
}
