#!/usr/bin/env python3
"""The example `filetype` on files of 20 types made at run time by Python's standard library and small generators.

Two demands: the type that ONNX Runtime finds in what the program fed to its model, for every file; and the right one. Names of the files
say nothing: the program must not look at them.
"""
import bz2
import gzip
import io
import json
import lzma
import pickle
import re
import sqlite3
import struct
import sys
import tarfile
import wave
import zipfile
import zlib

import numpy as np

import common

NOUNS = "order invoice bridge garden signal window packet sensor record journey station market engine library account ticket river".split()
VERBS = "load count merge check print move update find sort read".split()


class Maker:
    """Files of one run: every text has other names, numbers and lengths."""

    def __init__(self, run):
        self.run, self.folder = run, run.folder

    def noun(self):
        return self.run.pick(NOUNS)

    def verb(self):
        return self.run.pick(VERBS)

    def number(self, lo=1, hi=1000):
        return int(self.run.random.integers(lo, hi))

    def some(self, make, fewest=4, most=12):
        return [make() for _ in range(self.number(fewest, most + 1))]

    def sentence(self):
        words = self.some(self.noun, 3, 8)
        return f"The {' and the '.join(words[:2])} {self.verb()} every {' or '.join(words[2:])}."

    # ---- texts ----

    def python(self):
        def function():
            a, b = self.noun(), self.noun()
            return (f"def {self.verb()}_{a}(self, {b}, limit={self.number()}):\n    \"\"\"{self.sentence()}\"\"\"\n"
                    f"    for index, item in enumerate(self.{a}s):\n        if item.{b} is None or index > limit:\n"
                    f"            raise ValueError(f\"no {b}: {{item!r}}\")\n    return [x for x in self.{a}s if x != {b}]\n")
        body = "\n".join("    " + line if line else "" for f in self.some(function, 3, 6) for line in f.split("\n"))
        return f"#!/usr/bin/env python3\nimport collections\nimport os\nimport sys\n\n\nclass {self.noun().title()}:\n{body}\n\nif __name__ == \"__main__\":\n    sys.exit(main())\n"

    def c(self):
        def function():
            a, b = self.noun(), self.noun()
            return (f"/* {self.sentence()} */\nstatic int {self.verb()}_{a}(struct {b} *{b}, size_t n)\n{{\n    for (size_t i = 0; i < n; i++) {{\n"
                    f"        if ({b}[i].{a} == NULL)\n            return -{self.number()};\n        {b}[i].size += {self.number()};\n    }}\n    return 0;\n}}\n")
        names = "".join(f"    char *{n};\n" for n in NOUNS)
        return (f"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\nstruct {self.noun()} {{\n{names}    size_t size;\n}};\n\n" +
                "\n".join(self.some(function, 3, 6)) + "\nint main(int argc, char **argv)\n{\n    printf(\"%d\\n\", argc);\n    return EXIT_SUCCESS;\n}\n")

    def html(self):
        items = "\n".join(f"    <li><a href=\"{self.noun()}.html\" class=\"{self.noun()}\">{self.sentence()}</a></li>" for _ in range(self.number(5, 15)))
        return (f"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n  <meta charset=\"utf-8\">\n  <title>{self.noun().title()}</title>\n</head>\n<body>\n"
                f"  <h1>{self.sentence()}</h1>\n  <ul>\n{items}\n  </ul>\n  <p>{self.sentence()}</p>\n</body>\n</html>\n")

    def json(self):
        def item():
            return {"id": self.number(), self.noun(): self.sentence(), "tags": self.some(self.noun, 1, 4), "price": self.number() / 100, "open": bool(self.number(0, 2))}
        return json.dumps({"version": self.number(), self.noun() + "s": self.some(item, 5, 12)}, indent=2)

    def xml(self):
        rows = "\n".join(f"  <{n} id=\"{self.number()}\">\n    <name>{self.sentence()}</name>\n    <size unit=\"m\">{self.number()}</size>\n  </{n}>" for n in self.some(self.noun))
        return f"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<catalogue xmlns=\"urn:example:{self.noun()}\">\n{rows}\n</catalogue>\n"

    def csv(self):
        head = "id,date,city,amount,status\n"
        row = lambda: f"{self.number()},20{self.number(10, 30)}-{self.number(1, 13):02}-{self.number(1, 29):02},{self.noun()},{self.number() / 100},{self.verb()}\n"
        return head + "".join(row() for _ in range(self.number(30, 80)))

    def sql(self):
        def table():
            a = self.noun()
            rows = ",\n".join(f"  ({self.number()}, '{self.sentence()}', {self.number()})" for _ in range(4))
            return (f"CREATE TABLE IF NOT EXISTS {a}s (\n  id INTEGER PRIMARY KEY,\n  name VARCHAR({self.number()}) NOT NULL,\n  {self.noun()}_id INTEGER REFERENCES {self.noun()}s (id)\n);\n"
                    f"INSERT INTO {a}s (id, name, {self.noun()}_id) VALUES\n{rows};\nSELECT name, COUNT(*) FROM {a}s WHERE id > {self.number()} GROUP BY name ORDER BY 2 DESC;\n")
        return "\n".join(self.some(table, 3, 5))

    def shell(self):
        def step():
            a = self.noun()
            return (f"# {self.sentence()}\nif [ ! -d \"$HOME/{a}\" ]; then\n  mkdir -p \"$HOME/{a}\" || exit {self.number(1, 9)}\nfi\n"
                    f"for file in \"$1\"/*.{self.noun()[:3]}; do\n  echo \"$file\" | sed 's/{a}/{self.noun()}/g' >>\"$log\"\ndone\n")
        return "#!/bin/sh\nset -eu\nlog=/tmp/${0##*/}.log\n\n" + "\n".join(self.some(step, 3, 6))

    def markdown(self):
        def part():
            items = "\n".join(f"- **{self.noun()}**: {self.sentence()}" for _ in range(3))
            return f"## {self.verb().title()} the {self.noun()}\n\n{self.sentence()} See [{self.noun()}](docs/{self.noun()}.md).\n\n{items}\n\n```\n{self.verb()} --{self.noun()} {self.number()}\n```\n"
        return f"# {self.noun().title()}\n\n{self.sentence()}\n\n" + "\n".join(self.some(part, 3, 5))

    def makefile(self):
        names = sorted(set(self.some(self.noun, 4, 8)))
        rules = "\n".join(f"{n}.o: {n}.c {n}.h\n\t$(CC) $(CFLAGS) -c -o $@ $<\n" for n in names)
        return (f"CC = gcc\nCFLAGS = -O2 -Wall\nOBJS = {' '.join(n + '.o' for n in names)}\n\n.PHONY: all clean\n\nall: {names[0]}\n\n"
                f"{names[0]}: $(OBJS)\n\t$(CC) $(LDFLAGS) -o $@ $^\n\n{rules}\nclean:\n\trm -f $(OBJS) {names[0]}\n")

    # ---- binary files ----

    def content(self):
        return "\n".join(self.some(self.sentence, 40, 120)).encode()

    def gzip(self):
        return gzip.compress(self.content())

    def bzip(self):
        return bz2.compress(self.content())

    def xz(self):
        return lzma.compress(self.content())

    def zip(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
            for k, name in enumerate(self.some(self.noun, 3, 6)):
                z.writestr(f"{name}{k}.txt", self.content())
        return out.getvalue()

    def tar(self):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as t:
            for k, name in enumerate(self.some(self.noun, 3, 6)):
                data = self.content()
                info = tarfile.TarInfo(f"{name}{k}.txt")
                info.size, info.mtime = len(data), 1_600_000_000 + self.number()
                t.addfile(info, io.BytesIO(data))
        return out.getvalue()

    def png(self):
        w, h = self.number(40, 200), self.number(40, 200)
        shade = np.add.outer(np.arange(h) * self.number(1, 5), np.arange(w) * self.number(1, 5))[..., None] + self.run.random.integers(0, 9, (h, w, 3))
        rows = b"".join(b"\0" + row.tobytes() for row in (shade % 256).astype(np.uint8))
        part = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        return (b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b""))

    def wav(self):
        out = io.BytesIO()
        rate = self.run.pick([8000, 16000, 44100])
        with wave.open(out, "wb") as w:
            w.setnchannels(1), w.setsampwidth(2), w.setframerate(rate)
            t = np.arange(rate) / rate
            w.writeframes((np.sin(2 * np.pi * self.number(100, 900) * t) * 9000 + self.run.random.normal(0, 300, rate)).astype("<i2").tobytes())
        return out.getvalue()

    def pdf(self):
        text = "BT /F1 12 Tf 72 720 Td " + " ".join(f"({self.sentence()}) Tj 0 -14 Td" for _ in range(self.number(10, 30))) + " ET"
        objects = ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
                   "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
                   f"<< /Length {len(text)} >>\nstream\n{text}\nendstream", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
        out, places = "%PDF-1.4\n", []
        for k, body in enumerate(objects, 1):
            places.append(len(out))
            out += f"{k} 0 obj\n{body}\nendobj\n"
        table = "".join(f"{p:010} 00000 n \n" for p in places)
        return f"{out}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"

    def sqlite(self):
        path = self.folder / "database"
        path.unlink(missing_ok=True)
        base = sqlite3.connect(path)
        base.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, size REAL)")
        base.executemany("INSERT INTO t (name, size) VALUES (?, ?)", [(self.sentence(), self.number()) for _ in range(self.number(50, 200))])
        base.commit(), base.close()
        return path.read_bytes()

    def pickle(self):
        return pickle.dumps({self.noun(): self.some(self.sentence, 20, 60), "numbers": self.some(self.number, 50, 99)})


# What the files are, by the model's name for it; each is also the maker's method.
TYPES = ["python", "c", "html", "json", "xml", "csv", "sql", "shell", "markdown", "makefile",
         "gzip", "bzip", "xz", "zip", "tar", "png", "wav", "pdf", "sqlite", "pickle"]


def main():
    run = common.Run(__doc__.split("\n")[0], count=60, short=20)
    session = run.session("magika")
    labels = json.loads((run.cache / "magika" / "config.min.json").read_text())["target_labels_space"]
    maker = Maker(run)
    same = right = 0
    for k in range(run.count):
        kind = TYPES[k % len(TYPES)]
        data = getattr(maker, kind)()
        file, dump = run.folder / f"file{k}", run.folder / f"file{k}.npz"
        file.write_bytes(data.encode() if isinstance(data, str) else data)
        text = run.program("filetype", "magika", file, dump)
        said = re.search(r": (?:perhaps )?(\w+) \(", text)
        said = said.group(1) if said else text.strip()
        with np.load(dump) as given:
            expected = labels[int(session.run(None, {"bytes": given["bytes"]})[0][0].argmax())]
        same += said == expected
        right += said == kind
        if said != expected:
            run.problems.append(f"{file.name}: nnc {said}, ONNX Runtime {expected}")
        if said != kind:
            run.problems.append(f"{file.name}: it is {kind}, said to be {text.strip()}")
    return run.finish(f"{same} of {run.count} files as ONNX Runtime types them, {right} right, {len(TYPES)} types", True)


if __name__ == "__main__":
    sys.exit(main())
