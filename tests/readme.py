#!/usr/bin/env python3
"""Runs every command that a README or docs/walk.md shows, in a copy of the project, so that no page tells what does not work.

    readme.py [--build DIR] [--cache DIR] [--all]

A block of commands is fenced as sh; every other fence names its language too, so that nothing passes unseen. Commands run from the
project's root with `nnc` on the PATH, models of the cache beside them, and files of the kinds that they name: recording.wav, line.png, FILE,
CACHE. A comment over a fence says what not to run here: `<!-- slow -->` runs with --all, `<!-- clone -->` is for tests/readme_clone.py.
Commands inside a line of text are read: their program must exist, and `nnc` must know the subcommand and its flags.

The last line is the count; exits 1 when a command fails.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
FENCE = re.compile(r"(?:^<!-- (?P<mark>\w+) -->\n)?^```(?P<language>\S*)\n(?P<body>.*?)^```$", re.M | re.S)
INLINE = re.compile(r"`(?:[A-Z_]+=\S+ )*((?:nnc|cmake|ctest|python3|build/\w+/bin/\w+|tests/\w+(?:\.py)?|examples/run|\.ci/\w+)(?: [^`\n]+)?)`")


def files():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def commands(body):
    """The commands of a block: lines, joined where one ends in a backslash; comments fall away."""
    lines = re.sub(r"\\\n\s*", "", body).split("\n")
    return [line.strip() for line in (re.sub(r"\s+#.*$", "", line) for line in lines) if line.strip() and not line.startswith("#")]


def blocks(text):
    """(mark, language, line, commands) of each fence; the mark is empty where there is none."""
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("language")) + 1
        yield match["mark"] or "", match["language"], line, commands(match["body"]) if match["language"] == "sh" else []


def copy_of_project(folder, build, cache):
    """The project without its history, with the build folder and the models where commands look for them."""
    for name in files():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    (folder / "build").mkdir()
    (folder / "build/dev").symlink_to(build)
    for model in [*cache.glob("*.onnx"), cache / "magika"]:
        (folder / model.name).symlink_to(model)
    (folder / "CACHE").symlink_to(cache)
    subprocess.run([sys.executable, ROOT / "tests/examples/samples.py", "--seed", "1", folder], check=True, stdout=subprocess.DEVNULL)


def environment(build, cache):
    home = build / "test-home"
    return dict(os.environ, PATH=f"{build / 'bin'}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}", NNC_MODEL_CACHE=str(cache), NNC_BUILD_DIR=str(build),
                XDG_CACHE_HOME=str(home / "cache"), XDG_STATE_HOME=str(home / "state"), XDG_CONFIG_HOME=str(home / "config"))


def check_inline(command, build, env):
    """What is wrong with a command that stands in a line of text, or nothing."""
    words = command.split()
    program = words[0]
    exists = (build / "bin" / pathlib.Path(program).name).exists() if program.startswith("build/") else (ROOT / program).exists() if "/" in program else shutil.which(program, path=env["PATH"])
    if not exists:
        return f"there is no {program}"
    if program != "nnc" or len(words) == 1 or not words[1].islower():
        return None
    shown = subprocess.run(["nnc", "help", words[1]], env=env, capture_output=True, text=True)
    if shown.returncode != 0:
        return f"nnc knows no {words[1]}"
    unknown = [flag for flag in re.findall(r"(?<!\S)--[a-z][a-z-]*", command) if not re.search(rf"{flag}\b", shown.stdout)]
    return f"nnc {words[1]} knows no {', '.join(unknown)}" if unknown else None


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--build", type=pathlib.Path, default=os.environ.get("NNC_BUILD_DIR", ROOT / "build/dev"))
    p.add_argument("--cache", type=pathlib.Path, default=os.environ.get("NNC_MODEL_CACHE", pathlib.Path.home() / ".cache/nnc-models"))
    p.add_argument("--all", action="store_true", help="slow commands too")
    a = p.parse_args()
    build, cache = a.build.resolve(), a.cache.resolve()
    env = environment(build, cache)
    problems, ran, inline, skipped = [], 0, 0, []
    with tempfile.TemporaryDirectory(prefix="nnc-readme-") as scratch:
        folder = pathlib.Path(scratch)
        copy_of_project(folder, build, cache)
        for name in [f for f in files() if f.endswith("README.md") or f == "docs/walk.md"]:
            text = (ROOT / name).read_text()
            for mark, language, line, listed in blocks(text):
                if not language or mark not in ("", "slow", "clone"):
                    problems.append(f"{name}:{line}: a fence without a language, or a mark that is none: {mark!r} {language!r}")
                for command in listed:
                    if mark == "clone" or (mark == "slow" and not a.all):
                        skipped.append(f"{name}:{line}: {mark}: {command}")
                        continue
                    ran += 1
                    done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                                          capture_output=True, text=True, errors="replace", timeout=3000)
                    if done.returncode != 0:
                        problems.append(f"{name}:{line}: {command}\n  exit code {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}")
            for match in INLINE.finditer(FENCE.sub("", text)):
                inline += 1
                wrong = check_inline(match.group(1), build, env)
                if wrong:
                    problems.append(f"{name}: {match.group(0)}: {wrong}")
    for line in [f"skipped {s}" for s in skipped] + problems:
        print(line)
    print(f"{ran} commands ran, {len(skipped)} skipped, {inline} commands in lines read: {len(problems)} problems")
    return 1 if problems or not ran or not inline else 0


if __name__ == "__main__":
    sys.exit(main())
