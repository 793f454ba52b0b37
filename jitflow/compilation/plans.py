"""From what was traced and where lowering put the results, to the plan that the entries carry out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from jitflow.errors import CompilerBug
from jitflow.frontend.entry.function import TracedFunction
from jitflow.frontend.entry.result_tree import Chosen, Computed, Group, ResultTree, leaves_of, repeated
from jitflow.ir.types import Scalar, Variable
from jitflow.machines.hardware import is_gpu
from jitflow.passes.lower import Lowered, LoweredParts, PlaceSource, ResultPlace
from jitflow.runtime.entry.plan import (
    ConstantObject,
    Container,
    NewArray,
    NumpyScalar,
    ObjectLeaf,
    OneOf,
    Option,
    Plan,
    PythonScalar,
    Remade,
    Result,
    SameObject,
    SameResult,
    Shared,
    Use,
    ViewOfArgument,
    ViewOfResult,
)

__all__ = ["make_plan"]


def make_plan(
    traced: TracedFunction, lowered: Lowered | LoweredParts, devices: Sequence[str] = (), homes: Sequence[str] = (),
    *, ordered: bool = True,
) -> Plan:  # fmt: skip
    """The plan of one specialisation; calls take their variables if they are ``ordered``.

    ``devices`` are those of the program, ``homes`` those on which it wants its arguments. Partitions wait for each
    other, so they always run without the GIL.
    """
    places = lowered.places
    count = len(traced.function.results)
    several = repeated(traced.results)
    leaves = list(leaves_of(traced.results, several))
    shared: dict[ResultTree, Shared] = {}
    first_leaf: dict[int, int] = {}
    for position, leaf in enumerate(leaves):
        if isinstance(leaf, Computed) and not leaf.made:
            first_leaf.setdefault(leaf.index, position)
    given: set[int] = set()
    bases = [_new_array(place) for place in places[count:]]

    def owner(source: int, read_only: bool = False) -> int:
        """The leaf that owns the memory of place ``source``; places behind the results are the plan's bases."""
        if source >= count:
            return len(leaves) + source - count
        if source not in first_leaf:  # only some calls return it
            first_leaf[source] = len(leaves) + len(bases)
            bases.append(_new_array(places[source], read_only))
        return first_leaf[source]

    def alternative(
        leaf: Computed, place: ResultPlace, source: PlaceSource
    ) -> SameObject | SameResult | ViewOfArgument | ViewOfResult:
        is_view = source.index in leaf.views if source.is_argument else leaf.is_view
        dtype, is_whole = place.dtype.name, source.whole and leaf.is_merged and not is_view
        if source.is_argument:
            register = traced.leaves[source.index].register
            return (
                SameObject(register)
                if is_whole
                else ViewOfArgument(place.slot, dtype, place.rank, register, leaf.read_only)
            )
        if is_whole:
            return SameResult(owner(source.index))
        return ViewOfResult(place.slot, dtype, place.rank, owner(source.index), leaf.read_only)

    def whole(tree: ResultTree) -> Result:
        """What stands somewhere in the tree of results."""
        if isinstance(tree, Group):
            return one(tree) if tree in several else filled(tree, whole)
        return result(tree) if isinstance(tree, Computed | Chosen) else tree

    def option(tree: ResultTree) -> Option:
        """What only some calls make, or what is made before its place comes: there are no new arrays in it."""
        if isinstance(tree, Group):
            return one(tree) if tree in several else filled(tree, option)
        if isinstance(tree, Computed) and not tree.made and places[tree.index].kind == "new":
            return SameResult(owner(tree.index, tree.read_only))
        found = whole(tree)
        assert isinstance(found, Option)
        return found

    def one(group: Group) -> Shared:
        if group not in shared:
            made = filled(group, option)
            shared[group] = Shared(len(shared), made)
        return shared[group]

    def filled(group: Group, child: Callable[[ResultTree], Result]) -> Container:
        made = group.make(tuple(map(child, group.children)))
        assert isinstance(made, Container)
        return made

    def remade(leaf: Computed) -> Result:
        """What is made of an array; one that is there for it alone is a base of the plan."""
        *before, (make, numbers) = leaf.made
        found = option(replace(leaf, made=tuple(before)))

        def made_of(array: Result) -> Remade:
            assert isinstance(array, ViewOfArgument | ViewOfResult | SameResult | Remade)
            sizes = tuple(PythonScalar(places[size.index].slot, "i64") for size in numbers)
            return Remade(array, make, sizes, leaf.read_only)

        if isinstance(found, OneOf):
            return OneOf(found.slot, tuple((number, made_of(option)) for number, option in found.alternatives))
        return made_of(found)

    def result(leaf: Computed | Chosen) -> Result:
        if leaf in shared:
            return shared[leaf]
        found = result_of(leaf)
        if leaf in several and isinstance(found, ViewOfArgument | ViewOfResult | Remade | OneOf):
            found = shared[leaf] = Shared(len(shared), found)
        return found

    def result_of(leaf: Computed | Chosen) -> Result:
        if isinstance(leaf, Chosen):
            options = tuple((number, option(tree)) for number, tree in leaf.options)
            if isinstance(leaf.number, Computed):
                return OneOf(places[leaf.number.index].slot, options)
            assert isinstance(leaf.number, ConstantObject)
            return dict(options)[leaf.number.object]
        if leaf.made:
            return remade(leaf)
        place, read_only = places[leaf.index], leaf.read_only
        if place.kind == "one of":
            return OneOf(
                place.chosen, tuple((source.number, alternative(leaf, place, source)) for source in place.sources)
            )
        if place.kind == "scalar":
            weak = isinstance(leaf.type, Scalar) and leaf.type.weak
            return (PythonScalar if weak else NumpyScalar)(place.slot, place.dtype.name)
        if place.kind == "new":
            if leaf.index in given:
                return SameResult(first_leaf[leaf.index])
            given.add(leaf.index)
            return _new_array(place, read_only)
        if place.kind in ("argument", "result") and leaf.is_merged and place.whole:
            is_argument = place.kind == "argument"  # an array of several that always is this one
            return alternative(leaf, place, PlaceSource(0, is_argument, place.source, whole=True))
        if place.kind == "argument":
            register = traced.leaves[place.source].register
            return ViewOfArgument(place.slot, place.dtype.name, place.rank, register, read_only)
        if place.kind == "result":
            return ViewOfResult(place.slot, place.dtype.name, place.rank, owner(place.source), read_only)
        raise CompilerBug(f"unknown kind of result {place.kind!r}", pass_name="plan")

    results = whole(traced.results)
    threshold: dict[str, int | None] = {}
    if isinstance(lowered, LoweredParts):
        threshold = {"releases_gil_bytes": -1}
    elif any(isinstance(leaf, ObjectLeaf) and not leaf.locked for leaf in traced.leaves):
        threshold = {"releases_gil_bytes": None}
    return Plan(
        traced.parameter_names,
        traced.reads,
        traced.checks,
        traced.argument_slots,
        lowered.result_slots,
        results,
        tuple(bases),
        tuple(_uses(traced)) if ordered else (),
        **threshold,
        draws=any(isinstance(leaf, ObjectLeaf) for leaf in traced.leaves) or traced.makes_generators,
        gpus=tuple(filter(is_gpu, devices)),
        wanted={leaf.slot: home for leaf, home in zip(traced.leaves, homes, strict=False) if is_gpu(home)},
        made={place.slot: place.device for place in places if place.device and place.kind == "new"},
    )


def _new_array(place: ResultPlace, read_only: bool = False) -> NewArray:
    return NewArray(place.slot, place.dtype.name, place.rank, read_only)


def _uses(traced: TracedFunction) -> Iterator[Use]:
    """The variables, and which of them are written."""
    function = traced.function
    for position in function.attributes.get("variables", ()):
        writes = isinstance(function.parameters[position].type, Variable)
        yield Use(traced.leaves[position].slot, writes)
