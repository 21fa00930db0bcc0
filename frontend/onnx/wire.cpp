#include "frontend/onnx/wire.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

constexpr int kMaxGroupDepth = 100;

uint64_t read_fixed(ByteView bytes, size_t size) {
  uint64_t v = 0;
  for (size_t i = 0; i < size; ++i) v |= uint64_t(bytes[i]) << (8 * i);
  return v;
}

}  // namespace

bool read_varint(ByteView bytes, size_t* position, uint64_t* value) {
  uint64_t v = 0;
  size_t p = *position;
  for (int shift = 0; shift < 70; shift += 7) {
    if (p >= bytes.size()) return false;
    const uint8_t byte = bytes[p++];
    if (shift < 64) v |= uint64_t(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) {
      *position = p;
      *value = v;
      return true;
    }
  }
  return false;
}

Error wire_error(std::string what, size_t offset) {
  Place place;
  place.offset = static_cast<int64_t>(offset);
  return Error(Code::kInvalidModel, cat("byte ", offset, ": ", what), std::move(place));
}

Error WireReader::broken(std::string what, size_t position) const { return wire_error(std::move(what), base_ + position); }

Result<uint64_t> WireReader::varint() {
  const size_t start = position_;
  uint64_t value = 0;
  if (!read_varint(bytes_, &position_, &value))
    return broken("a number runs past the end of its message or is longer than ten bytes", start);
  return value;
}

Result<bool> WireReader::next(WireField* field) {
  while (position_ < bytes_.size()) {
    const size_t start = position_;
    NNC_ASSIGN(const uint64_t tag, varint());
    const uint64_t number = tag >> 3;
    if (number == 0 || number >= (1u << 29)) return broken(cat("field number ", number, " is not allowed"), start);
    field->number = static_cast<uint32_t>(number);
    field->offset = base_ + start;
    field->bytes = {};
    field->value = 0;
    const size_t left = bytes_.size() - position_;
    switch (tag & 7) {
      case 0: {
        field->type = WireType::kVarint;
        NNC_ASSIGN(field->value, varint());
        return true;
      }
      case 1:
      case 5: {
        const size_t size = (tag & 7) == 1 ? 8 : 4;
        field->type = size == 8 ? WireType::kFixed64 : WireType::kFixed32;
        if (left < size) return broken(cat("field ", number, " needs ", size, " bytes, the message has ", left, " left"), start);
        field->bytes = bytes_.subspan(position_, size);
        field->value = read_fixed(field->bytes, size);
        position_ += size;
        return true;
      }
      case 2: {
        field->type = WireType::kBytes;
        NNC_ASSIGN(const uint64_t length, varint());
        const size_t rest = bytes_.size() - position_;
        if (length > rest) return broken(cat("field ", number, " claims ", length, " bytes, the message has ", rest, " left"), start);
        field->bytes = bytes_.subspan(position_, static_cast<size_t>(length));
        position_ += static_cast<size_t>(length);
        return true;
      }
      case 3: NNC_TRY(skip_group(field->number)); break;
      default: return broken(cat("wire type ", tag & 7, " of field ", number, " is not allowed"), start);
    }
  }
  return false;
}

Status WireReader::skip_group(uint32_t number) {
  std::array<uint64_t, kMaxGroupDepth> open;
  size_t depth = 0;
  open[depth++] = number;
  while (depth > 0) {
    const size_t start = position_;
    if (position_ >= bytes_.size()) return broken(cat("group ", open[depth - 1], " has no end"), start);
    NNC_ASSIGN(const uint64_t tag, varint());
    switch (tag & 7) {
      case 0: NNC_TRY(varint()); break;
      case 3:
        if (depth == open.size()) return broken("groups are nested too deeply", start);
        open[depth++] = tag >> 3;
        break;
      case 4:
        if (open[--depth] != tag >> 3) return broken(cat("the end of group ", tag >> 3, " stands in group ", open[depth]), start);
        break;
      case 1:
      case 2:
      case 5: {
        uint64_t size = (tag & 7) == 1 ? 8 : 4;
        if ((tag & 7) == 2) { NNC_ASSIGN(size, varint()); }
        if (size > bytes_.size() - position_) return broken("a field of a group runs past the end of its message", start);
        position_ += static_cast<size_t>(size);
        break;
      }
      default: return broken(cat("wire type ", tag & 7, " is not allowed"), start);
    }
  }
  return {};
}

PackedVarints::PackedVarints(const WireField& field) : offset_(field.offset) {
  if (field.type == WireType::kBytes) {
    bytes_ = field.bytes;
  } else {
    single_ = field.value;
    has_single_ = true;
  }
}

size_t PackedVarints::count() const {
  if (has_single_) return 1;
  return static_cast<size_t>(std::count_if(bytes_.begin(), bytes_.end(), [](uint8_t b) { return (b & 0x80) == 0; }));
}

Result<bool> PackedVarints::next(uint64_t* value) {
  if (has_single_) {
    *value = single_;
    has_single_ = false;
    return true;
  }
  if (bytes_.empty()) return false;
  size_t position = 0;
  if (!read_varint(bytes_, &position, value)) return wire_error("a list of numbers ends inside a number", offset_);
  bytes_ = bytes_.subspan(position);
  return true;
}

Result<ByteView> fixed_elements(const WireField& field, WireType element, uint8_t (&store)[8]) {
  const size_t size = element == WireType::kFixed64 ? 8 : 4;
  if (field.type == WireType::kBytes) {
    if (field.bytes.size() % size != 0)
      return wire_error(cat("a list of ", size, "-byte numbers has ", field.bytes.size(), " bytes"), field.offset);
    return field.bytes;
  }
  if (field.type != element) return wire_error(cat("field ", field.number, " has the wrong wire type"), field.offset);
  std::copy(field.bytes.begin(), field.bytes.end(), store);
  return ByteView(store, size);
}

void WireWriter::raw_varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) data_ += static_cast<char>(value | 0x80);
  data_ += static_cast<char>(value);
}

WireWriter& WireWriter::varint(uint32_t field, uint64_t value) {
  tag(field, WireType::kVarint);
  raw_varint(value);
  return *this;
}

WireWriter& WireWriter::fixed32(uint32_t field, uint32_t bits) {
  tag(field, WireType::kFixed32);
  for (int i = 0; i < 4; ++i) data_ += static_cast<char>(bits >> (8 * i));
  return *this;
}

WireWriter& WireWriter::fixed64(uint32_t field, uint64_t bits) {
  tag(field, WireType::kFixed64);
  for (int i = 0; i < 8; ++i) data_ += static_cast<char>(bits >> (8 * i));
  return *this;
}

WireWriter& WireWriter::bytes(uint32_t field, std::string_view data) {
  tag(field, WireType::kBytes);
  raw_varint(data.size());
  data_.append(data);
  return *this;
}

WireWriter& WireWriter::packed(uint32_t field, const std::vector<int64_t>& values) {
  WireWriter inner;
  for (const int64_t v : values) inner.raw_varint(static_cast<uint64_t>(v));
  return bytes(field, inner.data_);
}

}  // namespace nnc::onnx
