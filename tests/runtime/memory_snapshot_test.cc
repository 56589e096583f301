// SPDX-License-Identifier: Apache-2.0
// Runtime::WriteMemorySnapshot.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "rekindle/rekindle.h"
#include "tests/base/status_matchers.h"
#include "tests/trace/memory_viz_checker.h"
#include "tests/trace/unpickle.h"

namespace rekindle {
namespace {

using Json = nlohmann::ordered_json;

class MemorySnapshotTest : public testing::Test {
 protected:
  MemorySnapshotTest() {
    RuntimeOptions options;
    options.device = "host";
    options.budget = Budget::Bytes(8 * kMiB);
    options.memory_events = 100;
    runtime_ = Runtime::Create(options).value();
  }
  ~MemorySnapshotTest() override { std::filesystem::remove(path_); }

  Json Written() {
    EXPECT_THAT(runtime_->WriteMemorySnapshot(path_), IsOk());
    std::stringstream bytes;
    bytes << std::ifstream(path_, std::ios::binary).rdbuf();
    const Json document = FromPickle(bytes.str());
    EXPECT_TRUE(IsMemoryViz(document));
    return document;
  }

  // Names of the live blocks.
  static std::vector<std::string> Names(const Json& document) {
    std::vector<std::string> names;
    for (const Json& segment : document["segments"]) {
      for (const Json& block : segment["blocks"]) {
        if (block["state"] == "inactive") continue;
        names.push_back(block["frames"].at(0)["name"]);
      }
    }
    return names;
  }

  const std::string path_ =
      testing::TempDir() + "/memory-" + std::to_string(getpid()) + ".pickle";
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(MemorySnapshotTest, NamesEveryLiveBlock) {
  const Tensor large =
      runtime_->Constant(F32({1 << 18}), nullptr, {.name = "large"});
  std::vector<Tensor> small;
  for (int i = 0; i < 3; ++i) {
    small.push_back(runtime_->Constant(F32({100}), nullptr, {.name = "small"}));
  }
  small.erase(small.begin() + 1);
  const Json document = Written();
  EXPECT_THAT(Names(document),
              testing::UnorderedElementsAre("large", "small", "small"));
  const Json& trace = document["device_traces"][0];
  EXPECT_EQ(trace[0]["action"], "segment_map");
  EXPECT_EQ(trace[1]["action"], "alloc");
  EXPECT_EQ(trace[1]["frames"][0]["name"], "large");
}

// Tensors of three sizes by turns, more than fit: memory moves from addresses
// to others.
TEST_F(MemorySnapshotTest, TellsOfMemoryThatMoves) {
  std::vector<Tensor> tensors;
  for (int64_t i = 0; i < 12; ++i) {
    tensors.push_back(runtime_->Constant(F32({(i % 3 + 2) << 18}), nullptr));
    if (i % 2 == 1) tensors.erase(tensors.begin());
    if (tensors.size() > 1) tensors.erase(tensors.begin());
  }
  const Json document = Written();
  int unmaps = 0;
  for (const Json& event : document["device_traces"][0]) {
    unmaps += event["action"] == "segment_unmap" ? 1 : 0;
  }
  EXPECT_GT(unmaps, 0);
}

TEST_F(MemorySnapshotTest, SaysWhenItCannotWrite) {
  const absl::Status status = runtime_->WriteMemorySnapshot("/nowhere/at/all");
  EXPECT_THAT(status, HasCode(absl::StatusCode::kUnavailable));
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("/nowhere/at/all"));
}

}  // namespace
}  // namespace rekindle
