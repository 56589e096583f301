// SPDX-License-Identifier: Apache-2.0
// Token plus position embedding.
#pragma once

#include <compare>
#include <cstdint>

#include "absl/status/status.h"
#include "rekindle/ops/host/threads.h"

namespace rekindle::ops::host {

struct EmbeddingShape {
  int64_t batch = 1;
  int64_t time = 1;
  int64_t channels = 1;
  int64_t vocabulary = 1;  // Rows of the token table.
  int64_t positions = 1;   // Rows of the position table, at least `time`.

  friend constexpr auto operator<=>(const EmbeddingShape&,
                                    const EmbeddingShape&) = default;
};

// y[b, t, :] = token_table[tokens[b, t], :] + position_table[t, :].
// tokens [batch, time], token_table [vocabulary, channels],
// position_table [positions, channels] -> y [batch, time, channels].
// Errors: InvalidArgument if time > positions or a token is outside
// [0, vocabulary); nothing is written then.
absl::Status Embedding(HostThreads threads, const EmbeddingShape& shape,
                       const int32_t* tokens, const float* token_table,
                       const float* position_table, float* y);

// The gradients of both tables, all of them written (rows that nobody looked
// up get zeros). Contributions are added in order of (b, t).
// tokens [batch, time], dy [batch, time, channels] ->
// dtoken_table [vocabulary, channels], dposition_table [positions, channels].
// Errors: InvalidArgument as above.
absl::Status EmbeddingBackward(HostThreads threads, const EmbeddingShape& shape,
                               const int32_t* tokens, const float* dy,
                               float* dtoken_table, float* dposition_table);

}  // namespace rekindle::ops::host
