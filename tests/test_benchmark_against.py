"""The benchmark of this checkout beside another commit."""

from __future__ import annotations

from benchmarks.against import Comparison
from benchmarks.against_worker import answer


def test_what_is_slower_in_all_rounds_is_lost() -> None:
    def compared(*this: float) -> Comparison:
        return Comparison("call", "one", {"other": [1.0, 1.0, 1.0], "this": [*this], "other again": [1.0, 2.0, 0.5]})

    assert compared(1.1, 1.2, 1.06).is_lost
    assert not compared(1.1, 1.2, 1.05).is_lost
    assert compared(2.0, 4.0, 8.0).ratios() == [0.5, 0.25, 0.125]
    assert compared(2.0, 4.0, 8.0).ratios("other again") == [1.0, 0.5, 2.0]


def test_a_worker_measures_what_it_is_asked_for() -> None:
    assert ["call", "heat_1d"] in [[*case] for case in answer("cases", "")["found"]]
    for kind in ("call", "first call", "front"):
        assert 0 < answer(kind, "heat_1d")["found"] < 60
    assert answer("call", "no program")["error"].startswith("KeyError")
