#!/usr/bin/env python3
"""The dev set from file to answer through saved artifacts: nnc compile, then rt_models, which holds no compiler and runs them in libnnc_rt.

    saved.py --build DIR [--cache DIR] [--seed N] [--threads N ...] [--sizes N] [MODEL ...]

Both programs run without a PATH, so that neither can find Python or anything else by name. Stored cases run whole (streams over all steps, in
one session); the text detectors and readers also run pictures of N sizes from their one artifact, against ONNX Runtime. No step may be
interpreted, and host steps only be of the kinds that must look at data. Exit code 1 if something does not hold.
"""
import argparse
import collections
import os
import re
import secrets
import subprocess
import sys
import tempfile
import time

import numpy as np

import fresh
from fetch import cache_folder

# NonZero; integer shape arithmetic on data; decisions of If and Loop; reading of integers that are extents.
HOST_KINDS = {"non_zero", "resolve_reshape", "if", "loop", "bind"}
KERNEL_KINDS = {"launch", "copy", "fill", "assert_dims", "assert_value", "switch", "fail"}


def profile_flags(model):
    flags = []
    for name, profile in model["profiles"].items():
        parts = [name]
        for dim, spec in profile["dims"].items():
            if isinstance(spec, dict):
                many = f"%{spec['multiple']}" if spec.get("multiple", 1) != 1 else ""
                spec = f"{spec['min']}..{spec['max']}{many}@{spec['typical']}"
            parts.append(f"{dim}={spec}")
        parts += [f"value:{k}={v}" for k, v in profile.get("values", {}).items()]
        flags += ["--profile", ";".join(parts)]
    return flags


def steps_by_kind(plan):
    """Steps of all programs of a plan's text, by kind; host functions by name."""
    kinds = collections.Counter()
    for word, function in re.findall(r'^ +([a-z_]+) @\d+(?: .*? fn "(\w+)")?', plan, re.MULTILINE):
        kinds[function if word == "host" else word] += 1
    return kinds


def sizes_pack(folder, cache, dev, names, rng, count):
    """Pictures of `count` different sizes for each text detector and reader."""
    pack = fresh.PackWriter(folder, cache)
    for name in names:
        if not name.endswith(("_det", "_rec")):
            continue
        case = next(iter(dev[name]["cases"].values()))
        seen = set()
        while len(seen) < count:
            size = (32 * int(rng.integers(1, 9)), 32 * int(rng.integers(1, 13))) if name.endswith("_det") else (48, int(rng.integers(16, 700)))
            if size in seen:
                continue
            seen.add(size)
            pack.add(name, dev[name], f"{size[0]}x{size[1]}", *fresh.fresh_inputs(rng, name, case, size))
    return pack.write() if pack.models else None


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("models", nargs="*", metavar="MODEL")
    ap.add_argument("--build", required=True)
    ap.add_argument("--cache", default=cache_folder())
    ap.add_argument("--seed", type=int, default=None)
    ap.add_argument("--threads", type=int, action="append")
    ap.add_argument("--sizes", type=int, default=10)
    args = ap.parse_args()
    seed = secrets.randbits(32) if args.seed is None else args.seed
    dev = fresh.dev_models()
    names = args.models or list(dev)
    binary = os.path.join(os.path.abspath(args.build), "bin")
    failures, cases, kinds, interpreted = [], 0, collections.Counter(), 0
    with tempfile.TemporaryDirectory(prefix="nnc-saved-") as tmp:
        env = {k: v for k, v in os.environ.items() if k in ("HOME", "XDG_CACHE_HOME", "LD_LIBRARY_PATH")}
        env.update(PATH="", XDG_STATE_HOME=os.path.join(tmp, "state"), NNC_MODEL_CACHE=args.cache, NNC_SOURCE_DIR=os.path.join(fresh.HERE, "..", ".."))

        def call(program, *words):
            return subprocess.run([os.path.join(binary, program), *words], env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)

        start = time.time()
        for name in names:
            artifact = os.path.join(tmp, name + ".nnb")
            done = call("nnc", "compile", os.path.join(args.cache, dev[name]["onnx"]), *profile_flags(dev[name]), "-o", artifact, "--require",
                        "native", "-q")
            if done.returncode:
                failures.append(f"{name}: nnc compile: {done.stderr.strip()}")
                continue
            steps = steps_by_kind(call("nnc", "dump", artifact, "--plan").stdout)
            host = {k: n for k, n in steps.items() if k not in KERNEL_KINDS}
            print(f"{name:24} {steps['launch']:4} kernels' steps in the programs of all levels, host: "
                  f"{', '.join(f'{k} {n}' for k, n in sorted(host.items())) or 'none'}")
            kinds.update(host)
            if not steps["launch"] or not set(host) <= HOST_KINDS:
                failures.append(f"{name}: steps {dict(steps)}")
        compiled = time.time() - start
        packs = [None, sizes_pack(tmp, args.cache, dev, names, np.random.default_rng(seed), args.sizes)]
        for threads in args.threads or [1, 2]:
            for pack in packs:
                wanted = [n for n in names if pack is None or n.endswith(("_det", "_rec"))]
                done = call("rt_models", "--artifacts", tmp, "--threads", str(threads), *(["--pack", pack] if pack else []), *wanted)
                lines = done.stdout.splitlines()
                for line in lines:
                    print(f"{threads} threads  {line}")
                failures += [line for line in lines if line.startswith("FAIL")]
                last = re.fullmatch(r"(\d+) cases, (\d+) failed", lines[-1] if lines else "")
                if done.returncode or not last or last[2] != "0":
                    failures.append(f"rt_models, {threads} threads: exit code {done.returncode}: {done.stderr.strip() or (lines or ['no output'])[-1]}")
                cases += int(last[1]) if last else 0
                interpreted += sum(int(n) for n in re.findall(r"(\d+) vm", done.stdout))
    for f in failures:
        print("FAIL", f)
    host = ", ".join(f"{k} {n}" for k, n in sorted(kinds.items())) or "none"
    print(f"{len(names)} models through artifacts in libnnc_rt, {cases} cases at {args.threads or [1, 2]} threads, {len(failures)} failures, "
          f"{interpreted} vm steps, host steps: {host}; {args.sizes} picture sizes, seed {seed}; compiled in {compiled:.0f} s, "
          f"all in {time.time() - start:.0f} s")
    return 1 if failures or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
