#include "webnn_check/data_cases.h"

#include <format>
#include <map>
#include <nlohmann/json.hpp>

#include "webnn/message.h"
#include "webnn_check/values.h"
#include "weft/error.h"

namespace weft::app {
namespace {

// What a case was not as expected in.
class Mismatch final : public Error {
 public:
  template <class... Args>
  explicit Mismatch(std::format_string<Args...> format, Args&&... args)
      : Error(std::format(format, std::forward<Args>(args)...)) {}
};

class DataCase {
 public:
  DataCase(const webnn::Context& context, const JsonReader& json) : context_(context), json_(json), builder_(context) {}

  void run() {
    const JsonReader graph = json_.at("graph");
    for (const auto& [name, input] : graph.at("inputs").members()) add_input(name, input);
    for (const JsonReader& op : graph.at("operators").elements()) add_operator(op);
    build_and_compare(graph.at("expectedOutputs"));
  }

 private:
  webnn::Operand operand(const JsonReader& json) const {
    const auto found = operands_.find(json.text());
    if (found == operands_.end()) json.expected("the name of an input or of an earlier output");
    return found->second;
  }

  void add_input(const std::string& name, const JsonReader& input) {
    const webnn::OperandDescriptor descriptor = descriptor_of(input.at("descriptor"), around_);
    const std::vector<std::byte> bytes =
        elements_of(input.at("data"), descriptor.data_type, count_of(descriptor.shape, input));
    const auto constant = input.find("constant");
    const std::span<const std::byte> data(bytes);
    if (constant && constant->boolean()) {
      operands_[name] = builder_.constant(descriptor, data);
      return;
    }
    operands_[name] = builder_.input(name, descriptor);
    tensors_[name] =
        context_.create_tensor({.data_type = descriptor.data_type, .shape = descriptor.shape, .writable = true});
    context_.write_tensor(tensors_[name], data);
  }

  void add_operator(const JsonReader& op) {
    const std::string name = op.at("name").text();
    const webnn::OpSchema* schema = webnn::find_op(name);
    if (!schema) throw Mismatch("there is no operation '{}'", webnn::printable(name));
    webnn::Arguments arguments;
    std::size_t argument_index = 0;
    for (const JsonReader& argument : op.at("arguments").elements()) {
      const std::size_t at = argument_index++;
      if (argument.is_null()) continue;  // an absent one
      for (const auto& [key, value] : argument.members()) {
        if (key == "options") {
          if (!is_absent(value)) add_options(arguments, *schema, value, around_);
          continue;
        }
        // By its name; or, as JavaScript has it, by its index where the data name it otherwise.
        const webnn::ArgumentSchema* named = schema->argument(key);
        if (!named && at < schema->arguments.size()) named = &schema->arguments[at];
        if (!named) value.expected(std::format("no such argument of {}", name));
        add_argument(arguments, *named, value, around_);
      }
    }
    const std::vector<webnn::Operand> results = builder_.call(name, arguments);
    const JsonReader outputs = op.at("outputs");
    const std::vector<JsonReader> names = outputs.is_string() ? std::vector{outputs} : outputs.elements();
    if (names.size() > results.size()) {
      throw Mismatch("{} has {} outputs, expected {}", name, results.size(), names.size());
    }
    for (std::size_t i = 0; i < names.size(); ++i) operands_[names[i].text()] = results[i];
  }

  void build_and_compare(const JsonReader& expected) {
    webnn::NamedOperands outputs;
    for (const auto& [name, output] : expected.members()) {
      const auto found = operands_.find(name);
      if (found == operands_.end()) output.expected("an output of one of the operators");
      outputs.emplace_back(name, found->second);
    }
    // Unfolded, so that a case of constants alone computes on the device.
    webnn::Graph graph = builder_.build(outputs, {.constant_folding = false, .precision = Precision::strict});
    webnn::NamedTensors inputs, results;
    for (const auto& [name, descriptor] : graph.inputs()) inputs.emplace_back(name, tensors_.at(name));
    for (const auto& [name, operand] : outputs) {
      results.emplace_back(
          name, context_.create_tensor({.data_type = operand.data_type(), .shape = operand.shape(), .readable = true}));
    }
    context_.dispatch(graph, inputs, results);
    for (const auto& [name, tensor] : results) compare(name, tensor, expected.at(name));
    if (context_.accelerated() && graph.report().dispatches.empty()) {
      throw Mismatch("no kernel ran on the device for this graph");
    }
  }

  void compare(const std::string& name, const webnn::Tensor& tensor, const JsonReader& expected) {
    const webnn::OperandDescriptor wanted = descriptor_of(expected.at("descriptor"), around_);
    if (tensor.data_type() != wanted.data_type || tensor.shape() != wanted.shape) {
      throw Mismatch("{} is {}, expected {}", webnn::printable(name),
                     webnn::to_string(tensor.data_type(), tensor.shape()),
                     webnn::to_string(wanted.data_type, wanted.shape));
    }
    const gpu::ReadBytes bytes = context_.read_tensor(tensor).get();
    const auto mismatch =
        first_mismatch(bytes.span(), tensor.data_type(), tensor.shape(), expected.at("data"), tolerance_of(json_));
    if (mismatch) throw Mismatch("{} {}", webnn::printable(name), *mismatch);
  }

  webnn::Context context_;
  JsonReader json_;
  webnn::GraphBuilder builder_;
  Surroundings around_{.operand = [this](const JsonReader& json) { return operand(json); }};
  std::map<std::string, webnn::Operand> operands_;
  std::map<std::string, webnn::Tensor> tensors_;
};

}  // namespace

CaseResult run_data_case(const webnn::Context& context, const JsonReader& test_case) {
  CaseResult result{.name = test_case.at("name").text(), .failure = {}};
  try {
    DataCase(context, test_case).run();
  } catch (const webnn::Exception& e) {
    result.failure = std::format("{}: {}", e.name(), e.what());
  } catch (const Error& e) {
    result.failure = e.what();
  } catch (const std::bad_alloc&) {
    result.failure = "the host's memory is exhausted";
  }
  return result;
}

}  // namespace weft::app
