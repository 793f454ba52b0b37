"""Small tensor programs, one for each way in which nests are fused and lowered."""

from __future__ import annotations

__all__ = ["PROGRAMS"]


def _reductions() -> dict[str, str]:
    programs = {}
    for fold in "add multiply maximum minimum argmax argmin m2 fmax fmin".split():
        for axes, dims in (([0], "[m]"), ([1], "[n]"), ([0, 1], "")):
            dtype = "i64" if fold.startswith("arg") else "f32"
            name = f"{fold}_{''.join(map(str, axes))}"
            programs[name] = f"""
func @{name}(%x: f32[n, m]) {{
  %0: {dtype}{dims} = reduce_{fold} %x {{axes={axes}}}
  yield %0
}}"""
    return programs


PROGRAMS: dict[str, str] = {
    **_reductions(),
    "sum_over_outer_and_inner": """
func @f(%x: f64[n, m, k]) {
  %0: f64[m] = reduce_add %x {axes=[0, 2]}
  yield %0
}""",
    "sum_over_middle": """
func @f(%x: f64[n, m, k]) {
  %0: f64[n, k] = reduce_add %x {axes=[1]}
  yield %0
}""",
    "mean_and_variance": """
func @f(%x: f32[n, m]) {
  %0: f32 = reduce_add %x {axes=[0, 1]}
  %1: f32 = reduce_m2 %x {axes=[0, 1]}
  yield %0, %1
}""",
    "softmax": """
func @f(%x: f32[n, m]) {
  %0: f32[n] = reduce_maximum %x {axes=[1]}
  %1: f32[n, 1] = reshape %0 {dims=[n, 1]}
  %2: f32[n, m] = broadcast %1 {axes=[0, 1], dims=[n, m]}
  %3: f32[n, m] = subtract %x, %2
  %4: f32[n, m] = exp %3
  %5: f32[n] = reduce_add %4 {axes=[1]}
  %6: f32[n, 1] = reshape %5 {dims=[n, 1]}
  %7: f32[n, m] = broadcast %6 {axes=[0, 1], dims=[n, m]}
  %8: f32[n, m] = divide %4, %7
  yield %8
}""",
    "scratch_row": """
func @f(%x: f32[n, m]) {
  %0: f32[n, m] = exp %x
  %1: f32[n] = reduce_add %0 {axes=[1]}
  %2: f32[n, m] = broadcast %1 {axes=[0], dims=[n, m]}
  %3: f32[n, m] = divide %0, %2
  %4: f32[n] = reduce_maximum %3 {axes=[1]}
  yield %4
}""",
    "centred_columns": """
func @f(%x: f32[n, m]) {
  %0: f32[m] = reduce_add %x {axes=[0]}
  %1: f32[n, m] = broadcast %0 {axes=[1], dims=[n, m]}
  %2: f32[n, m] = subtract %x, %1
  %3: f32[n, m] = multiply %2, %2
  %4: f32[m] = reduce_add %3 {axes=[0]}
  yield %2, %4
}""",
    "pairwise_distances": """
func @f(%a: f32[n, k], %b: f32[m, k]) {
  %0: f32[n, m, k] = broadcast %a {axes=[0, 2], dims=[n, m, k]}
  %1: f32[n, m, k] = broadcast %b {axes=[1, 2], dims=[n, m, k]}
  %2: f32[n, m, k] = subtract %0, %1
  %3: f32[n, m, k] = multiply %2, %2
  %4: f32[n, m] = reduce_add %3 {axes=[2]}
  %5: f32[n, m] = sqrt %4
  yield %5
}""",
    "transposes": """
func @f(%a: f32[n, m], %b: f32[m, n]) {
  %0: f32[m, n] = transpose %a {axes=[1, 0]}
  %1: f32[m, n] = add %0, %b
  %2: f32[n, m] = transpose %1 {axes=[1, 0]}
  %3: f32[n, m] = multiply %2, %a
  yield %3, %1
}""",
    "value_beside_its_transpose": """
func @f(%a: f32[n, n]) {
  %0: f32[n, n] = exp %a
  %1: f32[n, n] = transpose %0 {axes=[1, 0]}
  %2: f32[n, n] = add %0, %1
  yield %2
}""",
    "stencil": """
func @f(%a: f64[n, m]) {
  %0: f64[max(n - 2, 0), max(m - 2, 0)] = slice %a {starts=[0, 1], sizes=[max(n - 2, 0), max(m - 2, 0)], steps=[1, 1]}
  %1: f64[max(n - 2, 0), max(m - 2, 0)] = slice %a {starts=[2, 1], sizes=[max(n - 2, 0), max(m - 2, 0)], steps=[1, 1]}
  %2: f64[max(n - 2, 0), max(m - 2, 0)] = slice %a {starts=[1, 0], sizes=[max(n - 2, 0), max(m - 2, 0)], steps=[1, 1]}
  %3: f64[max(n - 2, 0), max(m - 2, 0)] = add %0, %1
  %4: f64[max(n - 2, 0), max(m - 2, 0)] = add %3, %2
  yield %4
}""",
    "differences_of_computed": """
func @f(%a: f64[n]) {
  %0: f64[n] = multiply %a, %a
  %1: f64[max(n - 1, 0)] = slice %0 {starts=[1], sizes=[max(n - 1, 0)], steps=[1]}
  %2: f64[max(n - 1, 0)] = slice %0 {starts=[0], sizes=[max(n - 1, 0)], steps=[1]}
  %3: f64[max(n - 1, 0)] = subtract %1, %2
  yield %3, %0, %1
}""",
    "reversed_and_reshaped": """
func @f(%a: f64[n, m]) {
  %0: f64[n, m] = slice %a {starts=[0, m - 1], sizes=[n, m], steps=[1, -1]}
  %1: f64[n, m] = add %0, %a
  %2: f64[m, n] = transpose %0 {axes=[1, 0]}
  %3: f64[m*n] = reshape %2 {dims=[m*n]}
  yield %1, %3, %2
}""",
    "gathers": """
func @f(%a: f32[n, m], %i: i64[k]) {
  %0: f32[n, k] = gather %a, %i {axis=1}
  %1: f32[n, k] = multiply %0, %0
  %2: f32[k, m] = gather %a, %i {axis=0}
  yield %1, %2
}""",
    "concatenation_and_running_sum": """
func @f(%a: f32[n, m], %b: f32[n, k]) {
  %2: f32[n, m] = exp %a
  %0: f32[n, m + k] = concatenate %2, %b {axis=1}
  %1: f32[n, m + k] = accumulate_add %0 {axis=0}
  yield %0, %1
}""",
    "running_sums": """
func @f(%a: f32[n, m], %b: f64[n, m, k]) {
  %0: f32[n, m] = accumulate_add %a {axis=0}
  %1: f32[n, m] = accumulate_multiply %a {axis=1}
  %2: f64[n, m, k] = accumulate_add %b {axis=1}
  %3: f64[n, m, k] = accumulate_maximum %b {axis=0}
  yield %0, %1, %2, %3
}""",
    "matrix_product": """
func @f(%a: f32[n, m], %b: f32[k, m]) {
  %0: f32[m, k] = transpose %b {axes=[1, 0]}
  %1: f32[n, k] = matmul %a, %0
  %2: f32[n, k] = multiply %1, %1
  yield %2
}""",
    "creation": """
func @f(%s: float) {
  %0: i64[5] = iota {dtype=i64, dims=[5], axis=0}
  %1: f64[5] = cast %0 {dtype=f64}
  %2: f64[5] = multiply %1, %s
  %3: f64[5, 3] = broadcast %2 {axes=[0], dims=[5, 3]}
  %4: f64[3, 5] = broadcast %s {axes=[], dims=[3, 5]}
  yield %2, %3, %4, %0
}""",
}
