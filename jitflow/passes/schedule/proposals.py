"""Schedules of a nest that are worth a comparison: what is chosen, and what differs from that in one decision."""

from __future__ import annotations

from dataclasses import replace

from jitflow.errors import UserValueError
from jitflow.passes.schedule.joined import JoinedLoops
from jitflow.passes.schedule.legal import check_schedule
from jitflow.passes.schedule.target import Target
from jitflow.passes.schedule.text import ScheduleNames, print_schedule
from jitflow.passes.schedule.transform import with_lanes, with_tail
from jitflow.passes.schedule.tree import For, Schedule, When, walk_nodes

__all__ = ["proposals"]


def proposals(chosen: Schedule, loops: JoinedLoops, target: Target, names: ScheduleNames) -> dict[str, Schedule]:
    """Legal schedules with the same bits, by what sets them apart from the ``chosen`` one, which comes first."""
    found = {"as chosen": chosen}
    texts = {print_schedule(chosen, names)}
    for what, candidate in _candidates(chosen):
        text = print_schedule(candidate, names)
        if text in texts:
            continue
        texts.add(text)
        try:
            check_schedule(candidate, loops, target, names)
        except UserValueError:
            continue
        found[what] = candidate
    return found


def _candidates(chosen: Schedule) -> list[tuple[str, Schedule]]:
    bases = [("", chosen)]
    if isinstance(chosen.body[0], When):
        bases = [("in bands", replace(chosen, body=chosen.body[0].then)),
                 ("in tiles", replace(chosen, body=chosen.body[0].otherwise))]  # fmt: skip
    found = [(what, base) for what, base in bases if what]
    for what, base in bases:
        before = f"{what}, " if what else ""
        lanes = {node.step for node in walk_nodes(base.body) if isinstance(node, For) and node.how == "lanes"}
        found.append((f"{before}masks throughout", with_tail(base, "masked")))
        found.append((f"{before}tails apart", with_tail(base, "apart")))
        for step in sorted({factor * one // 2 for one in lanes for factor in (1, 4, 8)}):
            found.append((f"{before}{step} lanes", with_lanes(base, step)))
            found.append((f"{before}{step} lanes, masks throughout", with_tail(with_lanes(base, step), "masked")))
    return found
