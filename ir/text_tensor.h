#pragma once
// Tensors in IR text: elements written inline, and the side file of those too large for it. Used by the printer and the parser only.

#include <string>
#include <string_view>

#include "ir/base/tensor.h"

namespace nnc {

// "1, 2.5, nan": every element reads back to the same bits. A float whose decimal form does not is written as its bits, 0x7fc00001.
std::string print_elements(const Tensor& t);
// How many element words a tensor of that dtype and count has in text (complex: two each).
int64_t element_words(DType dtype, int64_t count);
// Reads word `k` into the tensor; false if it is no element of that dtype.
bool parse_element(std::string_view word, Tensor& t, int64_t k);

}  // namespace nnc
