// Pictures: PNG of every colour type, depth, filter and interlacing, written here bit by bit; PNM; scaling.

#include "examples/support/picture.h"

#include <zlib.h>

#include <array>

#include <gtest/gtest.h>

namespace nnc::example {
namespace {

void put32(Bytes* to, uint32_t v) {
  for (int k = 24; k >= 0; k -= 8) to->push_back(static_cast<uint8_t>(v >> k));
}

void chunk(Bytes* to, std::string_view id, const Bytes& body) {
  put32(to, static_cast<uint32_t>(body.size()));
  const size_t at = to->size();
  to->insert(to->end(), id.begin(), id.end());
  to->insert(to->end(), body.begin(), body.end());
  put32(to, static_cast<uint32_t>(crc32(0, to->data() + at, static_cast<uInt>(to->size() - at))));
}

struct Image {
  int64_t width = 0, height = 0;
  int depth = 8, color = 2;
  bool interlaced = false;
  Bytes palette = {}, alpha = {};
  // Sample `c` of a pixel, below 2^depth.
  int sample(int64_t x, int64_t y, int c) const {
    return static_cast<int>((x * 37 + y * 91 + c * 53 + x * y) & ((1 << depth) - 1)) %
           (color == 3 ? static_cast<int>(palette.size() / 3) : 1 << depth);
  }
  int channels() const { return color == 2 ? 3 : color == 4 ? 2 : color == 6 ? 4 : 1; }
};

// One row of every `dx`-th pixel, packed.
Bytes row_of(const Image& m, int64_t y, int64_t x0, int64_t dx) {
  Bytes out;
  int used = 8;
  for (int64_t x = x0; x < m.width; x += dx) {
    for (int c = 0; c < m.channels(); ++c) {
      const int v = m.sample(x, y, c);
      if (m.depth == 16) {
        out.push_back(static_cast<uint8_t>(v >> 8));
        out.push_back(static_cast<uint8_t>(v));
        continue;
      }
      if (used == 8) {
        out.push_back(0);
        used = 0;
      }
      out.back() = static_cast<uint8_t>(out.back() | v << (8 - m.depth - used));
      used += m.depth;
    }
  }
  return out;
}

// The rows of a pass, filters in turn.
void add_pass(const Image& m, int64_t x0, int64_t y0, int64_t dx, int64_t dy, Bytes* raw) {
  if (x0 >= m.width) return;
  const size_t step = std::max<size_t>(1, static_cast<size_t>(m.channels() * m.depth / 8));
  Bytes above;
  int filter = 0;
  for (int64_t y = y0; y < m.height; y += dy, filter = (filter + 1) % 5) {
    const Bytes row = row_of(m, y, x0, dx);
    raw->push_back(static_cast<uint8_t>(filter));
    for (size_t k = 0; k < row.size(); ++k) {
      const int a = k >= step ? row[k - step] : 0, b = above.empty() ? 0 : above[k], c = above.empty() || k < step ? 0 : above[k - step];
      const int p = a + b - c, pa = std::abs(p - a), pb = std::abs(p - b), pc = std::abs(p - c);
      const int paeth = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
      const std::array<int, 5> predicted = {0, a, b, (a + b) / 2, paeth};
      raw->push_back(static_cast<uint8_t>(row[k] - predicted[static_cast<size_t>(filter)]));
    }
    above = row;
  }
}

Bytes png(const Image& m) {
  Bytes head;
  put32(&head, static_cast<uint32_t>(m.width));
  put32(&head, static_cast<uint32_t>(m.height));
  for (const int v : {m.depth, m.color, 0, 0, m.interlaced ? 1 : 0}) head.push_back(static_cast<uint8_t>(v));
  Bytes raw;
  if (m.interlaced) {
    constexpr int64_t kPasses[7][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    for (const auto& p : kPasses) add_pass(m, p[0], p[1], p[2], p[3], &raw);
  } else {
    add_pass(m, 0, 0, 1, 1, &raw);
  }
  Bytes packed(compressBound(static_cast<uLong>(raw.size())));
  auto length = static_cast<uLongf>(packed.size());
  compress(packed.data(), &length, raw.data(), static_cast<uLong>(raw.size()));
  packed.resize(length);
  const std::string_view magic = "\x89PNG\r\n\x1a\n";
  Bytes out(magic.begin(), magic.end());
  chunk(&out, "IHDR", head);
  if (!m.palette.empty()) chunk(&out, "PLTE", m.palette);
  if (!m.alpha.empty()) chunk(&out, "tRNS", m.alpha);
  chunk(&out, "IDAT", Bytes(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(packed.size() / 2)));  // in two pieces
  chunk(&out, "IDAT", Bytes(packed.begin() + static_cast<std::ptrdiff_t>(packed.size() / 2), packed.end()));
  chunk(&out, "IEND", {});
  return out;
}

int byte_of(const Image& m, int v) { return m.depth == 16 ? v >> 8 : v * 255 / ((1 << m.depth) - 1); }

int expected(const Image& m, int64_t x, int64_t y, int c) {
  if (m.color == 3) {
    const int index = m.sample(x, y, 0), v = m.palette[3 * static_cast<size_t>(index) + static_cast<size_t>(c)];
    const int alpha = static_cast<size_t>(index) < m.alpha.size() ? m.alpha[static_cast<size_t>(index)] : 255;
    return (v * alpha + 255 * (255 - alpha)) / 255;
  }
  const int v = byte_of(m, m.sample(x, y, m.channels() >= 3 ? c : 0));
  const int alpha = m.color == 4 || m.color == 6 ? byte_of(m, m.sample(x, y, m.channels() - 1)) : 255;
  return (v * alpha + 255 * (255 - alpha)) / 255;
}

std::vector<Image> images() {
  const Bytes palette = {10, 20, 30, 200, 100, 50, 0, 255, 0, 7, 8, 9};
  std::vector<Image> out;
  for (const bool interlaced : {false, true}) {
    for (const int depth : {1, 2, 4, 8, 16}) out.push_back({13, 11, depth, 0, interlaced});
    for (const int color : {2, 4, 6})
      for (const int depth : {8, 16}) out.push_back({13, 11, depth, color, interlaced});
    for (const int depth : {2, 4, 8}) out.push_back({13, 11, depth, 3, interlaced, palette, {255, 0, 128}});
  }
  out.push_back({1, 1, 8, 2, true});
  return out;
}

TEST(Png, EveryKindOfPixels) {
  for (const Image& m : images()) {
    const auto p = read_picture(png(m), "x.png");
    ASSERT_TRUE(p.ok()) << m.color << "/" << m.depth << ": " << p.error().str();
    ASSERT_EQ(p->width, m.width);
    for (int64_t y = 0; y < m.height; ++y)
      for (int64_t x = 0; x < m.width; ++x)
        for (int c = 0; c < 3; ++c)
          ASSERT_EQ(p->at(x, y)[c], expected(m, x, y, c))
              << "color " << m.color << " depth " << m.depth << " interlaced " << m.interlaced << " at " << x << "," << y;
  }
}

TEST(Png, BrokenFilesAreErrors) {
  const Bytes whole = png({13, 11, 8, 6, true});
  for (size_t n = 0; n < whole.size(); ++n) {
    const auto p = read_picture(ByteView(whole).first(n), "cut.png");
    ASSERT_FALSE(p.ok()) << n;
    EXPECT_EQ(p.error().code, Code::kInvalidData);
  }
  for (size_t k = 8; k < whole.size(); ++k) {
    Bytes flipped = whole;
    flipped[k] ^= 0x10;
    EXPECT_FALSE(read_picture(flipped, "flipped.png").ok()) << k;
  }
  Image few{4, 4, 2, 3, false, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {}};
  EXPECT_TRUE(read_picture(png(few), "x.png").ok());
  Bytes bytes = png(few);
  const std::string_view text = text_of(bytes);
  const size_t at = text.find("PLTE");  // two colours taken away
  Bytes shorter(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at - 4));
  chunk(&shorter, "PLTE", {1, 2, 3, 4, 5, 6});
  shorter.insert(shorter.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at + 4 + 12 + 4), bytes.end());
  EXPECT_FALSE(read_picture(shorter, "x.png").ok());
  EXPECT_FALSE(read_picture(bytes_of("GIF89a"), "x.gif").ok());
}

TEST(Pnm, GreyAndColor) {
  const std::string grey("P5 # a comment\n2 1\n255\n\x00\xff", 25), color("P6 1 1 65535\n\xff\xff\x80\x00\x00\x00", 19);
  const auto a = read_picture(bytes_of(grey), "g.pgm"), b = read_picture(bytes_of(color), "c.ppm");
  ASSERT_TRUE(a.ok()) << a.error().str();
  ASSERT_TRUE(b.ok()) << b.error().str();
  EXPECT_EQ(a->rgb, (std::vector<uint8_t>{0, 0, 0, 255, 255, 255}));
  EXPECT_EQ(b->rgb, (std::vector<uint8_t>{255, 127, 0}));
  for (size_t n = 2; n < color.size(); ++n) EXPECT_FALSE(read_picture(bytes_of(color).first(n), "cut.ppm").ok()) << n;
}

TEST(Scale, FlatStaysFlatAndMeansStay) {
  Picture p{7, 5, {}};
  for (int64_t k = 0; k < 35; ++k)
    for (int c = 0; c < 3; ++c) p.rgb.push_back(c == 0 ? 200 : c == 1 ? static_cast<uint8_t>(k % 7 < 4 ? 0 : 240) : 17);
  for (const auto& [w, h] : {std::pair<int64_t, int64_t>{3, 2}, {7, 5}, {20, 48}}) {
    const Picture q = scale(p, w, h);
    ASSERT_EQ(q.rgb.size(), static_cast<size_t>(3 * w * h));
    for (int64_t k = 0; k < w * h; ++k) {
      EXPECT_EQ(q.rgb[static_cast<size_t>(3 * k)], 200);
      EXPECT_EQ(q.rgb[static_cast<size_t>(3 * k + 2)], 17);
    }
    EXPECT_LT(q.at(0, 0)[1], q.at(w - 1, 0)[1]);
  }
  EXPECT_EQ(scale(p, 7, 5).rgb, p.rgb);
  EXPECT_EQ(cut(p, 4, 1, 2, 3).rgb.size(), 18u);
  EXPECT_EQ(cut(p, 4, 1, 2, 3).at(0, 0)[1], 240);
}

}  // namespace
}  // namespace nnc::example
