// SPDX-License-Identifier: Apache-2.0
#include "tests/device/cuda/fake_driver.h"

#include "absl/strings/str_cat.h"
#include "rekindle/base/check.h"
#include "tests/device/cuda/fake_calls.h"
#include "tests/device/cuda/fake_entry_points.h"

namespace rekindle::cuda {

FakeLatency FakeLatency::A100() {
  using std::chrono::nanoseconds;
  FakeLatency latency;
  latency.reserve = nanoseconds(19'000);
  latency.create = nanoseconds(193'320);
  latency.map = nanoseconds(1'450);
  latency.set_access = nanoseconds(35'990);
  latency.unmap = nanoseconds(25'630);
  return latency;
}

bool FakeLeaks::none() const {
  return handles == 0 && reservations == 0 && mappings == 0 && streams == 0 &&
         events == 0 && context_references == 0 && contexts_pushed == 0;
}

std::string FakeLeaks::ToString() const {
  return absl::StrCat(handles, " handles, ", reservations, " reservations, ",
                      mappings, " mappings, ", streams, " streams, ", events,
                      " events, ", context_references, " context references, ",
                      contexts_pushed, " contexts pushed");
}

FakeDriver::FakeDriver(FakeDriverOptions options)
    : options_(std::move(options)),
      generation_(FakeEntryPoints::Install(this)),
      state_(options_) {}

FakeDriver::~FakeDriver() { FakeEntryPoints::Remove(); }

DriverSource FakeDriver::source() {
  DriverSource source;
  source.open = [this](std::string* reason) -> DriverSource::Symbols {
    if (options_.library) return FakeEntryPoints::Symbol;
    *reason = "libcuda.so.1: cannot open shared object file";
    return nullptr;
  };
  return source;
}

DriverApi FakeDriver::api() const { return FakeEntryPoints::Api(); }

std::vector<Violation> FakeDriver::violations() const {
  MutexLock lock(mutex_);
  return state_.rules.violations();
}

bool FakeDriver::TakeViolation(const std::string& rule) {
  MutexLock lock(mutex_);
  return state_.rules.Take(rule);
}

void FakeDriver::FailCall(const std::string& entry, int64_t n, Result result) {
  RK_CHECK(n >= 1, "the next call is number 1");
  MutexLock lock(mutex_);
  state_.failures.push_back({entry, state_.calls[entry] + n, result});
}

void FakeDriver::ClearFailures() {
  MutexLock lock(mutex_);
  state_.failures.clear();
}

int64_t FakeDriver::calls(const std::string& entry) const {
  MutexLock lock(mutex_);
  const auto found = state_.calls.find(entry);
  return found == state_.calls.end() ? 0 : found->second;
}

std::string FakeDriver::last_failed() const {
  MutexLock lock(mutex_);
  return state_.last_failed;
}

std::chrono::nanoseconds FakeDriver::now() const {
  MutexLock lock(mutex_);
  return state_.now;
}

Result FakeDriver::Launch(StreamHandle stream, std::vector<FakeRange> ranges,
                          std::function<void()> run) {
  MutexLock lock(mutex_);
  return state_.work.Enqueue(stream, "kernel", std::move(ranges),
                             std::move(run));
}

int64_t FakeDriver::pending() const {
  MutexLock lock(mutex_);
  return state_.work.pending();
}

void FakeDriver::RunSome(size_t most) {
  MutexLock lock(mutex_);
  state_.work.RunSome(most);
}

void FakeDriver::Fault(Result fault) {
  MutexLock lock(mutex_);
  state_.work.SetFault(fault);
}

void FakeDriver::Repair() {
  MutexLock lock(mutex_);
  state_.work.Repair();
}

Result FakeDriver::BeginCapture(StreamHandle stream) {
  MutexLock lock(mutex_);
  return state_.work.BeginCapture(stream);
}

Result FakeDriver::EndCapture(StreamHandle stream) {
  MutexLock lock(mutex_);
  return state_.work.EndCapture(stream);
}

DevicePointer FakeDriver::AllocateForProgram(size_t bytes) {
  MutexLock lock(mutex_);
  return state_.memory.AllocateForProgram(bytes);
}

void FakeDriver::Pin(const void* address, size_t bytes) {
  MutexLock lock(mutex_);
  state_.pinned.emplace_back(reinterpret_cast<uintptr_t>(address), bytes);
}

size_t FakeDriver::free_memory() const {
  MutexLock lock(mutex_);
  return state_.memory.free();
}

FakeLeaks FakeDriver::leaks() const {
  MutexLock lock(mutex_);
  FakeLeaks leaks;
  leaks.handles = state_.memory.handles();
  leaks.reservations = state_.memory.reservations();
  leaks.mappings = state_.memory.mappings();
  leaks.streams = state_.work.streams();
  leaks.events = state_.work.events();
  leaks.context_references = state_.context_references;
  leaks.contexts_pushed = state_.contexts_pushed;
  return leaks;
}

Result FakeDriver::InjectedOrSuccess(State& state, const std::string& entry) {
  const int64_t of_entry = ++state.calls[entry];
  const int64_t of_all = ++state.calls[""];
  for (const Failure& failure : state.failures) {
    const bool now = failure.entry.empty()
                         ? failure.at == of_all
                         : failure.entry == entry && failure.at == of_entry;
    if (!now) continue;
    state.last_failed = entry;
    return failure.result;
  }
  return Result::kSuccess;
}

bool FakeDriver::ContextIsCurrent() const {
  const std::vector<Context>& stack = ContextsOfThread(generation_);
  return !stack.empty() && stack.back() == ContextOf(*this);
}

bool FakeDriver::IsPinned(const State& state, const void* address,
                          size_t bytes) {
  const auto start = reinterpret_cast<uintptr_t>(address);
  for (const auto& [pinned, size] : state.pinned) {
    if (start >= pinned && start + bytes <= pinned + size) return true;
  }
  return false;
}

}  // namespace rekindle::cuda
