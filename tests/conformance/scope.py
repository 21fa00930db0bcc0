#!/usr/bin/env python3
"""The operators in scope: those that the models of the model pack use (dev set and zoo, function bodies and subgraphs included), and those
of the carrying tests, which are written in the IR. Writes tests/conformance/scope.tsv; with --check compares it with what lies there.

  tests/conformance/scope.py [--cache DIR] [--check]
"""
import argparse
import os
import pathlib
import sys

import onnx

HERE = pathlib.Path(__file__).resolve().parent
# What ONNX calls the operators of tests/e2e/carrying_*.cpp that no model uses.
CARRYING = {
    "SoftmaxCrossEntropyLoss": "carrying test a",
    "NonZero": "carrying test c",
    "Loop": "carrying test d",
    "Mod": "carrying test d",
    "DequantizeLinear": "carrying test f",
    "Gelu": "carrying test f",
}


def operators(nodes, found):
    for node in nodes:
        if node.domain in ("", "ai.onnx"):
            found.add(node.op_type)
        for attribute in node.attribute:
            for graph in [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs:
                operators(graph.node, found)


def scope(cache):
    users = {}
    models = sorted(cache.glob("*.onnx")) + sorted((cache / "zoo").glob("*.onnx"))
    if len(models) < 16:
        sys.exit(f"{len(models)} models in {cache}; try: tests/models/prepare.py --zoo all")
    for path in models:
        model, found = onnx.load(path, load_external_data=False), set()
        operators(model.graph.node, found)
        for function in model.functions:
            operators(function.node, found)
        for name in found:
            users.setdefault(name, []).append(path.stem)
    rows = [(name, f"{len(by)} models, {by[0]}") for name, by in users.items()]
    rows += [(name, by) for name, by in CARRYING.items() if name not in users]
    return "operator\tused by\n" + "".join(f"{name}\t{by}\n" for name, by in sorted(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", default=os.environ.get("NNC_MODEL_CACHE", "~/.cache/nnc-models"))
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    text, path = scope(pathlib.Path(given.cache).expanduser()), HERE / "scope.tsv"
    names = lambda table: [line.split("\t")[0] for line in table.splitlines()]
    if not given.check:
        path.write_text(text)
    elif names(path.read_text()) != names(text):
        sys.exit("scope.tsv is not what the models say; try: tests/conformance/scope.py")


if __name__ == "__main__":
    main()
