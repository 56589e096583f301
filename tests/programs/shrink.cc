// SPDX-License-Identifier: Apache-2.0
#include "tests/programs/shrink.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace rekindle::programs {
namespace {

// How many values there are after the operation; some fewer, if a view of
// nothing was asked for.
size_t ValuesAfter(const Operation& operation, Level level, size_t before) {
  switch (operation.action) {
    case Action::kConstant:
    case Action::kCall:
      return before + operation.outputs.size();
    case Action::kView:
      return level == Level::kRuntime && before > 0 ? before + 1 : before;
    case Action::kSnapshot:
      return before > 0 ? before + 1 : before;
    case Action::kRelease:
      return before > 0 ? before - 1 : before;
    default:
      return before;
  }
}

// The same program with operands that are what they stand for, so that they
// stand for the same if later values go.
Program WithPlainOperands(Program program) {
  size_t values = 0;
  for (Operation& operation : program.operations) {
    for (uint32_t& operand : operation.operands) {
      if (values > 0) operand %= values;
    }
    values = ValuesAfter(operation, program.level, values);
  }
  return program;
}

class Shrinker {
 public:
  Shrinker(Program program, const std::function<bool(const Program&)>& fails,
           int most_tries)
      : program_(std::move(program)), fails_(fails), tries_(most_tries) {}

  Program Run() {
    bool smaller = true;
    while (smaller && tries_ > 0) {
      Take(WithPlainOperands(program_));
      smaller = LeaveOut();
      smaller = SimplifySettings() || smaller;
      for (size_t i = 0; i < program_.operations.size(); ++i) {
        smaller = Simplify(i) || smaller;
      }
    }
    return std::move(program_);
  }

 private:
  // Takes `candidate` if it is another program and still fails.
  bool Take(Program candidate) {
    if (candidate == program_ || tries_ <= 0) return false;
    --tries_;
    if (!fails_(candidate)) return false;
    program_ = std::move(candidate);
    return true;
  }
  template <typename Change>
  bool TryWith(Change change) {
    Program candidate = program_;
    change(candidate);
    return Take(std::move(candidate));
  }
  template <typename Change>
  bool TryWith(size_t operation, Change change) {
    return TryWith([&](Program& p) { change(p.operations[operation]); });
  }

  bool LeaveOut() {
    bool smaller = false;
    for (size_t length = std::max<size_t>(program_.operations.size() / 2, 1);;
         length /= 2) {
      // From the end: what comes last is seldom needed.
      for (size_t end = program_.operations.size(); end > 0;) {
        const size_t begin = end > length ? end - length : 0;
        const bool taken = TryWith([&](Program& p) {
          p.operations.erase(
              p.operations.begin() + static_cast<ptrdiff_t>(begin),
              p.operations.begin() + static_cast<ptrdiff_t>(end));
        });
        smaller = smaller || taken;
        end = begin;
      }
      if (length <= 1) return smaller;
    }
  }

  bool SimplifySettings() {
    const Program plain;
    bool any = TryWith([&](Program& p) { p.policy = plain.policy; });
    any |= TryWith([](Program& p) { p.streams = 1; });
    any |= TryWith([](Program& p) { p.small_block_limit = 0; });
    any |= TryWith([](Program& p) { p.max_lineage_calls = 0; });
    any |= TryWith([](Program& p) { p.verify = false; });
    any |= TryWith([](Program& p) { p.record_steps = false; });
    return any;
  }

  bool Simplify(size_t i) {
    bool any = TryWith(i, [](Operation& o) { o.stream = 0; });
    any |= TryWith(i, [](Operation& o) { o.workspace = 0; });
    any |= TryWith(i, [](Operation& o) { o.keep = Keep::kDefault; });
    any |= TryWith(i, [](Operation& o) { o.draws = false; });
    any |= TryWith(i, [](Operation& o) { o.effect = false; });
    any |= TryWith(i, [](Operation& o) { o.pure = true; });
    any |= TryWith(i, [](Operation& o) { o.cost = 1; });
    any |= TryWith(i, [](Operation& o) { o.mutates = 0; });
    for (size_t j = program_.operations[i].operands.size(); j-- > 0;) {
      any |= TryWith(i, [j](Operation& o) {
        o.operands.erase(o.operands.begin() + static_cast<ptrdiff_t>(j));
      });
    }
    for (size_t j = program_.operations[i].outputs.size(); j-- > 0;) {
      any |= TryWith(i, [j](Operation& o) {
        o.outputs.erase(o.outputs.begin() + static_cast<ptrdiff_t>(j));
      });
    }
    any |= SimplifyOperands(i);
    return SimplifySizes(i) || any;
  }

  bool SimplifyOperands(size_t i) {
    bool any = false;
    for (size_t j = 0; j < program_.operations[i].operands.size(); ++j) {
      const uint32_t operand = program_.operations[i].operands[j];
      if (operand == 0) continue;
      any |= TryWith(i, [j](Operation& o) { o.operands[j] = 0; }) ||
             TryWith(i, [j](Operation& o) { o.operands[j] /= 2; }) ||
             TryWith(i, [j](Operation& o) { --o.operands[j]; });
    }
    return any;
  }

  // One word, or a whole chunk: what lies between explains nothing.
  bool SimplifySizes(size_t i) {
    bool any = false;
    for (size_t j = 0; j < program_.operations[i].outputs.size(); ++j) {
      const uint32_t words = program_.operations[i].outputs[j];
      if (words <= 1) continue;
      any |= TryWith(i, [j](Operation& o) { o.outputs[j] = 1; }) ||
             (words != kChunk / 4 &&
              TryWith(i, [j](Operation& o) { o.outputs[j] = kChunk / 4; }));
    }
    return any;
  }

  Program program_;
  const std::function<bool(const Program&)>& fails_;
  int tries_;
};

}  // namespace

Program Shrink(Program program,
               const std::function<bool(const Program&)>& fails,
               int most_tries) {
  return Shrinker(std::move(program), fails, most_tries).Run();
}

}  // namespace rekindle::programs
