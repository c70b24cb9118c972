// Rows that are longer than a binding: windows of them leave accumulators in the workspace, which a last call joins.
#include "kernels/reduce/reduce_windows.h"

#include "kernels/common/windows.h"

namespace weft::kernels {

std::vector<View> over_all_axes(const ReduceProblem& r, const AxisMask& kept) {
  std::vector<View> views = r.inputs;
  views.push_back(over_all_axes(r.y, r.shape, kept));
  for (const View& v : r.operands) views.push_back(over_all_axes(v, r.shape, kept));
  views.insert(views.end(), r.beside.begin(), r.beside.end());
  return views;
}

namespace {

// The problem that a first call on a piece solves: accumulators into `y`.
ReduceProblem problem_of_piece(const ReduceProblem& r, const AxisMask& kept, std::span<const View> inputs,
                               std::span<const View> beside, const View& y, const Strides& y_strides) {
  ReduceProblem p = r;
  p.shape = inputs[0].shape();
  p.inputs.assign(inputs.begin(), inputs.end());
  p.beside.assign(beside.begin(), beside.end());
  p.y = y;
  p.after = nullptr;
  p.operands.clear();
  AxisMask along{};
  std::vector<Strides> strides;
  for (const View& v : inputs) strides.push_back(v.strides());
  strides.push_back(y_strides);
  for (const View& v : beside) strides.push_back(v.strides());
  for (int d = 0; d < p.shape.rank(); ++d) along[d] = !kept[d];
  p.rows = split_rows(p.shape, along, strides);
  return p;
}

// The first piece of a view.
View over(const View& view, const Shape& piece) {
  View v = view;
  v.layout.shape = piece;
  return v;
}

// The pieces of the axes that `mask` marks, one after the other: f(where each begins).
template <class F>
void for_each_piece(const Shape& shape, const Shape& piece, const AxisMask& mask, bool value, F&& f) {
  Dims begin = Dims::filled(shape.rank(), 0);
  for (;;) {
    f(begin);
    int d = shape.rank() - 1;
    for (; d >= 0; --d) {
      if (mask[d] != value) continue;
      if ((begin[d] += piece[d]) < shape[d]) break;
      begin[d] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace

std::optional<RowWindows> row_windows(const gpu::Capabilities& capabilities, const ReduceProblem& r,
                                      std::span<const int> axes) {
  RowWindows w{.kept = kept_axes(r.shape.rank(), axes), .piece = r.shape};
  const std::vector<View> views = over_all_axes(r, w.kept);
  bool cut = false;
  for (std::size_t k = 0; k < views.size();) {
    const int axis = axis_to_cut(capabilities, reduce_name(r.op), over(views[k], w.piece), every_axis());
    if (axis < 0) {
      ++k;
      continue;
    }
    w.piece[axis] = first_half(w.piece[axis]);
    cut |= !w.kept[axis];
  }
  if (!cut) return std::nullopt;
  // The accumulators of a piece's rows must fit a binding too: fewer rows at once until they do.
  for (;;) {
    int widest = -1;
    w.rows = w.count = 1;
    for (int d = 0; d < r.shape.rank(); ++d) {
      if (!w.kept[d]) w.count *= ceil_div(r.shape[d], w.piece[d]);
      else if ((w.rows *= w.piece[d]) > 1 && w.piece[d] > 1 && (widest < 0 || w.piece[d] > w.piece[widest])) widest = d;
    }
    std::vector<View> inputs, beside;
    for (const View& v : r.inputs) inputs.push_back(over(v, w.piece));
    for (const View& v : r.beside) beside.push_back(over(v, w.piece));
    const ReduceProblem p = problem_of_piece(r, w.kept, inputs, beside, r.y, Strides::filled(r.shape.rank(), 0));
    w.parts = cut_rows(capabilities, p.rows, plan_reduce(capabilities, p, true));
    if (widest < 0 || window_bytes(r, w) <= window_limit(capabilities)) return w;
    w.piece[widest] = first_half(w.piece[widest]);
  }
}

std::uint64_t window_bytes(const ReduceProblem& r, const RowWindows& w) {
  return reduce_accumulator(r.op, r.dtype).bytes(w.rows * w.count * w.parts.count);
}

// The accumulators lie as [rows of a piece, pieces that share them, parts].
void reduce_in_row_windows(Stream& stream, const ReduceProblem& r, const RowWindows& w, const View& workspace) {
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  const std::vector<View> views = over_all_axes(r, w.kept);
  const int rank = r.shape.rank();
  const Accumulator of_part = reduce_accumulator(r.op, r.dtype);
  const std::int64_t piece_slots = w.parts.count * of_part.slots, row_slots = w.count * piece_slots;
  const auto piece_of = [&](const View& v, const Dims& begin, bool all) {
    View part = v;
    for (int d = 0; d < rank; ++d) {
      if (!all && !w.kept[d]) continue;
      part = part_along(part, d, begin[d], std::min(w.piece[d], r.shape[d] - begin[d]));
    }
    return part;
  };
  for_each_piece(r.shape, w.piece, w.kept, true, [&](const Dims& rows_begin) {
    // Over the axes of x, where a row's accumulators are.
    Strides listed = Strides::filled(rank, 0);
    Shape rows_shape;
    std::int64_t rows = 1;
    for (int d = rank - 1; d >= 0; --d) {
      if (!w.kept[d]) continue;
      listed[d] = rows * row_slots;
      rows *= std::min(w.piece[d], r.shape[d] - rows_begin[d]);
    }
    std::int64_t part = 0;
    for_each_piece(r.shape, w.piece, w.kept, false, [&](const Dims& along_begin) {
      Dims begin = rows_begin;
      for (int d = 0; d < rank; ++d) {
        if (!w.kept[d]) begin[d] = along_begin[d];
      }
      std::vector<View> inputs, beside;
      for (std::size_t k = 0; k < r.inputs.size(); ++k) inputs.push_back(piece_of(views[k], begin, true));
      for (std::size_t k = r.beside_index(); k < views.size(); ++k) beside.push_back(piece_of(views[k], begin, true));
      const View y(workspace.buffer, workspace.offset + of_part.bytes(part), of_part.type, {rows, piece_slots},
                   {row_slots, 1});
      const ReduceProblem p = problem_of_piece(r, w.kept, inputs, beside, y, listed);
      const RowPlan own = plan_reduce(capabilities, p, w.parts.count > 1);
      const std::int64_t team = own.team;
      record_reduce(stream, p, own, {w.parts.count, ceil_div(ceil_div(own.steps, w.parts.count), team) * team},
                    Stage::first, r.rows.length);
      part += w.parts.count;
    });

    ReduceProblem second = r;
    second.before = nullptr;
    second.beside.clear();
    second.inputs = {View(workspace.buffer, workspace.offset, of_part.type, {rows, row_slots})};
    std::vector<Strides> strides(1);
    for (int d = 0; d < rank; ++d) {
      if (!w.kept[d]) continue;
      rows_shape.push_back(std::min(w.piece[d], r.shape[d] - rows_begin[d]));
      strides[0].push_back(listed[d]);
    }
    rows_shape.push_back(w.count * w.parts.count);
    strides[0].push_back(of_part.slots);
    second.operands.clear();
    for (std::size_t k = r.y_index(); k < r.beside_index(); ++k) {
      const View part = piece_of(views[k], rows_begin, false);
      if (k == r.y_index()) second.y = part;
      else second.operands.push_back(part);
      Strides& own = strides.emplace_back();
      for (int d = 0; d < rank; ++d) {
        if (w.kept[d]) own.push_back(part.strides()[d]);
      }
      own.push_back(0);
    }
    AxisMask along{};
    along[rows_shape.rank() - 1] = true;
    second.rows = split_rows(rows_shape, along, strides);
    const bool fours = vectorises_along(second.inputs[0], second.rows, 0);
    const RowPlan last = plan_rows(capabilities, second.rows, {.along4 = fours});
    record_reduce(stream, second, last, uncut(last), Stage::second, r.rows.length);
  });
}

}  // namespace weft::kernels
