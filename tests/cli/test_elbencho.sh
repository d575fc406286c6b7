#!/usr/bin/env bash
# elbencho's command lines with the program's name changed: what they move, in bytes and I/Os. The
# first ten are those of its pages --help-large and --help-multi (3.1) and its changelog, with
# smaller sizes; sizes and block sizes keep their ratios.
. "$(dirname "$0")/lib.sh"
n=$numaload
cd "$work" || exit 1
rec=$work/r.json

# lines STATUS ARGS...: runs the command line, each phase with a record in r.json (or r-write.json
# and r-read.json).
line() {
    local want=$1
    shift
    rm -f r.json r-write.json r-read.json
    "$n" "$@" --jsonfile r.json >out 2>err
    rc=$?
    check "status $want, not $rc: $*" [ $rc = "$want" ] || cat err
    for r in r.json r-write.json r-read.json; do
        [ ! -f $r ] || valid_record $r
    done
}
moved() { holds "${3:-r.json}" "(lambda t: (t['bytes'], t['ios']) == ($1, $2))(w['throughput'])"; }

# 1. Sequentially write 4 large files.
line 0 -w -b 4M -t 16 --direct -s 20m "file[1-4]"
moved 80*2**20 20
check "file4 has 20 MiB" [ "$(stat -c %s file4)" = 20971520 ]
holds r.json 'r["profile"]["rw"] == "write" and r["profile"]["direct"] and len(r["files"]) == 4'
holds r.json 'w["throughput"]["write_bytes"] == 80*2**20 and w["amount"]["complete"]'
# 2. Random read IOPS of them, for 20 seconds at most: as many bytes as the files have.
line 0 -r -b 4k -t 16 --iodepth 16 --direct --rand --timelimit 20 "file[1-4]"
moved 80*2**20 20480
holds r.json 'r["engine"]["name"] == "aio" and r["profile"]["iodepth"] == 16'
# 3. 4 KiB write IOPS of two devices (files here).
line 0 -w -b 4K -t 16 --iodepth 16 --direct --rand file1 file2
moved 40*2**20 10240
holds r.json 'r["profile"]["rw"] == "randwrite"'
# 4. 4 KiB random read latency.
line 0 -r -b 4K --lat --direct --rand file1
moved 20*2**20 5120
holds r.json 'r["profile"]["threads"] == 1 and r["engine"]["name"] == "sync"'
# 5. 2 threads, each creating 3 directories with 4 1 MiB files inside.
mkdir testdir
line 0 -w -d -t 2 -n 3 -N 4 -s 1m -b 1m testdir
moved 24*2**20 24
check "24 files" [ "$(find testdir -name 'r*-f?' | wc -l)" = 24 ]
check "named as elbencho names them" [ -f testdir/r1/d2/r1-f3 ]
# 6. The same with long names.
line 0 --write --mkdirs --threads 2 --dirs 3 --files 4 --size 1m --block 1m testdir
moved 24*2**20 24
# 7. Reading them in 128 KiB blocks.
line 0 -r -t 2 -n 3 -N 4 -s 1m -b 128k testdir
moved 24*2**20 192
holds r.json 'w["threads"]["bytes"] == [12 * 2**20, 12 * 2**20]'
# 8. Both phases in one command, with verification.
line 0 -w -r -t 4 -b 1M -s 10m --verify 1 big
moved 10*2**20 10 r-write.json
moved 10*2**20 10 r-read.json
holds r-read.json 'r["verify"]["blocks_checked"] == 10 and r["verify"]["blocks_wrong"] == 0'
line 0 -w -r -i 2 -b 1M -s 4m --livecsv live.csv big
moved 4*2**20 4 r-write-2.json
moved 4*2**20 4 r-read-1.json
check "live values of each phase" [ -f live-write-1.csv -a -f live-read-2.csv ]
# 9. A time limit that comes first: no further phase runs.
line 0 -w -r -t 1 -b 64K -s 10m --limitwrite 1M --timelimit 1 big
check "no read phase after the time limit" [ ! -f r-read.json ]
holds r-write.json 'not w["amount"]["complete"] and w["throughput"]["bytes"] < 10*2**20'
# 10. For ever, until the time limit: more than the file has.
line 0 -r -t 4 --iodepth 64 -b 64K -s 10m --direct --timelimit 1 --infloop --rand big
holds r.json 'w["throughput"]["bytes"] > 10*2**20 and 0.9e9 < w["window_ns"] < 10e9'
# A limit of hours: of an amount it is one; a load without end is measured in windows of an hour at most.
line 0 -r -t 1 -b 64K -s 10m --timelimit 90000 big
holds r.json 'w["amount"]["complete"] and r["profile"]["window_ns"] == 90000 * 10**9'
timeout -s INT 20 "$n" -r -t 1 -b 64K --timelimit 7201 --infloop big --jsonfile hours.json >"$work/out" 2>&1 &
pid=$!
sleep 2
kill -INT $pid
wait $pid
holds hours.json '(lambda p: p["windows"] == 3
    and 7200.99e9 < p["windows"] * p["window_ns"] <= 7201e9)(r["profile"])'
expect 2 "--timelimit: 3600001 s; 3600000 are the most" "$n" -r --timelimit 3600001 big
# 11. A rate, a label, results in files.
line 0 -r -t 2 -b 1M -s 4m --limitread 2M --label "my run" --csvfile all.csv --cpu big
moved 4*2**20 4
holds r.json 'r["label"] == "my run" and w["window_ns"] > 0.45e9'
line 0 -r -t 2 -b 1M -s 4m --label again --csvfile all.csv big
check "one line of names and one a run" [ "$(wc -l <all.csv)" = 3 ]
# 12. A mix, every option of latency, and one descriptor a thread.
line 0 -w -b 4k -t 4 --iodepth 8 --direct --rand --rwmixpct 30 -s 4m --nofdsharing --lat --latpercent \
    --lathisto --allelapsed big
moved 4*2**20 1024
holds r.json '600 < w["throughput"]["write_ios"] < 840 and not r["profile"]["fd_sharing"]'
check "elapsed time by thread" grep -Eq '^  thread 3 +[0-9.]+ s$' out
check "a histogram" grep -q '^latency histogram' out
holds r.json 'sum(o["ios"] for o in w["latency"]["octaves"]) == 1024'
# First and last done, as elbencho's columns.
check "first done" grep -q '^first done after' out
check "last done" grep -q '^last done  after .*: 4 MiB moved' out

# Binding: a zone is a node for CPUs and memory.
if [ -d /sys/devices/system/node/node0 ]; then
    line 0 -r -t 2 -b 1M --zones 0 big
    holds r.json 'r["profile"]["cpus"] == "node:0" and r["profile"]["mem"] == "node:0"'
fi
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
line 0 -rt2 -b1M --cores "$cpu" big
holds r.json "r['profile']['cpus'] == 'cpus:$cpu'"
# A key of numaload's own beside elbencho's.
line 0 -r -t 2 --iodepth=4 -b 1M --engine uring --fd-sharing no big
holds r.json 'r["engine"]["name"] == "uring"'

expect 0 "write: 24 files in directories, 25165824 bytes .* 24 I/Os.*read: 24 files" "$n" -w -r \
    --dryrun -t 2 -n 3 -N 4 -s 1m testdir
expect 0 "read: 4 files or devices, 83886080 bytes" "$n" -r --dryrun "file[1-4]"
expect 2 "18446744073709551615 files .* takes 100000 at most" "$n" -w --dryrun -s 4k -n 4294967296 \
    -N 4294967296 testdir
# --json is one document, whatever happens.
for args in "-r --frobnicate file1" "-w -r -s 10m big" "-r -i 2 big" "-r --dryrun big" "-r none" "-r"; do
    "$n" $args --json >r.json 2>err
    rc=$?
    valid_record r.json
    holds r.json "r['status'] == 'failed' and r['exit_status'] == $rc and $rc > 0"
done
"$n" -r -b 1M file1 --json --lathisto --allelapsed >r.json 2>err
holds r.json 'r["status"] == "valid"'
expect 2 "nothing to do: -w writes, -r reads" "$n" -t 4 file1
expect 2 "no path given" "$n" -r
expect 2 "--delfiles: numaload deletes nothing" "$n" -F file1
expect 2 "--hosts: numaload loads from one machine" "$n" -r --hosts a,b file1
expect 2 "unknown option '--frobnicate': neither elbencho's nor" "$n" -r --frobnicate file1
expect 2 "unknown option '-Z'" "$n" -Z file1
expect 2 "-t needs a value" "$n" -r file1 -t
expect 2 "--timelimit: 'soon' is not a whole number" "$n" -r --timelimit soon file1
expect 2 "new1 is new: --size says" "$n" -w new1
expect 1 "none: no such file" "$n" -r none
echo precious >mine
expect 1 "mine is there already and was not written by numaload" "$n" -w -s 1m mine
expect 0 "usage: numaload elbencho" "$n" elbencho --help
check "-d alone makes directories" "$n" -d -t 3 -n 2 testdir
check "also for the third thread" [ -d testdir/r2/d1 ]
