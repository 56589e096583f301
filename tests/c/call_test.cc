// SPDX-License-Identifier: Apache-2.0
// Calls through the C interface.
#include <cstring>
#include <string>
#include <vector>

#include "tests/c/c_fixture.h"

namespace rekindle {
namespace {

using ::testing::HasSubstr;

class CCallTest : public CTest {};

TEST_F(CCallTest, ChainFitsItsBudgetAndKeepsItsBits) {
  Open("2MiB");
  int runs = 0;
  std::vector<rk_tensor*> chain = {Full(0)};
  for (int i = 0; i < 20; ++i) chain.push_back(Next(chain.back(), &runs));
  for (int i = 20; i > 0; --i) {
    EXPECT_EQ(Values(chain[static_cast<size_t>(i)]),
              Floats(kN, static_cast<float>(i)));
  }
  rk_stats stats = RK_STATS_INIT;
  ASSERT_EQ(rk_get_stats(rt_, &stats), RK_OK);
  EXPECT_EQ(stats.budget, 2u << 20);
  EXPECT_LE(stats.peak_physical_bytes, stats.budget);
  EXPECT_EQ(stats.calls, 20);
  EXPECT_GT(stats.evictions, 0);
  EXPECT_GT(stats.recomputations, 0);
  EXPECT_EQ(runs, 20 + stats.recomputations);
}

TEST_F(CCallTest, UpdateInPlaceShowsInCopiesAndNotInSnapshots) {
  rk_tensor* const x = Full(1);
  rk_tensor* copy = nullptr;
  rk_tensor* before = nullptr;
  ASSERT_EQ(rk_tensor_copy(x, &copy), RK_OK);
  ASSERT_EQ(rk_tensor_snapshot(x, &before), RK_OK);
  Own(copy);
  Own(before);
  const int first = 0;
  rk_call_options options = RK_CALL_INIT;
  options.mutates = &first;
  options.mutate_count = 1;
  const rk_tensor* const inputs[] = {x};
  const auto twice = [](const rk_kernel_args* args, void*) {
    auto* values = static_cast<float*>(rk_args_inout(args, 0));
    for (int64_t i = 0; i < kN; ++i) values[i] *= 2;
    return RK_OK;
  };
  ASSERT_EQ(rk_call(rt_, &options, inputs, 1, nullptr, 0, twice, nullptr,
                    nullptr, nullptr),
            RK_OK)
      << rk_last_error();
  EXPECT_EQ(Values(x), Floats(kN, 2));
  EXPECT_EQ(Values(copy), Floats(kN, 2));
  EXPECT_EQ(Values(before), Floats(kN, 1));
}

TEST_F(CCallTest, RandomNumbersAreTheSameWhenItRunsAgain) {
  rk_generator* generator = nullptr;
  ASSERT_EQ(rk_generator_create(7, &generator), RK_OK);
  rk_call_options options = RK_CALL_INIT;
  options.random = generator;
  const auto draw = [](const rk_kernel_args* args, void*) {
    uint64_t key = 0, number = 0;
    rk_args_random(args, &key, &number);
    auto* out = static_cast<float*>(rk_args_output(args, 0));
    for (int64_t i = 0; i < kN; ++i) {
      out[i] = static_cast<float>(key * 100 + number);
    }
    return RK_OK;
  };
  for (float expected : {700.f, 701.f}) {
    rk_tensor* y = nullptr;
    ASSERT_EQ(rk_call(rt_, &options, nullptr, 0, &spec_, 1, draw, nullptr,
                      nullptr, &y),
              RK_OK);
    Own(y);
    EXPECT_EQ(rk_tensor_evict(y), 1);
    EXPECT_EQ(rk_tensor_is_resident(y), 0);
    EXPECT_EQ(Values(y), Floats(kN, expected));
  }
  uint64_t key = 0, number = 0;
  ASSERT_EQ(rk_generator_get(generator, &key, &number), RK_OK);
  EXPECT_EQ(number, 2u);
  EXPECT_EQ(rk_generator_set(generator, 7, 0), RK_OK);
  rk_generator_release(generator);
}

TEST_F(CCallTest, ErrorOfAKernelComesBackWithItsWords) {
  const auto fails = [](const rk_kernel_args*, void*) {
    return rk_fail(RK_UNAVAILABLE, "no link");
  };
  rk_call_options options = RK_CALL_INIT;
  options.name = "gather";
  rk_tensor* y = nullptr;
  EXPECT_EQ(rk_call(rt_, &options, nullptr, 0, &spec_, 1, fails, nullptr,
                    nullptr, &y),
            RK_UNAVAILABLE);
  EXPECT_EQ(y, nullptr);
  EXPECT_THAT(rk_last_error(),
              AllOf(HasSubstr("gather"), HasSubstr("no link")));
  // A call without outputs has no tensor to carry the error.
  EXPECT_EQ(rk_call(rt_, &options, nullptr, 0, nullptr, 0, fails, nullptr,
                    nullptr, nullptr),
            RK_UNAVAILABLE);
  EXPECT_EQ(rk_begin_step(rt_), RK_UNAVAILABLE);
  EXPECT_EQ(rk_begin_step(rt_), RK_OK);
}

TEST_F(CCallTest, WordsStayUntilTheNextFailure) {
  rk_tensor* none = nullptr;
  EXPECT_EQ(rk_tensor_copy(nullptr, &none), RK_INVALID_ARGUMENT);
  Next(Full(1));
  EXPECT_THAT(rk_last_error(), HasSubstr("the tensor is NULL"));
}

TEST_F(CCallTest, StatusThatIsNoneIsAnErrorToo) {
  const auto odd = [](const rk_kernel_args*, void*) {
    return static_cast<rk_status>(77);
  };
  rk_tensor* y = nullptr;
  EXPECT_EQ(
      rk_call(rt_, nullptr, nullptr, 0, &spec_, 1, odd, nullptr, nullptr, &y),
      RK_UNKNOWN);
  EXPECT_THAT(rk_last_error(), HasSubstr("status 77"));
}

TEST_F(CCallTest, WhatDoesNotFitNamesABudgetThatDoes) {
  Open("512KiB");
  const rk_tensor* const x = Full(1);
  const int64_t shape[] = {4 * kN};
  const rk_spec large = {RK_F32, 1, shape};
  const auto ones = [](const rk_kernel_args* args, void*) {
    auto* out = static_cast<float*>(rk_args_output(args, 0));
    for (int64_t i = 0; i < 4 * kN; ++i) out[i] = 1;
    return RK_OK;
  };
  rk_tensor* y = nullptr;
  EXPECT_EQ(rk_call(rt_, nullptr, &x, 1, &large, 1, ones, nullptr, nullptr, &y),
            RK_RESOURCE_EXHAUSTED);
  EXPECT_THAT(rk_last_error(), HasSubstr("This call needs at least"));
  ASSERT_EQ(rk_set_budget(rt_, uint64_t{4} << 20), RK_OK);
  ASSERT_EQ(rk_call(rt_, nullptr, &x, 1, &large, 1, ones, nullptr, nullptr, &y),
            RK_OK)
      << rk_last_error();
  Own(y);
  EXPECT_EQ(Values(y), Floats(4 * kN, 1));
}

void Count(void* user) { ++*static_cast<int*>(user); }

TEST_F(CCallTest, UserDataIsReleasedOnceWhateverHappens) {
  int released = 0;
  const rk_tensor* const x = Full(1);
  const auto add = [](const rk_kernel_args* args, void*) {
    return AddOne(args, nullptr);
  };
  rk_tensor* y = nullptr;
  ASSERT_EQ(rk_call(rt_, nullptr, &x, 1, &spec_, 1, add, &released, Count, &y),
            RK_OK);
  EXPECT_EQ(released, 0);
  rk_tensor_release(y);
  EXPECT_EQ(released, 1);
  // Before and after the call was checked, and by its kernel.
  EXPECT_NE(
      rk_call(rt_, nullptr, &x, 1, &spec_, 1, nullptr, &released, Count, &y),
      RK_OK);
  EXPECT_EQ(released, 2);
  const rk_tensor* const none = nullptr;
  EXPECT_NE(
      rk_call(rt_, nullptr, &none, 1, &spec_, 1, add, &released, Count, &y),
      RK_OK);
  EXPECT_EQ(released, 3);
  const auto fails = [](const rk_kernel_args*, void*) { return RK_INTERNAL; };
  EXPECT_NE(
      rk_call(rt_, nullptr, &x, 1, &spec_, 1, fails, &released, Count, &y),
      RK_OK);
  EXPECT_EQ(released, 4);
  EXPECT_NE(
      rk_call(rt_, nullptr, &x, 1, &spec_, 1, add, &released, Count, nullptr),
      RK_OK);
  EXPECT_EQ(released, 5);
}

TEST_F(CCallTest, ArgumentsOutOfRangeAreNull) {
  const rk_tensor* const x = Full(1);
  const auto look = [](const rk_kernel_args* args, void*) {
    const bool right = rk_args_input(args, 0) != nullptr &&
                       rk_args_input(args, 1) == nullptr &&
                       rk_args_output(args, 1) == nullptr &&
                       rk_args_workspace(args) != nullptr;
    if (!right) return rk_fail(RK_INTERNAL, "other arguments");
    std::memset(rk_args_workspace(args), 1, 1000);
    return AddOne(args, nullptr);
  };
  rk_call_options options = RK_CALL_INIT;
  options.workspace_bytes = 1000;
  rk_tensor* y = nullptr;
  EXPECT_EQ(
      rk_call(rt_, &options, &x, 1, &spec_, 1, look, nullptr, nullptr, &y),
      RK_OK)
      << rk_last_error();
  Own(y);
}

TEST_F(CCallTest, ScopesAndPlacesNameIt) {
  rk_scope* scope = nullptr;
  ASSERT_EQ(rk_scope_begin(rt_, "block3", &scope), RK_OK);
  rk_call_options options = RK_CALL_INIT;
  options.name = "softmax";
  options.file = "model.c";
  options.line = 12;
  const auto fails = [](const rk_kernel_args*, void*) { return RK_INTERNAL; };
  EXPECT_EQ(rk_call(rt_, &options, nullptr, 0, nullptr, 0, fails, nullptr,
                    nullptr, nullptr),
            RK_INTERNAL);
  EXPECT_THAT(rk_last_error(), HasSubstr("\"block3/softmax\" (model.c:12)"));
  rk_scope_release(scope);
}

}  // namespace
}  // namespace rekindle
