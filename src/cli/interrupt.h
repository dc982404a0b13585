// Ctrl-C as something that can be waited for: the first one is a request, the second
// one ends the program as usual.
#pragma once

namespace zhinu::cli {

// While it lives SIGINT makes fd() readable.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  int fd() const { return fd_; }
  // After the first one: the next SIGINT ends the program.
  void let_through();

 private:
  int fd_ = -1;
  bool blocked_ = false;
};

}  // namespace zhinu::cli
