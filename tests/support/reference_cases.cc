#include "support/reference_cases.h"

#include "core/format.h"
#include "support/generated.h"
#include "support/npy.h"
#include "weft/error.h"

namespace weft::test {

using nlohmann::json;

ReferenceCases::ReferenceCases(std::string folder)
    : folder_(std::move(folder)), bytes_(load_npy(folder_ + "/bytes.npy")) {}

json ReferenceCases::list(const std::string& file) const { return json::parse(read_data(folder_ + "/" + file)); }

View ReferenceCases::operand(const json& j) const {
  if (j.is_null()) return {};
  Shape shape;
  for (const std::int64_t n : j.at("shape")) shape.push_back(n);
  const auto name = j.at("type").get<std::string>();
  const auto type = dtype_from_name(name);
  if (!type) throw FormatError("{}: no type {}", folder_, name);
  return View(bytes_.buffer, j.at("at").get<std::uint64_t>(), *type, shape);
}

std::vector<View> ReferenceCases::operands(const json& c, const char* name) const {
  std::vector<View> views;
  if (c.contains(name)) {
    for (const json& j : c.at(name)) views.push_back(operand(j));
  }
  return views;
}

Tolerance ReferenceCases::tolerance(const json& c) {
  return {.ulp = c.value("ulp", 0.0),
          .absolute = c.value("absolute", 0.0),
          .relative = c.value("relative", 0.0),
          .bits = c.value("bits", false)};
}

}  // namespace weft::test
