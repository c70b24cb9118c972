"""What pages of documentation promise: C++ that is taken from the example programs, and links that lead somewhere."""
import re


def programs(source):
    """The lines of each example that the tests run, by its file name."""
    cmake = (source / "examples" / "CMakeLists.txt").read_text()
    run = set(re.findall(r"[\w-]+", cmake[cmake.index("WEFT_BUILD_TESTS"):]))
    names = {"nearest_sentences": "weft-demo"}
    return {path.name: stripped(path.read_text()) for path in (source / "examples").glob("*.cc")
            if names.get(path.stem, path.stem) in run}


def stripped(text):
    """Its lines, however they are indented and their comments aligned."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def in_order(lines, program):
    """How many of the lines, from the first, the program has in this order."""
    rest = iter(program)
    for k, line in enumerate(lines):
        if not any(line == other for other in rest):
            return k
    return len(lines)


def failures(page, text, all_programs):
    """What of the page's C++ is in no program, or there in another order; and the number of its snippets."""
    found = []
    snippets = re.findall(r"```cpp\n(.*?)```", text, re.DOTALL)
    for snippet in snippets:
        lines = stripped(snippet)
        reached = max(in_order(lines, program) for program in all_programs.values())
        if reached < len(lines):
            found.append(f"{page}: in no example that the tests run, after the lines before it: {lines[reached]}")
    return found, len(snippets)


def link_failures(page, text, directory):
    """Links of the page, which is in the directory, to files that are not there, and to headings that it has not."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    headings = {re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-")
                for h in re.findall(r"^#+ (.+)$", prose, re.MULTILINE)}
    found = [f"{page}: the link {path} leads nowhere" for path in re.findall(r"\]\(((?!http)[^)#]+)[)#]", prose)
             if not (directory / path).exists()]
    return found + [f"{page}: there is no heading #{anchor}" for anchor in re.findall(r"\]\(#([^)]+)\)", prose)
                    if anchor not in headings]
