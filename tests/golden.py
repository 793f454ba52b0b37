"""Golden files: functions before and after passes, as text.

A file holds sections, each a title, the function before, ``->`` and the function after::

    ;; add_zero: simplify dce
    func @f(%x: i32[n]) {
      ...
    }
    ->
    func @f(%x: i32[n]) {
      yield %x
    }

The title names what is tested, and the passes that run. `pytest -n0 --bless tests/passes` rewrites what comes after the
arrows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Section:
    title: str
    before: str
    after: str

    @property
    def name(self) -> str:
        return self.title.partition(":")[0].strip()

    @property
    def passes(self) -> list[str]:
        return self.title.partition(":")[2].split()


def read_sections(path: Path) -> dict[str, Section]:
    """The sections of a file by name."""
    sections: dict[str, Section] = {}
    for chunk in path.read_text().split(";; ")[1:]:
        title, _, body = chunk.partition("\n")
        before, _, after = body.partition("->\n")
        section = Section(title.strip(), before.strip() + "\n", after.strip() + "\n")
        assert section.name not in sections, f"{path.name}: {section.name} occurs twice"
        sections[section.name] = section
    return sections


def write_sections(path: Path, sections: dict[str, Section]) -> None:
    texts = [f";; {section.title}\n{section.before}->\n{section.after}" for section in sections.values()]
    path.write_text("\n".join(texts))
