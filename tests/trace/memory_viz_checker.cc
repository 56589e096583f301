// SPDX-License-Identifier: Apache-2.0
#include "tests/trace/memory_viz_checker.h"

#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>

namespace rekindle {
namespace {

using Json = nlohmann::ordered_json;

void Require(bool holds, const std::string& rule) {
  if (!holds) throw std::runtime_error(rule);
}

uint64_t Number(const Json& object, const char* key) {
  const Json& value = object.at(key);
  Require(value.is_number_unsigned(), std::string(key) + " is a number");
  return value.get<uint64_t>();
}

std::string Text(const Json& object, const char* key) {
  const Json& value = object.at(key);
  Require(value.is_string(), std::string(key) + " is a text");
  return value.get<std::string>();
}

const Json& List(const Json& object, const char* key) {
  const Json& value = object.at(key);
  Require(value.is_array(), std::string(key) + " is a list");
  return value;
}

void CheckFrames(const Json& object) {
  for (const Json& frame : List(object, "frames")) {
    Text(frame, "filename");
    Text(frame, "name");
    Number(frame, "line");
  }
}

void CheckSegment(const Json& segment) {
  Require(Number(segment, "device") == 0, "one device");
  Number(segment, "stream");
  const std::string type = Text(segment, "segment_type");
  Require(type == "large" || type == "small", "segment_type");
  Require(List(segment, "segment_pool_id").size() == 2, "segment_pool_id");
  Require(segment.at("is_expandable").is_boolean(), "is_expandable");
  CheckFrames(segment);
  uint64_t at = Number(segment, "address");
  const uint64_t end = at + Number(segment, "total_size");
  uint64_t live = 0;
  uint64_t requested = 0;
  for (const Json& block : List(segment, "blocks")) {
    Require(Number(block, "address") == at, "blocks tile their segment");
    const uint64_t size = Number(block, "size");
    at += size;
    const std::string state = Text(block, "state");
    Require(state == "active_allocated" || state == "active_pending_free" ||
                state == "inactive",
            "state");
    if (state != "inactive") live += size;
    Require(Number(block, "requested_size") <= size, "requested_size");
    requested += Number(block, "requested_size");
    CheckFrames(block);
  }
  Require(at == end, "blocks fill their segment");
  Require(Number(segment, "allocated_size") == live, "allocated_size");
  Require(Number(segment, "active_size") == live, "active_size");
  Require(Number(segment, "requested_size") == requested, "requested_size");
}

void CheckEvent(const Json& event, uint64_t& time) {
  static const std::set<std::string> kActions = {
      "alloc",         "free_requested", "free_completed",
      "segment_alloc", "segment_free",   "segment_map",
      "segment_unmap", "snapshot",       "oom"};
  Require(kActions.count(Text(event, "action")) == 1, "action");
  Number(event, Text(event, "action") == "oom" ? "device_free" : "addr");
  Number(event, "size");
  Number(event, "stream");
  Require(Number(event, "time_us") >= time, "events in the order of time");
  time = Number(event, "time_us");
  CheckFrames(event);
}

}  // namespace

testing::AssertionResult IsMemoryViz(const Json& document) {
  try {
    for (const Json& segment : List(document, "segments")) {
      CheckSegment(segment);
    }
    for (const Json& trace : List(document, "device_traces")) {
      uint64_t time = 0;
      for (const Json& event : trace) CheckEvent(event, time);
    }
    Require(document.at("allocator_settings").is_object(), "settings");
    List(document, "external_annotations");
  } catch (const std::exception& error) {
    return testing::AssertionFailure() << error.what();
  }
  return testing::AssertionSuccess();
}

}  // namespace rekindle
