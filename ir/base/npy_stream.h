#pragma once
// The npy format over a stream, shared by npy files and the entries of npz archives. For tensor_io's units only.

#include <optional>

#include "ir/base/tensor_io.h"

namespace nnc {

// A run of bytes of known length that is read once, front to back: part of a file, or what a deflated entry inflates to.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t remaining() const = 0;            // by the declared length
  virtual int64_t offset() const = 0;                // in the file, for messages
  virtual Status read(void* out, size_t bytes) = 0;  // exactly as many
  // The next bytes where they lie, or null if they have to be read. Skips them.
  virtual const uint8_t* view(size_t bytes) = 0;
};

class MemorySource final : public ByteSource {
 public:
  // `base`: offset of `bytes` in the file.
  MemorySource(ByteView bytes, int64_t base, std::string_view file) : bytes_(bytes), base_(base), file_(file) {}
  uint64_t remaining() const override { return bytes_.size() - at_; }
  int64_t offset() const override { return base_ + int64_t(at_); }
  Status read(void* out, size_t bytes) override;
  const uint8_t* view(size_t bytes) override;

 private:
  ByteView bytes_;
  int64_t base_;
  std::string_view file_;
  size_t at_ = 0;
};

Error broken_file(std::string_view file, int64_t offset, std::string message);

// Reads one array that takes up all of the source. `owner` as in FileBytes.
Result<Tensor> read_npy_stream(ByteSource& source, std::string_view file, const std::shared_ptr<const void>& owner, Budget& budget);

// An array as it is written: header and payload, the payload in `converted` where it is not the tensor's own bytes.
struct NpyImage {
  std::string header;
  Bytes converted;
  ByteView payload;
};
Result<NpyImage> npy_image(const Tensor& tensor);

}  // namespace nnc
