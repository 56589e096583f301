// SPDX-License-Identifier: Apache-2.0
// What a program is told when the budget does not do, and what it can do then.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tests/runtime/runtime_fixture.h"

namespace rekindle {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class ExhaustionTest : public RuntimeTest {
 protected:
  static std::string Message(const absl::Status& status) {
    EXPECT_THAT(status, IsResourceExhausted());
    return std::string(status.message());
  }
  static std::string Message(const Tensor& tensor) {
    return Message(tensor.status());
  }
  // The budget that the message names.
  static size_t Named(absl::string_view message) {
    constexpr absl::string_view kBefore = "needs at least ";
    message.remove_prefix(message.find(kBefore) + kBefore.size());
    const size_t end = message.find("iB") + 2;
    return ParseBytes(message.substr(0, end)).value();
  }
  // Two outputs from two inputs: needs 4 chunks, and workspace.
  std::vector<Tensor> Join(const Tensor& a, const Tensor& b,
                           size_t workspace = 0) {
    return rt_->Call({.name = "join", .workspace_bytes = workspace}, {a, b},
                     {a.spec(), a.spec()}, [](KernelArgs& args) {
                       for (int64_t i = 0; i < kN; ++i) {
                         args.output<float>(0)[i] = args.input<float>(0)[i];
                         args.output<float>(1)[i] = args.input<float>(1)[i];
                       }
                       return absl::OkStatus();
                     });
  }
};

TEST_F(ExhaustionTest, MessageHasTheTrueNumbers) {
  Open(Chunks(6));
  ASSERT_THAT(rt_->BeginStep(), IsOk());
  const Tensor w = Full(1, {.kind = Kind::kParameter});
  const Tensor m = Full(2, {.kind = Kind::kOptimizer});
  const Tensor v = Full(2, {.kind = Kind::kOptimizer});
  const Tensor y = Add(w, 1);
  const ReadGuard guard = y.Read().value();
  const int line = __LINE__ - 1;
  Scope scope(*rt_, "block7");
  const Tensor z = Join(w, w, 2 * kChunk)[0];
  EXPECT_THAT(
      Message(z),
      MatchesRegex(absl::StrCat(
          "step 1 \"block7/join\" \\(exhaustion_test.cc:[0-9]+\\) needs "
          "20.00 KiB at once \\(inputs 4.00 held, outputs 8.00, workspace "
          "8.00\\); "
          "budget 24.00 KiB: constants 12.00 \\(optimizer 8.00, parameters "
          "4.00\\), pinned 4.00 \\(exhaustion_test.cc:",
          line,
          "\\), rounding [0-9.]+, short by [0-9.]+. This call needs at least "
          "[0-9.]+ KiB to be sure to run.")));
  // 8 chunks, and what placing three blocks across chunks can cost.
  EXPECT_GE(Named(Message(z)), 8 * kChunk);
  EXPECT_LE(Named(Message(z)), 11 * kChunk);
}

// The copy that such an update makes first is no request of its own.
TEST_F(ExhaustionTest, UpdateNextToASnapshotNamesWhatTheWholeCallNeeds) {
  for (const bool lineage : {false, true}) {
    Open(Chunks(2));
    const Tensor w = Full(1);
    const Tensor x = lineage ? Add(w, 1) : w;
    const Tensor before = x.Snapshot();
    const auto update = [&] {
      return rt_->Call({.name = "update", .mutates = {0}}, {x, before},
                       {x.spec(), x.spec()}, [](KernelArgs& a) {
                         for (int64_t i = 0; i < kN; ++i) {
                           a.inout<float>(0)[i] += a.input<float>(1)[i];
                           a.output<float>(0)[i] = a.input<float>(1)[i];
                           a.output<float>(1)[i] = a.inout<float>(0)[i];
                         }
                         return absl::OkStatus();
                       });
    };
    const size_t named = Named(Message(update()[0]));
    ASSERT_THAT(rt_->SetBudget(named), IsOk());
    const std::vector<Tensor> outputs = update();
    const float value = lineage ? 2 : 1;
    EXPECT_EQ(Value(before), value);
    EXPECT_EQ(Value(x), 2 * value);
    EXPECT_EQ(Value(outputs[0]), value);
    EXPECT_EQ(Value(outputs[1]), 2 * value);
  }
}

TEST_F(ExhaustionTest, NoStepIsNamedBeforeTheFirst) {
  Open(Chunks(1));
  const Tensor w = Full(1);
  EXPECT_EQ(Message(Add(w, 1)).substr(0, 5), "\"add\"");
}

TEST_F(ExhaustionTest, NamedBudgetIsEnoughAndNothingWasLost) {
  Open(Chunks(4));
  const Tensor a = Full(1);
  const Tensor b = Full(2);
  const Tensor c = Full(3);
  const std::string message = Message(Join(a, b)[0]);
  EXPECT_EQ(Value(a) + Value(b) + Value(c), 6);
  ASSERT_THAT(rt_->SetBudget(Named(message)), IsOk());
  EXPECT_EQ(Value(Join(a, b)[1]), 2);
  EXPECT_LE(rt_->Stats().device.peak_created, Named(message));
}

TEST_F(ExhaustionTest, NamedBudgetIsEnoughForARead) {
  Open(Chunks(5));
  const Tensor a = Full(1);
  Tensor x = Join(a, a)[0];
  Tensor y = Add(x, 1);
  ASSERT_TRUE(y.Evict());
  ASSERT_TRUE(x.Evict());
  const Tensor fill = Full(2);
  const Tensor more[] = {Full(3), Full(4)};
  const std::string message = Message(y.Read().status());
  EXPECT_THAT(message, HasSubstr("read of add"));
  ASSERT_THAT(rt_->SetBudget(Named(message)), IsOk());
  EXPECT_EQ(Value(y), 2);
}

TEST_F(ExhaustionTest, ConstantThatDoesNotFitIsNamed) {
  Open(Chunks(1));
  const Tensor w = rt_->Constant(F32({2 * kN}), nullptr, {.name = "fc.w"});
  const std::string message = Message(w);
  EXPECT_THAT(message, HasSubstr("\"fc.w\""));
  ASSERT_THAT(rt_->SetBudget(Named(message)), IsOk());
  EXPECT_EQ(Value(rt_->Constant(F32({2 * kN}), nullptr)), 0);
}

TEST_F(ExhaustionTest, FailedCallRunsLaterWithTheSameRandomNumbers) {
  Open(Chunks(1));
  Generator generator(3);
  const Tensor w = Full(1);
  const auto draw = [&] {
    return rt_->Call({.random = &generator}, {w}, {Spec::Bytes(kChunk)},
                     [](KernelArgs& a) {
                       *a.output<uint64_t>(0) = a.random().draw;
                       return absl::OkStatus();
                     })[0];
  };
  Message(draw());
  ASSERT_THAT(rt_->SetBudget(2 * kChunk), IsOk());
  EXPECT_EQ(draw().ToHost<uint64_t>().value()[0], 0u);
}

TEST_F(ExhaustionTest, ExhaustionInAKernelIsNotTakenForTheBudgets) {
  const Tensor y = CallWith(
      [](KernelArgs&) { return absl::ResourceExhaustedError("handles"); },
      {.name = "blas"});
  const std::string message = Message(y);
  EXPECT_THAT(message, AllOf(HasSubstr("\"blas\""), EndsWith(": handles")));
}

TEST_F(ExhaustionTest, OwnPinsAreNotWaitedFor) {
  RuntimeOptions options = Options(Chunks(2));
  options.pin_wait = std::chrono::minutes(10);
  Open(std::move(options));
  const Tensor y = Add(Full(1), 1);
  const ReadGuard guard = y.Read().value();
  Message(Add(y, 1));
}

// The snapshot. ---------------------------------------------------------------

class OomSnapshotTest : public ExhaustionTest {
 protected:
  // What the runtime says when there is no room, with snapshots in `directory`.
  std::string Exhaust(const std::string& directory) {
    RuntimeOptions options = Options(Chunks(2));
    options.snapshot_directory = directory;
    Open(std::move(options));
    const Tensor w = Full(1, {.name = "fc.w", .kind = Kind::kParameter});
    const Tensor odd = Full(2, {.name = "\xff\"odd\""});
    return Message(Add(w, 1));
  }
};

TEST_F(OomSnapshotTest, ListsEveryStorage) {
  const std::string directory = ::testing::TempDir();
  const std::string message = Exhaust(directory);
  const size_t start = message.find(" Snapshot: ");
  ASSERT_NE(start, std::string::npos) << message;
  const std::string path(absl::StripSuffix(message.substr(start + 11), "."));
  EXPECT_EQ(path.find(directory), 0u);

  std::ifstream file(path);
  const nlohmann::json snapshot = nlohmann::json::parse(file);
  EXPECT_EQ(snapshot["message"], message.substr(0, start));
  EXPECT_EQ(snapshot["budget_bytes"], 2 * kChunk);
  ASSERT_EQ(snapshot["storages"].size(), 2u);
  const nlohmann::json& storage = snapshot["storages"][0];
  EXPECT_EQ(storage["name"], "fc.w");
  EXPECT_EQ(storage["kind"], "parameter");
  EXPECT_EQ(storage["bytes"], kChunk);
  EXPECT_EQ(storage["constant"], true);
  EXPECT_EQ(storage["resident"], true);
  EXPECT_EQ(storage["references"], 1);
  EXPECT_EQ(storage["pins"], 0);
  std::filesystem::remove(path);
}

TEST_F(OomSnapshotTest, FailureToWriteDoesNotHideTheError) {
  EXPECT_THAT(Exhaust("/nonexistent/folder"),
              AllOf(HasSubstr("needs at least"), HasSubstr("No snapshot:"),
                    HasSubstr("/nonexistent/folder")));
}

TEST_F(OomSnapshotTest, NoDirectoryMeansNoSnapshot) {
  EXPECT_THAT(Exhaust(""), Not(HasSubstr("napshot")));
}

}  // namespace
}  // namespace rekindle
