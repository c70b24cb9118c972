#include "kernels/index/selection.h"
#include "core/format.h"
#include "core/is_or_are.h"
#include "kernels/check.h"

#include <array>
#include <utility>

#include "weft/error.h"

namespace weft::kernels {

namespace {

bool is_dynamic(std::string_view kernel) { return kernel.starts_with("dynamic"); }
bool writes_whole(std::string_view kernel) { return kernel.starts_with("scatter") || kernel == "dynamic_update_slice"; }

}  // namespace

std::string_view whole_name(std::string_view kernel) { return writes_whole(kernel) ? "y" : "x"; }
std::string_view part_name(std::string_view kernel) {
  return !writes_whole(kernel) ? "y" : is_dynamic(kernel) ? "update" : "updates";
}
std::string_view indices_name(std::string_view kernel) { return is_dynamic(kernel) ? "starts" : "indices"; }

namespace {

void check_types(std::string_view name, const View& whole, const View& indices, const View& part) {
  if (name == "dynamic_update_slice")
    check_views(name, {&part, &indices}, {&whole});
  else if (writes_whole(name))
    check_views(name, {&indices, &part}, {&whole});
  else
    check_views(name, {&whole, &indices}, {&part});
}

void check_part(std::string_view name, const Selection& s, const View& whole, const View& indices,
                const Shape& expected) {
  if (s.part.shape() != expected) {
    throw InvalidArgument("{}: {} {} {}; expected the shape {} for {} {} and indices {}", name, part_name(name),
                          is_or_are(part_name(name)), to_string(s.part), to_string(expected), whole_name(name),
                          to_string(whole), to_string(indices));
  }
  if (s.part.count() == 0) return;
  for (const IndexedAxis& axis : s.axes) {
    if (axis.size == 0) {
      throw InvalidArgument("{}: {} {} has an empty axis, there is nothing to choose", name, whole_name(name),
                            to_string(whole));
    }
  }
}

}  // namespace

Selection select_rows(std::string_view name, const View& whole, const View& indices, const View& part, int axis) {
  axis = normalize_axis(axis, whole.rank(), name);
  check_types(name, whole, indices, part);
  if (whole.rank() - 1 + indices.rank() > kMaxRank) {
    throw InvalidArgument("{}: {} {} and indices {} make a tensor of more than {} dimensions", name, whole_name(name),
                          to_string(whole), to_string(indices), kMaxRank);
  }
  Layout from;
  Strides by;
  for (int i = 0; i < whole.rank(); ++i) {
    if (i != axis) {
      from.shape.push_back(whole.shape()[i]);
      from.strides.push_back(whole.strides()[i]);
      by.push_back(0);
      continue;
    }
    for (int k = 0; k < indices.rank(); ++k) {
      from.shape.push_back(indices.shape()[k]);
      from.strides.push_back(0);
      by.push_back(indices.strides()[k]);
    }
  }
  Selection s{whole.with_layout(from), indices, part, {{whole.shape()[axis], whole.strides()[axis]}}};
  s.indices.layout = {from.shape, by};
  s.given_whole = &whole;
  s.given_indices = &indices;
  check_part(name, s, whole, indices, from.shape);
  return s;
}

Selection select_elements(std::string_view name, const View& whole, const View& indices, const View& part, int axis) {
  axis = normalize_axis(axis, whole.rank(), name);
  check_types(name, whole, indices, part);
  bool fits = indices.rank() == whole.rank();
  for (int i = 0; fits && i < whole.rank(); ++i) fits = i == axis || indices.shape()[i] <= whole.shape()[i];
  if (!fits) {
    throw InvalidArgument("{}: indices are {}; expected the rank of {} {}, and no larger sizes but along axis {}", name,
                          to_string(indices), whole_name(name), to_string(whole), axis);
  }
  Selection s{whole, indices, part, {{whole.shape()[axis], whole.strides()[axis]}}};
  s.whole.layout.shape = indices.shape();
  s.whole.layout.strides[axis] = 0;
  s.given_whole = &whole;
  s.given_indices = &indices;
  check_part(name, s, whole, indices, indices.shape());
  return s;
}

Selection select_tuples(std::string_view name, const View& whole, const View& indices, const View& part, int batch) {
  check_types(name, whole, indices, part);
  const int tuple = indices.rank() ? static_cast<int>(std::min<std::int64_t>(indices.shape()[-1], kMaxRank + 1)) : 0;
  bool fits = batch >= 0 && indices.rank() > batch && tuple > 0 && batch + tuple <= whole.rank();
  for (int i = 0; fits && i < batch; ++i) fits = indices.shape()[i] == whole.shape()[i];
  if (!fits) {
    throw InvalidArgument("{}: indices {} with {} batch axes are no tuples of indices into {} {}", name,
                          to_string(indices), batch, whole_name(name), to_string(whole));
  }
  if (indices.rank() - 1 + whole.rank() - batch - tuple > kMaxRank) {
    throw InvalidArgument("{}: {} {} and indices {} make a tensor of more than {} dimensions", name, whole_name(name),
                          to_string(whole), to_string(indices), kMaxRank);
  }
  Selection s{whole, indices, part, {}, indices.strides()[-1]};
  Layout from;
  Strides by;
  for (int i = 0; i + 1 < indices.rank(); ++i) {
    from.shape.push_back(indices.shape()[i]);
    from.strides.push_back(i < batch ? whole.strides()[i] : 0);
    by.push_back(indices.strides()[i]);
  }
  for (int i = batch; i < whole.rank(); ++i) {
    if (i < batch + tuple) {
      s.axes.push_back({whole.shape()[i], whole.strides()[i]});
    } else {
      from.shape.push_back(whole.shape()[i]);
      from.strides.push_back(whole.strides()[i]);
      by.push_back(0);
    }
  }
  s.whole.layout = from;
  s.indices.layout = {from.shape, by};
  s.given_whole = &whole;
  s.given_indices = &indices;
  check_part(name, s, whole, indices, from.shape);
  return s;
}

Selection select_part(std::string_view name, const View& whole, const View& starts, const View& part,
                      std::span<const int> axes) {
  check_types(name, whole, starts, part);
  bool fits = part.rank() == whole.rank();
  for (int d = 0; fits && d < whole.rank(); ++d) fits = part.shape()[d] <= whole.shape()[d];
  if (!fits) {
    throw InvalidArgument("{}: {} {} {}; expected the rank of {} {}, and no larger sizes", name, part_name(name),
                          is_or_are(part_name(name)), to_string(part), whole_name(name), to_string(whole));
  }
  if (axes.empty()) throw InvalidArgument("{}: no axes are named", name);
  if (starts.rank() > 1 || starts.count() != static_cast<std::int64_t>(axes.size())) {
    throw InvalidArgument("{}: starts are {}; expected {} of them", name, to_string(starts), axes.size());
  }
  Selection s{whole, starts, part, {}, starts.rank() ? starts.strides()[0] : 0, true};
  s.whole.layout.shape = part.shape();
  s.indices.layout = {part.shape(), Dims::filled(part.rank(), 0)};
  std::array<bool, kMaxRank> named{};
  for (const int given : axes) {
    const int axis = normalize_axis(given, whole.rank(), name);
    if (std::exchange(named[static_cast<std::size_t>(axis)], true)) {
      throw InvalidArgument("{}: axis {} is named twice", name, axis);
    }
    s.axes.push_back({whole.shape()[axis] - part.shape()[axis] + 1, whole.strides()[axis]});
  }
  s.given_whole = &whole;
  s.given_indices = &starts;
  return s;
}

std::string_view index_kind(DType type) {
  const bool has_sign = info(type).kind == DTypeKind::signed_integer;
  return bits(type) == 64 ? (has_sign ? "i64" : "u64") : (has_sign ? "i32" : "u32");
}

View reachable_whole(const Selection& selection) {
  View whole = selection.whole;
  auto [low, high] = whole.layout.offset_range();
  for (const IndexedAxis& axis : selection.axes) {
    const std::int64_t reach = (axis.count - 1) * axis.stride;
    (reach < 0 ? low : high) += reach;
  }
  whole.layout = {{2, 2}, {low, high}};
  return whole;
}

View reachable_indices(const Selection& selection) {
  View indices = selection.indices;
  auto [low, high] = indices.layout.offset_range();
  const std::int64_t reach = (static_cast<std::int64_t>(selection.axes.size()) - 1) * selection.component_stride;
  (reach < 0 ? low : high) += reach;
  indices.layout = {{2, 2}, {low, high}};
  return indices;
}

}  // namespace weft::kernels
