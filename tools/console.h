#pragma once
// Where the tool writes: results to one side, log and errors to the other. Text of models and files passes through `printable` here, once,
// so that no name can steer a terminal. Commands never touch stdout or stderr themselves; tests give a Terminal of their own.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "ir/support/bytes.h"
#include "ir/support/result.h"
#include "tools/progress.h"

namespace nnc::tool {

struct Terminal {
  std::function<void(std::string_view)> out, err;
  std::function<std::string()> out_problem = [] { return std::string(); };  // why what was written to `out` is not there; empty: it is
  bool out_is_terminal = false, err_is_terminal = false;
  int width = 80;
  std::function<std::optional<std::string>(const std::string&)> environment = [](const std::string&) { return std::nullopt; };
  std::function<Result<Bytes>(int64_t max_bytes)> input = [](int64_t) {
    return Result<Bytes>(Error(Code::kIo, "there is no standard input"));
  };
};
// The process's own.
Terminal process_terminal();

enum class ColorMode : uint8_t { kAuto, kAlways, kNever };
enum class ProgressMode : uint8_t { kAuto, kPlain, kJson, kNone };

class Console {
 public:
  explicit Console(Terminal terminal) : terminal_(std::move(terminal)) { set_color(ColorMode::kAuto); }
  const Terminal& terminal() const { return terminal_; }
  void set_color(ColorMode mode);
  void set_quiet(bool quiet) { quiet_ = quiet; }
  void set_json(bool json) { json_ = json; }
  void set_progress(ProgressMode mode) { progress_mode_ = mode; }
  bool json() const { return json_; }

  // The result. `print` is for people and silent with --json; `raw` writes bytes as they are.
  void print(std::string_view text);
  void raw(ByteView bytes) { write_out(text_of(bytes)); }
  // The log: a whole line each.
  void note(std::string_view line);
  void note_once(std::string_view line);
  void warn(std::string_view line);
  void error(const Error& e);
  // A phase that goes on until `phase` or an error tells its end; `advance` from any thread, where the total is known.
  void begin(std::string_view name, std::string_view subject);
  void advance(int64_t done, int64_t total);
  void done();  // the end of a phase that nothing is told about
  // A phase that has ended: "  import     rec.onnx      opset 9, 765 nodes      0.03 s".
  void phase(std::string_view name, std::string_view subject, std::string_view detail, double seconds);

  std::string bold(std::string_view text) const { return out_color_ ? styled("1", text) : std::string(text); }
  std::string dim(std::string_view text) const { return out_color_ ? styled("2", text) : std::string(text); }

 private:
  static std::string styled(std::string_view code, std::string_view text);
  void write_out(std::string_view text);
  void write_err(std::string_view text);
  Terminal terminal_;
  std::set<std::string, std::less<>> told_;  // by note_once
  bool quiet_ = false, json_ = false, out_color_ = false, err_color_ = false;
  ProgressMode progress_mode_ = ProgressMode::kAuto;
  std::unique_ptr<Progress> progress_;  // made by the first phase that begins
};

// Control characters (but newlines and tabs) and broken UTF-8 as \xNN.
std::string printable(std::string_view text);
// Length of the UTF-8 sequence that `text` starts with; 0 if it starts with none.
size_t valid_utf8_prefix(std::string_view text);
// Characters on the screen, each code point as one.
size_t screen_width(std::string_view text);
std::string seconds_text(double seconds);  // "0.03 s", "812 us"

}  // namespace nnc::tool
