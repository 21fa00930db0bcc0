// What a long phase shows: a line that is drawn over on a terminal, events, and nothing where nobody looks.

#include <chrono>

#include "ir/support/text.h"
#include "tests/unit/tools/tool_fixture.h"
#include "tools/progress.h"

namespace nnc::tool {
namespace {

using namespace std::chrono_literals;

struct Screen {
  std::mutex mutex;
  std::string text;
  Progress::Form form;
  explicit Screen(Progress::Form f) : form(f) {}
  auto writer() {
    return [this](std::string_view s) {
      const std::lock_guard lock(mutex);
      text += s;
    };
  }
  std::string seen() {
    const std::lock_guard lock(mutex);
    return text;
  }
  // Waits until `part` is there, for at most five seconds.
  bool comes(std::string_view part) {
    for (int k = 0; k < 500; ++k) {
      if (seen().find(part) != std::string::npos) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }
};

TEST(Progress, Line) {
  EXPECT_EQ(progress_line("kernels", "cpu:vm", 3, 12, 2.06), "  kernels    cpu:vm             [#####...............] 3/12 2.1 s");
  EXPECT_EQ(progress_line("kernels", "cpu:vm", 12, 12, 0), "  kernels    cpu:vm             [####################] 12/12 0.0 s");
  EXPECT_EQ(progress_line("import", "a.onnx", 0, 0, 61), "  import     a.onnx             61.0 s");
}

TEST(Progress, ADrawnLineMakesRoom) {
  Screen s(Progress::Form::kDrawn);
  {
    Progress p(s.form, s.writer());
    p.begin("kernels", "cpu");
    p.advance(1, 4);
    ASSERT_TRUE(s.comes("[#####...............] 1/4")) << s.seen();
    p.advance(3, 4);
    ASSERT_TRUE(s.comes("3/4")) << s.seen();
    p.write("a note\n");
    EXPECT_NE(s.seen().find("\r\x1b[Ka note\n"), std::string::npos) << s.seen();
    p.end();
  }
  EXPECT_FALSE(s.seen().ends_with("s\x1b[K")) << "the line is still there: " << s.seen();
}

TEST(Progress, ShortPhasesAndSilentFormsShowNothing) {
  Screen drawn(Progress::Form::kDrawn), lines(Progress::Form::kLines);
  {
    Progress p(drawn.form, drawn.writer()), q(lines.form, lines.writer());
    p.begin("import", "a.onnx");
    q.begin("import", "a.onnx");
    std::this_thread::sleep_for(20ms);
    p.end();
    std::this_thread::sleep_for(400ms);
  }
  EXPECT_EQ(drawn.seen(), "");
  EXPECT_EQ(lines.seen(), "");
}

TEST(Progress, EventsAreJson) {
  Screen s(Progress::Form::kEvents);
  {
    Progress p(s.form, s.writer());
    p.begin("kernels", "cpu");
    p.advance(1, 4);
    ASSERT_TRUE(s.comes("\n"));
  }
  const test::Json e = test::JsonReader(s.seen()).read();
  EXPECT_EQ(e["event"].text, "progress");
  EXPECT_EQ(e["done"].num(), 1);
  EXPECT_EQ(e["total"].num(), 4);
  EXPECT_GE(e["seconds"].num(), 1);
}

TEST(Progress, OffATerminalNothingIsDrawn) {
  std::string err;
  Console console(Terminal{[](std::string_view) {}, [&err](std::string_view s) { err += s; }});
  console.begin("import", "a.onnx");
  std::this_thread::sleep_for(400ms);
  console.phase("import", "a.onnx", "3 nodes", 0.4);
  EXPECT_TRUE(err.starts_with("  import     a.onnx")) << err;
  EXPECT_EQ(err.find('\r'), std::string::npos);
}

}  // namespace
}  // namespace nnc::tool
