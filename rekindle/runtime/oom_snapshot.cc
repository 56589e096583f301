// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/oom_snapshot.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "rekindle/runtime/write_file.h"

namespace rekindle::internal {
namespace {

using Json = nlohmann::ordered_json;

Json StorageJson(const StorageInfo& storage) {
  return {{"name", storage.label.name()}, {"file", storage.label.file()},
          {"line", storage.label.line()}, {"kind", KindName(storage.kind)},
          {"bytes", storage.bytes},       {"resident", storage.resident},
          {"constant", storage.constant}, {"references", storage.references},
          {"pins", storage.pins}};
}

Json StatsJson(const OomSnapshot& snapshot) {
  const EngineStats& engine = snapshot.engine;
  const AllocatorStats& allocator = snapshot.allocator;
  return {{"live_bytes", engine.live_bytes},
          {"peak_live_bytes", engine.peak_live_bytes},
          {"pinned_bytes", engine.pinned_bytes},
          {"evictions", engine.evictions},
          {"calls", engine.calls},
          {"recomputations", engine.recomputations},
          {"requested_bytes", allocator.requested_bytes},
          {"reserved_bytes", allocator.reserved_bytes},
          {"live_physical_bytes", allocator.live_physical_bytes},
          {"peak_physical_bytes", allocator.peak_physical_bytes}};
}

}  // namespace

std::string ToJson(const OomSnapshot& snapshot) {
  Json storages = Json::array();
  for (const StorageInfo& storage : snapshot.storages) {
    storages.push_back(StorageJson(storage));
  }
  const Json document = {
      {"message", snapshot.message},
      {"step", snapshot.step},
      {"budget_bytes", snapshot.allocator.budget},
      {"effective_budget_bytes", snapshot.allocator.effective_budget},
      {"physical_bytes", snapshot.allocator.physical_bytes},
      {"storages", std::move(storages)},
      {"stats", StatsJson(snapshot)}};
  // Names are the program's: bytes that are not UTF-8 must not throw.
  return document.dump(1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<std::string> WriteOomSnapshot(const std::string& directory,
                                             const OomSnapshot& snapshot) {
  std::string path = absl::StrCat("rekindle-oom-", getpid(), ".json");
  if (directory != ".") path = absl::StrCat(directory, "/", path);
  const absl::Status status = WriteFile(path, ToJson(snapshot) + "\n");
  if (!status.ok()) return status;
  return path;
}

}  // namespace rekindle::internal
