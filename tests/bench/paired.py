#!/usr/bin/env python3
"""The paired harness: nnc against ONNX Runtime at its best settings, in the same run.

    tests/bench/paired.py [ROW ...] [--threads N] [--pairs N] [--slice SECONDS] [--json FILE] [--build DIR] [--cache DIR]

One process an engine, pinned to the same processors, never running at the same time: short slices in the order
A B B A, a probe of the FMA peak before each round. A row's ratio is ONNX Runtime's time over nnc's: the median of the
pairs' ratios with a 95 % bootstrap interval; a gate holds when the interval's lower end does. Leagues are never mixed:
both sides compute in float32. Answers are compared in the same run. Rows are in rows.json.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]


class Engine:
    def __init__(self, command, processors):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: os.sched_setaffinity(0, processors))
        self.facts = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"engine ended with {self.process.wait()}: {' '.join(map(str, self.process.args))}")
        return json.loads(line)

    def ask(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def make_inputs(row, seed=1):
    rng = np.random.default_rng(seed)
    feeds = {}
    for name, spec in row["inputs"].items():
        shape, kind = spec["shape"], spec["dtype"]
        if "value" in spec:
            feeds[name] = np.full(shape, spec["value"], kind)
        elif kind.startswith("int"):
            feeds[name] = rng.integers(spec.get("lo", 0), spec["hi"], shape).astype(kind)
        else:
            feeds[name] = rng.uniform(spec.get("lo", -1), spec.get("hi", 1), shape).astype(kind)
    return feeds


def bootstrap(ratios, rounds=2000):
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(rounds))
    return medians[int(rounds * 0.025)], medians[int(rounds * 0.975)]


def measure(row, args, folder):
    inputs = folder / f"{row['name']}.npz"
    np.savez(inputs, **make_inputs(row))
    model = args.cache / row["model"]
    processors = set(range(args.threads))
    dims = [x for name, size in row.get("dims", {}).items() for x in ("--dim", f"{name}={size}")]
    ours = Engine([args.build / "bin" / "bench_worker", model, "--inputs", inputs, "--target", args.target, "--threads", str(args.threads), *dims], processors)
    peer = Engine([sys.executable, HERE / "ort_worker.py", model, inputs, str(args.threads)], processors)
    try:
        slice_text = f"run {args.slice}"
        for engine in (ours, peer):
            engine.ask(slice_text)
        ratios, mine, theirs, peaks = [], [], [], []
        for _ in range(args.pairs):
            peaks.append(ours.ask("probe 0.01")["gflops"])
            a1, b1, b2, a2 = ours.ask(slice_text), peer.ask(slice_text), peer.ask(slice_text), ours.ask(slice_text)
            ratios.append((b1["p50"] + b2["p50"]) / (a1["p50"] + a2["p50"]))
            mine += [a1["p50"], a2["p50"]]
            theirs += [b1["p50"], b2["p50"]]
        for engine, name in ((ours, "ours"), (peer, "theirs")):
            engine.ask(f"outputs {folder / name}.npz")
        x, y = np.load(folder / "ours.npz"), np.load(folder / "theirs.npz")
        worst = max(float(np.max(np.abs(x[k].astype("f8") - y[k].astype("f8")))) if x[k].size else 0.0 for k in y.files)
        scale = max(float(np.max(np.abs(y[k]))) if y[k].size else 0.0 for k in y.files)
    finally:
        ours.close()
        peer.close()
    low, high = bootstrap(ratios)
    result = {"row": row["name"], "threads": args.threads, "ratio": statistics.median(ratios), "low": low, "high": high,
              "nnc_ms": 1e3 * statistics.median(mine), "ort_ms": 1e3 * statistics.median(theirs), "peak_gflops": statistics.median(peaks),
              "difference": worst, "largest": scale, "facts": ours.facts, "ort": peer.facts, "gate": row.get("gate")}
    if "macs" in row:
        result["roof_share"] = 2e-9 * row["macs"] / statistics.median(mine) / result["peak_gflops"] / args.threads
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--slice", type=float, default=0.04)
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build" / "release")
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(os.environ.get("NNC_MODEL_CACHE", "~/.cache/nnc-models")).expanduser())
    args = parser.parse_args()
    rows = json.loads((HERE / "rows.json").read_text())["rows"]
    unknown = set(args.rows) - {r["name"] for r in rows}
    if unknown:
        parser.error(f"no row {', '.join(sorted(unknown))}; there are {', '.join(r['name'] for r in rows)}")
    results, failed = [], 0
    print(f"{'row':24} {'ratio':>6} {'95 %':>13} {'nnc ms':>9} {'ORT ms':>9} {'roof':>6} {'steps':>6}  gate")
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            if args.rows and row["name"] not in args.rows:
                continue
            if not (args.cache / row["model"]).exists():
                print(f"{row['name']:24} NOT RUN: {row['model']} is not in {args.cache}")
                continue
            r = measure(row, args, pathlib.Path(folder))
            results.append(r)
            holds = r["gate"] is None or r["low"] >= r["gate"]
            failed += not holds
            roof = f"{100 * r['roof_share']:.0f} %" if "roof_share" in r else "-"
            print(f"{r['row']:24} {r['ratio']:6.2f} {r['low']:6.2f}-{r['high']:5.2f} {r['nnc_ms']:9.3f} {r['ort_ms']:9.3f} {roof:>6} {r['facts']['native']:6}  "
                  f"{r['gate'] or '-'} {'PASS' if holds else 'FAIL'}", flush=True)
    if args.json:
        args.json.write_text(json.dumps({"schema": "nnc.paired/1", "results": results}, indent=1) + "\n")
    print(f"{len(results)} rows, {failed} below their gate")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
