"""One compiled function over two processes: a layer of a classifier is computed, and its weights lie, in another one.

Ray is started on this machine, for this program alone (`pip install 'jitflow[cluster]'`):

    python examples/two_nodes.py
"""

import numpy as np

import jitflow
from jitflow import Variable, cluster, nn

connection = cluster.connect(nodes=2)
print(*connection.devices())  # cpu:0 node:1/cpu:0

draw = np.random.default_rng(0)
w1 = Variable(nn.glorot_normal((64, 32), draw))
w2 = Variable(nn.glorot_normal((32, 10), draw), device="node:1/cpu:0")
descent = jitflow.optim.SGD(0.1)


@jitflow.function
def step(images, labels):
    def loss():
        hidden = np.maximum(images @ w1, 0)
        with jitflow.device("node:1/cpu:0"):
            return nn.cross_entropy(hidden @ w2, labels)

    return descent.minimize(loss, [w1, w2])


images, labels = draw.normal(size=(20, 64)), draw.integers(0, 10, 20)
losses = [step(images, labels) for _ in range(100)]
print(f"loss {losses[0]:.3f} at first, {losses[-1]:.3f} at last")
connection.close()
