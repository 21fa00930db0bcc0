# Functions that bring what building and testing need on Debian 12; sourced by examples/run, tests/run, .ci/run and .ci/full.
# Everything is idempotent and does nothing, quickly, when it is there already. Needs root or sudo only to install packages.

nnc_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
nnc_user_cache=${XDG_CACHE_HOME:-$HOME/.cache}
export NNC_MODEL_CACHE=${NNC_MODEL_CACHE:-$nnc_user_cache/nnc-models}

nnc_packages_build="cmake ninja-build g++ ccache mold flatbuffers-compiler libflatbuffers-dev zlib1g-dev python3 python3-venv"
nnc_packages_tests="libgtest-dev libgmock-dev libbenchmark-dev git asterisk-core-sounds-en-wav fonts-dejavu-core"
nnc_nvrtc_wheel=nvidia-cuda-nvrtc==13.0.88
nnc_packages_tidy="clang clang-format clang-tidy"

nnc_say() { printf '== %s\n' "$*" >&2; }
nnc_die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# nnc_install PACKAGE...: installs those that are missing.
nnc_install() {
  local missing=() package as_root=()
  command -v dpkg-query >/dev/null || { nnc_say "no Debian packages here; needed are: $*"; return 0; }
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || nnc_die "these packages are missing, and there is no sudo: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  nnc_say "installing ${missing[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq </dev/null >&2 || nnc_say "apt-get update failed; trying with the lists at hand"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null >&2 ||
    nnc_die "could not install ${missing[*]}"
}

# nnc_venv: a virtual environment (Debian's own Python takes no packages); sets NNC_PYTHON. A Python that the caller names in
# NNC_PYTHON is taken as it is, here and by nnc_python.
nnc_venv() {
  local venv=$nnc_user_cache/nnc-venv
  if [ -z "${NNC_PYTHON:-}" ]; then
    "$venv/bin/python" -m pip --version >/dev/null 2>&1 || python3 -m venv "$venv" || nnc_die "could not make the virtual environment $venv"
    NNC_PYTHON=$venv/bin/python
  fi
  export NNC_PYTHON
}

# nnc_python: the same with tests/requirements.txt.
nnc_python() {
  local venv=$nnc_user_cache/nnc-venv wanted=$nnc_root/tests/requirements.txt
  nnc_venv
  [ "$NNC_PYTHON" = "$venv/bin/python" ] || return 0
  if ! cmp -s "$wanted" "$venv/requirements.txt" || ! "$NNC_PYTHON" -c 'import numpy, onnx, onnxruntime, PIL' 2>/dev/null; then
    nnc_say "Python packages of tests/requirements.txt into $venv"
    "$NNC_PYTHON" -m pip install -q --disable-pip-version-check --no-input -r "$wanted" </dev/null >&2 ||
      nnc_die "could not install the packages of tests/requirements.txt"
    cp "$wanted" "$venv/requirements.txt"
  fi
}

# nnc_nvrtc: NVRTC of the CUDA toolkit, else of its wheel; sets NNC_NVRTC to the library. Needs nnc_python before it.
nnc_nvrtc() {
  local found
  if [ -n "${NNC_NVRTC:-}" ]; then export NNC_NVRTC; return 0; fi
  nnc_find_nvrtc() {
    local folder file
    for folder in "${CUDA_HOME:-/nonexistent}/lib64" /usr/local/cuda/lib64 /usr/lib/x86_64-linux-gnu \
        "$("$NNC_PYTHON" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"/nvidia/*/lib; do
      for file in "$folder"/libnvrtc.so.1[2-9]*; do
        [ -e "$file" ] && { echo "$file"; return 0; }
      done
    done
    return 1
  }
  if ! found=$(nnc_find_nvrtc); then
    nnc_say "NVRTC from its wheel"
    "$NNC_PYTHON" -m pip install -q --disable-pip-version-check --no-input "$nnc_nvrtc_wheel" </dev/null >&2 ||
      nnc_die "no NVRTC: neither a CUDA toolkit nor the package nvidia-cuda-nvrtc"
    found=$(nnc_find_nvrtc) || nnc_die "the package nvidia-cuda-nvrtc holds no libnvrtc.so where it was looked for"
  fi
  export NNC_NVRTC=$found
}

# nnc_configure PRESET [CMAKE OPTION...]
nnc_configure() {
  (cd "$nnc_root" && cmake --preset "$@" >/dev/null) || nnc_die "configuring preset $1 failed"
}

# nnc_build PRESET [TARGET...]
nnc_build() {
  local preset=$1
  shift
  (cd "$nnc_root" && cmake --build "build/$preset" -j "$(nproc)" ${1:+--target "$@"}) >&2 ||
    nnc_die "building preset $preset failed"
}
