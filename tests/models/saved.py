#!/usr/bin/env python3
"""The dev set from file to answer through saved artifacts: nnc compile, then rt_models, which holds no compiler and runs them in libnnc_rt.

    saved.py --build DIR [--cache DIR] [--seed N] [--threads N ...] [--sizes N] [MODEL ...]      default: the dev set; zoo, zoo/NAME

Both programs run without a PATH, so that neither can find Python or anything else by name. Stored cases run whole (streams over all steps, in
one session); the text detectors and readers also run pictures of N sizes from their one artifact, and graphs of the zoo all their sizes,
against ONNX Runtime. No step may be interpreted, and host steps only be of the kinds that must look at data. Exit code 1 if something does
not hold.
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
from prepare import ZOO_OF_TESTS

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


def is_text(name):
    return name.startswith("ppocr") and name.endswith(("_det", "_rec"))


def sizes_pack(pack, dev, names, rng, count):
    """Pictures of `count` different sizes for each text detector and reader."""
    for name in filter(is_text, names):
        case = next(iter(dev[name]["cases"].values()))
        seen = set()
        while len(seen) < count:
            size = (32 * int(rng.integers(1, 9)), 32 * int(rng.integers(1, 13))) if name.endswith("_det") else (48, int(rng.integers(16, 700)))
            if size not in seen:
                seen.add(size)
                pack.add(name, dev[name], f"{size[0]}x{size[1]}", *fresh.fresh_inputs(rng, name, case, size))


class Run:
    """Calls of the programs without a PATH, and what they say."""

    def __init__(self, build, cache, folder):
        self.binary, self.folder = os.path.join(os.path.abspath(build), "bin"), folder
        self.env = {k: v for k, v in os.environ.items() if k in ("HOME", "XDG_CACHE_HOME", "LD_LIBRARY_PATH")}
        self.env.update(PATH="", XDG_STATE_HOME=os.path.join(folder, "state"), NNC_MODEL_CACHE=cache,
                        NNC_SOURCE_DIR=os.path.join(fresh.HERE, "..", ".."))
        self.failures, self.cases, self.kinds, self.interpreted = [], 0, collections.Counter(), 0

    def call(self, program, *words):
        return subprocess.run([os.path.join(self.binary, program), *words], env=self.env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)

    def compile(self, name, model, path):
        artifact = os.path.join(self.folder, name + ".nnb")
        done = self.call("nnc", "compile", path, *profile_flags(model), "-o", artifact, "--require", "native", "-q")
        if done.returncode:
            self.failures.append(f"{name}: nnc compile: {done.stderr.strip()}")
            return
        steps = steps_by_kind(self.call("nnc", "dump", artifact, "--plan").stdout)
        host = {k: n for k, n in steps.items() if k not in KERNEL_KINDS}
        print(f"{name:24} {steps['launch']:4} steps with kernels in the programs of all levels, host: "
              f"{', '.join(f'{k} {n}' for k, n in sorted(host.items())) or 'none'}", flush=True)
        self.kinds.update(host)
        if not steps["launch"] or not set(host) <= HOST_KINDS:
            self.failures.append(f"{name}: steps {dict(steps)}")

    def cases_of(self, pack, threads, names):
        done = self.call("rt_models", "--artifacts", self.folder, "--threads", str(threads), *(["--pack", pack] if pack else []), *names)
        lines = done.stdout.splitlines()
        for line in lines:
            print(f"{threads} threads  {line}", flush=True)
        self.failures += [line for line in lines if line.startswith("FAIL")]
        last = re.fullmatch(r"(\d+) cases, (\d+) failed", lines[-1] if lines else "")
        if done.returncode or not last or last[2] != "0":
            said = done.stderr.strip() or (lines or ["no output"])[-1]
            self.failures.append(f"rt_models, {threads} threads: exit code {done.returncode}: {said}")
        self.cases += int(last[1]) if last else 0
        self.interpreted += sum(int(n) for n in re.findall(r"(\d+) vm", done.stdout))


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
    wanted = [m for word in args.models or dev for m in ([f"zoo/{z}" for z in ZOO_OF_TESTS] if word == "zoo" else [word])]
    names, zoo = [m for m in wanted if m in dev], [m[4:] for m in wanted if m.startswith("zoo/")]
    if len(names) + len(zoo) != len(wanted):
        ap.error(f"no such model: {', '.join(m for m in wanted if m not in dev and not m.startswith('zoo/'))}")
    with tempfile.TemporaryDirectory(prefix="nnc-saved-") as tmp:
        start, run = time.time(), Run(args.build, args.cache, tmp)
        for name in names:
            run.compile(name, dev[name], os.path.join(args.cache, dev[name]["onnx"]))
        for name in zoo:
            run.compile(name, fresh.zoo_model(name)[0], os.path.join(args.cache, "zoo", f"{name}.onnx"))
        compiled = time.time() - start
        pack = fresh.PackWriter(tmp, args.cache)
        sizes_pack(pack, dev, names, np.random.default_rng(seed), args.sizes)
        for name in zoo:
            fresh.add_zoo(pack, name, seed)
        fresh_cases = pack.write()
        for threads in args.threads or [1, 2]:
            if names:
                run.cases_of(None, threads, names)
            if pack.models:
                run.cases_of(fresh_cases, threads, [])
    for f in run.failures:
        print("FAIL", f)
    host = ", ".join(f"{k} {n}" for k, n in sorted(run.kinds.items())) or "none"
    sizes = f"{args.sizes} picture sizes, " if any(map(is_text, names)) else ""
    print(f"{len(wanted)} models through artifacts in libnnc_rt, {run.cases} cases at {args.threads or [1, 2]} threads, {len(run.failures)} "
          f"failures, {run.interpreted} vm steps, host steps: {host}; {sizes}seed {seed}; compiled in {compiled:.0f} s, all in "
          f"{time.time() - start:.0f} s")
    return 1 if run.failures or run.interpreted or not run.cases else 0


if __name__ == "__main__":
    sys.exit(main())
