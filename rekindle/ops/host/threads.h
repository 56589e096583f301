// SPDX-License-Identifier: Apache-2.0
// How many threads a host kernel uses, and how it spreads work over them.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

namespace rekindle::ops::host {

// Number of threads, handed to every kernel. It is a value, not a setting of
// the calling thread, because a recomputation on another thread must use the
// same number: oneDNN's results are only fixed for a fixed number of threads.
// (Our own kernels give the same bits for any number.)
struct HostThreads {
  int count = 1;  // REQUIRES: at least 1.

  friend constexpr auto operator<=>(HostThreads, HostThreads) = default;
};

// What OpenMP would use here (OMP_NUM_THREADS, else the processors); 1 in a
// build without OpenMP.
HostThreads MaxHostThreads();

// While it lives, OpenMP code called from this thread (oneDNN) uses exactly
// `threads`; in a build without OpenMP, one thread.
class ScopedOpenMpThreads {
 public:
  explicit ScopedOpenMpThreads(HostThreads threads);
  ~ScopedOpenMpThreads();
  ScopedOpenMpThreads(const ScopedOpenMpThreads&) = delete;
  ScopedOpenMpThreads& operator=(const ScopedOpenMpThreads&) = delete;

 private:
  int previous_count_ = 0;
  int previous_dynamic_ = 0;
};

// Waking the other threads costs microseconds: about this many simple
// operations are not worth one more thread.
inline constexpr int64_t kOperationsPerThread = 16384;

// Calls body(begin, end) for ranges that partition [0, count), on up to
// `threads` threads, and returns when all are done. One item costs about
// `operations` simple operations. A pure function of its arguments: what is
// small runs serially. The result must not depend on the partition.
template <typename Body>
void ParallelFor(HostThreads threads, int64_t count, int64_t operations,
                 const Body& body) {
  const int64_t useful =
      count / std::max<int64_t>(1, kOperationsPerThread / operations);
  const int64_t ranges =
      std::clamp<int64_t>(std::min(useful, count), 1, threads.count);
  if (ranges == 1) {
    if (count > 0) body(int64_t{0}, count);
    return;
  }
#if defined(_OPENMP)
#pragma omp parallel for num_threads(static_cast <int>(ranges)) schedule(static)
#endif
  for (int64_t range = 0; range < ranges; ++range) {
    body(count * range / ranges, count * (range + 1) / ranges);
  }
}

}  // namespace rekindle::ops::host
