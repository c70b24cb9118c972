#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/fft.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

void add_fft_cases(NamedCases& c) {
  const Tensor x = c.floats({4, 6}), z = complex(x, c.floats({4, 6}));
  const AttributeMap line = {{"n", Number(5)}, {"axis", Number(0)}, {"norm", "ortho"}};
  c.same("fft", {z}, line, fft(z, 5, 0, FftNorm::ortho));
  c.same("fft", {x}, {}, fft(x));
  c.same("ifft", {z}, line, ifft(z, 5, 0, FftNorm::ortho));
  c.same("rfft", {x}, line, rfft(x, 5, 0, FftNorm::ortho));
  c.same("irfft", {z}, line, irfft(z, 5, 0, FftNorm::ortho));
  c.same("hfft", {z}, line, hfft(z, 5, 0, FftNorm::ortho));
  c.same("ihfft", {x}, line, ihfft(x, 5, 0, FftNorm::ortho));
  c.refused("fft", {cast(x, DType::f64)}, {}, [&] { fft(cast(x, DType::f64)); });
  c.refused("rfft", {z}, {}, [&] { rfft(z); });
  c.refused("irfft", {z}, {{"n", Number(0)}}, [&] { irfft(z, 0); });

  const AttributeMap lines = {
      {"sizes", std::vector<std::int64_t>{3, 5}}, {"axes", std::vector<std::int64_t>{1, 0}}, {"norm", "forward"}};
  c.same("fftn", {z}, lines, fftn(z, {3, 5}, {1, 0}, FftNorm::forward));
  c.same("fftn", {z}, {{"sizes", Number(5)}}, fftn(z, {5}));
  c.same("ifftn", {z}, lines, ifftn(z, {3, 5}, {1, 0}, FftNorm::forward));
  c.same("rfftn", {x}, lines, rfftn(x, {3, 5}, {1, 0}, FftNorm::forward));
  c.same("irfftn", {z}, lines, irfftn(z, {3, 5}, {1, 0}, FftNorm::forward));
  c.refused("fftn", {z}, {{"axes", std::vector<std::int64_t>{0, -2}}}, [&] { fftn(z, {}, {0, -2}); });
  c.refused("rfftn", {ones({})}, {}, [] { rfftn(ones({})); });

  c.same("fftfreq", {}, {{"n", Number(6)}, {"spacing", Number(0.5)}, {"dtype", "f16"}}, fftfreq(6, 0.5, DType::f16));
  c.same("rfftfreq", {}, {{"n", Number(6)}, {"spacing", Number(0.5)}, {"dtype", "f16"}}, rfftfreq(6, 0.5, DType::f16));
  c.refused("fftfreq", {}, {{"n", Number(0)}}, [] { fftfreq(0); });
  c.refused("rfftfreq", {}, {{"n", Number(4)}, {"dtype", "i32"}}, [] { rfftfreq(4, 1, DType::i32); });
  c.same("fftshift", {x}, {{"axes", Number(1)}}, fftshift(x, 1));
  c.same("ifftshift", {x}, {{"axes", Number(1)}}, ifftshift(x, 1));
  c.refused("fftshift", {x}, {{"axes", Number(2)}}, [&] { fftshift(x, 2); });
}
const bool added = named_cases(add_fft_cases);

}  // namespace
}  // namespace weft::test
