#pragma once
// Protobuf's wire format, read and written without a library. The reader gives one field at a time as a view into the file's bytes; it
// copies nothing, calls itself never, and reports wrong bytes with their offset. What the fields mean is model.h's affair.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/support/bytes.h"
#include "ir/support/result.h"

namespace nnc::onnx {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// One field. `value` holds a varint or the little-endian bits of a fixed field, `bytes` what a length-delimited one holds.
struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;
  ByteView bytes;
  size_t offset = 0;  // of the field's tag in the file
};

// Walks the fields of one message. `base` is the message's offset in the file, for errors.
class WireReader {
 public:
  explicit WireReader(ByteView bytes, size_t base = 0) : bytes_(bytes), base_(base) {}
  // False at the end of the message. Groups are skipped.
  Result<bool> next(WireField* field);
  size_t offset() const { return base_ + position_; }

 private:
  Result<uint64_t> varint();
  Status skip_group(uint32_t number);
  Error broken(std::string what, size_t position) const;

  ByteView bytes_;
  size_t base_ = 0;
  size_t position_ = 0;
};

// At `*position`, which moves behind it; false where it runs past the end or has more than ten bytes.
bool read_varint(ByteView bytes, size_t* position, uint64_t* value);

// Values of a repeated scalar field, packed or not: one call per occurrence of the field. Each gives false at the end.
class PackedVarints {
 public:
  explicit PackedVarints(const WireField& field);
  Result<bool> next(uint64_t* value);
  size_t count() const;  // of what is left; nothing is decoded

 private:
  ByteView bytes_;
  uint64_t single_ = 0;
  bool has_single_ = false;
  size_t offset_ = 0;
};

// Elements of a repeated fixed field as raw little-endian bytes: the packed bytes, or the single value copied into `store`.
Result<ByteView> fixed_elements(const WireField& field, WireType element, uint8_t (&store)[8]);

Error wire_error(std::string what, size_t offset);

// Appends fields to a buffer. Nested messages are built inside out: write the inner one, then `message`.
class WireWriter {
 public:
  WireWriter& varint(uint32_t field, uint64_t value);
  WireWriter& fixed32(uint32_t field, uint32_t bits);
  WireWriter& fixed64(uint32_t field, uint64_t bits);
  WireWriter& bytes(uint32_t field, std::string_view data);
  WireWriter& message(uint32_t field, const WireWriter& inner) { return bytes(field, inner.data()); }
  WireWriter& packed(uint32_t field, const std::vector<int64_t>& values);
  const std::string& data() const { return data_; }

 private:
  void raw_varint(uint64_t value);
  void tag(uint32_t field, WireType type) { raw_varint(uint64_t(field) << 3 | static_cast<uint64_t>(type)); }
  std::string data_;
};

}  // namespace nnc::onnx
