#!/usr/bin/env python3
"""The example `speech` on recordings made at run time: prompts spoken by a person (Debian's asterisk-core-sounds-en-wav), tones and noises
at random offsets, in random formats.

Two demands. The spans are those that ONNX Runtime's probabilities give for the samples that the program fed to its model, to one frame of
32 ms. And of all utterances, 95 % begin within 0.1 s and end within 0.25 s of where they were put; a span where nobody speaks counts as one
more utterance that is wrong.
"""
import glob
import math
import re
import struct
import sys
import wave

import numpy as np

import common

SOUNDS = "/usr/share/asterisk/sounds/en_US_f_Allison/**/*.wav"
NOT_SPOKEN = r"tone|beep|silence|ascii|hear-toast|tt-monkeys"
FRAME = 0.032
GAP = 0.35         # silence inside an utterance; between two there is more
BEGIN, END = 0.1, 0.25
PAD = 0.03


def decibels(x):
    return 10 * math.log10(float(np.mean(np.square(x))) + 1e-12)


def voiced(x, rate):
    """First and last sample that are less than 30 dB under the loudest 10 ms, and the longest quiet part between them in seconds."""
    size = rate // 100
    power = np.square(x[:len(x) // size * size]).reshape(-1, size).mean(1)
    loud = np.flatnonzero(power > power.max() * 1e-3)
    return loud[0] * size, (loud[-1] + 1) * size, float(np.diff(loud).max(initial=1) - 1) * 0.01


def utterances():
    """[(samples at 8 kHz, first voiced, last voiced)] of the prompts that are one utterance."""
    found = []
    for path in sorted(glob.glob(SOUNDS, recursive=True)):
        if re.search(NOT_SPOKEN, path):
            continue
        with wave.open(path) as w:
            rate = w.getframerate()
            x = np.frombuffer(w.readframes(w.getnframes()), "<i2").astype(np.float64) / 32768
        if rate != 8000 or not 0.5 <= len(x) / rate <= 5 or np.abs(x).max() < 0.02:
            continue
        begin, end, gap = voiced(x, rate)
        if gap <= GAP and end - begin >= 0.4 * rate:
            found.append((x, begin, end))
    if len(found) < 100:
        raise SystemExit(f"{len(found)} spoken prompts found in {SOUNDS}\ntry: apt-get install asterisk-core-sounds-en-wav")
    return found


def tone(run, n, rate):
    t = np.arange(n) / rate
    f = run.random.uniform(100, 3000)
    kind = run.pick(["sine", "square", "sweep", "pair"])
    if kind == "square":
        return np.sign(np.sin(2 * np.pi * f * t)) * 0.5
    if kind == "sweep":
        return np.sin(2 * np.pi * (f + run.random.uniform(-300, 300) * t) * t)
    return np.sin(2 * np.pi * f * t) + (np.sin(2 * np.pi * run.random.uniform(100, 3000) * t) if kind == "pair" else 0)


def noise(run, n, slope):
    """Noise whose amplitude falls with frequency to the power `slope`: 0 white, 0.5 pink, 1 brown."""
    spectrum = np.fft.rfft(run.random.standard_normal(n))
    spectrum /= np.maximum(np.arange(len(spectrum)), 1) ** slope
    return np.fft.irfft(spectrum, n)


def at_level(x, level):
    return x * 10 ** ((level - decibels(x)) / 20)


def record(run, clips, rate=8000):
    """(samples at 8 kHz, [(begin, end)] of the utterances in seconds): speech over a quiet floor, then tones and noises anywhere."""
    parts, truth, at = [], [], 0.0
    speech_level = run.random.uniform(-30, -18)
    for _ in range(6):
        silence = run.random.uniform(0.8, 2.5)
        x, begin, end = run.pick(clips)
        x = x[begin:end]
        parts += [np.zeros(int(silence * rate)), at_level(x, speech_level)]
        begins = sum(map(len, parts[:-1])) / rate
        truth.append((begins, begins + len(x) / rate))
    parts.append(np.zeros(int(run.random.uniform(0.5, 2) * rate)))
    mix = np.concatenate(parts)
    for kind in ["tone", "noise"] * 4:
        n = int(run.random.uniform(0.2, 1.5) * rate)
        first = int(run.random.integers(len(mix) - n))
        near = any(first / rate < e + 0.3 and (first + n) / rate > b - 0.3 for b, e in truth)
        sound = tone(run, n, rate) if kind == "tone" else noise(run, n, run.pick([0, 0.5, 1]))
        edge = np.minimum(1, np.minimum(np.arange(n), np.arange(n)[::-1]) / (0.01 * rate))
        mix[first:first + n] += edge * at_level(sound, speech_level - (run.random.uniform(20, 30) if near else run.random.uniform(0, 15)))
    mix += at_level(noise(run, len(mix), 0.5), speech_level - run.random.uniform(30, 45))
    return mix, truth


def resample(x, rate, target):
    if rate == target:
        return x
    n = len(x) // rate * rate + rate      # whole seconds, so that both lengths are whole numbers
    spectrum = np.fft.rfft(np.pad(x, (0, n - len(x))))
    m = n // rate * target
    out = np.zeros(m // 2 + 1, complex)
    out[:min(len(out), len(spectrum))] = spectrum[:len(out)]
    return (np.fft.irfft(out, m) * m / n)[:len(x) * target // rate]


def write_wav(path, x, rate, kind, channels):
    x = np.clip(np.repeat(x[:, None], channels, 1).ravel(), -1, 1)
    if kind == "float":
        tag, size, data = 3, 4, x.astype("<f4").tobytes()
    elif kind == "24":
        tag, size = 1, 3
        data = np.round(x * (2**23 - 1)).astype("<i4").view(np.uint8).reshape(-1, 4)[:, :3].tobytes()
    else:
        tag, size, data = 1, 2, np.round(x * 32767).astype("<i2").tobytes()
    head = struct.pack("<HHIIHH", tag, channels, rate, rate * channels * size, channels * size, size * 8)
    path.write_bytes(b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<I", 16) + head + b"data" +
                     struct.pack("<I", len(data)) + data)


def probabilities(session, given):
    state, out = given["state"], []
    for step in given["input"]:
        p, state = session.run(["output", "stateN"], {"input": step, "state": state, "sr": given["sr"]})
        out.append(float(p[0, 0]))
    return out


def spans_of(p, whole):
    """The rule that the example states: speech from 0.5 on, back to 0.15, ends where it stays under 0.35 for a tenth of a second."""
    spans, first, quiet, past = [], None, None, 0

    def close(end):
        if min(end * FRAME, whole) - first * FRAME >= 0.25:
            spans.append((max(first * FRAME - PAD, 0), min(end * FRAME + PAD, whole)))

    for k, value in enumerate(p):
        if value >= 0.5:
            quiet = None
            if first is None:
                first = k
                while first > past and p[first - 1] >= 0.15:
                    first -= 1
        elif first is not None and value < 0.35:
            quiet = k if quiet is None else quiet
            if (k + 1 - quiet) * FRAME >= 0.1:
                close(quiet)
                first, quiet, past = None, None, quiet
    if first is not None:
        close(len(p) if quiet is None else quiet)
    return spans


def spans_said(text):
    return [(60 * int(a) + float(b), 60 * int(c) + float(d))
            for a, b, c, d in re.findall(r"^speech from (\d+):([\d.]+) to (\d+):([\d.]+)$", text, re.M)]


def judge(spans, truth):
    """(utterances found right, events): events are utterances and spans where nobody speaks."""
    right, used = 0, set()
    for b, e in truth:
        own = [k for k, (x, y) in enumerate(spans) if x < e + END and y > b - BEGIN]
        used.update(own)
        if own and abs(spans[own[0]][0] - b) <= BEGIN and abs(spans[own[-1]][1] - e) <= END:
            right += 1
    return right, len(truth) + len(spans) - len(used)


def main():
    run = common.Run(__doc__.split("\n")[0], count=40, short=2)
    clips = utterances()
    session = run.session("silero_vad")
    right = events = same = compared = 0
    for k in range(run.count):
        mix, truth = record(run, clips)
        rate, kind, channels = run.pick([8000, 16000, 22050, 44100, 48000]), run.pick(["16", "24", "float"]), run.pick([1, 2])
        wav, dump = run.folder / f"{k}.wav", run.folder / f"{k}.npz"
        write_wav(wav, resample(mix, 8000, rate), rate, kind, channels)
        said = spans_said(run.program("speech", "silero_vad", wav, dump))
        with np.load(dump) as given:
            expected = spans_of(probabilities(session, dict(given)), len(mix) / 8000)
        close = len(said) == len(expected) and all(abs(a - b) <= FRAME + 0.006 for s, e in zip(said, expected) for a, b in zip(s, e))
        same += close
        compared += len(expected)
        if not close:
            run.problems.append(f"{k}.wav ({rate} Hz): nnc {said}, ONNX Runtime {expected}")
        r, n = judge(said, truth)
        right, events = right + r, events + n
        if r < n:
            print(f"  {k}.wav {rate} Hz {kind}: put {[(round(b, 2), round(e, 2)) for b, e in truth]}, heard {said}")
    return run.finish(f"{same} of {run.count} recordings as ONNX Runtime hears them ({compared} spans), "
                      f"{right} of {events} utterances within {BEGIN} s and {END} s ({100 * right / events:.1f} %)", run.holds(0.95, right, events))


if __name__ == "__main__":
    sys.exit(main())
