"""What numaload is meant to reach, and whether it does. A target is held against a ratio with its
interval, or against a figure that is exact or an upper bound."""

MET, NOT_MET, UNDECIDED, NOT_MEASURED = "met", "not met", "undecided", "not measured"


def verdict(result, limit, at_least):
    """result: (value, low, high); low and high are None where there was one round only. Undecided
    while the interval has the limit inside."""
    value, low, high = result
    if low is None:
        return UNDECIDED
    if at_least:
        return MET if low >= limit else NOT_MET if high < limit else UNDECIDED
    return MET if high <= limit else NOT_MET if low > limit else UNDECIDED


def exact(value):
    return None if value is None else (value, value, value)


class Targets:
    """Collects what the benches found; a target that no bench spoke of was not measured."""

    def __init__(self):
        self.rows = []

    def expect(self, what, result, limit, at_least=True, unit="", why=""):
        """why: says, where there is no result, what stood in the way."""
        self.rows.append((what, result, limit, at_least, unit, why))

    def table(self):
        """Head and rows of the table."""
        rows = []
        for what, result, limit, at_least, unit, why in self.rows:
            target = f"{'at least' if at_least else 'at most'} {limit:g}{unit}"
            if result is None:
                rows.append([what, target, "unavailable",
                             NOT_MEASURED + (f": {why}" if why else "")])
                continue
            value, low, high = result
            if low is None:
                found, note = f"{value:.3f}{unit}", " (one round: no interval)"
            elif low == value == high:
                found, note = f"{value:.4g}{unit}", ""
            else:
                found, note = f"{value:.3f} ({low:.3f} to {high:.3f}){unit}", ""
            rows.append([what, target, found, verdict(result, limit, at_least) + note])
        return ["target", "limit", "measured, 95 % interval", "verdict"], rows
