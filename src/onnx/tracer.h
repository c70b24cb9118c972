// Makes a graph of a model for inputs of given shapes.
//
// Nodes whose operands are known (weights aside) are computed at once, which folds what a model computes of shapes. A
// row that needs elements which are not known throws NeedsElements: what is made up to there is one stage of a run, and
// the graph is made again from the beginning with those elements known, and with what the stage has computed as inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "onnx/node.h"
#include "onnx/proto.h"
#include "onnx/value.h"
#include "weft/device.h"
#include "weft/error.h"
#include "weft/graph.h"
#include "weft/onnx.h"

namespace weft::onnx {

using Values = std::vector<Value>;

// As many nodes are made of a model, beside those of its main graph: functions that call others twice, and loops
// that are turned while the graph is made, would have no end otherwise.
inline constexpr std::size_t kMostNodes = std::size_t{1} << 18;

// A row needs the elements of this value.
struct NeedsElements {
  std::string id;
  const NodeProto* node = nullptr;  // the row's
};

// A branch or a body of a loop needs elements that are not known, or is otherwise none that the graph can have as it
// is: the branch is chosen, or the loop turned, while the graph is made.
struct NotOfGraph {};

// What is left is for the other device.
struct OtherDevice {};

// What earlier stages of the run have made, by id.
struct Known {
  std::map<std::string, TensorData, std::less<>> elements = {};
  std::map<std::string, TensorType, std::less<>> tensors = {};  // on the device
  std::map<std::string, Value, std::less<>> sequences = {};     // whose elements have ids of these
  // Whether a run may wait in the middle of a stage, for conditions of branches and loops.
  bool may_wait = true;
};

// Nodes of the main graph that a device cannot compute, by their places in it, with the reason.
using Refused = std::map<std::size_t, std::string>;

// A value that a node gives, as the graph has it.
struct Observed {
  const NodeProto* node = nullptr;
  Value value;
};

// How a graph is made, if it is not simply the whole model's.
struct TraceOptions {
  // If there are any, a stage has either the others or these alone, and ends where nothing is left for it.
  const Refused* refused = nullptr;
  bool only_refused = false;
  // Gets the values of all nodes but of those in loops and branches of the graph.
  std::vector<Observed>* observed = nullptr;
  // Nodes whose values are known are computed as well: those behind them take what is known.
  bool recompute = false;
  // Each node of the main graph is the whole of a graph, whose inputs are its operands. Called for each with what its
  // results are, or with the error that it ended with, which says that Weft lacks something: nodes behind it that need
  // its results are left out.
  std::function<void(std::size_t index, const NodeProto& node, Graph& graph, const Unsupported* error)> each_alone = {};
};

// A model's file, what its names mean, and its weights.
struct Source {
  ModelProto model;
  std::map<std::string, Value, std::less<>> initializers;  // of the main graph
  std::map<std::string, Tensor, std::less<>> resident;     // those whose values the device alone has
  std::shared_ptr<const void> owner;                       // of the file's bytes
  std::shared_ptr<ExternalFiles> files;
  // By domain, name and overload.
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const FunctionProto*> functions = {};

  // Of the program's own, by domain and name.
  std::map<std::pair<std::string_view, std::string_view>, const Operator*> operators = {};

  // After the model was read. The operators live as long as this does.
  void index(std::span<const Operator> own = {});
  const Operator* find_operator(const NodeProto& node) const;
  const FunctionProto* find_function(const NodeProto& node) const;
};

// Inputs of a form that the model gives by itself, each u32 [2]: the next key of the default generator, and how many
// runs there were before.
inline constexpr std::string_view kRandomKey = "\x1f key", kRunNumber = "\x1f run";

class Tracer {
 public:
  Tracer(const Source& source, Graph& graph, const Known& known, TraceOptions options = {})
      : source_(source), graph_(&graph), known_(known), options_(std::move(options)) {}
  // Makes no graph, but computes with these tensors, by id, which Known has too: inside of functions that are
  // differentiated or compiled. What is needed is read at once.
  Tracer(const Source& source, const std::map<std::string, Tensor>& given, const Known& known)
      : source_(source), known_(known), inputs_(given) {}

  // The outputs of the main graph, whose inputs are among the known tensors (the elements of a sequence "x" as "x[0]",
  // …; `sequences` has their lengths). Throws NeedsElements, OtherDevice, and errors that name nodes.
  Values trace(const std::map<std::string, std::size_t, std::less<>>& sequences);

  // The input of the graph that is this one of the model, where the graph has it before.
  void add_input(const std::string& id, Tensor tensor) { inputs_.emplace(id, std::move(tensor)); }

  // After NeedsElements and OtherDevice: what is on the device and needed from there on, by id, without what Known has.
  const std::map<std::string, Tensor>& live() const { return live_; }
  const std::map<std::string, Value>& live_sequences() const { return live_sequences_; }

  // ---- For rows of control flow (control.cc)

  // The outputs of a graph inside of a node, whose inputs have these values; `part` tells its uses apart.
  Values call_graph(const GraphProto& graph, const Node& node, std::string_view part, Values inputs);
  bool may_wait() const { return known_.may_wait; }
  // The elements, for which a stage ends if they are not known.
  const TensorData& elements(const Value& value) const;
  // A value under an id of its own: with what Known has of it.
  Value named(std::string id, Value value);
  // Values that C++ code holds are live as well, until the Holds around it ends.
  void hold(const Value& value) { held_.push_back(value); }
  class Holds {
   public:
    explicit Holds(Tracer& tracer) : tracer_(tracer), first_(tracer.held_.size()) {}
    ~Holds() { tracer_.held_.resize(first_); }
    Holds(const Holds&) = delete;
    Holds& operator=(const Holds&) = delete;
    void add(const Value& value) { tracer_.hold(value); }

   private:
    Tracer& tracer_;
    std::size_t first_;
  };
  // Counts elements of sequences that are looked at or copied. Throws Unsupported for more than any model has.
  void charge(std::size_t elements);
  // What `f` makes inside of branches and loops of the graph; nothing if it cannot be there.
  std::optional<Values> in_graph(const std::function<Values()>& f);
  // Around what a loop of the graph makes in a turn: its number, by which random numbers differ.
  class Turn {
   public:
    Turn(Tracer& tracer, const Tensor& number) : tracer_(tracer) { tracer_.turns_.push_back(number); }
    ~Turn() { tracer_.turns_.pop_back(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Tracer& tracer_;
  };

  // ---- For rows

  // The elements of what a row has computed of its operands to know how large its results are, under a name of its own
  // in the node. `kept` are tensors that the row computes of its operands besides, which it need not compute again
  // after a stage: they become those that the stage has made.
  TensorData read(const Node& node, std::string_view name, const Tensor& tensor, std::span<Tensor* const> kept = {});
  // A key of random numbers (weft/random.h), another one in each run and each turn of a loop. With a seed it repeats in
  // the runs of another model that is loaded, without one it follows from the default generator.
  Tensor random_key(const Node& node, std::optional<std::uint64_t> seed);

  static Value constant(TensorData data, std::string id = {});
  const Source& source() const { return source_; }

 private:
  struct Scope {
    const Scope* outer = nullptr;
    std::string prefix;
    const std::map<std::string, std::int64_t, std::less<>>* opsets = nullptr;
    std::unordered_map<std::string, Value> values = {};
    std::unordered_map<std::string, int> uses = {};  // that are still to come
    // Of the function around it, and of the call's attributes.
    const FunctionProto* function = nullptr;
    const NodeProto* call = nullptr;
  };

  // The values of the outputs behind the nodes; `what` has them, in errors.
  Values run(Scope& scope, std::span<const NodeProto> nodes, std::span<const std::string> outputs,
             std::string_view what);
  Values run(Scope& scope, const GraphProto& graph);
  void run_node(Scope& scope, const NodeProto& node);
  Values compute(const Node& node, bool known, const std::function<Tensors(const Node&)>& make);
  Values call_function(const FunctionProto& function, const NodeProto& node, const std::string& path,
                       std::span<const Value* const> operands);
  // The operation of Weft that a written function is; empty: it is none.
  Values call_written(const FunctionProto& function, std::span<const Value* const> operands) const;
  const Value* look_up(const Scope& scope, const std::string& name) const;
  void define(Scope& scope, const std::string& name, Value value);
  void add_initializers(Scope& scope, const GraphProto& graph);
  Tensor input(const std::string& id, const TensorType& type);
  const TensorData& require(const Value& needed) const;
  void find_live() const;
  bool is_known(const Scope& scope, const NodeProto& node) const;
  // Whether the node waits for the other device, or for what waits for it.
  bool waits(const Scope& scope, std::size_t index, const NodeProto& node) const;
  void run_alone(Scope& scope, std::size_t index, const NodeProto& node);
  void run_in_context(Scope& scope, const NodeProto& node);

  const Source& source_;
  Graph* graph_ = nullptr;  // null: computes
  const Known& known_;
  TraceOptions options_;
  std::set<std::string, std::less<>> waiting_;  // names of the main graph without a value yet
  std::vector<const NodeProto*> running_;       // nodes, each within the one before
  std::vector<Scope*> scopes_;                  // those being run, from the outermost on
  std::vector<Value> held_;
  std::map<std::string, Tensor> inputs_;  // of the graph, by id
  std::size_t made_ = 0;                  // nodes, each as often as it is made
  std::size_t copied_ = 0;                // elements of sequences
  std::vector<Tensor> turns_;             // of the graph's loops around, the outermost first
  mutable std::list<TensorData> read_;    // where no graph is made
  int in_graph_ = 0;                      // how many of in_graph() are being run
  mutable std::map<std::string, Tensor> live_;
  mutable std::map<std::string, Value> live_sequences_;
};

// A row whose operands or results are sequences, optionals or graphs: an operator of ai.onnx, from version `since` on.
struct ControlRow {
  std::string_view name;
  Values (*make)(Tracer& tracer, const Node& node, const std::string& path);
  std::int64_t since = 1;
  std::string_view note = {};  // for docs/onnx.md: what it lacks
};
const ControlRow* find_control_row(std::string_view domain, std::string_view name, std::int64_t version);
std::span<const ControlRow> control_rows();

}  // namespace weft::onnx
