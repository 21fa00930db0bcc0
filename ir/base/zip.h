#pragma once
// The zip container as far as npz needs it: the directory of an archive in memory, entries stored or deflated, and the records of a stored
// archive. For tensor_io's units only.

#include <optional>

#include "ir/base/npy_stream.h"

namespace nnc {

struct ZipEntry {
  std::string name;
  uint64_t start = 0;  // of the packed bytes in the file
  uint64_t packed = 0, unpacked = 0;
  uint32_t crc = 0;
  bool deflated = false;
};

// Entries in directory order, directories left out. Checks every record: extents inside the file and disjoint, names unique and equal in
// both records, sizes that deflate can reach.
Result<std::vector<ZipEntry>> read_zip_directory(ByteView file, std::string_view file_name, Budget& budget);

// Reads one entry; `finish` after the last byte checks that the stream ends there and that the checksum holds.
class ZipEntryReader : public ByteSource {
 public:
  virtual Status finish() = 0;
};
// `entry` and `file` must outlive it.
std::unique_ptr<ZipEntryReader> open_zip_entry(ByteView file, std::string_view file_name, const ZipEntry& entry);

uint32_t zip_crc(uint32_t crc, ByteView bytes);

// Writes a stored archive: `add` for each entry with its length and checksum, then its bytes go to the sink, at last `finish`.
class ZipWriter {
 public:
  ZipWriter(const ByteSink& sink, uint64_t zip64_from) : sink_(sink), zip64_from_(zip64_from) {}
  Status add(std::string_view name, uint64_t bytes, uint32_t crc);
  Status data(ByteView bytes);
  Status finish();

 private:
  struct Record {
    std::string name;
    uint64_t bytes, offset;
    uint32_t crc;
  };
  const ByteSink& sink_;
  uint64_t zip64_from_, at_ = 0;
  std::vector<Record> records_;
};

}  // namespace nnc
