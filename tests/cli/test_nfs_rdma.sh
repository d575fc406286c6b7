#!/usr/bin/env bash
# Engine nfs-rdma as far as it goes without RDMA: what its path may be. The rest is in the lab.
. "$(dirname "$0")/lib.sh"
"$numaload" version | grep '^engines:.*nfs-rdma' >/dev/null || {
    echo "skipped: this build has no engine nfs-rdma"
    exit 0
}
run() { "$numaload" run --engine nfs-rdma "$@"; }
expect 2 "'/tmp/data': no nfs-rdma URL; the form is nfs-rdma://host" run --path /tmp/data
expect 2 "no path of a file" run --path nfs-rdma://server/
expect 2 "the port is not a number" run --path nfs-rdma://server:x/export/data
expect 2 "only mountport=N" run --path 'nfs-rdma://server/export/data?version=4'
expect 2 "outside 1 to 16" run --path nfs-rdma://server/export/data --nconnect 17
expect 2 "engine nfs-rdma only reads" run --path nfs-rdma://server/export/data --rw write
expect 2 "no path of a file" "$numaload" prepare --path nfs-rdma://server/ --size 1M
expect 2 "not a multiple of 8 from 512 on" "$numaload" prepare --path nfs-rdma://server/a --size 1M \
    --block 256
# Where there is no RDMA device the machine lacks something; where there is one nobody listens.
if [ ! -e /dev/infiniband/rdma_cm ]; then
    expect 77 "RDMA cannot be used here" run --path nfs-rdma://127.0.0.1/export/data
fi
