"""The models in torch: eager with its fused optimiser and its own LSTM, or functions for `torch.compile`.

The mode is ``compile``, or one of `torch.compile`'s own; nothing is eager.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from ..training_cases import EPSILON, FIRST_SUM, LEARNING_RATE, Case


def classifier(case: Case, mode: str) -> Callable[[], Any]:
    def loss(weights: Any, x: Any, labels: Any) -> Any:
        w1, b1, w2, b2 = weights
        return functional.cross_entropy(torch.relu(x @ w1 + b1) @ w2 + b2, labels)

    return _trained(case, mode, loss)


def network(case: Case, mode: str) -> Callable[[], Any]:
    def loss(weights: Any, x: Any, labels: Any) -> Any:
        for w, b in zip(weights[:-2:2], weights[1:-2:2], strict=True):
            x = torch.relu(x @ w + b)
        return functional.cross_entropy(x @ weights[-2] + weights[-1], labels)

    return _trained(case, mode, loss)


def _trained(case: Case, mode: str, loss: Callable[..., Any]) -> Callable[[], Any]:
    weights = [torch.tensor(weight, requires_grad=not mode) for weight in case.first_weights()]
    x, labels = torch.tensor(case.inputs), torch.tensor(case.targets).long()
    if mode:
        return _compiled(case, mode, loss, weights, x, labels)
    settings = {"initial_accumulator_value": FIRST_SUM, "eps": EPSILON, "fused": True}
    optimiser = torch.optim.Adagrad(weights, LEARNING_RATE, **settings)

    def run() -> Any:
        value = loss(weights, x, labels)
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        return value.detach()

    return run


def _compiled(case: Case, mode: str, loss: Any, weights: Any, x: Any, labels: Any) -> Callable[[], Any]:
    sums = [torch.tensor(total) for total in case.first_sums()]
    if mode == "reduce-overhead":
        for kept in (*weights, *sums):
            torch._dynamo.mark_static_address(kept)  # else no CUDA graph writes to it

    @torch.compile(mode=None if mode == "compile" else mode)
    def step(weights: Any, sums: Any, x: Any, labels: Any) -> Any:
        gradients, value = torch.func.grad_and_value(loss)(weights, x, labels)
        for weight, total, gradient in zip(weights, sums, gradients, strict=True):
            total.add_(gradient * gradient)
            weight.sub_(LEARNING_RATE * gradient / (total.sqrt() + EPSILON))
        return value

    def run() -> Any:
        with torch.no_grad():
            return step(weights, sums, x, labels)

    return run


def lstm(case: Case, mode: str) -> Callable[[], Any]:
    weights = [torch.tensor(weight, requires_grad=True) for weight in case.first_weights()]
    x, target = torch.tensor(case.inputs), torch.tensor(case.targets)
    if mode == "compile":
        loss = torch.compile(_unrolled_loss)
    else:
        weights, loss = _library_lstm(case)

    def run() -> Any:
        value = loss(weights, x, target)
        gradients = torch.autograd.grad(value, weights)
        return (value.detach(), *(_as_ours(gradient) for gradient in gradients))

    return run


def _unrolled_loss(weights: Any, x: Any, target: Any) -> Any:
    w, u, b = weights
    h = c = torch.zeros_like(target)
    projected = x @ w + b
    for t in range(x.shape[0]):
        i, f, g, o = (projected[t] + h @ u).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    return ((h - target) ** 2).mean()


def _library_lstm(case: Case) -> tuple[list[Any], Callable[..., Any]]:
    """`torch.nn.LSTM`, whose weights are transposed, and whose second bias stays zero."""
    layer = torch.nn.LSTM(128, 128)
    w, u, b = (torch.tensor(weight) for weight in case.first_weights())
    with torch.no_grad():
        layer.weight_ih_l0.copy_(w.T)
        layer.weight_hh_l0.copy_(u.T)
        layer.bias_ih_l0.copy_(b)
        layer.bias_hh_l0.zero_()
    layer.bias_hh_l0.requires_grad_(False)

    def loss(weights: Any, x: Any, target: Any) -> Any:
        _, (h, _) = layer(x)
        return ((h[0] - target) ** 2).mean()

    return [layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0], loss


def _as_ours(gradient: Any) -> Any:
    """The gradient by the library's weights ``(512, 128)``, as that by weights ``(128, 512)``: a view."""
    return gradient.T if gradient.shape == (512, 128) else gradient


def embedding(case: Case, mode: str) -> Callable[[], Any]:
    """Eager with torch's sparse gradients; compiled, which has none, by rows by hand."""
    table, w = [torch.tensor(weight, requires_grad=mode != "compile") for weight in case.first_weights()]
    ids, target = torch.tensor(case.inputs), torch.tensor(case.targets)

    def loss(rows: Any, w: Any) -> Any:
        return ((rows @ w - target) ** 2).mean()

    @torch.compile
    def step(table: Any, w: Any, ids: Any) -> Any:
        (by_rows, by_w), value = torch.func.grad_and_value(loss, argnums=(0, 1))(table[ids], w)
        table.index_add_(0, ids, by_rows, alpha=-LEARNING_RATE)
        w.sub_(LEARNING_RATE * by_w)
        return value

    def run_compiled() -> Any:
        with torch.no_grad():
            return step(table, w, ids)

    optimiser = torch.optim.SGD([table, w], LEARNING_RATE)

    def run() -> Any:
        value = loss(functional.embedding(ids, table, sparse=True), w)
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        return value.detach()

    return run_compiled if mode == "compile" else run
