#!/usr/bin/env python3
"""The example `readtext` on lines of text drawn at run time: random words and numbers in random fonts, sizes and colours.

Two demands. Every line is read exactly as ONNX Runtime reads the picture that the program fed to its model. And 90 % of the lines are
read as they were written.
"""
import glob
import string
import sys

import numpy as np

import common

FONTS = "/usr/share/fonts/truetype/dejavu/DejaVu*.ttf"
# Words of general use that tell letters apart; numbers, dates and prices are made beside them.
WORDS = """about accept across almost answer August autumn before better bridge bring castle center change church circle clever common
corner cotton country danger December degree desert dinner doctor double during editor effect eleven energy engine Europe evening family
famous father figure finger flower follow forest friend garden gentle glass gold ground happen health history hundred island January
journey kitchen ladder language learn letter library light listen machine market matter measure middle minute Monday morning mother
mountain music narrow nature needle nothing number object ocean office orange other owner paper parent people period person picture plant
pleasure pocket point power pretty problem public quarter question quick quiet railway reason record return river round sailor school
science season second shadow silver simple sister square station stone story street strong sudden summer sugar system teacher Thursday
ticket together travel trouble twelve umbrella under useful valley village visit voice water weather wheel winter window wonder write
yellow yesterday zebra""".split()


def words(run, fewest, most):
    return [run.pick(WORDS) for _ in range(int(run.random.integers(fewest, most + 1)))]


def line(run):
    """Text as it stands on signs, letters and bills."""
    number = lambda lo, hi: int(run.random.integers(lo, hi))
    kind = run.pick(["sentence", "sentence", "title", "capitals", "price", "date", "address"])
    if kind == "sentence":
        return " ".join(words(run, 2, 6)).capitalize() + run.pick([".", ".", "?", "!"])
    if kind == "title":
        return " ".join(w.capitalize() for w in words(run, 1, 4))
    if kind == "capitals":
        return " ".join(words(run, 1, 4)).upper()
    if kind == "price":
        return f"{run.pick(WORDS).capitalize()} {number(1, 200)}.{number(0, 100):02}"
    if kind == "date":
        return f"{number(1990, 2040)}-{number(1, 13):02}-{number(1, 29):02} {number(0, 24):02}:{number(0, 60):02}"
    return f"{number(1, 400)} {run.pick(WORDS).capitalize()} {run.pick(['Street', 'Road', 'Lane'])}, {run.pick(string.ascii_uppercase)}{number(100, 9999)}"


def draw(run, text, path):
    """A picture of the line: dark on light or light on dark, with margins, grain and one of the formats that the program reads."""
    from PIL import Image, ImageDraw, ImageFont
    fonts = sorted(glob.glob(FONTS))
    if not fonts:
        raise SystemExit(f"no fonts {FONTS}\ntry: apt-get install fonts-dejavu-core")
    font = ImageFont.truetype(run.pick(fonts), int(run.random.integers(18, 72)))
    left, top, right, bottom = font.getbbox(text)
    margin = int(run.random.integers(4, 40))
    dark, light = run.random.integers(0, 80, 3), run.random.integers(190, 256, 3)
    ink, paper = (dark, light) if run.random.random() < 0.75 else (light, dark)
    image = Image.new("RGB", (right - left + 2 * margin, bottom - top + 2 * margin), tuple(int(v) for v in paper))
    ImageDraw.Draw(image).text((margin - left, margin - top), text, font=font, fill=tuple(int(v) for v in ink))
    pixels = np.asarray(image, np.float64) + run.random.normal(0, run.random.uniform(0, 6), (image.height, image.width, 1))
    image = Image.fromarray(np.clip(np.round(pixels), 0, 255).astype(np.uint8))
    if path.suffix == ".pgm" or (path.suffix == ".png" and run.random.random() < 0.3):
        image = image.convert("L")
    image.save(path)


def characters(session):
    listed = session.get_modelmeta().custom_metadata_map["character"].split("\n")
    classes = session.get_outputs()[0].shape[2]
    known = [""] + [c.rstrip("\r") for c in listed]
    if isinstance(classes, int) and len(known) + 1 > classes and known[-1] == "":
        known.pop()
    return known + [" "]


def read(session, known, x):
    """The likeliest character at each place along the line, repeats merged, blanks dropped."""
    (p,) = session.run(None, {session.get_inputs()[0].name: x})
    best = p[0].argmax(1)
    return "".join(known[c] for k, c in enumerate(best) if c != 0 and (k == 0 or c != best[k - 1]))


def main():
    run = common.Run(__doc__.split("\n")[0], count=50, short=8)
    session = run.session("ppocr_v6_rec")
    known = characters(session)
    same = right = 0
    for k in range(run.count):
        text = line(run)
        picture, dump = run.folder / f"{k}{run.pick(['.png', '.png', '.ppm', '.pgm'])}", run.folder / f"{k}.npz"
        draw(run, text, picture)
        said = run.program("readtext", "ppocr_v6_rec", picture, dump).removesuffix("\n")
        said = "" if said == "no text found" else said
        with np.load(dump) as given:
            expected = read(session, known, given["x"])
        same += said == expected
        right += said == text
        if said != expected:
            run.problems.append(f"{picture.name}: nnc {said!r}, ONNX Runtime {expected!r}")
        if said != text:
            print(f"  {picture.name}: written {text!r}, read {said!r}")
    return run.finish(f"{same} of {run.count} lines as ONNX Runtime reads them, {right} as they were written "
                      f"({100 * right / run.count:.0f} %)", run.holds(0.9, right, run.count))


if __name__ == "__main__":
    sys.exit(main())
