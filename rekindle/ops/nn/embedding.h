// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rekindle/ops/embedding.h"
#include "rekindle/ops/matmul.h"
#include "rekindle/ops/nn/initializer.h"
#include "rekindle/ops/var.h"

namespace rekindle::nn {

// Learned vectors for tokens and for positions. The token table also serves to
// score the tokens at the end of a model.
class Embedding {
 public:
  Embedding(Initializer& initializer, const std::string& name,
            int64_t vocabulary, int64_t positions, int64_t width,
            float deviation)
      : tokens_(initializer.Normal(name + ".tokens", F32({vocabulary, width}),
                                   deviation)),
        positions_(initializer.Normal(name + ".positions",
                                      F32({positions, width}), deviation)) {}

  // tokens i32 [b, t] -> [b, t, width].
  ops::Var operator()(const ops::Var& tokens,
                      Site site = Site::Current()) const {
    return ops::Embedding(tokens, tokens.Use(tokens_), tokens.Use(positions_),
                          site);
  }

  // x [.., width] -> logits [.., vocabulary], by the token table.
  ops::Var Scores(const ops::Var& x, Site site = Site::Current()) const {
    return ops::MatMulTransposed(x, x.Use(tokens_), site);
  }

  void AppendParameters(std::vector<Parameter*>& to) {
    to.insert(to.end(), {&tokens_, &positions_});
  }

 private:
  Parameter tokens_;
  Parameter positions_;
};

}  // namespace rekindle::nn
