# Sourced by test_place_*.sh. Sets $root, $lab, $name and $numaload; boots nothing.
# The program is $NUMALOAD, or the one of the release build.
# shellcheck shell=bash
# shellcheck disable=SC2034 # variables are for the test that sources this
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
numaload=${NUMALOAD:-$root/build/release/numaload}
# CTest gives the program and the source folder first.
case ${1:-} in
*/*)
    numaload=$1
    shift
    [ $# -eq 0 ] || shift
    ;;
esac
[ -x "$numaload" ] || {
    echo "no program at $numaload; build it or set NUMALOAD" >&2
    exit 77
}

# contains TEXT PART: PART is in $got or $err
contains() {
    case "$got$err" in
    *"$2"*) ok "$1" ;;
    *) bad "$1" "not said: $2" "stdout: $got" "stderr: $err" ;;
    esac
}
# boot OPTION...: a lab of this test's own
boot() {
    local rc=0
    "$lab" up --name "$name" "$@" >&2 || rc=$?
    [ $rc -eq 0 ] || exit $rc
    out=$("$lab" out --name "$name")
}
# lever RECORD NAME EXPRESSION: a value of a lever in a record that place exec wrote to $LAB_OUT
lever() {
    python3 -c '
import json, sys
levers = json.load(open(sys.argv[1]))["levers"]
l = next(l for l in levers if l["lever"] == sys.argv[2])
print(eval(sys.argv[3], {"l": l}))' "$out/$1" "$2" "$3"
}
# Every affinity and mask of the machine, as text. One process, since it runs often.
snapshot='grep -s "" /proc/irq/*/smp_affinity_list /proc/irq/*/smp_affinity \
    /sys/devices/virtual/workqueue/cpumask /sys/devices/virtual/workqueue/*/cpumask \
    /sys/class/net/*/queues/*/rps_cpus /sys/class/net/*/queues/*/xps_cpus \
    /proc/sys/kernel/numa_balancing; true'
