#pragma once
// One file, or a few, per row of "Malicious or broken files": what stands for each fault that others had, as bytes, and what must come of
// it.

#include <map>
#include <string>
#include <vector>

#include "ir/support/result.h"

namespace nnc::test {

struct BrokenFile {
  std::string row;   // of the table
  std::string name;  // of the file, unique
  std::string model;
  std::map<std::string, std::string> beside = {};     // files beside the model (names may hold folders of their own)
  std::map<std::string, std::string> links = {};      // name -> target, symbolic
  std::map<std::string, std::string> hardlinks = {};  // name -> target
  Code expected = Code::kInvalidModel;                // kOk: it runs
  std::string same_as = {};                           // kOk: the name of the file whose answers are the same, or nothing
};

std::vector<BrokenFile> broken_corpus();

}  // namespace nnc::test
