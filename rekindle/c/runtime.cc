// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/c/handles.h"
#include "rekindle/c/status.h"
#include "rekindle/runtime/options.h"

using rekindle::c::CheckSize;
using rekindle::c::Guarded;
using rekindle::c::Making;
using rekindle::c::NotNull;

namespace {

absl::Status Override(const rk_options& from, rekindle::RuntimeOptions& to) {
  RK_RETURN_IF_ERROR(
      CheckSize(from.struct_size, sizeof(rk_options), "RK_OPTIONS_INIT"));
  if (from.budget != nullptr) {
    RK_ASSIGN_OR_RETURN(to.budget, rekindle::Budget::Parse(from.budget));
  }
  if (from.device != nullptr) to.device = from.device;
  if (from.policy != nullptr) to.policy = from.policy;
  to.stream = {from.stream};
  return absl::OkStatus();
}

void Fill(const rekindle::RuntimeStats& from, rk_stats& to) {
  const auto& constant = from.engine.constant_bytes;
  to.budget = from.allocator.budget;
  to.physical_bytes = from.allocator.physical_bytes;
  to.peak_physical_bytes = from.allocator.peak_physical_bytes;
  to.live_bytes = from.engine.live_bytes;
  to.peak_live_bytes = from.engine.peak_live_bytes;
  to.constant_bytes =
      std::accumulate(constant.begin(), constant.end(), uint64_t{0});
  to.pinned_bytes = from.engine.pinned_bytes;
  to.calls = from.engine.calls;
  to.evictions = from.engine.evictions;
  to.recomputations = from.engine.recomputations;
  to.vmm_calls = from.allocator.vmm_calls;
  to.steps = from.steps;
  to.call_seconds = from.engine.call_cost;
  to.recompute_seconds = from.engine.recompute_cost;
}

// Runs `body` with the runtime behind the handle.
template <typename Body>
rk_status With(rk_runtime* runtime, Body body) {
  return Guarded([&]() -> absl::Status {
    RK_RETURN_IF_ERROR(NotNull(runtime, "the runtime"));
    return body(*runtime->runtime);
  });
}

}  // namespace

rk_status rk_runtime_create(const rk_options* options, rk_runtime** runtime) {
  return Making(runtime, [&]() -> absl::Status {
    RK_ASSIGN_OR_RETURN(rekindle::RuntimeOptions all,
                        rekindle::RuntimeOptions::FromEnvironment());
    if (options != nullptr) RK_RETURN_IF_ERROR(Override(*options, all));
    RK_ASSIGN_OR_RETURN(std::unique_ptr<rekindle::Runtime> made,
                        rekindle::Runtime::Create(std::move(all)));
    *runtime = new rk_runtime{std::move(made)};
    return absl::OkStatus();
  });
}

void rk_runtime_release(rk_runtime* runtime) { delete runtime; }

rk_status rk_begin_step(rk_runtime* runtime) {
  return With(runtime, [](rekindle::Runtime& rt) { return rt.BeginStep({}); });
}

rk_status rk_set_budget(rk_runtime* runtime, uint64_t bytes) {
  return With(runtime, [bytes](rekindle::Runtime& rt) {
    return rt.SetBudget(static_cast<size_t>(bytes));
  });
}

rk_status rk_minimum_budget(rk_runtime* runtime, uint64_t* bytes) {
  return With(runtime, [bytes](rekindle::Runtime& rt) -> absl::Status {
    RK_RETURN_IF_ERROR(NotNull(bytes, "where the bytes go"));
    RK_ASSIGN_OR_RETURN(*bytes, rt.MinimumBudget());
    return absl::OkStatus();
  });
}

rk_status rk_create_stream(rk_runtime* runtime, rk_stream* stream) {
  return With(runtime, [stream](rekindle::Runtime& rt) -> absl::Status {
    RK_RETURN_IF_ERROR(NotNull(stream, "where the stream goes"));
    RK_ASSIGN_OR_RETURN(const rekindle::Stream made, rt.CreateStream());
    *stream = made.handle;
    return absl::OkStatus();
  });
}

rk_status rk_destroy_stream(rk_runtime* runtime, rk_stream stream) {
  return With(runtime, [stream](rekindle::Runtime& rt) {
    return rt.DestroyStream({stream});
  });
}

rk_status rk_stream_ended(rk_runtime* runtime, rk_stream stream) {
  return With(runtime, [stream](rekindle::Runtime& rt) {
    return rt.StreamEnded({stream});
  });
}

rk_status rk_get_stats(rk_runtime* runtime, rk_stats* stats) {
  return With(runtime, [stats](rekindle::Runtime& rt) -> absl::Status {
    RK_RETURN_IF_ERROR(NotNull(stats, "where the statistics go"));
    RK_RETURN_IF_ERROR(
        CheckSize(stats->struct_size, sizeof(rk_stats), "RK_STATS_INIT"));
    Fill(rt.Stats(), *stats);
    return absl::OkStatus();
  });
}

rk_status rk_write_memory_snapshot(rk_runtime* runtime, const char* path) {
  return With(runtime, [path](rekindle::Runtime& rt) -> absl::Status {
    RK_RETURN_IF_ERROR(NotNull(path, "the path"));
    return rt.WriteMemorySnapshot(path);
  });
}

rk_status rk_scope_begin(rk_runtime* runtime, const char* name,
                         rk_scope** scope) {
  return Making(scope, [&]() -> absl::Status {
    RK_RETURN_IF_ERROR(NotNull(runtime, "the runtime"));
    RK_RETURN_IF_ERROR(NotNull(name, "the name"));
    *scope = new rk_scope{{*runtime->runtime, name}};
    return absl::OkStatus();
  });
}

void rk_scope_release(rk_scope* scope) { delete scope; }
