#!/usr/bin/env python3
"""Operators on both sides of each change of meaning between opsets, against ONNX Runtime (onnx's reference where it refuses).

    opset_sides.py --run PROGRAM [--seed N] [--only OPERATOR]

One node a model, random data. PROGRAM is eval_models or speaks its options: --file M.onnx --in X.npz --expect Y.npz, exit code 0 where
the answers agree. The official node tests hold each operator's newest versions only, so the older sides are tested here. Exit code 1 if
an answer differs.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator


def vec(*values):
    return np.array(values, np.int64)


def f32(*values):
    return np.array(values, np.float32)


def shape_cases(case, x, normal):
    y = normal(1, 3, 1, 4)
    for axis, opsets in ((0, [9, 11, 13]), (4, [9, 13]), (-1, [11, 13])):
        case("Flatten", opsets, [x], {"axis": axis})
    case("Flatten", [9], [x])
    case("Squeeze", [7, 11, 12], [y], {"axes": [0, 2]})
    case("Squeeze", [11], [y], {"axes": [-2]})
    case("Squeeze", [7, 12, 13], [y])
    case("Squeeze", [13, 21], [y, vec(0, -2)], known=[1])
    case("Unsqueeze", [7, 11, 12], [y], {"axes": [0, 3]})
    case("Unsqueeze", [11], [y], {"axes": [-1]})
    case("Unsqueeze", [13, 21], [y, vec(-1, 0)], known=[1])
    case("Transpose", [7, 13, 21], [x])
    case("Transpose", [7], [x], {"perm": [2, 0, 3, 1]})
    case("Concat", [7, 11, 13], [normal(2, 3), normal(2, 5)], {"axis": 1})
    case("Concat", [11], [normal(2, 3), normal(4, 3)], {"axis": -2})
    case("Reshape", [7, 13, 14], [x, vec(0, -1, 9)], known=[1])
    case("Reshape", [14, 21], [x, vec(2, -1)])
    case("Reshape", [13], [x, vec(0, 0, -1)])
    case("Reshape", [14], [normal(0, 3), vec(0, 7)], {"allowzero": 1}, known=[1])
    case("Shape", [7, 13], [x])
    case("Shape", [15, 21], [x], {"start": 1, "end": -1})
    case("Size", [7, 13], [x])
    case("ConstantOfShape", [9, 20], [vec(2, 3)], {"value": helper.make_tensor("v", T.INT64, [1], [7])})
    case("Expand", [8, 13], [normal(3, 1), vec(2, 1, 4)], known=[1])
    case("Expand", [13], [normal(3, 1), vec(3, 4)])
    case("Tile", [7, 13], [normal(2, 3), vec(2, 3)], known=[1])
    case("Tile", [13], [normal(2, 3), vec(2, 1)])
    case("DepthToSpace", [7, 13], [normal(2, 12, 3, 4)], {"blocksize": 2})
    case("DepthToSpace", [11, 13], [normal(2, 12, 3, 4)], {"blocksize": 2, "mode": "CRD"})
    case("SpaceToDepth", [7, 13], [normal(2, 3, 4, 6)], {"blocksize": 2})


def move_cases(case, x, normal):
    for mode in ("constant", "reflect", "edge"):
        pads = [0, 1, 2, 0, 0, 0, 1, 3]
        case("Pad", [7, 10], [x], {"mode": mode, "pads": pads, **({"value": 1.5} if mode == "constant" else {})})
        case("Pad", [11, 13, 18, 21], [x, vec(*pads)] + ([np.float32(2)] if mode == "constant" else []), {"mode": mode}, known=[1])
    case("Pad", [11, 18], [x, vec(0, -1, 2, 0, 0, 0, -1, 3)], known=[1])
    case("Pad", [18, 19], [x, vec(1, 2, 0, 3), np.float32(1), vec(-1, 1)], known=[1, 3])
    case("Pad", [19], [x, vec(0, 1, 2, 0, 0, 0, 1, 3)], {"mode": "wrap"}, known=[1])
    case("Slice", [7, 9], [x], {"starts": [1, -3], "ends": [100, -1], "axes": [1, 3]})
    case("Slice", [9], [x], {"starts": [0, 1], "ends": [1, 3]})
    case("Slice", [10, 11, 13], [x, vec(1, -3), vec(1000, -1), vec(1, 3)], known=[1, 2, 3])
    case("Slice", [11, 13], [x, vec(7, -1), vec(-1000, 0), vec(-2, 3), vec(-2, -3)], known=[1, 2, 3, 4])
    case("Slice", [13], [x, vec(7, -1), vec(-1000, 0), vec(-2, 3), vec(-2, -3)], known=[3, 4])
    case("Slice", [13], [x, vec(5), vec(2), vec(2)], known=[3])
    case("Split", [7, 11], [normal(6, 4)], {"axis": 0}, outputs=3)
    case("Split", [7, 12], [normal(6, 4)], {"axis": 0, "split": [1, 5]}, outputs=2)
    case("Split", [13, 17], [normal(6, 4), vec(1, 5)], {"axis": 0}, outputs=2, known=[1])
    case("Split", [13], [normal(6, 4)], {"axis": -1}, outputs=2)
    case("Split", [18], [normal(7, 4)], {"axis": 0, "num_outputs": 3}, outputs=3)
    case("Split", [18], [normal(7, 4), vec(3, 4)], outputs=2)
    case("Gather", [7, 11, 13], [x, vec(1, 0, 2)], {"axis": 1})
    case("Gather", [11], [x, vec(-1, 0)], {"axis": -1})
    case("GatherElements", [11, 13], [normal(3, 4), vec([0, -3, 2, 1], [-1, 1, -2, 0])], {"axis": 0})
    case("GatherND", [11, 12, 13], [normal(3, 4, 5), vec([0, 1], [2, 3])])
    case("GatherND", [12], [normal(2, 4, 5), vec([[1], [0]], [[3], [2]])], {"batch_dims": 1})
    pair = [normal(3, 4), vec([2, 0], [0, 1]), normal(2, 2)]
    case("Scatter", [9, 10], pair, {"axis": 0})
    case("ScatterElements", [11, 13, 16, 18], pair, {"axis": -2})
    for reduction, opsets in (("add", [16, 18]), ("mul", [16, 18]), ("max", [18]), ("min", [18])):
        case("ScatterElements", opsets, [normal(3, 4), vec([2, 0], [2, 1]), normal(2, 2)], {"reduction": reduction})
        case("ScatterND", opsets, [normal(3, 4), vec([2], [2]), normal(2, 4)], {"reduction": reduction})
    case("ScatterND", [11, 13, 16, 18], [normal(3, 4), vec([2], [0]), normal(2, 4)])
    case("OneHot", [9, 11], [vec(1, -1, 7, 0), vec(4), f32(2, 5)], {"axis": 0}, known=[1])
    case("OneHot", [11], [vec([1, 2], [3, 0]), np.int64(4), f32(2, 5)], {"axis": -1}, known=[1])
    case("OneHot", [11], [f32(1, 2), np.float32(4), f32(2, 5)], known=[1])
    case("NonZero", [9, 13], [np.round(normal(3, 4))])
    case("Trilu", [14], [normal(2, 4, 5), np.int64(-1)], {"upper": 0}, known=[1])
    case("Trilu", [14], [normal(2, 4, 5)])
    case("Range", [11], [np.float32(1), np.float32(9), np.float32(2.5)], known=[0, 1, 2])
    case("Range", [11], [np.float32(1), np.float32(9), np.float32(0.7)])
    case("Range", [11], [np.int64(10), np.int64(-3), np.int64(-4)])


def reduce_cases(case, x, normal):
    for axis in (0, 1, 2, 3, -1):
        case("Softmax", [7, 11, 12, 13], [x], {"axis": axis})
        case("LogSoftmax", [11, 13], [x], {"axis": axis})
    case("Softmax", [11, 13], [x])
    positive = np.abs(x) + 0.1
    for kind in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"):
        moved = 13 if kind == "Sum" else 18  # the opset that made the axes an input
        case("Reduce" + kind, [v for v in (7, 11, 12, 13, 17) if v < moved], [positive], {"axes": [1, 3], "keepdims": 0})
        case("Reduce" + kind, [11], [positive], {"axes": [-1]})
        case("Reduce" + kind, [11, moved], [positive])
        case("Reduce" + kind, [moved, 20], [positive, vec(1, -1)], {"keepdims": 0}, known=[1])
        case("Reduce" + kind, [moved, 20], [positive], {"noop_with_empty_axes": 1})
    for kind in ("ArgMax", "ArgMin"):
        case(kind, [7, 11, 12, 13], [np.round(x)], {"axis": 1})
        case(kind, [11], [np.round(x)], {"axis": -1, "keepdims": 0})
        case(kind, [12, 13], [np.round(x)], {"axis": 2, "select_last_index": 1})
    case("CumSum", [11, 14], [normal(3, 4), np.array(1, np.int32)], {"exclusive": 1, "reverse": 1}, known=[1])
    case("CumSum", [14], [normal(3, 4), np.int64(-2)], known=[1])
    statistics = [normal(3), normal(3), normal(3), np.abs(normal(3)) + 0.5]
    case("BatchNormalization", [7, 9, 14, 15], [x, *statistics], {"epsilon": 1e-3})
    case("BatchNormalization", [14, 15], [x, *statistics], {"training_mode": 1, "momentum": 0.7}, outputs=3)
    case("LayerNormalization", [17], [x, normal(9), normal(9)], {"axis": -1}, outputs=3)
    case("LayerNormalization", [17], [x, normal(8, 9)], {"axis": 2, "epsilon": 1e-2})
    case("RMSNormalization", [23], [x, normal(9)])
    labels = np.arange(2 * 8 * 9, dtype=np.int64).reshape(2, 8, 9) % 3
    for reduction in ("mean", "sum", "none"):
        case("SoftmaxCrossEntropyLoss", [12, 13], [x, labels], {"reduction": reduction}, outputs=2)
        case("SoftmaxCrossEntropyLoss", [12, 13], [x, labels, np.abs(normal(3))], {"reduction": reduction, "ignore_index": 1})


def elementwise_cases(case, x, normal):
    whole = (x * 10).astype(np.int64)
    case("Clip", [7, 10], [x], {"min": -0.5, "max": 0.3})
    case("Clip", [7, 10], [x], {"max": 0.3})
    case("Clip", [11, 12, 13], [x, np.float32(-0.5), np.float32(0.4)])
    case("Clip", [11, 13], [x, None, np.float32(0.4)])
    case("Clip", [12, 13], [whole, np.int64(-3), np.int64(4)])
    case("Dropout", [7, 10], [x], {"ratio": 0.4})
    case("Dropout", [12, 13, 22], [x, np.float32(0.3)])
    case("Dropout", [12, 13], [x, np.float32(0.3), np.array(False)], known=[2])
    case("Mod", [10, 13], [whole, np.full((9,), -3, np.int64)])
    case("Mod", [13], [x, normal(9)], {"fmod": 1})
    case("Pow", [7, 12, 13, 15], [np.abs(x) + 0.1, normal(9)])
    case("Pow", [12, 15], [np.abs(x) + 0.1, vec(2)])
    case("Div", [7, 13, 14], [whole, np.full((9,), -3, np.int64)])
    for kind, opsets in (("Max", [8, 12, 13]), ("Min", [8, 12, 13]), ("Sum", [8, 13]), ("Mean", [8, 13])):
        case(kind, opsets, [x, normal(9), normal(3, 1, 1)])
        case(kind, [8], [x])
    case("Equal", [7, 11, 13], [np.round(x).astype(np.int64), np.round(normal(9)).astype(np.int64)])
    for kind in ("Greater", "Less"):
        case(kind, [9, 13], [x, normal(9)])
        case(kind + "OrEqual", [12, 16], [x, normal(9)])
    case("Where", [9, 16], [x > 0, x, normal(9)])
    case("HardSigmoid", [7, 22], [x], {"alpha": 0.3})
    case("Gelu", [20], [x])
    case("Gelu", [20], [x], {"approximate": "tanh"})
    case("HardSwish", [14, 22], [x * 4])
    case("Round", [11, 22], [x * 3])
    case("Erf", [9, 13], [x])
    case("IsNaN", [9, 13], [f32(1, np.nan)])
    case("Cast", [7, 9, 13, 19], [x * 3], {"to": T.INT32})
    case("Cast", [9, 13], [x], {"to": T.FLOAT16})
    case("Cast", [13], [whole], {"to": T.BOOL})
    case("CastLike", [15], [x, np.array([1], np.int32)])
    case("Identity", [7, 14, 16], [x])
    quantised = np.round(x * 20)
    case("QuantizeLinear", [10, 13, 19], [x, np.float32(0.1), np.uint8(3)])
    case("QuantizeLinear", [10], [x, np.float32(0.1)])
    case("QuantizeLinear", [13, 19], [x, np.abs(normal(3)) + 0.1, np.zeros(3, np.int8)], {"axis": 1})
    case("QuantizeLinear", [21], [x, np.abs(normal(2, 3, 8, 3)) + 0.1, np.zeros((2, 3, 8, 3), np.int8)], {"axis": -1, "block_size": 3})
    case("QuantizeLinear", [21], [x, np.float32(0.1)], {"output_dtype": T.INT16})
    case("DequantizeLinear", [10, 13, 19], [quantised.astype(np.int8), np.float32(0.1), np.int8(3)])
    case("DequantizeLinear", [13], [quantised.astype(np.uint8), np.abs(normal(9)) + 0.1], {"axis": -1})
    case("DequantizeLinear", [10, 13], [quantised.astype(np.int32), np.float32(0.1)])


def window_cases(case, x, normal):
    w, transposed = normal(6, 3, 3, 2), normal(3, 4, 3, 2)
    case("Conv", [7, 11, 22], [x, w, normal(6)], {"strides": [2, 1], "pads": [1, 0, 2, 1], "dilations": [1, 2]})
    case("Conv", [11], [normal(2, 4, 7), normal(8, 1, 3)], {"group": 4})
    case("Conv", [11], [normal(1, 2, 4, 5, 6), normal(3, 2, 2, 2, 2)])
    for pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        case("Conv", [11], [x, w], {"auto_pad": pad, "strides": [2, 3], "kernel_shape": [3, 2]})
        case("ConvTranspose", [11], [x, transposed], {"auto_pad": pad, "strides": [2, 2]})
        case("MaxPool", [7, 10, 12], [x], {"auto_pad": pad, "kernel_shape": [3, 2], "strides": [2, 2]})
        case("AveragePool", [7, 10, 11, 19], [x], {"auto_pad": pad, "kernel_shape": [3, 2], "strides": [2, 2]})
    case("ConvTranspose", [7, 11, 22], [x, transposed, normal(4)], {"strides": [2, 3], "pads": [1, 0, 0, 1], "output_padding": [1, 2]})
    case("ConvTranspose", [11], [normal(2, 4, 5), normal(4, 3, 3)], {"group": 2, "dilations": [2]})
    case("ConvTranspose", [11], [x, transposed], {"output_shape": [16, 18], "strides": [2, 2]})
    case("ConvTranspose", [11], [x, normal(3, 4, 3, 3)], {"output_shape": [17, 17], "strides": [2, 2], "auto_pad": "SAME_UPPER"})
    case("MaxPool", [8, 10, 12], [x], {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}, outputs=2)
    case("MaxPool", [8, 12], [x], {"kernel_shape": [3, 2], "storage_order": 1}, outputs=2)
    case("MaxPool", [10, 12, 22], [x], {"kernel_shape": [3, 2], "strides": [3, 2], "ceil_mode": 1, "dilations": [1, 2]})
    for include in (0, 1):
        padded = {"kernel_shape": [3, 2], "strides": [2, 3], "pads": [1, 1, 1, 0], "count_include_pad": include}
        case("AveragePool", [7, 11], [x], padded)
        for ceil in (0, 1):
            case("AveragePool", [10, 11, 19, 22], [x], {**padded, "ceil_mode": ceil})
    case("AveragePool", [19], [x], {"kernel_shape": [2, 2], "dilations": [2, 1]})
    for kind in ("GlobalAveragePool", "GlobalMaxPool"):
        case(kind, [7, 13, 22], [x])
    case("Gemm", [7, 9], [normal(3, 4), normal(4, 5), normal(5)], {"alpha": 0.5, "beta": 0.25})
    case("Gemm", [11, 13], [normal(4, 3), normal(5, 4)], {"transA": 1, "transB": 1})
    case("Gemm", [11, 13], [normal(4, 3), normal(5, 4), normal(3, 1)], {"transA": 1, "transB": 1, "beta": 2.0})


def resize_cases(case, x, normal):
    empty = f32()
    case("Upsample", [7], [x], {"mode": "nearest", "scales": [1.0, 1.0, 2.0, 3.0]})
    case("Upsample", [9], [x, f32(1, 1, 2, 3)], {"mode": "nearest"}, known=[1])
    case("Upsample", [9], [x, f32(1, 1, 2, 1.5)], {"mode": "linear"}, known=[1])
    case("Resize", [10], [x, f32(1, 1, 2, 0.6)], {"mode": "nearest"}, known=[1])
    case("Resize", [10], [x, f32(1, 1, 1.7, 2)], {"mode": "linear"}, known=[1])
    for coordinates in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"):
        for mode, nearest in (("nearest", "floor"), ("nearest", "ceil"), ("nearest", "round_prefer_floor"), ("nearest", "round_prefer_ceil"),
                              ("linear", "floor"), ("cubic", "floor")):
            attributes = {"mode": mode, "coordinate_transformation_mode": coordinates, "nearest_mode": nearest}
            case("Resize", [11, 13, 18, 19], [x, empty, f32(1, 1, 1.5, 2)], attributes, known=[1, 2])
            case("Resize", [13, 19], [x, None, None, vec(2, 3, 5, 13)], attributes, known=[3])
    case("Resize", [11], [x, empty, empty, vec(2, 3, 5, 13)], {"mode": "linear"}, known=[1, 2, 3])
    case("Resize", [18], [x, None, None, vec(5, 13)], {"mode": "linear", "axes": [2, 3], "antialias": 1}, known=[3])
    case("Resize", [18], [x, None, None, vec(13, 5)], {"mode": "linear", "axes": [3, 2]}, known=[3])
    for policy in ("not_larger", "not_smaller"):
        case("Resize", [18], [x, None, None, vec(20, 13)], {"mode": "nearest", "axes": [2, 3], "keep_aspect_ratio_policy": policy}, known=[3])
    case("Resize", [11, 13], [x, f32(0, 0, 0.1, 0.2, 1, 1, 0.9, 0.7), empty, vec(2, 3, 5, 13)],
         {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 3.0}, known=[1, 2, 3])


def lstm_cases(case, x, normal):
    steps, batch, width, hidden = 4, 2, 3, 5
    for direction, count in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
        data = [normal(steps, batch, width), normal(count, 4 * hidden, width), normal(count, 4 * hidden, hidden)]
        common = {"hidden_size": hidden, "direction": direction}
        bias, state = normal(count, 8 * hidden), normal(count, batch, hidden)
        case("LSTM", [7, 14, 22], [*data, bias], common, outputs=3)
        case("LSTM", [7, 14], [*data, bias, np.array([4, 2], np.int32), state, state * 0.5, normal(count, 3 * hidden)], {**common, "clip": 0.5}, outputs=3)
        case("LSTM", [7], data, {**common, "activations": ["HardSigmoid", "Relu", "ScaledTanh"] * count, "activation_alpha": [0.3, 1.2] * count,
                                 "activation_beta": [0.4, 0.9] * count}, outputs=3)
        case("LSTM", [7], data, {**common, "input_forget": 1}, outputs=3)


def all_cases(seed):
    rng = np.random.default_rng(seed)

    def normal(*shape):
        return rng.normal(size=shape).astype(np.float32)

    cases = []

    def case(op, opsets, inputs, attributes=None, outputs=1, known=()):
        cases.extend((op, opset, inputs, attributes or {}, outputs, known) for opset in opsets)

    x = normal(2, 3, 8, 9)
    for family in (shape_cases, move_cases, reduce_cases, elementwise_cases, window_cases, resize_cases, lstm_cases):
        family(case, x, normal)
    return cases


def build(op, opset, inputs, attributes, outputs, known):
    """The model, and the inputs that it is fed with; inputs in `known` are initializers."""
    arrays = {f"i{k}": np.asarray(v) for k, v in enumerate(inputs) if v is not None}
    fed = {name: v for name, v in arrays.items() if int(name[1:]) not in known}
    node = helper.make_node(op, ["" if v is None else f"i{k}" for k, v in enumerate(inputs)], [f"o{k}" for k in range(outputs)], **attributes)
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in fed.items()],
        [helper.make_empty_tensor_value_info(f"o{k}") for k in range(outputs)],
        [numpy_helper.from_array(v, n) for n, v in arrays.items() if n not in fed])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), fed


def answers(model, fed):
    try:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        typed = onnx.shape_inference.infer_shapes(model)
        return ort.InferenceSession(typed.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, fed)
    except Exception:  # its own kinds of error for versions that it lacks
        return ReferenceEvaluator(model).run(None, fed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only")
    options = parser.parse_args()
    ran = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        paths = {n: os.path.join(folder, n) for n in ("m.onnx", "in.npz", "out.npz")}
        for op, opset, inputs, attributes, outputs, known in all_cases(options.seed):
            if options.only and op != options.only:
                continue
            model, fed = build(op, opset, inputs, attributes, outputs, known)
            onnx.save(model, paths["m.onnx"])
            np.savez(paths["in.npz"], **fed)
            np.savez(paths["out.npz"], **{f"o{k}": v for k, v in enumerate(answers(model, fed))})
            command = [options.run, "--file", paths["m.onnx"], "--in", paths["in.npz"], "--expect", paths["out.npz"]]
            done = subprocess.run(command, capture_output=True, text=True)
            ran += 1
            if done.returncode != 0:
                wrong += 1
                print(f"wrong  {op} (opset {opset}) {attributes} {[None if v is None else np.asarray(v).shape for v in inputs]}")
                print("       " + (done.stdout + done.stderr).strip().replace("\n", "\n       "))
    print(f"{ran} models (seed {options.seed}), {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
