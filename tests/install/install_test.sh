#!/usr/bin/env bash
# install_test.sh SOURCE BUILD WORK: installs as `./dev install` does, and builds and runs a user's program against
# that, through pkg-config and through CMake. All that is loaded must be of the installed directory, the C library too.
set -euo pipefail

source=$1
build=$2
work=$3
fail() {
  printf 'FAILED: %s\n' "$*"
  exit 1
}

# loaded_outside DIRECTORY PROGRAM: prints the libraries that the program loads from elsewhere. Paths may hold spaces.
loaded_outside() {
  env -i LD_TRACE_LOADED_OBJECTS=1 "$2" | awk -v own="$1/" '
    { sub(/^[[:space:]]+/, ""); path = $0; sub(/^.* => /, "", path) }
    path ~ /^\// && index(path, own) != 1 { print }'
}

rm -rf "$work"
mkdir -p "$work/prefix/bin"
echo kept >"$work/prefix/bin/other"
cmake --build "$build" --target weft_cli weft_shared >"$work/build.log" 2>&1 || fail "$(tail "$work/build.log")"
for turn in first second; do # the second replaces the first
  bash "$source/cmake/environment/install.sh" "$source" "$build" "$work/prefix" || fail "the $turn installation"
done
[[ $(<"$work/prefix/bin/other") == kept ]] || fail 'a file that was there is gone'

# Moved, since nothing in it may name its place, to a name with a space, as many a user's directory has.
mv "$work/prefix" "$work/moved to"
prefix="$work/moved to"
[[ $(env -i PATH=/usr/bin:/bin "$prefix/bin/weft" --version) == *.* ]] || fail 'weft --version'
env -i PATH=/usr/bin:/bin HOME="$work" "$prefix/bin/weft" devices >/dev/null || fail 'weft devices'

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
cd "$source/tests/consumer"
# By a compiler older than that of the library, too, where there is one.
for compiler in $(command -v g++-12) c++; do
  # $(pkg-config --cflags --libs weft) is what the README says; xargs also takes the quotes of a directory with a space.
  pkg-config --cflags --libs weft | xargs "$compiler" main.cc -Wall -Wextra -Werror -o "$work/program"
  "$work/program" | grep -q '^7 with Weft' || fail "the program built by $compiler through pkg-config"
done
[[ -z $(loaded_outside "$prefix" "$work/program") ]] || fail "loaded from elsewhere: $(loaded_outside "$prefix" "$work/program")"

# Without any package of the environment: only the installed directory is searched.
cmake -G Ninja -S . -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF >"$work/build.log" 2>&1 ||
  fail "$(cat "$work/build.log")"
cmake --build "$work/build" >"$work/build.log" 2>&1 || fail "$(cat "$work/build.log")"
"$work/build/consumer" | grep -q '^7 with Weft' || fail 'the program built through CMake'
[[ -z $(loaded_outside "$prefix" "$work/build/consumer") ]] ||
  fail "loaded from elsewhere: $(loaded_outside "$prefix" "$work/build/consumer")"
# Each component is there, and nothing else is.
options=(-G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF)
cmake -S kernels -B "$work/kernels" "${options[@]}" >"$work/build.log" 2>&1 || fail "$(cat "$work/build.log")"
cmake --build "$work/kernels" >"$work/build.log" 2>&1 || fail "$(cat "$work/build.log")"
[[ $("$work/kernels/consumer") == '3 2 7 4' ]] || fail 'the program of kernels alone'
if cmake -S components -B "$work/refused" "${options[@]}" -DCOMPONENTS=nets >"$work/build.log" 2>&1; then fail 'a component that is not there'; fi
tr -s ' \n' ' ' <"$work/build.log" | grep -q "no component 'nets'. Its components are kernels" || fail "$(cat "$work/build.log")"
du -sh "$prefix"
