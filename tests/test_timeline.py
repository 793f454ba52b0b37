"""Timelines: what a drawing shows of events, and the files that it becomes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from jitflow.timeline import Event, check_path, draw, save, svg_text

EVENTS = (
    Event("cpu:0", 2.0, 5.0, "call", kind="call"),
    Event("cpu:0", 2.5, 3.0, "a & b", "f.py:1", 2e6),
    Event("cpu:0 -> cpu:1", 3.0, 3.5, "transfer", kind="transfer"),
    Event("cpu:1", 2.0, 3.5, "recv", kind="wait", track="call 2"),
    Event("cpu:1", 3.5, 4.0, "c"),
)


def test_there_is_a_row_for_each_track_and_link() -> None:
    drawing = draw("title", EVENTS, ("cpu:0", "cpu:1", "cpu:2"))
    assert [row.name for row in drawing.rows] == ["cpu:0", "cpu:1", "cpu:1 call 2", "cpu:2", "cpu:0 -> cpu:1"]
    assert drawing.seconds == 3.0
    assert drawing.meanings == ("computes", "moves", "waits", "host work")
    call, kernel = drawing.rows[0].bars  # what is around others lies below
    assert (call.start, call.end) == (0.0, 3.0)
    assert kernel.told == "a & b f.py:1 2.000 MB, 500 ms to 1 s"
    assert all(0 <= tick <= 3.0 for tick in drawing.ticks)
    assert 3 <= len(drawing.ticks) <= 9


def test_a_picture_of_many_events_is_small_and_covers_them() -> None:
    many = [Event("cpu:0", 1e-6 * i, 1e-6 * i + 9e-7, "k") for i in range(100_000)]
    (row,) = draw("many", many).rows
    assert len(row.bars) <= 2
    assert row.bars[0].told.startswith("100000 of: k, 0 s to ")
    apart = [Event("cpu:0", float(i), i + 1e-4, "k") for i in range(100)]
    assert len(draw("apart", apart).rows[0].bars) == 100


def test_nothing_is_drawn_as_nothing() -> None:
    assert draw("", ()).rows == ()
    assert ElementTree.fromstring(svg_text(draw("idle", (), ("cpu:0",)))) is not None


def test_files_are_what_their_names_say(tmp_path: Path) -> None:
    save(tmp_path / "a.svg", "<title>", EVENTS)
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    assert len(root.findall("*[@class='bar']")) == len(EVENTS)
    save(tmp_path / "a.json", "title", EVENTS, arrows=[(EVENTS[2], EVENTS[3])], facts={"calls": 1})
    content = json.loads((tmp_path / "a.json").read_text())
    assert [one["ph"] for one in content["traceEvents"]].count("X") == len(EVENTS)
    assert content["otherData"] == {"calls": 1}
    pytest.importorskip("matplotlib")
    save(tmp_path / "a.png", "title", EVENTS)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_saved_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"ends in \.json, \.svg or \.png, got 'a\.jpg'"):
        check_path(tmp_path / "a.jpg")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        save(tmp_path / "no" / "a.svg", "title", EVENTS)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="need matplotlib") as caught:
        check_path(tmp_path / "a.png")
    assert "pip install 'jitflow[plot]'" in caught.value.__notes__[0]
