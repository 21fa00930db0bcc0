#pragma once
// What is left when nnc itself is wrong: a folder with what was asked, on what machine, with which versions, and the IR after each pass up
// to where it went. No weights, no inputs.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/support/result.h"

namespace nnc::tool {

// What a bundle will tell; kept by reference until the next call.
void remember_words(std::span<const std::string> words);

// Writes `folder`/report.txt and, by running `program` on the model once more, `folder`/passes. What cannot be had is left out.
Status write_crash_bundle(const std::string& folder, std::string_view message, std::span<const std::string> words,
                          const std::string& program);

// The program's own: the folder is below the user's state folder. Says on stderr where it is.
void report_crash(const char* message);

}  // namespace nnc::tool
