#include "frontend/onnx/tensor.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "frontend/onnx/wire.h"
#include "ir/support/checked.h"
#include "ir/support/memory.h"
#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

constexpr DType kTypes[] = {DType::kInvalid,    DType::kF32,    DType::kU8,         DType::kI8,   DType::kU16,  DType::kI16,
                            DType::kI32,        DType::kI64,    DType::kString,     DType::kBool, DType::kF16,  DType::kF64,
                            DType::kU32,        DType::kU64,    DType::kC64,        DType::kC128, DType::kBF16, DType::kF8E4M3FN,
                            DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ, DType::kU4,   DType::kI4,   DType::kF4E2M1,
                            DType::kF8E8M0,     DType::kU2,     DType::kI2};

// The typed field that holds elements of a dtype, and the bytes that one entry of the field fills.
struct FieldRule {
  uint32_t number;  // of TensorProto
  bool varint;
  size_t bytes;
};
FieldRule field_rule(DType t) {
  switch (t) {
    case DType::kF32:
    case DType::kC64: return {4, false, 4};
    case DType::kF64:
    case DType::kC128: return {10, false, 8};
    case DType::kI64: return {7, true, 8};
    case DType::kU32: return {11, true, 4};
    case DType::kU64: return {11, true, 8};
    case DType::kI32: return {5, true, 4};
    case DType::kI16:
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16: return {5, true, 2};
    default: return {5, true, 1};  // 8 bits and less: one byte an entry
  }
}

std::string called(const TensorProto& p) { return p.name.empty() ? "a tensor without a name" : cat("tensor ", quote(p.name)); }
Error bad(const TensorProto& p, std::string what) {
  Error e = wire_error(std::move(what), p.offset);
  e.message = cat(called(p), " at ", e.message);
  e.place.value = std::string(p.name);
  return e;
}

// Calls `f` for each occurrence of the typed field.
template <class F> Status each_occurrence(const TensorProto& p, uint32_t number, F&& f) {
  for (const ByteView part : p.parts) {
    WireReader reader(part, p.offset);
    for (WireField field;;) {
      NNC_ASSIGN(const bool more, reader.next(&field));
      if (!more) break;
      if (field.number == number) NNC_TRY(f(field));
    }
  }
  return {};
}

Result<size_t> entries_in_file(const TensorProto& p, const FieldRule& rule) {
  size_t count = 0;
  NNC_TRY(each_occurrence(p, rule.number, [&](const WireField& field) -> Status {
    if (rule.varint) {
      if (field.type != WireType::kBytes && field.type != WireType::kVarint) return bad(p, "its elements have the wrong wire type");
      count += PackedVarints(field).count();
      return {};
    }
    uint8_t store[8];
    NNC_ASSIGN(const ByteView raw, fixed_elements(field, rule.bytes == 8 ? WireType::kFixed64 : WireType::kFixed32, store));
    count += raw.size() / rule.bytes;
    return {};
  }));
  return count;
}

Status fill_typed(const TensorProto& p, const FieldRule& rule, uint8_t* out) {
  return each_occurrence(p, rule.number, [&](const WireField& field) -> Status {
    if (!rule.varint) {
      uint8_t store[8];
      NNC_ASSIGN(const ByteView raw, fixed_elements(field, rule.bytes == 8 ? WireType::kFixed64 : WireType::kFixed32, store));
      out = std::copy(raw.begin(), raw.end(), out);
      return {};
    }
    PackedVarints values(field);
    for (uint64_t v = 0;;) {
      NNC_ASSIGN(const bool more, values.next(&v));
      if (!more) return {};
      std::memcpy(out, &v, rule.bytes);  // little endian
      out += rule.bytes;
    }
  });
}

Status fill_strings(const TensorProto& p, Tensor& t) {
  size_t next = 0;
  return each_occurrence(p, 6, [&](const WireField& field) -> Status {
    if (field.type != WireType::kBytes) return bad(p, "its strings have the wrong wire type");
    t.strings()[next++] = std::string(text_of(field.bytes));
    return {};
  });
}

// Memory that is about to be filled: weights are large, so it is not zeroed first. `fill` gets the bytes.
template <class F> Result<Tensor> filled(DType dtype, std::vector<int64_t> dims, size_t bytes, F&& fill) {
  const std::shared_ptr<void> owner = shared_memory(bytes, false);
  if (owner == nullptr) return Error(Code::kOutOfMemory, cat("no memory for a tensor of ", human_bytes(bytes)));
  auto* data = static_cast<uint8_t*>(owner.get());
  if (bytes > 0) NNC_TRY(fill(std::span<uint8_t>(data, bytes)));
  if (dtype == DType::kBool) {
    for (size_t k = 0; k < bytes; ++k) data[k] = data[k] != 0 ? 1 : 0;
  }
  return Tensor(dtype, std::move(dims), owner, data, bytes);
}

struct ExternalEntry {
  std::string_view location;
  int64_t offset = 0;
  int64_t length = -1;
};
Result<ExternalEntry> external_entry(const TensorProto& p) {
  ExternalEntry e;
  for (const auto& [key, value] : p.external) {
    if (key == "location") {
      e.location = value;
    } else if (key == "offset" || key == "length") {
      int64_t n = 0;
      if (!parse_int(value, &n) || n < 0) return bad(p, cat("external data: ", key, " ", quote(value), " is no size"));
      (key == "offset" ? e.offset : e.length) = n;
    } else if (key != "checksum") {
      return bad(p, cat("external data: unknown key ", quote(key), "; expected location, offset, length or checksum"));
    }
  }
  if (e.location.empty()) return bad(p, "external data without a location");
  return e;
}

}  // namespace

Result<DType> dtype_of(DataType type) {
  const auto i = static_cast<uint32_t>(type);
  if (i == 0 || i >= std::size(kTypes)) return Error(Code::kInvalidModel, cat(static_cast<int32_t>(type), " is no element type of ONNX"));
  return kTypes[i];
}

DataType data_type_of(DType type) {
  const auto* found = std::ranges::find(kTypes, type);
  return found == std::end(kTypes) ? DataType::kUndefined : static_cast<DataType>(found - kTypes);
}

TensorReader::TensorReader(Budget& budget, std::string model_path, const FileContents* contents) : budget_(budget), contents_(contents) {
  if (model_path.empty()) return;
  const size_t slash = model_path.rfind('/');
  folder_ = slash == std::string::npos ? "." : slash == 0 ? "/" : model_path.substr(0, slash);
  file_name_ = slash == std::string::npos ? model_path : model_path.substr(slash + 1);
}

Result<const ReadFile*> TensorReader::open(std::string_view location) {
  if (const auto found = files_.find(location); found != files_.end()) return &found->second;
  auto file = open_beneath(folder_, location);
  if (!file.ok() && file.error().code == Code::kIo) {
    // A renamed model: its data keep the exporter's name or were renamed with it.
    std::string stem = file_name_.substr(0, file_name_.rfind('.'));
    for (const std::string& sibling : {cat(file_name_, ".data"), cat(stem, ".data")}) {
      if (sibling == location) continue;
      if (auto other = open_beneath(folder_, sibling); other.ok()) {
        file = std::move(other);
        break;
      }
    }
  }
  if (!file.ok()) {
    Error e = std::move(file).error();
    e.message = cat("the model's weights are in another file, ", quote(location), ": ", e.message);
    return e;
  }
  return &files_.emplace(std::string(location), std::move(*file)).first->second;
}

Result<Tensor> TensorReader::external(const TensorProto& p, DType dtype, int64_t bytes) {
  NNC_ASSIGN(const ExternalEntry e, external_entry(p));
  if (file_name_.empty()) return bad(p, cat("its data are in the file ", quote(e.location), ", but this model did not come from a file"));
  NNC_ASSIGN(const ReadFile* file, open(e.location));
  const int64_t length = e.length >= 0 ? e.length : bytes;
  if (length != bytes) return bad(p, cat("external data of ", length, " bytes, its type and extents need ", bytes));
  if (!fits(e.offset, length, file->size())) {
    return bad(p,
               cat("external data at ", e.offset, ", ", length, " bytes: the file ", quote(e.location), " has ", file->size(), " bytes"));
  }
  NNC_TRY(budget_.charge(Limit::kTotalBytes, bytes));
  return filled(dtype, p.dims, static_cast<size_t>(bytes), [&](std::span<uint8_t> out) { return file->read(e.offset, out); });
}

Result<Tensor> TensorReader::read_sparse(const SparseTensorProto& s) {
  NNC_ASSIGN(const Tensor values, read(s.values));
  NNC_ASSIGN(const Tensor indices, read(s.indices));
  if (values.rank() != 1 || values.dtype() == DType::kString || dtype_bits(values.dtype()) % 8 != 0)
    return bad(s.values, "values of a sparse tensor must be a vector of whole bytes");
  const int64_t count = values.dims()[0];
  const auto rank = static_cast<int64_t>(s.dims.size());
  const bool linear = indices.rank() == 1 && indices.dims()[0] == count;
  const bool coordinates = indices.rank() == 2 && indices.dims()[0] == count && indices.dims()[1] == rank;
  if (indices.dtype() != DType::kI64 || !(linear || coordinates))
    return bad(s.indices, "indices of a sparse tensor must be i64, [count] or [count, rank]");
  auto bytes = byte_size(s.dims, dtype_bits(values.dtype()));
  auto total = checked_element_count(s.dims);
  if (!bytes.ok() || !total.ok()) return bad(s.values, "the sparse tensor's extents are larger than any tensor can be");
  NNC_TRY(budget_.charge(Limit::kFoldedBytes, *bytes));  // a small file can name a large dense tensor
  NNC_TRY(budget_.charge(Limit::kTotalBytes, *bytes));
  NNC_ASSIGN(Tensor t, Tensor::create(values.dtype(), s.dims));
  const auto size = static_cast<size_t>(dtype_bits(values.dtype())) / 8;
  const auto at = indices.as<int64_t>();
  for (int64_t k = 0; k < count; ++k) {
    int64_t position = linear ? at[static_cast<size_t>(k)] : 0;
    if (coordinates) {
      for (int64_t a = 0; a < rank; ++a) {
        const int64_t c = at[static_cast<size_t>(k * rank + a)], extent = s.dims[static_cast<size_t>(a)];
        if (c < 0 || c >= extent) return bad(s.indices, cat("index ", c, " of entry ", k, " is outside an axis of extent ", extent));
        position = position * extent + c;
      }
    }
    if (position < 0 || position >= *total)
      return bad(s.indices, cat("index ", position, " of entry ", k, " is outside ", *total, " elements"));
    std::memcpy(static_cast<uint8_t*>(t.data()) + static_cast<size_t>(position) * size,
                static_cast<const uint8_t*>(values.data()) + static_cast<size_t>(k) * size, size);
  }
  return t;
}

Result<Tensor> read_tensor_pb(ByteView bytes, const Limits& limits) {
  Budget budget(limits);
  NNC_ASSIGN(const TensorProto proto, read_tensor_proto(bytes, budget));
  return TensorReader(budget).read(proto);
}

Result<Tensor> TensorReader::read(const TensorProto& p) {
  if (p.has_segment) return bad(p, "segmented tensors are not supported");
  auto dtype = dtype_of(p.data_type);
  if (!dtype.ok()) return bad(p, dtype.error().message);
  NNC_TRY(budget_.within(Limit::kRank, static_cast<int64_t>(p.dims.size())));
  for (const int64_t d : p.dims) {
    if (d < 0) return bad(p, cat("extent ", d, " is negative"));
  }
  auto count = checked_element_count(p.dims);
  auto bytes = *dtype == DType::kString ? Result<int64_t>(0) : byte_size(p.dims, dtype_bits(*dtype));
  if (!count.ok() || !bytes.ok()) return bad(p, "its extents are larger than any tensor can be");
  NNC_TRY(budget_.within(Limit::kElements, *count));

  const bool external_data = p.data_location == 1;
  const FieldRule rule = *dtype == DType::kString ? FieldRule{6, false, 0} : field_rule(*dtype);
  if (external_data) {
    if (*dtype == DType::kString) return bad(p, "strings can't be external data");
  } else if (p.has_raw) {
    if (*dtype == DType::kString) return bad(p, "strings can't be raw data");
    if (p.raw.size() != static_cast<size_t>(*bytes)) {
      return bad(p, cat("raw data of ", p.raw.size(), " bytes, its type and extents need ", *bytes));
    }
  } else {
    size_t have = 0, need = static_cast<size_t>(*count);
    if (*dtype == DType::kString) {
      NNC_TRY(each_occurrence(p, 6, [&](const WireField& field) -> Status {
        ++have;
        return budget_.charge(Limit::kStringBytes, static_cast<int64_t>(field.bytes.size()));
      }));
    } else {
      NNC_ASSIGN(have, entries_in_file(p, rule));
      need = static_cast<size_t>(*bytes) / rule.bytes;
    }
    if (have != need) return bad(p, cat("it holds ", have, " elements, its extents need ", need));
  }
  if (external_data) return external(p, *dtype, *bytes);
  NNC_TRY(budget_.charge(Limit::kTotalBytes, *bytes));
  if (*dtype == DType::kString) {
    NNC_ASSIGN(Tensor t, Tensor::create(*dtype, p.dims));
    NNC_TRY(fill_strings(p, t));
    return t;
  }
  return filled(*dtype, p.dims, static_cast<size_t>(*bytes), [&](std::span<uint8_t> out) -> Status {
    if (!p.has_raw) return fill_typed(p, rule, out.data());
    if (contents_ != nullptr) return contents_->copy(p.raw, out);
    std::memcpy(out.data(), p.raw.data(), out.size());
    return {};
  });
}

}  // namespace nnc::onnx
