"""Pipelines: what they give, in which order, and that they go on where they stood."""

import itertools
import math
import pickle
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import jitflow
from jitflow.data import Dataset, Queue, QueueClosed, arrays, from_ray

NUMBERS = list(range(23))


def streamed(elements=NUMBERS):
    """A dataset of the same elements, which nobody can ask for one by its index."""
    return Dataset(lambda: iter(elements))


PIPELINES = {
    "a list": lambda source: source,
    "map": lambda source: source.map(lambda x: x * x),
    "filter": lambda source: source.filter(lambda x: x % 3),
    "shuffle": lambda source: source.shuffle(seed=4, buffer=7),
    "batch": lambda source: source.shuffle().batch(4),
    "whole batches": lambda source: source.batch(4, partial=False).map(lambda x: x.sum()),
    "take and skip": lambda source: source.skip(3).take(11).shuffle(2),
    "shard": lambda source: source.shard(1, 3).batch(2),
    "repeat": lambda source: source.shuffle(1).repeat(3).batch(5),
    "repeat filtered": lambda source: source.filter(lambda x: x > 4).shuffle(1, buffer=5).repeat(4),
    "repeat twice": lambda source: source.take(5).shuffle(3).repeat(2).repeat(3),
    "prefetch": lambda source: source.map(lambda x: x + 1).prefetch(3, threads=2).batch(4).prefetch(),
    "without end": lambda source: source.shuffle(5).repeat().batch(6).take(20),
    "nothing": lambda source: source.take(0).repeat(),
}


def elements_of(dataset):
    return [np.asarray(element).tolist() for element in dataset]


@pytest.mark.parametrize("make", [lambda: Dataset(NUMBERS), streamed], ids=["indexed", "streamed"])
@pytest.mark.parametrize("name", PIPELINES)
def test_every_iteration_is_the_same_and_goes_on_from_anywhere(name, make):
    dataset = PIPELINES[name](make())
    expected = elements_of(dataset)
    assert elements_of(dataset) == expected
    for start in {0, 1, 7, len(expected) // 2, max(0, len(expected) - 1), len(expected), len(expected) + 3}:
        iterator = iter(dataset)
        iterator.position[...] = start
        assert elements_of(iterator) == expected[start:]
    if dataset._stage.length() not in (None, math.inf):
        assert len(dataset) == len(expected)


def test_what_stages_do():
    data = Dataset(NUMBERS)
    assert elements_of(data.shuffle(3)) != NUMBERS
    assert sorted(elements_of(data.shuffle(3))) == sorted(elements_of(streamed().shuffle(3, buffer=4))) == NUMBERS
    assert elements_of(data.shard(1, 4)) == NUMBERS[1::4]
    parts = [elements_of(data.shuffle(9).shard(k, 3)) for k in range(3)]
    assert sorted(itertools.chain(*parts)) == NUMBERS
    passes = elements_of(data.shuffle(7).repeat(2))
    assert sorted(passes[:23]) == sorted(passes[23:]) == NUMBERS
    assert passes[:23] != passes[23:]
    assert data.repeat()._stage.length() == math.inf
    assert repr(data.batch(4)) == "<jitflow.data.Dataset of 6>"
    assert repr(data.filter(bool)) == "<jitflow.data.Dataset of unknown length>"


def test_a_list_that_grows_is_shuffled_as_it_is_now():
    numbers = [1, 2, 3]
    data = Dataset(numbers).shuffle(5)
    assert sorted(data) == numbers
    numbers += [4, 5]
    assert sorted(data) == numbers
    del numbers[1:]
    assert list(data) == [1]


def test_passes_of_a_part_of_an_endless_repetition_have_orders_of_their_own():
    passes = list(Dataset(NUMBERS).shuffle(7).repeat().take(23).repeat(2))
    assert sorted(passes[:23]) == sorted(passes[23:]) == NUMBERS
    assert passes[:23] != passes[23:]
    with pytest.raises(TypeError, match="length is not known"):  # it may have none
        len(streamed([]).repeat().take(3))


def test_a_buffer_asks_for_what_was_read_ahead_in_a_pass_that_has_ended():
    data = streamed(range(20)).prefetch(8).repeat().take(30).shuffle(1, buffer=40)
    assert sorted(data) == sorted([*range(20), *range(10)])


def test_elements_are_structures():
    x, labels = np.arange(12.0).reshape(6, 2), np.arange(6)
    first, second = arrays(x, labels).batch(4)
    assert (first[0] == x[:4]).all()
    assert (second[1] == labels[4:]).all()
    assert first[0].dtype == x.dtype
    assert first[1].dtype == labels.dtype
    (batch,) = arrays({"x": x, "label": labels}).map(lambda row: {**row, "text": str(row["label"])}).batch(6)
    assert batch["text"] == list("012345")
    assert (batch["x"] == x).all()
    (alone,) = arrays(x).batch(6)
    assert (alone == x).all()
    assert list(Dataset([1, "a", None]).batch(3)) == [[1, "a", None]]
    (numbers,) = Dataset([(1, 2.5, True)] * 3).batch(3)
    assert [part.dtype.kind for part in numbers] == ["i", "f", "b"]


def test_a_checkpoint_holds_the_position(tmp_path):
    data = arrays(np.arange(40.0)).shuffle(2).repeat().batch(7)
    model = {"w": jitflow.Variable(np.zeros(2)), "data": iter(data)}
    before = [next(model["data"]) for _ in range(9)]
    jitflow.save(tmp_path / "model.safetensors", model)
    expected = [next(model["data"]).tolist() for _ in range(5)]
    again = {"w": jitflow.Variable(np.zeros(2)), "data": iter(data)}
    restored = jitflow.restore(tmp_path / "model.safetensors", again)
    assert restored.names == ("w", "data.position")
    assert [next(again["data"]).tolist() for _ in range(5)] == expected
    assert len(before) == 9


def test_what_is_left_out_is_not_made():
    made = []
    iterator = iter(streamed().map(lambda x: made.append(x) or x).shuffle(1, buffer=6).shard(0, 2))
    iterator.position[...] = 8
    assert len(list(iterator)) == len(made) == 4


def test_threads_make_elements_ahead_in_order():
    names, seen = set(), []

    def slow(x):
        names.add(threading.current_thread().name)
        seen.append(x)
        time.sleep(0.002 * (x % 3))
        return x

    iterator = iter(streamed().map(slow).prefetch(4, threads=3))
    first = next(iterator)
    deadline = time.monotonic() + 10
    while len(seen) < 4 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert [first, *iterator] == NUMBERS
    assert threading.current_thread().name not in names
    assert len(names) > 1


@pytest.mark.parametrize("threads", [0, 2])
def test_threads_share_an_iterator(threads):
    """Each element goes to one of them, whichever is first; the position counts all."""
    dataset = jitflow.data.arrays(np.arange(500)).filter(lambda x: x % 3).map(lambda x: x * 2)
    iterator = iter(dataset.prefetch(2, threads) if threads else dataset)
    barrier = threading.Barrier(4)

    def take(_):
        barrier.wait()
        return [*iterator]

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as executor:
            found = sorted(itertools.chain.from_iterable(executor.map(take, range(4))))
    finally:
        sys.setswitchinterval(before)
    assert found == [2 * x for x in range(500) if x % 3]
    assert int(iterator.position) == len(found)


def test_sources_run_in_the_background_and_end_with_the_iterator():
    names = []

    def source():
        for k in itertools.count():
            names.append(threading.current_thread().name)
            yield k

    iterator = iter(Dataset(source).prefetch(2))
    assert [next(iterator) for _ in range(3)] == [0, 1, 2]
    del iterator
    assert set(names) == {"jitflow-data-source_0"}
    assert len(names) <= 6


def test_errors_are_those_of_the_element():
    def reciprocal(x):
        return 1 / x

    iterator = iter(Dataset([1, 0, 2]).map(reciprocal).prefetch())
    assert next(iterator) == 1.0
    with pytest.raises(ZeroDivisionError):
        next(iterator)
    assert next(iterator) == 0.5
    broken = iter(streamed([1, 0, 2]).filter(reciprocal))
    for _ in range(2):
        assert next(broken) == 1
        with pytest.raises(ZeroDivisionError):
            next(broken)
        assert next(broken) == 2
        broken.position.assign(0)
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        list(Dataset([1]).map(lambda x: next(iter(()))))


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: Dataset(3), TypeError, "a int is no source"),
        (lambda: Dataset(NUMBERS).batch(0), ValueError, "size is 0"),
        (lambda: Dataset(NUMBERS).batch(2.5), TypeError, "size is a float"),
        (lambda: Dataset(NUMBERS).map(3), TypeError, "function is a int"),
        (lambda: Dataset(NUMBERS).shard(3, 3), ValueError, "no part 3 of 3"),
        (lambda: arrays(np.zeros(3), np.zeros(4)), ValueError, r"shapes \(3,\), \(4,\)"),
        (lambda: arrays(np.float64(3)), ValueError, "one length"),
        (lambda: list(Dataset([np.zeros(2), np.zeros(3)]).batch(2)), ValueError, r"several shapes: \(2,\), \(3,\)"),
        (lambda: list(Dataset([{"a": 1}, {"b": 1}]).batch(2)), TypeError, "several structures"),
        (lambda: list(Dataset([{"a": (1, 2)}, {"a": (1,)}]).batch(2)), TypeError, r"at \['a'\] of a batch"),
        (lambda: list(Dataset(iter(NUMBERS)).repeat(2)), RuntimeError, "gives its elements once"),
        (lambda: len(Dataset(NUMBERS).repeat()), TypeError, "without an end"),
        (lambda: len(Dataset(NUMBERS).filter(bool)), TypeError, "not known"),
        (lambda: Queue(0), ValueError, "capacity of 0"),
        (lambda: Queue(3, seed=1, minimum=3), ValueError, "keeps 3"),
    ],
)
def test_mistakes(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()


@pytest.mark.parametrize("seed", [None, 3])
def test_queues_hand_on_everything_once_and_hold_back_who_is_faster(seed):
    queue, highest = Queue(8, seed=seed, minimum=4), 0

    def produce(start):
        nonlocal highest
        for k in range(start, start + 100):
            queue.put(k)
            highest = max(highest, len(queue))

    producers = [threading.Thread(target=produce, args=(100 * k,)) for k in range(3)]
    for thread in producers:
        thread.start()
    closer = threading.Thread(target=lambda: ([thread.join() for thread in producers], queue.close()))
    closer.start()
    taken = list(Dataset(queue).batch(7))
    closer.join()
    taken = np.concatenate(taken).tolist()
    assert sorted(taken) == list(range(300))
    assert highest <= 8
    assert ([k for k in taken if k < 100] == list(range(100))) is (seed is None)


def test_queues_that_are_closed():
    queue = Queue(2)
    queue.put("a")
    with pytest.raises(TimeoutError):
        queue.put("b") or queue.put("c", timeout=0.01)
    queue.close(ValueError("the source is broken"))
    with pytest.raises(QueueClosed):
        queue.put("d")
    taken = []
    with pytest.raises(ValueError, match="broken"):
        taken.extend(taken.append(element) for element in queue)
    assert taken[:1] == ["a"]
    with pytest.raises(QueueClosed) as closed:
        queue.get()
    assert isinstance(closed.value.__cause__, ValueError)


class RaysRows:
    """What of a Ray Dataset is used."""

    def __init__(self, count):
        self.count = count

    def iter_rows(self):
        return ({"x": np.full(3, row), "y": row} for row in range(self.count))


def test_rows_of_ray_data_are_elements_and_each_pass_asks_anew():
    data = from_ray(RaysRows(5))
    assert [row["y"] for row in data] == [row["y"] for row in data] == [0, 1, 2, 3, 4]
    assert [row["y"] for row in data.repeat(2).shard(1, 2)] == [1, 3, 0, 2, 4]
    first = next(iter(data.batch(2)))
    assert first["x"].shape == (2, 3)
    assert pickle.loads(pickle.dumps(data.shuffle(seed=1))) is not None
    with pytest.raises(TypeError, match="has no rows to go through"):
        from_ray([1, 2])


def test_a_dataset_goes_to_other_processes():
    data = arrays(np.arange(10)).shuffle(seed=3).batch(3).repeat()
    there = pickle.loads(pickle.dumps(data))
    assert [next(one).tolist() for one in [iter(there)]] == [next(one).tolist() for one in [iter(data)]]
