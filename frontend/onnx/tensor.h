#pragma once
// Host tensors out of TensorProtos: raw bytes, typed fields, external data. Sizes are checked against what the file really holds before
// memory is taken.

#include <map>
#include <string>

#include "frontend/onnx/model.h"
#include "ir/base/tensor.h"
#include "ir/support/file.h"

namespace nnc::onnx {

// kInvalidModel for a number that no element type has.
Result<DType> dtype_of(DataType type);
DataType data_type_of(DType type);

// Reads the tensors of one model. External data lie beneath the model's folder; files stay open between tensors.
class TensorReader {
 public:
  // `model_path`: the model's file; empty: a model in memory, which has no external data. `contents`: of the file, where protos are views
  // of it.
  explicit TensorReader(Budget& budget, std::string model_path = {}, const FileContents* contents = nullptr);
  Result<Tensor> read(const TensorProto& proto);
  // The dense form of a sparse tensor.
  Result<Tensor> read_sparse(const SparseTensorProto& proto);

 private:
  Result<Tensor> external(const TensorProto& proto, DType dtype, int64_t bytes);
  Result<const ReadFile*> open(std::string_view location);

  Budget& budget_;
  const FileContents* contents_;
  std::string folder_, file_name_;
  std::map<std::string, ReadFile, std::less<>> files_;
};

// A tensor file of ONNX's test data (input_0.pb).
Result<Tensor> read_tensor_pb(ByteView bytes, const Limits& limits = {});

}  // namespace nnc::onnx
