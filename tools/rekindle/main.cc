// SPDX-License-Identifier: Apache-2.0
// rekindle: one program, a subcommand for each kind of work.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/rekindle/command.h"
#include "tools/rekindle/one_line.h"

namespace rekindle::tools {
namespace {

struct Entry {
  const char* name;
  const char* about;
  Run (*add)(CLI::App& app);
};

constexpr Entry kEntries[] = {
    {"doctor", "Say what this machine has, and what is missing", &AddDoctor},
    {"replay", "Replay allocation traces under a budget", &AddReplay},
};

int Main(int argc, char** argv) {
  CLI::App app("Training under a hard memory budget: tools.", "rekindle");
  app.require_subcommand(1);
  app.set_version_flag("--version", "rekindle " REKINDLE_VERSION);
  std::map<const CLI::App*, Run> runs;
  for (const Entry& entry : kEntries) {
    CLI::App* const command = app.add_subcommand(entry.name, entry.about);
    runs[command] = entry.add(*command);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return kDone;
  } catch (const CLI::CallForVersion& version) {
    std::fprintf(stdout, "%s\n", version.what());
    return kDone;
  } catch (const CLI::ParseError& error) {
    PrintError(absl::StrCat("rekindle: ", error.what(), " (see --help)"));
    return kBadInput;
  }
  return runs.at(app.get_subcommands().front())();
}

}  // namespace
}  // namespace rekindle::tools

int main(int argc, char** argv) {
  int exit_status = rekindle::tools::kFailed;
  try {
    exit_status = rekindle::tools::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("rekindle: this machine has not enough memory for that\n",
               stderr);
  }
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_status;
  std::fputs("rekindle: cannot write to standard output\n", stderr);
  return rekindle::tools::kFailed;
}
