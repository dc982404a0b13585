"""Rule `mutable-global`: no state outside of objects, by best effort."""
import re

import cpp
from tree import Finding

_NO_VARIABLE = re.compile(
    r"(?:using|typedef|static_assert|template|extern|friend|class|struct|union|enum|namespace"
    r"|concept|return)\b")
_LOCAL = re.compile(r"\b(?:static|thread_local)\b[^;{}()=]*")


def check(tree):
    findings = []
    for file in tree.cpp("src", "plugins"):
        if not file.is_test():
            findings += _declarations(file)
    return findings


def _declarations(file):
    scopes = cpp.Scopes(file.code)
    for statement in scopes.statements:
        text = re.sub(r"\[\[.*?\]\]", "", statement.text).strip()
        in_type = statement.scope == "type"
        if in_type and not re.match(r"(?:inline\s+)?(?:static|thread_local)\b", text):
            continue
        if _is_mutable_variable(text):
            yield Finding(file.path, statement.line, "mutable-global",
                          f"`{text[:60]}`: make it a member, or constexpr")
    for function in scopes.functions:
        for match in _LOCAL.finditer(function.body):
            if _is_mutable_variable(match.group().strip()):
                line = function.body_line + function.body.count("\n", 0, match.start())
                yield Finding(file.path, line, "mutable-global",
                              f"`{match.group().strip()[:60]}` in {function.name}: pass it in")


def _is_mutable_variable(text):
    declarator = re.split(r"[={]", text, maxsplit=1)[0].strip()
    if _NO_VARIABLE.match(text) or "(" in declarator or re.search(r"\boperator\b", declarator):
        return False
    if not re.match(r"[\w:<>,*&\s\[\]]+$", declarator) or len(declarator.split()) < 2:
        return False
    if re.search(r"\b(?:constexpr|consteval)\b", declarator):
        return False
    if "*" in declarator:
        return not re.search(r"\*\s*const\b", declarator)
    return not re.search(r"\bconst\b", declarator)
