#pragma once
// The list of artifacts whose native code this user runs: one digest a line in $XDG_STATE_HOME/nnc/trusted (0600, owner-checked). `compile`
// adds what it wrote. The list speaks of contents, never of paths, and nothing about the user is in an artifact.

#include <string>
#include <string_view>
#include <vector>

#include "ir/support/hash.h"
#include "ir/support/result.h"

namespace nnc {

struct TrustEntry {
  Digest digest;
  std::string label;  // for people
};
// A missing list is empty; one that others can write is an error (kUntrusted).
Result<std::vector<TrustEntry>> trusted_list();
Result<bool> is_trusted(const Digest& digest);
// A digest that is there keeps its place and gets the label.
Status add_trust(const Digest& digest, std::string_view label);
Status remove_trust(const Digest& digest);

}  // namespace nnc
