// SPDX-License-Identifier: Apache-2.0
#include "tests/programs/interpreter.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/programs/budget_watch.h"
#include "tests/programs/machine.h"
#include "tests/programs/model.h"
#include "tests/programs/program_device.h"

namespace rekindle::programs {
namespace {

using Verb = FaultInjectingDevice::Verb;

class Interpreter {
 public:
  Interpreter(const Program& program, const RunOptions& options)
      : program_(program),
        options_(options),
        device_(program.device, program.seed),
        watch_(program.budget > 0 ? program.budget : ProgramDevice::kCapacity),
        machine_(MakeMachine(program, device_)),
        model_(program, *machine_) {}

  Outcome Run() {
    Begin();
    for (size_t i = 0; i < program_.operations.size() && Right(); ++i) {
      what_ = absl::StrCat("operation ", i, " (",
                           ToString(program_.operations[i]), ")");
      Do(program_.operations[i]);
      device_.RunSome(program_.operations[i].salt % 3);
      Check();
    }
    if (Right()) Finish();
    Close();
    return std::move(outcome_);
  }

 private:
  bool Right() const { return outcome_.failure.empty(); }
  void Fail(std::string why) {
    if (Right()) outcome_.failure = absl::StrCat(what_, ": ", why);
  }
  bool limited() const { return program_.budget > 0; }

  void Begin() {
    streams_ = {Stream()};
    while (streams_.size() < program_.streams) {
      streams_.push_back(machine_->CreateStream().value());
    }
    calls_before_ = device_.device().calls(Verb::kAny);
    if (device_.driver() != nullptr) {
      driver_calls_before_ = device_.driver()->calls();
    }
    const Fault& fault = options_.fault;
    switch (fault.kind) {
      case Fault::Kind::kNone:
        break;
      case Fault::Kind::kDeviceCall:
        device_.device().FailCall(Verb::kAny, fault.at,
                                  absl::Status(fault.code, "injected"));
        break;
      case Fault::Kind::kDriverCall:
        device_.driver()->FailCall("", fault.at, cuda::Result::kUnknown);
        break;
      case Fault::Kind::kKernelError:
      case Fault::Kind::kKernelThrows:
        device_.FailKernel(
            {fault.at, fault.kind == Fault::Kind::kKernelThrows});
        break;
    }
  }

  // Whether `status` is what the fault comes out as.
  bool IsInjected(const absl::Status& status) const {
    if (options_.fault.kind == Fault::Kind::kNone || !device_.failed()) {
      return false;
    }
    absl::StatusCode code = options_.fault.code;
    std::string text = "injected";
    if (options_.fault.kind == Fault::Kind::kDriverCall) {
      code = absl::StatusCode::kInternal;
      text = device_.last_failed_driver_call();
    } else if (options_.fault.kind == Fault::Kind::kKernelThrows) {
      code = absl::StatusCode::kInternal;
    }
    return status.code() == code && absl::StrContains(status.message(), text);
  }

  // Does something until it succeeds or what it says is wrong. What does not
  // fit gets the budget that it names, up to `retries` times; what fails by the
  // fault is done once more.
  absl::Status Try(const std::function<absl::Status()>& action, int retries,
                   absl::StatusCode accepted = absl::StatusCode::kOk) {
    bool faulted = device_.failed();
    for (int tries = 0;; ++tries) {
      const absl::Status status = action();
      if (status.ok() || status.code() == accepted) return status;
      if (!faulted && device_.failed()) {
        faulted = true;
        ++retries;
        Check();
        if (IsInjected(status)) continue;
      }
      Check();
      if (!RaiseBudget(status, tries < retries)) return status;
    }
  }
  // The budget becomes what the error names. False if the error is wrong, or is
  // one too many.
  bool RaiseBudget(const absl::Status& status, bool may_fail) {
    if (!absl::IsResourceExhausted(status) || !limited()) {
      Fail(status.ToString());
      return false;
    }
    ++outcome_.exhausted;
    const size_t budget = watch_.budget();
    const std::optional<size_t> named = machine_->NamedBudget(status);
    if (!may_fail) {
      Fail(absl::StrCat("does not fit into the budget that it named, ", budget,
                        ": ", status.ToString()));
    } else if (!named.has_value() || (*named <= budget && !device_.failed())) {
      Fail(absl::StrCat("names no budget above ", budget, ": ",
                        status.ToString()));
    } else {
      SetBudget(std::max(*named, budget));
    }
    return Right();
  }
  bool Done(const std::function<absl::Status()>& action, int retries = 1) {
    return Try(action, retries).ok();
  }

  void SetBudget(size_t bytes) {
    absl::Status status = machine_->SetBudget(bytes);
    // What the device would not take back, it takes now.
    if (IsInjected(status)) status = machine_->SetBudget(bytes);
    if (!status.ok()) return Fail(status.ToString());
    const size_t created = device_.device().memory_info().created;
    watch_.Set(bytes, created);
    const AllocatorStats stats = machine_->allocator_stats();
    if (created > std::max(bytes, stats.live_physical_bytes)) {
      Fail(absl::StrCat("gives back down to ", created, " of ", bytes));
    }
  }

  void Check() {
    if (!Right()) return;
    const bool faulty = options_.fault.kind != Fault::Kind::kNone;
    if (options_.check_invariants && (!faulty || device_.failed())) {
      machine_->CheckInvariants();
    }
    const std::string over = watch_.Check(device_.device().memory_info());
    if (!over.empty()) Fail(over);
    const std::string wrong = device_.wrong();
    if (!wrong.empty()) Fail(wrong);
  }

  size_t ValueOf(const Operation& operation) const {
    return operation.operands.empty() ? 0
                                      : operation.operands[0] % model_.size();
  }
  Stream StreamOf(const Operation& operation) const {
    return streams_[operation.stream % streams_.size()];
  }

  void Do(const Operation& operation) {
    switch (operation.action) {
      case Action::kConstant:
        return Constant(operation);
      case Action::kCall:
        return Call(operation);
      case Action::kEndGuard:
        if (!guards_.empty()) EndGuard();
        return;
      case Action::kStep:
        // Each value may need more than the one before.
        Try([this] { return machine_->Step(); },
            static_cast<int>(model_.size() + 1))
            .IgnoreError();
        return;
      case Action::kBudget:
        if (limited()) SetBudget(operation.amount * kChunk);
        return;
      case Action::kEndStream:
        return EndStream(operation);
      default:
        if (!model_.empty()) DoWithValue(operation, ValueOf(operation));
    }
  }

  void DoWithValue(const Operation& operation, size_t value) {
    switch (operation.action) {
      case Action::kView:
        return View(operation, value);
      case Action::kSnapshot:
        machine_->Snapshot(value);
        model_.AddCopy(value);
        return;
      case Action::kRead:
        return Read(operation, value);
      case Action::kWrite:
        return Write(operation, value);
      case Action::kEvict:
        return machine_->Evict(value);
      case Action::kGuard:
        return Guard(operation, value);
      case Action::kRelease:
        return Release(value);
      case Action::kDetach:
        Done([this, value] { return machine_->Detach(value); });
        return;
      default:
        return;
    }
  }

  void Constant(const Operation& operation) {
    if (operation.outputs.empty()) return;
    Words words = RandomWords(operation.salt, operation.outputs[0]);
    const Stream stream = StreamOf(operation);
    if (Done([&] { return machine_->Constant(words, stream); })) {
      model_.Add(std::move(words));
    }
  }

  void Call(const Operation& operation) {
    if (model_.empty() && !operation.operands.empty()) return;
    const MachineCall call = model_.Resolve(operation, StreamOf(operation));
    if (Done([&] { return machine_->Call(call); })) model_.Apply(call);
  }

  void View(const Operation& operation, size_t value) {
    const size_t words = model_.words(value);
    if (words == 0 || !machine_->has_views()) return;
    const size_t begin = operation.salt % words;
    const size_t end = begin + 1 + (operation.salt >> 12) % (words - begin);
    machine_->View(value, begin, end);
    model_.AddView(value, begin, end);
  }

  void Read(const Operation& operation, size_t value) {
    const Words words = model_.Read(value);
    const Stream stream = StreamOf(operation);
    Done(
        [&] { return machine_->Read(value, operation, words, stream, what_); });
  }

  void Write(const Operation& operation, size_t value) {
    const Words words = RandomWords(operation.salt, model_.words(value));
    const Stream stream = StreamOf(operation);
    if (Try([&] { return machine_->Write(value, words, stream); },
            /*retries=*/1, absl::StatusCode::kFailedPrecondition)
            .ok()) {
      model_.Write(value, words);
    }
  }

  void Guard(const Operation& operation, size_t value) {
    if (guards_.size() >= kMostGuards) return;
    const Stream stream = StreamOf(operation);
    if (Done([&] { return machine_->Guard(value, operation, stream); })) {
      guards_.push_back(model_.Read(value));
    }
  }
  void EndGuard() {
    const Words words = std::move(guards_.front());
    guards_.pop_front();
    const absl::Status status =
        machine_->EndGuard(words, absl::StrCat("guard at ", what_));
    if (!status.ok()) Fail(status.ToString());
  }

  void EndStream(const Operation& operation) {
    Stream& stream = streams_[operation.stream % streams_.size()];
    if (stream == Stream()) return;
    const absl::Status status = Try([&] { return machine_->EndStream(stream); },
                                    0, absl::StatusCode::kFailedPrecondition);
    if (!status.ok()) return;
    Done([&] {
      const absl::StatusOr<Stream> made = machine_->CreateStream();
      if (made.ok()) stream = *made;
      return made.status();
    });
  }

  void Release(size_t value) {
    machine_->Release(value);
    model_.Remove(value);
  }

  void Finish() {
    what_ = "the end";
    while (!guards_.empty()) EndGuard();
    for (size_t i = 0; i < model_.size() && Right(); ++i) {
      what_ = absl::StrCat("the end, value ", i);
      Operation read;
      read.salt = read.stream = static_cast<uint32_t>(i);
      Read(read, i);
      Check();
    }
    what_ = "the end";
    device_.RunAll();
    Check();
    while (!model_.empty() && Right()) Release(model_.size() / 2);
    device_.RunAll();
    Check();
    outcome_.stats = machine_->engine_stats();
    if (outcome_.stats.storages != 0) Fail("storages are left");
    if (outcome_.stats.lineage_calls != 0) Fail("lineage is left");
    if (machine_->allocator_stats().live_blocks != 0) Fail("blocks are left");
    while (streams_.size() > 1 && Right()) {
      if (Done([this] { return machine_->EndStream(streams_.back()); })) {
        streams_.pop_back();
      }
    }
  }

  // Also where something was wrong: queued work has to go.
  void Close() {
    cuda::FakeDriver* const driver = device_.driver();
    device_.RunAll();
    outcome_.device_calls = device_.device().calls(Verb::kAny) - calls_before_;
    outcome_.kernel_runs = device_.kernel_runs();
    outcome_.faulted = device_.failed();
    device_.device().Clear();
    if (driver != nullptr) {
      outcome_.driver_calls = driver->calls() - driver_calls_before_;
      driver->ClearFailures();
      cuda::Context popped = nullptr;
      // The verb was done; only its context stayed.
      if (driver->last_failed() == "cuCtxPopCurrent") {
        driver->api().cuCtxPopCurrent(&popped);
      }
      if (!Right()) driver->Repair();
    }
    machine_.reset();
    if (device_.device().memory_info().created != 0) Fail("memory is left");
    const std::string wrong = device_.wrong();
    if (!wrong.empty()) Fail(wrong);
  }

  const Program& program_;
  const RunOptions& options_;
  Outcome outcome_;
  std::string what_ = "the start";
  ProgramDevice device_;
  int64_t calls_before_ = 0;
  int64_t driver_calls_before_ = 0;
  BudgetWatch watch_;
  std::unique_ptr<Machine> machine_;
  Model model_;
  std::vector<Stream> streams_;
  std::deque<Words> guards_;  // what each should see
};

}  // namespace

Outcome RunProgram(const Program& program, const RunOptions& options) {
  return Interpreter(program, options).Run();
}

}  // namespace rekindle::programs
