#include "tools/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ir/support/text.h"
#include "tools/json.h"

namespace nnc::tool {

namespace {

constexpr std::string_view kEscape = "\x1b[";

// Whether all of it went out.
bool write_stream(std::FILE* stream, std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::fflush(stream) == 0;
}

Result<Bytes> read_stdin(int64_t max_bytes) {
  Bytes out;
  uint8_t buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::read(0, buffer, sizeof buffer);
    if (n < 0) return Error(Code::kIo, "reading standard input failed");
    if (n == 0) return out;
    if (static_cast<int64_t>(out.size()) + n > max_bytes)
      return Error(Code::kLimit, cat("standard input holds more than ", max_bytes, " bytes"));
    out.insert(out.end(), buffer, buffer + n);
  }
}

}  // namespace

Terminal process_terminal() {
  Terminal t;
  const auto problem = std::make_shared<std::string>();
  t.out = [problem](std::string_view s) {
    if (!write_stream(stdout, s) && problem->empty()) *problem = std::strerror(errno);
  };
  t.out_problem = [problem] { return *problem; };
  t.err = [](std::string_view s) { write_stream(stderr, s); };
  t.out_is_terminal = isatty(1) != 0;
  t.err_is_terminal = isatty(2) != 0;
  winsize size{};
  if ((t.out_is_terminal && ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) ||
      (t.err_is_terminal && ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 0))
    t.width = size.ws_col;
  t.environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  t.input = read_stdin;
  return t;
}

size_t valid_utf8_prefix(std::string_view s) {
  const auto c = static_cast<unsigned char>(s[0]);
  const size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
  if (n == 0 || n > s.size()) return 0;
  for (size_t k = 1; k < n; ++k)
    if ((static_cast<unsigned char>(s[k]) & 0xc0) != 0x80) return 0;
  if (n >= 3) {
    const auto second = static_cast<unsigned char>(s[1]);
    if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) || (c == 0xf0 && second < 0x90) || (c == 0xf4 && second > 0x8f))
      return 0;
  }
  return n;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    size_t n = valid_utf8_prefix(text);
    const bool control =
        (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f || (n == 2 && c == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0);
    if (n == 0 || control) {
      n = n == 0 ? 1 : n;
      for (size_t k = 0; k < n; ++k) append(out, "\\x", hex(static_cast<unsigned char>(text[k]), 2));
    } else {
      out += text.substr(0, n);
    }
    text.remove_prefix(n);
  }
  return out;
}

size_t screen_width(std::string_view text) {
  size_t n = 0;
  for (const char c : text) n += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return n;
}

std::string seconds_text(double s) {
  char text[32];
  if (s < 1e-3)
    std::snprintf(text, sizeof text, "%.1f us", s * 1e6);
  else if (s < 0.1)
    std::snprintf(text, sizeof text, "%.2f ms", s * 1e3);
  else
    std::snprintf(text, sizeof text, "%.2f s", s);
  return text;
}

std::string Console::styled(std::string_view code, std::string_view text) { return cat(kEscape, code, "m", text, kEscape, "0m"); }

void Console::set_color(ColorMode mode) {
  const auto no_color = terminal_.environment("NO_COLOR"), term = terminal_.environment("TERM");
  const bool allowed = (!no_color || no_color->empty()) && !(term && *term == "dumb");
  out_color_ = mode == ColorMode::kAlways || (mode == ColorMode::kAuto && terminal_.out_is_terminal && allowed);
  err_color_ = mode == ColorMode::kAlways || (mode == ColorMode::kAuto && terminal_.err_is_terminal && allowed);
}

void Console::print(std::string_view text) {
  if (json_) return;
  // Styles of our own pass; they are put around text that is printable.
  std::string out;
  while (!text.empty()) {
    const size_t at = out_color_ ? text.find(kEscape) : std::string_view::npos;
    out += printable(text.substr(0, at));
    if (at == std::string_view::npos) break;
    text.remove_prefix(at);
    size_t end = kEscape.size();
    while (end < text.size() && (text[end] == ';' || (text[end] >= '0' && text[end] <= '9'))) ++end;
    if (end < text.size() && text[end] == 'm') {
      out += text.substr(0, end + 1);
      text.remove_prefix(end + 1);
    } else {
      out += "\\x1b";
      text.remove_prefix(1);
    }
  }
  write_out(out);
}

void Console::note(std::string_view line) {
  if (!quiet_) write_err(cat(printable(line), "\n"));
}

void Console::note_once(std::string_view line) {
  if (told_.emplace(line).second) note(line);
}

void Console::warn(std::string_view line) {
  if (!quiet_) write_err(cat(err_color_ ? styled("1", "warning:") : "warning:", " ", printable(line), "\n"));
}

void Console::write_out(std::string_view text) {
  if (progress_ != nullptr) progress_->write("");
  terminal_.out(text);
}

void Console::write_err(std::string_view text) {
  if (progress_ != nullptr)
    progress_->write(text);
  else
    terminal_.err(text);
}

void Console::begin(std::string_view name, std::string_view subject) {
  if (quiet_ || progress_mode_ == ProgressMode::kNone) return;
  const bool draws = progress_mode_ == ProgressMode::kAuto && terminal_.err_is_terminal && terminal_.environment("TERM") != "dumb";
  if (progress_ == nullptr)
    progress_ = std::make_unique<Progress>(progress_mode_ == ProgressMode::kJson ? Progress::Form::kEvents
                                           : draws                               ? Progress::Form::kDrawn
                                                                                 : Progress::Form::kLines,
                                           terminal_.err);
  progress_->begin(name, subject);
}

void Console::advance(int64_t done, int64_t total) {
  if (progress_ != nullptr) progress_->advance(done, total);
}

void Console::done() {
  if (progress_ != nullptr) progress_->end();
}

void Console::error(const Error& e) {
  if (progress_ != nullptr) progress_->end();
  if (json_) {
    JsonWriter w;
    w.object().field("schema", "nnc.error/1");
    w.key("error");
    write_error(w, e);
    w.end();
    write_err(cat(w.take(), "\n"));
    return;
  }
  const std::string code = code_name(e.code);
  Error shown = e;
  // Lines that all come indented are not indented again.
  if (std::ranges::all_of(shown.context, [](const std::string& line) { return line.starts_with("  "); }))
    for (std::string& line : shown.context) line.erase(0, 2);
  // Every failure names what to type next; where it does not itself, the page of its code does.
  const bool helps = std::ranges::any_of(shown.context, [](const std::string& line) {
    return line.find("try:") != line.npos || line.find("nnc ") != line.npos || line.find("did you mean") != line.npos;
  });
  if (!helps) shown.context.push_back(cat("more: nnc explain ", code));
  const std::string rest = printable(shown.str().substr(code.size()));  // ": message" and the lines below
  const std::string head = cat("error[", code, "]");
  write_err(cat(err_color_ ? styled("1", head) : head, rest, "\n"));
}

void Console::phase(std::string_view name, std::string_view subject, std::string_view detail, double seconds) {
  if (progress_ != nullptr) progress_->end();
  if (quiet_ || progress_mode_ == ProgressMode::kNone) return;
  if (progress_mode_ == ProgressMode::kJson) {
    JsonWriter w;
    w.object()
        .field("event", "phase")
        .field("phase", name)
        .field("subject", subject)
        .field("detail", detail)
        .field("seconds", seconds)
        .end();
    write_err(cat(w.take(), "\n"));
    return;
  }
  auto pad = [](std::string_view s, size_t width) {
    return cat(s, std::string(width > screen_width(s) ? width - screen_width(s) : 0, ' '));
  };
  char time[32];
  std::snprintf(time, sizeof time, "%8.2f s", seconds);
  write_err(cat("  ", pad(name, 10), " ", pad(printable(subject), 18), " ", pad(printable(detail), 46), time, "\n"));
}

}  // namespace nnc::tool
