// SPDX-License-Identifier: Apache-2.0
#include "tests/device/cuda/fake_work.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rekindle/base/check.h"

namespace rekindle::cuda {
namespace {

std::string Named(const char* call, uintptr_t handle) {
  return absl::StrCat(call, " of 0x", absl::Hex(handle));
}

}  // namespace

Result FakeWork::Find(StreamHandle stream, const char* call,
                      StreamState** found) {
  const auto handle = reinterpret_cast<uintptr_t>(stream);
  const auto entry = streams_.find(stream);
  if (entry == streams_.end()) {
    return rules_.Broken("unknown-stream", Named(call, handle),
                         Result::kInvalidHandle);
  }
  if (entry->second.destroyed) {
    return rules_.Broken("destroyed-stream", Named(call, handle),
                         Result::kInvalidHandle);
  }
  *found = &entry->second;
  return Result::kSuccess;
}

Result FakeWork::Find(EventHandle event, const char* call, EventState** found) {
  const auto handle = reinterpret_cast<uintptr_t>(event);
  const auto entry = events_.find(event);
  if (entry == events_.end()) {
    return rules_.Broken(handle >= 0x5000 && handle < next_handle_
                             ? "destroyed-event"
                             : "unknown-event",
                         Named(call, handle), Result::kInvalidHandle);
  }
  *found = &entry->second;
  return Result::kSuccess;
}

Result FakeWork::CreateStream(StreamHandle* stream, unsigned flags) {
  *stream = reinterpret_cast<StreamHandle>(next_handle_);  // NOLINT
  next_handle_ += 16;
  streams_[*stream].blocking = flags != kStreamNonBlocking;
  return Result::kSuccess;
}

Result FakeWork::DestroyStream(StreamHandle stream) {
  StreamState* state = nullptr;
  const Result result = Find(stream, "cuStreamDestroy", &state);
  if (result != Result::kSuccess) return result;
  if (stream == nullptr) return Result::kInvalidHandle;
  state->destroyed = true;
  RunSome(Draw(4));
  return Result::kSuccess;
}

Result FakeWork::Synchronize(StreamHandle stream) {
  StreamState* state = nullptr;
  const Result result = Find(stream, "cuStreamSynchronize", &state);
  if (result != Result::kSuccess) return result;
  if (state->capturing) {
    return rules_.Broken("sync-in-capture", "cuStreamSynchronize",
                         Result::kCaptureUnsupported);
  }
  while (!state->queue.empty()) RunOne();
  return fault_;
}

void FakeWork::SynchronizeAll() {
  while (RunOne()) {
  }
}

Result FakeWork::CreateEvent(EventHandle* event) {
  *event = reinterpret_cast<EventHandle>(next_handle_);  // NOLINT
  next_handle_ += 16;
  events_[*event];
  return Result::kSuccess;
}

Result FakeWork::DestroyEvent(EventHandle event) {
  EventState* state = nullptr;
  const Result result = Find(event, "cuEventDestroy", &state);
  if (result == Result::kSuccess) events_.erase(event);
  return result;
}

FakeWork::OpPtr FakeWork::Push(StreamHandle stream, StreamState& state,
                               std::string name) {
  auto op = std::make_shared<Op>();
  op->name = std::move(name);
  // The legacy stream and the blocking ones wait for each other.
  for (auto& [other, other_state] : streams_) {
    if (other == stream || other_state.queue.empty()) continue;
    const bool waits = stream == nullptr ? other_state.blocking
                                         : other == nullptr && state.blocking;
    if (waits) op->after.push_back(other_state.queue.back());
  }
  state.queue.push_back(op);
  return op;
}

Result FakeWork::Enqueue(StreamHandle stream, std::string name,
                         std::vector<FakeRange> ranges,
                         std::function<void()> run) {
  StreamState* state = nullptr;
  const Result result = Find(stream, name.c_str(), &state);
  if (result != Result::kSuccess) return result;
  if (stream == nullptr && AnyCapture()) {
    for (const auto& [other, other_state] : streams_) {
      if (!other_state.capturing || !other_state.blocking) continue;
      return rules_.Broken("legacy-in-capture", name, Result::kCaptureImplicit);
    }
  }
  if (state->capturing) return Result::kSuccess;  // goes into the graph
  const OpPtr op = Push(stream, *state, std::move(name));
  op->ranges = std::move(ranges);
  op->run = std::move(run);
  return Result::kSuccess;
}

Result FakeWork::Record(EventHandle event, StreamHandle stream) {
  EventState* event_state = nullptr;
  StreamState* state = nullptr;
  Result result = Find(event, "cuEventRecord", &event_state);
  if (result == Result::kSuccess) {
    result = Find(stream, "cuEventRecord", &state);
  }
  if (result != Result::kSuccess) return result;
  event_state->captured = state->capturing;
  if (!state->capturing) {
    event_state->recorded = Push(stream, *state, "cuEventRecord");
  }
  return Result::kSuccess;
}

Result FakeWork::Wait(StreamHandle stream, EventHandle event) {
  EventState* event_state = nullptr;
  StreamState* state = nullptr;
  Result result = Find(event, "cuStreamWaitEvent", &event_state);
  if (result == Result::kSuccess) {
    result = Find(stream, "cuStreamWaitEvent", &state);
  }
  if (result != Result::kSuccess || state->capturing) return result;
  if (event_state->recorded == nullptr) return Result::kSuccess;
  Push(stream, *state, "cuStreamWaitEvent")
      ->after.push_back(event_state->recorded);
  return Result::kSuccess;
}

Result FakeWork::Query(EventHandle event) {
  EventState* state = nullptr;
  const Result result = Find(event, "cuEventQuery", &state);
  if (result != Result::kSuccess) return result;
  if (state->captured) {
    return rules_.Broken("query-in-capture", "cuEventQuery",
                         Result::kCapturedEvent);
  }
  const OpPtr recorded = state->recorded;
  if (recorded == nullptr || recorded->done) return fault_;
  RunSome(Draw(4));
  if (fault_ != Result::kSuccess) return fault_;
  return recorded->done ? Result::kSuccess : Result::kNotReady;
}

Result FakeWork::BeginCapture(StreamHandle stream) {
  StreamState* state = nullptr;
  const Result result = Find(stream, "BeginCapture", &state);
  if (result == Result::kSuccess) state->capturing = true;
  return result;
}

Result FakeWork::EndCapture(StreamHandle stream) {
  StreamState* state = nullptr;
  const Result result = Find(stream, "EndCapture", &state);
  if (result == Result::kSuccess) state->capturing = false;
  return result;
}

Result FakeWork::IsCapturing(StreamHandle stream, CaptureStatus* status) const {
  const auto entry = streams_.find(stream);
  if (entry == streams_.end() || entry->second.destroyed) {
    return rules_.Broken("destroyed-stream", "cuStreamIsCapturing",
                         Result::kInvalidHandle);
  }
  for (const auto& [other, state] : streams_) {
    if (stream == nullptr && state.blocking && state.capturing) {
      return Result::kCaptureImplicit;
    }
  }
  *status =
      entry->second.capturing ? CaptureStatus::kActive : CaptureStatus::kNone;
  return Result::kSuccess;
}

bool FakeWork::AnyCapture() const {
  return std::any_of(streams_.begin(), streams_.end(),
                     [](const auto& entry) { return entry.second.capturing; });
}

std::string FakeWork::PendingIn(DevicePointer address, size_t bytes) const {
  for (const auto& [stream, state] : streams_) {
    for (const OpPtr& op : state.queue) {
      for (const FakeRange& range : op->ranges) {
        if (range.address < address + bytes &&
            address < range.address + range.bytes) {
          return op->name;
        }
      }
    }
  }
  return "";
}

void FakeWork::RunSome(size_t most) {
  for (size_t i = 0; i < most && RunOne(); ++i) {
  }
}

bool FakeWork::RunOne() {
  std::vector<StreamHandle> ready;
  bool queued = false;
  for (auto& [stream, state] : streams_) {
    if (state.queue.empty()) continue;
    queued = true;
    const std::vector<OpPtr>& after = state.queue.front()->after;
    if (std::all_of(after.begin(), after.end(),
                    [](const OpPtr& op) { return op->done; })) {
      ready.push_back(stream);
    }
  }
  if (!queued) return false;
  // Work only ever waits for work queued before it.
  RK_CHECK(!ready.empty(), "queued work waits for itself");
  const auto chosen = streams_.find(ready[Draw(ready.size())]);
  const OpPtr op = chosen->second.queue.front();
  chosen->second.queue.pop_front();
  if (chosen->second.destroyed && chosen->second.queue.empty()) {
    // Keeps the entry: uses of a destroyed stream are told from unknown ones.
    chosen->second.blocking = false;
  }
  Run(*op);
  return true;
}

void FakeWork::Run(Op& op) {
  for (const FakeRange& range : op.ranges) {
    if (fault_ != Result::kSuccess) break;
    const std::string rule = memory_.CheckAccess(range.address, range.bytes);
    if (rule.empty()) continue;
    rules_.Broken(
        rule,
        absl::StrCat(op.name, " runs on [0x", absl::Hex(range.address), ", +",
                     range.bytes, ")"),
        Result::kIllegalAddress);
    SetFault(Result::kIllegalAddress);
  }
  if (fault_ == Result::kSuccess && op.run) op.run();
  op.done = true;
  op.run = nullptr;
  op.after.clear();
}

void FakeWork::SetFault(Result fault) {
  if (fault_ == Result::kSuccess) fault_ = fault;
}

int64_t FakeWork::streams() const {
  return std::count_if(streams_.begin(), streams_.end(), [](const auto& entry) {
    return entry.first != nullptr && !entry.second.destroyed;
  });
}

int64_t FakeWork::pending() const {
  int64_t count = 0;
  for (const auto& [stream, state] : streams_) {
    count += static_cast<int64_t>(state.queue.size());
  }
  return count;
}

}  // namespace rekindle::cuda
