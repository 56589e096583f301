// SPDX-License-Identifier: Apache-2.0
#include "rekindle/trace/allocation_trace.h"

#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/base/data_folder.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr char kHeader[] = "t_us,op,id,size,stream,addr,site\n";

AllocationTrace Parse(const std::string& text) {
  return ParseAllocationTrace("t.csv", text).value();
}

std::string ErrorOf(const std::string& text) {
  const auto trace = ParseAllocationTrace("t.csv", text);
  EXPECT_THAT(trace, IsInvalidArgument()) << text;
  return std::string(trace.status().message());
}

// The operations, "+0 +1 -0".
std::string Operations(const AllocationTrace& trace) {
  std::string text;
  for (const auto& [allocates, block] : trace.operations) {
    text += (allocates ? "+" : "-") + std::to_string(block) + " ";
  }
  return text;
}

TEST(AllocationTraceTest, BlocksAreNumberedAsTheyCome) {
  const AllocationTrace trace = Parse(std::string(kHeader) +
                                      "-1,A,70,100,0,0x10,\n"
                                      "5,A,8,50,0,0x20,3\n"
                                      "6,R,70,100,0,0x10,\n"
                                      "6,F,70,100,0,0x10,\n"
                                      "7,A,70,20,0,0x30,\n");
  EXPECT_EQ(Operations(trace), "+0 +1 -0 +2 ");
  EXPECT_EQ(trace.block_bytes, (std::vector<size_t>{100, 50, 20}));
  EXPECT_EQ(trace.peak_live_bytes, 150u);
  EXPECT_EQ(trace.name, "t.csv");
}

TEST(AllocationTraceTest, ColumnsMayStandInAnyOrder) {
  const AllocationTrace trace =
      Parse("size,comment,id,op\r\n9,\"a, b\",1,A\r\n,c,1,F");
  EXPECT_EQ(Operations(trace), "+0 -0 ");
  EXPECT_EQ(trace.peak_live_bytes, 9u);
}

TEST(AllocationTraceTest, SegmentsOfAnotherAllocatorAreIgnored) {
  EXPECT_EQ(Operations(Parse("op,id,size\nS,,2097152\nA,0,1\ns,x,-1\n")),
            "+0 ");
}

TEST(AllocationTraceTest, WhatWasAliveBeforeComesFirst) {
  EXPECT_EQ(Parse("t_us,op,id,size\n,A,0,5\n-1,A,1,7\n").block_bytes,
            (std::vector<size_t>{7, 5}));
}

TEST(AllocationTraceTest, AHeaderAloneIsATraceOfNothing) {
  EXPECT_TRUE(Parse("op,id,size\n").operations.empty());
  EXPECT_EQ(Parse("op,id,size").peak_live_bytes, 0u);
}

TEST(AllocationTraceTest, ErrorsNameTheLineAndTheReason) {
  const std::string header = "op,id,size\n";
  EXPECT_EQ(ErrorOf(""), "t.csv:1: the file is empty");
  EXPECT_EQ(ErrorOf("\n"), "t.csv:1: no columns are named");
  EXPECT_THAT(ErrorOf("op,id,bytes\n"),
              StartsWith("t.csv:1: no column \"size\""));
  EXPECT_THAT(ErrorOf(std::string("\0\xff\x01junk", 7)),
              StartsWith("t.csv:1: no column \"op\""));
  EXPECT_EQ(ErrorOf(header + "A,0,1\nF,1,1\n"),
            "t.csv:3: block 1 is freed but not alive");
  EXPECT_EQ(ErrorOf(header + "R,1,1\n"),
            "t.csv:2: block 1 is to be freed but not alive");
  EXPECT_EQ(ErrorOf(header + "A,0,1\nF,0,1\nF,0,1\n"),
            "t.csv:4: block 0 is freed but not alive");
  EXPECT_EQ(ErrorOf(header + "A,0,1\nA,0,1\n"),
            "t.csv:3: block 0 is allocated while it is alive");
  EXPECT_EQ(ErrorOf(header + "A,0,-5\n"),
            "t.csv:2: size \"-5\" is not a whole number from 0 on");
  EXPECT_THAT(
      ErrorOf(header + "A,0,99999999999999999999999\n"),
      HasSubstr("t.csv:2: size \"99999999999999999999999\" is too large"));
  EXPECT_THAT(ErrorOf(header + "A,0,9223372036854775807\n"),
              HasSubstr("is too large"));
  EXPECT_THAT(
      ErrorOf(header + "A,0,10000000000000\nA,1,10000000000000\n"),
      HasSubstr("t.csv:3: size 10000000000000: more than 16 TiB would be"));
  EXPECT_THAT(ErrorOf(header + "A,x,1\n"), HasSubstr("t.csv:2: id \"x\""));
  EXPECT_THAT(ErrorOf(header + "A,0,\n"), HasSubstr("t.csv:2: size \"\""));
  EXPECT_THAT(ErrorOf(header + "A,0,1e3\n"), HasSubstr("size \"1e3\""));
  EXPECT_THAT(ErrorOf(header + "X,0,1\n"),
              HasSubstr("t.csv:2: op \"X\" is none of"));
  EXPECT_EQ(ErrorOf(header + "A,0\n"),
            "t.csv:2: 2 fields where 3 columns are named");
}

class AllocationTraceFileTest : public testing::Test {
 protected:
  ~AllocationTraceFileTest() override { std::filesystem::remove(path_); }

  void Write(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }

  // `mode` "ab": one more member.
  void WriteCompressed(const std::string& text, const char* mode = "wb") {
    gzFile file = gzopen(path_.c_str(), mode);
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
  }

  std::string ErrorOfFile() {
    return std::string(ReadAllocationTrace(path_).status().message());
  }

  const std::string path_ =
      testing::TempDir() + "allocation_trace_" +
      testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(AllocationTraceFileTest, PlainAndCompressedFilesReadAlike) {
  const std::string text = "op,id,size\nA,0,1\nF,0,1\n";
  Write(text);
  EXPECT_EQ(Operations(ReadAllocationTrace(path_).value()), "+0 -0 ");
  WriteCompressed(text);
  EXPECT_EQ(Operations(ReadAllocationTrace(path_).value()), "+0 -0 ");
}

TEST_F(AllocationTraceFileTest, WhatCannotBeReadIsNamed) {
  EXPECT_EQ(ErrorOfFile(),
            path_ + ":1: cannot be read: No such file or directory");
  EXPECT_THAT(std::string(ReadAllocationTrace("/").status().message()),
              HasSubstr("/:1: cannot be read: Is a directory"));
  Write("");
  EXPECT_EQ(ErrorOfFile(), path_ + ":1: the file is empty");
}

TEST_F(AllocationTraceFileTest, ACutCompressedFileIsAnErrorWhereItEnds) {
  std::string text = "op,id,size\n";
  for (int i = 0; i < 10000; ++i) {
    text += "A," + std::to_string(i) + "," + std::to_string(i * 7919 % 10007) +
            "\n";
  }
  WriteCompressed(text);
  for (const size_t keep : {20000, 5000, 100, 12, 3}) {
    std::filesystem::resize_file(path_, keep);
    EXPECT_THAT(ErrorOfFile(), StartsWith(path_ + ":")) << keep;
  }
  WriteCompressed(text);
  std::filesystem::resize_file(path_, 5000);
  EXPECT_THAT(ErrorOfFile(), HasSubstr("the compressed data ends here"));
}

// More of them than are read at once.
TEST_F(AllocationTraceFileTest, CompressedMembersReadAsOneText) {
  constexpr size_t kMembers = 12000;
  WriteCompressed("op,id,size\n");
  for (size_t i = 0; i < kMembers; ++i) {
    WriteCompressed("A," + std::to_string(i) + ",1\n", "ab");
  }
  EXPECT_GT(std::filesystem::file_size(path_), 300000u);
  const auto trace = ReadAllocationTrace(path_);
  ASSERT_THAT(trace, IsOk());
  EXPECT_EQ(trace->operations.size(), kMembers);
  EXPECT_EQ(trace->peak_live_bytes, kMembers);
}

TEST_F(AllocationTraceFileTest, WhatFollowsTheCompressedDataIsAnError) {
  const std::string zeros(3, '\0');
  for (const std::string& tail :
       {std::string("junk"), std::string("op,id\n"), std::string("x"), zeros}) {
    WriteCompressed("op,id,size\nA,0,1\n");
    std::ofstream(path_, std::ios::binary | std::ios::app) << tail;
    EXPECT_THAT(ErrorOfFile(), StartsWith(path_ + ":3: ")) << tail;
  }
  EXPECT_THAT(ErrorOfFile(), HasSubstr("comes something else"));
}

TEST_F(AllocationTraceFileTest, ABrokenCompressedFileIsAnError) {
  Write(std::string("\x1f\x8b\x08\x00 this is no deflate stream at all", 36));
  EXPECT_THAT(ErrorOfFile(), HasSubstr(":1: cannot be unpacked"));
}

TEST(AllocationTraceDataTest, RecordedTracesAreReadWhole) {
  const std::string folder = DataFolder();
  if (folder.empty()) GTEST_SKIP() << "skipped: no data";
  int traces = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(folder + "/alloc_traces")) {
    const auto trace = ReadAllocationTrace(file.path().string());
    ASSERT_THAT(trace, IsOk());
    EXPECT_GT(trace->operations.size(), 1000u);
    EXPECT_GT(trace->peak_live_bytes, 0u);
    ++traces;
  }
  EXPECT_GT(traces, 0);
}

}  // namespace
}  // namespace rekindle
