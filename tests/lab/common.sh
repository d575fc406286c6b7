# Sourced by place_common.sh and lab_selftest.sh: the name of a lab of the test's own, which goes down
# with the test, and how a test says what it found. Sets $root, $lab, $name and $work; boots nothing.
# shellcheck shell=bash
# shellcheck disable=SC2034 # variables are for the test that sources this
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
lab=$root/tools/lab
name=$(basename "$0" .sh | tr _ -)$$
work=$(mktemp -d)
failed=0

cleanup() {
    "$lab" down --name "$name" >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

ok() { printf 'ok      %s\n' "$1"; }
bad() {
    printf 'FAILED  %s\n' "$1"
    [ $# -lt 2 ] || printf '        %s\n' "${@:2}"
    failed=1
}
# check TEXT EXPECTED GOT
check() { if [ "$2" = "$3" ]; then ok "$1"; else bad "$1" "expected: $2" "got:      $3"; fi; }
# in_lab COMMAND...: stdout in $got, stderr in $err, exit status in $rc
in_lab() {
    rc=0
    got=$("$lab" run --name "$name" -- "$@" 2>"$work/err") || rc=$?
    err=$(cat "$work/err")
}
