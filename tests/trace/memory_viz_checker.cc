// SPDX-License-Identifier: Apache-2.0
#include "tests/trace/memory_viz_checker.h"

#include <cstdint>
#include <iterator>
#include <map>
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

// Steps back through the events, as the viewer does for its state history, and
// requires that memory lies behind every block while it lives.
class StepBack {
 public:
  explicit StepBack(const Json& segments) {
    for (const Json& segment : segments) {
      Add(Number(segment, "address"), Number(segment, "total_size"));
    }
  }

  void Over(const Json& event) {
    const std::string action = Text(event, "action");
    if (action == "oom") return;
    const uint64_t address = Number(event, "addr");
    const uint64_t size = Number(event, "size");
    if (action == "segment_unmap") return Add(address, size);
    const auto run = Behind(address, size);
    Require(run != runs_.end(), action + " where no memory lies");
    if (action != "segment_map") return;
    const auto [begin, end] = *run;
    runs_.erase(run);
    if (begin < address) runs_[begin] = address;
    if (address + size < end) runs_[address + size] = end;
  }

 private:
  using Runs = std::map<uint64_t, uint64_t>;  // begin, end

  Runs::iterator Behind(uint64_t address, uint64_t size) {
    auto run = runs_.upper_bound(address);
    if (run == runs_.begin()) return runs_.end();
    --run;
    return address + size <= run->second ? run : runs_.end();
  }

  // Runs that touch become one.
  void Add(uint64_t begin, uint64_t size) {
    uint64_t end = begin + size;
    auto next = runs_.lower_bound(begin);
    if (next != runs_.end()) {
      Require(end <= next->first, "memory is mapped once");
      if (end == next->first) {
        end = next->second;
        next = runs_.erase(next);
      }
    }
    if (next != runs_.begin()) {
      auto previous = std::prev(next);
      Require(previous->second <= begin, "memory is mapped once");
      if (previous->second == begin) {
        previous->second = end;
        return;
      }
    }
    runs_[begin] = end;
  }

  Runs runs_;
};

void CheckHistory(const Json& segments, const Json& trace) {
  StepBack back(segments);
  for (auto event = trace.rbegin(); event != trace.rend(); ++event) {
    back.Over(*event);
  }
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
      CheckHistory(document.at("segments"), trace);
    }
    Require(document.at("allocator_settings").is_object(), "settings");
    List(document, "external_annotations");
  } catch (const std::exception& error) {
    return testing::AssertionFailure() << error.what();
  }
  return testing::AssertionSuccess();
}

}  // namespace rekindle
