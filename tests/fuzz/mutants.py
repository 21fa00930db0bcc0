#!/usr/bin/env python3
"""mutants.py --build DIR [--seed S] [NAME ...]: runs what should find the planted miscompiles of mutants.tsv, one after the other, until one
does, and prints who found each. A killer counts only where it passes without the mutant. The build needs NNC_MUTANTS=ON (preset dev or
ci). Exit code 1 if more than one mutant lives, or table and source disagree."""
import argparse
import hashlib
import os
import pathlib
import random
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SOURCES = ["ir", "passes", "codegen", "runtime", "frontend"]


def graphs(targets, count, levels):
    return lambda seed: ["random_graphs", "--seed", seed, "--count", count, "--stop", 3, "--reduce", 0, "--targets", targets, "--levels", levels]


# In the order they are tried; the generator's share is bounded by its number of graphs.
KILLERS = {
    "graphs": graphs("cpu:vm", 600, "0,1,2"),
    "graphs-native": graphs("cpu:vm,cpu:x86-64-v3", 60, "2"),
    "graphs-emu": graphs("cpu:vm,cuda-emu:sm_80", 120, "2"),
    "goldens": lambda seed: ["test_golden", "--gtest_brief=1", "--gtest_fail_fast"],
    "equivalence": lambda seed: ["test_passes", "--gtest_brief=1", "--gtest_fail_fast"],
    "onnx": lambda seed: ["test_onnx", "--gtest_brief=1", "--gtest_fail_fast", "--gtest_filter=-*EveryByteChanged*:*EveryTruncation*"],
    "opsets": lambda seed: ["opset_sides.py"],
    "gradients": lambda seed: ["test_ir", "--gtest_brief=1", "--gtest_fail_fast", "--gtest_filter=*Gradient*"],
    "kernels": lambda seed: ["test_base", "--gtest_brief=1", "--gtest_fail_fast"],
    "runtime": lambda seed: ["test_runtime", "--gtest_brief=1", "--gtest_fail_fast"],
}


def table():
    """The rows, and the generator's digest when it was frozen."""
    rows, frozen = [], ""
    for line in (HERE / "mutants.tsv").read_text().splitlines():
        if line.startswith("frozen\t"):
            frozen = line.split("\t")[1]
        elif line and not line.startswith("#"):
            rows.append(dict(zip(("name", "planted", "row", "first", "what"), line.split("\t"))))
    return rows, frozen


def generator_digest():
    files = [p for pattern in ("generator*.cpp", "generator*.h", "sketch.*", "random.h") for p in sorted(HERE.glob(pattern))]
    return hashlib.sha256(b"".join(p.read_bytes() for p in files)).hexdigest()[:16]


def planted_in_source():
    names = set()
    for folder in SOURCES:
        for path in (ROOT / folder).rglob("*.cpp"):
            names.update(re.findall(r'\bmutant\("(\w+)"\)', path.read_text(encoding="utf-8")))
    return names


class Runner:
    def __init__(self, build, seed):
        self.build, self.seed, self.clean = build, seed, {}

    def command(self, killer, seed):
        name, *arguments = [str(c) for c in KILLERS[killer](seed)]
        program = self.build / "bin" / ("eval_models" if name.endswith(".py") else name)
        if not program.exists():
            raise FileNotFoundError(f"{program} is not built: ninja -C {self.build}")
        if name.endswith(".py"):
            return [sys.executable, str(ROOT / "tests" / "conformance" / name), "--run", str(program)]
        return [str(program), *arguments]

    def run(self, killer, mutant):
        command = self.command(killer, self.seed)
        env = dict(os.environ, NNC_MUTANT=mutant, NNC_SOURCE_DIR=str(ROOT))
        try:
            done = subprocess.run(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=900)
        except subprocess.TimeoutExpired:
            return 1, "no answer in 15 minutes"
        return done.returncode, done.stdout + done.stderr

    def only_with(self, killer, text):
        """The first failing graph that passes without the mutant: seeds are drawn, and one may find what nobody planted."""
        for line, seed in re.findall(r"^((?:FAIL|crash) +seed (\d+).*)", text, re.M):
            command = self.command(killer, seed)
            command[command.index("--count") + 1] = "1"
            done = subprocess.run(command, cwd=ROOT, env=dict(os.environ, NNC_MUTANT=""),
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=900)
            if done.returncode == 0:
                return line
            print(f"     seed {seed} fails without a mutant: {reason(done.stdout)}", flush=True)
        return None

    def passes_clean(self, killer):
        if killer not in self.clean:
            code, text = self.run(killer, "")
            self.clean[killer] = code == 0
            if code != 0:
                print(f"     {killer} fails without a mutant and is left out:\n{text[-1500:]}", flush=True)
        return self.clean[killer]


def reason(text):
    for line in text.splitlines():
        if line.startswith(("FAIL", "crash")) or " Failure" in line or line.startswith("[  FAILED"):
            return re.sub(r"\s+", " ", line)[:150]
    return " ".join(text.split())[-150:]


def find(runner, row):
    order = [row["first"]] + [k for k in KILLERS if k != row["first"]]
    for killer in order:
        if not killer.startswith("graphs") and not runner.passes_clean(killer):
            continue
        code, text = runner.run(killer, row["name"])
        if code != 0 and killer.startswith("graphs"):
            text = runner.only_with(killer, text)
        if code != 0 and text:
            return killer, reason(text)
    return None, ""


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", type=pathlib.Path, required=True)
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    (rows, frozen), source = table(), planted_in_source()
    if "NNC_MUTANTS:BOOL=ON" not in (args.build / "CMakeCache.txt").read_text():
        print(f"{args.build} is built without NNC_MUTANTS: preset dev or ci")
        return 2
    wrong = sorted(source ^ {r["name"] for r in rows})
    if wrong:
        print(f"in the table or in the source alone: {', '.join(wrong)}")
        return 1
    print(f"seed {args.seed}; the generator is {'as it was frozen' if generator_digest() == frozen else 'changed since it was frozen'}", flush=True)
    runner, alive, found = Runner(args.build, args.seed), [], {"before": 0, "after": 0}
    rows = [r for r in rows if not args.names or r["name"] in args.names]
    for row in rows:
        start = time.monotonic()
        killer, why = find(runner, row)
        if killer is None:
            alive.append(row["name"])
        else:
            found[row["planted"]] += 1
        print(f"{'found' if killer else 'LIVES'} {row['name']:28} {killer or '-':14} {time.monotonic() - start:5.0f} s  {why}", flush=True)
    total = {k: sum(r["planted"] == k for r in rows) for k in found}
    changed = "" if generator_digest() == frozen else " (the generator changed since)"
    print(f"{found['before']} of {total['before']} found, of those planted after the generator was frozen{changed} {found['after']} of {total['after']}; "
          f"{len({r['row'] for r in rows if r['planted'] == 'before'})} kinds of faults; alive: {', '.join(alive) or 'none'}")
    return 1 if len(alive) > 1 else 0


if __name__ == "__main__":
    sys.exit(main())
