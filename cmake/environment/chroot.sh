#!/usr/bin/env bash
# chroot.sh ROOT DIRECTORY [FROM TO]... -- COMMAND...
# Runs COMMAND in ROOT with each FROM of the host mounted at TO, for hosts that do not allow bubblewrap.
# Needs root, and a separate mount namespace (unshare --mount), with which its mounts end.
set -euo pipefail

root=$1
directory=$2
shift 2
mount --bind "$root" "$root"
mount -t tmpfs tmpfs "$root/run"
while [[ $1 != -- ]]; do
  if [[ -d $1 ]]; then
    mkdir -p "$root$2"
  else
    mkdir -p "$(dirname "$root$2")"
    [[ -e $root$2 ]] || : >"$root$2"
  fi
  mount --rbind "$1" "$root$2"
  shift 2
done
shift
mount -o remount,bind,ro "$root"
# shellcheck disable=SC2016  # expanded by the shell inside
exec chroot "$root" /bin/sh -c 'cd "$0" && exec "$@"' "$directory" "$@"
