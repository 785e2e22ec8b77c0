"""A comparison for people, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from timing_audit.runs.compare import CompareRow, Comparison
from timing_audit.runs.launches import ACCEPTED, CYCLE, PER_TOKEN

WORDS = {"cycle": "decode cycle", "verify": "target verify", "ms_per_token": "ms per token"}
MOST_DIFFERENCES = 12


def compare_text(found: Comparison) -> str:
    """The whole text."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Comparison) -> Iterator[str]:
    told = [f"{name.replace('speculative_', '')} {a} -> {b}" for name, a, b in found.differs]
    more = f" and {len(told) - MOST_DIFFERENCES} more" if len(told) > MOST_DIFFERENCES else ""
    yield f"differs: {', '.join(told[:MOST_DIFFERENCES])}{more}" if told else "differs: nothing that is recorded"
    sizes = ", ".join(str(size) for size in found.sizes[:8])
    yield f"{found.clock} time, within batch size {sizes} ({100 * found.common:.0f} % of the cycles have a counterpart)"
    yield ""
    a, b = (f"{name} ({len(side.launches)})" for name, side in (("A", found.a), ("B", found.b)))
    yield f"{'':<18}{a:>17}{b:>17}  {'difference':<32}{'p':>7}"
    for row in found.rows:
        yield _row(row)
    yield ""
    yield _unit(found)
    yield f"Verdict: {verdict(found)}."


def _row(row: CompareRow) -> str:
    name = WORDS.get(row.metric, row.metric.replace("_", " "))
    low, high = (f"{100 * value:+.1f}" for value in (row.difference.low, row.difference.high))
    told = f"{100 * row.difference.value:+.1f} % [{low}, {high}]" if row.shown else f"~ [{low}, {high}] %"
    mark = " WORSE" if row.shown and row.worse and row.metric in (CYCLE, PER_TOKEN, ACCEPTED) else ""
    p = f"{row.p:.3f}" if row.p is not None else "-"
    sides = [f"{value:.3f} ±{100 * spread:.1f} %" for value, spread in ((row.a, row.spread_a), (row.b, row.spread_b))]
    return f"{name:<18}{sides[0]:>17}{sides[1]:>17}  {told + mark:<32}{p:>7}"


def _unit(found: Comparison) -> str:
    lowest = f"the smallest p that could come out is {found.least_p:.3f}"
    if found.unit == "launch":
        return f"unit: the launch, exact permutation of their medians; {lowest}; stages corrected by Holm"
    return (
        f"unit: blocks of cycles, for want of 5 launches a side: launch-to-launch noise is not included; {lowest}; "
        "stages corrected by Holm"
    )


def verdict(found: Comparison) -> str:
    """One sentence."""
    rows = {row.metric: row for row in found.rows}
    row = rows.get(PER_TOKEN) or rows.get(CYCLE)
    if row is None:
        return "nothing could be compared"
    name = WORDS.get(row.metric, row.metric)
    if not row.shown:
        return f"no difference in {name} is shown"
    told = f"{name} is {abs(100 * row.difference.value):.1f} % {'higher' if row.difference.value > 0 else 'lower'} in B"
    cycle = rows.get(CYCLE)
    if row.metric == PER_TOKEN and cycle is not None and cycle.shown and cycle.worse != row.worse:
        way = "faster" if not cycle.worse else "slower"
        return f"{told}, although its cycle is {way}: the tokens per cycle decide"
    return told


def compare_json(found: Comparison) -> str:
    """The comparison as a document, schema 1."""
    document = {
        "schema": 1, "kind": "comparison", "clock": found.clock, "unit": found.unit,
        "launches": {"a": len(found.a.launches), "b": len(found.b.launches)},
        "differs": [{"name": name, "a": a, "b": b} for name, a, b in found.differs],
        "batch_sizes": list(found.sizes), "common_share": round(found.common, 6), "least_p": round(found.least_p, 6),
        "rows": [
            {"metric": row.metric, "unit": "tokens" if row.metric == ACCEPTED else "ms", "a": round(row.a, 6),
             "b": round(row.b, 6), "difference": round(row.difference.value, 6), "low": round(row.difference.low, 6),
             "high": round(row.difference.high, 6), "p": None if row.p is None else round(row.p, 6),
             "shown": row.shown, "worse": row.worse}
            for row in found.rows
        ],
        "verdict": verdict(found), "next": [],
    }  # fmt: skip
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
