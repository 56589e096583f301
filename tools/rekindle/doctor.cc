// SPDX-License-Identifier: Apache-2.0
// rekindle doctor: is everything there, and if not, how to get it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "tools/rekindle/careful_driver.h"
#include "tools/rekindle/command.h"
#include "tools/rekindle/diagnosis.h"

namespace rekindle::tools {

Run AddDoctor(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "Print one JSON document");
  return [json] {
    const Diagnosis diagnosis =
        Diagnose(CarefulDriverLibrary(), ProcessEnvironment());
    const std::string text =
        *json ? ToJson(diagnosis).dump(
                    2, ' ', false,
                    nlohmann::ordered_json::error_handler_t::replace) +
                    "\n"
              : ToText(diagnosis);
    std::fputs(text.c_str(), stdout);
    return diagnosis.errors.empty() ? kDone : kFailed;
  };
}

}  // namespace rekindle::tools
