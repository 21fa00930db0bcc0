#pragma once
// Result and Error: how wrong input and a wrong environment are reported. Our own bugs are not errors: they stop
// the program through NNC_CHECK. Nothing here allocates on the success path.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace nnc {

// Stable error codes; the first digit is the exit code of the tool (`docs/errors.md`). Add at the end
// of a family, never renumber.
enum class Code : uint16_t {
  kOk = 0,
  kMismatch = 1001,         // a comparison, an assertion of the model or a regression check failed
  kAssertDims = 1002,       // an assumption about dims recorded at import does not hold for this call
  kIndexOutOfRange = 1003,  // a data-dependent index left its range at run time
  kUsage = 2001,            // the command line is wrong
  kUnknownFlag = 2002,
  kUnknownName = 2003,    // the model has no input, output, dim or node of that name
  kBadInput = 2004,       // an input's dtype, rank or extents do not fit
  kInvalidModel = 3001,   // the model file is broken
  kInvalidIr = 3002,      // the IR does not verify
  kInvalidData = 3003,    // a data file (npy, npz, wav, ...) is broken
  kParse = 3004,          // IR text does not parse
  kNeedDims = 3005,       // the model's structure depends on dims or values that were not given
  kLimit = 3006,          // a resource limit was reached
  kUnsupportedOp = 4001,  // operator, attribute value or dtype not supported
  kNoGradient = 4002,
  kInvalidArtifact = 5001,  // the artifact is broken
  kIncompatible = 5002,     // no variant of the artifact fits this machine
  kUntrusted = 5003,        // native code of a file that this user does not trust
  kRequirement = 5004,      // --require was not met
  kNoDevice = 6001,         // device or driver missing
  kNoCompiler = 6002,       // compiler or NVRTC missing
  kDeviceFailed = 6003,
  kOutOfMemory = 7001,
  kIo = 8001,          // reading or writing a file failed
  kPathEscape = 8002,  // a file named by the model lies outside its folder
  kInternal = 9001,    // our own bug, reported instead of raised at an outer edge
};

// "NNC-2003".
std::string code_name(Code code);
// Exit code of the tool: thousands digit, 70 for internal errors.
int exit_code(Code code);

// Where an error was found. Every field is optional.
struct Place {
  std::string node;  // the model's own name of the node, or a stable label
  std::string op;
  std::string value;  // output or operand concerned
  std::string file;
  int64_t offset = -1;  // byte offset, or line number when line > 0
  int line = 0, column = 0;
  bool empty() const { return node.empty() && op.empty() && value.empty() && file.empty() && line == 0; }
};

struct [[nodiscard]] Error {
  Code code = Code::kInternal;
  std::string message;  // what is wrong, with the values and what was expected
  Place place;
  std::vector<std::string> context;  // further lines: operands, remedy ("try: ..."), outermost last

  Error() = default;
  Error(Code c, std::string text, Place where = {}) : code(c), message(std::move(text)), place(std::move(where)) {}
  Error&& with(std::string line) && {
    context.push_back(std::move(line));
    return std::move(*this);
  }
  Error&& at(Place where) && {
    if (place.empty()) place = std::move(where);
    return std::move(*this);
  }
  // Several lines, as the tool prints them.
  std::string str() const;
};

// The value or the error. `Result<void>` holds nothing on success.
template <class T> class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() & { return *std::get_if<1>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

template <> class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}
  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  Error& error() & { return error_; }
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  Error error_;
  bool ok_ = true;
};
using Status = Result<void>;

[[noreturn]] void check_failed(const char* condition, const char* message, const char* file, int line);

}  // namespace nnc

#define NNC_CONCAT_(a, b) a##b
#define NNC_CONCAT(a, b) NNC_CONCAT_(a, b)
// Returns the error of `expression` from the enclosing function.
#define NNC_TRY(expression)                                                               \
  do {                                                                                    \
    if (auto nnc_try_ = (expression); !nnc_try_.ok()) return std::move(nnc_try_).error(); \
  } while (0)
// `NNC_ASSIGN(auto x, f());` declares or assigns from a Result, or returns its error.
#define NNC_ASSIGN(target, expression) NNC_ASSIGN_(NNC_CONCAT(nnc_assign_, __COUNTER__), target, expression)
#define NNC_ASSIGN_(temporary, target, expression)          \
  auto temporary = (expression);                            \
  if (!temporary.ok()) return std::move(temporary).error(); \
  target = std::move(temporary).value()
// Our own bug: prints and aborts. On in every build.
#define NNC_CHECK(condition, message)                               \
  do {                                                              \
    if (!(condition)) [[unlikely]]                                  \
      ::nnc::check_failed(#condition, message, __FILE__, __LINE__); \
  } while (0)
