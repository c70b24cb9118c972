// Functions whose result is as large as the data says: they evaluate, and read a count (weft/array.h).
#include <algorithm>
#include <array>

#include "core/error_context.h"
#include "core/format.h"
#include "cpu/executor.h"
#include "graph/functions.h"
#include "graph/ops/index.h"
#include "graph/promotion.h"
#include "weft/array.h"
#include "weft/device.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/kernels/compact.h"

namespace weft {
namespace {

template <class Work>
void launch(const Device& device, const Work& work) {
  if (device.is_gpu()) {
    gpu::Encoder encoder(device.gpu());
    work(encoder);
    encoder.submit();
  } else {
    cpu::Executor executor;
    work(executor);
  }
}

}  // namespace

std::vector<Tensor> nonzero(const Operand& x) try {
  if (!x.defined()) throw InvalidArgument("nonzero: the operand is an undefined Tensor");
  if (x.rank() == 0) throw ShapeError("nonzero: x is {}, expected an axis at least", to_string(x.type()));
  const Tensor dense = contiguous(x), total = count_nonzero(dense);
  eval({dense, total});
  const std::int64_t count = total.item<std::int64_t>(), longest = *std::ranges::max_element(x.shape());
  const Device& device = dense.device();
  const Tensor places(device, position_type(longest), {count, x.rank()}), counted(device, DType::u32, {});
  if (count > 0) {
    launch(device, [&](Stream& s) { kernels::nonzero(s, dense.view(), places.view(), counted.view()); });
  }
  std::vector<Tensor> axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(squeeze(slice(places, 1, i, i + 1), 1));
  return axes;
} catch (const Error& e) {
  throw_in_function(e, "nonzero");
}

Tensor compress(const Operand& condition, const Operand& x, std::optional<int> axis) try {
  if (!condition.defined() || !x.defined()) throw InvalidArgument("compress: an operand is an undefined Tensor");
  const Tensor from = axis ? Tensor(x) : flatten(x);
  const int along = normalize_axis(axis.value_or(0), from.rank(), "compress");
  if (condition.rank() != 1 || condition.size() != from.shape()[along]) {
    throw ShapeError("compress: the condition is {}, expected {} elements", to_string(condition.type()),
                     from.shape()[along]);
  }
  return gather(from, nonzero(condition)[0], along);
} catch (const Error& e) {
  throw_in_function(e, "compress");
}

Tensor repeat(const Operand& x, const Operand& counts, int axis) try {
  if (!x.defined() || !counts.defined()) throw InvalidArgument("repeat: an operand is an undefined Tensor");
  const int along = normalize_axis(axis, x.rank(), "repeat");
  if (!is_integer(counts.dtype()))
    throw TypeError("repeat: counts are {}, expected integers", to_string(counts.type()));
  if (counts.rank() > 1 || !broadcasts_to(counts.shape(), {x.shape()[along]})) {
    throw ShapeError("repeat: counts are {}, expected one for each of {} elements", to_string(counts.type()),
                     x.shape()[along]);
  }
  if (x.shape()[along] == 0) return x;
  const Tensor each = broadcast_to(cast(counts, DType::i64), {x.shape()[along]});
  const Tensor ends = cumulative_sum(each);
  const Tensor total = slice(ends, 0, ends.size() - 1, ends.size()).reshape({});
  const std::vector<std::int64_t> read = stack({min(each), max(each), total}).to_vector<std::int64_t>();
  if (read[0] < 0) throw InvalidArgument("repeat: a count is {}", read[0]);
  // More would not fit any memory, and sums of more could wrap.
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (read[1] > kMost / x.shape()[along] || read[2] > kMost) {
    throw OutOfMemory("repeat: counts of up to {} for {} elements", read[1], x.shape()[along]);
  }
  return gather(x, searchsorted(ends, arange(read[2]), Side::right), along);
} catch (const Error& e) {
  throw_in_function(e, "repeat");
}

Unique unique(const Operand& x) try {
  if (!x.defined()) throw InvalidArgument("unique: the operand is an undefined Tensor");
  const Tensor flat = flatten(x.dtype() == DType::boolean ? cast(x, DType::u8) : in_bytes(x));
  const std::int64_t n = flat.size();
  if (n == 0) {
    const Tensor none = zeros({0}, DType::i32);
    return {cast(flat, x.dtype()), none, cast(x, DType::i32), none};
  }
  const Tensor order = argsort(flat), sorted = gather(flat, order);
  const Tensor begins = concat({full({1}, true, DType::boolean), slice(sorted, 0, 1, n) != slice(sorted, 0, 0, n - 1)});
  const Tensor first = nonzero(begins)[0];
  const DType type = position_type(n);
  const Tensor group = cumulative_sum(begins, 0, type) - 1;
  const Tensor inverse = scatter_different_elements(zeros({n}, type), order, group, 0);
  return {cast(gather(sorted, first), x.dtype()), gather(order, first), reshape(inverse, x.shape()),
          diff(first, 0, 1, {}, full({1}, n, type))};
} catch (const Error& e) {
  throw_in_function(e, "unique");
}

}  // namespace weft
