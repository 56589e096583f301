// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/ledger.h"

#include <algorithm>
#include <utility>

#include "rekindle/base/check.h"

namespace rekindle {

Ledger::Reservation::Reservation(Reservation&& other) noexcept
    : ledger_(other.ledger_), bytes_(std::exchange(other.bytes_, 0)) {}

Ledger::Reservation::~Reservation() { ledger_.GiveBack(bytes_); }

std::optional<Ledger::Reservation> Ledger::Reserve(size_t bytes) {
  if (bytes > room()) return std::nullopt;
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return Reservation(*this, bytes);
}

void Ledger::GiveBack(size_t bytes) {
  RK_CHECK(bytes <= used_, "more given back than was used");
  used_ -= bytes;
}

}  // namespace rekindle
