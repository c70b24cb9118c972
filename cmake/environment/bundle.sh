#!/usr/bin/env bash
# bundle.sh PROJECT BUILD DIRECTORY [MODEL [PROGRAM [LIBRARY]]]
# Makes DIRECTORY a bundle that runs on any Linux of this processor family with its own GPU driver:
#   bin/    the programs of BUILD, or PROGRAM alone, stripped
#   lib/    every library that they, or LIBRARY, load, from the C library and its loader to Dawn and Vulkan's loader, and
#           the X client libraries that NVIDIA's driver loads
#   share/  data of the tests, unless PROGRAM is named; with MODEL, which may be empty, the model
#   run     starts a program of bin/ through the bundled loader: run PROGRAM ARGS...
#   weft, weft_tests, ...  the same for each program: weft ARGS...
# Runs in the environment (./dev bundle, and ./dev install through install.sh).
set -euo pipefail

project=$1
build=$2
directory=$3
model=${4:-}
only=${5:-}
library=${6:-}
# Opened by name at run time, so no program lists them: Vulkan's loader, libraries that GPU drivers of the host
# need, and the parts of the C library, which must have one version.
opened=(libvulkan.so.1 libEGL.so.1 libGLdispatch.so.0 libX11.so.6 libX11-xcb.so.1 libXext.so.6 libxcb.so.1 libz.so.1 libatomic.so.1
  libdl.so.2 libpthread.so.0 librt.so.1 libm.so.6 libresolv.so.2 libutil.so.1 libnss_files.so.2 libnss_dns.so.2)

fail() {
  printf 'dev bundle: %s\n' "$*" >&2
  exit 1
}

if [[ -e $directory && ! -e $directory/run ]] && [[ ! -d $directory || -n $(ls -A "$directory") ]]; then
  fail "$directory is there and is no bundle; name a directory that is absent or empty"
fi
partial=$directory.partial
trap 'rm -rf -- "$partial"' EXIT
rm -rf -- "$partial"
mkdir -p "$partial"/{bin,lib,share/licenses}

while read -r path; do
  strip -o "$partial/bin/${path##*/}" "$path"
done < <(find "$build"/{apps,bench,examples,tests} -maxdepth 2 -type f -perm -u+x -name "${only:-*}" ! -path '*/CMakeFiles/*' ! -name '*.so*' 2>/dev/null)
[[ -n $(ls -A "$partial/bin") ]] || fail "$build holds no programs"

# The libraries by the requested name, and their own dependencies.
known=$(ldconfig -p)
wanted=()
for name in "${opened[@]}"; do
  path=$(awk -v name="$name" '$1 == name { print $NF; exit }' <<<"$known")
  [[ -z $path ]] || wanted+=("$path")
done
mapfile -t libraries < <({ printf '%s\n' "${wanted[@]}" && ldd "$partial"/bin/* ${library:+"$library"} "${wanted[@]}" |
  awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// && $2 ~ /^\(/ { print $1 }'; } | sort -u)
loader=''
for path in "${libraries[@]}"; do
  name=${path##*/}
  [[ ! -e $partial/lib/$name ]] || continue
  if [[ $name == ld-linux* ]]; then
    loader=$name
    cp -L "$path" "$partial/lib/$name"
  else
    strip --strip-unneeded -o "$partial/lib/$name" "$(readlink -f "$path")"
  fi
done
[[ -n $loader ]] || fail "the programs name no loader; are they linked statically?"

# The licences of everything in the bundle. A library that no package owns was built on this host, and has none here.
cp "$project/LICENSE" "$partial/share/licenses/weft"
if command -v dpkg-query >/dev/null; then
  for path in "${libraries[@]}"; do readlink -f "$path"; done | { xargs -r dpkg-query -S 2>/dev/null || true; } |
    sed 's/[,:].*//' | sort -u | while read -r package; do
    [[ ! -e /usr/share/doc/$package/copyright ]] ||
      cp -L "/usr/share/doc/$package/copyright" "$partial/share/licenses/$package"
  done
fi

if [[ -z $only && -d $project/tests/data ]]; then
  mkdir "$partial/share/tests"
  cp -r "$project/tests/data" "$partial/share/tests/data"
fi
[[ -z $model ]] || cp -r "$model" "$partial/share/model"

cat >"$partial/share/nvidia_icd.json" <<'END'
{"file_format_version": "1.0.1", "ICD": {"library_path": "libGLX_nvidia.so.0", "api_version": "1.4.303"}}
END
cat >"$partial/run" <<END
#!/bin/sh
# run PROGRAM ARGS...: starts a program of this bundle with this machine's GPU driver.
set -eu
here=\$(cd "\$(dirname "\$(readlink -f "\$0")")" && pwd)
if [ \$# -eq 0 ] || [ ! -x "\$here/bin/\$1" ]; then
  echo "usage: \$0 PROGRAM ARGS..., where PROGRAM is one of:" \$(ls "\$here/bin") >&2
  exit 2
fi
program=\$1
shift

# The bundle's own libraries come first; the driver's, which fit its kernel module, are the host's.
libraries=\$here/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
nvidia=
for directory in /usr/local/nvidia/lib64 /usr/local/nvidia/lib /run/opengl-driver/lib /usr/lib/wsl/lib \\
  /usr/lib/$(uname -m)-linux-gnu/nvidia/current /usr/lib/$(uname -m)-linux-gnu /lib/$(uname -m)-linux-gnu \\
  /usr/lib64 /lib64 /usr/lib /lib; do
  [ -d "\$directory" ] || continue
  libraries=\$libraries:\$directory
  if [ -e "\$directory/libGLX_nvidia.so.0" ]; then nvidia=yes; fi
done

# A driver manifest outside the directories that Vulkan's loader searches is passed to it explicitly; if NVIDIA's
# driver has none, the bundle's is used.
if [ -n "\$nvidia" ] && [ -z "\${VK_DRIVER_FILES:-}\${VK_ICD_FILENAMES:-}\${VK_ADD_DRIVER_FILES:-}" ]; then
  manifest=\$here/share/nvidia_icd.json
  for file in /run/opengl-driver/share/vulkan/icd.d/nvidia*.json /usr/local/nvidia/share/vulkan/icd.d/nvidia*.json; do
    if [ -e "\$file" ]; then manifest=\$file; fi
  done
  for file in /etc/vulkan/icd.d/nvidia*.json /usr/share/vulkan/icd.d/nvidia*.json \\
    /usr/local/share/vulkan/icd.d/nvidia*.json; do
    if [ -e "\$file" ]; then manifest=; fi
  done
  if [ -n "\$manifest" ]; then export VK_ADD_DRIVER_FILES="\$manifest"; fi
fi

if [ -z "\${WEFT_TEST_DATA:-}" ] && [ -d "\$here/share/tests/data" ]; then
  export WEFT_TEST_DATA="\$here/share/tests/data"
fi
if [ -z "\${WEFT_MODEL_DIR:-}" ] && [ -d "\$here/share/model" ]; then
  export WEFT_MODEL_DIR="\$here/share/model"
fi
exec "\$here/lib/$loader" --library-path "\$libraries" --argv0 "\$here/\$program" "\$here/bin/\$program" "\$@"
END
# A launcher for each program. The program sees the launcher's path as its own name, so that programs that start
# themselves again, as death tests do, use the bundled loader too.
for path in "$partial"/bin/*; do
  program=${path##*/}
  cat >"$partial/$program" <<END
#!/bin/sh
exec "\$(dirname "\$(readlink -f "\$0")")/run" $program "\$@"
END
  chmod +x "$partial/$program"
done
chmod +x "$partial/run"

rm -rf -- "$directory"
mv -T "$partial" "$directory"
[[ -z $only ]] || exit 0
printf 'dev: %s holds %s in %s (%s compressed)\n' "$directory" "$(cd "$directory/bin" && echo *)" \
  "$(du -sh "$directory" | cut -f 1)" "$(tar -cz -C "$directory" . | wc -c | numfmt --to=iec)" >&2
