// SPDX-License-Identifier: Apache-2.0
#include "tools/rekindle/diagnosis.h"

#include "gmock/gmock.h"
#include "rekindle/base/units.h"
#include "tests/device/cuda/fake_driver.h"

namespace rekindle::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

Diagnosis On(const cuda::FakeDriverOptions& machine,
             const Environment& environment = {}) {
  cuda::FakeDriver driver(machine);
  return Diagnose(driver.source(), environment);
}

// Says what is wrong and what to do; the host still serves.
void ExpectNote(const Diagnosis& diagnosis, const std::string& what) {
  ASSERT_THAT(diagnosis.notes, SizeIs(1));
  EXPECT_THAT(diagnosis.notes[0].what, HasSubstr(what));
  EXPECT_THAT(diagnosis.notes[0].remedy, Not(testing::IsEmpty()));
  EXPECT_THAT(diagnosis.errors, testing::IsEmpty());
  EXPECT_THAT(ToText(diagnosis), AllOf(HasSubstr(diagnosis.notes[0].what),
                                       HasSubstr(diagnosis.notes[0].remedy)));
  EXPECT_EQ(diagnosis.device, "host");
}

TEST(DiagnosisTest, AGpuIsDescribed) {
  const Diagnosis diagnosis = On({.memory = 8 * kGiB, .name = "Some GPU"});
  EXPECT_THAT(diagnosis.notes, testing::IsEmpty());
  EXPECT_THAT(ToText(diagnosis), AllOf(HasSubstr("CUDA driver  for CUDA 13.0"),
                                       HasSubstr("cuda:0, Some GPU, 8.00 GiB"),
                                       HasSubstr("units of 2.00 MiB")));
  const auto json = ToJson(diagnosis);
  EXPECT_EQ(json["cuda"]["devices"][0]["name"], "Some GPU");
  EXPECT_EQ(json["cuda"]["driver_version"], 13000);
}

TEST(DiagnosisTest, NoDriver) {
  ExpectNote(On({.library = false}), "libcuda.so.1");
}

TEST(DiagnosisTest, AStubInTheDriversPlace) {
  ExpectNote(On({.stub = true}), "stub");
}

TEST(DiagnosisTest, ADriverTooOld) {
  const Diagnosis diagnosis = On({.version = 11040});
  ExpectNote(diagnosis, "11.4");
  EXPECT_EQ(diagnosis.cuda.driver_version, 11040);
}

TEST(DiagnosisTest, AGpuThatCannotMapMemory) {
  const Diagnosis diagnosis = On({.maps_memory = false});
  ExpectNote(diagnosis, "virtual memory");
  EXPECT_THAT(ToText(diagnosis), HasSubstr("cannot map memory"));
}

TEST(DiagnosisTest, ADriverWithoutAGpu) {
  ExpectNote(On({.devices = 0}), "no");
}

TEST(DiagnosisTest, SettingsAreShownWithWhatTheyComeTo) {
  const Diagnosis diagnosis =
      On({}, {{"REKINDLE_BUDGET", "300MiB"}, {"HOME", "/root"}});
  EXPECT_THAT(diagnosis.environment, SizeIs(1));
  EXPECT_EQ(diagnosis.budget, 300 * kMiB);
  EXPECT_THAT(ToText(diagnosis), AllOf(HasSubstr("REKINDLE_BUDGET=300MiB"),
                                       HasSubstr("budget of 300.00 MiB")));
}

TEST(DiagnosisTest, ADeviceThatDoesNotOpenIsAnError) {
  const Diagnosis diagnosis = On({}, {{"REKINDLE_DEVICE", "cuda:0"}});
  ASSERT_THAT(diagnosis.errors, SizeIs(1));
  EXPECT_THAT(diagnosis.errors[0].what, HasSubstr("cuda:0"));
}

TEST(DiagnosisTest, AVariableThatNobodyReadsIsNoted) {
  const Diagnosis diagnosis = On({}, {{"REKINDLE_BUGDET", "1GiB"}});
  ASSERT_THAT(diagnosis.notes, SizeIs(1));
  EXPECT_THAT(diagnosis.notes[0].what, HasSubstr("REKINDLE_BUDGET"));
}

TEST(DiagnosisTest, ABadSettingIsAnError) {
  const Diagnosis diagnosis = On({}, {{"REKINDLE_BUDGET", "12"}});
  ASSERT_THAT(diagnosis.errors, SizeIs(1));
  EXPECT_THAT(diagnosis.errors[0].what, HasSubstr("REKINDLE_BUDGET"));
  EXPECT_THAT(ToJson(diagnosis)["errors"], SizeIs(1));
}

}  // namespace
}  // namespace rekindle::tools
