"""The pipeline: passes by name, and the order they run in.

A pass is ``Function -> Function``, run by the one runner (`runner.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from jitflow.ir.core import Function, walk
from jitflow.ir.ops.derivative import DERIVATIVE_NAMES
from jitflow.ir.types import Place, Variable
from jitflow.machines.hardware import is_gpu
from jitflow.passes.fusion.absorb import absorb
from jitflow.passes.fusion.chain_products import chain_products
from jitflow.passes.fusion.contract import contract, contract_all
from jitflow.passes.fusion.crop import crop
from jitflow.passes.fusion.factor import factor
from jitflow.passes.fusion.fuse import fuse
from jitflow.passes.fusion.group import group
from jitflow.passes.fusion.itemize import itemize
from jitflow.passes.fusion.materialize import materialize
from jitflow.passes.fusion.parallel import parallel
from jitflow.passes.fusion.reload import reload
from jitflow.passes.fusion.rematerialize import rematerialize
from jitflow.passes.fusion.snapshot import snapshot
from jitflow.passes.fusion.unfold import unfold
from jitflow.passes.lower.finishing import HOST_PASSES
from jitflow.passes.runner import Observer, Pass, Step, run
from jitflow.passes.scalar_loops.chain import chain
from jitflow.passes.scalar_loops.forward import forward
from jitflow.passes.scalar_loops.record import record
from jitflow.passes.scalar_loops.split import split
from jitflow.passes.values.agree import agree
from jitflow.passes.values.commit import commit
from jitflow.passes.values.cse import cse
from jitflow.passes.values.dce import dce
from jitflow.passes.values.fastmath import fastmath
from jitflow.passes.values.fold import fold
from jitflow.passes.values.hoist import hoist
from jitflow.passes.values.narrow import narrow
from jitflow.passes.values.promote import promote
from jitflow.passes.values.simplify import simplify
from jitflow.passes.values.sparsify import sparsify
from jitflow.passes.values.trap import trap
from jitflow.passes.values.unmark import has_marks, unmark
from jitflow.passes.values.untag import untag

__all__ = ["FUSION_PIPELINE", "HOST_PIPELINE", "LASTING_PIPELINE", "PASSES", "STORAGE_PIPELINE", "TENSOR_PIPELINE",
           "Step", "fusion_pipeline", "run_passes", "tensor_pipeline", "trapping"]  # fmt: skip


def differentiate(function: Function) -> Function:
    """The pass of this name, whose rules take as long to import as all passes on values, for those who ask for it."""
    from jitflow.passes.derivatives.differentiate import differentiate

    return differentiate(function)


PASSES: dict[str, Pass] = {
    "unmark": unmark,
    "differentiate": differentiate,
    "sparsify": sparsify,
    "agree": agree,
    "fold": fold,
    "simplify": simplify,
    "fastmath": fastmath,
    "trap": trap,
    "promote": promote,
    "cse": cse,
    "dce": dce,
    "untag": untag,
    "hoist": hoist,
    "narrow": narrow,
    "split": split,
    "forward": forward,
    "chain": chain,
    "record": record,
    "commit": commit,
    "factor": factor,
    "unfold": unfold,
    "group": group,
    "contract": contract,
    "contract_all": contract_all,
    "crop": crop,
    "snapshot": snapshot,
    "materialize": materialize,
    "fuse": fuse,
    "rematerialize": rematerialize,
    "reload": reload,
    "chain_products": chain_products,
    "absorb": absorb,
    "itemize": itemize,
    "parallel": parallel,
    **HOST_PASSES,
}
"""Every pass by its name."""

TENSOR_PIPELINE = ("agree", "simplify", "cse", "dce", "narrow")
"""What tensor functions go through by default; `simplify` folds constants as it goes."""

_VALUES = ("agree", "simplify", "cse", "dce", "promote", "simplify", "cse", "dce", "untag", "hoist", "narrow",
           "split")  # fmt: skip
_SPARSE = ("sparsify", "dce")
_ELEMENTS = ("forward", "chain", "record")

STORAGE_PIPELINE = (*_VALUES, *_ELEMENTS)
"""What those go through that have variables, loops or branches."""

LASTING_PIPELINE = (*_VALUES, "commit", "promote", "simplify", "cse", "dce", *_ELEMENTS)
"""What those go through that have variables which outlive them."""

FUSION_PIPELINE = (
    "factor",
    "unfold",
    "group",
    "contract",
    "crop",
    "snapshot",
    "materialize",
    "fuse",
    "rematerialize",
    "reload",
    "absorb",
    "itemize",
    "parallel",
)
"""What groups a tensor function into kernels."""

HOST_PIPELINE = tuple(HOST_PASSES)
"""What host programs go through that lowering has made for a processor."""


def trapping(pipeline: Iterable[str]) -> tuple[str, ...]:
    """The passes with those that stop the program at a nan."""
    return ("trap", *(one for name in pipeline for one in ((name, "trap") if name == "differentiate" else (name,))))


def fusion_pipeline(device: str, *, is_part: bool = False) -> tuple[str, ...]:
    """The passes that group a function for a device into kernels, or one part of a program on several."""
    if not is_gpu(device):
        return tuple(name for name in FUSION_PIPELINE if not (is_part and name == "factor"))
    instead = {"factor": (), "contract": ("contract_all",), "absorb": ("chain_products", "absorb"),
               "unfold": (), "group": (), "crop": (), "itemize": (), "parallel": ()}  # fmt: skip
    return tuple(one for name in FUSION_PIPELINE for one in instead.get(name, (name,)))


def tensor_pipeline(function: Function) -> tuple[str, ...]:
    """The passes for a tensor function as it was traced."""
    if has_marks(function):
        return ("unmark", *tensor_pipeline(unmark(function)))
    passes = LASTING_PIPELINE if function.attributes.get("variables") else STORAGE_PIPELINE
    if any(op.name in DERIVATIVE_NAMES for op in walk(function.region)):
        return ("differentiate", *_VALUES, *_SPARSE, *passes[len(_VALUES) :])
    stateful = any(isinstance(value.type, Variable | Place) for value in function.parameters) or any(
        op.regions or op.name in ("variable", "make_container", "pass_container", "text_constant")
        for op in function.region.ops
    )
    return passes if stateful else TENSOR_PIPELINE


def run_passes(function: Function, names: Sequence[str] = TENSOR_PIPELINE, observe: Observer | None = None) -> Function:
    """Run the passes called ``names`` one after the other; ``observe`` is called after each.

    Functions that it calls go through them, too, once `factor` has made them.

    Raises ValueError for a name that is not one, and `CompilerBug`, which names the pass, where one fails.
    """
    for name in names:
        if name not in PASSES:
            raise ValueError(f"expected a pass ({', '.join(PASSES)}), got {name!r}")
    result = run(function, ((name, PASSES[name]) for name in names), observe)
    if result.layer != "tensor" or not result.functions:
        return result
    inside = names[names.index("factor") + 1 :] if "factor" in names else names
    return replace(result, functions=tuple(run_passes(one, inside, observe) for one in result.functions))
