"""What a cache on disk would store holds no address of this process."""

import re

import numpy as np

from jitflow.backends.llvm import compile_program
from jitflow.backends.llvm.engine import ENGINE
from jitflow.ir.dtypes import F64, I32
from jitflow.ir.types import Buffer
from jitflow.runtime.native.symbols import symbol_address
from tests.backends.programs import INDEX, host, kernel, mapping, run
from tests.backends.test_control import nested_check
from tests.backends.test_host import carrying


def inner_product(kit):
    x, result = (kit.make("argument", slot=slot, types=[Buffer(F64)]) for slot in (0, 1))
    one = kit.constant(1)
    kit.add("library", kit.make("argument", slot=2, types=[INDEX]), x, one, x, one, result, symbol="ddot")


PROGRAMS = [
    host(carrying),
    host(inner_product),
    mapping(lambda kit, x: kit.make("arctan", x), [F64], F64, 8),
    host(lambda kit: None, kernel([Buffer(I32), INDEX], nested_check)),
]


def test_the_text_holds_no_absolute_address():
    limits = {(1 << 63) - 1, 1 << 63}
    for program in PROGRAMS:
        text = compile_program(program).text
        assert "inttoptr" not in text
        numbers = {int(digits) for digits in re.findall(r"(?<![\w.])\d+(?![\w.])", text)}
        assert not {number for number in numbers if number >= 1 << 32} - limits


def test_the_object_code_holds_no_address_of_a_library():
    executable = compile_program(host(inner_product))
    for address in (symbol_address("ddot"), executable.address()):
        assert all(address.to_bytes(8, "little") not in code for code in executable.object_code)


def test_the_same_program_gives_the_same_object_code():
    for program in PROGRAMS:
        assert compile_program(program).object_code == compile_program(program).object_code


def test_object_code_can_be_linked_again():
    executable = compile_program(host(inner_product))
    with ENGINE.lock:
        again = ENGINE.link(executable.object_code, ("run",))
    assert again.addresses["run"] != executable.address()
    executable._linked = again
    x, result = np.arange(4.0), np.zeros(1)
    run(executable, [x, result, 4], symbols=[symbol_address("ddot")])
    assert result[0] == 14
