"""Writes cases/*.txt: single ops with operands, attributes and the results that numpy or ONNX's reference evaluator gives in float64.

    python3 tests/unit/ir/make_op_cases.py

Each case is a block of lines: `case NAME`, `op SPELLING`, `attr NAME VALUE...`, `in DTYPE [EXTENTS] VALUES...` (`in absent`), `out DTYPE [EXTENTS] VALUES...`,
`end`. `out any` leaves a result unchecked. The reference sees the model of one node that `node` describes, so both attributes and operands may differ from ours.
"""
import itertools
import os

import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.ops import op_resize

HERE = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(20240611)
DTYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "int64": "i64", "int32": "i32", "int8": "i8", "uint8": "u8", "uint64": "u64", "bool": "bool"}


def value(v):
    if isinstance(v, (bool, np.bool_)):
        return str(int(v))
    if isinstance(v, (int, np.integer)):
        return str(int(v))
    v = float(v)
    return repr(v) if v == v else "nan"


def tensor(a):
    a = np.asarray(a)
    return f"{DTYPES[a.dtype.name]} [{','.join(map(str, a.shape))}] " + " ".join(value(v) for v in a.reshape(-1))


class File:
    def __init__(self, name):
        self.path, self.lines, self.count = os.path.join(HERE, "cases", name + ".txt"), [], 0

    def case(self, op, inputs, outputs, name="", **attrs):
        self.count += 1
        out = [f"case {op}_{self.count}{'_' + name if name else ''}", f"op {op}"]
        for key, v in attrs.items():
            v = v if isinstance(v, (list, tuple, np.ndarray)) else [v]
            out.append(f"attr {key} " + " ".join(x if isinstance(x, str) else value(x) for x in v))
        out += ["in " + ("absent" if a is None else tensor(a)) for a in inputs]
        out += ["out " + ("any" if a is None else tensor(a)) for a in outputs]
        self.lines += out + ["end"]

    def write(self):
        with open(self.path, "w") as f:
            f.write("\n".join(self.lines) + "\n")
        print(self.path, self.count, "cases")


def reference(op_type, inputs, opset=23, outputs=1, **attrs):
    """Results of one ONNX node. An input may be None."""
    names = ["" if a is None else f"x{k}" for k, a in enumerate(inputs)]
    node = helper.make_node(op_type, names, [f"y{k}" for k in range(outputs)], **attrs)
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in zip(names, inputs) if a is not None]
    outs = [helper.make_tensor_value_info(f"y{k}", TensorProto.UNDEFINED, None) for k in range(outputs)]
    model = helper.make_model(helper.make_graph([node], "g", infos, outs), opset_imports=[helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model).run(None, {n: a for n, a in zip(names, inputs) if a is not None})


def normal(*shape):
    return np.round(rng.standard_normal(shape), 3)


def reduces():
    f = File("reduce")
    kinds = {
        "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean,
        "l1": lambda x, **k: np.sum(np.abs(x), **k), "l2": lambda x, **k: np.sqrt(np.sum(x * x, **k)), "sum_square": lambda x, **k: np.sum(x * x, **k),
        "log_sum": lambda x, **k: np.log(np.sum(x, **k)), "log_sum_exp": lambda x, **k: np.log(np.sum(np.exp(x), **k)),
    }
    x = np.abs(normal(2, 3, 4)) + 0.1
    for kind, fn in kinds.items():
        for axes, keep in [((1,), 1), ((0, 2), 0), ((), 0), ((0, 1, 2), 1)]:
            f.case("reduce", [x], [fn(x, axis=axes, keepdims=bool(keep))], kind=kind, axes=axes, keepdims=keep)
        f.case("reduce", [np.array(2.5)], [fn(np.array(2.5), axis=())], kind=kind)
    wide = normal(2, 5) * 400
    f.case("reduce", [wide], [wide.max(1) + np.log(np.sum(np.exp(wide - wide.max(1, keepdims=True)), 1))], kind="log_sum_exp", axes=[1])
    nan = normal(3, 4)
    nan[0, 1] = nan[1, 0] = nan[2, 3] = np.nan
    for kind in ("max", "min", "sum", "mean"):
        f.case("reduce", [nan], [kinds[kind](nan, axis=1)], "nan", kind=kind, axes=[1])
    inf = np.array([[-np.inf, -np.inf], [np.inf, 1.0], [-np.inf, 2.0]])
    f.case("reduce", [inf], [np.array([-np.inf, np.inf, 2.0])], "inf", kind="log_sum_exp", axes=[1])
    empty = np.zeros((2, 0, 3))
    for kind, v in {"sum": 0, "prod": 1, "max": -np.inf, "min": np.inf, "mean": np.nan, "l1": 0, "l2": 0, "sum_square": 0, "log_sum": -np.inf, "log_sum_exp": -np.inf}.items():
        f.case("reduce", [empty], [np.full((2, 3), float(v))], "empty", kind=kind, axes=[1])
        f.case("reduce", [empty], [np.zeros((2, 0))], "empty", kind=kind, axes=[2])
    i = rng.integers(-100, 100, (3, 4)).astype(np.int32)
    for kind in ("sum", "prod", "max", "min", "sum_square"):
        f.case("reduce", [i], [kinds[kind](i, axis=1, dtype=np.int32) if kind in ("sum", "prod") else kinds[kind](i, axis=1).astype(np.int32)], "int", kind=kind, axes=[1])
    f.case("reduce", [i], [np.trunc(i.sum(1) / 4).astype(np.int32)], "int", kind="mean", axes=[1])
    f.case("reduce", [np.array([[100, 100], [-128, -1]], np.int8)], [np.array([-56, 127], np.int8)], "wraps", kind="sum", axes=[1])
    f.case("reduce", [np.zeros((2, 0), np.int8)], [np.full(2, -128, np.int8)], "empty", kind="max", axes=[1])
    f.case("reduce", [np.zeros((2, 0), np.uint8)], [np.full(2, 255, np.uint8)], "empty", kind="min", axes=[1])
    f.case("reduce", [np.array([[2**63 + 5, 7]], np.uint64)], [np.array([2**63 + 5], np.uint64)], "unsigned", kind="max", axes=[1])
    b = np.array([[True, False], [False, False], [True, True]])
    f.case("reduce", [b], [b.any(1)], "bool", kind="max", axes=[1])
    f.case("reduce", [b], [b.all(1)], "bool", kind="min", axes=[1])
    f.case("reduce", [np.zeros((2, 0), bool)], [np.array([True, True])], "bool", kind="min", axes=[1])
    half = np.array([[60000.0, 60000.0, -60000.0]], np.float16)
    f.case("reduce", [half], [np.array([60000.0], np.float16)], "wide", kind="sum", axes=[1])

    for kind, select in itertools.product(("max", "min"), (0, 1)):
        for x in (rng.integers(0, 3, (3, 5, 2)).astype(np.float64), rng.integers(-2, 2, (3, 5, 2)).astype(np.int32), nan.reshape(3, 4, 1), np.array([[[np.nan], [1], [np.nan]]])):
            fn = np.argmax if kind == "max" else np.argmin
            y = x.shape[1] - 1 - fn(np.flip(x, 1), axis=1, keepdims=True) if select else fn(x, axis=1, keepdims=True)
            f.case("arg_reduce", [x], [y], kind=kind, axis=1, keepdims=1, select_last=select)
            f.case("arg_reduce", [x], [y.reshape(y.shape[0], y.shape[2])], kind=kind, axis=1, keepdims=0, select_last=select)
    f.case("arg_reduce", [np.zeros((0, 3))], [np.zeros(0, np.int64)], "empty", kind="max", axis=1)
    x = normal(2, 4, 3)
    for axis, exclusive, reverse in itertools.product((0, 1, 2), (0, 1), (0, 1)):
        y = reference("CumSum", [x, np.array(axis)], exclusive=exclusive, reverse=reverse)
        f.case("cumsum", [x], y, axis=axis, exclusive=exclusive, reverse=reverse)
    f.case("cumsum", [np.array([100, 100, 100], np.int8)], [np.array([100, -56, 44], np.int8)], "wraps", axis=0)
    f.case("cumsum", [np.zeros((2, 0))], [np.zeros((2, 0))], "empty", axis=1)
    f.write()


def norms():
    f = File("norm")
    for axis in (0, 1, 2):
        x = normal(2, 3, 4) * 3
        f.case("softmax", [x], reference("Softmax", [x], axis=axis), axis=axis)
        f.case("softmax", [x], reference("LogSoftmax", [x], axis=axis), axis=axis, log=1)
    f.case("softmax", [np.array([1e4, -1e4, 1e4])], [np.array([0.5, 0, 0.5])], "wide", axis=0)
    f.case("softmax", [np.array([[1, np.nan, 2], [-np.inf, -np.inf, -np.inf], [-np.inf, 0, -np.inf]])],
           [np.array([[np.nan] * 3, [np.nan] * 3, [0, 1.0, 0]])], "nan", axis=1)
    f.case("softmax", [np.zeros((2, 0))], [np.zeros((2, 0))], "empty", axis=1)
    x, s, b = normal(2, 3, 4), normal(3, 4), normal(4)
    for axis, scale, bias in [(2, normal(4), None), (1, s, b), (0, np.array(2.0), normal(2, 3, 4)), (2, normal(3, 1), b), (1, None, None), (2, None, b)]:
        axes = tuple(range(axis, 3))
        mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
        y = (x - mean) / np.sqrt(var + 1e-3) * (1 if scale is None else scale) + (0 if bias is None else bias)
        f.case("layer_norm", [x, scale, bias], [y, mean, 1 / np.sqrt(var + 1e-3)], axis=axis, epsilon=1e-3, stats=1)
        y = x / np.sqrt((x * x).mean(axes, keepdims=True) + 1e-3) * (1 if scale is None else scale)
        f.case("rms_norm", [x, scale], [y], axis=axis, epsilon=1e-3)
    far = 1e6 + np.array([[0.0, 1, 2, 3]])
    f.case("layer_norm", [far], [(far - far.mean()) / np.sqrt(far.var())], "far", axis=1, epsilon=0.0)
    x = normal(2, 3, 2, 2)
    c = [normal(3), normal(3), normal(3), np.abs(normal(3)) + 0.1]
    f.case("batch_norm", [x] + c, reference("BatchNormalization", [x] + c, epsilon=2**-7), epsilon=2**-7)
    f.case("batch_norm", [x[:, :, 0, 0]] + c, reference("BatchNormalization", [x[:, :, 0, 0]] + c, epsilon=2**-17), epsilon=2**-17)
    for shape in ((3, 4), (2, 4, 3), (2, 4, 2, 2)):
        for reduction, weighted, ignore in itertools.product(("none", "sum", "mean"), (False, True), (None, 1, -7)):
            x, w = normal(*shape), np.abs(normal(4)) + 0.1 if weighted else None
            labels = rng.integers(0, 4, (shape[0],) + shape[2:])
            if ignore is not None:
                labels.reshape(-1)[0] = ignore
            attrs = {} if ignore is None else {"ignore_index": ignore}
            y = reference("SoftmaxCrossEntropyLoss", [x, labels, w], outputs=2, reduction=reduction, **attrs)
            f.case("softmax_cross_entropy", [x, labels, w], y, reduction=reduction, **attrs)
    f.case("softmax_cross_entropy", [normal(2, 3), np.array([5, 5])], [np.array(np.nan), None], "ignored", reduction="mean", ignore_index=5)
    f.case("softmax_cross_entropy", [np.zeros((0, 3)), np.zeros(0, np.int64)], [np.array(0.0), np.zeros((0, 3))], "empty", reduction="sum")
    f.write()


def pack(m):
    k, n = m.shape[-2:]
    padded = np.zeros(m.shape[:-1] + (-(-n // 16) * 16,), m.dtype)
    padded[..., :n] = m
    return np.moveaxis(padded.reshape(m.shape[:-1] + (-1, 16)), -3, -2)


def pack_bytes(m):
    k, n = m.shape
    padded = np.zeros((-(-k // 4) * 4, -(-n // 16) * 16), m.dtype)
    padded[:k, :n] = m
    return padded.reshape(-1, 4, padded.shape[1] // 16, 16).transpose(2, 0, 3, 1)


def matmuls():
    f = File("matmul")
    for a, b in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((5, 2, 3), (3,)),
                 ((3,), (5, 3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 2)), ((2, 3), (3, 0)), ((0, 2, 3), (3, 2)), ((7, 9), (9, 300)), ((1, 1), (1, 1))]:
        x, y = normal(*a), normal(*b)
        f.case("matmul", [x, y], [np.matmul(x, y)])
    for ta, tb in itertools.product((0, 1), (0, 1)):
        x, y = normal(2, 3, 4), normal(1, 4, 5)
        f.case("matmul", [x.swapaxes(1, 2) if ta else x, y.swapaxes(1, 2) if tb else y], [np.matmul(x, y)], transpose_a=ta, transpose_b=tb)
    for shape_a, shape_b in [((4, 6), (6, 20)), ((6,), (6, 16)), ((2, 3, 6), (2, 6, 5))]:
        x, y = normal(*shape_a), normal(*shape_b)
        f.case("matmul", [x, pack(y)], [np.matmul(x, y)], "packed", b_format="panel16", n=y.shape[-1])
    for da, db in itertools.product((np.int8, np.uint8), repeat=2):
        x, y = (rng.integers(np.iinfo(d).min, np.iinfo(d).max + 1, s).astype(d) for d, s in ((da, (3, 6)), (db, (6, 18))))
        y32 = np.matmul(x.astype(np.int32), y.astype(np.int32))
        f.case("matmul", [x, y], [y32], "bytes")
        f.case("matmul", [x, pack_bytes(y)], [y32], "bytes_packed", b_format="panel16", n=18)
    x = np.array([[2**30, 2**30]], np.int32)
    f.case("matmul", [x, np.array([[2], [3]], np.int32)], [np.array([[2**30]], np.int32)], "wraps")
    f.case("matmul", [np.array([[np.inf, 0.0]]), np.array([[0.0], [1.0]])], [np.array([[np.nan]])], "inf")
    f.write()


def ours(w, group, transposed, fmt):
    """An OIHW weight in another format."""
    o, i, k = w.shape[0], w.shape[1], w.shape[2:]
    if fmt == "hwio":
        return np.moveaxis(w, (0, 1), (-1, -2))
    m = np.moveaxis(w.reshape((group, o // group, i) + k), 2, -1).reshape(group, o // group, -1)  # [group][out][kernel..., in]
    return pack(m if transposed else m.swapaxes(1, 2))


def last(x):
    return np.moveaxis(x, 1, -1)


def brute_conv(x, w, a):
    """Convolution from its definition, one kernel element after the other."""
    n, group = x.ndim - 2, a.get("group", 1)
    strides, dilations, pads = a.get("strides", [1] * n), a.get("dilations", [1] * n), list(a.get("pads", [0] * 2 * n))
    count = []
    for d in range(n):
        size, reach = x.shape[2 + d], (w.shape[2 + d] - 1) * dilations[d] + 1
        if "auto_pad" in a:
            out = -(-size // strides[d])
            total = max(0, (out - 1) * strides[d] + reach - size)
            pads[d] = total // 2 if a["auto_pad"] == "SAME_UPPER" else total - total // 2
            pads[n + d] = total - pads[d]
        count.append((size + pads[d] + pads[n + d] - reach) // strides[d] + 1)
    x = np.pad(x, [(0, 0), (0, 0)] + [(pads[d], pads[n + d]) for d in range(n)])
    y, per, out = np.zeros((x.shape[0], w.shape[0]) + tuple(count)), w.shape[1], w.shape[0] // group
    for k in np.ndindex(*w.shape[2:]):
        taken = x[(slice(None), slice(None)) + tuple(slice(k[d] * dilations[d], k[d] * dilations[d] + (count[d] - 1) * strides[d] + 1, strides[d]) for d in range(n))]
        for g in range(group):
            y[:, g * out:(g + 1) * out] += np.einsum("nc...,mc->nm...", taken[:, g * per:(g + 1) * per], w[(slice(g * out, (g + 1) * out), slice(None)) + k])
    return y


def convs():
    f = File("conv")
    table = [  # x, w, attributes
        ((1, 2, 7), (3, 2, 3), {}), ((2, 3, 6), (4, 3, 2), {"strides": [2]}), ((1, 2, 6, 5), (4, 2, 3, 2), {"pads": [1, 0, 1, 1]}), ((2, 4, 5, 5), (4, 1, 3, 3), {"group": 4, "pads": [1] * 4}),
        ((1, 4, 7, 6), (6, 2, 3, 3), {"group": 2, "strides": [2, 1], "dilations": [2, 1], "pads": [2, 0, 1, 1]}), ((1, 1, 8), (2, 1, 3), {"dilations": [3], "strides": [2]}),
        ((1, 2, 4, 4, 3), (2, 2, 2, 3, 2), {"pads": [0, 1, 1, 1, 1, 0]}), ((1, 1, 5, 5), (1, 1, 3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
        ((1, 1, 6, 5), (1, 1, 4, 2), {"auto_pad": "SAME_UPPER", "strides": [3, 2]}), ((1, 1, 6, 5), (1, 1, 4, 2), {"auto_pad": "SAME_LOWER", "strides": [3, 2]}),
        ((0, 2, 5), (3, 2, 3), {}), ((1, 2, 3), (3, 2, 3), {}), ((1, 1, 4), (2, 1, 1), {"strides": [5]}), ((2, 1, 300), (1, 1, 3), {}),
    ]
    for xs, ws, a in table:
        x, w, b = normal(*xs), normal(*ws), normal(ws[0])
        n, group = len(xs) - 2, a.get("group", 1)
        y = brute_conv(x, w, a) + b.reshape((-1,) + (1,) * n)
        if xs[0] and "auto_pad" not in a:  # the reference splits that padding by another rule than the operator's text
            assert np.allclose(reference("Conv", [x, w, b], **a)[0], y), (xs, ws, a)
        attrs = {"strides": a.get("strides", [1] * n), "dilations": a.get("dilations", [1] * n), "group": group}
        if "auto_pad" in a:
            attrs["auto_pad"] = a["auto_pad"].lower()
        pads = a.get("pads", [0] * 2 * n)
        attrs |= {"pads_begin": pads[:n], "pads_end": pads[n:]}
        f.case("conv", [x, w, b], [y], **attrs)
        f.case("conv", [last(x), w], [last(y - b.reshape((-1,) + (1,) * n))], "nhwc", layout="nhwc", **attrs)
        f.case("conv", [last(x), ours(w, group, False, "hwio"), b], [last(y)], "hwio", layout="nhwc", w_format="hwio", **attrs)
        f.case("conv", [x, ours(w, group, False, "panel16"), b], [y], "packed", w_format="panel16", kernel=list(ws[2:]), channels=[ws[0], ws[1]], **attrs)
    x, w = rng.integers(0, 255, (1, 1, 4, 4)).astype(np.uint8), rng.integers(-128, 127, (1, 1, 2, 2)).astype(np.int8)
    y, = reference("Conv", [x.astype(np.float64), w.astype(np.float64)])
    f.case("conv", [x, w], [y.astype(np.int32)], "bytes")
    # Negative padding crops.
    x, w = normal(1, 1, 6), normal(1, 1, 2)
    y, = reference("Conv", [x[:, :, 1:-1], w])
    f.case("conv", [x, w], [y], "crop", pads_begin=[-1], pads_end=[-1])
    for xs, ws, a in [
        ((1, 2, 4), (2, 3, 3), {}), ((1, 2, 3, 3), (2, 1, 3, 3), {"strides": [2, 2]}), ((2, 4, 3, 2), (4, 3, 2, 2), {"group": 2, "strides": [2, 3], "pads": [1, 0, 0, 1]}),
        ((1, 1, 3, 3), (1, 2, 3, 3), {"strides": [3, 2], "output_padding": [1, 1]}), ((1, 1, 3, 3), (1, 1, 2, 2), {"dilations": [2, 2]}), ((1, 2, 2, 2, 2), (2, 1, 2, 1, 2), {"strides": [1, 2, 1]}),
        ((0, 2, 4), (2, 3, 3), {}),
    ]:
        x, w = normal(*xs), normal(*ws)
        n, group = len(xs) - 2, a.get("group", 1)
        b = normal(ws[1] * group)
        pads = a.get("pads", [0] * 2 * n)
        # By definition: every element of x adds its multiple of the kernel.
        strides, dilations, more = a.get("strides", [1] * n), a.get("dilations", [1] * n), a.get("output_padding", [0] * n)
        full = [(xs[2 + k] - 1) * strides[k] + (ws[2 + k] - 1) * dilations[k] + 1 + more[k] for k in range(n)]
        y = np.zeros([xs[0], ws[1] * group] + full)
        per = xs[1] // group
        for pos in np.ndindex(*xs[2:]):
            for k in np.ndindex(*ws[2:]):
                at = tuple(pos[d] * strides[d] + k[d] * dilations[d] for d in range(n))
                for g in range(group):
                    y[(slice(None), slice(g * ws[1], (g + 1) * ws[1])) + at] += x[(slice(None), slice(g * per, (g + 1) * per)) + pos] @ w[(slice(g * per, (g + 1) * per), slice(None)) + k]
        y = y[(slice(None), slice(None)) + tuple(slice(pads[d], full[d] - pads[n + d]) for d in range(n))] + b.reshape((-1,) + (1,) * n)
        attrs = {"strides": strides, "dilations": dilations, "group": group, "pads_begin": pads[:n], "pads_end": pads[n:], "output_padding": more}
        f.case("conv_transpose", [x, w, b], [y], **attrs)
        f.case("conv_transpose", [last(x), ours(w, group, True, "hwio"), b], [last(y)], "hwio", layout="nhwc", w_format="hwio", **attrs)
        f.case("conv_transpose", [x, ours(w, group, True, "panel16"), b], [y], "packed", w_format="panel16", kernel=list(ws[2:]), channels=[ws[0], ws[1]], **attrs)
        if xs[0] and group == 1:  # with groups the reference fails
            assert np.allclose(reference("ConvTranspose", [x, w, b], **a)[0], y), (xs, ws, a)
    f.write()


def pools():
    f = File("pool")
    table = [  # x, kernel, ONNX attributes
        ((1, 2, 6), [3], {}), ((2, 1, 5, 6), [2, 3], {"strides": [2, 1]}), ((1, 1, 4, 4), [3, 3], {"strides": [2, 2], "pads": [1, 1, 1, 1]}), ((1, 1, 4, 4), [3, 3], {"strides": [2, 2], "ceil_mode": 1}),
        ((1, 1, 5), [2], {"strides": [2], "ceil_mode": 1, "pads": [0, 1]}), ((1, 1, 2, 2), [1, 1], {"strides": [3, 3], "ceil_mode": 1, "pads": [0, 0, 0, 0]}),
        ((1, 1, 6, 6), [2, 2], {"dilations": [2, 2]}), ((1, 1, 7), [3], {"dilations": [2], "strides": [2], "pads": [2, 1], "ceil_mode": 1}), ((1, 1, 5, 5), [3, 3], {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
        ((1, 1, 6, 5), [2, 4], {"auto_pad": "SAME_LOWER", "strides": [1, 2]}), ((1, 2, 4, 4, 4), [2, 2, 2], {"strides": [2, 2, 2], "pads": [0, 1, 0, 1, 0, 1]}), ((0, 1, 5), [2], {}), ((1, 1, 3), [3], {"strides": [3]}),
    ]
    for xs, kernel, a in table:
        x = normal(*xs)
        n = len(kernel)
        pads = a.get("pads", [0] * 2 * n)
        attrs = {"kernel": kernel, "strides": a.get("strides", [1] * n), "dilations": a.get("dilations", [1] * n), "pads_begin": pads[:n], "pads_end": pads[n:], "ceil_mode": a.get("ceil_mode", 0)}
        if "auto_pad" in a:
            attrs["auto_pad"] = a["auto_pad"].lower()
        y, where = brute_pool(x, kernel, attrs, "max")
        f.case("pool", [x], [y], kind="max", **attrs)
        f.case("pool", [last(x)], [last(y)], "nhwc", kind="max", layout="nhwc", **attrs)
        f.case("max_pool_indices", [x], [where], **attrs)
        if xs[0] and "auto_pad" not in a:
            assert np.allclose(reference("MaxPool", [x], kernel_shape=kernel, **a)[0], y), (xs, kernel, a)
        for include in (0, 1):
            y, _ = brute_pool(x, kernel, attrs, "avg", include)
            f.case("pool", [x], [y], kind="avg", count_include_pad=include, **attrs)
            if xs[0] and "auto_pad" not in a:
                assert np.allclose(reference("AveragePool", [x], kernel_shape=kernel, count_include_pad=include, **a)[0], y), (xs, kernel, a, include)
        for p in (1, 2, 3):
            y, _ = brute_pool(x, kernel, attrs, "lp", p=p)
            f.case("pool", [x], [y], kind="lp", p=p, **attrs)
    x = normal(1, 2, 3, 4)
    y, i = reference("MaxPool", [x], outputs=2, kernel_shape=[2, 2], storage_order=1)
    f.case("max_pool_indices", [x], [brute_pool(x, [2, 2], {"strides": [1, 1], "dilations": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0], "ceil_mode": 0}, "max", order=1)[1]],
           "column_major", kernel=[2, 2], storage_order=1)
    f.case("pool", [np.array([[[1, np.nan, 3, 4.0]]])], [np.array([[[np.nan, np.nan, 4]]])], "nan", kind="max", kernel=[2])
    f.case("max_pool_indices", [np.array([[[1, np.nan, 3, 3.0]]])], [np.array([[[1, 1, 2]]])], "nan", kernel=[2])
    f.case("pool", [np.array([[[-5, -7]]], np.int8)], [np.array([[[-5, -5, -7]]], np.int8)], "bytes", kind="max", kernel=[2], pads_begin=[1], pads_end=[1])
    f.case("pool", [np.array([[[1.0]]])], [np.array([[[-np.inf, 1, -np.inf]]])], "padding_alone", kind="max", kernel=[1], pads_begin=[1], pads_end=[1])
    f.case("pool", [np.array([[[1.0]]])], [np.array([[[np.nan, 1, np.nan]]])], "padding_alone", kind="avg", kernel=[1], pads_begin=[1], pads_end=[1])
    f.write()


def brute_pool(x, kernel, a, kind, include=0, p=2, order=0):
    """Pooling from its definition, one window after the other."""
    n, spatial = len(kernel), x.shape[2:]
    begin, end, count = list(a["pads_begin"]), list(a["pads_end"]), []
    for k in range(n):
        s, reach = a["strides"][k], (kernel[k] - 1) * a["dilations"][k] + 1
        if "auto_pad" in a:
            out = -(-spatial[k] // s)
            total = max(0, (out - 1) * s + reach - spatial[k])
            begin[k] = total // 2 if a["auto_pad"] == "same_upper" else total - total // 2
            end[k] = total - begin[k]
        else:
            room = spatial[k] + begin[k] + end[k] - reach
            out = (-(-room // s) if a["ceil_mode"] else room // s) + 1
            if a["ceil_mode"] and (out - 1) * s >= spatial[k] + begin[k]:
                out -= 1
        count.append(out)
    y, where = np.zeros(x.shape[:2] + tuple(count)), np.zeros(x.shape[:2] + tuple(count), np.int64)
    for at in np.ndindex(*y.shape):
        values, padded = [], 0
        for k in np.ndindex(*kernel):
            pos = [at[2 + d] * a["strides"][d] - begin[d] + k[d] * a["dilations"][d] for d in range(n)]
            padded += all(pos[d] < spatial[d] + end[d] for d in range(n))
            if all(0 <= pos[d] < spatial[d] for d in range(n)):
                flat = np.ravel_multi_index(pos, spatial, order="F" if order else "C") + (at[0] * x.shape[1] + at[1]) * int(np.prod(spatial))
                values.append((x[at[:2] + tuple(pos)], flat))
        v = np.array([v for v, _ in values])
        if kind == "max":
            y[at], where[at] = v.max(), values[int(np.argmax(v))][1]
        elif kind == "avg":
            y[at] = v.sum() / (padded if include else len(v))
        else:
            y[at] = np.sum(np.abs(v) ** p) ** (1 / p)
    return y, where


def resize_reference(x, sizes, scales, mode, coordinate_mode, roi=None, nearest_mode="round_prefer_floor", cubic_coeff_a=-0.75, exclude_outside=0, antialias=0, extrapolation_value=0.0):
    """The reference's interpolation over all axes, in float64 throughout (its evaluator takes attributes through float32)."""
    coeffs = {
        "nearest": lambda r, s: op_resize._nearest_coeffs(r, mode=nearest_mode),
        "linear": op_resize._linear_coeffs_antialias if antialias else op_resize._linear_coeffs,
        "cubic": lambda r, s: (op_resize._cubic_coeffs_antialias if antialias else op_resize._cubic_coeffs)(r, s, A=cubic_coeff_a),
    }[mode]
    if scales is not None:
        scales = np.array([1] * (x.ndim - len(scales)) + scales, np.float64)
    if sizes is not None:
        sizes = list(x.shape[:x.ndim - len(sizes)]) + sizes
    return op_resize._interpolate_nd(x, coeffs, output_size=sizes, scale_factors=scales, roi=roi, exclude_outside=bool(exclude_outside),
                                     coordinate_transformation_mode=coordinate_mode, extrapolation_value=extrapolation_value)


def resizes():
    f = File("resize")
    modes = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]
    x = normal(1, 2, 4, 5)
    whole = np.round(rng.uniform(0, 100, (1, 1, 5, 4)))
    for coordinate, (mode, extra) in itertools.product(modes, [("nearest", {"nearest_mode": m}) for m in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")] + [
            ("linear", {}), ("cubic", {}), ("cubic", {"cubic_coeff_a": -0.5}), ("linear", {"exclude_outside": 1}), ("cubic", {"exclude_outside": 1}), ("linear", {"antialias": 1}), ("cubic", {"antialias": 1}),
            ("cubic", {"antialias": 1, "exclude_outside": 1})]):
        for sizes, scales in [([3, 8], None), ([7, 2], None), ([1, 1], None), (None, [0.6, 1.7])]:
            if coordinate == "align_corners" and scales or coordinate == "pytorch_half_pixel" and sizes == [1, 1]:
                continue  # the reference differs from the operator's text there
            if coordinate == "tf_crop_and_resize" and scales:
                continue
            roi = np.array([0.1, -0.2, 0.8, 1.1])
            attrs = {"mode": mode, "coordinate_mode": coordinate, **extra}
            if coordinate == "tf_crop_and_resize":
                if "antialias" in extra:
                    continue
                attrs |= {"extrapolation_value": 7.5, "roi": roi}
            n = np.array(sizes if sizes else [int(scales[0] * 4), int(scales[1] * 5)])
            y = resize_reference(x, sizes, scales, **(attrs | ({"roi": np.concatenate([[0, 0], roi[:2], [1, 1], roi[2:]])} if "roi" in attrs else {})))
            if scales:
                attrs["scales"] = scales
            f.case("resize", [x], [y], axes=[2, 3], sizes=n, **attrs)
    y = np.rint(resize_reference(whole, [8, 3], None, "linear", "half_pixel"))
    f.case("resize", [whole.astype(np.int32)], [y.astype(np.int32)], "int", axes=[2, 3], sizes=[8, 3], mode="linear")
    f.case("resize", [np.array([2**62 + 1, 5])], [np.array([2**62 + 1] * 2 + [5] * 2)], "int64", axes=[0], sizes=[4], mode="nearest", coordinate_mode="asymmetric", nearest_mode="floor")
    f.case("resize", [np.array([True, False])], [np.array([True, True, False, False])], "bool", axes=[0], sizes=[4], mode="nearest")
    f.case("resize", [np.array([[1.0, 2, 3]])], [np.array([[1.0, 2, 3]])], "identity", axes=[0, 1], sizes=[1, 3], mode="cubic")
    f.case("resize", [np.zeros((0, 3))], [np.zeros((0, 6))], "empty", axes=[1], sizes=[6], mode="linear")
    f.case("resize", [np.array(3.0)], [np.array(3.0)], "rank0", mode="linear")
    f.case("resize", [np.array([1.0, 2, 3])], [np.array([1.0])], "single_pixel", axes=[0], sizes=[1], mode="cubic", coordinate_mode="pytorch_half_pixel")
    # Ties in every rounding mode: a scale of 2/3 puts every other source coordinate on k + 1/2 or so exactly, as fractions.
    line = np.arange(9.0)
    for mode in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        for n in (2, 3, 6, 18):
            at = [((2 * i + 1) * 9 - n, 2 * n) for i in range(n)]
            def pick(num, den):
                q, r = divmod(num, den)
                up = {"round_prefer_floor": 2 * r > den, "round_prefer_ceil": 2 * r >= den, "floor": False, "ceil": r > 0}[mode]
                return min(8, max(0, q + up))
            f.case("resize", [line], [np.array([line[pick(*c)] for c in at])], "ties", axes=[0], sizes=[n], mode="nearest", nearest_mode=mode)
    f.write()


def attentions():
    f = File("attention")
    for h, g, causal, softcap, mask in [(2, 2, 0, 0.0, None), (4, 2, 0, 0.0, "float"), (4, 1, 1, 0.0, None), (2, 2, 0, 2.0, "bool"), (6, 3, 1, 1.5, "row"), (2, 1, 0, 0.0, "head")]:
        q, k, v = normal(2, h, 3, 4), normal(2, g, 5, 4), normal(2, g, 5, 6)
        m = {None: None, "float": normal(3, 5), "bool": rng.random((2, 1, 3, 5)) < 0.7, "row": normal(1, 5), "head": normal(2, 2, 3, 5)}[mask]
        if mask == "bool":
            m[..., 0] = True
        ref = dict(is_causal=causal, softcap=softcap)
        wide = None if m is None else np.broadcast_to(m, m.shape[:-2] + (3, 5))  # the reference does not broadcast a mask under is_causal
        y = reference("Attention", [q, k, v, wide], **ref)
        f.case("attention", [q, k, v, m], y, causal=causal, softcap=softcap)
        y = reference("Attention", [q, k, v, wide], scale=0.25, **ref)
        f.case("attention", [q, k, v, m], y, causal=causal, softcap=softcap, scale=0.25)
    # A cache before the queries: causal with an offset.
    q, k, v, pk, pv = normal(1, 2, 3, 4), normal(1, 2, 3, 4), normal(1, 2, 3, 4), normal(1, 2, 4, 4), normal(1, 2, 4, 4)
    y = reference("Attention", [q, k, v, None, pk, pv], is_causal=1, outputs=1)
    f.case("attention", [q, np.concatenate([pk, k], 2), np.concatenate([pv, v], 2)], y, causal=1, causal_offset=4)
    q, k, v = normal(2, 2, 3, 4), normal(2, 2, 5, 4), normal(2, 2, 5, 4)
    bias = np.where(np.arange(5) < np.array([[2], [5]]), 0, -np.inf).reshape(2, 1, 1, 5)
    f.case("attention", [q, k, v, None, np.array([2, 5])], reference("Attention", [q, k, v, bias]), "lengths")
    f.case("attention", [q, k, v, np.zeros((1, 5), bool)], [np.full((2, 2, 3, 4), np.nan)], "masked_row")
    f.case("attention", [np.zeros((1, 2, 0, 4)), k[:1], v[:1]], [np.zeros((1, 2, 0, 4))], "empty")
    for interleaved, rd in itertools.product((0, 1), (0, 4)):
        x = normal(2, 3, 5, 8)
        width = rd or 8
        angle = normal(5, width // 2)
        cos, sin = np.cos(angle), np.sin(angle)
        part = x[..., :width]
        x0, x1 = (part[..., 0::2], part[..., 1::2]) if interleaved else (part[..., :width // 2], part[..., width // 2:])
        r0, r1 = x0 * cos - x1 * sin, x1 * cos + x0 * sin
        y = np.concatenate([np.stack([r0, r1], -1).reshape(part.shape) if interleaved else np.concatenate([r0, r1], -1), x[..., width:]], -1)
        f.case("rotary", [x, cos, sin], [y], interleaved=interleaved, rotary_dim=rd)
        full = [np.repeat(t, 2, -1) if interleaved else np.concatenate([t, t], -1) for t in (cos, sin)]
        f.case("rotary", [x] + full, [y], "full", interleaved=interleaved, rotary_dim=rd)
    f.write()


ACTIVATIONS = {
    "sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)), "tanh": lambda x, a, b: np.tanh(x), "relu": lambda x, a, b: np.maximum(x, 0), "affine": lambda x, a, b: a * x + b,
    "leaky_relu": lambda x, a, b: np.where(x < 0, a * x, x), "thresholded_relu": lambda x, a, b: np.where(x > a, x, 0), "scaled_tanh": lambda x, a, b: a * np.tanh(b * x),
    "hard_sigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1), "elu": lambda x, a, b: np.where(x < 0, a * (np.exp(x) - 1), x), "softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "softplus": lambda x, a, b: np.log1p(np.exp(x)),
}


def plain_lstm(x, w, r, b, lens, h0, c0, p, direction, acts, clip=0.0, forget=0):
    """The operator's equations, one sequence and step at a time."""
    s, batch, _ = x.shape
    dirs, hidden = w.shape[0], r.shape[2]
    y, yh, yc = np.zeros((s, dirs, batch, hidden)), np.zeros((dirs, batch, hidden)), np.zeros((dirs, batch, hidden))
    cl = (lambda t: np.clip(t, -clip, clip)) if clip else (lambda t: t)
    for d in range(dirs):
        f, g, h_act = ((lambda t, q=q: ACTIVATIONS[q[0]](t, q[1], q[2])) for q in acts[3 * d:3 * d + 3])
        for n in range(batch):
            h = np.zeros(hidden) if h0 is None else h0[d, n]
            c = np.zeros(hidden) if c0 is None else c0[d, n]
            pi, po, pf = np.split(np.zeros(3 * hidden) if p is None else p[d], 3)
            length = s if lens is None else lens[n]
            order = range(length)
            for t in reversed(order) if direction == "reverse" or d == 1 else order:
                z = w[d] @ x[t, n] + r[d] @ h + (0 if b is None else b[d][:4 * hidden] + b[d][4 * hidden:])
                zi, zo, zf, zc = np.split(z, 4)
                i = f(cl(zi + pi * c))
                ft = 1 - i if forget else f(cl(zf + pf * c))
                c = ft * c + i * g(cl(zc))
                h = f(cl(zo + po * c)) * h_act(c)
                y[t, d, n] = h
            yh[d, n], yc[d, n] = h, c
    return [y, yh, yc]


def lstms():
    f = File("lstm")
    s, batch, n, hidden = 4, 3, 2, 3
    default = [("sigmoid", 0, 0), ("tanh", 0, 0), ("tanh", 0, 0)]
    names = list(ACTIVATIONS)
    parameters = {"affine": (0.5, 0.1), "leaky_relu": (0.2, 0), "thresholded_relu": (0.3, 0), "scaled_tanh": (1.2, 0.8), "hard_sigmoid": (0.2, 0.5), "elu": (0.7, 0)}
    for k, direction in enumerate(["forward", "reverse", "bidirectional"] * 4):
        dirs = 2 if direction == "bidirectional" else 1
        x, w, r = normal(s, batch, n), normal(dirs, 4 * hidden, n), normal(dirs, 4 * hidden, hidden)
        b = normal(dirs, 8 * hidden) if k % 2 else None
        lens = np.array([4, 0, 2], np.int32) if k >= 3 else None
        h0, c0 = (normal(dirs, batch, hidden), normal(dirs, batch, hidden)) if k >= 6 else (None, None)
        p = normal(dirs, 3 * hidden) if k in (4, 7, 11) else None
        acts, extra = default * dirs, {}
        if k >= 6:
            chosen = [names[(5 * k + j) % len(names)] for j in range(3 * dirs)]
            acts = [(q, *parameters.get(q, (0, 0))) for q in chosen]
            extra = {"activations": chosen, "activation_alpha": [a for _, a, _ in acts], "activation_beta": [b_ for _, _, b_ in acts]}
        clip, forget = (0.5 if k in (5, 8) else 0.0), int(k in (2, 9))
        y = plain_lstm(x, w, r, b, lens, h0, c0, p, direction, acts, clip, forget)
        attrs = dict(direction=direction, hidden=hidden, clip=clip, input_forget=forget, **extra)
        f.case("lstm", [x, w, r, b, lens, h0, c0, p], y, **attrs)
        first = lambda t: None if t is None else t.swapaxes(0, 1)
        f.case("lstm", [first(x), w, r, b, lens, first(h0), first(c0), p], [y[0].transpose(2, 0, 1, 3), first(y[1]), first(y[2])], "batch_first", layout="batch_first", **attrs)
        f.case("lstm", [x, pack(w.swapaxes(1, 2)), pack(r.swapaxes(1, 2)), b, lens, h0, c0, p], y, "packed", w_format="panel16", **attrs)
        if k < 2 and lens is None and direction == "forward":
            want = reference("LSTM", [x, w, r] + ([b] if b is not None else []), outputs=2, hidden_size=hidden)
            assert all(np.allclose(u, v) for u, v in zip(want, y[:2]))
    x = np.zeros((0, 1, n))
    f.case("lstm", [x, normal(1, 4 * hidden, n), normal(1, 4 * hidden, hidden), None, None, np.ones((1, 1, hidden)), None], [np.zeros((0, 1, 1, hidden)), np.ones((1, 1, hidden)), np.zeros((1, 1, hidden))], "empty", hidden=hidden)
    f.write()


if __name__ == "__main__":
    np.seterr(all="ignore")
    for make in (reduces, norms, matmuls, convs, pools, resizes, attentions, lstms):
        make()
