# shellcheck shell=bash
# Finds a Debian mirror that serves testing: the host's own, else Debian's ordinary one.
# Part of ./dev, which sources it.

readonly default_mirror=http://deb.debian.org/debian

# debian_archives FILE...: prints the URI of each Debian archive that these apt sources name,
# in both of apt's formats (.sources: deb822 stanzas; other names: a "deb ..." line each).
# Archives of other distributions and of third parties are omitted: an archive must have a
# Debian suite, the component main, and no key but Debian's.
debian_archives() {
  awk '
    function emit(uris, suites, components, key,   n, list, i) {
      if ((" " components " ") !~ / main /) return
      if (key != "" && key !~ /debian-archive/) return
      if ((" " suites " ") !~ / (stable|testing|unstable|sid|oldstable|bullseye|bookworm|trixie|forky|duke) /)
        return
      n = split(uris, list, " ")
      for (i = 1; i <= n; i++) { sub(/\/+$/, "", list[i]); print list[i] }
    }
    function end_stanza() {
      if ((" " field["types"] " ") ~ / deb / && tolower(field["enabled"]) !~ /^(no|false|0)$/)
        emit(field["uris"], field["suites"], field["components"], field["signed-by"])
      split("", field); name = ""
    }
    FNR == 1 { end_stanza(); deb822 = FILENAME ~ /\.sources$/ }
    /^[ \t]*#/ { next }
    deb822 && /^[ \t]*$/ { end_stanza(); next }
    deb822 && /^[ \t]/ { $1 = $1; if (name != "") field[name] = field[name] " " $0; next }
    deb822 {
      at = index($0, ":"); name = tolower(substr($0, 1, at - 1)); value = substr($0, at + 1)
      gsub(/^[ \t]+|[ \t]+$/, "", value); gsub(/[ \t]+/, " ", value); field[name] = value; next
    }
    $1 == "deb" {
      line = $0; key = ""; sub(/#.*/, "", line); sub(/^[ \t]*deb[ \t]+/, "", line)
      if (line ~ /^\[/) {
        options = substr(line, 2, index(line, "]") - 2); line = substr(line, index(line, "]") + 1)
        if (match(options, /signed-by=[^ \t]+/)) key = substr(options, RSTART, RLENGTH)
      }
      count = split(line, word, " "); components = ""
      for (i = 3; i <= count; i++) components = components " " word[i]
      emit(word[1], word[2], components, key)
    }
    END { end_stanza() }
  ' "$@"
}

# mirror_candidates: prints the mirrors to try, the best first, without duplicates.
mirror_candidates() {
  local -a files=()
  local file uri
  if [[ -n ${WEFT_SNAPSHOT:-} ]]; then
    printf 'http://snapshot.debian.org/archive/debian/%s\n' "$WEFT_SNAPSHOT"
    return
  elif [[ -n ${WEFT_MIRROR:-} ]]; then
    printf '%s\n' "${WEFT_MIRROR%/}"
    return
  fi
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    [[ -r $file ]] && files+=("$file")
  done
  {
    if ((${#files[@]})); then
      debian_archives "${files[@]}" | while read -r uri; do
        case $uri in
          mirror+file:*) { sed 's/#.*//' "${uri#mirror+file:}" | grep -oE '^(https?|file):[^[:space:]]+'; } || true ;;
          http:* | https:* | file:* | copy:*) printf '%s\n' "${uri%/}" ;;
        esac
      done
    fi
    printf '%s\n' "$default_mirror"
  } | awk '!seen[$0]++'
}

# serves_testing MIRROR: succeeds if it can be reached and has Debian testing.
serves_testing() {
  local helper=/usr/lib/apt/apt-helper scratch status=0
  [[ -x $helper ]] || return 0
  scratch=$(mktemp -d)
  "$helper" -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 \
    -o APT::Sandbox::User="$(id -un)" \
    download-file "$1/dists/testing/InRelease" "$scratch/InRelease" >/dev/null 2>&1 || status=$?
  rm -rf -- "$scratch"
  return "$status"
}

# find_mirror: prints the first mirror that answers, or fails with a message.
find_mirror() {
  local mirror
  local -a tried=()
  while read -r mirror; do
    if serves_testing "$mirror"; then
      printf '%s\n' "$mirror"
      return
    fi
    tried+=("$mirror")
  done < <(mirror_candidates)
  fail "no Debian mirror answers (tried ${tried[*]}). The environment is fetched once and needs" \
    "the network for that; a proxy is taken from http_proxy or apt's settings, another mirror" \
    "from WEFT_MIRROR=http://…/debian."
}

# apt_network_options: prints the host's apt settings for proxies and certificates, one a line.
apt_network_options() {
  command -v apt-config >/dev/null || return 0
  apt-config dump --no-empty Acquire |
    grep -iE '^Acquire::(http|https|ftp)::|^Acquire::(Retries|ForceIPv[46]|Check-Date) ' || true
}
