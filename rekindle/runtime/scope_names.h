// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "rekindle/base/mutex.h"

namespace rekindle::internal {

// The scopes in which each thread is at the moment. Thread-safe.
class ScopeNames {
 public:
  // Enters and leaves a scope of the calling thread.
  void Push(const std::string& name);
  void Pop();

  // "block7/attention/softmax" for "softmax" in the scopes block7, attention.
  std::string Qualify(const std::string& name) const;

 private:
  std::atomic<int> scopes_{0};  // of all threads
  mutable Mutex mutex_;
  // Each entry is a whole prefix: "block7/", "block7/attention/".
  std::map<std::thread::id, std::vector<std::string>> prefixes_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace rekindle::internal
