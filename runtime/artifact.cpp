#include "runtime/artifact.h"

#include <algorithm>
#include <set>

#include "ir/base/plan_unpack.h"
#include "ir/base/plan_verify.h"
#include "ir/base/tensor_hash.h"
#include "ir/support/checked.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "runtime/artifact_format.h"
#include "runtime/schema/artifact_generated.h"
#include "runtime/trust.h"

namespace nnc {

namespace {

constexpr int kTableDepth = 8;
constexpr int kTableCount = 1 << 20;

Error broken(std::string what) { return Error(Code::kInvalidArtifact, cat("the artifact is broken: ", what)); }

Digest digest_of(const schema::Hash& h) {
  Digest d;
  for (uint32_t i = 0; i < d.bytes.size(); ++i) d.bytes[i] = h.bytes()->Get(i);
  return d;
}

std::string_view view(const flatbuffers::String* s) { return {s->c_str(), s->size()}; }

// Where the sections lie. They must be inside the file, aligned, apart from each other, and nothing but zeros between them.
class SectionMap {
 public:
  explicit SectionMap(int64_t file_bytes) : file_bytes_(file_bytes) {}
  Status add(uint64_t offset, uint64_t bytes) {
    if (offset > INT64_MAX || bytes > INT64_MAX || !fits(static_cast<int64_t>(offset), static_cast<int64_t>(bytes), file_bytes_))
      return broken(cat("a section at ", offset, " of ", bytes, " bytes in a file of ", file_bytes_));
    if (offset % kSectionAlign != 0) return broken(cat("a section at ", offset, ", which is not a multiple of ", kSectionAlign));
    sections_.emplace_back(static_cast<int64_t>(offset), static_cast<int64_t>(bytes));
    return {};
  }
  Status check(ByteView file, int64_t table_end, bool gaps) {
    std::sort(sections_.begin(), sections_.end());
    int64_t end = table_end;
    auto zeros = [&](int64_t from, int64_t to) {
      return std::all_of(file.begin() + from, file.begin() + to, [](uint8_t b) { return b == 0; });
    };
    for (const auto& [offset, bytes] : sections_) {
      if (bytes == 0) continue;
      if (offset < end) return broken(cat("two sections share the bytes at ", offset));
      if (offset - end >= kWeightAlign) return broken(cat("nothing owns the bytes at ", end));
      if (gaps && !zeros(end, offset)) return broken(cat("bytes that nothing owns between ", end, " and ", offset));
      end = offset + bytes;
    }
    if (end != file_bytes_) return broken(cat("the file has ", file_bytes_, " bytes, its sections end at ", end));
    return {};
  }

 private:
  int64_t file_bytes_;
  std::vector<std::pair<int64_t, int64_t>> sections_;
};

Result<ArtifactHeader> read_header(ByteView bytes) {
  ArtifactHeader h;
  if (bytes.size() < sizeof h) return broken(cat("it has ", bytes.size(), " bytes, less than its header"));
  std::memcpy(&h, bytes.data(), sizeof h);
  if (h.magic != kArtifactMagic) return Error(Code::kInvalidArtifact, "this is no nnc artifact: its first bytes are others");
  if (h.major != kArtifactMajor || h.minor > kArtifactMinor)
    return Error(Code::kInvalidArtifact, cat("the artifact has format ", h.major, ".", h.minor, ", this version of nnc reads ",
                                             kArtifactMajor, ".0 to ", kArtifactMajor, ".", kArtifactMinor))
        .with("  try: compile the model again");
  if (h.header_bytes != kArtifactHeaderBytes) return broken(cat("a header of ", h.header_bytes, " bytes"));
  if (h.file_bytes != bytes.size()) return broken(cat("it has ", bytes.size(), " bytes, its header says ", h.file_bytes));
  if (h.table_bytes > bytes.size() - sizeof h) return broken("its tables are longer than the file");
  return h;
}

}  // namespace

struct Artifact::Parser {
  Artifact& out;
  const bool full;  // contents too
  SectionMap sections;

  Status constants(const schema::Artifact& a) {
    for (const schema::Constant* c : *a.constants()) {
      const DType dtype = parse_dtype(view(c->dtype()));
      if (dtype == DType::kInvalid || dtype == DType::kString || dtype_name(dtype) != view(c->dtype()))
        return broken(cat("a constant of dtype ", quote(view(c->dtype()).substr(0, 40))));
      if (c->dims()->size() > 32) return broken(cat("a constant of rank ", c->dims()->size()));
      std::vector<int64_t> dims(c->dims()->begin(), c->dims()->end());
      NNC_TRY(checked_element_count(dims));
      NNC_ASSIGN(const int64_t bytes, byte_size(dims, dtype_bits(dtype)));
      if (static_cast<uint64_t>(bytes) != c->bytes()) return broken(cat("a constant of ", c->bytes(), " bytes, its extents say ", bytes));
      NNC_TRY(sections.add(c->offset(), c->bytes()));
      Tensor t(dtype, std::move(dims), out.owner_, out.bytes_.data() + c->offset(), c->bytes());
      const Digest hash = digest_of(*c->hash());
      if (full && tensor_hash(t) != hash)
        return broken(cat("the bytes of constant ", hash.hex().substr(0, 16), " are not those that were written"));
      if (!hashes.insert(hash).second) return broken("a constant is stored twice");
      out.constants_.push_back(std::move(t));
      out.constant_hashes_.push_back(hash);
    }
    return {};
  }

  Status program(const schema::Program& p) {
    Item item;
    NNC_ASSIGN(item.program, parse_program(view(p.plan())));
    Program& program = item.program;
    if (p.kernels()->size() != program.kernels.size())
      return broken(cat(p.kernels()->size(), " kernels for a plan of ", program.kernels.size()));
    for (uint32_t k = 0; k < p.kernels()->size(); ++k) program.kernels[k].text = view(p.kernels()->Get(k));
    NNC_TRY(verify_program(program));
    if (p.constants()->size() != program.constants.size())
      return broken(cat(p.constants()->size(), " constants for a plan of ", program.constants.size()));
    for (uint32_t i = 0; i < p.constants()->size(); ++i) {
      const uint32_t at = p.constants()->Get(i);
      if (at >= out.constants_.size()) return broken(cat("constant ", at, " of ", out.constants_.size()));
      const PlanConstant& c = program.constants[i];
      if (c.hash != out.constant_hashes_[at].hex()) return broken(cat("constant ", i, " of ", program.target, " is another one"));
      NNC_TRY(check_stored(c, out.constants_[at].dtype(), out.constants_[at].dims()));
      item.constants.push_back(at);
    }
    std::set<uint32_t> defined;
    for (const schema::Code* c : *p.code()) {
      NNC_TRY(sections.add(c->offset(), c->bytes()));
      CodeUnit code{{c->kernels()->begin(), c->kernels()->end()}, digest_of(*c->hash()), out.bytes_.subspan(c->offset(), c->bytes())};
      for (uint32_t k : code.kernels)
        if (k >= program.kernels.size() || !defined.insert(k).second)
          return broken("a unit of native code names a kernel that is not its own");
      // Also for trusted files: the digest that the user trusts is that of the tables.
      if (sha256(code.bytes) != code.hash) return broken("native code is not what was written");
      item.code.push_back(std::move(code));
    }
    if (full) {
      std::vector<Kernel> kernels;
      for (const PlanKernel& k : program.kernels) {
        auto kernel = parse_kernel(k.text);
        if (kernel.ok()) {
          auto verified = verify_kernel_or_error(*kernel);
          if (!verified.ok()) return std::move(verified).error().with(cat("  kernel ", k.name));
          kernels.push_back(std::move(*kernel));
        } else {
          return std::move(kernel).error().with(cat("  kernel ", k.name));
        }
      }
      NNC_TRY(verify_launches(program, kernels));
    }
    out.programs_.push_back(std::move(item));
    return {};
  }

  std::set<Digest> hashes;
};

Result<std::shared_ptr<const Artifact>> Artifact::parse(std::shared_ptr<const void> owner, ByteView bytes, const ArtifactOptions& options,
                                                        const std::string& path) {
  Place place;
  place.file = path;
  std::shared_ptr<Artifact> a(new Artifact());
  a->owner_ = std::move(owner);
  a->bytes_ = bytes;
  auto run = [&]() -> Status {
    NNC_ASSIGN(const ArtifactHeader h, read_header(bytes));
    const ByteView table = bytes.subspan(sizeof h, h.table_bytes);
    a->table_bytes_ = static_cast<int64_t>(h.table_bytes);
    a->digest_.bytes = h.digest;
    if (artifact_digest(h, table) != a->digest_) return broken("its tables are not those that were written");
    if (options.trust == ArtifactTrust::kList) {
      NNC_ASSIGN(a->trusted_, is_trusted(a->digest_));
    } else {
      a->trusted_ = options.trust == ArtifactTrust::kCaller;
    }
    flatbuffers::Verifier verifier(table.data(), table.size(), kTableDepth, kTableCount);
    if (!schema::VerifyArtifactBuffer(verifier)) return broken("its tables do not verify");
    const schema::Artifact& root = *schema::GetArtifact(table.data());
    for (const flatbuffers::String* word : *root.required())
      return Error(Code::kIncompatible,
                   cat("the artifact needs ", quote(view(word).substr(0, 80)), ", which this version of nnc does not know"));
    a->writer_ = view(root.writer());
    if (root.graph()) a->graph_ = view(root.graph());
    for (const schema::Property* p : *root.properties()) a->properties_.emplace_back(view(p->key()), view(p->value()));
    Parser parser{*a, options.check_contents || !a->trusted_, SectionMap(static_cast<int64_t>(bytes.size())), {}};
    NNC_TRY(parser.constants(root));
    for (const schema::Program* p : *root.programs()) {
      auto status = parser.program(*p);
      if (!status.ok()) {
        Error e = std::move(status).error();
        if (e.code != Code::kInvalidArtifact) e.message = cat("the artifact is broken: ", e.message);
        e.code = Code::kInvalidArtifact;
        return e;
      }
    }
    return parser.sections.check(bytes, kArtifactHeaderBytes + static_cast<int64_t>(h.table_bytes), parser.full);
  };
  if (auto status = run(); !status.ok()) {
    Error e = std::move(status).error();
    if (e.place.file.empty()) e.place.file = path;
    return e;
  }
  return std::shared_ptr<const Artifact>(std::move(a));
}

namespace {

// Aligned memory for a file that is read.
Result<std::pair<std::shared_ptr<const void>, ByteView>> read_aligned(const ReadFile& file) {
  NNC_ASSIGN(Tensor t, Tensor::create(DType::kU8, {file.size()}));
  auto storage = std::make_shared<Tensor>(std::move(t));
  std::span<uint8_t> bytes(static_cast<uint8_t*>(storage->data()), static_cast<size_t>(file.size()));
  NNC_TRY(file.read(0, bytes));
  return std::pair<std::shared_ptr<const void>, ByteView>(storage, bytes);
}

// Whether the user trusts what the header says the file is; the tables are compared with it later.
Result<bool> header_trusted(const ReadFile& file, const ArtifactOptions& options) {
  if (options.trust != ArtifactTrust::kList) return options.trust == ArtifactTrust::kCaller;
  ArtifactHeader h;
  if (file.size() < static_cast<int64_t>(sizeof h)) return false;
  NNC_TRY(file.read(0, std::span<uint8_t>(reinterpret_cast<uint8_t*>(&h), sizeof h)));
  Digest d;
  d.bytes = h.digest;
  return is_trusted(d);
}

}  // namespace

Result<std::shared_ptr<const Artifact>> Artifact::open(const std::string& path, const ArtifactOptions& options) {
  NNC_ASSIGN(const ReadFile file, ReadFile::open(path));
  if (file.size() > options.max_bytes)
    return Error(Code::kLimit, cat(path, " has ", file.size(), " bytes, the limit is ", options.max_bytes));
  NNC_ASSIGN(const bool mapped, header_trusted(file, options));
  if (mapped) {
    NNC_ASSIGN(MappedFile m, MappedFile::map(file));
    auto owner = std::make_shared<MappedFile>(std::move(m));
    const ByteView bytes = owner->bytes();
    return parse(std::move(owner), bytes, options, path);
  }
  NNC_ASSIGN(auto read, read_aligned(file));
  return parse(std::move(read.first), read.second, options, path);
}

Result<std::shared_ptr<const Artifact>> Artifact::from_bytes(std::shared_ptr<const void> owner, ByteView bytes,
                                                             const ArtifactOptions& options) {
  if (options.trust == ArtifactTrust::kCaller && reinterpret_cast<uintptr_t>(bytes.data()) % kSectionAlign == 0)
    return parse(std::move(owner), bytes, options, "");
  NNC_ASSIGN(Tensor t, Tensor::create(DType::kU8, {static_cast<int64_t>(bytes.size())}));
  auto copy = std::make_shared<Tensor>(std::move(t));
  if (!bytes.empty()) std::memcpy(copy->data(), bytes.data(), bytes.size());
  const ByteView view_of_copy(static_cast<const uint8_t*>(static_cast<const Tensor&>(*copy).data()), bytes.size());
  return parse(std::move(copy), view_of_copy, options, "");
}

int64_t Artifact::weight_bytes() const {
  int64_t sum = 0;
  for (const Tensor& t : constants_) sum += static_cast<int64_t>(t.bytes());
  return sum;
}
int64_t Artifact::code_bytes(size_t i) const {
  int64_t sum = 0;
  for (const CodeUnit& c : programs_[i].code) sum += static_cast<int64_t>(c.bytes.size());
  return sum;
}
std::vector<Tensor> Artifact::constants(size_t i) const {
  std::vector<Tensor> out;
  for (uint32_t at : programs_[i].constants) out.push_back(constants_[at]);
  return out;
}
std::vector<ExecutableUnit> Artifact::units(size_t i) const {
  std::vector<ExecutableUnit> out;
  for (const CodeUnit& c : programs_[i].code) out.push_back({c.kernels, c.bytes});
  return out;
}

}  // namespace nnc
