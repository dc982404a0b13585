#include <gtest/gtest.h>

#include "sim/check/world_fixture.h"

namespace zhinu::sim::check {
namespace {

// Flips a bit of the payload of one segment on the wire, where no seal notices.
class FlipsPayload : public Saboteur {
 public:
  void damage(const core::Transmit& transmit, MutableByteSpan bytes) override {
    if (done || transmit.packet == nullptr) return;
    const wire::Frame& last = transmit.packet->frames[transmit.packet->frame_count - 1];
    if (last.kind != wire::FrameKind::kSegment) return;
    bytes[bytes.size() - 1] ^= std::byte{0x10};
    done = true;
  }
  bool done = false;
};

TEST(WorldResults, run__a_flipped_payload_byte_breaks_bytes_right) {
  FlipsPayload saboteur;
  EXPECT_EQ(broken_by(saboteur), "bytes_right");
}

class ChangesCompletions : public Saboteur {
 public:
  ChangesCompletions(ItemKind of_kind, std::uint32_t see_times) : kind(of_kind), times(see_times) {}
  std::uint32_t completions(ItemRef item, core::Completion& /*completion*/) override {
    return item.kind == kind && item.index == 1 ? times : 1;
  }
  ItemKind kind;
  std::uint32_t times;
};

TEST(WorldResults, run__a_second_completion_breaks_exactly_one_completion) {
  ChangesCompletions saboteur(ItemKind::kSend, 2);
  EXPECT_EQ(broken_by(saboteur), "exactly_one_completion");
}

class ChangesStatus : public Saboteur {
  std::uint32_t completions(ItemRef item, core::Completion& completion) override {
    if (item.kind == ItemKind::kSend && item.index == 3) completion.status = Errc::kPeerRestarted;
    return 1;
  }
};

TEST(WorldResults, run__an_error_without_cause_breaks_result_allowed) {
  ChangesStatus saboteur;
  EXPECT_EQ(broken_by(saboteur), "result_allowed");
}

class Scribbles : public Saboteur {
  bool scribble(ItemRef item) override {
    return item.kind == ItemKind::kReceive && item.index == 4;
  }
};

TEST(WorldResults, run__a_late_write_breaks_nothing_written_after_completion) {
  Scribbles saboteur;
  EXPECT_EQ(broken_by(saboteur), "nothing_written_after_completion");
}

class ReleasesEarly : public Saboteur {
  bool release_early(ItemRef item) override {
    return item.kind == ItemKind::kSend && item.index == 5;
  }
};

TEST(WorldResults, run__a_payload_that_leaves_after_the_buffer_was_given_back) {
  ReleasesEarly saboteur;
  EXPECT_EQ(broken_by(saboteur), "no_resend_from_changed_buffer");
}

class RepeatsPacket : public Saboteur {
  bool repeat_packet() override { return ++packets == 40; }
  int packets = 0;
};

TEST(WorldResults, run__a_repeated_packet_number_breaks_nonce_unique) {
  RepeatsPacket saboteur;
  EXPECT_EQ(broken_by(saboteur), "nonce_unique");
}

class SlandersPath : public Saboteur {
  bool slander_path() override { return ++packets == 60; }
  int packets = 0;
};

TEST(WorldResults, run__a_packet_on_a_dead_path_breaks_dead_path_silent) {
  SlandersPath saboteur;
  EXPECT_EQ(broken_by(saboteur), "dead_path_silent");
}

class SwapsReceives : public Saboteur {
  std::uint32_t completions(ItemRef item, core::Completion& completion) override {
    if (item.kind == ItemKind::kReceive && item.index == 1) completion.tag += 1;
    return 1;
  }
};

TEST(WorldResults, run__a_message_of_another_tag_breaks_order_kept) {
  SwapsReceives saboteur;
  EXPECT_EQ(broken_by(saboteur), "order_kept");
}

}  // namespace
}  // namespace zhinu::sim::check
