// SPDX-License-Identifier: Apache-2.0
#include "rekindle/trace/memory_viz.h"

#include "rekindle/trace/pickle.h"

namespace rekindle {
namespace {

using Json = nlohmann::ordered_json;

Json FramesJson(const Frame* frame) {
  Json frames = Json::array();
  if (frame == nullptr || (frame->name.empty() && frame->file.empty())) {
    return frames;
  }
  frames.push_back({{"filename", frame->file},
                    {"line", frame->line},
                    {"name", frame->name}});
  return frames;
}

Json BlockJson(const BlockSnapshot& block, const Frame* frame) {
  return {{"address", block.address},
          {"size", block.bytes},
          {"requested_size", block.requested_bytes},
          {"state", block.live ? "active_allocated" : "inactive"},
          {"frames", FramesJson(frame)}};
}

Json SegmentJson(const SegmentSnapshot& segment,
                 const MemorySnapshot& snapshot) {
  Json blocks = Json::array();
  size_t live = 0;
  size_t requested = 0;
  for (const BlockSnapshot& block : segment.blocks) {
    const auto frame = snapshot.frames.find(block.address);
    const bool known = block.live && frame != snapshot.frames.end();
    blocks.push_back(BlockJson(block, known ? &frame->second : nullptr));
    if (block.live) live += block.bytes;
    requested += block.requested_bytes;
  }
  return {{"device", 0},
          {"address", segment.address},
          {"total_size", segment.bytes},
          {"allocated_size", live},
          {"active_size", live},
          {"requested_size", requested},
          {"stream", 0},
          {"segment_type", "large"},
          {"segment_pool_id", {0, 0}},
          {"is_expandable", true},
          {"frames", Json::array()},
          {"blocks", std::move(blocks)}};
}

Json EventJson(const MemoryEvent& event, const char* action) {
  const bool oom = event.action == MemoryEvent::Action::kOutOfMemory;
  const size_t subject = oom ? event.free_bytes : event.address;
  return {{"action", action},         {oom ? "device_free" : "addr", subject},
          {"size", event.bytes},      {"stream", 0},
          {"time_us", event.time_us}, {"frames", FramesJson(&event.frame)}};
}

// The schema knows a free as a request and, later, a completion; ours are both
// at once, since a stream's order takes the place of waiting.
void AddEvent(const MemoryEvent& event, Json& trace) {
  switch (event.action) {
    case MemoryEvent::Action::kAllocate:
      trace.push_back(EventJson(event, "alloc"));
      return;
    case MemoryEvent::Action::kFree:
      trace.push_back(EventJson(event, "free_requested"));
      trace.push_back(EventJson(event, "free_completed"));
      return;
    case MemoryEvent::Action::kMap:
      trace.push_back(EventJson(event, "segment_map"));
      return;
    case MemoryEvent::Action::kUnmap:
      trace.push_back(EventJson(event, "segment_unmap"));
      return;
    case MemoryEvent::Action::kOutOfMemory:
      trace.push_back(EventJson(event, "oom"));
      return;
  }
}

}  // namespace

std::string ToMemoryViz(const MemorySnapshot& snapshot) {
  Json segments = Json::array();
  for (const SegmentSnapshot& segment : snapshot.segments) {
    segments.push_back(SegmentJson(segment, snapshot));
  }
  Json trace = Json::array();
  for (const MemoryEvent& event : snapshot.events) AddEvent(event, trace);
  Json traces = Json::array();
  traces.push_back(std::move(trace));
  return ToPickle({{"segments", std::move(segments)},
                   {"device_traces", std::move(traces)},
                   {"allocator_settings", Json::object()},
                   {"external_annotations", Json::array()}});
}

}  // namespace rekindle
