// Gathers by element and by tuple, scatters: GPU results against the CPU's, and against the definitions.
#include <cstring>
#include <set>

#include "cpu/executor.h"
#include "kernels/index/gather.h"
#include "kernels/index/scatter.h"
#include "kernels/plan_cache.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/kernels/index.h"

namespace weft::test {
namespace {

using kernels::ScatterKind;

constexpr DType kAll[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i8,     DType::i16,     DType::i32,
                          DType::i64, DType::u8,  DType::u16,  DType::u32, DType::u64,    DType::boolean, DType::c64,
                          DType::i4,  DType::u4,  DType::i2,   DType::u2,  DType::f8e4m3, DType::f8e5m2};
constexpr DType kIndices[] = {DType::i8, DType::i16, DType::i32, DType::i64,
                              DType::u8, DType::u16, DType::u32, DType::u64};
constexpr ScatterKind kOps[] = {ScatterKind::assign, ScatterKind::add, ScatterKind::mul, ScatterKind::min,
                                ScatterKind::max};

enum class Form { rows, elements, tuples };

// Shapes of a selection, and the axis or the number of batch axes.
struct Shapes {
  Form form;
  Shape whole, indices, part;
  int axis = 0;
};

Shapes random_shapes(Rng& rng, Form form) {
  Shapes s{form};
  const Shape whole = random_shape(rng, 1, form == Form::elements ? 8 : 4, 1500, false);
  s.whole = whole;
  s.axis = random_int(rng, 0, whole.rank() - 1);
  if (form == Form::elements) {
    for (int d = 0; d < whole.rank(); ++d) {
      s.indices.push_back(random_int(rng.details(), d == s.axis ? 0 : 1, d == s.axis ? 9 : static_cast<int>(whole[d])));
    }
    s.part = s.indices;
    return s;
  }
  if (form == Form::rows) {
    s.indices = random_shape(rng, 0, 3, 12);
    for (int d = 0; d < whole.rank(); ++d) {
      if (d != s.axis)
        s.part.push_back(whole[d]);
      else
        for (const std::int64_t n : s.indices) s.part.push_back(n);
    }
    return s;
  }
  const int tuple = random_int(rng, 1, whole.rank());
  s.axis = random_int(rng, 0, whole.rank() - tuple);
  for (int d = 0; d < s.axis; ++d) s.indices.push_back(whole[d]);
  for (const std::int64_t n : random_shape(rng, 0, 3, 12)) s.indices.push_back(n);
  s.part = s.indices;
  for (int d = s.axis + tuple; d < whole.rank(); ++d) s.part.push_back(whole[d]);
  s.indices.push_back(tuple);
  return s;
}

// The size of the axis that index i selects from.
std::int64_t size_of(const Shapes& s, std::int64_t i) {
  return s.whole[s.form == Form::tuples ? s.axis + static_cast<int>(i % s.indices[-1]) : s.axis];
}

// Most are in range, some count from the end, and if `beyond` some are outside.
View random_indices(Rng& rng, const Shapes& s, Kind kind, bool beyond) {
  const DType type = pick(rng, kIndices);
  const View indices = random_view(rng, s.indices, type, kind);
  Rng& values = rng.details();
  for (std::int64_t i = 0; i < indices.count(); ++i) {
    const auto n = static_cast<int>(size_of(s, i));
    std::int64_t v = random_int(values, is_signed(type) ? -n : 0, n - 1);
    if (beyond && values() % 8 == 0)
      v = is_signed(type) && values() % 2 ? -n - random_int(values, 1, 20) : n + random_int(values, 0, 20);
    const std::int64_t most = bits(type) == 8 ? (is_signed(type) ? 127 : 255) : 1 << 14;
    set_element_bits(indices, i,
                     static_cast<std::uint64_t>(std::clamp<std::int64_t>(v, is_signed(type) ? -most : 0, most)));
  }
  return indices;
}

kernels::Selection selection(const Shapes& s, const View& whole, const View& indices, const View& part) {
  if (s.form == Form::rows) return kernels::select_rows("gather", whole, indices, part, s.axis);
  if (s.form == Form::elements) return kernels::select_elements("gather_elements", whole, indices, part, s.axis);
  return kernels::select_tuples("gather_nd", whole, indices, part, s.axis);
}

// Groups for each thread; 0: the kernel chooses.
int random_unroll(Rng& rng) { return static_cast<int>(rng() % 5); }

Problem random_gather(Rng& rng, Form form) {
  const Shapes s = random_shapes(rng, form);
  const DType type = pick(rng, kAll);
  const View x = random_view(rng, s.whole, type, random_input_kind(rng), Values::special);
  const View indices = random_indices(rng, s, random_input_kind(rng), true);
  const View y = random_view(rng, s.part, type, random_output_kind(rng));
  Problem p{std::format("{} by {} to {} axis {}", to_string(x), to_string(indices), to_string(y), s.axis),
            {x, indices},
            {y},
            [s](Stream& stream, auto in, auto out) {
              if (s.form == Form::rows) kernels::gather(stream, in[0], in[1], out[0], s.axis);
              if (s.form == Form::elements) kernels::gather_elements(stream, in[0], in[1], out[0], s.axis);
              if (s.form == Form::tuples) kernels::gather_nd(stream, in[0], in[1], out[0], s.axis);
            },
            kSameBits};
  if (const int unroll = random_unroll(rng)) {
    p.form = [s, unroll](Stream& stream, auto in, auto out) {
      kernels::gather_gpu(*stream.gpu(), selection(s, in[0], in[1], out[0]), unroll);
    };
  }
  return p;
}

void scatter(Stream& stream, const Shapes& s, ScatterKind op, const View& indices, const View& updates, const View& y,
             bool ordered = false) {
  switch (s.form) {
    case Form::rows:
      return kernels::scatter(stream, op, indices, updates, y, s.axis, ordered);
    case Form::elements:
      return kernels::scatter_elements(stream, op, indices, updates, y, s.axis, ordered);
    case Form::tuples:
      return kernels::scatter_nd(stream, op, indices, updates, y, s.axis, ordered);
  }
}

// Values whose sums and products do not depend on the order: few bits, powers of two.
void set_exact_values(Rng& rng, const View& v, ScatterKind op) {
  if (!is_floating(v.dtype) && v.dtype != DType::c64) return;
  for (std::int64_t i = 0; i < v.count(); ++i) {
    const double number =
        op == ScatterKind::mul ? (rng() % 2 ? 1.0 : -1.0) : static_cast<double>(random_int(rng, -1, 1));
    set_element_bits(v, i, element_bits(host_view(v.dtype, {1}, std::vector<double>{number}), 0));
  }
}

Problem random_scatter(Rng& rng, Form form) {
  const Shapes s = random_shapes(rng, form);
  ScatterKind op = pick(rng, kOps);
  DType type = pick(rng, kAll);
  const bool compares = op == ScatterKind::min || op == ScatterKind::max;
  if (op != ScatterKind::assign &&
      (type == DType::f64 || (type == DType::boolean && !compares) || (type == DType::c64 && compares))) {
    op = ScatterKind::assign;
  }
  const Kind kind = form == Form::tuples || op != ScatterKind::assign ? random_input_kind(rng) : Kind::dense;
  View indices = random_indices(rng, s, kind, op != ScatterKind::assign);
  View updates = random_view(rng, s.part, type, random_input_kind(rng), compares ? Values::special : Values::ordinary);
  const View y = random_view(rng, s.whole, type, random_output_kind(rng), Values::ordinary);
  // If several updates of up to 32 bits go to one element, any of them may be stored, so that all are equal; in order
  // it is the last.
  const bool ordered = rng() % 2;
  if (op == ScatterKind::assign && bits(type) < 64 && !ordered) {
    for (std::int64_t i = 1; i < updates.count(); ++i) set_element_bits(updates, i, element_bits(updates, 0));
  }
  if (op == ScatterKind::add || op == ScatterKind::mul) {
    set_exact_values(rng.details(), updates, op);
    set_exact_values(rng.details(), y, op);
  }
  Problem p{std::format("op {} {} by {} to {} axis {}", static_cast<int>(op), to_string(updates), to_string(indices),
                        to_string(y), s.axis),
            {indices, updates},
            {y},
            [=](Stream& stream, auto in, auto out) { scatter(stream, s, op, in[0], in[1], out[0], ordered); },
            op == ScatterKind::assign ? kSameBits : Tolerance{}};
  if (ordered) return p;
  if (const int unroll = random_unroll(rng); unroll && bits(type) < 64) {
    p.form = [s, op, unroll](Stream& stream, auto in, auto out) {
      kernels::scatter_gpu(*stream.gpu(), op, selection(s, out[0], in[0], in[1]), unroll);
    };
  }
  // In the form for long rows.
  if (bits(type) >= 8 && bits(type) < 64 && op != ScatterKind::assign && rng() % 3 == 0) {
    p.form = [s, op](Stream& stream, auto in, auto out) {
      const kernels::Selection chosen = selection(s, out[0], in[0], in[1]);
      kernels::call_once(stream, {in[0], in[1], out[0]},
                         [&](Stream& planner) { kernels::scatter_chained_gpu(*planner.gpu(), op, chosen); });
    };
  }
  return p;
}

// Parts that begin anywhere, also where a part of that size would leave the tensor.
Problem random_dynamic(Rng& rng, bool updates) {
  const Shape shape = random_shape(rng, 1, 5, 3000, false);
  Shape sizes = shape;
  std::vector<int> axes;
  std::vector<double> starts;
  const DType index = pick(rng, kIndices);
  for (int d = 0; d < shape.rank(); ++d) {
    if (rng() % 2 && !(axes.empty() && d + 1 == shape.rank())) continue;
    const auto n = static_cast<int>(shape[d]);
    sizes[d] = random_int(rng, 0, n);
    axes.push_back(rng() % 2 ? d : d - shape.rank());
    const int start = random_int(rng, is_signed(index) ? -n : 0, n + 2);
    starts.push_back(std::clamp(start, -128, 127));
  }
  const View from = host_view(index, {static_cast<std::int64_t>(starts.size())}, starts);
  const View at = starts.size() == 1 && rng() % 2 ? from.with_layout(Layout::dense(Shape())) : from;
  const DType type = pick(rng, kAll);
  const std::string text =
      std::format("parts {} of {} {} from {}", to_string(sizes), name(type), to_string(shape), to_string(at));
  if (updates) {
    const View update = random_view(rng, sizes, type, random_input_kind(rng), Values::special);
    return {text,
            {update, at},
            {random_view(rng, shape, type, random_output_kind(rng))},
            [axes](Stream& s, auto in, auto out) { kernels::dynamic_update_slice(s, in[0], in[1], out[0], axes); },
            kSameBits};
  }
  const View x = random_view(rng, shape, type, random_input_kind(rng), Values::special);
  return {text,
          {x, at},
          {random_view(rng, sizes, type, random_output_kind(rng))},
          [axes](Stream& s, auto in, auto out) { kernels::dynamic_slice(s, in[0], in[1], out[0], axes); },
          kSameBits};
}

const bool registered =
    differential("gather", [](Rng& rng) { return random_gather(rng, Form::rows); }) &&
    differential("gather_elements", [](Rng& rng) { return random_gather(rng, Form::elements); }) &&
    differential("gather_nd", [](Rng& rng) { return random_gather(rng, Form::tuples); }) &&
    differential("dynamic_slice", [](Rng& rng) { return random_dynamic(rng, false); }) &&
    differential("dynamic_update_slice", [](Rng& rng) { return random_dynamic(rng, true); }) &&
    differential("scatter", [](Rng& rng) { return random_scatter(rng, Form::rows); }) &&
    differential("scatter_elements", [](Rng& rng) { return random_scatter(rng, Form::elements); }) &&
    differential("scatter_nd", [](Rng& rng) { return random_scatter(rng, Form::tuples); });

class Index : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device() { return test::device(GetParam()); }
  Rng rng{17};
};
INSTANTIATE_TEST_SUITE_P(Devices, Index, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

// Thousands of updates of a few elements, in every type and operation.
TEST_P(Index, ManyUpdatesMeet) {
  for (DType type : kAll) {
    for (ScatterKind op : kOps) {
      const bool compares = op == ScatterKind::min || op == ScatterKind::max;
      if (op != ScatterKind::assign &&
          (type == DType::f64 || (type == DType::boolean && !compares) || (type == DType::c64 && compares)))
        continue;
      if (op == ScatterKind::assign && bits(type) < 64) continue;
      const Shapes s{Form::rows, {5, 3}, {2000}, {2000, 3}, 0};
      const View indices = random_indices(rng, s, Kind::dense, true);
      const View updates = random_view(rng, s.part, type);
      const View y = random_view(rng, s.whole, type, Kind::offset);
      if (op == ScatterKind::add || op == ScatterKind::mul) {
        set_exact_values(rng, updates, op);
        set_exact_values(rng, y, op);
      }
      // Sums of that many updates are exact in 11 or more bits.
      if (op == ScatterKind::add && is_floating(type) && bits(type) < 32 && type != DType::f16) continue;
      const View in[] = {indices, updates};
      run_both(
          device(), in, {{y}}, [&](Stream& st, auto i, auto o) { scatter(st, s, op, i[0], i[1], o[0]); }, {},
          std::format("{} op {}", name(type), static_cast<int>(op)));
    }
  }
}

// Distinct indices: every element of y has one update, whatever the order.
TEST_P(Index, AssignsPermutations) {
  for (DType type : kAll) {
    for (const Shape& shape : {Shape{40}, Shape{40, 3}, Shape{40, 8}, Shape{40, 64}}) {
      std::vector<double> order(40);
      for (std::size_t i = 0; i < 40; ++i) order[i] = static_cast<double>(i);
      std::ranges::shuffle(order, rng);
      const View indices = host_view(DType::i32, {40}, order);
      const View updates = random_view(rng, shape, type, random_input_kind(rng), Values::special);
      const View y = random_view(rng, shape, type, random_output_kind(rng));
      const Shapes s{Form::rows, shape, {40}, shape, 0};
      const View in[] = {indices, updates};
      run_both(
          device(), in, {{y}},
          [&](Stream& st, auto i, auto o) { scatter(st, s, ScatterKind::assign, i[0], i[1], o[0]); }, kSameBits,
          std::format("{} {}", name(type), to_string(shape)));
      const std::int64_t row = element_count(shape) / 40;
      for (std::int64_t i = 0; i < y.count(); ++i) {
        const auto from = std::ranges::find(order, static_cast<double>(i / row)) - order.begin();
        ASSERT_EQ(element_bits(y, i), element_bits(updates, from * row + i % row));
      }
    }
  }
}

TEST_P(Index, Refusals) {
  gpu::Encoder encoder(device());
  const auto view = [&](const Shape& shape, DType type) { return to_device(device(), random_view(rng, shape, type)); };
  const View x = view({4, 5}, DType::f32);
  EXPECT_THROW(kernels::gather_elements(encoder, x, view({3}, DType::i32), view({3}, DType::f32), 0), InvalidArgument);
  EXPECT_THROW(kernels::gather_elements(encoder, x, view({2, 6}, DType::i32), view({2, 6}, DType::f32), 0),
               InvalidArgument);
  EXPECT_THROW(kernels::gather_nd(encoder, x, view({3, 3}, DType::i32), view({3}, DType::f32)), InvalidArgument);
  EXPECT_THROW(kernels::gather_nd(encoder, x, view({3, 1}, DType::i32), view({3}, DType::f32)), InvalidArgument);
  EXPECT_THROW(kernels::gather_nd(encoder, x, view({3, 1}, DType::i32), view({3, 5}, DType::f32), 1), InvalidArgument);
  const View indices = view({3}, DType::i32);
  EXPECT_THROW(kernels::scatter(encoder, ScatterKind::add, indices, view({3, 5}, DType::f16), x, 0), InvalidArgument);
  EXPECT_THROW(
      kernels::scatter(encoder, ScatterKind::max, indices, view({3, 5}, DType::c64), view({4, 5}, DType::c64), 0),
      InvalidArgument);
  EXPECT_THROW(
      kernels::scatter(encoder, ScatterKind::add, indices, view({3, 5}, DType::f64), view({4, 5}, DType::f64), 0),
      Unsupported);
}

TEST_P(Index, DynamicRefusals) {
  gpu::Encoder encoder(device());
  const auto view = [&](const Shape& shape, DType type) { return to_device(device(), random_view(rng, shape, type)); };
  const View x = view({4, 5}, DType::f32), one = view({1}, DType::i32), two = view({2}, DType::i32);
  const auto refused = [&](const View& starts, const View& y, const std::vector<int>& axes) {
    return refused_by([&] { kernels::dynamic_slice(encoder, x, starts, y, axes); });
  };
  using testing::HasSubstr;
  EXPECT_THAT(refused(one, view({2, 6}, DType::f32), {0}),
              HasSubstr("dynamic_slice: y is f32 [2, 6]; expected the rank of x f32 [4, 5], and no larger sizes"));
  EXPECT_THAT(refused(one, view({2}, DType::f32), {0}), HasSubstr("expected the rank of x"));
  EXPECT_THAT(refused(two, view({2, 5}, DType::f32), {0}), HasSubstr("starts are i32 [2]; expected 1 of them"));
  EXPECT_THAT(refused(two, view({2, 5}, DType::f32), {0, -2}), HasSubstr("axis 0 is named twice"));
  EXPECT_THAT(refused(one, view({2, 5}, DType::f32), {2}), HasSubstr("axis 2"));
  EXPECT_THAT(refused(view({1}, DType::f32), view({2, 5}, DType::f32), {0}),
              HasSubstr("dynamic_slice: starts are f32"));
  EXPECT_THAT(refused_by([&] { kernels::dynamic_update_slice(encoder, x, one, x, std::vector<int>{0}); }),
              HasSubstr("dynamic_update_slice"));
}

TEST(IndexReference, Definitions) {
  cpu::Executor executor;
  using testing::ElementsAre;
  const View x = host_view(DType::i32, {2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6});
  const View y = host_view(DType::i32, {2, 2}, std::vector<double>(4));
  kernels::gather_elements(executor, x, host_view(DType::i64, {2, 2}, std::vector<double>{2, 0, -1, 9}), y, 1);
  EXPECT_THAT(values(y), ElementsAre(3, 1, 6, 6));
  const View pairs = host_view(DType::i32, {3, 2}, std::vector<double>{0, 1, 1, -1, 1, 0});
  const View chosen = host_view(DType::i32, {3}, std::vector<double>(3));
  kernels::gather_nd(executor, x, pairs, chosen);
  EXPECT_THAT(values(chosen), ElementsAre(2, 6, 4));
  kernels::scatter_nd(executor, ScatterKind::add, pairs, chosen, x);
  EXPECT_THAT(values(x), ElementsAre(1, 4, 3, 8, 5, 12));
  const View rows = host_view(DType::u8, {3}, std::vector<double>{1, 7, 1});
  const View updates = host_view(DType::i32, {3, 3}, std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  kernels::scatter(executor, ScatterKind::assign, rows, updates, x, 0);
  EXPECT_THAT(values(x), ElementsAre(1, 4, 3, 7, 8, 9));
  kernels::scatter_elements(executor, ScatterKind::max, host_view(DType::i8, {1, 3}, std::vector<double>{-1, -2, 0}),
                            host_view(DType::i32, {1, 3}, std::vector<double>{9, 2, 5}), x, 0);
  EXPECT_THAT(values(x), ElementsAre(1, 4, 5, 9, 8, 9));
}

TEST(IndexReference, ManyCoresScatterAsOneDoes) {
  Rng rng(11);
  for (const Shapes& s :
       {Shapes{Form::rows, {300, 64}, {2000}, {2000, 64}, 0}, Shapes{Form::rows, {500}, {70000}, {70000}, 0},
        Shapes{Form::elements, {40, 700}, {90, 700}, {90, 700}, 0},
        Shapes{Form::elements, {2, 900}, {2, 40000}, {2, 40000}, 1},
        Shapes{Form::tuples, {50, 60}, {40000, 2}, {40000}, 0}}) {
    for (const ScatterKind op : {ScatterKind::assign, ScatterKind::add}) {
      const View indices = random_indices(rng, s, Kind::dense, true);
      const View updates = random_view(rng, s.part, DType::f32), y = random_view(rng, s.whole, DType::f32);
      const View other(Buffer::host(y.buffer.size()), 0, DType::f32, s.whole);
      std::memcpy(other.buffer.data(), y.buffer.data(), y.buffer.size());
      cpu::Executor one(1), four(4);
      scatter(one, s, op, indices, updates, y);
      scatter(four, s, op, indices, updates, other);
      ASSERT_EQ(std::memcmp(other.buffer.data(), y.buffer.data(), y.buffer.size()), 0) << to_string(updates);
    }
  }
}

// Tensors that exceed a binding.
using IndexChunks = ChunksTest;

// A part that begins in one window of the tensor and ends in another.
TEST_F(IndexChunks, DynamicParts) {
  for (const DType type : {DType::f32, DType::f16, DType::u4, DType::u64}) {
    for (const double start : {0.0, 2900.0, 5999.0}) {
      const View starts = host_view(DType::i32, {1}, std::vector<double>{start});
      const View x = random_view(rng, {6000, 40}, type), part = random_view(rng, {3000, 40}, type);
      const View few = random_view(rng, {1, 40}, type);
      const std::vector<int> axes{0};
      both(
          {x, starts}, {part},
          [axes](Stream& s, auto in, auto out) { kernels::dynamic_slice(s, in[0], in[1], out[0], axes); }, kSameBits);
      for (const View& update : {part, few}) {
        both(
            {update, starts}, {x},
            [axes](Stream& s, auto in, auto out) { kernels::dynamic_update_slice(s, in[0], in[1], out[0], axes); },
            kSameBits);
      }
    }
  }
}

// Tables, indices and results that exceed a binding; an index is handled by the dispatch that binds its chunk.
TEST_F(IndexChunks, GatherAndScatter) {
  using enum ScatterKind;
  const auto indices = [&](const Shape& shape, DType type, int size) {
    const View v = random_view(rng, shape, type);
    for (std::int64_t i = 0; i < v.count(); ++i) {
      set_element_bits(v, i, static_cast<std::uint64_t>(static_cast<std::int64_t>(rng() % (2 * size)) - size));
    }
    return v;
  };
  const auto gather = [](int axis) {
    return [axis](Stream& s, auto in, auto out) { kernels::gather(s, in[0], in[1], out[0], axis); };
  };
  for (const DType type : {DType::f32, DType::f16, DType::u4, DType::u64}) {
    const View table = random_view(rng, {6000, 40}, type);
    both({table, indices({500}, DType::i32, 6000)}, {random_view(rng, {500, 40}, type)}, gather(0), kSameBits);
    const View wide = random_view(rng, {40, 6000}, type, Kind::transposed);
    both({wide, indices({9}, DType::i64, 6000)}, {random_view(rng, {40, 9}, type)}, gather(1), kSameBits);
  }
  const View table = random_view(rng, {300, 20, 30}, DType::f32, Kind::reversed);
  both(
      {table, indices({300, 7, 30}, DType::i32, 20)}, {random_view(rng, {300, 7, 30}, DType::f32)},
      [](Stream& s, auto in, auto out) { kernels::gather_elements(s, in[0], in[1], out[0], 1); }, kSameBits);
  View tuples = indices({90, 2}, DType::i32, 20);
  both(
      {table, tuples}, {random_view(rng, {90, 30}, DType::f32)},
      [](Stream& s, auto in, auto out) { kernels::gather_nd(s, in[0], in[1], out[0], 0); }, kSameBits);

  for (const auto& [op, type] :
       {std::pair{assign, DType::f32}, {add, DType::f32}, {max, DType::f16}, {add, DType::u8}, {assign, DType::i8}}) {
    const View by = indices({300}, DType::i32, 2000);
    if (op == assign) {
      for (std::int64_t i = 0; i < 300; ++i) set_element_bits(by, i, static_cast<std::uint64_t>(6 * i));  // each once
    }
    both(
        {by, random_view(rng, {300, 90}, type)}, {random_view(rng, {2000, 90}, type)},
        [op](Stream& s, auto in, auto out) { kernels::scatter(s, op, in[0], in[1], out[0], 0); },
        op == add ? Tolerance{.absolute = 1e-5} : kSameBits);
  }
  both({indices({200, 3, 30}, DType::i32, 20), random_view(rng, {200, 3, 30}, DType::f32)}, {table},
       [](Stream& s, auto in, auto out) { kernels::scatter_elements(s, add, in[0], in[1], out[0], 1); },
       {.absolute = 1e-5});
  both(
      {tuples, random_view(rng, {90, 30}, DType::f32)}, {table},
      [](Stream& s, auto in, auto out) { kernels::scatter_nd(s, max, in[0], in[1], out[0], 0); }, kSameBits);
}

// Elements of 64 bits, whose chains of updates need memory too. Of several updates of one element the last one is
// stored.
TEST_F(IndexChunks, ChainsOfUpdates) {
  using enum ScatterKind;
  const auto check = [&](ScatterKind op, DType type, const Shape& whole, const Shape& part, int axis, Kind kind) {
    const View y = random_view(rng, whole, type), updates = random_view(rng, part, type, kind);
    const View indices = random_view(rng, part, DType::i32, kind);
    for (std::int64_t i = 0; i < indices.count(); ++i)
      set_element_bits(indices, i, rng() % static_cast<std::uint64_t>(whole[axis]));
    both(
        {indices, updates}, {y},
        [=](Stream& s, auto in, auto out) { kernels::scatter_elements(s, op, in[0], in[1], out[0], axis); }, kSameBits);
  };
  for (const ScatterKind op : {assign, add}) {
    check(op, DType::i64, {30000}, {20000}, 0, Kind::dense);
    check(op, DType::u64, {60, 500}, {60, 300}, 1, Kind::transposed);
    check(op, DType::i64, {700, 40}, {900, 40}, 0, Kind::dense);
    check(op, DType::i64, {3, 5}, {9000, 5}, 0, Kind::transposed);
  }
}

}  // namespace
}  // namespace weft::test
