#include "base/result.h"

namespace zhinu {

std::string_view errc_text(Errc code) noexcept {
  switch (code) {
    case Errc::kOk:
      return "ok";
    case Errc::kInvalidArgument:
      return "an argument is out of its range";
    case Errc::kFull:
      return "a limit is reached";
    case Errc::kUnknownPeer:
      return "no such peer";
    case Errc::kUnknownCommunicator:
      return "no such communicator";
    case Errc::kUnknownRegion:
      return "no such region";
    case Errc::kUnknownOperation:
      return "no such operation, or it has ended";
    case Errc::kExists:
      return "it exists already";
    case Errc::kCancelled:
      return "cancelled by the caller";
    case Errc::kDeadlineExceeded:
      return "the deadline passed";
    case Errc::kTruncated:
      return "the receive is smaller than the message";
    case Errc::kDigestMismatch:
      return "the ranks called different operations";
    case Errc::kRegionRefused:
      return "the peer refused the region key, range or access";
    case Errc::kPeerCancelled:
      return "the peer cancelled its side";
    case Errc::kPeerUnreachable:
      return "the peer cannot be reached";
    case Errc::kPeerRestarted:
      return "the peer restarted";
    case Errc::kPeerClosed:
      return "the peer closed the connection";
    case Errc::kAborted:
      return "the communicator was aborted";
    case Errc::kProtocolViolation:
      return "the peer broke the protocol";
    case Errc::kNotHeld:
      return "the receiver had no room to hold the message";
    case Errc::kTruncatedPacket:
      return "the packet ends too early";
    case Errc::kBadLength:
      return "a length in the packet is wrong";
    case Errc::kBadVersion:
      return "no common protocol version";
    case Errc::kBadKind:
      return "unknown packet kind";
    case Errc::kBadFrame:
      return "unknown or malformed frame";
    case Errc::kBadTag:
      return "the authentication tag is wrong";
    case Errc::kUnknownConnection:
      return "unknown connection id";
    case Errc::kReplayed:
      return "the packet was seen before";
    case Errc::kTooOld:
      return "the packet is older than the replay window";
    case Errc::kBadPath:
      return "unknown path";
    case Errc::kBadAck:
      return "an ACK names a packet that was never sent";
    case Errc::kBadCookie:
      return "the address cookie is missing or wrong";
    case Errc::kWrongWorld:
      return "the packet belongs to another world generation";
    case Errc::kBadClass:
      return "unknown traffic class";
  }
  return "unknown error";
}

}  // namespace zhinu
