"""A tensor of rank three times a matrix along its last axis, in place: A[r, q, :] <- A[r, q, :] C.

The last axis is so short that one slab of the tensor is reshaped into a batch of row vectors.
"""

import numpy as np

import jitflow


@jitflow.function
def doitgen(A, C):
    nr, nq, np_ = A.shape
    for r in range(nr):
        A[r] = np.reshape(np.reshape(A[r], (nq, 1, np_)) @ C, (nq, np_))


def example(size="small", seed=0):
    nr, nq, np_ = (4, 5, 6) if size == "small" else (60, 60, 48)
    random = np.random.default_rng(seed)
    return random.random((nr, nq, np_)), random.random((np_, np_))


if __name__ == "__main__":
    A, C = example("large")
    expected = np.einsum("rqs,sp->rqp", A, C)
    doitgen(A, C)
    print(f"largest error of the product: {np.abs(A - expected).max():.1e}")
