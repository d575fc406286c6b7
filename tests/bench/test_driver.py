#!/usr/bin/python3
"""The functions of the bench driver on texts of known figures, and its adapters on programs that
write what their documentation says. Nothing is timed."""
import json
import math
import os
import stat
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs  # noqa: E402
import ratio  # noqa: E402
import targets  # noqa: E402


class Ratio(unittest.TestCase):
    def test_equal_sides(self):
        self.assertEqual(ratio.ratio([2, 3, 5], [2, 3, 5]), (1, 1, 1))

    def test_noise_of_a_round_cancels(self):
        mean, low, high = ratio.ratio([100, 50, 200], [50, 25, 100])
        for value in (mean, low, high):
            self.assertAlmostEqual(value, 2)

    def test_interval(self):
        """Logs 0, 1, 2: mean 1, deviation 1, t of 2 degrees 4.303."""
        mean, low, high = ratio.ratio([1, math.e, math.e**2], [1, 1, 1])
        half = 4.303 / math.sqrt(3)
        self.assertAlmostEqual(mean, math.e)
        self.assertAlmostEqual(low, math.exp(1 - half))
        self.assertAlmostEqual(high, math.exp(1 + half))

    def test_interval_of_many(self):
        """t of 30 degrees is 2.042, of 60 2.000."""
        for n, t in ((31, 2.042), (61, 2.000)):
            values = [float(i) for i in range(n)]
            mean, low, high = ratio.interval(values)
            half = t * statistics.stdev(values) / math.sqrt(n)
            self.assertAlmostEqual(mean, (n - 1) / 2)
            self.assertAlmostEqual((high - low) / 2, half, delta=0.002 * half)
        self.assertEqual(ratio.interval([3, None]), (3, None, None))
        self.assertIsNone(ratio.interval([]))

    def test_signed_rank_bound(self):
        """Wilcoxon's table, 5 % two-sided."""
        for n, bound in ((5, -1), (6, 0), (7, 2), (8, 3), (10, 8), (20, 52), (25, 89), (50, 434)):
            self.assertEqual(ratio.signed_rank_bound(n), bound, n)

    def test_spoilt_round_does_not_count(self):
        """Logs 1..9 and a wild one: 55 means of pairs, the 28th is the median, 9th and 47th the
        bounds (n = 10: 8)."""
        logs = [1, 2, 3, 4, 5, 6, 7, 8, 9, 100]
        pairs = sorted((x + y) / 2 for i, x in enumerate(logs) for y in logs[i:])
        mean, low, high = ratio.ratio([math.exp(v) for v in logs], [1] * 10)
        self.assertAlmostEqual(math.log(mean), pairs[27])
        self.assertAlmostEqual(math.log(low), pairs[8])
        self.assertAlmostEqual(math.log(high), pairs[46])
        self.assertLess(math.log(mean), 6.5)

    def test_rounds_without_a_value_are_left_out(self):
        self.assertEqual(ratio.ratio([1, None, 4], [1, 2, None]), (1, None, None))
        self.assertIsNone(ratio.ratio([None], [1]))

    def test_show(self):
        self.assertEqual(ratio.show(None), "unavailable")
        self.assertEqual(ratio.show((0.5, None, None)), "0.500 (one round: no interval)")
        self.assertEqual(ratio.show((1, 0.9, 1.1)), "1.000 (0.900 to 1.100)")

    def test_median(self):
        self.assertEqual(ratio.median([3, None, 1, 2]), 2)
        self.assertIsNone(ratio.median([None]))


class Verdicts(unittest.TestCase):
    def test_verdict(self):
        for result, limit, at_least, want in (
                ((1.0, 0.98, 1.02), 0.97, True, targets.MET),
                ((0.9, 0.88, 0.92), 0.97, True, targets.NOT_MET),
                ((1.0, 0.96, 1.04), 0.97, True, targets.UNDECIDED),
                ((1.0, None, None), 0.97, True, targets.UNDECIDED),
                ((0.05, 0.04, 0.06), 0.1, False, targets.MET),
                ((0.5, 0.4, 0.6), 0.1, False, targets.NOT_MET),
                ((0.1, 0.09, 0.11), 0.1, False, targets.UNDECIDED),
                ((120, 120, 120), 120, False, targets.MET)):
            self.assertEqual(targets.verdict(result, limit, at_least), want, (result, limit))

    def test_table(self):
        t = targets.Targets()
        t.expect("a", None, 1.3, why="elbencho was not given")
        t.expect("b", (1.1, 1.06, 1.14), 1.05)
        t.expect("c", targets.exact(135), 120, False, " instructions")
        t.expect("d", (1.1, None, None), 1.05)
        _, rows = t.table()
        self.assertEqual(rows, [
            ["a", "at least 1.3", "unavailable", "not measured: elbencho was not given"],
            ["b", "at least 1.05", "1.100 (1.060 to 1.140)", "met"],
            ["c", "at most 120 instructions", "135 instructions", "not met"],
            ["d", "at least 1.05", "1.100", "undecided (one round: no interval)"]])


# As t/io_uring of fio 3.33 prints it.
T_IO_URING = """submitter=0, tid=12, file=/x/data, node=-1
polled=0, fixedbufs=1/0, register_files=1, buffered=0, QD=64
Engine=io_uring, sq_ring=64, cq_ring=64
IOPS=91712, BW=358MiB/s, IOS/call=32/31
IOPS=420.00K, BW=1640MiB/s, IOS/call=32/32
IOPS=1.10M, BW=4.29GiB/s, IOS/call=32/32
Exiting on timeout
Maximum IOPS=1.10M
"""

ELBENCHO_COLUMNS = [
    "ISO date", "label", "path type", "paths", "hosts", "threads", "dirs", "files", "file size",
    "block size", "direct IO", "random", "random aligned", "IO depth", "shared paths", "truncate",
    "operation", "time ms [first]", "time ms [last]", "CPU% [first]", "CPU% [last]",
    "entries/s [first]", "entries/s [last]", "IOPS [first]", "IOPS [last]", "MiB/s [first]",
    "MiB/s [last]", "entries [first]", "entries [last]", "MiB [first]", "MiB [last]", "version",
    "command"]


def elbencho_csv(**values):
    values = {"operation": "READ", "command": '"elbencho -r a,b"', **values}
    return (",".join(ELBENCHO_COLUMNS) + "\n" +
            ",".join(str(values.get(c, "")) for c in ELBENCHO_COLUMNS) + "\n")


class Parsers(unittest.TestCase):
    def test_t_io_uring(self):
        self.assertAlmostEqual(programs.parse_t_io_uring(T_IO_URING), 760000)
        self.assertIsNone(programs.parse_t_io_uring("open: No such file or directory\n"))
        self.assertIsNone(programs.parse_t_io_uring("IOPS=91712, BW=358MiB/s\n"))

    def test_elbencho(self):
        text = elbencho_csv(**{"IOPS [first]": 1000, "IOPS [last]": 900, "MiB [first]": 1024,
                               "MiB [last]": 2048})
        self.assertEqual(programs.parse_elbencho(text), (900, 2))
        text = elbencho_csv(**{"IOPS [first]": 1000, "MiB [first]": 1024})
        self.assertEqual(programs.parse_elbencho(text), (1000, 1))
        self.assertIsNone(programs.parse_elbencho(elbencho_csv(operation="WRITE")))
        self.assertIsNone(programs.parse_elbencho(""))

    def test_fio(self):
        text = "fio: a note\n" + json.dumps({"jobs": [{"read": {
            "iops": 1234.5, "io_bytes": 3 << 30, "runtime": 5000, "total_ios": 6000}}]})
        self.assertEqual(programs.parse_fio(text, 6.5), (1234.5, 3))

    def test_fio_whose_threads_did_not_run_together(self):
        """273 GB in 77 s are 3.6 GB/s, whatever the sum of the threads' rates."""
        text = json.dumps({"jobs": [{"read": {
            "iops": 46930, "io_bytes": 273 << 30, "runtime": 5556, "total_ios": 273 << 10}}]})
        self.assertEqual(programs.parse_fio(text, 77), (273 * 1024 / 77, 273))


class Fakes(unittest.TestCase):
    """Programs of the peers' names that check their command line."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.load = programs.Load("/x/data", 4096, 3, 64, 2)

    def fake(self, body):
        path = os.path.join(self.folder.name, "fake")
        with open(path, "w") as f:
            f.write("#!/usr/bin/python3\nimport sys\n" + body)
        os.chmod(path, stat.S_IRWXU)
        return path

    def test_elbencho(self):
        text = elbencho_csv(**{"IOPS [last]": 348000, "MiB [last]": 512})
        program = self.fake(f"""
import argparse
p = argparse.ArgumentParser()
for name, kind in (("-t", int), ("--iodepth", int), ("-b", int), ("--timelimit", int)):
    p.add_argument(name, type=kind, required=True)
for name in ("-r", "--direct", "--infloop", "--rand"):
    p.add_argument(name, action="store_true", required=True)
p.add_argument("--csvfile", required=True)
p.add_argument("path")
a = p.parse_args()
assert (a.t, a.iodepth, a.b, a.timelimit, a.path) == (3, 64, 4096, 2, "/x/data"), a
open(a.csvfile, "w").write({text!r})
""")
        r = programs.elbencho(program, self.load)
        self.assertEqual((r["ios_per_s"], r["gib"]), (348000, 0.5))
        self.assertEqual(r["buffers"], 3 * 64 * 4096)

    def test_elbencho_that_fails(self):
        self.assertIsNone(programs.elbencho(self.fake("sys.exit('no such file')"), self.load))

    def test_t_io_uring(self):
        for aio in (True, False):
            program = self.fake(f"""
import getopt
o, files = getopt.getopt(sys.argv[1:], "d:s:c:b:p:B:D:F:n:O:N:t:T:r:R:a:S:X:P:u:")
o = dict(o)
assert files == ["/x/data"], files
assert (o["-d"], o["-b"], o["-n"], o["-r"]) == ("64", "4096", "3", "4"), o
assert o["-p"] == "0" and o["-O"] == "1" and o["-R"] == "1", o
assert o["-a"] == {str(int(aio))!r} and o["-F"] == o["-B"] == {str(int(not aio))!r}, o
print({T_IO_URING!r})
""")
            r = programs.t_io_uring(program, self.load, aio)
            self.assertAlmostEqual(r["ios_per_s"], 760000)
            self.assertIsNone(r["gib"])

    def test_nothing_is_left_behind(self):
        """A signal ends the program that runs and takes the file of data away."""
        started = os.path.join(self.folder.name, "started")
        program = self.fake(f"""
import os, time
path = sys.argv[sys.argv.index("--path") + 1]
if sys.argv[1] == "prepare":
    open(path, "w").close()
else:
    open({started!r} + ".part", "w").write(f"{{os.getpid()}} {{path}}")
    os.rename({started!r} + ".part", {started!r})
    time.sleep(600)
""")
        bench = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bench")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            p = subprocess.Popen([bench, "batch", "--numaload", program, "--bench-build", program,
                                  "--bare-loop", program], stderr=subprocess.DEVNULL)
            until = time.monotonic() + 60
            while not os.path.exists(started) and time.monotonic() < until:
                time.sleep(0.05)
            p.send_signal(number)
            self.assertEqual(p.wait(60), 128 + number)
            with open(started) as f:
                pid, path = f.read().split()
            self.assertFalse(os.path.exists(os.path.dirname(path)), path)
            with self.assertRaises(ProcessLookupError):
                os.kill(int(pid), 0)
            os.remove(started)


if __name__ == "__main__":
    unittest.main()
