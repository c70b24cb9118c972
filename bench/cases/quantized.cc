// Products with quantised weights: of one, four and eight rows, in bytes of packed values, scales and zeros, which is
// what they must read; of many rows in FLOP. Beside them products with f16 weights, of the same sizes.
#include <algorithm>
#include <array>
#include <format>
#include <functional>
#include <vector>

#include "../bench.h"
#include "../quantized_weights.h"

namespace weft::bench {
namespace {

using kernels::QuantizedFormat;
using kernels::QuantizedMatrix;
using kernels::QuantizedScheme;

constexpr QuantizedFormat kFormats[] = {
    {QuantizedScheme::affine, 4, 32}, {QuantizedScheme::affine, 4, 64}, {QuantizedScheme::affine, 4, 128},
    {QuantizedScheme::nbits, 4, 32},  {QuantizedScheme::mxfp4},         {QuantizedScheme::q4_0},
    {QuantizedScheme::q4_k},          {QuantizedScheme::q6_k},          {QuantizedScheme::q8_0}};

struct Size {
  std::int64_t k, n;
};
constexpr Size kSizes[] = {{4096, 4096}, {4096, 14336}, {14336, 4096}, {4096, 128256}};
constexpr std::int64_t kFewRows[] = {1, 4, 8}, kManyRows = 2048;

// Matrices [n, k] in one form, over which calls take turns, so that they come from memory and from no cache. They are
// made when a case needs them.
struct Weights {
  std::string name;
  std::function<double(std::uint32_t seed)> add;  // makes one more matrix; its bytes
  std::function<void(Stream&, const View& x, std::size_t i, const View& y)> product;
  std::function<bool(const View& x, std::size_t i, const View& y)> agrees;
  std::size_t made = 0;
  double bytes = 0;
};

void measure(KernelBench& b, Weights& w, DType type, std::int64_t m, const Size& size, bool few) {
  const std::string label = std::format("{} {} [{}, {}] x [{}, {}]T", w.name, name(type), m, size.k, size.n, size.k);
  if (!b.asked(label)) return;
  std::size_t turns = 1;
  for (; w.made < turns; ++w.made) {
    w.bytes = w.add(static_cast<std::uint32_t>(w.made));
    turns = std::clamp<std::size_t>(static_cast<std::size_t>(2 * static_cast<double>(b.bytes()) / w.bytes), 1, 64);
  }
  const View x = random_floats(b.device(), type, {m, size.k}, 1), y = b.poisoned({m, size.n}, type);
  const double flop = 2.0 * static_cast<double>(m * size.n * size.k);
  const auto call = [&](Stream& s) {
    for (std::size_t i = 0; i < w.made; ++i) w.product(s, x, i, y);
  };
  Work more;
  if (few)
    more.flops = flop;
  else
    more.bytes = static_cast<std::uint64_t>(w.bytes);
  b.measure(
      label, few ? Unit::bytes : Unit::flop, few ? w.bytes : flop, call, [&] { return w.agrees(x, w.made - 1, y); },
      more, static_cast<int>(w.made));
}

void measure_all(KernelBench& b, Weights w, std::span<const DType> types, const Size& size, std::int64_t many) {
  for (const DType type : types) {
    for (const std::int64_t m : kFewRows) measure(b, w, type, m, size, true);
    if (many > 0 && type == DType::f16) measure(b, w, type, many, size, false);
  }
}

void cases(KernelBench& b) {
  const std::int64_t part = b.bytes() < 256 << 20 ? 8 : 1;  // small: an eighth of each side
  const Device& device = b.device();
  for (const auto& [k, n] : kSizes) {
    const Size size{k / part, n / part};
    const std::int64_t many = k == 4096 && n <= 14336 ? kManyRows / part : 0;

    std::vector<View> dense;
    const auto product = [](Stream& s, const View& x, const View& w, const View& y) {
      kernels::matmul(s, x, w.permuted(std::array{1, 0}), y);
    };
    measure_all(b,
                {.name = "dense",
                 .add =
                     [&](std::uint32_t seed) {
                       dense.push_back(random_floats(device, DType::f16, {size.n, size.k}, seed));
                       return static_cast<double>(touched_bytes(dense.back()));
                     },
                 .product = [&](Stream& s, const View& x, std::size_t i, const View& y) { product(s, x, dense[i], y); },
                 .agrees =
                     [&](const View& x, std::size_t i, const View& y) {
                       return b.agrees(
                           std::array{x, last_part(device, dense[i], 0)}, last_part(device, y, 1),
                           [&](Stream& s, std::span<const View> in, const View& y) { product(s, in[0], in[1], y); },
                           {.relative = 2e-3});
                     }},
                std::array{DType::f16}, size, many);
    dense.clear();

    for (const QuantizedFormat& format : kFormats) {
      std::vector<QuantizedMatrix> quantized;
      std::vector<DType> types{DType::f16, DType::f32};
      if (format.scheme == QuantizedScheme::affine) types.push_back(DType::bf16);  // which PyTorch has
      measure_all(b,
                  {.name = std::format("quantized {}", to_string(format)),
                   .add =
                       [&](std::uint32_t seed) {
                         quantized.push_back(random_weights(device, format, size.n, size.k, seed));
                         return stored_bytes(quantized.back());
                       },
                   .product = [&](Stream& s, const View& x, std::size_t i,
                                  const View& y) { kernels::quantized_matmul(s, x, quantized[i], {}, y); },
                   .agrees = [&](const View& x, std::size_t i,
                                 const View& y) { return last_columns_agree(device, x, quantized[i], y); }},
                  types, size, many);
    }
  }
}

const bool registered = register_cases("quantized", cases);

}  // namespace
}  // namespace weft::bench
