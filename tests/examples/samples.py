#!/usr/bin/env python3
"""Files of the kind that a user brings, made at run time: recording.wav, line.png, and FILE, a program in Python.

    samples.py FOLDER [--seed N]

Writes them into FOLDER and what they are into FOLDER/samples.json: the seconds of the utterances, the line's text.
"""
import argparse
import json
import pathlib
import secrets
import sys

import common
import filetype
import readtext
import speech


def make(folder, seed):
    source = common.Source(seed, folder)
    mix, truth = speech.record(source, speech.utterances())
    speech.write_wav(source.folder / "recording.wav", speech.resample(mix, 8000, 44100), 44100, "16", 2)
    text = readtext.line(source)
    readtext.draw(source, text, source.folder / "line.png")
    (source.folder / "FILE").write_text(filetype.Maker(source).python())
    facts = {"seed": seed, "utterances": truth, "text": text, "type": "python"}
    (source.folder / "samples.json").write_text(json.dumps(facts))
    return facts


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--seed", type=int, default=secrets.randbits(32))
    a = p.parse_args()
    print(json.dumps(make(a.folder, a.seed)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
