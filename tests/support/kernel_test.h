// Shared by the tests of kernels: views of every kind of layout with random content, comparison in units in the last
// place, and running one kernel call on a GPU and on the CPU.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "support/devices.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::test {

// Random numbers from which a problem is generated. Choices that determine its shaders (types, ranks, kinds of layouts,
// options) use the stream itself, others (sizes, strides, values) use details(); so the shaders of many problems of one
// form are compiled once. If form and details have the same seed, it is one stream of random problems.
class Rng {
 public:
  using result_type = std::uint64_t;
  explicit Rng(std::uint64_t seed) : Rng(seed, seed) {}
  Rng(std::uint64_t form, std::uint64_t details)
      : engine_(form), details_(std::make_unique<Rng>(Details{}, details * 0x9E3779B97F4A7C15u + 1)) {}
  struct Details {};
  Rng(Details, std::uint64_t seed) : engine_(seed) {}

  static constexpr result_type min() { return std::mt19937_64::min(); }
  static constexpr result_type max() { return std::mt19937_64::max(); }
  result_type operator()() { return engine_(); }
  Rng& details() { return details_ ? *details_ : *this; }

 private:
  std::mt19937_64 engine_;
  std::unique_ptr<Rng> details_;
};

// The layout of a view in its buffer.
enum class Kind {
  dense,       // from the buffer's start
  offset,      // dense, from an odd element on
  transposed,  // the axes stored in reverse order
  sliced,      // each axis a slice with a step of a larger tensor
  reversed,    // negative strides
  broadcast,   // every other axis has stride 0; only for inputs
};
inline constexpr Kind kOutputKinds[] = {Kind::dense, Kind::offset, Kind::transposed, Kind::sliced, Kind::reversed};
inline constexpr Kind kInputKinds[] = {Kind::dense,  Kind::offset,   Kind::transposed,
                                       Kind::sliced, Kind::reversed, Kind::broadcast};
std::string to_string(Kind kind);
// The view with an axis reversed.
View reversed(View view, int axis);

enum class Values {
  ordinary,  // floats from a normal distribution, integers of -100…100 (unsigned 0…100), booleans 0 or 1
  special,   // also NaN, infinities, zeros of both signs, denormals, largest and smallest, whole bit range of integers,
             // boolean bytes past 1
};

// A view in host memory. Its buffer is filled with random bytes, so that an output that is not written and an
// overwritten neighbour are noticed. Buffer sizes are multiples of 16 bytes.
View random_view(Rng& rng, const Shape& shape, DType dtype, Kind kind = Kind::dense, Values values = Values::ordinary);

// A dense view of the given values, converted to `dtype`.
View host_view(DType dtype, const Shape& shape, std::span<const double> values);

// Element `i` in row-major order. Booleans read as 0 or 1, complex numbers by their real part.
double value(const View& view, std::int64_t i);
std::vector<double> values(const View& view);
// Its bits, in the low end.
std::uint64_t element_bits(const View& view, std::int64_t i);
void set_element_bits(const View& view, std::int64_t i, std::uint64_t bits);

// When two elements count as equal: the same bits, or both NaN, or within one of these bounds. Integers and booleans
// must always be equal. Unless `bits` is set, f32 and bf16 may differ by 2^-126: WGSL allows denormal results and
// intermediate values to be flushed.
struct Tolerance {
  double ulp = 0;  // distance in representable numbers of the type; 0 holds -0 and +0 for equal
  double absolute = 0;
  double relative = 0;  // of the expected value
  bool bits = false;    // the same bits, NaN payloads too
};
inline constexpr Tolerance kSameBits{.bits = true};

// Both are in host memory, with one shape and type. Reports the few worst differences.
void expect_close(const View& actual, const View& expected, const Tolerance& tolerance, const std::string& what = "");

// Runs `call` with the views on the CPU and with copies of them on the device, compares the outputs, and checks that on
// both sides no byte outside of the outputs' elements has changed. Views that share a buffer share it on the device
// too. Afterwards the host views of the outputs hold the CPU's results.
using KernelCall = std::function<void(Stream& stream, std::span<const View> inputs, std::span<const View> outputs)>;
void run_both(gpu::Device& device, std::span<const View> inputs, std::span<const View> outputs, const KernelCall& call,
              const Tolerance& tolerance, const std::string& what = "");

// Fails if bytes differ that no element of `outputs` in that buffer covers.
void expect_untouched(std::span<const std::byte> before, std::span<const std::byte> after,
                      std::span<const View> outputs, const Buffer& buffer, const std::string& what);

// Copies a host view's whole buffer to the device, and back.
View to_device(gpu::Device& device, const View& host);
View to_host(gpu::Device& device, const View& on_device);

}  // namespace weft::test
