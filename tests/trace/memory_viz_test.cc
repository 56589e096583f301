// SPDX-License-Identifier: Apache-2.0
#include "rekindle/trace/memory_viz.h"

#include "gtest/gtest.h"
#include "tests/trace/memory_viz_checker.h"
#include "tests/trace/unpickle.h"

namespace rekindle {
namespace {

using Json = nlohmann::ordered_json;

MemorySnapshot Example() {
  MemorySnapshot snapshot;
  snapshot.segments = {
      {0x10000, 4096, {{0x10000, 1024, 1000, true}, {0x10400, 3072, 0, false}}},
      {0x80000, 2048, {{0x80000, 2048, 2048, true}}}};
  snapshot.frames[0x10000] = {"fc/weight", "train.cc", 12};
  using Action = MemoryEvent::Action;
  snapshot.events = {
      {Action::kUnmap, 0x20000, 4096, 0, 3, {"fc", "a.cc", 1}},
      {Action::kMap, 0x10000, 2048, 0, 4, {"fc", "a.cc", 1}},
      {Action::kAllocate, 0x10000, 1000, 0, 5, {"fc", "a.cc", 1}},
      {Action::kFree, 0x10000, 1000, 0, 7, {"fc", "a.cc", 2}},
      {Action::kOutOfMemory, 0, 1 << 20, 77, 9, {"fc", "a.cc", 3}}};
  return snapshot;
}

TEST(MemoryVizTest, FollowsTheSchema) {
  EXPECT_TRUE(IsMemoryViz(FromPickle(ToMemoryViz(Example()))));
  EXPECT_TRUE(IsMemoryViz(FromPickle(ToMemoryViz({}))));
}

TEST(MemoryVizTest, BlocksCarryTheirFrames) {
  const Json document = FromPickle(ToMemoryViz(Example()));
  const Json& blocks = document["segments"][0]["blocks"];
  EXPECT_EQ(blocks[0]["frames"][0]["name"], "fc/weight");
  EXPECT_EQ(blocks[0]["frames"][0]["line"], 12);
  EXPECT_EQ(blocks[0]["state"], "active_allocated");
  EXPECT_EQ(blocks[1]["state"], "inactive");
  EXPECT_TRUE(blocks[1]["frames"].empty());
}

TEST(MemoryVizTest, AFreeIsARequestAndACompletion) {
  const Json trace = FromPickle(ToMemoryViz(Example()))["device_traces"][0];
  ASSERT_EQ(trace.size(), 6u);
  EXPECT_EQ(trace[2]["action"], "alloc");
  EXPECT_EQ(trace[3]["action"], "free_requested");
  EXPECT_EQ(trace[4]["action"], "free_completed");
  EXPECT_EQ(trace[4]["frames"][0]["line"], 2);
  EXPECT_EQ(trace[5]["action"], "oom");
  EXPECT_EQ(trace[5]["device_free"], 77);
}

TEST(MemoryVizTest, SegmentsComeAndGo) {
  const Json trace = FromPickle(ToMemoryViz(Example()))["device_traces"][0];
  EXPECT_EQ(trace[0]["action"], "segment_unmap");
  EXPECT_EQ(trace[0]["addr"], 0x20000);
  EXPECT_EQ(trace[1]["action"], "segment_map");
  EXPECT_EQ(trace[1]["size"], 2048);
}

TEST(MemoryVizTest, TheCheckerSeesWhatIsWrong) {
  Json document = FromPickle(ToMemoryViz(Example()));
  document["segments"][0]["blocks"][1]["address"] = 0x10200;
  EXPECT_FALSE(IsMemoryViz(document));
  document = FromPickle(ToMemoryViz(Example()));
  document["segments"][1].erase("stream");
  EXPECT_FALSE(IsMemoryViz(document));
  document = FromPickle(ToMemoryViz(Example()));
  document["device_traces"][0][1]["addr"] = 0x11000;  // the map
  EXPECT_FALSE(IsMemoryViz(document));
  document = FromPickle(ToMemoryViz(Example()));
  document["device_traces"][0][2]["addr"] = 0x20000;  // the block
  EXPECT_FALSE(IsMemoryViz(document));
}

}  // namespace
}  // namespace rekindle
