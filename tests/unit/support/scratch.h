#pragma once
// A folder for one test, with short ways to fill it. Also puts the table of system calls back that a test changed.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "ir/support/file.h"
#include "ir/support/file_internal.h"

namespace nnc {

class Scratch : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::create();
    ASSERT_TRUE(made.ok()) << made.error().str();
    folder_.emplace(std::move(made).value());
  }
  void TearDown() override { file_calls = calls_; }

  std::string path(std::string_view name = {}) const { return name.empty() ? folder_->path() : folder_->path() + "/" + std::string(name); }
  void put(std::string_view name, std::string_view text) {
    FILE* file = std::fopen(path(name).c_str(), "wb");
    ASSERT_NE(file, nullptr) << path(name);
    ASSERT_EQ(std::fwrite(text.data(), 1, text.size(), file), text.size());
    std::fclose(file);
  }
  void make_folder(std::string_view name) { ASSERT_EQ(::mkdir(path(name).c_str(), 0700), 0); }
  void make_link(std::string_view target, std::string_view name) {
    ASSERT_EQ(::symlink(std::string(target).c_str(), path(name).c_str()), 0);
  }
  void make_hard_link(std::string_view target, std::string_view name) { ASSERT_EQ(::link(path(target).c_str(), path(name).c_str()), 0); }
  // The file's text, or the error.
  std::string get(std::string_view name) const {
    const auto bytes = read_file(path(name), 1 << 26);
    return bytes.ok() ? std::string(text_of(*bytes)) : bytes.error().str();
  }
  std::string names(std::string_view name = {}) const {
    std::string out;
    const auto entries = list_folder(path(name));
    if (!entries.ok()) return entries.error().str();
    for (const FolderEntry& entry : *entries) out += entry.name + (entry.is_folder ? "/ " : " ");
    return out;
  }

 private:
  std::optional<TempDir> folder_;
  FileCalls calls_ = file_calls;
};

}  // namespace nnc
