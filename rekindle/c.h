/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface: for programs and libraries in C, or in another language, or
   built with another C++ library than Rekindle. C99.

   Every function that can fail returns a status: RK_OK, or what went wrong,
   which rk_last_error() of the same thread puts into words. A function that
   failed has changed nothing; what it was to make is set to NULL. A null
   pointer where there must be none, an index out of range and the like are
   errors too. Handles are made by functions that give them out through their
   last argument and end with rk_..._release, which takes NULL; a handle that
   was released must not be used.

   Thread safety: a runtime can be used by any thread; each other handle by one
   thread at a time. Streams, errors, costs: as rekindle/runtime/runtime.h and
   rekindle/runtime/tensor.h say of the functions with the same names. */
#ifndef REKINDLE_C_H_
#define REKINDLE_C_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A C program can put any number into an enum; C++ must expect that. */
#ifdef __cplusplus
#define RK_ANY_INT : int
#else
#define RK_ANY_INT
#endif

typedef enum rk_status RK_ANY_INT {
  RK_OK = 0,
  RK_UNKNOWN = 2,
  RK_INVALID_ARGUMENT = 3,
  RK_RESOURCE_EXHAUSTED = 8, /* the budget cannot hold what is needed */
  RK_FAILED_PRECONDITION = 9,
  RK_ABORTED = 10,
  RK_UNIMPLEMENTED = 12,
  RK_INTERNAL = 13,
  RK_UNAVAILABLE = 14
} rk_status;

/* What went wrong in the latest function that failed on this thread; "" if
   none has. Valid until the next one fails. */
const char* rk_last_error(void);

/* For kernels: sets what rk_last_error() says, and returns `status`.
   `message` may be NULL. */
rk_status rk_fail(rk_status status, const char* message);

typedef struct rk_runtime rk_runtime;
typedef struct rk_tensor rk_tensor;
typedef struct rk_guard rk_guard;
typedef struct rk_generator rk_generator;
typedef struct rk_scope rk_scope;
typedef struct rk_kernel_args rk_kernel_args;

/* The device's handle of a stream (a CUstream); 0: the runtime's default. */
typedef uintptr_t rk_stream;

typedef enum rk_dtype RK_ANY_INT {
  RK_F32 = 0,
  RK_I32 = 1,
  RK_BYTES = 2
} rk_dtype;

/* What a tensor is for. Only reports look at it. */
typedef enum rk_kind RK_ANY_INT {
  RK_ACTIVATION = 0,
  RK_PARAMETER = 1,
  RK_GRADIENT = 2,
  RK_OPTIMIZER = 3,
  RK_INPUT = 4,
  RK_OTHER = 5
} rk_kind;

/* How much the outputs of a call are wanted kept. */
typedef enum rk_keep RK_ANY_INT {
  RK_KEEP_DEFAULT = 0,
  RK_KEEP_CHEAP = 1,      /* cheap to recompute: give these up first */
  RK_KEEP_RATHER_NOT = 2, /* rather not recompute */
  RK_KEEP_NEVER = 3       /* recompute only if nothing else can be given up */
} rk_keep;

/* Type and shape; row by row, without gaps. `rank` 0 is one element. */
typedef struct rk_spec {
  rk_dtype dtype;
  int rank;
  const int64_t* shape;
} rk_spec;

/* --- Runtime ------------------------------------------------------------- */

/* Fields that are zero are as the environment says (REKINDLE_BUDGET and so on),
   or the default. Begin with RK_OPTIONS_INIT. */
typedef struct rk_options {
  size_t struct_size;
  const char* budget; /* "8GiB", "60%", "auto", "unlimited" */
  const char* device; /* "auto", "host", "cuda:0", "counting" */
  const char* policy; /* "dtr_eq:release=lazy", ... */
  rk_stream stream;   /* the program's own, as the default one */
} rk_options;
#define RK_OPTIONS_INIT \
  { sizeof(rk_options), 0, 0, 0, 0 }

/* `options` NULL: all as the environment says. A variable with a bad value is
   an error that names it. */
rk_status rk_runtime_create(const rk_options* options, rk_runtime** runtime);
/* Tensors and guards may outlive it. */
void rk_runtime_release(rk_runtime* runtime);

/* Marks the start of a step: what is still referenced becomes constant.
   Returns the first error of the step before, once. */
rk_status rk_begin_step(rk_runtime* runtime);

/* In bytes. */
rk_status rk_set_budget(rk_runtime* runtime, uint64_t bytes);
/* The smallest budget at which the last whole step is known to run. */
rk_status rk_minimum_budget(rk_runtime* runtime, uint64_t* bytes);

rk_status rk_create_stream(rk_runtime* runtime, rk_stream* stream);
rk_status rk_destroy_stream(rk_runtime* runtime, rk_stream stream);
rk_status rk_stream_ended(rk_runtime* runtime, rk_stream stream);

/* Begin with RK_STATS_INIT. Bytes, but for counts and costs. */
typedef struct rk_stats {
  size_t struct_size;
  uint64_t budget;
  uint64_t physical_bytes;
  uint64_t peak_physical_bytes;
  uint64_t live_bytes; /* of what the program references or pins */
  uint64_t peak_live_bytes;
  uint64_t constant_bytes;
  uint64_t pinned_bytes;
  int64_t calls;
  int64_t evictions;
  int64_t recomputations;
  int64_t vmm_calls;
  int64_t steps;
  double call_seconds; /* modelled or measured, of first runs */
  double recompute_seconds;
} rk_stats;
#define RK_STATS_INIT \
  { sizeof(rk_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

rk_status rk_get_stats(rk_runtime* runtime, rk_stats* stats);

/* Which storage lies where, for PyTorch's memory viewer. */
rk_status rk_write_memory_snapshot(rk_runtime* runtime, const char* path);

/* Names what this thread makes until the scope is released, by the same
   thread, inner ones first. */
rk_status rk_scope_begin(rk_runtime* runtime, const char* name,
                         rk_scope** scope);
void rk_scope_release(rk_scope* scope);

/* --- Tensors ------------------------------------------------------------- */

/* A value that is always resident: copied from `host`, or zeros if that is
   NULL. `name` NULL: "constant". */
rk_status rk_constant(rk_runtime* runtime, const rk_spec* spec,
                      const void* host, const char* name, rk_kind kind,
                      rk_tensor** tensor);

/* The same on memory of the device that the program owns, not copied and not
   counted. `deleter` (may be NULL) is called with `user` once: when nothing
   needs the memory any more, or if this fails. */
rk_status rk_adopt(rk_runtime* runtime, const rk_spec* spec, void* address,
                   void (*deleter)(void* user), void* user, const char* name,
                   rk_kind kind, rk_tensor** tensor);

void rk_tensor_release(rk_tensor* tensor);
/* Another handle to the same variable; both see its updates in place. */
rk_status rk_tensor_copy(const rk_tensor* tensor, rk_tensor** copy);
/* A handle to the value as it is now. */
rk_status rk_tensor_snapshot(const rk_tensor* tensor, rk_tensor** snapshot);
rk_status rk_tensor_reshape(const rk_tensor* tensor, int rank,
                            const int64_t* shape, rk_tensor** view);
/* Rows [begin, end) of the first dimension, sharing the bytes. */
rk_status rk_tensor_slice(const rk_tensor* tensor, int64_t begin, int64_t end,
                          rk_tensor** view);

/* `spec->shape` is valid as long as the handle. */
rk_status rk_tensor_spec(const rk_tensor* tensor, rk_spec* spec);
/* 0 for NULL. */
size_t rk_tensor_bytes(const rk_tensor* tensor);

/* Copies the value to host memory and waits for it. `bytes` must be
   rk_tensor_bytes. */
rk_status rk_tensor_to_host(const rk_tensor* tensor, void* to, size_t bytes);
/* Makes the value a constant. */
rk_status rk_tensor_detach(rk_tensor* tensor);
/* 1 if the bytes were given up, 0 if they cannot be or are not there. */
int rk_tensor_evict(rk_tensor* tensor);
int rk_tensor_is_resident(const rk_tensor* tensor);

/* While the guard lives, the bytes stay at its address. Its end is put in order
   on the stream. */
rk_status rk_tensor_read(const rk_tensor* tensor, rk_stream stream,
                         rk_guard** guard);
/* For constants only. */
rk_status rk_tensor_write(rk_tensor* tensor, rk_stream stream,
                          rk_guard** guard);
/* Keeps the value resident; also where there is nothing to read. */
rk_status rk_tensor_keep(const rk_tensor* tensor, rk_guard** guard);
/* Of a guard from rk_tensor_read, for reading only. NULL for NULL. */
void* rk_guard_address(const rk_guard* guard);
void rk_guard_release(rk_guard* guard);

/* --- Calls --------------------------------------------------------------- */

rk_status rk_generator_create(uint64_t seed, rk_generator** generator);
void rk_generator_release(rk_generator* generator);
/* To save and to restore it. */
rk_status rk_generator_get(const rk_generator* generator, uint64_t* key,
                           uint64_t* draw);
rk_status rk_generator_set(rk_generator* generator, uint64_t key,
                           uint64_t draw);

/* What a kernel is given; valid until it returns. An index out of range gives
   NULL. */
const void* rk_args_input(const rk_kernel_args* args, size_t i);
void* rk_args_inout(const rk_kernel_args* args, size_t i);
void* rk_args_output(const rk_kernel_args* args, size_t i);
void* rk_args_workspace(const rk_kernel_args* args);
rk_stream rk_args_stream(const rk_kernel_args* args);
/* Key and number of the draw of Philox 4x32-10 that this call has. */
void rk_args_random(const rk_kernel_args* args, uint64_t* key, uint64_t* draw);

/* The work of a call. May run again at any later time, from another thread; is
   a pure function of `args` and of what `user` points to, which must not
   change; does not call the runtime. Returns RK_OK, or rk_fail(...) before any
   mutated constant has changed. */
typedef rk_status (*rk_kernel)(const rk_kernel_args* args, void* user);

/* What a call says of itself; all fields but the first may be zero. Begin with
   RK_CALL_INIT. */
typedef struct rk_call_options {
  size_t struct_size;
  const char* name; /* NULL: "call" */
  const char* file; /* for reports; outlives the runtime (__FILE__) */
  int line;
  double flops; /* its cost is modelled from these; bytes 0: of all arguments */
  double bytes;
  const int* mutates; /* inputs updated in place */
  size_t mutate_count;
  const int* effects; /* inputs updated once, as a side effect */
  size_t effect_count;
  rk_generator* random;
  size_t workspace_bytes;
  rk_stream stream;
  int impure; /* 1: never runs again; its outputs are constants */
  rk_keep keep;
  rk_kind kind; /* of the outputs */
} rk_call_options;
#define RK_CALL_INIT                                                \
  {                                                                 \
    sizeof(rk_call_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
        RK_KEEP_DEFAULT, RK_ACTIVATION                              \
  }

/* Runs `kernel` on `inputs` and gives out one tensor a spec in `outputs`.
   `release` (may be NULL) is called with `user` once: when the kernel cannot
   run again, or if this fails; it may release tensors and guards, and must not
   use the runtime otherwise. `options` NULL: all zero. */
rk_status rk_call(rk_runtime* runtime, const rk_call_options* options,
                  const rk_tensor* const* inputs, size_t input_count,
                  const rk_spec* outputs, size_t output_count, rk_kernel kernel,
                  void* user, void (*release)(void* user), rk_tensor** tensors);

/* --- DLPack -------------------------------------------------------------- */

struct DLManagedTensor; /* of dlpack/dlpack.h */

/* As ExportDlpack and ImportDlpack of rekindle/runtime/dlpack.h say. */
rk_status rk_export_dlpack(const rk_tensor* tensor, rk_stream stream,
                           struct DLManagedTensor** managed);
rk_status rk_import_dlpack(rk_runtime* runtime, struct DLManagedTensor* managed,
                           const char* name, rk_kind kind, rk_tensor** tensor);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* REKINDLE_C_H_ */
