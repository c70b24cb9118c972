// The CPU twins by name against NumPy and SciPy (tests/reference/twins.py): every kernel of the table, in every type.
#include <nlohmann/json.hpp>
#include <set>

#include "support/generated.h"
#include "support/kernel_test.h"
#include "support/npy.h"
#include "weft/cpu.h"
#include "weft/error.h"
#include "weft/kernels/table.h"

namespace weft::test {
namespace {

using nlohmann::json;

class TwinsReference : public testing::Test {
 protected:
  static DType type_of(const std::string& text) {
    const auto type = dtype_from_name(text);
    if (!type) throw FormatError("twins/cases.json: no type {}", text);
    return *type;
  }
  View operand(const json& j) const {
    Shape shape;
    for (const std::int64_t n : j.at("shape")) shape.push_back(n);
    return View(bytes.buffer, j.at("at").get<std::uint64_t>(), type_of(j.at("type")), shape);
  }
  std::vector<View> operands(const json& c, const char* list) const {
    std::vector<View> views;
    if (c.contains(list)) {
      for (const json& j : c.at(list)) views.push_back(operand(j));
    }
    return views;
  }
  static kernels::Attributes attributes(const json& c) {
    kernels::Attributes result;
    if (!c.contains("attributes")) return result;
    for (const auto& [name, value] : c.at("attributes").items()) {
      if (value.is_array()) result[name] = value.get<std::vector<int>>();
      else if (value.is_string()) result[name] = value.get<std::string>();
      else if (value.is_number_integer()) result[name] = value.get<std::int64_t>();
      else result[name] = value.get<double>();
    }
    return result;
  }

  View bytes = load_npy("twins/bytes.npy");
  json cases = json::parse(read_data("twins/cases.json"));
};

TEST_F(TwinsReference, EveryKernel) {
  cpu::Executor cpu;
  std::set<std::string> called;
  Rng rng(1);
  for (const json& c : cases) {
    const std::string kernel = c.at("kernel");
    called.insert(kernel);
    const std::vector<View> inputs = operands(c, "inputs"), expected = operands(c, "outputs"), before = operands(c, "before");
    std::string what = kernel + " of";
    for (const View& v : inputs) what += " " + to_string(v);
    what += " to " + to_string(expected[0]) + (c.contains("attributes") ? " " + c.at("attributes").dump() : "");
    SCOPED_TRACE(what);
    std::vector<View> outputs;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      outputs.push_back(random_view(rng, expected[k].shape(), expected[k].dtype));
      for (std::int64_t i = 0; k < before.size() && i < before[k].count(); ++i) set_element_bits(outputs[k], i, element_bits(before[k], i));
    }
    try {
      kernels::call(cpu, kernel, {.inputs = inputs, .outputs = outputs, .attributes = attributes(c)});
    } catch (const Error& e) {
      ADD_FAILURE() << what << ": " << e.what();
      continue;
    }
    const Tolerance tolerance{.ulp = c.value("ulp", 0.0), .absolute = c.value("absolute", 0.0), .relative = c.value("relative", 0.0)};
    for (std::size_t k = 0; k < expected.size(); ++k) expect_close(outputs[k], expected[k], tolerance, what);
  }
  for (const kernels::KernelInfo& k : kernels::table()) {
    EXPECT_TRUE(called.contains(k.name)) << k.name << " has no case in tests/reference/twins.py";
  }
}

}  // namespace
}  // namespace weft::test
