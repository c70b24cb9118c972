# shellcheck shell=bash
# How sources look, and what may be wrong in them: ./dev format, ./dev lint and ./dev hooks. Part of ./dev, which
# sources it.
# shellcheck disable=SC2154

# cxx_only: those of the paths on standard input that are C++ sources, and are there.
cxx_only() {
  local path
  grep -E '\.(cc|h)$' | sort -u | while IFS= read -r path; do [[ ! -f $project/$path ]] || printf '%s\n' "$path"; done
}

# select_sources REVISION [FILE...]: sets sources to the paths, a line each and relative to the project, of these files;
# without any to those that differ from the commit; without that to all that git knows, and new ones.
select_sources() {
  local revision=$1 path listed='' new
  shift
  new=$(git -C "$project" ls-files --others --exclude-standard)
  if (($#)); then
    for path; do
      [[ -e $path ]] || usage_error "there is no $path"
      listed+=$(git -C "$project" ls-files --cached --others --exclude-standard -- "$(realpath -- "$path")")$'\n'
    done
  elif [[ -n $revision ]]; then
    listed=$(git -C "$project" diff --name-only "$revision" -- 2>/dev/null) || usage_error "git knows no commit $revision"
    listed+=$'\n'$new
  else
    listed=$(git -C "$project" ls-files)$'\n'$new
  fi
  sources=$(cxx_only <<<"$listed") || true
}

# parse_style VERB ARGS...: sets check, and sources.
parse_style() {
  local verb=$1 revision=''
  local -a files=()
  shift
  check=''
  while (($#)); do
    case $1 in
      --check)
        [[ $verb == format ]] || usage_error "./dev $verb has no option $1"
        check=yes
        ;;
      --since)
        [[ -n ${2:-} ]] || usage_error '--since needs a commit'
        revision=$2
        shift
        ;;
      -*) usage_error "./dev $verb has no option $1" ;;
      *) files+=("$1") ;;
    esac
    shift
  done
  select_sources "$revision" "${files[@]}"
}

verb_format() {
  local check sources unformatted
  parse_style format "$@"
  [[ -n $sources ]] || return 0
  cd "$project" || exit
  unformatted=$("${prefix[@]}" xargs -d '\n' -P "$(nproc)" -n 20 clang-format --dry-run --ferror-limit=1 <<<"$sources" 2>&1 |
    sed -n 's/^\([^:]*\):[0-9]*:.*\[-Wclang-format-violations\]$/\1/p' | sort -u)
  [[ -n $unformatted ]] || return 0
  if [[ -n $check ]]; then
    printf '%s\n' "$unformatted"
    fail "$(wc -l <<<"$unformatted") sources are not as .clang-format says; ./dev format rewrites them"
  fi
  "${prefix[@]}" xargs -d '\n' clang-format -i <<<"$unformatted"
  say "formatted $(paste -sd ' ' <<<"$unformatted")"
}

# Headers are read with the sources that include them.
verb_lint() {
  local check sources selected compiled
  parse_style lint "$@"
  selected=$(grep '\.cc$' <<<"$sources") || return 0
  build_all # what is generated is read, too
  cd "$project" || exit
  compiled=$("${prefix[@]}" python3 -c 'import json, os, sys
for command in json.load(open(sys.argv[1])): print(os.path.relpath(command["file"], sys.argv[2]))' \
    "$build/compile_commands.json" "$project")
  selected=$(grep -Fxf <(printf '%s\n' "$compiled") <<<"$selected") || return 0
  "${prefix[@]}" xargs -d '\n' -P "$(nproc)" -n 1 clang-tidy --quiet -p "$build" --warnings-as-errors='*' \
    <<<"$selected" 2>/dev/null || fail "clang-tidy found what .clang-tidy lists, above"
}

verb_hooks() {
  local hooks
  (($# == 0)) || usage_error "./dev hooks takes no argument"
  hooks=$(git -C "$project" rev-parse --git-path hooks) || fail "$project is no checkout of git"
  [[ $hooks == /* ]] || hooks=$project/$hooks
  if [[ -e $hooks/pre-commit ]] && ! grep -q 'dev hooks' "$hooks/pre-commit"; then
    fail "$hooks/pre-commit is there and not of ./dev hooks; remove it, or call ./dev format --check --since HEAD in it"
  fi
  mkdir -p "$hooks"
  cat >"$hooks/pre-commit" <<'HOOK'
#!/bin/sh
# Made by ./dev hooks: no commit with sources that are not formatted.
cd "$(git rev-parse --show-toplevel)" && exec ./dev format --check --since HEAD
HOOK
  chmod +x "$hooks/pre-commit"
  say "before each commit git looks whether changed sources are formatted ($hooks/pre-commit)"
}
