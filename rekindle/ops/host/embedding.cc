// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/embedding.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/ops/host/indices.h"
#include "rekindle/ops/host/vectorize.h"

namespace rekindle::ops::host {
namespace {

absl::Status Check(const EmbeddingShape& shape, const int32_t* tokens) {
  if (shape.time > shape.positions) {
    return absl::InvalidArgumentError(
        absl::StrCat("a sequence of ", shape.time, " tokens, but only ",
                     shape.positions, " positions"));
  }
  return CheckIndices("token", shape.batch * shape.time, tokens,
                      shape.vocabulary);
}

RK_HOST_CLONES void AddRow(const float* a, const float* b, float* c,
                           int64_t count) {
  RK_HOST_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) c[i] = a[i] + b[i];
}

// Channels [begin, end) of the token table's gradient.
void TokenBackward(const EmbeddingShape& shape, const int32_t* tokens,
                   const float* dy, int64_t begin, int64_t end, float* dtable) {
  const int64_t channels = shape.channels;
  for (int64_t v = 0; v < shape.vocabulary; ++v) {
    std::fill_n(dtable + v * channels + begin, end - begin, 0.0f);
  }
  for (int64_t i = 0; i < shape.batch * shape.time; ++i) {
    float* const row = dtable + tokens[i] * channels + begin;
    AddRow(row, dy + i * channels + begin, row, end - begin);
  }
}

// Rows [begin, end) of the position table's gradient.
void PositionBackward(const EmbeddingShape& shape, const float* dy,
                      int64_t begin, int64_t end, float* dtable) {
  const int64_t channels = shape.channels;
  for (int64_t t = begin; t < end; ++t) {
    float* const row = dtable + t * channels;
    std::fill_n(row, channels, 0.0f);
    if (t >= shape.time) continue;
    for (int64_t b = 0; b < shape.batch; ++b) {
      AddRow(row, dy + (b * shape.time + t) * channels, row, channels);
    }
  }
}

}  // namespace

absl::Status Embedding(HostThreads threads, const EmbeddingShape& shape,
                       const int32_t* tokens, const float* token_table,
                       const float* position_table, float* y) {
  RK_RETURN_IF_ERROR(Check(shape, tokens));
  const int64_t channels = shape.channels;
  ParallelFor(threads, shape.batch * shape.time, channels,
              [=](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  AddRow(token_table + tokens[i] * channels,
                         position_table + i % shape.time * channels,
                         y + i * channels, channels);
                }
              });
  return absl::OkStatus();
}

absl::Status EmbeddingBackward(HostThreads threads, const EmbeddingShape& shape,
                               const int32_t* tokens, const float* dy,
                               float* dtoken_table, float* dposition_table) {
  RK_RETURN_IF_ERROR(Check(shape, tokens));
  ParallelFor(threads, shape.channels,
              shape.vocabulary + shape.batch * shape.time,
              [=](int64_t begin, int64_t end) {
                TokenBackward(shape, tokens, dy, begin, end, dtoken_table);
              });
  ParallelFor(threads, shape.positions, (1 + shape.batch) * shape.channels,
              [=](int64_t begin, int64_t end) {
                PositionBackward(shape, dy, begin, end, dposition_table);
              });
  return absl::OkStatus();
}

}  // namespace rekindle::ops::host
