#!/usr/bin/python3
"""Validates records against loadgen/record/schema.json, plans of a matrix against plan-schema.json
and reports as JSON against report-schema.json beside it: schema_check.py FILE...

Needs Debian's python3-jsonschema. Exit status 0 when all are valid, 1 when one is not.
"""
import json
import pathlib
import sys

import jsonschema

SCHEMAS = pathlib.Path(__file__).resolve().parent.parent / "loadgen/record"


def complaint(error):
    # of a choice the branch that came farthest says most
    if error.context:
        error = max(error.context, key=lambda e: (len(e.absolute_path), e.validator != "const"))
    where = "/".join(str(p) for p in error.absolute_path) or "(top)"
    return f"{where}: {error.message[:300]}"


def checker(name):
    schema = json.loads((SCHEMAS / name).read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


SCHEMA_OF = {
    "numaload-plan": "plan-schema.json",
    "numaload-report": "report-schema.json",
    "numaload-compare": "report-schema.json",
}


def schema_of(document):
    name = document.get("schema") if isinstance(document, dict) else None
    return SCHEMA_OF.get(name, "schema.json") if isinstance(name, str) else "schema.json"


def main(files):
    if not files:
        print(__doc__, file=sys.stderr)
        return 2
    checks = {name: checker(name) for name in {"schema.json", *SCHEMA_OF.values()}}
    bad = 0
    for name in files:
        try:
            # NaN and Infinity are no JSON, although Python reads them
            record = json.loads(pathlib.Path(name).read_text(), parse_constant=float_refused)
            check = checks[schema_of(record)]
            errors = [complaint(e) for e in check.iter_errors(record)]
        except (OSError, ValueError) as e:
            errors = [str(e)]
        for error in errors:
            print(f"{name}: {error}", file=sys.stderr)
        bad += bool(errors)
    return 1 if bad else 0


def float_refused(name):
    raise ValueError(f"{name} is not JSON")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
