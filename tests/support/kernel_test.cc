#include "support/kernel_test.h"

#include <cmath>
#include <cstring>
#include <map>

#include "cpu/executor.h"
#include "kernels/cpu_loops.h"
#include "support/quick.h"
#include "support/unfilled.h"

namespace weft::test {
namespace {

std::uint64_t mask(DType dtype) {
  return bits(dtype) == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits(dtype)) - 1;
}

std::uint64_t float_bits(DType dtype, double v) {
  const auto f = static_cast<float>(v);
  switch (dtype) {
    case DType::f64:
      return std::bit_cast<std::uint64_t>(v);
    case DType::f16:
      return float16(f).bits;
    case DType::bf16:
      return bfloat16(f).bits;
    case DType::f8e4m3:
      return float8_e4m3(f).bits;
    case DType::f8e5m2:
      return float8_e5m2(f).bits;
    default:
      return std::bit_cast<std::uint32_t>(f);
  }
}

std::uint64_t random_bits(Rng& rng, DType dtype, Values values) {
  const bool special = values == Values::special && rng() % 4 == 0;
  if (dtype == DType::c64) return random_bits(rng, DType::f32, values) | random_bits(rng, DType::f32, values) << 32;
  if (dtype == DType::boolean) return special ? rng() & 0xff : rng() & 1;
  if (is_integer(dtype)) {
    if (special) return rng() & mask(dtype);
    const auto v = static_cast<std::int64_t>(rng() % 201) - 100;
    return static_cast<std::uint64_t>(is_signed(dtype) ? v : std::abs(v)) & mask(dtype);
  }
  if (!special) return float_bits(dtype, std::normal_distribution<double>()(rng));
  // Any exponent, then special values.
  const double edges[] = {NAN,   -NAN, INFINITY, -INFINITY,    0.0,           -0.0,         1.0,
                          -1.0,  0.5,  3.4e38,   -3.4e38,      1.2e-38,       1e-40,        -1e-44,
                          65504, 6e-8, 448,      2147483648.0, -2147483904.0, 4294967296.0, 1e10};
  if (rng() % 2) return float_bits(dtype, edges[rng() % std::size(edges)]);
  return rng() & mask(dtype);
}

// A slice with many axes is a small part of a tensor of many megabytes: above this size axes have one gap each.
constexpr std::int64_t kLargestSliced = 1 << 16;

struct Placement {
  Strides strides;
  std::int64_t first = 0;  // element offset of the view in its buffer
  std::int64_t count = 0;  // elements of the buffer
};

Placement place(Rng& rng, const Shape& shape, Kind kind) {
  const int rank = shape.rank();
  Placement p{dense_strides(shape)};
  switch (kind) {
    case Kind::dense:
      break;
    case Kind::offset:
      p.first = 1 + static_cast<std::int64_t>(rng() % 7);
      break;
    case Kind::transposed: {
      std::int64_t stride = 1;
      for (int i = 0; i < rank; ++i) {
        p.strides[i] = stride;
        stride *= std::max<std::int64_t>(shape[i], 1);
      }
      break;
    }
    case Kind::sliced: {
      std::int64_t stride = 1;
      for (int i = rank - 1; i >= 0; --i) {
        const bool wide = stride * std::max<std::int64_t>(shape[i], 1) <= kLargestSliced;
        const std::int64_t step = wide ? 1 + static_cast<std::int64_t>(rng() % 3) : 1;
        const std::int64_t start = wide ? static_cast<std::int64_t>(rng() % 3) : 1;
        p.strides[i] = stride * step;
        p.first += stride * start;
        stride *= start + std::max<std::int64_t>(shape[i], 1) * step;
      }
      break;
    }
    case Kind::reversed:
      for (int i = 0; i < rank; ++i) {
        if (rank > 1 && rng() % 2) continue;
        p.first += p.strides[i] * std::max<std::int64_t>(shape[i] - 1, 0);
        p.strides[i] = -p.strides[i];
      }
      break;
    case Kind::broadcast: {
      std::int64_t stride = 1;
      for (int i = rank - 1; i >= 0; --i) {
        p.strides[i] = i % 2 ? stride : 0;
        if (i % 2) stride *= std::max<std::int64_t>(shape[i], 1);
      }
      break;
    }
  }
  p.count = p.first + Layout{shape, p.strides}.offset_range()[1] + 1;
  return p;
}

std::int64_t ordered(std::uint64_t b, DType dtype) {
  const std::uint64_t sign = std::uint64_t{1} << (bits(dtype) - 1);
  const auto magnitude = static_cast<std::int64_t>(b & (sign - 1));
  return b & sign ? -magnitude : magnitude;
}

double to_double(std::uint64_t b, DType dtype) {
  switch (dtype) {
    case DType::f64:
      return std::bit_cast<double>(b);
    case DType::f32:
    case DType::c64:
      return std::bit_cast<float>(static_cast<std::uint32_t>(b));
    case DType::f16:
      return float16::from_bits(static_cast<std::uint16_t>(b));
    case DType::bf16:
      return bfloat16::from_bits(static_cast<std::uint16_t>(b));
    case DType::f8e4m3:
      return float8_e4m3::from_bits(static_cast<std::uint8_t>(b));
    case DType::f8e5m2:
      return float8_e5m2::from_bits(static_cast<std::uint8_t>(b));
    case DType::boolean:
      return b != 0;
    default:
      break;
  }
  if (!is_signed(dtype)) return static_cast<double>(b);
  const int unused = 64 - bits(dtype);
  return static_cast<double>(static_cast<std::int64_t>(b << unused) >> unused);
}

bool close(std::uint64_t a, std::uint64_t e, DType dtype, const Tolerance& t) {
  if (a == e) return true;
  if (t.bits) return false;
  if (dtype == DType::boolean) return (a != 0) == (e != 0);
  if (dtype == DType::c64) {
    return close(a & 0xffffffffu, e & 0xffffffffu, DType::f32, t) && close(a >> 32, e >> 32, DType::f32, t);
  }
  if (!is_floating(dtype)) return false;
  const double x = to_double(a, dtype);
  const double y = to_double(e, dtype);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (x == y) return true;
  if ((dtype == DType::f32 || dtype == DType::bf16) && std::abs(x - y) <= 0x1p-126) return true;
  if (std::abs(static_cast<double>(ordered(a, dtype) - ordered(e, dtype))) <= t.ulp) return true;
  return std::abs(x - y) <= t.absolute + t.relative * std::abs(y);
}

// A mask of the bits that the views' elements take in each byte.
std::vector<std::uint8_t> covered(std::span<const View> views, const Buffer& buffer) {
  std::vector<std::uint8_t> taken(buffer.size());
  for (const View& v : views) {
    if (v.buffer != buffer) continue;
    const std::int64_t n = v.count();
    for (std::int64_t i = 0; i < n; ++i) {
      const int b = bits(v.dtype);
      const auto first = static_cast<std::int64_t>(v.offset) * 8 + kernels::offset_of(v.layout, i) * b;
      if (b < 8)
        taken[first / 8] |= static_cast<std::uint8_t>(mask(v.dtype) << (first % 8));
      else
        std::memset(&taken[first / 8], 0xff, b / 8);
    }
  }
  return taken;
}

}  // namespace

std::string to_string(Kind kind) {
  constexpr const char* names[] = {"dense", "offset", "transposed", "sliced", "reversed", "broadcast"};
  return names[static_cast<int>(kind)];
}

View random_view(Rng& form, const Shape& shape, DType dtype, Kind kind, Values values) {
  Rng& rng = form.details();
  Placement p = place(rng, shape, kind);
  // Packed types start at whole bytes.
  if (bits(dtype) < 8) p.first = (p.first + 8 / bits(dtype) - 1) / (8 / bits(dtype)) * (8 / bits(dtype));
  p.count = p.first + Layout{shape, p.strides}.offset_range()[1] + 1;
  const std::uint64_t bytes = (byte_size(dtype, static_cast<std::uint64_t>(p.count)) + 15) / 16 * 16;
  View view(Buffer::host(bytes), static_cast<std::uint64_t>(p.first * bits(dtype) / 8), dtype, shape, p.strides);
  std::byte* data = view.buffer.data();
  if (UnfilledViews::live()) {
    std::uint64_t word = rng();
    for (std::uint64_t i = 0; i < bytes; i += 8, word = word * 0x5851F42D4C957F2Du + 1) std::memcpy(data + i, &word, 8);
    return view;
  }
  for (std::uint64_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = rng();
    std::memcpy(data + i, &word, 8);
  }
  for (std::int64_t i = 0, n = view.count(); i < n; ++i) set_element_bits(view, i, random_bits(rng, dtype, values));
  return view;
}

View host_view(DType dtype, const Shape& shape, std::span<const double> values) {
  View view(Buffer::host((byte_size(dtype, values.size()) + 15) / 16 * 16), 0, dtype, shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t b = is_floating(dtype) || dtype == DType::c64
                                ? float_bits(dtype, values[i])
                                : static_cast<std::uint64_t>(static_cast<std::int64_t>(values[i]));
    set_element_bits(view, static_cast<std::int64_t>(i), b & mask(dtype));
  }
  return view;
}

std::uint64_t element_bits(const View& view, std::int64_t i) {
  const int b = bits(view.dtype);
  const auto at = static_cast<std::int64_t>(view.offset) * 8 + kernels::offset_of(view.layout, i) * b;
  std::uint64_t result = 0;
  std::memcpy(&result, view.buffer.data() + at / 8, std::max(b / 8, 1));
  return (result >> (at % 8)) & mask(view.dtype);
}

View reversed(View view, int axis) {
  const std::int64_t stride = view.strides()[axis];
  const std::int64_t last = std::max<std::int64_t>(view.shape()[axis] - 1, 0);
  view.offset += static_cast<std::uint64_t>(stride * last * bits(view.dtype) / 8);
  view.layout.strides[axis] = -stride;
  return view;
}

void set_element_bits(const View& view, std::int64_t i, std::uint64_t value) {
  const int b = bits(view.dtype);
  const auto at = static_cast<std::int64_t>(view.offset) * 8 + kernels::offset_of(view.layout, i) * b;
  std::byte* p = view.buffer.data() + at / 8;
  if (b < 8) {
    std::uint8_t byte;
    std::memcpy(&byte, p, 1);
    const unsigned m = static_cast<unsigned>(mask(view.dtype)) << (at % 8);
    value = (byte & ~m) | ((value << (at % 8)) & m);
  }
  std::memcpy(p, &value, std::max(b / 8, 1));
}

double value(const View& view, std::int64_t i) { return to_double(element_bits(view, i), view.dtype); }

std::vector<double> values(const View& view) {
  std::vector<double> v;
  for (std::int64_t i = 0, n = view.count(); i < n; ++i) v.push_back(value(view, i));
  return v;
}

void expect_close(const View& actual, const View& expected, const Tolerance& tolerance, const std::string& what) {
  ASSERT_EQ(actual.dtype, expected.dtype) << what;
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  std::int64_t wrong = 0;
  std::string report;
  const std::int64_t n = expected.count();
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t a = element_bits(actual, i);
    const std::uint64_t e = element_bits(expected, i);
    if (close(a, e, expected.dtype, tolerance)) continue;
    if (wrong++ < 5) {
      report += std::format("\n  element {}: {} (0x{:x}), expected {} (0x{:x})", i, value(actual, i), a,
                            value(expected, i), e);
    }
  }
  if (wrong) {
    ADD_FAILURE() << what << ": " << wrong << " of " << n << " elements of " << weft::to_string(expected) << " differ"
                  << report;
  }
}

void expect_untouched(std::span<const std::byte> before, std::span<const std::byte> after,
                      std::span<const View> outputs, const Buffer& buffer, const std::string& what) {
  const std::vector<std::uint8_t> taken = covered(outputs, buffer);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if ((static_cast<unsigned>(before[i] ^ after[i]) & ~unsigned{taken[i]}) == 0) continue;
    ADD_FAILURE() << what << ": byte " << i << " lies outside of the outputs, and changed";
    return;
  }
}

View to_device(gpu::Device& device, const View& host) {
  View v = host;
  v.buffer = device.allocate(std::max<std::uint64_t>(host.buffer.size(), 16));
  if (host.buffer.size()) device.upload(v.buffer, 0, {host.buffer.data(), host.buffer.size()});
  return v;
}

View to_host(gpu::Device& device, const View& on_device) {
  View v = on_device;
  v.buffer = Buffer::host(on_device.buffer.size());
  device.read(on_device.buffer, 0, on_device.buffer.size()).get().copy_to({v.buffer.data(), v.buffer.size()});
  return v;
}

void run_both(gpu::Device& device, std::span<const View> inputs, std::span<const View> outputs, const KernelCall& call,
              const Tolerance& tolerance, const std::string& what) {
  if (leave_out_problem()) {  // except for the outputs, with which the test may continue
    cpu::Executor cpu;
    return call(cpu, inputs, outputs);
  }
  struct Memory {
    Buffer host, gpu;
    std::vector<std::byte> before;
    bool written = false;
  };
  std::map<std::uint64_t, Memory> memory;
  auto mirror = [&](const View& v, bool written) {
    Memory& m = memory[v.buffer.id()];
    if (!m.host) {
      m.host = v.buffer;
      m.gpu = to_device(device, v).buffer;
      m.before.assign(v.buffer.data(), v.buffer.data() + v.buffer.size());
    }
    m.written |= written;
    View g = v;
    g.buffer = m.gpu;
    return g;
  };
  std::vector<View> gpu_inputs;
  std::vector<View> gpu_outputs;
  for (const View& v : inputs) gpu_inputs.push_back(mirror(v, false));
  for (const View& v : outputs) gpu_outputs.push_back(mirror(v, true));

  gpu::Encoder encoder(device);
  call(encoder, gpu_inputs, gpu_outputs);
  encoder.submit();
  cpu::Executor cpu;
  call(cpu, inputs, outputs);

  std::map<std::uint64_t, Buffer> read;
  for (auto& [id, m] : memory) {
    if (!m.written && m.host.size() == 0) continue;
    View whole(m.gpu, 0, DType::u8, {static_cast<std::int64_t>(m.host.size())});
    read[id] = to_host(device, whole).buffer;
    expect_untouched(m.before, {read[id].data(), m.host.size()}, outputs, m.host, what + " (gpu)");
    expect_untouched(m.before, {m.host.data(), m.host.size()}, outputs, m.host, what + " (cpu)");
  }
  for (const View& v : outputs) {
    View g = v;
    g.buffer = read[v.buffer.id()];
    if (v.count()) expect_close(g, v, tolerance, what);
  }
}

}  // namespace weft::test
