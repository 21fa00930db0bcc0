#!/usr/bin/env bash
# Builds and tests as on a machine that has no CUDA toolkit: CMake is told that there is none, NVRTC comes from its wheel, and where this
# process may (root, with namespaces of its own) the toolkit's folders are hidden. The last line is the figure.
#
#   tests/acceptance/no_toolkit.sh [FOLDER]     FOLDER: build/no-toolkit
set -euo pipefail
cd "$(dirname "$0")/../.."
. cmake/setup.sh
build=$(realpath -m "${1:-build/no-toolkit}")
nnc_python

# ---- NVRTC of the wheel
wheel=$build-nvrtc
if ! compgen -G "$wheel/nvidia/*/lib/libnvrtc.so.1*" >/dev/null; then
  "$NNC_PYTHON" -m pip install -q --disable-pip-version-check --no-input --no-warn-script-location --no-deps --target "$wheel" "$nnc_nvrtc_wheel" </dev/null >&2
fi
NNC_NVRTC=$(compgen -G "$wheel/nvidia/*/lib/libnvrtc.so.1*" | head -1)
export NNC_NVRTC

# ---- the toolkit out of sight
if [ -z "${NNC_HIDDEN:-}" ]; then
  if unshare --mount true 2>/dev/null; then
    NNC_HIDDEN=hidden exec unshare --mount "$PWD/tests/acceptance/no_toolkit.sh" "$build"
  fi
  NNC_HIDDEN=visible
fi
if [ "$NNC_HIDDEN" = hidden ]; then
  for folder in /usr/local/cuda*; do
    [ -d "$folder" ] && [ ! -L "$folder" ] && mount -t tmpfs none "$folder"
  done
  for library in /usr/lib/x86_64-linux-gnu/libnvrtc*.so*; do
    [ -e "$library" ] && mount --bind /dev/null "$(realpath "$library")"
  done
fi

# ---- configure, build
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
cmake --preset dev -B "$build" -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON -DNNC_TESTS=ON -DNNC_PYTHON="$NNC_PYTHON" \
  -DNNC_MODEL_CACHE="$NNC_MODEL_CACHE" -DNNC_NVRTC="$NNC_NVRTC" "${launcher[@]}" >/dev/null
if grep -qE '/usr/local/cuda|-lnvrtc|-lcuda|libcuda' "$build/build.ninja"; then
  nnc_die "the build speaks of a CUDA toolkit: $build/build.ninja"
fi
tests=(test_support test_base test_ir test_onnx test_passes test_golden test_runtime test_codegen test_tools test_e2e)
ninja -C "$build" "${tests[@]}" nnc_tool libnnc_rt libnnc libnnc_emu test_capi_nnc_rt >&2
[ ! -e "$build/bin/test_cuda_headers" ] || nnc_die "the test against the toolkit's headers was built"

# ---- run
passed=0 skipped=0
for name in "${tests[@]}"; do
  log=$build/$name.log
  GTEST_FILTER='-Heavy/*' "$build/bin/$name" >"$log" 2>&1 || nnc_die "$name fails without a toolkit: $(grep -m1 FAILED "$log"), see $log"
  passed=$((passed + $(grep -c '^\[       OK \]' "$log" || true)))
  skipped=$((skipped + $(grep -c '^\[  SKIPPED \].*(' "$log" || true)))
done
compiled=$(grep -cE '^\[       OK \].*(Nvrtc|ForDevices)' "$build/test_codegen.log" || true)
[ "$compiled" -ge 8 ] || nnc_die "$compiled tests compiled CUDA text, 8 expected"
echo "$passed tests passed, $skipped skipped, without a CUDA toolkit (its folders: $NNC_HIDDEN); $compiled of them with NVRTC of its wheel"
