import jax
import jax.numpy as jnp
import numpy as np
import bench


def truth(x):
    m = x.max(-1, keepdims=True)
    return (m + np.log(np.exp(x - m).sum(-1, keepdims=True)))[:, 0]


op = bench.op("jlogsumexp", fields={"rows": 30, "cols": 200}, terms="cols", dtypes=["bf16"], tensors="x: [rows, cols]; y: [rows] written", reference=truth)


@op.call
@jax.jit
def right(x):
    return jax.nn.logsumexp(x, -1)


@op.call(what="the mean instead of the sum")
@jax.jit
def wrong(x):
    return jnp.log(jnp.exp(x).mean(-1))
