// The model's file in memory. Raw data of the graph's initializers stay in the file where they are large.

#include <algorithm>
#include <array>

#include "frontend/onnx/importer.h"
#include "frontend/onnx/wire.h"
#include "ir/support/file.h"

namespace nnc {

using onnx::WireType;

namespace {

constexpr uint64_t kLarge = 64 << 10;

// Walks the fields on the way to raw data through a small window on the file.
class RawDataFinder {
 public:
  explicit RawDataFinder(const ReadFile& file) : file_(file) {}
  // False for what is not encoded as a model is.
  bool run() { return message(0, file_.size(), 0); }
  std::vector<FileRange> found;

 private:
  static constexpr std::array<uint32_t, 3> kPath = {7, 5, 9};  // graph of the model, initializer of the graph, raw_data of the tensor

  bool message(int64_t at, int64_t end, size_t depth) {
    while (at < end) {
      uint64_t tag = 0, value = 0;
      constexpr uint64_t kFieldEnd = uint64_t{1} << 29;
      if (!varint(&at, end, &tag) || tag >> 3 == 0 || tag >> 3 >= kFieldEnd) return false;
      switch (tag & 7) {
        case uint64_t(WireType::kVarint):
          if (!varint(&at, end, &value)) return false;
          break;
        case uint64_t(WireType::kFixed64): at += 8; break;
        case uint64_t(WireType::kFixed32): at += 4; break;
        case uint64_t(WireType::kBytes): {
          if (!varint(&at, end, &value) || value > static_cast<uint64_t>(end - at)) return false;
          const auto length = static_cast<int64_t>(value);
          const bool on_path = tag >> 3 == kPath[depth];
          if (on_path && depth + 1 < kPath.size() && !message(at, at + length, depth + 1)) return false;
          if (on_path && depth + 1 == kPath.size() && value >= kLarge) found.push_back({at, length});
          at += length;
          break;
        }
        default: return false;  // groups, which no exporter writes
      }
      if (at > end) return false;
    }
    return true;
  }

  bool varint(int64_t* at, int64_t end, uint64_t* value) {
    constexpr int64_t kLongest = 10;
    const int64_t wanted = std::min(*at + kLongest, end);
    if (*at < begin_ || wanted > begin_ + static_cast<int64_t>(filled_)) {
      begin_ = *at;
      filled_ = static_cast<size_t>(std::min<int64_t>(window_.size(), file_.size() - begin_));
      if (!file_.read(begin_, std::span(window_).first(filled_)).ok()) return false;
    }
    auto position = static_cast<size_t>(*at - begin_);
    if (!onnx::read_varint(ByteView(window_).first(static_cast<size_t>(wanted - begin_)), &position, value)) return false;
    *at = begin_ + static_cast<int64_t>(position);
    return true;
  }

  const ReadFile& file_;
  std::array<uint8_t, 4096> window_{};
  int64_t begin_ = 0;
  size_t filled_ = 0;
};

}  // namespace

Result<FileContents> read_onnx_file(ReadFile file, int64_t max_bytes) {
  RawDataFinder finder(file);
  // A file that is too large is refused below, before anybody walks through it.
  if (file.size() > max_bytes || !finder.run()) finder.found.clear();
  return FileContents::read(std::move(file), max_bytes, std::move(finder.found));
}

}  // namespace nnc
