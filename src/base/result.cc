#include "base/result.h"

namespace zhinu {

namespace {

struct Text {
  Errc code;
  std::string_view text;
};

constexpr Text kTexts[] = {
    {Errc::kOk, "ok"},
    {Errc::kInvalidArgument, "an argument is out of its range"},
    {Errc::kFull, "a limit is reached"},
    {Errc::kUnknownPeer, "no such peer"},
    {Errc::kUnknownCommunicator, "no such communicator"},
    {Errc::kUnknownRegion, "no such region"},
    {Errc::kUnknownOperation, "no such operation, or it has ended"},
    {Errc::kExists, "it exists already"},
    {Errc::kCancelled, "cancelled by the caller"},
    {Errc::kDeadlineExceeded, "the deadline passed"},
    {Errc::kTruncated, "the receive is smaller than the message"},
    {Errc::kDigestMismatch, "the ranks called different operations"},
    {Errc::kRegionRefused, "the peer refused the region key, range or access"},
    {Errc::kPeerCancelled, "the peer cancelled its side"},
    {Errc::kPeerUnreachable, "the peer cannot be reached"},
    {Errc::kPeerRestarted, "the peer restarted"},
    {Errc::kPeerClosed, "the peer closed the connection"},
    {Errc::kAborted, "the communicator was aborted"},
    {Errc::kProtocolViolation, "the peer broke the protocol"},
    {Errc::kNotHeld, "the receiver had no room to hold the message"},
    {Errc::kTaken, "the announced message without bytes was received"},
    {Errc::kTruncatedPacket, "the packet ends too early"},
    {Errc::kBadLength, "a length in the packet is wrong"},
    {Errc::kBadVersion, "no common protocol version"},
    {Errc::kBadKind, "unknown packet kind"},
    {Errc::kBadFrame, "unknown or malformed frame"},
    {Errc::kBadTag, "the authentication tag is wrong"},
    {Errc::kUnknownConnection, "unknown connection id"},
    {Errc::kReplayed, "the packet was seen before"},
    {Errc::kTooOld, "the packet is older than the replay window"},
    {Errc::kBadPath, "unknown path"},
    {Errc::kBadAck, "an ACK names a packet that was never sent"},
    {Errc::kBadCookie, "the address cookie is missing or wrong"},
    {Errc::kWrongWorld, "the packet belongs to another world generation"},
    {Errc::kBadClass, "unknown traffic class"},
};

}  // namespace

std::string_view errc_text(Errc code) noexcept {
  for (const Text& known : kTexts) {
    if (known.code == code) return known.text;
  }
  return "unknown error";
}

}  // namespace zhinu
