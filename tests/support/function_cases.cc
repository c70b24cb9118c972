#include "support/function_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/format.h"
#include "support/on_device.h"
#include "support/quick.h"
#include "support/reference_cases.h"

namespace weft::test {

using nlohmann::json;

void expect_reference_values(const std::string& folder, const std::string& file, const FunctionTable& functions) {
  const ReferenceCases data(folder);
  const bool gpu = default_device().is_gpu();
  constexpr std::size_t kShare = 5;
  std::map<std::string, std::size_t> called;
  for (const json& c : data.list(file)) {
    const auto name = c.at("function").get<std::string>();
    ASSERT_TRUE(functions.contains(name)) << name << " is in " << file << " alone";
    const std::size_t own = called[name]++;
    if (gpu && (own % kShare != 0 || c.dump().find("\"f64\"") != std::string::npos)) continue;
    if (leave_out_problem()) continue;
    ArrayCall call{{}, c.at("inputs"), c.value("attributes", json::object())};
    const std::vector<View> expected = data.operands(c, "outputs");
    try {
      for (const View& v : data.operands(c, "inputs")) call.tensors.push_back(v.buffer ? tensor_of(v) : Tensor());
      const std::vector<Tensor> results = functions.at(name)(call);
      ASSERT_EQ(results.size(), expected.size()) << c.dump();
      eval(results);
      for (std::size_t k = 0; k < results.size(); ++k) {
        expect_close(read_view(results[k]), expected[k], ReferenceCases::tolerance(c),
                     std::format("result {} of {}", k, c.dump()));
      }
    } catch (const std::exception& e) {
      ADD_FAILURE() << c.dump() << "\n" << e.what();
    }
  }
  for (const auto& [name, f] : functions) EXPECT_TRUE(called.contains(name)) << name << " has no case in " << file;
}

}  // namespace weft::test
