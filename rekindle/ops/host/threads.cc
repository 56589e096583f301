// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/threads.h"

#if defined(_OPENMP)
#include <omp.h>
#else
// Without OpenMP of our own (ThreadSanitizer), oneDNN may still bring a
// runtime with it, which must be told to stay on this thread.
extern "C" {
__attribute__((weak)) int omp_get_max_threads();
__attribute__((weak)) int omp_get_dynamic();
__attribute__((weak)) void omp_set_num_threads(int count);
__attribute__((weak)) void omp_set_dynamic(int dynamic);
}
#endif

namespace rekindle::ops::host {
namespace {

#if defined(_OPENMP)
constexpr bool kOwnOpenMp = true;
constexpr bool HasOpenMp() { return true; }
#else
constexpr bool kOwnOpenMp = false;
bool HasOpenMp() {
  return omp_get_max_threads != nullptr && omp_get_dynamic != nullptr &&
         omp_set_num_threads != nullptr && omp_set_dynamic != nullptr;
}
#endif

}  // namespace

HostThreads MaxHostThreads() {
  return HostThreads{kOwnOpenMp ? omp_get_max_threads() : 1};
}

ScopedOpenMpThreads::ScopedOpenMpThreads(HostThreads threads) {
  if (!HasOpenMp()) return;
  previous_count_ = omp_get_max_threads();
  previous_dynamic_ = omp_get_dynamic();
  omp_set_dynamic(0);
  omp_set_num_threads(kOwnOpenMp ? threads.count : 1);
}

ScopedOpenMpThreads::~ScopedOpenMpThreads() {
  if (!HasOpenMp()) return;
  omp_set_num_threads(previous_count_);
  omp_set_dynamic(previous_dynamic_);
}

}  // namespace rekindle::ops::host
