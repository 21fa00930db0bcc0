#include <set>

#include "ir/base/tensor_io.h"
#include "ir/base/zip.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

constexpr std::string_view kSuffix = ".npy";

Result<std::vector<ZipEntry>> directory(const FileBytes& file, Budget& budget) {
  NNC_ASSIGN(auto entries, read_zip_directory(file.bytes, file.name, budget));
  for (ZipEntry& e : entries) {
    if (!e.name.ends_with(kSuffix))
      return broken_file(file.name, int64_t(e.start),
                         cat("npz: entry ", quote(e.name), " is no array: a name that ends with .npy expected"));
    e.name.resize(e.name.size() - kSuffix.size());
  }
  return entries;
}

Result<Tensor> read_entry(const FileBytes& file, const ZipEntry& entry, Budget& budget) {
  const auto source = open_zip_entry(file.bytes, file.name, entry);
  auto tensor = read_npy_stream(*source, file.name, file.owner, budget);
  if (!tensor.ok()) return std::move(tensor).error().with(cat("in entry ", quote(entry.name)));
  NNC_TRY(source->finish());
  return tensor;
}

}  // namespace

Result<std::vector<NamedTensor>> read_npz(const FileBytes& file, Budget& budget) {
  NNC_ASSIGN(const auto entries, directory(file, budget));
  std::vector<NamedTensor> out;
  for (const ZipEntry& e : entries) {
    NNC_ASSIGN(Tensor t, read_entry(file, e, budget));
    out.push_back({e.name, std::move(t)});
  }
  return out;
}

Result<Tensor> read_npz_entry(const FileBytes& file, std::string_view name, Budget& budget) {
  NNC_ASSIGN(const auto entries, directory(file, budget));
  std::vector<std::string> names;
  for (const ZipEntry& e : entries) {
    if (e.name == name) return read_entry(file, e, budget);
    names.push_back(e.name);
  }
  Error e(Code::kUnknownName, cat("the archive has no entry ", quote(name)), broken_file(file.name, -1, {}).place);
  e.context.push_back(cat("entries: ", join(names, ", ")));
  if (const std::string close = nearest(name, names); !close.empty()) e.context.push_back(cat("did you mean ", quote(close), "?"));
  return e;
}

Status write_npz(std::span<const NamedTensor> tensors, const ByteSink& sink, uint64_t zip64_from) {
  ZipWriter zip(sink, zip64_from);
  std::set<std::string_view> names;
  for (const NamedTensor& t : tensors) {
    if (!names.insert(t.name).second) return Error(Code::kBadInput, cat("two arrays of an npz file have the name ", quote(t.name)));
    NNC_ASSIGN(const NpyImage image, npy_image(t.tensor));
    const uint32_t crc = zip_crc(zip_crc(0, bytes_of(image.header)), image.payload);
    NNC_TRY(zip.add(cat(t.name, kSuffix), image.header.size() + image.payload.size(), crc));
    NNC_TRY(zip.data(bytes_of(image.header)));
    NNC_TRY(zip.data(image.payload));
  }
  return zip.finish();
}

Result<Bytes> npz_bytes(std::span<const NamedTensor> tensors) {
  Bytes out;
  NNC_TRY(write_npz(tensors, [&](ByteView piece) -> Status {
    out.insert(out.end(), piece.begin(), piece.end());
    return {};
  }));
  return out;
}

}  // namespace nnc
