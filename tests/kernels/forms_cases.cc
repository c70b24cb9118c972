#include "kernels/forms_cases.h"

#include <format>

#include "kernels/attention/attention.h"
#include "kernels/custom/custom.h"
#include "kernels/softmax/softmax_split.h"
#include "kernels/split_form.h"
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

Problem transposed_copy(Rng& rng) {
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::u8, DType::i8, DType::f64};
  const DType type = pick(rng, kTypes);
  const Shape shape = large_matrix(rng);
  const View x = large(type, {shape[1], shape[0]}), y = large(type, shape);
  return {.what = "a large transpose",
          .inputs = list(x.permuted(std::array{1, 0})),
          .outputs = list(y),
          .call = [](Stream& s, auto in, auto out) { kernels::copy(s, in[0], out[0]); }};
}

Problem repeats(Rng& rng) {
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

Problem large_lu(Rng& rng) {
  const DType type = rng() % 2 ? DType::f32 : DType::c64;
  const std::int64_t n = random_int(rng, 1, 40), m = size_of(rng, 100, 80000, 1), steps = std::min(m, n);
  return {.what = std::format("lu of {} x {}", m, n),
          .inputs = list(large(type, {m, n})),
          .outputs = list(large(type, {m, n}), large(DType::i32, {steps}), large(DType::i32, {m}), large(DType::i32, {})),
          .call = [](Stream& s, auto in, auto out) { kernels::lu(s, in[0], out[0], out[1], out[2], out[3]); }};
}

Problem compressed(Rng& rng) {
  constexpr DType kTypes[] = {DType::f16, DType::u8, DType::f32}, kMasks[] = {DType::boolean, DType::f32, DType::i32};
  const DType type = pick(rng, kTypes);
  const Shape shape{size_of(rng, 4, 1000000, 4)};
  return {.what = "elements chosen of many",
          .inputs = list(large(type, shape), large(pick(rng, kMasks), shape)),
          .outputs = list(large(type, shape), large(DType::u32, {})),
          .call = [](Stream& s, auto in, auto out) { kernels::compress(s, in[0], in[1], out[0], out[1]); }};
}

Problem rows(Rng& rng) {
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
Problem late_rows(Rng& rng) {
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

Problem counts(Rng& rng) {
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

Problem users_kernel(Rng& rng) {
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
Problem matrix_attention(Rng& rng) {
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

}  // namespace

const std::map<std::string, Generator>& forms_cases() {
  static const auto& all = *new std::map<std::string, Generator>{
      {"large transpose", transposed_copy}, {"large repeat", repeats}, {"large lu", large_lu},
      {"large compress", compressed},       {"large rows", rows},      {"late rows", late_rows},
      {"random counts", counts},            {"custom", users_kernel},  {"matrix attention", matrix_attention}};
  return all;
}

}  // namespace weft::test
