#include "kernels/forms_cases.h"

#include <format>

#include "kernels/attention/attention.h"
#include "kernels/custom/custom.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/scalar_cases.h"
#include "kernels/softmax/softmax_split.h"
#include "kernels/split_form.h"
#include "weft/error.h"
#include "weft/kernels.h"

namespace weft::test {
namespace {

constexpr DType kFloats[] = {DType::f32, DType::f16, DType::bf16};

View large(DType type, const Shape& shape, std::uint64_t offset = 0) {
  const auto bytes = byte_size(type, static_cast<std::uint64_t>(element_count(shape))) + offset;
  return {Buffer::placeholder((bytes + 15) / 16 * 16), offset, type, shape};
}

template <class... Views>
std::vector<View> list(const Views&... views) {
  return {views...};
}

std::int64_t size_of(Rng& rng, std::int64_t least, std::int64_t most, std::int64_t multiple) {
  const std::int64_t n = least + static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(most - least + 1));
  return (n + multiple - 1) / multiple * multiple;
}

// Sizes of rows and columns that are multiples of 16, or any.
Shape large_matrix(Rng& rng) {
  constexpr std::int64_t kSizes[][2] = {{4096, 4096}, {64, 65536}, {65536, 64}, {700, 50257}, {50257, 333},
                                        {8, 1 << 20}, {1 << 20, 8}, {1024, 32768}, {32768, 1024}, {3, 4000000}};
  const auto& [rows, columns] = pick(rng, kSizes);
  const std::int64_t more = rng() % 3 == 0 ? static_cast<std::int64_t>(rng() % 5) : 0;
  return {rows + more, columns + (rng() % 3 == 0 ? more : 0)};
}

Problem transposed_copy(Rng& rng, std::uint64_t) {
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::u8, DType::i8, DType::f64};
  const DType type = pick(rng, kTypes);
  const Shape shape = large_matrix(rng);
  const View x = large(type, {shape[1], shape[0]}), y = large(type, shape);
  return {.what = "a large transpose",
          .inputs = list(x.permuted(std::array{1, 0})),
          .outputs = list(y),
          .call = [](Stream& s, auto in, auto out) { kernels::copy(s, in[0], out[0]); }};
}

Problem repeats(Rng& rng, std::uint64_t) {
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::u8};
  const DType type = pick(rng, kTypes);
  const bool tiles = rng() % 2 == 0;
  Shape from{random_int(rng, 1, 64), 512 << (rng() % 4)}, to = from;
  for (int d = 0; d < 2; ++d) to[d] *= rng() % 3 ? random_int(rng, 1, 4) * (tiles || d == 0 ? 1 : 2) : 1;
  return {.what = std::format("{} of large rows", tiles ? "tiles" : "repeats"),
          .inputs = list(large(type, from)),
          .outputs = list(large(type, to)),
          .call = [tiles](Stream& s, auto in, auto out) {
            tiles ? kernels::tile(s, in[0], out[0]) : kernels::repeat(s, in[0], out[0]);
          }};
}

Problem large_lu(Rng& rng, std::uint64_t) {
  const DType type = rng() % 2 ? DType::f32 : DType::c64;
  const std::int64_t n = random_int(rng, 1, 40), m = size_of(rng, 100, 80000, 1), steps = std::min(m, n);
  return {.what = std::format("lu of {} x {}", m, n),
          .inputs = list(large(type, {m, n})),
          .outputs = list(large(type, {m, n}), large(DType::i32, {steps}), large(DType::i32, {m}), large(DType::i32, {})),
          .call = [](Stream& s, auto in, auto out) { kernels::lu(s, in[0], out[0], out[1], out[2], out[3]); }};
}

Problem compressed(Rng& rng, std::uint64_t) {
  constexpr DType kTypes[] = {DType::f16, DType::u8, DType::f32}, kMasks[] = {DType::boolean, DType::f32, DType::i32};
  const DType type = pick(rng, kTypes);
  const Shape shape{size_of(rng, 4, 1000000, 4)};
  return {.what = "elements chosen of many",
          .inputs = list(large(type, shape), large(pick(rng, kMasks), shape)),
          .outputs = list(large(type, shape), large(DType::u32, {})),
          .call = [](Stream& s, auto in, auto out) { kernels::compress(s, in[0], in[1], out[0], out[1]); }};
}

Problem rows(Rng& rng, std::uint64_t) {
  const DType from = pick(rng, kFloats), to = pick(rng, kFloats);
  const Shape shape = large_matrix(rng);
  const int axis = static_cast<int>(rng() % 2), kind = random_int(rng, 0, 3);
  const View x = large(from, shape), y = large(to, shape);
  const bool log = rng() % 2 == 0;
  Problem p{.what = std::format("large rows along axis {}, {}", axis, kind), .inputs = list(x), .outputs = list(y)};
  if (kind == 0) {
    p.call = [axis, log](Stream& s, auto in, auto out) {
      log ? kernels::log_softmax(s, in[0], out[0], axis) : kernels::softmax(s, in[0], out[0], axis);
    };
    return p;
  }
  // Channels that lie last have columns as rows.
  const bool across = axis == 0;
  p.inputs = list(across ? x.permuted(std::array{1, 0}) : x, large(DType::f32, {across ? shape[0] : shape[1]}));
  p.outputs = list(across ? y.permuted(std::array{1, 0}) : y);
  if (kind == 1) {
    p.call = [](Stream& s, auto in, auto out) { kernels::layer_norm(s, in[0], in[1], std::nullopt, out[0], 1, 1e-5); };
  } else if (kind == 2) {
    p.call = [](Stream& s, auto in, auto out) { kernels::rms_norm(s, in[0], in[1], out[0], 1, 1e-5); };
  } else {
    p.call = [](Stream& s, auto in, auto out) {
      kernels::layer_norm(s, in[0], std::nullopt, std::nullopt, out[0], 1, 1e-5);
    };
  }
  return p;
}

// A test of look-back in which all partial statistics arrive late.
Problem late_rows(Rng& rng, std::uint64_t) {
  const bool log = rng() % 2 == 0;
  kernels::SplitForm form = random_split_form(rng);
  form.look_back = form.late = true;
  return {.what = "softmax that looks back, late",
          .inputs = list(large(DType::f32, {4, 4096})),
          .outputs = list(large(DType::f32, {4, 4096})),
          .call = [log, form](Stream& s, auto in, auto out) {
            kernels::softmax_split_rows(s, {.inputs = {in[0]}, .results = {out[0]}}, 1, log, form);
          }};
}

Problem counts(Rng& rng, std::uint64_t) {
  constexpr DType kTypes[] = {DType::i32, DType::i64, DType::f32}, kTrials[] = {DType::i32, DType::i64};
  const Shape shape{random_int(rng, 1, 1000)};
  const View key = large(DType::u32, {2}), y = large(pick(rng, kTypes), shape), n = large(pick(rng, kTrials), shape);
  const int kind = random_int(rng, 0, 2);
  return {.what = "random counts",
          .inputs = list(key, large(DType::f32, shape), n),
          .outputs = list(y),
          .call = [kind](Stream& s, auto in, auto out) {
            if (kind == 0) kernels::random_poisson(s, in[0], in[1], out[0]);
            if (kind == 1) kernels::random_geometric(s, in[0], in[1], out[0]);
            if (kind == 2) kernels::random_binomial(s, in[0], in[2], in[1], out[0]);
          }};
}

Problem users_kernel(Rng& rng, std::uint64_t) {
  CustomKernel kernel{.name = "mine", .inputs = {"x"}, .outputs = {"y"}};
  if (rng() % 2) {
    kernel.wgsl = "fn kernel(i: u32) { store_y(i, load_x(i)); }";
  } else {
    kernel.wgsl = "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { store_y(id.x, load_x(id.x)); }";
    kernel.workgroups = [](auto, auto) { return std::array<std::uint32_t, 3>{1, 1, 1}; };
  }
  return {.what = "a user's kernel",
          .inputs = list(large(pick(rng, kFloats), {1024})),
          .outputs = list(large(pick(rng, kFloats), {1024})),
          .call = [kernel](Stream& s, auto in, auto out) {
            if (s.gpu()) kernels::custom(*s.gpu(), kernel, in, out);
          }};
}

// Attention on cooperative matrices, which a launcher takes for large problems alone.
Problem matrix_attention(Rng& rng, std::uint64_t) {
  constexpr int kSizes[] = {16, 32, 40, 64, 80, 96, 128, 160, 192, 256};
  const int dim = pick(rng, kSizes), value_dim = rng() % 2 ? dim : pick(rng, kSizes);
  const std::int64_t batch = random_int(rng, 1, 4), heads = random_int(rng, 1, 8),
                     queries = rng() % 2 ? 512 : random_int(rng, 100, 2000),
                     keys = rng() % 2 ? 1024 : random_int(rng, 20, 2000);
  const bool lengths = rng() % 4 == 0, masked = rng() % 3 == 0, causal = rng() % 3 == 0;
  const DType mask_type = rng() % 2 ? DType::boolean : DType::f16;
  const std::int64_t mask_rows = rng() % 2 ? 1 : queries;
  const int m = 1 << random_int(rng, 0, 3), n = random_int(rng, 1, 2), rows = random_int(rng, 1, 2),
            tile = 16 << random_int(rng, 0, 1), buffers = random_int(rng, 0, 2), splits = random_int(rng, 1, 3);
  return {.what = "attention on cooperative matrices",
          .inputs = list(large(DType::f16, {batch, heads, queries, dim}), large(DType::f16, {batch, heads, keys, dim}),
                         large(DType::f16, {batch, heads, keys, value_dim}), large(mask_type, {1, 1, mask_rows, keys}),
                         large(DType::i32, {batch})),
          .outputs = list(large(DType::f16, {batch, heads, queries, value_dim})),
          .call = [=](Stream& s, auto in, auto out) {
            if (!s.gpu()) return;
            const gpu::Capabilities& can = s.gpu()->device().capabilities();
            kernels::AttentionOptions options;
            options.scale = 0.1;
            options.causal = causal;
            kernels::AttentionLengths given;
            if (lengths) given.keys = in[4];
            const std::optional<View> mask = masked ? std::optional(in[3]) : std::nullopt;
            const kernels::AttentionCall call(in[0], in[1], in[2], mask, out[0], options, given);
            auto v = kernels::attention_subgroup_matrix(can, m, n, rows * 16, tile, buffers);
            if (!v) return;
            v->kv_splits = splits;
            if (kernels::attention_can_run(*v, call, can)) kernels::attention_gpu(*s.gpu(), call, *v);
          }};
}

// ---- Scalar functions

// An expression of some functions of one type's elements: the selection of one of them, of which each is a text's
// result. With a single result, so that the functions have their fast paths.
struct Functions {
  std::string what;
  Expression expression;
};

int largest_arity(std::span<const ScalarOp> ops) {
  int most = 0;
  for (const ScalarOp op : ops) most = std::max(most, arity(op));
  return most;
}

// The functions on `from`, rounded to `to`.
Functions functions_of(std::span<const ScalarOp> ops, DType from, std::optional<DType> to) {
  Expression e;
  const int choice = e.input(DType::boolean);
  std::array<int, 3> x{};
  for (int k = 0; k < largest_arity(ops); ++k) x[static_cast<std::size_t>(k)] = e.input(from);
  std::optional<int> chosen;
  for (const ScalarOp op : ops) {
    const int y = op == ScalarOp::select
                      ? e.apply(op, {choice, x[0], x[1]})
                      : e.apply(op, std::span<const int>(x).first(static_cast<std::size_t>(arity(op))));
    chosen = chosen ? e.apply(ScalarOp::select, {choice, y, *chosen}) : y;
  }
  e.output(to ? e.cast(*chosen, *to) : *chosen);
  return {std::format("{} and others of {}", name(ops[0]), name(from)), std::move(e)};
}

// The casts from a type to all others.
Functions casts_of(DType from) {
  Expression e;
  const int choice = e.input(DType::boolean), x = e.input(from);
  int chosen = e.cast(x, DType::f32);
  for (int t = 0; t < kDTypeCount; ++t) {
    const auto to = static_cast<DType>(t);
    if (from == DType::f64 && to == DType::f64) continue;
    if (from == DType::c64 && to == DType::f64) continue;
    chosen = e.apply(ScalarOp::select, {choice, e.cast(e.cast(x, to), DType::f32), chosen});
  }
  e.output(chosen);
  return {std::format("casts of {}", name(from)), std::move(e)};
}

// Every function on every type that it takes, also of f32 that becomes a narrow float.
std::vector<Functions> all_functions() {
  constexpr std::size_t kOfOne = 6;  // functions of an expression
  std::vector<Functions> all;
  const auto add = [&](const std::vector<ScalarOp>& ops, DType from, std::optional<DType> to = {}) {
    for (std::size_t i = 0; i < ops.size(); i += kOfOne) {
      all.push_back(functions_of(std::span(ops).subspan(i, std::min(kOfOne, ops.size() - i)), from, to));
    }
  };
  for (const DType type : kComputingTypes) {
    std::map<kernels::Yields, std::vector<ScalarOp>> ops;
    std::vector<ScalarOp> shorter;
    for (int i = static_cast<int>(ScalarOp::neg); i < kScalarOpCount; ++i) {
      const auto op = static_cast<ScalarOp>(i);
      if (!takes(op, type)) continue;
      ops[kernels::info(op).yields].push_back(op);
      if (!kernels::info(op).narrow.empty()) shorter.push_back(op);
    }
    for (const auto& [yields, list] : ops) {
      if (type != DType::c64 || yields != kernels::Yields::real) add(list, type);
    }
    if (type == DType::c64) add(ops[kernels::Yields::real], type);
    if (type == DType::f32) {
      for (const DType to : {DType::f16, DType::bf16, DType::f8e5m2}) add(shorter, type, to);
    }
    all.push_back(casts_of(type));
  }
  all.push_back(casts_of(DType::f64));
  return all;
}

// Functions made of others, each of them on each type of floats.
std::vector<std::pair<FunctionInfo, DType>> all_composites() {
  std::vector<std::pair<FunctionInfo, DType>> all;
  for (const FunctionInfo& f : functions()) {
    if (scalar_op(f.name)) continue;
    for (const DType type : kFloats) all.emplace_back(f, type);
  }
  return all;
}

Problem scalar_functions(Rng& rng, std::uint64_t number) {
  static const std::vector<Functions>& lists = *new std::vector<Functions>(all_functions());
  static const auto& composites = *new std::vector<std::pair<FunctionInfo, DType>>(all_composites());
  const Shape shape{rng() % 2 ? 4096 : 1 << 20};
  const bool wide = rng() % 2;
  Problem p{.what = "scalar functions"};
  std::vector<std::function<void(Stream&, std::span<const View>, std::span<const View>)>> calls;
  for (std::size_t i = number % kFormsCycle; i < lists.size(); i += kFormsCycle) {
    const Expression& e = lists[i].expression;
    const std::size_t first = p.inputs.size(), out_at = p.outputs.size(), count = static_cast<std::size_t>(e.input_count());
    p.what += "; " + lists[i].what;
    int bits_of_all = 0;
    for (const auto& node : e.nodes()) {
      if (node.op != ScalarOp::input) continue;
      p.inputs.push_back(large(node.type, shape));
      bits_of_all = std::max(bits_of_all, bits(node.type));
    }
    p.outputs.push_back(large(e.output_type(0), shape));
    bits_of_all = std::max(bits_of_all, bits(e.output_type(0)));
    const kernels::MapForm form{.width = wide && bits_of_all < 32 ? 128 / std::max(bits_of_all, 8) : 0};
    calls.emplace_back([&e, first, count, out_at, form](Stream& s, auto in, auto out) {
      kernels::map(s, "map", e, in.subspan(first, count), out.subspan(out_at, 1), form);
    });
  }
  for (std::size_t i = number % kFormsCycle; i < composites.size(); i += kFormsCycle) {
    const auto& [f, type] = composites[i];
    p.what += std::format("; {} of {}", f.name, name(type));
    const std::size_t first = p.inputs.size(), out_at = p.outputs.size();
    p.inputs.push_back(large(type, shape)), p.outputs.push_back(large(type, shape));
    std::vector<double> parameters;
    for (const FunctionParameter& q : f.parameters) parameters.push_back(q.default_value);
    calls.emplace_back([name = f.name, parameters, first, out_at](Stream& s, auto in, auto out) {
      kernels::elementwise(s, name, in.subspan(first, 1), out[out_at], parameters);
    });
  }
  p.call = [calls](Stream& s, auto in, auto out) {
    for (const auto& call : calls) {
      try {
        call(s, in, out);
      } catch (const Unsupported&) {  // on such a device
      }
    }
  };
  return p;
}

}  // namespace

const std::map<std::string, NumberedGenerator>& forms_cases() {
  static const auto& all = *new std::map<std::string, NumberedGenerator>{
      {"large transpose", transposed_copy}, {"large repeat", repeats}, {"large lu", large_lu},
      {"large compress", compressed},       {"large rows", rows},      {"late rows", late_rows},
      {"random counts", counts},            {"custom", users_kernel},  {"matrix attention", matrix_attention},
      {"scalar functions", scalar_functions}};
  return all;
}

}  // namespace weft::test
