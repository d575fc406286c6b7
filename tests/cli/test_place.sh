#!/usr/bin/env bash
# Placements as an ordinary user and in a container: what can be done is done, what cannot is named
# with what it needs, and nothing is applied by halves.
. "$(dirname "$0")/lib.sh"
cp "$numaload" "$work/numaload" && chmod 755 "$work/numaload"
n=$work/numaload
"$n" prepare --path "$work/data" --size 8M >/dev/null || exit 1
mkdir -m 777 "$work/users"
mask=/sys/devices/virtual/workqueue/cpumask
before=$(cat $mask /proc/sys/kernel/numa_balancing /proc/irq/*/smp_affinity_list 2>/dev/null)

# Pinning needs nobody's leave.
expect 0 "Cpus_allowed_list:.0( |$)" as_user "$n" place exec --cpus cpus:0 -- \
    grep Cpus_allowed_list /proc/self/status
as_user "$n" run --path "$work/data" --cpus cpus:0 --threads 2 --iodepth 2 --ramp 0s --window 1s \
    --json >"$work/r.json" 2>"$work/err"
check "a pinned run as a user: status $?" [ $? = 0 ]
valid_record "$work/r.json"
holds "$work/r.json" '{p["lever"]: p["reached"] for p in w["placement"]}["cpus"] is True'
holds "$work/r.json" 'all(p["applied"] is None for p in w["placement"] if p["asked"] == "leave")'

# One thing that needs root, beside one that does not: neither is done.
[ -e $mask ] && expect 1 "unbound = cpus:0: needs root, to write /sys" as_user "$n" place exec \
    --cpus cpus:0 --unbound cpus:0 -- touch "$work/users/ran"
[ "$(cat /proc/sys/kernel/numa_balancing 2>/dev/null)" = 1 ] && expect 1 "needs root" as_user "$n" place exec \
    --numa-balancing off -- touch "$work/users/ran"
check "the command ran without its placement" [ ! -e "$work/users/ran" ]

# A device with interrupts, if this machine has one.
for dir in /sys/class/net/*/device/msi_irqs /sys/class/net/*/device/../msi_irqs; do
    [ -d "$dir" ] || continue
    dev=${dir#/sys/class/net/}
    dev=${dev%%/*}
    expect 1 "cq = cpus:0: needs root, to write /proc/irq/" as_user "$n" place exec --cpus cpus:0 \
        --cq cpus:0 --irqbalance ignore --device "$dev" -- touch "$work/users/ran"
    # What it would do may be known by anybody.
    expect 0 "/proc/irq/[0-9]+/smp_affinity_list: [-0-9,]+ -> 0" "$n" place apply --dry-run \
        --cq cpus:0 --irqbalance ignore --device "$dev"
    # In a container /proc/irq is often read-only, also for root.
    if unshare -m true 2>/dev/null; then
        expect 1 "/proc/irq is mounted read-only here, as in a container" unshare -m sh -c '
            mount --bind /proc/irq /proc/irq && mount -o remount,bind,ro /proc/irq &&
            exec "$@"' sh "$n" place exec --cq cpus:0 --irqbalance ignore --device "$dev" -- \
            touch "$work/users/ran"
    fi
    check "the command ran without its placement" [ ! -e "$work/users/ran" ]
    break
done
check "something was left changed" [ "$before" = "$(cat $mask /proc/sys/kernel/numa_balancing \
    /proc/irq/*/smp_affinity_list 2>/dev/null)" ]
