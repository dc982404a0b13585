// Where secrets and unpredictable ids come from: an argument, never a global.
//
// Production passes the system's generator, the simulator a seeded one, so that
// a run replays from its seed.
#pragma once

#include "base/bytes.h"

namespace zhinu::core {

class Entropy {
 public:
  virtual ~Entropy() = default;
  // Fills `out` with unpredictable bytes. Never fails; called at set-up and at
  // handshakes only, not per packet.
  virtual void fill(MutableByteSpan out) = 0;
};

}  // namespace zhinu::core
