// Random programs, evaluated at random points, against the same programs with an evaluation after each operation.
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <random>

#include "support/on_device.h"
#include "support/problem_counts.h"
#include "support/quick.h"
#include "support/random_program.h"
#include "weft/error.h"
#include "weft/print.h"

namespace weft::test {
namespace {

// Runs a program on the default device. Some values are let go after their last use, others kept to the end; now and
// then some are evaluated, read or printed: in some programs often, in others hardly, so that long chains are evaluated
// as one whose intermediate values nobody holds.
class LazyRun {
 public:
  LazyRun(const RandomProgram& program, unsigned seed) : program_(program), random_(seed) {
    last_use_.resize(program.values.size(), 0);
    for (std::size_t k = 0; k < program.steps.size(); ++k) {
      for (const int i : program.steps[k].operands) last_use_[static_cast<std::size_t>(i)] = k;
    }
  }

  // Whether all values were as expected.
  bool run() {
    for (std::size_t k = 0; k < program_.steps.size(); ++k) {
      const ProgramStep& step = program_.steps[k];
      std::vector<Tensor> operands;
      for (const int i : step.operands) operands.push_back(values_[static_cast<std::size_t>(i)]);
      for (const int i : step.operands) {
        if (last_use_[static_cast<std::size_t>(i)] == k && !chance(keeps_))
          values_[static_cast<std::size_t>(i)] = Tensor();
      }
      for (Tensor& x : step.run(operands)) values_.push_back(std::move(x));
      look();
    }
    bool good = true;
    std::vector<Tensor> left;
    for (const Tensor& x : values_) {
      if (x.defined()) left.push_back(x);
    }
    if (chance(2)) eval(left);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (values_[i].defined()) good &= is_right(i);
    }
    return good && good_;
  }

 private:
  bool chance(int one_in) { return std::uniform_int_distribution<int>(1, one_in)(random_) == 1; }
  std::size_t any() { return std::uniform_int_distribution<std::size_t>(0, values_.size() - 1)(random_); }

  void look() {
    const std::size_t i = any(), j = any();
    if (!values_[i].defined() || !chance(looks_)) return;
    if (chance(4)) {
      EXPECT_FALSE(weft::to_string(values_[i]).empty());
    } else if (chance(3) || !values_[j].defined()) {
      good_ &= is_right(i);
    } else {
      eval({values_[i], values_[j]});
    }
  }

  bool is_right(std::size_t i) const {
    const ProgramValue& expected = program_.values[i];
    EXPECT_EQ(values_[i].type(), expected.type) << "v" << i;
    if (values_[i].type() != expected.type) return false;
    const View actual = read_view(values_[i]);
    if (is_integer(expected.type.dtype) && !std::ranges::equal(bytes_of(actual), expected.bytes)) {
      ADD_FAILURE() << "v" << i << " " << weft::to_string(values_[i]) << ", expected other integers";
      return false;
    }
    for (std::int64_t e = 0; e < actual.count(); ++e) {
      const double a = value(actual, e), x = expected.elements[static_cast<std::size_t>(e)];
      if (expected.exact ? a == x : std::abs(a - x) <= expected.error) continue;
      ADD_FAILURE() << "v" << i << " " << weft::to_string(expected.type) << ", element " << e << ": " << a
                    << ", expected " << x << " ± " << expected.error;
      return false;
    }
    return true;
  }

  const RandomProgram& program_;
  std::mt19937 random_;
  int keeps_ = chance(2) ? 2 : 20, looks_ = chance(2) ? 4 : 40;  // one in so many
  std::vector<std::size_t> last_use_;
  std::vector<Tensor> values_;
  bool good_ = true;
};

class Programs : public OnDevice {};

INSTANTIATE_TEST_SUITE_P(Devices, Programs, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

// WEFT_RANDOM_PROGRAMS sets their number, WEFT_RANDOM_SEED the first.
TEST_P(Programs, EvaluatedLaterComputeTheSame) {
  const char* count_text = std::getenv("WEFT_RANDOM_PROGRAMS");
  const char* seed_text = std::getenv("WEFT_RANDOM_SEED");
  // A software GPU spends most of its time on compiling shaders.
  const unsigned ordinary = scaled(device.is_gpu() ? 100 : 1000);
  const unsigned count = count_text ? static_cast<unsigned>(std::atoi(count_text)) : ordinary;
  const unsigned first = seed_text ? static_cast<unsigned>(std::atoi(seed_text)) : 1;
  for (unsigned seed = first; seed < first + count; ++seed) {
    std::string what = std::format("WEFT_RANDOM_SEED={} on {}\n", seed, device.name());
    bool good = false;
    try {
      const RandomProgram program = random_program(seed);
      what += program.to_string();
      good = LazyRun(program, seed).run();
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
    count_problem("random programs", good ? "" : std::format("WEFT_RANDOM_SEED={} on {}", seed, device.name()));
    ASSERT_TRUE(good) << what;
  }
}

// The programs of the suite have operations of every kind, in long chains, of which most are exact.
TEST(RandomPrograms, HaveEveryOperation) {
  std::map<std::string, int> times;
  std::size_t steps = 0, exact = 0, values = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    const RandomProgram program = random_program(seed);
    steps += program.steps.size();
    for (const ProgramStep& step : program.steps) {
      const std::size_t begin = step.text.find(" = ") + 3;
      ++times[step.text.substr(begin, step.text.find_first_of("(0123456789[", begin) - begin)];
    }
    values += program.values.size();
    exact += static_cast<std::size_t>(std::ranges::count(program.values, true, &ProgramValue::exact));
  }
  std::string all;
  for (const auto& [name, n] : times) all += std::format("{} {}, ", name, n);
  EXPECT_GE(times.size(), 135u) << all;
  EXPECT_GE(steps, 300u * 25);
  EXPECT_GE(exact, values / 2) << values;
}

}  // namespace
}  // namespace weft::test
