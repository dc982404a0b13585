"""Rules `title` and `link`: each Markdown file has one title, and its relative links resolve."""
import posixpath
import re

from tree import Finding

_FENCE = re.compile(r"^ {0,3}(```|~~~).*?^ {0,3}\1[ \t]*$", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)


def check(tree):
    prose = {file.path: _prose(file.text) for file in tree.markdown()}
    findings = []
    for file in tree.markdown():
        titles = len(re.findall(r"^# \S", prose[file.path], re.MULTILINE))
        if titles != 1:
            findings.append(Finding(file.path, 1, "title", f"{titles} titles (`# ...`), not one"))
        findings += _links(tree, file, prose)
    return findings


def _links(tree, file, prose):
    text = _INLINE_CODE.sub(lambda match: " " * len(match.group()), prose[file.path])
    for match in _LINK.finditer(text):
        target = match.group(1)
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        path, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(file.folder, path)) if path else file.path
        line = text.count("\n", 0, match.start()) + 1
        if path.startswith("..") or not tree.has(path):
            yield Finding(file.path, line, "link", f"{target}: no such file")
        elif anchor and path in prose and anchor not in _anchors(prose[path]):
            yield Finding(file.path, line, "link", f"{target}: no such heading")


def _prose(text):
    """The text without its code blocks, line for line."""
    return _FENCE.sub(lambda match: "\n" * match.group().count("\n"), text)


def _anchors(prose):
    anchors = set()
    for heading in _HEADING.findall(prose):
        slug = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")
        count = 0
        while (name := slug if count == 0 else f"{slug}-{count}") in anchors:
            count += 1
        anchors.add(name)
    return anchors
