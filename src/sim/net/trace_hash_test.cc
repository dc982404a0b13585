#include "sim/net/trace_hash.h"

#include <gtest/gtest.h>

namespace zhinu::sim {
namespace {

TEST(TraceHash, add__is_the_same_number_on_every_compiler) {
  TraceHash hash;
  hash.add(1, 2, 3);
  EXPECT_EQ(hash.value(), 16573236130271366461ULL);
}

TEST(TraceHash, add__order_and_count_matter) {
  TraceHash a;
  a.add(1, 2);
  TraceHash b;
  b.add(2, 1);
  TraceHash c;
  c.add(1, 2, 0);
  EXPECT_NE(a.value(), b.value());
  EXPECT_NE(a.value(), c.value());
}

}  // namespace
}  // namespace zhinu::sim
