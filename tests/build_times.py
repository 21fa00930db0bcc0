#!/usr/bin/env python3
"""Measures the build: a clean one without ccache, one after touching one pass, and the slowest unit.

    build_times.py [--preset PRESET] [--dir DIR] [--json]

Prints the three figures with their limits (360 s, 20 s, 10 s, on two cores); exits 1 when one is over.
Builds in DIR (default: build/times) and leaves it there.
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
LIMITS = {"clean build": 360.0, "one pass touched": 20.0, "slowest unit": 10.0}


def build(folder):
    start = time.monotonic()
    subprocess.run(["cmake", "--build", folder, "-j", str(min(2, os.cpu_count() or 1))], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "CCACHE_DISABLE": "1"})
    return time.monotonic() - start


def units(folder):
    """Seconds per object file of the last build, slowest first."""
    last = {}
    with open(os.path.join(folder, ".ninja_log"), encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                start, end, _, path, _ = line.rstrip("\n").split("\t")
                if path.endswith(".o"):
                    last[path] = (int(end) - int(start)) / 1000
    return sorted(((s, p) for p, s in last.items()), reverse=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--preset", default="dev")
    ap.add_argument("--dir", default=os.path.join(ROOT, "build", "times"))
    ap.add_argument("--json", action="store_true")
    args = ap.parse_args()
    shutil.rmtree(args.dir, ignore_errors=True)
    subprocess.run(["cmake", "--preset", args.preset, "-B", args.dir], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    figures = {"clean build": build(args.dir)}
    slowest = units(args.dir)
    figures["slowest unit"] = slowest[0][0]
    passes = sorted(glob.glob(os.path.join(ROOT, "passes", "*.cpp")), key=os.path.getsize)
    if passes:
        os.utime(passes[-1])
        figures["one pass touched"] = build(args.dir)
    over = [name for name, seconds in figures.items() if seconds > LIMITS[name]]
    if args.json:
        print(json.dumps({"schema": "nnc.buildtimes/1", "seconds": figures, "limits": LIMITS, "slowest": slowest[:10]}))
    else:
        for name, seconds in figures.items():
            print(f"{name:18} {seconds:6.1f} s of {LIMITS[name]:.0f} s{'  OVER' if name in over else ''}")
        for seconds, path in slowest[:5]:
            print(f"  {seconds:5.1f} s  {path.split('.dir/')[-1]}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
