// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/base/check.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/base/units.h"
#include "rekindle/runtime/exhaustion.h"
#include "rekindle/runtime/named_error.h"
#include "rekindle/runtime/oom_snapshot.h"
#include "rekindle/runtime/open_device.h"
#include "rekindle/runtime/write_file.h"
#include "rekindle/trace/memory_viz.h"

namespace rekindle::internal {
namespace {

// An error does not wait longer for what it could also name.
constexpr std::chrono::seconds kTimeToFindAStepBudget{2};

// No more than the device has.
size_t LimitToDevice(size_t budget, const Device& device, const Log& log) {
  const size_t total = device.memory_info().total;
  if (budget <= total) return budget;
  log.Warning(absl::StrCat("a budget of ", FormatBytes(budget),
                           " is more than the device has; it becomes ",
                           FormatBytes(total)));
  return total;
}

Frame FrameOf(const Label& label) {
  return {label.name(), label.file(), label.line()};
}

}  // namespace

Core::Section::Section(Core& core) : core_(core) { core.gate_.Enter(); }

Core::Section::Section(Core& core, const Label& label) : Section(core) {
  if (core.history_ == nullptr) return;
  core.history_->SetFrame(FrameOf(label));
}

Core::Section::~Section() {
  core_.EndLate();
  core_.WarnIfBudgetFell();
  const std::vector<std::function<void()>> deleters =
      std::exchange(core_.late_deleters_, {});
  core_.gate_.Leave();
  for (const std::function<void()>& deleter : deleters) deleter();
}

absl::StatusOr<std::shared_ptr<Core>> Core::Create(RuntimeOptions options) {
  if (options.pin_wait < std::chrono::milliseconds(0)) {
    return absl::InvalidArgumentError("pin_wait must not be negative");
  }
  if (options.max_lineage_calls < 0) {
    return absl::InvalidArgumentError("max_lineage_calls must not be negative");
  }
  if (options.log_level < 0 || options.log_level > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("log_level ", options.log_level, " is not 0, 1 or 2"));
  }
  RK_ASSIGN_OR_RETURN(std::unique_ptr<Policy> policy,
                      options.policies.Make(options.policy));
  std::shared_ptr<Device> device = options.custom_device;
  if (device == nullptr) {
    RK_ASSIGN_OR_RETURN(device, OpenDevice(options.device));
  }
  const Log log(static_cast<LogLevel>(options.log_level));
  RK_ASSIGN_OR_RETURN(const size_t budget,
                      options.budget.Resolve(device->memory_info()));
  VmmAllocatorOptions allocator_options;
  allocator_options.budget = LimitToDevice(budget, *device, log);
  allocator_options.chunk_bytes = options.chunk_bytes;
  log.Info(absl::StrCat("device ", device->name(), ", budget ",
                        FormatBytes(allocator_options.budget), ", policy ",
                        policy->name()));
  RK_ASSIGN_OR_RETURN(std::unique_ptr<Allocator> allocator,
                      VmmAllocator::Create(*device, allocator_options));
  HistoryAllocator* history = nullptr;
  if (options.memory_events > 0) {
    auto keeper = std::make_unique<HistoryAllocator>(std::move(allocator),
                                                     options.memory_events);
    history = keeper.get();
    allocator = std::move(keeper);
  }
  return std::shared_ptr<Core>(new Core(std::move(options), std::move(device),
                                        std::move(allocator), history,
                                        std::move(policy)));
}

Core::Core(RuntimeOptions options, std::shared_ptr<Device> device,
           std::unique_ptr<Allocator> allocator, HistoryAllocator* history,
           std::unique_ptr<Policy> policy)
    : options_(std::move(options)),
      log_(static_cast<LogLevel>(options_.log_level)),
      device_(std::move(device)),
      counting_(dynamic_cast<CountingDevice*>(device_.get())),
      allocator_(std::move(allocator)),
      history_(history),
      engine_(std::make_unique<RecordingEngine>(
          std::make_unique<Engine>(
              *device_, *allocator_, std::move(policy),
              EngineOptions{options_.verify, options_.max_lineage_calls}),
          options_.record_steps)) {}

Core::~Core() {
  // The gate, because the engine's end lets go of adopted memory and kernels.
  Section section(*this);
  engine_.reset();
}

absl::Status Core::BeginStep(Site site) {
  RK_RETURN_IF_ERROR(RefuseInKernel());
  const Label label = MakeLabel("begin step", site);
  std::optional<Deadline> deadline;
  Section section(*this, label);
  const absl::Status first = TakeFirstError();
  if (!first.ok()) engine_->DiscardStep();
  absl::Status status;
  do {
    kernel_failed_ = false;
    status = engine_->BeginStep();
  } while (WaitForPins(status, deadline));
  if (!status.ok()) status = Explain(status, label);
  ++steps_;
  if (first.ok()) return status;
  Note(status).IgnoreError();  // comes out of the next BeginStep
  return first;
}

absl::Status Core::SetBudget(size_t bytes) {
  RK_RETURN_IF_ERROR(RefuseInKernel());
  if (bytes == 0) {
    return absl::InvalidArgumentError("a budget must be above zero");
  }
  const size_t budget = LimitToDevice(bytes, *device_, log_);
  Section section(*this);
  const absl::Status status = engine_->engine().SetBudget(budget);
  gate_.NotifyAll();
  const size_t held = allocator_->stats().live_physical_bytes;
  if (status.ok() && held > budget) {
    log_.Warning(absl::StrCat("the budget of ", FormatBytes(budget),
                              " is below what is pinned or constant, ",
                              FormatBytes(held),
                              ": it is reached when enough of that has gone"));
  }
  return status;
}

RuntimeStats Core::Stats() {
  RuntimeStats stats;
  if (gate_.InsideThisThread()) return stats;
  Section section(*this);
  stats.engine = engine_->engine().stats();
  stats.allocator = allocator_->stats();
  stats.device = device_->memory_info();
  stats.device_calls = device_->counters();
  stats.steps = steps_;
  return stats;
}

absl::Status Core::WriteMemorySnapshot(const std::string& path) {
  RK_RETURN_IF_ERROR(RefuseInKernel());
  MemorySnapshot snapshot;
  {
    Section section(*this);
    snapshot.segments = allocator_->Snapshot();
    for (const StorageInfo& storage : engine_->engine().Storages()) {
      if (!storage.resident || storage.adopted) continue;
      snapshot.frames[storage.address] = FrameOf(storage.label);
    }
    if (history_ != nullptr) snapshot.events = history_->events();
  }
  return WriteFile(path, ToMemoryViz(snapshot));
}

absl::StatusOr<size_t> Core::MinimumBudget() {
  RK_RETURN_IF_ERROR(RefuseInKernel());
  std::shared_ptr<const Step> step;
  {
    Section section(*this);
    step = engine_->last_step();
    if (step_budget_.has_value() && step_budget_->step == step &&
        step_budget_->bytes.has_value()) {
      return *step_budget_->bytes;
    }
  }
  if (step == nullptr) {
    return absl::FailedPreconditionError(
        options_.record_steps
            ? "no whole step was seen: a step runs from one BeginStep to the "
              "next, without an error"
            : "steps are not recorded (RuntimeOptions::record_steps)");
  }
  // Takes a while, so outside.
  RK_ASSIGN_OR_RETURN(const size_t bytes,
                      SmallestBudget(*step, HowToReplay(), Deadline::max()));
  Section section(*this);
  step_budget_ = StepBudget{step, bytes};
  return bytes;
}

std::optional<size_t> Core::KnownStepBudget() {
  const std::shared_ptr<const Step> step = engine_->last_step();
  if (step == nullptr) return std::nullopt;
  if (!step_budget_.has_value() || step_budget_->step != step) {
    const absl::StatusOr<size_t> bytes = SmallestBudget(
        *step, HowToReplay(),
        std::chrono::steady_clock::now() + kTimeToFindAStepBudget);
    // A step that cannot be decided in time is not tried again.
    step_budget_ = StepBudget{step, std::nullopt};
    if (bytes.ok()) step_budget_->bytes = *bytes;
  }
  return step_budget_->bytes;
}

ReplayOptions Core::HowToReplay() const {
  return {device_->granularity(), options_.chunk_bytes, options_.policy,
          options_.policies};
}

void Core::CheckInvariants() {
  RK_CHECK(!gate_.InsideThisThread(), "called from a kernel");
  Section section(*this);
  EndLate();
  engine_->engine().CheckInvariants();
  allocator_->CheckInvariants();
}

absl::Status Core::CheckHoldsBytes() const {
  if (device_->holds_bytes()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the device \"", device_->name(),
                   "\" only counts: there are no bytes to read or to write"));
}

absl::Status Core::RefuseInKernel() const {
  if (!gate_.InsideThisThread()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "a kernel must not call the runtime that runs it");
}

absl::Status Core::RefuseWritten(const Variable& variable) const {
  if (written_.find(variable.storage) == written_.end()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("\"", variable.label.name(),
                   "\" is being written: its WriteGuard must end first"));
}

Label Core::MakeLabel(const std::string& name, Site site) const {
  return {scopes_.Qualify(name), site.file, site.line};
}

Label Core::LabelOf(const char* verb, const Tensor& tensor, Site site) {
  return {absl::StrCat(verb, " of ", tensor.variable_->label.name()), site.file,
          site.line};
}

absl::Status Core::Note(absl::Status status) {
  MutexLock lock(error_mutex_);
  if (first_error_.ok()) first_error_ = status;
  return status;
}

absl::Status Core::TakeFirstError() {
  MutexLock lock(error_mutex_);
  return std::exchange(first_error_, absl::OkStatus());
}

Tensor Core::MakeTensor(const Spec& spec, StorageId storage, Kind kind,
                        const Label& label) {
  Tensor tensor;
  tensor.variable_ = std::make_shared<Variable>(shared_from_this(), storage,
                                                spec.bytes(), kind, label);
  tensor.spec_ = spec;
  return tensor;
}

Tensor Core::Carry(const Spec& spec, absl::Status status) {
  Tensor tensor;
  tensor.spec_ = spec;
  tensor.status_ = std::move(status);
  return tensor;
}

Tensor Core::Failed(const Spec& spec, absl::Status status) {
  return Carry(spec, Note(std::move(status)));
}

Core::Deadline Core::PinDeadline() const {
  constexpr std::chrono::hours kForever(24 * 365);
  return std::chrono::steady_clock::now() +
         std::min<std::chrono::milliseconds>(options_.pin_wait, kForever);
}

bool Core::IsShortfall(const absl::Status& status) const {
  return absl::IsResourceExhausted(status) &&
         engine_->engine().last_shortfall().has_value();
}

bool Core::WaitForPins(const absl::Status& status,
                       std::optional<Deadline>& deadline) {
  if (status.ok() || !IsShortfall(status)) return false;
  EndLate();
  const std::thread::id self = std::this_thread::get_id();
  if (std::all_of(pins_.begin(), pins_.end(),
                  [self](const auto& pin) { return pin.first == self; })) {
    return false;
  }
  if (!deadline.has_value()) deadline = PinDeadline();
  if (std::chrono::steady_clock::now() >= *deadline) return false;
  gate_.WaitUntil(*deadline);
  return true;  // also at the deadline: a last attempt
}

absl::Status Core::Explain(const absl::Status& status, const Label& label) {
  engine_->DiscardStep();
  const std::optional<Shortfall>& shortfall =
      engine_->engine().last_shortfall();
  if (!IsShortfall(status)) {
    const bool named = absl::StrContains(status.message(), ToString(label));
    return kernel_failed_ || named ? status : Named(label, status);
  }
  if (history_ != nullptr) {
    history_->RememberOutOfMemory(shortfall->short_by());
  }
  std::string message =
      ExhaustionMessage(*shortfall, label, steps_, KnownStepBudget());
  absl::StrAppend(&message, WriteSnapshot(message));
  return absl::ResourceExhaustedError(message);
}

// At the first error of a step only: the others mostly follow from it, and a
// list of all storages takes time.
std::string Core::WriteSnapshot(const std::string& message) {
  if (options_.snapshot_directory.empty() || snapshot_step_ == steps_) {
    return "";
  }
  snapshot_step_ = steps_;
  const absl::StatusOr<std::string> path =
      WriteOomSnapshot(options_.snapshot_directory,
                       {message, steps_, engine_->engine().Storages(),
                        engine_->engine().stats(), allocator_->stats()});
  if (path.ok()) return absl::StrCat(" Snapshot: ", *path, ".");
  return absl::StrCat(" No snapshot: ", path.status().message(), ".");
}

void Core::WarnIfBudgetFell() {
  const AllocatorStats stats = allocator_->stats();
  if (stats.budget_falls == budget_falls_) return;
  budget_falls_ = stats.budget_falls;
  if (stats.effective_budget >= stats.budget) return;  // it has risen again
  log_.Warning(absl::StrCat("the device has only ",
                            FormatBytes(stats.effective_budget),
                            " of the budget of ", FormatBytes(stats.budget),
                            " left: another process may hold memory"));
}

}  // namespace rekindle::internal
