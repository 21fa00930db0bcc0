// Files that are cut or broken: a clean error or the same result, never a crash, more than ten seconds or more memory than 4 x the file +
// 256 MiB. `broken_files [--cuts N MODEL.onnx] [--only NAME] [--list]`: every truncation of three small files, N cuts of a model (evenly
// spread, the last before its end), and the corpus (tests/broken/corpus.cpp), whose files go through importer, verifier, passes, planner
// and interpreter. Exit code 1 if one does not hold.

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "codegen/compile.h"
#include "codegen/emit.h"
#include "frontend/onnx/importer.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "runtime/cpu_device.h"
#include "runtime/session.h"
#include "tests/broken/artifact_flips.h"
#include "tests/broken/corpus.h"
#include "tests/broken/small_models.h"
#include "tests/conformance/isolated.h"

namespace {

using namespace nnc;

constexpr unsigned kSeconds = 10;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMeasured = false;  // shadow memory is not the program's
#else
constexpr bool kMeasured = true;
#endif

ByteView view_of(std::string_view s) { return {reinterpret_cast<const uint8_t*>(s.data()), s.size()}; }

struct Tally {
  size_t files = 0, errors = 0, same = 0, ran = 0, bad = 0;
  int64_t memory = 0, room = 0;

  void add(const std::string& what, const test::ItemResult& r) {
    ++files;
    errors += r.status == "error";
    same += r.status == "same";
    ran += r.status == "ran";
    if (r.status == "error" || r.status == "same" || r.status == "ran") return;
    ++bad;
    std::printf("  %s %s: %s\n", r.status.c_str(), what.c_str(), r.reason.c_str());
  }
  // Memory of the children that did the work, beside what this process has already.
  void peak(int64_t child, size_t file) {
    memory = std::max(memory, child);
    room = 4 * static_cast<int64_t>(file) + (int64_t(256) << 20);
    if (!kMeasured || child <= room) return;
    ++bad;
    std::printf("  MEMORY %lld MiB, %lld MiB allowed\n", static_cast<long long>(child >> 20), static_cast<long long>(room >> 20));
  }
  void print(const std::string& what) const {
    std::printf("%s: %zu files, %zu clean errors, %zu same result, %zu other checked runs, %zu bad; %lld MiB of memory%s\n", what.c_str(),
                files, errors, same, ran, bad, static_cast<long long>(memory >> 20), kMeasured ? "" : " (not judged under a sanitizer)");
    std::fflush(stdout);
  }
};

// ---- cuts

// What a module computes; what it says of its writer and versions is left out.
std::string meaning(Module& m) {
  m.metadata.clear();
  return print_module(m);
}

std::string whole_text(std::string_view file) {
  auto m = import_onnx(view_of(file), {});
  if (m.ok()) return meaning(**m);
  std::printf("the file itself is not sound: %s\n", m.error().str().c_str());
  std::exit(2);
}

test::ItemResult try_cut(std::string_view file, size_t size, const std::string& whole) {
  auto m = import_onnx(view_of(file.substr(0, size)), {});
  if (!m.ok()) {
    if (m.error().message.empty() || m.error().code == Code::kInternal) return {"BAD", m.error().str()};
    return {"error", ""};
  }
  if (const Status s = verify_or_error(**m); !s.ok()) return {"BAD", s.error().str()};
  return meaning(**m) == whole ? test::ItemResult{"same", ""} : test::ItemResult{"BAD", "another model than the whole file's"};
}

size_t cut_all(const std::string& what, const std::string& file, const std::vector<size_t>& sizes) {
  const std::string whole = whole_text(file);
  Tally t;
  const int64_t peak = test::run_isolated(
      sizes.size(), {.slice = 4096, .seconds = kSeconds},
      [&](const std::vector<size_t>& items, const test::ItemReporter& report) {
        for (const size_t i : items) {
          report.at(i);
          report.done(i, try_cut(file, sizes[i], whole));
        }
      },
      [&](size_t i, const test::ItemResult& r) { t.add(cat("cut at ", sizes[i]), r); });
  t.peak(peak, file.size());
  t.print(cat(what, ", ", file.size(), " bytes"));
  return t.bad;
}

std::vector<size_t> every_size(size_t bytes) {
  std::vector<size_t> out;
  for (size_t n = 0; n < bytes; ++n) out.push_back(n);
  return out;
}
std::vector<size_t> spread(size_t bytes, size_t count) {
  std::set<size_t> out;
  for (size_t k = 0; k < count; ++k) out.insert(k * bytes / count);
  for (size_t back = 1; out.size() < count; ++back) out.insert(bytes - back);
  return {out.begin(), out.end()};
}

// ---- the artifact

using Try = std::function<test::ItemResult(size_t)>;
size_t try_all(const std::string& what, size_t count, size_t bytes, size_t slice, const Try& one) {
  Tally t;
  const int64_t peak = test::run_isolated(
      count, {.slice = slice, .seconds = kSeconds},
      [&](const std::vector<size_t>& items, const test::ItemReporter& report) {
        for (const size_t i : items) {
          report.at(i);
          report.done(i, one(i));
        }
      },
      [&](size_t i, const test::ItemResult& r) { t.add(cat("at ", i), r); });
  t.peak(peak, bytes);
  t.print(cat(what, ", ", bytes, " bytes"));
  return t.bad;
}

size_t change_artifact(size_t every) {
  const Bytes good = test::small_artifact();
  const std::string answer = test::answer_of(good);
  const size_t bytes = good.size(), bits = bytes * 8;
  if (bytes > 16u << 10) return std::printf("the artifact has more than 16 KiB: %zu bytes\n", bytes), 1;
  return try_all("artifact, every truncation", bytes, bytes, 4096, [&](size_t n) { return test::try_truncated(good, n); }) +
         try_all("artifact, every bit, checksums kept", bits, bytes, 16384, [&](size_t b) { return test::try_flipped(good, b); }) +
         try_all(cat("artifact, every ", every == 1 ? "" : cat(every, "th "), "bit, checksums made anew"), bits / every, bytes, 4096,
                 [&](size_t b) { return test::try_resealed(good, b * every, answer); });
}

// ---- corpus

// What a file comes to: the error's code, or the text of all its kernels' code and what it answers.
struct Outcome {
  Code code = Code::kOk;
  std::string text;
};
Outcome failed(const Error& e) { return {e.code, e.str()}; }

// Inputs of ones, out-of-range as indices; unknown extents are 2.
std::vector<Tensor> inputs_of(const Module& m) {
  std::vector<Tensor> out;
  const Graph& g = *m.entries[0]->graph;
  for (const ValueId v : g.inputs()) {
    std::vector<int64_t> dims;
    for (const Dim& d : g.type(v).shape) dims.push_back(d.is_const() ? d.constant() : 2);
    Tensor t(g.type(v).dtype, dims);
    for (int64_t k = 0; k < t.count(); ++k) {
      if (is_float(t.dtype()))
        store_f64(t.dtype(), t.data(), k, 1);
      else
        store_i64(t.dtype(), t.data(), k, t.dtype() == DType::kBool ? 1 : 1000);
    }
    out.push_back(std::move(t));
  }
  return out;
}

Outcome whole_way(const std::string& path) {
  auto m = import_onnx_file(path, {});
  if (!m.ok()) return failed(m.error());
  if (const Status s = verify_or_error(**m); !s.ok()) return {Code::kInternal, s.error().str()};
  const std::vector<Tensor> inputs = inputs_of(**m);
  CompileOptions options;
  options.native = false;
  if (const Status s = simplify_module(**m, options); !s.ok()) return failed(s.error());
  std::string text;
  for (const char* name : {"cpu:x86-64-v3", "cpu:vm"}) {
    const auto target = parse_target(name);
    auto compiled = compile_for_target(**m, *target, options);
    if (!compiled.ok()) return failed(compiled.error());
    for (const PlanKernel& k : compiled->program.kernels) {
      const auto kernel = parse_kernel(k.text);
      if (!kernel.ok()) return {Code::kInternal, kernel.error().str()};
      if (target->kind == TargetKind::kCpu) text += emit_cpu_unit({{&*kernel, k.name}}, *target);
    }
    if (target->kind != TargetKind::kVm) continue;
    std::vector<Tensor> constants;
    for (const ConstId id : compiled->constants) constants.push_back(compiled->module->constant(id));
    auto device = make_cpu_device({1, false, 50});
    if (!device.ok()) return failed(device.error());
    auto executable = Executable::create(*device, compiled->program, std::move(constants), {});
    if (!executable.ok()) return failed(executable.error());
    auto session = Session::create(*executable, {});
    if (!session.ok()) return failed(session.error());
    auto got = (*session)->run((*m)->entries[0]->name, inputs);
    if (!got.ok()) return failed(got.error());
    for (const Tensor& y : *got)
      for (int64_t k = 0; k < y.count(); ++k) append(text, " ", is_float(y.dtype()) ? cat(y.f64(k)) : cat(y.i64(k)));
  }
  return {Code::kOk, text};
}

void write(const std::string& path, const std::string& data) {
  if (!write_file_atomic(path, view_of(data)).ok()) std::abort();
}

// The model's path in a folder of its own.
std::string lay_out(const std::string& home, const test::BrokenFile& f) {
  write(home + "/model.onnx", f.model);
  for (const auto& [name, data] : f.beside) write(cat(home, "/", name), data);
  for (const auto& [name, target] : f.links)
    if (symlink(target.c_str(), cat(home, "/", name).c_str()) != 0) std::abort();
  for (const auto& [name, target] : f.hardlinks)
    if (link(cat(home, "/", target).c_str(), cat(home, "/", name).c_str()) != 0) std::abort();
  return home + "/model.onnx";
}

test::ItemResult try_file(const std::string& path, const test::BrokenFile& f, const std::string& same) {
  const Outcome o = whole_way(path);
  if (o.code != f.expected)
    return {"BAD", cat(o.code == Code::kOk ? std::string("it runs") : o.text.substr(0, 300), ", expected ", code_name(f.expected))};
  if (o.code != Code::kOk) return {"error", ""};
  if (!same.empty() && o.text != same) return {"BAD", "its kernels or answers are not those of the plain file"};
  return {same.empty() ? "ran" : "same", ""};
}

size_t run_corpus(const std::string& only) {
  const std::vector<test::BrokenFile> files = test::broken_corpus();
  std::vector<TempDir> folders;
  std::map<std::string, std::string> paths;
  std::set<std::string> rows;
  for (const test::BrokenFile& f : files) {
    auto folder = TempDir::create();
    if (!folder.ok() || !paths.emplace(f.name, lay_out(folder->path(), f)).second) std::abort();
    folders.push_back(std::move(*folder));
    rows.insert(f.row);
  }
  Tally t;
  for (const test::BrokenFile& f : files) {
    if (!only.empty() && f.name != only) continue;
    std::string same;
    if (!f.same_as.empty()) same = whole_way(paths.at(f.same_as)).text;
    const int64_t peak = test::run_isolated(
        1, {.slice = 1, .seconds = kSeconds},
        [&](const std::vector<size_t>&, const test::ItemReporter& report) {
          report.at(0);
          report.done(0, try_file(paths.at(f.name), f, same));
        },
        [&](size_t, const test::ItemResult& r) { t.add(cat(f.name, " (", f.row, ")"), r); });
    t.peak(peak, f.model.size());
  }
  t.print(cat("corpus of ", rows.size(), " rows"));
  return t.bad;
}

}  // namespace

int main(int argc, char** argv) {
  std::string only, model;
  size_t cuts = 0, every = 1;
  std::set<std::string_view> parts;
  for (int k = 1; k < argc; ++k) {
    const std::string_view a = argv[k];
    if (a == "--only" && k + 1 < argc) {
      only = argv[++k];
    } else if (a == "--cuts" && k + 2 < argc) {
      cuts = std::strtoull(argv[k + 1], nullptr, 10);
      model = argv[k + 2];
      k += 2;
    } else if (a == "--every" && k + 1 < argc) {
      every = std::max<size_t>(1, std::strtoull(argv[++k], nullptr, 10));
    } else if (a == "onnx" || a == "artifact" || a == "corpus") {
      parts.insert(a);
    } else if (a == "--list") {
      for (const test::BrokenFile& f : test::broken_corpus())
        std::printf("%-28s %-10s %s\n", f.name.c_str(), code_name(f.expected).c_str(), f.row.c_str());
      return 0;
    } else {
      std::fprintf(stderr, "usage: broken_files [onnx] [artifact] [corpus] [--cuts N MODEL.onnx] [--only NAME] [--every N] [--list]\n");
      return 2;
    }
  }
  if (!only.empty()) parts.insert("corpus");
  if (parts.empty()) parts = {"onnx", "artifact", "corpus"};
  size_t bad = 0;
  if (parts.count("onnx")) {
    bad += cut_all("every truncation: picture", test::picture_model(), every_size(test::picture_model().size()));
    bad += cut_all("every truncation: control", test::control_model(), every_size(test::control_model().size()));
    bad += cut_all("every truncation: mixed", test::mixed_model(), every_size(test::mixed_model().size()));
  }
  if (cuts > 0) {
    auto bytes = read_file(model, int64_t(1) << 30);
    if (!bytes.ok()) {
      std::printf("%s\n", bytes.error().str().c_str());
      return 2;
    }
    const std::string file(bytes->begin(), bytes->end());
    bad += cut_all(cat(cuts, " cuts of ", model.substr(model.rfind('/') + 1)), file, spread(file.size(), cuts));
  }
  if (parts.count("artifact")) bad += change_artifact(every);
  if (parts.count("corpus")) bad += run_corpus(only);
  std::printf("%zu bad\n", bad);
  return bad == 0 ? 0 : 1;
}
