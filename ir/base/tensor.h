#pragma once
// Host tensors: owned or shared bytes with dtype and extents. What constants, inputs, outputs and the interpreters exchange. Always dense
// and row-major; 64-byte aligned. String tensors hold std::string elements and no bytes.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/base/dtype.h"
#include "ir/support/result.h"

namespace nnc {

int64_t element_count(std::span<const int64_t> dims);                  // dims were checked before (CheckedSize); 1 for rank 0
Result<int64_t> checked_element_count(std::span<const int64_t> dims);  // for extents from outside: negative, overflow, element limit

class Tensor {
 public:
  Tensor() = default;
  // Zero-filled. Sizes must have been charged to a Budget by who read them from a file.
  Tensor(DType dtype, std::vector<int64_t> dims);
  static Result<Tensor> create(DType dtype, std::vector<int64_t> dims);  // checks overflow and the element limit
  // Shares `owner`'s bytes (mapped files, constants).
  Tensor(DType dtype, std::vector<int64_t> dims, std::shared_ptr<const void> owner, const void* data, size_t bytes);
  template <class T> static Tensor of(DType dtype, std::vector<int64_t> dims, std::span<const T> values) {
    Tensor t(dtype, std::move(dims));
    NNC_CHECK(values.size_bytes() == t.bytes(), "as many values as the tensor holds");
    if (!values.empty()) __builtin_memcpy(t.data(), values.data(), values.size_bytes());
    return t;
  }
  static Tensor scalar_i64(int64_t v);
  static Tensor scalar_f32(float v);
  static Tensor vector_i64(std::span<const int64_t> v);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t count() const { return element_count(dims_); }
  size_t bytes() const { return bytes_; }
  const void* data() const { return data_; }
  void* data();  // makes the bytes unique first
  template <class T> std::span<const T> as() const { return {static_cast<const T*>(data()), bytes_ / sizeof(T)}; }
  template <class T> std::span<T> as_mut() { return {static_cast<T*>(data()), bytes_ / sizeof(T)}; }
  std::vector<std::string>& strings() { return strings_; }
  const std::vector<std::string>& strings() const { return strings_; }
  double f64(int64_t i) const { return load_f64(dtype_, data_, i); }
  int64_t i64(int64_t i) const { return load_i64(dtype_, data_, i); }
  Tensor reshaped(std::vector<int64_t> dims) const;  // same count; shares bytes
  bool valid() const { return dtype_ != DType::kInvalid; }
  bool same_bits(const Tensor& other) const;  // dtype, dims and bytes (strings) equal

 private:
  DType dtype_ = DType::kInvalid;
  std::vector<int64_t> dims_;
  std::shared_ptr<const void> owner_;
  const void* data_ = nullptr;
  size_t bytes_ = 0;
  bool unique_ = false;
  std::vector<std::string> strings_;
};

}  // namespace nnc
