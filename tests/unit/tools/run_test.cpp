// `nnc run`, `compile`, `bench` and `trust` on small models: inputs of every kind, outputs, comparisons, artifacts. Kernels are
// interpreted, so that no compiler is needed.

#include "tests/unit/tools/tool_fixture.h"

namespace nnc::tool {
namespace {

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

class Runs : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    environment_["NNC_TARGET"] = "cpu:vm";
    environment_["NNC_THREADS"] = "1";
  }
  const Tensor x_ = test::f32({2, 3}, {1, -2, 3, -4, 5, -6});
  const Tensor y_ = test::f32({2, 3}, {2, 0, 6, 0, 10, 0});
};

TEST_F(Runs, InputsOfEveryKind) {
  const std::string model = adder();
  const std::string one = npy("x.npy", x_), all = npz("all.npz", {{"x", x_}}), other = npz("other.npz", {{"images", x_}, {"rest", y_}});
  put("raw.bin", text_of({static_cast<const uint8_t*>(x_.data()), x_.bytes()}));
  make_folder("data");
  put("data/input_0.pb", test::floats("x", {2, 3}, {1, -2, 3, -4, 5, -6}).data());
  for (const std::string& spec : std::vector<std::string>{"x=@" + one, "@" + one, "@" + all, "x=@" + all, "x=@" + other + ":images",
                                                          "x=@" + path("raw.bin") + ":f32[2,3]", "@" + path("data/"),
                                                          "x=f32[2,3]:1,-2,3,-4,5,-6", "x=@" + path("data/input_0.pb")}) {
    const Outcome o = run({"run", model, "-i", spec, "-o", "y=@" + path("y.npy")});
    ASSERT_EQ(o.code, 0) << spec << "\n" << o.err;
    EXPECT_TRUE(read("y.npy").same_bits(y_)) << spec;
  }
  stdin_ = get("x.npy");
  EXPECT_EQ(run({"run", model, "-i", "x=@-", "-o", "@" + path("stdin.npy")}).code, 0);
  EXPECT_TRUE(read("stdin.npy").same_bits(y_));
}

TEST_F(Runs, OutputsOfEveryKind) {
  const std::string model = adder(), in = "x=@" + npy("x.npy", x_);
  EXPECT_TRUE(says(run({"run", model, "-i", in, "-o", "-"}).out, "y f32[2,3]\n[[2, 0, 6],\n [0, 10, 0]]\n"));
  EXPECT_TRUE(says(run({"run", model, "-i", in, "-o", "y=-"}).out, "[0, 10, 0]"));
  EXPECT_TRUE(says(run({"run", model, "-i", in}).out, "y       f32[2,3]"));
  EXPECT_EQ(run({"run", model, "-i", in, "-o", "@" + path("o.npz")}).code, 0);
  Budget budget;
  const std::string bytes = get("o.npz");
  const auto read = read_npz({bytes_of(bytes), "o.npz"}, budget);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ((*read)[0].name, "y");
  EXPECT_TRUE((*read)[0].tensor.same_bits(y_));
  EXPECT_EQ(run({"run", model, "-i", in, "-o", "z=@" + path("z.npy")}).code, 2);
  EXPECT_EQ(run({"run", model, "-i", in, "-o", "@" + path("no/folder/o.npz")}).code, 8);
}

TEST_F(Runs, TheInterpreterIsATarget) {
  const std::string model = adder(), in = "x=@" + npy("x.npy", x_), expect = "@" + npz("ref.npz", {{"y", y_}});
  const Outcome plain = run({"run", model, "-i", in, "--target", "eval", "-o", "y=@" + path("y.npy"), "--expect", expect});
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_TRUE(says(plain.err, "interpreted node by node")) << plain.err;
  EXPECT_TRUE(read("y.npy").same_bits(y_));
  const Outcome wide = run({"run", model, "-i", in, "--target", "eval:f64", "-o", "y=@" + path("y.npy"), "--expect", expect});
  EXPECT_EQ(wide.code, 0) << wide.err;
  EXPECT_EQ(read("y.npy").dtype(), DType::kF64);
  EXPECT_EQ(read("y.npy").f64(2), 6);
  EXPECT_EQ(run({"run", model, "-i", in, "--target", "eval:f16"}).code, 2);
  EXPECT_EQ(run({"run", model, "-i", in, "--target", "eval", "--device", "cpu"}).code, 2);
  EXPECT_EQ(run({"compile", model, "--target", "eval", "-o", path("m.nnb")}).code, 2);
}

TEST_F(Runs, ExpectDecidesTheExitCode) {
  const std::string model = adder(), in = "x=@" + npy("x.npy", x_);
  const Outcome pass = run({"run", model, "-i", in, "--expect", "@" + npz("ref.npz", {{"y", y_}})});
  EXPECT_EQ(pass.code, 0) << pass.err;
  EXPECT_TRUE(says(pass.out, "PASS")) << pass.out;
  const std::string near = "y=@" + npy("near.npy", test::f32({2, 3}, {2, 0, 6.001f, 0, 10, 0}));
  const Outcome fail = run({"run", model, "-i", in, "--expect", near});
  EXPECT_EQ(fail.code, 1);
  EXPECT_TRUE(says(fail.out, "FAIL") && says(fail.out, "1 of 6") && says(fail.out, "[0,2] got 6, expected 6.001")) << fail.out;
  EXPECT_EQ(run({"run", model, "-i", in, "--expect", near, "--rtol", "1e-3"}).code, 0);
  const Outcome shape = run({"run", model, "-i", in, "--expect", "y=@" + npy("flat.npy", Tensor(DType::kF32, {6}))});
  EXPECT_EQ(shape.code, 1);
  EXPECT_TRUE(says(shape.out, "got f32[2,3], expected f32[6]")) << shape.out;
  EXPECT_EQ(run({"run", model, "-i", in, "--expect", "z=@" + npy("z.npy", y_)}).code, 2);
  const test::Json j = json(run({"run", model, "-i", in, "--expect", near, "--json"}).out);
  EXPECT_EQ(j["schema"].text, "nnc.run/1");
  EXPECT_EQ(j["pass"].num(1), 0);
  EXPECT_EQ(j["comparison"].items.at(0)["over"].num(), 1);
  EXPECT_EQ(j["steps"]["vm"].num(), 1);
  EXPECT_EQ(j["steps"]["native"].num(), 0);
}

TEST_F(Runs, ModelsAndArtifactsThroughPipes) {
  const std::string model = adder(), in = "x=@" + npy("x.npy", x_);
  stdin_ = get("adder.onnx");
  EXPECT_EQ(run({"run", "-", "-i", in, "-o", "@" + path("y.npy")}).code, 0);
  EXPECT_TRUE(read("y.npy").same_bits(y_));
  const Outcome compiled = run({"compile", model, "-o", "-"});
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  EXPECT_TRUE(says(compiled.err, "wrote the artifact")) << compiled.err;
  ASSERT_EQ(run({"compile", model, "-o", path("m.nnb")}).code, 0);
  EXPECT_TRUE(compiled.out == get("m.nnb"));
  stdin_ = compiled.out;
  const Outcome o = run({"run", "-", "-i", in, "-o", "@" + path("z.npy"), "--allow-interpreter"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(read("z.npy").same_bits(y_));
}

TEST_F(Runs, EmitWritesWhatWasMadeOnTheWay) {
  const std::string model = adder();
  EXPECT_EQ(run({"compile", model, "-o", path("m.nnb"), "--emit", "ir,assembler"}).code, 2);
  const Outcome o = run({"compile", model, "-o", path("m.nnb"), "--target", "cpu:x86-64-v3,cpu:vm", "--emit", "ir,source,code"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(says(o.out, "m.nnb.d  7 files")) << o.out;
  EXPECT_TRUE(says(get("m.nnb.d/graph.nnir"), "relu"));
  EXPECT_TRUE(says(get("m.nnb.d/cpu-vm.plan"), "plan 1 target \"cpu:vm\""));
  EXPECT_TRUE(get("m.nnb.d/cpu-x86-64-v3.kernels").starts_with("kernel @"));
  EXPECT_TRUE(says(get("m.nnb.d/cpu-x86-64-v3-0.cpp"), "task0"));
  EXPECT_EQ(get("m.nnb.d/cpu-x86-64-v3-0.so").substr(1, 3), "ELF");
}

TEST_F(Runs, FolderBringsItsExpectations) {
  const std::string model = adder();
  make_folder("data");
  put("data/input_0.pb", test::floats("x", {1, 3}, {1, 2, 3}).data());
  put("data/output_0.pb", test::floats("y", {1, 3}, {2, 4, 7}).data());
  EXPECT_EQ(run({"run", model, "-i", "@" + path("data/")}).code, 1);
  put("data/output_0.pb", test::floats("y", {1, 3}, {2, 4, 6}).data());
  EXPECT_EQ(run({"run", model, "-i", "@" + path("data")}).code, 0);
}

TEST_F(Runs, CastConvertsInputs) {
  Tensor wide(DType::kF64, {2, 3});
  for (int64_t i = 0; i < 6; ++i) store_f64(DType::kF64, wide.data(), i, x_.f64(i));
  const std::string model = adder(), in = "x=@" + npy("wide.npy", wide);
  EXPECT_EQ(run({"run", model, "-i", in}).code, 2);
  EXPECT_EQ(run({"run", model, "-i", in, "--cast", "-o", "@" + path("y.npy")}).code, 0);
  EXPECT_TRUE(read("y.npy").same_bits(y_));
}

TEST_F(Runs, RandomInputsRepeatAndStayInRange) {
  const std::string model = lookup();
  const auto once = [&](const std::string& seed) {
    return run({"run", model, "--dim", "n=64", "--seed", seed, "-o", "@" + path("r" + seed + ".npy")});
  };
  const Outcome o = once("1");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_FALSE(says(o.err, "random integers in 0..1")) << o.err;
  const Tensor first = read("r1.npy");
  EXPECT_EQ(first.dims(), (std::vector<int64_t>{64, 2}));
  double most = 0;
  for (int64_t i = 0; i < first.count(); ++i) most = std::max(most, first.f64(i));
  EXPECT_EQ(most, 9);  // the table's last row was asked for
  once("1");
  EXPECT_TRUE(read("r1.npy").same_bits(first));
  once("2");
  EXPECT_FALSE(read("r2.npy").same_bits(first));
}

TEST_F(Runs, IndexOutOfRangeNamesTheNode) {
  const Outcome o = run({"run", lookup(), "-i", "ids=i64[2]:1,7"});
  EXPECT_EQ(o.code, 1);
  EXPECT_TRUE(says(o.err, "NNC-1003") && says(o.err, "/embed/Gather")) << o.err;
}

TEST_F(Runs, MissingAndDoubleInputs) {
  test::GraphMaker g;
  g.input("a", {2}).input("b", {2}).output("y").add("Add", {"a", "b"}, {"y"});
  put("two.onnx", test::model(g, 17));
  const Outcome o = run({"run", path("two.onnx"), "-i", "a=ones"});
  EXPECT_EQ(o.code, 2);
  EXPECT_TRUE(says(o.err, "an input is missing: b f32[2]")) << o.err;
  EXPECT_EQ(run({"run", path("two.onnx"), "-i", "a=ones", "-i", "a=ones", "-i", "b=ones"}).code, 2);
  EXPECT_EQ(run({"run", path("two.onnx"), "-i", "a=ones", "-i", "b=zeros"}).code, 0);
}

TEST_F(Runs, RequireNativeRefusesTheInterpreter) {
  const Outcome o = run({"run", adder(), "-i", "x=@" + npy("x.npy", x_), "--require", "native"});
  EXPECT_EQ(o.code, 5);
  EXPECT_TRUE(says(o.err, "NNC-5004")) << o.err;
}

TEST_F(Runs, ArtifactRunsLikeItsModel) {
  const std::string model = lookup(), artifact = path("l.nnb");
  const Outcome c = run({"compile", model, "--dim", "n=1..100@8", "-o", artifact});
  ASSERT_EQ(c.code, 0) << c.err;
  EXPECT_TRUE(says(c.out, "wrote ") && says(c.out, "1 vm")) << c.out;
  EXPECT_EQ(run({"run", artifact, "-i", "ids=i64[2]:1,3"}).code, 5);  // nothing but the interpreter
  const Outcome r = run({"run", artifact, "-i", "ids=i64[2]:1,3", "--allow-interpreter", "-o", "-"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(says(r.out, "[[2, 3],\n [6, 7]]")) << r.out;
  const Outcome random = run({"run", artifact, "--dim", "n=4", "--allow-interpreter"});
  EXPECT_EQ(random.code, 0) << random.err;
  EXPECT_FALSE(says(random.err, "random integers in 0..1")) << random.err;
  EXPECT_TRUE(says(run({"dump", artifact}).out, "index_limit.ids = 4"));
  EXPECT_EQ(run({"check", artifact}).code, 0);
  EXPECT_EQ(run({"compile", artifact}).code, 2);
  EXPECT_EQ(run({"run", artifact, "-i", "ids=i64[101]:0", "--allow-interpreter"}).code, 2);
  const std::string first = get("l.nnb");
  run({"compile", model, "--dim", "n=1..100@8", "-o", path("again.nnb")});
  EXPECT_EQ(get("again.nnb"), first);
}

TEST_F(Runs, TrustIsAskedForAndTaken) {
  const std::string artifact = path("t.nnb");
  ASSERT_EQ(run({"compile", adder(), "-o", artifact}).code, 0);
  const std::string digest = json(run({"dump", artifact, "--json"}).out)["digest"].text;
  ASSERT_EQ(digest.size(), 64u);
  EXPECT_TRUE(says(run({"trust"}).out, digest));
  EXPECT_EQ(run({"trust", "--remove", artifact}).code, 0);
  EXPECT_FALSE(says(run({"trust"}).out, digest));
  EXPECT_TRUE(says(run({"dump", artifact}).out, "not trusted"));
  EXPECT_EQ(run({"trust", artifact}).code, 0);
  EXPECT_FALSE(says(run({"dump", artifact}).out, "not trusted"));
  EXPECT_EQ(run({"trust", "--remove"}).code, 2);
}

// A branch over the value of an input is decided by the value that is given.
TEST_F(Runs, ProfilesOfValues) {
  test::GraphMaker then, otherwise, g;
  then.output("t").add("ReduceSum", {"x"}, {"t"}, {test::attr_i("keepdims", 0)});
  otherwise.output("e").add("Identity", {"x"}, {"e"});
  g.input("x", {2, 3}).input("sr", test::DataType::kInt64, {}).output("y").initializer(test::ints("rate", {}, {16000}));
  g.add("Equal", {"sr", "rate"}, {"is"})
      .add("If", {"is"}, {"y"}, {test::attr_g("then_branch", then.message()), test::attr_g("else_branch", otherwise.message())}, "/If");
  put("rates.onnx", test::model(g, 17));
  const std::string model = path("rates.onnx"), in = "x=@" + npy("x.npy", x_);
  EXPECT_TRUE(says(run({"run", model, "-i", in, "-i", "sr=i64[]:16000", "-o", "-"}).out, "y f32[]\n-3"));
  EXPECT_TRUE(says(run({"run", model, "-i", in, "-i", "sr=i64[]:8000", "-o", "-"}).out, "y f32[2,3]"));
  const std::string artifact = path("rates.nnb");
  const Outcome c = run({"compile", model, "--profile", "16k;value:sr=16000", "--profile", "8k;value:sr=8000", "-o", artifact});
  ASSERT_EQ(c.code, 0) << c.err;
  EXPECT_TRUE(says(run({"run", artifact, "-i", in, "-i", "sr=i64[]:16000", "--allow-interpreter", "-o", "-"}).out, "y f32[]\n-3"));
  EXPECT_TRUE(says(run({"run", artifact, "-i", in, "-i", "sr=i64[]:8000", "--allow-interpreter", "-o", "-"}).out, "y f32[2,3]"));
  EXPECT_EQ(run({"compile", model, "--profile", "a;value:rs=1"}).code, 2);
}

TEST_F(Runs, BenchMeasuresEveryCombination) {
  const Outcome o = run({"bench", adder(), "--dim", "batch=[1,4]", "--runs", "3", "--json"});
  ASSERT_EQ(o.code, 0) << o.err;
  const test::Json j = json(o.out);
  ASSERT_EQ(j["results"].items.size(), 2u);
  EXPECT_EQ(j["results"].items[1]["dims"]["batch"].num(), 4);
  for (const test::Json& r : j["results"].items) {
    EXPECT_EQ(r["runs"].num(), 3);
    EXPECT_GT(r["median"].num(), 0);
    EXPECT_LE(r["median"].num(), r["p99"].num());
  }
  EXPECT_TRUE(says(run({"bench", adder(), "--dim", "batch=2", "--runs", "2"}).out, "median"));
}

TEST_F(Runs, BenchTimesSteps) {
  const Outcome o = run({"bench", adder(), "--dim", "batch=2", "--runs", "8", "--steps", "--json"});
  ASSERT_EQ(o.code, 0) << o.err;
  const test::Json& times = json(o.out)["results"].items[0]["times"];
  ASSERT_EQ(times.items.size(), 1u);
  EXPECT_EQ(times.items[0]["calls"].num(), 1);
  EXPECT_GT(times.items[0]["seconds"].num(), 0);
  EXPECT_TRUE(says(run({"bench", adder(), "--dim", "batch=2", "--runs", "2", "--steps"}).out, "share"));
}

}  // namespace
}  // namespace nnc::tool
