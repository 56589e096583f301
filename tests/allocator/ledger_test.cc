// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/ledger.h"

#include <optional>
#include <utility>

#include "gtest/gtest.h"

namespace rekindle {
namespace {

TEST(LedgerTest, GrantsUpToTheBudget) {
  Ledger ledger(100);
  const std::optional<Ledger::Reservation> most = ledger.Reserve(70);
  ASSERT_TRUE(most.has_value());
  EXPECT_EQ(most->bytes(), 70u);
  EXPECT_EQ(ledger.used(), 70u);
  EXPECT_EQ(ledger.room(), 30u);
  EXPECT_FALSE(ledger.Reserve(31).has_value());
  EXPECT_EQ(ledger.used(), 70u);
  EXPECT_TRUE(ledger.Reserve(30).has_value());
}

TEST(LedgerTest, AReservationGivesBackAtItsEnd) {
  Ledger ledger(100);
  { const auto reservation = ledger.Reserve(60); }
  EXPECT_EQ(ledger.used(), 0u);
  EXPECT_EQ(ledger.peak(), 60u);
}

TEST(LedgerTest, CommittedBytesStayUntilGivenBack) {
  Ledger ledger(100);
  {
    auto reservation = ledger.Reserve(60);
    reservation->Commit();
  }
  EXPECT_EQ(ledger.used(), 60u);
  ledger.GiveBack(60);
  EXPECT_EQ(ledger.used(), 0u);
}

TEST(LedgerTest, AMovedReservationGivesBackOnce) {
  Ledger ledger(100);
  {
    auto first = ledger.Reserve(60);
    const Ledger::Reservation second = *std::move(first);
    EXPECT_EQ(second.bytes(), 60u);
    EXPECT_EQ(ledger.used(), 60u);
  }
  EXPECT_EQ(ledger.used(), 0u);
}

TEST(LedgerTest, ALoweredBudgetLeavesAnExcess) {
  Ledger ledger(100);
  const auto reservation = ledger.Reserve(80);
  ledger.SetBudget(50);
  EXPECT_EQ(ledger.budget(), 50u);
  EXPECT_EQ(ledger.excess(), 30u);
  EXPECT_EQ(ledger.room(), 0u);
  EXPECT_FALSE(ledger.Reserve(1).has_value());
  ledger.SetBudget(90);
  EXPECT_EQ(ledger.excess(), 0u);
  EXPECT_EQ(ledger.room(), 10u);
}

TEST(LedgerTest, TheLargestBudgetIsNoLimit) {
  Ledger ledger(~size_t{0});
  const auto reservation = ledger.Reserve(~size_t{0} - 1);
  EXPECT_TRUE(reservation.has_value());
  EXPECT_FALSE(ledger.Reserve(2).has_value());
}

TEST(LedgerDeathTest, MoreCannotBeGivenBackThanIsUsed) {
  Ledger ledger(100);
  EXPECT_DEATH(ledger.GiveBack(1), "more given back");
}

}  // namespace
}  // namespace rekindle
