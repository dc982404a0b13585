"""Just enough of C++ for the lint: blanking comments and literals, and finding scopes.

This is no parser. It relies on the tree being formatted by clang-format and compiled by two
compilers, and prefers missing a case to inventing one.
"""
import dataclasses
import re

_LITERAL = re.compile(
    r'//[^\n]*'
    r'|/\*.*?\*/'
    r'|R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'", re.DOTALL)
_DIRECTIVE = re.compile(r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.MULTILINE)


def blank(text):
    """`text` with comments and the insides of literals as spaces; lines and columns stay."""

    def spaces(match):
        token = match.group()
        if token.startswith("/"):
            return _spaces(token)
        # An include's name is no literal that anybody could hide code in.
        return token[0] + _spaces(token[1:-1]) + token[-1]

    return _LITERAL.sub(spaces, text)


def blank_directives(code):
    """Already blanked code without its preprocessor lines."""
    return _DIRECTIVE.sub(lambda match: _spaces(match.group()), code)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def _spaces(text):
    return re.sub(r"[^\n]", " ", text)


@dataclasses.dataclass
class Function:
    """A function with a body, from the first line of its head to the line of its last brace."""

    name: str
    first: int
    last: int
    body: str
    body_line: int


@dataclasses.dataclass
class Statement:
    """A declaration ended by a semicolon outside of functions; `scope` is "namespace" or "type"."""

    text: str
    line: int
    scope: str


class Scopes:
    """The functions and the other declarations of one file of blanked code."""

    def __init__(self, code):
        self._code = blank_directives(code)
        self.functions = []
        self.statements = []
        self._walk()

    def _walk(self):
        code = self._code
        stack = []
        start, at, depth = 0, 0, 0
        skipped = []
        while at < len(code):
            character = code[at]
            if character in "([":
                depth += 1
            elif character in ")]":
                depth -= 1
            elif character == "{":
                head = _without(code, start, at, skipped)
                kind = "initializer" if depth > 0 else _kind_of(head)
                if kind in ("namespace", "type"):
                    stack.append(kind)
                    start, skipped = at + 1, []
                else:
                    end = _closing(code, at)
                    if kind == "function":
                        self._function(head, start, at, end)
                        start, skipped = end + 1, []
                    else:
                        skipped.append((at + 1, end))
                    at = end
            elif character == "}":
                if stack:
                    stack.pop()
                start, skipped = at + 1, []
            elif character == ";" and depth == 0:
                scope = stack[-1] if stack else "namespace"
                text = " ".join(_without(code, start, at, skipped).split())
                if text:
                    self.statements.append(Statement(text, self._first_line(start, at), scope))
                start, skipped = at + 1, []
            elif character == ":" and depth == 0:
                if code[start:at].strip() in ("public", "private", "protected"):
                    start, skipped = at + 1, []
            at += 1

    def _function(self, head, start, open_brace, end):
        name = re.search(r"([\w:~]+|operator\s*[^\s(]+)\s*\(", head)
        self.functions.append(Function(
            name=name.group(1) if name else "function",
            first=self._first_line(start, open_brace), last=line_of(self._code, end),
            body=self._code[open_brace:end], body_line=line_of(self._code, open_brace)))

    def _first_line(self, start, end):
        text = self._code[start:end]
        return line_of(self._code, start + len(text) - len(text.lstrip()))


def _without(code, start, end, skipped):
    """code[start:end] without the ranges of the initializers in it."""
    parts, at = [], start
    for first, last in skipped:
        parts.append(code[at:first])
        at = last
    parts.append(code[at:end])
    return "".join(parts)


def _closing(code, open_brace):
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, open_brace):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.start()
    return len(code) - 1


def _kind_of(head):
    """What the brace after `head` opens: namespace, type, function or initializer."""
    head = _strip_attributes(_strip_template(head.strip()))
    if re.match(r'(inline\s+)?namespace\b|extern\s*"\s*"$', head):
        return "namespace"
    if re.match(r"(typedef\s+)?(class|struct|union)\b", head) and "(" not in head:
        return "type"
    flat = _flatten(re.sub(r"operator\s*[^\s\w(]+", "operator", head))
    if "(" not in flat or re.search(r"(?<![=!<>])=(?!=)", flat):
        return "initializer"
    in_member_list = re.search(r"\)\s*(noexcept\s*(\(\))?\s*)?:(?!:)", flat)
    if in_member_list and re.search(r"[\w>]\s*$", head):
        return "initializer"
    return "function"


def _strip_template(head):
    """Drops leading `template <...>`, also repeated."""
    while re.match(r"template\s*<", head):
        depth = 0
        for at, character in enumerate(head):
            depth += {"<": 1, ">": -1}.get(character, 0)
            if character == ">" and depth == 0:
                head = head[at + 1:].lstrip()
                break
        else:
            return head
    return head


def _strip_attributes(head):
    head = re.sub(r"\[\[.*?\]\]", "", head, flags=re.DOTALL)
    head = re.sub(r"\b(alignas|__attribute__|requires)\s*\((?:[^()]|\([^()]*\))*\)", "", head)
    return head.strip()


def _flatten(head):
    """`head` with everything inside of parentheses removed, the parentheses kept."""
    flat, depth = [], 0
    for character in head:
        if character == ")":
            depth -= 1
        if depth == 0:
            flat.append(character)
        if character == "(":
            depth += 1
    return "".join(flat)
