#include "runtime/trust.h"

#include <algorithm>
#include <functional>

#include "ir/support/file.h"
#include "ir/support/text.h"
#include "ir/support/xdg.h"

namespace nnc {

namespace {

constexpr int64_t kMaxListBytes = 16 << 20;
constexpr int kLockMs = 2000;

Result<std::vector<TrustEntry>> read_list(const std::string& path) {
  std::vector<TrustEntry> out;
  auto file = ReadFile::open_private(path);
  if (!file.ok()) {
    if (file.error().code == Code::kIo) return out;  // not there
    return std::move(file).error();
  }
  NNC_ASSIGN(const Bytes bytes, file->read_all(kMaxListBytes));
  for (std::string_view line : split(text_of(bytes), '\n')) {
    TrustEntry e;
    if (line.size() < 64 || !parse_digest(line.substr(0, 64), &e.digest)) continue;  // a line of another version of this program
    e.label = std::string(trim(line.substr(64)));
    out.push_back(std::move(e));
  }
  return out;
}

Status change_list(const std::function<void(std::vector<TrustEntry>&)>& change) {
  NNC_ASSIGN(const std::string folder, user_dir(UserDir::kState));
  NNC_TRY(ensure_private_dir(folder));
  const std::string path = folder + "/trusted";
  NNC_ASSIGN(const FileLock lock, FileLock::acquire(path + ".lock", kLockMs));
  NNC_ASSIGN(std::vector<TrustEntry> list, read_list(path));
  change(list);
  std::string text;
  for (const TrustEntry& e : list) append(text, e.digest.hex(), e.label.empty() ? "" : " ", e.label, "\n");
  return write_file_atomic(path, bytes_of(text), 0600);
}

// A label is one printable line.
std::string clean(std::string_view label) {
  std::string out;
  for (char c : label.substr(0, 200)) out += c >= ' ' && c < 127 ? c : '?';
  return out;
}

}  // namespace

Result<std::vector<TrustEntry>> trusted_list() {
  NNC_ASSIGN(const std::string folder, user_dir(UserDir::kState));
  return read_list(folder + "/trusted");
}

Result<bool> is_trusted(const Digest& digest) {
  NNC_ASSIGN(const std::vector<TrustEntry> list, trusted_list());
  return std::any_of(list.begin(), list.end(), [&](const TrustEntry& e) { return e.digest == digest; });
}

Status add_trust(const Digest& digest, std::string_view label) {
  return change_list([&](std::vector<TrustEntry>& list) {
    for (TrustEntry& e : list)
      if (e.digest == digest) {
        e.label = clean(label);
        return;
      }
    list.push_back({digest, clean(label)});
  });
}

Status remove_trust(const Digest& digest) {
  return change_list([&](std::vector<TrustEntry>& list) { std::erase_if(list, [&](const TrustEntry& e) { return e.digest == digest; }); });
}

}  // namespace nnc
