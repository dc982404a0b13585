#include "sim/check/streams.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "sim/check/content.h"

namespace zhinu::sim::check {
namespace {

auto key_of(const Message& message) {
  const std::uint32_t source = message.any_source ? 0xffff'ffffU : message.from;
  return std::make_tuple(message.to, message.communicator,
                         static_cast<unsigned>(message.traffic_class), message.tag, source);
}

// Fewer bytes than this do not tell one message from another for certain.
constexpr std::uint64_t kTellingBytesMin = 8;

std::string named(const Message& message) {
  return "message " + std::to_string(message.id) + " (" + std::to_string(message.bytes) +
         " bytes, n" + std::to_string(message.from) + " to n" + std::to_string(message.to) +
         ", communicator " + std::to_string(message.communicator) + ", tag " +
         std::to_string(message.tag) + ")";
}

}  // namespace

Streams::Streams(const Scenario& scenario)
    : scenario_(scenario), places_(scenario.messages.size()) {
  std::vector<std::uint32_t> order(scenario.messages.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return key_of(scenario.messages[a]) < key_of(scenario.messages[b]);
  });
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || key_of(scenario.messages[order[i]]) != key_of(scenario.messages[order[i - 1]]))
      streams_.emplace_back();
    add(order[i], static_cast<std::uint32_t>(streams_.size() - 1));
  }
  for (Stream& stream : streams_) learn_flags(stream);
}

void Streams::add(std::uint32_t message, std::uint32_t index) {
  Stream& stream = streams_[index];
  const std::uint32_t source = scenario_.messages[message].from;
  std::uint32_t lane = 0;
  while (lane < stream.lanes.size() && stream.lanes[lane].source != source) ++lane;
  if (lane == stream.lanes.size()) {
    stream.lanes.emplace_back();
    stream.lanes.back().source = source;
  }
  stream.messages.push_back(message);
  places_[message].stream = index;
  places_[message].lane = lane;
}

void Streams::learn_flags(Stream& stream) const {
  std::uint64_t largest = 0;
  std::uint64_t smallest = UINT64_MAX;
  for (const std::uint32_t index : stream.messages) {
    const Message& message = scenario_.messages[index];
    largest = std::max(largest, message.bytes);
    smallest = std::min(smallest, message.receive_bytes);
    stream.may_give_up |= happens(message.send_cancel) || happens(message.receive_cancel) ||
                          happens(message.send_deadline) || happens(message.receive_deadline);
    stream.may_mismatch |=
        message.send_digest != message.receive_digest ||
        message.send_digest != scenario_.messages[stream.messages[0]].send_digest;
  }
  stream.may_truncate = smallest < largest;
}

void Streams::on_send_posted(std::uint32_t message) {
  Lane& lane = streams_[places_[message].stream].lanes[places_[message].lane];
  places_[message].position = static_cast<std::uint32_t>(lane.posted.size());
  lane.posted.push_back(message);
}

bool Streams::matches(std::uint32_t index, ByteSpan bytes) const {
  const Message& message = scenario_.messages[index];
  return message.bytes == bytes.size() &&
         first_wrong(content_key(scenario_.seed, message.id), 0, bytes) == kAllRight;
}

std::optional<Streams::Wrong> Streams::on_delivery(std::uint32_t receive,
                                                   std::uint32_t receive_order,
                                                   std::uint32_t source, std::uint32_t tag,
                                                   ByteSpan bytes) {
  Stream& stream = streams_[places_[receive].stream];
  if (tag != scenario_.messages[receive].tag) {
    return Wrong{Invariant::kOrderKept, "a receive with tag " +
                                            std::to_string(scenario_.messages[receive].tag) +
                                            " got a message with tag " + std::to_string(tag)};
  }
  for (Lane& lane : stream.lanes) {
    if (lane.source != source) continue;
    std::uint32_t candidates = 0;
    const std::uint32_t message = recognise(lane, bytes, candidates);
    if (candidates > 0) {
      places_[message].delivered = true;
      if (bytes.size() < kTellingBytesMin && places_[message].forgotten) ++stream.doubtful;
      while (lane.open < lane.posted.size() && places_[lane.posted[lane.open]].delivered)
        ++lane.open;
      // With several that have the same few bytes nobody knows which one it was.
      if (candidates > 1) return std::nullopt;
      return keep_order(lane, {receive_order, places_[message].position});
    }
    return explain(lane, receive, bytes);
  }
  return Wrong{Invariant::kBytesRight, "a message of node " + std::to_string(source) +
                                           " that sends nothing to " +
                                           named(scenario_.messages[receive])};
}

// The message of these bytes that was not delivered yet: one that is not forgotten, if
// there is any.
std::uint32_t Streams::recognise(const Lane& lane, ByteSpan bytes,
                                 std::uint32_t& candidates) const {
  std::uint32_t found = 0;
  for (std::size_t i = lane.open; i < lane.posted.size(); ++i) {
    const std::uint32_t message = lane.posted[i];
    if (places_[message].delivered || !matches(message, bytes)) continue;
    if (candidates == 0 || (places_[found].forgotten && !places_[message].forgotten))
      found = message;
    ++candidates;
    if (bytes.size() >= kTellingBytesMin) break;
  }
  return found;
}

std::optional<Streams::Wrong> Streams::explain(const Lane& lane, std::uint32_t receive,
                                               ByteSpan bytes) const {
  for (const std::uint32_t message : lane.posted) {
    if (matches(message, bytes)) {
      return Wrong{Invariant::kDeliveredOnce,
                   named(scenario_.messages[message]) + " was delivered a second time"};
    }
  }
  const Message& meant = scenario_.messages[receive];
  const std::size_t wrong = first_wrong(content_key(scenario_.seed, meant.id), 0, bytes);
  return Wrong{Invariant::kBytesRight, "no message that was sent has these " +
                                           std::to_string(bytes.size()) + " bytes; against " +
                                           named(meant) + " the first wrong byte is " +
                                           (wrong == kAllRight ? "none" : std::to_string(wrong))};
}

std::optional<Streams::Wrong> Streams::keep_order(Lane& lane, const Delivery& delivery) const {
  const auto after = std::lower_bound(
      lane.deliveries.begin(), lane.deliveries.end(), delivery,
      [](const Delivery& a, const Delivery& b) { return a.receive_order < b.receive_order; });
  const bool overtakes =
      (after != lane.deliveries.begin() && (after - 1)->position > delivery.position) ||
      (after != lane.deliveries.end() && after->position < delivery.position);
  lane.deliveries.insert(after, delivery);
  if (!overtakes) return std::nullopt;
  return Wrong{Invariant::kOrderKept, named(scenario_.messages[lane.posted[delivery.position]]) +
                                          " reached a receive out of the order of sending"};
}

std::optional<std::uint32_t> Streams::find_starved(const std::vector<Item>& sends,
                                                   const std::vector<Item>& receives,
                                                   const std::vector<bool>& blocked) const {
  for (std::uint32_t index = 0; index < streams_.size(); ++index) {
    const Stream& stream = streams_[index];
    std::uint32_t waiting_receives = 0;
    std::uint32_t waiting_sends = 0;
    std::uint32_t taken = 0;  // by the peer, and not delivered
    std::uint32_t doubtful = stream.doubtful;
    for (const std::uint32_t message : stream.messages) {
      if (receives[message].open()) ++waiting_receives;
      if (places_[message].delivered) {
        // It may have been another of the same bytes that was delivered.
        const bool failed =
            sends[message].state == ItemState::kDone && sends[message].status != Errc::kOk;
        if (failed && scenario_.messages[message].bytes < kTellingBytesMin) ++doubtful;
        continue;
      }
      if (places_[message].forgotten) continue;
      if (sends[message].open() && !blocked[message]) ++waiting_sends;
      if (sends[message].state == ItemState::kDone && sends[message].status == Errc::kOk) ++taken;
    }
    // A receive that failed may have used up a message that its sender knows as taken.
    if (taken > stream.failed_receives) waiting_sends += taken - stream.failed_receives;
    if (waiting_receives > 0 && waiting_sends > doubtful) return index;
  }
  return std::nullopt;
}

}  // namespace zhinu::sim::check
