// SPDX-License-Identifier: Apache-2.0
// The budget as an account: bytes are reserved before they are taken.
#pragma once

#include <cstddef>
#include <optional>

namespace rekindle {

// Counts bytes against a budget. `used` never rises above the budget, but a
// budget set lower can leave it above until enough is given back.
//
//   free --Reserve--> reserved --Commit--> taken --GiveBack--> free
//                         \---destructor---> free
//
// Reserved and taken bytes are both used. Thread-compatible.
class Ledger {
 public:
  // Bytes that nobody else can have; gives them back when it ends, unless
  // committed. Must not outlive its ledger.
  class Reservation {
   public:
    Reservation(Reservation&& other) noexcept;
    Reservation& operator=(Reservation&&) = delete;
    ~Reservation();

    size_t bytes() const { return bytes_; }

    // The bytes are taken from now on; whoever frees them calls GiveBack.
    void Commit() { bytes_ = 0; }

   private:
    friend class Ledger;
    Reservation(Ledger& ledger, size_t bytes)
        : ledger_(ledger), bytes_(bytes) {}

    Ledger& ledger_;
    size_t bytes_;
  };

  explicit Ledger(size_t budget) : budget_(budget) {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // nullopt when the budget has no room for `bytes` more.
  std::optional<Reservation> Reserve(size_t bytes);

  // Ends bytes that were committed. REQUIRES: at most what is used.
  void GiveBack(size_t bytes);

  void SetBudget(size_t bytes) { budget_ = bytes; }

  size_t budget() const { return budget_; }
  size_t used() const { return used_; }
  size_t peak() const { return peak_; }  // the most ever used

  // What Reserve would still grant, and what must be given back to be within
  // the budget again: one of them is 0.
  size_t room() const { return used_ < budget_ ? budget_ - used_ : 0; }
  size_t excess() const { return used_ > budget_ ? used_ - budget_ : 0; }

 private:
  size_t budget_;
  size_t used_ = 0;
  size_t peak_ = 0;
};

}  // namespace rekindle
