// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "rekindle/engine/engine.h"
#include "rekindle/engine/step.h"

namespace rekindle {

// Asks of `engine`, which is new, what the step asked; calls do no work. After
// each operation asks `go_on`; Cancelled if that says no.
// Errors: as the engine's. What the step left alive stays alive.
absl::Status Replay(const Step& step, Engine& engine,
                    absl::FunctionRef<bool()> go_on);
absl::Status Replay(const Step& step, Engine& engine);

}  // namespace rekindle
