// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rekindle {

// Reads a pickle of dicts, lists, texts, numbers, bools and None. Throws
// std::runtime_error for anything else, and if something is missing or left.
nlohmann::ordered_json FromPickle(const std::string& pickle);

}  // namespace rekindle
