// A run of a model in stages. Each is a graph, compiled for what is known of the inputs (a form), and ends with the
// model's outputs, with a value that is read, by whose elements the next stage is found, or where the other device has
// the next nodes.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/forms.h"
#include "onnx/tracer.h"
#include "onnx/value.h"
#include "tensor/run_ahead.h"
#include "weft/compile.h"
#include "weft/device.h"
#include "weft/future.h"
#include "weft/onnx.h"
#include "weft/tensor.h"

namespace weft::onnx {

// What a run is given.
struct Given {
  std::vector<std::pair<std::string, Tensor>> tensors;  // by id
  std::map<std::string, std::size_t, std::less<>> sequences;
  // Tensors that the outputs are written to, in their order; undefined ones, or none: they are made.
  std::vector<Tensor> outputs = {};
  // Inputs whose tensor is an output's, too: the id and the output.
  std::vector<std::pair<std::string, std::size_t>> donated = {};
};

struct Form {
  explicit Form(std::size_t most) : next(most) {}

  Known known;
  std::map<std::string, std::size_t, std::less<>> sequences;
  std::vector<std::pair<std::string, std::size_t>> donated;  // as in Given
  std::mutex making;
  bool is_made = false;
  bool on_fallback = false;                              // runs on Options::fallback
  bool is_placed = false;                                // what the device refuses was looked for
  bool ends = false;                                     // the last stage
  int idle = 0;                                          // stages before it that computed nothing
  Refused refused;                                       // nodes that run on Options::fallback
  bool observes = false, recomputes = false;             // as TraceOptions
  Executable executable;                                 // empty: nothing is to be computed
  std::vector<std::string> inputs;                       // ids
  std::vector<std::pair<std::string, TensorType>> made;  // ids that the executable gives, in order
  std::string read;                                      // the id; empty in the last stage, and at the other device's
  const NodeProto* reader = nullptr;                     // the node that needs its elements
  std::map<std::string, Value> made_sequences;
  std::vector<Observed> observed;  // of the last stage
  // In the last stage, for each output of the model the ids of its tensors; and whether it is a sequence.
  struct Output {
    std::vector<std::string> ids;
    bool is_sequence = false;
  };
  std::vector<Output> outputs;
  compiler::Forms<std::string, Form> next;  // by the bytes that were read
};

class Stages {
 public:
  // What a run has made, by id.
  using Made = std::unordered_map<std::string, Tensor>;

  // All of them live as long as this does.
  Stages(const Source& source, const Options& options, const Device& device);

  // The first form of a run that is given this, one of those that are kept. `may_wait` as in Known.
  std::shared_ptr<Form> first(const Given& given, bool may_wait);
  // The form behind one, whose value has these elements if it ended for them.
  std::shared_ptr<Form> next(const std::shared_ptr<Form>& form, std::optional<TensorData> elements);

  // Compiles the form if it is not. Throws Unsupported that names the nodes that the device cannot compute.
  void make(Form& form);
  // The same without waiting. Two runs that need a form at once may both compile it; the first to be done makes it.
  Future<void> async_make(const std::shared_ptr<Form>& form);

  // Puts a tensor there, which is on a device.
  static void put(Made& made, const std::string& id, const Tensor& tensor);
  // Computes what a form makes, in the run of this number, the outputs of the model in these tensors.
  void submit(Form& form, Made& made, std::uint64_t number, std::span<const Tensor> outputs = {});
  // Makes and submits the stages from this one on, reads what is between them, and returns the last one. `made` has
  // what is known at the beginning, and gets what the stages make.
  std::shared_ptr<Form> run(std::shared_ptr<Form> form, Made& made, std::uint64_t number,
                            std::span<const Tensor> outputs = {});
  // The outputs, after the last stage, on the model's device.
  std::vector<PortValue> results(const Form& form, const Made& made) const;

  const Device& device_of(const Form& form) const { return form.on_fallback ? *options_.fallback : device_; }
  // The number of the next run.
  std::uint64_t next_run() { return runs_++; }
  static TensorData data_of_read(const TensorType& type, std::vector<std::byte> elements);

  std::size_t compilations() const { return compilations_; }
  std::vector<Readback> readbacks() const;
  std::vector<FallbackNode> on_fallback() const;

 private:
  bool place(Form& form);
  std::optional<Graph> trace(Form& form);
  CompileOptions compile_options(const Form& form) const;
  void build(Form& form);
  void put_key(Made& made, const std::string& id, std::uint64_t number) const;
  void copy_into(const Tensor& from, const Tensor& to);

  const Source& source_;
  const Options& options_;
  const Device& device_;
  CompileOptions compile_options_, fallback_options_;

  mutable std::mutex mutex_;
  compiler::Forms<std::string, Form> forms_;   // by what a run is given
  std::map<std::size_t, std::string> placed_;  // nodes that ran on the fallback, and why
  std::map<std::pair<std::string, const NodeProto*>, Readback> readbacks_;
  std::unordered_map<std::string, Executable> copies_;  // by type
  RunAhead run_ahead_;
  std::atomic<std::size_t> compilations_ = 0;
  std::atomic<std::uint64_t> runs_ = 0;
};

// "Conv" or "com.microsoft.FusedConv".
std::string operator_name(const NodeProto& node);

}  // namespace weft::onnx
