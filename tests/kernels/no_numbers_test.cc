// Elements that are NaN or infinite take part in those results alone that they belong to, on every device as on the
// cpu: not in those of padding, of masked or clamped places, of a tile's rest, or of other rows of a workgroup.
#include <gtest/gtest.h>

#include "support/differential.h"
#include "weft/error.h"

namespace weft::test {
namespace {

class NoNumbers : public testing::TestWithParam<std::string> {};

TEST_P(NoNumbers, BelongToTheirResults) {
  constexpr double kOthers[] = {INFINITY, NAN, -INFINITY};
  const char* const text = std::getenv("WEFT_NO_NUMBERS");
  const std::uint64_t count = text ? std::strtoull(text, nullptr, 0) : 6;
  for (const std::string& device : device_names()) {
    for (std::uint64_t form = 1; form <= count; ++form) {
      Rng rng(form);
      const Problem p = random_problem(GetParam(), rng);
      Rng& details = rng.details();
      for (const View& v : p.inputs) {
        if (!is_floating(v.dtype) || v.count() == 0) continue;
        for (int i = 0; i < 2; ++i) {
          const View number = host_view(v.dtype, {1}, std::array{pick(details, kOthers)});
          const auto at = static_cast<std::int64_t>(details() % static_cast<std::uint64_t>(v.count()));
          set_element_bits(v, at, element_bits(number, 0));
        }
      }
      Tolerance tolerance = p.tolerance;
      tolerance.bits = false;  // NaN may have any payload
      const std::string what = std::format("{} {} on {}: {}", GetParam(), form, device, p.what);
      try {
        run_both(test::device(device), p.inputs, p.outputs, p.drawn(), tolerance, what);
      } catch (const std::exception& e) {
        ADD_FAILURE() << what << ": " << e.what();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, NoNumbers, testing::ValuesIn(differential_kernels()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace weft::test
