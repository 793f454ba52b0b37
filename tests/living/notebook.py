"""What people do in a notebook, cell by cell, with IPython (`tests/living/test_notebook.py`)."""

import sys
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell

folder = Path(sys.argv[1])
sys.path.insert(0, str(folder))
shell = InteractiveShell.instance()


def cell(text):
    """Run a cell; what it raises ends this."""
    shell.run_cell(text, store_history=True).raise_error()


def module(factor):
    text = f"def factor(x):\n    return x * {factor} if x.sum() > 0 else x\n"
    (folder / "edited.py").write_text(text + "#" * factor)  # of another size each time


module(2)
cell("import cloudpickle, joblib, numpy as np, jitflow, edited\nx = np.arange(4.0)\nw = jitflow.Variable(np.zeros(4))")
cell("def helper(x):\n    return x + 1 if x.sum() > 0 else x")
cell(
    "@jitflow.function\ndef f(x, n):\n    total = 0.0\n    for i in range(n):\n        if x[i] > 1:\n"
    "            total += helper(x)[i]\n    w[0] += 1\n    return total"
)
cell("assert f(x, 4) == 7.0 and f.cache_info().misses == 1")
cell("%timeit -n 2 -r 1 f(x, 4)")
cell("assert f.cache_info()[:2] == (2, 1) and w[0] == 3, (f.cache_info(), w)")
cell("def helper(x):\n    return x + 2 if x.sum() > 0 else x")
cell("assert f(x, 4) == 9.0 and f.cache_info().misses == 2")
cell("@jitflow.function\ndef f(x, n):\n    return helper(x)[n] if n > 0 else helper(x)[0]")
cell("assert f(x, 2) == 4.0")
cell("assert cloudpickle.loads(cloudpickle.dumps(f))(x, 2) == 4.0")
cell("assert joblib.Parallel(n_jobs=2)(joblib.delayed(f)(x, n) for n in (2, 3)) == [4.0, 5.0]")
cell("def g(x):\n    if x.sum() > 0:\n        return x @ x[:, None, None]\n    return x")
cell(
    "try:\n    jitflow.function(g)(x)\nexcept ValueError:\n    import traceback\n"
    "    assert 'return x @ x[:, None, None]' in traceback.format_exc()\nelse:\n    raise AssertionError"
)
cell("%load_ext autoreload\n%autoreload 2\nh = jitflow.function(lambda x: edited.factor(x))\nfrom edited import factor")
cell("assert h(x)[1] == 2.0 and jitflow.function(factor)(x)[1] == 2.0")
module(3)
cell("assert h(x)[1] == 3.0 and jitflow.function(factor)(x)[1] == 3.0, h(x)")
cell("%%timeit -n 1 -r 1 y = x + 1\nf(y, 1)")
print("done")
