#include "derivatives/cases.h"
#include "weft/array.h"
#include "weft/convolution.h"
#include "weft/creation.h"
#include "weft/graph.h"
#include "weft/pooling.h"
#include "weft/quantization.h"
#include "weft/quantized_weights.h"
#include "weft/recurrent.h"
#include "weft/resampling.h"

namespace weft::test {
namespace {

using Operands = std::span<const Tensor>;
using Function = std::function<Tensor(Operands)>;

DerivativeCase one_result(std::string name, std::vector<Shape> shapes, Function f) {
  return {.name = std::move(name), .shapes = std::move(shapes), .function = [f = std::move(f)](Operands x) {
            return std::vector{f(x)};
          }};
}

void add_convolutions(DerivativeCases& cases) {
  const auto add = [&](std::string name, Shape x, Shape w, ConvOptions o) {
    cases.push_back(one_result("conv_" + name, {x, w}, [o](Operands v) { return conv(v[0], v[1], {}, o); }));
  };
  const auto add_transposed = [&](std::string name, Shape x, Shape w, ConvTransposeOptions o) {
    cases.push_back(
        one_result("conv_transpose_" + name, {x, w}, [o](Operands v) { return conv_transpose(v[0], v[1], {}, o); }));
  };
  const auto add_filter = [&](std::string name, Shape x, Shape dy, Shape window, ConvOptions o) {
    cases.push_back(one_result("conv_filter_gradient_" + name, {x, dy},
                               [=](Operands v) { return conv_filter_gradient(v[0], v[1], window, o); }));
  };
  add("groups", {2, 4, 7}, {6, 2, 3},
      {.strides = {2}, .dilations = {2}, .padding = {1}, .padding_after = {2}, .groups = 2});
  add("uneven", {2, 3, 5, 6}, {4, 3, 3, 2}, {.strides = {2, 1}, .padding = {1, 0}, .padding_after = {2, 1}});
  add("cropped", {2, 2, 5, 6}, {3, 2, 2, 2}, {.padding = {-1, 1}, .padding_after = {1, -2}});
  add("volume", {1, 2, 3, 4, 3}, {2, 2, 2, 2, 2}, {.strides = {1, 2, 1}, .dilations = {1, 1, 2}});
  add("channels_last", {2, 5, 4, 4}, {4, 2, 3, 2}, {.padding = {1, 1}, .groups = 2, .channels_last = true});
  add("depthwise", {1, 3, 6}, {6, 1, 3}, {.padding = {1}, .groups = 3});
  add("remainder", {1, 2, 9}, {3, 2, 2}, {.strides = {4}});  // elements that no window reads
  add("far", {1, 2, 4}, {3, 2, 2}, {.strides = {3}, .padding = {3}});
  add("pointwise", {2, 3, 2, 2}, {4, 3, 1, 1}, {});
  cases.push_back(one_result("conv_bias", {{2, 2, 5}, {3, 2, 3}, {3}},
                             [](Operands v) { return square(conv(v[0], v[1], v[2], {.padding = {1}})); }));
  // The filter in front: batches of it alone, in the turn in which the last operand is shared.
  cases.push_back(one_result("conv_of_filter", {{6, 2, 3}, {2, 4, 7}}, [](Operands v) {
    return conv(v[1], v[0], {}, {.strides = {2}, .padding = {1}, .groups = 2});
  }));
  cases.push_back(one_result("conv_of_filter_channels_last", {{6, 2, 2, 3}, {2, 4, 5, 4}}, [](Operands v) {
    return conv(v[1], v[0], {}, {.padding = {1, 0}, .groups = 2, .channels_last = true});
  }));
  add_transposed("groups", {2, 4, 4}, {4, 3, 3},
                 {{.strides = {2}, .dilations = {2}, .padding = {1}, .groups = 2}, {1}, {}});
  add_transposed("uneven", {2, 3, 3, 4}, {3, 2, 3, 2},
                 {{.strides = {2, 1}, .padding = {1, 0}, .padding_after = {0, 1}}, {1, 0}, {}});
  add_transposed("cropped", {1, 2, 4}, {2, 3, 2}, {{.padding = {-1}, .padding_after = {2}}, {}, {}});
  add_transposed("sizes", {1, 2, 4}, {2, 3, 2}, {{.strides = {3}}, {}, {14}});
  add_transposed("volume", {1, 2, 2, 3, 2}, {2, 2, 2, 2, 2}, {{.strides = {1, 2, 1}}, {}, {}});
  add_transposed("channels_last", {2, 3, 2, 4}, {4, 2, 3, 2},
                 {{.strides = {2, 1}, .padding = {1, 1}, .groups = 2, .channels_last = true}, {}, {}});
  cases.push_back(one_result("conv_transpose_of_filter", {{4, 3, 3}, {2, 4, 4}}, [](Operands v) {
    return conv_transpose(v[1], v[0], {}, {{.strides = {2}, .groups = 2}, {1}, {}});
  }));
  add_filter("groups", {2, 4, 7}, {2, 6, 3}, {3}, {.strides = {2}, .padding = {1}, .groups = 2});
  add_filter("dilated", {2, 3, 6}, {2, 2, 5}, {2}, {.dilations = {2}, .padding = {1}, .padding_after = {0}});
  add_filter("channels_last", {2, 5, 4, 4}, {2, 3, 3, 4}, {3, 2},
             {.strides = {2, 1}, .padding = {1, 0}, .groups = 2, .channels_last = true});
  cases.push_back(one_result("conv_filter_gradient_of_dy", {{2, 6, 3}, {2, 4, 7}}, [](Operands v) {
    return conv_filter_gradient(v[1], v[0], {3}, {.strides = {2}, .padding = {1}, .groups = 2});
  }));
}

void add_pools(DerivativeCases& cases) {
  const auto add = [&](std::string name, Shape x, std::function<Tensor(const Tensor&)> f, double apart = 0) {
    cases.push_back({.name = std::move(name),
                     .shapes = {x},
                     .function = [f](Operands v) { return std::vector{square(f(v[0]))}; },
                     .apart = apart});
  };
  constexpr double kApart = 0.02;
  const PoolOptions dilated{.window = {3}, .strides = {2}, .dilations = {2}, .padding = {1}};
  const PoolOptions ceiled{.window = {3, 2}, .strides = {2, 2}, .padding = {1, 0}, .ceil_mode = true};
  const PoolOptions volume{.window = {2, 2, 2}, .strides = {1, 2, 1}, .channels_last = true};
  PoolOptions chosen{.window = {2}, .strides = {2}, .padding = {2}, .output_sizes = {5}};
  for (const auto& [name, x, o] : {std::tuple("dilated", Shape{2, 2, 8}, dilated),
                                   {"ceiled", Shape{1, 2, 6, 5}, ceiled},
                                   {"volume", Shape{1, 2, 3, 2, 2}, volume}}) {
    const std::string n = name;
    add("max_pool_" + n, x, [o](const Tensor& v) { return max_pool(v, o); }, kApart);
    add("max_pool_with_indices_" + n, x, [o](const Tensor& v) { return max_pool_with_indices(v, o).values; }, kApart);
    add("average_pool_" + n, x, [o](const Tensor& v) { return average_pool(v, o); });
    add("lp_pool_" + n, x, [o](const Tensor& v) { return lp_pool(v, 3, o); }, kApart);
  }
  add("average_pool_inside", {1, 2, 6, 5}, [o = ceiled](const Tensor& v) mutable {
    o.count_padding = false;
    return average_pool(v, o);
  });
  add("average_pool_divisor", {1, 2, 6, 5}, [o = ceiled](const Tensor& v) mutable {
    o.divisor = 5;
    return average_pool(v, o);
  });
  add("average_pool_sizes", {1, 2, 6}, [chosen](const Tensor& v) { return average_pool(v, chosen); });
  add("lp_pool_1", {2, 2, 8}, [dilated](const Tensor& v) { return lp_pool(v, 1, dilated); }, kApart);
  add("lp_pool_2", {2, 2, 8}, [dilated](const Tensor& v) { return l2_pool(v, dilated); }, kApart);
  add("adaptive_average_pool", {2, 2, 5, 7}, [](const Tensor& v) { return adaptive_average_pool(v, {3, 2}); });
  add("adaptive_max_pool", {1, 5, 7, 2}, [](const Tensor& v) { return adaptive_max_pool(v, {3, 4}, true); }, kApart);
  add(
      "adaptive_max_pool_with_indices", {2, 2, 7},
      [](const Tensor& v) { return adaptive_max_pool_with_indices(v, {3}).values; }, kApart);
  add("global_average_pool", {2, 2, 3, 2}, [](const Tensor& v) { return global_average_pool(v); });
  // Gradients as functions of their own.
  const auto indices = [](std::vector<std::int32_t> at, const Shape& shape) { return tensor(shape, at); };
  add("max_pool_gradient", {1, 2, 3}, [=](const Tensor& v) {
    return max_pool_gradient(v, indices({0, 2, 4, 1, 2, 5}, {1, 2, 3}), {6}, {.window = {2}});
  });
  add("max_pool_gradient_shared", {1, 3, 2}, [=](const Tensor& v) {
    return max_pool_gradient(v, indices({1, 0, 1, 2, 2, 3}, {1, 3, 2}), {4},
                             {.window = {2}, .strides = {1}, .channels_last = true});
  });
  add("adaptive_max_pool_gradient", {1, 1, 3},
      [=](const Tensor& v) { return adaptive_max_pool_gradient(v, indices({1, 2, 4}, {1, 1, 3}), {5}); });
  add("average_pool_gradient", {1, 2, 4, 3}, [o = ceiled](const Tensor& v) mutable {
    o.count_padding = false;
    return average_pool_gradient(v, {6, 5}, o);
  });
  add("average_pool_gradient_sizes", {1, 2, 5},
      [chosen](const Tensor& v) { return average_pool_gradient(v, {6}, chosen); });
  add("adaptive_average_pool_gradient", {1, 2, 3, 2},
      [](const Tensor& v) { return adaptive_average_pool_gradient(v, {5, 7}); });
  add("max_unpool", {1, 2, 3},
      [=](const Tensor& v) { return max_unpool(v, indices({0, 2, 4, 1, 2, 5}, {1, 2, 3}), {6}); });
  cases.push_back({.name = "lp_pool_gradient",
                   .shapes = {{1, 2, 4}, {1, 2, 8}},
                   .function =
                       [](Operands v) {
                         const PoolOptions o{.window = {2}};
                         return std::vector{lp_pool_gradient(v[0], v[1], lp_pool(v[1], 3, o), 3, o)};
                       },
                   .apart = kApart});
}

void add_resizes(DerivativeCases& cases) {
  const auto add = [&](std::string name, Shape x, Shape y, ResizeOptions o) {
    cases.push_back(one_result("resize_" + name, {x}, [=](Operands v) { return square(resize(v[0], y, o)); }));
    cases.push_back(
        one_result("resize_gradient_" + name, {y}, [=](Operands v) { return square(resize_gradient(v[0], x, o)); }));
  };
  add("nearest", {1, 2, 3, 4}, {1, 2, 5, 2}, {});
  add("nearest_floor", {1, 2, 3}, {1, 2, 7},
      {.coordinates = ResizeCoordinates::asymmetric, .rounding = ResizeRounding::floor});
  add("linear", {1, 2, 3, 4}, {1, 2, 5, 3}, {.mode = ResizeMode::linear});
  add("linear_aligned", {2, 4}, {2, 7}, {.mode = ResizeMode::linear, .coordinates = ResizeCoordinates::align_corners});
  add("linear_antialias", {1, 2, 7}, {1, 2, 3}, {.mode = ResizeMode::linear, .antialias = true});
  add("cubic", {1, 1, 4, 5}, {1, 1, 6, 4}, {.mode = ResizeMode::cubic});
  add("cubic_inside", {1, 2, 4}, {1, 2, 7}, {.mode = ResizeMode::cubic, .exclude_outside = true});
  add("area", {1, 2, 7}, {1, 2, 3}, {.mode = ResizeMode::area});
  add("scales", {1, 2, 4}, {1, 2, 9}, {.mode = ResizeMode::linear, .scales = {1, 1, 2.3}});
  add("crop", {1, 2, 5}, {1, 2, 6},
      {.mode = ResizeMode::linear,
       .coordinates = ResizeCoordinates::crop,
       .starts = {0, 0, 0.3},
       .ends = {1, 1, 1.4},
       .value = 3});
  cases.push_back(one_result("upsample", {{2, 3, 4, 2}}, [](Operands v) {
    return square(upsample(v[0], {5, 6}, {.mode = ResizeMode::linear, .align_corners = true, .channels_last = true}));
  }));
}

void add_samples(DerivativeCases& cases) {
  const auto add = [&](std::string name, Shape x, Shape grid, GridSampleOptions o) {
    cases.push_back({.name = "grid_sample_" + name, .shapes = {x, grid}, .function = [o](Operands v) {
                       return std::vector{grid_sample(v[0], v[1] * 0.6, o)};
                     }});
  };
  for (const auto& [mode, mode_name] : {std::pair(SampleMode::linear, "linear"), {SampleMode::cubic, "cubic"}}) {
    for (const auto& [padding, padding_name] : {std::pair(SamplePadding::zeros, "zeros"),
                                                {SamplePadding::border, "border"},
                                                {SamplePadding::reflection, "reflection"}}) {
      for (const bool aligned : {false, true}) {
        add(std::string(mode_name) + "_" + padding_name + (aligned ? "_aligned" : ""), {2, 2, 3, 4}, {2, 2, 3, 2},
            {.mode = mode, .padding = padding, .align_corners = aligned});
      }
    }
  }
  add("nearest", {2, 2, 3, 4}, {2, 2, 3, 2}, {.mode = SampleMode::nearest});
  add("line", {2, 2, 5}, {2, 4, 1}, {.mode = SampleMode::cubic});
  add("volume", {1, 2, 3, 2, 4}, {1, 2, 2, 2, 3}, {.padding = SamplePadding::border});
  add("channels_last", {2, 3, 4, 2}, {2, 2, 3, 2}, {.channels_last = true});
  cases.push_back(one_result("grid_sample_gradient", {{1, 2, 2, 3}, {1, 2, 3, 2}}, [](Operands v) {
    return square(grid_sample_gradient(v[0], v[1] * 0.6, {3, 4}, {.mode = SampleMode::cubic}));
  }));
  cases.push_back(one_result("grid_sample_grid_gradient", {{1, 2, 2, 3}, {1, 2, 3, 4}, {1, 2, 3, 2}}, [](Operands v) {
    return grid_sample_grid_gradient(v[0], v[1], v[2] * 0.6, {.mode = SampleMode::cubic});
  }));
  cases.push_back(one_result("affine_grid", {{2, 2, 3}}, [](Operands v) { return square(affine_grid(v[0], {3, 2})); }));
}

void add_windows(DerivativeCases& cases) {
  const auto add = [&](std::string name, Shape x, std::function<Tensor(const Tensor&)> f) {
    cases.push_back(one_result(std::move(name), {x}, [f](Operands v) { return square(f(v[0])); }));
  };
  const WindowOptions o{.strides = {2, 1}, .dilations = {1, 2}, .padding = {1, 0}, .padding_after = {0, 2}};
  add("unfold", {1, 2, 5, 4}, [o](const Tensor& x) { return unfold(x, {2, 2}, o); });
  add("unfold_touching", {2, 2, 6}, [](const Tensor& x) { return unfold(x, {3}, {.strides = {3}}); });
  add("fold", {1, 8, 12}, [o](const Tensor& x) { return fold(x, {5, 4}, {2, 2}, o); });
  add("fold_line", {2, 6, 4}, [](const Tensor& x) { return fold(x, {6}, {3}); });
  add("depth_to_space", {1, 8, 2, 3}, [](const Tensor& x) { return depth_to_space(x, 2); });
  add("space_to_depth", {1, 4, 6, 2},
      [](const Tensor& x) { return space_to_depth(x, 2, BlockOrder::column_row_depth, true); });
  add("pixel_shuffle", {1, 4, 2, 2}, [](const Tensor& x) { return pixel_shuffle(x, 2); });
}

void add_recurrent(DerivativeCases& cases) {
  constexpr std::int64_t kSteps = 3, kBatch = 2, kInputs = 2, kHidden = 3;
  const Shape x{kSteps, kBatch, kInputs}, first{kBatch, kSteps, kInputs};
  const auto weights = [&](std::int64_t directions, std::int64_t gates) {
    return std::pair(Shape{directions, gates * kHidden, kInputs}, Shape{directions, gates * kHidden, kHidden});
  };
  const auto biases = [&](std::int64_t directions, std::int64_t gates) { return Shape{directions, gates * kHidden}; };
  const auto state = [&](std::int64_t directions) { return Shape{directions, kBatch, kHidden}; };
  const auto lengths = [] { return tensor({kBatch}, std::vector<std::int32_t>{2, 3}); };
  const auto add = [&](std::string name, std::vector<Shape> shapes, std::function<std::vector<Tensor>(Operands)> f) {
    cases.push_back(
        {.name = std::move(name), .shapes = std::move(shapes), .function = std::move(f), .low = -1, .high = 1});
  };
  const auto of_lstm = [](const LstmResult& r) { return std::vector{r.y, r.h, r.c}; };
  const auto of_other = [](const RecurrentResult& r) { return std::vector{r.y, r.h}; };
  const auto [lstm_w, lstm_r] = weights(1, 4);
  const auto [lstm_w2, lstm_r2] = weights(2, 4);
  const auto [gru_w, gru_r] = weights(1, 3);
  const auto [gru_w2, gru_r2] = weights(2, 3);
  const auto [rnn_w, rnn_r] = weights(1, 1);
  const auto [rnn_w2, rnn_r2] = weights(2, 1);
  add("lstm", {x, lstm_w, lstm_r}, [=](Operands v) { return of_lstm(lstm(v[0], v[1], v[2])); });
  add("lstm_all", {lstm_w2, lstm_r2, biases(2, 4), biases(2, 4), state(2), state(2), biases(2, 3), x}, [=](Operands v) {
    return of_lstm(lstm(v[7], v[0], v[1],
                        {.bias = v[2],
                         .recurrent_bias = v[3],
                         .initial_h = v[4],
                         .initial_c = v[5],
                         .peephole = v[6],
                         .lengths = lengths()},
                        {.direction = RnnDirection::bidirectional, .gates = LstmGates::iofg}));
  });
  // Batches of sequences alone: weights are constants.
  add("lstm_sequences", {state(2), state(2), first}, [=](Operands v) {
    const DType type = v[0].dtype();
    const Tensor w = sin(reshape(arange(0, element_count(lstm_w2), 1, type), lstm_w2));
    const Tensor r = cos(reshape(arange(0, element_count(lstm_r2), 1, type), lstm_r2));
    return of_lstm(lstm(v[2], w, r, {.initial_h = v[0], .initial_c = v[1], .lengths = lengths(), .batch_first = true},
                        {.direction = RnnDirection::bidirectional}));
  });
  add("lstm_coupled", {first, lstm_w, lstm_r, biases(1, 3)}, [=](Operands v) {
    return of_lstm(lstm(v[0], v[1], v[2], {.peephole = v[3], .batch_first = true},
                        {.direction = RnnDirection::reverse,
                         .gate_activation = {RnnFunction::hard_sigmoid, 0.2, 0.5},
                         .cell_activation = RnnFunction::softsign,
                         .output_activation = {RnnFunction::scaled_tanh, 1.5, 0.7},
                         .coupled = true,
                         .output_peephole_after = false}));
  });
  add("lstm_clipped", {x, lstm_w, lstm_r},
      [=](Operands v) { return of_lstm(lstm(v[0], v[1], v[2], {}, {.clip = 0.4})); });
  add("gru", {x, gru_w, gru_r, biases(1, 3), biases(1, 3), state(1)}, [=](Operands v) {
    return of_other(gru(v[0], v[1], v[2], {.bias = v[3], .recurrent_bias = v[4], .initial_h = v[5]}));
  });
  add("gru_before", {first, gru_w2, gru_r2, biases(2, 3)}, [=](Operands v) {
    return of_other(gru(v[0], v[1], v[2], {.recurrent_bias = v[3], .lengths = lengths(), .batch_first = true},
                        {.direction = RnnDirection::bidirectional, .gates = GruGates::zrn, .reset_after = false}));
  });
  add("rnn", {x, rnn_w2, rnn_r2, state(2)}, [=](Operands v) {
    return of_other(
        rnn(v[0], v[1], v[2], {.initial_h = v[3], .lengths = lengths()}, {.direction = RnnDirection::bidirectional}));
  });
  for (const RnnActivation a : {RnnActivation(RnnFunction::relu),
                                {RnnFunction::affine, 0.5, 0.1},
                                {RnnFunction::leaky_relu, 0.1},
                                {RnnFunction::thresholded_relu, 0.2},
                                {RnnFunction::elu, 1.5},
                                {RnnFunction::softplus}}) {
    const std::string text = to_string(a);
    add("rnn_" + text.substr(0, text.find('(')), {x, rnn_w, rnn_r},
        [=](Operands v) { return of_other(rnn(v[0], v[1], v[2], {}, {.activation = a})); });
  }
  const Shape step{kBatch, kInputs}, one{kBatch, kHidden};
  const auto flat = [](Shape s) {
    s.erase(0);
    return s;
  };
  add("lstm_cell", {step, flat(lstm_w), flat(lstm_r), one, one}, [](Operands v) {
    const LstmState s = lstm_cell(v[0], v[1], v[2], {.initial_h = v[3], .initial_c = v[4]});
    return std::vector{s.h, s.c};
  });
  add("gru_cell", {step, flat(gru_w), flat(gru_r), one},
      [](Operands v) { return std::vector{gru_cell(v[0], v[1], v[2], {.initial_h = v[3]})}; });
  add("rnn_cell", {step, flat(rnn_w), flat(rnn_r), one},
      [](Operands v) { return std::vector{rnn_cell(v[0], v[1], v[2], {.initial_h = v[3]})}; });
}

void add_quantization(DerivativeCases& cases) {
  // Quantised values are constant, the scale is a factor.
  // Blocks of 32 weights: a scale of 1/16, and codes of 4 bits.
  const auto blocks = [](std::int64_t rows, std::int64_t count) {
    std::vector<int> bytes;
    for (std::int64_t block = 0; block < rows * count; ++block) {
      bytes.insert(bytes.end(), {0x00, 0x2c});
      for (int i = 0; i < 16; ++i) bytes.push_back(static_cast<int>((37 * i + 11 * block + 5) % 256));
    }
    return QuantizedWeights{{QuantizedScheme::q4_0}, cast(tensor({rows, 18 * count}, bytes), DType::u8)};
  };
  cases.push_back(one_result("quantized_matmul", {{2, 3, 64}},
                             [=](Operands v) { return square(quantized_matmul(v[0], blocks(5, 2))); }));
  cases.push_back(one_result("quantized_matmul_of_rows", {{3, 5}}, [=](Operands v) {
    return square(quantized_matmul(v[0], blocks(5, 1), {.transposed = false}));
  }));
  cases.push_back(one_result("quantized_matmul_chosen", {{3, 1, 2, 32}}, [=](Operands v) {
    QuantizedWeights w = blocks(12, 1);
    w.values = reshape(w.values, {3, 4, 18});
    return square(quantized_matmul(v[0], w, {.chosen = tensor({3, 2}, std::vector<int>{0, 2, 1, 1, 2, 0})}));
  }));
  cases.push_back(one_result("dequantize_weights", {{3, 32}}, [=](Operands v) {
    return square(v[0] * dequantize_weights(blocks(3, 1), v[0].dtype()));
  }));
  cases.push_back(one_result("quantize_weights", {{3, 32}}, [=](Operands v) {
    const Tensor ramp = reshape(arange(-48, 48, 1, DType::f32) / 7, {3, 32});
    return square(v[0] * dequantize_weights(quantize_weights(ramp, {QuantizedScheme::q8_0}), v[0].dtype()));
  }));
  cases.push_back(one_result("dequantize", {{2}}, [](Operands v) {
    const Tensor q = tensor({3, 2}, std::vector<std::int8_t>{1, -2, 7, 100, -128, 0});
    return square(dequantize(q, v[0], std::int8_t{3}, {.axis = 1}));
  }));
  cases.push_back({.name = "dynamic_quantize",
                   .shapes = {{3, 4}},
                   .function =
                       [](Operands v) {
                         const Quantized q =
                             dynamic_quantize(v[0], {.dtype = DType::i8, .axes = {1}, .symmetric = true});
                         return std::vector{square(q.scale)};
                       },
                   .apart = 0.1});
}

}  // namespace

void add_network_derivatives(DerivativeCases& cases) {
  add_convolutions(cases);
  add_pools(cases);
  add_resizes(cases);
  add_samples(cases);
  add_windows(cases);
  add_recurrent(cases);
  add_quantization(cases);
}

}  // namespace weft::test
