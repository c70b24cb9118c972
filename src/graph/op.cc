#include "graph/op.h"

#include <algorithm>

#include "weft/error.h"

namespace weft {

Fields& Fields::add(std::string_view name, double value) { return put(name, std::format("{}", value)); }

Fields& Fields::add(std::string_view name, std::span<const int> value) {
  Dims dims;
  for (const int v : value) dims.push_back(v);
  return add(name, dims);
}

Fields& Fields::put(std::string_view name, std::string_view value) {
  shown_ += std::format("{}{}={}", shown_.empty() ? "" : ", ", name, value);
  return *this;
}

Fields& Fields::hide(std::string_view name, std::string_view value) {
  hidden_ += std::format("; {}={}", name, value);
  return *this;
}

std::optional<Placement> Op::place(const Layout&) const { throw InternalError("{} is not a view", name()); }

void Op::lower(const Launch&) const { throw InternalError("{} has no kernel", name()); }

Work with_bytes(const Launch& call, Work work) {
  for (const auto& views : {call.inputs, call.outputs}) {
    for (const View& v : views) work.bytes += touched_bytes(v);
  }
  return work;
}

Work Op::work(const Launch& call) const {
  std::int64_t elements = 0;
  for (const auto& views : {call.inputs, call.outputs}) {
    for (const View& v : views) elements = std::max(elements, v.count());
  }
  return with_bytes(call, {.functions = static_cast<double>(elements) * cost()});
}

std::string Op::to_string() const {
  Fields f;
  fields(f);
  return f.shown().empty() ? std::string(name()) : std::format("{}{{{}}}", name(), f.shown());
}

std::string Op::identity() const {
  Fields f;
  fields(f);
  return std::format("{}{{{}{}}}", name(), f.shown(), f.hidden());
}

}  // namespace weft
