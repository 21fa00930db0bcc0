// Our declarations of NVRTC against the toolkit's: every enum value, and the type of every function.

#include <gtest/gtest.h>
#include <nvrtc.h>

#include <type_traits>

#include "codegen/cuda/nvrtc_api.h"

namespace nnc {
namespace {

// A parameter of ours as the toolkit declares it.
template <class T> struct Theirs { using type = T; };
template <> struct Theirs<nvrtc::Status> { using type = nvrtcResult; };
template <> struct Theirs<nvrtc::Program> { using type = nvrtcProgram; };
template <> struct Theirs<nvrtc::Program*> { using type = nvrtcProgram*; };
template <class F> struct TheirFunction;
template <class R, class... A> struct TheirFunction<R (*)(A...)> {
  using type = typename Theirs<R>::type (*)(typename Theirs<A>::type...);
};

#define NNC_SAME(member, symbol, parameters) \
  static_assert(std::is_same_v<TheirFunction<decltype(nvrtc::Api::member)>::type, decltype(&::symbol)>, #symbol " has another signature");
NNC_NVRTC_FUNCTIONS(NNC_SAME)
#undef NNC_SAME

static_assert(sizeof(nvrtc::Program) == sizeof(nvrtcProgram) && std::is_pointer_v<nvrtcProgram>);
static_assert(sizeof(nvrtc::Status) == sizeof(nvrtcResult));

TEST(CudaHeaders, NvrtcStatusValues) {
  EXPECT_EQ(int(nvrtc::kSuccess), int(NVRTC_SUCCESS));
  EXPECT_EQ(int(nvrtc::kOutOfMemory), int(NVRTC_ERROR_OUT_OF_MEMORY));
  EXPECT_EQ(int(nvrtc::kProgramCreationFailure), int(NVRTC_ERROR_PROGRAM_CREATION_FAILURE));
  EXPECT_EQ(int(nvrtc::kInvalidInput), int(NVRTC_ERROR_INVALID_INPUT));
  EXPECT_EQ(int(nvrtc::kInvalidProgram), int(NVRTC_ERROR_INVALID_PROGRAM));
  EXPECT_EQ(int(nvrtc::kInvalidOption), int(NVRTC_ERROR_INVALID_OPTION));
  EXPECT_EQ(int(nvrtc::kCompilation), int(NVRTC_ERROR_COMPILATION));
  EXPECT_EQ(int(nvrtc::kBuiltinOperationFailure), int(NVRTC_ERROR_BUILTIN_OPERATION_FAILURE));
  EXPECT_EQ(int(nvrtc::kNoNameExpressionsAfterCompilation), int(NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION));
  EXPECT_EQ(int(nvrtc::kNoLoweredNamesBeforeCompilation), int(NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION));
  EXPECT_EQ(int(nvrtc::kNameExpressionNotValid), int(NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID));
  EXPECT_EQ(int(nvrtc::kInternalError), int(NVRTC_ERROR_INTERNAL_ERROR));
}

}  // namespace
}  // namespace nnc
