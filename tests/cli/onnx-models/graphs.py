"""Small random graphs of opset 18, in which values are read several times and in several orders of their axes: graphs.py DIR SEED COUNT

What a node may read is drawn among all values so far. Half of the graphs are images, stored as NCHW and seen as NHWC as well; half are tokens.
"""
import os
import random
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    def __init__(self, seed):
        self.draw, self.numbers = random.Random(seed), numpy.random.RandomState(seed % (1 << 32))
        self.nodes, self.constants, self.values = [], [], []  # values: name, shape, axis of the channels

    def constant(self, value):
        self.constants.append(numpy_helper.from_array(numpy.asarray(value), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def real(self, *shape, scale=1.0):
        return self.constant((self.numbers.randn(*shape) * scale).astype("f"))

    def whole(self, *values):
        return self.constant(numpy.array(values))

    def put(self, op, inputs, shape, channels, shown=True, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"{name}_{op}", **attributes))
        if shown:
            self.values.append((name, tuple(shape), channels))
        return name

    def pick(self, fits=lambda v: True):
        all_of = [v for v in self.values if fits(v)]
        return all_of[-1] if self.draw.random() < 0.6 else self.draw.choice(all_of)

    def same(self, name, shape, axis):
        """What takes values of any axes."""
        kind = self.draw.randrange(5 if len(shape) == 4 else 4)  # the last: factors of channels, of images
        channels = [1] * len(shape)
        channels[axis] = shape[axis]
        if kind == 0:
            self.put(self.draw.choice(("Identity", "Neg", "Relu", "Sigmoid", "Tanh", "HardSwish")), [name], shape, axis)
        elif kind == 1:
            self.put(self.draw.choice(("Add", "Mul", "Sub")), [name, self.real(*channels)], shape, axis)
        elif kind == 2:
            other = self.pick(lambda v: v[1:] == (shape, axis))[0]
            self.put("Add" if other == name else self.draw.choice(("Add", "Sub")), [name, other], shape, axis)
        elif kind == 3:  # x * sigmoid(x), or of another value
            gate = self.put("Sigmoid", [self.pick(lambda v: v[1:] == (shape, axis))[0]], shape, axis, shown=False)
            self.put("Mul", [name, gate], shape, axis)
        else:
            others = tuple(i for i in range(1, len(shape)) if i != axis)
            mean = self.put(self.draw.choice(("ReduceMean", "ReduceMax")), [name, self.whole(*others)], shape, axis, shown=False, keepdims=1)
            gate = self.put("Tanh", [mean], shape, axis, shown=False)
            self.put("Mul", [name, gate], shape, axis)

    def joined(self, name, shape, axis):
        other = self.pick(lambda v: v[2] == axis and v[1][:axis] + v[1][axis + 1:] == shape[:axis] + shape[axis + 1:])
        size = shape[axis] + other[1][axis]
        if size <= 24:
            self.put("Concat", [name, other[0]], shape[:axis] + (size,) + shape[axis + 1:], axis, axis=axis)

    def image(self, name, shape, axis):
        kind = self.draw.randrange(4)
        if kind == 0 and axis == 1:
            k, side = self.draw.choice((4, 8)), self.draw.choice((1, 3))
            self.put("Conv", [name, self.real(k, shape[1], side, side, scale=0.3)], (shape[0], k) + shape[2:], 1, pads=[side // 2] * 4)
        elif kind == 1:
            order = [0, 2, 3, 1] if axis == 1 else [0, 3, 1, 2]
            self.put("Transpose", [name], [shape[i] for i in order], 3 if axis == 1 else 1, perm=order)
        elif kind == 2:
            self.joined(name, shape, axis)
        else:
            self.same(name, shape, axis)

    def tokens(self, name, shape, axis):
        kind, (n, t, c) = self.draw.randrange(7), shape
        if kind == 0:
            k = self.draw.choice((4, 8))
            self.put("MatMul", [name, self.real(c, k, scale=0.4)], (n, t, k), 2)
        elif kind == 1:
            self.put("LayerNormalization", [name, self.real(c), self.real(c)], shape, axis, axis=-1)
        elif kind == 2:
            self.put("Transpose", [name], (n, c, t), axis, perm=[0, 2, 1])
        elif kind == 3 and t > 2:
            first = self.draw.randrange(t - 1)
            self.put("Slice", [name, self.whole(first), self.whole(t), self.whole(1)], (n, t - first, c), axis)
        elif kind == 4:  # a token of the model's own
            token = self.constant(numpy.repeat(self.numbers.randn(1, 1, c).astype("f"), n, 0))
            self.put("Concat", [token, name], (n, t + 1, c), axis, axis=1)
        elif kind == 5:
            self.put(*self.draw.choice((("Softmax", [name]), ("Add", [name, self.real(1, t, c)]))), shape, axis)
        else:
            self.same(name, shape, axis)

    def model(self):
        n, h, w = self.draw.choice(((1, 5, 6), (1, 4, 4), (2, 3, 4)))
        first = self.put("Conv", ["x", self.real(8, 3, 1, 1)], (n, 8, h, w), 1, shown=False)
        self.put("MaxPool", [first], (n, 8, h, w), 1, kernel_shape=[2, 2], pads=[0, 0, 1, 1])  # which is a layer of its own, so there are two
        step = self.image
        if self.draw.random() < 0.5:
            flat = self.put("Reshape", [self.values[0][0], self.whole(n, 8, h * w)], (n, 8, h * w), 1, shown=False)
            self.values = []
            self.put("Transpose", [flat], (n, h * w, 8), 2, perm=[0, 2, 1])
            step = self.tokens
        for _ in range(self.draw.randint(5, 12)):
            step(*self.pick())
        self.put("Relu", [self.values[-1][0]], *self.values[-1][1:])
        out, needed, kept = self.values[-1], {self.values[-1][0]}, []
        for node in reversed(self.nodes):
            if node.output[0] in needed:
                kept.insert(0, node)
                needed |= set(node.input)
        graph = helper.make_graph(kept, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [n, 3, h, w])],
                                  [helper.make_tensor_value_info(out[0], TensorProto.FLOAT, out[1])], [c for c in self.constants if c.name in needed])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
        model.ir_version = 9
        onnx.checker.check_model(model, full_check=True)
        return model


def main():
    folder, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.makedirs(folder, exist_ok=True)
    for i in range(count):
        onnx.save(Graph(seed * 1000 + i).model(), f"{folder}/graph{i}.onnx")


main()
