#!/usr/bin/env python3
"""Weft's sources keep to standard C++ and its library where a compiler or system may not have more.

  portability_test.py SOURCE_DIR                        reads the sources (a second)
  portability_test.py SOURCE_DIR --compile BUILD_DIR    also compiles all of src/ and the public headers with
        clang++ -fsyntax-only -pedantic-errors -DWEFT_STANDARD_CXX (minutes); exits with 77 if there is no clang++
  portability_test.py SOURCE_DIR --headers BUILD_DIR    compiles each public header alone and all together by g++-12, or
        where there is none by c++ without the headers that GCC 12's library lacks

POSIX may be used in src/core/system_posix.cc only, extensions of compilers in the files of EXTENSIONS only, JavaScript in
those of EMSCRIPTEN only (they are not compiled here: no other compiler has its headers; the web build compiles them).
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

POSIX_FILE = "src/core/system_posix.cc"
# Where extensions may be, behind WEFT_GNU or what follows from it.
EXTENSIONS = {
    "src/core/compiler.h",
    "src/core/checked.h",
    "src/kernels/common/instruction_sets.h",
    "src/kernels/common/lanes.h",
    "src/kernels/common/rows_cpu.h",
    "src/kernels/common/transpose.h",
    "src/kernels/attention/cpu/query_block.h",
    "src/kernels/elementwise/block_loops.h",
    "src/kernels/elementwise/block_memory.cc",
    "src/kernels/fft/cpu/lanes.h",
    "src/kernels/matmul/cpu/panels_block.h",
    "src/kernels/matmul/cpu/panels.cc",
    "src/kernels/matmul/cpu/pairs_block.h",
    "src/kernels/matmul/cpu/pairs.cc",
    "src/kernels/quantized/cpu/weight_dots_block.h",
    "src/kernels/quantized/cpu/weight_dots.cc",
}
# Functions whose bodies are JavaScript.
EMSCRIPTEN = {"src/text/unicode_web.cc"}
EMSCRIPTEN_NAMES = re.compile(r"#\s*include\s*<emscripten[^>]*>|\bEM_(ASYNC_)?(JS|ASM)\w*\b")
POSIX_HEADERS = re.compile(
    r"#\s*include\s*<(unistd\.h|fcntl\.h|sys/[^>]*|dlfcn\.h|pthread\.h|poll\.h|spawn\.h|dirent\.h|sched\.h|signal\.h|"
    r"termios\.h|glob\.h|pwd\.h|strings\.h|libgen\.h|arpa/[^>]*|netinet/[^>]*|execinfo\.h|link\.h)>")
POSIX_NAMES = re.compile(
    r"(?<![\w.>:])(?:::)?(fork|vfork|execv[pe]*|execl[pe]*|waitpid|getpid|isatty|setenv|unsetenv|putenv|mmap|munmap|madvise|"
    r"fstat|fileno|fdopen|popen|pclose|mkstemp|mkdtemp|sysconf|dup2?|usleep|nanosleep|localtime_r|gmtime_r|strerror_r|"
    r"strdup|strcasecmp|posix_\w+|aligned_alloc)\s*\(|\b(ssize_t|pid_t|off_t|useconds_t|M_PI|EINTR)\b")
EXTENSION_NAMES = re.compile(
    r"__attribute__|__builtin_|__int128|__extension__|__typeof|\btypeof\b|__restrict|__asm|__PRETTY_FUNCTION__|__declspec|"
    r"\bimmintrin\.h|#\s*pragma\s+(?!once\b)|_Pragma")

# Programs are built against the public headers by GCC 12 (Debian 12), whose library lacks these.
NEWER_HEADERS = ("format", "print", "expected", "generator", "mdspan", "flat_map", "flat_set", "text_encoding", "stdfloat")
NEWER_LIBRARY = re.compile(
    r"#\s*include\s*<(" + "|".join(NEWER_HEADERS) + r")>|\bstd::(v?format\w*|print(ln)?|expected|unexpected|generator|mdspan|"
    r"out_ptr|chrono::(\w*zone\w*|utc_\w+|tai_\w+|gps_\w+|parse|from_stream)|ranges::to|"
    r"(ranges::)?views::(as_rvalue|as_const|enumerate|stride|cartesian_product|repeat))\b")


def code_of(text):
    """The text without comments and strings, whose lines keep their numbers."""
    pattern = r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/'
    return re.sub(pattern, lambda m: '""' + "\n" * m.group().count("\n"), text, flags=re.DOTALL)


def findings(name, text):
    """What a file of that name may not have, as lines of a report."""
    found = []
    for number, line in enumerate(code_of(text).splitlines(), 1):
        if name != POSIX_FILE and (m := POSIX_HEADERS.search(line) or POSIX_NAMES.search(line)):
            found.append(f"{name}:{number}: POSIX outside {POSIX_FILE}: {m.group().strip()}")
        if name not in EXTENSIONS and (m := EXTENSION_NAMES.search(line)):
            found.append(f"{name}:{number}: an extension of compilers; core/compiler.h has names for them: {m.group()}")
        if name not in EMSCRIPTEN and (m := EMSCRIPTEN_NAMES.search(line)):
            found.append(f"{name}:{number}: only the web build has it; bindings/web is the place for JavaScript: {m.group()}")
        if name.startswith("include/") and (m := NEWER_LIBRARY.search(line)):
            found.append(f"{name}:{number}: GCC 12's library lacks it, and a user's program may be built by that: {m.group()}")
    return found


def check_itself():
    """The rules find what they must, and nothing else."""
    bad = ["#include <unistd.h>", "#include <sys/stat.h>", "x = fork();", "int p = ::getpid();", "ssize_t n;",
           "typedef float V __attribute__((vector_size(16)));", "__builtin_add_overflow(a, b, &c)", "#pragma GCC ivdep",
           "#include <emscripten/em_js.h>", "EM_JS(int, f, (), { return 1; });"]
    good = ["#include <vector>", "#pragma once", "// fork() is not called", 'log("getpid()");', "device.fork();",
            "Queue::dup(x)", 'R"WGSL(\n#pragma x\n)WGSL";']
    newer = ["#include <format>", "# include <print>", "std::format_string<Args...> format", "std::expected<int, E> f();",
             "std::chrono::zoned_time t;", "std::views::enumerate(v)"]
    wrong = [text for text in bad if not findings("src/x.cc", text)] + [text for text in good if findings("src/x.cc", text)]
    wrong += [text for text in newer if findings("src/x.cc", text) or not findings("include/weft/x.h", text)]
    wrong += [text for text in good + ["#include <ranges>", "std::chrono::seconds s;"] if findings("include/weft/x.h", text)]
    return [f"portability_test.py: misjudges {text!r}" for text in wrong]


# What the compiler must refuse: an array of variable length, a binary constant with a GNU suffix, a missing fallback.
REFUSED = ["int f(int n) { int v[n]; return sizeof v; }", "auto z = 1.0i;",
           '#include "core/compiler.h"\n#if !WEFT_GNU && !WEFT_POSIX\n#error standard\n#endif']


def public_headers(source):
    return [path.relative_to(source / "include") for path in sorted((source / "include").rglob("*.h"))]


def compile_headers(source, build):
    """Compiles the public headers as GCC 12 sees them, each alone and all together."""
    compiler = shutil.which("g++-12")
    dawn = re.search(r"^WEFT_DAWN_INCLUDE_DIR:PATH=(.*)", (build / "CMakeCache.txt").read_text(), re.MULTILINE).group(1)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for name in ("webgpu", "dawn"):  # alone: what is beside Dawn's headers may be another compiler's
            (scratch / name).symlink_to(pathlib.Path(dawn) / name)
        if not compiler:
            for name in NEWER_HEADERS:
                (scratch / name).write_text(f'#error "GCC 12 has no <{name}>"\n')
        flags = [compiler or "c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{source}/include", f"-I{build}/include",
                 "-isystem", str(scratch)]

        def compiled(text):
            result = subprocess.run([*flags, "-fsyntax-only", "-x", "c++", "-"], input=text, capture_output=True, text=True,
                                    check=False)
            return text, result

        includes = [f'#include "{name}"\n' for name in public_headers(source)]
        failures = []
        if compiled("#include <format>\n")[1].returncode == 0:
            failures.append(f"{flags[0]} has <format>, so it shows nothing")
        print(f"compiling {len(includes)} public headers by {flags[0]}", flush=True)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for text, result in pool.map(compiled, ["".join(includes), *includes]):
                if result.returncode:
                    failures.append(f"{text}{flags[0]} gives {result.returncode}\n{result.stderr}")
    return failures


def compile_all(source, build, files):
    clang = shutil.which("clang++")
    if not clang:
        print("clang++ is not installed; nothing was compiled")
        sys.exit(77)
    minja = [flag for path in ("/usr/include/minja", "/usr/local/include/minja") if os.path.isdir(path)
             for flag in ("-isystem", path)]
    flags = [clang, "-std=c++20", "-pedantic-errors", "-Werror=pedantic", "-DWEFT_STANDARD_CXX", "-DNDEBUG", f"-I{source}/include",
             f"-I{build}/include", f"-I{source}/src", *minja]
    failures = []
    with tempfile.TemporaryDirectory() as scratch:
        header = f"{scratch}/pch.pch"
        subprocess.run([*flags, "-x", "c++-header", f"{source}/cmake/pch.h", "-o", header], check=True)
        for text in REFUSED:
            result = subprocess.run([*flags, "-fsyntax-only", "-x", "c++", "-"], input=text, capture_output=True, text=True,
                                    check=False)
            if result.returncode == 0:
                failures.append(f"the compiler accepts what it must not:\n{text}")
        # The public headers, alone: a user includes any of them first.
        for name in public_headers(source):
            unit = pathlib.Path(scratch) / (str(name).replace("/", "_") + ".cc")
            unit.write_text(f'#include "{name}"\n')
            files.append(unit)

        def compiled(path):
            return path, subprocess.run([*flags, "-include-pch", header, "-fsyntax-only", str(path)],
                                        capture_output=True, text=True, check=False)

        print(f"compiling {len(files)} files", flush=True)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for path, result in pool.map(compiled, files):
                if result.returncode:
                    failures.append(f"{path}: clang++ gives {result.returncode}\n{result.stderr}")
                    print(failures[-1], flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--compile", metavar="BUILD_DIR", type=pathlib.Path)
    parser.add_argument("--headers", metavar="BUILD_DIR", type=pathlib.Path)
    parser.add_argument("--only", metavar="REGEX", default="", help="compile only sources whose path has it")
    arguments = parser.parse_args()
    source = arguments.source.resolve()
    failures = check_itself()
    files = sorted(p for folder in ("src", "include") for p in (source / folder).rglob("*") if p.suffix in (".h", ".cc"))
    for path in files:
        failures += findings(str(path.relative_to(source)), path.read_text())
    for name in sorted(EXTENSIONS | EMSCRIPTEN | {POSIX_FILE}):
        if not (source / name).exists():
            failures.append(f"{name} is named by portability_test.py, but is not there")
    units = [p for p in files if p.suffix == ".cc" and str(p.relative_to(source)) not in EMSCRIPTEN
             and re.search(arguments.only, str(p.relative_to(source)))]
    if arguments.compile:
        failures += compile_all(source, arguments.compile.resolve(), units)
    if arguments.headers:
        failures += compile_headers(source, arguments.headers.resolve())
    for failure in failures:
        print(failure)
    print(f"{len(files)} files read" + (f", {len(units)} compiled" if arguments.compile else "") + f", {len(failures)} findings")
    return 1 if failures or len(files) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
