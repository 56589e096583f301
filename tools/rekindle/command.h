// SPDX-License-Identifier: Apache-2.0
// What a subcommand of `rekindle` is.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace rekindle::tools {

// Exit statuses, for scripts.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;    // the work failed: an infeasible budget
inline constexpr int kBadInput = 2;  // bad usage or a bad input file

// Does the work that the flags ask for and returns the exit status.
using Run = std::function<int()>;

// Declares the flags of one subcommand on `app`. Each lives in a file of its
// own and is listed in main.cc.
Run AddDoctor(CLI::App& app);
Run AddReplay(CLI::App& app);

}  // namespace rekindle::tools
