// Products of matrices that indices choose.
#include <algorithm>
#include <utility>

#include "call.h"
#include "mlx/primitives.h"

namespace mlx::core {

using namespace webgpu;

namespace {

// Of the matrices that are copied at a time, in bytes.
constexpr std::int64_t kCopied = 64 << 20;

struct Chosen {
  weft::View matrices;  // [matrices, rows, columns]
  weft::View indices;   // [products]

  std::int64_t bytes() const { return matrices.shape()[1] * matrices.shape()[2] * weft::bits(matrices.dtype) / 8; }
  Chosen transposed() const { return {matrices.permuted(std::array{0, 2, 1}), indices}; }
  Chosen part(std::int64_t begin, std::int64_t end) const {
    return {matrices, weft::kernels::slice(indices, 0, begin, end)};
  }
};

Chosen chosen(Call& call, const array& matrices, const array& indices) {
  return {call.in(matrices, Grouped::matrices(matrices)),
          call.in_dense(indices, {static_cast<std::int64_t>(indices.size())})};
}

// y[i] = a[ia[i]] · b[ib[i]]. The matrices of b are read where they lie, those of a are copied, some at a time, as are
// those of b if there are more than the device binds.
void multiply(Call& call, const Chosen& a, const Chosen& b, const weft::View& y) {
  const std::int64_t count = y.shape()[0];
  const std::int64_t most = std::clamp<std::int64_t>(kCopied / std::max<std::int64_t>(b.bytes(), 1), 1, count);
  weft::View copies_of_a, copies_of_b;
  const auto copied = [&](const Chosen& from, std::int64_t begin, std::int64_t end, std::int64_t room, weft::View& to) {
    const weft::Shape& shape = from.matrices.shape();
    if (!to.buffer) to = call.temporary(from.matrices.dtype, {room, shape[1], shape[2]});
    const weft::View part = weft::kernels::slice(to, 0, 0, end - begin);
    weft::kernels::gather(call.stream(), from.matrices, from.part(begin, end).indices, part, 0);
    return part;
  };
  const std::int64_t of_a = std::clamp<std::int64_t>(kCopied / std::max<std::int64_t>(a.bytes(), 1), 1, count);
  bool binds_b = true;
  for (std::int64_t begin = 0; begin < count;) {
    const std::int64_t end = std::min(count, begin + (binds_b ? of_a : std::min(of_a, most)));
    const weft::View left = copied(a, begin, end, of_a, copies_of_a), result = weft::kernels::slice(y, 0, begin, end);
    if (binds_b) {
      try {
        weft::kernels::gather_matmul(call.stream(), left, b.matrices, b.part(begin, end).indices, result);
      } catch (const weft::Unsupported&) {
        binds_b = false;
        continue;
      }
    } else {
      weft::kernels::matmul(call.stream(), left, copied(b, begin, end, most, copies_of_b), result);
    }
    begin = end;
  }
}

}  // namespace

// The larger matrices are those that are read where they lie.
void GatherMM::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const Chosen a = chosen(call, inputs[0], inputs[2]), b = chosen(call, inputs[1], inputs[3]);
  const weft::View y = call.out(out, Grouped::matrices(out));
  if (a.bytes() <= b.bytes()) return multiply(call, a, b, y);
  multiply(call, b.transposed(), a.transposed(), y.permuted(std::array{0, 2, 1}));
}

// Each segment is a range of what the product sums over, which the GPU alone knows.
void SegmentedMM::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const array& segments = inputs[2];
  weft::kernels::segmented_matmul(call.stream(), call.in(inputs[0]), call.in(inputs[1]),
                                  call.in_dense(segments, {static_cast<std::int64_t>(segments.size()) / 2, 2}),
                                  call.out(out, Grouped::matrices(out)));
}

}  // namespace mlx::core
