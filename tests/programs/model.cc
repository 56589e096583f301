// SPDX-License-Identifier: Apache-2.0
#include "tests/programs/model.h"

#include <algorithm>
#include <utility>

namespace rekindle::programs {

Words Model::Read(size_t value) const {
  const uint32_t* const data = values_[value].data();
  return {data, data + values_[value].words};
}

void Model::Add(Words words) {
  const size_t count = words.size();
  values_.push_back({std::make_shared<Words>(std::move(words)), 0, count});
}

void Model::AddView(size_t value, size_t begin, size_t end) {
  const Value base = values_[value];
  values_.push_back({base.buffer, base.offset + begin, end - begin});
}

void Model::Write(size_t value, const Words& words) {
  std::copy(words.begin(), words.end(), values_[value].data());
}

void Model::Remove(size_t value) {
  values_[value] = values_.back();
  values_.pop_back();
}

bool Model::Same(size_t a, size_t b) const {
  return values_[a].buffer == values_[b].buffer || machine_.Same(a, b);
}

MachineCall Model::Resolve(const Operation& operation, Stream stream) const {
  MachineCall call;
  call.operation = &operation;
  call.stream = stream;
  Behaviour& behaviour = call.behaviour;
  behaviour.salt = operation.salt;
  behaviour.draws = operation.draws && program_.level == Level::kRuntime;
  behaviour.output_words.assign(operation.outputs.begin(),
                                operation.outputs.end());
  const size_t count = operation.operands.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t value = operation.operands[i] % values_.size();
    const bool again =
        std::any_of(call.inputs.begin(), call.inputs.end(),
                    [&](size_t other) { return Same(other, value); });
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
  return call;
}

void Model::Apply(const MachineCall& call) {
  std::vector<uint32_t*> inputs;
  for (size_t input : call.inputs) inputs.push_back(values_[input].data());
  std::vector<uint32_t*> outputs;
  for (size_t words : call.behaviour.output_words) {
    Add(Words(words));
    outputs.push_back(values_.back().data());
  }
  call.behaviour.Apply(inputs, outputs, {program_.seed, draws_});
  if (call.behaviour.draws) ++draws_;
}

}  // namespace rekindle::programs
