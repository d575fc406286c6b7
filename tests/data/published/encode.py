#!/usr/bin/python3
"""The published tables T1, T2 and T3 as records, beside this file.

Figures only. What the threads did not publish is unavailable in the records, never 0 and never made
up. T1 gives ranges: two windows stand for the ends of each. T3 gives rounded rates ("~45.5"): the
bytes of its windows are the rate times 10 s.
"""
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
GONE = {"available": False, "reason": "not published"}
WINDOW_NS = 10_000_000_000

# workload, CQs, low and high GB/s
T1 = [
    ("unpinned", "balanced", 46, 47),
    ("unpinned", "node:1", 43, 44),
    ("node:0", "balanced", 45, 45),
    ("node:0", "node:1", 42, 44),
    ("node:1", "balanced", 46, 47),
    ("node:1", "node:1", 46, 47),
]

T2_COUNTERS = ["free_fastpath", "free_slowpath", "sheaf_flush", "barn_put", "barn_put_fail",
               "barn_get", "barn_get_fail", "alloc_slowpath"]
CALLERS = ["__slab_free", "get_partial_node_bulk", "__refill_objects_node"]
T2 = {
    "unpinned": ([49161373, 70391872, 1582440, 673877, 26374, 673860, 1199576, 0],
                 [2845710, 318458, 181842]),
    "node:0": ([119680629, 8999, 13436760, 1596175, 223950, 1596219, 224090, 0],
               [2907948, 269174, 175965]),
}

T3_COUNTERS = ["free_fastpath", "free_slowpath", "sheaf_flush", "barn_put_fail", "barn_get_fail",
               "cmpxchg_double_fail", "alloc_slowpath"]
# run, workload, CQs, instrument: counters, GB/s, idle % (all, node0, node1), lock or None
T3 = {
    ("A", "unpinned", "node:0", "none"):
        ([34906233, 85039753, 1286400, 21464, 1438643, 7471, 0], 45.5, (31.46, 8.0, 54.6), None),
    ("A", "unpinned", "node:0", "perf-lock"):
        ([655917745, 236735724, 39842700, 663994, 4609925, 70524, 0], 25, (3.60, 0.06, 7.1),
         (4782839, 14.39 * 60e9, 180470)),
    ("B", "node:0", "node:0", "none"):
        ([119984226, 2814, 13487700, 224762, 224787, 713, 0], 45.7, (84.26, 69.2, 99.4), None),
    ("B", "node:0", "node:0", "perf-lock"):
        ([457936140, 7720917, 42706800, 711745, 840344, 8077, 0], 25, (12.07, 10.4, 13.8),
         (4582012, 14.13 * 60e9, 185050)),
    ("C", "unpinned", "balanced", "none"):
        ([59469931, 60145870, 887700, 14765, 1017006, 1503, 0], 45.5, (66.86, 66.7, 66.9), None),
    ("C", "unpinned", "balanced", "perf-lock"):
        ([328670030, 270716506, 8341440, 139037, 4651225, 28062, 0], 25, (14.83, 19.0, 10.6),
         (4572196, 12.81 * 60e9, 168140)),
}


def missing(o, key, reason):
    o[key] = None
    o[key + "_reason"] = reason


def derive(d, key, top, bottom):
    """top and bottom: numbers, or the reason why there is none."""
    for operand in (top, bottom):
        if isinstance(operand, str):
            return missing(d, key, operand)
    if bottom == 0:
        return missing(d, key, "divided by 0")
    d[key] = top / bottom


def derived(counters, nbytes):
    def get(name):
        return counters.get(name, f"no counter {name}" if counters else
                            "no slab counters: not published")

    def plus(a, b):
        return a if isinstance(a, str) else b if isinstance(b, str) else a + b

    unknown = "the bytes of the window are not recorded"
    pages = nbytes / 4096 if nbytes else unknown
    frees = plus(get("free_fastpath"), get("free_slowpath"))
    retries = get("cmpxchg_double_fail")
    d = {}
    derive(d, "objects_per_page", frees, pages)
    derive(d, "alloc_per_page", plus(get("alloc_fastpath"), get("alloc_slowpath")), pages)
    derive(d, "remote_free_share", get("free_slowpath"), frees)
    for barn in ("barn_put", "barn_get"):
        derive(d, f"{barn}_fail_share", get(f"{barn}_fail"), plus(get(barn), get(f"{barn}_fail")))
    derive(d, "sheaf_flush_sheaves", get("sheaf_flush"), 60)
    sheaves = d["sheaf_flush_sheaves"]
    derive(d, "sheaf_flush_sheaves_per_barn_put_fail",
           get("sheaf_flush") if sheaves is None else sheaves, get("barn_put_fail"))
    derive(d, "cmpxchg_double_fail_per_million_frees",
           retries if isinstance(retries, str) else retries * 1e6, frees)
    if counters and nbytes:
        d["counters_per_gib"] = {k: v / (nbytes / 2**30) for k, v in counters.items()}
    else:
        missing(d, "counters_per_gib", unknown if counters else "no slab counters: not published")
    return d


def window(index, gb_per_s, counters, idle):
    nbytes = round(gb_per_s * 1e9 * 10) if gb_per_s else None
    throughput = {"bytes": nbytes, "ios": None, "submitted_ios": None,
                  "bytes_per_s": gb_per_s * 1e9 if gb_per_s else None, "ios_per_s": None,
                  "reason": "rounded in the source" if gb_per_s else "not published"}
    slab = dict(GONE)
    if counters:
        slab = {"available": True, "cache": "nfs_page", "merged": False, "shared_with": [],
                "page_bytes": 4096, "sheaf_capacity": 60, "per_node_complete": False,
                "counters": {k: {"total": v} for k, v in counters.items()}}
    cpu = dict(GONE)
    if idle:
        def row(percent, cpus):
            keys = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"]
            return {"cpus": cpus, **{f"{k}_percent": percent if k == "idle" else None for k in keys},
                    "reason": "only idle time was published"}
        cpu = {"available": True, "all": row(idle[0], 96),
               "by_node": {"0": row(idle[1], 48), "1": row(idle[2], 48)}, "clamped_fields": 0}
    latency = {f"{k}_ns": None for k in
               "min mean p50 p90 p99 p99_9 p99_99 max".split()}
    return {"index": index, "t0_ns": index * WINDOW_NS, "t1_ns": (index + 1) * WINDOW_NS,
            "window_ns": WINDOW_NS, "cut_short": False, "valid": True, "throughput": throughput,
            "latency": {"count": 0, **latency, "error_bound": None, "reason": "not published"},
            "threads": {"count": 160, "without_io": None, "slowest": None, "fastest": None,
                        "bytes": []},
            "placement": [], "slab": slab, "cpu": cpu, "irq": dict(GONE), "iowq": dict(GONE),
            "sampling": {"cpu_ns": None}, "derived": derived(counters, nbytes), "notes": []}


def record(name, label, cpus, cqs, windows, instrument="none"):
    nothing = "not published"
    host = {"kernel_release": "7.3.0-rc1", "cpu_model": "Intel(R) Xeon(R) Silver 4516Y+",
            "threads": 96, "sockets": 2, "cores": 48, "smt_active": True, "numa": True,
            "page_bytes": 4096, "slub_stats": True,
            "nodes": [{"id": 0, "cpus": "0-23,48-71", "memory_bytes": None},
                      {"id": 1, "cpus": "24-47,72-95", "memory_bytes": None}],
            "kernel_debugging": {f"CONFIG_{k}": False for k in
                                 "KASAN PROVE_LOCKING LOCK_STAT DEBUG_SPINLOCK DEBUG_LIST".split()}}
    for key in ("kernel_version", "command_line", "boot_id", "uptime_s", "product_name",
                "numa_balancing", "irqbalance_running"):
        missing(host, key, nothing)
    out = {"schema": "numaload-record", "schema_version": 1,
           "program": {"name": "elbencho", "version": "not published"},
           "started_at": "2026-09-01T00:00:00Z", "label": label, "status": "valid",
           "exit_status": 0, "cut_short": False, "notes": [],
           "source": "public thread, September 2026, table " + name[:2].upper(),
           "profile": {"engine": "aio", "block_bytes": 1 << 20, "threads": 160, "iodepth": 64,
                       "direct": True, "window_ns": WINDOW_NS, "windows": len(windows),
                       "cpus": cpus, "mem": "default" if cpus == "unpinned" else cpus, "cq": cqs,
                       "slab": "nfs_page", "instrument": instrument},
           "host": host, "files": [], "engine": {"name": "aio"}, "buffers": None,
           "windows": windows, "whole_run": None, "outstanding": None}
    (HERE / f"{name}.json").write_text(json.dumps(out, indent=1) + "\n")


def slug(word):
    return word.replace(":", "")


def main():
    for cpus, cqs, low, high in T1:
        rates = [low] if low == high else [low, high]
        record(f"t1-{slug(cpus)}-{slug(cqs)}", None, cpus, cqs,
               [window(i, r, {}, None) for i, r in enumerate(rates)])
    for cpus, (values, contended) in T2.items():
        w = window(0, None, dict(zip(T2_COUNTERS, values)), None)
        w["lock"] = {"available": True, "instrument": "perf lock", "contentions": None,
                     "by_caller": dict(zip(CALLERS, contended))}
        record(f"t2-{slug(cpus)}-node0", None, cpus, "node:0", [w])
    record("t2-node1-node1", None, "node:1", "node:1",
           [window(0, 46, {"free_fastpath": 119574437, "free_slowpath": 12127}, None)])
    for (run, cpus, cqs, instrument), (values, rate, idle, lock) in T3.items():
        w = window(0, rate, dict(zip(T3_COUNTERS, values)), idle)
        if lock:
            w["lock"] = {"available": True, "instrument": "perf lock", "contentions": lock[0],
                         "total_wait_ns": lock[1], "mean_wait_ns": lock[2], "by_caller": {}}
        record(f"t3-{run.lower()}-{instrument}", f"{run} {instrument}", cpus, cqs, [w], instrument)


if __name__ == "__main__":
    main()
