// Softmax, norms and reductions: time and bandwidth over sizes, shapes and types, from memory.
//   rows_bench [PART OF A CASE'S NAME, or several parted by |]
#include "bandwidth.h"
#include "kernels/norm/row_norm.h"
#include "kernels/reduce/reduce_form.h"
#include "kernels/scan/scan_parts.h"
#include "kernels/softmax/softmax_parts.h"
#include "weft/kernels.h"

using namespace weft;
using bench::Tensor;
using kernels::ReduceOp;

namespace {

std::string size_name(std::uint64_t bytes) { return std::format("{} MiB", bytes >> 20); }

// What stands for a tensor where a kernel is asked about its workspace.
View view(bench::Bandwidth& b, const Tensor& t) {
  return {b.device().allocate(t.bytes() + 16), 0, t.type, t.shape};
}

// The workspace that `ask` names, of one byte if it names none; given() is what the kernel gets then.
Tensor scratch(bench::Bandwidth& b, const std::function<std::uint64_t(Stream&)>& ask) {
  gpu::Encoder probe(b.device());
  return {DType::u8, {static_cast<std::int64_t>(std::max<std::uint64_t>(ask(probe), 1))}};
}
std::optional<View> given(const View& workspace) {
  if (workspace.count() == 1) return std::nullopt;
  return workspace;
}

struct Rows {
  bench::Bandwidth& b;

  using Scratch = std::function<std::uint64_t(Stream&, const View&, const View&)>;

  static std::string label(const std::string& name, const Tensor& x) {
    return std::format("{} {} {}, {}", name, weft::name(x.type), to_string(x.shape), size_name(x.bytes()));
  }

  // With `ask`, f gets a workspace if that says so.
  void unary(const std::string& name, DType type, const Shape& shape,
             const std::function<void(Stream&, const View&, const View&, const std::optional<View>&)>& f,
             const Scratch& ask = {}) {
    const Tensor x{type, shape};
    const View v = view(b, x);
    const Tensor w = scratch(b, [&](Stream& s) { return ask ? ask(s, v, v) : 0; });
    b.run(label(name, x), std::array{x, x, w}, 1, 2 * x.bytes(),
          [&](Stream& s, auto o) { f(s, o[0], o[1], given(o[2])); });
  }

  void softmax(const std::string& name, DType type, const Shape& shape, int axis) {
    unary(
        name, type, shape,
        [&](Stream& s, const View& x, const View& y, const auto& w) { kernels::softmax(s, x, y, axis, w); },
        [&](Stream& s, const View& x, const View& y) { return kernels::softmax_workspace(s, x, y, axis); });
  }

  void layer_norm(const std::string& name, DType type, const Shape& shape) {
    const int axis = shape.rank() - 1;
    unary(
        name, type, shape,
        [&](Stream& s, const View& x, const View& y, const auto& w) {
          kernels::layer_norm(s, x, {}, {}, y, axis, 1e-5f, w);
        },
        [&](Stream& s, const View& x, const View& y) { return kernels::layer_norm_workspace(s, x, {}, {}, y, axis); });
  }

  // Of channels in so many groups, with scale and bias.
  void group_norm(const std::string& name, DType type, const Shape& shape, int axis, std::int64_t groups) {
    const Tensor x{type, shape}, weights{type, {shape[axis]}};
    const View v = view(b, x), vw = view(b, weights);
    const Tensor w =
        scratch(b, [&](Stream& s) { return kernels::group_norm_workspace(s, v, vw, vw, v, axis, groups); });
    b.run(label(name, x), std::array{x, weights, weights, x, w}, 3, 2 * x.bytes(), [&](Stream& s, auto o) {
      kernels::group_norm(s, o[0], o[1], o[2], o[3], axis, groups, 1e-5f, given(o[4]));
    });
  }

  void reduce(const std::string& name, ReduceOp op, DType type, const Shape& shape, const std::vector<int>& axes) {
    const Tensor x{type, shape};
    Tensor y{type, shape};
    for (int a : axes) y.shape[a] = 1;
    const View vx = view(b, x), vy = view(b, y);
    const Tensor w = scratch(b, [&](Stream& s) { return kernels::reduce_workspace(s, op, vx, vy, axes); });
    b.run(label(name, x), std::array{x, y, w}, 1, x.bytes(),
          [&](Stream& s, auto o) { kernels::reduce(s, op, o[0], o[1], axes, given(o[2])); });
  }
};

// Elementwise work around softmax and norms: by their kernels, and by a dispatch of its own.
void work(bench::Bandwidth& b, DType type, const Shape& shape) {
  const Tensor x{type, shape}, row{type, {shape[1]}};
  const std::string what = std::format("{} {}, {}", weft::name(type), to_string(shape), size_name(x.bytes()));
  const auto sum = [&](double scale, DType result, bool both) {
    Expression e;
    const int a = e.cast(e.input(type), DType::f32);
    const int scaled = scale == 1 ? a : e.apply(ScalarOp::mul, {a, e.constant(scale, DType::f32)});
    const int v = e.apply(ScalarOp::add, {scaled, e.cast(e.input(type), DType::f32)});
    e.output(e.cast(v, result));
    if (both) e.output(e.cast(v, type));
    return e;
  };
  const auto gelu = [](DType from, DType to) {
    Expression e;
    e.output(e.cast(e.apply(ScalarOp::gelu_erf, {e.cast(e.input(from), DType::f32)}), to));
    return e;
  };
  const Expression masked = sum(0.125, DType::f32, false), masked_apart = sum(0.125, type, false);
  b.run("work in softmax(x / 8 + mask) " + what, std::array{x, row, x}, 2, 2 * x.bytes(), [&](Stream& s, auto v) {
    kernels::softmax(s, v.first(2), v.subspan(2), -1, {.before = &masked});
  });
  b.run("work apart of softmax(x / 8 + mask) " + what, std::array{x, row, x, x}, 2, 2 * x.bytes(),
        [&](Stream& s, auto v) {
          kernels::map(s, masked_apart, v.first(2), v.subspan(2, 1));
          kernels::softmax(s, v[2], v[3], -1);
        });
  const Expression both = sum(1, DType::f32, true), both_apart = sum(1, type, false);
  b.run("work in layer norm of x + r, both stored " + what, std::array{x, x, row, x, x}, 3, 4 * x.bytes(),
        [&](Stream& s, auto v) {
          kernels::layer_norm(s, v.first(2), v[2], v[2], v.subspan(3), 1, 1e-5f, {.before = &both});
        });
  b.run("work apart of layer norm of x + r, both stored " + what, std::array{x, x, row, x, x}, 3, 4 * x.bytes(),
        [&](Stream& s, auto v) {
          kernels::map(s, both_apart, v.first(2), v.subspan(4));
          kernels::layer_norm(s, v[4], v[2], v[2], v[3], 1, 1e-5f);
        });
  const Expression after = gelu(DType::f32, type), after_apart = gelu(type, type);
  b.run("work in gelu(layer norm) " + what, std::array{x, x}, 1, 2 * x.bytes(), [&](Stream& s, auto v) {
    kernels::layer_norm(s, v.first(1), {}, {}, v.subspan(1), 1, 1e-5f, {.after = &after});
  });
  b.run("work apart of gelu(layer norm) " + what, std::array{x, x, x}, 1, 2 * x.bytes(), [&](Stream& s, auto v) {
    kernels::layer_norm(s, v[0], std::nullopt, std::nullopt, v[1], 1, 1e-5f);
    kernels::map(s, after_apart, v.subspan(1, 1), v.subspan(2));
  });
}

// Forms that rows may take, beside each other.
void forms(bench::Bandwidth& b) {
  using kernels::PartsForm;
  using kernels::RowForm;
  const auto whole_name = [](const RowForm& f) {
    return std::format("team {}, interleave {}, kept {}", f.team, f.interleave, f.kept);
  };
  const auto parts_name = [](const PartsForm& f) {
    return std::format("parts, {} threads, {} kept, {} beside{}", f.threads, f.kept, f.interleave,
                       f.waits ? ", waits" : "");
  };
  const auto softmax = [&](DType type, const Shape& shape, int axis, const std::vector<RowForm>& whole,
                           const std::vector<PartsForm>& parts) {
    const Tensor x{type, shape};
    const std::string name = std::format("form softmax {} {} axis {}: ", weft::name(type), to_string(shape), axis);
    const View v = view(b, x);
    for (const RowForm& f : whole) {
      b.run(name + whole_name(f), std::array{x, x}, 1, 2 * x.bytes(),
            [&](Stream& s, auto o) { kernels::softmax_in_form(s, kernels::row_views("softmax", o[0], o[1]), axis, false, f); });
    }
    for (const PartsForm& f : parts) {
      const Tensor w = scratch(b, [&](Stream& s) { return kernels::softmax_in_parts_workspace(s, kernels::row_views("softmax", v, v), axis, f); });
      b.run(name + parts_name(f), std::array{x, x, w}, 1, 2 * x.bytes(),
            [&](Stream& s, auto o) { kernels::softmax_in_parts(s, kernels::row_views("softmax", o[0], o[1]), axis, false, o[2], f); });
    }
  };
  const auto norm = [&](DType type, const Shape& shape, int axis, std::int64_t groups,
                        const std::vector<RowForm>& whole, const std::vector<PartsForm>& parts) {
    const Tensor x{type, shape}, weight{type, {groups ? shape[axis] : shape[-1]}};
    const std::string name =
        std::format("form norm of {} groups {} {} axis {}: ", groups, weft::name(type), to_string(shape), axis);
    const auto made = [&](const View& in, const View& w, const View& out) {
      const kernels::RowViews views = kernels::row_views("norm", in, out);
      return groups ? kernels::make_group_norm("norm", views, w, w, axis, groups, 1e-5f)
                    : kernels::make_layer_norm(views, w, w, axis, 1e-5f);
    };
    const View v = view(b, x), vw = view(b, weight);
    for (const RowForm& f : whole) {
      b.run(name + whole_name(f), std::array{x, weight, x}, 2, 2 * x.bytes(),
            [&](Stream& s, auto o) { kernels::row_norm_in_form(s, made(o[0], o[1], o[2]), f); });
    }
    for (const PartsForm& f : parts) {
      const Tensor w =
          scratch(b, [&](Stream& s) { return kernels::row_norm_in_parts_workspace(s, made(v, vw, v), f); });
      b.run(name + parts_name(f), std::array{x, weight, x, w}, 2, 2 * x.bytes(),
            [&](Stream& s, auto o) { kernels::row_norm_in_parts(s, made(o[0], o[1], o[2]), o[3], f); });
    }
  };
  const auto scan = [&](DType type, const Shape& shape, int axis, kernels::ScanOp op,
                        const std::vector<PartsForm>& parts) {
    const Tensor x{type, shape};
    const std::string name =
        std::format("form scan {} {} {} axis {}: ", op == kernels::ScanOp::sum ? "sum" : "log-sum-exp",
                    weft::name(type), to_string(shape), axis);
    const View v = view(b, x);
    b.run(name + "whole", std::array{x, x}, 1, 2 * x.bytes(),
          [&](Stream& s, auto o) { kernels::scan(s, op, o[0], o[1], axis); });
    for (const PartsForm& f : parts) {
      const Tensor w = scratch(b, [&](Stream& s) { return kernels::scan_in_parts_workspace(s, op, v, v, axis, f); });
      b.run(name + parts_name(f), std::array{x, x, w}, 1, 2 * x.bytes(),
            [&](Stream& s, auto o) { kernels::scan_in_parts(s, op, o[0], o[1], axis, {}, o[2], f); });
    }
  };
  const auto reduce = [&](ReduceOp op, DType type, const Shape& shape, int axis,
                          const std::vector<kernels::ReduceForm>& forms) {
    const std::vector<int> axes{axis};
    const Tensor x{type, shape};
    Tensor y = x;
    y.shape[axis] = 1;
    const View vx = view(b, x), vy = view(b, y);
    for (const kernels::ReduceForm& f : forms) {
      const Tensor w = scratch(b, [&](Stream& s) { return kernels::reduce_in_form_workspace(s, op, vx, vy, axes, f); });
      b.run(std::format("form {} {} {} axis {}: team {}, interleave {}, loads {}, parts {}",
                        op == ReduceOp::sum ? "sum" : "max", weft::name(type), to_string(shape), axis, f.rows.team,
                        f.rows.interleave, f.loads, f.parts),
            std::array{x, y, w}, 1, x.bytes(),
            [&](Stream& s, auto o) { kernels::reduce_in_form(s, op, o[0], o[1], axes, given(o[2]), f); });
    }
  };
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max}) {
    // The first of each is what reduce() takes on an H200.
    for (const DType type : {DType::f16, DType::bf16}) {
      reduce(op, type, {8192, 16384}, 0,
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
    reduce(op, DType::f32, {8192, 8192}, 0,
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
  const std::vector<RowForm> group{{512, 1, 16}, {1024, 1, 8}, {256, 1, 32}};
  norm(DType::f32, {256, 64, 4096}, 1, 8, group, {{128, 16, 8}});
  norm(DType::f16, {512, 64, 4096}, 1, 8, group, {{128, 16, 8}});
  norm(DType::f32, {256, 4096, 64}, 2, 8, {group[0]}, {{128, 16, 8}, {256, 8, 8}, {128, 8, 8}, {256, 16, 8}});
  norm(DType::f16, {512, 4096, 64}, 2, 8, {group[0]}, {{128, 16, 8}, {256, 8, 8}, {128, 8, 8}, {256, 16, 8}});
  norm(DType::f16, {512, 4096, 64}, 2, 64, {}, {{128, 16, 8}, {128, 16, 16}, {256, 16, 16}});
  const std::vector<PartsForm> waiting{{128, 32, 8, true}, {128, 16, 8, true}, {64, 32, 8, true}};
  const std::vector<PartsForm> waiting16{
      {128, 32, 8, true}, {128, 32, 16, true}, {256, 32, 16, true}, {256, 32, 8, true}, {64, 32, 8, true}};
  norm(DType::f32, {256, 4096, 64}, 2, 8, {}, waiting);
  norm(DType::f16, {512, 4096, 64}, 2, 8, {}, waiting16);
  norm(DType::f32, {256, 4096, 64}, 2, 64, {}, waiting);
  norm(DType::f16, {512, 4096, 64}, 2, 64, {}, waiting16);
  softmax(DType::f32, {8192, 8192}, 0, {}, waiting);
  softmax(DType::f32, {256, 262144}, 1, {}, waiting);
  softmax(DType::f16, {8192, 16384}, 0, {}, waiting16);
  softmax(DType::f16, {512, 262144}, 1, {}, waiting16);
  // The same tiles with nothing to wait for: each is a row.
  softmax(DType::f32, {16, 512, 8192}, 1, {}, {waiting[0]});
  softmax(DType::f32, {4096, 16384}, 1, {}, {waiting[0]});
  softmax(DType::f16, {16, 512, 16384}, 1, {}, {waiting16[0]});
  softmax(DType::f16, {8192, 16384}, 1, {}, {waiting16[0]});
  softmax(DType::f32, {1 << 26}, 0, {}, {{256, 8, 8}, {128, 8, 8}, {512, 8, 8}});
  softmax(DType::f16, {8192, 16384}, 0, {}, {{128, 16, 8}, {128, 16, 16}, {256, 16, 16}});
  for (const auto op : {kernels::ScanOp::sum, kernels::ScanOp::log_sum_exp}) {
    scan(DType::f32, {1 << 26}, 0, op, {{256, 16, 8, true}, {128, 32, 8, true}, {128, 16, 8, true}});
    scan(DType::f32, {65536, 1024}, 0, op, {{128, 16, 8, true}, {128, 32, 8, true}});
    scan(DType::f32, {8192, 8192}, 0, op, {{128, 16, 8, true}, {128, 32, 8, true}});
    scan(DType::f32, {16, 1 << 22}, 1, op, {{128, 16, 8, true}, {128, 32, 8, true}});
    scan(DType::f32, {1 << 26}, 0, op, {{256, 8, 8}, {256, 16, 8}, {512, 8, 8}, {128, 16, 8}});
    scan(DType::f32, {65536, 1024}, 0, op, {{256, 8, 8}, {256, 16, 8}, {128, 16, 8}, {256, 8, 4}});
    scan(DType::f32, {8192, 8192}, 0, op, {{256, 8, 8}, {256, 16, 8}, {128, 16, 8}});
    scan(DType::f16, {131072, 1024}, 0, op, {{256, 8, 8}, {256, 16, 8}, {128, 16, 8}});
  }
}

// Kernels with scratch: reads and writes `operands`, the last of which is the scratch.
void sorting(bench::Bandwidth& b) {
  for (const DType type : {DType::f32, DType::f16, DType::i64}) {
    for (const Shape& shape : {Shape{1 << 24}, {1 << 20}, {16384, 1024}, {4096, 4096}, {1 << 20, 16}}) {
      if (type == DType::i64 && shape != Shape{1 << 24}) continue;
      const Tensor x{type, shape}, places{DType::i32, shape};
      const View px = view(b, x), py = view(b, x), pi = view(b, places);
      const Tensor w = scratch(b, [&](Stream& s) { return kernels::sort_workspace(s, px, py, pi, {}); });
      b.run(std::format("sort pairs {} {}", name(type), to_string(shape)), std::array{x, x, places, w}, 1,
            2 * x.bytes() + places.bytes(), [&](Stream& s, auto v) { kernels::sort(s, v[0], v[1], v[2], {}, v[3]); });
    }
    for (const auto& [shape, k] :
         {std::pair{Shape{1 << 24}, 10}, {{4096, 4096}, 10}, {{4096, 4096}, 256}, {{64, 50000}, 50}}) {
      const Tensor x{type, shape};
      Shape top = shape;
      top[-1] = k;
      const Tensor y{type, top}, places{DType::i32, top};
      const View px = view(b, x), py = view(b, y), pi = view(b, places);
      const Tensor w = scratch(b, [&](Stream& s) { return kernels::top_k_workspace(s, px, py, pi, {}); });
      b.run(std::format("top {} {} {}", k, name(type), to_string(shape)), std::array{x, y, places, w}, 1, x.bytes(),
            [&](Stream& s, auto v) { kernels::top_k(s, v[0], v[1], v[2], {}, v[3]); });
    }
  }
}

void others(bench::Bandwidth& b, Rows& rows, DType type) {
  const std::int64_t count = (256 << 20) / (bits(type) / 8);
  const Tensor key{DType::u32, {2}}, y{type, {count}};
  b.run(std::format("random uniform {}", name(type)), std::array{key, y}, 1, y.bytes(),
        [](Stream& s, auto v) { kernels::random_uniform(s, v[0], 0, 1, v[1]); });
  b.run(std::format("random normal {}", name(type)), std::array{key, y}, 1, y.bytes(),
        [](Stream& s, auto v) { kernels::random_normal(s, v[0], 0, 1, v[1]); });
  rows.unary("log softmax", type, {count / 1024, 1024},
             [](Stream& s, const View& x, const View& out, const auto&) { kernels::log_softmax(s, x, out, -1); });
  rows.unary("rms norm", type, {count / 1024, 1024}, [](Stream& s, const View& x, const View& out, const auto&) {
    kernels::rms_norm(s, x, {}, out, 1, 1e-5f);
  });
  const Tensor weights{type, {64}};
  for (const auto& [shape, axis] :
       {std::pair{Shape{count / 64 / 4096, 64, 4096}, 1}, {{count / 64 / 4096, 4096, 64}, 2}}) {
    const Tensor x{type, shape};
    rows.group_norm(std::format("group norm, 8 groups, axis {}", axis), type, shape, axis, 8);
    rows.group_norm(std::format("instance norm, axis {}", axis), type, shape, axis, shape[axis]);
    b.run(std::format("batch norm, axis {} {} {}", axis, name(type), to_string(shape)),
          std::array{x, weights, weights, x}, 3, 2 * x.bytes(),
          [&](Stream& s, auto v) { kernels::batch_norm(s, v[0], v[1], v[2], v[1], v[2], v[3], axis, 1e-5f); });
  }
  for (const auto& [shape, axis] :
       {std::pair{Shape{count / 1024, 1024}, 1}, {{8192, count / 8192}, 0}, {{count}, 0}, {{count / 64, 64}, 0}}) {
    const std::vector<int> axes{axis};
    const Tensor x{type, shape};
    rows.reduce("variance", ReduceOp::variance, type, shape, axes);
    rows.reduce("max", ReduceOp::max, type, shape, axes);
    Tensor places{DType::i32, shape};
    places.shape[axis] = 1;
    const View px = view(b, x), pi = view(b, places);
    const Tensor w =
        scratch(b, [&](Stream& s) { return kernels::arg_reduce_workspace(s, kernels::ArgOp::max, px, pi, axes); });
    b.run(std::format("argmax {} {} along {}", name(type), to_string(shape), axis), std::array{x, places, w}, 1,
          x.bytes(), [&](Stream& s, auto v) {
            kernels::arg_reduce(s, kernels::ArgOp::max, v[0], v[1], axes, given(v[2]));
          });
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Bandwidth b(gpu::Device::open(), argc > 1 ? argv[1] : "");
  std::printf("%s\n", b.device().reason().c_str());
  Rows rows{b};
  for (DType type : {DType::f32, DType::f16}) {
    const std::int64_t bytes = bits(type) / 8;
    for (std::int64_t mib : {1, 4, 16, 64, 256}) {
      const std::int64_t count = (mib << 20) / bytes;
      rows.unary("copy", type, {count / 1024, 1024},
                 [](Stream& s, const View& x, const View& y, const auto&) { kernels::copy(s, x, y); });
      rows.softmax("softmax", type, {count / 1024, 1024}, 1);
      rows.layer_norm("layer norm", type, {count / 1024, 1024});
      rows.reduce("sum to one", ReduceOp::sum, type, {count}, {0});
      rows.reduce("sum of rows", ReduceOp::sum, type, {count / 1024, 1024}, {1});
      rows.reduce("sum of columns", ReduceOp::sum, type, {count / 1024, 1024}, {0});
    }
    for (std::int64_t n : {64, 256, 4096, 8192, 32768, 262144}) {
      rows.softmax("softmax", type, {(256 << 20) / bytes / n, n}, 1);
      rows.layer_norm("layer norm", type, {(256 << 20) / bytes / n, n});
    }
    rows.softmax("softmax of columns", type, {8192, (256 << 20) / bytes / 8192}, 0);
    rows.softmax("softmax of the middle", type, {64, 1024, 1024}, 1);
    rows.reduce("sum of columns", ReduceOp::sum, type, {8192, 8192}, {0});
    rows.reduce("max of columns", ReduceOp::max, type, {8192, 8192}, {0});
    rows.reduce("sum of rows", ReduceOp::sum, type, {8192, 8192}, {1});
    rows.reduce("sum of short rows", ReduceOp::sum, type, {1 << 20, 64}, {1});
    rows.reduce("sum of narrow columns", ReduceOp::sum, type, {1 << 20, 64}, {0});
    rows.reduce("sum of outer and inner", ReduceOp::sum, type, {64, 1024, 1024}, {0, 2});
    rows.reduce("log sum exp of rows", ReduceOp::log_sum_exp, type, {8192, 8192}, {1});
    others(b, rows, type);
    for (const std::int64_t mib : {1, 16, 256}) work(b, type, {(mib << 20) / bytes / 1024, 1024});
    work(b, type, {(256 << 20) / bytes / 65536, 65536});
  }
  forms(b);
  sorting(b);
}
