#include "sim/check/isolate.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace zhinu::sim::check {
namespace {

constexpr std::size_t kWordsMax = 4'096;

// The child's side: never returns, and runs no destructor of the parent's objects.
[[noreturn]] void run_child(const std::function<std::string()>& work, int answer_fd, int words_fd) {
  rlimit limit{};
  limit.rlim_cur = Child::kCpuSecondsMax;
  limit.rlim_max = Child::kCpuSecondsMax + 1;
  static_cast<void>(setrlimit(RLIMIT_CPU, &limit));
  const rlimit no_core{};
  static_cast<void>(setrlimit(RLIMIT_CORE, &no_core));
  // Ctrl-C is the parent's to handle.
  static_cast<void>(signal(SIGINT, SIG_IGN));
  static_cast<void>(dup2(words_fd, STDERR_FILENO));
  const std::string answer = work();
  std::size_t done = 0;
  while (done < answer.size()) {
    const ssize_t count = write(answer_fd, answer.data() + done, answer.size() - done);
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  _exit(0);
}

std::uint64_t microseconds_of(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_usec);
}

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const std::size_t line = text.rfind('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

// The first line that tells of an assertion or a sanitizer, else the last one.
std::string telling_line(const std::string& text) {
  for (const char* sign : {"assertion failed", "ERROR: ", "runtime error"}) {
    const std::size_t found = text.find(sign);
    if (found == std::string::npos) continue;
    const std::size_t begin = text.rfind('\n', found);
    const std::size_t end = text.find('\n', found);
    return text.substr(begin == std::string::npos ? 0 : begin + 1,
                       end == std::string::npos
                           ? std::string::npos
                           : end - (begin == std::string::npos ? 0 : begin + 1));
  }
  return last_line(text);
}

}  // namespace

Child::Child(const std::function<std::string()>& work) {
  std::array<int, 2> answer{};
  std::array<int, 2> words{};
  const bool piped = pipe2(answer.data(), O_CLOEXEC) == 0 && pipe2(words.data(), O_CLOEXEC) == 0;
  ZHINU_ASSERT(piped);
  static_cast<void>(fflush(nullptr));  // else the child would print it again
  pid_ = fork();
  ZHINU_ASSERT(pid_ >= 0);
  if (pid_ == 0) run_child(work, answer[1], words[1]);
  static_cast<void>(close(answer[1]));
  static_cast<void>(close(words[1]));
  answer_fd_ = answer[0];
  words_fd_ = words[0];
}

Child::~Child() { kill(); }

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      answer_fd_(std::exchange(other.answer_fd_, -1)),
      words_fd_(std::exchange(other.words_fd_, -1)),
      answer_(std::move(other.answer_)) {}

Child& Child::operator=(Child&& other) noexcept {
  if (this == &other) return *this;
  kill();
  pid_ = std::exchange(other.pid_, -1);
  answer_fd_ = std::exchange(other.answer_fd_, -1);
  words_fd_ = std::exchange(other.words_fd_, -1);
  answer_ = std::move(other.answer_);
  return *this;
}

bool Child::read_some() {
  std::array<char, 65'536> buffer;
  const ssize_t count = read(answer_fd_, buffer.data(), buffer.size());
  if (count <= 0) return true;
  answer_.append(buffer.data(), static_cast<std::size_t>(count));
  return false;
}

ChildResult Child::finish() {
  ChildResult result;
  // A pipe holds more than the few lines that a crash prints.
  std::string words;
  std::array<char, kWordsMax> buffer;
  for (ssize_t count = 1; count > 0 && words.size() < kWordsMax;) {
    count = read(words_fd_, buffer.data(), buffer.size());
    if (count > 0) words.append(buffer.data(), static_cast<std::size_t>(count));
  }
  int status = 0;
  rusage usage{};
  static_cast<void>(wait4(pid_, &status, 0, &usage));
  pid_ = -1;
  close_all();
  result.cpu_us = microseconds_of(usage.ru_utime) + microseconds_of(usage.ru_stime);
  result.answer = std::move(answer_);
  result.crashed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  if (result.crashed) {
    const std::string how = WIFSIGNALED(status)
                                ? std::string("signal ") + strsignal(WTERMSIG(status))
                                : "exit code " + std::to_string(WEXITSTATUS(status));
    result.last_words = how + (words.empty() ? "" : ": " + telling_line(words));
  }
  return result;
}

void Child::kill() {
  if (pid_ > 0) {
    static_cast<void>(::kill(pid_, SIGKILL));
    static_cast<void>(waitpid(pid_, nullptr, 0));
    pid_ = -1;
  }
  close_all();
}

void Child::close_all() {
  if (answer_fd_ >= 0) static_cast<void>(close(answer_fd_));
  if (words_fd_ >= 0) static_cast<void>(close(words_fd_));
  answer_fd_ = -1;
  words_fd_ = -1;
}

ChildResult run_isolated(const std::function<std::string()>& work) {
  Child child(work);
  while (!child.read_some()) {
  }
  return child.finish();
}

}  // namespace zhinu::sim::check
