// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace rekindle::programs {

// Runs `work` in a forked child and waits for it. True if it returned true in
// time; crashes, broken checks and hangs are false. What the child printed goes
// to `output`, followed by how it ended if it did not end well.
bool RunInChild(const std::function<bool()>& work, unsigned seconds,
                std::string* output = nullptr);

}  // namespace rekindle::programs
