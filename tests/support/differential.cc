#include "support/differential.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "cpu/executor.h"
#include "support/problem_counts.h"
#include "weft/error.h"

namespace weft::test {
namespace {

struct Kernel {
  Generator generator;
  int cost = 1, problems = kDefaultProblems;
};
// In a function, because generators register before main, in any order.
std::map<std::string, Kernel>& kernels() {
  static std::map<std::string, Kernel> all;
  return all;
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

std::uint64_t alike() { return std::max<std::uint64_t>(from_environment("WEFT_DIFFERENTIAL_ALIKE", 1), 1); }

bool out_of_time() {
  using Clock = std::chrono::steady_clock;
  static const Clock::time_point start = Clock::now();
  static const std::uint64_t seconds = from_environment("WEFT_DIFFERENTIAL_SECONDS", 0);
  return seconds && Clock::now() - start > std::chrono::seconds(seconds);
}

// The first device with bindings that are too small for most problems.
constexpr std::string_view kNarrow = "narrow";
gpu::Device& narrow_device() {
  static gpu::Device& opened = *new gpu::Device([] {
    gpu::DeviceOptions options;
    options.adapter = std::to_string(devices().front().device.adapter().index);
    options.binding_limit = 8 << 10;
    return gpu::Device::open(options);
  }());
  return opened;
}

// Kernels of which it is open where a NaN arrives, with the reason.
constexpr std::pair<std::string_view, std::string_view> kOpenNan[] = {
    {"cholesky", "a matrix with it has no factor, and what follows it in the factor is not defined"},
    {"eig", "as eigh"},
    {"eigh", "a matrix with it has no eigenvalues, and rotations spread it in their order"},
    {"fft", "a product of complex numbers spreads it to both parts, a sum does not"},
    {"lu", "pivots are chosen by comparisons with it"},
    {"qr", "a reflection spreads it to the columns behind, in blocks"},
    {"svd", "as eigh"},
    {"svdvals", "as eigh"},
    {"triangular_solve", "forms differ in whether they multiply it with a zero of the solution"},
};

// Makes an element of one of the inputs NaN, that of the sign that has most bits set, and tells of which; nothing if
// none is of floats. What is padded, masked or divided into blocks then shows whether zeros were multiplied with it.
std::string with_nan(const Problem& problem, Rng& rng) {
  std::vector<std::size_t> chosen;
  for (std::size_t k = 0; k < problem.inputs.size(); ++k) {
    const View& x = problem.inputs[k];
    const bool is_float = x.dtype == DType::f32 || x.dtype == DType::f16 || x.dtype == DType::bf16;
    const bool defined = problem.nan_inputs.empty() || std::ranges::count(problem.nan_inputs, k);
    if (defined && is_float && x.count() > 0 && !x.buffer.is_number()) chosen.push_back(k);
  }
  if (chosen.empty()) return "";
  const std::size_t k = chosen[rng.details()() % chosen.size()];
  const View& x = problem.inputs[k];
  const auto at = static_cast<std::int64_t>(rng.details()() % static_cast<std::uint64_t>(x.count()));
  set_element_bits(x, at, x.dtype == DType::f32 ? 0x7FFFFFFF : 0x7FFF);
  return std::format("NaN as element {} of input {}", at, k);
}

// A subset of the problems of a kernel on a device: the forms from `first` on, `alike` problems of each.
struct Part {
  std::string kernel, device;
  std::uint64_t first = 0, forms = 0, alike = 1, problems = 0;
};

class Differential : public testing::Test {
 public:
  explicit Differential(Part part) : part_(std::move(part)) {}

 private:
  void TestBody() override {
    std::uint64_t left = part_.problems;
    for (std::uint64_t form = part_.first; form < part_.first + part_.forms; ++form) {
      for (std::uint64_t i = 0; i < part_.alike && left; ++i, --left) {
        if (out_of_time()) GTEST_SKIP() << "out of time";
        Rng rng(form, form * 1000 + i);
        const Problem problem = random_problem(part_.kernel, rng);
        const std::string seed = std::format("{} [WEFT_SEED={} WEFT_DIFFERENTIAL_CASES={} WEFT_DIFFERENTIAL_ALIKE={}]",
                                             part_.kernel, form, part_.alike, alike());
        const std::string what = seed + " " + problem.what;
        SCOPED_TRACE(what);
        try {
          run(problem, problem.tolerance, what);
          // With the same shaders.
          const auto named = [&](const auto& row) { return row.first == part_.kernel; };
          const bool open = std::ranges::any_of(kOpenNan, named);
          const std::string planted = open || HasFailure() ? "" : with_nan(problem, rng);
          // Arithmetic gives a NaN any payload.
          Tolerance tolerance = problem.tolerance;
          tolerance.bits = false;
          if (!planted.empty()) run(problem, tolerance, what + ", " + planted);
        } catch (const Unsupported& e) {
          // Tensors that do not fit the bindings of that device are refused with a message that names them.
          const std::string_view why = e.what();
          const auto says = [&](std::string_view words) { return why.find(words) != std::string_view::npos; };
          const bool named = says("this device binds") || says("this device's bindings");
          EXPECT_TRUE(part_.device == kNarrow && named) << why;
        } catch (const std::exception& e) {
          ADD_FAILURE() << e.what();
        }
        count_problem("differential problems", HasFailure() ? seed + " on " + part_.device : "");
        if (HasFailure()) return;
      }
    }
  }

  void run(const Problem& problem, const Tolerance& tolerance, const std::string& what) {
    gpu::Device& device = part_.device == kNarrow ? narrow_device() : test::device(part_.device);
    // Forced forms do not split tensors into chunks, which the kernel's own call does.
    const KernelCall drawn = part_.device == kNarrow ? problem.call : problem.drawn();
    if (!problem.reference) return run_both(device, problem.inputs, problem.outputs, drawn, tolerance, what);
    std::vector<View> own;
    for (View y : problem.outputs) {
      const Buffer copy = Buffer::host(y.buffer.size());
      std::memcpy(copy.data(), y.buffer.data(), copy.size());
      y.buffer = copy;
      own.push_back(y);
    }
    const auto call = [&](Stream& s, auto in, auto out) { (s.gpu() ? drawn : problem.reference)(s, in, out); };
    run_both(device, problem.inputs, problem.outputs, call, tolerance, what);
    cpu::Executor executor;
    problem.call(executor, problem.inputs, own);
    for (std::size_t k = 0; k < own.size(); ++k)
      expect_close(own[k], problem.outputs[k], tolerance, "the cpu's form of " + what);
  }

  Part part_;
};

}  // namespace

KernelCall Problem::drawn() const {
  const auto empty = [](const View& v) { return v.count() == 0; };
  if (!form || std::ranges::any_of(inputs, empty) || std::ranges::any_of(outputs, empty)) return call;
  return [call = call, form = form](Stream& s, auto in, auto out) { (s.gpu() ? form : call)(s, in, out); };
}

bool differential(const std::string& kernel, Generator generator, int cost, int problems) {
  kernels().emplace(kernel, Kernel{std::move(generator), cost, problems});
  return true;
}

std::vector<std::string> differential_kernels() {
  std::vector<std::string> names;
  for (const auto& [name, kernel] : kernels()) names.push_back(name);
  return names;
}

// Views with gaps on many axes may come to more than some devices bind; such a problem is drawn again.
Problem random_problem(const std::string& kernel, Rng& rng) {
  constexpr std::uint64_t kMost = 64 << 20;
  const auto large = [](const View& v) { return v.buffer.size() > kMost; };
  while (true) {
    Problem p = kernels().at(kernel).generator(rng);
    if (!std::ranges::any_of(p.inputs, large) && !std::ranges::any_of(p.outputs, large)) return p;
  }
}

void register_differential_tests() {
  constexpr std::uint64_t kFew = kDefaultProblems, kFormsInPart = 8;
  const bool seeded = std::getenv("WEFT_SEED") != nullptr;
  std::vector<std::string> names = device_names();
  if (!names.empty()) names.emplace_back(kNarrow);
  for (const auto& [name, kernel] : kernels()) {
    const auto few = static_cast<std::uint64_t>(kernel.problems);
    const std::uint64_t all = from_environment("WEFT_DIFFERENTIAL_CASES", few);
    for (std::size_t d = 0; d < names.size(); ++d) {
      const std::string& device = names[d];
      // At least one form, whatever its cost; with one problem a form there is nothing to save.
      Part part{name, device, from_environment("WEFT_SEED", 1)};
      part.alike = alike() > 1 ? alike() * static_cast<std::uint64_t>(kernel.cost) : 1;
      if (few < kFew && !seeded) part.first += d * few;
      const std::uint64_t problems = device == kNarrow ? std::min(all, std::max(part.alike, (all + 3) / 4)) : all;
      const std::uint64_t of_part = part.alike * (problems > kFew ? kFormsInPart : kFew);
      for (std::uint64_t done = 0; done < problems; done += part.problems) {
        part.problems = std::min(problems - done, of_part);
        part.forms = (part.problems + part.alike - 1) / part.alike;
        const std::string number = problems > of_part ? std::format("/{}", done / of_part) : "";
        testing::RegisterTest("Differential", std::format("{}/{}{}", name, device, number).c_str(), nullptr, nullptr,
                              __FILE__, __LINE__,
                              [part] { return static_cast<testing::Test*>(new Differential(part)); });
        part.first += part.forms;
      }
    }
  }
}

int random_int(Rng& rng, int low, int high) {
  return low + static_cast<int>(rng() % static_cast<unsigned>(high - low + 1));
}

Shape random_shape(Rng& rng, int min_rank, int max_rank, std::int64_t most, bool zero) {
  Shape shape;
  std::int64_t left = most;
  const int rank = random_int(rng, min_rank, max_rank);
  for (int i = 0; i < rank; ++i) {
    std::int64_t size = 1;
    if (rng() % 4 != 0) {
      const auto root =
          std::max<std::int64_t>(static_cast<std::int64_t>(std::pow(static_cast<double>(left), 1.0 / (rank - i))), 2);
      // Not 1 unless intended, because size 1 needs another shader.
      const std::int64_t largest = std::min(2 * root, left);
      if (largest > 1) size = 2 + static_cast<std::int64_t>(rng.details()() % static_cast<std::uint64_t>(largest - 1));
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
