#!/usr/bin/env python3
"""mutants.py --build DIR [--seed S] [NAME ...]: runs what should find the planted miscompiles of mutants.tsv, one after the other, until one
does, and prints who found each. A killer counts only where it passes without the mutant. The build needs NNC_MUTANTS=ON (preset dev or
ci). Exit code 1 if more than one mutant lives (with names: if one does), if they are too few, if table and source disagree, or if the
generator changed since it was frozen and rows planted after that are asked for; 2 if the command line or the build is not usable."""
import argparse
import hashlib
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time
import typing

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LEAST_KINDS, LEAST_AFTER = 14, 4
LIMIT = 900  # seconds for a killer; one that is not done by then finds something only if it takes a tenth of that without the mutant
SOURCES = ["ir", "passes", "codegen", "runtime", "frontend"]


def graphs(targets, count, levels):
    return lambda seed: ["random_graphs", "--seed", seed, "--count", count, "--stop", 1, "--reduce", 0, "--targets", targets, "--levels", levels]


def gtest(program, *arguments):
    return lambda seed: [program, "--gtest_brief=1", "--gtest_fail_fast", *arguments]


# In the order they are tried where a row's own first one finds nothing: graphs in the interpreter, programs of seconds, then graphs through
# compilers.
KILLERS = {
    "graphs": graphs("cpu:vm", 1200, "0,1,2"),
    "goldens": gtest("test_golden"),
    "equivalence": gtest("test_passes"),
    "gradients": gtest("test_ir", "--gtest_filter=*Gradient*"),
    "onnx": gtest("test_onnx", "--gtest_filter=-*EveryByteChanged*:*EveryTruncation*"),
    "opsets": lambda seed: ["opset_sides.py"],
    "runtime": gtest("test_runtime"),
    "texts": gtest("test_codegen", "--gtest_filter=C*Golden.*:-*.CompileForDevices"),
    "kernels": gtest("test_base"),
    "graphs-native": graphs("cpu:vm,cpu:x86-64-v3", 60, "2"),
    "graphs-emu": graphs("cpu:vm,cuda-emu:sm_80", 120, "2"),
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


# What draws the graphs is frozen; what compares their answers may be mended, and its digest is printed to tell runs apart.
GENERATOR = ("generator*.cpp", "generator*.h", "sketch.*", "random.h")
COMPARISON = ("compare.*", "random_graphs.cpp")


def digest(patterns):
    files = [p for pattern in patterns for p in sorted(HERE.glob(pattern))]
    return hashlib.sha256(b"".join(p.read_bytes() for p in files)).hexdigest()[:16]


def planted_in_source():
    names = set()
    for folder in SOURCES:
        for path in (ROOT / folder).rglob("*.cpp"):
            names.update(re.findall(r'\bmutant\("(\w+)"\)', path.read_text(encoding="utf-8")))
    return names


class Ran(typing.NamedTuple):
    code: int  # below 0: died by that signal
    text: str
    seconds: float
    late: bool  # ended because its time was up

    def how(self):
        if self.late:
            return f"no answer in {LIMIT} s"
        return f"died of {signal.Signals(-self.code).name}" if self.code < 0 else f"exit code {self.code}"


class Runner:
    def __init__(self, build, seed):
        self.build, self.seed, self.clean = build, seed, {}
        self.open_findings = {}  # by killer: seeds that fail without a mutant

    def command(self, killer, seed):
        name, *arguments = [str(c) for c in KILLERS[killer](seed)]
        program = self.build / "bin" / ("eval_models" if name.endswith(".py") else name)
        if not program.exists():
            raise FileNotFoundError(f"{program} is not built: ninja -C {self.build}")
        if name.endswith(".py"):
            return [sys.executable, str(ROOT / "tests" / "conformance" / name), "--run", str(program)]
        return [str(program), *arguments]

    def run(self, command, mutant):
        """Its children go with it where its time is up."""
        env = dict(os.environ, NNC_MUTANT=mutant, NNC_SOURCE_DIR=str(ROOT))
        start, late = time.monotonic(), False
        with subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", start_new_session=True) as child:
            try:
                text, _ = child.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                late = True
                os.killpg(child.pid, signal.SIGKILL)
                text, _ = child.communicate()
        return Ran(child.returncode, text, time.monotonic() - start, late)

    def without(self, killer, command):
        """The killer as it is, once for each command: (passes, seconds)."""
        key = tuple(command)
        if key not in self.clean:
            ran = self.run(command, "")
            self.clean[key] = (ran.code == 0, ran.seconds)
            if ran.code != 0:
                print(f"     {killer} fails without a mutant and is left out ({ran.how()}):\n{ran.text[-1500:]}", flush=True)
        return self.clean[key]

    def late_again(self, killer, command, mutant):
        """A machine may be busy: time counts where the killer takes little of it without the mutant, and too much a second time with it."""
        passes, seconds = self.without(killer, command)
        return passes and seconds < LIMIT / 10 and self.run(command, mutant).late

    def whole_finds(self, killer, command, mutant, ran):
        """What a run as a whole says, by its exit code alone."""
        if ran.late:
            return ran.how() if self.late_again(killer, command, mutant) else None
        return (reason(ran.text) or ran.how()) if ran.code != 0 and self.without(killer, command)[0] else None

    def graphs_find(self, killer, mutant):
        """The first failing graph that passes without the mutant: seeds are drawn, and one may find what nobody planted."""
        known = self.open_findings.setdefault(killer, set())
        command = self.command(killer, self.seed)
        count = command.index("--count") + 1
        first, end = self.seed, self.seed + int(command[count])
        while first < end:
            command = self.command(killer, first)
            command[count] = str(end - first)
            ran = self.run(command, mutant)
            failed = re.findall(r"^((?:FAIL|crash) +seed (\d+).*)", ran.text, re.M)
            if not failed:
                return self.whole_finds(killer, command, mutant, ran)
            for line, seed in failed:
                if seed not in known and self.fails_by_mutant(killer, seed, mutant, line):
                    return reason(line)
                known.add(seed)
            first = 1 + max(int(seed) for _, seed in failed)
        return None

    def fails_by_mutant(self, killer, seed, mutant, line):
        """A graph that took too long has to do so again."""
        command = self.command(killer, seed)
        command[command.index("--count") + 1] = "1"
        passes, seconds = self.without(f"{killer} seed {seed}", command)
        return passes and ("no answer in time" not in line or (seconds < LIMIT / 10 and self.run(command, mutant).code != 0))

    def program_finds(self, killer, mutant):
        command = self.command(killer, self.seed)
        if not self.without(killer, command)[0]:
            return None
        return self.whole_finds(killer, command, mutant, self.run(command, mutant))


def reason(text):
    """The line that says what failed: with its seed and target, or with the test's name."""
    for start in ("FAIL", "crash", "[  FAILED  ]", "nnc: internal error"):
        for line in text.splitlines():
            if line.startswith(start):
                return re.sub(r"\s+", " ", line)[:150]
    return " ".join(text.split())[-150:]


def find(runner, row):
    for killer in [row["first"]] + [k for k in KILLERS if k != row["first"]]:
        find_with = runner.graphs_find if killer.startswith("graphs") else runner.program_finds
        why = find_with(killer, row["name"])
        if why is not None:
            return killer, why
    return None, ""


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", type=pathlib.Path, required=True)
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    (rows, frozen), source, now = table(), planted_in_source(), digest(GENERATOR)
    if "NNC_MUTANTS:BOOL=ON" not in (args.build / "CMakeCache.txt").read_text():
        print(f"{args.build} is built without NNC_MUTANTS: preset dev or ci")
        return 2
    unknown = sorted(set(args.names) - {r["name"] for r in rows})
    if unknown:
        print(f"not in mutants.tsv: {', '.join(unknown)}")
        return 2
    wrong = sorted(source ^ {r["name"] for r in rows})
    if wrong:
        print(f"in the table or in the source alone: {', '.join(wrong)}")
        return 1
    chosen = [r for r in rows if not args.names or r["name"] in args.names]
    print(f"seed {args.seed}; generator {now}, frozen as {frozen}; comparison {digest(COMPARISON)}", flush=True)
    if now != frozen and any(r["planted"] == "after" for r in chosen):
        print(f"the generator changed since it was frozen: what was planted after that no longer counts. To freeze it anew, write {now} into "
              f"mutants.tsv, call its rows 'before', and plant {LEAST_AFTER} new ones after that")
        return 1
    runner, alive, found = Runner(args.build, args.seed), [], {"before": 0, "after": 0}
    begin = time.monotonic()
    for k, row in enumerate(chosen):
        start = time.monotonic()
        killer, why = find(runner, row)
        if killer is None:
            alive.append(row["name"])
        else:
            found[row["planted"]] += 1
        print(f"{'found' if killer else 'LIVES'} {row['name']:28} {killer or '-':14} {time.monotonic() - start:5.0f} s  [{k + 1}/{len(chosen)}] "
              f"{row['row']}: {why}", flush=True)
    total = {k: sum(r["planted"] == k for r in chosen) for k in found}
    kinds = len({r["row"] for r in chosen if not r["row"].startswith("-")})
    print(f"{found['before']} of {total['before']} found, of those planted after the generator was frozen {found['after']} of {total['after']}; "
          f"{kinds} kinds of faults, {time.monotonic() - begin:.0f} s; alive: {', '.join(alive) or 'none'}")
    few = not args.names and (kinds < LEAST_KINDS or total["after"] < LEAST_AFTER)
    if few:
        print(f"too few: {LEAST_KINDS} kinds of faults and {LEAST_AFTER} planted after the freeze are asked for")
    return 1 if len(alive) > (0 if args.names else 1) or few else 0


if __name__ == "__main__":
    sys.exit(main())
