// Errors are values: Errc names one, Result<T> carries a value or an Errc.
//
// Errc serves three readers: callers of the API, the wire (errors that one peer
// tells another travel as the number, so numbers are never reused), and people
// (`errc_text`). Thread rule: plain values, no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace zhinu {

// Numbers are part of the wire format (docs/wire-format.md): append only.
enum class Errc : std::uint16_t {
  kOk = 0,
  // The caller's request cannot be taken.
  kInvalidArgument = 1,
  kFull = 2,  // a named limit is reached; retry after completions were polled
  kUnknownPeer = 3,
  kUnknownCommunicator = 4,
  kUnknownRegion = 5,
  kUnknownOperation = 6,
  kExists = 7,
  // Terminal results of posted items.
  kCancelled = 20,
  kDeadlineExceeded = 21,
  kTruncated = 22,       // the receive is smaller than the message
  kDigestMismatch = 23,  // the two ranks called different operations
  kRegionRefused = 24,   // key unknown or revoked, or range or access not granted
  kPeerCancelled = 25,   // the peer gave the message up
  kPeerUnreachable = 26,
  kPeerRestarted = 27,
  kPeerClosed = 28,
  kAborted = 29,  // the communicator was aborted, here or elsewhere
  kProtocolViolation = 30,
  kNotHeld = 31,  // wire only: receiver had no room, sender keeps the data
  kTaken = 32,    // wire only: an announced message without bytes found its receive
  // Packets that are refused.
  kTruncatedPacket = 50,
  kBadLength = 51,
  kBadVersion = 52,
  kBadKind = 53,
  kBadFrame = 54,
  kBadTag = 55,
  kUnknownConnection = 56,
  kReplayed = 57,
  kTooOld = 58,
  kBadPath = 59,
  kBadAck = 60,
  kBadCookie = 61,
  kWrongWorld = 62,
  kBadClass = 63,
};

// One short English sentence without a full stop; "unknown error" for others.
std::string_view errc_text(Errc code) noexcept;

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Errc error) : error_(error) { ZHINU_ASSERT(error != Errc::kOk); }

  bool ok() const noexcept { return error_ == Errc::kOk; }
  Errc error() const noexcept { return error_; }

  T& value() & {
    ZHINU_ASSERT(ok());
    return *value_;
  }
  const T& value() const& {
    ZHINU_ASSERT(ok());
    return *value_;
  }
  T&& value() && {
    ZHINU_ASSERT(ok());
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
  Errc error_ = Errc::kOk;
};

// Success, or the reason why not.
class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
  constexpr Status(Errc error) : error_(error) {}

  constexpr bool ok() const noexcept { return error_ == Errc::kOk; }
  constexpr Errc error() const noexcept { return error_; }

 private:
  Errc error_ = Errc::kOk;
};

}  // namespace zhinu
