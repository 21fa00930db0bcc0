#!/usr/bin/env python3
"""Compile time of the harness's rows: the whole `nnc compile`, cold (no kernel cache) and warm (the same again).

    tests/bench/compile_times.py [ROW ...] [--repeat N] [--build DIR] [--cache DIR] [--json FILE]

The target is the level of this machine alone. Cold must take at most 5 s, warm at most 0.1 s + 3 ms per MB of weights; the
best of N runs counts, since other programs only add to it; the processor time of that run stands beside it. A run without a
cache and the ones with it give the same artifact.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import made_models
import paired

COLD = 5.0


def warm_limit(megabytes):
    return 0.1 + 0.003 * megabytes


def level():
    """Of this machine: what the tool itself picks last for `cpu`."""
    flags = set(pathlib.Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0].split())
    return "cpu:x86-64-v4" if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags else "cpu:x86-64-v3"


def weight_bytes(model):
    """Of the model: its file and what it names beside it."""
    beside = model.with_name(model.name + ".data")
    return model.stat().st_size + (beside.stat().st_size if beside.exists() else 0)


def compile_once(command, folder, cache):
    env = dict(os.environ, XDG_CACHE_HOME=str(cache), XDG_STATE_HOME=str(folder / "state"), XDG_CONFIG_HOME=str(folder / "config"))
    out = folder / "out.nnb"
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(c) for c in [*command, "-o", out]], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr}")
    return (seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), out.read_bytes()


def measure(row, args, folder):
    model = paired.model_of(row, args, folder)
    dims = [x for name, size in row.get("dims", {}).items() for x in ("--dim", f"{name}={size}")]
    command = [args.build / "bin" / "nnc", "compile", model, "--target", level(), "-q", *dims]
    cold, warm, texts = [], [], set()
    for n in range(args.repeat):
        cache = folder / f"cache-{row['name']}-{n}"
        for times in [cold] + [warm] * 3:
            pair, text = compile_once(command, folder, cache)
            times.append(pair)
            texts.add(text)
    megabytes = weight_bytes(model) / 1e6
    complaints = []
    (cold, cold_cpu), (warm, warm_cpu) = min(cold), min(warm)
    if cold > COLD:
        complaints.append(f"cold takes more than {COLD} s")
    if warm > warm_limit(megabytes):
        complaints.append(f"warm takes more than {warm_limit(megabytes):.2f} s")
    if len(texts) > 1:
        complaints.append("the artifacts differ")
    return {"row": row["name"], "target": level(), "cold": cold, "cold_cpu": cold_cpu, "warm": warm, "warm_cpu": warm_cpu,
            "megabytes": megabytes, "limit": warm_limit(megabytes), "complaints": complaints}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--build", type=pathlib.Path, default=paired.SOURCE / "build" / "release")
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(os.environ.get("NNC_MODEL_CACHE", "~/.cache/nnc-models")).expanduser())
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    results, failed = [], 0
    print(f"{'row':20} {'cold s':>7} {'cpu s':>7} {'warm s':>7} {'cpu s':>7} {'limit':>6} {'MB':>6}  {level()}")
    # Not on a disk: how fast that is says nothing about a compiler.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        for row in paired.all_rows(args.rows):
            if row["model"] not in made_models.MAKERS and not (args.cache / row["model"]).exists():
                print(f"{row['name']:20} NOT RUN: {row['model']} is not in {args.cache}")
                failed += 1
                continue
            r = measure(row, args, pathlib.Path(folder))
            results.append(r)
            failed += bool(r["complaints"])
            verdict = "FAIL: " + ", ".join(r["complaints"]) if r["complaints"] else "PASS"
            print(f"{r['row']:20} {r['cold']:7.2f} {r['cold_cpu']:7.2f} {r['warm']:7.3f} {r['warm_cpu']:7.3f} {r['limit']:6.2f} {r['megabytes']:6.1f}  {verdict}", flush=True)
    if args.json:
        args.json.write_text(json.dumps({"schema": "nnc.compile_times/1", "results": results}, indent=1) + "\n")
    print(f"{len(results)} rows, {failed} beyond their limit")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
