// Runs a function in a process of its own, so that a crash of the core is a result.
//
// The child's answer comes back over a pipe; what it printed on stderr is kept, since
// the last line of a failed assertion says which one. An endless loop ends by a limit
// of CPU time. Thread rule: the caller's process has no other threads that hold locks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace zhinu::sim::check {

struct ChildResult {
  bool crashed = false;
  std::uint64_t cpu_us = 0;  // that the child used
  std::string answer;        // what the function returned
  std::string last_words;    // how it ended, and the last line on stderr, if it crashed
};

// A child that runs; the caller waits for `answer_fd` to become readable and calls
// finish() at its end of file.
class Child {
 public:
  // CPU time after which a run is an endless loop; the largest scenario takes a tenth.
  static constexpr std::uint32_t kCpuSecondsMax = 300;

  Child() = default;
  // Starts the child at once. `work` runs there and returns the answer.
  explicit Child(const std::function<std::string()>& work);
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;

  bool running() const { return pid_ > 0; }
  int answer_fd() const { return answer_fd_; }
  // Reads what there is; true at the end of the answer.
  bool read_some();
  // After the end of the answer: waits for the end of the child.
  ChildResult finish();
  // Ends it without an answer.
  void kill();

 private:
  void close_all();

  int pid_ = -1;
  int answer_fd_ = -1;
  int words_fd_ = -1;
  std::string answer_;
};

// Starts the child and waits for it.
ChildResult run_isolated(const std::function<std::string()>& work);

}  // namespace zhinu::sim::check
