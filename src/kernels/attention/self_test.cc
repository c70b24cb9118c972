// The test of attention on cooperative matrices on a device.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <format>

#include "gpu/self_test.h"
#include "kernels/attention/attention.h"
#include "kernels/cpu_loops.h"
#include "kernels/source.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

// Numbers without a symmetry that would hide a transposition; later keys give larger scores, so that maxima grow.
float value_at(std::int64_t i, int salt) {
  const std::uint32_t bits =
      (static_cast<std::uint32_t>(i) + 77u) * 2654435761u + static_cast<std::uint32_t>(salt) * 40503u;
  return static_cast<float>(static_cast<int>(bits >> 16 & 255) - 128) / 64;
}

// Whether `got` holds what `expected` does, in f16, within the errors of weights that are rounded to f16.
bool is_close(std::span<const std::byte> got, const View& expected, bool relative) {
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    float16 value;
    std::memcpy(&value, &got[static_cast<std::size_t>(i) * 2], 2);
    const float right = static_cast<float>(data<const float16>(expected)[i]);
    if (!(std::abs(static_cast<float>(value) - right) < 4e-3f * (relative ? 1 + std::abs(right) : 1))) return false;
  }
  return true;
}

Future<bool> passes(const gpu::Device& device, const AttentionVariant& v, std::int64_t dim, std::int64_t value_dim,
                    bool causal) {
  // Two heads that share keys: one and a half blocks of rows in all, two whole steps of keys and a partial one.
  const std::int64_t queries = v.subgroups_m * v.rows * 3 / 4, keys = 2 * v.tile + 3;
  const auto host = [&](const Shape& shape, int salt, float growth) {
    const View view(Buffer::host(static_cast<std::uint64_t>((element_count(shape) * 2 + 15) / 16 * 16)), 0, DType::f16,
                    shape);
    for (std::int64_t i = 0; i < view.count(); ++i) {
      const float factor = 1 + growth * static_cast<float>(i / shape[3] % shape[2]) / static_cast<float>(shape[2]);
      data<float16>(view)[i] = float16(value_at(i, salt) * factor);
    }
    return view;
  };
  const View q = host({1, 2, queries, dim}, 1, 0), k = host({1, 1, keys, dim}, 2, 8);
  const View values = host({1, 1, keys, value_dim}, 3, 0), y = host({1, 2, queries, value_dim}, 4, 0);
  const AttentionOptions options{.scale = 2 / std::sqrt(static_cast<double>(dim)), .causal = causal};
  attention_plain(AttentionCall(q, k, values, {}, y, options));

  const auto upload = [&](View view) {
    const Buffer host_buffer = view.buffer;
    view.buffer = device.allocate(host_buffer.size());
    device.upload(view.buffer, 0, std::span<const std::byte>(host_buffer.data(), host_buffer.size()));
    return view;
  };
  View result = y;
  result.buffer = device.allocate(y.buffer.size());
  device.upload(result.buffer, 0, std::vector<std::byte>(y.buffer.size(), std::byte{0xff}));
  gpu::Encoder encoder(device);
  attention_gpu(encoder, AttentionCall(upload(q), upload(k), upload(values), {}, result, options), v);
  gpu::Readback read = encoder.read(result.buffer, 0, y.buffer.size());
  encoder.submit();
  // Averages of values of up to 2.
  return std::move(read).map([y](const gpu::ReadBytes& got) { return is_close(got.span(), y, false); });
}

Future<bool> both(Future<bool> first, Future<bool> second) {
  std::vector<Future<bool>> two;
  two.push_back(std::move(first));
  two.push_back(std::move(second));
  return when_all(std::move(two)).map([](const std::vector<bool>& passed) { return passed[0] && passed[1]; });
}

// Both passes of the gradient: one and a half blocks of rows and keys, two whole tiles and a partial one at least.
Future<bool> passes(const gpu::Device& device, const AttentionGradientVariant& v, std::int64_t dim,
                    std::int64_t value_dim, bool causal) {
  const std::int64_t block = v.subgroups / 2 * v.rows;
  const std::int64_t queries = std::max(block * 3 / 4, v.tile + std::int64_t{v.stores_slopes ? 8 : 3});
  const std::int64_t keys = std::max(block * 3 / 2, 2 * v.tile + std::int64_t{3});
  const auto host = [](const Shape& shape, DType type) {
    return View(Buffer::host((byte_size(type, static_cast<std::uint64_t>(element_count(shape))) + 15) / 16 * 16), 0,
                type, shape);
  };
  const auto numbers = [&](const Shape& shape, int salt) {
    const View view = host(shape, DType::f16);
    for (std::int64_t i = 0; i < view.count(); ++i) data<float16>(view)[i] = float16(value_at(i, salt) / 2);
    return view;
  };
  const View q = numbers({1, 2, queries, dim}, 1), k = numbers({1, 1, keys, dim}, 2);
  const View values = numbers({1, 1, keys, value_dim}, 3), g = numbers({1, 2, queries, value_dim}, 4);
  const View y = host(g.shape(), DType::f32), log_sums = host({1, 2, queries}, DType::f32);
  const View delta = host(log_sums.shape(), DType::f32);
  const AttentionOptions options{.scale = 1 / std::sqrt(static_cast<double>(dim)), .causal = causal};
  attention_plain(AttentionCall(q, k, values, {}, y, options, {}, log_sums));
  for (std::int64_t i = 0; i < delta.count(); ++i) data<float>(delta)[i] = value_at(i, 5);
  const View expected[] = {host(q.shape(), DType::f16), host(k.shape(), DType::f16), host(values.shape(), DType::f16)};
  cpu::Executor cpu;
  attention_gradient_cpu(cpu, {q, k, values, g, log_sums, delta, {}, expected[0], expected[1], expected[2], options});

  const auto upload = [&](View view) {
    const Buffer host_buffer = view.buffer;
    view.buffer = device.allocate(host_buffer.size());
    device.upload(view.buffer, 0, std::span<const std::byte>(host_buffer.data(), host_buffer.size()));
    return view;
  };
  std::vector<View> results;
  for (const View& e : expected) {
    results.push_back(e);
    results.back().buffer = device.allocate(e.buffer.size());
    device.upload(results.back().buffer, 0, std::vector<std::byte>(e.buffer.size(), std::byte{0xff}));
  }
  gpu::Encoder encoder(device);
  attention_gradient_gpu(encoder,
                         {upload(q),
                          upload(k),
                          upload(values),
                          upload(g),
                          upload(log_sums),
                          upload(delta),
                          {},
                          results[0],
                          results[1],
                          results[2],
                          options},
                         v, v);
  std::vector<gpu::Readback> reads;
  for (const View& r : results) reads.push_back(encoder.read(r.buffer, 0, r.buffer.size()));
  encoder.submit();
  // Sums of weights and cotangents.
  return when_all(std::move(reads))
      .map([wanted = std::vector<View>(expected, expected + 3)](const std::vector<gpu::ReadBytes>& got) {
        for (std::size_t r = 0; r < wanted.size(); ++r) {
          if (!is_close(got[r].span(), wanted[r], true)) return false;
        }
        return true;
      });
}

}  // namespace

bool passes_attention_gradient_self_test(const gpu::Device& device, const AttentionGradientVariant& variant,
                                         const AttentionCall& call) {
  static const std::size_t kernel =
      std::hash<std::string>()(kernel_source("attention_gradient_matrix") + kernel_source("attention_gradient_stats") +
                               kernel_source("attention_common"));
  const std::string key = std::format("attention_gradient {}, heads of {} and {}, kernel {:x}", to_string(variant),
                                      call.dim, call.value_dim, kernel);
  return gpu::passes_self_test(device, key, [&] {
    Future<bool> plain = passes(device, variant, call.dim, call.value_dim, false);
    if (variant.stores_slopes) return plain;
    return both(std::move(plain), passes(device, variant, call.dim, call.value_dim, true));
  });
}

bool passes_attention_self_test(const gpu::Device& device, const AttentionVariant& variant, const AttentionCall& call) {
  // The verdict applies to this text of the kernel.
  static const std::size_t kernel =
      std::hash<std::string>()(kernel_source("attention_subgroup_matrix") + kernel_source("attention_common"));
  const std::string key = std::format("attention {}, heads of {} and {}, kernel {:x}", to_string(variant), call.dim,
                                      call.value_dim, kernel);
  return gpu::passes_self_test(device, key, [&] {
    return both(passes(device, variant, call.dim, call.value_dim, false),
                passes(device, variant, call.dim, call.value_dim, true));
  });
}

}  // namespace weft::kernels
