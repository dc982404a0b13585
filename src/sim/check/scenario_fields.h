// The names and units of all fields of a scenario: one table for writing and reading.
//
// fields(visitor, value) calls visitor.duration("at", value.at) and so on, field by
// field. Internal to the scenario file. Thread rule: none needed.
#pragma once

#include <array>
#include <string_view>

#include "sim/check/scenario.h"

namespace zhinu::sim::check {

inline constexpr std::array<std::string_view, 3> kSealNames = {"none", "crc32c", "gmac"};
inline constexpr std::array<std::string_view, 5> kClassNames = {"control", "internal", "gradient",
                                                                "weights", "dataset"};
inline constexpr std::array<std::string_view, 5> kActionNames = {"abort", "close", "restart",
                                                                 "address", "pause"};

template <class V>
void fields(V& v, LinkOptions& link) {
  v.rate("rate", link.rate_bits_per_s);
  v.duration("delay", link.delay);
  v.bytes("queue", link.queue_bytes);
  v.bytes("ecn", link.ecn_bytes);
}

template <class V>
void fields(V& v, ScenarioFabric& fabric) {
  v.count("nodes", fabric.nodes);
  v.count("nics", fabric.nics);
  v.count("nodes_per_pod", fabric.nodes_per_pod);
  v.count("spines", fabric.spines);
  v.count("paths", fabric.paths);
  v.bytes("packet", fabric.packet_bytes);
}

template <class V>
void fields(V& v, MisbehaviourRates& rates) {
  v.percent("short_send", rates.short_send_ppm);
  v.percent("late_completion", rates.late_completion_ppm);
  v.percent("full_pool", rates.full_pool_ppm);
}

template <class V>
void fields(V& v, core::PathOptions& path) {
  v.duration("suspicion_floor", path.suspicion_floor);
  v.duration("path_probe_timeout_floor", path.probe_timeout_floor);
  v.duration("hold_first", path.hold_first);
  v.duration("hold_max", path.hold_max);
  v.duration("calm", path.calm);
  v.count("probes_to_return", path.probes_to_return);
  v.count("ramp_rtts", path.ramp_rtts);
  v.count("skip_packets_min", path.skip_packets_min);
  v.count("skip_packets_max", path.skip_packets_max);
}

template <class V>
void fields(V& v, core::WindowOptions& window) {
  v.bytes("window_initial", window.initial_bytes);
  v.bytes("window_min", window.min_bytes);
  v.bytes("window_max", window.max_bytes);
  v.duration("target_delay", window.target_delay);
}

template <class V>
void pool_fields(V& v, core::EndpointOptions& options) {
  v.count("sends", options.sends_max);
  v.count("receives", options.receives_max);
  v.count("sent_packets", options.sent_packets_max);
  v.count("channels", options.channels_max);
  v.count("held_blocks", options.held_blocks_max);
  v.count("segment_maps", options.segment_maps_max);
  v.count("refusals", options.refusals_max);
  v.count("events", options.events_max);
  v.count("regions", options.regions_max);
  v.count("peers", options.peers_max);
  v.count("paths", options.paths_max);
}

template <class V>
void fields(V& v, core::EndpointOptions& options) {
  pool_fields(v, options);
  fields(v, options.path);
  fields(v, options.window);
  v.bytes("eager", options.eager_bytes_max);
  v.bytes("eager_budget", options.eager_budget_bytes);
  v.bytes("communicator_reserve", options.communicator_reserve_bytes);
  v.count("announced", options.announced_max);
  v.bytes("grant_window", options.grant_window_bytes);
  v.bytes("unscheduled", options.unscheduled_bytes);
  v.bytes("message_span", options.message_span_bytes);
  v.bytes("train", options.train_bytes);
  v.duration("ack_delay", options.ack_delay);
  v.bytes("ack_bytes", options.ack_bytes_max);
  v.duration("initial_rtt", options.initial_rtt);
  v.duration("probe_timeout_max", options.probe_timeout_max);
  v.duration("credit_probe_first", options.credit_probe_first);
  v.duration("credit_probe_max", options.credit_probe_max);
  v.duration("silent_notice", options.silent_notice);
  v.duration("peer_timeout", options.peer_timeout);
  v.duration("hello_first", options.hello_interval_first);
  v.duration("hello_max", options.hello_interval_max);
  v.duration("cookie_lifetime", options.cookie_lifetime);
  v.count("rekey_packets", options.rekey_packets);
  v.duration("rekey_interval", options.rekey_interval);
  v.bytes("packet", options.packet_bytes_max);
}

template <class V>
void fields(V& v, Message& message) {
  v.count("id", message.id);
  v.count("from", message.from);
  v.count("to", message.to);
  v.count("communicator", message.communicator);
  v.choice("class", message.traffic_class, kClassNames);
  v.count("tag", message.tag);
  v.bytes("bytes", message.bytes);
  v.bytes("receive_bytes", message.receive_bytes);
  v.flag("any_source", message.any_source);
  v.count("send_digest", message.send_digest);
  v.count("receive_digest", message.receive_digest);
  v.duration("send_at", message.send_at);
  v.duration("receive_at", message.receive_at);
  v.duration("send_cancel", message.send_cancel);
  v.duration("receive_cancel", message.receive_cancel);
  v.duration("send_deadline", message.send_deadline);
  v.duration("receive_deadline", message.receive_deadline);
}

template <class V>
void fields(V& v, Region& region) {
  v.count("id", region.id);
  v.count("node", region.node);
  v.bytes("bytes", region.bytes);
  v.flag("writable", region.writable);
  v.duration("revoke_at", region.revoke_at);
}

template <class V>
void fields(V& v, Access& access) {
  v.count("id", access.id);
  v.count("from", access.from);
  v.count("region", access.region);
  v.count("communicator", access.communicator);
  v.choice("class", access.traffic_class, kClassNames);
  v.bytes("bytes", access.bytes);
  v.bytes("offset", access.offset);
  v.flag("write", access.write);
  v.flag("notify", access.notify);
  v.flag("ordered", access.ordered);
  v.duration("at", access.at);
  v.duration("cancel", access.cancel);
  v.duration("deadline", access.deadline);
}

template <class V>
void fields(V& v, Action& action) {
  v.choice("kind", action.kind, kActionNames);
  v.duration("at", action.at);
  v.duration("for", action.duration);
  v.count("node", action.node);
  v.count("peer", action.peer);
  v.count("communicator", action.communicator);
  v.count("nic", action.nic);
}

template <class V>
void fields(V& v, LinkFault& fault) {
  v.text("link", fault.link);
  v.duration("at", fault.at);
  v.duration("for", fault.duration);
  v.percent("loss", fault.faults.loss_ppm);
  v.percent("duplicate", fault.faults.duplicate_ppm);
  v.percent("corrupt", fault.faults.corrupt_ppm);
  v.percent("reorder", fault.faults.reorder_ppm);
  v.duration("reorder_delay", fault.faults.reorder_delay);
  v.duration("delay", fault.faults.extra_delay);
  v.count("rate_per_mille", fault.faults.rate_per_mille);
  v.flag("clogged", fault.faults.clogged);
  v.flag("cut", fault.faults.cut);
}

template <class V>
void fields(V& v, Partition& partition) {
  v.duration("at", partition.at);
  v.duration("for", partition.duration);
  v.count("nodes", partition.nodes);
  v.flag("one_way", partition.one_way);
}

// What stands at the top level: scalars, maps, and lists of maps.
template <class V>
void top_fields(V& v, Scenario& scenario) {
  v.count("seed", scenario.seed);
  v.text("invariant", scenario.invariant);
  v.choice("seal", scenario.seal, kSealNames);
  v.duration("heal_at", scenario.heal_at);
  v.count("communicators", scenario.communicators);
  v.map("fabric", scenario.fabric);
  v.map("host_link", scenario.fabric.host_link);
  v.map("spine_link", scenario.fabric.spine_link);
  v.map("misbehaviour", scenario.misbehaviour);
  v.list("endpoints", scenario.endpoints);
  v.list("messages", scenario.messages);
  v.list("regions", scenario.regions);
  v.list("accesses", scenario.accesses);
  v.list("actions", scenario.actions);
  v.list("link_faults", scenario.link_faults);
  v.list("partitions", scenario.partitions);
}

}  // namespace zhinu::sim::check
