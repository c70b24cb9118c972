# shellcheck shell=bash
# Selects tests by name. Part of ./dev, which sources it.
#
# ctest runs a few programs, and weft_tests as several parts in parallel. The more than a thousand tests in weft_tests
# are not tests of ctest, because each would open its devices again. GTEST_FILTER selects them.

# fitting REGEX: prints the names on standard input that contain the extended regular expression; -v: the others. Case
# and underscores are ignored: layer_norm finds LayerNormTest, and LayerNorm finds layer_norm.
fitting() (
  wanted=yes
  if [[ $1 == -v ]]; then
    wanted=''
    shift
  fi
  shopt -s nocasematch
  # An underscore may be absent, unless it has a quantifier of its own.
  pattern=${1//_/_?}
  for quantifier in '*' '+' '?' '{'; do pattern=${pattern//"_?$quantifier"/"_$quantifier"}; done
  while IFS= read -r name; do
    found=''
    if [[ $name =~ $pattern || ${name//_/} =~ $pattern ]]; then found=yes; fi
    if [[ $found == "$wanted" ]]; then printf '%s\n' "$name"; fi
  done
)

# check_regex REGEX: exits with a message if it is not valid.
check_regex() {
  local status=0
  [[ '' =~ $1 ]] 2>/dev/null || status=$?
  ((status < 2)) || usage_error "'$1' is no regular expression"
}

# gtest_names: the full names of the tests that --gtest_list_tests has written to standard input.
gtest_names() {
  local line suite=''
  while IFS= read -r line; do
    line=${line%%#*}
    case $line in
      '  '*)
        line=${line#  }
        printf '%s%s\n' "$suite" "${line%% *}"
        ;;
      *.*) suite=${line%% *} ;;
    esac
  done
}

# ctest_names: the names of the tests that ctest -N has written to standard input.
ctest_names() { sed -n 's/^ *Test *#[0-9]*: *//p'; }

# gtest_filter ALL SELECTED: GTEST_FILTER for the selected names of all, one a line. If most are selected it excludes
# the others, because a variable is limited to 128 KiB.
gtest_filter() {
  if ((2 * ${#2} <= ${#1})); then
    paste -sd : <<<"$2"
  else
    printf -- '-%s\n' "$(grep -vxFf <(printf '%s\n' "$2") <<<"$1" | paste -sd :)"
  fi
}

# select_tests SELECTED EXCLUDED [CTEST-OPTIONS]: sets selected_tests to the names in weft_tests, selected_parts to the
# parts of it that run them, selected_programs to ctest's other tests, and filter to GTEST_FILTER, empty for all. Either
# expression may be empty. The names in weft_tests depend on ${test_environment[@]}.
select_tests() {
  local selected=$1 excluded=$2 programs all tests parts named='' count
  shift 2
  programs=$("${prefix[@]}" ctest --test-dir "$build" -N "$@" | ctest_names)
  all=$("${prefix[@]}" env "${test_environment[@]}" "$(program weft_tests)" --gtest_list_tests | gtest_names)
  tests=$all
  if [[ -n $excluded ]]; then
    programs=$(fitting -v "$excluded" <<<"$programs")
    tests=$(fitting -v "$excluded" <<<"$tests")
  fi
  parts=$(grep -E '^weft_tests_' <<<"$programs") || true
  # ctest runs fixtures for the tests that need them.
  programs=$(grep -vE '^(weft_tests_|wgsl_cleared$)' <<<"$programs") || true
  if [[ -n $selected ]]; then
    programs=$(fitting "$selected" <<<"$programs")
    # The name of weft_tests or of a part of it selects all of its tests.
    named=$(fitting "$selected" <<<"$parts")
    if [[ -n $named ]]; then parts=$named; else tests=$(fitting "$selected" <<<"$tests"); fi
  fi
  # Selected tests are dealt to the parts in turn, so the last parts have none if there are fewer tests than parts.
  count=$(lines "$tests" | wc -l)
  [[ -n $named ]] || parts=$(head -n "$count" <<<"$parts")
  [[ -n $parts ]] || tests=''
  [[ -n $tests ]] || parts=''
  [[ -n $tests$programs ]] ||
    usage_error "no test${selected:+ has '$selected' in its name}${excluded:+${selected:+ and} lacks '$excluded'};" \
      "./dev test -N lists the names of all"
  say "selected $(lines "$tests" | wc -l) of the $(lines "$all" | wc -l) tests in weft_tests" \
    ${programs:+"and ${programs//$'\n'/, }"}
  selected_tests=$tests selected_parts=$parts selected_programs=$programs filter=''
  [[ $tests == "$all" || -z $tests ]] || filter=$(gtest_filter "$all" "$tests")
}

# lines TEXT...: prints those that are not empty.
lines() { printf '%s\n' "$@" | grep . || true; }
