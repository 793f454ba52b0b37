"""A timeline as an SVG document: what is computed where the pointer is."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from jitflow.timeline.drawing import COLOURS, Drawing, time_text

__all__ = ["svg_text"]

_WIDTH, _ROW, _TOP, _FOOT = 960, 30, 30, 54
_LETTER = 7.2
_STYLE = """
  text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1f2630 }
  .small { font-size: 10px; fill: #5b6573 }
  .grid { stroke: #e4e7ec }
"""


def svg_text(drawing: Drawing) -> str:
    """The document, which any browser shows."""
    left = 20 + _LETTER * max((len(row.name) for row in drawing.rows), default=0)
    bottom = _TOP + _ROW * len(drawing.rows)
    scale = _WIDTH / drawing.seconds if drawing.seconds else 0.0
    width, height = left + _WIDTH + 40, bottom + _FOOT
    sizes = f'width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {sizes}>',
            f"<style>{_STYLE}</style>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            f'<text x="10" y="18">{escape(drawing.title)}</text>',
            *_axis(drawing, left, bottom, scale),
            *_rows(drawing, left, scale),
            *_legend(drawing, left, bottom + 40),
            "</svg>\n",
        ]
    )


def _axis(drawing: Drawing, left: float, bottom: int, scale: float) -> Iterator[str]:
    for tick in drawing.ticks:
        x = left + tick * scale
        yield f'<path class="grid" d="M{x:.1f} {_TOP}V{bottom + 4}"/>'
        yield f'<text class="small" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{time_text(tick)}</text>'


def _rows(drawing: Drawing, left: float, scale: float) -> Iterator[str]:
    for number, row in enumerate(drawing.rows):
        y = _TOP + number * _ROW
        yield f'<text x="10" y="{y + 19}">{escape(row.name)}</text>'
        for bar in row.bars:
            length = max(0.4, (bar.end - bar.start) * scale)
            yield (
                f'<rect class="bar" x="{left + bar.start * scale:.2f}" y="{y + 4}" width="{length:.2f}" '
                f'height="{_ROW - 8}" fill="{COLOURS[bar.meaning]}" stroke="#ffffff" stroke-width="0.3">'
                f"<title>{escape(bar.told)}</title></rect>"
            )


def _legend(drawing: Drawing, x: float, y: int) -> Iterator[str]:
    for meaning in drawing.meanings:
        yield f'<rect x="{x:.1f}" y="{y - 9}" width="10" height="10" fill="{COLOURS[meaning]}"/>'
        yield f'<text class="small" x="{x + 15:.1f}" y="{y}">{meaning}</text>'
        x += 36 + 6.2 * len(meaning)
