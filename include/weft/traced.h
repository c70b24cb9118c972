// Compiled functions: a function of tensors runs once for each new combination of types, which records what it
// computes; calls run what was compiled from that.
//
//   auto f = compile([](Tensor a, Tensor b) { return gelu(a) * b; });
//   Tensor y = f(x, z);   // traces and compiles, then runs
//   Tensor v = f(y, z);   // same types: only runs
//
// Arguments and results are tensors; std::vector, array, pair, tuple, optional and map of what may be an argument; and
// structs (aggregates of up to 16 members without base classes). What in them is no tensor (numbers, bool, enums,
// strings, shapes) is static: the function is traced for each of its values.
//
// While the function is traced its tensor arguments have types but no values, so that reading one throws
// InvalidArgument. Its side effects (printing, changing variables) happen only then. Tensors that it captures are
// operands, not copies: each call reads what they hold by then, also what Tensor::write() put there. Those that are not
// evaluated are evaluated when the function is traced. A variable that it captures by reference is looked at only then.
// If it is given another tensor (w = …, w += …, w.set(…)), the next call notices that no other handle holds the old
// one, and traces and compiles again; but as long as another one does, calls go on reading the old tensor. So values
// that are to change from call to call are better arguments.
#pragma once

#include <complex>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/compile.h"
#include "weft/graph_file.h"
#include "weft/tensor.h"
#include "weft/tensor_tree.h"

namespace weft {
namespace detail {

// Results of a function: `value` is one of the function's result type. In it tensors are undefined; their values are in
// `tensors`, in the order of visit_tensors().
struct TracedResults {
  std::shared_ptr<const void> value;
  std::vector<Tensor> tensors;
};

// What of a compiled function does not depend on its type: finds, makes and runs executables.
class TracedCalls {
 public:
  // Throws InvalidArgument if options.donate is not empty: it names ports of a graph.
  explicit TracedCalls(CompileOptions options);
  ~TracedCalls();
  TracedCalls(const TracedCalls&) = delete;
  TracedCalls& operator=(const TracedCalls&) = delete;

  // True if the function is to be called directly: another one is being traced, or a tensor depends on an input of a
  // graph.
  static bool inlines(std::span<const Tensor> arguments);
  // Calls the function on these arguments, undefined ones included. `key` is all that it depends on besides their types
  // and device. `trace` is called, at most once, for a call that is new: it runs the function on tensors that stand for
  // the arguments. Throws what it throws, and what eval() and compile() do.
  using Trace = std::function<TracedResults(std::span<const Tensor> arguments)>;
  // Of arguments whose places are in `donated` the memory may become that of results of their types: the caller keeps
  // one handle to each of them, which it drops after the call. Nothing is done to memory that others hold, too.
  TracedResults call(std::string key, std::vector<Tensor> arguments, const Trace& trace,
                     std::span<const std::size_t> donated = {});
  // What the trace records for arguments of these types, as a graph. Throws what the function throws.
  static Graph graph(std::span<const Tensor> arguments, const Trace& trace);

  std::size_t cached() const;
  void clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A different address for each type.
template <class T>
inline char type_address = 0;

class KeyWriter {
 public:
  template <class T>
  explicit KeyWriter(const T*) {
    fixed(reinterpret_cast<std::uintptr_t>(&type_address<T>));
  }
  void tensor(const Tensor& t) { tensors.push_back(t); }
  template <class T>
    requires std::is_arithmetic_v<T>
  void fixed(T value) {
    if constexpr (std::is_same_v<T, long double>) return fixed(static_cast<double>(value));  // it has padding
    key.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
    requires std::is_enum_v<T>
  void fixed(T value) {
    fixed(static_cast<std::underlying_type_t<T>>(value));
  }
  void fixed(std::string_view text) {
    fixed(text.size());
    key.append(text);
  }
  void fixed(const char* text) { fixed(std::string_view(text ? text : "")); }
  void fixed(const Dims& dims) {
    fixed(dims.rank());
    for (const std::int64_t n : dims) fixed(n);
  }
  void fixed(const Number& number) {
    fixed(number.integral());
    if (number.integral()) fixed(number.integer().value_or(0));
    fixed(number.value());
  }
  void fixed(std::nullopt_t) {}
  template <class T>
  void fixed(const std::complex<T>& z) {
    fixed(z.real());
    fixed(z.imag());
  }
  template <class T>
    requires requires(T v) { v.bits; }
  void fixed(T value) {
    fixed(value.bits);
  }

  std::string key;
  std::vector<Tensor> tensors;
};

// Moves the tensors out, and leaves undefined ones.
struct TensorTaker {
  void tensor(Tensor& t) { tensors.push_back(std::exchange(t, {})); }
  template <class T>
  void fixed(const T&) {
    static_assert(!std::is_same_v<T, std::string_view> && !std::is_pointer_v<T>,
                  "a compiled function's result is kept, and must not point to memory of others: return a std::string");
  }
  std::vector<Tensor> tensors;
};

}  // namespace detail

// A function that is compiled when it is called. Copies share what they compiled. Any number of threads may call it at
// once, and so it may run the function on several at once; threads that need the same executable wait for one of them
// to make it.
template <class F>
class Compiled {
 public:
  Compiled(F function, CompileOptions options)
      : state_(std::make_shared<State>(std::move(function), std::move(options))) {}

  // The arguments are taken by value, as the function gets them; not by reference to non-const. Those that are not
  // evaluated are evaluated first, all at once, and views are copied, but for axes that are only broadcast. The results
  // are evaluated: submitted, not waited for. If there is no tensor among the arguments it runs on the default device.
  // Inside a function that is being traced, and on inputs of a Graph or what depends on them, it is an ordinary call of
  // the function, and computes nothing. Throws DeviceError (tensors of two devices), what eval() and compile() throw,
  // and what the function throws; then nothing is kept, and the next call traces again.
  template <class... Args>
  auto operator()(Args&&... args) const {
    using Arguments = std::tuple<std::decay_t<Args>...>;
    using Result = std::remove_cvref_t<std::invoke_result_t<F&, std::decay_t<Args>...>>;
    static_assert(!std::is_void_v<Result>, "a compiled function returns tensors");
    Arguments arguments(std::forward<Args>(args)...);
    detail::KeyWriter writer(static_cast<const Arguments*>(nullptr));
    detail::visit_tensors(std::as_const(arguments), writer);
    if (detail::TracedCalls::inlines(writer.tensors)) {
      return Result(std::apply(state_->function, std::move(arguments)));
    }
    const detail::TracedResults results =
        state_->calls.call(std::move(writer.key), std::move(writer.tensors), tracer<Result>(arguments));
    Result result = *static_cast<const Result*>(results.value.get());
    detail::TensorReplacer replacer{results.tensors};
    detail::visit_tensors(result, replacer);
    return result;
  }

  // What the function computes of these arguments, as a graph: its inputs are the tensors among the arguments,
  // "argument 0", "argument 1", …, its outputs those of the result, "result 0", …, both in the order in which they
  // stand there, undefined ones left out. Tensors that it captured are part of the graph. Nothing is computed, and of
  // the arguments only the types matter. Throws what the function throws.
  template <class... Args>
  Graph graph(Args&&... args) const {
    using Arguments = std::tuple<std::decay_t<Args>...>;
    using Result = std::remove_cvref_t<std::invoke_result_t<F&, std::decay_t<Args>...>>;
    static_assert(!std::is_void_v<Result>, "a compiled function returns tensors");
    Arguments arguments(std::forward<Args>(args)...);
    detail::KeyWriter writer(static_cast<const Arguments*>(nullptr));
    detail::visit_tensors(std::as_const(arguments), writer);
    return detail::TracedCalls::graph(writer.tensors, tracer<Result>(arguments));
  }
  // Writes that graph to a file (weft/graph_file.h). Throws also what that does.
  template <class... Args>
  void save(const std::filesystem::path& path, Args&&... args) const {
    weft::save(path, graph(std::forward<Args>(args)...));
  }

  // Executables that are kept. At most 256: the least recently used go first.
  std::size_t cached() const { return state_->calls.cached(); }
  void clear() const { state_->calls.clear(); }

 private:
  struct State {
    State(F f, CompileOptions options) : function(std::move(f)), calls(std::move(options)) {}
    F function;
    detail::TracedCalls calls;
  };

  // Runs the function on stand-ins for the tensors among the arguments, which it takes.
  template <class Result, class Arguments>
  auto tracer(Arguments& arguments) const {
    return [this, &arguments](std::span<const Tensor> stand_ins) {
      detail::TensorReplacer replacer{stand_ins};
      detail::visit_tensors(arguments, replacer);
      auto value = std::make_shared<Result>(std::apply(state_->function, std::move(arguments)));
      detail::TensorTaker taker;
      detail::visit_tensors(*value, taker);
      return detail::TracedResults{std::move(value), std::move(taker.tensors)};
    };
  }

  std::shared_ptr<State> state_;
};

// The executables of a function share their constants and the memory of their intermediates (weft/compile.h), unless
// options.constants names another store. Throws InvalidArgument if options.donate is not empty.
template <class F>
  requires(!std::is_base_of_v<Graph, std::remove_cvref_t<F>>)
Compiled<std::decay_t<F>> compile(F&& function, CompileOptions options = {}) {
  return {std::forward<F>(function), std::move(options)};
}

}  // namespace weft
