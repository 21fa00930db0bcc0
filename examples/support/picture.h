#pragma once
// Pictures: PNG (every colour type and depth, interlaced too) and PGM or PPM files as 8-bit RGB, transparent parts on white; cutting and
// scaling.

#include <cstdint>
#include <string>
#include <vector>

#include "ir/support/bytes.h"
#include "ir/support/result.h"

namespace nnc::example {

struct Picture {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> rgb;  // rows from the top, three bytes a pixel
  const uint8_t* at(int64_t x, int64_t y) const { return rgb.data() + 3 * (y * width + x); }
};
Result<Picture> read_picture(ByteView bytes, const std::string& name);
Picture cut(const Picture& p, int64_t x, int64_t y, int64_t width, int64_t height);
// Triangle filter, as wide as a pixel of the smaller picture, so that nothing between pixels is lost.
Picture scale(const Picture& p, int64_t width, int64_t height);

}  // namespace nnc::example
