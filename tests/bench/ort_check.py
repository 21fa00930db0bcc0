#!/usr/bin/env python3
"""ort_check.py BENCH_ORT: the engine that calls ONNX Runtime through its C interface gives what the Python package gives.

Every entry of tests/bench/ort_api.h is called on the way: several inputs and outputs, ranks 0 to 3, float32, int64 and bool, a dim
without a size, an error with ONNX Runtime's own message, and both numbers of threads.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, save

from paired import ort_library


def model(path):
    nodes = [
        helper.make_node("Add", ["x", "x"], ["twice"]),
        helper.make_node("Transpose", ["twice"], ["turned"], perm=[2, 0, 1]),
        helper.make_node("Greater", ["x", "level"], ["above"]),
        helper.make_node("Add", ["n", "n"], ["n2"]),
        helper.make_node("ReduceSum", ["x"], ["total"], keepdims=0),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "check",
        [info("x", TensorProto.FLOAT, ["a", 3, 4]), info("level", TensorProto.FLOAT, []), info("n", TensorProto.INT64, [5])],
        [info("turned", TensorProto.FLOAT, None), info("above", TensorProto.BOOL, None), info("n2", TensorProto.INT64, [5]),
         info("total", TensorProto.FLOAT, [])])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def engine(command, text):
    return subprocess.run([str(c) for c in command], input=text, capture_output=True, text=True, timeout=60)


def main():
    program = sys.argv[1]
    rng = np.random.default_rng(3)
    feeds = {"x": rng.standard_normal((2, 3, 4)).astype("f4"), "level": np.array(0.25, "f4"), "n": np.arange(5)}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        model(folder / "m.onnx")
        np.savez(folder / "in.npz", **feeds)
        session = ort.InferenceSession(str(folder / "m.onnx"), providers=["CPUExecutionProvider"])
        wanted = dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))
        for threads in (1, 2):
            out = folder / f"out{threads}.npz"
            done = engine([program, ort_library(), folder / "m.onnx", folder / "in.npz", "--threads", threads], f"run 0.01\noutputs {out}\n")
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            assert done.returncode == 0 and len(lines) == 3, done
            assert lines[0]["version"] == ort.__version__, lines[0]
            assert lines[1]["n"] >= 1 and 0 < lines[1]["p10"] <= lines[1]["p50"] <= lines[1]["p90"], lines[1]
            got = np.load(out)
            assert sorted(got.files) == sorted(wanted), got.files
            for name, value in wanted.items():
                assert got[name].dtype == value.dtype and got[name].shape == value.shape and (got[name] == value).all(), name
        (folder / "bad.onnx").write_bytes(b"no model")
        done = engine([program, ort_library(), folder / "bad.onnx", folder / "in.npz", "--threads", 1], "")
        assert done.returncode == 2 and "bad.onnx" in done.stderr, done
        np.savez(folder / "few.npz", x=feeds["x"])
        done = engine([program, ort_library(), folder / "m.onnx", folder / "few.npz", "--threads", 1], "")
        assert done.returncode == 2 and "level" in done.stderr, done
    print("ok")


if __name__ == "__main__":
    main()
