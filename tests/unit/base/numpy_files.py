"""Writes numpy_files.txt: small npy and npz files as numpy writes them, in hex, and what they hold. Run by hand; the result is kept.

Lines: `npy NAME HEX | TEXT` with TEXT as `f32[2,3] 1 2 ...`, or `npz NAME HEX | ENTRY TEXT | ENTRY TEXT`.
"""

import io
import pathlib

import ml_dtypes
import numpy as np

NAMES = {
    "bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32",
    "uint64": "u64", "float16": "f16", "float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128", "bfloat16": "bf16",
}


def number(x):
    if isinstance(x, str):
        return '"' + x.encode("unicode_escape").decode() + '"' if x.isascii() else '"' + "".join(f"\\x{b:02x}" if b > 126 else chr(b) for b in x.encode()) + '"'
    if isinstance(x, bytes):
        return '"' + x.decode("latin-1") + '"'
    if isinstance(x, (complex, np.complexfloating)):
        return f"({float(x.real):g},{float(x.imag):g})"
    return f"{float(x):g}" if isinstance(x, (float, np.floating)) or not np.issubdtype(type(x), np.integer) else str(int(x))


def text(a):
    name = "string" if a.dtype.kind in "US" else NAMES[a.dtype.name]
    dims = ",".join(map(str, a.shape))
    return " ".join([f"{name}[{dims}]"] + [number(x) for x in a.flatten()])


def npy(a, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, a, version=version)
    return out.getvalue()


def main():
    lines = []

    def add(name, a, version=None):
        lines.append(f"npy {name} {npy(a, version).hex()} | {text(np.asarray(a))}")

    for t in ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"]:
        add(t, np.arange(-2, 4).reshape(2, 3).astype(t) if t[0] != "u" and t != "bool" else np.arange(6).reshape(2, 3).astype(t))
        add(t + "_big", np.arange(6).astype(np.dtype(t).newbyteorder(">")))
    add("fortran", np.asfortranarray(np.arange(24, dtype=np.int16).reshape(2, 3, 4)))
    add("fortran_big", np.asfortranarray(np.arange(6, dtype=">f4").reshape(2, 3)))
    add("fortran_strings", np.asfortranarray(np.array([["a", "bcd"], ["", "ef"]])))
    add("scalar", np.float32(2.5).reshape(()))
    add("empty", np.zeros((3, 0, 2), np.float32))
    add("v2", np.arange(3, dtype=np.int8), (2, 0))
    add("v3", np.arange(3, dtype=np.int8), (3, 0))
    add("unicode", np.array(["", "abc", "\u00e4\u20ac\U0001f600"]))
    add("unicode_big", np.array(["x", "yz"]).astype(">U2"))
    add("bytes", np.array([b"ab", b"", b"cde"]))
    add("bfloat16", np.array([1, -2.5, 0.125], ml_dtypes.bfloat16))
    for name, save in (("stored", np.savez), ("deflated", np.savez_compressed)):
        out = io.BytesIO()
        arrays = {"images": np.arange(6, dtype=np.float32).reshape(2, 3), "a/b": np.array([7, 8], np.int64), "zeros": np.zeros((40, 50), np.uint8)[:2]}
        save(out, **arrays)
        lines.append(f"npz {name} {out.getvalue().hex()} | " + " | ".join(f"{k} {text(v)}" for k, v in arrays.items()))
    pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


main()
