"""Benchmarks of fused programs beside NumPy, numba, JAX and torch.compile, on one thread, all cores, or a GPU.

`jitflow bench` runs them; so does `python -m benchmarks` in a checkout. This package is imported under two names
(`benchmarks` in a checkout, `jitflow.benchmarks` in a wheel), so its modules import each other relatively.

- `workloads/`: what is computed, in plain NumPy and in each peer's best form;
- `peers.py`: how each peer compiles and runs its form;
- `machine.py`: pinning to one thread, the description of the machine;
- `limits.py`: what its cores could do at best;
- `worker.py`: a process for each peer, which answers one question at a time;
- `measure.py`: interleaved rounds, comparison with NumPy, first calls;
- `report.py`: the table, the JSON file and the picture;
- `harness.py`: ties them together.

On a GPU (`--device cuda`) `gpu.py` ties the same together: `gpu_peers.py` has arrays there, `gpu_session.py` the clock,
`launches.py` a program of fifty kernels, `training_cases.py` the steps.

The gallery of whole programs has a benchmark of its own, `python -m benchmarks.programs` in a checkout: `gallery.py`
loads the programs, `program_session.py` runs them in a peer's process, `programs.py` measures and reports.
`predictions.py` compares what `jitflow.simulate` predicts of them with what they take.
"""
