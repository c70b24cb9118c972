// Functions whose result is as large as the data says: they evaluate, and read a count (weft/array.h).
#include <algorithm>
#include <array>

#include "core/format.h"
#include "cpu/executor.h"
#include "ops/composition.h"
#include "ops/function_attributes.h"
#include "ops/function_row.h"
#include "ops/index.h"
#include "ops/promotion.h"
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

struct CompressAttributes {
  std::optional<int> axis = {};
  void fields(AttributeVisitor& v) { v("axis", axis, {}, "the axis; without one x is flattened"); }
};
struct RepeatAttributes {
  int axis = 0;
  void fields(AttributeVisitor& v) { v("axis", axis, "the axis along which elements are repeated"); }
};

constexpr Function kNonzero = {
    {.name = "nonzero",
     .operands = {{.name = "x", .min_rank = 1, .shape = "rank 1 or more"}},
     .results = {{"indices", "[count]", "i32; i64 where an axis of x has 2^31 elements", Arity::repeated}},
     .formula = "x[indices[0][k], indices[1][k], …] ≠ 0",
     .summary = "for each axis the indices of the elements that are not 0"},
    [](const Tensor& x) {
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
    }};
constexpr Function kCompress = {
    {.name = "compress",
     .operands = {{.name = "condition", .shape = "[n]"}, {.name = "x", .shape = "n along the axis"}},
     .results = {{"y", "x's shape, with as many along the axis as the condition has", "x's type"}},
     .formula = "y = x where condition ≠ 0, along axis",
     .summary = "the elements along an axis where the condition is not 0"},
    [](const Tensor& condition, const Tensor& x, const CompressAttributes& a) {
      const Tensor from = a.axis ? x : flatten(x);
      const int along = normalize_axis(a.axis.value_or(0), from.rank(), "compress");
      if (condition.rank() != 1 || condition.size() != from.shape()[along]) {
        throw ShapeError("compress: the condition is {}, expected {} elements", to_string(condition.type()),
                         from.shape()[along]);
      }
      return gather(from, nonzero(condition)[0], along);
    }};
constexpr Function kRepeatBy = {
    {.name = "repeat_by",
     .operands = {{.name = "x", .shape = "rank 1 or more"},
                  {.name = "counts", .types = types::integers, .shape = "one for each element along the axis, or one"}},
     .results = {{"y", "x's shape, with Σ counts along the axis", "x's type"}},
     .formula = "y = [x[0], x[0], …, x[1], …], x[i] counts[i] times",
     .summary = "each element along an axis as often as its count says",
     .form_of = "repeat"},
    [](const Tensor& x, const Tensor& counts, const RepeatAttributes& a) -> Tensor {
      const int along = normalize_axis(a.axis, x.rank(), "repeat");
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
    }};
constexpr Function kUnique = {
    {.name = "unique",
     .operands = {{.name = "x", .types = types::real, .shape = "any"}},
     .results = {{"values", "[count]", "x's type"},
                 {"indices", "[count]", kPositionType},
                 {"inverse", "x's shape", kPositionType},
                 {"counts", "[count]", kPositionType}},
     .formula = "x = values[inverse], values = x[indices]",
     .summary = "the distinct elements in ascending order, where each is first, and how often it occurs"},
    [](const Tensor& x) -> Unique {
      const Tensor flat = flatten(x.dtype() == DType::boolean ? cast(x, DType::u8) : in_bytes(x));
      const std::int64_t n = flat.size();
      if (n == 0) {
        const Tensor none = zeros({0}, DType::i32);
        return {cast(flat, x.dtype()), none, cast(x, DType::i32), none};
      }
      const Tensor order = argsort(flat), sorted = gather(flat, order);
      const Tensor begins =
          concat({full({1}, true, DType::boolean), slice(sorted, 0, 1, n) != slice(sorted, 0, 0, n - 1)});
      const Tensor first = nonzero(begins)[0];
      const DType type = position_type(n);
      const Tensor group = cumulative_sum(begins, 0, type) - 1;
      const Tensor inverse = scatter_different_elements(zeros({n}, type), order, group, 0);
      return {cast(gather(sorted, first), x.dtype()), gather(order, first), reshape(inverse, x.shape()),
              diff(first, 0, 1, {}, full({1}, n, type))};
    }};

}  // namespace

// ---- The functions

std::vector<Tensor> nonzero(const Operand& x) { return kNonzero(x); }
Tensor compress(const Operand& condition, const Operand& x, std::optional<int> axis) {
  return kCompress(condition, x, {axis});
}
Tensor repeat(const Operand& x, const Operand& counts, int axis) { return kRepeatBy(x, counts, {axis}); }
Unique unique(const Operand& x) { return kUnique(x); }

void add_selection_functions(FunctionRows& rows) { rows.add(kNonzero, kCompress, kRepeatBy, kUnique); }

}  // namespace weft
