"""What the tests of the examples share: the command line, the programs and their environment, ONNX Runtime behind a file name, the verdict.

Inputs are made at run time from a seed that is printed; `--seed N` repeats a run.
"""
import argparse
import os
import pathlib
import secrets
import subprocess
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFAULT_CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "nnc-models"


class Source:
    """Random numbers and a folder: what files are made from."""

    def __init__(self, seed, folder):
        self.random, self.folder = np.random.default_rng(seed), pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def pick(self, things):
        return things[int(self.random.integers(len(things)))]


class Run(Source):
    """One test run: its arguments, random numbers, folder, and what went wrong."""

    def __init__(self, about, count, short):
        p = argparse.ArgumentParser(description=about)
        p.add_argument("--build", default=os.environ.get("NNC_BUILD_DIR", ROOT / "build/dev"), help="build folder whose bin/ has the program")
        p.add_argument("--cache", default=os.environ.get("NNC_MODEL_CACHE", DEFAULT_CACHE), help="folder of the models")
        p.add_argument("--count", type=int, help=f"how many inputs ({count})")
        p.add_argument("--short", action="store_true", help=f"a few inputs ({short})")
        p.add_argument("--seed", type=int, default=secrets.randbits(32))
        p.add_argument("--device", default="cpu")
        p.add_argument("--keep", help="folder for the inputs; else a temporary one")
        a = p.parse_args()
        self.bin, self.cache, self.device = pathlib.Path(a.build).resolve() / "bin", pathlib.Path(a.cache), a.device
        self.count = a.count or (short if a.short else count)
        self.problems = []
        self._temporary = tempfile.TemporaryDirectory(prefix="nnc-examples-")
        super().__init__(a.seed, a.keep or self._temporary.name)
        print(f"seed {a.seed}")

    def model(self, name):
        path = self.cache / f"{name}.onnx"
        if not path.exists():
            raise SystemExit(f"no model {path}\ntry: python3 tests/models/prepare.py")
        return path

    def program(self, name, model, file, dump):
        """stdout of the program on one file; compiled kernels stay in the build folder from run to run."""
        home = self.bin.parent / "test-home"
        env = dict(os.environ, XDG_CACHE_HOME=str(home / "cache"), XDG_STATE_HOME=str(home / "state"))
        command = [self.bin / name, "--model", self.model(model), "--device", self.device, "--dump-input", dump, file]
        done = subprocess.run([str(c) for c in command], env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
        if done.returncode != 0:
            raise SystemExit(f"{name} {file}: exit code {done.returncode}\n{done.stderr.decode(errors='replace')}")
        return done.stdout.decode()

    def session(self, model):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        return onnxruntime.InferenceSession(str(self.model(model)), options, providers=["CPUExecutionProvider"])

    def holds(self, rate, right, of):
        """Whether `right` of `of` show the rate; so few that chance decides must show three in four."""
        return right >= (rate if of >= 25 else 0.75) * of

    def finish(self, figure, right):
        """Prints what differed and the verdict; the exit code."""
        for problem in self.problems:
            print(f"  {problem}")
        print(f"{figure}: {'PASS' if right and not self.problems else 'FAIL'}")
        return 0 if right and not self.problems else 1
