#!/usr/bin/env python3
"""Bring the public test data of onnx 1.22.0 (backend/test/data) into the cache: CACHE/onnx-1.22.0/{node,simple,...}/TEST.

    fetch_onnx_tests.py [--dir CACHE] [--list]

The data lie in the onnx package: they are copied from it where this Python has that version, else from its wheel. Nothing is done
when the folder is complete. --list prints the node tests with their operators: TEST, OPSET, OP[,OP...] (needs onnx).
Exit codes: 0 done; 8 the package can't be had or the folder can't be written.
"""
import argparse
import glob
import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models"))
from fetch import cache_folder  # noqa: E402

VERSION = "1.22.0"
DATA = "onnx/backend/test/data/"
TESTS = 1905   # folders with a model.onnx; the nine of light/ are single files


def copy_installed(target):
    """From the installed package; False if this Python has none of that version."""
    try:
        package = importlib.metadata.distribution("onnx")
    except importlib.metadata.PackageNotFoundError:
        return False
    source = pathlib.Path(str(package.locate_file(DATA)))
    if package.version != VERSION or not source.is_dir():
        return False
    shutil.copytree(source, target, dirs_exist_ok=True)
    return True


def unpack_wheel(target):
    with tempfile.TemporaryDirectory() as tmp:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--dest", tmp, f"onnx=={VERSION}"],
                       check=True)
        with zipfile.ZipFile(glob.glob(os.path.join(tmp, "onnx-*.whl"))[0]) as wheel:
            for item in wheel.infolist():
                if item.filename.startswith(DATA) and not item.is_dir():
                    path = os.path.join(target, item.filename[len(DATA):])
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with wheel.open(item) as source, open(path, "wb") as out:
                        shutil.copyfileobj(source, out)


def complete(folder):
    return len(glob.glob(os.path.join(folder, "*", "*", "model.onnx"))) == TESTS


def list_nodes(folder):
    import onnx
    for test in sorted(os.listdir(os.path.join(folder, "node"))):
        model = onnx.load(os.path.join(folder, "node", test, "model.onnx"))
        opset = {o.domain: o.version for o in model.opset_import}
        ops = sorted({n.op_type if n.domain in ("", "ai.onnx") else f"{n.domain}::{n.op_type}" for n in model.graph.node})
        print(test, opset.get("", 0), ",".join(ops), sep="\t")


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--dir", default=cache_folder(), help="cache folder (default: %(default)s)")
    ap.add_argument("--list", action="store_true")
    args = ap.parse_args()
    folder = os.path.join(args.dir, f"onnx-{VERSION}")
    try:
        if not complete(folder):
            os.makedirs(args.dir, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=args.dir, prefix=".onnx-") as tmp:
                fresh = os.path.join(tmp, "data")
                copy_installed(fresh) or unpack_wheel(fresh)
                if not complete(fresh):
                    print(f"error: onnx {VERSION} holds other tests than expected ({TESTS})", file=sys.stderr)
                    return 8
                shutil.rmtree(folder, ignore_errors=True)
                os.rename(fresh, folder)
            print(f"fetched  onnx-{VERSION:24} {folder}")
    except (OSError, subprocess.CalledProcessError, zipfile.BadZipFile, IndexError) as e:
        print(f"error: onnx {VERSION}: {e}", file=sys.stderr)
        return 8
    if args.list:
        list_nodes(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
