// SPDX-License-Identifier: Apache-2.0
#include "rekindle/engine/replay.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "rekindle/base/status_macros.h"

namespace rekindle {
namespace {

// Adopted memory has an address, at which nothing ever looks.
constexpr DeviceAddress kNowhere = 256;

class Replayer {
 public:
  Replayer(const Step& step, Engine& engine) : step_(step), engine_(engine) {}

  absl::Status Begin();
  absl::Status Do(const Step::Operation& operation);

 private:
  absl::Status Make(const Step::Constant& constant);
  absl::Status Run(const Step::Call& call);
  absl::Status Write(const Step::Operation& write);
  absl::Status Pin(StorageId recorded) {
    return engine_.Pin(now_.at(recorded), {}).status();
  }

  const Step& step_;
  Engine& engine_;
  // From the ids of the recording engine to those of this one.
  absl::flat_hash_map<StorageId, StorageId> now_;
};

absl::Status Replayer::Begin() {
  for (const Step::Initial& initial : step_.initial) {
    RK_RETURN_IF_ERROR(Make(initial.constant));
    const StorageId recorded = initial.constant.storage;
    for (int i = 1; i < initial.references; ++i) {
      engine_.AddReference(now_.at(recorded));
    }
    for (int i = 0; i < initial.pins; ++i) RK_RETURN_IF_ERROR(Pin(recorded));
  }
  return absl::OkStatus();
}

absl::Status Replayer::Do(const Step::Operation& operation) {
  switch (operation.action) {
    case Step::Action::kConstant:
      return Make(step_.constants[operation.index]);
    case Step::Action::kCall:
      return Run(step_.calls[operation.index]);
    case Step::Action::kAddReference:
      engine_.AddReference(now_.at(operation.storage));
      return absl::OkStatus();
    case Step::Action::kDropReference:
      engine_.DropReference(now_.at(operation.storage));
      return absl::OkStatus();
    case Step::Action::kPin:
      return Pin(operation.storage);
    case Step::Action::kUnpin:
      engine_.Unpin(now_.at(operation.storage));
      return absl::OkStatus();
    case Step::Action::kWrite:
      return Write(operation);
    case Step::Action::kDetach:
      return engine_.Detach(now_.at(operation.storage));
    case Step::Action::kDetachAll:
      return engine_.DetachAll();
  }
  return absl::InternalError("unknown operation of a step");
}

absl::Status Replayer::Make(const Step::Constant& constant) {
  if (constant.adopted) {
    now_[constant.storage] = engine_.AdoptConstant(kNowhere, constant.bytes,
                                                   constant.kind, {}, [] {});
    return absl::OkStatus();
  }
  RK_ASSIGN_OR_RETURN(now_[constant.storage],
                      engine_.AddConstant(constant.bytes, constant.kind, {}));
  return absl::OkStatus();
}

absl::Status Replayer::Run(const Step::Call& call) {
  CallSpec spec = CopyWithoutExecutor(call.spec);
  for (StorageId& input : spec.inputs) input = now_.at(input);
  spec.stream = Stream();
  RK_ASSIGN_OR_RETURN(const CallResult result, engine_.Run(std::move(spec)));
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    now_[call.result.outputs[i]] = result.outputs[i];
  }
  for (size_t i = 0; i < result.updated.size(); ++i) {
    now_[call.result.updated[i]] = result.updated[i];
  }
  return absl::OkStatus();
}

absl::Status Replayer::Write(const Step::Operation& write) {
  RK_ASSIGN_OR_RETURN(const Engine::Writable writable,
                      engine_.PinForWrite(now_.at(write.storage), {}));
  now_[write.made] = writable.storage;
  return absl::OkStatus();
}

}  // namespace

CallSpec CopyWithoutExecutor(const CallSpec& spec) {
  CallSpec copy;
  copy.label = spec.label;
  copy.inputs = spec.inputs;
  copy.output_bytes = spec.output_bytes;
  copy.output_kind = spec.output_kind;
  copy.mutates = spec.mutates;
  copy.effects = spec.effects;
  copy.workspace_bytes = spec.workspace_bytes;
  copy.cost = spec.cost;
  copy.stream = spec.stream;
  copy.pure = spec.pure;
  copy.keep = spec.keep;
  return copy;
}

absl::Status Replay(const Step& step, Engine& engine,
                    absl::FunctionRef<bool()> go_on) {
  Replayer replayer(step, engine);
  RK_RETURN_IF_ERROR(replayer.Begin());
  for (const Step::Operation& operation : step.operations) {
    if (!go_on()) return absl::CancelledError("the replay was stopped");
    RK_RETURN_IF_ERROR(replayer.Do(operation));
  }
  return absl::OkStatus();
}

absl::Status Replay(const Step& step, Engine& engine) {
  return Replay(step, engine, [] { return true; });
}

}  // namespace rekindle
