// Softmax, norms, reductions, scans and sorts: in more shapes than weft_bench has, with elementwise work fused and
// separate, and in all their forms.
#include <array>
#include <format>

#include "bench.h"
#include "kernels/norm/row_norm.h"
#include "kernels/reduce/reduce_form.h"
#include "kernels/scan/scan_split.h"
#include "kernels/softmax/softmax_split.h"

namespace weft::bench {
namespace {

using kernels::ReduceKind;
using Views = ColdCase::Views;

std::string label(std::string_view what, const TensorType& x) {
  return std::format("{} {} {}", what, name(x.dtype), to_string(x.shape));
}

TensorType reduced(TensorType x, const std::vector<int>& axes, DType type) {
  for (const int a : axes) x.shape[a] = 1;
  return {type, x.shape};
}

void softmax(KernelBench& b, std::string_view what, const TensorType& x, int axis, bool logarithm = false) {
  b.measure({.name = label(what, x), .inputs = {x}, .outputs = {x}, .moved = 2, .call = [&](Stream& s, Views v) {
               logarithm ? kernels::log_softmax(s, v[0], v[1], axis) : kernels::softmax(s, v[0], v[1], axis);
             }});
}

void layer_norm(KernelBench& b, const TensorType& x) {
  b.measure({.name = label("layer norm without weights", x),
             .inputs = {x},
             .outputs = {x},
             .moved = 2,
             .call = [](Stream& s, Views v) { kernels::layer_norm(s, v[0], {}, {}, v[1], 1, 1e-5f); }});
}

// Group norm along the last axis.
void group_norm(KernelBench& b, std::string_view what, const TensorType& x, std::int64_t groups) {
  const TensorType weights{x.dtype, {x.shape[-1]}};
  const int axis = x.shape.rank() - 1;
  b.measure({.name = label(what, x),
             .inputs = {x, weights, weights},
             .outputs = {x},
             .moved = 2,
             .call = [&](Stream& s, Views v) { kernels::group_norm(s, v[0], v[1], v[2], v[3], axis, groups, 1e-5f); }});
}

void reduce(KernelBench& b, std::string_view what, ReduceKind op, const TensorType& x, const std::vector<int>& axes) {
  b.measure({.name = label(what, x),
             .inputs = {x},
             .outputs = {reduced(x, axes, x.dtype)},
             .moved = 1,
             .call = [&](Stream& s, Views v) { kernels::reduce(s, op, v[0], v[1], axes); }});
}

void argmax(KernelBench& b, std::string_view what, const TensorType& x, const std::vector<int>& axes) {
  constexpr auto kMax = kernels::ArgKind::max;
  b.measure({.name = label(what, x),
             .inputs = {x},
             .outputs = {reduced(x, axes, DType::i32)},
             .moved = 1,
             .call = [&](Stream& s, Views v) { kernels::arg_reduce(s, kMax, v[0], v[1], axes); }});
}

void rows(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const std::int64_t bytes : b.sizes()) {
      const TensorType x = b.tensor(type, {-1, 1024}, bytes), line = b.tensor(type, {-1}, bytes);
      b.measure({.name = label("copy", line),
                 .inputs = {line},
                 .outputs = {line},
                 .moved = 2,
                 .call = [](Stream& s, Views v) { kernels::copy(s, v[0], v[1]); }});
      softmax(b, "softmax", x, 1);
      layer_norm(b, x);
      reduce(b, "sum to one", ReduceKind::sum, line, {0});
      reduce(b, "sum of rows", ReduceKind::sum, x, {1});
      reduce(b, "sum of columns", ReduceKind::sum, x, {0});
    }
    for (const std::int64_t n : {64, 256, 4096, 8192, 32768, 65536, 131072, 262144}) {
      softmax(b, "softmax", b.tensor(type, {-1, n}), 1);
      layer_norm(b, b.tensor(type, {-1, n}));
    }
    for (const std::int64_t n : {1024, 8192, 16384, 32768, 65536}) {
      softmax(b, "softmax of columns", b.tensor(type, {n, -1}), 0);
      softmax(b, "log softmax of columns", b.tensor(type, {n, -1}), 0, true);
    }
    const TensorType middle = b.tensor(type, {-1, 1024, 1024});
    softmax(b, "softmax of the middle", middle, 1);
    reduce(b, "sum of outer and inner", ReduceKind::sum, middle, {0, 2});
    reduce(b, "log sum exp of rows", ReduceKind::log_sum_exp, b.tensor(type, {-1, 8192}), {1});
    reduce(b, "sum of rows", ReduceKind::sum, b.tensor(type, {-1, 8192}), {1});
    reduce(b, "sum of rows", ReduceKind::sum, b.tensor(type, {-1, 64}), {1});
    reduce(b, "sum of columns", ReduceKind::sum, b.tensor(type, {-1, 64}), {0});
    for (const auto& [shape, axis, where] : {std::tuple{Shape{-1, 1024}, 1, "of rows"},
                                             {{-1, 64}, 1, "of rows"},
                                             {{8192, -1}, 0, "of columns"},
                                             {{-1, 64}, 0, "of columns"},
                                             {{-1}, 0, "to one"}}) {
      const TensorType x = b.tensor(type, shape);
      reduce(b, std::format("variance {}", where), ReduceKind::variance, x, {axis});
      reduce(b, std::format("max {}", where), ReduceKind::max, x, {axis});
      argmax(b, std::format("argmax {}", where), x, {axis});
    }
    const TensorType x = b.tensor(type, {-1, 4096, 64}), weights{type, {64}};
    group_norm(b, "group norm, channels last", x, 8);
    group_norm(b, "instance norm, channels last", x, 64);
    b.measure({.name = label("batch norm, channels last", x),
               .inputs = {x, weights, weights},
               .outputs = {x},
               .moved = 2,
               .call = [](Stream& s, Views v) { kernels::batch_norm(s, v[0], v[1], v[2], v[1], v[2], v[3], 2, 1e-5f); },
               .low = 0.1f});  // variances
  }
}

// Elementwise work before and after softmax and norms: fused, and in dispatches of its own.
void work(KernelBench& b, const TensorType& x) {
  const DType type = x.dtype;
  const TensorType row{type, {x.shape[1]}};
  const auto sum = [&](double scale, DType result, bool both) {
    Expression e;
    const int a = e.cast(e.input(type), DType::f32);
    const int scaled = scale == 1 ? a : e.apply(ScalarOp::mul, {a, e.constant(scale, DType::f32)});
    const int v = e.apply(ScalarOp::add, {scaled, e.cast(e.input(type), DType::f32)});
    e.output(e.cast(v, result));
    if (both) e.output(e.cast(v, type));
    return e;
  };
  const auto gelu = [&](DType from) {
    Expression e;
    e.output(e.cast(e.apply(ScalarOp::gelu_erf, {e.cast(e.input(from), DType::f32)}), type));
    return e;
  };
  const auto measure = [&](const char* what, const std::vector<TensorType>& inputs, std::size_t outputs, double moved,
                           const std::function<void(Stream&, Views)>& call) {
    b.measure({.name = label(what, x), .inputs = inputs, .outputs = {outputs, x}, .moved = moved, .call = call});
  };
  const Expression masked = sum(0.125, DType::f32, false), masked_separate = sum(0.125, type, false);
  measure("work in softmax(x / 8 + mask)", {x, row}, 1, 2,
          [&](Stream& s, Views v) { kernels::softmax(s, v[0], v[2], -1, {.prologue = {&masked, v.subspan(1, 1)}}); });
  measure("separate work of softmax(x / 8 + mask)", {x, row}, 2, 2, [&](Stream& s, Views v) {
    kernels::map(s, masked_separate, v.first(2), v.subspan(2, 1));
    kernels::softmax(s, v[2], v[3], -1);
  });
  const Expression both = sum(1, DType::f32, true), both_separate = sum(1, type, false);
  measure("work in layer norm of x + r, both stored", {x, x, row}, 2, 4, [&](Stream& s, Views v) {
    kernels::layer_norm(s, v[0], v[2], v[2], v[3], 1, 1e-5f, {.prologue = {&both, v.subspan(1, 1), v.subspan(4)}});
  });
  measure("separate work of layer norm of x + r, both stored", {x, x, row}, 2, 4, [&](Stream& s, Views v) {
    kernels::map(s, both_separate, v.first(2), v.subspan(4));
    kernels::layer_norm(s, v[4], v[2], v[2], v[3], 1, 1e-5f);
  });
  const Expression after = gelu(DType::f32), after_separate = gelu(type);
  measure("work in gelu(layer norm)", {x}, 1, 2, [&](Stream& s, Views v) {
    kernels::layer_norm(s, v[0], {}, {}, v[1], 1, 1e-5f, {.epilogue = {&after, {}}});
  });
  measure("separate work of gelu(layer norm)", {x}, 2, 2, [&](Stream& s, Views v) {
    kernels::layer_norm(s, v[0], std::nullopt, std::nullopt, v[1], 1, 1e-5f);
    kernels::map(s, after_separate, v.subspan(1, 1), v.subspan(2));
  });
}

void works(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16}) {
    for (const std::int64_t bytes : b.sizes()) work(b, b.tensor(type, {-1, 1024}, bytes));
    for (const std::int64_t n : {65536, 262144}) work(b, b.tensor(type, {-1, n}));
  }
}

void sorts(KernelBench& b) {
  const TensorType keys{DType::u32, {1 << 24}};
  b.measure({.name = label("sort keys", keys),
             .inputs = {keys},
             .outputs = {keys},
             .moved = 2,
             .call = [](Stream& s, Views v) { kernels::sort(s, v[0], v[1], std::nullopt, {}); }});
  for (const DType type : {DType::f32, DType::f16, DType::i64}) {
    for (const Shape& shape : {Shape{1 << 24}, {1 << 20}, {16384, 1024}, {4096, 4096}, {1 << 20, 16}}) {
      if (type == DType::i64 && shape != Shape{1 << 24}) continue;
      const TensorType x{type, shape}, places{DType::i32, shape};
      b.measure({.name = label("sort pairs", x),
                 .inputs = {x},
                 .outputs = {x, places},
                 .moved = 2 + 32.0 / bits(type),
                 .call = [](Stream& s, Views v) { kernels::sort(s, v[0], v[1], v[2], {}); }});
    }
    for (const auto& [shape, k] :
         {std::pair{Shape{1 << 24}, 10}, {{4096, 4096}, 10}, {{4096, 4096}, 256}, {{64, 50000}, 50}}) {
      const TensorType x{type, shape};
      Shape top = shape;
      top[-1] = k;
      b.measure({.name = label(std::format("top {}", k), x),
                 .inputs = {x},
                 .outputs = {{type, top}, {DType::i32, top}},
                 .moved = 1,
                 .call = [](Stream& s, Views v) { kernels::top_k(s, v[0], v[1], v[2], {}); }});
    }
  }
}

using kernels::RowForm;
using kernels::SplitForm;

std::string text(const RowForm& f) {
  return std::format("{} threads a row, {} rows interleaved, {} steps in registers{}", f.threads_per_row, f.interleave,
                     f.register_steps, f.workgroup ? std::format(", {} threads", f.workgroup) : "");
}
std::string text(const SplitForm& f) {
  return std::format("split rows, {} threads, {} steps in registers, {} rows interleaved{}{}", f.threads,
                     f.register_steps, f.interleave, f.look_back ? ", waits" : "",
                     f.tiles_per_split ? std::format(", {} turns", f.tiles_per_split) : "");
}

// Compares the forms of row plans and split rows.
void forms(KernelBench& b) {
  if (!b.device().is_gpu()) return;
  const auto softmax = [&](DType type, const Shape& shape, int axis, const std::vector<SplitForm>& splits) {
    const TensorType x = b.tensor(type, shape);
    const auto views = [](Views v) { return kernels::row_views("softmax", v[0], v[1]); };
    for (const SplitForm& f : splits) {
      b.measure({.name = std::format("form {} axis {}: {}", label("softmax", x), axis, text(f)),
                 .inputs = {x},
                 .outputs = {x},
                 .moved = 2,
                 .call = [&](Stream& s, Views v) { kernels::softmax_split_rows(s, views(v), axis, false, f); }});
    }
  };
  const auto softmax_whole = [&](DType type, const Shape& shape, int axis, const std::vector<RowForm>& whole) {
    const TensorType x = b.tensor(type, shape, 64 << 20);
    for (const RowForm& f : whole) {
      b.measure({.name = std::format("form {} axis {}: {}", label("softmax", x), axis, text(f)),
                 .inputs = {x},
                 .outputs = {x},
                 .moved = 2,
                 .call = [&](Stream& s, Views v) {
                   kernels::softmax_in_form(s, kernels::row_views("softmax", v[0], v[1]), axis, false, f);
                 }});
    }
  };
  const auto norm = [&](DType type, const Shape& shape, int axis, std::int64_t groups,
                        const std::vector<RowForm>& whole, const std::vector<SplitForm>& splits) {
    const TensorType x = b.tensor(type, shape), weight{type, {x.shape[axis]}};
    const std::string name = std::format("form {} axis {}: ", label(std::format("norm of {} groups", groups), x), axis);
    const auto norm = [&](Views v) {
      return kernels::make_group_norm("norm", kernels::row_views("norm", v[0], v[2]), v[1], v[1], axis, groups, 1e-5f);
    };
    for (const RowForm& f : whole) {
      b.measure(
          {.name = name + text(f), .inputs = {x, weight}, .outputs = {x}, .moved = 2, .call = [&](Stream& s, Views v) {
             kernels::row_norm_in_form(s, norm(v), f);
           }});
    }
    for (const SplitForm& f : splits) {
      b.measure(
          {.name = name + text(f), .inputs = {x, weight}, .outputs = {x}, .moved = 2, .call = [&](Stream& s, Views v) {
             kernels::row_norm_split_rows(s, norm(v), f);
           }});
    }
  };
  const auto scan = [&](DType type, const Shape& shape, int axis, kernels::ScanKind op,
                        const std::vector<SplitForm>& splits) {
    const TensorType x = b.tensor(type, shape);
    const std::string name = std::format(
        "form {} axis {}: ", label(op == kernels::ScanKind::sum ? "scan sum" : "scan log-sum-exp", x), axis);
    b.measure({.name = name + "whole", .inputs = {x}, .outputs = {x}, .moved = 2, .call = [&](Stream& s, Views v) {
                 kernels::scan(s, op, v[0], v[1], axis);
               }});
    for (const SplitForm& f : splits) {
      b.measure({.name = name + text(f), .inputs = {x}, .outputs = {x}, .moved = 2, .call = [&](Stream& s, Views v) {
                   kernels::scan_split_rows(s, op, v[0], v[1], axis, {}, f);
                 }});
    }
  };
  const auto reduce = [&](ReduceKind op, DType type, const Shape& shape, int axis,
                          const std::vector<kernels::ReduceForm>& forms) {
    const std::vector<int> axes{axis};
    const TensorType x = b.tensor(type, shape);
    for (const kernels::ReduceForm& f : forms) {
      const std::string what =
          std::format("{} of {}", op == ReduceKind::sum ? "sum" : "max", axis ? "rows" : "columns");
      b.measure(
          {.name = std::format("form {}: {}, loads {}, parts {}", label(what, x), text(f.rows), f.loads, f.splits),
           .inputs = {x},
           .outputs = {reduced(x, axes, type)},
           .moved = 1,
           .call = [&](Stream& s, Views v) { kernels::reduce_in_form(s, op, v[0], v[1], axes, f); }});
    }
  };
  for (const ReduceKind op : {ReduceKind::sum, ReduceKind::max}) {
    // The first of each is the one that reduce() chooses on an H200.
    for (const DType type : {DType::f16, DType::bf16}) {
      reduce(op, type, {8192, -1}, 0,
             {{{16, 16}, 8, 2},
              {{16, 16}, 8, 4},
              {{16, 16}, 16, 4},
              {{16, 16}, 4, 4},
              {{8, 32}, 8, 4},
              {{8, 32}, 8, 8},
              {{8, 32}, 16, 4},
              {{16, 32}, 8, 4},
              {{4, 64}, 8, 8},
              {{4, 64}, 16, 8},
              {{16, 16}, 8, 8},
              {{16, 16}, 8, 16},
              {{8, 16}, 8, 8},
              {{32, 16}, 8, 1},
              {{32, 32}, 8, 2}});
    }
    reduce(op, DType::f32, {8192, -1}, 0,
           {{{16, 16}, 4, 4},
            {{16, 16}, 4, 8},
            {{16, 16}, 8, 8},
            {{16, 16}, 8, 4},
            {{8, 32}, 4, 8},
            {{8, 32}, 8, 8},
            {{8, 32}, 4, 16},
            {{4, 64}, 4, 16},
            {{4, 64}, 8, 16},
            {{16, 16}, 4, 16},
            {{16, 16}, 4, 32},
            {{8, 16}, 4, 16},
            {{16, 8}, 8, 8},
            {{32, 16}, 4, 4},
            {{32, 32}, 4, 2}});
  }
  for (const ReduceKind op : {ReduceKind::sum, ReduceKind::max}) {
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      for (const std::int64_t n : {1024, 4096}) {
        std::vector<kernels::ReduceForm> forms;
        for (const std::uint32_t threads_per_row : {16, 32, 64}) {
          for (const std::uint32_t threads : {32, 64, 256}) forms.push_back({{threads_per_row, 1, 0, threads}, 8, 1});
        }
        reduce(op, type, {-1, n}, 1, forms);
      }
    }
  }
  // Long rows, some of them too few to fill a GPU.
  for (const DType type : {DType::f32, DType::f16}) {
    for (const std::int64_t n : {1 << 16, 1 << 18, 1 << 22}) {
      std::vector<kernels::ReduceForm> forms;
      for (const std::uint32_t threads_per_row : {128, 256, 512}) {
        for (const int loads : {4, 8, 16}) {
          for (const std::int64_t splits : {1, 2, 4, 8, 16, 64, 128, 256}) {
            const std::int64_t threads = (std::int64_t{64} << 20) * 8 / bits(type) / n * threads_per_row * splits;
            if (threads >= 1 << 16 && threads <= 1 << 18) forms.push_back({{threads_per_row, 1}, loads, splits});
          }
        }
      }
      reduce(ReduceKind::sum, type, {-1, n}, 1, forms);
    }
  }
  // Single columns.
  for (const std::int64_t n : {384, 768, 1000}) {
    std::vector<RowForm> forms{{8, 64, 0}, {16, 32, 0}, {4, 64, 0}};
    for (const std::uint32_t register_steps : {16, 24, 32, 48, 64}) {
      const std::uint32_t threads_per_row =
          std::bit_ceil(static_cast<std::uint32_t>((n + register_steps - 1) / register_steps));
      for (const std::uint32_t interleave : {8, 16, 32, 64}) {
        if (threads_per_row * interleave <= 1024 && threads_per_row * interleave >= 128)
          forms.push_back({threads_per_row, interleave, register_steps});
      }
    }
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      softmax_whole(type, {n, ((64 << 20) * 8 / bits(type) / n - 1) | 1}, 0, forms);
      if (type == DType::f16) softmax_whole(type, {n, ((64 << 20) * 8 / bits(type) / n - 2) / 4 * 4 + 2}, 0, forms);
    }
  }
  const std::vector<RowForm> group{{256, 1, 32}, {512, 1, 16}, {1024, 1, 8}};
  norm(DType::f32, {-1, 64, 4096}, 1, 8, group, {{128, 16, 8}});
  norm(DType::f16, {-1, 64, 4096}, 1, 8, group, {{128, 16, 8}});
  norm(DType::f32, {-1, 4096, 64}, 2, 8, {group[0]}, {{128, 16, 8}, {256, 8, 8}, {128, 8, 8}, {256, 16, 8}});
  norm(DType::f16, {-1, 4096, 64}, 2, 8, {group[0]}, {{128, 16, 8}, {256, 8, 8}, {128, 8, 8}, {256, 16, 8}});
  norm(DType::f16, {-1, 4096, 64}, 2, 64, {}, {{128, 16, 8}, {128, 16, 16}, {256, 16, 16}});
  const std::vector<SplitForm> look_back{
      {128, 32, 8, true}, {128, 32, 16, true}, {128, 16, 8, true}, {64, 32, 8, true}};
  const std::vector<SplitForm> look_back16{
      {128, 32, 8, true}, {128, 32, 16, true}, {256, 32, 16, true}, {256, 32, 8, true}, {64, 32, 8, true}};
  norm(DType::f32, {-1, 4096, 64}, 2, 8, {}, look_back);
  norm(DType::f16, {-1, 4096, 64}, 2, 8, {}, look_back16);
  norm(DType::f32, {-1, 4096, 64}, 2, 64, {}, look_back);
  norm(DType::f16, {-1, 4096, 64}, 2, 64, {}, look_back16);
  softmax(DType::f32, {8192, -1}, 0, look_back);
  softmax(DType::f32, {-1, 262144}, 1, look_back);
  for (const DType type : {DType::f16, DType::bf16}) {
    softmax(type, {8192, -1}, 0, look_back16);
    softmax(type, {-1, 262144}, 1, look_back16);
  }
  // The same tiles without look-back: each is a whole row.
  softmax(DType::f32, {16, 512, -1}, 1, {look_back[0]});
  softmax(DType::f32, {-1, 16384}, 1, {look_back[0]});
  softmax(DType::f16, {16, 512, -1}, 1, {look_back16[0], look_back16[2]});
  softmax(DType::f16, {-1, 16384}, 1, {look_back16[0]});
  softmax(DType::f32, {-1}, 0, {{256, 8, 8}, {128, 8, 8}, {512, 8, 8}});
  softmax(DType::f16, {8192, -1}, 0, {{128, 16, 8}, {128, 16, 16}, {256, 16, 16}});
  for (const auto op : {kernels::ScanKind::sum, kernels::ScanKind::log_sum_exp}) {
    scan(DType::f32, {-1}, 0, op,
         {{256, 16, 8, true},
          {128, 32, 8, true},
          {128, 16, 8, true},
          {256, 8, 8},
          {256, 16, 8},
          {512, 8, 8},
          {128, 16, 8}});
    scan(DType::f32, {-1, 1024}, 0, op,
         {{128, 16, 8, true}, {128, 32, 8, true}, {256, 8, 8}, {256, 16, 8}, {128, 16, 8}, {256, 8, 4}});
    scan(DType::f32, {8192, -1}, 0, op,
         {{128, 16, 8, true}, {128, 32, 8, true}, {256, 8, 8}, {256, 16, 8}, {128, 16, 8}});
    scan(DType::f32, {16, -1}, 1, op, {{128, 16, 8, true}, {128, 32, 8, true}});
    scan(DType::f16, {-1, 1024}, 0, op, {{256, 8, 8}, {256, 16, 8}, {128, 16, 8}});
  }
}

const bool registered = register_cases("rows", rows) && register_cases("work", works) &&
                        register_cases("sort", sorts) && register_cases("form", forms);

}  // namespace
}  // namespace weft::bench
