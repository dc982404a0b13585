// Faults inside the core, for the simulator and for tests: a passed object whose
// answers switch each named misbehaviour on at that moment. Production passes none.
#pragma once

namespace zhinu::core {

class Misbehaviour {
 public:
  virtual ~Misbehaviour() = default;
  // Close the packet after its first frame that carries a message.
  virtual bool short_send() { return false; }
  // Hold completions back until the next poll.
  virtual bool late_completion() { return false; }
  // Behave as if the pool that is asked were full.
  virtual bool full_pool() { return false; }
};

}  // namespace zhinu::core
