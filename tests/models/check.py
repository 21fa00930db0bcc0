#!/usr/bin/env python3
"""Run every case of this pack through a program and compare: the numbers, and what they mean.

    python3 check.py [--cache CACHE] --ort [NAME[/CASE] ...]
    python3 check.py [--cache CACHE] --run 'nnc run {model} {inputs} -o @{out}' [NAME[/CASE] ...]

`--run` is a command template, split like a shell would and run without one:
    {model}       path of the ONNX file
    {inputs}      becomes several arguments: -i NAME=@FILE.npy, one pair per input
    {inputs_npz}  path of one .npz with all inputs (for: -i @{inputs_npz})
    {out}         path of the .npz the program must write, keys = output names
    {outdir}      an empty folder; NAME.npy files found there are taken as outputs when {out} was not written
    {dir}         the folder of this script
`--ort` runs ONNX Runtime in this process (graph optimisation off unless --ort-optimise).
`--zoo DIR` checks the models of fill.py in DIR as well: at each of the graph's `sizes`, on seeded inputs, against ONNX Runtime with
graph optimisation off (must be installed); with --ort, ONNX Runtime with optimisation on is what is compared. Files of export_zoo.py
in DIR have stored answers. Only numbers are compared; outputs must also be finite, not constant, and below 1e4.

A stream case (kind "stream") is run one step at a time; the program's own outputs are carried into the next step.
Per output the test is numpy's: |got - want| <= atol + rtol * |want|, shapes and dtypes equal, NaN equal to NaN.
--rtol/--atol override the case's. Then each entry of the case's "checks" must hold on the program's outputs.

Exit codes: 0 all passed; 1 some case failed; 2 usage; 8 a model file (see fetch.py) or the program is missing. Needs numpy.
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time

import numpy as np

from fetch import cache_folder

HERE = os.path.dirname(os.path.abspath(__file__))


# ---- what the outputs mean -----------------------------------------------------------------------------------------
# Each check takes (outputs: name -> array, spec) and returns an error text or None.

def pick(array, at):
    """at: one entry per leading axis, an integer or a "start:stop" string."""
    def one(a):
        return slice(*[int(p) if p else None for p in a.split(":")]) if isinstance(a, str) else a
    return array[tuple(one(a) for a in at or [])]


def check_range(outputs, spec):
    """All values (or their max/min/mean by "reduce") lie in [min, max]."""
    v = pick(outputs[spec["output"]], spec.get("at")).astype(np.float64)
    v = {"max": np.max, "min": np.min, "mean": np.mean, "none": np.ravel}[spec.get("reduce", "none")](v)
    low, high = np.min(v), np.max(v)
    if "min" in spec and not low >= spec["min"]:
        return f"{spec['output']}{spec.get('at', '')}: {low:.4g} is below {spec['min']}"
    if "max" in spec and not high <= spec["max"]:
        return f"{spec['output']}{spec.get('at', '')}: {high:.4g} is above {spec['max']}"


def check_argmax(outputs, spec):
    """The largest entry of a vector is `index` and is at least `min`."""
    v = pick(outputs[spec["output"]], spec.get("at")).ravel()
    k = int(np.argmax(v))
    if k != spec["index"]:
        return f"{spec['output']}{spec.get('at', '')}: argmax {k}, expected {spec['index']} ({spec.get('label')})"
    if v[k] < spec.get("min", -np.inf):
        return f"{spec['output']}{spec.get('at', '')}: {spec.get('label')} only {v[k]:.3f}, expected >= {spec['min']}"


def check_ctc(outputs, spec):
    """Greedy CTC decoding of [rows, steps, classes] gives `indices`, i.e. `text`; `row_axis` 1 if steps come first."""
    v = np.take(outputs[spec["output"]], spec.get("row", 0), axis=spec.get("row_axis", 0))
    got, last = [], -1
    for k in v.argmax(-1).tolist():
        if k != last and k != spec.get("blank", 0):
            got.append(k)
        last = k
    if got != spec["indices"]:
        return f"{spec['output']}: decoded {got}, expected {spec['indices']} ({spec['text']!r})"


def regions(mask):
    """Bounding boxes [x0, y0, x1, y1] (inclusive) and sizes of 4-connected regions of a 2-D boolean array."""
    todo = set(zip(*(a.tolist() for a in np.nonzero(mask))))
    found = []
    while todo:
        stack, ys, xs = [todo.pop()], [], []
        while stack:
            y, x = stack.pop()
            ys.append(y)
            xs.append(x)
            for n in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):
                if n in todo:
                    todo.remove(n)
                    stack.append(n)
        found.append(([min(xs), min(ys), max(xs), max(ys)], len(xs)))
    return found


def check_regions(outputs, spec):
    """Regions above `threshold` in a map [1, 1, H, W]: each box holds exactly one centre and covers most of its width."""
    found = [b for b, size in regions(outputs[spec["output"]][0, 0] > spec["threshold"]) if size >= spec.get("min_size", 10)]
    if len(found) != len(spec["boxes"]):
        return f"{spec['output']}: {len(found)} regions, expected {len(spec['boxes'])}: {found}"
    for box in spec["boxes"]:
        inside = [b for b in found if box[0] <= (b[0] + b[2]) / 2 <= box[2] and box[1] <= (b[1] + b[3]) / 2 <= box[3]]
        if len(inside) != 1 or (inside[0][2] - inside[0][0]) < 0.7 * (box[2] - box[0]):
            return f"{spec['output']}: no single region fills box {box}: {inside}"


def check_norm(outputs, spec):
    """Every row of [rows, n] has a Euclidean length in [min, max]."""
    n = np.linalg.norm(outputs[spec["output"]].astype(np.float64), axis=-1)
    if not (n.min() >= spec["min"] and n.max() <= spec["max"]):
        return f"{spec['output']}: row lengths {n.min():.4g} to {n.max():.4g}, expected {spec['min']} to {spec['max']}"


def check_cosine_order(outputs, spec):
    """Cosine similarities of the row pairs fall strictly, each by at least `gap`."""
    v = outputs[spec["output"]].astype(np.float64)
    v = v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-30)
    sims = [float(v[a] @ v[b]) for a, b in spec["pairs"]]
    if not all(x - y >= spec.get("gap", 1e-6) for x, y in zip(sims, sims[1:])):
        return f"{spec['output']}: similarities of {spec['pairs']} are {[round(s, 3) for s in sims]}, expected falling"


CHECKS = {n[len("check_"):]: f for n, f in list(globals().items()) if n.startswith("check_")}


def run_checks(case, outputs):
    """All error texts of a case's checks."""
    errors = []
    for spec in case.get("checks", []):
        try:
            e = CHECKS[spec["check"]](outputs, spec)
        except (KeyError, IndexError, ValueError) as problem:
            e = f"{spec['check']}: {type(problem).__name__}: {problem}"
        if e:
            errors.append(e)
    return errors


# ---- cases ---------------------------------------------------------------------------------------------------------

def load_npz(path):
    with np.load(path, allow_pickle=False) as z:
        return {k: z[k] for k in z.files}


def run_case(case, inputs, run, steps=None):
    """run(inputs) -> outputs. A stream is run step by step; outputs are stacked over the steps."""
    if case["kind"] != "stream":
        return run(inputs)
    n = min(case["steps"], steps or case["steps"])
    now = dict(inputs)
    rows = []
    for i in range(n):
        for name in case["per_step"]:
            now[name] = inputs[name][i]
        out = run(now)
        rows.append(out)
        for source, target in case["carry"].items():
            now[target] = out[source]
    return {k: np.stack([r[k] for r in rows]) for k in rows[0]}


def compare(got, want, rtol, atol):
    """(errors, worst) with worst = the largest |got-want| / (atol + rtol |want|)."""
    errors, worst = [], 0.0
    for name, w in want.items():
        if name not in got:
            errors.append(f"output {name} is missing; got {sorted(got)}")
            continue
        g = got[name]
        if g.shape != w.shape or g.dtype != w.dtype:
            errors.append(f"{name}: {g.dtype}{list(g.shape)}, expected {w.dtype}{list(w.shape)}")
            continue
        if w.dtype.kind not in "fc":
            bad = int((g != w).sum())
            if bad:
                errors.append(f"{name}: {bad} of {w.size} values differ")
            continue
        gd, wd = g.astype(np.float64), w.astype(np.float64)
        same = (gd == wd) | (np.isnan(gd) & np.isnan(wd))
        with np.errstate(invalid="ignore"):
            excess = np.where(same, 0.0, np.abs(gd - wd) / (atol + rtol * np.abs(wd)))
        excess = np.where(np.isnan(excess), np.inf, excess)
        if excess.size:
            k = np.unravel_index(int(np.argmax(excess)), excess.shape)
            worst = max(worst, float(excess[k]))
            if excess[k] > 1:
                errors.append(f"{name}: {int((excess > 1).sum())} of {w.size} values off; worst at {[int(i) for i in k]}: "
                              f"got {gd[k]:.7g}, expected {wd[k]:.7g}")
    return errors, worst


def ort_runner(path, optimise=False):
    import onnxruntime as ort
    opts = ort.SessionOptions()
    if not optimise:
        opts.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    opts.log_severity_level = 3
    sess = ort.InferenceSession(path, opts, providers=["CPUExecutionProvider"])
    names = [o.name for o in sess.get_outputs() if o.type.startswith("tensor")]
    wanted = [i.name for i in sess.get_inputs()]
    return lambda inputs: dict(zip(names, sess.run(names, {n: inputs[n] for n in wanted})))


def command_runner(template, model, timeout):
    words = shlex.split(template)

    def run(inputs):
        with tempfile.TemporaryDirectory(prefix="nnc-check-") as tmp:
            out, outdir, packed = (os.path.join(tmp, n) for n in ("out.npz", "outdir", "in.npz"))
            os.mkdir(outdir)
            each = []
            for i, (name, value) in enumerate(inputs.items()):
                path = os.path.join(tmp, f"in{i}.npy")
                np.save(path, value)
                each += ["-i", f"{name}=@{path}"]
            if "{inputs_npz}" in template:
                np.savez(packed, **inputs)
            argv = []
            for w in words:
                if w == "{inputs}":
                    argv += each
                else:
                    for key, value in (("model", model), ("inputs_npz", packed), ("out", out), ("outdir", outdir), ("dir", HERE)):
                        w = w.replace("{" + key + "}", value)
                    argv.append(w)
            try:
                done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout)
            except FileNotFoundError:
                print(f"error: no program {argv[0]!r}", file=sys.stderr)
                sys.exit(8)
            if done.returncode:
                tail = "\n        ".join((done.stderr or done.stdout).strip().splitlines()[-6:])
                raise RuntimeError(f"exit status {done.returncode}\n        {tail}")
            if os.path.exists(out):
                return load_npz(out)
            return {f[:-4]: np.load(os.path.join(outdir, f), allow_pickle=False) for f in os.listdir(outdir)}
    return run


# ---- several models in a row ---------------------------------------------------------------------------------------

def bilinear(image, height, width):
    """Resize [H, W, C] by bilinear sampling at pixel centres, edges repeated."""
    def axis(n, m):
        at = np.clip((np.arange(n) + 0.5) * m / n - 0.5, 0, m - 1)
        low = np.minimum(at.astype(int), max(m - 2, 0))
        return low, np.minimum(low + 1, m - 1), at - low
    y0, y1, fy = axis(height, image.shape[0])
    x0, x1, fx = axis(width, image.shape[1])
    v = image.astype(np.float64)
    rows = v[y0] * (1 - fy)[:, None, None] + v[y1] * fy[:, None, None]
    return rows[:, x0] * (1 - fx)[None, :, None] + rows[:, x1] * fx[None, :, None]


def read_page(pipeline, page, runners, characters):
    """Detect, cut, turn, read: the lines of a page [H, W, 3], top to bottom. runners: det, cls, rec."""
    det, cls, rec = runners
    def net_input(a):
        return np.ascontiguousarray(((a / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None].astype(np.float32))
    first = lambda out: next(iter(out.values()))
    lines = []
    for box, size in regions(first(det({"x": net_input(page)}))[0, 0] > 0.3):
        if size < 10:
            continue
        grow = int(round(0.4 * (box[3] - box[1])))
        y0, y1 = max(box[1] - grow, 0), min(box[3] + grow, page.shape[0] - 1)
        x0, x1 = max(box[0] - grow, 0), min(box[2] + grow, page.shape[1] - 1)
        cut = page[y0:y1 + 1, x0:x1 + 1]
        width = int(np.ceil(48 * cut.shape[1] / cut.shape[0]))
        line = bilinear(cut, 48, width)
        face = np.zeros((1, 3, 48, 192), np.float32)
        face[..., :min(width, 192)] = net_input(bilinear(cut, 48, min(width, 192)))
        if first(cls({"x": face}))[0].argmax() == 1:
            line = line[::-1, ::-1]
        best = first(rec({"x": net_input(line)}))[0].argmax(-1).tolist()
        text = "".join(characters[k] for i, k in enumerate(best) if k and (i == 0 or best[i - 1] != k))
        lines.append((y0, text))
    return [t for _, t in sorted(lines)]


def zoo_cases(folder):
    """The files of export_zoo.py as (label, model path, case, inputs, outputs): paths of .npz files."""
    index = os.path.join(folder, "zoo.json")
    if not os.path.exists(index):
        return
    with open(index, encoding="utf-8") as f:
        entries = json.load(f)
    for file in entries:
        stem = os.path.join(folder, file[:-len(".onnx")])
        case = {"kind": "single", "rtol": 1e-3, "atol": 1e-4}
        yield file[:-len(".onnx")], stem + ".onnx", case, stem + ".in.npz", stem + ".out.npz"


def filled_cases(folder):
    """The models of fill.py as (label, model path, case, meta, sizes); the answers come from ONNX Runtime."""
    from fill import load_graph, names
    for name in names()[0]:
        path = os.path.join(folder, name + ".onnx")
        if os.path.exists(path):
            meta = load_graph(name)[0]
            for dims in meta["sizes"]:
                label = "_".join(f"{k}{v}" for k, v in dims.items()) or "static"
                yield f"{name}/{label}", path, {"kind": "single", "seeded": True, "rtol": 1e-3, "atol": 1e-4}, meta, dims


def check_sane(outputs):
    """Random weights give no meaning, but finite outputs that vary and don't explode."""
    errors = []
    for name, v in outputs.items():
        if v.dtype.kind == "f":
            top = float(np.abs(v).max()) if v.size else 0.0
            if not np.isfinite(top) or top > 1e4 or (v.size > 1 and float(v.std(dtype=np.float64)) < 1e-3):
                errors.append(f"{name}: largest magnitude {top:.3g}, deviation {v.std(dtype=np.float64):.3g}")
    return errors


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("names", nargs="*", metavar="NAME[/CASE]")
    ap.add_argument("--cache", help=f"folder filled by fetch.py (default without --zoo: {cache_folder()})")
    ap.add_argument("--zoo", metavar="DIR", help="folder filled by fill.py (or export_zoo.py)")
    how = ap.add_mutually_exclusive_group(required=True)
    how.add_argument("--run", metavar="TEMPLATE", help="command template, see above")
    how.add_argument("--ort", action="store_true", help="ONNX Runtime in this process")
    ap.add_argument("--ort-optimise", action="store_true", help="with --ort: keep its graph optimisation on")
    ap.add_argument("--rtol", type=float)
    ap.add_argument("--atol", type=float)
    ap.add_argument("--steps", type=int, help="run at most N steps of a stream (checks on later steps are left out)")
    ap.add_argument("--timeout", type=float, default=600, help="seconds for one run of the command")
    ap.add_argument("--json", metavar="FILE", help="write the results as JSON, - for stdout")
    args = ap.parse_args()
    if not args.cache and not args.zoo:
        args.cache = cache_folder()

    jobs = []
    if args.cache:
        with open(os.path.join(HERE, "models.json"), encoding="utf-8") as f:
            models = json.load(f)["models"]
        for name, model in models.items():
            for label, case in model["cases"].items():
                jobs.append((f"{name}/{label}", os.path.join(args.cache, model["onnx"]), case,
                             os.path.join(HERE, case["in"]), os.path.join(HERE, case["out"])))
    if args.zoo:
        zoo = list(zoo_cases(args.zoo)) + list(filled_cases(args.zoo))
        if not zoo:
            print(f"error: no models in {args.zoo}; run: fill.py --dir {args.zoo}", file=sys.stderr)
            return 8
        if not args.ort and any(j[2].get("seeded") for j in zoo):
            try:
                import onnxruntime
            except ImportError:
                print("error: --zoo compares the models of fill.py with ONNX Runtime: pip install onnxruntime", file=sys.stderr)
                return 8
        jobs += zoo
    if args.names:
        for n in args.names:
            if not any(j[0] == n or j[0].startswith(n + "/") for j in jobs) and n != "read_page":
                print(f"error: no case {n!r}", file=sys.stderr)
                return 2
        jobs = [j for j in jobs if any(j[0] == n or j[0].startswith(n + "/") for n in args.names)]

    pipelines = []
    if args.cache:
        with open(os.path.join(HERE, "models.json"), encoding="utf-8") as f:
            pack = json.load(f)
        pipelines = [(n, p) for n, p in pack.get("pipelines", {}).items() if not args.names or n in args.names]

    results, lines = [], sys.stderr if args.json == "-" else sys.stdout
    missing = False
    for label, path, case, in_path, out_path in jobs:
        start = time.time()
        errors, worst = [], float("nan")
        if not os.path.exists(path):
            missing = True
            errors = [f"{path} is missing: run fetch.py and fill.py"]
        else:
            try:
                seeded = case.get("seeded")
                if args.ort:
                    run = ort_runner(path, args.ort_optimise or seeded)
                else:
                    run = command_runner(args.run, path, args.timeout)
                if seeded:
                    from fill import seeded_inputs
                    inputs = seeded_inputs(in_path, out_path)
                    want = ort_runner(path)(inputs)
                else:
                    inputs, want = load_npz(in_path), load_npz(out_path)
                got = run_case(case, inputs, run, args.steps)
                cut = case["kind"] == "stream" and args.steps and args.steps < case["steps"]
                if cut:
                    want = {k: v[:args.steps] for k, v in want.items()}
                rtol = case["rtol"] if args.rtol is None else args.rtol
                atol = case["atol"] if args.atol is None else args.atol
                errors, worst = compare(got, want, rtol, atol)
                if not cut:
                    errors += run_checks(case, got) + (check_sane(got) if seeded else [])
            except Exception as e:
                errors = [f"{type(e).__name__}: {e}"]
        seconds = time.time() - start
        print(f"{'FAIL' if errors else 'ok  '}  {label:46} {worst:8.3f} of tolerance  {seconds:6.2f} s", file=lines, flush=True)
        for e in errors[:6]:
            print(f"      {e}", file=lines)
        results.append({"case": label, "ok": not errors, "of_tolerance": None if worst != worst else worst,
                        "seconds": round(seconds, 3), "errors": errors})
    for name, p in pipelines:
        start, errors = time.time(), []
        paths = [os.path.join(args.cache, pack["models"][m]["onnx"]) for m in p["models"]]
        if not all(map(os.path.exists, paths)):
            missing, errors = True, ["a model file is missing: run fetch.py"]
        else:
            try:
                make = (lambda path: ort_runner(path, args.ort_optimise)) if args.ort else (
                    lambda path: command_runner(args.run, path, args.timeout))
                page = np.load(os.path.join(HERE, p["image"]), allow_pickle=False)
                with open(os.path.join(HERE, p["characters"]), encoding="utf-8") as f:
                    characters = json.load(f)
                got = read_page(p, page, [make(path) for path in paths], characters)
                if got != p["lines"]:
                    errors = [f"read {got}, expected {p['lines']}"]
            except Exception as e:
                errors = [f"{type(e).__name__}: {e}"]
        print(f"{'FAIL' if errors else 'ok  '}  {name:46} {'pipeline':>21}  {time.time() - start:6.2f} s", file=lines, flush=True)
        for e in errors:
            print(f"      {e}", file=lines)
        results.append({"case": name, "ok": not errors, "of_tolerance": None, "seconds": round(time.time() - start, 3), "errors": errors})
    bad = sum(not r["ok"] for r in results)
    print(f"{len(results) - bad} of {len(results)} cases passed", file=lines)
    if args.json:
        text = json.dumps({"schema": "nnc.modelcheck/1", "results": results}, indent=1)
        if args.json == "-":
            print(text)
        else:
            with open(args.json, "w") as f:
                f.write(text + "\n")
    return 8 if missing else 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
