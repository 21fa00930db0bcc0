"""Small models of the harness that no export gives: seeded weights, float32."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


def weight(rng, name, *shape):
    return numpy_helper.from_array((rng.standard_normal(shape) * np.sqrt(2 / shape[0])).astype("f4"), name)


def mlp(rng):
    """784-128-10 with a batch of 1."""
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "w2", "b2"], ["y"]),
    ]
    weights = [weight(rng, "w1", 784, 128), weight(rng, "b1", 128), weight(rng, "w2", 128, 10), weight(rng, "b2", 10)]
    return nodes, weights, [1, 784], [1, 10]


def gemm_512(rng):
    """A product of 512 x 512 matrices, the right one constant."""
    return [helper.make_node("MatMul", ["x", "w"], ["y"])], [weight(rng, "w", 512, 512)], [512, 512], [512, 512]


MAKERS = {"mlp_784_128_10": mlp, "gemm_512": gemm_512}


def make(name, path):
    nodes, weights, given, result = MAKERS[name](np.random.default_rng(7))
    value = lambda n, shape: helper.make_tensor_value_info(n, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, name, [value("x", given)], [value("y", result)], weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
