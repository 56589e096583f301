// SPDX-License-Identifier: Apache-2.0
#include "examples/train_gpt/flags.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>

namespace train_gpt {
namespace {

constexpr char kAbout[] =
    "Trains a small GPT on the characters of a text, under a hard budget of "
    "memory.";

constexpr char kEnvironment[] =
    "The environment sets the runtime: REKINDLE_BUDGET (8GiB, 300MiB, 60%, "
    "auto,\nunlimited), REKINDLE_DEVICE, REKINDLE_POLICY, REKINDLE_STATS, "
    "REKINDLE_LOG.\n\nExit status: 0 done; 1 it did not fit or failed; 2 bad "
    "options or input.\n";

void AddOptions(CLI::App& app, Flags& flags) {
  constexpr int kMost = 1 << 20;
  app.add_option("--text", flags.text, "File to learn from")
      ->capture_default_str();
  app.add_option("--steps", flags.steps, "Training steps")
      ->check(CLI::Range(1, 100 * kMost))
      ->capture_default_str();
  app.add_option("--batch", flags.batch, "Rows of text in a step")
      ->check(CLI::Range(1, kMost))
      ->capture_default_str();
  app.add_option("--context", flags.context, "Characters in a row")
      ->check(CLI::Range(1, kMost))
      ->capture_default_str();
  app.add_option("--layers", flags.layers, "Transformer blocks")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--width", flags.width, "Channels; a multiple of --heads")
      ->check(CLI::Range(1, kMost))
      ->capture_default_str();
  app.add_option("--heads", flags.heads, "Attention heads")
      ->check(CLI::Range(1, kMost))
      ->capture_default_str();
  app.add_option("--dropout", flags.dropout, "Share of values dropped")
      ->check(CLI::Range(0.0, 0.99))
      ->capture_default_str();
  app.add_option("--learning-rate", flags.learning_rate, "Highest step size")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  app.add_option("--seed", flags.seed, "Of weights, batches and dropout")
      ->capture_default_str();
  app.add_option(
         "--threads", flags.threads,
         "Of the kernels; 0: all cores. On busy cores, set OMP_WAIT_POLICY to "
         "passive")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--sample", flags.sample, "Characters to write at the end")
      ->check(CLI::Range(0, kMost))
      ->capture_default_str();
  app.add_flag("--demo", flags.demo,
               "Train without a limit, at 60% and at 35% of the peak, and "
               "compare");
}

}  // namespace

std::optional<Flags> ParseFlags(int argc, char** argv, int& exit_status) {
  CLI::App app(kAbout, "train_gpt");
  app.footer(kEnvironment);
  Flags flags;
  AddOptions(app, flags);
  try {
    app.parse(argc, argv);
    if (!std::isfinite(flags.dropout) || !std::isfinite(flags.learning_rate)) {
      throw CLI::ValidationError("--dropout, --learning-rate",
                                 "must be a number");
    }
    if (flags.width % flags.heads != 0) {
      throw CLI::ValidationError("--width", "must be a multiple of --heads");
    }
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    exit_status = 0;
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "train_gpt: %s (see --help)\n", error.what());
    exit_status = 2;
    return std::nullopt;
  }
  return flags;
}

}  // namespace train_gpt
