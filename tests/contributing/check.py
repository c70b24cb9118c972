#!/usr/bin/env python3
"""The examples of CONTRIBUTING.md: each *.patch here adds something as its section says, applies to the project as it is,
and changes no more sources, or lines of them, than its head allows.

  check.py PROJECT_DIR [--build [COMMAND]] [--run PROGRAM] [PATCH…]

With --build each is built, too, and its tests are run. The head of a patch is the lines in front of its first diff:

  Source places: 2                   so many files of src/ and include/ at most
  Lines elsewhere: 3                 or instead: so many lines of files that are there already, but for tests/ and docs/
  Free folder: src/kernels/cdist     optional: files in it, all of them new, are not counted
  Test: *Softshrink*                 the filter of its tests in weft_tests
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77  # for ctest


def run(command, folder, **more):
    # A folder of temporary files may lie in a repository, of which git is to know nothing.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(pathlib.Path(folder).resolve().parent)}
    return subprocess.run(command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **more)


def head(patch):
    """What the lines in front of the diff say, by their words in front of the colon."""
    lines = patch.read_text(encoding="utf-8").split("\ndiff --git ")[0].splitlines()
    return dict(re.fullmatch(r"([A-Z][a-z ]+): (.+)", line).groups() for line in lines if re.match(r"[A-Z][a-z ]+: ", line))


def changed_files(patch, tree):
    """Their paths with how many lines of each are changed, and which of them are new."""
    lines = run(["git", "apply", "--numstat", "--summary", str(patch)], tree).stdout.splitlines()
    counts = [line.split("\t") for line in lines if line.count("\t") == 2]
    changed = {path: max(int(n) if n.isdigit() else 1 for n in (added, removed)) for added, removed, path in counts}
    new = {line.split(" ", 4)[4] for line in lines if line.startswith(" create mode ")}
    return changed, new


def copied(project, folder):
    """The tracked files, as they are in the working tree."""
    listed = subprocess.run(["git", "-C", str(project), "ls-files", "-z"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            check=False)
    if listed.returncode != 0:
        print("skipped: the project is in no Git repository that can be read:", listed.stderr.decode().strip())
        sys.exit(SKIPPED)
    for name in filter(None, listed.stdout.decode().split("\0")):
        source, target = project / name, folder / name
        if source.is_file() or source.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)


def failure(patch, tree, build, program):
    """What is wrong with a patch; nothing if all is well."""
    says = head(patch)
    for wanted in (("Source places", "Lines elsewhere"), ("Test",)):
        if not says.keys() & set(wanted):
            return f"its head has no line '{wanted[0]}: …'"
    applied = run(["git", "apply", "--whitespace=error", str(patch)], tree)
    if applied.returncode != 0:
        return f"it does not apply; make it anew as CONTRIBUTING.md says:\n{applied.stdout}"
    changed, new = changed_files(patch, tree)
    paths = list(changed)
    free = says.get("Free folder")
    in_free = [p for p in paths if free and p.startswith(free.rstrip("/") + "/")]
    if old := [p for p in in_free if p not in new]:
        return f"{', '.join(old)}: expected new files alone in the free folder"
    places = [p for p in paths if p.startswith(("src/", "include/")) and p not in in_free]
    if len(places) > int(says.get("Source places", len(places))):
        return f"it changes {len(places)} sources, expected at most {says['Source places']}: {', '.join(places)}"
    elsewhere = {p: n for p, n in changed.items() if p not in new and not p.startswith(("tests/", "docs/"))}
    lines = sum(elsewhere.values())
    if lines > int(says.get("Lines elsewhere", lines)):
        return f"it changes {lines} lines elsewhere, expected at most {says['Lines elsewhere']}: {', '.join(elsewhere)}"
    print(f"{patch.name}: {len(places)} sources{f' of at most ' + says['Source places'] if 'Source places' in says else ''}"
          f"{f' and {len(in_free)} in {free}' if free else ''}, {lines} lines of files that were there")
    if not build:
        return None
    built = run(["bash", "-c", build], tree)
    if built.returncode != 0:
        return f"it does not build:\n{built.stdout[-4000:]}"
    tested = run(["bash", "-c", f"{program} '--gtest_filter={says['Test']}'"], tree)
    passed = re.search(r"\[  PASSED  \] (\d+) test", tested.stdout)
    if tested.returncode != 0 or not passed or passed[1] == "0":
        return f"its tests {says['Test']} do not pass:\n{tested.stdout[-4000:]}"
    print(f"{patch.name}: {passed[1]} tests pass")
    return None


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("project", type=pathlib.Path, metavar="PROJECT_DIR")
    arguments.add_argument("patches", type=pathlib.Path, nargs="*", metavar="PATCH", help="all beside this script")
    arguments.add_argument("--build", nargs="?", const="./dev build weft_tests", metavar="COMMAND",
                           help="build weft_tests in a copy of the project and run the patch's tests [%(const)s]")
    arguments.add_argument("--run", default="./dev shell build/release/tests/weft_tests", metavar="PROGRAM",
                           help="the tests that COMMAND built [%(default)s]")
    given = arguments.parse_args()
    patches = given.patches or sorted(pathlib.Path(__file__).parent.glob("*.patch"))
    failed = False
    with tempfile.TemporaryDirectory(prefix="weft_contributing_") as folder:
        tree = pathlib.Path(folder) / "weft"
        copied(given.project.resolve(), tree)
        for patch in (p.resolve() for p in patches):
            problem = failure(patch, tree, given.build, given.run)
            if problem:
                print(f"{patch.name}: {problem}")
                failed = True
            # Back to the project as it is; what was built stays for the next one.
            run(["git", "apply", "--reverse", str(patch)], tree)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
