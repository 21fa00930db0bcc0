#!/usr/bin/env python3
"""The results of .ci/full as JSON: status.py STEPS.tsv (name, exit code, seconds, output file) on stdout."""
import json
import re
import subprocess
import sys

POINT = re.compile(r"^(PASS|FAIL|NOT RUN)\s+(gate|aim)\s+(\S+)\s+(.*)  \[(.*)\]$")


def main():
    steps, points = [], []
    with open(sys.argv[1], encoding="utf-8") as f:
        for line in f:
            name, code, seconds, output = line.rstrip("\n").split("\t")
            with open(output, encoding="utf-8", errors="replace") as text:
                lines = text.read().splitlines()
            verdict = next((l for l in reversed(lines) if re.match(r"^\d+% tests passed", l)), lines[-1] if lines else "")
            steps.append({"step": name, "holds": code == "0", "seconds": int(seconds), "verdict": verdict})
            if name.startswith("accept-"):
                points += [{"area": name[7:], "status": m[1], "kind": m[2], "point": m[3], "text": m[4], "figure": m[5]}
                           for m in map(POINT.match, lines) if m]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    count = {s: sum(p["status"] == s for p in points) for s in ("PASS", "FAIL", "NOT RUN")}
    json.dump({"schema": "nnc.status/1", "commit": commit, "steps": steps, "count": count, "points": points}, sys.stdout, indent=1)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
