#include "ir/text_tensor.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>

#include "ir/support/text.h"
#include "ir/text.h"

namespace nnc {

namespace {

// The dtype of a word of text: complex tensors are read as reals.
DType word_dtype(DType t) { return t == DType::kC64 ? DType::kF32 : t == DType::kC128 ? DType::kF64 : t; }

bool parse_bits(std::string_view word, DType t, void* data, int64_t k) {
  uint64_t bits = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, bits, 16);
  const int width = dtype_bits(t);
  if (error != std::errc() || stop != end || width < 8 || (width < 64 && (bits >> width) != 0)) return false;
  const size_t size = static_cast<size_t>(width) / 8;
  std::memcpy(static_cast<char*>(data) + static_cast<size_t>(k) * size, &bits, size);  // little endian, as everywhere in nnc
  return true;
}

bool parse_word(std::string_view word, DType t, void* data, int64_t k) {
  if (t == DType::kBool) {
    if (word != "true" && word != "false") return false;
    store_i64(t, data, k, word == "true");
    return true;
  }
  if (is_float(t)) {
    if (word.starts_with("0x")) return parse_bits(word.substr(2), t, data, k);
    double v = 0;
    if (!parse_double(word, &v)) return false;
    store_f64(t, data, k, v);
    return true;
  }
  if (t == DType::kU64) {
    uint64_t v = 0;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, v);
    if (error != std::errc() || stop != end) return false;
    store_i64(t, data, k, static_cast<int64_t>(v));
    return true;
  }
  int64_t v = 0;
  if (!parse_int(word, &v) || v < int_min(t) || (v > 0 && static_cast<uint64_t>(v) > int_max(t))) return false;
  store_i64(t, data, k, v);
  return true;
}

std::string float_word(DType t, const void* data, int64_t k) {
  const double v = load_f64(t, data, k);
  // f32 and everything narrower is exact in float, whose shortest form is shorter.
  std::string word = t == DType::kF64 ? cat(v) : cat(static_cast<float>(v));
  const int bits = dtype_bits(t);
  if (bits < 8) return word;
  const size_t size = static_cast<size_t>(bits) / 8;
  const char* at = static_cast<const char*>(data) + static_cast<size_t>(k) * size;
  std::array<char, 8> back{};
  if (parse_word(word, t, back.data(), 0) && std::memcmp(back.data(), at, size) == 0) return word;
  uint64_t raw = 0;
  std::memcpy(&raw, at, size);
  return cat("0x", hex(raw, bits / 4));
}

}  // namespace

int64_t element_words(DType dtype, int64_t count) { return is_complex(dtype) ? 2 * count : count; }

bool parse_element(std::string_view word, Tensor& t, int64_t k) {
  if (t.dtype() == DType::kString) return unquote(word, &t.strings()[static_cast<size_t>(k)]);
  return parse_word(word, word_dtype(t.dtype()), t.data(), k);
}

std::string print_elements(const Tensor& t) {
  if (t.dtype() == DType::kString) return join(t.strings(), ", ", [](const std::string& s) { return quote(s); });
  const DType word = word_dtype(t.dtype());
  std::string out;
  for (int64_t k = 0; k < element_words(t.dtype(), t.count()); ++k) {
    if (k > 0) out += ", ";
    if (word == DType::kBool) {
      out += load_i64(word, t.data(), k) != 0 ? "true" : "false";
    } else if (is_float(word)) {
      out += float_word(word, t.data(), k);
    } else if (word == DType::kU64) {
      append(out, static_cast<uint64_t>(load_i64(word, t.data(), k)));
    } else {
      append(out, load_i64(word, t.data(), k));
    }
  }
  return out;
}

// The side file: a first line, then per tensor a line "HASH DTYPE BYTES DIM DIM .." and its bytes; strings are written as length, ':',
// bytes.

namespace {

constexpr std::string_view kMagic = "nnc-constants 1\n";

std::string tensor_bytes(const Tensor& t) {
  if (t.dtype() != DType::kString) return std::string(static_cast<const char*>(t.data()), t.bytes());
  std::string out;
  for (const std::string& s : t.strings()) append(out, s.size(), ":", s);
  return out;
}

Error broken(std::string what) { return Error(Code::kInvalidData, cat("the side file of constants is broken: ", what)); }

Result<Tensor> tensor_from(DType dtype, std::span<const int64_t> dims, std::string_view bytes) {
  NNC_ASSIGN(Tensor t, Tensor::create(dtype, std::vector<int64_t>(dims.begin(), dims.end())));
  if (dtype != DType::kString) {
    if (bytes.size() != t.bytes()) return broken(cat(bytes.size(), " bytes for a tensor of ", t.bytes()));
    if (!bytes.empty()) std::memcpy(t.data(), bytes.data(), bytes.size());
    return t;
  }
  for (std::string& s : t.strings()) {
    const size_t colon = bytes.find(':');
    int64_t length = 0;
    if (colon == std::string_view::npos || !parse_int(bytes.substr(0, colon), &length) || length < 0)
      return broken("a string without a length");
    bytes.remove_prefix(colon + 1);
    if (static_cast<size_t>(length) > bytes.size()) return broken("a string past the end");
    s = bytes.substr(0, static_cast<size_t>(length));
    bytes.remove_prefix(static_cast<size_t>(length));
  }
  if (!bytes.empty()) return broken("bytes after the last string");
  return t;
}

struct SideEntry {
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;
  size_t offset = 0, size = 0;
};
struct SideFile {
  std::string bytes;
  std::map<Digest, SideEntry> entries;
};

Status read_header(std::string_view line, Digest* hash, SideEntry* entry) {
  const std::vector<std::string_view> words = split(line, ' ');
  int64_t size = 0;
  if (words.size() < 3 || !parse_digest(words[0], hash) || !parse_int(words[2], &size) || size < 0)
    return broken(cat("bad line ", quote(line.substr(0, 100))));
  entry->dtype = parse_dtype(words[1]);
  if (entry->dtype == DType::kInvalid) return broken(cat("no dtype ", quote(words[1])));
  entry->size = static_cast<size_t>(size);
  for (size_t k = 3; k < words.size(); ++k) {
    int64_t extent = 0;
    if (!parse_int(words[k], &extent) || extent < 0) return broken(cat("bad extent ", quote(words[k])));
    entry->dims.push_back(extent);
  }
  return {};
}

}  // namespace

std::string constants_side_file(const Module& m, size_t max_inline_elements) {
  std::map<Digest, const Tensor*> large;
  for (size_t k = 0; k < m.constant_count(); ++k) {
    const Tensor& t = m.constant(ConstId(k));
    if (t.count() > static_cast<int64_t>(max_inline_elements)) large[m.constant_hash(ConstId(k))] = &t;
  }
  std::string out(kMagic);
  for (const auto& [hash, t] : large) {
    const std::string bytes = tensor_bytes(*t);
    append(out, hash.hex(), " ", dtype_name(t->dtype()), " ", bytes.size());
    for (int64_t d : t->dims()) append(out, " ", d);
    out += '\n';
    out += bytes;
  }
  return out;
}

Result<ConstantSource> open_constants_side_file(std::string bytes) {
  auto file = std::make_shared<SideFile>();
  file->bytes = std::move(bytes);
  const std::string_view all = file->bytes;
  if (!all.starts_with(kMagic)) return broken(cat("it does not start with ", quote(kMagic)));
  size_t at = kMagic.size();
  while (at < all.size()) {
    const size_t end = all.find('\n', at);
    if (end == std::string_view::npos) return broken("a line without end");
    Digest hash;
    SideEntry entry;
    NNC_TRY(read_header(all.substr(at, end - at), &hash, &entry));
    entry.offset = end + 1;
    if (entry.size > all.size() - entry.offset) return broken("a tensor past the end");
    at = entry.offset + entry.size;
    file->entries[hash] = std::move(entry);
  }
  return ConstantSource([file](const Digest& hash, DType dtype, std::span<const int64_t> dims) -> Result<Tensor> {
    const auto it = file->entries.find(hash);
    if (it == file->entries.end()) return Error(Code::kInvalidData, cat("the side file has no constant ", hash.hex()));
    const SideEntry& e = it->second;
    if (e.dtype != dtype || !std::equal(dims.begin(), dims.end(), e.dims.begin(), e.dims.end())) {
      return broken(cat("constant ", hash.hex(), " has another dtype or shape than the text says"));
    }
    NNC_ASSIGN(Tensor t, tensor_from(dtype, dims, std::string_view(file->bytes).substr(e.offset, e.size)));
    if (tensor_hash(t) != hash) return broken(cat("constant ", hash.hex(), " has other bytes than its hash says"));
    return t;
  });
}

}  // namespace nnc
