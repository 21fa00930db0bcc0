"""Acceptance points of the area `skeleton`: one narrow path through every layer.

A check returns (status, figure). A point without a check is not built, or not measured by a program yet: it is NOT RUN.
The build folder is $NNC_BUILD_DIR, else the first of build/release, build/ci, build/dev that has programs.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Callable, Optional, Tuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("NNC_MODEL_CACHE", "~/.cache/nnc-models")).expanduser()
PYTHON = os.environ.get("NNC_PYTHON", sys.executable)


@dataclass
class Point:
    id: str
    kind: str  # "gate" or "aim"
    text: str
    check: Optional[Callable[[], Tuple[str, str]]] = None
    gpu: bool = False


def build_dir():
    given = os.environ.get("NNC_BUILD_DIR")
    for folder in [given] if given else ["build/release", "build/ci", "build/dev"]:
        if (ROOT / folder / "bin" / "nnc").exists():
            return ROOT / folder
    raise FileNotFoundError("nothing is built: tests/run, or cmake --preset release && ninja -C build/release")


def run(command, seconds=3600):
    env = dict(os.environ, NNC_MODEL_CACHE=str(CACHE), NNC_SOURCE_DIR=str(ROOT))
    return subprocess.run([str(c) for c in command], cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds)


def verdict(ok, figure):
    return ("PASS" if ok else "FAIL", figure)


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no output"


def gtest(binary, pattern, least=1):
    """The tests of a binary that match; a pattern that matches too few is a failure, never a pass."""
    def check():
        done = run([build_dir() / "bin" / binary, f"--gtest_filter={pattern}"])
        passed = re.search(r"\[  PASSED  \] (\d+) test", done.stdout)
        skipped = len(re.findall(r"\[  SKIPPED \] [^ ]+ \(", done.stdout))
        count = int(passed.group(1)) if passed else 0
        return verdict(done.returncode == 0 and count >= least, f"{count} passed, {skipped} skipped in {binary} {pattern}")
    return check


def models(*options, native=False):
    def check():
        done = run([build_dir() / "bin" / "eval_models", *options])
        figure = last_line(done.stdout + done.stderr)
        ok = done.returncode == 0 and re.match(r"[1-9]\d* cases, 0 failed", figure) is not None
        if native:
            vm = [int(n) for n in re.findall(r"(\d+) vm", done.stdout)]
            ok = ok and bool(vm) and max(vm) == 0
            figure += f", {max(vm, default=-1)} vm steps"
        return verdict(ok, figure)
    return check


def all_of(*checks):
    def check():
        results = [c() for c in checks]
        return verdict(all(status == "PASS" for status, _ in results), "; ".join(figure for _, figure in results))
    return check


def lint():
    done = run([PYTHON, "tests/lint.py"])
    return verdict(done.returncode == 0, last_line(done.stdout + done.stderr))


def c_programs():
    """The programs in C over each shared library alone."""
    figures, ok = [], True
    for name in ("test_capi_nnc_rt", "test_capi_nnc"):
        done = run([build_dir() / "bin" / name])
        ok = ok and done.returncode == 0
        figures.append(f"{name}: {last_line(done.stdout + done.stderr)}")
    return verdict(ok, "; ".join(figures))


ZOO = ["resnet18", "mobilenet_v2", "vit_b_16", "vit_b_16_dynamic", "bert_base", "gpt2_decode", "llama_decode", "llama_decode_ts"]


def script(path, *options, seconds=7200, before=None):
    """A program whose last line is its figure and whose exit code its verdict; shell scripts find build and models themselves."""
    def check():
        if before:
            before()
        command = [path, *options] if path.endswith(".sh") else [PYTHON, path, "--build", build_dir(), "--cache", CACHE, *options]
        done = run(command, seconds)
        return verdict(done.returncode == 0, last_line(done.stdout if done.returncode == 0 else done.stdout + done.stderr))
    return check


def bring_zoo():
    missing = [m for m in ZOO if not (CACHE / "zoo" / f"{m}.onnx").exists()]
    if missing:
        run([PYTHON, "tests/models/fill.py", "--cache", CACHE, *missing])


def node_tests(*targets):
    def check():
        figures, ok = [], True
        done = run([PYTHON, "tests/conformance/scope.py", "--cache", CACHE, "--check"])
        if done.returncode != 0:
            return ("FAIL", last_line(done.stdout + done.stderr))
        for target in targets:
            if target.endswith("v4") and "avx512f" not in pathlib.Path("/proc/cpuinfo").read_text():
                return ("NOT RUN" if ok else "FAIL", f"{'; '.join(figures)}; {target}: this machine has no AVX-512")
            done = run([build_dir() / "bin" / "node_runner", *(["--target", target] if target else [])], 7200)
            ok = ok and done.returncode == 0
            figures.append(f"{target or 'eval'}: {last_line(done.stdout)}")
        return verdict(ok, "; ".join(figures))
    return check


def kernels_per_layer():
    nnc = build_dir() / "bin" / "nnc"
    figures, ok = [], True
    for model, dims, units, limit in ((CACHE / "minilm_l6.onnx", ["batch=1", "seq=128"], 6, 10), (CACHE / "zoo" / "resnet18.onnx", [], 20, 1.5)):
        done = run([nnc, "bench", model, *[x for d in dims for x in ("--dim", d)], "--json"])
        if done.returncode != 0:
            return ("FAIL", f"{model.stem}: {last_line(done.stdout + done.stderr)}")
        kinds = json.loads(done.stdout)["results"][0]["steps"]
        steps = kinds["native"]
        ok = ok and 0 < steps / units <= limit and kinds.get("vm", 0) == 0
        figures.append(f"{model.stem}: {steps} kernels, {steps / units:.2f} a {'layer' if units == 6 else 'Conv'}, limit {limit}")
    return verdict(ok, "; ".join(figures) + " (all native steps of the model are counted; steps of another kind fail)")


SPEED = {}  # figures of the paired harness in this run, by row


def paired(*options):
    """Rows of the paired harness; each passes or not by itself."""
    def check():
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            done = run([PYTHON, "tests/bench/paired.py", "--build", build_dir(), "--cache", CACHE, "--json", out.name, *options], 7200)
            text = pathlib.Path(out.name).read_text()
        for r in json.loads(text)["results"] if text else []:
            if r["versus"] == "ort" and r["threads"] == 1:
                SPEED[r["row"]] = r
        lines = done.stdout.strip().splitlines()[1:] or done.stderr.strip().splitlines()[-1:]
        return verdict(done.returncode == 0, " | ".join(re.sub(r" +", " ", line) for line in lines))
    return check


def example(name):
    """An example on inputs made at run time, against ONNX Runtime; the last line is its figure and verdict."""
    def check():
        done = run([PYTHON, f"tests/examples/{name}.py", "--build", build_dir(), "--cache", CACHE])
        return verdict(done.returncode == 0 and "PASS" in last_line(done.stdout), f"{last_line(done.stdout + done.stderr)} ({done.stdout.splitlines()[0]})")
    return check


def readme_clone():
    done = run([PYTHON, "tests/readme_clone.py"], 4 * 3600)
    return verdict(done.returncode == 0, last_line(done.stdout + done.stderr))


def readmes():
    done = run([PYTHON, "tests/readme.py", "--all", "--build", build_dir(), "--cache", CACHE], 4 * 3600)
    return verdict(done.returncode == 0 and (ROOT / "docs/walk.md").exists(), last_line(done.stdout + done.stderr))


def aims():
    """Rows at least as fast as ONNX Runtime: those that this run has not measured yet are measured now."""
    rows = [r["name"] for r in json.loads((ROOT / "tests/bench/rows.json").read_text())["rows"]]
    missing = [name for name in rows if name not in SPEED]
    if missing:
        paired(*missing)()
    reached = [name for name, r in SPEED.items() if r["low"] >= 1.0]
    below = [f"{name} {r['ratio']:.2f}" for name, r in SPEED.items() if name not in reached]
    return verdict(not below and set(rows) <= set(SPEED), f"{len(reached)} of {len(SPEED)} rows at 1.0 or more; below: {', '.join(below) or 'none'}")


def compile_times():
    done = run([PYTHON, "tests/bench/compile_times.py", "--build", build_dir(), "--cache", CACHE], 7200)
    return verdict(done.returncode == 0, " | ".join(re.sub(r" +", " ", line) for line in done.stdout.strip().splitlines()[1:]))


def with_mutants():
    """A build folder whose programs hold the planted miscompiles: release does not."""
    for folder in [build_dir(), ROOT / "build" / "ci", ROOT / "build" / "dev"]:
        cache = folder / "CMakeCache.txt"
        if cache.exists() and "NNC_MUTANTS:BOOL=ON" in cache.read_text() and (folder / "bin" / "random_graphs").exists():
            return folder
    raise FileNotFoundError("no build with NNC_MUTANTS: cmake --preset ci && ninja -C build/ci")


def random_graphs(count=2000, nvrtc=200):
    done = run([build_dir() / "bin" / "random_graphs", "--count", count, "--shares", "--targets", "cpu:vm,cpu:x86-64-v3,cuda-emu:sm_80",
                "--levels", "0,1,2", "--nvrtc", nvrtc, "--parallel", 2], 7200)
    lines = done.stdout.strip().splitlines()
    shares = next((line for line in lines if " nodes each; " in line), "no figures")
    short = [line for line in lines if line.startswith("FALLS SHORT")]
    return verdict(done.returncode == 0, "; ".join([last_line(done.stdout), shares, *short]))


def mutants():
    done = run([PYTHON, "tests/fuzz/mutants.py", "--build", with_mutants()], 7200)
    found = re.findall(r"^found (\S+) +(\S+)", done.stdout, re.M)
    return verdict(done.returncode == 0, last_line(done.stdout) + "; " + ", ".join(f"{name} by {killer}" for name, killer in found))


def broken_files(*parts):
    def check():
        done = run([build_dir() / "bin" / "broken_files", *parts], 7200)
        figures = [line for line in done.stdout.splitlines() if " files, " in line]
        return verdict(done.returncode == 0 and len(figures) > 0, "; ".join(figures))
    return check


def dumps():
    done = run([PYTHON, "tests/models/dump_models.py", "--build", build_dir(), "--cache", CACHE], 3600)
    return verdict(done.returncode == 0, last_line(done.stdout))


def build_times():
    done = run([PYTHON, "tests/build_times.py"], 7200)
    return verdict(done.returncode == 0, last_line(done.stdout + done.stderr))


POINTS = [
    Point("0.a", "gate", "carrying test a: train_step and eval_step share states, 50 steps equal to PyTorch, both devices", gtest("test_e2e", "A/CarryingTrain.*", 3)),
    Point("0.b", "gate", "carrying test b: decode loop of 100 tokens, bounded past, one binding, no allocation", gtest("test_e2e", "Carrying.B_*")),
    Point("0.c", "gate", "carrying test c: NonZero -> Gather -> MatMul, 50 extents in shuffled order", gtest("test_e2e", "Carrying.C_*")),
    Point("0.d", "gate", "carrying test d: Loop with packed invariants, If nested", gtest("test_e2e", "Carrying.D_*")),
    Point("0.e", "gate", "carrying test e: one artifact, five variants, weights stored once (MiniLM and BERT)",
          all_of(gtest("test_e2e", "CarryingArtifact.E_*", 2), script("tests/acceptance/carrying_e.py"))),
    Point("0.f", "gate", "carrying test f: GEMM with dequantize prologue and epilogue in one kernel; permuted reader not fused", gtest("test_e2e", "Carrying.F_*", 2)),
    Point("0.g", "gate", "carrying test g: shape chains leave no host step; 50 shapes from one artifact",
          gtest("test_e2e", "*/CarryingShapes.G_*:CarryingExports.G_*", 7)),
    Point("0.capi", "gate", "carrying tests a-e from a C program through nnc.h",
          all_of(gtest("test_e2e", "*CarryingFromC*", 10), c_programs)),
    Point("0.grad", "gate", "every op row has a checked gradient or its reason", gtest("test_ir", "*Gradient*", 5)),
    Point("0.build", "gate", "clean build <= 6 min on two cores, one pass touched <= 20 s, slowest unit <= 10 s", build_times),
    Point("0.notk", "gate", "builds and tests without a CUDA toolkit", script("tests/acceptance/no_toolkit.sh")),
    Point("0.link", "gate", "link test, include arrows, byte identity, S1-S4, lint; untrusted native code never ran",
          all_of(lint, gtest("test_e2e", "Libraries*"), gtest("test_codegen", "Artifact*", 8), gtest("test_tools", "Untrusted.*", 2),
                 gtest("test_support", "*Beneath*:*Spawn*:*Budget*:*Ident*", 20))),
    Point("1.readme", "gate", "the two README commands work in a fresh clone; answers within a minute", readme_clone),
    Point("1.speech", "gate", "speech spans equal ONNX Runtime's to one frame; start and end within tolerance in >= 95 %", example("speech")),
    Point("1.text", "gate", "50 rendered lines read as ONNX Runtime reads them, >= 90 % right", example("readtext")),
    Point("1.type", "gate", "20 file types", example("filetype")),
    Point("2.eval", "gate", "every dev-set model in the interpreter matches its stored answers", models()),
    Point("2.cpu", "gate", "every dev-set model compiled, saved, loaded and run on cpu (1 and 2 threads): stored answers, whole streams, ten picture sizes, 0 vm steps",
          all_of(script("tests/models/saved.py"), models("--target", "cpu", native=True))),
    Point("2.f64", "gate", "fresh inputs: error against eval in f64 at most twice ONNX Runtime's", script("tests/models/errors.py")),
    Point("2.vm", "gate", "every dev-set model on cpu:vm", models("--target", "cpu:vm")),
    Point("2.emu", "gate", "every dev-set model on cuda-emu, whole streams", models("--target", "cuda-emu:sm_90", native=True)),
    Point("2.zoo", "gate", "zoo graphs likewise: error against eval in f64 on every device, saved artifacts",
          all_of(script("tests/models/errors.py", "zoo", before=bring_zoo), script("tests/models/saved.py", "zoo"))),
    Point("2.count", "gate", "MiniLM <= 10 kernels a layer, ResNet-18 <= 1.5 per Conv on cpu", kernels_per_layer),
    Point("3", "gate", "ONNX node tests in scope: unsupported = 0, wrong = 0 on all devices; the rest end in 'unsupported'", node_tests("", "cpu:vm", "cpu:x86-64-v3", "cuda-emu:sm_90", "cpu:x86-64-v4")),
    Point("4.fuzz", "gate", "2,000 random graphs agree on eval, cpu -O0 -O1 -O2 and cuda-emu; NVRTC on 200", random_graphs),
    Point("4.mutants", "gate", "planted miscompiles: all but one found", mutants),
    Point("5.nnb", "gate", "every truncation and bit flip of a small artifact", broken_files("artifact")),
    Point("5.onnx", "gate", "truncations of ONNX files and the corpus of broken files",
          broken_files("onnx", "corpus", "--cuts", 4096, CACHE / "ppocr_v2_cls.onnx")),
    Point("6", "gate", "dump --after-each parses back, changes iff reported, every kernel leads to source nodes", dumps),
    Point("7.models", "gate", "speed against ONNX Runtime: dev set >= 0.7, BERT and ResNet-18 >= 0.6", paired("--point", "7.models")),
    Point("7.mlp", "gate", "MLP 784-128-10 >= 1.3 x ONNX Runtime", paired("--point", "7.mlp")),
    Point("7.gemm", "gate", "GEMM 512^3 >= 88 % of the probed FMA peak", paired("--point", "7.gemm")),
    Point("7.cold", "gate", "compile cold <= 5 s, warm <= 0.1 s + 3 ms per MB of weights", compile_times),
    Point("7.2t", "gate", "BERT on 2 threads >= 1.6 x 1 thread", paired("--threads", "2", "--versus", "one-thread", "--gate", "1.6", "bert_s128")),
    Point("7.aim", "aim", "1.0 x ONNX Runtime on all", aims),
    Point("8", "gate", "docs/walk.md; every README command and path is tested", all_of(readmes, lint)),
]
