// Elementwise operations: one for each kind of cost, over the types, and mixed types.
#include <format>

#include "../bench.h"
#include "cpu/executor.h"

namespace weft::bench {
namespace {

class Cases {
 public:
  explicit Cases(KernelBench& b) : b_(b) {}

  // Operands of the bench's size in `type`, of which some are one row.
  void measure(std::string_view function, DType type, int rows_at_full = 3, const std::string& label = {}) {
    const std::int64_t columns = 1024, rows = b_.bytes() * 8 / bits(type) / columns;
    const FunctionInfo& f = *find_function(function);
    std::vector<View> inputs;
    double bytes = 0;
    for (int k = 0; k < f.operands; ++k) {
      const bool condition = function == "select" && k == 0;
      inputs.push_back(b_.random({k < rows_at_full ? rows : 1, columns}, condition ? DType::boolean : type));
      bytes += k < rows_at_full
                   ? static_cast<double>(byte_size(inputs.back().dtype, static_cast<std::uint64_t>(rows * columns)))
                   : 0;
    }
    const Expression e = function_expression(function, types_of(inputs));
    const View y = b_.poisoned({rows, columns}, e.output_type(0));
    bytes += static_cast<double>(byte_size(y.dtype, static_cast<std::uint64_t>(rows * columns)));
    run(std::format("{} {} [{}, {}]", label.empty() ? std::string(function) : label, name(type), rows, columns), bytes,
        e, inputs, y);
  }

  void run(const std::string& label, double bytes, const Expression& e, const std::vector<View>& inputs,
           const View& y) {
    b_.measure(
        label, Unit::bytes, bytes, [&](Stream& s) { kernels::map(s, e, inputs, std::span(&y, 1)); },
        [&] { return right(e, inputs, y); }, {.functions = static_cast<double>(y.count()) * e.cost()});
  }

  KernelBench& b() { return b_; }

 private:
  static std::vector<DType> types_of(const std::vector<View>& views) {
    std::vector<DType> types;
    for (const View& v : views) types.push_back(v.dtype);
    return types;
  }

  // Compares the last element with the CPU's.
  bool right(const Expression& e, const std::vector<View>& inputs, const View& y) {
    const auto one = [&](DType type) { return View(Buffer::host(16), 0, type, {1}); };
    cpu::Executor cpu;
    std::vector<View> last;
    for (const View& v : inputs) {
      const View wide = one(DType::f64);
      *reinterpret_cast<double*>(wide.buffer.data()) = b_.read(v, v.count() - 1, 1)[0];
      last.push_back(one(v.dtype));
      kernels::copy(cpu, wide, last.back());
    }
    const View want = one(y.dtype), wide = one(DType::f64);
    kernels::map(cpu, e, last, std::span(&want, 1));
    kernels::copy(cpu, want, wide);
    const double tolerance = is_floating(y.dtype) ? (bits(y.dtype) == 32 ? 1e-5 : bits(y.dtype) == 16 ? 1e-2 : 0.2) : 0;
    return close(b_.read(y, y.count() - 1, 1)[0], *reinterpret_cast<double*>(wide.buffer.data()), tolerance);
  }

  KernelBench& b_;
};

void cases(KernelBench& b) {
  Cases c(b);
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const char* f : {"relu", "exp", "tanh", "gelu_erf", "silu", "add"}) c.measure(f, type);
    c.measure("add", type, 1, "add row");
  }
  for (const char* f : {"sqrt",         "log",       "sin",    "expm1",   "log1p", "atan",   "asinh",     "cbrt",
                        "erfc",         "erfinv",    "lgamma", "digamma", "mish",  "elu",    "hardswish", "leaky_relu",
                        "floor_divide", "remainder", "pow",    "atan2",   "hypot", "select", "less"}) {
    c.measure(f, DType::f32);
  }
  for (const DType type : {DType::u8, DType::i16, DType::i32}) c.measure("add", type);
  c.measure("max", DType::i8);

  // f16 and f32 operands: f32 results of both, with half of the traffic in f16.
  const std::int64_t columns = 1024, rows = b.bytes() / 4 / columns;
  const std::vector<View> mixed = {b.random({rows, columns}, DType::f16), b.random({rows, columns}, DType::f32)};
  const double elements = static_cast<double>(rows * columns);
  for (const DType result : {DType::f32, DType::f16}) {
    Expression e;
    const int x = e.cast(e.input(DType::f16), DType::f32);
    e.output(e.cast(e.apply(ScalarOp::mul, {x, e.input(DType::f32)}), result));
    const View y = b.poisoned({rows, columns}, result);
    c.run(std::format("mul f16 f32 to {} [{}, {}]", name(result), rows, columns), elements * (6 + bits(result) / 8), e,
          mixed, y);
  }
}

const bool registered = register_cases("elementwise", cases);

}  // namespace
}  // namespace weft::bench
