"""The programs that are measured: each is called with a load and returns what it did as a dict
with ios_per_s, cpu_s (user and system time of the process), seconds (of the whole process), gib (what
it moved in all, None where it does not say), rss_bytes and buffers (bytes); or None where it could
not run."""
import csv
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

CACHE = os.path.join(os.environ.get("NUMALOAD_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "numaload"), "bench")

WARM_BEYOND = 256 << 20
WARM = """import mmap, sys
memory = mmap.mmap(-1, int(sys.argv[1]), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_HUGEPAGE)
memory.madvise(23)  # MADV_POPULATE_WRITE, Linux 5.14"""


class Load:
    def __init__(self, file, block, threads, depth, seconds, random=True):
        self.file, self.block, self.threads = file, block, threads
        self.depth, self.seconds, self.random = depth, seconds, random

    def buffers(self):
        return self.threads * self.depth * self.block


def stop(process):
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def run(command, env=None):
    """Runs a command: exit status, stdout, stderr, CPU seconds, peak memory, wall seconds."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.monotonic()
        p = subprocess.Popen(command, stdout=out, stderr=err, env=env)
        try:
            _, status, usage = os.wait4(p.pid, 0)
        except BaseException:
            stop(p)
            raise
        p.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - begin
        out.seek(0)
        err.seek(0)
        return (p.returncode, out.read().decode(errors="replace"),
                err.read().decode(errors="replace"), usage.ru_utime + usage.ru_stime,
                usage.ru_maxrss * 1024, wall)


def result(load, ios_per_s, gib, cpu, rss, wall, **more):
    return {"ios_per_s": ios_per_s, "gib": gib, "cpu_s": cpu, "rss_bytes": rss, "seconds": wall,
            "buffers": load.buffers(), **more}


def failed(name, err):
    print(f"{name}: {err.strip()[-300:]}", file=sys.stderr)


# ---- numaload and the bare loops ----

def numaload_command(program, engine, load, *more):
    """One window of load.seconds after a short ramp, everything recorded as always."""
    ramp = min(0.5, load.seconds / 4)
    return [program, "run", "--path", load.file, "--engine", engine, "--json",
            "--rw", "randread" if load.random else "read", "--block", str(load.block),
            "--threads", str(load.threads), "--iodepth", str(load.depth),
            "--ramp", f"{int(ramp * 1000)}ms", "--window", f"{int(load.seconds * 1000)}ms", *more]


def numaload(program, engine, load, *more):
    rc, out, err, cpu, rss, wall = run(numaload_command(program, engine, load, *more))
    if rc not in (0, 3):
        return failed(f"numaload {engine}", err)
    record = json.loads(out)
    w = record["windows"]
    ns = sum(x["window_ns"] for x in w)
    return result(load, sum(x["throughput"]["ios"] for x in w) / ns * 1e9,
                  record["whole_run"]["throughput"]["bytes"] / 2**30, cpu, rss, wall,
                  record=record)


def bare_command(program, mode, load, batch):
    return [program, mode, load.file, str(load.block), str(load.depth), str(batch),
            str(load.threads), str(load.seconds)]


def bare(program, mode, load, batch):
    rc, out, err, cpu, rss, wall = run(bare_command(program, mode, load, batch))
    if rc:
        return failed(f"bare_loop {mode}", err)
    r = json.loads(out)
    return result(load, r["ios"] / r["seconds"], r["all_ios"] * load.block / 2**30, cpu, rss, wall)


# ---- fio ----

FIO = {
    "fio io_uring": ["--ioengine=io_uring", "--fixedbufs", "--registerfiles", "--iodepth_batch=16",
                     "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=16"],
    "fio libaio": ["--ioengine=libaio", "--iodepth_batch=32", "--iodepth_batch_complete_min=1",
                   "--iodepth_batch_complete_max=32"],
}


def fio_command(kind, load):
    return ["fio", "--name=bench", f"--filename={load.file}", "--direct=1", "--readonly",
            "--rw=" + ("randread" if load.random else "read"), f"--bs={load.block}", "--thread",
            f"--numjobs={load.threads}", f"--iodepth={load.depth}", "--norandommap",
            "--time_based", f"--runtime={load.seconds}", "--group_reporting",
            "--output-format=json", *FIO[kind]]


# glibc then takes huge pages and writes to what it hands out (mallopt(3), M_PERTURB): fio's buffers
# are faulted in before its clock starts, as everybody else's are.
FIO_ENV = {**os.environ, "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.perturb=1"}


def parse_fio(text, wall):
    """I/Os per second and GiB. fio may print a line before its document. Its rate is the sum of its
    threads' rates, each over that thread's own time; when it took far longer than these, they did
    not run at the same time, and what counts is what it read in all the time it took."""
    read = json.loads(text[text.index("{"):])["jobs"][0]["read"]
    together = wall < 2 * read["runtime"] / 1000 + 5
    return (read["iops"] if together else read["total_ios"] / wall), read["io_bytes"] / 2**30


def fio(kind, load):
    rc, out, err, cpu, rss, wall = run(fio_command(kind, load), FIO_ENV)
    if rc:
        return failed(kind, err)
    return result(load, *parse_fio(out, wall), cpu, rss, wall)


# ---- elbencho ----

def elbencho_command(program, load, csvfile):
    return [program, "-r", "-t", str(load.threads), "--iodepth", str(load.depth), "-b",
            str(load.block), "--direct", "--timelimit", str(max(1, int(load.seconds))),
            "--infloop", *(["--rand"] if load.random else []), "--csvfile", csvfile, load.file]


def parse_elbencho(text):
    """I/Os per second and GiB of the READ phase in a results file: the columns of when the last
    thread was done, or of when the first was where those are empty."""
    rows = [r for r in csv.DictReader(io.StringIO(text)) if r.get("operation") == "READ"]
    if not rows:
        return None

    def of(column):
        return next((float(rows[-1][f"{column} [{done}]"]) for done in ("last", "first")
                     if rows[-1].get(f"{column} [{done}]")), None)
    mib = of("MiB")
    return of("IOPS"), None if mib is None else mib / 1024


def elbencho(program, load):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.csv")
        rc, _, err, cpu, rss, wall = run(elbencho_command(program, load, path))
        found = None
        if os.path.exists(path):
            with open(path) as f:
                found = parse_elbencho(f.read())
        if not found or not found[0]:
            return failed("elbencho", f"exit status {rc}: {err}")
        return result(load, *found, cpu, rss, wall)


# ---- fio's t/io_uring ----

def find_t_io_uring():
    """Where get_t_io_uring puts it; None: not there."""
    path = os.path.join(CACHE, "t_io_uring")
    return path if os.access(path, os.X_OK) else None


def t_io_uring_command(program, load, aio):
    """Its best: batches of 32, fixed buffers and registered files; no polling, since no other
    program polls, and no latency recording, which it has not on by default. The first second is the
    start and the last is not printed, so two more are asked for."""
    command = [program, f"-d{load.depth}", "-s32", "-c32", f"-b{load.block}", "-p0", "-O1",
               f"-R{int(load.random)}", f"-n{load.threads}", f"-r{max(1, int(load.seconds)) + 2}"]
    return command + (["-a1", "-F0", "-B0"] if aio else ["-a0", "-F1", "-B1"]) + [load.file]


def parse_t_io_uring(text):
    """I/Os per second: the mean over the lines of a second each, without the first."""
    scale = {"": 1, "K": 1e3, "M": 1e6}
    seconds = [float(v) * scale[u]
               for v, u in re.findall(r"^IOPS=([\d.]+)([KM]?),", text, re.MULTILINE)]
    return statistics.fmean(seconds[1:]) if len(seconds) > 1 else None


def t_io_uring(program, load, aio):
    rc, out, err, cpu, rss, wall = run(t_io_uring_command(program, load, aio))
    ios_per_s = parse_t_io_uring(out)
    if not ios_per_s:
        return failed("t/io_uring", f"exit status {rc}: {err or out}")
    return result(load, ios_per_s, None, cpu, rss, wall)


# ---- start-up ----

def warmed(load, call):
    """A virtual machine gives memory that is free back to its host: who touches it next waits for
    the host, many times as long as for its own kernel. Touched and freed just before, it is there.
    In a process of its own: the peak memory of this one would be that of the programs it starts."""
    subprocess.run([sys.executable, "-c", WARM, str(load.buffers() + WARM_BEYOND)], check=True)
    return call()


def start(first_io, load, command):
    """Seconds from the launch of a command to its first I/O and to that of its last thread, as
    first_io sees them: the same way for every program. None where it did not get there."""
    rc, out, err, _, _, _ = warmed(load, lambda: run([first_io, str(load.threads), *command]))
    if rc:
        return failed(command[0], err)
    return json.loads(out)
