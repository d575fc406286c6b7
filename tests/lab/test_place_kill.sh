#!/usr/bin/env bash
# kill -9 of the program at random moments leaves every affinity and mask of the machine as it was,
# byte for byte; kill -9 of program and guardian does so after 'numaload restore'.
# usage: test_place_kill.sh [TIMES]   (default 60)
# shellcheck disable=SC2016 # quoted scripts are for the guest's shell
. "$(dirname "${BASH_SOURCE[0]}")/place_common.sh"

times=${1:-60}
boot --nic mq --no-mount

cat >"$out/kill.sh" <<EOF2
snapshot() { $snapshot
}
EOF2
cat >>"$out/kill.sh" <<'EOF2'
numaload=$1 times=$2 moved=0 late=0
before=$(snapshot)
for i in $(seq "$times"); do
    "$numaload" place exec --cq node:$((i % 2)) --device eth0 --unbound node:$(((i + 1) % 2)) \
        --numa-balancing off -- sleep 1 >/dev/null 2>&1 &
    pid=$!
    # From before the first write to well within the window.
    busybox usleep $((RANDOM % 900 * 1000))
    kill -9 $pid
    [ ! -e /run/numaload/journal ] || moved=$((moved + 1))
    wait $pid 2>/dev/null
    n=0
    while [ -e /run/numaload/journal ] && [ $n -lt 200 ]; do busybox usleep 20000; n=$((n + 1)); done
    [ $n -lt 200 ] || late=$((late + 1))
    now=$(snapshot)
    if [ "$now" != "$before" ]; then
        echo "kill $i: not as before"
        diff <(echo "$before") <(echo "$now")
        exit 1
    fi
done
pkill -x sleep
echo "$moved of $times were killed with a journal on disk, $late journals stayed"
[ $late -eq 0 ] || exit 1
[ $moved -gt $((times / 5)) ] || { echo "too few kills came after a write"; exit 1; }

"$numaload" place exec --cq node:1 --device eth0 --unbound node:1 -- sleep 30 >/dev/null 2>&1 &
pid=$!
for n in $(seq 100); do [ "$(snapshot)" = "$before" ] || break; busybox usleep 50000; done
busybox usleep 300000
# Stopped first, so that neither can act on the other's end.
guardian=$(pgrep -x numaload-guard)
kill -STOP $guardian
kill -9 $pid
kill -9 $guardian
wait $pid 2>/dev/null
busybox usleep 300000
[ "$(snapshot)" != "$before" ] || { echo "nothing was left to restore"; exit 1; }
"$numaload" restore || exit 1
[ "$(snapshot)" = "$before" ] || { echo "restore did not put everything back"; exit 1; }

# Left the same way, but found by the next run instead.
"$numaload" place exec --cq node:1 --device eth0 -- sleep 30 >/dev/null 2>&1 &
pid=$!
for n in $(seq 100); do [ "$(snapshot)" = "$before" ] || break; busybox usleep 50000; done
"$numaload" place exec --unbound node:0 -- true && { echo "a live owner was not noticed"; exit 1; }
guardian=$(pgrep -x numaload-guard)
kill -STOP $guardian
kill -9 $pid
kill -9 $guardian
wait $pid 2>/dev/null
"$numaload" place exec --unbound node:0 -- true || exit 1
[ "$(snapshot)" = "$before" ] || { echo "the next run did not put everything back"; exit 1; }

# apply leaves it, restore ends it.
"$numaload" place apply --cq node:0 --device eth0 --unbound node:0 || exit 1
[ "$(snapshot)" != "$before" ] || { echo "apply did nothing"; exit 1; }
"$numaload" place apply --unbound node:1 && { echo "a second apply was taken"; exit 1; }
"$numaload" place restore || exit 1
[ "$(snapshot)" = "$before" ] || { echo "restore after apply did not put everything back"; exit 1; }
exit 0
EOF2
in_lab bash "$out/kill.sh" "$numaload" "$times"
printf '%s\n' "$got" "$err"
check "after $times kills and four restores everything is as before" 0 "$rc"
contains "a live owner is named" "another placement is in force, of pid"
contains "a dead journal is announced" "which is gone, is in /run/numaload: putting back its values"
exit $failed
