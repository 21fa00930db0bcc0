"""Reads an npz file that nnc wrote and compares it with the text of each array: read_npz.py FILE TEXT. Used by tensor_io_test.cpp."""

import sys
import zipfile

import ml_dtypes
import numpy as np

DTYPES = {
    "u2": "uint2", "u4": "uint4", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "i2": "int2", "i4": "int4", "i8": "int8",
    "i16": "int16", "i32": "int32", "i64": "int64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "bool": "bool",
    "f8e4m3fn": "float8_e4m3fn", "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2": "float8_e5m2", "f8e5m2fnuz": "float8_e5m2fnuz",
    "f8e8m0": "float8_e8m0fnu", "f4e2m1": "float4_e2m1fn", "c64": "complex64", "c128": "complex128",
}


def value(word):
    if word.startswith("("):
        re, im = word[1:-1].split(",")
        return complex(float(re), float(im))
    if word.startswith('"'):
        return bytes(word[1:-1], "ascii").decode("unicode_escape").encode("latin-1").decode()
    return float(word)


def main():
    path, text = sys.argv[1:]
    assert zipfile.ZipFile(path).testzip() is None
    arrays = np.load(path, allow_pickle=False)
    lines = open(text).read().splitlines()
    assert list(arrays.files) == [line.split("\t")[0] for line in lines]
    for line in lines:
        name, what = line.split("\t")
        head, *words = what.split(" ")
        dtype, dims = head[:-1].split("[")
        a = arrays[name]
        assert a.shape == tuple(int(d) for d in dims.split(",") if d), name
        if dtype == "string":
            assert a.dtype.kind == "U", name
        else:
            assert a.dtype == np.dtype(DTYPES[dtype]), (name, a.dtype)
        got = [x if dtype == "string" else complex(x) if dtype[0] == "c" else float(x) for x in a.flatten()]
        assert got == [value(w) for w in words], (name, got, words)


main()
