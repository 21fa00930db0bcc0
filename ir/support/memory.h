#pragma once
// Memory for tensors, files and arenas. What is large comes from the system as zero pages, of 2 MiB where it has them: a page costs as much
// to get as a few thousand bytes to fill, and weights that lie on few pages are read faster.

#include <cstddef>
#include <memory>

namespace nnc {

inline constexpr size_t kMemoryAlign = 64;

// Aligned to kMemoryAlign, also for 0 bytes; null if there is no memory. With `zeroed` all bytes are 0, else they are anything.
void* take_memory(size_t bytes, bool zeroed);
// Null is fine.
void give_memory(void* memory);

// The same with an owner.
std::shared_ptr<void> shared_memory(size_t bytes, bool zeroed);
// Zeroed, and taken from the system page by page when it is written: for what stays empty for the most part.
std::shared_ptr<void> sparse_memory(size_t bytes);

}  // namespace nnc
