// The products of a step of decoding: for one token those of the layers of Llama 3 8B, each of which goes on with an
// earlier one's result, and the last one, with quantised weights. Norms, rotations, attention and gates are left out.
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench.h"
#include "core/format.h"
#include "quantized_weights.h"
#include "weft/error.h"

namespace weft::bench {
namespace {

using kernels::QuantizedFormat;
using kernels::QuantizedMatrix;
using kernels::QuantizedScheme;

struct Format {
  QuantizedFormat format;
  double deviation;  // of random_weights()
};
const Format kFormats[] = {{{QuantizedScheme::affine, 4, 64}, 7.4 / 128}, {{QuantizedScheme::q4_k}, 406.0 / 128}};

struct Product {
  std::size_t from;  // whose result it takes: number 0 is the token's vector, i + 1 the result of product i
  std::int64_t columns, rows;
  QuantizedMatrix w;
  double factor;  // of its result, which is then about 2 if the numbers of its vector are about 1
};

std::vector<Product> products_of(const Device& device, const Format& format, int layers, std::int64_t width) {
  std::vector<Product> products;
  const auto add = [&](std::size_t from, std::int64_t columns, std::int64_t rows) {
    const auto seed = static_cast<std::uint32_t>(products.size());
    products.push_back({from, columns, rows, random_weights(device, format.format, rows, columns, seed),
                        2 / (format.deviation * std::sqrt(static_cast<double>(columns)))});
    return products.size();
  };
  const std::int64_t inner = width * 7 / 2, words = width * 501 / 16;
  std::size_t x = 0;
  for (int layer = 0; layer < layers; ++layer) {
    const std::size_t q = add(x, width, width);
    add(x, width, width / 4);  // k
    add(x, width, width / 4);  // v
    const std::size_t o = add(q, width, width), gate = add(o, width, inner);
    add(o, width, inner);  // up
    x = add(gate, inner, width);
  }
  add(x, width, words);
  return products;
}

// The products with vectors of a type. Their results go through tanh, so that all are of about the same size.
class Chain {
 public:
  Chain(const Device& device, const std::vector<Product>& products, DType type) : device_(device), products_(products) {
    results_.push_back(random_floats(device, type, {1, products[0].columns}, 0));
    for (const Product& p : products) {
      const Buffer memory = device.allocate(byte_size(type, static_cast<std::uint64_t>(p.rows)));
      Expression& e = ends_.emplace_back();
      const int scaled = e.apply(ScalarOp::mul, {e.input(DType::f32), e.constant(p.factor, DType::f32)});
      e.output(e.cast(e.apply(ScalarOp::tanh, {scaled}), type));
      results_.emplace_back(memory, 0, type, Shape{1, p.rows});
      const View words(memory, 0, DType::u16, {static_cast<std::int64_t>(touched_bytes(results_.back()) / 2)});
      run(device, [&](Stream& s) { kernels::fill(s, 0xffff, words); });  // NaN
    }
  }

  void record(Stream& s) const {
    for_each([&](const Product& p, const Expression& end, const View& x, const View& y) {
      kernels::quantized_matmul(s, x, p.w, {}, y, {}, {&end, {}});
    });
  }
  bool right() const {
    bool all = true;
    for_each([&](const Product& p, const Expression& end, const View& x, const View& y) {
      all = all && last_columns_agree(device_, x, p.w, y, {&end, {}});
    });
    return all;
  }

 private:
  void for_each(const auto& f) const {
    for (std::size_t i = 0; i < products_.size(); ++i)
      f(products_[i], ends_[i], results_[products_[i].from], results_[i + 1]);
  }

  Device device_;
  const std::vector<Product>& products_;
  std::vector<View> results_;
  std::vector<Expression> ends_;
};

// The host's time for a token, and that until its result is there, in microseconds.
struct TokenTimes {
  double host, whole;
};

TokenTimes time_tokens(const gpu::Device& device, double seconds, const std::function<void(gpu::Encoder&)>& record) {
  gpu::Encoder encoder(device);
  std::vector<double> host, whole;
  const auto begin = Clock::now();
  while (host.size() < 5 || seconds_since(begin) < seconds) {
    const auto start = Clock::now();
    record(encoder);
    encoder.submit();
    host.push_back(seconds_since(start) * 1e6);
    device.wait();
    whole.push_back(seconds_since(start) * 1e6);
  }
  return {median(std::move(host)), median(std::move(whole))};
}

// Bytes a second that a copy reads and writes.
double copy_rate(const Device& device, const Options& options) {
  const auto bytes = static_cast<std::int64_t>(options.mebibytes << 20);
  const View x = random_floats(device, DType::f32, {bytes / 4}, 0);
  const View y(device.allocate(static_cast<std::uint64_t>(bytes)), 0, DType::f32, x.shape());
  const Time time = time_call(device, [&](Stream& s) { kernels::copy(s, x, y); }, options.timing);
  return 2 * static_cast<double>(bytes) / time.wall;
}

}  // namespace

void bench_decode(const Device& device, const Options& options, Report& report) {
  if (options.width % 512 != 0) throw InvalidArgument("--width: {} is no multiple of 512", options.width);
  wake(device);
  const double copy = copy_rate(device, options);
  bool any = false, wrong = false;
  for (const Format& format : kFormats) {
    std::vector<Product> products;
    for (const DType type : {DType::f16, DType::f32}) {
      const std::string label = std::format("decode {} {}, {} layer{} of {}", to_string(format.format), name(type),
                                            options.layers, options.layers == 1 ? "" : "s", options.width);
      if (!asked(options, label)) continue;
      any = true;
      if (products.empty()) products = products_of(device, format, options.layers, options.width);
      double bytes = 0;
      for (const Product& p : products) bytes += stored_bytes(p.w);
      const Chain chain(device, products, type);
      const auto call = [&](Stream& s) { chain.record(s); };
      const double seconds = time_call(device, call, options.timing).wall, rate = bytes / seconds;
      nlohmann::ordered_json details = {{"device", device.name()},
                                        {"ms", seconds * 1e3},
                                        {"bytes", bytes},
                                        {"copy_gb_per_s", copy * 1e-9},
                                        {"fraction", rate / copy}};
      std::string text = std::format("{:44} {:9.4f} ms {:8.1f} GB/s, {:3.0f} % of a copy's {:.0f}", label,
                                     seconds * 1e3, rate * 1e-9, 100 * rate / copy, copy * 1e-9);
      if (device.is_gpu()) {
        gpu::Recording recording(device.gpu());
        call(recording);
        const double each = options.timing.seconds / 2;
        const TokenTimes replayed = time_tokens(device.gpu(), each, [&](gpu::Encoder& e) { e.replay(recording); });
        const TokenTimes called = time_tokens(device.gpu(), each, [&](gpu::Encoder& e) { call(e); });
        details.update({{"dispatches", recording.size()},
                        {"replay_host_us", replayed.host},
                        {"replay_us", replayed.whole},
                        {"calls_host_us", called.host},
                        {"calls_us", called.whole}});
        text += std::format(
            "; {} dispatches, host {:.0f} us replayed, {:.0f} us called; {:.0f} us and {:.0f} us with "
            "the wait",
            recording.size(), replayed.host, called.host, replayed.whole, called.whole);
      }
      const bool right = chain.right();
      details["right"] = right;
      report.add(label, rate * 1e-9, "GB/s", true, details, text + (right ? "" : "   WRONG RESULT"));
      wrong |= !right;
    }
  }
  if (!any) throw InvalidArgument("no case's name holds '{}'", options.only);
  if (wrong) throw InternalError("a product gave a wrong result (see above)");
}

}  // namespace weft::bench
