// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu_check/conformance_run.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rekindle {
namespace {

class Collector : public testing::EmptyTestEventListener {
 public:
  explicit Collector(ConformanceResult& result) : result_(result) {}

  void OnTestEnd(const testing::TestInfo& test) override {
    const testing::TestResult& outcome = *test.result();
    if (outcome.Skipped()) {
      ++result_.skipped;
    } else if (outcome.Passed()) {
      ++result_.passed;
    } else {
      ++result_.failed;
    }
    for (int i = 0; i < outcome.total_part_count(); ++i) {
      const testing::TestPartResult& part = outcome.GetTestPartResult(i);
      if (part.failed()) {
        Say(absl::StrCat(test.test_suite_name(), ".", test.name(), ": ",
                         part.summary()));
      } else if (part.skipped()) {
        Say(part.message());
      }
    }
  }

 private:
  void Say(std::string message) {
    std::replace(message.begin(), message.end(), '\n', ' ');
    std::vector<std::string>& all = result_.messages;
    if (std::find(all.begin(), all.end(), message) == all.end()) {
      all.push_back(std::move(message));
    }
  }

  ConformanceResult& result_;
};

}  // namespace

ConformanceResult RunConformance(const std::string& filter) {
  int argc = 1;
  char program[] = "gpu_check";
  char* argv[] = {program, nullptr};
  testing::InitGoogleMock(&argc, argv);
  GTEST_FLAG_SET(filter, filter);
  ConformanceResult result;
  testing::TestEventListeners& listeners =
      testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new Collector(result));  // owned by GoogleTest
  if (RUN_ALL_TESTS() != 0 && result.failed == 0) {
    ++result.failed;
    result.messages.push_back("a failure outside of all tests");
  }
  return result;
}

}  // namespace rekindle
