#!/usr/bin/env python3
"""Checks of the source text that no compiler makes: include arrows, banned calls, READMEs. Standard library only.

    lint.py [--root DIR]      first plants one fault of each kind and checks that it is found, then reads the tree

Prints FILE:LINE: rule: text for each finding; exits 1 if there is one.
"""
import argparse
import os
import re
import subprocess
import sys

# Folder -> what it may include. The longest prefix of a path decides; a folder may always include itself.
ARROWS = {
    "ir/support": [],
    "ir/base": ["ir/support"],
    "ir": ["ir/support", "ir/base"],
    "frontend/onnx": ["ir", "ir/support", "ir/base"],
    "frontend/trace": ["ir", "ir/support", "ir/base"],
    "frontend/nn": ["ir", "ir/support", "ir/base", "frontend/trace"],
    "passes": ["ir", "ir/support", "ir/base"],
    "codegen": ["ir", "ir/support", "ir/base", "passes", "runtime/artifact"],
    "codegen/emu_device": ["ir/support", "ir/base", "codegen", "runtime"],
    "codegen/api": ["ir", "ir/support", "ir/base", "passes", "codegen", "frontend/onnx", "frontend/trace", "frontend/nn", "runtime"],
    "runtime": ["ir/support", "ir/base"],
    "tools": None,
    "tests": None,
    "examples": None,
}
# codegen sees of passes the driver only, and of runtime what describes an artifact.
NARROW = {("codegen", "passes"): r"passes/(pipeline|pass|pass_manager|driver)\.h$",
          ("codegen", "runtime"): r"runtime/(artifact\w*\.h|artifact/.*|schema/.*)$"}
CUDA_HEADERS = r"(cuda|cuda_runtime\w*|cuda_fp16|cuda_bf16|nvrtc|cublas\w*|nccl|cudnn\w*)\.h$"
BANNED_HEADERS = {"iostream": "pulls in static constructors", "regex": "slow to compile and to run", "format": "not in this toolchain",
                  "fstream": "files are opened in ir/support", "fcntl.h": "files are opened in ir/support"}
# Rule, expression over code without comments and strings, files that may.
BANS = [
    ("file-open", r"\b(?:f|fd|fre)open\s*\(|(?<!\w)::open\s*\(|\bopenat2?\s*\(|\bcreat\s*\(|\bstd::[io]?fstream\b", r"ir/support/|tests/"),
    ("shell", r"(?<![\w.>])(?:std::)?(?:system|popen)\s*\(|\bexec[lv]pe?\s*\(|\bposix_spawnp\s*\(", None),
    ("spawn", r"(?<![\w.>])(?:::)?(?:v?fork|execve?|execle?|fexecve|posix_spawn)\s*\(", r"ir/support/spawn\w*\.cpp|tests/"),
    ("hash", r"\bstd::hash\b", r"ir/support/ids\.h"),
    ("new-array", r"\bnew\s+[\w:]+(?:<[^;]*>)?\s*\[|\bdelete\s*\[\]", None),
    ("exceptions", r"\bthrow\b|\btry\s*\{|\bcatch\s*\(", r"tests/|ir/support/ident\.h|ir/support/parallel\.cpp|runtime/capi/"),   # ident.h: in a consteval function; parallel: no more threads; capi: bad_alloc
    ("time", r"\b__(?:DATE|TIME|TIMESTAMP)__\b", None),
    ("locale", r"\bsetlocale\s*\(|\bstd::locale\b|\bstd::(?:stoi|stol|stoll|stof|stod)\b", r"tests/"),
]
MAX_BYTES = 1 << 20
# Pages that a clone does not have; this file names them.
PAGES_ELSEWHERE = r"\b(?:DESIGN|CONVENTIONS|QUALITY|PERFORMANCE|ROADMAP|CONFORMANCE|KERNEL_IR)(?: section|'s|, section| \d|\.md|,? `)"
PRIVATE_PATH = r"(?<![\w.$}/-])/(?:work|root)/\w"   # folders of a machine


def strip(text):
    """The code without comments; strings and characters become empty. Lines stay where they are."""
    def blank(match):
        kept = "\n" * match.group(0).count("\n")
        return {"/": kept or " ", '"': '""' + kept, "R": '""' + kept, "'": "' '" + kept}[match.group(0)[0]]
    return re.sub(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', blank, text, flags=re.S)


def folder_of(path):
    return next((f for f in sorted(ARROWS, key=len, reverse=True) if path.startswith(f + "/")), None)


def check_include(path, name, quoted, exists):
    """The finding about one #include, or None."""
    here = folder_of(path)
    if not quoted:
        if name in BANNED_HEADERS and not (name in ("fstream", "fcntl.h") and path.startswith(("ir/support/", "tests/"))):
            return f"header: <{name}>: {BANNED_HEADERS[name]}"
        if re.search(CUDA_HEADERS, name) and not path.startswith("tests/cuda_headers/"):
            return f"header: <{name}>: the build needs no CUDA toolkit"
        return None
    if not exists(name) and not name.endswith("_generated.h"):
        return f'include: "{name}" is no path from the root'
    there = folder_of(name)
    if here is None or there is None or ARROWS[here] is None or here == there:
        return None
    allowed = ARROWS[here]
    if "runtime/artifact" in allowed and there == "runtime":
        allowed = allowed + ["runtime"]
    if there not in allowed:
        return f"arrow: {here} may not include {there}"
    narrow = NARROW.get((here, there))
    return f"arrow: {here} sees of {there} only {narrow}" if narrow and not re.search(narrow, name) else None


def check_code(path, text, exists):
    """Findings of one C or C++ file as (line, text)."""
    found = []
    code = strip(text)
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', text, re.M):
        what = check_include(path, match.group(2), match.group(1) == '"', exists)
        if what:
            found.append((text.count("\n", 0, match.start()) + 1, what))
    for rule, expression, may in BANS:
        if may and re.match(may, path):
            continue
        for match in re.finditer(expression, code):
            found.append((code.count("\n", 0, match.start()) + 1, f"{rule}: {match.group(0).strip()}"))
    for number, line in enumerate(text.split("\n"), 1):
        if line.rstrip() != line or "\t" in line:
            found.append((number, "space: tab or space at the end"))
    if path.endswith(".h"):
        if not text.startswith("#pragma once\n"):
            found.append((1, "pragma: a header starts with #pragma once"))
        for match in re.finditer(r"\busing\s+namespace\b", code):
            found.append((code.count("\n", 0, match.start()) + 1, "using: using namespace in a header"))
    return found


def check_text(path, text):
    """Findings of any text file."""
    found = [(text.count("\n", 0, m.start()) + 1, f"private: path of a machine: {m.group(0)}") for m in re.finditer(PRIVATE_PATH, text)]
    if path not in ("tests/lint.py", "docs/walk.md"):
        found += [(text.count("\n", 0, m.start()) + 1, f"elsewhere: no page {m.group(0)} here") for m in re.finditer(PAGES_ELSEWHERE, text)]
    return found


# What a README may name without its being here: folders of a build, a file beside a model.
ELSEWHERE = ("build", "bin", "lib", "magika/config.min.json")


def path_words(text):
    """Words of a README that are paths, as (position, word): in backticks or behind a link. Capitals stand for what the reader fills in."""
    for match in re.finditer(r"`([^`\n]+)`|\]\(([^)#\s]+)\)", text):
        for word in (match.group(1) or match.group(2)).split():
            word = word.rstrip(".,;:")
            is_path = re.fullmatch(r"[\w.*+-]+(?:/[\w.*+-]*)+", word) or re.fullmatch(r"[\w*-]+\.(?:h|cpp|c|inc|def|fbs|py|sh|md|tsv|nnir|json|txt)", word)
            if is_path and (not re.search(r"[A-Z]{2,}", word) or word.endswith(".md")) and word.split("/")[0] not in ELSEWHERE and word not in ELSEWHERE:
                yield match.start(), word.rstrip("/")


def check_readme(path, text, exists, beneath):
    """A folder's README has 30 to 80 lines, and what it names exists: from the root, from its folder, or a bare name beneath its folder."""
    found = []
    lines = text.count("\n")
    if path.endswith("/README.md") and not 30 <= lines <= 80:
        found.append((1, f"readme: {lines} lines, not 30 to 80"))
    here = os.path.dirname(path)
    for at, name in path_words(re.sub(r"^```.*?^```", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.M | re.S)):
        if not exists(name) and not exists(os.path.normpath(os.path.join(here, name))) and not ("/" not in name and beneath(here, name)):
            found.append((text.count("\n", 0, at) + 1, f"readme: no {name}"))
    return found


def tree(root):
    """Paths of all files that belong to the project."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if listed.returncode == 0:
        return sorted(f for f in listed.stdout.splitlines() if os.path.isfile(os.path.join(root, f)))
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in (".git", "build", ".cache")]
        found += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return sorted(found)


def check_tree(root):
    import glob
    files = tree(root)
    known = set(files)

    def beneath(folder, name):
        return any(f.startswith(folder + "/" if folder else "") and f.rsplit("/", 1)[-1] == name for f in files)

    def exists(name):
        return name in known or any(f.startswith(name + "/") for f in files) or ("*" in name and glob.glob(os.path.join(root, name)) != [])
    findings = []
    for path in files:
        with open(os.path.join(root, path), "rb") as f:
            raw = f.read()
        found = [(1, f"size: {len(raw)} bytes, at most {MAX_BYTES}")] if len(raw) > MAX_BYTES else []
        if b"\0" not in raw and not path.endswith(".onnx"):
            text = raw.decode("utf-8", "replace")
            found += check_text(path, text)
            if path.endswith((".cpp", ".h", ".c", ".hpp", ".def")) and folder_of(path):
                found += check_code(path, text, exists)
            if os.path.basename(path) == "README.md" or path == "docs/walk.md":
                found += check_readme(path, text, exists, beneath)
        findings += [f"{path}:{line}: {what}" for line, what in found]
    findings += [f"{folder}/README.md:1: readme: the folder has none" for folder in ARROWS if "/" not in folder and not exists(f"{folder}/README.md")]
    return len(files), findings


# Rule that must speak (or None), path, text of the planted file.
PLANTED = [
    (None, "ir/a.cpp", '#include "ir/base/x.h"\n// fopen("a") in a comment\nconst char* s = "system(";\nauto b = w.open("{");\n'),
    ("arrow", "ir/base/a.cpp", '#include "ir/x.h"\n'),
    ("arrow", "runtime/a.cpp", '#include "codegen/x.h"\n'),
    ("arrow", "codegen/a.cpp", '#include "runtime/session.h"\n'),
    (None, "codegen/a.cpp", '#include "runtime/artifact.h"\n#include "passes/pipeline.h"\n'),
    ("arrow", "codegen/a.cpp", '#include "passes/fuse.h"\n'),
    ("arrow", "frontend/onnx/a.cpp", '#include "passes/x.h"\n'),
    ("arrow", "passes/a.cpp", '#include "frontend/trace/x.h"\n'),
    ("include", "ir/a.cpp", '#include "nowhere.h"\n'),
    ("header", "tools/a.cpp", "#include <iostream>\n"),
    ("header", "frontend/onnx/a.cpp", "#include <fstream>\n"),
    ("header", "runtime/a.cpp", "#include <cuda.h>\n"),
    ("file-open", "frontend/onnx/a.cpp", 'auto f = std::fopen(name, "rb");\n'),
    ("file-open", "tools/a.cpp", "int f = ::open(name, 0);\n"),
    ("shell", "codegen/a.cpp", "system(command);\n"),
    ("shell", "codegen/a.cpp", "execvp(a[0], a);\n"),
    ("spawn", "codegen/a.cpp", "if (fork() == 0) return;\n"),
    ("hash", "ir/a.cpp", "std::hash<int> h;\n"),
    ("new-array", "ir/a.cpp", "float* p = new float[n];\n"),
    ("exceptions", "ir/a.cpp", "throw 1;\n"),
    ("time", "ir/a.cpp", "const char* t = __DATE__ ;\n"),
    ("locale", "ir/a.cpp", "int n = std::stoi(s);\n"),
    ("space", "ir/a.cpp", "int a; \n"),
    ("pragma", "ir/a.h", "int a;\n"),
    ("using", "ir/a.h", "#pragma once\nusing namespace std;\n"),
    ("private", "docs/a.md", "see /" + "work/main\n"),
    ("elsewhere", "ir/a.cpp", "// as DESIGN 4.3 says\n"),
    ("readme", "ir/README.md", "short\n"),
    ("readme", "ir/README.md", "\n" * 40 + "see `ir/none.h`\n"),
    ("readme", "ir/README.md", "\n" * 40 + "see `none.h`\n"),
    ("readme", "ir/README.md", "\n" * 40 + "see [there](ops/none.h)\n"),
    (None, "ir/README.md", "\n" * 40 + "see `ir/x.h`, `deep.h`, `build/dev/bin/none.h`, `NAME/none.h`\n"),
]


def check_lint():
    """Every planted fault must be found, and nothing else."""
    wrong = []
    for rule, path, text in PLANTED:
        def exists(name):
            return os.path.basename(name) not in ("nowhere.h", "none.h", "deep.h")
        found = check_text(path, text)
        found += check_readme(path, text, exists, lambda folder, name: name == "deep.h") if path.endswith(".md") and "README" in path else []
        found += check_code(path, text, exists) if path.endswith((".cpp", ".h")) else []
        rules = {what.split(":")[0] for _, what in found}
        if rules != ({rule} if rule else set()):
            wrong.append(f"lint.py: planted {rule} in {path}: found {sorted(rules)}")
    return wrong


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    args = ap.parse_args()
    wrong = check_lint()
    count, findings = check_tree(os.path.normpath(args.root))
    for line in wrong + findings:
        print(line)
    print(f"lint: {count} files, {len(PLANTED)} planted faults, {len(wrong) + len(findings)} findings")
    return 1 if wrong or findings else 0


if __name__ == "__main__":
    sys.exit(main())
