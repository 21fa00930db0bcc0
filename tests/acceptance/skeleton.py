"""Acceptance points of the area `skeleton`: one narrow path through every layer."""
from dataclasses import dataclass
from typing import Callable, Optional, Tuple


@dataclass
class Point:
    id: str
    kind: str  # "gate" or "aim"
    text: str
    check: Optional[Callable[[], Tuple[str, str]]] = None
    gpu: bool = False


POINTS = [
    Point("0.a", "gate", "carrying test a: train_step and eval_step share states, 50 steps equal to PyTorch, both devices"),
    Point("0.b", "gate", "carrying test b: decode loop of 100 tokens, bounded past, one binding, no allocation"),
    Point("0.c", "gate", "carrying test c: NonZero -> Gather -> MatMul, 50 extents in shuffled order"),
    Point("0.d", "gate", "carrying test d: Loop with packed invariants, If nested"),
    Point("0.e", "gate", "carrying test e: one artifact, five variants, weights stored once"),
    Point("0.f", "gate", "carrying test f: GEMM with dequantize prologue and epilogue in one kernel; permuted reader not fused"),
    Point("0.g", "gate", "carrying test g: shape chains leave no host step; 50 shapes from one artifact"),
    Point("0.capi", "gate", "carrying tests a-e from a C program through nnc.h"),
    Point("0.grad", "gate", "every op row has a checked gradient or its reason"),
    Point("0.build", "gate", "clean build <= 6 min on two cores, one pass touched <= 20 s, slowest unit <= 10 s"),
    Point("0.notk", "gate", "builds and tests without a CUDA toolkit"),
    Point("0.link", "gate", "link test, include arrows, byte identity, S1-S4, lint; untrusted native code never ran"),
    Point("1.readme", "gate", "the two README commands work in a fresh clone; answers within a minute"),
    Point("1.speech", "gate", "speech spans equal ONNX Runtime's to one frame; start and end within tolerance in >= 95 %"),
    Point("1.text", "gate", "50 rendered lines read as ONNX Runtime reads them, >= 90 % right"),
    Point("1.type", "gate", "20 file types"),
    Point("2.eval", "gate", "every dev-set model in the interpreter matches its stored answers"),
    Point("2.cpu", "gate", "every dev-set model on cpu (1 and 2 threads): stored answers, accuracy, 0 vm steps"),
    Point("2.vm", "gate", "every dev-set model on cpu:vm"),
    Point("2.emu", "gate", "every dev-set model on cuda-emu"),
    Point("2.zoo", "gate", "zoo graphs likewise"),
    Point("2.count", "gate", "MiniLM <= 10 kernels a layer, ResNet-18 <= 1.5 per Conv on cpu"),
    Point("3", "gate", "ONNX node tests in scope: unsupported = 0, wrong = 0 on all devices; the rest end in 'unsupported'"),
    Point("4.fuzz", "gate", "2,000 random graphs agree on eval, cpu -O0 -O1 -O2 and cuda-emu; NVRTC on 200"),
    Point("4.mutants", "gate", "planted miscompiles: all but one found"),
    Point("5.nnb", "gate", "every truncation and bit flip of a small artifact"),
    Point("5.onnx", "gate", "truncations of ONNX files and the corpus of broken files"),
    Point("6", "gate", "dump --after-each parses back, changes iff reported, every kernel leads to source nodes"),
    Point("7.models", "gate", "speed against ONNX Runtime: dev set >= 0.7, BERT and ResNet-18 >= 0.6, MLP >= 1.3"),
    Point("7.gemm", "gate", "GEMM 512^3 >= 88 % of the probed FMA peak"),
    Point("7.cold", "gate", "compile cold <= 5 s, warm <= 0.1 s + 3 ms per MB of weights"),
    Point("7.2t", "gate", "BERT on 2 threads >= 1.6 x 1 thread"),
    Point("7.aim", "aim", "1.0 x ONNX Runtime on all"),
    Point("8", "gate", "docs/walk.md; every README command and path is tested"),
]
