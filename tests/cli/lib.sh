# What the command-line tests share. A test runs `expect STATUS PATTERN COMMAND...`: the exit status
# must be STATUS and stdout with stderr must match the extended regular expression PATTERN.
# The program is $NUMALOAD, or the one of the release build.
set -u
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
numaload=${NUMALOAD:-$source_dir/build/release/numaload}
work=$(mktemp -d /dev/shm/numaload-test.XXXXXX)
chmod 755 "$work"
failures=0
checks=0

finish() {
    rm -rf "$work"
    if [ "$failures" -gt 0 ]; then
        echo "$failures of $checks checks failed"
        exit 1
    fi
    echo "$checks checks passed"
}
trap finish EXIT

fail() {
    failures=$((failures + 1))
    echo "FAILED: $*"
}

expect() {
    local want=$1 pattern=$2 rc=0
    shift 2
    checks=$((checks + 1))
    "$@" >"$work/out" 2>"$work/err" || rc=$?
    if [ "$rc" != "$want" ]; then
        fail "exit status $rc, not $want: $*"
        tail -n 20 "$work/out" "$work/err"
    elif ! cat "$work/err" "$work/out" | tr -s ' \n' ' ' | grep -Eq -- "$pattern"; then
        fail "no match for '$pattern': $*"
        tail -n 20 "$work/out" "$work/err"
    fi
}

# check WHAT COMMAND...: the command must succeed.
check() {
    local what=$1
    shift
    checks=$((checks + 1))
    "$@" || fail "$what"
}

# field RECORD EXPRESSION: evaluates a Python expression over the record, as r, and its first
# window, as w.
field() {
    /usr/bin/python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
w = r["windows"][0] if r["windows"] else None
print(eval(" ".join(sys.argv[2].split())))' "$1" "$2"
}

# holds RECORD EXPRESSION: the expression must be true.
holds() {
    checks=$((checks + 1))
    local got
    got=$(field "$1" "$2") || got="an error"
    [ "$got" = True ] || fail "$2 is $got in $1"
}

valid_record() {
    check "$1 does not fit the schema" /usr/bin/python3 "$source_dir/tests/schema_check.py" "$1"
}

# Whether the program under test was built with a sanitizer.
sanitized() {
    grep -q "^NUMALOAD_SANITIZE:STRING=." "$(dirname "$numaload")/CMakeCache.txt" 2>/dev/null
}

# As an ordinary user without any capability.
as_user() {
    setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \
        env HOME=/tmp "$@"
}
