// SPDX-License-Identifier: Apache-2.0
// Makers of the policies that come with Rekindle; see policies.cc for the list.
#pragma once

#include <memory>

#include "rekindle/evictor/policy.h"

namespace rekindle {

std::unique_ptr<Policy> MakeDtrEq();
std::unique_ptr<Policy> MakeDtrLocal();
std::unique_ptr<Policy> MakeLru();

}  // namespace rekindle
