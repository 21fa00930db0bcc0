#include "codegen/artifact_writer.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "ir/support/checked.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "runtime/artifact_format.h"
#include "runtime/schema/artifact_generated.h"

namespace nnc {

namespace {

constexpr std::string_view kWriter = "0.1.0";

struct Section {
  int64_t offset = 0;
  ByteView bytes;
};

schema::Hash stored(const Digest& d) { return schema::Hash(flatbuffers::span<const uint8_t, 32>(d.bytes)); }

// Gives every section its place. Tables hold offsets of fixed width, so their size does not depend on the offsets: they are built twice,
// the first time to learn it.
class Layout {
 public:
  explicit Layout(const ArtifactContents& c) : c_(c) {}

  Status run() {
    NNC_TRY(collect());
    build();
    const int64_t first = static_cast<int64_t>(table_.size());
    NNC_TRY(place(first));
    build();
    NNC_CHECK(static_cast<int64_t>(table_.size()) == first, "tables of one size");
    header_.magic = kArtifactMagic;
    header_.major = kArtifactMajor;
    header_.minor = kArtifactMinor;
    header_.header_bytes = kArtifactHeaderBytes;
    header_.table_bytes = table_.size();
    header_.file_bytes = static_cast<uint64_t>(file_bytes_);
    digest_ = artifact_digest(header_, table_);
    header_.digest = digest_.bytes;
    return {};
  }

  // The file, piece by piece.
  Status write(const std::function<Status(ByteView)>& put) const {
    static constexpr std::array<uint8_t, kWeightAlign> kZeros{};
    NNC_TRY(put(ByteView(reinterpret_cast<const uint8_t*>(&header_), sizeof header_)));
    NNC_TRY(put(table_));
    int64_t at = kArtifactHeaderBytes + static_cast<int64_t>(table_.size());
    for (const Section& s : sections_) {
      if (s.bytes.empty()) continue;
      NNC_TRY(put(ByteView(kZeros.data(), static_cast<size_t>(s.offset - at))));
      NNC_TRY(put(s.bytes));
      at = s.offset + static_cast<int64_t>(s.bytes.size());
    }
    return {};
  }
  int64_t file_bytes() const { return file_bytes_; }
  const Digest& digest() const { return digest_; }

 private:
  struct Weight {
    Digest hash;
    const Tensor* tensor = nullptr;
    size_t section = 0;
  };
  struct CodeBlob {
    Digest hash;
    size_t section = 0;
  };

  // Sections in the order of the file: code by program and unit, then constants by hash.
  Status collect() {
    for (const CompiledProgram& p : c_.programs)
      for (const NativeUnit& u : p.units) {
        if (u.code.empty()) continue;
        code_.push_back({sha256(u.code), sections_.size()});
        sections_.push_back({0, u.code});
      }
    std::map<Digest, const Tensor*> weights;
    for (const CompiledProgram& p : c_.programs)
      for (ConstId id : p.constants) {
        const Tensor& t = p.module->constant(id);
        if (t.dtype() == DType::kString) return Error(Code::kUnsupportedOp, "a constant of strings has no place in an artifact yet");
        weights.emplace(p.module->constant_hash(id), &t);
      }
    for (const auto& [hash, tensor] : weights) {
      numbers_[hash] = static_cast<uint32_t>(weights_.size());
      weights_.push_back({hash, tensor, sections_.size()});
      sections_.push_back({0, ByteView(static_cast<const uint8_t*>(tensor->data()), tensor->bytes())});
    }
    return {};
  }

  Status place(int64_t table_bytes) {
    CheckedSize at = CheckedSize(kArtifactHeaderBytes) + CheckedSize(table_bytes);
    for (size_t i = 0; i < sections_.size(); ++i) {
      const int64_t bytes = static_cast<int64_t>(sections_[i].bytes.size());
      if (bytes == 0) {
        sections_[i].offset = kArtifactHeaderBytes;  // anywhere inside
        continue;
      }
      const bool weight = i >= code_.size();
      at = at.align_up(weight && bytes >= kWeightAlign ? kWeightAlign : kSectionAlign);
      NNC_ASSIGN(sections_[i].offset, at.value("size of the artifact"));
      at += CheckedSize(bytes);
    }
    NNC_ASSIGN(file_bytes_, at.value("size of the artifact"));
    return {};
  }

  void build() {
    flatbuffers::FlatBufferBuilder b(1 << 16);
    b.ForceDefaults(true);  // so that an offset of 0 takes as much room as any other
    auto text = [&](std::string_view s) { return b.CreateString(s.data(), s.size()); };
    std::vector<flatbuffers::Offset<schema::Constant>> constants;
    for (const Weight& w : weights_) {
      const schema::Hash hash = stored(w.hash);
      const auto dtype = text(dtype_name(w.tensor->dtype()));
      const auto dims = b.CreateVector(w.tensor->dims());
      constants.push_back(
          schema::CreateConstant(b, &hash, dtype, dims, static_cast<uint64_t>(sections_[w.section].offset), w.tensor->bytes()));
    }
    std::vector<flatbuffers::Offset<schema::Program>> programs;
    size_t code = 0;
    for (const CompiledProgram& p : c_.programs) programs.push_back(program(b, p, code));
    std::vector<flatbuffers::Offset<schema::Property>> properties;
    auto sorted = c_.properties;
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [key, value] : sorted) {
      const auto k = text(key), v = text(value);
      properties.push_back(schema::CreateProperty(b, k, v));
    }
    const auto writer = text(kWriter);
    const auto required = b.CreateVector(std::vector<flatbuffers::Offset<flatbuffers::String>>());
    const auto constant_list = b.CreateVector(constants);
    const auto program_list = b.CreateVector(programs);
    const auto property_list = b.CreateVector(properties);
    const auto graph = c_.graph.empty() ? flatbuffers::Offset<flatbuffers::String>() : text(c_.graph);
    b.Finish(schema::CreateArtifact(b, writer, required, constant_list, program_list, graph, property_list));
    table_.assign(b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize());
  }

  flatbuffers::Offset<schema::Program> program(flatbuffers::FlatBufferBuilder& b, const CompiledProgram& p, size_t& code) {
    std::vector<flatbuffers::Offset<flatbuffers::String>> kernels;
    for (const PlanKernel& k : p.program.kernels) kernels.push_back(b.CreateString(k.text));
    std::vector<flatbuffers::Offset<schema::Code>> units;
    for (const NativeUnit& u : p.units) {
      if (u.code.empty()) continue;
      const CodeBlob& blob = code_[code++];
      const schema::Hash hash = stored(blob.hash);
      const auto list = b.CreateVector(u.kernels);
      units.push_back(schema::CreateCode(b, list, &hash, static_cast<uint64_t>(sections_[blob.section].offset), u.code.size()));
    }
    std::vector<uint32_t> constants;
    for (ConstId id : p.constants) constants.push_back(numbers_.at(p.module->constant_hash(id)));
    const std::string plan = print_program(p.program);
    const auto plan_text = b.CreateString(plan);
    const auto kernel_list = b.CreateVector(kernels);
    const auto unit_list = b.CreateVector(units);
    const auto constant_list = b.CreateVector(constants);
    return schema::CreateProgram(b, plan_text, kernel_list, unit_list, constant_list);
  }

  const ArtifactContents& c_;
  std::vector<Section> sections_;
  std::vector<CodeBlob> code_;
  std::vector<Weight> weights_;
  std::map<Digest, uint32_t> numbers_;
  Bytes table_;
  ArtifactHeader header_;
  Digest digest_;
  int64_t file_bytes_ = 0;
};

}  // namespace

Result<Bytes> artifact_bytes(const ArtifactContents& contents) {
  Layout layout(contents);
  NNC_TRY(layout.run());
  Bytes out;
  out.reserve(static_cast<size_t>(layout.file_bytes()));
  NNC_TRY(layout.write([&](ByteView piece) -> Status {
    out.insert(out.end(), piece.begin(), piece.end());
    return {};
  }));
  return out;
}

Result<Digest> write_artifact(const std::string& path, const ArtifactContents& contents) {
  Layout layout(contents);
  NNC_TRY(layout.run());
  NNC_ASSIGN(AtomicWriter file, AtomicWriter::create(path));
  NNC_TRY(layout.write([&](ByteView piece) { return file.write(piece); }));
  NNC_TRY(file.commit());
  return layout.digest();
}

}  // namespace nnc
