#pragma once
// Typed 32-bit ids, and vectors indexed by them. An id is an index into the arena of one graph, kernel or module; mixing arenas
// is a bug that the accessors' range checks catch in part, so keep ids beside their owner.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "ir/support/result.h"

namespace nnc {

template <class Tag> struct Id {
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t v = kNone;
  constexpr Id() = default;
  constexpr explicit Id(uint32_t value) : v(value) {}
  constexpr explicit Id(size_t value) : v(static_cast<uint32_t>(value)) {}
  constexpr explicit Id(int value) : v(static_cast<uint32_t>(value)) {}
  constexpr bool valid() const { return v != kNone; }
  constexpr explicit operator bool() const { return valid(); }
  constexpr size_t index() const { return v; }
  constexpr auto operator<=>(const Id&) const = default;
};

// The vector that owns the things an id names.
template <class IdT, class T> class IdVec {
 public:
  IdT push(T value) {
    items_.push_back(std::move(value));
    return IdT(items_.size() - 1);
  }
  T& operator[](IdT id) {
    NNC_CHECK(id.index() < items_.size(), "id outside its arena");
    return items_[id.index()];
  }
  const T& operator[](IdT id) const {
    NNC_CHECK(id.index() < items_.size(), "id outside its arena");
    return items_[id.index()];
  }
  size_t size() const { return items_.size(); }
  bool contains(IdT id) const { return id.index() < items_.size(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<T> items_;
};

// A side table that grows on write; reading an absent entry gives the default.
template <class IdT, class T> class IdMap {
 public:
  T& operator[](IdT id) {
    if (id.index() >= items_.size()) items_.resize(id.index() + 1);
    return items_[id.index()];
  }
  const T& get(IdT id) const {
    static const T none{};
    return id.index() < items_.size() ? items_[id.index()] : none;
  }
  void clear() { items_.clear(); }

 private:
  std::vector<T> items_;
};

}  // namespace nnc

template <class Tag> struct std::hash<nnc::Id<Tag>> {
  size_t operator()(nnc::Id<Tag> id) const noexcept { return id.v * 0x9e3779b97f4a7c15ull; }
};
