#pragma once
// Names for plain byte buffers and views of them. No ownership tricks and no formats here.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace nnc {

using Bytes = std::vector<uint8_t>;
using ByteView = std::span<const uint8_t>;

inline ByteView bytes_of(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }
inline std::string_view text_of(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace nnc
