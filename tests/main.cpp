// main() of every test binary. It enters the source folder, so that tests name files as NNC_SOURCE_DIR "/tests/...", and gives the
// process what tests rely on unless the caller has set it: NNC_SOURCE_DIR, NNC_BUILD_DIR, NNC_PYTHON, NNC_MODEL_CACHE, NNC_NVRTC, and XDG
// folders of the tests' own, so that no test reads or changes the user's caches and trust list.

#include <cstdio>
#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
// Tests ask for more memory than there is and expect an error, so the allocator must be able to say no.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "allocator_may_return_null=1"; }
#endif

int main(int argc, char** argv) {
  if (chdir(NNC_TEST_SOURCE_DIR) != 0) {
    std::fprintf(stderr, "cannot enter the source folder %s\n", NNC_TEST_SOURCE_DIR);
    return 2;
  }
  testing::InitGoogleMock(&argc, argv);  // after the folder change: parameters of tests are read from files here
  setenv("NNC_SOURCE_DIR", NNC_TEST_SOURCE_DIR, 0);
  setenv("NNC_BUILD_DIR", NNC_TEST_BUILD_DIR, 0);
  setenv("NNC_PYTHON", NNC_TEST_PYTHON, 0);
  setenv("NNC_MODEL_CACHE", NNC_TEST_MODEL_CACHE, 0);
  if (NNC_TEST_NVRTC[0] != 0) setenv("NNC_NVRTC", NNC_TEST_NVRTC, 0);
  const std::string home = std::string(getenv("NNC_BUILD_DIR")) + "/test-home/";
  for (const char* kind : {"config", "state", "cache", "data"}) {
    std::string name = std::string("XDG_") + kind + "_HOME";
    for (char& c : name) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    setenv(name.c_str(), (home + kind).c_str(), 1);
  }
  return RUN_ALL_TESTS();
}
