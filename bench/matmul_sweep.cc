// Runs variants of the matrix product over shapes on one GPU and prints TFLOP/s, for tuning choose_variant(). Results
// are checked against elements computed on the host.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <random>

#include "core/format.h"
#include "kernels/matmul/matmul.h"
#include "timing.h"
#include "weft/error.h"
#include "weft/gpu.h"
#include "weft/kernels/copy.h"
#include "weft/small_float.h"

using namespace weft;
using namespace weft::kernels;

namespace {

struct Case {
  std::int64_t m, n, k;
};

struct MatmulOperands {
  std::vector<float> a, b;
  View va, vb, vy;
};

std::vector<std::byte> encode(const std::vector<float>& values, DType type) {
  std::vector<std::byte> bytes(byte_size(type, values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == DType::f32) std::memcpy(&bytes[i * 4], &values[i], 4);
    if (type == DType::f16) reinterpret_cast<float16*>(bytes.data())[i] = float16(values[i]);
    if (type == DType::i8 || type == DType::u8) bytes[i] = static_cast<std::byte>(static_cast<int>(values[i]));
    if (type == DType::bf16) reinterpret_cast<bfloat16*>(bytes.data())[i] = bfloat16(values[i]);
  }
  return bytes;
}

MatmulOperands make_operands(gpu::Device& device, const Case& c, DType type, DType result, const std::string& layout) {
  MatmulOperands o;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> value(-1, 1);
  // Multiples of 2^-6 are exact in every type, so that the host need not round the inputs.
  const auto fill = [&](std::vector<float>& v, std::int64_t count) {
    v.resize(static_cast<std::size_t>(count));
    for (float& x : v)
      x = type == DType::i8   ? std::round(value(random) * 127)
          : type == DType::u8 ? std::round((value(random) + 1) * 127)
                              : std::round(value(random) * 64) / 64;
  };
  fill(o.a, c.m * c.k);
  fill(o.b, c.k * c.n);
  const auto upload = [&](const std::vector<float>& v) {
    const std::vector<std::byte> bytes = encode(v, type);
    Buffer buffer = device.allocate(bytes.size());
    device.upload(buffer, 0, bytes);
    return buffer;
  };
  o.va = View(upload(o.a), 0, type, {c.m, c.k}, layout[0] == 't' ? Strides{1, c.m} : Strides{c.k, 1});
  o.vb = View(upload(o.b), 0, type, {c.k, c.n}, layout[1] == 't' ? Strides{1, c.k} : Strides{c.n, 1});
  o.vy = View(device.allocate(byte_size(result, static_cast<std::uint64_t>(c.m * c.n))), 0, result, {c.m, c.n});
  return o;
}

// The largest error of some elements, in units of sqrt(k) · 2^-24, the scale of the rounding of k products of size ≤ 1.
double error(gpu::Device& device, const Case& c, const MatmulOperands& o) {
  std::vector<std::byte> bytes(o.vy.buffer.size());
  device.read(o.vy.buffer, 0, bytes.size()).get().copy_to(bytes);
  const auto y = [&](std::int64_t i) -> double {
    const std::byte* at = bytes.data() + static_cast<std::size_t>(i) * bits(o.vy.dtype) / 8;
    if (o.vy.dtype == DType::i32) return *reinterpret_cast<const std::int32_t*>(at);
    if (o.vy.dtype == DType::f16) return static_cast<float>(*reinterpret_cast<const float16*>(at));
    return *reinterpret_cast<const float*>(at);
  };
  std::mt19937 random(11);
  double worst = 0;
  for (int s = 0; s < 256; ++s) {
    const std::int64_t i = s < 4 ? s % 2 * (c.m - 1) : static_cast<std::int64_t>(random() % c.m);
    const std::int64_t j = s < 4 ? s / 2 * (c.n - 1) : static_cast<std::int64_t>(random() % c.n);
    double sum = 0;
    for (std::int64_t k = 0; k < c.k; ++k) {
      sum += static_cast<double>(o.a[i * o.va.strides()[0] + k * o.va.strides()[1]]) *
             o.b[k * o.vb.strides()[0] + j * o.vb.strides()[1]];
    }
    double difference = std::abs(sum - y(i * c.n + j));
    if (std::isnan(difference)) return INFINITY;
    if (o.vy.dtype == DType::f16) difference = std::max(0.0, difference - std::abs(sum) * 0x1p-11);  // its own rounding
    worst = std::max(worst, difference);
  }
  return worst / (std::sqrt(static_cast<double>(c.k)) * 0x1p-24);
}

Case parse_shape(const std::string& text) {
  long long m = 0, n = 0, k = 0;
  if (std::sscanf(text.c_str(), "%lldx%lldx%lld", &m, &n, &k) != 3 || m < 1 || n < 1 || k < 1) {
    throw InvalidArgument("--shapes: '{}' is not MxNxK, such as 4096x384x1536", text);
  }
  return {m, n, k};
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Times forms of the matrix product over shapes on one GPU, as weft_bench times, and checks results."};
  gpu::DeviceOptions options;
  std::string type_name = "f32", result_name, layout = "nt";
  std::vector<std::string> variants, matrix;
  std::vector<std::string> shapes{"4096x4096x4096", "16x384x384",     "16x1536x384",    "16x384x1536",
                                  "128x384x384",    "128x1536x384",   "128x384x1536",   "512x384x384",
                                  "512x1536x384",   "512x384x1536",   "4096x384x384",   "4096x1536x384",
                                  "4096x384x1536",  "32768x1536x384", "32768x384x1536", "1x4096x4096"};
  bench::Timing timing;
  bool fused = false, chosen = false, splits = false;
  app.add_option("--device", options.adapter, "part of its name, or its number");
  app.add_option("--shapes", shapes, "MxNxK, separated by commas")->delimiter(',')->capture_default_str();
  app.add_option("--variants", variants, "parts of names to keep, separated by commas")->delimiter(',');
  app.add_option("--matrix", matrix,
                 "tiles for cooperative matrices, as 128x128x32_64x64, in the place of the library's")
      ->delimiter(',');
  app.add_option("--type", type_name, "of a and b")->capture_default_str();
  app.add_option("--result", result_name, "type of y, if not that of the sums");
  app.add_option("--layout", layout, "of a, then b; nt: b is [n, k]; nn: [k, n]; tt, tn: a is [k, m]")
      ->capture_default_str()
      ->check(CLI::IsMember({"nn", "nt", "tn", "tt"}));
  bench::add_seconds_option(app, timing);
  bench::add_warm_up_option(app, timing);
  app.add_flag("!--no-robustness", options.robustness, "without Dawn's bounds checks in shaders");
  app.add_flag("--epilogue", fused, "with an epilogue (a factor of 1)");
  app.add_flag("--chosen", chosen, "only the variant that the library takes");
  app.add_flag("--splits", splits, "tiles also with k split in 2, 4 and 8");
  CLI11_PARSE(app, argc, argv);
  const DType type = dtype_from_name(type_name).value();
  const DType result = result_name.empty() ? product_type(type, type) : dtype_from_name(result_name).value();

  gpu::Device device = gpu::Device::open(options);
  std::printf("%s; %s, %s, robustness %s\n", device.reason().c_str(), type_name.c_str(), layout.c_str(),
              options.robustness ? "on" : "off");
  const auto keep = [&](const std::string& name) {
    return variants.empty() ||
           std::ranges::any_of(variants, [&](const std::string& part) { return name.find(part) != std::string::npos; });
  };
  Expression one;
  const DType sum = product_type(type, type);
  one.output(one.apply(ScalarOp::mul, {one.input(sum), one.constant(1, sum)}));
  const Expression* const epilogue = fused ? &one : nullptr;
  bool right = true;
  bench::wake(device);
  for (const std::string& shape : shapes) {
    const Case c = parse_shape(shape);
    const MatmulOperands o = make_operands(device, c, type, result, layout);
    const MatmulProblem problem = matmul_problem(o.va, o.vb, o.vy, {epilogue, {}});
    const MatmulVariant choice = choose_variant(problem, device.capabilities(), ~std::uint64_t{0});
    std::vector<MatmulVariant> list;
    for (MatmulVariant v : matmul_variants()) {
      if (chosen || (variants.empty() && (v.kind == MatmulKind::direct) != device.capabilities().software)) continue;
      list.push_back(v);
      if (!splits || v.kind != MatmulKind::tile) continue;
      for (const int s : {2, 4, 8}) {
        v.splits = s;
        if (c.k >= s * 64) list.push_back(v);
      }
    }
    std::vector<MatmulVariant> tiles = matrix_variants(device.capabilities(), type);
    if (const auto unit = matrix_unit(device.capabilities(), type); unit && !matrix.empty()) {
      tiles.clear();
      for (const std::string& item : matrix) {
        int m, n, k, sub_m, sub_n;
        if (std::sscanf(item.c_str(), "%dx%dx%d_%dx%d", &m, &n, &k, &sub_m, &sub_n) != 5) {
          throw InvalidArgument("--matrix: '{}'; expected MxNxK_SMxSN", item);
        }
        tiles.push_back(matrix_variant(m, n, k, sub_m, sub_n, *unit, device.capabilities()));
      }
    }
    for (MatmulVariant v : tiles) {
      list.push_back(v);
      for (const int s : {2, 4, 8}) {
        v.splits = s;
        if (splits && c.k >= s * 64) list.push_back(v);
      }
    }
    if (std::ranges::find(list, choice) == list.end()) list.push_back(choice);
    std::printf("%lld x %lld x %lld\n", static_cast<long long>(c.m), static_cast<long long>(c.n),
                static_cast<long long>(c.k));
    for (const MatmulVariant& v : list) {
      const std::string name = to_string(v);
      if (!can_run(v, problem, device.capabilities()) || (!keep(name) && !chosen)) continue;
      // Skips tiles that are far too large and forms that are far too slow for the shape, to save time.
      const std::int64_t work = c.m * c.n * c.k;
      if (v.kind == MatmulKind::gemv_k && work > (std::int64_t{1} << 33)) continue;
      const View words(o.vy.buffer, 0, DType::u32, {static_cast<std::int64_t>(o.vy.buffer.size() / 4)});
      // Overwrites the results of other forms.
      bench::run(device, [&](Stream& s) { kernels::fill(s, 0xffffffff, words); });
      const bench::Time time =
          bench::time_call(device, [&](Stream& s) { matmul_by(*s.gpu(), problem, epilogue, v); }, timing);
      const double e = error(device, c, o);
      right &= e < 8;
      std::printf("  %-32s %s %9.3f TFLOP/s %8.1f GB/s  error %.2f%s%s\n", name.c_str(), bench::to_string(time).c_str(),
                  2e-12 * work / time.wall, 1e-9 * (byte_size(type, (c.m + c.n) * c.k) + 4 * c.m * c.n) / time.wall, e,
                  e < 8 ? "" : "  WRONG", v == choice ? "  <- chosen" : "");
      std::fflush(stdout);
    }
  }
  return right ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "matmul_sweep: %s\n", e.what());
  return 1;
}
