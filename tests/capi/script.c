/* A script has one command a line. The artifact is loaded by the first that needs it, or by `load`:
 *   device NAME                  where what is loaded next runs (cpu)
 *   without FEATURE              what the processor is taken not to have by the next load; as often as wanted
 *   interpreter 0|1              whether the next load may interpret (1)
 *   load                         the artifact, in place of what was loaded before
 *   refused CODE WORDS           loading must fail with that code and text
 *   target NAME                  the program that was taken must be the one for that target
 *   in DTYPE FILE EXTENT...      the next input of the run to come: raw bytes
 *   out FILE RTOL ATOL           the next output: raw bytes that it must equal; negative: to the bit
 *   run ENTRY                    must succeed, and its outputs be right
 *   fail ENTRY CODE WORDS        must fail with that code and text
 *   node WORDS                   the place that the last `fail` named must hold these words
 *   state NAME FILE RTOL ATOL    what a state must hold
 *   keep                         remembers all states
 *   kept                         all states must have the bits that were remembered
 *   steady                       from here on no run may allocate
 *   bindings N                   as many must have been made
 *   native                       no step may be interpreted
 */
#include "tests/capi/script.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/capi/nnc.h"

enum { kMaxValues = 64, kMaxLine = 4096, kMaxName = 512 };

struct expectation {
  char file[kMaxName];
  double rtol, atol;
};
struct script {
  const char* artifact;
  nnc_runtime* runtime;
  nnc_model* model;
  nnc_session* session;
  char device[kMaxName], node[kMaxName];
  char* without[kMaxValues];
  size_t without_count;
  int interpreter;
  nnc_output kept[kMaxValues]; /* states, by number */
  int line;
  nnc_input inputs[kMaxValues];
  int64_t dims[kMaxValues][NNC_MAX_RANK];
  nnc_output outputs[kMaxValues];
  struct expectation expected[kMaxValues];
  size_t input_count, output_count;
  int64_t allocations; /* -1: free to allocate */
};

static int complain(const struct script* s, const char* what, const char* detail) {
  fprintf(stderr, "line %d: %s%s%s\n", s->line, what, *detail ? ": " : "", detail);
  return 0;
}
static int succeeded(const struct script* s, nnc_error* error) {
  if (!error) return 1;
  complain(s, "unexpected error", nnc_error_text(error));
  nnc_error_release(error);
  return 0;
}

static void* read_all(const char* path, size_t* bytes) {
  FILE* f = fopen(path, "rb");
  char* data = NULL;
  long size;
  if (!f) return NULL;
  if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0 && (data = malloc((size_t)size + 1)) != NULL) {
    *bytes = (size_t)size;
    if (fread(data, 1, *bytes, f) != *bytes) {
      free(data);
      data = NULL;
    }
  }
  fclose(f);
  return data;
}

static int same(const struct script* s, const nnc_output* got, const struct expectation* want) {
  size_t bytes = 0, i;
  char* data = read_all(want->file, &bytes);
  int ok = 1;
  if (!data) return complain(s, "cannot read", want->file);
  if (bytes != got->bytes) ok = complain(s, "another size than", want->file);
  if (ok && want->rtol < 0 && memcmp(data, got->data, bytes) != 0) ok = complain(s, "other bits than", want->file);
  if (ok && want->rtol >= 0 && got->dtype == NNC_F32) {
    for (i = 0; ok && i < bytes / 4; ++i) {
      float x, y;
      memcpy(&x, (const char*)got->data + 4 * i, 4);
      memcpy(&y, data + 4 * i, 4);
      if (!(fabs((double)x - y) <= want->atol + want->rtol * fabs((double)y))) {
        char text[128];
        snprintf(text, sizeof text, "element %zu is %g, %g expected", i, x, y);
        ok = complain(s, want->file, text);
      }
    }
  }
  free(data);
  return ok;
}

static nnc_dtype dtype_named(const char* name) {
  int t;
  for (t = 1; t <= NNC_C128; ++t)
    if (strcmp(nnc_dtype_name((nnc_dtype)t), name) == 0) return (nnc_dtype)t;
  return NNC_INVALID;
}

static int add_input(struct script* s, char* rest) {
  char *dtype = strtok(rest, " "), *file = strtok(NULL, " "), *extent;
  nnc_input* in = &s->inputs[s->input_count];
  if (!dtype || !file || s->input_count == kMaxValues) return complain(s, "in DTYPE FILE EXTENT... expected", "");
  in->dtype = dtype_named(dtype);
  in->rank = 0;
  in->dims = s->dims[s->input_count];
  while ((extent = strtok(NULL, " ")) != NULL && in->rank < NNC_MAX_RANK) s->dims[s->input_count][in->rank++] = strtoll(extent, NULL, 10);
  in->data = read_all(file, &in->bytes);
  if (!in->data) return complain(s, "cannot read", file);
  ++s->input_count;
  return 1;
}
static int add_output(struct script* s, const char* rest) {
  struct expectation* e = &s->expected[s->output_count];
  if (s->output_count == kMaxValues || sscanf(rest, "%511s %lf %lf", e->file, &e->rtol, &e->atol) != 3)
    return complain(s, "out FILE RTOL ATOL expected", "");
  ++s->output_count;
  return 1;
}

/* The outputs get as much room as what they must equal. */
static nnc_error* run(struct script* s, const char* entry) {
  size_t i;
  for (i = 0; i < s->output_count; ++i) {
    size_t bytes = 0;
    char* data = read_all(s->expected[i].file, &bytes);
    free(data);
    memset(&s->outputs[i], 0, sizeof s->outputs[i]);
    s->outputs[i].data = malloc(bytes + 1);
    s->outputs[i].room = bytes;
  }
  return nnc_session_run(s->session, entry, s->inputs, s->input_count, s->outputs, s->output_count);
}
static void forget(struct script* s) {
  size_t i;
  for (i = 0; i < s->input_count; ++i) free((void*)s->inputs[i].data);
  for (i = 0; i < s->output_count; ++i) free(s->outputs[i].data);
  s->input_count = s->output_count = 0;
}

static int64_t stat_of(struct script* s, int bindings) {
  nnc_session_stats stats;
  stats.struct_size = sizeof stats;
  if (!succeeded(s, nnc_session_get_stats(s->session, &stats))) return -2;
  return bindings ? stats.bindings : stats.allocations;
}

static int do_run(struct script* s, const char* entry) {
  int ok = succeeded(s, run(s, entry));
  size_t i;
  for (i = 0; ok && i < s->output_count; ++i) ok = same(s, &s->outputs[i], &s->expected[i]);
  forget(s);
  if (ok && s->allocations >= 0 && stat_of(s, 0) != s->allocations) ok = complain(s, "the run allocated", entry);
  return ok;
}
static int do_fail(struct script* s, char* rest) {
  char *entry = strtok(rest, " "), *code = strtok(NULL, " "), *words = strtok(NULL, "");
  nnc_error* error;
  int ok = 1;
  if (!entry || !code || !words) return complain(s, "fail ENTRY CODE WORDS expected", "");
  error = run(s, entry);
  if (nnc_error_code(error) != atoi(code) || !strstr(nnc_error_text(error), words))
    ok = complain(s, "not the error that was expected", nnc_error_text(error));
  snprintf(s->node, sizeof s->node, "%s", nnc_error_node(error));
  nnc_error_release(error);
  forget(s);
  return ok;
}

/* ---- states */
static void release_kept(struct script* s) {
  size_t i;
  for (i = 0; i < kMaxValues; ++i) {
    free(s->kept[i].data);
    memset(&s->kept[i], 0, sizeof s->kept[i]);
  }
}
static int keep(struct script* s) {
  size_t i;
  release_kept(s);
  for (i = 0; i < nnc_model_state_count(s->model); ++i) {
    nnc_value_info info;
    nnc_output now;
    memset(&now, 0, sizeof now);
    if (i == kMaxValues) return complain(s, "too many states", "");
    if (!succeeded(s, nnc_model_state(s->model, i, &info)) || !succeeded(s, nnc_session_get_state(s->session, info.name, &now))) return 0;
    s->kept[i] = now;
    s->kept[i].data = malloc(now.bytes + 1);
    memcpy(s->kept[i].data, now.data, now.bytes);
  }
  return i > 0 || complain(s, "the model has no states", "");
}
static int kept(struct script* s) {
  size_t i;
  for (i = 0; i < nnc_model_state_count(s->model) && i < kMaxValues; ++i) {
    nnc_value_info info;
    nnc_output now;
    memset(&now, 0, sizeof now);
    if (!succeeded(s, nnc_model_state(s->model, i, &info)) || !succeeded(s, nnc_session_get_state(s->session, info.name, &now))) return 0;
    if (!s->kept[i].data || s->kept[i].bytes != now.bytes || memcmp(s->kept[i].data, now.data, now.bytes) != 0)
      return complain(s, "a state has changed", info.name);
  }
  return i > 0 || complain(s, "the model has no states", "");
}
static int do_state(struct script* s, const char* rest) {
  char name[kMaxName];
  struct expectation e;
  nnc_output out;
  memset(&out, 0, sizeof out);
  if (sscanf(rest, "%511s %511s %lf %lf", name, e.file, &e.rtol, &e.atol) != 4)
    return complain(s, "state NAME FILE RTOL ATOL expected", "");
  return succeeded(s, nnc_session_get_state(s->session, name, &out)) && same(s, &out, &e);
}

/* ---- loading */
static void unload(struct script* s) {
  nnc_session_release(s->session);
  nnc_model_release(s->model);
  nnc_runtime_release(s->runtime);
  s->session = NULL;
  s->model = NULL;
  s->runtime = NULL;
}
static nnc_error* load(struct script* s) {
  nnc_runtime_options threads;
  nnc_model_options options;
  nnc_error* error;
  memset(&threads, 0, sizeof threads);
  memset(&options, 0, sizeof options);
  threads.struct_size = sizeof threads;
  threads.threads = 2;
  if (*s->device) threads.device = s->device;
  options.struct_size = sizeof options;
  options.allow_interpreter = s->interpreter;
  options.without_features = (const char* const*)s->without;
  options.without_feature_count = s->without_count;
  unload(s);
  error = nnc_runtime_create(&threads, &s->runtime);
  if (!error) error = nnc_model_load_file(s->runtime, s->artifact, &options, &s->model);
  if (!error) error = nnc_session_create(s->model, NULL, &s->session);
  return error;
}
static int refused(struct script* s, char* rest) {
  char *code = strtok(rest, " "), *words = strtok(NULL, "");
  nnc_error* error;
  int ok = 1;
  if (!code || !words) return complain(s, "refused CODE WORDS expected", "");
  error = load(s);
  if (nnc_error_code(error) != atoi(code) || !strstr(nnc_error_text(error), words))
    ok = complain(s, "not the error that was expected", nnc_error_text(error));
  nnc_error_release(error);
  unload(s);
  return ok;
}
static int add_without(struct script* s, const char* name) {
  if (s->without_count == kMaxValues) return complain(s, "too many features", "");
  s->without[s->without_count] = malloc(strlen(name) + 1);
  strcpy(s->without[s->without_count++], name);
  return 1;
}

/* What is said before loading: 1 or 0, or -1 if it is something else. */
static int before_loading(struct script* s, const char* word, char* rest) {
  if (strcmp(word, "device") == 0) return snprintf(s->device, sizeof s->device, "%s", rest) > 0;
  if (strcmp(word, "without") == 0) return add_without(s, rest);
  if (strcmp(word, "interpreter") == 0) {
    s->interpreter = atoi(rest);
    return 1;
  }
  if (strcmp(word, "load") == 0) return succeeded(s, load(s));
  if (strcmp(word, "refused") == 0) return refused(s, rest);
  if (strcmp(word, "in") == 0) return add_input(s, rest);
  if (strcmp(word, "out") == 0) return add_output(s, rest);
  return -1;
}
static int with_model(struct script* s, const char* word, char* rest) {
  nnc_code_counts counts;
  if (strcmp(word, "run") == 0) return do_run(s, rest);
  if (strcmp(word, "fail") == 0) return do_fail(s, rest);
  if (strcmp(word, "node") == 0) return strstr(s->node, rest) != NULL || complain(s, "another place", s->node);
  if (strcmp(word, "state") == 0) return do_state(s, rest);
  if (strcmp(word, "keep") == 0) return keep(s);
  if (strcmp(word, "kept") == 0) return kept(s);
  if (strcmp(word, "steady") == 0) return (s->allocations = stat_of(s, 0)) >= 0;
  if (strcmp(word, "bindings") == 0)
    return stat_of(s, 1) == strtoll(rest, NULL, 10) || complain(s, "another number of bindings than", rest);
  if (strcmp(word, "target") == 0)
    return strcmp(nnc_model_target(s->model), rest) == 0 || complain(s, "another target was taken", nnc_model_target(s->model));
  if (strcmp(word, "native") == 0)
    return succeeded(s, nnc_model_code_counts(s->model, NULL, &counts)) && (counts.vm == 0 || complain(s, "steps are interpreted", ""));
  return complain(s, "no command", word);
}

static int command(struct script* s, char* line) {
  char* rest = strchr(line, ' ');
  int done;
  if (rest)
    *rest++ = 0;
  else
    rest = line + strlen(line);
  done = before_loading(s, line, rest);
  if (done >= 0) return done;
  if (!s->session && !succeeded(s, load(s))) return 0;
  return with_model(s, line, rest);
}

int run_script(const char* artifact, const char* path) {
  static struct script s;
  static char line[kMaxLine];
  int ok = 1;
  FILE* f = fopen(path, "r");
  if (!f) return complain(&s, "cannot read", path);
  s.artifact = artifact;
  s.interpreter = 1;
  s.allocations = -1;
  while (ok && fgets(line, sizeof line, f)) {
    ++s.line;
    line[strcspn(line, "\n")] = 0;
    if (*line) ok = command(&s, line);
  }
  fclose(f);
  forget(&s);
  release_kept(&s);
  unload(&s);
  while (s.without_count > 0) free(s.without[--s.without_count]);
  if (ok) printf("%d lines\n", s.line);
  return ok;
}
