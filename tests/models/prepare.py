#!/usr/bin/env python3
"""Bring everything that the tests run on into the cache: packages' models, MiniLM, zoo graphs with random weights, ONNX's node tests.

    prepare.py [--zoo tests|all|none] [--no-node-tests] [MODEL ...]      default: all models and the zoo graphs that tests use

Does only what is missing, checks every file by its sum, and may run several times at once (one waits for the other). Prints one
line for each thing that it had to bring, and a last line. Needs numpy; network only where the cache lacks a package.
Exit codes: those of fetch.py and fill.py.
"""
import argparse
import contextlib
import fcntl
import io
import os
import subprocess
import sys

import fetch
import fill

HERE = os.path.dirname(os.path.abspath(__file__))
# The zoo graphs of the tests; the others only when asked for (2.9 GiB together).
ZOO_OF_TESTS = ["resnet18", "mobilenet_v2", "vit_b_16", "vit_b_16_dynamic", "bert_base", "gpt2_decode", "llama_decode",
                "llama_decode_ts"]


def quietly(main, argv):
    """main() of another script with these arguments; lines about what was there already are dropped."""
    out, before = io.StringIO(), sys.argv
    sys.argv = argv
    try:
        with contextlib.redirect_stdout(out):
            code = main()
    finally:
        sys.argv = before
    for line in out.getvalue().splitlines():
        if not line.startswith(("cached", "present")):
            print(line, flush=True)
    return code


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("models", nargs="*", metavar="MODEL", help="models of models.json; default all")
    ap.add_argument("--dir", default=fetch.cache_folder(), help="cache folder (default: %(default)s)")
    ap.add_argument("--zoo", choices=("tests", "all", "none"), help="zoo graphs; default: tests, or none when models are named")
    ap.add_argument("--no-node-tests", action="store_true", help="leave ONNX's node tests out")
    args = ap.parse_args()
    zoo, minilm = fill.names()
    wanted = [m for m in args.models if m not in minilm]
    filled = [m for m in minilm if not args.models or m in args.models]
    which = args.zoo or ("none" if args.models else "tests")
    filled += {"tests": ZOO_OF_TESTS, "all": zoo, "none": []}[which]
    if args.models and any(m in minilm for m in args.models):
        wanted.append("minilm_l6")

    os.makedirs(args.dir, exist_ok=True)
    with open(os.path.join(args.dir, ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        code = quietly(fetch.main, ["fetch.py", "--dir", args.dir] + wanted)
        if code == 0 and filled:
            code = quietly(fill.main, ["fill.py", "--cache", args.dir] + filled)
        if code == 0 and not args.no_node_tests and not args.models:
            script = os.path.join(HERE, "..", "conformance", "fetch_onnx_tests.py")
            code = subprocess.run([sys.executable, script, "--dir", args.dir]).returncode
    print(f"models in {args.dir}: {'ready' if code == 0 else 'not complete'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
