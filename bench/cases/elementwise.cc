// Elementwise operations.
#include <cmath>

#include "../bench.h"

namespace weft::bench {
namespace {

void cases(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16}) {
    const std::int64_t count = b.bytes() * 8 / bits(type), columns = 1024, rows = count / columns;
    const double bytes = static_cast<double>(b.bytes());
    const View x = b.random({rows, columns}, type), z = b.random({rows, columns}, type), row = b.random({1, columns}, type);
    const View y = b.poisoned({rows, columns}, type);
    const double tolerance = type == DType::f32 ? 1e-6 : 1e-3;
    const auto last = [&](const View& v) { return b.read(v, count - 1, 1)[0]; };
    const auto label = [&](const char* op) { return std::format("{} {} [{}, {}]", op, name(type), rows, columns); };
    const auto unary = [&](ScalarOp op, double (*f)(double)) {
      b.measure(label(std::string(name(op)).c_str()), Unit::bytes, 2 * bytes, [&](Stream& s) { kernels::unary(s, op, x, y); },
                [&] { return close(last(y), f(last(x)), tolerance); });
    };
    unary(ScalarOp::relu, [](double v) { return std::max(v, 0.0); });
    unary(ScalarOp::exp, [](double v) { return std::exp(v); });
    unary(ScalarOp::gelu_erf, [](double v) { return v * 0.5 * (1 + std::erf(v / std::sqrt(2.0))); });
    b.measure(label("add"), Unit::bytes, 3 * bytes, [&](Stream& s) { kernels::binary(s, ScalarOp::add, x, z, y); },
              [&] { return close(last(y), last(x) + last(z), tolerance); });
    b.measure(label("add row"), Unit::bytes, 2 * bytes, [&](Stream& s) { kernels::binary(s, ScalarOp::add, x, row, y); },
              [&] { return close(last(y), last(x) + b.read(row, columns - 1, 1)[0], tolerance); });
  }
}

const bool registered = register_cases("elementwise", cases);

}  // namespace
}  // namespace weft::bench
