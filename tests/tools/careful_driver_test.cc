// SPDX-License-Identifier: Apache-2.0
#include "tools/rekindle/careful_driver.h"

#include <unistd.h>

#include <filesystem>
#include <string>

#include "gmock/gmock.h"

namespace rekindle::tools {
namespace {

using testing::HasSubstr;

TEST(CarefulDriverTest, ADamagedLibraryIsAReason) {
  const std::string file =
      testing::TempDir() + "/damaged-" + std::to_string(getpid()) + ".so.1";
  std::filesystem::copy_file(REKINDLE_STUB_DRIVER, file);
  std::filesystem::resize_file(file, 4096);
  std::string reason;
  EXPECT_EQ(CarefulDriverLibrary(file).open(&reason), nullptr);
  EXPECT_THAT(reason, HasSubstr(file));
  EXPECT_THAT(reason, HasSubstr("the file is damaged"));
  std::filesystem::remove(file);
}

TEST(CarefulDriverTest, OpensAsDriverLibraryDoes) {
  std::string reason;
  const auto symbols = CarefulDriverLibrary(REKINDLE_STUB_DRIVER).open(&reason);
  ASSERT_NE(symbols, nullptr);
  EXPECT_NE(symbols("cuDriverGetVersion"), nullptr);
  EXPECT_EQ(CarefulDriverLibrary("libno-such.so.1").open(&reason), nullptr);
  EXPECT_THAT(reason, HasSubstr("libno-such.so.1"));
}

}  // namespace
}  // namespace rekindle::tools
