#pragma once
// Tensors as npy and npz files, from and to bytes in memory; opening files is the caller's matter. Reads what numpy writes: npy 1.0 to 3.0,
// C and Fortran order, either byte order, npz stored or deflated, zip64. Not here: pickled objects, records, dates, encrypted archives,
// ONNX protobufs.
//
// numpy has no spelling for types that it lacks. We write those under the name that ml_dtypes registers ('bfloat16', 'float8_e4m3fn',
// 'int4': one element per byte below one byte), which numpy.load reads once ml_dtypes is imported; what numpy.save makes of a bfloat16
// array ('<V2') is read as bf16.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/base/tensor.h"
#include "ir/support/budget.h"
#include "ir/support/bytes.h"

namespace nnc {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// Bytes of a file. `owner` keeps them alive: with it a tensor may share them where they are aligned, in C order and in our representation;
// without it every tensor is a copy. `name` is for messages.
struct FileBytes {
  ByteView bytes;
  std::string_view name;
  std::shared_ptr<const void> owner = nullptr;
};

// A broken file is kInvalidData with the byte offset; a sound one that we have no dtype for is kUnsupportedOp. Memory is charged to the
// budget before it is taken.
Result<Tensor> read_npy(const FileBytes& file, Budget& budget);
// The entries in archive order, without ".npy". An entry whose checksum, declared size or name does not hold fails the whole archive.
Result<std::vector<NamedTensor>> read_npz(const FileBytes& file, Budget& budget);
// One entry; kUnknownName lists what there is.
Result<Tensor> read_npz_entry(const FileBytes& file, std::string_view name, Budget& budget);

// Receives the output in order, in as many pieces as it takes.
using ByteSink = std::function<Status(ByteView)>;
Status write_npy(const Tensor& tensor, const ByteSink& sink);
// Stored, without times: the same tensors give the same bytes. From `zip64_from` bytes on, sizes and offsets take the zip64 form.
Status write_npz(std::span<const NamedTensor> tensors, const ByteSink& sink, uint64_t zip64_from = 0xffffffff);
Result<Bytes> npy_bytes(const Tensor& tensor);
Result<Bytes> npz_bytes(std::span<const NamedTensor> tensors);

}  // namespace nnc
