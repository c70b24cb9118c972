// Gather: rows of bits, chosen by indices that the kernel clamps.
#include "kernels/index/gather.h"

#include "kernels/call.h"
#include "kernels/copy/bits.h"
#include "kernels/elementwise/map.h"
#include "weft/error.h"
#include "weft/kernels/index.h"

namespace weft::kernels {

void gather_gpu(gpu::Commands& commands, const GatherProblem& problem) {
  View moved[] = {problem.x, problem.y};
  View indices = problem.indices;
  std::int64_t axis_stride = problem.axis_stride;
  // Elements are taken together along the last axis only, if it is none of the indices'.
  const int rank = problem.y.rank();
  as_bits(moved, std::span(&axis_stride, 1), rank > 0 && indices.strides()[-1] == 0 ? rank - 1 : -1);
  indices.layout.shape = moved[1].shape();
  if (moved[1].rank() > rank) indices.layout.strides.push_back(0);
  const Strides strides[] = {moved[0].strides(), indices.strides(), moved[1].strides()};
  const Collapsed c = sort_and_collapse(moved[1].shape(), strides, 2);
  Shape outer = c.shape;
  const std::int64_t length = outer.back();
  outer.pop_back();
  std::vector<Strides> outer_strides = c.strides;
  for (Strides& s : outer_strides) s.pop_back();

  auto fits = [&](const View& v, const Strides& s) {
    if (bits(v.dtype) > 32 || bits(v.dtype) < 8 || s.back() != 1 || v.offset * 8 / bits(v.dtype) % 4) return false;
    for (int i = 0; i + 1 < s.rank(); ++i) {
      if (s[i] % 4) return false;
    }
    return true;
  };
  const bool vec = length % 4 == 0 && axis_stride % 4 == 0 && c.strides[1].back() == 0 && fits(moved[0], c.strides[0]) &&
                   fits(moved[1], c.strides[2]);
  const int width = vec ? 4 : 1;

  // x is reached at any index: its binding spans from the lowest element to the highest.
  View source = moved[0];
  const std::int64_t reach = (problem.axis_size - 1) * axis_stride;
  auto [low, high] = source.layout.offset_range();
  (reach < 0 ? low : high) += reach;
  source.layout = {{2, 2}, {low, high}};

  Call call(commands, "gather");
  const std::int64_t groups = element_count(c.shape) / width;
  const std::uint32_t workgroup = workgroup_size(call.capabilities(), 256);
  const bool has_sign = info(indices.dtype).kind == DTypeKind::signed_integer;
  call.read("x", source, width)
      .read("indices", indices)
      .write("y", moved[1], width)
      .iterate(outer)
      .strides("x", outer_strides[0])
      .strides("indices", outer_strides[1])
      .strides("y", outer_strides[2])
      .set("width", width)
      .set("workgroup", workgroup)
      .set("index_kind", bits(indices.dtype) == 64 ? (has_sign ? "i64" : "u64") : (has_sign ? "i32" : "u32"))
      .index_param("groups", groups)
      .index_param("row_groups", length / width)
      .index_param("axis_size", problem.axis_size)
      .index_param("axis_stride", axis_stride)
      .index_param("x_inner", c.strides[0].back())
      .index_param("indices_inner", c.strides[1].back())
      .index_param("y_inner", c.strides[2].back())
      .dispatch_groups("gather", ceil_div(groups, workgroup));
}

void gather(Stream& stream, const View& x, const View& indices, const View& y, int axis) {
  axis = normalize_axis(axis, x.rank(), "gather");
  if (!is_integer(indices.dtype) || bits(indices.dtype) < 8) {
    throw InvalidArgument("gather: indices are {}, expected an integer type of 8 to 64 bits", to_string(indices));
  }
  if (x.rank() - 1 + indices.rank() > kMaxRank) {
    throw InvalidArgument("gather: x {} and indices {} make a result of more than {} dimensions", to_string(x),
                          to_string(indices), kMaxRank);
  }
  Layout from;
  Layout by;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis) {
      for (int k = 0; k < indices.rank(); ++k) {
        from.shape.push_back(indices.shape()[k]);
        from.strides.push_back(0);
        by.strides.push_back(indices.strides()[k]);
      }
    } else {
      from.shape.push_back(x.shape()[i]);
      from.strides.push_back(x.strides()[i]);
      by.strides.push_back(0);
    }
  }
  by.shape = from.shape;
  if (y.shape() != from.shape || y.dtype != x.dtype) {
    throw InvalidArgument("gather: output is {}, expected {} {} (x {}, indices {}, axis {})", to_string(y),
                          name(x.dtype), to_string(from.shape), to_string(x), to_string(indices), axis);
  }
  if (y.count() == 0) return;
  if (x.shape()[axis] == 0) {
    throw InvalidArgument("gather: axis {} of x {} is empty, there is nothing to take", axis, to_string(x));
  }
  GatherProblem problem{x, indices, y, x.shape()[axis], x.strides()[axis]};
  problem.x.layout = from;
  problem.indices.layout = by;
  if (gpu::Commands* commands = stream.gpu()) gather_gpu(*commands, problem);
  else gather_cpu(*stream.cpu(), problem);
}

}  // namespace weft::kernels
