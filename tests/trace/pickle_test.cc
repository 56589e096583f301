// SPDX-License-Identifier: Apache-2.0
#include "rekindle/trace/pickle.h"

#include <cstdint>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "tests/trace/unpickle.h"

namespace rekindle {
namespace {

using Json = nlohmann::ordered_json;

Json ThereAndBack(const Json& value) { return FromPickle(ToPickle(value)); }

TEST(PickleTest, IsWhatPythonWrites) {
  EXPECT_EQ(ToPickle(Json::object()), "\x80\x02}(u.");
  EXPECT_EQ(ToPickle(Json{{"a", nullptr}}),
            std::string("\x80\x02}(X\x01\0\0\0aNu.", 13));
}

TEST(PickleTest, KeepsPlainValues) {
  const Json document = {
      {"text", "block7/softmax"},
      {"list", {1, -1, true, false, nullptr, 0.125, "x"}},
      {"empty", Json::array()},
      {"most", std::numeric_limits<uint64_t>::max()},
      {"least", std::numeric_limits<int64_t>::min()},
      {"nested", {{"deeper", {{"deepest", 3}}}}},
  };
  EXPECT_EQ(ThereAndBack(document), document);
}

TEST(PickleTest, TextThatIsNotUtf8BecomesReadable) {
  EXPECT_EQ(ThereAndBack("a\xff b"), Json("a\xef\xbf\xbd b"));
}

}  // namespace
}  // namespace rekindle
