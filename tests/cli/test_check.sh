#!/usr/bin/env bash
# The preflight on a recorded tree where all is well, with one thing changed at a time; then on this
# machine, where only what holds everywhere is asked.
. "$(dirname "$0")/lib.sh"
good=$source_dir/tests/data/trees/check
load=(--path /mnt/nfs/file --threads 16 --iodepth 16 --block 1M)

fresh() {
    rm -rf "$work/tree"
    cp -a "$good" "$work/tree"
}
put() { mkdir -p "$work/tree/$(dirname "$1")" && printf "$2" >"$work/tree/$1"; }

# found STATUS SEVERITY CHECK PATTERN [OPTION...]: the changed tree must give exactly one finding of
# that check that matches, with that severity, and that exit status.
found() {
    local rc=0
    checks=$((checks + 1))
    "$numaload" check --sysroot "$work/tree" "${load[@]}" "${@:5}" --json >"$work/c.json" || rc=$?
    /usr/bin/python3 - "$work/c.json" "$rc" "$@" <<'PY' || fail "check: $*"
import json, re, sys
doc = json.load(open(sys.argv[1]))
rc, want, severity, check, pattern = int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:7]
hits = [f for f in doc["findings"]
        if f["check"] == check and re.search(pattern, f["found"] + " -> " + str(f["do"]))]
if rc != want or doc["exit_status"] != want or [f["severity"] for f in hits] != [severity]:
    print(rc, doc["exit_status"], json.dumps(doc["findings"], indent=1))
    sys.exit(1)
PY
    fresh
}

# All is well: one note, that a recorded tree has no file to open.
fresh
expect 0 "Nothing is in the way" "$numaload" check --sysroot "$good" "${load[@]}"
check "text is wider than 72 columns" test "$(wc -L <"$work/out")" -le 72
"$numaload" check --sysroot "$good" "${load[@]}" --json >"$work/c.json"
checks=$((checks + 1))
/usr/bin/python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["schema"] == "numaload-check" and d["exit_status"] == 0
assert [f["check"] for f in d["findings"]] == ["file"], d["findings"]
assert d["counts"] == {"fails": 0, "spoils": 0, "unavailable": 0, "note": 1}
assert len(d["in_order"]) == 15 and d["profile"]["threads"] == 16
' "$work/c.json" || fail "a good tree has findings"

# ---- figures that would be unavailable ----
rm "$work"/tree/sys/kernel/slab/nfs_page/{*path,sheaf_flush}
found 0 unavailable samplers "slab: .*CONFIG_SLUB_STATS.*-> a kernel with"
rm -r "$work/tree/sys/class/infiniband"
found 0 unavailable samplers "rdma: there is no RDMA device"
put proc/self/status 'Name:\tn\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1\n'
found 0 unavailable user "runs as user 1000"

# ---- what would spoil the figures ----
put boot/config-7.3.4 'CONFIG_KASAN=y\nCONFIG_PROVE_LOCKING=y\n'
found 3 spoils kernel-debugging "CONFIG_KASAN, CONFIG_PROVE_LOCKING"
printf 'CONFIG_DEBUG_SPINLOCK=y\nCONFIG_DEBUG_LIST=n\n' | gzip >"$work/tree/proc/config.gz"
found 3 spoils kernel-debugging "built with CONFIG_DEBUG_SPINLOCK:"
rm -r "$work/tree/boot"
found 0 note kernel-debugging "cannot be told: neither /proc/config.gz nor /boot"
put proc/77/comm 'irqbalance\n'
found 3 spoils irqbalance "irqbalance \(pid 77\).*systemctl stop irqbalance"
put proc/77/comm 'irqbalance\n'
"$numaload" check --sysroot "$work/tree" "${load[@]}" --cq node:0 --device eth0 --irqbalance stop \
    --json >"$work/c.json"
check "irqbalance = stop deals with it" /usr/bin/python3 -c \
    'import json, sys; sys.exit("irqbalance" not in json.load(open(sys.argv[1]))["in_order"])' \
    "$work/c.json"
fresh
put proc/sys/kernel/numa_balancing '1\n'
found 3 spoils numa-balancing "kernel.numa_balancing = 1"
put proc/sys/kernel/numa_balancing '1\n'
"$numaload" check --sysroot "$work/tree" "${load[@]}" --numa-balancing off >"$work/out"
check "balancing that the run turns off is still a finding" \
    grep -q "Nothing is in the way" "$work/out"
fresh
put sys/devices/system/cpu/cpu2/cpufreq/scaling_governor 'powersave\n'
found 3 spoils governor "of 1 of 4 CPUs is not performance but powersave"
sed -i 's/rsize=1048576/rsize=524288/' "$work/tree/proc/self/mountstats"
found 3 spoils mount "rsize of /mnt/nfs is 512 KiB, below the block of 1 MiB.*--block 524288"
sed -i 's/Free:     1024/Free:       20/' "$work/tree/proc/meminfo"
found 3 spoils pages "128 huge pages of 2 MiB, 20 are free.*nr_hugepages=1132"
sed -i 's/Free:     1024/Free:        0/' "$work/tree/proc/meminfo"
put sys/kernel/mm/transparent_hugepage/enabled 'always madvise [never]\n'
found 0 note pages "transparent ones are off.*nr_hugepages=1152"
# 16 x 16 MiB = 256 MiB fit the pool of 512 pages a node in all, but not node 0's 100 of them.
put sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages '100\n'
found 3 spoils pages "128 huge pages of 2 MiB, 100 are free" --cpus node:0 --mem node:0
found 3 spoils memory "threads on node 0 need 4 GiB of buffers, the node has 2.75 GiB" \
    --cpus node:0 --iodepth 256
put proc/self/status 'Name:\tn\nUid:\t0\t0\t0\t0\nCapEff:\t0\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1\n'
found 3 spoils memlock "need 256 MiB of locked memory.*limit is 8 MiB" --engine uring
boot=$(cat /proc/sys/kernel/random/boot_id)
put run/numaload/journal "{\"journal\": 1, \"pid\": 4194305, \"start\": 1, \"boot\": \"$boot\", \"command\": \"numaload run\"}\n"
found 3 spoils journal "'numaload run' \(pid 4194305\) changed were not put back.*numaload restore"
put run/numaload/journal '{"journal": 1, "pid": 4194305, "start": 1, "boot": "another", "command": "x"}\n'
"$numaload" check --sysroot "$work/tree" "${load[@]}" >"$work/out"
check "a journal of an earlier boot is a finding" grep -q "In order:.*journal" \
    <(tr -s '\n ' ' ' <"$work/out")
fresh

# ---- what would fail ----
ln -s :0000128 "$work/tree/sys/kernel/slab/kmalloc-128"
mv "$work/tree/sys/kernel/slab/nfs_page" "$work/tree/sys/kernel/slab/:0000128"
ln -s :0000128 "$work/tree/sys/kernel/slab/nfs_page"
cp -a "$work/tree" "$work/merged"
found 1 fails samplers "nfs_page is merged with kmalloc-128.*slab_nomerge"
rm -r "$work/tree"
mv "$work/merged" "$work/tree"
found 0 note samplers "counters of nfs_page include those of kmalloc-128" --allow-merged
put proc/sys/fs/aio-max-nr '200\n'
found 1 fails engine "16 threads x iodepth 16 need 256 requests; fs.aio-max-nr is 200.*fs.aio-max-nr=256"
put proc/sys/kernel/io_uring_disabled '2\n'
found 1 fails engine "io_uring_disabled is 2, which forbids io_uring to everybody.*--engine aio" --engine uring
found 1 fails memory "need 16 GiB of memory, 6 GiB are available" --iodepth 1024
sed -i '/Max open files/s/524288/2048  /' "$work/tree/proc/self/limits"
found 1 fails open-files "1000 threads x 1 file need 3100 descriptors, the hard limit .* is 2048" \
    --threads 1000 --iodepth 1
"$numaload" check --sysroot "$good" "${load[@]}" --threads 1000 --iodepth 1 >"$work/out"
check "a soft limit that the run raises is a finding" grep -q "In order:.*open-files" \
    <(tr -s '\n ' ' ' <"$work/out")
put sys/fs/cgroup/user.slice/pids.max '50\n'
found 1 fails processes "32 tasks are needed, pids.max of the cgroup is 50 and 40 are there"
put proc/sys/kernel/threads-max '20\n'
found 1 fails processes "32 tasks are needed, kernel.threads-max is 20"
found 1 fails placement "node 7" --cpus node:7
found 1 fails placement "mem = node:0: 16 threads need 4.0 GiB" --mem node:0 --iodepth 256

# ---- this machine ----
"$numaload" prepare --path "$work/data" --size 16M >/dev/null || exit 1
expect 2 "no file to read" "$numaload" check
expect 2 "unknown option '--thread'; did you mean '--threads'" "$numaload" check --thread 1
expect 1 "file: $work/none: no such file.*The run would fail" "$numaload" check --path "$work/none"
expect 1 "fails.*\"exit_status\": 1" "$numaload" check --path "$work/none" --json
"$numaload" check --path "$work/data" --threads 32 --iodepth 1 >"$work/out"
check "a file too small for its threads is no finding" \
    grep -q "file: 16 blocks for 32 threads" "$work/out"
check "tmpfs is no finding" grep -q "mount: .* is on tmpfs, not on NFS" "$work/out"
# Nothing is changed, whatever the load is.
"$numaload" check --path "$work/new" --rw write --size 16M --threads 1 >"$work/out"
check "a file that would be written was made" test ! -e "$work/new"
check "a new file is no note" grep -q "$work/new is not there yet" <(tr -s '\n ' ' ' <"$work/out")
"$numaload" check --path "$work/new" --rw write --threads 1 >"$work/out"
check "a new file without size is no failure" grep -q "$work/new is new: size says" \
    <(tr -s '\n ' ' ' <"$work/out")
expect 1 "none/new cannot be made: its directory: No such file.*would fail" "$numaload" check \
    --path "$work/none/new" --rw write --size 16M --threads 1
expect 1 "new is to be 8 PiB long, and .* are free on its file system.*would fail" "$numaload" \
    check --path "$work/new" --rw write --size 8P --threads 1
# Ranges stand for their files, in every check.
"$numaload" prepare --path "$work/r[1-2]" --size 16M >/dev/null
"$numaload" check --path "$work/r[1-2]" --threads 4 --iodepth 1 --json >"$work/c.json"
checks=$((checks + 1))
/usr/bin/python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
mounts = [f["found"] for f in d["findings"] if f["check"] == "mount"]
assert len(mounts) == 1 and "/r1 is on tmpfs" in mounts[0], mounts
assert "file" in d["in_order"], d["findings"]
' "$work/c.json" || fail "check does not expand ranges"
"$numaload" check --path "$work/r[1-3]" --rw write --size 16M --threads 4 >"$work/out"
check "the first new file of a range is not named" grep -q "$work/r3 is not there yet" \
    <(tr -s '\n ' ' ' <"$work/out")
expect 1 "file: .*'\\[2-1\\]' is not a list" "$numaload" check --path "$work/r[2-1]" --rw write
