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
#include "tests/programs/behaviour.h"
#include "tests/programs/machine.h"
#include "tests/programs/program_device.h"

namespace rekindle::programs {
namespace {

using Verb = FaultInjectingDevice::Verb;

// What a value should be: a stretch of a buffer that all its views share.
struct Value {
  std::shared_ptr<Words> buffer;
  size_t offset = 0;
  size_t words = 0;

  uint32_t* data() const { return buffer->data() + offset; }
  Words Copy() const { return {data(), data() + words}; }
};

Value NewValue(Words words) {
  const size_t count = words.size();
  return {std::make_shared<Words>(std::move(words)), 0, count};
}

class Interpreter {
 public:
  Interpreter(const Program& program, const RunOptions& options)
      : program_(program),
        options_(options),
        device_(program.device, program.seed),
        budget_(program.budget > 0 ? program.budget : ProgramDevice::kCapacity),
        allowed_(budget_),
        most_allowed_(budget_),
        machine_(MakeMachine(program, device_)) {}

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
      if (!absl::IsResourceExhausted(status) || !limited()) {
        Fail(status.ToString());
        return status;
      }
      ++outcome_.exhausted;
      if (tries >= retries) {
        Fail(absl::StrCat("does not fit into the budget that it named, ",
                          budget_, ": ", status.ToString()));
        return status;
      }
      const std::optional<size_t> named = machine_->NamedBudget(status);
      if (!named.has_value() || (*named <= budget_ && !device_.failed())) {
        Fail(absl::StrCat("names no budget above ", budget_, ": ",
                          status.ToString()));
        return status;
      }
      SetBudget(std::max(*named, budget_));
    }
  }
  bool Done(const std::function<absl::Status()>& action, int retries = 1) {
    return Try(action, retries).ok();
  }

  void SetBudget(size_t bytes) {
    budget_ = bytes;
    absl::Status status = machine_->SetBudget(bytes);
    // What the device would not take back, it takes now.
    if (IsInjected(status)) status = machine_->SetBudget(bytes);
    if (!status.ok()) return Fail(status.ToString());
    const size_t created = device_.device().memory_info().created;
    allowed_ = std::max(bytes, created);
    most_allowed_ = std::max(most_allowed_, allowed_);
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
    const MemoryInfo memory = device_.device().memory_info();
    if (memory.created > allowed_ || memory.peak_created > most_allowed_) {
      Fail(absl::StrCat("the device gave ", memory.created, ", at most ",
                        memory.peak_created, ", of ", allowed_));
    }
    allowed_ = std::max(budget_, std::min(allowed_, memory.created));
    const std::string wrong = device_.wrong();
    if (!wrong.empty()) Fail(wrong);
  }

  size_t ValueOf(const Operation& operation) const {
    return operation.operands.empty() ? 0
                                      : operation.operands[0] % values_.size();
  }
  Stream StreamOf(const Operation& operation) const {
    return streams_[operation.stream % streams_.size()];
  }

  void Do(const Operation& operation) {
    switch (operation.action) {
      case Action::kConstant:
        return Constant(operation);
      case Action::kCall:
        if (values_.empty() && !operation.operands.empty()) return;
        return Call(operation);
      case Action::kEndGuard:
        if (!guards_.empty()) EndGuard();
        return;
      case Action::kStep:
        // Each value may need more than the one before.
        Try([this] { return machine_->Step(); },
            static_cast<int>(values_.size() + 1))
            .IgnoreError();
        return;
      case Action::kBudget:
        if (limited()) SetBudget(operation.amount * kChunk);
        return;
      case Action::kEndStream:
        return EndStream(operation);
      default:
        if (!values_.empty()) DoWithValue(operation, ValueOf(operation));
    }
  }

  void DoWithValue(const Operation& operation, size_t value) {
    switch (operation.action) {
      case Action::kView:
        return View(operation, value);
      case Action::kSnapshot:
        machine_->Snapshot(value);
        values_.push_back(NewValue(values_[value].Copy()));
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
    if (Done([&] { return machine_->Constant(words, StreamOf(operation)); })) {
      values_.push_back(NewValue(std::move(words)));
    }
  }

  MachineCall Resolve(const Operation& operation) const {
    MachineCall call;
    call.operation = &operation;
    call.stream = StreamOf(operation);
    Behaviour& behaviour = call.behaviour;
    behaviour.salt = operation.salt;
    behaviour.draws = operation.draws && program_.level == Level::kRuntime;
    const size_t count = operation.operands.size();
    for (size_t i = 0; i < count; ++i) {
      const size_t value = operation.operands[i] % values_.size();
      const bool again = std::any_of(
          call.inputs.begin(), call.inputs.end(), [&](size_t other) {
            return values_[other].buffer == values_[value].buffer ||
                   machine_->Same(other, value);
          });
      const bool effect = operation.effect && i + 1 == count && !again;
      const bool mutated =
          !again && !effect && call.mutates.size() < operation.mutates;
      if (effect) call.effects.push_back(static_cast<int>(i));
      if (mutated) call.mutates.push_back(static_cast<int>(i));
      call.inputs.push_back(value);
      behaviour.input_words.push_back(values_[value].words);
      behaviour.read.push_back(!effect);
      behaviour.changed.push_back(effect || mutated);
    }
    behaviour.output_words.assign(operation.outputs.begin(),
                                  operation.outputs.end());
    return call;
  }

  void Call(const Operation& operation) {
    const MachineCall call = Resolve(operation);
    const auto run = [&] { return machine_->Call(call); };
    if (!Done(run, machine_->retries_of_a_call())) return;
    std::vector<uint32_t*> inputs;
    for (size_t input : call.inputs) inputs.push_back(values_[input].data());
    std::vector<uint32_t*> outputs;
    for (uint32_t words : operation.outputs) {
      values_.push_back(NewValue(Words(words)));
      outputs.push_back(values_.back().data());
    }
    const PhiloxDraw draw{program_.seed, draws_};
    call.behaviour.Apply(inputs, outputs, draw);
    if (operation.draws) ++draws_;
  }

  void View(const Operation& operation, size_t value) {
    const Value base = values_[value];
    if (base.words == 0 || !machine_->has_views()) return;
    const size_t begin = operation.salt % base.words;
    const size_t end =
        begin + 1 + (operation.salt >> 12) % (base.words - begin);
    machine_->View(value, begin, end);
    values_.push_back({base.buffer, base.offset + begin, end - begin});
  }

  void Read(const Operation& operation, size_t value) {
    Done([&] {
      return machine_->Read(value, operation, values_[value].Copy(),
                            StreamOf(operation), what_);
    });
  }

  void Write(const Operation& operation, size_t value) {
    const Words words = RandomWords(operation.salt, values_[value].words);
    const absl::Status status =
        Try([&] { return machine_->Write(value, words, StreamOf(operation)); },
            /*retries=*/1, absl::StatusCode::kFailedPrecondition);
    if (!status.ok()) return;
    std::copy(words.begin(), words.end(), values_[value].data());
  }

  void Guard(const Operation& operation, size_t value) {
    if (guards_.size() >= kMostGuards) return;
    if (Done([&] {
          return machine_->Guard(value, operation, StreamOf(operation));
        })) {
      guards_.push_back(values_[value].Copy());
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
    values_[value] = values_.back();
    values_.pop_back();
  }

  void Finish() {
    what_ = "the end";
    while (!guards_.empty()) EndGuard();
    for (size_t i = 0; i < values_.size() && Right(); ++i) {
      what_ = absl::StrCat("the end, value ", i);
      Operation read;
      read.salt = read.stream = static_cast<uint32_t>(i);
      Read(read, i);
      Check();
    }
    what_ = "the end";
    device_.RunAll();
    Check();
    while (!values_.empty() && Right()) Release(values_.size() / 2);
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
  size_t budget_;
  // What the device may have given now, and at most.
  size_t allowed_;
  size_t most_allowed_;
  std::unique_ptr<Machine> machine_;
  std::vector<Stream> streams_;
  std::vector<Value> values_;
  std::deque<Words> guards_;
  uint64_t draws_ = 0;
};

}  // namespace

Outcome RunProgram(const Program& program, const RunOptions& options) {
  return Interpreter(program, options).Run();
}

}  // namespace rekindle::programs
