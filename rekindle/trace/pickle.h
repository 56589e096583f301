// SPDX-License-Identifier: Apache-2.0
// Python's serialization of plain values. Internal: not installed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rekindle {

// The document as a pickle, protocol 2: objects become dicts, arrays lists,
// null None. Source of the format: the opcode list of Python's pickletools.
std::string ToPickle(const nlohmann::ordered_json& document);

}  // namespace rekindle
