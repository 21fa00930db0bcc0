/* The C interface from a program in C: a small model with a state, interpreted, from tests/capi/states.nnb. With the arguments ARTIFACT
 * SCRIPT: what the script says. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/capi/nnc.h"
#include "tests/capi/script.h"

static int failures = 0;

#define EXPECT(condition)                                                       \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                               \
    }                                                                           \
  } while (0)

static void ok(nnc_error* error, int line) {
  if (!error) return;
  fprintf(stderr, "%s:%d: %s\n", __FILE__, line, nnc_error_text(error));
  nnc_error_release(error);
  exit(1);
}
#define OK(call) ok(call, __LINE__)

/* The call must fail with that code; its text must hold `words`. */
static void fails(nnc_error* error, int code, const char* words, int line) {
  if (!error || nnc_error_code(error) != code || !strstr(nnc_error_text(error), words)) {
    fprintf(stderr, "%s:%d: code %d with \"%s\" expected, got: %s\n", __FILE__, line, code, words, nnc_error_text(error));
    ++failures;
  }
  nnc_error_release(error);
}
#define FAILS(call, code, words) fails(call, code, words, __LINE__)

static nnc_input input(nnc_dtype dtype, int32_t rank, const int64_t* dims, const void* data) {
  nnc_input in;
  int64_t count = 1;
  for (int32_t i = 0; i < rank; ++i) count *= dims[i];
  in.dtype = dtype;
  in.rank = rank;
  in.dims = dims;
  in.data = data;
  in.bytes = nnc_dtype_bytes(dtype, count);
  return in;
}

static void describe(const nnc_model* model) {
  nnc_value_info info;
  nnc_code_counts counts;
  size_t count = 0;
  EXPECT(nnc_model_entry_count(model) == 3);
  EXPECT(strcmp(nnc_model_entry_name(model, 1), "step") == 0);
  EXPECT(nnc_model_entry_name(model, 3) == NULL);
  OK(nnc_model_input_count(model, "step", &count));
  EXPECT(count == 2);
  OK(nnc_model_input(model, "step", 0, &info));
  EXPECT(strcmp(info.name, "x") == 0 && info.dtype == NNC_F32 && info.rank == 2);
  EXPECT(info.dims[0] == -1 && strcmp(info.dim_names[0], "n") == 0 && info.dim_min[0] == 1 && info.dim_max[0] == 64);
  EXPECT(info.dims[1] == 4);
  OK(nnc_model_output_count(model, "step", &count));
  EXPECT(count == 2);
  OK(nnc_model_output(model, "step", 1, &info));
  EXPECT(strcmp(info.name, "picked") == 0);
  EXPECT(nnc_model_state_count(model) == 1);
  OK(nnc_model_state(model, 0, &info));
  EXPECT(strcmp(info.name, "acc") == 0 && info.dims[0] == 4);
  FAILS(nnc_model_input(model, "step", 2, &info), 2003, "input 2 of 2");
  FAILS(nnc_model_input_count(model, "stop", &count), 2003, "did you mean \"step\"");
  OK(nnc_model_code_counts(model, NULL, &counts));
  EXPECT(counts.vm > 0 && counts.host == 1 && counts.native == 0);
}

static void steps(nnc_session* session) {
  const int64_t dims[2] = {2, 4}, one[1] = {1}, four[1] = {4};
  const float x[8] = {1, 2, 3, 4, 10, 20, 30, 40};
  float y[8], picked[1], acc[4];
  int64_t index = 1;
  nnc_input in[2];
  nnc_output out[2], state;
  nnc_session_stats before, after;
  memset(out, 0, sizeof out);
  memset(&state, 0, sizeof state);
  in[0] = input(NNC_F32, 2, dims, x);
  in[1] = input(NNC_I64, 1, one, &index);
  out[0].data = y;
  out[0].room = sizeof y;
  out[1].data = picked;
  out[1].room = sizeof picked;
  OK(nnc_session_run(session, "step", in, 2, out, 2));
  EXPECT(out[0].rank == 2 && out[0].dims[0] == 2 && out[0].dims[1] == 4 && out[0].bytes == 32 && out[0].dtype == NNC_F32);
  EXPECT(y[0] == 12 && y[7] == 84 && picked[0] == 20);

  /* A step that fails leaves the state. */
  index = 7;
  {
    nnc_error* error = nnc_session_run(session, "step", in, 2, out, 2);
    EXPECT(strcmp(nnc_error_node(error), "/embed/Gather") == 0);
    EXPECT(strstr(nnc_error_json(error), "\"code\": 1003") != NULL);
    FAILS(error, 1003, "is outside [0, 3)");
  }
  OK(nnc_session_get_state(session, "acc", &state));
  EXPECT(state.rank == 1 && state.dims[0] == 4 && memcmp(state.data, "\0\0\x30\x41", 4) == 0); /* 11 */
  index = -3;
  before.struct_size = after.struct_size = sizeof before;
  OK(nnc_session_get_stats(session, &before));
  OK(nnc_session_run(session, "step", in, 2, out, 2));
  OK(nnc_session_get_stats(session, &after));
  EXPECT(before.allocations == after.allocations && after.bindings == 1 && after.state_bytes == 16);
  EXPECT(y[0] == 23 && picked[0] == 10);
  state.data = acc;
  state.room = sizeof acc;
  OK(nnc_session_get_state(session, "acc", &state));
  EXPECT(acc[0] == 22 && acc[3] == 88);
  {
    const float fresh[4] = {1, 1, 1, 1};
    nnc_input value = input(NNC_F32, 1, four, fresh);
    OK(nnc_session_set_state(session, "acc", &value));
    OK(nnc_session_get_state(session, "acc", &state));
    EXPECT(acc[0] == 1 && acc[3] == 1);
    value.bytes = 8;
    FAILS(nnc_session_set_state(session, "acc", &value), 2004, "8 bytes given");
    FAILS(nnc_session_set_state(session, "ac", &value), 2004, "bytes");
  }
  OK(nnc_session_reset_states(session));
  OK(nnc_session_get_state(session, "acc", &state));
  EXPECT(acc[0] == 0);

  /* Wrong calls. */
  FAILS(nnc_session_run(session, "step", in, 1, out, 2), 2004, "takes 2 inputs");
  in[0].dtype = NNC_I64;
  FAILS(nnc_session_run(session, "step", in, 2, out, 2), 2004, "input \"x\": i64[2, 4] given, f32[n, 4] expected");
  in[0] = input(NNC_F32, 2, dims, x);
  out[0].room = 16;
  index = 0;
  FAILS(nnc_session_run(session, "step", in, 2, out, 2), 2004, "needs 32 bytes");
  EXPECT(out[0].bytes == 32);
  nnc_session_cancel(session);
  out[0].room = sizeof y;
  FAILS(nnc_session_run(session, "step", in, 2, out, 2), 3006, "cancelled");
  OK(nnc_session_run(session, "step", in, 2, out, 2));
}

/* An output whose extent the run finds, in memory of the session's. */
static void found(nnc_session* session) {
  const float x[5] = {0, 2, 0, 0, 5};
  const int64_t dims[1] = {5};
  const nnc_input in = input(NNC_F32, 1, dims, x);
  nnc_output out;
  memset(&out, 0, sizeof out);
  OK(nnc_session_run(session, "where", &in, 1, &out, 1));
  EXPECT(out.rank == 2 && out.dims[0] == 1 && out.dims[1] == 2 && out.dtype == NNC_I64);
  EXPECT(((const int64_t*)out.data)[0] == 1 && ((const int64_t*)out.data)[1] == 4);
}

int main(int argc, char** argv) {
  nnc_runtime* runtime = NULL;
  nnc_model* model = NULL;
  nnc_session* session = NULL;
  nnc_runtime_options threads;
  nnc_model_options options;
  if (argc == 3) return run_script(argv[1], argv[2]) ? 0 : 1;
  memset(&threads, 0, sizeof threads);
  memset(&options, 0, sizeof options);
  EXPECT(nnc_abi_version() == NNC_ABI_VERSION);
  FAILS(nnc_runtime_create(&threads, &runtime), 2001, "struct_size");
  threads.struct_size = sizeof threads;
  threads.device = "abacus";
  FAILS(nnc_runtime_create(&threads, &runtime), 6001, "abacus");
  threads.device = NULL;
  threads.threads = 2;
  OK(nnc_runtime_create(&threads, &runtime));

  options.struct_size = sizeof options;
  options.trust = NNC_TRUST_NONE;
  FAILS(nnc_model_load_file(runtime, "tests/capi/none.nnb", &options, &model), 8001, "none.nnb");
  FAILS(nnc_model_load_file(runtime, "tests/capi/states_test.c", &options, &model), 5001, "no nnc artifact");
  FAILS(nnc_model_load_file(runtime, "tests/capi/states.nnb", &options, &model), 5002, "allow-interpreter");
  options.allow_interpreter = 1;
  options.require_native = 1;
  FAILS(nnc_model_load_file(runtime, "tests/capi/states.nnb", &options, &model), 5004, "interpreted");
  options.require_native = 0;
  options.target = "cpu:abacus";
  FAILS(nnc_model_load_file(runtime, "tests/capi/states.nnb", &options, &model), 5002, "cpu:vm");
  options.target = NULL;
  FAILS(nnc_model_load_memory(runtime, "x", 1, &options, &model), 5001, "1 bytes");
  OK(nnc_model_load_file(runtime, "tests/capi/states.nnb", &options, &model));
  describe(model);
  OK(nnc_session_create(model, NULL, &session));
  nnc_model_release(model); /* the session keeps what it needs */
  nnc_runtime_release(runtime);
  steps(session);
  found(session);
  nnc_session_release(session);
  nnc_error_release(NULL);
  if (failures == 0) puts("all right");
  return failures != 0;
}
