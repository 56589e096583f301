// SPDX-License-Identifier: Apache-2.0
// Several threads on one runtime, and waits for each other's pins.
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/runtime/runtime_fixture.h"

namespace rekindle {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

class ThreadsTest : public RuntimeTest {
 protected:
  void OpenWaiting(Budget budget, milliseconds pin_wait) {
    RuntimeOptions options = Options(budget);
    options.pin_wait = pin_wait;
    Open(std::move(options));
  }
};

TEST_F(ThreadsTest, ThreadsGetTheirOwnResultsUnderOneBudget) {
  constexpr int kThreads = 4;
  OpenWaiting(Chunks(3 * kThreads), std::chrono::minutes(2));
  const Tensor shared = Full(100);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Scope scope(*rt_, absl::StrCat("thread", t));
      std::vector<Tensor> chain = {Add(shared, static_cast<float>(t))};
      for (int i = 1; i < 20; ++i) chain.push_back(Add(chain.back(), 1));
      for (int i = 0; i < 20; i += 3) {
        const ReadGuard guard = chain[static_cast<size_t>(i)].Read().value();
        if (guard.data<float>()[kN - 1] == static_cast<float>(100 + t + i)) {
          ++right;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, kThreads * 7);
  EXPECT_LE(rt_->Stats().device.peak_created, 3 * kThreads * kChunk);
}

TEST_F(ThreadsTest, HandlesOfOneVariableMayBeUsedAndDroppedAnywhere) {
  const Tensor w = Full(0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, copy = w]() mutable {
      for (int i = 0; i < 50; ++i) {
        AddInPlace(copy, 1);
        Tensor view = copy.Slice(0, 1).Snapshot();
        EXPECT_THAT(view.ToHost<float>(), IsOk());
      }
      copy = Tensor();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Value(w), 200);
}

TEST_F(ThreadsTest, CallWaitsForAnotherThreadsPins) {
  OpenWaiting(Chunks(3), std::chrono::minutes(2));
  const Tensor x = Full(1);
  const Tensor a = Add(x, 1);
  const Tensor b = Add(x, 2);
  std::promise<void> pinned;
  std::thread reader([&] {
    ReadGuard first = a.Read().value();
    ReadGuard second = b.Read().value();
    pinned.set_value();
    std::this_thread::sleep_for(milliseconds(50));
    second.End();
  });
  pinned.get_future().wait();
  EXPECT_EQ(Value(Add(x, 3)), 4);
  reader.join();
}

TEST_F(ThreadsTest, ReadWaitsForAnotherThreadsPins) {
  OpenWaiting(Chunks(2), std::chrono::minutes(2));
  const Tensor x = Full(1);
  Tensor a = Add(x, 1);
  ASSERT_TRUE(a.Evict());
  const Tensor b = Add(x, 2);
  std::promise<void> pinned;
  std::thread reader([&] {
    ReadGuard guard = b.Read().value();
    pinned.set_value();
    std::this_thread::sleep_for(milliseconds(50));
  });
  pinned.get_future().wait();
  EXPECT_EQ(Value(a), 2);
  reader.join();
}

TEST_F(ThreadsTest, HigherBudgetEndsTheWait) {
  OpenWaiting(Chunks(2), std::chrono::minutes(2));
  const Tensor x = Full(1);
  const Tensor y = Add(x, 1);
  const ReadGuard guard = y.Read().value();
  std::thread caller([&] { EXPECT_EQ(Value(Add(x, 2)), 3); });
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_THAT(rt_->SetBudget(3 * kChunk), IsOk());
  caller.join();
}

TEST_F(ThreadsTest, WaitEndsInAnErrorAtTheDeadline) {
  OpenWaiting(Chunks(2), milliseconds(50));
  const Tensor x = Full(1);
  const Tensor y = Add(x, 1);
  const ReadGuard guard = y.Read().value();
  std::thread caller([&] {
    const auto start = steady_clock::now();
    const absl::Status status = Add(x, 2).status();
    EXPECT_GE(steady_clock::now() - start, milliseconds(50));
    EXPECT_THAT(status, IsResourceExhausted());
    EXPECT_THAT(std::string(status.message()), HasSubstr("pinned 4.00"));
  });
  caller.join();
}

TEST_F(ThreadsTest, ThreadsThatWaitForEachOthersPinsBothGetOut) {
  OpenWaiting(Chunks(3), milliseconds(100));
  const Tensor x = Full(1);
  const Tensor a = Add(x, 1);
  const Tensor b = Add(x, 2);
  std::atomic<int> pinned = 0;
  const auto pin_and_call = [&](const Tensor& tensor) {
    const ReadGuard guard = tensor.Read().value();
    ++pinned;
    while (pinned < 2) std::this_thread::yield();
    return Add(x, 3).status();
  };
  std::future<absl::Status> other =
      std::async(std::launch::async, [&] { return pin_and_call(a); });
  const absl::Status mine = pin_and_call(b);
  const absl::Status others = other.get();
  EXPECT_TRUE(absl::IsResourceExhausted(mine) ||
              absl::IsResourceExhausted(others));
}

TEST_F(ThreadsTest, GuardMayEndOnAnotherThread) {
  Tensor y = Add(Full(1), 1);
  ReadGuard guard = y.Read().value();
  std::thread([guard = std::move(guard)]() mutable { guard.End(); }).join();
  EXPECT_TRUE(y.Evict());
}

TEST_F(ThreadsTest, LastHandleOfARuntimeMayEndOnAnotherThread) {
  Tensor y = Add(Full(1), 1);
  rt_ = nullptr;
  std::thread([y = std::move(y)]() mutable { y = Tensor(); }).join();
}

}  // namespace
}  // namespace rekindle
