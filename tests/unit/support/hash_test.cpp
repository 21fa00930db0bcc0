#include "ir/support/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "ir/support/text.h"

namespace nnc {
namespace {

class BothForms : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { Sha256::allow_instructions(GetParam()); }
  void TearDown() override { Sha256::allow_instructions(true); }
};
INSTANTIATE_TEST_SUITE_P(Sha256, BothForms, testing::Bool());

TEST_P(BothForms, StandardVectors) {
  EXPECT_EQ(sha256("").hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc").hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").hex(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(
      sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu").hex(),
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sha256("\xbd").hex(), "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
  EXPECT_EQ(sha256("\xc9\x8c\x8e\x55").hex(), "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504");
}

TEST_P(BothForms, MillionLetters) {
  Sha256 hash;
  for (int i = 0; i < 1000; ++i) hash.update(std::string(1000, 'a'));
  EXPECT_EQ(hash.finish().hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_P(BothForms, SizesAroundTheBlockAndThePadding) {
  // Zero bytes, the lengths where padding takes another block.
  EXPECT_EQ(sha256(std::string(55, '\0')).hex(), "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
  EXPECT_EQ(sha256(std::string(56, '\0')).hex(), "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
  EXPECT_EQ(sha256(std::string(57, '\0')).hex(), "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785");
  EXPECT_EQ(sha256(std::string(64, '\0')).hex(), "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
  EXPECT_EQ(sha256(std::string(1000, '\0')).hex(), "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53");
}

TEST_P(BothForms, EveryCutGivesTheSameDigest) {
  std::string text;
  for (int i = 0; i < 200; ++i) text.push_back(static_cast<char>(i * 7));
  for (size_t length = 0; length <= text.size(); ++length) {
    const std::string_view whole = std::string_view(text).substr(0, length);
    Sha256::allow_instructions(false);
    const Digest expected = sha256(whole);
    Sha256::allow_instructions(GetParam());
    for (size_t cut = 0; cut <= length; cut += 1 + length / 16) {
      Sha256 hash;
      hash.update(whole.substr(0, cut));
      hash.update("");
      hash.update(whole.substr(cut));
      ASSERT_EQ(hash.finish(), expected) << length << " cut at " << cut;
    }
  }
}

TEST_P(BothForms, TwoAtOnceAreOneAndTheOther) {
  std::string x, y;
  for (int i = 0; i < 400; ++i) x.push_back(static_cast<char>(i * 7)), y.push_back(static_cast<char>(i * 11 + 3));
  const std::string_view left = x, right = y;
  for (const size_t a : {0, 1, 63, 64, 65, 128, 200, 400})
    for (const size_t b : {0, 1, 63, 64, 127, 192, 399})
      for (const size_t held : {0, 1, 30, 63}) {
        Sha256 one, other;
        one.update(right.substr(0, held));
        Sha256::update_both(one, bytes_of(left.substr(0, a)), other, bytes_of(right.substr(0, b)));
        Sha256::update_both(other, bytes_of(left.substr(0, held)), one, {});
        ASSERT_EQ(one.finish(), sha256(cat(right.substr(0, held), left.substr(0, a)))) << a << " " << b << " " << held;
        ASSERT_EQ(other.finish(), sha256(cat(right.substr(0, b), left.substr(0, held)))) << a << " " << b << " " << held;
      }
}

TEST(Sha256, FinishStartsAfresh) {
  Sha256 hash;
  hash.update("something");
  (void)hash.finish();
  hash.update("abc");
  EXPECT_EQ(hash.finish(), sha256("abc"));
}

TEST(Sha256, DigestTextRoundTrips) {
  const Digest digest = sha256("abc");
  Digest back;
  ASSERT_TRUE(parse_digest(digest.hex(), &back));
  EXPECT_EQ(back, digest);
  EXPECT_FALSE(parse_digest(digest.hex().substr(1), &back));
  EXPECT_FALSE(parse_digest(digest.hex() + "0", &back));
  EXPECT_FALSE(parse_digest(std::string(64, 'g'), &back));
  EXPECT_LT(Digest{}, digest);
}

TEST(Hash64, IsStable) {
  // These values are a contract: the hash is the same on every machine and in every build.
  EXPECT_EQ(hash64(""), 0u);
  EXPECT_EQ(hash64("a"), 0xbb3fb7d80f548e67u);
  EXPECT_EQ(hash64("abcdefgh"), 0x7f1ee347d0ef28f2u);
  EXPECT_EQ(hash64("abcdefghi", 42), 0x335b744876c6eb47u);
}

TEST(Hash64, TellsShortTextsApart) {
  std::set<uint64_t> seen;
  size_t count = 0;
  const auto add = [&](std::string_view text) { seen.insert(hash64(text)), ++count; };
  for (size_t zeros = 0; zeros < 40; ++zeros) add(std::string(zeros, '\0'));
  for (int i = 0; i < 20000; ++i) add("node_" + std::to_string(i));
  for (int bit = 0; bit < 24 * 8; ++bit) {
    std::string text(24, 'x');
    text[static_cast<size_t>(bit / 8)] = static_cast<char>(text[static_cast<size_t>(bit / 8)] ^ (1 << (bit % 8)));
    add(text);
  }
  EXPECT_EQ(seen.size(), count);
  EXPECT_NE(hash64("a", 1), hash64("a", 2));
}

}  // namespace
}  // namespace nnc
