#include "ops/fold.h"

#include <algorithm>

#include "core/format.h"
#include "graph/graph.h"
#include "kernels/common/spatial.h"
#include "ops/function_row.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/rules.h"
#include "ops/view.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/resampling.h"

namespace weft {
namespace {

struct Windows {
  int spatial;
  Dims strides, dilations, before, after, places;
  std::int64_t window_elements, columns;
};

// The windows on an image of these sizes.
Windows windows_of(std::string_view op, const Shape& sizes, const Shape& window, const WindowOptions& o) {
  const int spatial = sizes.rank();
  if (window.rank() != spatial || std::ranges::any_of(window, [](std::int64_t n) { return n < 1; })) {
    throw ShapeError("{}: the window is {}, expected one size for each of {} spatial axes", op, to_string(window),
                     spatial);
  }
  Windows w{.spatial = spatial,
            .strides = kernels::numbers_of_axes(op, "strides", o.strides, Dims::filled(spatial, 1), 1),
            .dilations = kernels::numbers_of_axes(op, "dilations", o.dilations, Dims::filled(spatial, 1), 1),
            .before = kernels::numbers_of_axes(op, "padding", o.padding, Dims::filled(spatial, 0), 0),
            .after = {},
            .places = {},
            .window_elements = element_count(window),
            .columns = 1};
  w.after = o.padding_after.empty()
                ? w.before
                : kernels::numbers_of_axes(op, "padding_after", o.padding_after, Dims::filled(spatial, 0), 0);
  for (int d = 0; d < spatial; ++d) {
    const WindowFit fit =
        kernels::fit_windows_along(op, d, sizes[d], window[d], w.strides[d], w.dilations[d], w.before[d], w.after[d]);
    if (fit.count == 0) {
      throw ShapeError("{}: a window reaches over {} elements along spatial axis {}, which has {} with its padding", op,
                       fit.reach, d, fit.padded);
    }
    w.places.push_back(fit.count);
  }
  w.columns = element_count(w.places);
  return w;
}

}  // namespace

std::vector<TensorType> FoldOp::infer(std::span<const TensorType> in) const {
  const DType type = infer_dtype(name(), {&in[0]});
  if (in[0].shape.rank() != 2 + 2 * a.sizes.rank()) {
    throw ShapeError("fold: x is {} for the sizes {}, expected [batch, channels, window…, places…]",
                     weft::to_string(in[0]), weft::to_string(a.sizes));
  }
  const int spatial = a.sizes.rank();
  kernels::numbers_of_axes(name(), "strides", a.options.strides, Dims::filled(spatial, 1), 1);
  kernels::numbers_of_axes(name(), "dilations", a.options.dilations, Dims::filled(spatial, 1), 1);
  kernels::numbers_of_axes(name(), "before", a.options.before, Dims::filled(spatial, 0), 0);
  Shape y{in[0].shape[0], in[0].shape[1]};
  for (const std::int64_t n : a.sizes) y.push_back(n);
  return {{type, y}};
}

void FoldOp::lower(const Launch& call) const { kernels::fold(call.stream, call.inputs[0], call.outputs[0], a.options); }

Work FoldOp::work(const Launch& call) const {
  Work w = Op::work(call);
  w.flops = static_cast<double>(call.inputs[0].count());
  return w;
}

// The operand that windows of an image are: [n, C, window…, places…].
Derivatives FoldOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  const Shape& given = node.inputs[0].shape();
  if (node.inputs[0].size() == 0 || g[0].size() == 0) return std::vector{Tensor()};
  const int spatial = a.sizes.rank();
  const auto number = [](const Dims& of_axes, int d, std::int64_t usual) {
    return of_axes.empty() ? usual : of_axes[d];
  };
  Tensor x = g[0];
  for (int d = spatial - 1; d >= 0; --d) {
    const std::int64_t window = given[2 + d], places = given[2 + spatial + d];
    const std::int64_t stride = number(a.options.strides, d, 1), dilation = number(a.options.dilations, d, 1);
    const std::int64_t before = number(a.options.before, d, 0);
    // As many elements as the windows reach over, those outside of the image being 0.
    const std::int64_t reach = kernels::windows_extent_along("fold", d, places, stride, window, dilation);
    std::vector<std::int64_t> front(static_cast<std::size_t>(x.rank()), 0), behind = front;
    front[static_cast<std::size_t>(2 + d)] = before;
    behind[static_cast<std::size_t>(2 + d)] = std::max<std::int64_t>(0, reach - before - a.sizes[d]);
    x = windows(slice(pad(x, front, behind), 2 + d, 0, reach), {2 + d, window, stride, dilation});
  }
  std::vector<int> order{0, 1};
  for (const int part : {0, 1}) {
    for (int d = 0; d < spatial; ++d) order.push_back(2 + 2 * d + part);
  }
  return std::vector{permute(x, order)};
}

namespace {

// ---- Rows of functions, whose windows are columns; those of the op fold have axes of their own

struct UnfoldAttributes {
  Shape window = {};
  WindowOptions options = {};
  void fields(AttributeVisitor& v) {
    v("window", window, "the sizes of windows");
    v("strides", options.strides, {}, "elements of x from a window to the next; none: 1");
    v("dilations", options.dilations, {}, "elements of x from an element of a window to the next; none: 1");
    v("padding", options.padding, {}, "zeros in front of x; none: 0");
    v("padding_after", options.padding_after, {}, "the same behind x; none: as padding");
  }
};
struct FoldColumnsAttributes : UnfoldAttributes {
  Shape sizes = {};
  void fields(AttributeVisitor& v) {
    v("sizes", sizes, "the sizes of the result's spatial axes");
    UnfoldAttributes::fields(v);
  }
};

constexpr Function kUnfold = {
    {.name = "unfold",
     .operands = {{.name = "x", .shape = "[n, C, spatial…]"}},
     .results = {{"y", "[n, C · window elements, windows]", "x's type"}},
     .formula = "y[n, (c, k), j] = x[n, c, j · stride + k · dilation − padding]",
     .summary = "the windows of x as columns"},
    [](const Tensor& x, const UnfoldAttributes& a) {
      const Shape& window = a.window;
      if (x.rank() < 3 || x.rank() > 5) {
        throw ShapeError("unfold: x is {}, expected [batch, channels] and one to three spatial axes",
                         to_string(x.type()));
      }
      Shape sizes;
      for (int d = 2; d < x.rank(); ++d) sizes.push_back(x.shape()[d]);
      const Windows w = windows_of("unfold", sizes, window, a.options);
      std::vector<std::int64_t> before{0, 0}, after{0, 0};
      before.insert(before.end(), w.before.begin(), w.before.end());
      after.insert(after.end(), w.after.begin(), w.after.end());
      Tensor y = pad(x, before, after);
      // Each spatial axis becomes two: in a window, and from window to window.
      std::vector<int> order{0, 1};
      for (int d = w.spatial - 1; d >= 0; --d) {
        const int axis = 2 + d;
        if (w.dilations[d] == 1 && w.strides[d] == window[d]) {
          // Windows that touch are there already.
          Shape split = y.shape();
          split[axis] = w.places[d];
          split.insert(axis + 1, window[d]);
          y = reshape(slice(y, axis, 0, w.places[d] * window[d]), split);
          std::vector<int> swapped;
          for (int k = 0; k < y.rank(); ++k) swapped.push_back(k == axis ? axis + 1 : k == axis + 1 ? axis : k);
          y = permute(y, swapped);
        } else {
          y = windows(y, {axis, window[d], w.strides[d], w.dilations[d]});
        }
      }
      for (const int part : {0, 1}) {
        for (int d = 0; d < w.spatial; ++d) order.push_back(2 + 2 * d + part);
      }
      return reshape(permute(y, order), {x.shape()[0], x.shape()[1] * w.window_elements, w.columns});
    }};

constexpr Function kFoldColumns = {
    {.name = "fold_columns",
     .operands = {{.name = "x", .shape = "[n, C · window elements, windows]"}},
     .results = {{"y", "[n, C, sizes…]", "x's type"}},
     .formula = "y[n, c, j · stride + k · dilation − padding] = Σ x[n, (c, k), j]",
     .summary = "what the columns of unfold add up to, which is its gradient",
     .form_of = "fold"},
    [](const Tensor& x, const FoldColumnsAttributes& a) {
      const Shape &sizes = a.sizes, &window = a.window;
      if (sizes.rank() < 1 || sizes.rank() > 3) {
        throw ShapeError("fold: the sizes are {}, expected those of one to three spatial axes", to_string(sizes));
      }
      const Windows w = windows_of("fold", sizes, window, a.options);
      if (x.rank() != 3 || x.shape()[1] % w.window_elements != 0 || x.shape()[2] != w.columns) {
        throw ShapeError("fold: x is {}, expected [batch, channels · {}, {}] for windows {} on {}", to_string(x.type()),
                         w.window_elements, w.columns, to_string(window), to_string(sizes));
      }
      Shape split{x.shape()[0], x.shape()[1] / w.window_elements};
      for (const Dims* part : {&window, &w.places}) {
        for (const std::int64_t n : *part) split.push_back(n);
      }
      return apply(make_op<FoldOp>(FoldAttributes{sizes, {w.strides, w.dilations, w.before}}), {reshape(x, split)});
    }};

}  // namespace

Tensor unfold(const Operand& x, const Shape& window, const WindowOptions& o) { return kUnfold(x, {window, o}); }

Tensor fold(const Operand& x, const Shape& sizes, const Shape& window, const WindowOptions& o) {
  return kFoldColumns(x, {{window, o}, sizes});
}

void add_fold_functions(FunctionRows& rows) { rows.add(kUnfold, kFoldColumns); }

void add_fold_ops(OpRows& rows) { rows.push_back(op_row<FoldOp>(schema_of_kernel("fold", "[n, C, sizes…]"))); }

}  // namespace weft
