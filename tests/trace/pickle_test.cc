// SPDX-License-Identifier: Apache-2.0
#include "rekindle/trace/pickle.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

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

TEST(PickleTest, NumbersAreAsShortAsTheyCanBe) {
  EXPECT_EQ(ToPickle(5), std::string("\x80\x02J\x05\0\0\0.", 8));
  EXPECT_EQ(ToPickle(-1), "\x80\x02J\xff\xff\xff\xff.");
  EXPECT_EQ(ToPickle(uint64_t{1} << 40),
            std::string("\x80\x02\x8a\x08\0\0\0\0\0\x01\0\0.", 13));
  for (uint64_t number : {uint64_t{1} << 31, uint64_t{1} << 63}) {
    EXPECT_EQ(ThereAndBack(number), Json(number));
    EXPECT_EQ(ThereAndBack(number - 1), Json(number - 1));
  }
  EXPECT_EQ(ThereAndBack(-(int64_t{1} << 31) - 1),
            Json(-(int64_t{1} << 31) - 1));
}

TEST(PickleTest, LongListsComeInBatches) {
  for (int size : {0, 1, 999, 1000, 1001, 2500}) {
    const Json list(std::vector<int>(static_cast<size_t>(size), 7));
    EXPECT_EQ(ThereAndBack(list), list) << size;
  }
  const std::string pickle = ToPickle(Json(std::vector<bool>(1500, true)));
  EXPECT_EQ(std::count(pickle.begin(), pickle.end(), 'e'), 2);
}

TEST(PickleTest, TextThatIsNotUtf8BecomesReadable) {
  EXPECT_EQ(ThereAndBack("a\xff b"), Json("a\xef\xbf\xbd b"));
}

}  // namespace
}  // namespace rekindle
