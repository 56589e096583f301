// SPDX-License-Identifier: Apache-2.0
// Tensors, guards and DLPack through the C interface.
#include <dlpack/dlpack.h>

#include <cstdlib>
#include <vector>

#include "tests/c/c_fixture.h"

namespace rekindle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CTensorTest : public CTest {};

TEST_F(CTensorTest, ViewsShareBytesAndSayTheirShape) {
  const Floats values = {0, 1, 2, 3, 4, 5};
  const int64_t flat[] = {6};
  const rk_spec spec = {RK_F32, 1, flat};
  rk_tensor* x = nullptr;
  ASSERT_EQ(rk_constant(rt_, &spec, values.data(), nullptr, RK_OTHER, &x),
            RK_OK);
  Own(x);
  const int64_t shape[] = {3, 2};
  rk_tensor* matrix = nullptr;
  rk_tensor* rows = nullptr;
  ASSERT_EQ(rk_tensor_reshape(x, 2, shape, &matrix), RK_OK);
  Own(matrix);
  ASSERT_EQ(rk_tensor_slice(matrix, 1, 3, &rows), RK_OK);
  Own(rows);
  EXPECT_THAT(Values(rows), ElementsAre(2, 3, 4, 5));
  rk_spec seen;
  ASSERT_EQ(rk_tensor_spec(rows, &seen), RK_OK);
  EXPECT_EQ(seen.dtype, RK_F32);
  EXPECT_THAT(std::vector<int64_t>(seen.shape, seen.shape + seen.rank),
              ElementsAre(2, 2));
  rk_tensor* wrong = rows;
  EXPECT_EQ(rk_tensor_slice(matrix, 1, 4, &wrong), RK_INVALID_ARGUMENT);
  EXPECT_EQ(wrong, nullptr);
  EXPECT_EQ(rk_tensor_reshape(x, 1, shape, &wrong), RK_INVALID_ARGUMENT);
}

TEST_F(CTensorTest, GuardsGiveAddresses) {
  rk_tensor* const x = Full(3);
  rk_guard* guard = nullptr;
  ASSERT_EQ(rk_tensor_write(x, 0, &guard), RK_OK) << rk_last_error();
  static_cast<float*>(rk_guard_address(guard))[1] = 8;
  rk_guard* other = nullptr;
  EXPECT_EQ(rk_tensor_read(x, 0, &other), RK_FAILED_PRECONDITION);
  EXPECT_EQ(other, nullptr);
  rk_guard_release(guard);
  ASSERT_EQ(rk_tensor_read(x, 0, &guard), RK_OK);
  EXPECT_EQ(static_cast<float*>(rk_guard_address(guard))[1], 8);
  rk_guard_release(guard);
  rk_tensor* const y = Next(x);
  ASSERT_EQ(rk_tensor_keep(y, &guard), RK_OK);
  EXPECT_EQ(rk_tensor_evict(y), 0);
  rk_guard_release(guard);
  EXPECT_EQ(rk_tensor_evict(y), 1);
  EXPECT_EQ(rk_tensor_write(y, 0, &guard), RK_FAILED_PRECONDITION);
  ASSERT_EQ(rk_tensor_detach(y), RK_OK);
  EXPECT_EQ(rk_tensor_evict(y), 0);
  EXPECT_EQ(Values(y)[1], 9);
}

TEST_F(CTensorTest, HandlesOutliveTheRuntime) {
  rk_tensor* const x = Full(3);
  rk_guard* guard = nullptr;
  ASSERT_EQ(rk_tensor_read(x, 0, &guard), RK_OK);
  rk_runtime_release(rt_);
  rt_ = nullptr;
  EXPECT_EQ(static_cast<float*>(rk_guard_address(guard))[0], 3);
  rk_guard_release(guard);
  EXPECT_EQ(Values(x), Floats(kN, 3));
}

void Count(void* user) { ++*static_cast<int*>(user); }

TEST_F(CTensorTest, AdoptedMemoryIsGivenBackOnce) {
  int ended = 0;
  Floats memory(kN, 5);
  rk_tensor* x = nullptr;
  ASSERT_EQ(
      rk_adopt(rt_, &spec_, memory.data(), Count, &ended, "mine", RK_INPUT, &x),
      RK_OK)
      << rk_last_error();
  rk_tensor* y = nullptr;
  ASSERT_EQ(
      rk_call(rt_, nullptr, &x, 1, &spec_, 1, AddOne, nullptr, nullptr, &y),
      RK_OK);
  rk_tensor_release(x);
  EXPECT_EQ(rk_tensor_evict(y), 1);
  EXPECT_EQ(Values(y), Floats(kN, 6));
  EXPECT_EQ(ended, 0);
  rk_tensor_release(y);
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(
      rk_adopt(rt_, &spec_, nullptr, Count, &ended, "none", RK_INPUT, nullptr),
      RK_INVALID_ARGUMENT);
  rk_tensor* none = nullptr;
  EXPECT_EQ(
      rk_adopt(rt_, &spec_, nullptr, Count, &ended, "none", RK_INPUT, &none),
      RK_INVALID_ARGUMENT);
  EXPECT_EQ(ended, 3);
}

TEST_F(CTensorTest, StepsNameTheSmallestBudget) {
  uint64_t bytes = 0;
  EXPECT_EQ(rk_minimum_budget(rt_, &bytes), RK_FAILED_PRECONDITION);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(rk_begin_step(rt_), RK_OK);
    rk_tensor* const x = Full(1);
    for (int j = 0; j < 4; ++j) Next(x);
  }
  ASSERT_EQ(rk_begin_step(rt_), RK_OK);
  ASSERT_EQ(rk_minimum_budget(rt_, &bytes), RK_OK) << rk_last_error();
  EXPECT_GE(bytes, 2 * sizeof(float) * kN);
}

TEST_F(CTensorTest, DlpackGoesOutAndComesBack) {
  rk_tensor* const x = Next(Full(1));
  DLManagedTensor* managed = nullptr;
  ASSERT_EQ(rk_export_dlpack(x, 0, &managed), RK_OK) << rk_last_error();
  EXPECT_EQ(rk_tensor_evict(x), 0);
  rk_tensor* back = nullptr;
  ASSERT_EQ(rk_import_dlpack(rt_, managed, "back", RK_INPUT, &back), RK_OK)
      << rk_last_error();
  EXPECT_EQ(Values(back), Floats(kN, 2));
  rk_tensor_release(back);
  EXPECT_EQ(rk_tensor_evict(x), 1);
}

TEST_F(CTensorTest, DlpackThatIsNotTakenIsEnded) {
  for (const bool no_runtime : {false, true}) {
    DLManagedTensor* managed = nullptr;
    rk_tensor* const x = Next(Full(1));
    ASSERT_EQ(rk_export_dlpack(x, 0, &managed), RK_OK);
    rk_tensor* back = nullptr;
    EXPECT_EQ(
        rk_import_dlpack(no_runtime ? nullptr : rt_, managed, "back",
                         static_cast<rk_kind>(no_runtime ? 0 : 99), &back),
        RK_INVALID_ARGUMENT);
    EXPECT_EQ(rk_tensor_evict(x), 1);
  }
}

TEST_F(CTensorTest, StreamsCanBeMadeAndEnded) {
  rk_stream stream = 0;
  ASSERT_EQ(rk_create_stream(rt_, &stream), RK_OK) << rk_last_error();
  rk_guard* guard = nullptr;
  ASSERT_EQ(rk_tensor_read(Full(1), stream, &guard), RK_OK);
  EXPECT_EQ(rk_destroy_stream(rt_, stream), RK_FAILED_PRECONDITION);
  rk_guard_release(guard);
  EXPECT_EQ(rk_destroy_stream(rt_, stream), RK_OK) << rk_last_error();
}

}  // namespace
}  // namespace rekindle
