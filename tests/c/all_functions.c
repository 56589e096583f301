/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/c/all_functions.h"

#include "rekindle/c.h"

typedef void (*function)(void);

static const function kFunctions[] = {
    (function)rk_last_error,
    (function)rk_fail,
    (function)rk_runtime_create,
    (function)rk_runtime_release,
    (function)rk_begin_step,
    (function)rk_set_budget,
    (function)rk_minimum_budget,
    (function)rk_create_stream,
    (function)rk_destroy_stream,
    (function)rk_stream_ended,
    (function)rk_get_stats,
    (function)rk_write_memory_snapshot,
    (function)rk_scope_begin,
    (function)rk_scope_release,
    (function)rk_constant,
    (function)rk_adopt,
    (function)rk_tensor_release,
    (function)rk_tensor_copy,
    (function)rk_tensor_snapshot,
    (function)rk_tensor_reshape,
    (function)rk_tensor_slice,
    (function)rk_tensor_spec,
    (function)rk_tensor_bytes,
    (function)rk_tensor_to_host,
    (function)rk_tensor_detach,
    (function)rk_tensor_evict,
    (function)rk_tensor_is_resident,
    (function)rk_tensor_read,
    (function)rk_tensor_write,
    (function)rk_tensor_keep,
    (function)rk_guard_address,
    (function)rk_guard_release,
    (function)rk_generator_create,
    (function)rk_generator_release,
    (function)rk_generator_get,
    (function)rk_generator_set,
    (function)rk_args_input,
    (function)rk_args_inout,
    (function)rk_args_output,
    (function)rk_args_workspace,
    (function)rk_args_stream,
    (function)rk_args_random,
    (function)rk_call,
    (function)rk_export_dlpack,
    (function)rk_import_dlpack,
};

/* Objects of every struct, as the macros begin them. */
size_t sum_of_struct_sizes(void) {
  const rk_options options = RK_OPTIONS_INIT;
  const rk_stats stats = RK_STATS_INIT;
  const rk_call_options call = RK_CALL_INIT;
  return options.struct_size + stats.struct_size + call.struct_size;
}

size_t function_count(void) {
  size_t count = 0;
  size_t i;
  for (i = 0; i < sizeof(kFunctions) / sizeof(kFunctions[0]); ++i) {
    if (kFunctions[i] != 0) ++count;
  }
  return count;
}
