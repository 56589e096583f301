// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/dlpack.h"

#include <memory>
#include <vector>

#include "tests/runtime/runtime_fixture.h"

namespace rekindle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DlpackTest : public RuntimeTest {
 protected:
  // What another library would hand over; counts the calls of its deleter.
  struct Foreign {
    std::vector<float> values = {1, 2, 3, 4, 5, 6};
    std::vector<int64_t> shape = {2, 3};
    std::vector<int64_t> strides;
    DLManagedTensor managed = {};
    int deleted = 0;

    Foreign() {
      managed.dl_tensor.data = values.data();
      managed.dl_tensor.device = {kDLCPU, 0};
      managed.dl_tensor.dtype = {kDLFloat, 32, 1};
      managed.dl_tensor.ndim = 2;
      managed.dl_tensor.shape = shape.data();
      managed.manager_ctx = this;
      managed.deleter = [](DLManagedTensor* self) {
        ++static_cast<Foreign*>(self->manager_ctx)->deleted;
      };
    }
    void SetStrides(std::vector<int64_t> values_of_strides) {
      strides = std::move(values_of_strides);
      managed.dl_tensor.strides = strides.data();
    }
  };
  void ExpectRefused(Foreign& foreign, const char* why) {
    const auto tensor = ImportDlpack(*rt_, &foreign.managed);
    EXPECT_THAT(tensor, HasCode(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(std::string(tensor.status().message()), HasSubstr(why));
    EXPECT_EQ(foreign.deleted, 1);
  }
};

TEST_F(DlpackTest, ExportedTensorHasTheBytesAndStays) {
  Tensor y = Add(Full(1), 2);
  DLManagedTensor* const lent = ExportDlpack(y.Reshape({2, kN / 2})).value();
  const DLTensor& tensor = lent->dl_tensor;
  EXPECT_EQ(tensor.device.device_type, kDLCPU);
  EXPECT_EQ(tensor.dtype.code, kDLFloat);
  EXPECT_EQ(tensor.dtype.bits, 32);
  ASSERT_EQ(tensor.ndim, 2);
  EXPECT_EQ(tensor.shape[1], kN / 2);
  EXPECT_EQ(tensor.strides, nullptr);
  EXPECT_EQ(static_cast<const float*>(tensor.data)[kN - 1], 3);
  EXPECT_FALSE(y.Evict());
  lent->deleter(lent);
  EXPECT_TRUE(y.Evict());
}

TEST_F(DlpackTest, ExportedTensorMayOutliveTheRuntime) {
  DLManagedTensor* const lent = ExportDlpack(Full(4)).value();
  rt_ = nullptr;
  EXPECT_EQ(static_cast<const float*>(lent->dl_tensor.data)[0], 4);
  lent->deleter(lent);
}

TEST_F(DlpackTest, ErrorsOfTheTensorComeOutOfExport) {
  EXPECT_FALSE(ExportDlpack(Tensor()).ok());
}

TEST_F(DlpackTest, ImportedTensorIsReadInPlaceAndEndsOnce) {
  Foreign foreign;
  {
    const Tensor x = ImportDlpack(*rt_, &foreign.managed).value();
    EXPECT_EQ(x.shape(), (Shape{2, 3}));
    EXPECT_THAT(Values(Add(x, 1)), ElementsAre(2, 3, 4, 5, 6, 7));
    EXPECT_EQ(x.Read()->data<float>(), foreign.values.data());
    EXPECT_EQ(foreign.deleted, 0);
  }
  EXPECT_EQ(foreign.deleted, 1);
}

TEST_F(DlpackTest, WhatWasMadeFromItKeepsTheMemory) {
  Foreign foreign;
  Tensor y = Add(ImportDlpack(*rt_, &foreign.managed).value(), 1);
  ASSERT_TRUE(y.Evict());
  EXPECT_EQ(foreign.deleted, 0);
  EXPECT_THAT(Values(y), ElementsAre(2, 3, 4, 5, 6, 7));
  ASSERT_THAT(y.Detach(), IsOk());
  EXPECT_EQ(foreign.deleted, 1);
}

TEST_F(DlpackTest, RoundTripSharesTheBytes) {
  Tensor x = Full(5);
  DLManagedTensor* const lent = ExportDlpack(x).value();
  const Tensor again = ImportDlpack(*rt_, lent).value();
  EXPECT_EQ(again.Read()->data<float>(), x.Read()->data<float>());
  EXPECT_EQ(Value(Add(again, 1)), 6);
}

TEST_F(DlpackTest, OffsetAndCompactStridesAreFollowed) {
  Foreign foreign;
  foreign.shape = {1, 3};
  foreign.SetStrides({99, 1});  // of a dimension of 1: any
  foreign.managed.dl_tensor.byte_offset = 3 * sizeof(float);
  const Tensor x = ImportDlpack(*rt_, &foreign.managed).value();
  EXPECT_THAT(Values(x), ElementsAre(4, 5, 6));
}

TEST_F(DlpackTest, OtherTypesAreBytes) {
  Foreign foreign;
  foreign.managed.dl_tensor.dtype = {kDLFloat, 16, 2};
  EXPECT_EQ(ImportDlpack(*rt_, &foreign.managed)->spec(), Spec::Bytes(24));
}

TEST_F(DlpackTest, WhatCannotBeTakenIsGivenBack) {
  Foreign transposed;
  transposed.SetStrides({1, 2});
  ExpectRefused(transposed, "gaps");
  Foreign gpu;
  gpu.managed.dl_tensor.device = {kDLCUDA, 0};
  ExpectRefused(gpu, "not on host");
  Foreign negative;
  negative.shape = {-2, 3};
  ExpectRefused(negative, "-2");
  Foreign bits;
  bits.managed.dl_tensor.dtype = {kDLUInt, 1, 1};
  ExpectRefused(bits, "whole number of bytes");
  EXPECT_FALSE(ImportDlpack(*rt_, nullptr).ok());
}

}  // namespace
}  // namespace rekindle
