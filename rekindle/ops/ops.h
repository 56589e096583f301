// SPDX-License-Identifier: Apache-2.0
// All operators, and the tape. Layers and the optimizer are in ops/nn.
#pragma once

#include "rekindle/ops/adamw.h"
#include "rekindle/ops/attention.h"
#include "rekindle/ops/bias.h"
#include "rekindle/ops/context.h"
#include "rekindle/ops/cross_entropy.h"
#include "rekindle/ops/dropout.h"
#include "rekindle/ops/elementwise.h"
#include "rekindle/ops/embedding.h"
#include "rekindle/ops/gelu.h"
#include "rekindle/ops/layer_norm.h"
#include "rekindle/ops/matmul.h"
#include "rekindle/ops/named_scope.h"
#include "rekindle/ops/operator.h"
#include "rekindle/ops/parameter.h"
#include "rekindle/ops/tape.h"
#include "rekindle/ops/var.h"
