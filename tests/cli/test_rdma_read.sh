#!/usr/bin/env bash
# Engine rdma-read, serve and tools/soft-roce on a machine without RDMA: the reason and status 77, and
# what is wrong on the command line is said before anything is looked for.
. "$(dirname "$0")/lib.sh"
soft=$source_dir/tools/soft-roce
expect 2 "--type 'infiniband' is neither rxe nor siw" "$soft" up --type infiniband
expect 2 "unknown option '--typ'" "$soft" up --typ rxe
expect 2 "--type needs a value" "$soft" up --type
expect 2 "usage: tools/soft-roce" "$soft"
expect 0 "usage: tools/soft-roce" "$soft" --help
if [ ! -e /sys/class/infiniband ] && ! modprobe -n -q rdma_rxe 2>/dev/null && ! grep -q ' rxe_newlink' /proc/kallsyms; then
    expect 77 "soft-roce: .*(no rdma_rxe|is missing)" "$soft" up
    expect 77 "soft-roce: .*(no rdma_rxe|is missing)" "$soft" up --netdev lo
    expect 77 "soft-roce: .*(no siw|is missing)" "$soft" up --type siw
    expect 77 "soft-roce: .*(no siw|is missing)" "$soft" up --type siw --netdev lo
    expect 77 "soft-roce: .*kernel $(uname -r) rdma_rxe missing .*memlock .*RDMA devices none " "$soft" doctor
fi
if "$numaload" version | grep -q '^without:.*rdma-read'; then
    expect 77 "built without" "$numaload" serve
    expect 77 "rdma-read: this numaload was built without it" "$numaload" run --engine rdma-read --path 127.0.0.1
    exit 0
fi
run() { expect "$1" "$2" "$numaload" run --engine rdma-read --threads 1 --iodepth 2 "${@:3}"; }
run 2 "'rdma://\[::1' is not an address; write rdma://HOST:PORT" --path 'rdma://[::1'
run 2 "is not an address" --path 127.0.0.1:70000
run 2 "reads the memory of one responder; b is a second one" --path a --path b
run 2 "rdma-read only reads" --path 127.0.0.1 --rw write --size 1M --once
run 2 "--listen has a meaning for 'numaload serve' only" --path 127.0.0.1 --listen 127.0.0.1:1
run 2 "'spin' is not one of: event poll" --path 127.0.0.1 --completion spin
expect 2 "--path has no meaning for 'numaload serve'" "$numaload" serve --path x
expect 2 "'nowhere:port' is not an address" "$numaload" serve --listen nowhere:port --size 1M
expect 0 "usage: numaload serve" "$numaload" serve --help
if [ ! -e /sys/class/infiniband ]; then
    run 77 "RDMA cannot be used here.*devices: none.*rdma_ucm.*tools/soft-roce up" --path 127.0.0.1
    expect 77 "RDMA cannot be used here" "$numaload" serve --size 1M --listen 127.0.0.1:0
    "$numaload" serve --json --size 1M >"$work/j" 2>/dev/null
    check "one JSON document on failure" [ "$(field_of() { /usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["exit_status"])' "$1"; }; field_of "$work/j")" = 77 ]
fi
