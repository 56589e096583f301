// SPDX-License-Identifier: Apache-2.0
// A loop that runs for a week keeps a constant number of records.
#include <malloc.h>

#include <algorithm>
#include <cstdint>

#include "tests/runtime/runtime_fixture.h"

namespace rekindle {
namespace {

constexpr int kIterations = 100000;
constexpr int kWarmup = 10;
constexpr int kHeapWarmup = 1000;
constexpr int kWindow = 20;

// Bytes of the process's heap in use. Sanitizers keep their own heap, of which
// mallinfo2 knows nothing: there it is 0 throughout.
size_t HeapBytes() { return mallinfo2().uordblks; }

class LongLoopTest : public RuntimeTest {
 protected:
  void Open(int64_t max_lineage_calls) {
    RuntimeOptions options = Options(Chunks(64));
    options.max_lineage_calls = max_lineage_calls;
    RuntimeTest::Open(std::move(options));
  }
  // A carried state and a running sum, and activations that end with the
  // iteration.
  void Iterate(const Tensor& x, Tensor& state, const Tensor& sum) {
    const Tensor hidden = Combine(state, x);
    state = Combine(hidden, state);
    rt_->Call({.name = "sum", .mutates = {0}}, {sum, state}, {},
              [](KernelArgs& a) {
                a.inout<float>(0)[0] += a.input<float>(1)[0];
                return absl::OkStatus();
              });
  }
  Tensor Combine(const Tensor& a, const Tensor& b) {
    return rt_->Call({.name = "combine"}, {a, b}, {F32({1})},
                     [](KernelArgs& k) {
                       k.output<float>(0)[0] =
                           k.input<float>(0)[0] * 0.5f + k.input<float>(1)[0];
                       return absl::OkStatus();
                     })[0];
  }

  struct Usage {
    int64_t storages = 0;
    int64_t calls = 0;
    size_t heap = 0;

    static Usage Most(const Usage& a, const Usage& b) {
      return {std::max(a.storages, b.storages), std::max(a.calls, b.calls),
              std::max(a.heap, b.heap)};
    }
  };
  Usage Now() const {
    const EngineStats stats = rt_->Stats().engine;
    return {stats.storages, stats.lineage_calls, HeapBytes()};
  }

  // The most in use during two stretches of iterations: after the tenth, and
  // at the end. The heap's first stretch is later, when the allocator's
  // memory of past requests has its full (small) size.
  void Run(bool begin_step, Usage& early, Usage& late) {
    const Tensor x = Make({1});
    Tensor state = Make({0});
    const Tensor sum = Make({0});
    for (int i = 0; i < kIterations; ++i) {
      if (begin_step) {
        ASSERT_THAT(rt_->BeginStep(), IsOk());
      }
      Iterate(x, state, sum);
      if (i >= kWarmup && i < kWarmup + kWindow)
        early = Usage::Most(early, Now());
      if (i == kHeapWarmup) early.heap = 0;
      if (i >= kHeapWarmup && i < kHeapWarmup + kWindow) {
        early.heap = std::max(early.heap, HeapBytes());
      }
      if (i >= kIterations - kWindow) late = Usage::Most(late, Now());
    }
    EXPECT_THAT(sum.ToHost<float>(), IsOk());
  }
};

TEST_F(LongLoopTest, WithStepsNothingGrows) {
  Open(/*max_lineage_calls=*/0);
  Usage early, late;
  Run(/*begin_step=*/true, early, late);
  EXPECT_EQ(late.storages, early.storages);
  EXPECT_EQ(late.calls, early.calls);
  EXPECT_LE(late.heap, early.heap + 256);
}

TEST_F(LongLoopTest, WithoutStepsTheOldestLineageIsCut) {
  constexpr int64_t kMost = 16;
  Open(kMost);
  Usage early, late;
  Run(/*begin_step=*/false, early, late);
  EXPECT_LE(late.calls, kMost + 3);
  EXPECT_LE(late.storages, early.storages);
  EXPECT_LE(late.heap, early.heap + 256);
}

TEST_F(LongLoopTest, WithoutEitherLineageGrows) {
  Open(/*max_lineage_calls=*/0);
  Tensor state = Make({0});
  for (int i = 0; i < 1000; ++i) state = Combine(state, state);
  EXPECT_EQ(Now().calls, 1000);
}

}  // namespace
}  // namespace rekindle
