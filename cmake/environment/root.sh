# shellcheck shell=bash
# The Debian testing root that gives every host the same compilers and libraries: makes it once,
# in the user's cache, and enters it. Part of ./dev, which sources it.
#
# Sets, for the rest of ./dev: environment (host, bwrap or chroot) and prefix, the words before a
# command that runs it in the environment; environment_root, the root that is entered, empty on the host;
# environment_settings, variables of every environment in which is compiled.

readonly root_format=1 # counts up when roots made by older scripts no longer serve
readonly gpu_directory=/run/weft/gpu
environment_root=

# packages [LIST]: prints the names in a package list.
packages() { sed 's/#.*//' "$lists/${1:-packages.txt}" | awk 'NF { print $1 }'; }

# has_packages [LIST]: succeeds if this host has the packages of that list, by dpkg.
has_packages() {
  local -a names installed
  mapfile -t names < <(packages "${1:-}")
  # shellcheck disable=SC2016  # the field is dpkg-query's
  mapfile -t installed < <(dpkg-query -W -f '${db:Status-Status}\n' "${names[@]}" 2>/dev/null | grep -x installed)
  ((${#installed[@]} >= ${#names[@]}))
}

# root_directory [LIST [PREFIX]]: prints the directory of the root for this package list, machine and snapshot.
root_directory() {
  local hash
  hash=$({ printf '%s %s %s\n' "$root_format" "$(uname -m)" "${WEFT_SNAPSHOT:-}" && packages "${1:-}"; } | sha256sum)
  printf '%s/root-%s%s\n' "$cache" "${2:-}" "${hash:0:12}"
}

# host_is_complete: succeeds if this host has everything that the project needs, so that no root is needed.
host_is_complete() {
  local tool version
  case ${WEFT_ENVIRONMENT:-auto} in
    host) return 0 ;;
    root) return 1 ;;
    auto) ;;
    *) usage_error "WEFT_ENVIRONMENT is '$WEFT_ENVIRONMENT', but must be auto, host or root" ;;
  esac
  [[ -n ${Dawn_DIR:-} ]] || compgen -G '/usr/lib*/cmake/Dawn/DawnConfig.cmake' >/dev/null ||
    compgen -G '/usr/lib/*/cmake/Dawn/DawnConfig.cmake' >/dev/null ||
    compgen -G '/usr/local/lib*/cmake/Dawn/DawnConfig.cmake' >/dev/null || return 1
  for tool in cmake ninja c++ python3; do
    command -v "$tool" >/dev/null || return 1
  done
  version=$(cmake --version | awk 'NR == 1 { print $3 }')
  [[ $(printf '3.25\n%s\n' "$version" | sort -V | head -n 1) == 3.25 ]] || return 1
  [[ -n ${Dawn_DIR:-} ]] || ! command -v dpkg-query >/dev/null || has_packages
}

# bwrap_works, chroot_works: succeed if this host allows entering a root this way.
bwrap_works() {
  command -v bwrap >/dev/null && bwrap --ro-bind / / --dev-bind /dev /dev true 2>/dev/null
}
chroot_works() {
  ((EUID == 0)) && unshare --mount --propagation private -- mount -t tmpfs tmpfs /mnt 2>/dev/null
}

# install_tools PACKAGE...: installs host packages as root; prints the command for other users.
install_tools() {
  (($#)) || return 0
  if ! command -v apt-get >/dev/null; then
    fail "this host lacks $* and has no apt-get. Either install them with its own package manager," \
      "or use the project's Dockerfile (docker build -t weft . && docker run -it -v \"\$PWD:\$PWD\"" \
      "-w \"\$PWD\" weft ./dev test), or install Dawn and the packages of" \
      "cmake/environment/packages.txt and call CMake yourself."
  elif ((EUID != 0)); then
    fail "this host lacks $*. Run once: sudo apt-get install -y $*"
  fi
  say "installing $* (needed once, to make and enter the environment)"
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y --no-install-recommends "$@" >"$cache/apt.log" 2>&1 ||
    { apt-get update && apt-get install -y --no-install-recommends "$@"; } >"$cache/apt.log" 2>&1 ||
    fail "apt-get could not install $*; its output is in $cache/apt.log. Is there a network?"
}

# debian_keyring: prints the path of Debian's archive keys on this host.
debian_keyring() { compgen -G '/usr/share/keyrings/debian-archive-keyring.[gp][gp][gp]' | head -n 1 | grep .; }

# bootstrap MIRROR DIRECTORY PACKAGE...: fills DIRECTORY with Debian testing, or the suite that the variable root_suite
# names, and the packages.
bootstrap() {
  local mirror=$1 directory=$2 suite=${root_suite:-testing} option source
  shift 2
  # dpkg need not flush each file to the disk: the root is flushed once, before it gets its name.
  local -a options=(--variant=apt
    --include="$(IFS=, && printf '%s' "$*")"
    --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Retries "3"'
    --aptopt='APT::Sandbox::User "root"'
    --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*'
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*'
    --dpkgopt='path-include=/usr/share/doc/*/copyright')
  while read -r option; do
    options+=(--aptopt="$option")
  done < <(apt_network_options)
  # Explicit, because hosts other than Debian do not trust Debian's keys by default.
  source="deb [signed-by=$(debian_keyring)] $mirror $suite main"
  if ((EUID == 0)); then
    # In a separate mount namespace, so that its mounts end with it, also when it is stopped.
    unshare --mount --propagation private -- mmdebstrap --mode=root "${options[@]}" "$suite" "$directory" "$source"
  else
    # Unpacked with the user as owner of every file, so that it can be entered and deleted like other directories.
    mmdebstrap --mode=unshare --format=tar "${options[@]}" "$suite" - "$source" |
      tar -x -C "$directory" --no-same-owner --exclude='./dev/*' &&
      chmod -R u+rwX "$directory"
  fi
}

# stop_making: ends a subshell that a signal stops while it fills $partial. Standard error may be a pipe whose
# reader the same signal has ended; 7 is the original standard error.
stop_making() {
  trap '' INT TERM HUP PIPE
  if rm -rf --one-file-system -- "$partial" 2>&7; then
    say "stopped; nothing half-made is left" 2>&7
  else
    say "stopped; the next run removes $partial" 2>&7
  fi
  exit 130
}

# heed_stops: from here on, a signal that stops this subshell ends it by stop_making. A process group's signal may
# end the reader of standard error first; bash then writes "Terminated" for its child to a broken pipe, and must
# survive that to handle its own signal. A handler, because ignored signals stay ignored in the programs that it runs.
heed_stops() {
  exec 7>&2
  trap : PIPE
  trap stop_making INT TERM HUP
}

# root_lock DIRECTORY: prints the file that is locked while that root is made.
root_lock() { printf '%s/lock-%s\n' "$cache" "${1##*/}"; }

# remove_abandoned_roots: removes what killed runs left half-made. Roots that are being made are locked.
remove_abandoned_roots() {
  local abandoned
  for abandoned in "$cache"/root-*.partial; do
    [[ -e $abandoned ]] || continue
    (exec 8>"$(root_lock "${abandoned%.partial}")" && flock -n 8 && rm -rf --one-file-system -- "$abandoned") || true
  done
}

# install_root_tools: installs what makes and enters a root, where this host lacks it; one process at a time.
install_root_tools() {
  local -a tools=()
  exec 8>"$cache/tools.lock"
  flock 8
  command -v mmdebstrap >/dev/null || tools+=(mmdebstrap)
  command -v bwrap >/dev/null || tools+=(bubblewrap)
  command -v mount >/dev/null || tools+=(mount)
  ((EUID == 0)) || command -v newuidmap >/dev/null || tools+=(uidmap)
  debian_keyring >/dev/null || tools+=(debian-archive-keyring)
  install_tools "${tools[@]}"
  exec 8>&-
}

# make_root DIRECTORY WHAT SIZE PACKAGE...: makes a root of the packages there, completely or not at all. One process
# at a time makes a root; others may make other roots meanwhile.
make_root() (
  directory=$1 what=$2 size=$3
  shift 3
  umask 022
  exec 9>"$(root_lock "$directory")"
  if ! flock -n 9; then
    say "another ./dev is making $what in $directory; waiting for it"
    flock 9
  fi
  [[ -e $directory/.complete ]] && exit 0
  rm -rf --one-file-system -- "$directory.partial" "$directory"
  remove_abandoned_roots
  install_root_tools
  entrance >/dev/null
  if ((EUID != 0)) && ! grep -qE "^($(id -un)|$EUID):" /etc/subuid; then
    fail "your account has no subordinate user ids, which making the environment needs. Run once:" \
      "sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $(id -un)"
  fi

  mirror=$(find_mirror)
  partial=$directory.partial
  log=$directory.log
  trap 'rm -rf --one-file-system -- "$partial"' EXIT
  heed_stops
  mkdir -p "$partial"
  say "making $what: Debian ${root_suite:-testing} from $mirror in $directory (once, about a minute, $size)"
  bootstrap "$mirror" "$partial" "$@" 2> >(tee "$log" | grep --line-buffered '^I: ' >&2) || {
    grep -E '^E: ' "$log" | tail -n 5 >&2 || true
    fail "$what could not be made; the whole output is in $log. Often the network or the" \
      "mirror gave up ($mirror; another can be named by WEFT_MIRROR), or the disk is full."
  }
  # Files onto which the host's are mounted must exist, as files.
  rm -f "$partial"/etc/{resolv.conf,hosts,pip.conf}
  touch "$partial"/etc/{resolv.conf,hosts,pip.conf} "$partial/.complete"
  rm -f "$log"
  sync -f "$partial"
  mv -T "$partial" "$directory"
)

# entrance: prints the way to enter a root, bwrap or chroot, or fails with a message that says what to do.
entrance() {
  if bwrap_works; then
    echo bwrap
  elif chroot_works; then
    echo chroot
  elif ((EUID != 0)) && ! command -v bwrap >/dev/null; then
    install_tools bubblewrap
  else
    fail "this host lets neither bubblewrap nor chroot enter the environment." \
      "$( ((EUID == 0)) || echo "Run it as root (sudo ./dev …), or allow unprivileged namespaces" \
        "(Ubuntu 24.04: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0).")" \
      "In a container, give it --privileged, or use the project's Dockerfile, which is the environment."
  fi
}

# bind FROM [TO]: makes a path of the host visible in the root, under the same name or as TO.
bind() { if [[ -e $1 ]]; then binds+=("$1" "${2:-$1}"); fi; }

# bind_own PATH: makes a path of the user's visible under its own name, unless it is already, or the
# root has its own files there.
bind_own() {
  local path=${1%/} i
  [[ $path == /* && -e $path ]] || return 0
  for ((i = 0; i < ${#binds[@]}; i += 2)); do
    [[ $path/ != "${binds[i + 1]}"/* ]] || return 0
  done
  if [[ ! -d $path || ! -d $root$path || -z $(ls -A "$root$path") ]]; then bind "$path"; fi
}

# collect_binds: fills binds with the FROM TO pairs of everything of the host that is visible in the root.
collect_binds() {
  local path
  binds=()
  for path in /dev /proc /sys /etc/{passwd,group,hosts,pip.conf}; do
    bind "$path"
  done
  bind "$(readlink -f /etc/resolv.conf)" /etc/resolv.conf
  # The host's certificates if it has any; the links in /etc/ssl/certs point to the other two.
  if [[ -s /etc/ssl/certs/ca-certificates.crt ]]; then
    bind /etc/ssl/certs
    bind /usr/share/ca-certificates
    bind /usr/local/share/ca-certificates
  fi
  # Every top-level directory that is not the system's: homes, /tmp, /opt, data disks.
  for path in /*; do
    case $path in
      /bin | /boot | /dev | /etc | /lib* | /lost+found | /proc | /run | /sbin | /sys | /usr | /var) ;;
      *) [[ ! -d $path ]] || bind "$path" ;;
    esac
  done
  for path in /var/tmp "$project" "$HOME" "$cache" "$PWD" "${TMPDIR:-}" "${XDG_CACHE_HOME:-}" "${CCACHE_DIR:-}" \
    "${PIP_CACHE_DIR:-}" "${PIP_FIND_LINKS:-}" "${PIP_CONFIG_FILE:-}" "${PIP_CERT:-}" "${SSL_CERT_FILE:-}" \
    "${REQUESTS_CA_BUNDLE:-}" "${WEFT_MODEL_DIR:-}"; do
    bind_own "$path"
  done
  collect_nvidia
}

# collect_nvidia: adds the host's NVIDIA driver, whose libraries must fit the kernel's module.
collect_nvidia() {
  local library directory manifest
  [[ -e /dev/nvidiactl || -e /dev/nvidia0 ]] || return 0
  for directory in /usr/lib/x86_64-linux-gnu /usr/lib64 /usr/lib /usr/local/nvidia/lib64 /usr/local/nvidia/lib \
    /usr/lib/x86_64-linux-gnu/nvidia/current; do
    [[ -e $directory/libGLX_nvidia.so.0 ]] || continue
    for library in "$directory"/lib{nvidia,GLX_nvidia,EGL_nvidia,GLESv2_nvidia,cuda}*.so.*; do
      bind "$(readlink -f "$library")" "$gpu_directory/${library##*/}"
    done
    break
  done
  for manifest in {/etc,/usr/share,/usr/local/share,/usr/local/nvidia/share}/vulkan/icd.d/nvidia*.json; do
    [[ -e $manifest ]] || continue
    bind "$manifest" "$gpu_directory/nvidia_icd.json"
    break
  done
}

# enter_root DIRECTORY [NAME=VALUE...]: sets environment and prefix for that root, and the variables there.
enter_root() {
  local root=$1 i
  local -a binds inner
  shift
  environment_root=$root
  environment=$(entrance)
  collect_binds
  # Variables that name the host's libraries and tools are not valid in the root.
  inner=(/usr/bin/env -u LD_PRELOAD -u PYTHONPATH -u PYTHONHOME -u PKG_CONFIG_PATH -u CMAKE_PREFIX_PATH
    -u Dawn_DIR -u CPATH -u LIBRARY_PATH -u LD_LIBRARY_PATH "$@" WEFT_ENVIRONMENT=host
    LC_ALL=C.UTF-8 PATH=/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin)
  if [[ " ${binds[*]} " == *" $gpu_directory/libGLX_nvidia.so.0 "* ]]; then
    inner+=(LD_LIBRARY_PATH="$gpu_directory")
  fi
  if [[ " ${binds[*]} " == *" $gpu_directory/nvidia_icd.json "* ]]; then
    inner+=(VK_ADD_DRIVER_FILES="$gpu_directory/nvidia_icd.json${VK_ADD_DRIVER_FILES:+:$VK_ADD_DRIVER_FILES}")
  fi
  if [[ $environment == bwrap ]]; then
    prefix=(bwrap --bind "$root" / --tmpfs /run)
    for ((i = 0; i < ${#binds[@]}; i += 2)); do
      prefix+=(--dev-bind "${binds[i]}" "${binds[i + 1]}")
    done
    prefix+=(--remount-ro / --die-with-parent --chdir "$PWD" -- "${inner[@]}")
  else
    prefix=(unshare --mount --propagation private -- "$environment_scripts/chroot.sh" "$root" "$PWD"
      "${binds[@]}" -- "${inner[@]}")
  fi
}

# set_environment_settings: fills environment_settings.
set_environment_settings() {
  environment_settings=(
    CCACHE_DIR="${CCACHE_DIR:-$cache/ccache}"
    CCACHE_MAXSIZE="${CCACHE_MAXSIZE:-5G}"
    CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros,include_file_mtime,include_file_ctime}"
    # Paths below the project are relative to it, so that another checkout finds what this one compiled.
    CCACHE_BASEDIR="${CCACHE_BASEDIR:-$project}"
    # Mesa's versions take their shaders from one directory, whose index another version cuts while it is mapped: programs
    # of the host that use its Mesa meanwhile would end those of the environment by SIGBUS.
    MESA_SHADER_CACHE_DIR="${MESA_SHADER_CACHE_DIR:-$cache/mesa}"
    # Layers that the desktop adds to every Vulkan program would change what is tested.
    VK_LOADER_LAYERS_DISABLE="${VK_LOADER_LAYERS_DISABLE:-~implicit~}")
}

# enter_environment_and LIST PREFIX WHAT SIZE: the environment with the packages of another list as well: the host if it
# has them, else a root of its own.
enter_environment_and() {
  local root
  local -a names
  set_environment_settings
  if host_is_complete && has_packages "$1"; then
    environment=host
    prefix=(env "${environment_settings[@]}")
    return
  fi
  [[ ${WEFT_ENVIRONMENT:-auto} != host ]] ||
    fail "this host lacks packages that are needed. Run once: apt-get install $(packages "$1" | paste -sd ' ')"
  root=$(root_directory "$1" "$2")
  if [[ ! -e $root/.complete ]]; then
    mapfile -t names < <(packages && packages "$1")
    make_root "$root" "$3" "$4" "${names[@]}"
  fi
  enter_root "$root" "${environment_settings[@]}"
}

# enter_root_of LIST PREFIX WHAT SIZE [SETTING...]: enters the root of a package list, which is made if it is absent.
enter_root_of() {
  local root
  local -a names
  root=$(root_directory "$1" "$2")
  if [[ ! -e $root/.complete ]]; then
    mapfile -t names < <(packages "$1")
    make_root "$root" "$3" "$4" "${names[@]}"
  fi
  enter_root "$root" "${@:5}"
}

# enter_environment: makes the root if it is needed and absent, and sets environment and prefix.
enter_environment() {
  set_environment_settings
  if host_is_complete; then
    environment=host
    prefix=(env "${environment_settings[@]}")
    return
  fi

  enter_root_of packages.txt '' 'the environment' '1.6 GB' "${environment_settings[@]}"
}

# enter_docs_environment: the same for what makes the site, which needs little of the environment, and a package that
# nothing else needs: the host if it has MkDocs and its theme, else a root of its own.
enter_docs_environment() {
  if [[ ${WEFT_ENVIRONMENT:-auto} != root ]] && python3 -c 'import mkdocs, material' 2>/dev/null; then
    environment=host
    prefix=(env)
    return
  fi
  [[ ${WEFT_ENVIRONMENT:-auto} != host ]] ||
    fail "this host lacks MkDocs and its theme Material. Run once: apt-get install $(packages docs-packages.txt | paste -sd ' ')"
  enter_root_of docs-packages.txt docs- 'the environment of the site' '250 MB'
}

# report_versions: prints the libraries whose versions differ from those that Weft was tested with, a line for each.
report_versions() {
  local package tested found installed
  # shellcheck disable=SC2016  # the fields are dpkg-query's
  installed=$("${prefix[@]}" dpkg-query -W -f '${Package} ${Version}\n' 2>/dev/null) || return 0
  while read -r package tested; do
    found=$(awk -v package="$package" '$1 == package { print $2 }' <<<"$installed")
    found=${found#*:}
    found=${found%-*}
    [[ $found == "$tested" ]] || say "note: $package is ${found:-absent}; Weft was tested with $tested"
  done < <(sed 's/#.*//' "$lists/tested-versions.txt" | awk 'NF')
}
