// Where the NICs of a peer are, learnt from where its packets come from.
//
// Out paths lead to the addresses that somebody configured. A NIC may have got another one
// since, or get one later; its genuine packets tell. Nothing is learnt from a packet that is
// older than others of its path: it may have left before a move. Thread rule: the endpoint's.
#pragma once

#include "base/time.h"
#include "core/endpoint.h"
#include "core/peer.h"

namespace zhinu::core {

// A genuine packet, the newest of in path `path` of `peer`, came as `arrival` says. True if out
// paths lead elsewhere now: they wait to be probed.
bool learn_address(Instant now, Peer& peer, InPath& path, const Arrival& arrival);

}  // namespace zhinu::core
