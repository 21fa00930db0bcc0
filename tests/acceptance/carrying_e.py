"""Carrying test e on whole models: one artifact of MiniLM and one of BERT for five targets, through the tool.

Usage: carrying_e.py --build BUILD --cache CACHE [MODEL ...]

Size: the file may hold 1.1 x the bytes of the model's own initializers, plus the native code of all programs. Plans, kernel IR, the graph,
hashes and padding count as weights, not as code. Runs: what ONNX Runtime computes for the same input, with the processor's features as they
are and masked; exit code 5 that names what is missing where nothing fits. MiniLM also on the interpreter, and with its packed weights
unpacked for the emulator. The last line is the figure; exit code 0 if all of it holds.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

TARGETS = "cpu:x86-64-v3,cpu:x86-64-v4,cpu:vm,cuda:sm_80,cuda:sm_90"
# model, dims of the artifact, length of the sequence that is run, whether slow devices run it too
MODELS = {
    "minilm_l6": ("minilm_l6.onnx", ["batch=1..8", "seq=1..512"], 8, True),
    "bert_base": ("zoo/bert_base.onnx", ["batch=1..8"], 128, False),
}
RTOL, ATOL = "1e-3", "1e-4"


class Failed(Exception):
    pass


def expect(holds, what):
    if not holds:
        raise Failed(what)


def tool(args, words, exit_code=0):
    env = dict(os.environ, XDG_STATE_HOME=str(args.folder / "state"))
    done = subprocess.run([str(args.build / "bin" / "nnc"), *map(str, words)], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    expect(done.returncode == exit_code, f"exit code {done.returncode}, {exit_code} expected: nnc {' '.join(map(str, words))}\n{done.stderr}")
    return done


def initializer_bytes(model):
    sizes = [np.prod(t.dims, dtype=np.int64) * onnx.helper.tensor_dtype_to_np_dtype(t.data_type).itemsize for t in model.graph.initializer]
    return int(sum(sizes))


def reference(path, model, length, folder):
    rng = np.random.default_rng(5)
    inputs = {i.name: rng.integers(0, 1000, (2, length)) for i in model.graph.input}
    inputs["attention_mask"] = np.ones((2, length), np.int64)
    inputs["attention_mask"][1, length * 3 // 4:] = 0
    inputs["token_type_ids"] = rng.integers(0, 2, (2, length))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    outputs = dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs)))
    np.savez(folder / "in.npz", **inputs)
    np.savez(folder / "out.npz", **outputs)


def run(args, artifact, *more):
    done = tool(args, ["run", artifact, "-i", f"@{args.folder}/in.npz", "--expect", f"@{args.folder}/out.npz", "--rtol", RTOL, "--atol", ATOL,
                       "--json", "-q", *more])
    return json.loads(done.stdout)


def machine_has(args, feature):
    return feature in json.loads(tool(args, ["devices", "--json"]).stdout).__repr__()


def variants(args, artifact, slow):
    """The program that is taken, and what it computes, with features masked from the newest on."""
    taken = []
    best = "cpu:x86-64-v4" if machine_has(args, "avx512vl") else "cpu:x86-64-v3"
    for wanted, mask in ((best, []), ("cpu:x86-64-v3", ["--without-features", "avx512f"])):
        document = run(args, artifact, "--require", "native", *mask)
        expect(document["target"] == wanted, f"{document['target']} was taken, {wanted} expected")
        taken.append(wanted)
    nothing = tool(args, ["run", artifact, "-i", f"@{args.folder}/in.npz", "--without-features", "avx2,fma", "-q"], exit_code=5)
    for word in ("NNC-5002", "avx2", "fma"):
        expect(word in nothing.stderr, f"{word} is not in: {nothing.stderr}")
    if slow:
        document = run(args, artifact, "--without-features", "avx2", "--allow-interpreter")
        expect(document["target"] == "cpu:vm", f"{document['target']} was taken, cpu:vm expected")
        taken.append("cpu:vm")
    return taken


def check(args, name):
    file, dims, length, slow = MODELS[name]
    path = args.cache / file
    flags = [x for d in dims for x in ("--dim", d)]
    model = onnx.load(path, load_external_data=False)
    weights = initializer_bytes(model)
    artifact = args.folder / f"{name}.nnb"
    document = json.loads(tool(args, ["compile", path, "--target", TARGETS, *flags, "-o", artifact, "--json", "-q"]).stdout)
    code = sum(p["code_bytes"] for p in document["programs"])
    size = artifact.stat().st_size
    expect(size <= 1.1 * weights + code, f"{name}: {size} bytes for {weights} of weights and {code} of code")
    reference(path, model, length, args.folder)
    taken = variants(args, artifact, slow)
    figure = (f"{name}: {size / 1e6:.1f} MB = {(size - code) / weights:.3f} x {weights / 1e6:.1f} MB of weights + {code / 1e6:.1f} MB of code"
              f" ({document['table_bytes'] / 1e6:.1f} MB of plans and kernel IR counted as weights), ran {', '.join(dict.fromkeys(taken))}")
    if slow:
        shared = args.folder / f"{name}_emu.nnb"
        document = json.loads(tool(args, ["compile", path, "--target", "cpu:x86-64-v3,cuda-emu:sm_80", *flags, "-o", shared, "--json", "-q"]).stdout)
        expect(document["weight_bytes"] <= 1.1 * weights, f"{name}: {document['weight_bytes']} bytes of weights for cpu and cuda-emu")
        run(args, shared, "--device", "cuda-emu", "--require", "native")
        figure += ", unpacked on cuda-emu"
        shared.unlink()
    artifact.unlink()
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    args = parser.parse_args()
    figures = []
    try:
        for name in args.models:
            with tempfile.TemporaryDirectory() as folder:
                args.folder = pathlib.Path(folder)
                figures.append(check(args, name))
                print(figures[-1], flush=True)
    except Failed as e:
        sys.exit(f"FAILED: {e}")
    print("; ".join(figures))


if __name__ == "__main__":
    main()
