#!/usr/bin/env python3
"""The README's commands in a fresh clone, exactly as they stand there, and the answers of the main job on files of the user's own.

    readme_clone.py [--first] [--fresh-cache] [--keep DIR]

Clones the last commit into a temporary folder and runs the blocks that the README marks `clone`, in their order: the first on a recording,
then on a picture and a program, each after the compiled kernels were thrown away; each must answer within a minute after the build, in
words. The second builds and runs all tests. --first stops before it. --fresh-cache also fetches models and packages anew.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import readme

sys.path.insert(0, str(readme.ROOT / "tests/examples"))
import samples    # noqa: E402
import speech     # noqa: E402

MINUTE = 60


def clone_blocks(folder):
    """The commands of the clone's README that are marked for here, a list for each block."""
    found = [listed for mark, _, _, listed in readme.blocks((folder / "README.md").read_text()) if mark == "clone"]
    if len(found) < 2 or "FILE" not in found[0][0]:
        raise SystemExit("README.md: the first command on FILE and the second that tests are not marked <!-- clone -->")
    return found


def shell(command, folder, env):
    """Runs a command; (exit code, stdout, seconds, seconds since its last line on stderr)."""
    began = said = time.monotonic()
    child = subprocess.Popen(["bash", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    errors = []
    answer = []
    reader = threading.Thread(target=lambda: answer.append(child.stdout.read()))
    reader.start()
    for line in child.stderr:      # the build speaks here; the answer comes on stdout
        said = time.monotonic()
        errors.append(line)
    reader.join()
    out = answer[0]
    code = child.wait()
    if code != 0:
        print("".join(errors[-40:]))
    return code, out, time.monotonic() - began, time.monotonic() - said


def environment(cache, fresh):
    """A cache folder of its own, so that no kernel is compiled yet; models, Python's packages and ccache are the user's unless `fresh`."""
    user = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    kept = {k: v for k, v in os.environ.items() if not k.startswith("NNC_") or (k in ("NNC_PYTHON", "NNC_MODEL_CACHE") and not fresh)}
    cache.mkdir(parents=True, exist_ok=True)
    if not fresh:
        kept.setdefault("NNC_MODEL_CACHE", str(user / "nnc-models"))
        kept.setdefault("CCACHE_DIR", str(user / "ccache"))
        if (user / "nnc-venv").exists() and not (cache / "nnc-venv").exists():
            (cache / "nnc-venv").symlink_to(user / "nnc-venv")
    return kept | {"XDG_CACHE_HOME": str(cache)}


def answers(said, facts, kind):
    """Whether a person learns from `said` what is in the file."""
    if kind == "recording.wav":
        right, of = speech.judge(speech.spans_said(said), facts["utterances"])
        return right * 4 >= of * 3 and "seconds are speech" in said
    if kind == "line.png":
        return said.strip() == facts["text"]
    return re.search(rf": {facts['type']} \(", said) is not None


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--first", action="store_true")
    p.add_argument("--fresh-cache", action="store_true")
    p.add_argument("--keep", help="the folder of the clone; else a temporary one")
    a = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="nnc-clone-") as temporary:
        folder = pathlib.Path(a.keep or temporary).resolve()
        clone, own = folder / "nnc", folder / "own"
        subprocess.run(["git", "clone", "-q", readme.ROOT, clone], check=True)
        env = environment(folder / "cache", a.fresh_cache)
        facts = samples.make(own, int.from_bytes(os.urandom(4), "little"))
        print(f"seed {facts['seed']}")
        first, *others = clone_blocks(clone)
        figures, ok = [], True
        for number, kind in enumerate(["recording.wav", "line.png", "FILE"]):
            if number > 0:         # kernels only: the environment of Python stays
                shutil.rmtree(folder / "cache/nnc", ignore_errors=True)
            code, said, seconds, after = shell(" && ".join(first).replace("FILE", f"'{own / kind}'"), clone, env)
            good = code == 0 and answers(said, facts, kind)
            quick = after <= MINUTE if number == 0 else seconds <= MINUTE
            ok = ok and good and quick
            figures.append(f"{kind}: {seconds:.0f} s" + (f", {after:.0f} s of it after the build" if number == 0 else "") + ("" if good else ", a wrong answer"))
            print("".join(f"  {line}\n" for line in said.splitlines()), end="", flush=True)
        for block in [] if a.first else others:
            for command in block:
                code, said, seconds, _ = shell(command, clone, env)
                ok = ok and code == 0
                figures.append(f"{command}: {seconds / 60:.0f} min, exit code {code}, {(said.strip().splitlines() or ['nothing said'])[-1]}")
        print(f"{'; '.join(figures)}: {'PASS' if ok else 'FAIL'}")
        return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
