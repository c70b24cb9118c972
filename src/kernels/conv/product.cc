#include "kernels/conv/product.h"

namespace weft::kernels {

std::optional<std::int64_t> common_stride(const View& v, const std::vector<int>& axes) {
  std::int64_t stride = 1;
  std::optional<std::int64_t> next;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::int64_t size = v.shape()[axes[i]], own = v.strides()[axes[i]];
    if (size == 1) continue;
    if (!next)
      stride = own;
    else if (own != *next)
      return std::nullopt;
    next = own * size;
  }
  return stride;
}

std::optional<ConvProduct> as_product(const ConvProblem& p) {
  ConvProduct product;
  const int rank = p.y.rank(), first = ConvProblem::kSpatial;
  std::vector<int> taps;
  for (int d = first; d < rank; ++d) taps.push_back(d);
  std::optional<std::int64_t> w_k;
  for (const bool channels_first : {false, true}) {
    std::vector<int> axes = taps;
    axes.insert(channels_first ? axes.begin() : axes.end(), 2);
    product.channels_first = channels_first;
    if ((w_k = common_stride(p.w, axes))) break;
  }
  if (!w_k) return std::nullopt;

  // As many of y's axes as one stride counts are rows.
  std::vector<int> places{ConvProblem::kBatch};
  places.insert(places.end(), taps.begin(), taps.end());
  const auto counts = [&](const std::vector<int>& axes) {
    bool all = common_stride(p.y, axes).has_value();
    for (const View& v : p.operands) all &= common_stride(v, axes).has_value();
    return all;
  };
  std::vector<int>& rows = product.row_axes;
  while (!places.empty()) {
    std::vector<int> more = rows;
    more.insert(more.begin(), places.back());
    if (!counts(more)) break;
    rows = std::move(more);
    places.pop_back();
  }
  product.batch_axes.push_back(ConvProblem::kGroup);
  product.batch_axes.insert(product.batch_axes.end(), places.begin(), places.end());

  MatmulProblem& m = product.matmul;
  m.m = 1;
  for (const int axis : rows) m.m *= p.y.shape()[axis];
  m.n = p.outputs(), m.k = p.depth();
  for (const int axis : product.batch_axes) m.batch.push_back(p.y.shape()[axis]);
  const auto with_batch = [&](const View& v, std::int64_t size0, std::int64_t stride0, std::int64_t size1,
                              std::int64_t stride1, auto&& batch_stride) {
    Layout layout;
    for (const int axis : product.batch_axes) {
      layout.shape.push_back(p.y.shape()[axis]);
      layout.strides.push_back(batch_stride(axis));
    }
    layout.shape.push_back(size0), layout.strides.push_back(stride0);
    layout.shape.push_back(size1), layout.strides.push_back(stride1);
    return v.with_layout(layout);
  };
  const auto like_y = [&](const View& v) {
    return with_batch(v, m.m, *common_stride(v, rows), m.n, v.strides()[2],
                      [&](int axis) { return v.strides()[axis]; });
  };
  m.y = like_y(p.y);
  for (const View& v : p.operands) m.operands.push_back(like_y(v));
  m.b = with_batch(p.w, m.k, *w_k, m.n, p.w.strides()[1],
                   [&](int axis) { return axis == ConvProblem::kGroup ? p.w.strides()[0] : 0; });
  m.a.dtype = p.x.dtype;
  m.a.buffer = p.x.buffer;
  m.a.offset = p.x.offset;
  m.a.layout.shape = m.batch;
  m.a.layout.shape.push_back(m.m);
  m.a.layout.shape.push_back(m.k);
  m.a.layout.strides = Strides::filled(m.a.layout.shape.rank(), 0);  // no matrix in memory
  return product;
}

}  // namespace weft::kernels
