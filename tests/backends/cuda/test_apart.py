"""Which pointers of kernels are restricted."""

from __future__ import annotations

from jitflow.backends.cuda.apart import restricted
from jitflow.ir.parser import parse

KERNEL = """kernel @k(%a: buffer f32, %b: buffer f32, %out: buffer f32) {
  %0: index[0] = size {dim=0}
  %x: f32 = read %a, %0 {lanes=0}
  %y: f32 = read %b, %0 {lanes=0}
  %z: f32 = add %x, %y
  write %out, %0, %z
  yield
}
"""


def apart(body: str) -> list[str]:
    """The names of the parameters that lie apart, for what a host program does with two arrays of its caller."""
    program = parse(f"""host @f(%x: buffer f32, %y: buffer f32, %n: index) {{
  %0: index[0] = size {{dim=0}}
  %new: buffer f32 = alloc %n {{dtype=f32}}
  %other: buffer f32 = alloc %n {{dtype=f32}}
  {body}
  yield
}}
{KERNEL}""")
    return sorted(str(parameter.name) for parameter in restricted(program)["k"])


def test_new_memory_lies_apart_from_all_else() -> None:
    assert apart('launch %x, %y, %new {kernel="k"}') == ["a", "b", "out"]
    assert apart('launch %x, %x, %new {kernel="k"}') == ["a", "b", "out"]


def test_what_the_caller_gives_may_overlap() -> None:
    assert apart('launch %x, %new, %y {kernel="k"}') == ["b"]


def test_pieces_of_one_block_may_overlap() -> None:
    piece = "%piece: buffer f32 = offset %new, %n\n"
    assert apart(piece + 'launch %piece, %other, %new {kernel="k"}') == ["b"]


def test_every_launch_counts() -> None:
    both = 'launch %x, %y, %new {kernel="k"}\nlaunch %new, %y, %new {kernel="k"}'
    assert apart(both) == ["b"]


def test_memory_with_another_name_is_not_known() -> None:
    loop = """%last: buffer f32 = for %0, %n, %n, %new (%i: index, %one: buffer f32) {
      launch %one, %y, %new {kernel="k"}
      yield %other
    }"""
    assert apart(loop) == []
