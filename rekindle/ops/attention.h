// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rekindle/ops/var.h"
#include "rekindle/runtime/site.h"

namespace rekindle::ops {

// Causal self-attention with `heads` heads, each of c / heads channels.
// qkv f32 [b, t, 3 c]: queries, keys and values one after another, in each the
// heads one after another -> [b, t, c].
//
// The probabilities [b, heads, t, t], which the gradient needs, are a second
// output of the call: a storage of their own that can be given up and made
// again like any other.
Var CausalAttention(const Var& qkv, int heads, Site site = Site::Current());

}  // namespace rekindle::ops
