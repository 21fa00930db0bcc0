#!/usr/bin/env python3
"""The paired harness: nnc against ONNX Runtime at its best settings, in the same run.

    tests/bench/paired.py [ROW ...] [--point P] [--threads N] [--versus ort|one-thread] [--pairs N] [--slice SECONDS]
                          [--clock wall|cpu] [--json FILE] [--build DIR] [--cache DIR]

One process an engine, pinned to the same processors, never running at the same time: short slices in the order A B B A, a
probe of the FMA peak before and after each round. A row's ratio is the peer's time over nnc's: the median of the pairs' ratios
with a 95 % bootstrap interval; a gate holds when the interval's lower end does. The share of the roof is measured likewise,
against the probes of its own round. Both sides compute in float32, and their answers are compared in the same run. The peer is
ONNX Runtime through its C interface, or with `--versus one-thread` nnc itself on one thread. Rows are in rows.json.

`--clock cpu` (one thread only) takes processor time per run instead of wall time, for machines that others use too: what
they take away in time no longer counts, what they take away in caches and clock still does. Gates are for wall time.
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

import made_models

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]


def ort_library():
    import onnxruntime
    found = sorted((pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.*"))
    if not found:
        raise FileNotFoundError("the onnxruntime package has no libonnxruntime.so")
    return found[0]


class Engine:
    def __init__(self, command, processors):
        command = [str(c) for c in command]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: os.sched_setaffinity(0, processors))
        self.facts = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"engine ended with {self.process.wait()}: {' '.join(self.process.args)}")
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


def bootstrap(values, rounds=2000):
    """95 % interval of the median."""
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(rounds))
    return medians[int(rounds * 0.025)], medians[int(rounds * 0.975)]


def model_of(row, args, folder):
    if row["model"] in made_models.MAKERS:
        path = folder / f"{row['model']}.onnx"
        made_models.make(row["model"], path)
        return path
    return args.cache / row["model"]


def difference(a, b):
    """Largest distance of two npz files, and the largest magnitude in the second; a NaN anywhere is the largest."""
    x, y = np.load(a), np.load(b)
    full = [k for k in y.files if y[k].size]
    largest = lambda of: float(np.max([np.max(np.abs(of(k))) for k in full], initial=0.0))
    return largest(lambda k: x[k].astype("f8") - y[k].astype("f8")), largest(lambda k: y[k].astype("f8"))


def all_rows(names):
    """The rows of these names, all of them if there are none."""
    rows = json.loads((HERE / "rows.json").read_text())["rows"]
    unknown = set(names) - {r["name"] for r in rows}
    if unknown:
        sys.exit(f"no row {', '.join(sorted(unknown))}; there are {', '.join(r['name'] for r in rows)}")
    return [r for r in rows if not names or r["name"] in names]


def measure(row, args, folder):
    inputs = folder / f"{row['name']}.npz"
    np.savez(inputs, **make_inputs(row))
    model = model_of(row, args, folder)
    processors = set(range(args.threads))
    dims = [x for name, size in row.get("dims", {}).items() for x in ("--dim", f"{name}={size}")]
    nnc = lambda threads: [args.build / "bin" / "bench_nnc", model, inputs, "--target", args.target, "--threads", threads, *dims]
    ours = Engine(nnc(args.threads), processors)
    if args.versus == "ort":
        peer = Engine([args.build / "bin" / "bench_ort", ort_library(), model, inputs, "--threads", args.threads], processors)
    else:
        peer = Engine(nnc(1), {0})
    try:
        slice_text = f"run {args.slice}"
        for engine in (ours, peer):
            engine.ask(slice_text)
        key = "cpu" if args.clock == "cpu" else "p50"
        rate = "cpu" if args.clock == "cpu" else "gflops"
        ratios, shares, mine, theirs, probes = [], [], [], [], []
        for _ in range(args.pairs):
            probes.append(ours.ask("probe 0.01"))
            a1, b1, b2, a2 = ours.ask(slice_text), peer.ask(slice_text), peer.ask(slice_text), ours.ask(slice_text)
            probes.append(ours.ask("probe 0.01"))
            ratios.append((b1[key] + b2[key]) / (a1[key] + a2[key]))
            if "macs" in row:
                # The better of the two probes: what disturbs one makes the peak no lower.
                peak = max(probes[-1][rate], probes[-2][rate]) * args.threads
                shares.append(1e-9 * row["macs"] * (1 / a1[key] + 1 / a2[key]) / peak)
            mine += [a1, a2]
            theirs += [b1, b2]
        for engine, name in ((ours, "ours"), (peer, "theirs")):
            engine.ask(f"outputs {folder / name}.npz")
        worst, largest = difference(folder / "ours.npz", folder / "theirs.npz")
    finally:
        ours.close()
        peer.close()
    low, high = bootstrap(ratios)
    result = {"row": row["name"], "threads": args.threads, "versus": args.versus, "clock": args.clock, "ratio": statistics.median(ratios),
              "low": low, "high": high, "nnc_ms": 1e3 * statistics.median(s[key] for s in mine),
              "peer_ms": 1e3 * statistics.median(s[key] for s in theirs), "probe_gflops": statistics.median(p[rate] for p in probes),
              "probe_best": max(p["best"] for p in probes), "difference": worst, "largest": largest, "facts": ours.facts,
              "peer": peer.facts, "gate": args.gate or row.get("gate"), "roof_gate": row.get("roof_gate")}
    if shares:
        result["roof_share"] = statistics.median(shares)
        result["roof_low"], result["roof_high"] = bootstrap(shares)
        result["best_gflops"] = max(2e-9 * row["macs"] / s["p10"] / args.threads for s in mine + (theirs if args.versus == "ort" else []))
    return result


def complaints(r):
    """What keeps a row from passing."""
    out = []
    if r["gate"] is not None and r["low"] < r["gate"]:
        out.append(f"ratio below {r['gate']}")
    if r["roof_gate"] is not None:
        if r["roof_low"] < r["roof_gate"]:
            out.append(f"share of the peak below {r['roof_gate']}")
        if r["probe_best"] < 0.95 * r["best_gflops"]:
            out.append("the probe is below 0.95 of the best product")
    if not r["difference"] <= 1e-3 * max(r["largest"], 1e-3):
        out.append(f"answers differ by {r['difference']:.2g} of {r['largest']:.2g}")
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--point", help="only the rows of this acceptance point")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--versus", choices=["ort", "one-thread"], default="ort")
    parser.add_argument("--gate", type=float, help="instead of the rows' own")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--slice", type=float, default=0.04)
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build" / "release")
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(os.environ.get("NNC_MODEL_CACHE", "~/.cache/nnc-models")).expanduser())
    args = parser.parse_args()
    if args.clock == "cpu" and args.threads > 1:
        parser.error("--clock cpu adds up the time of all threads: one thread only")
    rows = [r for r in all_rows(args.rows) if args.point in (None, r["point"])]
    results, failed = [], 0
    print(f"{'row':20} {'ratio':>6} {'95 %':>13} {'nnc ms':>9} {'peer ms':>9} {'roof':>5} {'probe':>6} {'steps':>5}  gate")
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            if row["model"] not in made_models.MAKERS and not (args.cache / row["model"]).exists():
                print(f"{row['name']:20} NOT RUN: {row['model']} is not in {args.cache}")
                failed += 1
                continue
            r = measure(row, args, pathlib.Path(folder))
            r["complaints"] = complaints(r)
            results.append(r)
            failed += bool(r["complaints"])
            roof = f"{100 * r['roof_share']:.0f} %" if "roof_share" in r else "-"
            gate = r["gate"] or (f"roof {r['roof_gate']}" if r["roof_gate"] else "-")
            print(f"{r['row']:20} {r['ratio']:6.2f} {r['low']:6.2f}-{r['high']:5.2f} {r['nnc_ms']:9.4f} {r['peer_ms']:9.4f} {roof:>5} "
                  f"{r['probe_gflops']:6.1f} {r['facts']['native']:5}  {gate} {'FAIL: ' + ', '.join(r['complaints']) if r['complaints'] else 'PASS'}",
                  flush=True)
    if args.json:
        args.json.write_text(json.dumps({"schema": "nnc.paired/2", "results": results}, indent=1) + "\n")
    print(f"{len(results)} rows, {failed} below their gate")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
