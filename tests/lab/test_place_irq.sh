#!/usr/bin/env bash
# Interrupts of a multi-queue network device (real MSI-X) go where cq says, are observed there and are
# put back; a managed device refuses; work queues take their place for soft-RoCE.
# usage: test_place_irq.sh [NODES...]   (default 2 and 4)
# shellcheck disable=SC2016 # quoted scripts are for the guest's shell
. "$(dirname "${BASH_SOURCE[0]}")/place_common.sh"

# The real irqbalance beside eth0: refused, told to leave the interrupts alone, stopped and started
# again, also after SIGKILL; noticed when it starts in the window.
with_irqbalance() {
    cat >"$out/irqbalance.sh" <<'G'
n=$1 moved="--cq node:0 --device eth0"
runs() { for i in $(seq 150); do pgrep -x irqbalance >/dev/null && echo runs && return; busybox usleep 20000; done; echo "does not run"; }
gone() { for i in $(seq 150); do pgrep -x irqbalance >/dev/null || return 0; busybox usleep 20000; done; echo "still runs"; }
mkdir -p /run/irqbalance
irqbalance --foreground --banirq=3 >/dev/null 2>&1 &
for i in $(seq 250); do [ -S /run/irqbalance/irqbalance$!.sock ] && break; busybox usleep 20000; done
"$n" place exec $moved -- true; echo "refuse $?"
"$n" place exec --irqbalance ignore $moved -- true; echo "ignore $?"
"$n" place exec --irqbalance ban $moved --record "$LAB_OUT/ban.json" -- true; echo "ban $?"
"$n" place apply --irqbalance ban $moved --dry-run | grep irqbalance:
"$n" place exec --irqbalance stop $moved --record "$LAB_OUT/stop.json" -- \
    sh -c 'pgrep -x irqbalance || echo "none runs"'; echo "stop $?"
echo "then it $(runs): $(tr '\0' ' ' </proc/$(pgrep -x irqbalance)/cmdline)"
"$n" place exec --irqbalance stop $moved -- sleep 30 & pid=$!
gone
kill -9 $pid
echo "after SIGKILL it $(runs)"
"$n" place exec --irqbalance stop $moved -- sleep 30 & pid=$!
gone
busybox usleep 300000
kill -STOP $(pgrep -x numaload-guard); kill -9 $pid $(pgrep -x numaload-guard)
"$n" restore
echo "after restore it $(runs)"
pkill -x irqbalance; pkill -x sleep
gone
"$n" place exec $moved -- sh -c 'irqbalance --foreground >/dev/null 2>&1 & for i in $(seq 100); do pgrep -x irqbalance >/dev/null && break; sleep 0.1; done'; echo "started meanwhile $?"
pkill -x irqbalance
true
G
    in_lab bash "$out/irqbalance.sh" "$numaload"
    printf '%s\n' "$got" "$err"
    contains "irqbalance: refused" "refuse 1"
    contains "irqbalance: named with its pid" "irqbalance (pid "
    contains "irqbalance: ignored" "ignore 0"
    contains "irqbalance: told to leave the interrupts alone" "ban 0"
    check "irqbalance: it read back what it was told" True "$(lever ban.json irqbalance 'l["reached"] and "to leave alone 3 " in l["applied"]')"
    check "irqbalance: afterwards it has its own list again" 1 "$(grep -c 'irqbalance:[0-9]*:banned: 3 -> 3 ' <<<"$got")"
    contains "irqbalance: stopped" "none runs"
    contains "irqbalance: with success" "stop 0"
    contains "irqbalance: started again as it was" "then it runs: irqbalance --foreground --banirq=3"
    contains "irqbalance: started again after SIGKILL" "after SIGKILL it runs"
    contains "irqbalance: started again by restore" "after restore it runs"
    contains "irqbalance: started in the window, status 3" "started meanwhile 3"
    contains "irqbalance: started in the window, the reason" "it was started meanwhile and may have moved interrupts"
}

# with_nodes NODES: four CPUs on so many nodes
with_nodes() {
    local nodes=$1 last=$(($1 - 1)) per=$((4 / $1)) before cq mask
    boot --nodes "$nodes" --cpus-per-node "$per" --nic mq --disk-mq
    local ping='busybox ping -q -c 300 -i 0.005 10.77.0.254'

    in_lab sh -c "$snapshot"
    before=$got

    for cq in node:0 "node:$last"; do
        in_lab sh -c "\"$numaload\" place exec --cq $cq --device eth0 --record \"\$LAB_OUT/r.json\" -- $ping"
        check "cq=$cq of eth0: exit status" 0 "$rc"
        check "cq=$cq: reached" True "$(lever r.json cq 'l["reached"]')"
        check "cq=$cq: at least 95 % of the interrupts on the node" True \
            "$(lever r.json cq 'l["detail"]["interrupts_where_asked"] >= 0.95 * l["detail"]["interrupts"] > 50')"
        check "cq=$cq: each queue has one CPU of the node" True \
            "$(lever r.json cq "all(int(v['cpus_at_to']) // $per == ${cq#node:} for v in l['detail']['vectors'])")"
        check "cq=$cq: eight vectors, config left alone" 8 "$(lever r.json cq 'len(l["detail"]["vectors"])')"
        in_lab sh -c "$snapshot"
        check "cq=$cq: everything is as before" "$before" "$got"
    done

    in_lab sh -c "\"$numaload\" place exec --cq balanced --device eth0 --record \"\$LAB_OUT/r.json\" -- $ping"
    check "balanced: exit status" 0 "$rc"
    check "balanced: receive queues on all nodes" "$nodes" \
        "$(lever r.json cq "len({int(v['cpus_at_to']) // $per for v in l['detail']['vectors'] if 'input' in v['name']})")"

    # Nothing tells the kernel where eth0 is, so nic must not be taken for node 0.
    in_lab "$numaload" place exec --cq nic --device eth0 -- true
    check "nic of a device without a node: exit status" 1 "$rc"
    contains "nic of a device without a node" "does not know the node of eth0"

    local read_disk='busybox dd if=/dev/vda of=/dev/null bs=1M'
    in_lab sh -c "\"$numaload\" place exec --cq cpus:0 --device vda --record \"\$LAB_OUT/r.json\" -- taskset -c 3 $read_disk"
    check "managed interrupts: exit status 3" 3 "$rc"
    contains "managed interrupts: the reason" "managed by the kernel, its affinity cannot be set"
    in_lab "$numaload" place exec --strict --cq cpus:0 --device vda -- true
    check "managed interrupts with strict: exit status 1" 1 "$rc"
    contains "managed interrupts with strict: the reason" "(virtio"

    in_lab sh -c "\"$numaload\" place exec --cq node:$last --device rxe0 --record \"\$LAB_OUT/r.json\" -- \
        cat /sys/devices/virtual/workqueue/cpumask /sys/devices/virtual/workqueue/ib-comp-unb-wq/cpumask"
    mask=$(printf '%x' $(((1 << 4) - (1 << (4 - per)))))
    check "soft-RoCE: both work-queue masks were set" "$mask"$'\n'"$mask" "$got"
    check "soft-RoCE: cq is not applicable" True "$(lever r.json cq '"not applicable" in l["reason"]')"
    check "soft-RoCE: the work queues are reached" True "$(lever r.json unbound 'l["reached"]')"

    in_lab "$numaload" place exec --numa-balancing off --rps node:0 --device eth0 -- \
        sh -c 'cat /proc/sys/kernel/numa_balancing /sys/class/net/eth0/queues/rx-3/rps_cpus'
    check "numa_balancing off, rps set" "0"$'\n'"$(printf '%x' $(((1 << per) - 1)))" "$got"

    in_lab setpriv --reuid 65534 --regid 65534 --clear-groups "$numaload" place exec --cq node:0 --device eth0 -- true
    check "ordinary user: exit status" 1 "$rc"
    contains "ordinary user: what it needs" "needs root, to write /proc/irq/"
    in_lab setpriv --reuid 65534 --regid 65534 --clear-groups "$numaload" place exec --cpus node:0 -- \
        grep Cpus_allowed_list /proc/self/status
    check "ordinary user: pinning works" 0 "$rc"

    if [ "$nodes" -ne 2 ]; then
        :
    elif [ -x /usr/sbin/irqbalance ]; then
        with_irqbalance
    else
        echo "skipped: irqbalance is not installed"
    fi

    in_lab sh -c '"$0" place exec --cq node:0 --device eth0 --record "$LAB_OUT/r.json" -- sh -c "
        irq=\$(ls /sys/class/net/eth0/device/../msi_irqs | sort -n | sed -n 2p)
        echo 3 >/proc/irq/\$irq/smp_affinity_list"' "$numaload"
    check "a mask rewritten in the window: exit status 3" 3 "$rc"
    contains "a mask rewritten in the window: the reason" "somebody else changed it from 0 to 3"
    contains "a mask rewritten in the window: theirs is kept" "theirs is kept"
    in_lab sh -c '"$0" place exec --unbound node:0 -- sh -c "echo 2 >/sys/devices/virtual/workqueue/cpumask"
        rc=$?; echo f >/sys/devices/virtual/workqueue/cpumask; exit $rc' "$numaload"
    check "the work-queue mask rewritten: exit status 3" 3 "$rc"
    "$lab" down --name "$name" >&2
}

for n in "${@:-2}" $([ $# -gt 0 ] || echo 4); do
    case $n in
    1 | 2 | 4)
        echo "with $n nodes"
        with_nodes "$n"
        ;;
    *)
        echo "usage: $0 [1|2|4]..." >&2
        exit 2
        ;;
    esac
done
exit $failed
