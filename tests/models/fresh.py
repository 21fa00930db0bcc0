"""Fresh inputs like those of the stored cases: a pack of new cases with ONNX Runtime's answers, for eval_models and rt_models --pack.

Everything is drawn from one seed. Sound is cut anew out of the stored recordings (other offset, loudness, noise), pictures are moved,
stretched and made noisy, files are spliced, sentences are random words of the vocabulary between [CLS] and [SEP], padded; the zoo's graphs
say their inputs' distributions themselves (graphs/NAME.json).
"""
import json
import os

import numpy as np

from check import ort_runner, run_case
from fill import load_graph, values

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 12


def stored(case):
    with np.load(os.path.join(HERE, case["in"]), allow_pickle=False) as z:
        return {k: z[k] for k in z.files}


def wave_of(chunks):
    """[steps, batch, n] windows with an eighth of overlap as [batch, samples]."""
    own = chunks[:, :, chunks.shape[2] // 9:]
    return own.transpose(1, 0, 2).reshape(chunks.shape[1], -1)


def windows(wave, steps, n):
    """The inverse: [steps, batch, n] of a wave that starts with the first context."""
    hop = n - n // 9
    return np.stack([wave[:, i * hop:i * hop + n] for i in range(steps)])


def sound(rng, chunks, steps):
    steps, n = min(steps, chunks.shape[0] - 2), chunks.shape[2]
    wave = wave_of(chunks)
    hop = n - n // 9
    need = n // 9 + steps * hop
    at = int(rng.integers(0, wave.shape[1] - need + 1))
    cut = wave[:, at:at + need] * rng.uniform(0.3, 1.2, (wave.shape[0], 1)) + rng.normal(0, 0.003, (wave.shape[0], need))
    return np.ascontiguousarray(windows(cut.astype(np.float32), steps, n))


def picture(rng, image, height, width):
    """[C, H, W] moved, repeated or cut to the size, another contrast, noise."""
    c, h, w = image.shape
    tiled = np.tile(image, (1, -(-height // h) + 1, -(-width // w) + 1))
    y, x = int(rng.integers(0, h)), int(rng.integers(0, w))
    cut = tiled[:, y:y + height, x:x + width] * rng.uniform(0.6, 1.1) + rng.normal(0, 0.05, (c, height, width))
    return cut.astype(np.float32)


def pictures(rng, name, inputs, size=None):
    image = inputs["x"]
    if size is None:
        if name.endswith("_det"):
            size = (32 * int(rng.integers(2, 5)), 32 * int(rng.integers(3, 8)))
        else:
            size = (48, 192 if name.endswith("_cls") else int(rng.integers(64, 360)))
    batch = 1 if name.endswith("_det") else 16 if name.endswith("_cls") else int(rng.integers(1, 4))
    return {"x": np.stack([picture(rng, image[int(rng.integers(0, len(image)))], *size) for _ in range(batch)])}


def files(rng, inputs):
    rows = inputs["bytes"]
    out = rows[rng.integers(0, len(rows), int(rng.integers(1, 7)))].copy()
    for row in out:                                      # spans of other files at the same place, and bytes that anything may hold
        for _ in range(6):
            a, b = sorted(rng.integers(0, rows.shape[1], 2))
            row[a:b] = rows[int(rng.integers(0, len(rows))), a:b]
        row[rng.integers(0, rows.shape[1], 40)] = rng.integers(0, 256, 40)
    return {"bytes": out}


def sentences(rng):
    batch, seq = int(rng.integers(1, 5)), int(rng.integers(5, 65))
    ids, mask = rng.integers(999, 30522, (batch, seq)), np.zeros((batch, seq), np.int64)
    for row, on in zip(ids, mask):
        n = int(rng.integers(3, seq + 1))
        row[0], row[n - 1], row[n:], on[:n] = 101, 102, 0, 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


def fresh_inputs(rng, name, case, size=None):
    """(case, inputs) of the same kind as the stored case."""
    inputs, case = stored(case), {k: case[k] for k in ("kind", "steps", "per_step", "carry", "rtol", "atol") if k in case}
    if case["kind"] == "stream":
        for key in case["per_step"]:
            inputs[key] = sound(rng, inputs[key], STEPS)
            case["steps"] = len(inputs[key])
    elif name.startswith("silero"):
        inputs["input"] = sound(rng, inputs["input"][:, None], int(rng.integers(STEPS, 3 * STEPS)))[:, 0]
    elif name.startswith("ppocr"):
        inputs = pictures(rng, name, inputs, size)
    elif name.startswith("magika"):
        inputs = files(rng, inputs)
    elif name.startswith("minilm"):
        inputs = sentences(rng)
    else:
        raise KeyError(f"no generator for inputs of {name}")
    return case, inputs


def zoo_inputs(meta, dims, seed):
    out = {}
    for spec in meta["inputs"]:
        shape = [dims[d] if isinstance(d, str) else d for d in spec["shape"]]
        if spec["fill"]["dist"] == "prefix":
            keep = [max(1, shape[1] - 5 * (b % 3)) for b in range(shape[0])]
            out[spec["name"]] = (np.arange(shape[1]) < np.array(keep)[:, None]).astype(spec["dtype"])
        else:
            n = int(np.prod(shape, dtype=np.int64))
            out[spec["name"]] = values(spec["fill"], n, f"fresh/{seed}/{spec['name']}/{shape}", np.dtype(spec["dtype"])).reshape(shape)
    return out


class PackWriter:
    """Cases and ONNX Runtime's answers (unoptimised) into a folder; `path` is what --pack takes."""

    def __init__(self, folder, cache):
        self.folder, self.cache, self.models, self.sessions = folder, cache, {}, {}
        self.path = os.path.join(folder, "pack.json")

    def add(self, name, model, label, case, inputs):
        entry = self.models.setdefault(name, {"onnx": model["onnx"], "profiles": model["profiles"], "cases": {}})
        if name not in self.sessions:
            self.sessions[name] = ort_runner(os.path.join(self.cache, model["onnx"]))
        answers = run_case(case, inputs, self.sessions[name])
        files = {"in": f"{name}.{label}.in.npz", "out": f"{name}.{label}.out.npz"}
        np.savez(os.path.join(self.folder, files["in"]), **inputs)
        np.savez(os.path.join(self.folder, files["out"]), **answers)
        entry["cases"][label] = dict(case, **files)

    def write(self):
        self.sessions.clear()
        with open(self.path, "w", encoding="utf-8") as f:
            json.dump({"schema": "nnc.models/1", "models": self.models}, f)
        return self.path


def dev_models():
    with open(os.path.join(HERE, "models.json"), encoding="utf-8") as f:
        return {n: m for n, m in json.load(f)["models"].items() if m["set"] == "dev"}


def zoo_model(name):
    """A zoo graph in the form of models.json, and its description."""
    meta = load_graph(name)[0]
    dims = {k: v if isinstance(v, int) else {key: v[key] for key in ("min", "max", "typical", "multiple") if key in v}
            for k, v in meta["dims"].items()}
    return {"onnx": f"zoo/{name}.onnx", "profiles": {"": {"dims": dims, "values": {}}}}, meta


def add_dev(pack, name, model, rng, label_prefix=""):
    # A classifier of pictures gives one probability each, mostly near 0 or 1: many pictures, so that some tell how far it is off.
    for repeat in range(4 if name.endswith("_cls") else 1):
        for label, case in model["cases"].items():
            pack.add(name, model, f"{label_prefix}{label}{f'.{repeat}' if repeat else ''}", *fresh_inputs(rng, name, case))


def add_zoo(pack, name, seed, sizes=None):
    model, meta = zoo_model(name)
    for dims in sizes or meta["sizes"]:
        label = "_".join(f"{k}{v}" for k, v in dims.items()) or "static"
        pack.add(name, model, label, {"kind": "single", "rtol": 1e-3, "atol": 1e-4}, zoo_inputs(meta, dims, seed))
