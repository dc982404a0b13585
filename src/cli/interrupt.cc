#include "cli/interrupt.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace zhinu::cli {
namespace {

sigset_t only_sigint() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

Interrupt::Interrupt() {
  const sigset_t set = only_sigint();
  blocked_ = sigprocmask(SIG_BLOCK, &set, nullptr) == 0;
  fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

Interrupt::~Interrupt() {
  let_through();
  if (fd_ >= 0) static_cast<void>(close(fd_));
}

void Interrupt::let_through() {
  if (!blocked_) return;
  // The one that was noticed is taken, else it would end the program now.
  signalfd_siginfo noticed;
  static_cast<void>(!read(fd_, &noticed, sizeof noticed));
  const sigset_t set = only_sigint();
  static_cast<void>(sigprocmask(SIG_UNBLOCK, &set, nullptr));
  blocked_ = false;
}

}  // namespace zhinu::cli
