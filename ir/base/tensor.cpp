#include "ir/base/tensor.h"

#include <cstring>

#include "ir/support/checked.h"
#include "ir/support/memory.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

constexpr int64_t kMaxElements = int64_t(1) << 48;

std::string dims_text(std::span<const int64_t> dims) {
  return cat("[", join(dims, ",", [](int64_t d) { return d; }), "]");
}

}  // namespace

int64_t element_count(std::span<const int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

Result<int64_t> checked_element_count(std::span<const int64_t> dims) {
  NNC_ASSIGN(const int64_t n, extent_product(dims));
  if (n > kMaxElements) return Error(Code::kLimit, cat("shape ", dims_text(dims), " has more than 2^48 elements"));
  return n;
}

Tensor::Tensor(DType dtype, std::vector<int64_t> dims) : dtype_(dtype), dims_(std::move(dims)) {
  const int64_t n = count();
  NNC_CHECK(n >= 0, "negative extent");
  if (dtype == DType::kString) {
    strings_.resize(size_t(n));
    return;
  }
  bytes_ = dtype_bytes(dtype, n);
  auto memory = shared_memory(bytes_, true);
  NNC_CHECK(memory != nullptr, "out of memory; sizes that come from outside go through Tensor::create");
  data_ = memory.get();
  owner_ = std::move(memory);
  unique_ = true;
}

Result<Tensor> Tensor::create(DType dtype, std::vector<int64_t> dims) {
  NNC_ASSIGN(const int64_t n, checked_element_count(dims));
  if (dtype == DType::kInvalid || dtype >= DType::kCount) return Error(Code::kBadInput, "a tensor needs a dtype");
  Tensor t;
  t.dtype_ = dtype;
  t.dims_ = std::move(dims);
  if (dtype == DType::kString) {
    if (size_t(n) > t.strings_.max_size()) return Error(Code::kLimit, cat("too many strings: ", n));
    t.strings_.resize(size_t(n));
    return t;
  }
  t.bytes_ = dtype_bytes(dtype, n);
  auto memory = shared_memory(t.bytes_, true);
  if (!memory)
    return Error(Code::kOutOfMemory, cat("no memory for a tensor ", dtype_name(dtype), dims_text(t.dims_), " of ", human_bytes(t.bytes_)));
  t.data_ = memory.get();
  t.owner_ = std::move(memory);
  t.unique_ = true;
  return t;
}

Tensor::Tensor(DType dtype, std::vector<int64_t> dims, std::shared_ptr<const void> owner, const void* data, size_t bytes)
    : dtype_(dtype), dims_(std::move(dims)), owner_(std::move(owner)), data_(data), bytes_(bytes) {
  NNC_CHECK(dtype != DType::kString, "string tensors have no bytes to share");
  NNC_CHECK(bytes_ == dtype_bytes(dtype_, count()), "shared bytes do not fit dtype and extents");
}

Tensor Tensor::scalar_i64(int64_t v) { return of<int64_t>(DType::kI64, {}, {&v, 1}); }
Tensor Tensor::scalar_f32(float v) { return of<float>(DType::kF32, {}, {&v, 1}); }
Tensor Tensor::vector_i64(std::span<const int64_t> v) { return of<int64_t>(DType::kI64, {int64_t(v.size())}, v); }

void* Tensor::data() {
  // unique_: the bytes are an allocation of this class, which its only holder may write.
  if (unique_ && owner_.use_count() == 1) return const_cast<void*>(data_);
  if (!data_) return nullptr;
  auto memory = shared_memory(bytes_, false);
  NNC_CHECK(memory != nullptr, "out of memory while copying a shared tensor");
  if (bytes_ > 0) std::memcpy(memory.get(), data_, bytes_);
  data_ = memory.get();
  void* writable = memory.get();
  owner_ = std::move(memory);
  unique_ = true;
  return writable;
}

Tensor Tensor::reshaped(std::vector<int64_t> dims) const {
  NNC_CHECK(element_count(dims) == count(), "reshaped to another element count");
  Tensor t = *this;
  t.dims_ = std::move(dims);
  return t;
}

bool Tensor::same_bits(const Tensor& other) const {
  if (dtype_ != other.dtype_ || dims_ != other.dims_ || bytes_ != other.bytes_ || strings_ != other.strings_) return false;
  return bytes_ == 0 || std::memcmp(data_, other.data_, bytes_) == 0;
}

}  // namespace nnc
