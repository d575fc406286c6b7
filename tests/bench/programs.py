"""The programs that are measured: each is called with a load and returns what it did as a dict
with ios_per_s, cpu_s (user and system time of the process), seconds (of the whole process), start_s
(what was not load; None where the program does not say) and rss_bytes; or None where it could not
run."""
import json
import os
import re
import subprocess
import tempfile
import time


class Load:
    def __init__(self, file, block, threads, depth, seconds, random=True):
        self.file, self.block, self.threads = file, block, threads
        self.depth, self.seconds, self.random = depth, seconds, random


def run(command, env=None):
    """Runs a command: exit status, stdout, stderr, CPU seconds, peak memory, wall seconds."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.monotonic()
        p = subprocess.Popen(command, stdout=out, stderr=err, env=env)
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - begin
        out.seek(0)
        err.seek(0)
        return (p.returncode, out.read().decode(errors="replace"),
                err.read().decode(errors="replace"), usage.ru_utime + usage.ru_stime,
                usage.ru_maxrss * 1024, wall)


def numaload(program, engine, load, *more):
    """One window of load.seconds after a short ramp, everything recorded as always."""
    ramp = min(0.5, load.seconds / 4)
    rc, out, err, cpu, rss, wall = run(
        [program, "run", "--path", load.file, "--engine", engine, "--json",
         "--rw", "randread" if load.random else "read", "--block", str(load.block),
         "--threads", str(load.threads), "--iodepth", str(load.depth),
         "--ramp", f"{int(ramp * 1000)}ms", "--window", f"{int(load.seconds * 1000)}ms", *more])
    if rc not in (0, 3):
        print(f"numaload {engine}: {err.strip()[-300:]}")
        return None
    record = json.loads(out)
    w = record["windows"]
    t = [x["throughput"] for x in w]
    ns = sum(x["window_ns"] for x in w)
    whole = record["whole_run"]
    return {"ios_per_s": sum(x["ios"] for x in t) / ns * 1e9, "cpu_s": cpu, "rss_bytes": rss,
            "seconds": wall, "start_s": wall - whole["window_ns"] / 1e9,
            "gib": whole["throughput"]["bytes"] / 2**30, "buffers": record["buffers"]["bytes"],
            "record": record}


def bare(program, mode, load, batch):
    rc, out, err, cpu, rss, wall = run([program, mode, load.file, str(load.block), str(load.depth),
                                        str(batch), str(load.threads), str(load.seconds)])
    if rc:
        print(f"bare_loop {mode}: {err.strip()}")
        return None
    r = json.loads(out)
    return {"ios_per_s": r["ios"] / r["seconds"], "cpu_s": cpu, "rss_bytes": rss, "seconds": wall,
            "start_s": r["start_s"], "gib": r["ios"] * load.block / 2**30}


FIO = {
    "fio io_uring": ["--ioengine=io_uring", "--fixedbufs", "--registerfiles", "--iodepth_batch=16",
                     "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=16"],
    "fio libaio": ["--ioengine=libaio", "--iodepth_batch=32", "--iodepth_batch_complete_min=1",
                   "--iodepth_batch_complete_max=32"],
}


def fio(kind, load):
    rc, out, err, cpu, rss, wall = run(
        ["fio", "--name=bench", f"--filename={load.file}", "--direct=1", "--readonly",
         "--rw=" + ("randread" if load.random else "read"), f"--bs={load.block}", "--thread",
         f"--numjobs={load.threads}", f"--iodepth={load.depth}", "--norandommap", "--time_based",
         f"--runtime={load.seconds}", "--group_reporting", "--output-format=json", *FIO[kind]])
    if rc:
        print(f"{kind}: {err.strip()[-300:]}")
        return None
    read = json.loads(out[out.index("{"):])["jobs"][0]["read"]
    return {"ios_per_s": read["iops"], "cpu_s": cpu, "rss_bytes": rss, "seconds": wall,
            "start_s": None, "gib": read["io_bytes"] / 2**30}


def elbencho(program, load):
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "result.csv")
        rc, _, err, cpu, rss, wall = run(
            [program, "-r", "-t", str(load.threads), "--iodepth", str(load.depth), "-b",
             str(load.block), "--direct", "--timelimit", str(max(1, int(load.seconds))),
             "--infloop", *(["--rand"] if load.random else []), "--csvfile", result, load.file])
        if rc and not os.path.exists(result):
            print(f"elbencho: {err.strip()[-300:]}")
            return None
        with open(result) as f:
            head, row = [line.strip().split(",") for line in f][:2]
        values = dict(zip(head, row))
        key = next(k for k in ("IOPS [last]", "IOPS [first]") if values.get(k))
        return {"ios_per_s": float(values[key]), "cpu_s": cpu, "rss_bytes": rss, "seconds": wall,
                "start_s": None, "gib": None}


def t_io_uring(program, load, aio):
    """fio's t/io_uring prints IOPS=... once a second; -a1 is libaio. It has no latency recording."""
    command = [program, f"-d{load.depth}", "-s32", "-c32", f"-b{load.block}", "-p0", "-O1",
               f"-n{load.threads}", f"-r{max(2, int(load.seconds))}"]
    command += ["-a1", "-F0", "-B0"] if aio else ["-F1", "-B1"]
    rc, out, err, cpu, rss, wall = run(command + [load.file])
    scale = {"": 1, "K": 1e3, "M": 1e6}
    values = [float(v) * scale[u] for v, u in re.findall(r"\bIOPS=([\d.]+)([KM]?)", out)]
    if not values:
        print(f"t/io_uring: {err.strip()[-300:]}")
        return None
    return {"ios_per_s": values[-1] if len(values) == 1 else sum(values[1:]) / len(values[1:]),
            "cpu_s": cpu, "rss_bytes": rss, "seconds": wall, "start_s": None, "gib": None}
