#include "webnn_check/programs.h"

#include <algorithm>
#include <chrono>
#include <format>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/format.h"
#include "core/in_quotes.h"
#include "webnn/message.h"
#include "webnn_check/program_values.h"
#include "webnn_check/values.h"
#include "weft/error.h"

namespace weft::app {
namespace {

using webnn::ArgumentKind;
using webnn::TypeError;

// What a step was not as expected in.
class Mismatch final : public Error {
 public:
  template <class... Args>
  explicit Mismatch(std::format_string<Args...> format, Args&&... args)
      : Error(std::format(format, std::forward<Args>(args)...)) {}
};

class Program {
 public:
  explicit Program(const Device& device) : device_(device) {
    around_.operand = [this](const JsonReader& json) { return argument<webnn::Operand>(json); };
    around_.max_tensor_byte_length = webnn::Context::create(device).op_support_limits().max_tensor_byte_length;
  }

  void run(const JsonReader& step) {
    const std::string what = step.at("do").text();
    if (what == "await") return await(step);
    if (what == "awaitLost") return await_lost(step);
    if (what == "expect") return expect(step);
    const auto* method = std::ranges::find(kMethods, what, &Method::name);
    ProgramResult result;
    if (method != std::end(kMethods)) {
      result.attempt([&] { (this->*method->call)(step, result); });
    } else {
      const webnn::OpSchema* op = webnn::find_op(what);
      if (!op) throw Mismatch("there is no method of that name");
      result.attempt([&] { operation(*op, step, result); });
    }
    // A promise's failure is seen where it is awaited, unless the step itself says what it expects.
    const bool promise = method != std::end(kMethods) && method->promise;
    if (promise && step.find("expect")) result.settle();
    if (!promise || step.find("expect")) check_outcome(result, step);
    store(std::move(result), step);
  }

 private:
  // ---- Results and what refers to them

  void store(ProgramResult result, const JsonReader& step) {
    const auto out = step.find("out");
    if (!out) return;
    if (out->is_string()) {
      auto* list = std::get_if<std::vector<webnn::Operand>>(&result.object);
      if (list && list->size() == 1) result.object = webnn::Operand(list->front());
      results_.insert_or_assign(out->text(), std::move(result));
      return;
    }
    if (result.failure) return;
    const auto* list = std::get_if<std::vector<webnn::Operand>>(&result.object);
    const std::vector<JsonReader> names = out->elements();
    if (!list || list->size() != names.size()) {
      throw Mismatch("gave {} results, expected {}", list ? list->size() : 1, names.size());
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      results_.insert_or_assign(names[i].text(), ProgramResult{.object = (*list)[i]});
    }
  }

  ProgramResult& result_of(const JsonReader& name) {
    const auto found = results_.find(name.text());
    if (found == results_.end()) name.expected("the name of an earlier result");
    return found->second;
  }

  const ProgramObject& object_of(const JsonReader& name) {
    ProgramResult& result = result_of(name);
    result.settle();
    if (result.failure) {
      throw Mismatch("uses {}, which failed: {}: {}", name.text(), result.failure->name, result.failure->message);
    }
    return result.object;
  }

  // What the step is a method of.
  template <class T>
  T on(const JsonReader& step) {
    const JsonReader name = step.at("on");
    const ProgramObject& object = object_of(name);
    const T* found = std::get_if<T>(&object);
    if (!found) name.expected(std::format("the name of {} (it is {})", kind_of<T>(), kind_of(object.index())));
    return *found;
  }

  // ---- Arguments

  // The argument of that index; none if it is absent.
  static std::optional<JsonReader> given(const JsonReader& step, std::size_t argument_index) {
    const auto arguments = step.find("args");
    if (!arguments) return {};
    const std::vector<JsonReader> all = arguments->elements();
    if (argument_index >= all.size() || is_absent(all[argument_index])) return {};
    return all[argument_index];
  }
  static JsonReader required(const JsonReader& step, std::size_t argument_index) {
    const auto argument = given(step, argument_index);
    if (!argument) throw TypeError("argument {} is not given", argument_index + 1);
    return *argument;
  }
  // {"ref": id}, of an object that is a T.
  template <class T>
  T argument(const JsonReader& json) {
    if (mark_of(json) == "ref") {
      const ProgramObject& object = object_of(json.at("ref"));
      if (const T* found = std::get_if<T>(&object)) return *found;
      throw TypeError("an argument is {}, expected {}", kind_of(object.index()), kind_of<T>());
    }
    throw TypeError("an argument is {}, expected {}", in_quotes(json.value().dump()), kind_of<T>());
  }
  template <class T>
  T argument(const JsonReader& step, std::size_t argument_index) {
    return argument<T>(required(step, argument_index));
  }
  ProgramBuffer buffer(const JsonReader& json) {
    return mark_of(json) == "buffer" ? buffer_of(json) : argument<ProgramBuffer>(json);
  }
  static bool is_dictionary(const JsonReader& json) { return json.value().is_object() && mark_of(json).empty(); }
  bool member(const JsonReader& dictionary, std::string_view name) {
    const auto value = dictionary.find(name);
    return value && !is_absent(*value) && std::get<bool>(to_value(ArgumentKind::boolean, *value, around_));
  }
  template <class T>
  std::vector<std::pair<std::string, T>> record(const JsonReader& step, std::size_t argument_index) {
    const JsonReader json = required(step, argument_index);
    if (!is_dictionary(json)) throw TypeError("argument {} is no record", argument_index + 1);
    std::vector<std::pair<std::string, T>> result;
    for (const auto& [name, value] : json.members()) result.emplace_back(name, argument<T>(value));
    return result;
  }

  // ---- Methods

  void create_context(const JsonReader& step, ProgramResult& result) {
    static constexpr std::string_view kPreferences[] = {"default", "high-performance", "low-power"};
    if (const auto options = given(step, 0)) {
      if (!is_dictionary(*options)) throw TypeError("the options are no dictionary");
      if (const auto preference = options->find("powerPreference"); preference && !is_absent(*preference)) {
        const std::string text = preference->is_string() ? preference->text() : preference->value().dump();
        if (std::ranges::find(kPreferences, text) == std::end(kPreferences)) {
          throw TypeError("powerPreference is {}, expected default, high-performance or low-power", in_quotes(text));
        }
      }
    }
    result.object = webnn::Context::create(device_);
  }

  void create_builder(const JsonReader& step, ProgramResult& result) {
    result.object = webnn::GraphBuilder(argument<webnn::Context>(step, 0));
  }

  void op_support_limits(const JsonReader& step, ProgramResult&) { on<webnn::Context>(step).op_support_limits(); }

  void create_tensor(const JsonReader& step, ProgramResult& result) {
    const JsonReader json = required(step, 0);
    const webnn::OperandDescriptor d = descriptor_of(json, around_);
    result.object = on<webnn::Context>(step).create_tensor({.data_type = d.data_type,
                                                            .shape = d.shape,
                                                            .readable = member(json, "readable"),
                                                            .writable = member(json, "writable")});
  }
  void create_constant_tensor(const JsonReader& step, ProgramResult& result) {
    const webnn::OperandDescriptor d = descriptor_of(required(step, 0), around_);
    result.object = on<webnn::Context>(step).create_constant_tensor(d, buffer(required(step, 1)).source());
  }
  void write_tensor(const JsonReader& step, ProgramResult&) {
    const auto tensor = argument<webnn::Tensor>(step, 0);
    // Of any type of elements: the method takes bytes.
    const ProgramBuffer data = buffer(required(step, 1));
    on<webnn::Context>(step).write_tensor(tensor, std::span<const std::byte>(*data.bytes));
  }
  void read_tensor(const JsonReader& step, ProgramResult& result) {
    auto context = on<webnn::Context>(step);
    const auto tensor = argument<webnn::Tensor>(step, 0);
    if (const auto target = given(step, 1)) {
      const ProgramBuffer into = buffer(*target);
      result.object = into;  // also if reading fails
      auto future = std::make_shared<Future<void>>(context.read_tensor(tensor, std::span(*into.bytes)));
      result.pending = [future, into]() -> ProgramObject {
        future->get();
        return into;
      };
      return;
    }
    auto future = std::make_shared<Future<gpu::ReadBytes>>(context.read_tensor(tensor));
    result.pending = [future, type = tensor.data_type()]() -> ProgramObject {
      return ProgramBuffer{.bytes = std::make_shared<std::vector<std::byte>>(std::vector<std::byte>(future->get())),
                           .type = type,
                           .typed = true};
    };
  }
  void dispatch(const JsonReader& step, ProgramResult&) {
    const auto graph = argument<webnn::Graph>(step, 0);
    const auto inputs = record<webnn::Tensor>(step, 1), outputs = record<webnn::Tensor>(step, 2);
    on<webnn::Context>(step).dispatch(graph, inputs, outputs);
  }
  void destroy(const JsonReader& step, ProgramResult&) {
    const JsonReader name = step.at("on");
    ProgramObject object = object_of(name);
    if (auto* context = std::get_if<webnn::Context>(&object))
      context->destroy();
    else if (auto* tensor = std::get_if<webnn::Tensor>(&object))
      tensor->destroy();
    else if (auto* graph = std::get_if<webnn::Graph>(&object))
      graph->destroy();
    else
      name.expected("the name of a context, a tensor or a graph");
  }

  void input(const JsonReader& step, ProgramResult& result) {
    auto builder = on<webnn::GraphBuilder>(step);
    const JsonReader name = required(step, 0);
    const std::string text = name.is_string() ? name.text() : name.value().dump();
    result.object = builder.input(text, descriptor_of(required(step, 1), around_));
  }
  void constant(const JsonReader& step, ProgramResult& result) {
    auto builder = on<webnn::GraphBuilder>(step);
    const JsonReader first = required(step, 0);
    if (mark_of(first) == "ref") {
      result.object = builder.constant(argument<webnn::Tensor>(first));
    } else if (first.is_string()) {
      const auto type = webnn::data_type_from_name(first.text());
      if (!type) throw TypeError("there is no data type {}", in_quotes(first.text()));
      const webnn::Value value = to_value(ArgumentKind::number, required(step, 1), around_);
      result.object = builder.constant(*type, std::get<Number>(value));
    } else {
      result.object = builder.constant(descriptor_of(first, around_), buffer(required(step, 1)).source());
    }
  }
  void build(const JsonReader& step, ProgramResult& result) {
    auto builder = on<webnn::GraphBuilder>(step);
    result.object = builder.build(record<webnn::Operand>(step, 0));
  }

  void operation(const webnn::OpSchema& op, const JsonReader& step, ProgramResult& result) {
    auto builder = on<webnn::GraphBuilder>(step);
    std::vector<std::string> unknown;
    if (const auto list = step.find("unknownMembers")) {
      for (const JsonReader& name : list->elements()) unknown.push_back(name.text());
    }
    // Required arguments by their indices, and then a dictionary; softmax may do without its axis.
    std::size_t required_count = 0;
    while (required_count < op.arguments.size() && op.arguments[required_count].required) ++required_count;
    if (required_count < op.arguments.size() && op.name == "softmax") ++required_count;
    webnn::Arguments arguments;
    for (std::size_t i = 0; i <= required_count; ++i) {
      const auto json = given(step, i);
      if (!json) continue;
      const bool options = is_dictionary(*json) && (i == required_count || !op.arguments[i].required);
      if (options) {
        add_options(arguments, op, *json, around_, unknown);
        break;
      }
      if (i == required_count)
        throw TypeError("the options are {}, which is no dictionary", in_quotes(json->value().dump()));
      add_argument(arguments, op.arguments[i], *json, around_);
    }
    result.object = builder.call(op.name, arguments);
  }

  struct Method {
    std::string_view name;
    bool promise;  // it gives one
    void (Program::*call)(const JsonReader& step, ProgramResult& result);
  };
  static const Method kMethods[12];

  // ---- What is expected

  static void check_outcome(const ProgramResult& result, const JsonReader& step) {
    const auto given = step.find("expect");
    const std::string expected = given ? given->text() : "ok";
    if (!result.failure) {
      if (expected != "ok") throw Mismatch("succeeded, expected {}", expected);
      return;
    }
    if (result.failure->name != expected) {
      throw Mismatch("{}: {}; expected {}", result.failure->name, result.failure->message, expected);
    }
    if (const auto pattern = step.find("labelInMessage"); pattern && !matches(result.failure->message, *pattern)) {
      throw Mismatch("the message is {}, which does not match {}", in_quotes(result.failure->message),
                     in_quotes(pattern->text()));
    }
  }

  void await(const JsonReader& step) {
    ProgramResult& result = result_of(step.at("of"));
    result.settle();
    check_outcome(result, step);
  }

  void await_lost(const JsonReader& step) {
    constexpr auto kPatience = std::chrono::seconds(10);
    auto lost = on<webnn::Context>(step).lost();
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!lost.ready()) {
      if (std::chrono::steady_clock::now() > end) throw Mismatch("the context is not lost");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ProgramResult result;
    result.attempt([&] { lost.get(); });
    check_outcome(result, step);
  }

  void expect(const JsonReader& step) {
    const JsonReader what = step.at("what");
    const std::string text = what.text();
    if (text == "shape") {
      const webnn::Sizes got = descriptor(step).shape, wanted = sizes(step.at("equals"));
      if (got != wanted) {
        throw Mismatch("the shape is {}, expected {}", webnn::to_string(got), webnn::to_string(wanted));
      }
    } else if (text == "dataType") {
      const std::string_view got = webnn::data_type_name(descriptor(step).data_type);
      const std::string wanted = step.at("equals").text();
      if (got != wanted) throw Mismatch("the data type is {}, expected {}", got, wanted);
    } else if (text == "data") {
      expect_data(step, as<ProgramBuffer>(step, object_of(step.at("of"))));
    } else if (text == "untouched") {
      // Of a buffer that something was to be read into, whether that failed or not.
      ProgramResult& result = result_of(step.at("of"));
      result.settle();
      const auto& buffer = as<ProgramBuffer>(step, result.object);
      if (step.has("equals") || step.has("fill"))
        expect_data(step, buffer);
      else if (!std::ranges::equal(from(step, *buffer.bytes), from(step, buffer.original)))
        throw Mismatch("the buffer was written to");
    } else {
      what.expected("shape, dataType, data or untouched");
    }
  }

  // The bytes from the one on that the step names, if it does.
  static std::span<const std::byte> from(const JsonReader& step, std::span<const std::byte> bytes) {
    const auto offset = step.find("byteOffset");
    return offset ? bytes.subspan(static_cast<std::size_t>(offset->integer(0, static_cast<std::int64_t>(bytes.size()))))
                  : bytes;
  }

  template <class T>
  static const T& as(const JsonReader& step, const ProgramObject& object) {
    if (const T* found = std::get_if<T>(&object)) return *found;
    step.at("of").expected(std::format("the name of {} (it is {})", kind_of<T>(), kind_of(object.index())));
  }

  webnn::OperandDescriptor descriptor(const JsonReader& step) {
    const ProgramObject& object = object_of(step.at("of"));
    if (const auto* operand = std::get_if<webnn::Operand>(&object)) return {operand->data_type(), operand->shape()};
    const auto& tensor = as<webnn::Tensor>(step, object);
    return {tensor.data_type(), tensor.shape()};
  }

  static webnn::Sizes sizes(const JsonReader& json) {
    webnn::Sizes sizes;
    for (const JsonReader& size : json.elements()) sizes.push_back(size.integer());
    return sizes;
  }

  static void expect_data(const JsonReader& step, const ProgramBuffer& buffer) {
    constexpr std::int64_t kMost = std::int64_t{1} << 32;
    const auto kind = step.find("as");
    const DType type = kind ? buffer_kind(*kind).type : buffer.type;
    const auto element = std::max<std::uint64_t>(static_cast<std::uint64_t>(bits(type)) / 8, 1);
    const auto bytes = step.find("byteOffset"), index = step.find("index");
    const auto offset = bytes   ? static_cast<std::uint64_t>(bytes->integer(0, kMost))
                        : index ? static_cast<std::uint64_t>(index->integer(0, kMost)) * element
                                : 0;
    const auto equals = step.find("equals");
    const JsonReader expected = equals ? *equals : step.at("fill");
    const std::uint64_t count = !equals ? static_cast<std::uint64_t>(step.at("count").integer(0, kMost))
                                : expected.value().is_array() ? expected.value().size()
                                                              : 1;
    const std::uint64_t size = buffer.bytes->size();
    if (offset > size || byte_size(type, count) > size - offset) {
      throw Mismatch("there are {} bytes, expected {} elements of {} from byte {} on", size, count,
                     webnn::data_type_name(type), offset);
    }
    if (count == 0) return;
    const auto from = std::span<const std::byte>(*buffer.bytes).subspan(offset);
    const auto mismatch = first_mismatch(from, type, {static_cast<std::int64_t>(count)}, expected, {}, count);
    if (mismatch) throw Mismatch("element {}", *mismatch);
  }

  std::map<std::string, ProgramResult> results_;
  Device device_;
  Surroundings around_;
};

const Program::Method Program::kMethods[] = {
    {"createContext", true, &Program::create_context},
    {"createBuilder", false, &Program::create_builder},
    {"opSupportLimits", false, &Program::op_support_limits},
    {"createTensor", true, &Program::create_tensor},
    {"createConstantTensor", true, &Program::create_constant_tensor},
    {"writeTensor", false, &Program::write_tensor},
    {"readTensor", true, &Program::read_tensor},
    {"dispatch", false, &Program::dispatch},
    {"input", false, &Program::input},
    {"constant", false, &Program::constant},
    {"build", true, &Program::build},
    {"destroy", false, &Program::destroy},
};

}  // namespace

CaseResult run_program(const Device& device, const JsonReader& program) {
  CaseResult result{.name = program.at("name").text(), .failure = {}};
  std::size_t number = 0;
  std::string method = "the start";
  try {
    Program running(device);
    for (const JsonReader& step : program.at("steps").elements()) {
      ++number;
      method = step.at("do").text();
      running.run(step);
    }
  } catch (const FormatError& e) {
    result.failure = e.what();
  } catch (const webnn::Exception& e) {
    result.failure = std::format("step {}, {}: {}: {}", number, webnn::printable(method), e.name(), e.what());
  } catch (const Error& e) {
    result.failure = std::format("step {}, {}: {}", number, webnn::printable(method), e.what());
  } catch (const std::bad_alloc&) {
    result.failure = std::format("step {}, {}: the host's memory is exhausted", number, webnn::printable(method));
  }
  return result;
}

}  // namespace weft::app
