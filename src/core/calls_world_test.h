// Two endpoints, the network between them and a model of what was posted, for the
// fuzz target of the calls.
//
// Memory that no endpoint may touch at a moment is poisoned, so that AddressSanitizer sees
// a read or write after the completion. Every packet is encoded, sealed and decoded. Pools
// are tiny, so that full is the common case. Thread rule: one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "base/check.h"
#include "core/alloc_guard_test.h"
#include "core/endpoint.h"
#include "core/handshake_samples_test.h"

#ifdef ZHINU_TEST_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace zhinu::core::test {

inline void poison(const std::byte* memory, std::size_t bytes) {
#ifdef ZHINU_TEST_ASAN
  ASAN_POISON_MEMORY_REGION(memory, bytes);
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
#endif
}

inline void unpoison(const std::byte* memory, std::size_t bytes) {
#ifdef ZHINU_TEST_ASAN
  ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
#endif
}

// Answers as its bits say, then no more: what is injected must end for a run to heal.
class ScriptedMisbehaviour final : public Misbehaviour {
 public:
  void arm(std::uint32_t bits) { bits_ = bits; }
  bool short_send() override { return take(); }
  bool late_completion() override { return take(); }
  bool full_pool() override { return take(); }

 private:
  bool take() {
    const bool answer = (bits_ & 1) != 0;
    bits_ >>= 1;
    return answer;
  }
  std::uint32_t bits_ = 0;
};

// Memory that is poisoned while nobody may touch it.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes)
      : bytes_(bytes), memory_(std::make_unique_for_overwrite<std::byte[]>(bytes)) {
    close();
  }
  ~GuardedMemory() { open(bytes_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  MutableByteSpan open(std::size_t bytes) {
    ZHINU_ASSERT(bytes <= bytes_);
    unpoison(memory_.get(), bytes);
    return {memory_.get(), bytes};
  }
  void close() { poison(memory_.get(), bytes_); }

 private:
  std::size_t bytes_;
  std::unique_ptr<std::byte[]> memory_;
};

inline constexpr std::size_t kRegionBytes = 16 * 1024;
inline constexpr std::uint32_t kReadPattern = 0x7ead;

// Bytes that tell which message they belong to and where in it they lie.
inline std::uint32_t pattern_word(std::uint32_t id, std::size_t word) {
  return id * 0x9e3779b1U + static_cast<std::uint32_t>(word) * 0x85ebca6bU;
}
inline void fill_pattern(MutableByteSpan to, std::uint32_t id) {
  for (std::size_t at = 0; at < to.size(); at += 4) {
    const std::uint32_t word = pattern_word(id, at / 4);
    std::memcpy(to.data() + at, &word, std::min<std::size_t>(4, to.size() - at));
  }
}
// What can be read. Filled once: each input begins with it.
inline void fill_read_pattern(MutableByteSpan to) {
  static const auto kPattern = [] {
    std::array<std::byte, kRegionBytes> bytes{};
    fill_pattern(bytes, kReadPattern);
    return bytes;
  }();
  ZHINU_ASSERT(to.size() == kPattern.size());
  std::memcpy(to.data(), kPattern.data(), to.size());
}
// `offset` of the bytes in the message: a multiple of 4.
inline bool has_pattern(ByteSpan bytes, std::uint32_t id, std::size_t offset = 0) {
  for (std::size_t at = 0; at < bytes.size(); at += 4) {
    const std::uint32_t word = pattern_word(id, (offset + at) / 4);
    const std::size_t count = std::min<std::size_t>(4, bytes.size() - at);
    if (std::memcmp(bytes.data() + at, &word, count) != 0) return false;
  }
  return true;
}

// One posted item, live until its completion.
struct Item {
  OperationKind kind = OperationKind::kSend;
  std::uint16_t communicator = 0;
  TrafficClass traffic_class = TrafficClass::kGradient;
  std::uint32_t tag = 0;
  std::uint32_t digest = 0;
  std::size_t bytes = 0;
  std::uint64_t offset = 0;  // in the region
  bool any_source = false;
  bool notify = false;
  bool ordered = false;
  Instant deadline = Instant::never();

  Operation operation{};
  std::uint64_t incarnation = 0;  // of the endpoint that gave the operation
  bool live = false;
  std::uint32_t id = 0;      // of its pattern; a receive: of what it got
  std::uint32_t memory = 0;  // slot
  Errc status = Errc::kOk;
  bool notified = false;
  bool told_which = false;  // a receive whose bytes told `id`
};

inline constexpr std::uint8_t kWorldPaths = 2;
inline constexpr std::uint16_t kWorldCommunicators = 3;
inline constexpr std::size_t kMessageBytesMax = 12'288;

inline EndpointOptions tiny_options() {
  EndpointOptions options;
  options.path.hold_first = milliseconds(20);
  options.path.hold_max = milliseconds(160);
  options.path.calm = milliseconds(500);
  options.path.probes_to_return = 2;
  options.path.skip_packets_min = 3;
  options.path.skip_packets_max = 9;
  options.window.initial_bytes = 8'192;
  options.window.min_bytes = 4'096;
  options.sends_max = 16;
  options.receives_max = 16;
  options.sent_packets_max = 20;
  options.channels_max = 6;
  options.held_blocks_max = 6;
  options.segment_maps_max = 2;
  options.refusals_max = 4;
  options.events_max = 8;
  options.regions_max = 3;
  options.peers_max = 2;
  options.paths_max = 3;
  options.in_paths_max = 2;
  options.eager_bytes_max = 600;
  options.eager_budget_bytes = 1'500;
  options.communicator_reserve_bytes = 512;
  options.announced_max = 2;
  options.grant_window_bytes = 8'192;
  options.unscheduled_bytes = 2'048;
  options.message_span_bytes = 8'192;
  options.train_bytes = 4'096;
  options.credit_probe_max = milliseconds(80);
  options.probe_timeout_max = milliseconds(50);
  options.silent_notice = milliseconds(300);
  options.peer_timeout = milliseconds(1'000);
  options.hello_interval_first = milliseconds(5);
  options.hello_interval_max = milliseconds(50);
  options.rekey_packets = 16;
  return options;
}

class World {
 public:
  World(SealMode seal, std::uint64_t seed) : seal_(seal), entropy_(seed) {
    for (std::uint32_t side = 0; side < 2; ++side) start(side);
  }

  Instant now() const { return now_; }
  // Until both are up; nothing is lost meanwhile.
  void connect() {
    for (std::uint32_t side_index = 0; side_index < 2; ++side_index) drain(side_index);
    for (int i = 0; i < 8 && !both_up(); ++i) {
      deliver_all();
      advance(microseconds(10));
    }
    ZHINU_ASSERT(both_up());
  }

  // Calls on `side`. What is refused is legal.
  void post(std::uint32_t side_index, const Item& item) {
    post_only(side_index, item);
    drain(side_index);
  }
  void cancel(std::uint32_t side_index, std::uint32_t nth);
  void abort(std::uint32_t side_index, std::uint16_t communicator) {
    static_cast<void>(
        at(side_index).abort(now_, {communicator}, communicator == 1 ? Errc::kOk : Errc::kAborted));
    drain(side_index);
  }
  void toggle_communicator(std::uint32_t side_index, std::uint16_t communicator);
  void toggle_region(std::uint32_t side_index, bool readable);
  void close(std::uint32_t side_index) {
    ZHINU_ASSERT(at(side_index).close_peer(now_, {0}).ok());
    drain(side_index);
  }
  void restart(std::uint32_t side_index);
  void misbehave(std::uint32_t side_index, std::uint32_t bits) {
    sides_[side_index].misbehaviour.arm(bits);
  }

  // The network. `index` counts the packets under way, modulo their number.
  void deliver(std::uint32_t index, bool ecn_marked);
  void drop(std::uint32_t index);
  void duplicate(std::uint32_t index);
  void corrupt(std::uint32_t index, std::uint32_t bit);
  void deliver_all() {
    for (std::uint32_t i = 0; i < kDeliveriesMax && !order_.empty(); ++i) deliver(0, false);
  }
  void set_down(std::uint8_t path, bool down) { down_[path] = down; }
  void move_address(std::uint32_t side_index, std::uint8_t path) { ++variants_[side_index][path]; }
  void advance(Duration step);

  // From here on nothing goes wrong any more, for as long as both may need to recover.
  void heal(Duration time = kHealTime);
  // What can end has ended: everything that has a partner, and what needs none.
  void expect_matched_ended() const;
  // Cancels what is left; afterwards all pools are whole again.
  void expect_ends();

 private:
  static constexpr std::uint32_t kFlightsMax = 48;
  static constexpr std::uint32_t kSlots = 40;
  static constexpr std::uint32_t kDeliveriesMax = 2'000;
  static constexpr std::size_t kTransmitsMax = 1'000;
  static constexpr std::uint64_t kHealPacketsMax = 4'000;  // several times what it takes
  // What is under way for longer is lost. An RTT is how long two packets were, and a path that
  // does not answer is given up after two or three: all of it fits the time to heal.
  static constexpr Duration kLifetime = milliseconds(100);
  static constexpr Duration kHealTime = milliseconds(1'300);
  static constexpr Duration kCalmTime = milliseconds(300);  // when nothing had gone wrong before

  struct Flight {
    std::uint32_t from = 0;  // side
    std::uint8_t path = 0;
    Instant sent_at;
    std::size_t bytes = 0;
    std::array<std::byte, 1'536> data;
  };
  struct Side {
    std::uint64_t incarnation = 0;
    ScriptedMisbehaviour misbehaviour;
    std::unique_ptr<Endpoint> endpoint;
    std::vector<Item> items;
    std::vector<std::unique_ptr<GuardedMemory>> memory;  // of items, made when first used
    std::vector<std::uint32_t> free_memory;
    GuardedMemory writable{kRegionBytes};
    GuardedMemory readable{kRegionBytes};
    RegionKey write_key;  // kept after it was revoked: a peer may still name it
    RegionKey read_key;
    bool writes_allowed = false;
    bool reads_allowed = false;
    std::array<bool, kWorldCommunicators> aborted{};
    std::array<std::array<std::uint32_t, kTrafficClasses>, kWorldCommunicators> last_ordered{};
    bool lost_session = false;  // something of the other side may never be notified
    std::uint64_t allocations = 0;
  };

  Endpoint& at(std::uint32_t side_index) { return *sides_[side_index].endpoint; }
  const Endpoint& at(std::uint32_t side_index) const { return *sides_[side_index].endpoint; }
  Address address_of_path(std::uint32_t side_index, std::uint8_t path) const {
    Address address;
    address.bytes[0] = static_cast<std::byte>(side_index + 1);
    address.bytes[1] = static_cast<std::byte>(path);
    address.bytes[2] = static_cast<std::byte>(variants_[side_index][path]);
    return address;
  }
  void start(std::uint32_t side_index);
  bool has_communicator(std::uint32_t side_index, std::uint16_t communicator) const {
    return communicators_[side_index][communicator];
  }

  void post_only(std::uint32_t side_index, Item item);
  std::optional<std::uint32_t> take_memory(Side& side);
  Result<Operation> call(std::uint32_t side_index, Item& item, MutableByteSpan memory);
  void drain(std::uint32_t side_index);
  void drain_transmits(std::uint32_t side_index);
  void on_completion(std::uint32_t side_index, const Completion& completion);
  void expect_received(std::uint32_t side_index, Item& item, const Completion& completion);
  void on_event(std::uint32_t side_index, const Event& event);
  void on_notification(std::uint32_t side_index, const Event& event);
  bool pass_time(Instant limit);
  bool both_up() const { return at(0).peer_is_up({0}) && at(1).peer_is_up({0}); }
  bool any_live() const;
  bool waits_behind_others(std::uint32_t side_index, const Item& item) const;
  bool may_lack_places(std::uint32_t side_index) const;
  void expect_whole_pools();

  SealMode seal_;
  Instant now_ = kStart;
  SeededEntropy entropy_;
  std::array<Side, 2> sides_;
  std::array<std::array<bool, kWorldCommunicators>, 2> communicators_{};
  std::vector<std::unique_ptr<Flight>> spare_;
  std::vector<std::unique_ptr<Flight>> order_;
  std::array<bool, kWorldPaths> down_{};
  std::array<std::array<std::uint8_t, kWorldPaths>, 2> variants_{};
  std::uint32_t next_id_ = 1;
  std::uint64_t next_incarnation_ = 1;
  std::uint64_t packets_sent_ = 0;
  bool closed_ = false;
};

inline void World::start(std::uint32_t side_index) {
  Side& side = sides_[side_index];
  side.incarnation = next_incarnation_++;
  const Identity identity{.rank = side_index,
                          .world = kWorld,
                          .incarnation = side.incarnation,
                          .seal = seal_,
                          .job_key = job_key_of(1)};
  side.misbehaviour.arm(0);
  side.endpoint =
      std::make_unique<Endpoint>(tiny_options(), identity, entropy_, &side.misbehaviour);
  std::array<PathConfig, kWorldPaths> paths;
  for (std::uint8_t path = 0; path < kWorldPaths; ++path) {
    paths[path].remote = address_of_path(1 - side_index, path);
    paths[path].nic = path;
    paths[path].group = path;
    paths[path].packet_bytes_max = path == 0 ? 1'400U : 1'280U;
  }
  ZHINU_ASSERT(at(side_index).add_peer(now_, {.rank = 1 - side_index, .paths = paths}).ok());
  communicators_[side_index] = {};
  side.aborted = {};
  side.last_ordered = {};
  side.writes_allowed = false;
  side.reads_allowed = false;
  for (std::uint16_t communicator = 0; communicator < 2; ++communicator) {
    ZHINU_ASSERT(at(side_index).create_communicator({communicator}).ok());
    communicators_[side_index][communicator] = true;
  }
  toggle_region(side_index, true);
  toggle_region(side_index, false);
}

inline std::optional<std::uint32_t> World::take_memory(Side& side) {
  if (side.free_memory.empty()) {
    if (side.memory.size() == kSlots) return std::nullopt;
    side.memory.push_back(std::make_unique<GuardedMemory>(kMessageBytesMax));
    return static_cast<std::uint32_t>(side.memory.size() - 1);
  }
  const std::uint32_t slot = side.free_memory.back();
  side.free_memory.pop_back();
  return slot;
}

inline void World::post_only(std::uint32_t side_index, Item item) {
  Side& side = sides_[side_index];
  const auto slot = take_memory(side);
  if (!slot.has_value()) return;
  item.memory = *slot;
  item.id = next_id_++;
  const MutableByteSpan memory = side.memory[*slot]->open(item.bytes);
  if (item.kind == OperationKind::kSend || item.kind == OperationKind::kWrite) {
    fill_pattern(memory, item.id);
  }
  side.items.push_back(item);
  Item& kept = side.items.back();
  const Result<Operation> operation = call(side_index, kept, memory);
  if (operation.ok()) {
    kept.operation = operation.value();
    kept.incarnation = side.incarnation;
    kept.live = true;
  } else {
    side.items.pop_back();
    side.memory[*slot]->close();
    side.free_memory.push_back(*slot);
  }
}

inline Result<Operation> World::call(std::uint32_t side_index, Item& item, MutableByteSpan memory) {
  const std::uint64_t user = sides_[side_index].items.size() - 1;
  const Side& other = sides_[1 - side_index];
  switch (item.kind) {
    case OperationKind::kSend:
      return at(side_index)
          .send(now_, {.peer = {0},
                       .traffic_class = item.traffic_class,
                       .communicator = {item.communicator},
                       .tag = item.tag,
                       .digest = item.digest,
                       .data = memory,
                       .deadline = item.deadline,
                       .user = user});
    case OperationKind::kReceive:
      return at(side_index)
          .receive(now_, {.peer = item.any_source ? PeerId::none() : PeerId{0},
                          .traffic_class = item.traffic_class,
                          .communicator = {item.communicator},
                          .tag = item.tag,
                          .digest = item.digest,
                          .buffer = memory,
                          .deadline = item.deadline,
                          .user = user});
    case OperationKind::kWrite:
      return at(side_index)
          .write(now_, {.peer = {0},
                        .traffic_class = item.traffic_class,
                        .communicator = {item.communicator},
                        .data = memory,
                        .region = other.write_key,
                        .offset = item.offset,
                        .notify = item.notify,
                        .ordered = item.ordered,
                        .immediate = item.id,
                        .deadline = item.deadline,
                        .user = user});
    case OperationKind::kRead:
      return at(side_index)
          .read(now_, {.peer = {0},
                       .traffic_class = item.traffic_class,
                       .communicator = {item.communicator},
                       .buffer = memory,
                       .region = other.read_key,
                       .offset = item.offset,
                       .deadline = item.deadline,
                       .user = user});
  }
  return Errc::kInvalidArgument;
}

inline void World::cancel(std::uint32_t side_index, std::uint32_t nth) {
  Side& side = sides_[side_index];
  if (side.items.empty()) return;
  Item& item = side.items[nth % side.items.size()];
  if (item.incarnation != side.incarnation) return;  // it may name an item of the new endpoint
  const Status status = at(side_index).cancel(now_, item.operation);
  ZHINU_ASSERT(!item.live || status.ok() || status.error() == Errc::kFull);
  ZHINU_ASSERT(item.live || status.error() == Errc::kUnknownOperation);
  drain(side_index);
}

inline void World::toggle_communicator(std::uint32_t side_index, std::uint16_t communicator) {
  bool& exists = communicators_[side_index][communicator];
  const Status status = exists ? at(side_index).destroy_communicator(now_, {communicator})
                               : at(side_index).create_communicator({communicator});
  ZHINU_ASSERT(status.ok());
  exists = !exists;
  sides_[side_index].aborted[communicator] = false;
  drain(side_index);
}

inline void World::toggle_region(std::uint32_t side_index, bool readable) {
  Side& side = sides_[side_index];
  bool& allowed = readable ? side.reads_allowed : side.writes_allowed;
  GuardedMemory& memory = readable ? side.readable : side.writable;
  RegionKey& key = readable ? side.read_key : side.write_key;
  if (allowed) {
    ZHINU_ASSERT(at(side_index).revoke_region(now_, key).ok());
    memory.close();
  } else {
    const MutableByteSpan bytes = memory.open(kRegionBytes);
    if (readable) fill_read_pattern(bytes);
    const auto added =
        at(side_index).register_region(bytes, {.remote_read = readable, .remote_write = !readable});
    ZHINU_ASSERT(added.ok());
    key = added.value();
  }
  allowed = !allowed;
  drain(side_index);
}

inline void World::restart(std::uint32_t side_index) {
  Side& side = sides_[side_index];
  side.endpoint.reset();
  for (Item& item : side.items) {
    if (!item.live) continue;
    item.live = false;
    item.status = Errc::kPeerRestarted;
    side.memory[item.memory]->close();
    side.free_memory.push_back(item.memory);
  }
  side.writable.close();
  side.readable.close();
  side.lost_session = true;
  sides_[1 - side_index].lost_session = true;
  start(side_index);
  drain(side_index);
}

inline void World::deliver(std::uint32_t index, bool ecn_marked) {
  if (order_.empty()) return;
  const auto chosen = order_.begin() + static_cast<std::ptrdiff_t>(index % order_.size());
  std::unique_ptr<Flight> flight = std::move(*chosen);
  order_.erase(chosen);
  const std::uint32_t to = 1 - flight->from;
  if (!down_[flight->path] && now_ <= flight->sent_at + kLifetime) {
    const Arrival arrival{.from = address_of_path(flight->from, flight->path),
                          .nic = flight->path,
                          .ecn_marked = ecn_marked};
    Side& side = sides_[to];
    const std::uint64_t before = allocations;
    static_cast<void>(side.endpoint->handle_datagram(now_, arrival,
                                                     std::span(flight->data).first(flight->bytes)));
    if (!wire::is_handshake(flight->data)) side.allocations += allocations - before;
  }
  spare_.push_back(std::move(flight));
  drain(to);
}

inline void World::drop(std::uint32_t index) {
  if (order_.empty()) return;
  const auto chosen = order_.begin() + static_cast<std::ptrdiff_t>(index % order_.size());
  spare_.push_back(std::move(*chosen));
  order_.erase(chosen);
}

inline void World::duplicate(std::uint32_t index) {
  if (order_.empty() || order_.size() == kFlightsMax) return;
  order_.push_back(std::make_unique<Flight>(*order_[index % order_.size()]));
}

// Only where a tag tells: without one, a changed packet is another packet.
inline void World::corrupt(std::uint32_t index, std::uint32_t bit) {
  if (order_.empty() || seal_ == SealMode::kNone) return;
  Flight& flight = *order_[index % order_.size()];
  const std::size_t place = bit / 8 % flight.bytes;
  flight.data[place] ^= static_cast<std::byte>(1U << (bit % 8));
}

inline void World::advance(Duration step) {
  now_ = now_ + step;
  for (std::uint32_t side_index = 0; side_index < 2; ++side_index) {
    const std::uint64_t before = allocations;
    at(side_index).handle_timeout(now_);
    sides_[side_index].allocations += allocations - before;
    drain(side_index);
  }
}

inline void World::drain(std::uint32_t side_index) {
  Side& side = sides_[side_index];
  std::array<Completion, 3> completions;
  // A completion may be held back once; what comes then comes with the next call.
  for (;;) {
    const std::uint64_t before = allocations;
    const std::size_t count = side.endpoint->poll_completions(completions);
    side.allocations += allocations - before;
    for (std::size_t i = 0; i < count; ++i) on_completion(side_index, completions[i]);
    if (count == 0) break;
  }
  Event event;
  while (side.endpoint->poll_event(event)) on_event(side_index, event);
  drain_transmits(side_index);
  while (side.endpoint->poll_event(event)) on_event(side_index, event);
  // Only a handshake may allocate.
  ZHINU_ASSERT(side.allocations == 0);
}

inline void World::drain_transmits(std::uint32_t side_index) {
  Side& side = sides_[side_index];
  Transmit transmit;
  for (std::size_t sent = 0;; ++sent) {
    ZHINU_ASSERT(sent < kTransmitsMax);
    const std::uint64_t before = allocations;
    const bool more = side.endpoint->poll_transmit(now_, transmit);
    side.allocations += allocations - before;
    if (!more) return;
    ++packets_sent_;
    std::unique_ptr<Flight> flight;
    if (spare_.empty()) {
      flight = std::make_unique<Flight>();
    } else {
      flight = std::move(spare_.back());
      spare_.pop_back();
    }
    flight->from = side_index;
    flight->sent_at = now_;
    flight->path = transmit.packet != nullptr ? transmit.route.path : transmit.route.nic;
    const auto encoded = side.endpoint->encode(transmit, flight->data, 256);
    ZHINU_ASSERT(encoded.ok());
    const ByteSpan tail = encoded.value().tail;
    const std::size_t head_bytes = encoded.value().head_bytes;
    ZHINU_ASSERT(head_bytes + tail.size() <= 1'400);
    if (!tail.empty()) std::memcpy(flight->data.data() + head_bytes, tail.data(), tail.size());
    flight->bytes = head_bytes + tail.size();
    if (order_.size() == kFlightsMax) drop(0);
    order_.push_back(std::move(flight));
  }
}

inline void World::on_completion(std::uint32_t side_index, const Completion& completion) {
  Side& side = sides_[side_index];
  ZHINU_ASSERT(completion.user < side.items.size());
  Item& item = side.items[completion.user];
  ZHINU_ASSERT(item.live);
  ZHINU_ASSERT(item.operation == completion.operation);
  ZHINU_ASSERT(item.kind == completion.kind);
  item.live = false;
  item.status = completion.status;
  if (completion.status == Errc::kOk) {
    if (item.kind == OperationKind::kReceive) {
      expect_received(side_index, item, completion);
    } else {
      ZHINU_ASSERT(completion.bytes == item.bytes);
    }
    if (item.kind == OperationKind::kRead) {
      const ByteSpan bytes = side.memory[item.memory]->open(item.bytes);
      ZHINU_ASSERT(has_pattern(bytes, kReadPattern, item.offset));
    }
  }
  side.memory[item.memory]->close();
  side.free_memory.push_back(item.memory);
}

// The bytes are those of one message that was sent for this receive, and receives got
// messages in the order in which both were posted.
inline void World::expect_received(std::uint32_t side_index, Item& item,
                                   const Completion& completion) {
  Side& side = sides_[side_index];
  ZHINU_ASSERT(completion.bytes <= item.bytes);
  ZHINU_ASSERT(completion.peer == PeerId{0});
  const ByteSpan bytes = side.memory[item.memory]->open(item.bytes).first(completion.bytes);
  const auto same = [&item](const Item& other) {
    return other.communicator == item.communicator && other.tag == item.tag &&
           other.traffic_class == item.traffic_class && other.digest == item.digest;
  };
  bool found = false;
  for (const Item& sent : sides_[1 - side_index].items) {
    if (sent.kind != OperationKind::kSend || !same(sent) || sent.bytes != bytes.size()) continue;
    if (!has_pattern(bytes, sent.id)) continue;
    found = true;
    if (!bytes.empty()) item.id = sent.id;
    break;
  }
  ZHINU_ASSERT(found);
  if (bytes.empty()) return;  // does not tell which message it is
  const std::size_t index = completion.user;
  for (std::size_t i = 0; i < side.items.size(); ++i) {
    const Item& other = side.items[i];
    const bool comparable = i != index && other.told_which && same(other);
    if (!comparable) continue;
    ZHINU_ASSERT((i < index) == (other.id < item.id));
  }
  item.told_which = true;
}

inline void World::on_event(std::uint32_t side_index, const Event& event) {
  Side& side = sides_[side_index];
  if (event.kind == EventKind::kPeerDown) {
    side.lost_session = true;
    sides_[1 - side_index].lost_session = true;
    side.last_ordered = {};
    if (event.code == Errc::kPeerClosed) closed_ = true;
    if (event.code == Errc::kProtocolViolation) ZHINU_ASSERT(false);
  }
  if (event.kind == EventKind::kAborted) side.aborted[event.communicator.value] = true;
  if (event.kind == EventKind::kNotification) on_notification(side_index, event);
}

inline void World::on_notification(std::uint32_t side_index, const Event& event) {
  Side& side = sides_[side_index];
  std::vector<Item>& writes = sides_[1 - side_index].items;
  const auto write = std::find_if(writes.begin(), writes.end(), [&event](const Item& item) {
    return item.kind == OperationKind::kWrite && item.id == event.immediate;
  });
  ZHINU_ASSERT(write != writes.end());
  ZHINU_ASSERT(write->notify);
  ZHINU_ASSERT(!write->notified);
  write->notified = true;
  ZHINU_ASSERT(event.offset == write->offset);
  ZHINU_ASSERT(event.bytes == write->bytes);
  ZHINU_ASSERT(event.traffic_class == write->traffic_class);
  if (write->ordered) {
    std::uint32_t& last = side.last_ordered[write->communicator][index_of(event.traffic_class)];
    ZHINU_ASSERT(last < write->id);
    last = write->id;
  }
  if (event.region != side.write_key || !side.writes_allowed) return;
  // Later writes to the same place may have come first.
  const bool overlapped = std::any_of(writes.begin(), writes.end(), [&write](const Item& item) {
    return item.kind == OperationKind::kWrite && item.id != write->id &&
           item.offset < write->offset + write->bytes && write->offset < item.offset + item.bytes;
  });
  if (overlapped) return;
  const ByteSpan bytes = side.writable.open(kRegionBytes);
  ZHINU_ASSERT(has_pattern(bytes.subspan(event.offset, event.bytes), write->id));
}

inline void World::heal(Duration time) {
  for (std::uint32_t side_index = 0; side_index < 2; ++side_index) misbehave(side_index, 0);
  down_ = {};
  const Instant limit = now_ + time;
  const std::uint64_t sent_before = packets_sent_;
  for (std::uint32_t side_index = 0; side_index < 2; ++side_index) drain(side_index);
  std::uint32_t standing = 0;
  for (;;) {
    deliver_all();
    const Instant next = std::min(at(0).poll_timeout(), at(1).poll_timeout());
    if (next > limit) break;
    // Time that stands still is a timer that is due and does nothing.
    standing = next <= now_ ? standing + 1 : 0;
    ZHINU_ASSERT(standing < 16);
    advance(next > now_ ? next - now_ : Duration{});
    // What is repeated with each round trip, and not less and less often, is a storm.
    ZHINU_ASSERT(packets_sent_ - sent_before < kHealPacketsMax);
  }
}

inline void World::expect_matched_ended() const {
  if (closed_) return;
  ZHINU_ASSERT(both_up());
  for (std::uint32_t side_index = 0; side_index < 2; ++side_index) {
    const bool lacks_places = may_lack_places(side_index);
    for (const Item& item : sides_[side_index].items) {
      if (!item.live || item.kind == OperationKind::kReceive) continue;
      ZHINU_ASSERT(item.kind == OperationKind::kSend);
      if (lacks_places || !has_communicator(1 - side_index, item.communicator)) continue;
      if (waits_behind_others(side_index, item)) continue;
      for (const Item& other : sides_[1 - side_index].items) {
        const bool matches = other.live && other.kind == OperationKind::kReceive &&
                             other.communicator == item.communicator && other.tag == item.tag &&
                             other.traffic_class == item.traffic_class &&
                             (other.digest != 0) == (item.digest != 0);
        ZHINU_ASSERT(!matches);
      }
    }
    if (sides_[side_index].lost_session) continue;
    for (const Item& item : sides_[side_index].items) {
      if (item.kind != OperationKind::kWrite || item.live || item.status != Errc::kOk) continue;
      // Behind a write that was given up, a notification waits for all numbers below that.
      if (lacks_places && item.ordered) continue;
      ZHINU_ASSERT(item.notified == item.notify);
    }
  }
}

// As many messages of its channel ahead of it as the receiver remembers found no receive.
inline bool World::waits_behind_others(std::uint32_t side_index, const Item& item) const {
  std::uint32_t ahead = 0;
  for (const Item& other : sides_[side_index].items) {
    if (&other == &item) break;
    if (!other.live || other.kind != OperationKind::kSend) continue;
    if (other.communicator == item.communicator && other.traffic_class == item.traffic_class) {
      ++ahead;
    }
  }
  return ahead >= tiny_options().announced_max;
}

// The receiver has a place for each announcement within the limit of its channel, beside those of
// held messages. But what went whole before its channel heard that something was not held is
// announced beyond the limit: its number must be seen, or the numbers of all channels would wait
// for a receive of this one. Where all of that may not fit, the lowest message of a channel may
// find no place, and those behind it wait: open question 4 of docs/protocol.md.
inline bool World::may_lack_places(std::uint32_t side_index) const {
  const EndpointOptions options = tiny_options();
  struct Places {
    std::uint32_t live = 0;
    std::uint32_t went_whole = 0;  // at most
  };
  std::array<std::array<Places, kTrafficClasses>, kWorldCommunicators> channels{};
  for (const Item& item : sides_[side_index].items) {
    if (!item.live || item.kind != OperationKind::kSend) continue;
    Places& places = channels[item.communicator][index_of(item.traffic_class)];
    ++places.live;
    if (item.bytes <= options.eager_bytes_max) ++places.went_whole;
  }
  std::uint32_t needed = 0;
  for (const auto& classes : channels) {
    for (const Places& places : classes) {
      needed += std::min(places.live, options.announced_max + places.went_whole);
    }
  }
  return needed > options.channels_max * options.announced_max;
}

inline bool World::any_live() const {
  for (const Side& side : sides_) {
    for (const Item& item : side.items) {
      if (item.live) return true;
    }
  }
  return false;
}

inline void World::expect_ends() {
  for (std::uint32_t side_index = 0; side_index < 2; ++side_index) {
    for (std::uint32_t i = 0; i < sides_[side_index].items.size(); ++i) {
      if (sides_[side_index].items[i].live) cancel(side_index, i);
    }
  }
  heal(kCalmTime);
  ZHINU_ASSERT(!any_live());
  if (!closed_ && both_up()) expect_whole_pools();
  for (std::uint32_t side_index = 0; side_index < 2; ++side_index) {
    close(side_index);
    for (std::uint16_t i = 0; i < kWorldCommunicators; ++i) {
      if (has_communicator(side_index, i)) toggle_communicator(side_index, i);
    }
  }
  ZHINU_ASSERT(!any_live());
}

// Nothing is posted and nothing held: every slot must be there again.
inline void World::expect_whole_pools() {
  const EndpointOptions options = tiny_options();
  for (std::uint32_t side_index = 0; side_index < 2; ++side_index) {
    for (std::uint16_t i = 0; i < kWorldCommunicators; ++i) {
      if (has_communicator(side_index, i)) toggle_communicator(side_index, i);
    }
  }
  heal(kCalmTime);
  for (std::uint32_t side_index = 0; side_index < 2; ++side_index) {
    toggle_communicator(side_index, 0);
  }
  Item item;
  for (std::uint32_t side_index = 0; side_index < 2; ++side_index) {
    Side& side = sides_[side_index];
    const std::size_t before = side.items.size();
    item.kind = OperationKind::kReceive;
    for (std::uint32_t i = 0; i < options.receives_max; ++i) post_only(side_index, item);
    item.kind = OperationKind::kSend;
    for (std::uint32_t i = 0; i < options.sends_max; ++i) post_only(side_index, item);
    ZHINU_ASSERT(side.items.size() == before + options.receives_max + options.sends_max);
    drain(side_index);
  }
  heal(kCalmTime);
  ZHINU_ASSERT(!any_live());
}

}  // namespace zhinu::core::test
