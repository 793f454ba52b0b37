"""Programs that are refused, each followed by what the advice makes of it. Their lines are in the messages.

A mended program has the name of the refused one with ``_mended`` behind it. Where the advice is to do something
outside, it takes what was done there as an argument.
"""

from __future__ import annotations

import datetime
import itertools
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate
import scipy.optimize

import jitflow

Program = Callable[..., Any]
X = np.arange(4.0)
HISTORY: list[Any] = []
NAMES = {np.str_("a")}
COUNT = 0
WEIGHTS = np.ones(4)
VARIABLE = jitflow.Variable(WEIGHTS)
DESCENT = jitflow.optim.SGD(0.0)


class Strict:
    def __init__(self, x):
        self.x = x

    def __getattr__(self, name):
        raise AttributeError(name)


class Sink:
    last = None

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text


WRITTEN = Sink()


def reads_the_time(x):
    return x * time.time()


def reads_the_time_mended(x, now):
    return x * now


def asks_for_the_date(x):
    return x * datetime.datetime.now().year


def asks_for_the_date_mended(x, year):
    return x * year


def lists_a_folder(x):
    return x * len(os.listdir("."))


def lists_a_folder_mended(x, count):
    return x * count


def asks_the_user(x):
    return x * float(input())


def asks_the_user_mended(x, factor):
    return x * factor


def loads_a_file(x):
    return x * np.loadtxt("weights.txt")


def loads_a_file_mended(x, weights):
    return x * weights


def decides_in_a_function_of_python(x):
    return list(itertools.compress((x,), (x.sum() > 0,)))


def decides_in_a_function_of_python_mended(x):
    return np.where(x.sum() > 0, 1.0, 0.0)


def puts_equal_keys(x, table):
    if x[0] < 1:
        table[1] = x
    table[True] = x


def puts_equal_keys_mended(x, table):
    if x[0] < 1:
        table[1] = x
    table[int(True)] = x


def takes_some_of_two(x):
    return (x, x)[: int(x[0])]


def takes_some_of_two_mended(x):
    return x[: int(x[0])]


def reads_a_state(x):
    return x + np.random.get_state()[2]


def reads_a_state_mended(x, position):
    return x + position


def returns_a_function(x):
    return lambda: x


def returns_a_function_mended(x):
    return x * 1


def returns_a_generator(x):
    return (row for row in (x, -x))


def returns_a_generator_mended(x):
    return list(row for row in (x, -x))  # noqa: C400


def returns_an_object(x):
    return {"ok": x, "bad": object()}


def returns_an_object_mended(x):
    return {"ok": x}


def makes_an_object_that_looks_up(x):
    return Strict(x).x


def makes_an_object_that_looks_up_mended(x):
    return x * 1


def reads_a_set(x):
    return x if "a" in NAMES else -x


def reads_a_set_mended(x):
    return x if "a" in ("a",) else -x


def converts_to_objects(x):
    return x.astype(object)


def converts_to_objects_mended(x):
    return x.astype(np.float32)


def raises_on_overflow(x):
    with np.errstate(over="raise"):
        return x * 2


def raises_on_overflow_mended(x):
    y = x * 2
    return y, np.isfinite(y).all()


def passes_what_is_not_supported(x):
    return x.sum(axes=0)


def passes_what_is_not_supported_mended(x):
    return x.sum()


def raises_a_whole_number(n):
    total = 0
    for i in range(n):
        total = 2 ** (i - 1)
    return total


def raises_a_whole_number_mended(n):
    total = 0.0
    for i in range(n):
        total = float(2) ** (i - 1)
    return total


def multiplies_too_far(n):
    product = 1
    for i in range(1, n):
        product *= i
    return product


def multiplies_too_far_mended(n):
    product = 1.0
    for i in range(1, n):
        product *= i
    return product


def catches_what_a_loop_raises(x, n):
    def first_of_many():
        for i in range(n):
            if x[i] > 2:
                return x[i + 3]
        return 0.0

    try:
        return first_of_many()
    except IndexError:
        return -1.0


def catches_what_a_loop_raises_mended(x, n):
    found = 0.0
    for i in range(min(n, len(x))):
        if x[i] > 2:
            found = x[i + 3] if i + 3 < len(x) else -1.0
            break
    return found


def compares_what_it_has_written(x):
    return x if f"{x[:1]}" == "[0.]" else -x


def compares_what_it_has_written_mended(x):
    print(f"{x[:1]}")
    return x if abs(x[0]) < 0.05 else -x


def carries_a_tuple_that_grows(x, n):
    found = (x[0],)
    while x[0] < n:
        found = (*found, x[0])
        x[0] += 1
    return found


def carries_a_tuple_that_grows_mended(x, n):
    found = [x[0]]
    while x[0] < n:
        found.append(x[0])
        x[0] += 1
    return found


def carries_another_rank(x, n):
    for _ in range(n):
        x = x[None]
    return x


def carries_another_rank_mended(x, n):
    for _ in range(n):
        x = x * 1
    return x[None]


def keeps_objects_in_tuples(x):
    found = []
    i = 0
    while x[i] < 2:
        found.append((x[i], object()))
        i += 1
    return found


def keeps_objects_in_tuples_mended(x):
    found = np.zeros(len(x))
    i = 0
    while x[i] < 2:
        found[i] = x[i]
        i += 1
    return found[:i]


def writes_text(x):
    x[0] = "zero"
    return x


def writes_text_mended(x):
    x[0] = 0.0
    return x


def counts_in_cells(x):
    return np.histogramdd(x)


def counts_in_cells_mended(x):
    return np.histogram(x, 3)


def minimises(x):
    return scipy.optimize.minimize(lambda v: ((v - 1) ** 2).sum(), x).x


def _minimum(x):
    return scipy.optimize.minimize(lambda v: ((v - 1) ** 2).sum(), x).x


def minimises_mended(x):
    return jitflow.callback(_minimum, jitflow.Spec("f64", x.shape))(x)


def integrates(s):
    return scipy.integrate.quad(lambda t: t * s, 0.0, 1.0)[0]


def _integral(s):
    return scipy.integrate.quad(lambda t: t * s, 0.0, 1.0)[0]


def integrates_mended(s):
    return jitflow.callback(_integral, jitflow.Spec("float"))(s)


def adds_text_to_an_array(x):
    return x + "text"


def adds_text_to_an_array_mended(x):
    return x + float("1.5")


def computes_a_large_int(n):
    return n + 2**70


def computes_a_large_int_mended(n):
    return n + 2.0**70


def formats_by_a_method(x):
    return str.format_map("{x:.2f}", {"x": x[0]})


def formats_by_a_method_mended(x):
    print(f"{x[0]:.2f}")
    return x


def sorts_in_an_order_that_the_run_chooses(x):
    return sorted([x[0], x[1]], reverse=x[2] > 1)


def sorts_in_an_order_that_the_run_chooses_mended(x):
    return np.sort(np.array([x[0], x[1]]))


def scans_over_nothing(x):
    return jitflow.scan(lambda carry, _: (carry + x, carry), x)


def scans_over_nothing_mended(x):
    return jitflow.scan(lambda carry, _: (carry + x, carry), x, None, 3)


def returns_no_pair_to_scan(x):
    return jitflow.scan(lambda carry, row: carry + row, 0.0, x)


def returns_no_pair_to_scan_mended(x):
    return jitflow.scan(lambda carry, row: (carry + row, row), 0.0, x)


def scans_over_two_lengths(x):
    return jitflow.scan(lambda carry, rows: (carry, rows[0]), 0.0, (x, x[:2]))


def scans_over_two_lengths_mended(x):
    return jitflow.scan(lambda carry, rows: (carry, rows[0]), 0.0, (x[:2], x[:2]))


def differentiates_by_an_integer(n):
    return jitflow.grad(lambda k: k * 2.0)(n)


def differentiates_by_an_integer_mended(n):
    return jitflow.grad(lambda k: k * 2.0)(float(n))


def differentiates_an_array(x):
    return jitflow.grad(lambda v: v * v)(x)


def differentiates_an_array_mended(x):
    return jitflow.grad(lambda v: (v * v).sum())(x)


def calls_what_returns_something_else(x):
    return jitflow.callback(lambda v: v.sum(), jitflow.Spec("f64", (3,)))(x)


def calls_what_returns_something_else_mended(x):
    return jitflow.callback(lambda v: v.sum(), jitflow.Spec("float"))(x)


def calls_back_without_a_spec(x):
    return jitflow.callback(lambda v: v.sum(), 3)(x)


def calls_back_without_a_spec_mended(x):
    return jitflow.callback(lambda v: v.sum(), jitflow.Spec("float"))(x)


def names_by_a_number(x):
    return jitflow.name(x * 2, 3)


def names_by_a_number_mended(x):
    return jitflow.name(x * 2, "double")


def looks_up_flags(x):
    return x.flags.owndata


def looks_up_flags_mended(x):
    return x * 1


def counts_in_a_global(x):
    global COUNT
    COUNT = COUNT + 1
    return x


def counts_in_a_global_mended(x, count):
    return x, count + 1


def prints_to_a_file(x):
    print(x, file=WRITTEN)
    return x


def prints_to_a_file_mended(x):
    jitflow.callback(lambda v: print(v, file=WRITTEN))(x)
    return x


def calls_itself_with_more(x):
    return calls_itself_with_more((x, x))


def calls_itself_with_more_mended(x):
    for _ in range(10):
        x = x + 0.0
    return x


def keeps_a_sum_in_a_class(x):
    Sink.total = x.sum()
    return x


def keeps_a_sum_in_a_class_mended(x):
    Sink.last = x.sum()
    return x


def keeps_a_sum_in_place_of_a_method(x):
    Sink.write = x.sum()
    return x


def keeps_a_sum_in_place_of_a_method_mended(x):
    return x, x.sum()


def makes_a_seed(x):
    return x + np.random.SeedSequence(3).generate_state(1)[0]


def makes_a_seed_mended(x):
    return x + np.random.default_rng(3).random()


def lengthens_a_path(n, path=()):
    return len(path) if n <= 1 else lengthens_a_path(n - 1, (*path, n))


def lengthens_a_path_mended(n):
    path = []
    for step in range(n, 1, -1):
        path.append(step)
    return len(path)


def returns_another_key(x):
    return jitflow.cond(x[0] > 0, lambda: {"a": x}, lambda: {"b": x})


def returns_another_key_mended(x):
    return jitflow.cond(x[0] > 0, lambda: {"a": x}, lambda: {"a": -x})


def trains_what_is_no_variable(x):
    return DESCENT.minimize(lambda: ((WEIGHTS * x) ** 2).sum(), {"w": WEIGHTS})


def trains_what_is_no_variable_mended(x):
    return DESCENT.minimize(lambda: ((VARIABLE * x) ** 2).sum(), {"w": VARIABLE})


def adds_to_a_set(x, names):
    if x[0] < 1:
        names.add("large")
    return x * len(names)


def adds_to_a_set_mended(x, names):
    if x[0] < 1:
        x = -x
    return x * len(names | {"large"})


def doubles_a_list(x, words):
    if x[0] < 1:
        words[:] = ["b", "c"]
    return words * 2


def doubles_a_list_mended(x, words):
    if x[0] < 1:
        words[:] = ["b", "c"]
    found = []
    for _ in range(2):
        for word in words:
            found.append(word)
    return found


def puts_keys_of_other_types(x, table):
    for value in x.astype(int):
        table[value] = 1


def puts_keys_of_other_types_mended(x, table):
    for value in x.astype(int):
        table[int(value)] = 1


CASES: list[tuple[Program, tuple[Any, ...], Program, tuple[Any, ...]]] = [
    (reads_the_time, (X,), reads_the_time_mended, (X, 5.0)),
    (asks_for_the_date, (X,), asks_for_the_date_mended, (X, 2020)),
    (lists_a_folder, (X,), lists_a_folder_mended, (X, 3)),
    (asks_the_user, (X,), asks_the_user_mended, (X, 2.0)),
    (loads_a_file, (X,), loads_a_file_mended, (X, X)),
    (decides_in_a_function_of_python, (X,), decides_in_a_function_of_python_mended, (X,)),
    (puts_equal_keys, (X, {}), puts_equal_keys_mended, (X, {})),
    (takes_some_of_two, (X,), takes_some_of_two_mended, (X,)),
    (reads_a_state, (X,), reads_a_state_mended, (X, 3)),
    (returns_a_function, (X,), returns_a_function_mended, (X,)),
    (returns_a_generator, (X,), returns_a_generator_mended, (X,)),
    (returns_an_object, (X,), returns_an_object_mended, (X,)),
    (makes_an_object_that_looks_up, (X,), makes_an_object_that_looks_up_mended, (X,)),
    (reads_a_set, (X,), reads_a_set_mended, (X,)),
    (converts_to_objects, (X,), converts_to_objects_mended, (X,)),
    (raises_on_overflow, (X,), raises_on_overflow_mended, (X,)),
    (passes_what_is_not_supported, (X,), passes_what_is_not_supported_mended, (X,)),
    (raises_a_whole_number, (3,), raises_a_whole_number_mended, (3,)),
    (multiplies_too_far, (30,), multiplies_too_far_mended, (30,)),
    (catches_what_a_loop_raises, (X, 9), catches_what_a_loop_raises_mended, (X, 9)),
    (compares_what_it_has_written, (X,), compares_what_it_has_written_mended, (X,)),
    (carries_a_tuple_that_grows, (X, 3), carries_a_tuple_that_grows_mended, (X, 3)),
    (carries_another_rank, (X, 9), carries_another_rank_mended, (X, 9)),
    (keeps_objects_in_tuples, (X,), keeps_objects_in_tuples_mended, (X,)),
    (writes_text, (X,), writes_text_mended, (X,)),
    (counts_in_cells, (X,), counts_in_cells_mended, (X,)),
    (minimises, (X,), minimises_mended, (X,)),
    (integrates, (2.0,), integrates_mended, (2.0,)),
    (adds_text_to_an_array, (X,), adds_text_to_an_array_mended, (X,)),
    (computes_a_large_int, (1,), computes_a_large_int_mended, (1,)),
    (formats_by_a_method, (X,), formats_by_a_method_mended, (X,)),
    (sorts_in_an_order_that_the_run_chooses, (X,), sorts_in_an_order_that_the_run_chooses_mended, (X,)),
    (scans_over_nothing, (X,), scans_over_nothing_mended, (X,)),
    (returns_no_pair_to_scan, (X,), returns_no_pair_to_scan_mended, (X,)),
    (scans_over_two_lengths, (X,), scans_over_two_lengths_mended, (X,)),
    (differentiates_by_an_integer, (3,), differentiates_by_an_integer_mended, (3,)),
    (differentiates_an_array, (X,), differentiates_an_array_mended, (X,)),
    (calls_what_returns_something_else, (X,), calls_what_returns_something_else_mended, (X,)),
    (calls_back_without_a_spec, (X,), calls_back_without_a_spec_mended, (X,)),
    (names_by_a_number, (X,), names_by_a_number_mended, (X,)),
    (looks_up_flags, (X,), looks_up_flags_mended, (X,)),
    (counts_in_a_global, (X,), counts_in_a_global_mended, (X, 0)),
    (prints_to_a_file, (X,), prints_to_a_file_mended, (X,)),
    (calls_itself_with_more, (X,), calls_itself_with_more_mended, (X,)),
    (keeps_a_sum_in_a_class, (X,), keeps_a_sum_in_a_class_mended, (X,)),
    (keeps_a_sum_in_place_of_a_method, (X,), keeps_a_sum_in_place_of_a_method_mended, (X,)),
    (makes_a_seed, (X,), makes_a_seed_mended, (X,)),
    (lengthens_a_path, (5.0,), lengthens_a_path_mended, (5,)),
    (returns_another_key, (X,), returns_another_key_mended, (X,)),
    (trains_what_is_no_variable, (X,), trains_what_is_no_variable_mended, (X,)),
    (adds_to_a_set, (X, {"small"}), adds_to_a_set_mended, (X, {"small"})),
    (doubles_a_list, (X, ["a"]), doubles_a_list_mended, (X, ["a"])),
    (puts_keys_of_other_types, (X, {2: 1}), puts_keys_of_other_types_mended, (X, {2: 1})),
]


def yields_rows(x):
    for i in range(3):
        yield x[i]


def yields_rows_mended(x):
    return [x[i] for i in range(3)]


DECORATED: list[tuple[Program, Program, tuple[Any, ...]]] = [(yields_rows, yields_rows_mended, (X,))]
"""Functions of a kind that is refused when it is decorated."""
