#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "ir/support/log.h"
#include "ir/support/xdg.h"

namespace nnc {
namespace {

TEST(Log, DropsEventsWithoutASink) {
  const Log log;
  EXPECT_FALSE(log.listening());
  log.warn("nobody hears");
  log.progress("import", 1, 2);
}

TEST(Log, CopiesShareOneSink) {
  std::vector<Event> events;
  const Log log([&events](const Event& event) { events.push_back(event); });
  const Log copy = log;
  Place place;
  place.node = "conv";
  copy.warn("slow", place);
  log.note("info");
  log.progress("compile", 3, 7, "k3");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].kind, EventKind::kWarning);
  EXPECT_EQ(events[0].place.node, "conv");
  EXPECT_EQ(events[1].kind, EventKind::kNote);
  EXPECT_EQ(events[1].total, -1);
  EXPECT_EQ(events[2].phase, "compile");
  EXPECT_EQ(events[2].done, 3);
  EXPECT_EQ(events[2].total, 7);
}

TEST(Log, EventsOfThreadsArriveOneAtATime) {
  int64_t sum = 0;  // not atomic: the log serialises
  const Log log([&sum](const Event& event) { sum += event.done; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log] {
      for (int i = 0; i < 5000; ++i) log.progress("p", 1);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(sum, 20000);
}

TEST(UserDir, XdgThenHomeThenError) {
  EXPECT_EQ(*user_dir(UserDir::kState, "/s", "/home/u"), "/s/nnc");
  EXPECT_EQ(*user_dir(UserDir::kState, "/s/", "/home/u"), "/s/nnc");
  EXPECT_EQ(*user_dir(UserDir::kState, "", "/home/u"), "/home/u/.local/state/nnc");
  EXPECT_EQ(*user_dir(UserDir::kConfig, "", "/home/u/"), "/home/u/.config/nnc");
  EXPECT_EQ(*user_dir(UserDir::kCache, "relative/is/ignored", "/home/u"), "/home/u/.cache/nnc");
  EXPECT_EQ(*user_dir(UserDir::kCache, "/", ""), "/nnc");
  for (const char* home : {"", "home"}) {
    const auto none = user_dir(UserDir::kCache, "", home);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, Code::kIo);
    EXPECT_NE(none.error().str().find("XDG_CACHE_HOME"), std::string::npos);
  }
}

TEST(UserDir, ReadsTheEnvironment) {
  const char* before = std::getenv("XDG_CONFIG_HOME");
  const std::string kept = before ? before : "";
  setenv("XDG_CONFIG_HOME", "/somewhere", 1);
  EXPECT_EQ(*user_dir(UserDir::kConfig), "/somewhere/nnc");
  before ? setenv("XDG_CONFIG_HOME", kept.c_str(), 1) : unsetenv("XDG_CONFIG_HOME");
}

}  // namespace
}  // namespace nnc
