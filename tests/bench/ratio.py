"""Interleaved rounds of several programs, and ratios of two of them with an interval."""
import math
import statistics
import sys

# Student's t, two-sided 95 %, by degrees of freedom; beyond the table within 0.1 %.
T95 = [0, 12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
       2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086]


def interleave(contestants, rounds):
    """{name: call} -> {name: [result of each round]}; every other round runs backwards."""
    results = {name: [] for name in contestants}
    for i in range(rounds):
        names = list(contestants)
        for name in names if i % 2 == 0 else reversed(names):
            print(f"  round {i + 1} of {rounds}: {name}", file=sys.stderr, flush=True)
            results[name].append(contestants[name]())
    return results


def interval(values):
    """Arithmetic mean of the values that are there and its 95 % interval (None, None for one)."""
    values = [v for v in values if v is not None]
    if not values:
        return None
    mean, n = statistics.fmean(values), len(values)
    if n == 1:
        return mean, None, None
    t = T95[n - 1] if n <= len(T95) else 1.96 + 2.5 / (n - 1)
    half = t * statistics.stdev(values) / math.sqrt(n)
    return mean, mean - half, mean + half


def signed_rank_bound(n):
    """The largest sum of ranks that Wilcoxon's signed-rank test of n pairs rejects at 95 %, two-sided;
    -1: there is none."""
    ways = [1]  # of each sum, over all subsets of the ranks 1..n
    for rank in range(1, n + 1):
        longer = ways + [0] * rank
        for at, count in enumerate(ways):
            longer[at + rank] += count
        ways = longer
    total = 0
    for bound, count in enumerate(ways):
        total += count
        if total > 0.025 * 2**n:
            return bound - 1


def middle(values):
    """Hodges' and Lehmann's estimate, the median of the means of all pairs, and the interval that
    belongs to Wilcoxon's signed-rank test: a few rounds that a busy machine spoilt do not count."""
    pairs = sorted((x + y) / 2 for i, x in enumerate(values) for y in values[i:])
    bound = signed_rank_bound(len(values))
    return statistics.median(pairs), pairs[bound], pairs[-1 - bound]


def ratio(a, b):
    """a[i] / b[i] over the rounds and its 95 % interval; rounds that lack a value are left out. Noise
    that both sides of a round share cancels; the rest shows in the interval. Fewer than 6 rounds are
    too few for `middle`: then the geometric mean and Student's interval."""
    logs = [math.log(x / y) for x, y in zip(a, b) if x and y]
    found = middle(logs) if len(logs) >= 6 else interval(logs)
    return found and tuple(None if v is None else math.exp(v) for v in found)


def show(r):
    if r is None:
        return "unavailable"
    if r[1] is None:
        return f"{r[0]:.3f} (one round: no interval)"
    return f"{r[0]:.3f} ({r[1]:.3f} to {r[2]:.3f})"


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None
