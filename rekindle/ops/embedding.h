// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rekindle/ops/var.h"
#include "rekindle/runtime/site.h"

namespace rekindle::ops {

// The row of `token_table` for each token, plus that of `position_table` for
// its place. tokens i32 [b, t], token_table f32 [vocabulary, c],
// position_table f32 [positions, c] -> [b, t, c]. REQUIRES: t <= positions.
// Errors, besides shapes: InvalidArgument for a token outside the vocabulary.
Var Embedding(const Var& tokens, const Var& token_table,
              const Var& position_table, Site site = Site::Current());

}  // namespace rekindle::ops
