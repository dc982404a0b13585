#include "base/result.h"

#include <gtest/gtest.h>

#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace zhinu {
namespace {

Result<int> half_of(int number) {
  if (number % 2 != 0) return Errc::kInvalidArgument;
  return number / 2;
}

// Numbers travel on the wire: this list is a promise to every version before.
constexpr struct {
  Errc code;
  unsigned number;
} kNumbers[] = {
    {Errc::kOk, 0},
    {Errc::kInvalidArgument, 1},
    {Errc::kFull, 2},
    {Errc::kUnknownPeer, 3},
    {Errc::kUnknownCommunicator, 4},
    {Errc::kUnknownRegion, 5},
    {Errc::kUnknownOperation, 6},
    {Errc::kExists, 7},
    {Errc::kCancelled, 20},
    {Errc::kDeadlineExceeded, 21},
    {Errc::kTruncated, 22},
    {Errc::kDigestMismatch, 23},
    {Errc::kRegionRefused, 24},
    {Errc::kPeerCancelled, 25},
    {Errc::kPeerUnreachable, 26},
    {Errc::kPeerRestarted, 27},
    {Errc::kPeerClosed, 28},
    {Errc::kAborted, 29},
    {Errc::kProtocolViolation, 30},
    {Errc::kNotHeld, 31},
    {Errc::kTaken, 32},
    {Errc::kTruncatedPacket, 50},
    {Errc::kBadLength, 51},
    {Errc::kBadVersion, 52},
    {Errc::kBadKind, 53},
    {Errc::kBadFrame, 54},
    {Errc::kBadTag, 55},
    {Errc::kUnknownConnection, 56},
    {Errc::kReplayed, 57},
    {Errc::kTooOld, 58},
    {Errc::kBadPath, 59},
    {Errc::kBadAck, 60},
    {Errc::kBadCookie, 61},
    {Errc::kWrongWorld, 62},
    {Errc::kBadClass, 63},
};

TEST(Errc, numbers_never_change) {
  for (const auto& entry : kNumbers) {
    EXPECT_EQ(static_cast<unsigned>(entry.code), entry.number) << errc_text(entry.code);
  }
}

TEST(Errc, errc_text__every_code_has_its_own_sentence) {
  std::set<std::string_view> texts;
  for (const auto& entry : kNumbers) {
    const std::string_view text = errc_text(entry.code);
    EXPECT_NE(text, "unknown error") << entry.number;
    EXPECT_NE(text.back(), '.') << text;
    EXPECT_TRUE(texts.insert(text).second) << "twice: " << text;
  }
}

TEST(Errc, errc_text__number_without_a_code) {
  EXPECT_EQ(errc_text(static_cast<Errc>(8)), "unknown error");
  EXPECT_EQ(errc_text(static_cast<Errc>(0xffff)), "unknown error");
}

// A code that is added must be added above, or its number is not pinned.
TEST(Errc, errc_text__knows_no_code_that_this_test_does_not) {
  std::size_t known = 0;
  for (unsigned number = 0; number <= 0xffff; ++number) {
    if (errc_text(static_cast<Errc>(number)) != "unknown error") ++known;
  }
  EXPECT_EQ(known, std::size(kNumbers));
}

TEST(Result, value) {
  const Result<int> result = half_of(8);
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.error(), Errc::kOk);
  EXPECT_EQ(result.value(), 4);
}

TEST(Result, error) {
  const Result<int> result = half_of(7);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.error(), Errc::kInvalidArgument);
}

TEST(Result, value__can_be_changed_in_place) {
  Result<std::string> result(std::string("flow"));
  result.value() += "s";
  EXPECT_EQ(result.value(), "flows");
}

TEST(Result, value__of_a_type_that_only_moves) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

TEST(Result, error__of_a_type_without_default_constructor) {
  struct Path {
    explicit Path(int index) : path_index(index) {}
    int path_index;
  };
  const Result<Path> result(Errc::kBadPath);
  EXPECT_EQ(result.error(), Errc::kBadPath);
  EXPECT_EQ(Result<Path>(Path(3)).value().path_index, 3);
}

TEST(Result, value__of_an_error_code_type_is_not_mistaken) {
  static_assert(std::is_constructible_v<Result<int>, Errc>);
  static_assert(std::is_constructible_v<Result<int>, int>);
  static_assert(!std::is_default_constructible_v<Result<int>>);
}

TEST(ResultDeathTest, value__of_an_error) {
  Result<int> result(Errc::kFull);
  EXPECT_DEATH(static_cast<void>(result.value()), "assertion failed: ok\\(\\)");
  const Result<int>& constant = result;
  EXPECT_DEATH(static_cast<void>(constant.value()), "assertion failed: ok\\(\\)");
  EXPECT_DEATH(static_cast<void>(std::move(result).value()), "assertion failed: ok\\(\\)");
}

TEST(ResultDeathTest, error__ok_is_not_an_error) {
  EXPECT_DEATH(static_cast<void>(Result<int>(Errc::kOk)), "error != Errc::kOk");
}

TEST(Status, default_is_success) {
  constexpr Status status;
  static_assert(status.ok());
  EXPECT_EQ(status.error(), Errc::kOk);
}

TEST(Status, error) {
  constexpr Status status = Errc::kReplayed;
  static_assert(!status.ok());
  EXPECT_EQ(status.error(), Errc::kReplayed);
}

TEST(Status, kOk_is_success) { EXPECT_TRUE(Status(Errc::kOk).ok()); }

}  // namespace
}  // namespace zhinu
