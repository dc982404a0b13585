// Who is who: connection ids, handshakes, peers that come, restart and leave.
//
// Internal to src/core. Both sides of a pair may say HELLO; where two cross, the
// lower rank's goes on. A HELLO from a peer that is up makes a second session
// that takes over with its first sealed packet: a replayed HELLO moves nothing.
// Thread rule: the endpoint's.
#pragma once

#include <array>
#include <optional>

#include "core/handshake.h"
#include "core/incoming.h"
#include "core/recovery.h"
#include "core/state.h"

namespace zhinu::core {

class Connections {
 public:
  Connections(State& state, Outgoing& outgoing, Incoming& incoming, Transfers& transfers,
              Recovery& recovery);

  Result<PeerId> add_peer(Instant now, const PeerConfig& config);
  Result<PeerId> find_peer(std::uint32_t rank) const;
  void close_peer(Instant now, Peer& peer, Errc code);
  // A genuine packet of a session that was closed here: all our CLOSEs may have been lost.
  void close_again(Instant now, Peer& peer);
  // Ends everything of the peer with `code`; it may come back by a handshake.
  void drop_peer(Instant now, Peer& peer, Errc code);
  // Starts the handshake anew; what is posted meanwhile waits for it.
  void say_hello(Instant now, Peer& peer) { start_hello(now, peer); }

  // A handshake packet from the network: verified, counted, answered.
  Status handle_handshake(Instant now, const Arrival& arrival, ByteSpan datagram);
  // The peer whose connection id a sealed packet carries; null = unknown.
  Peer* find_connection(std::uint64_t connection);
  // The session of `peer` that the id names: the current one or the one to come.
  bool is_next_session(const Peer& peer, std::uint64_t connection) const;
  // A sealed packet of the next session was verified: it takes over.
  void adopt_session(Instant now, Peer& peer);
  // The peer was heard in its current session, for the first time: now it is up.
  void confirm(Instant now, Peer& peer);

  // A handshake packet to send, if one is due.
  bool poll_transmit(Instant now, Transmit& out) {
    return (answer_count_ > 0 || hello_due_ > 0) && next_handshake(now, out);
  }
  Instant timeout(const Peer& peer) const;
  void handle_timeout(Instant now, Peer& peer);
  std::size_t memory_bytes() const {
    return by_connection_.memory_bytes() + by_rank_.memory_bytes();
  }

 private:
  struct Answer {
    wire::HandshakePacket packet;
    Route route;
  };
  // Answers to strangers that wait for poll_transmit; more are dropped, the stranger repeats.
  static constexpr std::uint32_t kAnswersMax = 32;

  bool next_handshake(Instant now, Transmit& out);
  HandshakeContext context() const;
  std::uint64_t fresh_connection();
  void start_hello(Instant now, Peer& peer);
  void renew_paths(Peer& peer);
  void repeat_aborts(Peer& peer);
  void install(Instant now, Peer& peer, Established session);
  bool crossed(Instant now, const Peer& peer, const wire::HandshakePacket& hello) const;
  void push_answer(const Arrival& arrival, const wire::HandshakePacket& packet);
  Status handle_hello(Instant now, const Arrival& arrival, const wire::HandshakePacket& hello);
  Status handle_answer(Instant now, const wire::HandshakePacket& packet);
  void forget_connection(std::uint64_t connection) { by_connection_.erase(connection); }

  State& state_;
  Outgoing& outgoing_;
  Incoming& incoming_;
  Transfers& transfers_;
  Recovery& recovery_;
  Responder responder_;
  IndexTable by_connection_;  // session, next session and attempt of each peer
  IndexTable by_rank_;
  std::array<Answer, kAnswersMax> answers_;
  std::uint32_t answer_head_ = 0;
  std::uint32_t answer_count_ = 0;
  std::uint32_t hello_due_ = 0;  // peers with hello_due
};

}  // namespace zhinu::core
