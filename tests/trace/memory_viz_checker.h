// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "gtest/gtest.h"

namespace rekindle {

// Whether PyTorch's viewer could read the document: every key of the schema
// with a value of its type, blocks that tile their segment, sums that agree,
// events in the order of time, and memory behind every block that they name
// when one steps back through them.
testing::AssertionResult IsMemoryViz(const nlohmann::ordered_json& document);

}  // namespace rekindle
