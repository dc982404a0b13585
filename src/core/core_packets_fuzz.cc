// Any packets of a peer that is up: broken or malicious, it may say what it likes, and must
// neither bring down the endpoint nor reach memory that was not lent to it.
//
// The first byte chooses the mode: packets without a seal; sealed with the right key, so
// that all of them pass the tag; or sealed with another key, when nothing at all may change.
// Then each step is a byte that says what happens, and some that say how. A packet holds
// frames whose fields come from small bytes, or bytes as they are.
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "base/slot_pool.h"
#include "core/calls_world_test.h"
#include "core/endpoint.h"
#include "core/handshake.h"
#include "wire/codec.h"

namespace zhinu::core {
namespace {

using test::GuardedMemory;
using wire::FrameKind;

constexpr std::uint32_t kStepsMax = 100;
constexpr std::uint32_t kOwnRank = 2;
constexpr std::uint32_t kPeerRank = 1;  // the lower one, so that its HELLO goes on
constexpr std::uint8_t kPaths = 2;
constexpr std::size_t kItemBytesMax = 4'096;
constexpr std::size_t kItemsMax = 64;
constexpr std::size_t kTransmitsMax = 1'000;
constexpr std::array<std::size_t, 8> kSizes = {0, 1, 100, 600, 601, 1'200, 2'500, 4'096};

enum class Mode : std::uint8_t { kUnsealed, kSealed, kForeignKey };

class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> input) : input_(input) {}
  bool empty() const { return at_ >= input_.size(); }
  std::uint8_t next() { return empty() ? std::uint8_t{0} : input_[at_++]; }
  std::span<const std::uint8_t> take(std::size_t count) {
    const std::size_t taken = std::min(count, input_.size() - std::min(at_, input_.size()));
    const auto bytes = input_.subspan(std::min(at_, input_.size()), taken);
    at_ += taken;
    return bytes;
  }

 private:
  std::span<const std::uint8_t> input_;
  std::size_t at_ = 0;
};

Identity identity_of(std::uint32_t rank, SealMode seal) {
  return {.rank = rank,
          .world = test::kWorld,
          .incarnation = 1'000 + rank,
          .seal = seal,
          .job_key = test::job_key_of(1)};
}

struct Item {
  Operation operation;
  bool live = false;
  std::uint32_t memory = 0;
};

class Conversation {
 public:
  explicit Conversation(Mode mode)
      : mode_(mode),
        seal_(mode == Mode::kUnsealed ? SealMode::kNone : SealMode::kGmac),
        endpoint_(test::tiny_options(), identity_of(kOwnRank, seal_), entropy_) {
    std::array<PathConfig, kPaths> paths;
    for (std::uint8_t path = 0; path < kPaths; ++path) {
      paths[path].remote = address_of(path);
      paths[path].nic = path;
      paths[path].group = path;
      paths[path].packet_bytes_max = 1'400;
    }
    ZHINU_ASSERT(endpoint_.add_peer(now_, {.rank = kPeerRank, .paths = paths}).ok());
    for (std::uint16_t id = 0; id < 2; ++id) {
      ZHINU_ASSERT(endpoint_.create_communicator({id}).ok());
    }
    items_.reserve(kItemsMax);
    toggle_region();
    meet();
  }

  void step(Bytes& input);
  // Every item ends once, whatever was said.
  void finish();

 private:
  static Address address_of(std::uint8_t path) {
    Address address;
    address.bytes[0] = std::byte{9};
    address.bytes[1] = static_cast<std::byte>(path);
    return address;
  }

  void meet();
  void say_frames(Bytes& input, std::uint8_t how);
  void say_bytes(Bytes& input, std::uint8_t how);
  void say_ack(Bytes& input, std::uint8_t how);
  void begin_packet(std::uint8_t how);
  void add_frame(Bytes& input);
  void send_packet();
  void deliver(MutableByteSpan packet, const wire::Header& header);
  void expect_nothing_changes(const Arrival& arrival, ByteSpan datagram);
  void post(Bytes& input, std::uint8_t how);
  void call(Bytes& input, std::uint8_t how);
  void toggle_region();
  void drain();
  void drain_transmits();

  const Mode mode_;
  const SealMode seal_;
  Instant now_ = test::kStart;
  test::SeededEntropy entropy_{1};
  Endpoint endpoint_;
  // The peer.
  std::uint64_t connection_ = 0x1000;
  Established session_;
  Sealer foreign_;
  std::array<std::uint64_t, kPaths> next_number_{};
  std::array<std::uint64_t, kPaths> heard_to_{};  // the endpoint's packets
  wire::Packet packet_;
  std::array<std::byte, 1'500> payload_{};
  std::array<std::byte, 8'192> datagram_;
  // The endpoint's user.
  std::vector<Item> items_;
  std::vector<std::unique_ptr<GuardedMemory>> memory_;
  std::vector<std::uint32_t> free_memory_;
  GuardedMemory region_memory_{kItemBytesMax};
  RegionKey region_;
  bool region_is_open_ = false;
  std::array<bool, 2> communicators_ = {true, true};
  std::uint64_t allocations_ = 0;
};

// The peer says hello, and its first sealed packet begins the session.
void Conversation::meet() {
  HandshakeContext context;
  context.identity = identity_of(kPeerRank, seal_);
  context.path_count = kPaths;
  context.packet_bytes_max = 1'400;
  context.eager_bytes_max = 4'096;
  Initiator initiator(now_, context, kOwnRank, connection_ += 100, entropy_);
  Transmit transmit;
  std::optional<Established> established;
  drain();
  for (int round = 0; round < 2; ++round) {
    const auto hello = initiator.poll_transmit(now_);
    ZHINU_ASSERT(hello.has_value());
    std::array<std::byte, wire::kHandshakeBytes> bytes{};
    ZHINU_ASSERT(encode_and_tag(context.identity, *hello, bytes).ok());
    ZHINU_ASSERT(endpoint_.handle_datagram(now_, {.from = address_of(0)}, bytes).ok());
    while (endpoint_.poll_transmit(now_, transmit)) {
      if (transmit.packet != nullptr) continue;
      if (transmit.handshake.kind == wire::HandshakeKind::kHello) continue;
      auto result = initiator.handle(now_, transmit.handshake);
      ZHINU_ASSERT(result.ok());
      if (result.value().has_value()) established = std::move(*result.value());
    }
  }
  ZHINU_ASSERT(established.has_value());
  session_ = std::move(*established);
  next_number_ = {};
  heard_to_ = {};
  packet_.clear();
  packet_.header = {};
  packet_.add(FrameKind::kPathProbe);
  const Mode mode = mode_;
  if (mode == Mode::kForeignKey) {
    KeyMaterial material;
    material.job_key = test::job_key_of(2);
    foreign_ = Sealer(now_, SealMode::kGmac, material, true, {});
  }
  packet_.header.connection = session_.remote_connection;
  packet_.header.number = next_number_[0]++;
  packet_.header.key_phase = session_.sealer.phase_to_send(now_);
  const auto encoded = wire::encode(packet_, datagram_, SIZE_MAX);
  ZHINU_ASSERT(encoded.ok());
  const MutableByteSpan bytes = std::span(datagram_).first(encoded.value().head_bytes);
  session_.sealer.seal(bytes, {}, 0, packet_.header.number, packet_.header.key_phase);
  ZHINU_ASSERT(endpoint_.handle_datagram(now_, {.from = address_of(0)}, bytes).ok());
  drain();
  ZHINU_ASSERT(endpoint_.peer_is_up({0}));
}

void Conversation::step(Bytes& input) {
  const std::uint8_t what = input.next();
  const std::uint8_t how = what >> 3;
  switch (what & 7) {
    case 0:
    case 1:
    case 2: say_frames(input, how); break;
    case 3: say_bytes(input, how); break;
    case 4: say_ack(input, how); break;
    case 5: post(input, how); break;
    case 6: call(input, how); break;
    case 7:
      now_ = now_ + microseconds(std::int64_t{1} << (how & 0x13)) * (1 + (how >> 2 & 3));
      if (endpoint_.poll_timeout() <= now_) {
        const std::uint64_t before = test::allocations;
        endpoint_.handle_timeout(now_);
        allocations_ += test::allocations - before;
      }
      break;
  }
  drain();
}

void Conversation::begin_packet(std::uint8_t how) {
  packet_.clear();
  packet_.header = {};
  packet_.header.traffic_class = static_cast<TrafficClass>(how % kTrafficClasses);
  packet_.header.path = static_cast<std::uint8_t>(how & 1);
  packet_.header.connection = session_.remote_connection;
}

void Conversation::send_packet() {
  wire::Header& header = packet_.header;
  header.number = next_number_[header.path]++;
  if (mode_ != Mode::kForeignKey) header.key_phase = session_.sealer.phase_to_send(now_);
  const auto encoded = wire::encode(packet_, datagram_, SIZE_MAX);
  if (!encoded.ok()) return;  // not a packet
  deliver(std::span(datagram_).first(encoded.value().head_bytes), header);
}

void Conversation::deliver(MutableByteSpan packet, const wire::Header& header) {
  const Sealer& sealer = mode_ == Mode::kForeignKey ? foreign_ : session_.sealer;
  sealer.seal(packet, {}, header.path, header.number, header.key_phase);
  const Arrival arrival{.from = address_of(header.path), .nic = header.path};
  if (mode_ == Mode::kForeignKey) return expect_nothing_changes(arrival, packet);
  const std::uint64_t before = test::allocations;
  static_cast<void>(endpoint_.handle_datagram(now_, arrival, packet));
  allocations_ += test::allocations - before;
}

void Conversation::expect_nothing_changes(const Arrival& arrival, ByteSpan datagram) {
  const Counters before = endpoint_.counters();
  const Instant timeout = endpoint_.poll_timeout();
  ZHINU_ASSERT(!endpoint_.handle_datagram(now_, arrival, datagram).ok());
  for (std::size_t i = 0; i < kCounters; ++i) {
    const auto counter = static_cast<Counter>(i);
    const bool may_grow = counter == Counter::kPacketsReceived ||
                          counter == Counter::kBytesReceived || counter >= Counter::kDropTruncated;
    ZHINU_ASSERT(may_grow || endpoint_.counters()[counter] == before[counter]);
  }
  ZHINU_ASSERT(endpoint_.poll_timeout() == timeout);
  Transmit transmit;
  ZHINU_ASSERT(!endpoint_.poll_transmit(now_, transmit));
  std::array<Completion, 1> completions;
  ZHINU_ASSERT(endpoint_.poll_completions(completions) == 0);
  Event event;
  ZHINU_ASSERT(!endpoint_.poll_event(event));
}

void Conversation::say_frames(Bytes& input, std::uint8_t how) {
  begin_packet(how);
  const int frames = 1 + (how >> 3);
  for (int i = 0; i < frames && !input.empty(); ++i) add_frame(input);
  if (packet_.frame_count > 0) send_packet();
}

void Conversation::add_frame(Bytes& input) {
  const std::uint8_t what = input.next();
  const std::uint8_t number = input.next();
  const std::uint8_t token = input.next();
  const std::uint8_t place = input.next();
  const auto kind = static_cast<FrameKind>(1 + what % (wire::kFrameKinds - 1));
  if (kind == FrameKind::kAck) return;  // has a step of its own
  wire::Frame& frame = packet_.add(kind);
  frame.number = number & 0x3f;
  frame.token = (token & 0x40) != 0 ? kNoSlot : token & 0x1fU;
  frame.peer_token = token & 0x1fU;
  frame.tag = token >> 7;
  frame.communicator = static_cast<std::uint16_t>(token >> 5 & 3);
  frame.order = static_cast<std::uint8_t>(number >> 6);
  frame.traffic_class = static_cast<TrafficClass>(what >> 5 & 3);
  frame.flags = what >> 6;
  frame.digest = kind == FrameKind::kMessageDigest || (what & 0x80) != 0 ? 1 + (number & 3U) : 0;
  frame.offset = std::uint64_t{place & 0x0fU} * wire::kSegmentUnitBytes;
  frame.length = kSizes[place >> 5];
  if ((place & 0x10) != 0) frame.length = (place >> 5) * wire::kSegmentUnitBytes;
  frame.region_key = region_.value;
  frame.payload = payload_.data();
  if (kind == FrameKind::kRefuse || kind == FrameKind::kCancel || kind == FrameKind::kAbort ||
      kind == FrameKind::kClose) {
    frame.code = (place & 1) != 0 ? Errc::kNotHeld : Errc::kRegionRefused;
  }
  if (kind == FrameKind::kReadAnnounce && (what & 0x40) != 0) frame.code = Errc::kRegionRefused;
  if (kind == FrameKind::kReadData || kind == FrameKind::kReadAnnounce) frame.offset = place & 7;
  if (wire::has_payload(kind)) {
    frame.length = std::min<std::uint64_t>(frame.length, 1'024);
  }
}

// Bytes as they are behind a header that is right.
void Conversation::say_bytes(Bytes& input, std::uint8_t how) {
  begin_packet(how);
  packet_.header.message_base = input.next();
  const std::size_t count = 1 + input.next();
  const auto bytes = input.take(count);
  if (bytes.empty()) return;
  packet_.add(FrameKind::kPadding).length = bytes.size();
  wire::Header& header = packet_.header;
  header.number = next_number_[header.path]++;
  if (mode_ != Mode::kForeignKey) header.key_phase = session_.sealer.phase_to_send(now_);
  const auto encoded = wire::encode(packet_, datagram_, SIZE_MAX);
  ZHINU_ASSERT(encoded.ok());
  const MutableByteSpan packet = std::span(datagram_).first(encoded.value().head_bytes);
  std::memcpy(packet.data() + wire::kFramesOffset, bytes.data(), bytes.size());
  deliver(packet, header);
}

// Of what the endpoint sent on a path: all, or with holes.
void Conversation::say_ack(Bytes& input, std::uint8_t how) {
  begin_packet(how >> 1);
  const std::uint8_t path = how & 1;
  const std::uint8_t holes = input.next();
  wire::Frame& frame = packet_.add(FrameKind::kAck);
  frame.flags = path;
  const std::uint64_t top = heard_to_[path] + (holes == 0xff ? 3 : 0);
  std::uint64_t last = top;
  for (std::uint8_t bit = 0; bit < 8 && packet_.ack_range_count < 8; ++bit) {
    if ((holes >> bit & 1) == 0) continue;
    if (last < 2) break;
    const std::uint64_t hole = last - 1U - (bit & 1U);
    packet_.ack_ranges[packet_.ack_range_count++] = {hole + 1, last};
    if (hole == 0) break;
    last = hole - 1;
  }
  if (packet_.ack_range_count < 8 && (holes & 0x80) == 0) {
    const std::uint64_t first = (holes & 0x40) != 0 ? last : 0;
    packet_.ack_ranges[packet_.ack_range_count++] = {first, last};
  }
  if (packet_.ack_range_count == 0) packet_.ack_ranges[packet_.ack_range_count++] = {top, top};
  frame.number = packet_.ack_ranges[0].last;
  frame.peer_token = packet_.ack_range_count;
  if ((how & 8) != 0) add_frame(input);
  send_packet();
}

void Conversation::post(Bytes& input, std::uint8_t how) {
  if (items_.size() == kItemsMax) return;
  const std::uint8_t what = input.next();
  if (free_memory_.empty()) {
    memory_.push_back(std::make_unique<GuardedMemory>(kItemBytesMax));
    free_memory_.push_back(static_cast<std::uint32_t>(memory_.size() - 1));
  }
  const std::uint32_t slot = free_memory_.back();
  const MutableByteSpan memory = memory_[slot]->open(kSizes[what & 7]);
  const std::uint64_t user = items_.size();
  const CommunicatorId communicator{static_cast<std::uint16_t>(what >> 3 & 1)};
  const auto traffic_class = (what & 0x10) != 0 ? TrafficClass::kWeights : TrafficClass::kGradient;
  const std::uint32_t tag = what >> 5 & 1;
  const std::uint32_t digest = what >> 6;
  Result<Operation> operation = Errc::kInvalidArgument;
  const std::uint64_t before = test::allocations;
  switch (how & 3) {
    case 0:
      operation = endpoint_.send(now_, {.peer = {0},
                                        .traffic_class = traffic_class,
                                        .communicator = communicator,
                                        .tag = tag,
                                        .digest = digest,
                                        .data = memory,
                                        .user = user});
      break;
    case 1:
      operation = endpoint_.receive(now_, {.peer = (how & 4) != 0 ? PeerId::none() : PeerId{0},
                                           .traffic_class = traffic_class,
                                           .communicator = communicator,
                                           .tag = tag,
                                           .digest = digest,
                                           .buffer = memory,
                                           .user = user});
      break;
    case 2:
      operation = endpoint_.write(now_, {.peer = {0},
                                         .traffic_class = traffic_class,
                                         .communicator = communicator,
                                         .data = memory,
                                         .region = {5},
                                         .notify = (how & 4) != 0,
                                         .ordered = (how & 8) != 0,
                                         .user = user});
      break;
    case 3:
      operation = endpoint_.read(now_, {.peer = {0},
                                        .traffic_class = traffic_class,
                                        .communicator = communicator,
                                        .buffer = memory,
                                        .region = {5},
                                        .user = user});
      break;
  }
  allocations_ += test::allocations - before;
  if (!operation.ok()) return memory_[slot]->close();
  free_memory_.pop_back();
  items_.push_back({.operation = operation.value(), .live = true, .memory = slot});
}

void Conversation::toggle_region() {
  if (region_is_open_) {
    ZHINU_ASSERT(endpoint_.revoke_region(now_, region_).ok());
    region_memory_.close();
  } else {
    const auto added = endpoint_.register_region(region_memory_.open(kItemBytesMax),
                                                 {.remote_read = true, .remote_write = true});
    ZHINU_ASSERT(added.ok());
    region_ = added.value();
  }
  region_is_open_ = !region_is_open_;
}

void Conversation::call(Bytes& input, std::uint8_t how) {
  const std::uint8_t what = input.next();
  switch (how & 7) {
    case 0:
    case 1:
    case 2:
      if (!items_.empty()) {
        static_cast<void>(endpoint_.cancel(now_, items_[what % items_.size()].operation));
      }
      return;
    case 3: return toggle_region();
    case 4: {
      bool& exists = communicators_[what & 1];
      const CommunicatorId id{static_cast<std::uint16_t>(what & 1)};
      ZHINU_ASSERT(
          (exists ? endpoint_.destroy_communicator(now_, id) : endpoint_.create_communicator(id))
              .ok());
      exists = !exists;
      return;
    }
    case 5:
      static_cast<void>(
          endpoint_.abort(now_, {static_cast<std::uint16_t>(what & 1)}, Errc::kAborted));
      return;
    case 6:
      if (what == 0x77) ZHINU_ASSERT(endpoint_.close_peer(now_, {0}).ok());
      return;
    case 7:
      if (!endpoint_.peer_is_up({0}) || what == 0x77) meet();
      return;
  }
}

void Conversation::drain() {
  std::array<Completion, 4> completions;
  for (std::size_t count = 0; (count = endpoint_.poll_completions(completions)) > 0;) {
    for (std::size_t i = 0; i < count; ++i) {
      ZHINU_ASSERT(completions[i].user < items_.size());
      Item& item = items_[completions[i].user];
      ZHINU_ASSERT(item.live);
      ZHINU_ASSERT(item.operation == completions[i].operation);
      item.live = false;
      memory_[item.memory]->close();
      free_memory_.push_back(item.memory);
    }
  }
  drain_transmits();
  Event event;
  while (endpoint_.poll_event(event)) {
  }
  ZHINU_ASSERT(allocations_ == 0);
}

void Conversation::drain_transmits() {
  Transmit transmit;
  std::array<std::byte, 1'500> out;
  for (std::size_t sent = 0;; ++sent) {
    ZHINU_ASSERT(sent < kTransmitsMax);
    const std::uint64_t before = test::allocations;
    const bool more = endpoint_.poll_transmit(now_, transmit);
    allocations_ += test::allocations - before;
    if (!more) return;
    ZHINU_ASSERT(endpoint_.encode(transmit, out, SIZE_MAX).ok());
    if (transmit.packet != nullptr) {
      heard_to_[transmit.route.path] = transmit.packet->header.number;
    }
  }
}

void Conversation::finish() {
  ZHINU_ASSERT(endpoint_.close_peer(now_, {0}).ok());
  for (std::uint16_t id = 0; id < 2; ++id) {
    if (communicators_[id]) ZHINU_ASSERT(endpoint_.destroy_communicator(now_, {id}).ok());
  }
  drain();
  for (const Item& item : items_) ZHINU_ASSERT(!item.live);
}

void run(std::span<const std::uint8_t> input) {
  if (input.empty()) return;
  Bytes bytes(input);
  Conversation conversation(static_cast<Mode>(bytes.next() % 3));
  for (std::uint32_t i = 0; i < kStepsMax && !bytes.empty(); ++i) conversation.step(bytes);
  conversation.finish();
}

}  // namespace
}  // namespace zhinu::core

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  zhinu::core::run({data, size});
  return 0;
}
