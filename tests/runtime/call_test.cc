// SPDX-License-Identifier: Apache-2.0
// Runtime::Call: what it checks, and what its kernels are given.
#include <limits>
#include <stdexcept>

#include "tests/runtime/runtime_fixture.h"

namespace rekindle {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CallTest : public RuntimeTest {
 protected:
  static absl::Status Nothing(KernelArgs&) { return absl::OkStatus(); }
  static std::string Message(const Tensor& tensor) {
    return std::string(tensor.status().message());
  }
};

TEST_F(CallTest, ReturnsOneTensorASpec) {
  const std::vector<Tensor> outputs =
      rt_->Call({}, {Full(2)}, {F32({1}), I32({1})}, [](KernelArgs& a) {
        a.output<float>(0)[0] = a.input<float>(0)[0] + 1;
        a.output<int32_t>(1)[0] = 7;
        return absl::OkStatus();
      });
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(Value(outputs[0]), 3);
  EXPECT_THAT(outputs[1].ToHost<int32_t>().value(), ElementsAre(7));
}

TEST_F(CallTest, WorkspaceIsThereAndAligned) {
  const Tensor y = CallWith(
      [](KernelArgs& a) {
        EXPECT_NE(a.workspace(), nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(a.workspace()) % 256, 0u);
        static_cast<char*>(a.workspace())[999] = 1;
        return absl::OkStatus();
      },
      {.workspace_bytes = 1000});
  EXPECT_THAT(y.status(), IsOk());
}

TEST_F(CallTest, OutputsStayUnderTheBudget) {
  Open(Chunks(4));
  std::vector<Tensor> chain = {Full(0)};
  for (int i = 0; i < 20; ++i) chain.push_back(Add(chain.back(), 1));
  for (int i = 20; i >= 0; i -= 3) {
    EXPECT_EQ(Value(chain[static_cast<size_t>(i)]), static_cast<float>(i));
    rt_->CheckInvariants();
  }
  const RuntimeStats stats = rt_->Stats();
  EXPECT_GT(stats.engine.recomputations, 0);
  EXPECT_LE(stats.device.peak_created, 4 * kChunk);
}

// Updates in place. -----------------------------------------------------------

TEST_F(CallTest, UpdateOfAConstantIsSeenByAllItsHandles) {
  const Tensor w = Full(1);
  const Tensor view = w.Slice(0, 2);
  AddInPlace(w, 1);
  EXPECT_EQ(Value(view), 2);
}

TEST_F(CallTest, UpdateThroughAViewLeavesTheRestAlone) {
  const Tensor x = Make({1, 2, 3, 4});
  AddInPlace(x.Slice(1, 3), 10);
  EXPECT_THAT(Values(x), ElementsAre(1, 12, 13, 4));
}

TEST_F(CallTest, UpdateOfAComputedValueIsRepeatedWithIt) {
  Tensor y = Add(Full(1), 1);
  AddInPlace(y, 5);
  ASSERT_TRUE(y.Evict());
  EXPECT_EQ(Value(y), 7);
}

TEST_F(CallTest, WhatWasComputedBeforeAnUpdateKeepsItsValue) {
  const Tensor w = Full(1);
  Tensor y = Add(w, 10);
  y.Evict();
  AddInPlace(w, 1);
  EXPECT_EQ(Value(y), 11);
  EXPECT_EQ(Value(w), 2);
}

TEST_F(CallTest, TwoViewsOfOneVariableCanBeUpdatedAtOnce) {
  const Tensor x = Make({1, 2, 3, 4});
  rt_->Call({.mutates = {0, 1}}, {x.Slice(0, 1), x.Slice(3, 4)}, {},
            [](KernelArgs& a) {
              *a.inout<float>(0) += 10;
              *a.inout<float>(1) += 20;
              return absl::OkStatus();
            });
  EXPECT_THAT(Values(x), ElementsAre(11, 2, 3, 24));
}

TEST_F(CallTest, InputThatSharesTheUpdatedVariableSeesTheUpdate) {
  const Tensor x = Full(1);
  const Tensor y =
      rt_->Call({.mutates = {0}}, {x, x}, {F32({1})}, [](KernelArgs& a) {
        a.inout<float>(0)[0] = 8;
        *a.output<float>(0) = a.input<float>(1)[0];
        return absl::OkStatus();
      })[0];
  EXPECT_EQ(Value(y), 8);
}

TEST_F(CallTest, InputThatIsASnapshotOfTheUpdatedVariableDoesNot) {
  for (const bool constant : {true, false}) {
    const Tensor x = constant ? Full(1) : Add(Full(0), 1);
    const Tensor before = x.Snapshot();
    const Tensor y =
        rt_->Call({.mutates = {0}}, {x, before}, {F32({1})}, [](KernelArgs& a) {
          a.inout<float>(0)[0] = 8;
          *a.output<float>(0) = a.input<float>(1)[0];
          return absl::OkStatus();
        })[0];
    EXPECT_EQ(Value(y), 1);
    EXPECT_EQ(Value(before), 1);
    EXPECT_EQ(Values(x)[0], 8);
    EXPECT_EQ(Values(x)[1], 1);
  }
}

TEST_F(CallTest, ConstantStaysOneWhenItIsUpdatedNextToItsSnapshot) {
  Tensor x = Full(1);
  const Tensor before = x.Snapshot();
  rt_->Call({.mutates = {0}}, {x, before}, {}, InPlaceKernel(kN, 1));
  EXPECT_FALSE(x.Evict());
  EXPECT_THAT(x.Write(), IsOk());
}

// Effects, purity, randomness. ------------------------------------------------

TEST_F(CallTest, EffectHappensOnceHoweverOftenTheCallRuns) {
  const Tensor count = Make({0});
  Tensor y = rt_->Call({.effects = {0}}, {count, Full(1)}, {F32({1})},
                       [](KernelArgs& a) {
                         *a.inout<float>(0) += 1;
                         *a.output<float>(0) = a.input<float>(1)[0];
                         return absl::OkStatus();
                       })[0];
  ASSERT_TRUE(y.Evict());
  EXPECT_EQ(Value(y), 1);
  EXPECT_EQ(rt_->Stats().engine.recomputations, 1);
  EXPECT_EQ(Value(count), 1);
}

TEST_F(CallTest, ImpureCallNeverRunsAgain) {
  Tensor y =
      CallWith([](KernelArgs&) { return absl::OkStatus(); }, {.pure = false});
  EXPECT_FALSE(y.Evict());
  EXPECT_EQ(Value(y), 0);
}

class RandomCallTest : public RuntimeTest {
 protected:
  // The state that the call was given, as its output.
  Tensor Draw(Generator& generator) {
    return rt_->Call({.random = &generator}, {}, {Spec::Bytes(16)},
                     [](KernelArgs& a) {
                       a.output<uint64_t>(0)[0] = a.random().key;
                       a.output<uint64_t>(0)[1] = a.random().draw;
                       return absl::OkStatus();
                     })[0];
  }
  static std::vector<uint64_t> Drawn(const Tensor& tensor) {
    return tensor.ToHost<uint64_t>().value();
  }
};

TEST_F(RandomCallTest, EachCallDrawsAnew) {
  Generator generator(42);
  EXPECT_THAT(Drawn(Draw(generator)), ElementsAre(42, 0));
  EXPECT_THAT(Drawn(Draw(generator)), ElementsAre(42, 1));
}

TEST_F(RandomCallTest, RecomputationDrawsTheSame) {
  Generator generator(42);
  Draw(generator);
  Tensor y = Draw(generator);
  Draw(generator);
  ASSERT_TRUE(y.Evict());
  EXPECT_THAT(Drawn(y), ElementsAre(42, 1));
}

TEST_F(RandomCallTest, CallThatCouldNotRunDrawsNothing) {
  Generator generator(42);
  rt_->Call({.random = &generator}, {}, {},
            [](KernelArgs&) { return absl::InternalError("no"); });
  EXPECT_THAT(Drawn(Draw(generator)), ElementsAre(42, 0));
}

TEST_F(RandomCallTest, GeneratorMayEndBeforeTheRecomputation) {
  auto generator = std::make_unique<Generator>(7);
  Tensor y = Draw(*generator);
  generator = nullptr;
  ASSERT_TRUE(y.Evict());
  EXPECT_THAT(Drawn(y), ElementsAre(7, 0));
}

// Errors. ---------------------------------------------------------------------

TEST_F(CallTest, KernelErrorNamesTheCallAndIsCarried) {
  Scope scope(*rt_, "block3");
  const Tensor y =
      CallWith([](KernelArgs&) { return absl::DataLossError("torn page"); },
               {.name = "load"});
  EXPECT_THAT(y.status(), HasCode(absl::StatusCode::kDataLoss));
  EXPECT_THAT(Message(y),
              AllOf(HasSubstr("\"block3/load\""), HasSubstr("torn page")));
  EXPECT_EQ(y.Read().status(), y.status());
}

TEST_F(CallTest, ExceptionBecomesAnErrorThatNamesTheCall) {
  const Tensor y = CallWith(
      [](KernelArgs&) -> absl::Status { throw std::runtime_error("boom"); },
      {.name = "thrower"});
  EXPECT_THAT(y.status(), HasCode(absl::StatusCode::kInternal));
  EXPECT_THAT(Message(y), AllOf(HasSubstr("\"thrower\""), HasSubstr("boom")));
}

TEST_F(CallTest, ExceptionOfAnyTypeIsCaught) {
  const Tensor y = CallWith([](KernelArgs&) -> absl::Status { throw 5; });
  EXPECT_THAT(y.status(), HasCode(absl::StatusCode::kInternal));
}

TEST_F(CallTest, RuntimeWorksOnAfterAFailedCall) {
  CallWith([](KernelArgs&) -> absl::Status { throw 5; });
  EXPECT_EQ(Value(Add(Full(1), 1)), 2);
}

TEST_F(CallTest, FailedUpdateLeavesTheOldValue) {
  const Tensor x = Add(Full(1), 1);
  rt_->Call({.mutates = {0}}, {x}, {}, [](KernelArgs& a) {
    a.inout<float>(0)[0] = 99;
    return absl::InternalError("no");
  });
  EXPECT_EQ(Value(x), 2);
}

TEST_F(CallTest, OutputsCarryTheFirstErrorAndNothingRuns) {
  const Tensor first = rt_->Constant(F32({-1}), nullptr, {.name = "first"});
  const Tensor second = rt_->Constant(F32({-1}), nullptr, {.name = "second"});
  bool ran = false;
  const Tensor y =
      rt_->Call({}, {Full(1), first, second}, {F32({2})}, [&ran](KernelArgs&) {
        ran = true;
        return absl::OkStatus();
      })[0];
  EXPECT_EQ(y.status(), first.status());
  EXPECT_EQ(y.spec(), F32({2}));
  EXPECT_FALSE(ran);
  EXPECT_EQ(Add(y, 1).status(), first.status());
}

TEST_F(CallTest, ViewsOfAnErrorCarryIt) {
  const Tensor bad = rt_->Constant(F32({-1}), nullptr);
  EXPECT_EQ(bad.Reshape({1}).status(), bad.status());
  EXPECT_EQ(bad.Slice(0, 1).status(), bad.status());
  EXPECT_EQ(bad.Snapshot().status(), bad.status());
}

struct BadCall {
  const char* title;
  CallOptions options;
  std::vector<Spec> outputs;
  const char* message;
};

class BadCallTest : public RuntimeTest,
                    public ::testing::WithParamInterface<BadCall> {};

TEST_P(BadCallTest, IsRefusedNamingTheCall) {
  bool ran = false;
  CallOptions options = GetParam().options;
  options.name = "bad";
  const Tensor x = Full(1);
  const std::vector<Tensor> inputs = {x, x.Slice(0, 1), Full(2)};
  const std::vector<Tensor> outputs =
      rt_->Call(options, inputs, GetParam().outputs, [&ran](KernelArgs&) {
        ran = true;
        return absl::OkStatus();
      });
  EXPECT_FALSE(ran);
  for (const Tensor& output : outputs) {
    EXPECT_THAT(output.status(), IsInvalidArgument());
  }
  const absl::Status status = rt_->BeginStep();
  EXPECT_THAT(status, IsInvalidArgument());
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("\"bad\" ("), HasSubstr(GetParam().message)));
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

INSTANTIATE_TEST_SUITE_P(
    All, BadCallTest,
    ::testing::Values(
        BadCall{"MutatesPastTheInputs", {.mutates = {3}}, {}, "input 3"},
        BadCall{"MutatesNegative", {.mutates = {-1}}, {}, "input -1"},
        BadCall{"MutatesTwice", {.mutates = {0, 0}}, {}, "twice"},
        BadCall{"EffectsPastTheInputs", {.effects = {4}}, {}, "input 4"},
        BadCall{"EffectsTwice", {.effects = {2, 2}}, {}, "twice"},
        BadCall{"MutatesAndEffects",
                {.mutates = {0}, .effects = {1}},
                {},
                "the same tensor"},
        BadCall{"NegativeDimension", {}, {F32({2, -3})}, "output 0"},
        BadCall{"Overflow", {}, {F32({1}), F32({kHuge, 2})}, "output 1"},
        BadCall{"NegativeFlops", {.flops = -1}, {}, "flops"},
        BadCall{"NanBytes", {.bytes = kNan}, {}, "bytes"},
        BadCall{"HugeWorkspace",
                {.workspace_bytes = std::numeric_limits<size_t>::max()},
                {},
                "workspace"}),
    [](const auto& test) { return std::string(test.param.title); });

TEST_F(CallTest, EmptyInputIsRefusedNamingTheCall) {
  const Tensor y =
      rt_->Call({.name = "f"}, {Full(1), Tensor()}, {F32({1})}, Nothing)[0];
  EXPECT_THAT(y.status(), IsInvalidArgument());
  EXPECT_THAT(Message(y), AllOf(HasSubstr("\"f\""), HasSubstr("input 1")));
}

TEST_F(CallTest, InputOfAnotherRuntimeIsRefusedNamingTheCall) {
  const auto other = Runtime::Create(Options(Budget::Unlimited())).value();
  const Tensor x = other->Constant(F32({1}), nullptr);
  const Tensor y = rt_->Call({.name = "f"}, {x}, {F32({1})}, Nothing)[0];
  EXPECT_THAT(y.status(), IsInvalidArgument());
  EXPECT_THAT(Message(y),
              AllOf(HasSubstr("\"f\""), HasSubstr("another runtime")));
}

TEST_F(CallTest, CallWithoutAKernelIsRefused) {
  EXPECT_THAT(rt_->Call({}, {}, {F32({1})}, Kernel())[0].status(),
              IsInvalidArgument());
}

TEST_F(CallTest, OutputLargerThanTheDeviceIsExhaustionAndNotACrash) {
  const Tensor y = rt_->Call({}, {}, {F32({int64_t{1} << 40})}, Nothing)[0];
  EXPECT_THAT(y.status(), IsResourceExhausted());
}

}  // namespace
}  // namespace rekindle
