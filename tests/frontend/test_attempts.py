"""``try`` around what the running program raises."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow
from jitflow.errors import CompilerBug, UserError, UserNotImplementedError
from tests.truth.whole.same import assert_does_what_python_does

U = np.array([3.0, 0.0, 4.0, 1.0, 5.0, 2.0])
ZERO = np.float64(0)


def picks_or_gives_up(u, k):
    try:
        return u[k]
    except IndexError:
        return -1.0


def divides_or_not(u, k):
    try:
        share = 10 // k
    except ZeroDivisionError:
        share = 7
    return share + u[0]


def catches_in_each_turn(u, k):
    total = ZERO
    for i in range(k):
        try:
            total += u[i]
        except IndexError:
            total += 100
    return total


def keeps_what_was_before(u, k):
    found, other = np.float64(1), u[0]
    try:
        other = found * 2
        found = u[k]
        other = found
    except IndexError:
        other += 1
    return found, other


def stores_before_it_fails(u, k):
    try:
        u[0] = 7
        u[k] = 8
        u[1] = 9
    except IndexError:
        u[2] = u[0]
    else:
        u[3] = -1
    return u


def ends_in_any_case(u, k):
    turns = 0
    for place in range(-3, k):
        try:
            u[place] += 1
            if place == 4:
                break
        except IndexError:
            turns -= 10
        finally:
            turns += 1
            u += turns
    return u, turns


def nests_as_deep_as_three(u, k):
    found, log = ZERO, 0
    for place in range(k):
        try:
            try:
                log += 1
                try:
                    found += u[place + 1] // (place - 2)
                    if place == 1:
                        continue
                    found += 10 // (place - 3)
                except ZeroDivisionError:
                    log += 10
                    found += u[place + 3]
                else:
                    log += 100
                    found += u[place + 4]
                log += 1000
            except KeyError:
                return found, -1
            if place > 7:
                return found, log
        except IndexError:
            log += 10000
            if place == 5:
                break
        log += 100000
    return found, log


def has_several_handlers(u, k):
    try:
        if k > 4:
            raise ValueError("too large")
        found = u[10 // k]
    except ZeroDivisionError:
        return ZERO
    except (IndexError, KeyError):
        found = u[0]
    except ValueError:
        u[0] = -1
        found = u[1]
    return found + k


def leaves_another_error(u, k):
    try:
        found = u[k]
        u[0] = found
        if k == 1:
            raise RuntimeError(f"at {k}")
    except ZeroDivisionError:
        found = u[1]
    return found


def meets_shapes(u, k):
    try:
        u[: k + 1] += u[2:4]
    except ValueError:
        return "shapes"
    return u.sum()


def assigns_around_it(u, k):
    def halve():
        nonlocal u
        u = u / 2

    try:
        halve()
        for _ in range(k):
            halve()
        last = u[k]
    except IndexError:
        return u
    return last


def loops_inside(u, k):
    total, turns = ZERO, 0
    try:
        for i in range(k):
            if u[i] < 0:
                break
            total += u[i]
            turns += 1
        while True:
            turns += 1
            total += u[turns]
            if total > 30:
                return total, turns
    except IndexError:
        turns = -turns
    return total, turns


def helper(u, k):
    return u[k] * 2


def calls_a_helper(u, k):
    try:
        first, second = helper(u, k), helper(u, k + 1)
    except IndexError:
        first, second = ZERO, helper(u, 0)
    return first - second


def takes_the_largest(u, k):
    try:
        return u[k:].max()
    except ValueError:
        return np.float64(-1)


def catches_in_a_helper(u, k):
    def safe(place):
        try:
            return u[place]
        except LookupError:
            return ZERO

    return safe(k) + safe(k - 1) + safe(-k)


def nests(u, k):
    try:
        try:
            found = u[k]
        except ZeroDivisionError:
            found = ZERO
    except IndexError:
        found = ZERO - 1
    return found


def catches_what_is_known(u, k):
    names = {"one": 1}
    try:
        found = names["two"]
    except KeyError:
        found = k
    try:
        last = u.shape[1]
    except IndexError:
        last = u.shape[0]
    return u[found] + last


def catches_what_all_come_from(u, k):
    try:
        return u[k]
    except BaseException:
        return ZERO


def catches_what_no_turn_binds(u, k):
    for v in u[:k]:  # noqa: B007
        pass
    try:
        u[0] = v * 2
    except Exception:
        u[1] = 99
    return u


def asks_for_none_inside(u, k):
    best = None
    for i in range(k):
        try:
            if best is None:
                best = u[0]
            best = best + u[i]
        except IndexError:
            u[1] = 100
    if best is None:
        return ZERO
    return best


def catches_what_a_function_inside_reads(u, k):
    if k > 2:
        scale = 3.0

    def scaled():
        try:
            return scale * u[k]
        except IndexError:
            return -u[0]
        except NameError:
            return u[1]

    return scaled()


def reads_the_last_inside(u, k):
    for i in range(k):  # noqa: B007
        pass
    read = lambda: i  # noqa: E731
    return read()


def solves_if_it_can(u, k):
    matrix = np.array([[1.0, k], [2.0, 4.0]])
    try:
        found = np.linalg.solve(matrix, u[:2])
    except np.linalg.LinAlgError:
        found = np.zeros(2)
    return found


def makes_it_definite(u, k):
    matrix, turns = np.outer(u[:3], u[:3]) + np.eye(3) * (k - 3), 0
    while turns < 20:
        try:
            factor = np.linalg.cholesky(matrix)
            break
        except np.linalg.LinAlgError:
            matrix = matrix + np.eye(3)
            turns += 1
    return turns, np.abs(factor).sum() > 0


def swaps_and_fails(u, k):
    v = u * 2
    for i in range(k):
        try:
            u, v = v, u
            u[i] += v[i + 1]
        except IndexError:
            u, v = v, u
            u[0] = 77
    return u.sum(), v.sum()


def writes_to_what_it_tried(u, k):
    try:
        part = u[:k]
        part[k] = 1
    except IndexError:
        part = u[1:]
    part[0] = 5
    return part


def scales_in_place(u, k):
    part = u[1:4]
    try:
        u *= u[:1]
        part *= u[: k + 1]
    except Exception:
        u[2] = 2
    return u


def catches_everything(u, k):
    try:
        return u[k]
    except:  # noqa: E722
        return ZERO


def fails_on_one_path(u, k):
    try:
        found = u[k if k > 2 else 3 * k]
    except IndexError:
        found = ZERO
    return found


def part_of(u, k):
    if k > 2:
        u[0] = 9
        return u[k:] * u[k]
    u[1] = 8
    return u[:k] * u[2 * k]


def fails_on_paths_of_a_helper(u, k):
    total = ZERO
    try:
        found = part_of(u, k)
        total = part_of(u, k + 1).sum()
    except IndexError:
        found = u
    return found, total


def fails_as_one_of_several_kinds(u, k):
    items = [1.0, u, None]
    try:
        found = items[k] + 10 // k
    except IndexError:
        return 7
    except ZeroDivisionError:
        return 8
    except TypeError:
        return 9
    return found


def fails_in_a_branch_that_stores(u, k):
    turns = 0
    while turns < k:
        turns += 1
        try:
            try:
                u[turns] = u[2 * turns] if k > 2 else u[turns + 3 * k]
            except ZeroDivisionError:
                u[0] = 99
        except Exception:
            u[0] += 1
        else:
            u[1] += 2
    return u


def looks_up_indices(u, k):
    try:
        return u[u[:k].astype(int)].sum()
    except IndexError:
        return ZERO


def matches_what_fails(u, k):
    try:
        match k:
            case 0:
                found = u[5 * k]
            case 1 | 2:
                found = 10 // (k - 1)
            case _:
                found = u[k]
        found += 1
    except (IndexError, ZeroDivisionError):
        found = -1
    return found


def stores_at_indices(u, k):
    places = np.array([0, k, 1])
    try:
        u[places] = u[places + 1]
        return u[places].sum(), k**2
    except (IndexError, OverflowError):
        return ZERO, -1


def meets_sizes_that_masks_leave(u, k):
    try:
        both = u[u > k] + u[u > 1]
        return both * np.ones(2)
    except ValueError:
        return u


def stores_behind_what_fails(u, k):
    try:
        u[k] = 1
    finally:
        u[0] = 5


def stores_behind_what_one_path_raises(u, k):
    try:
        if k > 2:
            raise ValueError("too many")
    except KeyError:
        u[1] = 0
    finally:
        u[0] = 5
    return u


def finishes_inside_of_what_catches(u, k):
    found = 0
    try:
        try:
            found = 10 // k
            u[2 * k] = 7
        except ZeroDivisionError:
            u[k + 3] = 8
            found = u[k - 7]
        finally:
            u[1] += 50
        u[2] += 20
    except IndexError:
        u[3] = 9
    return found, u


def finishes_each_turn(u, k):
    total = 0
    for place in range(k + 1):
        try:
            if place == 3:
                break
            if place == 1:
                continue
            u[3 * place] += 1
        finally:
            total += 10
            u[0] += total
    return total, u


def fails_in_what_finishes(u, k):
    try:
        try:
            u[k] = 1
        finally:
            u[k - 1] = 2
            u[0] += 10 // k
    finally:
        u[3] = 99
    return u


def finishes_a_helper_that_returns(u, k):
    def item(place):
        try:
            return u[place]
        finally:
            u[0] += 1

    try:
        return item(k) + item(k + 1)
    except IndexError:
        return item(0)


def finishes_behind_a_message(u, k):
    try:
        raise RuntimeError(f"at {k}")
    finally:
        u[1] = 4


def raises_behind_what_fails(u, k):
    try:
        u[k] = 1
    finally:
        w = np.zeros(2, np.uint8)
        w += -1


def may_raise_behind_what_fails(u, k):
    try:
        u[k] = 1
    finally:
        w = np.zeros(2, np.uint8)
        w += -k


PROGRAMS = [
    raises_behind_what_fails,
    may_raise_behind_what_fails,
    stores_behind_what_fails,
    stores_behind_what_one_path_raises,
    finishes_inside_of_what_catches,
    finishes_each_turn,
    fails_in_what_finishes,
    finishes_a_helper_that_returns,
    finishes_behind_a_message,
    looks_up_indices,
    matches_what_fails,
    stores_at_indices,
    meets_sizes_that_masks_leave,
    fails_on_one_path,
    fails_on_paths_of_a_helper,
    fails_as_one_of_several_kinds,
    fails_in_a_branch_that_stores,
    scales_in_place,
    ends_in_any_case,
    nests_as_deep_as_three,
    nests,
    catches_everything,
    swaps_and_fails, assigns_around_it,
    writes_to_what_it_tried,
    picks_or_gives_up, divides_or_not, catches_in_each_turn, keeps_what_was_before, stores_before_it_fails,
    has_several_handlers, leaves_another_error, meets_shapes, loops_inside, calls_a_helper, takes_the_largest,
    catches_what_no_turn_binds, asks_for_none_inside, catches_what_a_function_inside_reads, reads_the_last_inside,
    catches_in_a_helper, catches_what_is_known, catches_what_all_come_from, solves_if_it_can, makes_it_definite,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_it_does_what_python_does(program):
    assert_does_what_python_does(program, [(U, k) for k in (2, 0, 1, 3, 5, 6, 9, -2, -7)])


@pytest.mark.parametrize("numbers", [(-2, 0, 1, 2), (1, 3, 0, -7), (0, 9, 1)])
def test_whichever_call_came_first(numbers):
    assert_does_what_python_does(meets_shapes, [(U, k) for k in numbers])


def asks_for_more_than_is_told(u, k):
    try:
        if u[k] > 0:
            raise ValueError(f"{k} {k + 1} {k + 2}")
    except ValueError as error:
        return len(error.args)


def finds_in_a_loop_of_a_helper(u, k):
    def found():
        for place in range(k):
            if u[place] > 3:
                return u[place + 3]
        return ZERO

    try:
        return found()
    except IndexError:
        return ZERO


@pytest.mark.parametrize("program", [asks_for_more_than_is_told, finds_in_a_loop_of_a_helper])
def test_what_nothing_catches_is_refused(program):
    with pytest.raises(UserNotImplementedError, match="where nothing catches it") as caught:
        jitflow.function(program)(U, 2)
    assert caught.value.mend


def refuses_in_a_try(u, k):
    try:
        first, second = int(u[k]), int(u[k + 1])
        return (u[first:] + u[second:]).sum()
    except RuntimeError:
        return 0.0


def test_what_jitflow_refuses_is_not_caught():
    compiled = jitflow.function(refuses_in_a_try)
    with pytest.raises(UserNotImplementedError):
        compiled(np.array([0.0, 1.0, 4.0, 4.0, 0.0]), 1)


def finishes_behind_an_exception_with_arrays(u, k):
    try:
        if k > 2:
            raise ValueError(u)
    finally:
        u[0] = 5


def finishes_behind_indices(u, k):
    try:
        return u[np.array([k, 1])]
    finally:
        u[0] = 5


def returns_behind_what_fails(u, k):
    try:
        u[k] = 1
    finally:
        return 3  # noqa: B012


@pytest.mark.filterwarnings("ignore:'return' in a 'finally' block")
@pytest.mark.parametrize(
    "program", [finishes_behind_an_exception_with_arrays, finishes_behind_indices, returns_behind_what_fails]
)
def test_what_would_be_left_out_behind_what_fails_is_refused(program):
    with pytest.raises(UserNotImplementedError, match=r"something that may raise \w+Error") as caught:
        jitflow.function(program)(U, 2)
    assert caught.value.mend


def decides_on_arrays(u, k):
    try:
        s = 5 % k
        if u[:k]:
            s = 9
        while u[1:k] and s < 12:
            s += 1
    except (ValueError, ZeroDivisionError):
        return -1
    return s


def unpacks(u, k):
    s = x = y = 0
    try:
        s = 5 % k
        [x, y] = u[:k]
    except ValueError:
        s = -2
    return s, x, y


@pytest.mark.parametrize("program", [decides_on_arrays, unpacks])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_what_decisions_and_assignments_raise_is_caught(program, k):
    u = np.array([0.0, 2.0, 1.0])
    assert jitflow.function(program)(u, k) == program(u, k)


def catches_a_type_error(u, k):
    try:
        if k > 3:
            u = {5}
        return u + 1
    except TypeError:
        return 99.0


def catches_all(u, k):
    try:
        if k > 3:
            u = {5}
        return u + 1
    except:  # noqa: E722
        return 99.0


def catches_in_a_helper_of_python(u, k):
    return next(items_or(u, k))


def items_or(u, k):
    try:
        yield np.zeros(3) if u[k] > 0 else np.ones(3)
    except Exception:
        yield 99.0


@pytest.mark.parametrize("program", [catches_a_type_error, catches_all, catches_in_a_helper_of_python])
def test_no_handler_sees_what_jitflow_raises_for_itself(program):
    with pytest.raises(UserError) as caught:
        jitflow.function(program)(U, 2)
    assert caught.value.is_refusal


@pytest.mark.parametrize("error", [CompilerBug, KeyboardInterrupt, MemoryError, None])
def test_no_handler_sees_what_befalls_the_compiler(error, monkeypatch):
    def fail(*args, **keywords):
        raise error("not in order")

    monkeypatch.setattr("jitflow.frontend.recording.trace.Trace.add", None if error is None else fail)
    with pytest.raises(error or CompilerBug):
        jitflow.function(catches_in_any_case)(U, 2)


def catches_in_any_case(u, k):
    try:
        return u + k
    except BaseException:
        return 99.0


def test_what_assigns_around_it_and_may_fail():
    def program(u, k):
        last = 0.0

        def move(place):
            nonlocal last
            last += 1
            last += u[place]
            last += 10

        try:
            move(0)
            move(k)
        except IndexError:
            last = -last
        return last

    compiled = jitflow.function(program)
    assert [compiled(U, k) for k in (1, 99)] == [program(U, k) for k in (1, 99)]


WITHOUT_TEXT = """
def handled(x, i):
    try:
        return x[i]
    except IndexError:
        return -1.0

def finished(x, i):
    try:
        return inner(x, i)
    finally:
        seen.append(i)

def inner(x, i):
    return x[i]

def harmless(x, i):
    try:
        scale = table["b"]
    except KeyError:
        scale = 3.0
    with np.errstate(all="ignore"):
        return x[i] * scale
"""


def test_a_try_whose_text_cannot_be_read() -> None:
    """Python runs it while tracing: what fails later would pass its handlers by."""
    names = {"np": np, "table": {"a": 1.0}, "seen": []}
    exec(WITHOUT_TEXT, names)
    x = np.arange(3.0)
    for name in ("handled", "finished"):
        with pytest.raises(NotImplementedError, match="try around something that may raise IndexError"):
            jitflow.function(names[name])(x, 1)
    assert jitflow.function(names["harmless"])(x, 1) == names["harmless"](x, 1)
    with pytest.raises(IndexError):
        jitflow.function(names["harmless"])(x, 9)


def test_a_finally_that_fails_behind_a_jump_is_refused():
    def program(u, k):
        try:
            try:
                return u[0]
            finally:
                u[k] = 4
        except IndexError:
            return 3.0

    with pytest.raises(UserNotImplementedError, match="try around something that may raise IndexError"):
        jitflow.function(program)(U.copy(), 1)


def raises_in_a_handler(n, k):
    table = {1: 2}
    try:
        found = 10 // n + table[n]
    except (ZeroDivisionError, KeyError):
        raise RuntimeError(f"failed {n}")  # noqa: B904 - what is tested
    try:
        return found + [1, 2, 3][k]
    except IndexError as error:
        error.add_note(f"an index of {n}")
        raise


@pytest.mark.parametrize("args", [(0, 1), (5, 1), (1, 9), (1, 0)])
def test_what_a_handler_raises_says_what_it_has_handled(args) -> None:
    """The context of what handlers without a name raise was lost, and so were notes on what they raise again."""
    assert_does_what_python_does(raises_in_a_handler, [args])
    if args != (1, 0):
        with pytest.raises((RuntimeError, IndexError)) as python:
            raises_in_a_handler(*args)
        with pytest.raises(python.type) as compiled:
            jitflow.function(raises_in_a_handler)(*args)
        one, other = python.value, compiled.value
        assert repr(one.__context__) == repr(other.__context__)
        assert getattr(one, "__notes__", []) == getattr(other, "__notes__", [])


def gathers_beside_a_function_inside(u, k):
    count, total = 0, 0.0

    def counts():
        nonlocal count
        count += 1
        return count

    try:
        if k > 1:
            total += sum(3 * item for item in range(k))
            total += u[k] + counts() + sum([counts() for _ in range(k)])
        count = k // count
    except (ZeroDivisionError, IndexError):
        total += 1
    return total, count


def test_locals_that_functions_inside_assign_are_given_back_with_an_attempt():
    """What a loop in an attempt that is made again had left in them was used, a bug of the compiler."""
    compiled = jitflow.function(gathers_beside_a_function_inside)
    u = np.arange(4.0)
    for k in (3, 1, 9):
        assert compiled(u, k) == gathers_beside_a_function_inside(u, k)
