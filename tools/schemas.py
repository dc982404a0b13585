"""Checks JSON that the binary prints against the keys it promises (tools/schemas.txt).

  schemas.py BINARY               runs each command of the table and checks its document
  schemas.py --sim FILE FILE      two results of `sim check`: no failure, equal hashes
"""
import json
import pathlib
import subprocess
import sys

TABLE = pathlib.Path(__file__).with_name("schemas.txt")


def load_table():
    """Rows of (schema, keys, arguments) of the table."""
    rows = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            schema, keys, command = (field.strip() for field in line.split("|"))
            rows.append((schema, keys.split(), command.split()))
    return rows


def check_document(text, schema, keys):
    """What is wrong with one printed document; an empty list when nothing is."""
    try:
        document = json.loads(text)
    except ValueError as error:
        return [f"{schema}: not one JSON document: {error}"]
    if not isinstance(document, dict) or next(iter(document), None) != "schema":
        return [f"{schema}: the first key must be \"schema\""]
    faults = []
    if document["schema"] != schema:
        faults.append(f"expected schema {schema}, found {document['schema']}")
    faults += [f"{schema}: key {key} is missing" for key in keys if key not in document]
    return faults


def check_binary(binary):
    """Runs every command of the table."""
    rows = load_table()
    faults = []
    for schema, keys, command in rows:
        run = subprocess.run([binary, *command], capture_output=True, text=True, timeout=120,
                             check=False)
        if run.returncode not in (0, 1):
            faults.append(f"{' '.join(command)}: exit {run.returncode}\n{run.stderr.strip()}")
            continue
        faults += check_document(run.stdout, schema, keys)
    return faults, f"{len(rows)} documents"


def check_sim(paths):
    """Two runs of the same seeds by two builds: both clean, and bit for bit the same."""
    schema, keys, _ = next(row for row in load_table() if row[0] == "zhinu.check/1")
    faults, documents = [], []
    for path in paths:
        text = pathlib.Path(path).read_text(encoding="utf-8")
        found = check_document(text, schema, keys)
        faults += [f"{path}: {fault}" for fault in found]
        if not found:
            documents.append(json.loads(text))
    for document in documents:
        faults += [f"failure: {json.dumps(failure)}" for failure in document["failures"]]
    hashes = sorted({str(document["hash"]) for document in documents})
    if len(hashes) > 1:
        faults.append(f"the compilers disagree: hashes {', '.join(hashes)}")
    seeds = documents[0]["seeds"] if documents else 0
    return faults, f"{seeds} seeds, hash {hashes[0] if hashes else 'unknown'}"


def main(arguments):
    """Prints what is wrong, or a note for the table of ./check."""
    if arguments and arguments[0] == "--sim":
        faults, note = check_sim(arguments[1:])
    else:
        faults, note = check_binary(arguments[0])
    print("\n".join(faults) if faults else f"note: {note}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
