#include "sim/check/trace.h"

#include <array>
#include <string_view>

#include "wire/codec.h"

namespace zhinu::sim::check {
namespace {

constexpr std::array<std::string_view, wire::kFrameKinds> kFrameNames = {
    "padding",       "ack",   "message", "message+digest", "segment",
    "announce",      "put",   "write",   "read",           "read data",
    "read announce", "grant", "credit",  "credit probe",   "refuse",
    "cancel",        "abort", "close",   "path probe",     "path response"};

constexpr std::array<std::string_view, 5> kHandshakeNames = {"", "HELLO", "RETRY", "WELCOME",
                                                             "REFUSE"};

std::string stamp(Duration at) {
  const std::string ns = std::to_string(at.ns % 1'000'000'000);
  return std::to_string(at.ns / 1'000'000'000) + "." + std::string(9 - ns.size(), '0') + ns + " ";
}

std::string ack_text(const wire::Packet& packet, const wire::Frame& frame) {
  std::string text = "ack path " + std::to_string(frame.flags) + ":";
  for (std::uint32_t i = 0; i < frame.peer_token; ++i) {
    const wire::AckRange& range = packet.ack_ranges[frame.token + i];
    text += " " + std::to_string(range.first);
    if (range.last != range.first) text += ".." + std::to_string(range.last);
  }
  return text;
}

std::string frame_text(const wire::Packet& packet, const wire::Frame& frame) {
  if (frame.kind == wire::FrameKind::kAck) return ack_text(packet, frame);
  std::string text(kFrameNames[static_cast<std::size_t>(frame.kind)]);
  const auto add = [&](const char* name, std::uint64_t value) {
    text += std::string(" ") + name + " " + std::to_string(value);
  };
  if (frame.kind == wire::FrameKind::kPadding) {
    add("bytes", frame.length);
    return text;
  }
  if (frame.kind == wire::FrameKind::kPathProbe || frame.kind == wire::FrameKind::kPathResponse) {
    add("path", frame.flags);
    return text;
  }
  text += " " + std::to_string(frame.number);
  if (frame.communicator != 0) add("communicator", frame.communicator);
  if (frame.offset != 0) add("offset", frame.offset);
  if (frame.length != 0) add("length", frame.length);
  if (frame.token != 0) add("token", frame.token);
  if (frame.code != Errc::kOk) text += " (" + std::string(errc_text(frame.code)) + ")";
  return text;
}

}  // namespace

std::string trace_packet(Duration at, std::uint32_t from, std::uint32_t to,
                         const core::Transmit& transmit) {
  std::string line = stamp(at) + "n" + std::to_string(from) + " > n" + std::to_string(to) + " ";
  if (transmit.packet == nullptr) {
    return line + std::string(kHandshakeNames[static_cast<std::size_t>(transmit.handshake.kind)]);
  }
  const wire::Packet& packet = *transmit.packet;
  line += std::string(name_of(packet.header.traffic_class)) + " path " +
          std::to_string(packet.header.path) + " #" + std::to_string(packet.header.number) + ": ";
  for (std::uint32_t i = 0; i < packet.frame_count; ++i)
    line += (i == 0 ? "" : ", ") + frame_text(packet, packet.frames[i]);
  return line;
}

std::string trace_completion(Duration at, std::uint32_t node, const std::string& item,
                             const core::Completion& completion) {
  return stamp(at) + "n" + std::to_string(node) + " " + item +
         " ended: " + std::string(errc_text(completion.status)) + ", " +
         std::to_string(completion.bytes) + " bytes";
}

std::string trace_event(Duration at, std::uint32_t node, std::uint32_t peer,
                        const core::Event& event) {
  std::string line = stamp(at) + "n" + std::to_string(node) + " ";
  const std::string of_peer = " n" + std::to_string(peer);
  switch (event.kind) {
    case core::EventKind::kPeerUp: return line + "peer up" + of_peer;
    case core::EventKind::kPeerDown:
      return line + "peer down" + of_peer + ": " + std::string(errc_text(event.code));
    case core::EventKind::kPeerSilent: return line + "peer silent" + of_peer;
    case core::EventKind::kPathChanged:
      return line + "path " + std::to_string(event.path) + " to" + of_peer + ": " +
             core::name_of(event.old_state) + " to " + core::name_of(event.new_state);
    case core::EventKind::kAborted:
      return line + "communicator " + std::to_string(event.communicator.value) +
             " aborted: " + std::string(errc_text(event.code));
    case core::EventKind::kNotification:
      return line + "notification " + std::to_string(event.immediate) + " from" + of_peer;
  }
  return line;
}

std::string trace_note(Duration at, const std::string& note) { return stamp(at) + note; }

}  // namespace zhinu::sim::check
