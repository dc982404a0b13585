// Which message reaches which receive: order, at most once, and who starves.
//
// A stream is what one receive may match: (receiver, communicator, class, tag), and
// the source unless receives of the tag take any. Its lanes are its sources. The
// transport may skip messages that ended badly; it may never deliver one twice, nor
// two of a lane to receives in the other order, nor leave a receive and a message of
// one stream waiting for each other. Messages carry no name on the wire: a delivery
// is recognised by its bytes. Thread rule: one owner.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "sim/check/invariant.h"
#include "sim/check/items.h"
#include "sim/check/scenario.h"

namespace zhinu::sim::check {

class Streams {
 public:
  // `scenario` outlives the streams.
  explicit Streams(const Scenario& scenario);

  std::uint32_t stream_of(std::uint32_t message) const { return places_[message].stream; }
  // Some receive of the stream is smaller than some message.
  bool may_truncate(std::uint32_t stream) const { return streams_[stream].may_truncate; }
  // Some item of the stream is cancelled or has a deadline.
  bool may_give_up(std::uint32_t stream) const { return streams_[stream].may_give_up; }
  bool may_mismatch(std::uint32_t stream) const { return streams_[stream].may_mismatch; }

  void on_send_posted(std::uint32_t message);
  // A receive ended without a message, or with one that did not fit.
  void on_receive_failed(std::uint32_t message) {
    ++streams_[places_[message].stream].failed_receives;
  }
  // A receive got `bytes` from `source`. Returns what is wrong with that, if anything.
  struct Wrong {
    Invariant invariant = Invariant::kBytesRight;
    std::string detail;
  };
  std::optional<Wrong> on_delivery(std::uint32_t receive, std::uint32_t receive_order,
                                   std::uint32_t source, std::uint32_t tag, ByteSpan bytes);

  bool delivered(std::uint32_t message) const { return places_[message].delivered; }
  // The receiver's end of the message is gone (restart, close): it may or may not have
  // been delivered, and nobody may wait for it.
  void forget(std::uint32_t message) { places_[message].forgotten = true; }

  // The first stream in which a posted receive and a message wait for each other.
  // Messages that are `blocked` wait for something else.
  std::optional<std::uint32_t> find_starved(const std::vector<Item>& sends,
                                            const std::vector<Item>& receives,
                                            const std::vector<bool>& blocked) const;
  // Calls visit(message) for each posted message that no posted receive can take.
  template <class Visit>
  void for_each_unwanted(const std::vector<Item>& sends, const std::vector<Item>& receives,
                         Visit visit) const {
    for (const Stream& stream : streams_) {
      bool wanted = false;
      for (const std::uint32_t message : stream.messages) wanted |= receives[message].open();
      for (const std::uint32_t message : stream.messages)
        if (!wanted && sends[message].open()) visit(message);
    }
  }
  const std::vector<std::uint32_t>& messages_of(std::uint32_t stream) const {
    return streams_[stream].messages;
  }

 private:
  struct Delivery {
    std::uint32_t receive_order = 0;
    std::uint32_t position = 0;  // in the lane
  };
  struct Lane {
    std::uint32_t source = 0;
    std::vector<std::uint32_t> posted;  // messages in the order of sending
    std::size_t open = 0;               // all before it were delivered
    std::vector<Delivery> deliveries;   // ascending by receive_order
  };
  struct Stream {
    std::vector<std::uint32_t> messages;
    std::vector<Lane> lanes;
    std::uint32_t failed_receives = 0;
    // Deliveries of messages so short that others may have the same bytes.
    std::uint32_t doubtful = 0;
    bool may_truncate = false;
    bool may_give_up = false;
    bool may_mismatch = false;
  };
  struct Place {
    std::uint32_t stream = 0;
    std::uint32_t lane = 0;
    std::uint32_t position = 0;
    bool delivered = false;
    bool forgotten = false;
  };

  void add(std::uint32_t message, std::uint32_t stream);
  void learn_flags(Stream& stream) const;
  bool matches(std::uint32_t message, ByteSpan bytes) const;
  std::uint32_t recognise(const Lane& lane, ByteSpan bytes, std::uint32_t& candidates) const;
  std::optional<Wrong> explain(const Lane& lane, std::uint32_t receive, ByteSpan bytes) const;
  std::optional<Wrong> keep_order(Lane& lane, const Delivery& delivery) const;

  const Scenario& scenario_;
  std::vector<Stream> streams_;
  std::vector<Place> places_;  // by message
};

}  // namespace zhinu::sim::check
