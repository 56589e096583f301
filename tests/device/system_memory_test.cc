// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/host/system_memory.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "rekindle/base/units.h"

namespace rekindle {
namespace {

class SystemMemoryTest : public ::testing::Test {
 protected:
  SystemMemoryTest() {
    std::filesystem::remove_all(root_);
    Write("/proc/meminfo",
          "MemTotal:       16384 kB\nMemFree: 1 kB\n"
          "MemAvailable:    8192 kB\n");
  }
  ~SystemMemoryTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  SystemMemory Read() const { return ReadSystemMemory(root_); }

  const std::string root_ =
      ::testing::TempDir() + "system_memory_test." +
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(SystemMemoryTest, WithoutALimitItIsTheMachines) {
  EXPECT_EQ(Read().total, 16 * kMiB);
  EXPECT_EQ(Read().available, 8 * kMiB);
}

TEST_F(SystemMemoryTest, AContainerHasNoMoreThanItsGroup) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/memory.max", "4194304\n");
  Write("/sys/fs/cgroup/memory.current", "1048576\n");
  EXPECT_EQ(Read().total, 4 * kMiB);
  EXPECT_EQ(Read().available, 3 * kMiB);
}

TEST_F(SystemMemoryTest, AGroupWithoutALimitChangesNothing) {
  Write("/proc/self/cgroup", "0::/user\n");
  Write("/sys/fs/cgroup/user/memory.max", "max\n");
  EXPECT_EQ(Read().total, 16 * kMiB);
}

TEST_F(SystemMemoryTest, GroupsOfVersionOneCountToo) {
  Write("/proc/self/cgroup", "9:cpu:/\n4:memory:/job\n");
  Write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2097152\n");
  Write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "3145728\n");
  EXPECT_EQ(Read().total, 2 * kMiB);
  EXPECT_EQ(Read().available, 0u);
}

TEST_F(SystemMemoryTest, NothingToReadIsNothing) {
  std::filesystem::remove_all(root_);
  EXPECT_EQ(Read().total, 0u);
}

TEST(ThisSystemTest, HasMemory) {
  const SystemMemory memory = ReadSystemMemory();
  EXPECT_GT(memory.total, 0u);
  EXPECT_LE(memory.available, memory.total);
}

}  // namespace
}  // namespace rekindle
