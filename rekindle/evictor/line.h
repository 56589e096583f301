// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rekindle {

// How gladly a storage is given up, as a function of time: a line that rises
// from 0 at `origin`. A slope of infinity: it costs nothing, at any time.
struct Line {
  double slope = 0;  // at least 0
  double origin = 0;

  // REQUIRES: now >= origin, a finite slope.
  double At(double now) const { return slope * (now - origin); }

  friend bool operator==(const Line& a, const Line& b) {
    return a.slope == b.slope && a.origin == b.origin;
  }
};

}  // namespace rekindle
