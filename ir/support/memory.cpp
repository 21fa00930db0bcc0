#include "ir/support/memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

namespace nnc {

namespace {

constexpr size_t kHugePage = size_t{2} << 20;

// Lies before what is handed out.
struct Header {
  void* base;     // what the system or the heap gave
  size_t mapped;  // bytes; 0: from the heap
};
static_assert(sizeof(Header) <= kMemoryAlign);

void* place(void* base, size_t offset, size_t mapped) {
  char* memory = static_cast<char*>(base) + offset + kMemoryAlign;
  const Header header{base, mapped};
  std::memcpy(memory - kMemoryAlign, &header, sizeof header);
  return memory;
}

// The sanitizers watch the heap, not what is mapped.
#if defined(__has_feature)
#define NNC_HAS_FEATURE(x) __has_feature(x)
#else
#define NNC_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || NNC_HAS_FEATURE(address_sanitizer)
constexpr bool kMaps = false;
#else
constexpr bool kMaps = true;
#endif

void* pages(size_t bytes, int more_flags) {
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more_flags, -1, 0);
  return base == MAP_FAILED ? nullptr : base;
}

void* map(size_t bytes) {
  const size_t whole = bytes + kMemoryAlign + kHugePage;
  void* base = pages(whole, 0);
  if (base == nullptr) return nullptr;
  const size_t offset = -reinterpret_cast<uintptr_t>(base) & (kHugePage - 1);
  // Whole pages only: the end of the block must not cost another 2 MiB. A system without them says so, and nothing is lost.
  const size_t huge = (bytes + kMemoryAlign) / kHugePage * kHugePage;
  (void)::madvise(static_cast<char*>(base) + offset, huge, MADV_HUGEPAGE);
  return place(base, offset, whole);
}

}  // namespace

void* take_memory(size_t bytes, bool zeroed) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  if (kMaps && bytes >= kHugePage) return map(bytes);
  void* base = ::operator new(bytes + 2 * kMemoryAlign, std::align_val_t(kMemoryAlign), std::nothrow);
  if (base == nullptr) return nullptr;
  void* memory = place(base, 0, 0);
  if (zeroed) std::memset(memory, 0, bytes);
  return memory;
}

void give_memory(void* memory) {
  if (memory == nullptr) return;
  Header header;
  std::memcpy(&header, static_cast<char*>(memory) - kMemoryAlign, sizeof header);
  if (header.mapped > 0)
    ::munmap(header.base, header.mapped);
  else
    ::operator delete(header.base, std::align_val_t(kMemoryAlign));
}

std::shared_ptr<void> shared_memory(size_t bytes, bool zeroed) {
  void* memory = take_memory(bytes, zeroed);
  return memory == nullptr ? nullptr : std::shared_ptr<void>(memory, give_memory);
}

std::shared_ptr<void> sparse_memory(size_t bytes) {
  if (!kMaps || bytes > SIZE_MAX / 2) return shared_memory(bytes, true);
  const size_t whole = bytes + kMemoryAlign;
  void* base = pages(whole, MAP_NORESERVE);
  return base == nullptr ? nullptr : std::shared_ptr<void>(place(base, 0, whole), give_memory);
}

}  // namespace nnc
