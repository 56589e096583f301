// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/tensor.h"

#include <numeric>

#include "tests/runtime/runtime_fixture.h"

namespace rekindle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TensorTest : public RuntimeTest {
 protected:
  // [[0, 1], [2, 3], [4, 5]]
  Tensor Matrix() {
    Floats values(6);
    std::iota(values.begin(), values.end(), 0.0f);
    return rt_->Constant(F32({3, 2}), values.data());
  }
};

TEST_F(TensorTest, ConstantHoldsACopyOfTheHostMemory) {
  Floats values = {1, 2, 3};
  const Tensor x = Make(values);
  values.assign(3, 0);
  EXPECT_THAT(Values(x), ElementsAre(1, 2, 3));
}

TEST_F(TensorTest, ConstantWithoutHostMemoryIsZero) {
  EXPECT_THAT(Values(rt_->Constant(F32({3}), nullptr)), ElementsAre(0, 0, 0));
}

TEST_F(TensorTest, ConstantOfABadShapeCarriesAnError) {
  const Tensor x = rt_->Constant(F32({-1}), nullptr, {.name = "w"});
  EXPECT_THAT(x.status(), IsInvalidArgument());
  EXPECT_THAT(std::string(x.status().message()), HasSubstr("\"w\""));
}

TEST_F(TensorTest, EmptyTensorSaysSo) {
  Tensor x;
  EXPECT_THAT(x.status(), IsFailedPrecondition());
  EXPECT_THAT(x.Read(), IsFailedPrecondition());
  EXPECT_THAT(x.Write(), IsFailedPrecondition());
  EXPECT_THAT(x.Detach(), IsFailedPrecondition());
  EXPECT_THAT(x.ToHost<float>(), IsFailedPrecondition());
  EXPECT_THAT(x.Reshape({2}).status(), IsFailedPrecondition());
  EXPECT_THAT(x.Slice(0, 1).status(), IsFailedPrecondition());
  EXPECT_THAT(x.Snapshot().status(), IsFailedPrecondition());
  EXPECT_FALSE(x.Evict());
  EXPECT_FALSE(x.resident());
}

TEST_F(TensorTest, TensorOfNoBytesWorks) {
  const Tensor x = rt_->Constant(F32({0, 4}), nullptr);
  EXPECT_THAT(Values(x), ElementsAre());
  EXPECT_THAT(Values(Add(x, 1)), ElementsAre());
}

TEST_F(TensorTest, ReshapeSharesTheBytes) {
  const Tensor x = Matrix();
  const Tensor flat = x.Reshape({6});
  EXPECT_EQ(flat.spec(), F32({6}));
  AddInPlace(flat, 10);
  EXPECT_THAT(Values(x), ElementsAre(10, 11, 12, 13, 14, 15));
}

TEST_F(TensorTest, ReshapeToAnotherSizeIsAnError) {
  EXPECT_THAT(Matrix().Reshape({5}).status(), IsInvalidArgument());
  EXPECT_THAT(Matrix().Reshape({-2, -3}).status(), IsInvalidArgument());
}

TEST_F(TensorTest, SliceSharesItsRows) {
  const Tensor x = Matrix();
  const Tensor rows = x.Slice(1, 3);
  EXPECT_EQ(rows.spec(), F32({2, 2}));
  EXPECT_THAT(Values(rows), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(Values(rows.Slice(1, 2)), ElementsAre(4, 5));
}

TEST_F(TensorTest, SliceOfNoRowsIsEmpty) {
  EXPECT_EQ(Matrix().Slice(3, 3).spec(), F32({0, 2}));
  EXPECT_THAT(Values(Matrix().Slice(2, 2)), ElementsAre());
}

TEST_F(TensorTest, SliceOutOfRangeIsAnError) {
  EXPECT_THAT(Matrix().Slice(0, 4).status(), IsInvalidArgument());
  EXPECT_THAT(Matrix().Slice(-1, 2).status(), IsInvalidArgument());
  EXPECT_THAT(Matrix().Slice(2, 1).status(), IsInvalidArgument());
  EXPECT_THAT(rt_->Constant(F32({}), nullptr).Slice(0, 1).status(),
              IsInvalidArgument());
}

TEST_F(TensorTest, KernelsSeeTheBytesOfAView) {
  EXPECT_THAT(Values(Add(Matrix().Slice(1, 2), 10)), ElementsAre(12, 13));
}

TEST_F(TensorTest, ViewReadsAfterItsStorageWasGivenUp) {
  const Tensor x = Add(Matrix(), 1);
  Tensor rows = x.Slice(2, 3);
  ASSERT_TRUE(rows.Evict());
  EXPECT_FALSE(x.resident());
  EXPECT_THAT(Values(rows), ElementsAre(5, 6));
}

TEST_F(TensorTest, CopiesOfAHandleNameTheSameVariable) {
  const Tensor x = Matrix();
  const Tensor copy = x;
  AddInPlace(copy, 1);
  EXPECT_THAT(Values(x), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(TensorTest, ToHostRefusesAWrongSize) {
  float value = 0;
  const absl::Status status = Matrix().ToHost(&value, sizeof(value));
  EXPECT_THAT(status, IsInvalidArgument());
  EXPECT_THAT(std::string(status.message()), HasSubstr("24"));
}

TEST_F(TensorTest, EvictedValueComesBack) {
  Tensor y = Add(Full(1), 2);
  ASSERT_TRUE(y.Evict());
  EXPECT_FALSE(y.resident());
  EXPECT_FALSE(y.Evict());
  EXPECT_EQ(Value(y), 3);
  EXPECT_TRUE(y.resident());
  EXPECT_EQ(rt_->Stats().engine.recomputations, 1);
}

TEST_F(TensorTest, ConstantCannotBeGivenUp) {
  Tensor x = Full(1);
  EXPECT_FALSE(x.Evict());
  EXPECT_TRUE(x.resident());
}

TEST_F(TensorTest, DetachedValueIsAConstant) {
  Tensor y = Add(Full(1), 2);
  ASSERT_TRUE(y.Evict());
  ASSERT_THAT(y.Detach(), IsOk());
  EXPECT_FALSE(y.Evict());
  EXPECT_EQ(Value(y), 3);
  EXPECT_EQ(rt_->Stats().engine.lineage_calls, 0);
}

TEST_F(TensorTest, SnapshotDoesNotSeeLaterUpdates) {
  const Tensor x = Full(1);
  const Tensor before = x.Snapshot();
  AddInPlace(x, 1);
  EXPECT_EQ(Value(before), 1);
  EXPECT_EQ(Value(x), 2);
}

TEST_F(TensorTest, SnapshotCanBeUpdatedOnItsOwn) {
  const Tensor x = Add(Full(1), 0);
  const Tensor other = x.Snapshot();
  AddInPlace(other, 5);
  EXPECT_EQ(Value(x), 1);
  EXPECT_EQ(Value(other), 6);
}

TEST_F(TensorTest, SnapshotOfAViewIsAView) {
  const Tensor x = Matrix();
  const Tensor row = x.Slice(1, 2).Snapshot();
  AddInPlace(x, 1);
  EXPECT_THAT(Values(row), ElementsAre(2, 3));
}

TEST_F(TensorTest, SnapshotTakesNoMemoryUntilAnUpdate) {
  const Tensor x = Full(1);
  const size_t before = rt_->Stats().allocator.requested_bytes;
  const Tensor snapshot = x.Snapshot();
  EXPECT_EQ(rt_->Stats().allocator.requested_bytes, before);
}

TEST_F(TensorTest, MemoryGoesWithTheLastHandle) {
  Tensor x = Full(1);
  Tensor view = x.Slice(0, 1);
  x = Tensor();
  EXPECT_EQ(rt_->Stats().engine.storages, 1);
  view = Tensor();
  EXPECT_EQ(rt_->Stats().engine.storages, 0);
  EXPECT_EQ(rt_->Stats().allocator.requested_bytes, 0u);
}

TEST_F(TensorTest, HandlesMayOutliveTheRuntime) {
  Tensor y = Add(Full(1), 2);
  ASSERT_TRUE(y.Evict());
  rt_ = nullptr;
  EXPECT_EQ(Value(y), 3);
}

}  // namespace
}  // namespace rekindle
