// SPDX-License-Identifier: Apache-2.0
#include "rekindle/evictor/victim_index.h"

#include "rekindle/evictor/kinetic_index.h"
#include "rekindle/evictor/scan_index.h"

namespace rekindle {

std::unique_ptr<VictimIndex> MakeVictimIndex(Policy& policy) {
  if (auto* lines = dynamic_cast<LinePolicy*>(&policy)) {
    return std::make_unique<KineticIndex>(*lines);
  }
  return std::make_unique<ScanIndex>(policy);
}

}  // namespace rekindle
