// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "rekindle/base/check.h"
#include "rekindle/base/mutex.h"

namespace rekindle::internal {

// A lock that knows which thread holds it, so that a kernel that calls back
// into the runtime gets an error and not a deadlock. Thread-safe.
class ABSL_LOCKABLE Gate {
 public:
  void Enter() ABSL_EXCLUSIVE_LOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    mutex_.Lock();
    SetOwner(std::this_thread::get_id());
  }
  void Leave() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    SetOwner(std::thread::id());
    mutex_.Unlock();
  }

  bool InsideThisThread() const {
    return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  void AssertInside() const ABSL_ASSERT_EXCLUSIVE_LOCK() {
    RK_CHECK(InsideThisThread(), "called without the runtime's lock");
  }

  // Lets other threads in until one of them calls NotifyAll or `deadline` has
  // passed; false then. May return for no reason.
  bool WaitUntil(std::chrono::steady_clock::time_point deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    SetOwner(std::thread::id());
    const bool woken = changed_.WaitUntil(mutex_, deadline);
    SetOwner(std::this_thread::get_id());
    return woken;
  }
  void NotifyAll() { changed_.NotifyAll(); }

 private:
  // A thread only ever asks whether it is itself the owner, which it knows.
  void SetOwner(std::thread::id id) {
    owner_.store(id, std::memory_order_relaxed);
  }

  Mutex mutex_;
  CondVar changed_;
  std::atomic<std::thread::id> owner_{std::thread::id()};
};

}  // namespace rekindle::internal
