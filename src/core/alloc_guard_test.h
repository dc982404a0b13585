// Counts allocations, to prove that the data path makes none.
//
// Include it in one source of a program only: it replaces the global operators, or, where
// a sanitizer has replaced them, asks that to tell. Thread rule: each has its own counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ZHINU_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ZHINU_TEST_SANITIZED 1
#endif
#endif

namespace zhinu::core::test {

// Of this thread since it started: a fuzzer has others, which allocate when they like.
inline thread_local std::uint64_t allocations = 0;
inline thread_local std::uint64_t allocated_bytes = 0;

inline void count_allocation(std::size_t bytes) {
  ++allocations;
  allocated_bytes += bytes;
}

}  // namespace zhinu::core::test

#ifdef ZHINU_TEST_SANITIZED
#include <sanitizer/allocator_interface.h>

namespace zhinu::core::test {

inline const int allocation_hooks = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t bytes) { count_allocation(bytes); },
    [](const volatile void*) {});

}  // namespace zhinu::core::test
#else
namespace zhinu::core::test {

inline void* counted_allocation(std::size_t bytes) {
  count_allocation(bytes);
  void* const memory = std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) std::abort();
  return memory;
}

inline void* counted_aligned_allocation(std::size_t bytes, std::align_val_t alignment) {
  count_allocation(bytes);
  const auto step = static_cast<std::size_t>(alignment);
  void* const memory = std::aligned_alloc(step, (bytes + step) / step * step);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace zhinu::core::test

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return zhinu::core::test::counted_allocation(bytes);
}
[[gnu::noinline]] void* operator new[](std::size_t bytes) {
  return zhinu::core::test::counted_allocation(bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return zhinu::core::test::counted_aligned_allocation(bytes, alignment);
}
[[gnu::noinline]] void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return zhinu::core::test::counted_aligned_allocation(bytes, alignment);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
#endif
