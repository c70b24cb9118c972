# shellcheck shell=bash
# Where tests do not look: ./dev fuzz and ./dev coverage. Part of ./dev, which sources it.
# shellcheck disable=SC2154

# verb_fuzz [--seconds N] [TARGET...]: runs libFuzzer's targets, of fuzz/*_fuzz.cc, one after the other.
verb_fuzz() {
  local seconds=60 target found=$project/build/fuzz/found status=0
  local -a targets=()
  while (($#)); do
    case $1 in
      --seconds)
        [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || usage_error '--seconds needs a number of seconds'
        seconds=$2
        shift
        ;;
      -*) usage_error "./dev fuzz has no option $1" ;;
      *)
        [[ -e $project/fuzz/$1.cc ]] ||
          usage_error "there is no target $1; there are $(cd "$project/fuzz" && printf '%s ' *_fuzz.cc | sed 's/\.cc//g')"
        targets+=("$1")
        ;;
    esac
    shift
  done
  if ((!${#targets[@]})); then
    mapfile -t targets < <(cd "$project/fuzz" && basename -s .cc -- *_fuzz.cc)
  fi
  build=$project/build/fuzz preset=fuzz
  build_all "${targets[@]}"
  for target in "${targets[@]}"; do
    local name=${target%_fuzz} dictionary=$project/fuzz/${target%_fuzz}.dict
    local -a options=(-max_total_time="$seconds" -timeout=60 -rss_limit_mb=6000 -print_final_stats=1)
    [[ ! -e $dictionary ]] || options+=(-dict="$dictionary")
    mkdir -p "$found/$name" "$build/corpus/$name"
    say "$target for $seconds seconds"
    # What is new goes into build/fuzz/corpus, and what fails into build/fuzz/found.
    if "${prefix[@]}" env ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0:allocator_may_return_null=1}" \
      "$build/fuzz/$target" "${options[@]}" -artifact_prefix="$found/$name/" "$build/corpus/$name" \
      "$project/fuzz/corpus/$name" >"$build/$target.log" 2>&1; then
      say "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$target.log") inputs, none failed"
    else
      tail -n 60 "$build/$target.log" >&2
      say "$target failed; the input is in ${found#"$project"/}/$name. Mended, it belongs into fuzz/corpus/$name"
      status=1
    fi
  done
  return "$status"
}

# verb_coverage [CTEST-ARGS]: which lines of the library the tests run, as a page.
verb_coverage() {
  local page=$project/build/coverage/page
  enter_environment_and coverage-packages.txt coverage- 'the environment of ./dev coverage' '1.7 GB'
  build=$project/build/coverage preset=coverage
  build_all
  find "$build" -name '*.gcda' -delete
  "${prefix[@]}" env WEFT_TESTS_QUICK=on WEFT_TEST_DEVICES="${WEFT_TEST_DEVICES:-lavapipe}" \
    ctest --test-dir "$build" --output-on-failure -j "$(nproc)" -LE '^slow$' "$@" || fail 'tests failed'
  mkdir -p "$page"
  "${prefix[@]}" gcovr --root "$project" --filter "$project/src/" --filter "$project/include/" --gcov-ignore-parse-errors=all \
    --merge-mode-functions=separate -j "$(nproc)" --html-nested "$page/index.html" --print-summary "$build" ||
    fail 'gcovr could not make the page'
  say "the page is ${page#"$project"/}/index.html"
}
