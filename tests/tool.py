#!/usr/bin/env python3
"""The program nnc as a process: what only shows with real streams, signals, terminals and folders. Everything else about the tool is in
tests/unit/tools, in one process.

    tool.py [--build DIR] [--cache DIR]
"""
import argparse
import glob
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


class Tool:
    def __init__(self, build, cache, folder):
        home = build / "test-home"
        self.nnc, self.folder = build / "bin/nnc", folder
        self.slow = cache / "ppocr_v2_cls.onnx"      # some seconds to compile without the kernel cache
        self.dims = ["--dim", "x.0=1", "--dim", "x.2=48", "--dim", "x.3=192"]
        self.env = dict(os.environ, XDG_CACHE_HOME=str(home / "cache"), XDG_STATE_HOME=str(folder / "state"), TERM="xterm")

    def start(self, *words, **streams):
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
        return subprocess.Popen([str(w) for w in (self.nnc, *words)], cwd=self.folder, env=self.env, text=True, start_new_session=True, **streams)

    def run(self, *words, **streams):
        """(exit code, stdout, stderr)"""
        child = self.start(*words, **streams)
        out, err = child.communicate(timeout=600)
        return child.returncode, out or "", err or ""

    def again(self):
        """The bytes of the same artifact, compiled anew."""
        code, _, err = self.run("compile", self.slow, *self.dims, "-o", "again.nnb")
        return (self.folder / "again.nnb").read_bytes() if code == 0 else err

    @staticmethod
    def alive(folder):
        """Whether a process works in this folder: then it is another test's."""
        def works_there(link):
            try:
                return os.readlink(link).startswith(folder)
            except OSError:       # it ended, or is somebody else's
                return False
        return any(works_there(link) for link in glob.glob("/proc/[0-9]*/cwd"))

    def on_terminal(self, *words):
        """(exit code, what the terminal saw on stderr)"""
        ours, theirs = pty.openpty()
        child = self.start(*words, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        seen = b""
        while True:
            ready, _, _ = select.select([ours], [], [], 120)
            try:
                part = os.read(ours, 65536) if ready else b""
            except OSError:       # the other end is closed
                part = b""
            if not part:
                break
            seen += part
        os.close(ours)
        return child.wait(), seen.decode()


def full_disk(t):
    with open("/dev/full", "w") as full:
        for words in (["ops"], ["explain", "--json"], ["completion", "bash"]):
            code, _, err = t.run(*words, stdout=full)
            yield words, code == 8 and "NNC-8001" in err, (code, err)


def closed_pipe(t):
    reader, writer = os.pipe()
    os.close(reader)
    child = t.start("ops", "--doc", stdout=writer)
    os.close(writer)
    code = child.wait(timeout=60)
    yield "a reader that went away ends the program quietly", code == -signal.SIGPIPE or code == 8, code


def interrupts(t):
    before = set(glob.glob("/tmp/nnc-*"))
    child = t.start("compile", t.slow, *t.dims, "--no-cache", "-o", "slow.nnb")
    for line in child.stderr:
        if "simplify" in line:
            break
    time.sleep(0.7)
    child.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, err = child.communicate(timeout=120)
    left = [f for f in set(glob.glob("/tmp/nnc-*")) - before if os.path.exists(f) and not t.alive(f)]
    yield "Ctrl-C while compiling: 130", child.returncode == 130 and "interrupted" in err, (child.returncode, err)
    yield "soon", time.monotonic() - began < 60, time.monotonic() - began
    yield "no artifact, no part of one", not list(t.folder.glob("*slow*")) and not list(t.folder.glob(".nnc*")), os.listdir(t.folder)
    yield "no folder of a compiler", not left, left
    child = t.start("compile", t.slow, *t.dims, "--no-cache", "-o", "slow.nnb")
    for line in child.stderr:
        if "simplify" in line:
            break
    time.sleep(0.7)
    for _ in range(2):
        child.send_signal(signal.SIGINT)
        time.sleep(0.1)
    began = time.monotonic()
    child.communicate(timeout=120)
    yield "twice: at once", child.returncode == 130 and time.monotonic() - began < 10, (child.returncode, time.monotonic() - began)


def terminals(t):
    code, seen = t.on_terminal("compile", t.slow, *t.dims, "--target", "cpu:x86-64-v3", "--no-cache", "-o", "a.nnb")
    yield "a bar over the kernels", code == 0 and re.search(r"\[[#.]+\] +\d+/\d+", seen) and "\r" in seen, seen[-400:]
    yield "it is gone at the end", seen.rstrip().split("\r")[-1].find("[#") < 0, seen[-400:]
    code, _, err = t.run("compile", t.slow, *t.dims, "-o", "b.nnb")
    yield "nothing is drawn into a file", code == 0 and "\r" not in err and "\x1b" not in err, err
    code, _, err = t.run("compile", t.slow, *t.dims, "-o", "b.nnb", "-q")
    yield "-q is silent", code == 0 and err == "", err
    code, _, err = t.run("compile", t.slow, *t.dims, "-o", "b.nnb", "--progress=json")
    yield "--progress=json is a line of JSON each", code == 0 and all(json.loads(line)["event"] for line in err.splitlines()), err
    yield "two compilations give the same bytes", (t.folder / "b.nnb").read_bytes() == t.again(), ""


def folders(t):
    locked = t.folder / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    if os.getuid() != 0:          # root writes everywhere
        code, _, err = t.run("compile", t.slow, *t.dims, "-o", locked / "m.nnb")
        yield "a folder without permission: 8, before the work", code == 8 and "kernels" not in err, (code, err)
    code, _, err = t.run("run", t.slow, *t.dims, "-o", "@none/out.npz")
    yield "a folder that is missing: 8, before the work", code == 8 and "kernels" not in err, (code, err)
    t.env["XDG_STATE_HOME"] = t.env["XDG_CACHE_HOME"] = "/proc/none"
    code, _, err = t.run("compile", t.slow, *t.dims, "-o", "c.nnb")
    yield "no state folder: the artifact is there, and a warning", code == 0 and "warning:" in err and (t.folder / "c.nnb").exists(), (code, err)


def pipes(t):
    with open(t.slow, "rb") as model:
        code, out, err = t.run("run", "-", *t.dims, "-o", "-", stdin=model)
    yield "a model from standard input", code == 0 and "f32[1,2]" in out, (code, out[:200], err)
    with open(t.folder / "p.nnb", "wb") as artifact:
        code, _, err = t.run("compile", t.slow, *t.dims, "-o", "-", stdout=artifact)
    yield "an artifact to standard output", code == 0 and (t.folder / "p.nnb").read_bytes() == (t.folder / "b.nnb").read_bytes(), (code, err)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--build", type=pathlib.Path, default=os.environ.get("NNC_BUILD_DIR", ROOT / "build/dev"))
    p.add_argument("--cache", type=pathlib.Path, default=os.environ.get("NNC_MODEL_CACHE", pathlib.Path.home() / ".cache/nnc-models"))
    a = p.parse_args()
    failed = count = 0
    with tempfile.TemporaryDirectory(prefix="tool-") as folder:
        t = Tool(a.build.resolve(), a.cache.resolve(), pathlib.Path(folder))
        for check in (full_disk, closed_pipe, interrupts, terminals, pipes, folders):
            for what, holds, seen in check(t):
                count += 1
                failed += not holds
                if not holds:
                    print(f"{check.__name__}: {what}: {seen}")
    print(f"{count} checks of the program, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
