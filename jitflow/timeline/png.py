"""A timeline as a PNG picture; this is what matplotlib is for."""

from __future__ import annotations

from pathlib import Path

from jitflow.timeline.drawing import COLOURS, Drawing, time_text

__all__ = ["write_png"]


def write_png(drawing: Drawing, path: Path) -> None:
    """Write the picture, without a screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    figure = Figure(figsize=(11, 1.4 + 0.4 * len(drawing.rows)), layout="constrained", dpi=120)
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for number, row in enumerate(drawing.rows):
        for bar in row.bars:
            place = [(bar.start, bar.end - bar.start)]
            axes.broken_barh(
                place, (number - 0.37, 0.74), facecolors=COLOURS[bar.meaning], edgecolor="white", linewidth=0.3
            )
    axes.set_title(drawing.title, loc="left", fontsize=10)
    axes.set_yticks(range(len(drawing.rows)), [row.name for row in drawing.rows])
    axes.set_ylim(len(drawing.rows) - 0.5, -0.5)
    axes.set_xlim(0, drawing.seconds or 1)
    axes.set_xticks(drawing.ticks, [time_text(tick) for tick in drawing.ticks])
    axes.spines[["top", "right"]].set_visible(False)
    handles = [Patch(color=COLOURS[meaning], label=meaning) for meaning in drawing.meanings]
    if handles:
        figure.legend(handles=handles, loc="outside lower right", ncols=len(handles), fontsize=8, frameon=False)
    figure.savefig(path)
