"""The colours of the kinds of nodes: what fills a box, and its border."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["COLOURS", "MEANINGS"]

COLOURS: Mapping[str, tuple[str, str]] = {
    "input": ("#ffffff", "#3b4350"),
    "result": ("#e4e7ec", "#3b4350"),
    "op": ("#dcebfb", "#5a92cf"),
    "reduction": ("#fde8cf", "#d99136"),
    "library": ("#eadff7", "#8f6bc4"),
    "storage": ("#daf1e0", "#4fa36a"),
    "view": ("#f1f4f7", "#a3acb8"),
    "check": ("#fbdfdf", "#cf5f5f"),
    "control": ("#fff6c9", "#c3a634"),
}

MEANINGS: Mapping[str, str] = {
    "op": "elementwise and others",
    "reduction": "reduction",
    "library": "library",
    "storage": "storage",
    "view": "view",
    "check": "check",
    "control": "region",
}
