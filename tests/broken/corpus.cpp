#include "tests/broken/corpus.h"

#include <cmath>

#include "ir/support/text.h"
#include "tests/unit/onnx/make_onnx.h"

namespace nnc::test {

namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

std::string two_floats() { return {"\0\0\x80\x3f\0\0\0\x40", 8}; }

// y = relu(x): what a file of no harm looks like.
std::string sound_model() {
  GraphMaker g;
  g.input("x", {2}).add("Relu", {"x"}, {"y"}).output("y");
  return model(g, 13);
}

// A tensor whose data lies in a file, by these entries.
WireWriter external(const std::string& name, DataType type, const std::vector<int64_t>& dims, const Entries& entries) {
  WireWriter t = tensor_header(name, type, dims);
  for (const auto& [k, v] : entries) t.message(13, WireWriter().bytes(1, k).bytes(2, v));
  return t.varint(14, 1);
}
std::string with_external(const Entries& entries, const std::vector<int64_t>& dims = {2}) {
  GraphMaker g;
  g.initializer(external("w", DataType::kFloat, dims, entries)).add("Identity", {"w"}, {"y"}).output("y");
  return model(g, 13);
}
// One initializer as it is.
std::string with_tensor(const WireWriter& tensor) {
  GraphMaker g;
  g.initializer(tensor).add("Identity", {"w"}, {"y"}).output("y");
  return model(g, 13);
}
std::string with_node(const WireWriter& n) {
  GraphMaker g;
  g.input("x", {2, 3}).add(n).output("y");
  return model(g, 13);
}

using List = std::vector<BrokenFile>;

// ---- files that a model names

void paths(List& out) {
  const std::string row = "`..`/absolute path in external data";
  for (const char* path : {"../w.data", "/etc/passwd", "sub/../../w.data", "./../w.data", "..", "/proc/self/mem"})
    out.push_back(
        {.row = row, .name = cat("path-", out.size()), .model = with_external({{"location", path}}), .expected = Code::kPathEscape});
  out.push_back({.row = row,
                 .name = "path-nul",
                 .model = with_external({{"location", std::string("w.data\0x", 8)}}),
                 .expected = Code::kInvalidData});
  // Every kind of tensor goes through the one opener: here an attribute's, in a branch.
  GraphMaker branch;
  branch.add("Constant", {}, {"v"}, {attr_t("value", external("v", DataType::kFloat, {2}, {{"location", "../w.data"}}))}).output("v");
  GraphMaker g;
  g.input("c", DataType::kBool, {})
      .add("If", {"c"}, {"y"}, {attr_g("then_branch", branch.message()), attr_g("else_branch", branch.message())});
  g.output("y");
  out.push_back({.row = row, .name = "path-in-branch", .model = model(g, 13), .expected = Code::kPathEscape});

  const std::string links = "symlink / hardlink / race after check", good = with_external({{"location", "l.data"}});
  out.push_back({.row = links,
                 .name = "symlink",
                 .model = good,
                 .beside = {{"w.data", two_floats()}},
                 .links = {{"l.data", "w.data"}},
                 .expected = Code::kPathEscape});
  out.push_back(
      {.row = links, .name = "symlink-out", .model = good, .links = {{"l.data", "/etc/hostname"}}, .expected = Code::kPathEscape});
  out.push_back({.row = links,
                 .name = "symlinked-folder",
                 .model = with_external({{"location", "sub/w.data"}}),
                 .links = {{"sub", "/tmp"}},
                 .expected = Code::kPathEscape});
  out.push_back({.row = links,
                 .name = "hardlink",
                 .model = good,
                 .beside = {{"w.data", two_floats()}},
                 .hardlinks = {{"l.data", "w.data"}},
                 .expected = Code::kPathEscape});

  const std::string ranges = "offset/length beyond file, negative, huge; unknown keys";
  const Entries cases[] = {{{"offset", "4"}},
                           {{"offset", "9223372036854775807"}},
                           {{"offset", "99999999999999999999"}},
                           {{"offset", "-1"}},
                           {{"length", "4"}},
                           {{"length", "-8"}},
                           {{"length", "9223372036854775807"}},
                           {{"offset", "18446744073709551612"}, {"length", "8"}},
                           {{"offset", " 0"}},
                           {{"ofset", "0"}}};
  for (Entries e : cases) {
    e.insert(e.begin(), {"location", "w.data"});
    out.push_back({.row = ranges, .name = cat("range-", out.size()), .model = with_external(e), .beside = {{"w.data", two_floats()}}});
  }
  out.push_back({.row = ranges,
                 .name = "location-twice",
                 .model = with_external({{"location", "w.data"}, {"location", "../w.data"}}),
                 .beside = {{"w.data", two_floats()}},
                 .expected = Code::kPathEscape});

  out.push_back({.row = "truncated weights under mmap -> SIGBUS",
                 .name = "short-weights",
                 .model = with_external({{"location", "w.data"}}, {1 << 20}),
                 .beside = {{"w.data", two_floats()}}});
  out.push_back({.row = "truncated weights under mmap -> SIGBUS",
                 .name = "empty-weights",
                 .model = with_external({{"location", "w.data"}}),
                 .beside = {{"w.data", ""}}});

  const std::string magic = "in-band magic treated as trusted pointer";
  out.push_back({.row = magic,
                 .name = "memory-address",
                 .model = with_external({{"location", "*/_ORT_MEM_ADDR_/*"}, {"offset", "4096"}, {"length", "8"}}),
                 .expected = Code::kIo});

  // The indices of a sparse tensor in a file of their own: whoever checks is who loads.
  WireWriter sparse;
  sparse.message(1, external("s", DataType::kFloat, {2}, {{"location", "../w.data"}})).message(2, ints("", {2}, {0, 1})).packed(3, {2});
  GraphMaker s;
  s.add("Constant", {}, {"y"}, {WireWriter().bytes(1, "sparse_value").message(22, sparse).varint(20, 11)}).output("y");
  out.push_back({.row = "checker and runtime disagree", .name = "sparse-external", .model = model(s, 13), .expected = Code::kPathEscape});
  WireWriter indices;
  indices.message(1, floats("s", {2}, {1, 2}))
      .message(2, external("i", DataType::kInt64, {2}, {{"location", "/etc/passwd"}}))
      .packed(3, {2});
  GraphMaker i;
  i.add("Constant", {}, {"y"}, {WireWriter().bytes(1, "sparse_value").message(22, indices).varint(20, 11)}).output("y");
  out.push_back(
      {.row = "checker and runtime disagree", .name = "sparse-external-indices", .model = model(i, 13), .expected = Code::kPathEscape});
}

// ---- sizes

void sizes(List& out) {
  const std::string overflow = "dims product overflows, small buffer + giant logical tensor";
  const std::vector<int64_t> products[] = {{int64_t(1) << 32, int64_t(1) << 32}, {INT64_MAX, 2}, {int64_t(1) << 62, 4}, {int64_t(1) << 40}};
  for (const auto& dims : products)
    out.push_back({.row = overflow,
                   .name = cat("product-", out.size()),
                   .model = with_tensor(tensor_header("w", DataType::kFloat, dims).bytes(9, two_floats()))});
  out.push_back({.row = overflow,
                 .name = "product-negative",
                 .model = with_tensor(tensor_header("w", DataType::kFloat, {-1, -2}).bytes(9, two_floats()))});

  // The same by other ways: an attribute, a function's body, a branch.
  const WireWriter giant = tensor_header("v", DataType::kFloat, {int64_t(1) << 32, int64_t(1) << 32}).bytes(9, two_floats());
  const std::string second = "fix bypassed by a second path";
  out.push_back({.row = second, .name = "giant-attribute", .model = with_node(node("Constant", {}, {"y"}, {attr_t("value", giant)}))});
  GraphMaker branch;
  branch.initializer(giant).add("Identity", {"v"}, {"b"}).output("b");
  GraphMaker g;
  g.input("c", DataType::kBool, {})
      .add("If", {"c"}, {"y"}, {attr_g("then_branch", branch.message()), attr_g("else_branch", branch.message())});
  g.output("y");
  out.push_back({.row = second, .name = "giant-in-branch", .model = model(g, 13)});
  WireWriter f;
  f.bytes(1, "F").bytes(10, "own").bytes(4, "a").bytes(5, "b").message(7, node("Constant", {}, {"b"}, {attr_t("value", giant)}));
  f.message(9, WireWriter().varint(2, 17));
  GraphMaker call;
  call.input("x", {2}).add(node("F", {"x"}, {"y"}, {}, "call", "own")).output("y");
  out.push_back({.row = second, .name = "giant-in-function", .model = model(call, 17, {f})});

  const std::string bomb = "\"shape bomb\"/alloc bomb: tiny file, petabyte tensor";
  const auto bombed = [&](const std::string& name, GraphMaker& b) {
    out.push_back({.row = bomb, .name = name, .model = model(b, 13), .expected = Code::kOutOfMemory});
  };
  GraphMaker fill;
  fill.initializer(ints("n", {2}, {int64_t(1) << 24, int64_t(1) << 23}))
      .add("ConstantOfShape", {"n"}, {"z"})
      .add("Neg", {"z"}, {"y"})
      .output("y");
  bombed("bomb-fill", fill);
  GraphMaker tile;
  tile.initializer(ints("n", {1}, {int64_t(1) << 45})).initializer(floats("v", {1}, {1})).add("Tile", {"v", "n"}, {"y"}).output("y");
  bombed("bomb-tile", tile);
  GraphMaker expand;
  expand.initializer(ints("n", {3}, {1 << 16, 1 << 16, 1 << 14}))
      .initializer(floats("v", {1}, {1}))
      .add("Expand", {"v", "n"}, {"y"})
      .output("y");
  bombed("bomb-expand", expand);
  GraphMaker range;
  range.initializer(ints("a", {}, {0})).initializer(ints("b", {}, {int64_t(1) << 46})).initializer(ints("d", {}, {1}));
  range.add("Range", {"a", "b", "d"}, {"y"}).output("y");
  bombed("bomb-range", range);
  GraphMaker chain;
  chain.initializer(floats("v0", {256}, std::vector<float>(256, 1)));
  for (int k = 0; k < 40; ++k) chain.add("Concat", {cat("v", k), cat("v", k)}, {cat("v", k + 1)}, {attr_i("axis", 0)});
  chain.output("v40");
  bombed("bomb-doubling", chain);

  const std::string zip = "compressed/zip container bomb";
  out.push_back({.row = zip, .name = "gzip", .model = std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10) + std::string(64, '\xff')});
  out.push_back({.row = zip, .name = "zip", .model = std::string("PK\x03\x04\x2d\0\0\0\x08\0", 10) + std::string(64, '\0')});

  const std::string dims = "negative, zero, unknown dims";
  GraphMaker negative;
  negative.input("x", {-3, 2}).add("Relu", {"x"}, {"y"}).output("y");
  out.push_back({.row = dims, .name = "dim-negative", .model = model(negative, 13), .expected = Code::kOk});
  GraphMaker zero;
  zero.input("x", {0, 4}).initializer(ints("to", {2}, {-1, 0})).add("Reshape", {"x", "to"}, {"y"}).output("y");
  out.push_back({.row = dims, .name = "dim-reshape-of-nothing", .model = model(zero, 13), .expected = Code::kOk});
  GraphMaker stride;
  stride.input("x", {1, 1, 8}).initializer(floats("w", {1, 1, 3}, {1, 1, 1}));
  stride.add("Conv", {"x", "w"}, {"y"}, {attr_ints("strides", {0})}).output("y");
  out.push_back({.row = dims, .name = "stride-zero", .model = model(stride, 13)});
  GraphMaker group;
  group.input("x", {1, 1, 8})
      .initializer(floats("w", {1, 1, 3}, {1, 1, 1}))
      .add("Conv", {"x", "w"}, {"y"}, {attr_i("group", 0)})
      .output("y");
  out.push_back({.row = dims, .name = "group-zero", .model = model(group, 13)});
  GraphMaker divide;
  divide.input("x", DataType::kInt32, {2}).initializer(tensor_proto<int32_t>("zero", DataType::kInt32, {}, {0}));
  divide.add("Div", {"x", "zero"}, {"y"}).output("y");
  out.push_back({.row = dims, .name = "divide-by-zero", .model = model(divide, 13), .expected = Code::kOk});
}

// ---- structure

void structure(List& out) {
  const std::string deep = "recursion: protobuf groups, nested subgraphs";
  std::string groups;
  for (int k = 0; k < 20000; ++k) groups += '\x7b';  // field 15, start of a group, over and over
  out.push_back({.row = deep, .name = "groups", .model = sound_model() + groups});
  WireWriter g = GraphMaker().add("Relu", {"x"}, {"v"}).output("v").message();
  for (int k = 0; k < 200; ++k)
    g = GraphMaker()
            .add("If", {"c"}, {"v"}, {attr_g("then_branch", g), attr_g("else_branch", GraphMaker().output("x").message())})
            .output("v")
            .message();
  GraphMaker top;
  top.input("x", {2}).input("c", DataType::kBool, {});
  top.add("If", {"c"}, {"y"}, {attr_g("then_branch", g), attr_g("else_branch", GraphMaker().output("x").message())}).output("y");
  out.push_back({.row = deep, .name = "nested-200", .model = model(top, 13), .expected = Code::kLimit});

  WireWriter wide = GraphMaker().add("Relu", {"x"}, {"v0"}).output("v0").message();
  for (int k = 1; k < 14; ++k) {
    const std::string in = cat("v", k - 1), v = cat("v", k);
    (void)in;
    wide = GraphMaker().add("If", {"c"}, {v}, {attr_g("then_branch", wide), attr_g("else_branch", wide)}).output(v).message();
  }
  // Functions that call the one below twice: 2^40 nodes when inlined.
  std::vector<WireWriter> functions;
  for (int k = 0; k < 40; ++k) {
    WireWriter f;
    const std::string below = cat("F", k - 1);
    f.bytes(1, cat("F", k)).bytes(10, "own").bytes(4, "a").bytes(5, "c");
    if (k == 0) {
      f.message(7, node("Relu", {"a"}, {"c"}));
    } else {
      f.message(7, node(below, {"a"}, {"b"}, {}, "", "own")).message(7, node(below, {"b"}, {"c"}, {}, "", "own"));
    }
    f.message(9, WireWriter().varint(2, 17)).message(9, WireWriter().bytes(1, "own").varint(2, 1));
    functions.push_back(f);
  }
  GraphMaker calls;
  calls.input("x", {2}).add(node("F39", {"x"}, {"y"}, {}, "", "own")).output("y");
  out.push_back(
      {.row = "exponential work from nesting", .name = "functions-2^40", .model = model(calls, 17, functions), .expected = Code::kLimit});

  const std::string cycles = "cyclic functions / graphs";
  WireWriter self, ping, pong;
  self.bytes(1, "F").bytes(10, "own").bytes(4, "a").bytes(5, "b").message(7, node("F", {"a"}, {"b"}, {}, "", "own"));
  ping.bytes(1, "F").bytes(10, "own").bytes(4, "a").bytes(5, "b").message(7, node("G", {"a"}, {"b"}, {}, "", "own"));
  pong.bytes(1, "G").bytes(10, "own").bytes(4, "a").bytes(5, "b").message(7, node("F", {"a"}, {"b"}, {}, "", "own"));
  for (WireWriter* w : {&self, &ping, &pong})
    w->message(9, WireWriter().varint(2, 17)).message(9, WireWriter().bytes(1, "own").varint(2, 1));
  GraphMaker call;
  call.input("x", {2}).add(node("F", {"x"}, {"y"}, {}, "", "own")).output("y");
  out.push_back({.row = cycles, .name = "function-self", .model = model(call, 17, {self}), .expected = Code::kLimit});
  out.push_back({.row = cycles, .name = "function-mutual", .model = model(call, 17, {ping, pong}), .expected = Code::kLimit});
  GraphMaker cycle;
  cycle.input("x", {2}).add("Add", {"x", "b"}, {"a"}).add("Relu", {"a"}, {"b"}).add("Neg", {"b"}, {"y"}).output("y");
  out.push_back({.row = cycles, .name = "graph-cycle", .model = model(cycle, 13)});

  const std::string dangling = "dangling input/output";
  GraphMaker lost;
  lost.input("x", {2}).add("Add", {"x", "nowhere"}, {"y"}).output("y");
  out.push_back({.row = dangling, .name = "input-dangling", .model = model(lost, 13)});
  GraphMaker nothing;
  nothing.input("x", {2}).add("Relu", {"x"}, {"z"}).output("y");
  out.push_back({.row = dangling, .name = "output-dangling", .model = model(nothing, 13)});
  GraphMaker absent;
  absent.input("x", {2}).add("Add", {"x", ""}, {"y"}).output("y");
  out.push_back({.row = dangling, .name = "input-absent", .model = model(absent, 13)});
  out.push_back({.row = dangling, .name = "no-graph", .model = WireWriter().varint(1, 8).message(8, WireWriter().varint(2, 13)).data()});

  const std::string twice = "duplicate names / node ids / huge declared count";
  GraphMaker two;
  two.input("x", {2}).add("Relu", {"x"}, {"y"}).add("Neg", {"x"}, {"y"}).output("y");
  out.push_back({.row = twice, .name = "name-twice", .model = model(two, 13)});
  GraphMaker inputs;
  inputs.input("x", {2}).input("x", {3}).add("Relu", {"x"}, {"y"}).output("y");
  out.push_back({.row = twice, .name = "input-twice", .model = model(inputs, 13)});
  // A length of 2^31 - 1 of packed dims that are not there.
  out.push_back({.row = twice, .name = "count-huge", .model = std::string("\x3a\xff\xff\xff\xff\x07", 6) + std::string(16, '\0')});
}

// ---- values of fields

void fields(List& out) {
  const std::string enums = "invalid enum (elem_type, attribute type, tensor type)";
  for (const uint64_t type : {uint64_t(0), uint64_t(99), uint64_t(0xffffffffffffffff)}) {
    WireWriter t = WireWriter().packed(1, {2}).varint(2, type).bytes(8, "w").bytes(9, two_floats());
    out.push_back({.row = enums, .name = cat("tensor-type-", out.size()), .model = with_tensor(t)});
    GraphMaker g;
    g.input("x", static_cast<DataType>(type), {2}).add("Relu", {"x"}, {"y"}).output("y");
    out.push_back({.row = enums, .name = cat("elem-type-", out.size()), .model = model(g, 13)});
    const WireWriter attribute = WireWriter().bytes(1, "axis").varint(3, 0).varint(20, type);
    if (type != 0)  // zero: files of old writers, which is then told by the field that is there
      out.push_back(
          {.row = enums, .name = cat("attribute-type-", out.size()), .model = with_node(node("Softmax", {"x"}, {"y"}, {attribute}))});
  }
  out.push_back({.row = enums, .name = "cast-to", .model = with_node(node("Cast", {"x"}, {"y"}, {attr_i("to", 12345)}))});

  const std::string kinds = "attribute wrong kind/length";
  out.push_back({.row = kinds, .name = "axis-float", .model = with_node(node("Softmax", {"x"}, {"y"}, {attr_f("axis", 1)}))});
  out.push_back({.row = kinds, .name = "axis-list", .model = with_node(node("Softmax", {"x"}, {"y"}, {attr_ints("axis", {1, 2})}))});
  out.push_back({.row = kinds, .name = "axis-huge", .model = with_node(node("Softmax", {"x"}, {"y"}, {attr_i("axis", INT64_MIN)}))});
  out.push_back({.row = kinds, .name = "perm-short", .model = with_node(node("Transpose", {"x"}, {"y"}, {attr_ints("perm", {0})}))});
  out.push_back({.row = kinds, .name = "perm-twice", .model = with_node(node("Transpose", {"x"}, {"y"}, {attr_ints("perm", {1, 1})}))});
  out.push_back({.row = kinds, .name = "perm-outside", .model = with_node(node("Transpose", {"x"}, {"y"}, {attr_ints("perm", {0, 7})}))});
  GraphMaker pool;
  pool.input("x", {1, 1, 4, 4}).add("MaxPool", {"x"}, {"y"}, {attr_ints("kernel_shape", {2})}).output("y");
  out.push_back({.row = kinds, .name = "kernel-short", .model = model(pool, 13)});

  const std::string index = "run-time index out of bounds";
  GraphMaker gather;
  gather.input("x", {2, 3}).input("i", DataType::kInt64, {1}).add("Gather", {"x", "i"}, {"y"}, {attr_i("axis", 0)}).output("y");
  out.push_back({.row = index, .name = "gather-outside", .model = model(gather, 13), .expected = Code::kIndexOutOfRange});
  GraphMaker constant;
  constant.input("x", {2, 3}).initializer(ints("i", {1}, {7})).add("Gather", {"x", "i"}, {"y"}, {attr_i("axis", 0)}).output("y");
  out.push_back({.row = index, .name = "gather-constant-outside", .model = model(constant, 13), .expected = Code::kIndexOutOfRange});
  GraphMaker scatter;
  scatter.input("x", {4}).initializer(ints("i", {1, 1}, {-9})).initializer(floats("u", {1}, {1}));
  scatter.add("ScatterND", {"x", "i", "u"}, {"y"}).output("y");
  out.push_back({.row = index, .name = "scatter-outside", .model = model(scatter, 13), .expected = Code::kIndexOutOfRange});

  out.push_back({.row = "user buffer smaller than shape",
                 .name = "raw-short",
                 .model = with_tensor(tensor_header("w", DataType::kFloat, {64}).bytes(9, two_floats()))});
  out.push_back({.row = "user buffer smaller than shape",
                 .name = "raw-odd",
                 .model = with_tensor(tensor_header("w", DataType::kFloat, {2}).bytes(9, "1234567"))});

  const std::string strings = "string tensors";
  out.push_back({.row = strings, .name = "strings-few", .model = with_tensor(tensor_header("w", DataType::kString, {3}).bytes(6, "a"))});
  out.push_back(
      {.row = strings, .name = "strings-raw", .model = with_tensor(tensor_header("w", DataType::kString, {1}).bytes(9, two_floats()))});

  const std::string nan = "NaN/Inf/denormal weights, NaN bounds";
  GraphMaker clip;
  clip.input("x", {2})
      .initializer(floats("lo", {}, {NAN}))
      .initializer(floats("hi", {}, {INFINITY}))
      .initializer(floats("w", {2}, {1e-42f, NAN}));
  clip.add("Mul", {"x", "w"}, {"m"}).add("Clip", {"m", "lo", "hi"}, {"y"}).output("y");
  out.push_back({.row = nan, .name = "nan-bounds", .model = model(clip, 13), .expected = Code::kOk});
}

// ---- names and code

void names(List& out) {
  const std::string text = "name/attribute text in generated code";
  out.push_back({.row = text, .name = "names-plain", .model = sound_model(), .expected = Code::kOk});
  const std::string hostile[] = {"\"); system(\"true\"); //",
                                 "*/ int main(){} /*",
                                 "a\nb\rc\\",
                                 "\xe2\x80\xae evil \xf0\x9f\x92\xa9",
                                 std::string(60000, 'n'),
                                 "$(touch x); `touch x`; | touch x",
                                 "../../../../tmp/evil",
                                 "%s%n%s%n",
                                 std::string("a\0b", 3)};
  for (const std::string& name : hostile) {
    GraphMaker g;
    const bool long_name = name.size() > 4096;
    g.input(name, {2}).add("Relu", {name}, {name + "y"}, {}, name).output(name + "y");
    const std::string row = name.starts_with("$(")   ? "shell command from file or path text"
                            : name.starts_with("..") ? "path on save"
                                                     : text;
    out.push_back({.row = row,
                   .name = cat("names-", out.size()),
                   .model = model(g, 13),
                   .expected = long_name ? Code::kLimit : Code::kOk,
                   .same_as = long_name ? "" : "names-plain"});
  }
  const std::string config = "config in model selects code";
  const std::string imported = WireWriter().message(8, WireWriter().bytes(1, "com.evil").varint(2, 1)).data();
  out.push_back({.row = config,
                 .name = "custom-op",
                 .model = with_node(node("Run", {"x"}, {"y"}, {attr_s("library", "./evil.so")}, "", "com.evil")) + imported,
                 .expected = Code::kUnsupportedOp});
  out.push_back({.row = config,
                 .name = "python-op",
                 .model = with_node(node("PyOp", {"x"}, {"y"}, {attr_s("module", "os"), attr_s("func", "system")})),
                 .expected = Code::kUnsupportedOp});
}

}  // namespace

std::vector<BrokenFile> broken_corpus() {
  List out;
  paths(out);
  sizes(out);
  structure(out);
  fields(out);
  names(out);
  return out;
}

}  // namespace nnc::test
