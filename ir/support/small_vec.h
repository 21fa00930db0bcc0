#pragma once
// A vector whose first N elements live in the object itself; beyond them it moves to the heap. For short lists that are made often:
// operands, extents, axes. The interface is std::vector's, with checked indexing. Moving a short one moves its elements, so references
// into it do not survive a move.

#include <algorithm>
#include <compare>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "ir/support/result.h"

namespace nnc {

template <class T, size_t N> class SmallVec {
  static_assert(N > 0 && std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>);

 public:
  using value_type = T;
  using size_type = size_t;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVec() = default;
  explicit SmallVec(size_t count) { resize(count); }
  SmallVec(size_t count, const T& value) { resize(count, value); }
  SmallVec(std::initializer_list<T> items) { append(items.begin(), items.end()); }
  template <std::input_iterator It> SmallVec(It first, It last) { append(first, last); }
  explicit SmallVec(std::span<const T> items) { append(items.begin(), items.end()); }
  SmallVec(const SmallVec& other) { append(other.begin(), other.end()); }
  SmallVec(SmallVec&& other) noexcept { take(other); }
  ~SmallVec() { drop(); }
  SmallVec& operator=(const SmallVec& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  SmallVec& operator=(SmallVec&& other) noexcept {
    if (this == &other) return *this;
    drop();
    take(other);
    return *this;
  }
  SmallVec& operator=(std::initializer_list<T> items) { return assign(items.begin(), items.end()), *this; }
  template <std::input_iterator It> void assign(It first, It last) { clear(), append(first, last); }
  void assign(size_t count, const T& value) {
    T copy(value);
    clear();
    resize(count, copy);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t capacity() const { return capacity_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T* cbegin() const { return begin(); }
  const T* cend() const { return end(); }
  auto rbegin() { return std::reverse_iterator(end()); }
  auto rend() { return std::reverse_iterator(begin()); }
  auto rbegin() const { return std::reverse_iterator(end()); }
  auto rend() const { return std::reverse_iterator(begin()); }
  T& operator[](size_t i) { return data_[checked(i)]; }
  const T& operator[](size_t i) const { return data_[checked(i)]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }

  void reserve(size_t wanted) {
    if (wanted > capacity_) move_to(wanted);
  }
  void clear() { shrink(0); }
  // The arguments may refer into this vector.
  template <class... Args> T& emplace_back(Args&&... args) {
    if (size_ == capacity_) {
      T made(std::forward<Args>(args)...);
      move_to(capacity_ * 2);
      std::construct_at(data_ + size_, std::move(made));
    } else {
      std::construct_at(data_ + size_, std::forward<Args>(args)...);
    }
    return data_[size_++];
  }
  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  void pop_back() {
    NNC_CHECK(size_ > 0, "pop_back of an empty vector");
    std::destroy_at(data_ + --size_);
  }
  void resize(size_t count) {
    shrink(count);
    reserve(count);
    while (size_ < count) std::construct_at(data_ + size_++);
  }
  void resize(size_t count, const T& value) {
    const T copy(value);
    shrink(count);
    reserve(count);
    while (size_ < count) std::construct_at(data_ + size_++, copy);
  }
  // The range must not lie in this vector.
  template <std::input_iterator It> void append(It first, It last) {
    if constexpr (std::forward_iterator<It>) reserve(size_ + static_cast<size_t>(std::distance(first, last)));
    for (; first != last; ++first) emplace_back(*first);
  }
  iterator insert(const_iterator where, T value) {
    const size_t at = static_cast<size_t>(where - begin());
    NNC_CHECK(at <= size_, "insert outside the vector");
    emplace_back(std::move(value));
    std::rotate(data_ + at, data_ + size_ - 1, data_ + size_);
    return data_ + at;
  }
  template <std::input_iterator It> iterator insert(const_iterator where, It first, It last) {
    const size_t at = static_cast<size_t>(where - begin()), before = size_;
    NNC_CHECK(at <= size_, "insert outside the vector");
    append(first, last);
    std::rotate(data_ + at, data_ + before, data_ + size_);
    return data_ + at;
  }
  iterator erase(const_iterator where) { return erase(where, where + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    const size_t from = static_cast<size_t>(first - begin()), to = static_cast<size_t>(last - begin());
    NNC_CHECK(from <= to && to <= size_, "erase outside the vector");
    if (from == to) return data_ + from;  // moving elements onto themselves may empty them
    std::move(data_ + to, data_ + size_, data_ + from);
    shrink(size_ - (to - from));
    return data_ + from;
  }
  void swap(SmallVec& other) noexcept { std::swap(*this, other); }

  friend bool operator==(const SmallVec& a, const SmallVec& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }
  friend auto operator<=>(const SmallVec& a, const SmallVec& b) requires std::three_way_comparable<T> {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  bool on_heap() const { return data_ != inline_data(); }
  T* inline_data() const { return reinterpret_cast<T*>(const_cast<std::byte*>(inline_)); }
  size_t checked(size_t i) const {
    NNC_CHECK(i < size_, "index outside the vector");
    return i;
  }
  void shrink(size_t count) {
    if (count >= size_) return;
    std::destroy(data_ + count, data_ + size_);
    size_ = count;
  }
  // To a heap block of at least `wanted` elements.
  void move_to(size_t wanted) {
    NNC_CHECK(wanted <= SIZE_MAX / 2 / sizeof(T), "vector too long");
    const size_t capacity = std::max(wanted, capacity_ + capacity_ / 2);
    T* fresh = std::allocator<T>().allocate(capacity);
    std::uninitialized_move(begin(), end(), fresh);
    const size_t count = size_;
    drop();
    data_ = fresh, size_ = count, capacity_ = capacity;
  }
  // Destroys all and goes back to the empty inline state.
  void drop() {
    shrink(0);
    if (on_heap()) std::allocator<T>().deallocate(data_, capacity_);
    data_ = inline_data(), capacity_ = N;
  }
  // This one is empty and inline.
  void take(SmallVec& other) noexcept {
    if (other.on_heap()) {
      data_ = std::exchange(other.data_, other.inline_data());
      capacity_ = std::exchange(other.capacity_, N);
      size_ = std::exchange(other.size_, 0);
    } else {
      std::uninitialized_move(other.begin(), other.end(), data_);
      size_ = other.size_;
      other.shrink(0);
    }
  }

  alignas(T) std::byte inline_[N * sizeof(T)];
  T* data_ = inline_data();
  size_t size_ = 0;
  size_t capacity_ = N;
};

}  // namespace nnc
