#include "support/differential.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

namespace weft::test {
namespace {

// In a function: generators register before main, in any order.
std::map<std::string, Generator>& generators() {
  static std::map<std::string, Generator> all;
  return all;
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

class Differential : public testing::Test {
 public:
  Differential(std::string kernel, std::string device) : kernel_(std::move(kernel)), device_(std::move(device)) {}

 private:
  void TestBody() override {
    constexpr std::uint64_t kFew = 12;
    const std::uint64_t cases = from_environment("WEFT_DIFFERENTIAL_CASES", kFew);
    const std::uint64_t seed = from_environment("WEFT_SEED", 1);
    for (std::uint64_t i = 0; i < cases; ++i) {
      Rng rng(seed + i);
      const Problem problem = generators().at(kernel_)(rng);
      const std::string what = std::format("{} [WEFT_SEED={} WEFT_DIFFERENTIAL_CASES=1] {}", kernel_, seed + i, problem.what);
      SCOPED_TRACE(what);
      run_both(device(device_), problem.inputs, problem.outputs, problem.call, problem.tolerance, what);
      if (HasFatalFailure()) return;
    }
  }

  std::string kernel_, device_;
};

}  // namespace

bool differential(const std::string& kernel, Generator generator) {
  generators().emplace(kernel, std::move(generator));
  return true;
}

void register_differential_tests() {
  for (const auto& [kernel, generator] : generators()) {
    for (const std::string& device : device_names()) {
      testing::RegisterTest("Differential", std::format("{}/{}", kernel, device).c_str(), nullptr, nullptr, __FILE__,
                            __LINE__, [kernel, device] { return static_cast<testing::Test*>(new Differential(kernel, device)); });
    }
  }
}

int random_int(Rng& rng, int low, int high) { return low + static_cast<int>(rng() % static_cast<unsigned>(high - low + 1)); }

Shape random_shape(Rng& rng, int min_rank, int max_rank, std::int64_t most, bool zero) {
  Shape shape;
  std::int64_t left = most;
  const int rank = random_int(rng, min_rank, max_rank);
  for (int i = 0; i < rank; ++i) {
    std::int64_t size = 1;
    if (rng() % 4 != 0) {
      const auto root = std::max<std::int64_t>(static_cast<std::int64_t>(std::pow(static_cast<double>(left), 1.0 / (rank - i))), 2);
      size = 1 + static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(std::min(2 * root, left)));
      if (rng() % 2) size = std::min(left, (size + 3) / 4 * 4);
    }
    if (zero && rng() % 200 == 0) size = 0;
    shape.push_back(size);
    left = std::max<std::int64_t>(left / std::max<std::int64_t>(size, 1), 1);
  }
  return shape;
}

Shape random_broadcast(Rng& rng, const Shape& target) {
  Shape shape;
  const int first = rng() % 3 == 0 && target.rank() ? random_int(rng, 0, target.rank()) : 0;
  for (int i = first; i < target.rank(); ++i) shape.push_back(rng() % 3 == 0 ? 1 : target[i]);
  return shape;
}

Kind random_input_kind(Rng& rng) { return pick(rng, kInputKinds); }
Kind random_output_kind(Rng& rng) { return pick(rng, kOutputKinds); }

}  // namespace weft::test
