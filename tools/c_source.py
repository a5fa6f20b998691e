# SPDX-License-Identifier: MIT
"""Enough of C to find functions, blocks and operators. Shared by the tools of this folder.

No preprocessor and no types: the house style (one statement a line, braces always, clang-format)
makes this sufficient.
"""

import os
import re
import subprocess

TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>(?:\.\d|\d)(?:[eEpP][+-]|[\w.])*)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<op>->|\+\+|--|<<=|>>=|\+=|-=|\*=|/=|%=|&=|\|=|\^=|==|!=|<=|>=|&&|\|\||<<|>>|\.\.\.|.)"
)


class Token:
    __slots__ = ("kind", "text", "start")

    def __init__(self, kind, text, start):
        self.kind = kind
        self.text = text
        self.start = start


def blank(text, keep_strings=False):
    """The text with comments, and strings unless kept, turned to spaces; positions stay."""
    pattern = re.compile(
        r"//(?:\\\n|[^\n])*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)

    def replace(match):
        piece = match.group()
        if piece[0] in "\"'":
            if keep_strings:
                return piece
            return piece[0] + " " * (len(piece) - 2) + piece[0]
        return re.sub(r"[^\n]", " ", piece)

    return pattern.sub(replace, text)


def blank_directives(text):
    """Blanked text with preprocessor lines turned to spaces as well."""
    return re.sub(r"(?m)^[ \t]*#(?:\\\n|[^\n])*", lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def tokens(text, start=0, end=None):
    """Tokens of blanked text, without space."""
    end = len(text) if end is None else end
    result = []
    for match in TOKEN.finditer(text, start, end):
        if match.lastgroup != "space":
            result.append(Token(match.lastgroup, match.group(), match.start()))
    return result


def line_of(text, position):
    return text.count("\n", 0, position) + 1


class Function:
    """A definition: body is [open, close], the positions of its braces."""

    def __init__(self, name, head, params, open_, close, is_static):
        self.name = name
        self.head = head
        self.params = params
        self.open = open_
        self.close = close
        self.is_static = is_static


def match_forward(toks, i, opening, closing):
    """Index of the token that closes toks[i]."""
    depth = 0
    for j in range(i, len(toks)):
        if toks[j].text == opening:
            depth += 1
        elif toks[j].text == closing:
            depth -= 1
            if depth == 0:
                return j
    return len(toks) - 1


def split_arguments(toks, open_i, close_i):
    """Token index ranges [first, last) of the arguments between two parentheses."""
    ranges = []
    first = open_i + 1
    depth = 0
    for j in range(open_i + 1, close_i):
        text = toks[j].text
        if text in "([{":
            depth += 1
        elif text in ")]}":
            depth -= 1
        elif text == "," and depth == 0:
            ranges.append((first, j))
            first = j + 1
    if first < close_i or ranges:
        ranges.append((first, close_i))
    return ranges


def top_level(text):
    """Top-level pieces of a file, in order: ('function', Function) or ('statement', tokens)."""
    clean = blank_directives(blank(text))
    toks = tokens(clean)
    pieces = []
    first = 0
    i = 0
    while i < len(toks):
        text_i = toks[i].text
        if text_i == ";":
            if i > first:
                pieces.append(("statement", toks[first:i]))
            first = i + 1
        elif text_i == "(":
            i = match_forward(toks, i, "(", ")")
        elif text_i == "{":
            close = match_forward(toks, i, "{", "}")
            function = as_function(toks, first, i, close)
            if function:
                pieces.append(("function", function))
                first = close + 1
            i = close
        i += 1
    return clean, pieces


def as_function(toks, first, open_i, close_i):
    """The function whose body opens at open_i, None when this is a struct or an initialiser."""
    head = toks[first:open_i]
    if any(t.text == "=" for t in head) or not head:
        return None
    # the last parenthesis that is no attribute holds the parameters
    i = 0
    found = None
    while i < len(head):
        if head[i].text == "(":
            close = match_forward(head, i, "(", ")")
            if i > 0 and head[i - 1].kind == "name" and head[i - 1].text != "__attribute__":
                found = (i, close)
                break
            i = close
        i += 1
    if not found:
        return None
    open_p, close_p = found
    ranges = split_arguments(head, open_p, close_p)
    params = [" ".join(t.text for t in head[a:b]) for a, b in ranges]
    if params == ["void"]:
        params = []
    return Function(head[open_p - 1].text, head[0].start, params, toks[open_i].start,
                    toks[close_i].start, any(t.text == "static" for t in head))


def functions(text):
    clean, pieces = top_level(text)
    return clean, [piece for kind, piece in pieces if kind == "function"]


def block_depth(toks):
    """Deepest nesting of block braces among tokens of a body, its own braces not counted, and where."""
    stack = []
    parens = []
    before_paren = None
    deepest, where = 0, 0
    for i, tok in enumerate(toks):
        if tok.text == "(":
            parens.append(toks[i - 1] if i else None)
        elif tok.text == ")" and parens:
            before_paren = parens.pop()
        elif tok.text == "{":
            previous = toks[i - 1].text if i else ";"
            if previous == ")":
                # a compound literal follows an operator or return, a block a word such as if
                is_block = (before_paren is not None and before_paren.kind == "name"
                            and before_paren.text not in ("return", "sizeof"))
            else:
                is_block = previous in (";", "{", "}", "else", "do", ":") and not (
                    previous == "{" and stack and not stack[-1])
            stack.append(is_block)
            depth = sum(stack)
            if is_block and depth > deepest:
                deepest, where = depth, tok.start
        elif tok.text == "}" and stack:
            stack.pop()
    return deepest, where


def project_files(root):
    """Files of the project, relative to root: git's tracked and new ones, else all but builds."""
    try:
        listing = subprocess.run(
            ["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
            capture_output=True, check=True).stdout.decode()
        top = subprocess.run(["git", "-C", root, "rev-parse", "--show-toplevel"],
                             capture_output=True, check=True).stdout.decode().strip()
        if os.path.realpath(top) == os.path.realpath(root):
            names = [name for name in listing.split("\0") if name]
            return sorted({n for n in names if os.path.isfile(os.path.join(root, n))})
    except (OSError, subprocess.CalledProcessError):
        pass
    result = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders
                      if not f.startswith("build") and f not in (".git", "__pycache__")]
        result += [os.path.relpath(os.path.join(folder, n), root) for n in names]
    return sorted(result)


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def read_list(root, name):
    """Entries 'key: reason' of a list of exemptions, and complaints about those without a reason."""
    entries, complaints = {}, []
    path = os.path.join(root, name)
    if not os.path.exists(path):
        return entries, complaints
    for number, line in enumerate(read(root, name).splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        key, _, reason = line.partition(": ")
        if len(reason.strip()) < 8:
            complaints.append(f"{name}:{number}: an exemption needs a reason: 'key: reason'")
        entries[key.strip()] = number
    return entries, complaints


def finish(tool, complaints, summary):
    """Prints complaints and one summary line; the exit code."""
    for complaint in complaints:
        print(complaint)
    state = f"{len(complaints)} violation{'s' if len(complaints) != 1 else ''}" if complaints else "ok"
    print(f"{tool}: {state} ({summary})")
    return 1 if complaints else 0


def root_argument(argv, description):
    """Parses [ROOT]; the folder of the project."""
    import argparse
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("root", nargs="?",
                        default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return parser.parse_args(argv[1:]).root
