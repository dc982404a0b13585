// What a simulated node passes into its core: seeded entropy and seeded misbehaviour.
//
// Each has its own stream of random numbers, so that one more question of one node
// changes nothing for the others. Thread rule: one owner at a time.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "base/prng.h"
#include "core/entropy.h"
#include "core/misbehaviour.h"

namespace zhinu::sim {

class SeededEntropy : public core::Entropy {
 public:
  SeededEntropy(std::uint64_t seed, std::uint64_t entity) : prng_(seed, entity) {}

  void fill(MutableByteSpan out) override {
    for (std::size_t i = 0; i < out.size(); i += sizeof(std::uint64_t)) {
      const std::uint64_t word = prng_.next();
      const std::size_t left = out.size() - i;
      std::memcpy(out.data() + i, &word, left < sizeof word ? left : sizeof word);
    }
  }

 private:
  Prng prng_;
};

// How often each misbehaviour happens when it is asked for, per million.
struct MisbehaviourRates {
  std::uint32_t short_send_ppm = 0;
  std::uint32_t late_completion_ppm = 0;
  std::uint32_t full_pool_ppm = 0;

  friend bool operator==(const MisbehaviourRates&, const MisbehaviourRates&) = default;
};

class SeededMisbehaviour : public core::Misbehaviour {
 public:
  SeededMisbehaviour(const MisbehaviourRates& rates, std::uint64_t seed, std::uint64_t entity)
      : rates_(rates), prng_(seed, entity) {}

  bool short_send() override { return roll(rates_.short_send_ppm); }
  bool late_completion() override {
    const bool late = roll(rates_.late_completion_ppm);
    completions_held_ |= late;
    return late;
  }
  bool full_pool() override { return roll(rates_.full_pool_ppm); }
  // Whether completions were held back since the last call: the driver polls again soon,
  // as nothing else may wake it.
  bool take_completions_held() { return std::exchange(completions_held_, false); }
  // After the heal nothing misbehaves any more.
  void set_rates(const MisbehaviourRates& rates) { rates_ = rates; }

 private:
  bool roll(std::uint32_t per_million) { return per_million > 0 && prng_.chance(per_million); }

  MisbehaviourRates rates_;
  Prng prng_;
  bool completions_held_ = false;
};

}  // namespace zhinu::sim
