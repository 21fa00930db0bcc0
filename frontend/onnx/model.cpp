#include "frontend/onnx/model.h"

#include <cstring>
#include <type_traits>

#include "frontend/onnx/wire.h"
#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

// Structs may take this many bytes for each byte of the file, and a fixed amount for small files: a two-byte empty node must not cost
// megabytes in a long list.
constexpr int64_t kStructBytesPerByte = 4;
constexpr int64_t kStructBytesFree = int64_t(64) << 20;

// One function per message. A singular message that occurs twice is merged, as the format demands: decoding goes on in the same struct.
class Decoder {
 public:
  Decoder(ByteView file, Budget& budget)
      : file_(file), budget_(budget), room_(static_cast<int64_t>(file.size()) * kStructBytesPerByte + kStructBytesFree) {}

  Status model(ByteView bytes, ModelProto* m);
  Status tensor(ByteView bytes, TensorProto* t);

 private:
  struct Nest {  // one level deeper for the lifetime
    explicit Nest(Decoder& d) : decoder(d) { ++decoder.depth_; }
    ~Nest() { --decoder.depth_; }
    Nest(const Nest&) = delete;
    Decoder& decoder;
  };

  size_t offset(ByteView bytes) const { return bytes.empty() ? 0 : static_cast<size_t>(bytes.data() - file_.data()); }
  Status charge(size_t bytes, size_t at);
  Status nested(size_t at) const { return budget_.within(Limit::kWireDepth, depth_).ok() ? Status() : deep("messages", at); }
  Status deep(std::string_view what, size_t at) const {
    return Error(Code::kLimit, cat("byte ", at, ": ", what, " are nested more deeply than ", budget_.limits()[Limit::kWireDepth]));
  }

  static Error wrong_type(const WireField& f) { return wire_error(cat("field ", f.number, " has the wrong wire type"), f.offset); }
  static Status need(const WireField& f, WireType type) { return f.type == type ? Status() : wrong_type(f); }
  static Status text(const WireField& f, std::string_view* out) {
    NNC_TRY(need(f, WireType::kBytes));
    *out = text_of(f.bytes);
    return {};
  }
  static Status integer(const WireField& f, int64_t* out) {
    NNC_TRY(need(f, WireType::kVarint));
    *out = static_cast<int64_t>(f.value);
    return {};
  }
  template <class E> static Status small(const WireField& f, E* out) {  // int32 and enumerations: the low 32 bits
    NNC_TRY(need(f, WireType::kVarint));
    *out = static_cast<E>(static_cast<int32_t>(f.value));
    return {};
  }
  template <class T> Result<T*> grow(std::vector<T>* list, size_t at) {
    NNC_TRY(charge(2 * sizeof(T), at));
    list->emplace_back();
    return &list->back();
  }
  Status texts(const WireField& f, std::vector<std::string_view>* list) {
    NNC_ASSIGN(std::string_view * item, grow(list, f.offset));
    return text(f, item);
  }
  Status integers(const WireField& f, std::vector<int64_t>* list);
  Status floats(const WireField& f, std::vector<float>* list);
  // Appends an element to `list` and decodes the field into it with `decode`.
  template <class T> Status item(const WireField& f, std::vector<T>* list, Status (Decoder::*decode)(ByteView, T*)) {
    NNC_TRY(need(f, WireType::kBytes));
    NNC_ASSIGN(T * element, grow(list, f.offset));
    return (this->*decode)(f.bytes, element);
  }
  template <class T> Status child(const WireField& f, std::unique_ptr<T>* slot, Status (Decoder::*decode)(ByteView, T*)) {
    NNC_TRY(need(f, WireType::kBytes));
    if (*slot == nullptr) {
      NNC_TRY(charge(sizeof(T) + 16, f.offset));
      *slot = std::make_unique<T>();
    }
    return (this->*decode)(f.bytes, slot->get());
  }

  Status graph(ByteView bytes, GraphProto* g);
  Status node(ByteView bytes, NodeProto* n);
  Status attribute(ByteView bytes, AttributeProto* a);
  Status sparse(ByteView bytes, SparseTensorProto* t);
  Status value_info(ByteView bytes, ValueInfoProto* v);
  Status type(ByteView bytes, TypeProto* t);
  Status tensor_type(ByteView bytes, TypeProto* t);
  Status element_type(ByteView bytes, TypeProto* t);
  Status shape(ByteView bytes, TypeProto* t);
  Status dimension(ByteView bytes, DimensionProto* d);
  Status opset(ByteView bytes, OpsetImport* o);
  Status function(ByteView bytes, FunctionProto* fn);
  Status entry(ByteView bytes, StringEntry* e);

  ByteView file_;
  Budget& budget_;
  int64_t room_;
  int64_t depth_ = 0;
  int64_t graph_depth_ = 0;
};

Status Decoder::charge(size_t bytes, size_t at) {
  room_ -= static_cast<int64_t>(bytes);
  if (room_ < 0) return Error(Code::kLimit, cat("byte ", at, ": the file's lists take more memory than its size explains"));
  return budget_.charge(Limit::kTotalBytes, static_cast<int64_t>(bytes));
}

Status Decoder::integers(const WireField& f, std::vector<int64_t>* list) {
  if (f.type != WireType::kVarint && f.type != WireType::kBytes) return wrong_type(f);
  PackedVarints values(f);
  const size_t count = values.count();
  NNC_TRY(charge((f.type == WireType::kBytes ? 1 : 2) * count * sizeof(int64_t), f.offset));
  if (f.type == WireType::kBytes) list->reserve(list->size() + count);
  for (uint64_t v = 0;;) {
    NNC_ASSIGN(const bool more, values.next(&v));
    if (!more) return {};
    list->push_back(static_cast<int64_t>(v));
  }
}

Status Decoder::floats(const WireField& f, std::vector<float>* list) {
  uint8_t store[8];
  NNC_ASSIGN(const ByteView raw, fixed_elements(f, WireType::kFixed32, store));
  NNC_TRY(charge(2 * raw.size(), f.offset));
  for (size_t i = 0; i < raw.size(); i += 4) {
    float v = 0;
    std::memcpy(&v, raw.data() + i, 4);
    list->push_back(v);
  }
  return {};
}

// Runs `BODY` for each field `f` of `bytes`; what it doesn't name is skipped, as the format demands.
#define NNC_FIELDS(BODY)                            \
  Nest nest_(*this);                                \
  NNC_TRY(nested(offset(bytes)));                   \
  WireReader reader_(bytes, offset(bytes));         \
  for (WireField f;;) {                             \
    NNC_ASSIGN(const bool more_, reader_.next(&f)); \
    if (!more_) return {};                          \
    switch (f.number) { BODY default : break; }     \
  }
#define NNC_FIELD(number, call) \
  case number: NNC_TRY(call); break;

Status Decoder::entry(ByteView bytes, StringEntry* e){NNC_FIELDS(NNC_FIELD(1, text(f, &e->first)) NNC_FIELD(2, text(f, &e->second)))}

Status Decoder::opset(ByteView bytes, OpsetImport* o){NNC_FIELDS(NNC_FIELD(1, text(f, &o->domain)) NNC_FIELD(2, integer(f, &o->version)))}

Status Decoder::tensor(ByteView bytes, TensorProto* t) {
  if (t->parts.empty()) {
    NNC_TRY(budget_.charge(Limit::kTensors, 1));
    t->offset = offset(bytes);
  }
  NNC_TRY(charge(sizeof(ByteView) * 2, offset(bytes)));
  t->parts.push_back(bytes);
  const auto raw = [&](const WireField& f) -> Status {
    NNC_TRY(need(f, WireType::kBytes));
    t->raw = f.bytes;
    t->has_raw = true;
    return {};
  };
  const auto segment = [&] {
    t->has_segment = true;
    return Status();
  };
  NNC_FIELDS(NNC_FIELD(1, integers(f, &t->dims)) NNC_FIELD(2, small(f, &t->data_type)) NNC_FIELD(3, segment())
                 NNC_FIELD(8, text(f, &t->name)) NNC_FIELD(9, raw(f)) NNC_FIELD(13, item(f, &t->external, &Decoder::entry))
                     NNC_FIELD(14, small(f, &t->data_location)))
}

Status Decoder::sparse(ByteView bytes, SparseTensorProto* t) {
  const auto part = [&](const WireField& f, TensorProto* into) -> Status {
    NNC_TRY(need(f, WireType::kBytes));
    return tensor(f.bytes, into);
  };
  NNC_FIELDS(NNC_FIELD(1, part(f, &t->values)) NNC_FIELD(2, part(f, &t->indices)) NNC_FIELD(3, integers(f, &t->dims)))
}

Status Decoder::dimension(ByteView bytes, DimensionProto* d) {
  const auto value = [&](const WireField& f) -> Status {
    int64_t v = 0;
    NNC_TRY(integer(f, &v));
    d->value = v;
    d->param = {};
    return {};
  };
  const auto param = [&](const WireField& f) -> Status {
    d->value.reset();
    return text(f, &d->param);
  };
  NNC_FIELDS(NNC_FIELD(1, value(f)) NNC_FIELD(2, param(f)))
}

Status Decoder::shape(ByteView bytes, TypeProto* t) {
  t->has_shape = true;
  NNC_FIELDS(NNC_FIELD(1, item(f, &t->dims, &Decoder::dimension)))
}

Status Decoder::tensor_type(ByteView bytes, TypeProto* t) {
  const auto shape_field = [&](const WireField& f) -> Status {
    NNC_TRY(need(f, WireType::kBytes));
    return shape(f.bytes, t);
  };
  NNC_FIELDS(NNC_FIELD(1, small(f, &t->elem_type)) NNC_FIELD(2, shape_field(f)))
}

Status Decoder::element_type(ByteView bytes, TypeProto* t){NNC_FIELDS(NNC_FIELD(1, child(f, &t->element, &Decoder::type)))}

Status Decoder::type(ByteView bytes, TypeProto* t) {
  const auto as = [&](const WireField& f, TypeProto::Kind kind, Status (Decoder::*decode)(ByteView, TypeProto*)) -> Status {
    NNC_TRY(need(f, WireType::kBytes));
    if (t->kind != kind) *t = {};
    t->kind = kind;
    return decode == nullptr ? Status() : (this->*decode)(f.bytes, t);
  };
  using K = TypeProto::Kind;
  NNC_FIELDS(NNC_FIELD(1, as(f, K::kTensor, &Decoder::tensor_type)) NNC_FIELD(4, as(f, K::kSequence, &Decoder::element_type))
                 NNC_FIELD(5, as(f, K::kMap, nullptr)) NNC_FIELD(7, as(f, K::kOpaque, nullptr))
                     NNC_FIELD(8, as(f, K::kSparseTensor, &Decoder::tensor_type)) NNC_FIELD(9, as(f, K::kOptional, &Decoder::element_type)))
}

Status Decoder::value_info(ByteView bytes, ValueInfoProto* v) {
  v->offset = offset(bytes);
  const auto type_field = [&](const WireField& f) -> Status {
    NNC_TRY(need(f, WireType::kBytes));
    return type(f.bytes, &v->type);
  };
  NNC_FIELDS(NNC_FIELD(1, text(f, &v->name)) NNC_FIELD(2, type_field(f)))
}

Status Decoder::attribute(ByteView bytes, AttributeProto* a) {
  a->offset = offset(bytes);
  const auto number = [&](const WireField& f) -> Status {
    NNC_TRY(need(f, WireType::kFixed32));
    const uint32_t bits = static_cast<uint32_t>(f.value);
    std::memcpy(&a->f, &bits, 4);
    return {};
  };
  const auto other = [&] {
    a->has_other = true;
    return Status();
  };
  NNC_FIELDS(NNC_FIELD(1, text(f, &a->name)) NNC_FIELD(2, number(f)) NNC_FIELD(3, integer(f, &a->i)) NNC_FIELD(4, text(f, &a->s))
                 NNC_FIELD(5, child(f, &a->t, &Decoder::tensor)) NNC_FIELD(6, child(f, &a->g, &Decoder::graph))
                     NNC_FIELD(7, floats(f, &a->floats)) NNC_FIELD(8, integers(f, &a->ints)) NNC_FIELD(9, texts(f, &a->strings))
                         NNC_FIELD(10, item(f, &a->tensors, &Decoder::tensor)) NNC_FIELD(11, item(f, &a->graphs, &Decoder::graph))
                             NNC_FIELD(14, child(f, &a->type_proto, &Decoder::type)) NNC_FIELD(15, other())
                                 NNC_FIELD(20, small(f, &a->type)) NNC_FIELD(21, text(f, &a->ref_attr_name))
                                     NNC_FIELD(22, child(f, &a->sparse, &Decoder::sparse)) NNC_FIELD(23, other()))
}

Status Decoder::node(ByteView bytes, NodeProto* n) {
  NNC_TRY(budget_.charge(Limit::kNodes, 1));
  n->offset = offset(bytes);
  NNC_FIELDS(NNC_FIELD(1, texts(f, &n->inputs)) NNC_FIELD(2, texts(f, &n->outputs)) NNC_FIELD(3, text(f, &n->name)) NNC_FIELD(
      4, text(f, &n->op_type)) NNC_FIELD(5, item(f, &n->attributes, &Decoder::attribute)) NNC_FIELD(7, text(f, &n->domain))
                 NNC_FIELD(8, text(f, &n->overload)) NNC_FIELD(9, item(f, &n->metadata, &Decoder::entry)))
}

Status Decoder::graph(ByteView bytes, GraphProto* g) {
  g->offset = offset(bytes);
  if (graph_depth_ > budget_.limits()[Limit::kSubgraphDepth]) return deep("subgraphs", g->offset);
  struct Level {
    int64_t& depth;
    explicit Level(int64_t& d) : depth(d) { ++depth; }
    ~Level() { --depth; }
    Level(const Level&) = delete;
  } level(graph_depth_);
  NNC_FIELDS(NNC_FIELD(1, item(f, &g->nodes, &Decoder::node)) NNC_FIELD(2, text(f, &g->name))
                 NNC_FIELD(5, item(f, &g->initializers, &Decoder::tensor)) NNC_FIELD(11, item(f, &g->inputs, &Decoder::value_info))
                     NNC_FIELD(12, item(f, &g->outputs, &Decoder::value_info)) NNC_FIELD(13, item(f, &g->value_info, &Decoder::value_info))
                         NNC_FIELD(15, item(f, &g->sparse_initializers, &Decoder::sparse)))
}

Status Decoder::function(ByteView bytes, FunctionProto* fn) {
  fn->offset = offset(bytes);
  NNC_FIELDS(NNC_FIELD(1, text(f, &fn->name)) NNC_FIELD(4, texts(f, &fn->inputs)) NNC_FIELD(5, texts(f, &fn->outputs))
                 NNC_FIELD(6, texts(f, &fn->attributes)) NNC_FIELD(7, item(f, &fn->nodes, &Decoder::node))
                     NNC_FIELD(9, item(f, &fn->opsets, &Decoder::opset)) NNC_FIELD(10, text(f, &fn->domain))
                         NNC_FIELD(11, item(f, &fn->attribute_defaults, &Decoder::attribute)) NNC_FIELD(13, text(f, &fn->overload)))
}

Status Decoder::model(ByteView bytes, ModelProto* m) {
  const auto graph_field = [&](const WireField& f) -> Status {
    NNC_TRY(need(f, WireType::kBytes));
    if (!m->graph) m->graph.emplace();
    return graph(f.bytes, &*m->graph);
  };
  const auto training = [&] {
    m->has_training_info = true;
    return Status();
  };
  NNC_FIELDS(NNC_FIELD(1, integer(f, &m->ir_version)) NNC_FIELD(2, text(f, &m->producer_name)) NNC_FIELD(3, text(f, &m->producer_version))
                 NNC_FIELD(4, text(f, &m->domain)) NNC_FIELD(5, integer(f, &m->model_version)) NNC_FIELD(7, graph_field(f))
                     NNC_FIELD(8, item(f, &m->opsets, &Decoder::opset)) NNC_FIELD(14, item(f, &m->metadata, &Decoder::entry))
                         NNC_FIELD(20, training()) NNC_FIELD(25, item(f, &m->functions, &Decoder::function)))
}

#undef NNC_FIELD
#undef NNC_FIELDS

}  // namespace

std::string_view attribute_type_name(AttributeType t) {
  constexpr std::string_view kNames[] = {"undefined", "float",   "int",    "string",        "tensor",         "graph", "floats", "ints",
                                         "strings",   "tensors", "graphs", "sparse_tensor", "sparse_tensors", "type",  "types"};
  const auto i = static_cast<size_t>(t);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

Result<ModelProto> read_model(ByteView bytes, Budget& budget) {
  ModelProto m;
  if (Status s = Decoder(bytes, budget).model(bytes, &m); !s.ok()) {
    Error e = std::move(s).error();
    if (!m.graph && e.code == Code::kInvalidModel) e.message = cat("this is no ONNX model: ", e.message);
    return e;
  }
  if (m.ir_version == 0 && !m.graph && m.opsets.empty())
    return Error(Code::kInvalidModel, "this is no ONNX model: it has neither a version nor a graph");
  return m;
}

Result<TensorProto> read_tensor_proto(ByteView bytes, Budget& budget) {
  TensorProto t;
  NNC_TRY(Decoder(bytes, budget).tensor(bytes, &t));
  return t;
}

}  // namespace nnc::onnx
