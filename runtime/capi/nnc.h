#pragma once
/* nnc: load and run compiled models from C.
 *
 * Functions that can fail return NULL on success, else an error that the caller releases. Handles come from *_create or *_load and go with
 * *_release, which takes NULL; a model keeps its runtime alive, a session its model. Options structs begin with their own size
 * (`struct_size`), NULL means the defaults, and fields of 0 do too. Strings are UTF-8; those that come out belong to the handle they were
 * asked of.
 *
 * Threads: runtimes and models may be used by any number of threads at once. A session belongs to one thread at a time; only
 * nnc_session_cancel may be called meanwhile from another. After a fork the child must not use handles of the parent, except to release
 * them.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NNC_API __attribute__((visibility("default")))
#else
#define NNC_API
#endif

#define NNC_ABI_VERSION 1
#define NNC_MAX_RANK 32

/* The version of this interface that the library has; it has all of the older ones. */
NNC_API uint32_t nnc_abi_version(void);

/* ---- errors */
typedef struct nnc_error nnc_error;
/* The code as in "NNC-2004"; the thousands digit is the exit code of the tool. */
NNC_API int32_t nnc_error_code(const nnc_error* error);
NNC_API const char* nnc_error_message(const nnc_error* error); /* what is wrong, in one line */
NNC_API const char* nnc_error_text(const nnc_error* error);    /* all of it: code, message, place, remedy */
NNC_API const char* nnc_error_node(const nnc_error* error);    /* the model's node, or the line of C++ that recorded it, or "" */
NNC_API const char* nnc_error_json(const nnc_error* error);    /* {"code", "message", "node", "op", "file", "context"} */
NNC_API void nnc_error_release(nnc_error* error);

/* ---- values */
typedef enum nnc_dtype {
  NNC_INVALID = 0,
  NNC_BOOL = 1,
  NNC_U2 = 2,
  NNC_U4 = 3,
  NNC_U8 = 4,
  NNC_U16 = 5,
  NNC_U32 = 6,
  NNC_U64 = 7,
  NNC_I2 = 8,
  NNC_I4 = 9,
  NNC_I8 = 10,
  NNC_I16 = 11,
  NNC_I32 = 12,
  NNC_I64 = 13,
  NNC_F16 = 14,
  NNC_BF16 = 15,
  NNC_F32 = 16,
  NNC_F64 = 17,
  NNC_F8E4M3FN = 18,
  NNC_F8E4M3FNUZ = 19,
  NNC_F8E5M2 = 20,
  NNC_F8E5M2FNUZ = 21,
  NNC_F8E8M0 = 22,
  NNC_F4E2M1 = 23,
  NNC_STRING = 24,
  NNC_C64 = 25,
  NNC_C128 = 26
} nnc_dtype;
/* Bytes of `count` elements, stored densely. */
NNC_API size_t nnc_dtype_bytes(nnc_dtype dtype, int64_t count);
NNC_API const char* nnc_dtype_name(nnc_dtype dtype);

/* What an input, output or state is. dims[i] is -1 where the extent is chosen by the caller or found by the run; then dim_names[i] says how
 * it is computed from named dims ("batch", "2*n"), and dim_min[i], dim_max[i] bound it. */
typedef struct nnc_value_info {
  const char* name;
  nnc_dtype dtype;
  int32_t rank;
  int64_t dims[NNC_MAX_RANK];
  const char* dim_names[NNC_MAX_RANK];
  int64_t dim_min[NNC_MAX_RANK], dim_max[NNC_MAX_RANK];
} nnc_value_info;

/* An input: dense, row-major, read only, aligned to its elements (else it is copied first). */
typedef struct nnc_input {
  nnc_dtype dtype;
  int32_t rank;
  const int64_t* dims;
  const void* data;
  size_t bytes;
} nnc_input;

/* An output: `data` and `room` are the caller's and the run fills in the rest. It must not overlap an input. With `data` NULL the session
 * provides memory, which is valid until the session runs again or is released. */
typedef struct nnc_output {
  void* data;
  size_t room;
  nnc_dtype dtype;
  int32_t rank;
  int64_t dims[NNC_MAX_RANK];
  size_t bytes;
} nnc_output;

/* ---- runtime: a device with its threads */
typedef struct nnc_runtime nnc_runtime;
typedef struct nnc_runtime_options {
  size_t struct_size;
  const char* device; /* "cpu"; "cuda-emu", which needs libnnc_emu beside this library; NULL: "cpu" */
  int32_t threads;    /* of the cpu, with the caller's; 0: as many as this process may use */
  int32_t pin;        /* 1: each of the runtime's own threads stays on one processor */
  int64_t spin_us;    /* how long idle threads look for work before they sleep; 0: 50, -1: not at all */
} nnc_runtime_options;
NNC_API nnc_error* nnc_runtime_create(const nnc_runtime_options* options, nnc_runtime** out);
NNC_API void nnc_runtime_release(nnc_runtime* runtime);

/* ---- model */
typedef struct nnc_model nnc_model;
typedef enum nnc_trust {
  NNC_TRUST_LIST = 0,   /* native code is run if the artifact is on this user's list */
  NNC_TRUST_CALLER = 1, /* the caller vouches for it */
  NNC_TRUST_NONE = 2
} nnc_trust;
typedef struct nnc_model_options {
  size_t struct_size;
  nnc_trust trust;
  int32_t allow_interpreter;           /* 1: kernels without native code that may run are interpreted, slowly */
  int32_t require_native;              /* 1: an error if a step would be interpreted */
  const char* target;                  /* this program of the artifact and no other, "cpu:x86-64-v3" */
  const char* const* without_features; /* what the processor is taken not to have */
  size_t without_feature_count;
} nnc_model_options;
NNC_API nnc_error* nnc_model_load_file(nnc_runtime* runtime, const char* path, const nnc_model_options* options, nnc_model** out);
/* The bytes are copied. */
NNC_API nnc_error* nnc_model_load_memory(nnc_runtime* runtime, const void* data, size_t bytes, const nnc_model_options* options,
                                         nnc_model** out);
NNC_API void nnc_model_release(nnc_model* model);

NNC_API const char* nnc_model_target(const nnc_model* model);
NNC_API size_t nnc_model_entry_count(const nnc_model* model);
NNC_API const char* nnc_model_entry_name(const nnc_model* model, size_t index); /* NULL past the end */
NNC_API nnc_error* nnc_model_input_count(const nnc_model* model, const char* entry, size_t* out);
NNC_API nnc_error* nnc_model_input(const nnc_model* model, const char* entry, size_t index, nnc_value_info* out);
NNC_API nnc_error* nnc_model_output_count(const nnc_model* model, const char* entry, size_t* out);
NNC_API nnc_error* nnc_model_output(const nnc_model* model, const char* entry, size_t index, nnc_value_info* out);
NNC_API size_t nnc_model_state_count(const nnc_model* model);
NNC_API nnc_error* nnc_model_state(const nnc_model* model, size_t index, nnc_value_info* out);

/* How the steps run. */
typedef struct nnc_code_counts {
  int64_t native, vm, host, library;
} nnc_code_counts;
/* `entry` NULL: all. */
NNC_API nnc_error* nnc_model_code_counts(const nnc_model* model, const char* entry, nnc_code_counts* out);

/* ---- session */
typedef struct nnc_session nnc_session;
typedef struct nnc_session_options {
  size_t struct_size;
  size_t bindings;          /* plans kept for extents seen before; 0: 32 */
  int64_t max_memory_bytes; /* of the arena; 0: no limit */
} nnc_session_options;
typedef struct nnc_session_stats {
  size_t struct_size;
  int64_t allocations; /* of memory and of bindings, so far */
  int64_t bindings;
  int64_t arena_bytes;
  int64_t state_bytes;
} nnc_session_stats;
NNC_API nnc_error* nnc_session_create(nnc_model* model, const nnc_session_options* options, nnc_session** out);
NNC_API void nnc_session_release(nnc_session* session);
/* Inputs and outputs in the order of the entry. A run that fails leaves all states as they were. */
NNC_API nnc_error* nnc_session_run(nnc_session* session, const char* entry, const nnc_input* inputs, size_t input_count,
                                   nnc_output* outputs, size_t output_count);
NNC_API nnc_error* nnc_session_get_state(nnc_session* session, const char* name, nnc_output* out);
NNC_API nnc_error* nnc_session_set_state(nnc_session* session, const char* name, const nnc_input* value);
NNC_API nnc_error* nnc_session_reset_states(nnc_session* session);
/* The run in progress, or the next one, ends with an error. */
NNC_API void nnc_session_cancel(nnc_session* session);
NNC_API nnc_error* nnc_session_get_stats(const nnc_session* session, nnc_session_stats* out);

#ifdef __cplusplus
}
#endif
