// SPDX-License-Identifier: Apache-2.0
#include "tests/programs/make_program.h"

#include <iterator>
#include <random>

namespace rekindle::programs {
namespace {

// What happens how often, of 100.
constexpr struct {
  Action action;
  uint32_t weight;
} kMixture[] = {
    {Action::kConstant, 9}, {Action::kCall, 46},    {Action::kView, 4},
    {Action::kSnapshot, 5}, {Action::kRead, 6},     {Action::kWrite, 2},
    {Action::kEvict, 6},    {Action::kGuard, 3},    {Action::kEndGuard, 3},
    {Action::kRelease, 11}, {Action::kDetach, 1},   {Action::kStep, 1},
    {Action::kBudget, 2},   {Action::kEndStream, 1}};

constexpr uint32_t kWords[] = {0,   1,   17,  40,   60,   100,
                               128, 250, 500, 1000, 1024, 3000};

class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) {}

  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  bool OneIn(uint32_t n) { return Below(n) == 0; }

  Operation Next() {
    Operation operation;
    operation.action = AnyAction();
    operation.salt = static_cast<uint32_t>(random_());
    operation.stream = Below(3);
    operation.operands = {Below(1000)};
    switch (operation.action) {
      case Action::kConstant:
        operation.operands.clear();
        operation.outputs = {Words()};
        break;
      case Action::kCall:
        MakeCall(operation);
        break;
      case Action::kEndGuard:
      case Action::kStep:
      case Action::kEndStream:
        operation.operands.clear();
        break;
      case Action::kBudget:
        operation.operands.clear();
        operation.amount = 4 + Below(40);
        break;
      default:
        break;
    }
    return operation;
  }

 private:
  uint32_t Words() { return kWords[Below(std::size(kWords))]; }

  Action AnyAction() {
    uint32_t draw = Below(100);
    for (const auto& entry : kMixture) {
      if (draw < entry.weight) return entry.action;
      draw -= entry.weight;
    }
    return Action::kCall;
  }

  void MakeCall(Operation& call) {
    for (uint32_t i = Below(4); i > 0; --i) {
      call.operands.push_back(Below(1000));
    }
    const uint32_t kind = Below(10);
    if (kind < 4) call.mutates = 1 + Below(2);
    call.effect = kind == 4 || kind == 5;
    call.pure = !OneIn(10);
    call.draws = OneIn(3);
    for (uint32_t i = Below(4) + (kind < 4 ? 0 : 1); i > 0; --i) {
      call.outputs.push_back(Words());
    }
    if (OneIn(3)) call.workspace = 1 + Below(10000);
    if (OneIn(6)) call.keep = static_cast<Keep>(Below(4));
    call.cost = 1 + Below(5);
  }

  std::mt19937 random_;
};

}  // namespace

Program MakeProgram(uint32_t seed, Level level, DeviceKind device,
                    int operations) {
  constexpr const char* kPolicies[] = {"dtr_eq:release=lazy", "dtr_eq",
                                       "dtr_local", "lru:release=lazy"};
  Maker maker(seed);
  Program program;
  program.seed = seed;
  program.level = level;
  program.device = device;
  program.policy = kPolicies[maker.Below(4)];
  if (device == DeviceKind::kQueued || maker.OneIn(4)) program.streams = 3;
  if (maker.OneIn(2)) program.small_block_limit = 1024;
  if (maker.OneIn(16)) program.max_lineage_calls = 8;
  program.verify = device == DeviceKind::kHost && maker.OneIn(16);
  program.record_steps = level == Level::kRuntime && maker.OneIn(8);
  for (int i = 0; i < operations; ++i) {
    program.operations.push_back(maker.Next());
  }
  return program;
}

size_t RandomBudget(uint32_t seed) {
  return kChunk * (6 + std::mt19937(seed + 1)() % 24);
}

}  // namespace rekindle::programs
