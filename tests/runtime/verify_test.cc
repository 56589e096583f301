// SPDX-License-Identifier: Apache-2.0
// RuntimeOptions::verify finds kernels that do not do what their calls declare.
#include <memory>
#include <string>

#include "tests/runtime/runtime_fixture.h"

namespace rekindle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class VerifyTest : public RuntimeTest {
 protected:
  VerifyTest() {
    RuntimeOptions options = Options(Budget::Unlimited());
    options.verify = true;
    Open(std::move(options));
  }
  // A call that writes down how often it ran.
  Tensor Counted(const Tensor& x) {
    auto runs = std::make_shared<int>(0);
    const int64_t n = x.elements();
    return rt_->Call({.name = "counted"}, {x}, {x.spec()}, [=](KernelArgs& a) {
      ++*runs;
      for (int64_t i = 0; i < n; ++i) {
        a.output<float>(0)[i] = static_cast<float>(*runs);
      }
      return absl::OkStatus();
    })[0];
  }
};

TEST_F(VerifyTest, RecomputationWithOtherBitsNamesTheCall) {
  Tensor y = Counted(Full(1));
  EXPECT_EQ(Value(y), 1);
  ASSERT_TRUE(y.Evict());
  const absl::Status status = y.Read().status();
  EXPECT_THAT(status, HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("counted"), HasSubstr("output 0"),
                    HasSubstr("computed again")));
}

TEST_F(VerifyTest, KernelThatChangesAnInputIsNamed) {
  const Tensor x = Full(1);
  const Tensor y =
      rt_->Call({.name = "thief"}, {x}, {F32({1})}, [](KernelArgs& a) {
        const_cast<float*>(a.input<float>(0))[0] = 7;
        a.output<float>(0)[0] = 0;
        return absl::OkStatus();
      })[0];
  EXPECT_THAT(std::string(y.status().message()),
              AllOf(HasSubstr("thief"), HasSubstr("input 0")));
}

TEST_F(VerifyTest, HonestCallsPass) {
  Generator generator(1);
  Tensor x = Full(1);
  Tensor y = Add(x, 1);
  AddInPlace(x, 5);  // y still needs the old value
  Tensor noise = rt_->Call({.name = "noise", .random = &generator}, {},
                           {F32({kN})}, [](KernelArgs& a) {
                             for (int64_t i = 0; i < kN; ++i) {
                               const auto block = PhiloxBlock(
                                   a.random(), static_cast<uint64_t>(i));
                               a.output<float>(0)[i] = PhiloxUniform(block[0]);
                             }
                             return absl::OkStatus();
                           })[0];
  const Floats before = Values(noise);
  Tensor sum = Add(y, 2);
  AddInPlace(sum, 1);
  for (Tensor* tensor : {&y, &noise, &sum}) tensor->Evict();
  EXPECT_EQ(Values(noise), before);
  EXPECT_EQ(Value(sum), 5);
  EXPECT_EQ(Value(y), 2);
  EXPECT_THAT(rt_->BeginStep(), IsOk());
}

TEST_F(VerifyTest, WithoutItNothingIsCompared) {
  Open(Budget::Unlimited());
  Tensor y = Counted(Full(1));
  ASSERT_TRUE(y.Evict());
  EXPECT_EQ(Value(y), 2);
}

}  // namespace
}  // namespace rekindle
