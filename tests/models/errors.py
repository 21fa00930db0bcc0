#!/usr/bin/env python3
"""How much devices err on fresh inputs, against eval in f64, beside ONNX Runtime's own error.

    errors.py --build DIR [--cache DIR] [--seed N] [--target T[*THREADS] ...] [--samples N] [--sizes N] [MODEL ...]

MODEL: of models.json (default all of the dev set) or of the zoo (zoo/NAME, zoo for all that tests use). Per output the largest error over all
fresh inputs must be at most twice that of ONNX Runtime with its graph optimisation off, + 4 ULP (of f32) of the largest magnitude; what is
no float must be equal, NaN and infinities must stand at the same places. --samples: fresh cases for each stored one. --sizes: at most so
many of a zoo graph's sizes. The references live in a temporary folder for the run. Exit code 1 if one errs more.
"""
import argparse
import os
import secrets
import subprocess
import sys
import tempfile
import time

import numpy as np

import fresh
from fetch import cache_folder
from prepare import ZOO_OF_TESTS

TARGETS = ["cpu", "cpu*2", "cpu:vm", "cuda-emu:sm_90"]


def load(path):
    with np.load(path, allow_pickle=False) as z:
        return {k: z[k] for k in z.files}


def error_of(got, reference):
    """Largest |got - reference|; inf where special values or whole numbers differ."""
    if got.shape != reference.shape:
        return np.inf
    if got.dtype.kind != "f":
        return 0.0 if np.array_equal(got, reference) else np.inf
    got = got.astype(np.float64)
    plain = np.isfinite(reference)
    if not np.array_equal(plain, np.isfinite(got)) or not np.array_equal(got[~plain], reference[~plain], equal_nan=True):
        return np.inf
    return float(np.abs(got[plain] - reference[plain]).max()) if plain.any() else 0.0


def figures(folder, name, model, targets, problems):
    """Per output over all inputs of a model: largest magnitude of the reference, largest errors of ONNX Runtime and of each target."""
    rows = {}
    for label, case in model["cases"].items():
        paths = {t: os.path.join(folder, t, f"{name}.{label}.npz") for t in ["eval:f64", *targets]}
        missing = [t for t, p in paths.items() if not os.path.exists(p)]
        problems += [f"{t}: no answer to {name} {label}" for t in missing]
        if "eval:f64" in missing:
            continue
        reference, ort = load(paths["eval:f64"]), load(os.path.join(folder, case["out"]))
        got = {t: {} if t in missing else load(paths[t]) for t in targets}
        for output, want in reference.items():
            row = rows.setdefault(output, dict({t: 0.0 for t in targets}, ort=0.0, magnitude=0.0, inputs=0, floating=want.dtype.kind == "f"))
            row["inputs"] += len(want) if case["kind"] == "stream" else 1
            finite = want[np.isfinite(want)] if row["floating"] else want[:0]
            row["magnitude"] = max(row["magnitude"], float(np.abs(finite).max()) if finite.size else 0.0)
            error = error_of(ort[output], want)
            if not np.isfinite(error):
                problems.append(f"ONNX Runtime and eval:f64 differ in shape or in where {output} is finite, {label}")
            row["ort"] = max(row["ort"], error)
            for t in targets:
                row[t] = max(row[t], error_of(got[t][output], want) if output in got[t] else np.inf)
    return rows


def eval_models(args, pack, target, folder):
    """Answers of one target in `folder`; what failed, as text."""
    os.mkdir(folder)
    name, _, threads = target.partition("*")
    env = dict(os.environ, NNC_MODEL_CACHE=args.cache)
    done = subprocess.run([os.path.join(args.build, "bin", "eval_models"), "--pack", pack, "--target", name, "--threads", threads or "1",
                           "--save", folder], capture_output=True, text=True, env=env)
    return [line for line in done.stdout.splitlines() if line.startswith("FAIL")] + (
        [done.stderr.strip()] if done.returncode not in (0, 1) else [])


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("models", nargs="*", metavar="MODEL")
    ap.add_argument("--build", required=True)
    ap.add_argument("--cache", default=cache_folder())
    ap.add_argument("--seed", type=int, default=None)
    ap.add_argument("--samples", type=int, default=3, help="fresh cases for each stored one")
    ap.add_argument("--sizes", type=int, default=None)
    ap.add_argument("--target", action="append")
    args = ap.parse_args()
    seed = secrets.randbits(32) if args.seed is None else args.seed
    targets = args.target or TARGETS
    dev = fresh.dev_models()
    names = []
    for n in args.models or dev:
        names += [f"zoo/{z}" for z in ZOO_OF_TESTS] if n == "zoo" else [n]

    with tempfile.TemporaryDirectory(prefix="nnc-errors-") as tmp:
        pack = fresh.PackWriter(tmp, args.cache)
        for name in names:
            if name.startswith("zoo/"):
                sizes = fresh.zoo_model(name[4:])[1]["sizes"][:args.sizes]
                fresh.add_zoo(pack, name[4:], seed, sizes)
                continue
            rng = np.random.default_rng([seed, *name.encode()])
            for k in range(args.samples):
                fresh.add_dev(pack, name, dev[name], rng, f"{k}." if args.samples > 1 else "")
        path = pack.write()
        problems, seconds = [], {}
        for target in ["eval:f64", *targets]:
            start = time.time()
            problems += [f"{target}: {p}" for p in eval_models(args, path, target, os.path.join(tmp, target))]
            seconds[target] = time.time() - start
        over, worst, outputs = 0, (0.0, "-"), 0
        print(f"seed {seed}; error and its share of the limit by device; limit = 2 x ONNX Runtime's error + 4 ULP of the largest magnitude")
        print(f"{'model':24} {'output':20} {'inputs':>6} {'magnitude':>9} {'ORT error':>9} {'limit':>9}  " + " ".join(f"{t:>15}" for t in targets))
        for name, model in pack.models.items():
            for output, row in figures(tmp, name, model, targets, problems).items():
                limit = 2 * row["ort"] + 4 * float(np.spacing(np.float32(row["magnitude"]))) if row["floating"] else 0.0
                cells = []
                for t in targets:
                    error = row[t]
                    share = error / limit if limit else (0.0 if error == 0 else np.inf)
                    outputs += 1
                    over += not error <= limit
                    worst = max(worst, (share, f"{name} {output} on {t}"))
                    cells.append(f"{error:9.2e} {share:4.2f}{' ' if error <= limit else '!'}")
                print(f"{name:24} {output[:20]:20} {row['inputs']:6} {row['magnitude']:9.2e} {row['ort']:9.2e} {limit:9.2e}  " + " ".join(cells))
        for p in problems:
            print("PROBLEM", p)
        times = ", ".join(f"{t} {s:.0f} s" for t, s in seconds.items())
        print(f"{len(pack.models)} models, {outputs} outputs x devices, {over} over the limit, {len(problems)} problems, "
              f"worst {worst[0]:.2f} of its limit ({worst[1]}); seed {seed}; {times}")
        return 1 if over or problems or not outputs else 0


if __name__ == "__main__":
    sys.exit(main())
