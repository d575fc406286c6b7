"""Ratios of two programs from interleaved rounds, with an interval."""
import math
import statistics

# Student's t, two-sided 95 %, by degrees of freedom; beyond the table the normal value is near.
T95 = [0, 12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
       2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086]


def ratio(a, b):
    """Geometric mean of a[i] / b[i] and its 95 % interval; rounds that lack a value are left out.
    Noise that both sides of a round share cancels; the rest shows in the interval."""
    logs = [math.log(x / y) for x, y in zip(a, b) if x and y]
    if not logs:
        return None
    mean = statistics.fmean(logs)
    n = len(logs)
    if n == 1:
        return math.exp(mean), None, None
    t = T95[n - 1] if n <= len(T95) else 1.96
    half = t * statistics.stdev(logs) / math.sqrt(n)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def show(r):
    if r is None:
        return "unavailable"
    if r[1] is None:
        return f"{r[0]:.3f} (one round: no interval)"
    return f"{r[0]:.3f} ({r[1]:.3f} to {r[2]:.3f})"


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None
