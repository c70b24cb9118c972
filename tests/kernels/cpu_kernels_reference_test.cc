// All kernels of the table on the CPU by name, in every type, against NumPy, SciPy and PyTorch (tests/reference).
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cpu/executor.h"
#include "support/kernel_test.h"
#include "support/reference_cases.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/flags.h"
#include "weft/kernels.h"
#include "weft/kernels/table.h"

namespace weft::test {
namespace {

using nlohmann::json;

constexpr DType kEvery[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::f8e4m3, DType::f8e5m2, DType::i8,
                            DType::i16, DType::i32, DType::i64,  DType::u8,  DType::u16,    DType::u32,    DType::u64,
                            DType::i4,  DType::u4,  DType::i2,   DType::u2,  DType::c64,    DType::boolean};

class CpuKernelsReference : public testing::Test {
 protected:
  static AttributeMap attributes(const json& c) {
    AttributeMap result;
    if (!c.contains("attributes")) return result;
    for (const auto& [name, value] : c.at("attributes").items()) {
      const bool fractions =
          value.is_array() && std::ranges::any_of(value, [](const json& v) { return v.is_number_float(); });
      if (fractions)
        result[name] = value.get<std::vector<double>>();
      else if (value.is_array())
        result[name] = value.get<std::vector<std::int64_t>>();
      else if (value.is_string())
        result[name] = value.get<std::string>();
      else if (value.is_number_unsigned())
        result[name] = value.get<std::uint64_t>();
      else if (value.is_number_integer())
        result[name] = value.get<std::int64_t>();
      else
        result[name] = value.get<double>();
    }
    return result;
  }

  // The type of a call's data, not of its indices and the like.
  static DType type_of_data(std::string_view kernel, std::span<const View> inputs, std::span<const View> outputs) {
    const Schema& schema = kernels::kernel(kernel);
    for (std::size_t k = 0; k < schema.inputs.size() && k < inputs.size(); ++k) {
      const std::string& name = schema.inputs[k].name;
      if (name != "condition" && name != "mask" && name != "key" && name != "indices") return inputs[k].dtype;
    }
    return outputs[0].dtype;
  }

  // Each set of cases is written by a script of its own.
  static constexpr const char* kSets[] = {
      "cpu_kernels",        "conv",      "pool",     "resize",        "sampling", "rnn",  "quantize",
      "attention_gradient", "fft",       "linalg",   "distributions", "qr",       "eigh", "svd",
      "incomplete",         "quantized", "products", "search",        "eig"};
  CpuKernelsReference() {
    // Tolerances are those of sums in f64. LAPACK's results are compared with the same references, on the device cpu,
    // in tests/graph, and with their definitions in linalg_test.cc.
    set_flag(Flag::lapack, "off");
    for (const char* name : kSets) {
      sets_.emplace_back(name);
      for (json& c : sets_.back().list("cases.json")) {
        c["set"] = sets_.size() - 1;
        cases.push_back(std::move(c));
      }
    }
  }
  ~CpuKernelsReference() override { reset_flags(); }
  std::vector<View> operands(const json& c, const char* list) const {
    return sets_[c.at("set").get<std::size_t>()].operands(c, list);
  }

  std::vector<json> cases;

 private:
  std::vector<ReferenceCases> sets_;
};

TEST_F(CpuKernelsReference, EveryKernel) {
  cpu::Executor cpu;
  std::map<std::string, std::set<DType>> called;
  std::map<std::string, const json*> of_kernel;
  Rng rng(1);
  for (const json& c : cases) {
    const std::string kernel = c.at("kernel");
    const std::vector<View> inputs = operands(c, "inputs"), expected = operands(c, "outputs"),
                            before = operands(c, "before");
    called[kernel].insert(type_of_data(kernel, inputs, expected));
    of_kernel[kernel] = &c;
    std::string what = kernel + " of";
    for (const View& v : inputs) what += " " + to_string(v);
    what += " to " + to_string(expected[0]) + (c.contains("attributes") ? " " + c.at("attributes").dump() : "");
    SCOPED_TRACE(what);
    std::vector<View> outputs;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      outputs.push_back(random_view(rng, expected[k].shape(), expected[k].dtype));
      for (std::int64_t i = 0; k < before.size() && i < before[k].count(); ++i) {
        set_element_bits(outputs[k], i, element_bits(before[k], i));
      }
    }
    try {
      kernels::call(cpu, kernel, {.inputs = inputs, .outputs = outputs, .attributes = attributes(c)});
    } catch (const Error& e) {
      ADD_FAILURE() << what << ": " << e.what();
      continue;
    }
    for (std::size_t k = 0; k < expected.size(); ++k)
      expect_close(outputs[k], expected[k], ReferenceCases::tolerance(c), what);
  }
  for (const kernels::KernelInfo& k : kernels::table()) {
    ASSERT_TRUE(called.contains(k.name)) << k.name << " has no case in tests/reference";
    // A call on data that the kernel treats differently has a case of that type.
    const json& c = *of_kernel.at(k.name);
    const DType usual = type_of_data(k.name, operands(c, "inputs"), operands(c, "outputs"));
    for (const DType type : kEvery) {
      if (called.at(k.name).contains(type)) continue;
      const auto as = [&](const View& v) { return random_view(rng, v.shape(), v.dtype == usual ? type : v.dtype); };
      std::vector<View> inputs, outputs;
      for (const View& v : operands(c, "inputs")) inputs.push_back(as(v));
      for (const View& v : operands(c, "outputs")) outputs.push_back(as(v));
      const std::string refused = thrown_by(
          [&] { kernels::call(cpu, k.name, {.inputs = inputs, .outputs = outputs, .attributes = attributes(c)}); });
      EXPECT_NE(refused, "nothing") << k.name << " takes " << name(type)
                                    << ", of which tests/reference/cpu_kernels.py has no case";
    }
  }
}

// A number among the attributes reaches what is computed in f64 with all its digits: a change of its 30th bit changes a
// result.
TEST_F(CpuKernelsReference, NumbersKeepTheirDigits) {
  // Bounds, which elements are compared with.
  const std::set<std::string> bounds = {"hardshrink lambda", "threshold limit"};
  cpu::Executor cpu;
  std::map<std::string, bool> changes;
  Rng rng(1);
  for (const json& c : cases) {
    const std::string kernel = c.at("kernel");
    const std::vector<View> inputs = operands(c, "inputs"), expected = operands(c, "outputs");
    const auto is_f64 = [](const View& v) { return v.dtype == DType::f64; };
    if (std::ranges::none_of(inputs, is_f64) || std::ranges::none_of(expected, is_f64)) continue;
    const auto bits = [&](const AttributeMap& attributes) {
      std::vector<View> outputs;
      for (const View& v : expected) outputs.push_back(random_view(rng, v.shape(), v.dtype));
      kernels::call(cpu, kernel, {.inputs = inputs, .outputs = outputs, .attributes = attributes});
      std::vector<std::uint64_t> all;
      for (const View& v : outputs) {
        for (std::int64_t i = 0; i < v.count(); ++i) all.push_back(element_bits(v, i));
      }
      return all;
    };
    for (const AttributeSchema& a : kernels::kernel(kernel).attributes) {
      if (a.kind != AttributeKind::number || bounds.contains(kernel + " " + a.name)) continue;
      AttributeMap given = attributes(c);
      if (!given.contains(a.name)) given[a.name] = a.default_value.value_or(Number(1));
      const double value = std::get<Number>(given.at(a.name)).value();
      if (value == 0 || !std::isfinite(value)) continue;
      const auto before = bits(given);
      given[a.name] = value * (1 + 0x1p-30);
      changes[kernel + " " + a.name] |= before != bits(given);
    }
  }
  EXPECT_GT(changes.size(), 20U);
  for (const auto& [attribute, changed] : changes) EXPECT_TRUE(changed) << attribute;
}

// The same calls with attributes that do not fit: they throw a typed error or work, and change nothing but the outputs.
TEST_F(CpuKernelsReference, HostileAttributes) {
  const AttributeValue hostile[] = {INT64_MIN,
                                    INT64_MAX,
                                    std::int64_t{1} << 32,
                                    -9,
                                    8,
                                    1e300,
                                    -1e300,
                                    std::nan(""),
                                    INFINITY,
                                    0.5,
                                    std::string(),
                                    std::string("sum"),
                                    std::vector<std::int64_t>{},
                                    std::vector<std::int64_t>{INT32_MIN},
                                    std::vector<std::int64_t>{INT64_MIN, INT64_MAX},
                                    std::vector<std::int64_t>{0, 0},
                                    std::vector<std::int64_t>{INT32_MAX, INT32_MIN, -1},
                                    std::vector<double>{},
                                    std::vector<double>{0.5},
                                    std::vector<double>{std::nan(""), INFINITY},
                                    std::vector<double>{1e300, -1e300, 0}};
  cpu::Executor cpu;
  Rng rng(2);
  std::map<std::string, int> taken;
  for (const json& c : cases) {
    const std::string kernel = c.at("kernel");
    const AttributeMap own = attributes(c);
    if (own.empty() || ++taken[kernel] > 4) continue;
    const std::vector<View> inputs = operands(c, "inputs"), expected = operands(c, "outputs");
    for (const auto& [name, value] : own) {
      for (const AttributeValue& a : hostile) {
        std::vector<View> outputs;
        for (const View& y : expected) outputs.push_back(random_view(rng, y.shape(), y.dtype));
        AttributeMap changed = own;
        changed[name] = a;
        try {
          kernels::call(cpu, kernel, {.inputs = inputs, .outputs = outputs, .attributes = changed});
        } catch (const InvalidArgument&) {
        } catch (const Unsupported&) {
        } catch (const std::exception& e) {
          ADD_FAILURE() << kernel << " with " << name << " of kind " << a.index() << ": " << e.what();
        }
      }
    }
  }
}

// Numbers at the ends of the 64-bit range.
TEST(HostileNumbers, AreRefusedOrMeanWhatTheySay) {
  cpu::Executor cpu;
  Rng rng(4);
  const View x = random_view(rng, {4, 6}, DType::f32), y = random_view(rng, {4, 6}, DType::f32);
  const std::int64_t ends[] = {
      INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1, -(std::int64_t{1} << 62), std::int64_t{1} << 62};
  const auto typed = [](auto&& call) {
    try {
      call();
    } catch (const InvalidArgument&) {
    } catch (const Unsupported&) {
    }
  };
  for (const std::int64_t n : ends) {
    for (const kernels::PadMode mode : {kernels::PadMode::constant, kernels::PadMode::edge, kernels::PadMode::reflect,
                                        kernels::PadMode::symmetric, kernels::PadMode::wrap}) {
      typed([&] { kernels::pad(cpu, x, y, std::array{n, std::int64_t{0}}, mode, 1); });
    }
    typed([&] { kernels::roll(cpu, x, y, std::array{n, n}); });
    typed([&] { kernels::eye(cpu, y, n); });
    typed([&] { kernels::triangle(cpu, kernels::Triangle::lower, y, n); });
    typed([&] { kernels::arange(cpu, static_cast<double>(n), static_cast<double>(n), y); });
    typed([&] { (void)kernels::slice(x, 0, n, kernels::kToEnd, n); });
    typed([&] { (void)kernels::slice(x, 1, 0, n, n); });
    const View integers = random_view(rng, {6}, DType::i32), key = random_view(rng, {2}, DType::u32);
    typed([&] { kernels::random_integers(cpu, key, n, INT64_MAX, integers); });
    typed([&] { kernels::arange(cpu, 1e300, -1e300, integers); });
    typed([&] { kernels::arange(cpu, std::nan(""), INFINITY, integers); });
    const View q = random_view(rng, {1, 1, 4, 8}, DType::f32), v = random_view(rng, {1, 1, 4, 8}, DType::f32);
    typed([&] { kernels::attention(cpu, q, q, q, {}, v, {.window_left = n, .window_right = n}); });
    typed([&] { kernels::group_norm(cpu, x, {}, {}, y, 1, n, 1e-5f); });
  }
}

}  // namespace
}  // namespace weft::test
