#!/usr/bin/env bash
# Bad input: a sentence with the place of the mistake, and exit status 2 before anything happens.
. "$(dirname "$0")/lib.sh"
"$numaload" prepare --path "$work/data" --size 16M >/dev/null || exit 1
run() { expect "$1" "$2" "$numaload" run --path "$work/data" "${@:3}"; }

run 2 "--iodepth: 0 is outside 1 to 16384" --iodepth 0
run 2 "--threads: 0 is outside 1 to" --threads 0
run 2 "--block: 1000 is not a multiple of 512.*O_DIRECT.*--direct no" --block 1000
run 2 "unknown option '--thread'; did you mean '--threads'" --thread 4
run 2 "unknown option '-x'" -x
run 2 "--window: '10 parsecs' is not a time.*ns us ms s m" --window "10 parsecs"
run 2 "--block: '1Q' is not a size" --block 1Q
run 2 "--block: '1MB': sizes are powers of 2 here; write 1M" --block 1MB
run 2 "--window: 1ms is outside 10 ms to" --window 1ms
run 2 "--window: a window is 3600 s at most; several of them \(--windows\)" --window 61m
run 2 "--threads: '-1' is not a whole number" --threads -1
run 2 "--threads: '99999999999999999999' is not a whole number" --threads 99999999999999999999
run 2 "--engine: 'fast' is not one of: uring aio sync" --engine fast
long=$(head -c 2000 /dev/zero | tr '\0' x)
run 2 "--irqbalance: 'x{900,}" --irqbalance "$long"
run 2 "--engine: '' is not one of: uring aio sync" --engine ""
# One more than a file, or an integer of the record, can have.
run 2 "--size: 8388608T is outside" --size 8388608T
run 2 "--direct: 'maybe' is neither true nor false" --direct=maybe
run 2 "--threads needs a value" --threads
run 2 "engine sync does one I/O at a time" --engine sync --iodepth 4
run 2 "two profiles given: 'a' and 'b'" a b
run 2 "profile missing.ini: No such file" missing.ini
run 2 "--sysroot /no/such/dir: No such file" --sysroot /no/such/dir
expect 2 "no file to read: give --path FILE" "$numaload" run
expect 2 "unknown command 'rum'; did you mean 'run'" "$numaload" rum
expect 2 "unknown command 'xyzzy'; 'numaload --help' lists them" "$numaload" xyzzy
expect 2 "unknown command 'rum'; did you mean 'run'" "$numaload" help rum
expect 0 "usage: numaload COMMAND" "$numaload" help
# Every command explains itself in the same shape, however it is asked.
for command in $("$numaload" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
    expect 0 "usage: numaload $command.*Exit status: 0" "$numaload" "$command" --help
    cp "$work/out" "$work/help"
    expect 0 "usage: numaload $command" "$numaload" help "$command"
    check "'help $command' differs from '$command --help'" cmp "$work/out" "$work/help"
    expect 0 "usage: numaload $command" "$numaload" "$command" -h
    check "help of $command is wider than 84 columns" \
        test "$(wc -L <"$work/help")" -le 84
done
expect 2 "usage: numaload COMMAND" "$numaload"
expect 0 "usage: numaload run" "$numaload" run --help
expect 0 "engines: uring" "$numaload" version
run 2 "cpus.*nod:0" --cpus nod:0
run 1 "cpus: .*node 7.*no such node|no node 7" --cpus node:7

profile() { printf '%s\n' "$@" >"$work/p.ini"; }
profile "[run]" "block = 1M" "iodpeth = 4"
run 2 "p.ini:3: unknown key 'iodpeth'; did you mean 'iodepth'" "$work/p.ini"
profile "[run]" "" "; a comment" "window = 10x"
run 2 "p.ini:4: window: '10x' is not a time" "$work/p.ini"
profile "[rum]" "block = 1M"
run 2 "p.ini:2: unknown section \[rum\]" "$work/p.ini"
profile "[run]" "block"
run 2 "p.ini:2: expected 'key = value'" "$work/p.ini"
profile "[run]" "label = $(head -c 5000 /dev/zero | tr '\0' x)"
run 2 "p.ini:2: line is too long" "$work/p.ini"
profile "[run]" "block = 1000"
run 2 "p.ini:2: block: 1000 is not a multiple of 512" "$work/p.ini"
run 2 "Is a directory" "$work"

# A value is one line: an indented one is a key of its own.
profile "[run]" "label = a b" "    iodpeth = 4"
run 2 "p.ini:3: unknown key 'iodpeth'" "$work/p.ini"

# Where the record cannot go is known before the run, which would take a minute here.
cp "$numaload" "$work/numaload"
mkdir -m 755 "$work/closed"
expect 1 "--record: cannot write the record to .*none/r.json.*: No such file" timeout 30 \
    "$numaload" run --path "$work/data" --window 60s --record "$work/none/r.json"
expect 1 "--record: cannot write the record to .*closed/r.json.*: Permission denied" timeout 30 \
    setpriv --reuid 65534 --clear-groups "$work/numaload" run --path "$work/data" --window 60s \
    --record "$work/closed/r.json"
expect 2 "--record: cannot write .*not a regular file" "$numaload" run --path "$work/data" \
    --record "$work"
expect 1 "cannot write the record" "$numaload" place exec --record "$work/none/r.json" -- \
    touch "$work/ran"
check "a command ran although its record could not be saved" [ ! -e "$work/ran" ]
# Nor over the file under load, by whatever name.
ln -s data "$work/alias"
for name in data alias; do
    run 2 "--record: is the file under load; it would be replaced" --record "$work/$name"
done

# --json keeps stdout one JSON document, also when the usage is wrong.
"$numaload" run --json --thread 4 >"$work/fail.json" 2>/dev/null
valid_record "$work/fail.json"
holds "$work/fail.json" 'r["status"] == "failed" and r["exit_status"] == 2'
holds "$work/fail.json" '"did you mean" in r["notes"][0]["text"]'

# Options win over the profile, wherever they stand.
profile "[run]" "threads = 3" "iodepth = 2" "ramp = 0s" "window = 100ms" "engine = sync"
"$numaload" run --threads 2 "$work/p.ini" --iodepth=1 --path "$work/data" --json \
    >"$work/r.json" 2>/dev/null
holds "$work/r.json" 'r["profile"]["threads"] == 2 and r["profile"]["engine"] == "sync"'
