// `nnc trust`: the list of artifacts whose native code this user runs.

#include "runtime/trust.h"
#include "ir/support/text.h"
#include "runtime/artifact.h"
#include "tools/command.h"
#include "tools/document.h"
#include "tools/table.h"

namespace nnc::tool {

namespace {

Result<int> show_list(const Arguments& a, Console& console) {
  NNC_ASSIGN(const std::vector<TrustEntry> list, trusted_list());
  if (console.json()) {
    JsonWriter w = begin_document("trust", a);
    w.key("artifacts").array();
    for (const TrustEntry& e : list) w.object().field("digest", e.digest.hex()).field("label", e.label).end();
    w.end();
    finish_document(w, console);
    return 0;
  }
  Table table({"digest", "artifact"});
  for (const TrustEntry& e : list) table.row({e.digest.hex(), e.label});
  console.print(table.empty() ? std::string(" no artifact is trusted\n") : table.str());
  return 0;
}

}  // namespace

Result<int> trust_command(const Arguments& a, Console& console) {
  if (a.positionals.empty()) {
    if (a.has("remove")) return Error(Code::kUsage, "trust --remove needs an artifact").with("try: nnc trust, for the list");
    return show_list(a, console);
  }
  const std::string& path = a.positionals[0];
  ArtifactOptions options;
  options.check_contents = true;  // what is vouched for is whole
  NNC_ASSIGN(const auto artifact, Artifact::open(path, options));
  if (a.has("remove"))
    NNC_TRY(remove_trust(artifact->digest()));
  else
    NNC_TRY(add_trust(artifact->digest(), path.substr(path.rfind('/') + 1)));
  if (console.json()) {
    JsonWriter w = begin_document("trust", a);
    w.field("artifact", path).field("digest", artifact->digest().hex()).field("trusted", !a.has("remove"));
    finish_document(w, console);
  }
  console.print(
      cat(" ", path, a.has("remove") ? " is no longer trusted" : " is trusted", " (", artifact->digest().hex().substr(0, 16), "...)\n"));
  return 0;
}

}  // namespace nnc::tool
