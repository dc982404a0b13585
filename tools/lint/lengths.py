"""Rules `function-length`, `file-length` and `columns`."""
import cpp
from tree import Finding

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 800
FILE_LINES_WARN = 400
COLUMNS_MAX = 100


def check(tree):
    findings = []
    for file in tree.files:
        if file.is_cpp() and not file.is_test() and not file.is_table():
            findings += _functions(file)
            findings += _file(file)
        if (file.is_cpp() and not file.is_table()) or file.is_script():
            findings += _columns(file)
    return findings


def _functions(file):
    for function in cpp.Scopes(file.code).functions:
        lines = function.last - function.first + 1
        if lines > FUNCTION_LINES_MAX:
            yield Finding(file.path, function.first, "function-length",
                          f"{function.name} has {lines} lines, at most {FUNCTION_LINES_MAX}")


def _file(file):
    lines = len(file.text.splitlines())
    if lines > FILE_LINES_MAX:
        yield Finding(file.path, 1, "file-length", f"{lines} lines, at most {FILE_LINES_MAX}")
    elif lines > FILE_LINES_WARN:
        yield Finding(file.path, 1, "file-length", f"{lines} lines, aim at {FILE_LINES_WARN}",
                      warning=True)


def _columns(file):
    for number, line in enumerate(file.text.splitlines(), start=1):
        if len(line) > COLUMNS_MAX:
            yield Finding(file.path, number, "columns",
                          f"{len(line)} columns, at most {COLUMNS_MAX}")
