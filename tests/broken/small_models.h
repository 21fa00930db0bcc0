#pragma once
// Small ONNX files with much in them, to be cut and changed: a convolution with norm, pool and sizes computed from shapes; branches, a
// loop, a function and every kind of attribute; windows, resizing, quantisation and an LSTM.

#include <string>

namespace nnc::test {

std::string picture_model();
std::string control_model();
std::string mixed_model();

}  // namespace nnc::test
