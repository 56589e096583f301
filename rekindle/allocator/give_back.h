// SPDX-License-Identifier: Apache-2.0
// For ends, which can report no error.
#pragma once

namespace rekindle {

// Runs a device verb that gives something back; once more if it fails.
template <typename Verb>
void GiveBack(Verb verb) {
  if (!verb().ok()) verb().IgnoreError();
}

}  // namespace rekindle
