#include "support/random_program.h"

#include <cmath>

#include "support/on_device.h"
#include "support/random_program_steps.h"
#include "weft/error.h"
#include "weft/evaluate.h"

namespace weft::test {
namespace {

// Larger floats would lose what a comparison could find.
constexpr double kLargest = 1000, kLargestError = 0.05;  // the latter relative to 1 + top
constexpr std::int64_t kMostElements = 300;

ProgramValue described(const Tensor& x) {
  ProgramValue v{.type = x.type()};
  const View host = read_view(x);
  v.elements = values(host);
  const auto bytes = bytes_of(host);
  v.bytes.assign(bytes.begin(), bytes.end());
  for (const double e : v.elements) {
    v.top = std::max(v.top, std::abs(e));
    if (!std::isfinite(e)) v.top = INFINITY;
  }
  if (!is_floating(x.dtype()) || !std::isfinite(v.top)) return v;
  for (const double e : v.elements) {
    while (v.grid < 60 && std::ldexp(e, v.grid) != std::floor(std::ldexp(e, v.grid))) ++v.grid;
  }
  return v;
}

// Whether the step's results are kept: then the values know how far other runs may be from them.
bool accept(ProgramState& s, Candidate& c) {
  bool exact = true;
  std::vector<Tensor> operands;
  for (const int i : c.step.operands) {
    exact &= s[i].exact;
    operands.push_back(tensor(s[i].type.dtype, s[i].type.shape, s[i].bytes));
  }
  std::vector<Tensor> results;
  try {
    results = c.step.run(operands);
  } catch (const InvalidArgument&) {
    return false;  // types or shapes that do not fit
  }
  std::vector<ProgramValue> made;
  for (const Tensor& x : results) {
    if (x.size() > kMostElements || x.rank() > 5) return false;
    ProgramValue v = described(x);
    if (is_floating(v.type.dtype)) {
      if (!(v.top <= kLargest)) return false;
      v.exact = exact && c.exact && fits_exactly(v.grid, v.top, v.type.dtype);
      // Two roundings, since another run may have rounded in the other direction.
      if (!v.exact) v.error = c.error + std::ldexp(1 + v.top, 2 - significand_bits(v.type.dtype));
      if (v.error > kLargestError * (1 + v.top)) return false;
    } else if (!exact) {
      return false;
    }
    made.push_back(std::move(v));
  }
  const std::size_t first = s.program.values.size();
  std::string names;
  for (std::size_t i = 0; i < made.size(); ++i) names += std::format("{}v{}", i ? ", " : "", first + i);
  std::string types;
  for (const ProgramValue& v : made) types += std::format("  {}{}", weft::to_string(v.type), v.exact ? "" : " rounded");
  c.step.text = std::format("{} = {}   {}", names, c.step.text, types);
  c.step.results = static_cast<int>(made.size());
  s.program.steps.push_back(std::move(c.step));
  s.program.values.insert(s.program.values.end(), made.begin(), made.end());
  return true;
}

}  // namespace

int significand_bits(DType type) {
  switch (type) {
    case DType::f16:
      return 11;
    case DType::bf16:
      return 8;
    default:
      return 24;
  }
}

bool fits_exactly(int grid, double top, DType type) {
  return grid + std::ceil(std::log2(top + 1)) <= significand_bits(type);
}

std::string RandomProgram::to_string() const {
  std::string text;
  for (const ProgramStep& step : steps) text += step.text + "\n";
  return text;
}

RandomProgram random_program(unsigned seed) {
  const struct OnCpu {
    Device before = default_device();
    OnCpu() { set_default_device(Device::cpu()); }
    ~OnCpu() { set_default_device(before); }
  } on_cpu;
  ProgramState s(seed);
  const std::size_t length = static_cast<std::size_t>(5 + s.up_to(45));
  while (s.program.steps.size() < 3) {
    if (auto leaf = random_leaf(s)) accept(s, *leaf);
  }
  for (int attempt = 0; s.program.steps.size() < 3 + length && attempt < 2000; ++attempt) {
    if (auto c = s.chance(12) ? random_leaf(s) : random_candidate(s)) accept(s, *c);
  }
  return std::move(s.program);
}

}  // namespace weft::test
