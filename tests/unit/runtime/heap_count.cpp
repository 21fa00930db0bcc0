// Counts what the test program takes from the heap.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {
std::atomic<int64_t> taken{0};
}

void* operator new(size_t n) {
  taken.fetch_add(1, std::memory_order_relaxed);
  void* p = std::malloc(n == 0 ? 1 : n);
  if (!p) std::abort();
  return p;
}
void* operator new(size_t n, const std::nothrow_t&) noexcept {
  taken.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(n == 0 ? 1 : n);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }

namespace nnc::test {
int64_t heap_allocations() { return taken.load(std::memory_order_relaxed); }
}  // namespace nnc::test
