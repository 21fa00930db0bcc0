#!/usr/bin/env python3
"""Write complete ONNX models from the graphs without weights in graphs/.

    python3 fill.py [NAME ...] [--external-data]     zoo graphs with seeded random weights into CACHE/zoo (or --dir DIR), MiniLM
                                                     with the weights that fetch.py brought into CACHE; no NAME: all
    python3 fill.py --list

Needs numpy only. A graph's stripped tensors are marked as ONNX external data; graphs/NAME.json says what each one is: a seeded
distribution, or a tensor of a safetensors file. The result is NAME.onnx with all weights inside, or, with --external-data,
NAME.onnx and NAME.data. The bytes are the same on every machine and checked by sha256; a right file is left alone.

Exit codes: 0 all written or present; 2 usage; 3 wrong content; 8 a file is missing or can't be written.
"""
import argparse
import difflib
import hashlib
import json
import mmap
import os
import struct
import sys
import tempfile
import time

import numpy as np

from fetch import cache_folder

HERE = os.path.dirname(os.path.abspath(__file__))
GRAPHS = os.path.join(HERE, "graphs")
CHUNK = 1 << 17


class Failure(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


# ---- numbers -------------------------------------------------------------------------------------------------------
# Only PCG64's raw 64-bit stream (which numpy keeps stable) and single IEEE operations, so equal bytes everywhere.

def stream(seed):
    return np.random.PCG64(int.from_bytes(hashlib.sha256(seed.encode()).digest()[:16], "little"))


NORMAL_STD = (4 * (65536 ** 2 - 1) / 12) ** 0.5          # of the sum of four uniform 16-bit numbers
LOW = np.uint64(0x0000FFFF0000FFFF)


def sums(bits, n):
    """n int64, each the sum of four uniform 16-bit numbers."""
    raw = bits.random_raw(n)
    pairs = (raw & LOW) + ((raw >> np.uint64(16)) & LOW)
    return ((pairs & np.uint64(0xFFFFFFFF)) + (pairs >> np.uint64(32))).astype(np.int64)


def normal(bits, n):
    """n float64 of mean 0 and variance 1, bell-shaped within +-3.46."""
    return (sums(bits, n).astype(np.float64) - 131070.0) * (1 / NORMAL_STD)


def centred(bits, rows, n):
    """[rows, n] like normal, each row with sum 0: a filter that ignores a mean common to all its inputs."""
    s = sums(bits, rows * n).reshape(rows, n)            # whole numbers, so that the order of summing doesn't matter
    return (s.astype(np.float64) - (s.sum(axis=1) / float(n))[:, None]) * (1 / NORMAL_STD)


def uniform(bits, n):
    """n float64 in [0, 1)."""
    return (bits.random_raw(n) >> np.uint64(40)).astype(np.float64) * 2.0 ** -24


def values(fill, n, seed, dtype=np.float32):
    """n values of a distribution: normal (mean, std), centred (rows, std), uniform (min, max), constant (value), integers
    (min, max; max excluded)."""
    kind = fill["dist"]
    if kind == "constant":
        return np.full(n, fill["value"], dtype)
    bits, out = stream(seed), np.empty(n, dtype)
    if kind == "centred":
        return (centred(bits, fill["rows"], n // fill["rows"]) * fill["std"]).astype(dtype).ravel()
    for at in range(0, n, CHUNK):
        m = min(CHUNK, n - at)
        if kind == "normal":
            out[at:at + m] = normal(bits, m) * fill["std"] + fill["mean"]
        elif kind == "uniform":
            out[at:at + m] = uniform(bits, m) * (fill["max"] - fill["min"]) + fill["min"]
        elif kind == "integers":
            span = np.uint64(fill["max"] - fill["min"])
            out[at:at + m] = ((bits.random_raw(m) >> np.uint64(32)) * span >> np.uint64(32)).astype(np.int64) + fill["min"]
        else:
            raise Failure(3, f"unknown distribution {kind!r}")
    return out


def seeded_inputs(meta, dims):
    """Inputs of a graph at the given sizes of its symbols: name -> array."""
    out = {}
    for spec in meta["inputs"]:
        shape = [dims[d] if isinstance(d, str) else d for d in spec["shape"]]
        fill = spec["fill"]
        if fill["dist"] == "prefix":                     # a mask: row b has its last 5 * (b % 3) places empty
            keep = [max(1, shape[1] - 5 * (b % 3)) for b in range(shape[0])]
            a = (np.arange(shape[1]) < np.array(keep)[:, None]).astype(spec["dtype"])
        else:
            seed = f"input/{spec['name']}/{shape}"
            a = values(fill, int(np.prod(shape, dtype=np.int64)), seed, np.dtype(spec["dtype"])).reshape(shape)
        out[spec["name"]] = a
    return out


# ---- safetensors ---------------------------------------------------------------------------------------------------

class Safetensors:
    """Float32 tensors of a .safetensors file: 8 bytes header length, JSON header, raw little-endian data."""

    def __init__(self, path):
        self.path = path
        try:
            with open(path, "rb") as f:
                self.data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as e:
            raise Failure(8, f"{path}: {getattr(e, 'strerror', None) or e}; run: fetch.py minilm_l6") from None
        try:
            size = struct.unpack_from("<Q", self.data)[0]
            self.table = json.loads(self.data[8:8 + size])
            self.start = 8 + size
        except (struct.error, ValueError):
            raise Failure(3, f"{path}: no safetensors file") from None

    def get(self, name):
        item = self.table.get(name)
        if item is None or item["dtype"] != "F32":
            raise Failure(3, f"{self.path}: no float32 tensor {name!r}")
        a, b = item["data_offsets"]
        if self.start + b > len(self.data) or b - a != 4 * int(np.prod(item["shape"], dtype=np.int64)):
            raise Failure(3, f"{self.path}: tensor {name!r} lies outside the file")
        return np.frombuffer(self.data, "<f4", (b - a) // 4, self.start + a).reshape(item["shape"])


# ---- ONNX files, on the level of protobuf fields --------------------------------------------------------------------

def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def read_varint(b, i):
    n = shift = 0
    while True:
        n |= (b[i] & 127) << shift
        shift += 7
        i += 1
        if b[i - 1] < 128:
            return n, i


def fields(b):
    """(field number, start of the field, start of its content, end) of each field of a message."""
    i = 0
    while i < len(b):
        start = i
        key, i = read_varint(b, i)
        if key & 7 == 0:
            end = read_varint(b, i)[1]
        elif key & 7 == 2:
            n, i = read_varint(b, i)
            end = i + n
        elif key & 7 in (1, 5):
            end = i + (8 if key & 7 == 1 else 4)
        else:
            raise ValueError("bad wire type")
        if end > len(b):
            raise ValueError("cut off")
        yield key >> 3, start, i, end
        i = end


MODEL_GRAPH, GRAPH_INITIALIZER, TENSOR_NAME, TENSOR_RAW, TENSOR_EXTERNAL, TENSOR_LOCATION = 7, 5, 8, 9, 13, 14


def split(model):
    """The file as a list of parts: bytes, or (name of a stripped tensor, bytes of the fields that stay)."""
    parts, before, after, graph = [], b"", b"", None
    for number, start, content, end in fields(model):
        if number == MODEL_GRAPH:
            graph = model[content:end]
        elif graph is None:
            before += model[start:end]
        else:
            after += model[start:end]
    if graph is None:
        raise ValueError("no graph")
    for number, start, content, end in fields(graph):
        if number == GRAPH_INITIALIZER:
            tensor, name, keep = graph[content:end], "", b""
            external = False
            for n, s, c, e in fields(tensor):
                if n in (TENSOR_EXTERNAL, TENSOR_LOCATION):
                    external = True
                else:
                    keep += tensor[s:e]
                    name = tensor[c:e].decode() if n == TENSOR_NAME else name
            if external:
                parts.append((name, keep))
                continue
        parts.append(graph[start:end])
    return before, parts, after


def assemble(model, sizes):
    """The pieces of the complete file: bytes, or the name of a tensor whose raw data goes there."""
    before, parts, after = split(model)
    pieces, total = [], 0
    for p in parts:
        if isinstance(p, bytes):
            pieces.append(p)
            total += len(p)
            continue
        name, keep = p
        inner = keep + varint(TENSOR_RAW << 3 | 2) + varint(sizes[name])
        head = varint(GRAPH_INITIALIZER << 3 | 2) + varint(len(inner) + sizes[name]) + inner
        pieces += [head, name]
        total += len(head) + sizes[name]
    return [before, varint(MODEL_GRAPH << 3 | 2) + varint(total)] + pieces + [after]


# ---- filling -------------------------------------------------------------------------------------------------------

def load_graph(name):
    """(meta, bytes of the graph without weights)"""
    path = os.path.join(GRAPHS, name)
    try:
        with open(path + ".json", encoding="utf-8") as f:
            meta = json.load(f)
        with open(path + ".onnx", "rb") as f:
            return meta, f.read()
    except (OSError, ValueError) as e:
        raise Failure(8 if isinstance(e, OSError) else 3, f"{path}: {getattr(e, 'strerror', None) or e}") from None


def tensor(meta, spec, weights=None):
    """The values of one stripped tensor as a contiguous little-endian array."""
    n = int(np.prod(spec["shape"], dtype=np.int64))
    if weights is not None:
        a = weights.get(spec["from"])
    else:
        shape = spec["shape"][::-1] if spec.get("transposed") else spec["shape"]
        a = values(spec["fill"], n, meta["family"] + "/" + spec.get("seed", spec["name"])).reshape(shape)
    if spec.get("transposed"):
        a = a.T
    if a.size != n:
        raise Failure(3, f"{spec['name']}: {a.size} values, {n} expected")
    return np.ascontiguousarray(a, "<f4")


def digest(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            h.update(block)
    return h.hexdigest()


class Writer:
    """A file under a temporary name with its sha256; renamed by done()."""

    def __init__(self, path):
        self.path, self.hash = path, hashlib.sha256()
        fd, self.tmp = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".fill-")
        self.file = os.fdopen(fd, "wb")

    def write(self, data):
        self.file.write(data)
        self.hash.update(data)

    def done(self, want):
        self.file.close()
        if want and self.hash.hexdigest() != want:
            raise Failure(3, f"{os.path.basename(self.path)}: sha256 {self.hash.hexdigest()}, expected {want}")
        os.chmod(self.tmp, 0o644)
        os.replace(self.tmp, self.path)

    def drop(self):
        self.file.close()
        if os.path.exists(self.tmp):
            os.unlink(self.tmp)


def layout(meta):
    """[(spec, offset)] of the external data file; each tensor starts at a multiple of 64."""
    out, at = [], 0
    for spec in meta["tensors"]:
        out.append((spec, at))
        at += -(-4 * int(np.prod(spec["shape"], dtype=np.int64)) // 64) * 64
    return out


def fill(name, folder, cache, external=False):
    """Write the model into folder. Returns (state, bytes, path)."""
    meta, model = load_graph(name)
    path = os.path.join(folder, name + ".onnx")
    key = "sha256_data" if external else "sha256"
    target, want = path[:-len("onnx")] + "data" if external else path, meta.get(key)
    os.makedirs(folder, exist_ok=True)
    if want and os.path.isfile(target) and os.path.getsize(target) == meta["bytes" + key[6:]] and digest(target) == want:
        if not external:
            return "present", os.path.getsize(path), path
        try:
            with open(path, "rb") as f:
                if f.read() == model:
                    return "present", len(model) + os.path.getsize(target), path
        except OSError:
            pass
    weights = None
    if "weights" in meta:
        weights = Safetensors(os.path.join(cache, meta["weights"]))
    out = Writer(target)
    try:
        if external:
            for spec, offset in layout(meta):
                out.write(b"\0" * (offset - out.file.tell()))
                out.write(memoryview(tensor(meta, spec, weights)).cast("B"))
        else:
            specs = {s["name"]: s for s in meta["tensors"]}
            for piece in assemble(model, {k: 4 * int(np.prod(s["shape"], dtype=np.int64)) for k, s in specs.items()}):
                out.write(piece if isinstance(piece, bytes) else memoryview(tensor(meta, specs[piece], weights)).cast("B"))
        size = out.file.tell()
        out.done(want)
        if external:
            graph = Writer(path)
            graph.write(model)
            graph.done(None)
            size += len(model)
    finally:
        out.drop()
    return "written", size, path


def names():
    """(zoo graphs, graphs with a package's weights)"""
    found = [f[:-5] for f in os.listdir(GRAPHS) if f.endswith(".json")]
    real = sorted(n for n in found if "weights" in load_graph(n)[0])
    return sorted(set(found) - set(real)), real


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("names", nargs="*", metavar="NAME", help="graphs to fill; default all that the given folders allow")
    ap.add_argument("--dir", metavar="DIR", help="output folder of zoo graphs (default: CACHE/zoo)")
    ap.add_argument("--cache", metavar="CACHE", default=cache_folder(),
                    help="the folder of fetch.py; MiniLM is written there (default: %(default)s)")
    ap.add_argument("--external-data", action="store_true", help="weights in NAME.data beside the graph")
    ap.add_argument("--list", action="store_true", help="print the names and exit")
    args = ap.parse_args()
    zoo, real = names()
    if args.list:
        for n in zoo + real:
            meta = load_graph(n)[0]
            print(f"{n:24} {meta['bytes'] / 2**20:7.1f} MiB  {meta['role']}")
        return 0
    for n in args.names:
        if n not in zoo + real:
            near = difflib.get_close_matches(n, zoo + real, 1)
            print(f"error: no graph {n!r}" + (f"; did you mean {near[0]!r}?" if near else "; see --list"), file=sys.stderr)
            return 2
    code = 0
    for n in args.names or (zoo + real):
        folder = args.cache if n in real else (args.dir or os.path.join(args.cache, "zoo"))
        start = time.time()
        try:
            state, size, path = fill(n, folder, args.cache, args.external_data)
            print(f"{state:8} {n:24} {size / 2**20:7.1f} MiB  {time.time() - start:5.1f} s  {path}", flush=True)
        except BrokenPipeError:
            raise
        except (Failure, OSError, ValueError) as e:
            code = code or getattr(e, "code", 8 if isinstance(e, OSError) else 3)
            print(f"error: {n}: {e}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
