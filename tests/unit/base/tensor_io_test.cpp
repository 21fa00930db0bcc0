#include "ir/base/tensor_io.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "ir/base/zip.h"
#include "ir/support/spawn.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

std::string describe(const Tensor& t) {
  std::string out = cat(dtype_name(t.dtype()), "[", join(t.dims(), ",", [](int64_t d) { return d; }), "]");
  for (int64_t i = 0; i < t.count(); ++i) {
    const DType part = t.dtype() == DType::kC64 ? DType::kF32 : DType::kF64;
    if (t.dtype() == DType::kString)
      append(out, " ", quote(t.strings()[size_t(i)]));
    else if (is_complex(t.dtype()))
      append(out, " (", load_f64(part, t.data(), 2 * i), ",", load_f64(part, t.data(), 2 * i + 1), ")");
    else if (is_float(t.dtype()))
      append(out, " ", t.f64(i));
    else
      append(out, " ", t.i64(i));
  }
  return out;
}

std::string describe(const std::vector<NamedTensor>& tensors) {
  return join(tensors, " | ", [](const NamedTensor& t) { return cat(t.name, " ", describe(t.tensor)); });
}

Bytes from_hex(std::string_view text) {
  Bytes out;
  for (size_t i = 0; i + 1 < text.size(); i += 2) out.push_back(uint8_t(std::strtoul(std::string(text.substr(i, 2)).c_str(), nullptr, 16)));
  return out;
}

struct NumpyFile {
  std::string kind, name, text;
  Bytes bytes;
};
std::vector<NumpyFile> numpy_files() {
  std::vector<NumpyFile> out;
  std::ifstream file("tests/unit/base/numpy_files.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    NumpyFile f;
    std::string hex;
    words >> f.kind >> f.name >> hex;
    f.bytes = from_hex(hex);
    f.text = line.substr(line.find(" | ") + 3);
    out.push_back(std::move(f));
  }
  return out;
}
Bytes numpy_file(std::string_view name) {
  for (NumpyFile& f : numpy_files())
    if (f.name == name) return std::move(f.bytes);
  ADD_FAILURE() << "no file " << name;
  return {};
}

Result<Tensor> npy(ByteView bytes) {
  Budget budget;
  return read_npy({bytes, "x.npy"}, budget);
}
Result<std::vector<NamedTensor>> npz(ByteView bytes) {
  Budget budget;
  return read_npz({bytes, "x.npz"}, budget);
}

// One tensor of each dtype with different elements, odd counts and a zero-sized one.
std::vector<NamedTensor> all_types() {
  std::vector<NamedTensor> out;
  for (int d = 1; d < int(DType::kCount); ++d) {
    const DType t = DType(d);
    for (std::vector<int64_t> dims : {std::vector<int64_t>{3, 5}, {}, {2, 0}, {7}}) {
      Tensor x(t, dims);
      for (int64_t i = 0; i < x.count(); ++i) {
        if (t == DType::kString)
          x.strings()[size_t(i)] = i % 3 == 0 ? std::string() : cat("s", i, "\xc3\xa4\xf0\x9f\x98\x80");
        else if (is_complex(t))
          for (int k = 0; k < 2; ++k) store_f64(t == DType::kC64 ? DType::kF32 : DType::kF64, x.data(), 2 * i + k, double(i) - 2.5 * k);
        else
          store_f64(t, x.data(), i, t == DType::kF8E8M0 ? double(1 << (i % 20)) : is_float(t) ? 1.5 * double(i) - 3 : double(i - 2));
      }
      out.push_back({cat(dtype_name(t), "/", dims.size(), dims.empty() ? "" : cat("_", dims.back())), std::move(x)});
    }
  }
  return out;
}

TEST(TensorIo, ReadsWhatNumpyWrites) {
  const auto files = numpy_files();
  ASSERT_GT(files.size(), 35u);
  for (const NumpyFile& f : files) {
    if (f.kind == "npy") {
      const auto t = npy(f.bytes);
      ASSERT_TRUE(t.ok()) << f.name << ": " << t.error().str();
      EXPECT_EQ(describe(*t), f.text) << f.name;
    } else {
      const auto t = npz(f.bytes);
      ASSERT_TRUE(t.ok()) << f.name << ": " << t.error().str();
      EXPECT_EQ(describe(*t), f.text) << f.name;
    }
  }
}

TEST(TensorIo, NpyRoundTripOfEveryType) {
  for (const NamedTensor& t : all_types()) {
    const auto bytes = npy_bytes(t.tensor);
    ASSERT_TRUE(bytes.ok()) << t.name;
    if (t.tensor.count() > 0 && t.tensor.dtype() != DType::kString) {
      EXPECT_EQ((bytes->size() - size_t(t.tensor.count()) * size_t(std::max(1, dtype_bits(t.tensor.dtype()) / 8))) % 64, 0u);
    }
    const auto back = npy(*bytes);
    ASSERT_TRUE(back.ok()) << t.name << back.error().str();
    EXPECT_TRUE(back->same_bits(t.tensor)) << t.name << " " << describe(*back) << " " << describe(t.tensor);
  }
}

TEST(TensorIo, NpzRoundTripNarrowAndWide) {
  const auto tensors = all_types();
  for (uint64_t zip64_from : {uint64_t(0xffffffff), uint64_t(300), uint64_t(0)}) {
    Bytes bytes;
    ASSERT_TRUE(write_npz(
                    tensors,
                    [&](ByteView b) -> Status {
                      bytes.insert(bytes.end(), b.begin(), b.end());
                      return {};
                    },
                    zip64_from)
                    .ok());
    const auto back = npz(bytes);
    ASSERT_TRUE(back.ok()) << back.error().str();
    ASSERT_EQ(back->size(), tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_EQ((*back)[i].name, tensors[i].name);
      EXPECT_TRUE((*back)[i].tensor.same_bits(tensors[i].tensor)) << tensors[i].name;
    }
  }
}

Result<SpawnOutcome> python(std::vector<std::string> arguments) {
  SpawnRequest request;
  request.program = std::getenv("NNC_PYTHON");
  request.arguments = std::move(arguments);
  request.folder = std::getenv("NNC_SOURCE_DIR");
  return spawn(request);
}

TEST(TensorIo, NumpyReadsWhatWeWrite) {
  const auto modules = python({"-c", "import numpy, ml_dtypes"});
  if (!modules.ok() || !modules->ok()) GTEST_SKIP() << "no python with numpy and ml_dtypes";
  for (uint64_t zip64_from : {uint64_t(0xffffffff), uint64_t(300)}) {
    const std::string path = cat(std::getenv("NNC_BUILD_DIR"), "/tensor_io_test_", zip64_from, ".npz"), text = path + ".txt";
    const auto tensors = all_types();
    {
      std::ofstream out(path, std::ios::binary);
      const ByteSink sink = [&](ByteView b) -> Status {
        out << text_of(b);
        return {};
      };
      ASSERT_TRUE(write_npz(tensors, sink, zip64_from).ok());
      std::ofstream expected(text);
      for (const NamedTensor& t : tensors) expected << t.name << "\t" << describe(t.tensor) << "\n";
    }
    const auto outcome = python({"tests/unit/base/read_npz.py", path, text});
    ASSERT_TRUE(outcome.ok()) << outcome.error().str();
    EXPECT_TRUE(outcome->ok()) << outcome->describe() << outcome->err;
  }
}

TEST(TensorIo, EveryTruncationIsBroken) {
  for (const char* name : {"float32", "unicode", "v3", "fortran"}) {
    const Bytes whole = numpy_file(name);
    ASSERT_TRUE(npy(whole).ok());
    for (size_t n = 0; n < whole.size(); ++n) {
      const auto t = npy(ByteView(whole).first(n));
      ASSERT_FALSE(t.ok()) << name << " cut to " << n;
      ASSERT_EQ(t.error().code, Code::kInvalidData) << t.error().str();
      ASSERT_GE(t.error().place.offset, 0);
      ASSERT_EQ(t.error().place.file, "x.npy");
    }
  }
  for (const char* name : {"stored", "deflated"}) {
    const Bytes whole = numpy_file(name);
    for (size_t n = 0; n < whole.size(); ++n) {
      const auto t = npz(ByteView(whole).first(n));
      ASSERT_FALSE(t.ok()) << name << " cut to " << n;
      ASSERT_EQ(t.error().code, Code::kInvalidData);
      ASSERT_GE(t.error().place.offset, 0);
    }
  }
}

TEST(TensorIo, ChangedBytesNeverGoUnnoticedInAnArchive) {
  std::mt19937 rng(1);
  for (const char* name : {"stored", "deflated"}) {
    const Bytes whole = numpy_file(name);
    const std::string expected = describe(*npz(whole));
    for (size_t i = 0; i < whole.size(); ++i) {
      Bytes changed = whole;
      changed[i] = uint8_t(changed[i] ^ (1 + rng() % 255));
      const auto t = npz(changed);
      // Times, versions and flags do not matter; a name may change in the directory and the record alike only by two changes.
      if (t.ok()) { EXPECT_EQ(describe(*t), expected) << name << " byte " << i; }
    }
    for (int round = 0; round < 3000; ++round) {
      Bytes changed = whole;
      for (int k = 0; k < 4; ++k) changed[rng() % changed.size()] = uint8_t(rng());
      (void)npz(changed).ok();
    }
  }
  const Bytes whole = numpy_file("fortran");
  for (int round = 0; round < 3000; ++round) {
    Bytes changed = whole;
    for (int k = 0; k < 3; ++k) changed[rng() % 130] = uint8_t(rng());
    (void)npy(changed).ok();
  }
}

TEST(TensorIo, HeaderErrorsNameTheByte) {
  const auto with_header = [](std::string text, std::string_view data) {
    Bytes out = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, uint8_t(text.size()), 0};
    out.insert(out.end(), text.begin(), text.end());
    out.insert(out.end(), data.begin(), data.end());
    return out;
  };
  EXPECT_EQ(describe(*npy(with_header("{\"shape\":(2L,),'fortran_order':True,'descr':'|u1'}", "ab"))), "u8[2] 97 98");
  EXPECT_EQ(describe(*npy(with_header("{'descr':'|b1', 'fortran_order':False, 'shape':(2,)}", "\x7f\x01"))), "bool[2] 1 1");
  struct Case {
    const char* text;
    Code code;
    int64_t offset;
  };
  const Case cases[] = {
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", Code::kInvalidData, 61},
      {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", Code::kInvalidData, 44},
      {"{'descr': '<f4', 'fortran_order': False, }", Code::kInvalidData, 52},
      {"{'descr': '<f4', 'descr': '<f4', }", Code::kInvalidData, 35},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}", Code::kInvalidData, 73},
      {"{'descr': '<f4", Code::kInvalidData, 21},
      {"", Code::kInvalidData, 10},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1)} x", Code::kInvalidData, 65},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", Code::kUnsupportedOp, 10},
      {"{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}", Code::kUnsupportedOp, 10},
      {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,)}", Code::kUnsupportedOp, 10},
      {"{'descr': '|V1', 'fortran_order': False, 'shape': (1,)}", Code::kUnsupportedOp, 10},
      {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}", Code::kUnsupportedOp, 10},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", Code::kInvalidData, 65},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807)}", Code::kLimit, 103},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", Code::kInvalidData, 81},
      {"{'descr': '<U0', 'fortran_order': False, 'shape': (100000000000000,)}", Code::kLimit, -1},
  };
  for (const Case& c : cases) {
    const auto t = npy(with_header(c.text, "abcd"));
    ASSERT_FALSE(t.ok()) << c.text;
    if (c.code != Code::kLimit) { EXPECT_EQ(t.error().code, c.code) << c.text << t.error().str(); }
    if (c.offset >= 0) { EXPECT_EQ(t.error().place.offset, c.offset) << c.text << " " << t.error().str(); }
  }
  EXPECT_EQ(npy(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "abcde")).error().code, Code::kInvalidData);
}

TEST(TensorIo, BudgetIsChargedBeforeMemoryIsTaken) {
  Limits limits;
  limits[Limit::kTotalBytes] = 100;
  Tensor t(DType::kU8, {101});
  const Bytes file = *npy_bytes(t), archive = *npz_bytes(std::vector<NamedTensor>{{"x", t}});
  Budget budget(limits), other(limits);
  EXPECT_EQ(read_npy({file, ""}, budget).error().code, Code::kLimit);
  EXPECT_EQ(read_npz({archive, ""}, other).error().code, Code::kLimit);
}

TEST(TensorIo, SizesThatDeflateCannotReachAreRefused) {
  Bytes bytes = numpy_file("deflated");
  const std::string_view text = text_of(bytes);
  const size_t central = text.find(std::string("PK\1\2", 4));
  ASSERT_NE(central, std::string_view::npos);
  bytes[central + 27] = 0x40;  // 1 GiB unpacked
  const auto t = npz(bytes);
  ASSERT_FALSE(t.ok());
  EXPECT_NE(t.error().message.find("cannot become"), std::string::npos) << t.error().message;
}

TEST(TensorIo, ArchivesWithTwoMeaningsAreRefused) {
  const Tensor t(DType::kU8, {4});
  EXPECT_EQ(npz_bytes(std::vector<NamedTensor>{{"x", t}, {"x", t}}).error().code, Code::kBadInput);
  Bytes twice = *npz_bytes(std::vector<NamedTensor>{{"x", t}, {"y", t}});
  for (size_t i = 0; i + 5 <= twice.size(); ++i)
    if (text_of(twice).substr(i, 5) == "y.npy") twice[i] = 'x';
  EXPECT_NE(npz(twice).error().message.find("occurs twice"), std::string::npos);
  // Both directory entries point at the first record, whose name then differs; with the same name they are duplicates.
  Bytes overlap = *npz_bytes(std::vector<NamedTensor>{{"x", t}, {"y", t}});
  const size_t second = text_of(overlap).rfind(std::string("PK\1\2", 4));
  for (size_t i = 42; i < 46; ++i) overlap[second + i] = 0;
  EXPECT_NE(npz(overlap).error().message.find("another name"), std::string::npos);
}

// An archive of hand-made records: what an honest writer would not write.
struct ZipRecord {
  std::string name, packed;
  uint32_t unpacked = 0, crc = 0;
  int method = 0, flags = 0;
};
Bytes archive(const std::vector<ZipRecord>& records, std::vector<uint32_t> offsets = {}) {
  std::string out, directory;
  const auto put = [](std::string& to, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; ++i) to += i < 8 ? char(v >> (8 * i) & 255) : char(0);
  };
  for (size_t i = 0; i < records.size(); ++i) {
    const ZipRecord& r = records[i];
    const uint64_t offset = i < offsets.size() ? offsets[i] : out.size();
    for (std::string* to : {&out, &directory}) {
      put(*to, to == &out ? 0x04034b50 : 0x02014b50, 4);
      put(*to, 20, to == &out ? 2 : 4);
      put(*to, uint64_t(r.flags), 2);
      put(*to, uint64_t(r.method), 2);
      put(*to, 0, 4);
      put(*to, r.crc, 4);
      put(*to, r.packed.size(), 4);
      put(*to, r.unpacked, 4);
      put(*to, r.name.size(), 2);
      put(*to, 0, to == &out ? 2 : 12);
      if (to == &directory) put(*to, offset, 4);
      *to += r.name;
    }
    out += r.packed;
  }
  const size_t start = out.size();
  out += directory;
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, records.size(), 2);
  put(out, records.size(), 2);
  put(out, directory.size(), 4);
  put(out, start, 4);
  put(out, 0, 2);
  return {out.begin(), out.end()};
}

TEST(TensorIo, DeflatedEntriesMustBeWhatTheyDeclare) {
  const Bytes file = *npy_bytes(Tensor::vector_i64(std::vector<int64_t>{1, 2, 3}));
  const std::string plain(text_of(file)), length{char(plain.size() & 255), char(plain.size() >> 8)};
  // One stored block of the deflate format.
  const std::string block = std::string("\1") + length + char(~length[0]) + char(~length[1]) + plain;
  const ZipRecord good{"x.npy", block, uint32_t(plain.size()), uint32_t(zip_crc(0, file)), 8, 0};
  const auto fine = npz(archive({good}));
  ASSERT_TRUE(fine.ok()) << fine.error().str();
  ASSERT_EQ(describe(*fine), "x i64[3] 1 2 3");
  const auto message = [&](auto&& change) {
    ZipRecord r = good;
    change(r);
    const auto t = npz(archive({r}));
    return t.ok() ? std::string("read") : t.error().message;
  };
  EXPECT_EQ(message([](ZipRecord& r) { r.packed += 'x'; }), "npz: entry \"x\": bytes follow the end of the compressed data");
  EXPECT_EQ(message([](ZipRecord& r) { r.packed.pop_back(); }), "npz: entry \"x\": the compressed data is cut short");
  EXPECT_EQ(message([](ZipRecord& r) { r.packed[0] = 7; }), "npz: entry \"x\": the compressed data is broken");
  EXPECT_EQ(message([](ZipRecord& r) { r.crc ^= 1; }), "npz: entry \"x\": the checksum does not hold");
  EXPECT_EQ(message([](ZipRecord& r) { r.packed[0] = 0; }), "npz: entry \"x\": the compressed data is cut short");
  EXPECT_EQ(message([](ZipRecord& r) { r.flags = 1; }), "npz: entry \"x.npy\" is encrypted");
  EXPECT_EQ(message([](ZipRecord& r) { r.method = 12; }), "npz: entry \"x.npy\": compression method 12, stored or deflated expected");
  EXPECT_EQ(message([](ZipRecord& r) { r.name = "x.txt"; }), "npz: entry \"x.txt\" is no array: a name that ends with .npy expected");
  EXPECT_EQ(message([](ZipRecord& r) { r.method = 0; }).substr(0, 26), "npz: entry \"x.npy\": 157 by");
  // The array says 24 bytes; more or fewer inflate.
  ZipRecord longer = good, shorter = good;
  longer.unpacked += 8;
  const auto to_message = [&](const ZipRecord& r) { return message([&](ZipRecord& out) { out = r; }); };
  EXPECT_NE(to_message(longer).find("32 bytes follow it"), std::string::npos);
  shorter.unpacked -= 8;
  EXPECT_NE(to_message(shorter).find("16 bytes follow it"), std::string::npos);
  ZipRecord more = good;  // a second block with one byte more than declared
  more.packed[0] = 0;
  more.packed += std::string("\1\1\0\xfe\xff!", 6);
  EXPECT_EQ(to_message(more), "npz: entry \"x\": inflates to more bytes than declared");
}

TEST(TensorIo, EntriesThatOverlapAreRefused) {
  const Bytes file = *npy_bytes(Tensor::scalar_i64(1));
  const std::string inner(text_of(file));
  // The first entry's bytes hold a whole record for the second.
  const Bytes hidden = archive({{"y.npy", inner, uint32_t(inner.size()), zip_crc(0, file)}});
  const std::string payload(text_of(hidden).substr(0, 35 + inner.size()));
  const ZipRecord outer{"x.npy", payload, uint32_t(payload.size()), zip_crc(0, bytes_of(payload))},
      y{"y.npy", inner, uint32_t(inner.size()), zip_crc(0, file)};
  const auto t = npz(archive({outer, y}, {0, 35}));
  ASSERT_FALSE(t.ok());
  EXPECT_EQ(t.error().message, "npz: entries overlap");
}

TEST(TensorIo, OneEntryByName) {
  Budget budget;
  const Bytes bytes = numpy_file("deflated");
  EXPECT_EQ(describe(*read_npz_entry({bytes, "x.npz"}, "a/b", budget)), "i64[2] 7 8");
  const auto missing = read_npz_entry({bytes, "x.npz"}, "image", budget);
  EXPECT_EQ(missing.error().code, Code::kUnknownName);
  EXPECT_EQ(missing.error().context, (std::vector<std::string>{"entries: images, a/b, zeros", "did you mean \"images\"?"}));
}

TEST(TensorIo, SharesAlignedBytes) {
  Tensor t(DType::kF32, {16});
  const Bytes file = *npy_bytes(t);
  auto owner = std::make_shared<Tensor>(DType::kU8, std::vector<int64_t>{int64_t(file.size())});
  std::copy(file.begin(), file.end(), owner->as_mut<uint8_t>().begin());
  const ByteView view(static_cast<const uint8_t*>(std::as_const(*owner).data()), file.size());
  Budget budget;
  const Tensor shared = *read_npy({view, "", owner}, budget), copied = *read_npy({view, ""}, budget);
  EXPECT_EQ(shared.data(), view.data() + file.size() - 64);
  EXPECT_NE(copied.data(), shared.data());
  EXPECT_TRUE(shared.same_bits(copied));
  EXPECT_EQ(owner.use_count(), 2);
}

TEST(TensorIo, StringsThatNpyCannotHoldAreRefused) {
  Tensor t(DType::kString, {1});
  for (const std::string& s :
       {std::string("a\0", 2), std::string("\xff"), std::string("\xc0\x80"), std::string("\xed\xa0\x80"), std::string("\xf0\x9f")}) {
    t.strings()[0] = s;
    EXPECT_EQ(npy_bytes(t).error().code, Code::kBadInput) << quote(s);
  }
}

TEST(TensorIo, SameTensorsSameBytes) { EXPECT_EQ(*npz_bytes(all_types()), *npz_bytes(all_types())); }

}  // namespace
}  // namespace nnc
