#!/usr/bin/env python3
"""Every function of the public headers has a sentence of its own: a comment above its declaration or behind it.

  comments_test.py PROJECT_DIR

Overloads that follow each other without a blank line share one. None is needed by constructors, destructors and
assignment, which the class's comment explains, by accessors, which have no arguments and are named by what they return,
by fields(), which lists a struct's members, by what overrides, and by what is deleted, private or in a namespace detail.
"""
import pathlib
import re
import sys

# Functions, by the beginning of their name in a file, that a comment explains all together.
TOGETHER = {
    "weft/tensor.h": ("WEFT_METHOD", "WEFT_REDUCTION"),  # methods that are functions of their names
    "weft/webnn/builder.h": None,  # all: operations of the specification, which has them under their names
    "weft/webnn/options.h": ("operator()",),  # a member of each type
}


def blanked(text):
    """The text with strings, characters, preprocessor lines and comments blanked, lines and columns kept; and which lines have
    a comment: "only" it, or "behind" code."""
    comments = {}
    out, number, at = [], 0, 0
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*|\n', re.S | re.M)
    while match := pattern.search(text, at):
        out.append(text[at:match.start()])
        token = match[0]
        if token == "\n":
            number += 1
            out.append(token)
        else:
            if token.startswith(("//", "/*")):
                begin = text.rfind("\n", 0, match.start()) + 1
                comments[number] = "behind" if text[begin:match.start()].strip() else "only"
            # Strings stay one token, so that a declaration's shape is kept.
            out.append(re.sub(r"[^\n]", "_" if token[0] in "\"'" else " ", token))
            number += token.count("\n")
        at = match.end()
    out.append(text[at:])
    return "".join(out), comments


def declarations(text):
    """(first line, last line of the head, head, scope) of each declaration at the scope of a namespace or a class's public part,
    where scope is the names of the namespaces and classes around it."""
    scopes = [("file", "", True)]  # kind, name, public
    start, depth, i = 0, 0, 0
    line_of = lambda position: text.count("\n", 0, position)  # noqa: E731
    found = []

    def head_from(begin, end):
        head = text[begin:end]
        stripped = head.lstrip()
        return begin + len(head) - len(stripped), stripped

    def skip_block(position):
        level = 0
        for k in range(position, len(text)):
            level += {"{": 1, "}": -1}.get(text[k], 0)
            if level == 0:
                return k
        raise ValueError("a brace is not closed")

    while i < len(text):
        c = text[i]
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif depth > 0:
            pass
        elif c == ":" and scopes[-1][0] == "class" and re.fullmatch(r"\s*(public|private|protected)\s*", text[start:i]):
            scopes[-1] = ("class", scopes[-1][1], text[start:i].strip() == "public")
            start = i + 1
        elif c == "{":
            first, head = head_from(start, i)
            space = re.match(r"(?:inline )?namespace ?([\w:]*)", head)
            kind = re.match(r"(?:template ?<.*> ?)?(?:requires .*)?(class|struct|union)\s+(\w+)[^()=]*$", head, re.S)
            if space:
                scopes.append(("namespace", space[1], True))
                start = i + 1
            elif kind:
                public = all(s[2] for s in scopes)
                scopes.append(("class", kind[2], public and kind[1] != "class"))
                start = i + 1
            else:
                end = skip_block(i)
                after = re.match(r"\s*[;,]?", text[end + 1:])[0]
                if not re.match(r"enum\b", head) and not re.search(r"=\s*$", head) and (
                        "(" in head and re.search(r"\)[^()]*(\)\s*)?$|\w[{}]*$", head) and after.strip() != ","):
                    found.append((line_of(first), line_of(i), head, list(scopes)))
                    start = end + 1
                    i = end
                else:
                    i = end  # an initialiser, or an enumeration: the declaration goes on to its semicolon
        elif c == "}":
            scopes.pop()
            start = i + 1
        elif c == ";":
            first, head = head_from(start, i)
            if head:
                found.append((line_of(first), line_of(i), head, list(scopes)))
            start = i + 1
        elif c == "\n" and re.fullmatch(r"\s*WEFT_\w+\(.*\)\s*", text[start:i], re.S):
            first, head = head_from(start, i)  # what a macro declares
            found.append((line_of(first), line_of(first + len(head.rstrip()) - 1), head, list(scopes)))
            start = i + 1
        i += 1
    return found


def function_name(head):
    """The declared function's name; none if it is no function."""
    head = re.sub(r"^(\s*(template\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>|requires\s+[^;{]*?(?=\n)|\[\[.*?\]\]))+", "", head, flags=re.S).strip()
    if re.match(r"(using|typedef|static_assert|friend|enum|namespace|extern template)\b", head):
        return None
    if macro := re.fullmatch(r"(WEFT_\w+)\((.*)\)", head, re.S):
        return f"{macro[1]}({macro[2]})"
    if operator := re.search(r"\boperator\s*(\(\)|\[\]|[^\s(]+|\w+)\s*\(", head):
        return f"operator{operator[1]}"
    match = re.search(r"(~?\w+)\s*\(", head)
    if not match or "=" in head[:match.start()] or match[1] in ("decltype", "alignas", "noexcept", "sizeof"):
        return None
    return match[1]


def says_itself(name, head, scopes):
    """Members that need no words."""
    of = scopes[-1][1] if scopes[-1][0] == "class" else None
    if not of:
        return False
    if re.search(r"(=\s*(delete|default)|\boverride)\s*$", head) or name.startswith("~") or name in ("operator=", "operator==", "fields"):
        return True
    if name == of:
        return True
    # What is named by what it gives: rank(), shape(), operator bool.
    return bool(re.search(r"\(\)\s*const\b", head)) and not re.search(rf"\bvoid\s+{re.escape(name)}", head)


def missing(path):
    text, comments = blanked(path.read_text(encoding="utf-8"))
    lines = text.split("\n")
    documented, declared = {}, set()
    for first, last, head, scopes in declarations(text):
        if not all(s[2] for s in scopes) or any(s[1] == "detail" or s[1].endswith("::detail") for s in scopes):
            continue
        name = function_name(head)
        if name is None or says_itself(name, head, scopes):
            continue
        has = comments.get(first - 1) == "only" or any(comments.get(k) for k in range(first, last + 1))
        key = name.split("(")[0] if name.startswith("WEFT_") else name
        # An overload right behind one that has words.
        above = documented.get(first - 1)
        if not has and above == key and not name.startswith("WEFT_"):
            has = True
        # The definition of a template that is declared above.
        signature = re.sub(r"\s+", " ", head).strip()
        has = has or signature in declared
        if has:
            declared.add(signature)
            end = last
            # The body's last line, which an overload follows.
            if "{" in lines[last]:
                level = 0
                for end in range(last, len(lines)):
                    level += lines[end].count("{") - lines[end].count("}")
                    if level <= 0:
                        break
            documented[end] = key
        else:
            yield first + 1, name


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    failures = []
    for path in sorted((root / "include" / "weft").rglob("*.h")):
        name = str(path.relative_to(root / "include"))
        for line, function in missing(path):
            together = TOGETHER.get(name, ())
            if together is not None and not function.startswith(tuple(together)):
                failures.append(f"include/{name}:{line}: {function} has no comment")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
