"""Writes float_table.txt: what ml_dtypes says the float8 and float4 types mean. Run by hand; the table is kept.

A `decode` line gives, for every code of a type, the value as bits of a float32. An `encode` line gives pairs bits:code for
float32 values, conversion without saturation.
"""

import pathlib

import ml_dtypes
import numpy as np

TYPES = {
    "f8e4m3fn": (ml_dtypes.float8_e4m3fn, 256),
    "f8e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, 256),
    "f8e5m2": (ml_dtypes.float8_e5m2, 256),
    "f8e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, 256),
    "f8e8m0": (ml_dtypes.float8_e8m0fnu, 256),
    "f4e2m1": (ml_dtypes.float4_e2m1fn, 16),
}


def samples(values):
    """Every finite value, the middle between neighbours, and their float32 neighbours; past the ends; random ones."""
    finite = np.unique(values[np.isfinite(values)].astype(np.float32))
    middle = ((finite[1:].astype(np.float64) + finite[:-1].astype(np.float64)) / 2).astype(np.float32)
    top = finite[-1:].astype(np.float64)
    beyond = np.concatenate([top * f for f in (1.01, 1.0625, 1.07, 1.125, 1.13, 1.25, 1.5, 4)])
    with np.errstate(over="ignore"):
        beyond = beyond.astype(np.float32)
    rng = np.random.default_rng(1)
    noise = (rng.standard_normal(40) * np.exp2(rng.integers(-20, 20, 40))).astype(np.float32)
    if len(finite) > 100:
        finite, middle = finite[::3], middle[::3]
    xs = np.concatenate([finite, middle, np.nextafter(middle, np.float32(np.inf)), np.nextafter(middle, -np.float32(np.inf)), beyond, noise])
    return np.unique(np.concatenate([xs, -xs, np.array([0.0, np.inf, -np.inf, 1e-45], np.float32)]).view(np.uint32))


def main():
    lines = []
    for name, (dtype, count) in TYPES.items():
        codes = np.arange(count, dtype=np.uint8)
        values = codes.view(dtype).astype(np.float32)
        lines.append(f"decode {name} " + " ".join(f"{b:08x}" for b in values.view(np.uint32)))
        bits = samples(values)
        with np.errstate(all="ignore"):
            encoded = bits.view(np.float32).astype(dtype).view(np.uint8)
        lines.append(f"encode {name} " + " ".join(f"{b:08x}:{c:02x}" for b, c in zip(bits, encoded)))
    pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


main()
