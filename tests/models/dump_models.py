#!/usr/bin/env python3
"""dump_models.py --build DIR [--cache DIR] [--target T] [MODEL ...]: `nnc dump --after-each` and `--plan` of the dev set's models, each
folder held against its promises by dump_check. Without MODEL: all. The last line is the sum; exit code 1 if one does not hold."""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def size(spec):
    if isinstance(spec, int):
        return str(spec)
    text = f"{spec['min']}..{spec['max']}"
    if "typical" in spec:
        text += f"@{spec['typical']}"
    return text + (f"%{spec['multiple']}" if "multiple" in spec else "")


def profile(name, row):
    parts = [name] + [f"{dim}={size(spec)}" for dim, spec in row["dims"].items()]
    return ";".join(parts + [f"value:{name}={value}" for name, value in (row.get("values") or {}).items()])


def check(name, row, args, folder):
    nnc, model = args.build / "bin" / "nnc", args.cache / row["onnx"]
    common = [nnc, "dump", model, "--target", args.target, "-q"]
    for profile_name, spec in row["profiles"].items():
        common += ["--profile", profile(profile_name, spec)]
    for extra in (["--after-each", folder], ["--plan", "-o", folder / "plan.txt"]):
        done = subprocess.run([str(c) for c in common + extra], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            return False, f"nnc dump {extra[0]} failed: {done.stderr.strip()[:2000]}"
    done = subprocess.run([str(args.build / "bin" / "dump_check"), str(folder)], capture_output=True, text=True)
    return done.returncode == 0, done.stdout.strip() + done.stderr.strip()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", type=pathlib.Path, required=True)
    p.add_argument("--cache", type=pathlib.Path, default=pathlib.Path("~/.cache/nnc-models").expanduser())
    p.add_argument("--target", default="cpu:x86-64-v3")
    p.add_argument("models", nargs="*")
    args = p.parse_args()
    rows = json.loads((HERE / "models.json").read_text())["models"]
    unknown = [m for m in args.models if m not in rows]
    if unknown:
        print(f"no such model: {', '.join(unknown)}; models: {', '.join(rows)}")
        return 2
    failed, sums = 0, {}
    for name in args.models or rows:
        with tempfile.TemporaryDirectory() as folder:
            ok, text = check(name, rows[name], args, pathlib.Path(folder))
        failed += not ok
        print(f"{'pass' if ok else 'FAIL'} {name}: {text}", flush=True)
        for key, pattern in (("files", r"(\d+) files()"), ("kernels", r"kernels (\d+) of (\d+)"), ("buffers", r"buffers (\d+) of (\d+)")):
            found = re.search(pattern, text)
            for k in (1, 2):
                sums[key, k] = sums.get((key, k), 0) + (int(found.group(k) or 0) if found else 0)
    print(f"{len(args.models or rows)} models, {failed} failed; {sums['files', 1]} files, kernels {sums['kernels', 1]} of {sums['kernels', 2]}, "
          f"buffers {sums['buffers', 1]} of {sums['buffers', 2]} lead to nodes")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
