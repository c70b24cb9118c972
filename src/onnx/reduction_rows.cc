// Operators that combine elements: reductions, scans, softmax, norms, losses, and products of matrices.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "onnx/node.h"
#include "onnx/write.h"
#include "weft/array.h"
#include "weft/graph.h"
#include "weft/linalg.h"
#include "weft/losses.h"

namespace weft::onnx {

namespace {

// A row of one result.
template <Tensor (*f)(const Node&)>
Tensors one(const Node& n) {
  return {f(n)};
}

// The attribute `axis`, counted from the front.
int axis_attribute(const Node& n, int rank, std::int64_t otherwise) {
  return axis_of(n, n.integer("axis", otherwise), rank);
}

// x in f32, unless it is a wide float.
Tensor widened(const Tensor& x) { return x.dtype() == DType::f32 || x.dtype() == DType::f64 ? x : cast(x, DType::f32); }
// f(x), computed in f32 unless x is a wide float, and rounded to x's type once.
template <class F>
Tensor in_f32(const Tensor& x, const F& f) {
  return cast(f(widened(x)), x.dtype());
}

// The axes from `first` on.
std::vector<int> axes_from(int first, int rank) {
  std::vector<int> axes(static_cast<std::size_t>(rank - first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}
Shape sizes_from(const Tensor& x, int first) { return Shape(std::span(x.shape().begin() + first, x.shape().end())); }
std::int64_t count_before(const Tensor& x, int axis) {
  return element_count(Shape(std::span(x.shape().begin(), x.shape().begin() + axis)));
}

// ---- Reductions

Tensor reduced(ReduceKind kind, const Tensor& x, const Axes& axes, bool keep) {
  const bool extreme = kind == ReduceKind::max || kind == ReduceKind::min;
  if (extreme && x.dtype() == DType::boolean) {
    return reduce(kind == ReduceKind::max ? ReduceKind::any : ReduceKind::all, x, axes, keep);
  }
  if (is_floating(x.dtype())) return reduce(kind, x, axes, keep);
  switch (kind) {
    case ReduceKind::mean: {  // of integers cut off
      std::int64_t count = 1;
      for (const int axis : axes.of(x.rank())) count *= x.shape()[axis];
      return reduce(ReduceKind::sum, x, axes, keep) / count;
    }
    case ReduceKind::l2:
    case ReduceKind::log_sum:
    case ReduceKind::log_sum_exp:
      return in_f32(x, [&](const Tensor& v) { return reduce(kind, v, axes, keep); });
    default:
      return reduce(kind, x, axes, keep);
  }
}
// What a reduction of each element by itself gives.
Tensor reduced_alone(ReduceKind kind, const Tensor& x) {
  switch (kind) {
    case ReduceKind::l1:
    case ReduceKind::l2:
      return abs(x);
    case ReduceKind::sum_squares:
      return square(x);
    case ReduceKind::log_sum:
      return in_f32(x, [](const Tensor& v) { return log(v); });
    default:
      return x;
  }
}

// Axes are an attribute before opset `since`, and an operand from there on; without axes they are all, or with
// noop_with_empty_axes none.
template <ReduceKind kind, std::int64_t since = 18>
Tensors reduce_of(const Node& n) {
  const Tensor x = n.in(0);
  const auto given = n.integers(since, 1, "axes");
  const bool keep = n.integer("keepdims", 1) != 0;
  if (given && !given->empty()) return {reduced(kind, x, axes_of(n, *given, x.rank()), keep)};
  const bool none = n.version() >= since && n.integer("noop_with_empty_axes", 0) != 0;
  return {none ? reduced_alone(kind, x) : reduced(kind, x, {}, keep)};
}

// The first of several extremes, or with select_last_index the last.
template <Tensor (*choose)(const Operand&, const Axes&, bool)>
Tensors arg_of(const Node& n) {
  const Tensor x = n.in(0);
  const int axis = axis_attribute(n, x.rank(), 0);
  const bool keep = n.integer("keepdims", 1) != 0;
  if (n.integer("select_last_index", 0) == 0) return {cast(choose(x, axis, keep), DType::i64)};
  return {x.shape()[axis] - 1 - cast(choose(flip(x, axis), axis, keep), DType::i64)};
}

template <ScanKind kind>
Tensors scan_of(const Node& n) {
  const Tensor x = n.in(0);
  return {scan(kind, x, axis_of(n, n.integer_of(1), x.rank()),
               {.reverse = n.integer("reverse", 0) != 0, .exclusive = n.integer("exclusive", 0) != 0})};
}

// ---- Softmax

// One at the first of the greatest elements.
Tensor hardmax(const Operand& x, int axis) {
  if (x.size() == 0) return x;
  return one_hot(argmax(x, axis), x.shape()[axis], x.dtype(), axis);
}

template <Tensor (*f)(const Operand&, int)>
Tensors along_axis(const Node& n) {
  const Tensor x = n.in(0);
  return {f(x, axis_attribute(n, x.rank(), -1))};
}
// Before opset 13 all axes from the given one on are one row.
template <Tensor (*f)(const Operand&, int)>
Tensors along_rows(const Node& n) {
  const Tensor x = n.in(0);
  const std::int64_t given = n.integer("axis", 1);
  const int axis = given == x.rank() ? x.rank() : axis_of(n, given, x.rank());
  return {reshape(f(reshape(x, {count_before(x, axis), element_count(sizes_from(x, axis))}), 1), x.shape())};
}

// ---- Norms

double epsilon_of(const Node& n) { return n.number("epsilon", 1e-5F); }

// Y, and of each row the mean and 1 / sqrt(variance + epsilon).
Tensors layer_normalization(const Node& n) {
  const Tensor x = n.in(0), scale = n.in(1), bias = n.maybe(2);
  const int axis = axis_attribute(n, x.rank(), -1);
  const Shape row = sizes_from(x, axis);
  const double epsilon = epsilon_of(n);
  Tensors results;
  if (scale.shape() == row && (!bias.defined() || bias.shape() == row)) {
    results.push_back(layer_norm(x, scale, bias, epsilon, axis));
  } else {  // they broadcast to x
    results.push_back(in_f32(x, [&](const Tensor& v) {
      const Tensor y = layer_norm(v, {}, {}, epsilon, axis) * scale;
      return bias.defined() ? y + bias : y;
    }));
  }
  if (n.results() == 1) return results;
  const Tensor v = cast(x, x.dtype() == DType::f64 ? DType::f64 : DType::f32);
  const std::vector<int> axes = axes_from(axis, x.rank());
  const DType type = n.type("stash_type", DType::f32);
  results.push_back(n.wants(1) ? cast(mean(v, axes, true), type) : Tensor());
  if (n.results() > 2) {
    results.push_back(n.wants(2) ? cast(rsqrt(variance(v, axes, 0, true) + epsilon), type) : Tensor());
  }
  return results;
}

// The result has the scale's type.
Tensor rms_normalization(const Node& n) {
  const Tensor x = n.in(0), scale = n.in(1);
  const int axis = axis_attribute(n, x.rank(), -1);
  const Shape row = sizes_from(x, axis);
  const double epsilon = epsilon_of(n);
  if (scale.shape() == row && scale.dtype() == x.dtype()) return rms_norm(x, scale, epsilon);
  const Tensor rows = reshape(widened(x), {count_before(x, axis), element_count(row)});
  return cast(reshape(rms_norm(rows, {}, epsilon), x.shape()) * scale, scale.dtype());
}

// Before opset 21 scale and bias are those of groups.
Tensor group_normalization(const Node& n) {
  const Tensor x = n.in(0);
  const std::int64_t groups = n.integer("num_groups");
  const auto of_channels = [&](std::size_t i) {
    const Tensor each = n.in(i);
    if (n.version() >= 21 || x.rank() < 2 || groups < 1) return each;
    return repeat(each, x.shape()[1] / groups, 0);
  };
  return group_norm(x, of_channels(1), of_channels(2), groups, epsilon_of(n));
}

// With the moments that are given, or in training with those of x, from which new running ones result. Before opset 14
// a node trains if it has more than one result; before opset 9 each element of a sample may be a channel of its own.
Tensors batch_normalization(const Node& n) {
  const Tensor given = n.in(0);
  const auto flat = [&](std::size_t i) {
    const Tensor each = n.in(i);
    return reshape(each, {each.size()});
  };
  const bool spatial = n.version() >= 9 || n.integer("spatial", 1) != 0;
  Tensor x = given;
  if (given.rank() == 1) x = reshape(given, {given.size(), 1});
  if (given.rank() > 1 && !spatial) x = reshape(given, {given.shape()[0], element_count(sizes_from(given, 1))});
  const Tensor scale = flat(1), bias = flat(2), running_mean = flat(3), running_variance = flat(4);
  const double epsilon = epsilon_of(n), momentum = n.number("momentum", 0.9F);
  const bool old = n.version() < 14;
  const bool trains = old ? n.wants(1) || n.wants(2) || n.wants(3) || n.wants(4) : n.integer("training_mode", 0) != 0;
  if (!trains) {
    return {reshape(batch_norm(x, running_mean, running_variance, scale, bias, epsilon), given.shape())};
  }
  std::vector<int> axes = axes_from(1, x.rank());
  axes[0] = 0;
  const Tensor wide = widened(x);
  const Tensor now_mean = mean(wide, axes), now_variance = variance(wide, axes);
  const auto like = [&](const Tensor& v, std::size_t i) { return reshape(cast(v, n.in(i).dtype()), n.in(i).shape()); };
  const auto moved = [&](const Tensor& before, const Tensor& now) {
    return widened(before) * momentum + now * (1 - momentum);
  };
  Tensors results = {reshape(batch_norm(x, now_mean, now_variance, scale, bias, epsilon), given.shape()),
                     like(moved(running_mean, now_mean), 3), like(moved(running_variance, now_variance), 4)};
  if (old) {
    results.push_back(like(now_mean, 3));
    results.push_back(like(now_variance, 4));
  }
  results.resize(std::min(results.size(), n.results()));
  return results;
}

// By the mean and the deviation over the axes.
Tensor mean_variance_normalization(const Node& n) {
  return in_f32(n.in(0), [&](const Tensor& x) {
    const std::vector<int> axes = axes_of(n, n.integers("axes", {0, 2, 3}), x.rank());
    return (x - mean(x, axes, true)) / (deviation(x, axes, 0, true) + 1e-9);
  });
}

// 0 where the norm is 0.
Tensor lp_normalization(const Node& n) {
  const std::int64_t p = n.integer("p", 2);
  if (p != 1 && p != 2) n.fail("p is {}, expected 1 or 2", p);
  return in_f32(n.in(0), [&](const Tensor& x) {
    const Tensor norm = reduce(p == 1 ? ReduceKind::l1 : ReduceKind::l2, x, axis_attribute(n, x.rank(), -1), true);
    return select(norm == 0, zeros_like(x), x / norm);
  });
}

// By the sum of squares of `size` channels around each.
Tensor local_response_normalization(const Node& n) {
  const std::int64_t size = n.integer("size");
  if (size < 1) n.fail("size is {}", size);
  return in_f32(n.in(0), [&](const Tensor& x) {
    if (x.rank() < 2) n.fail("the operand is {}, expected an axis of channels", to_string(x.shape()));
    Ints before(static_cast<std::size_t>(x.rank()), 0), after = before;
    before[1] = (size - 1) / 2;
    after[1] = size / 2;
    const Tensor squares = pad(square(x), before, after);
    const std::int64_t channels = x.shape()[1];
    Tensor sum = slice(squares, 1, 0, channels);
    for (std::int64_t i = 1; i < size; ++i) sum = sum + slice(squares, 1, i, i + channels);
    const double alpha = n.number("alpha", 1e-4F) / static_cast<double>(size);
    return x / pow(sum * alpha + n.number("bias", 1), n.number("beta", 0.75));
  });
}

// ---- Losses

LossReduction loss_reduction(const Node& n) {
  const std::string reduction = n.text("reduction", "mean");
  if (reduction == "none") return LossReduction::none;
  if (reduction == "mean") return LossReduction::mean;
  if (reduction == "sum") return LossReduction::sum;
  n.fail("reduction is '{}', expected none, mean or sum", reduction);
}
// Without the attribute no label is ignored.
std::int64_t ignored_label(const Node& n) {
  return n.integer("ignore_index", std::numeric_limits<std::int64_t>::min());
}

Tensor negative_log_likelihood_loss(const Node& n) {
  return nll_loss(n.in(0), n.in(1),
                  {.weights = n.maybe(2), .ignored = ignored_label(n), .reduction = loss_reduction(n), .axis = 1});
}
Tensors softmax_cross_entropy_loss(const Node& n) {
  const Tensor x = n.in(0);
  const Tensor loss = cross_entropy(
      x, n.in(1), {.weights = n.maybe(2), .ignored = ignored_label(n), .reduction = loss_reduction(n), .axis = 1});
  if (!n.wants(1)) return {loss};
  return {loss, log_softmax(x, 1)};
}

// ---- Products of matrices

// ---- Counts

// How often each n-gram of a pool is in each row, or that it is there, or both, times weights. The pool has its n-grams
// one after the other, first the single words, then the pairs, …; ngram_counts says where each length begins.
Tensor tf_idf(const Node& n) {
  Tensor x = n.in(0);
  if (n.attribute("pool_strings")) n.lacks("texts");
  const Ints pool = n.integers("pool_int64s"), begins = n.integers("ngram_counts"),
             places = n.integers("ngram_indexes");
  const std::int64_t most = n.integer("max_gram_length"), least = n.integer("min_gram_length");
  const std::int64_t skips = n.integer("max_skip_count");
  const std::string mode = n.text("mode");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") n.fail("mode is '{}', expected TF, IDF or TFIDF", mode);
  if (least < 1 || most < least || skips < 0) {
    n.fail("min_gram_length is {}, max_gram_length {} and max_skip_count {}", least, most, skips);
  }
  const bool row = x.rank() == 1;
  if (row) x = expand_dims(x, 0);
  if (x.rank() != 2) n.fail("the operand is {}, expected [words] or [batch, words]", to_string(x.shape()));
  const std::int64_t words = x.shape()[1];
  std::int64_t size = 0;
  for (const std::int64_t i : places) {
    if (i < 0 || i > INT32_MAX) n.fail("ngram_indexes has {}", i);
    size = std::max(size, i + 1);
  }
  const std::vector<double> weights = mode == "TF" ? std::vector<double>() : n.numbers("weights");
  if (!weights.empty() && weights.size() != places.size()) {
    n.fail("there are {} weights for {} n-grams", weights.size(), places.size());
  }
  Tensor counts = broadcast_to(Graph::scalar(0.0, DType::f32), {x.shape()[0], size});
  std::size_t gram = 0;  // of those before
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const auto length = static_cast<std::int64_t>(i) + 1;
    const std::int64_t begin = begins[i],
                       end = i + 1 < begins.size() ? begins[i + 1] : static_cast<std::int64_t>(pool.size());
    if (begin < 0 || end < begin || end > static_cast<std::int64_t>(pool.size()) || (end - begin) % length != 0) {
      n.fail("ngram_counts has {} to {} for n-grams of {} words, of a pool of {}", begin, end, length, pool.size());
    }
    const std::int64_t grams = (end - begin) / length;
    const std::size_t first = gram;
    gram += static_cast<std::size_t>(grams);
    if (gram > places.size()) n.fail("ngram_indexes has {} for {} n-grams", places.size(), gram);
    if (length < least || length > most || grams == 0) continue;
    const auto column = [&](std::int64_t word) {
      Ints of_word;
      for (std::int64_t g = 0; g < grams; ++g)
        of_word.push_back(pool[static_cast<std::size_t>(begin + g * length + word)]);
      return Graph::constant(TensorData::of<std::int64_t>({grams}, std::span<const std::int64_t>(of_word)));
    };
    Tensor found;  // [batch, grams]
    for (std::int64_t step = 1; step <= (length == 1 ? 1 : skips + 1); ++step) {
      const std::int64_t starts = words - (length - 1) * step;
      if (starts < 1) break;
      Tensor same;  // [batch, starts, grams]
      for (std::int64_t word = 0; word < length; ++word) {
        const Tensor here = cast(slice(x, 1, word * step, word * step + starts), DType::i64);
        const Tensor is = expand_dims(here, 2) == column(word);
        same = same.defined() ? logical_and(same, is) : is;
      }
      const Tensor sums = sum(cast(same, DType::f32), 1);
      found = found.defined() ? found + sums : sums;
    }
    if (!found.defined()) continue;
    if (mode == "IDF") found = cast(found > 0, DType::f32);
    if (!weights.empty()) {
      const std::vector<float> of_grams(weights.begin() + static_cast<std::ptrdiff_t>(first),
                                        weights.begin() + static_cast<std::ptrdiff_t>(gram));
      found = found * Graph::constant(TensorData::of<float>({grams}, std::span<const float>(of_grams)));
    }
    const Ints to(places.begin() + static_cast<std::ptrdiff_t>(first),
                  places.begin() + static_cast<std::ptrdiff_t>(gram));
    const Tensor at = Graph::constant(TensorData::of<std::int64_t>({1, grams}, std::span<const std::int64_t>(to)));
    counts = scatter_elements(ScatterKind::add, counts, broadcast_to(at, found.shape()), found, 1);
  }
  return row ? squeeze(counts, 0) : counts;
}

// In the operands' type.
Tensor product(const Tensor& a, const Tensor& b) {
  const DType type = a.dtype();
  if (is_integer(type) && bits(type) <= 32) return cast(matmul(a, b, type == DType::u32 ? type : DType::i32), type);
  return matmul(a, b);
}
Tensor scaled(const Tensor& x, double factor) { return factor == 1 ? x : cast(x * factor, x.dtype()); }

Tensor gemm(const Node& n) {
  Tensor a = n.in(0), b = n.in(1);
  if (n.integer("transA", 0) != 0) a = a.T();
  if (n.integer("transB", 0) != 0) b = b.T();
  const Tensor y = scaled(product(a, b), n.number("alpha", 1));
  const double beta = n.number("beta", 1);
  return n.has(2) && beta != 0 ? y + scaled(n.in(2), beta) : y;
}

Tensor einsum_of(const Node& n) {
  const Tensors operands = n.all();
  std::string equation = n.text("equation");
  std::erase(equation, ' ');
  return einsum(equation, operands);
}

constexpr OperatorRow kRows[] = {
    // ---- Reductions
    {"ArgMax", arg_of<argmax>},
    {"ArgMin", arg_of<argmin>},
    {"CumProd", scan_of<ScanKind::prod>, 26},
    {"CumSum", scan_of<ScanKind::sum>, 11},
    {"ReduceL1", reduce_of<ReduceKind::l1>},
    {"ReduceL2", reduce_of<ReduceKind::l2>},
    {"ReduceLogSum", reduce_of<ReduceKind::log_sum>},
    {"ReduceLogSumExp", reduce_of<ReduceKind::log_sum_exp>},
    {"ReduceMax", reduce_of<ReduceKind::max>},
    {"ReduceMean", reduce_of<ReduceKind::mean>},
    {"ReduceMin", reduce_of<ReduceKind::min>},
    {"ReduceProd", reduce_of<ReduceKind::prod>},
    {"ReduceSum", reduce_of<ReduceKind::sum, 13>},
    {"ReduceSumSquare", reduce_of<ReduceKind::sum_squares>},

    // ---- Softmax
    {"Hardmax", along_rows<hardmax>},
    {"Hardmax", along_axis<hardmax>, 13},
    {"LogSoftmax", along_rows<log_softmax>},
    {"LogSoftmax", along_axis<log_softmax>, 13},
    {"Softmax", along_rows<softmax>},
    {"Softmax", along_axis<softmax>, 13},

    // ---- Norms
    {"BatchNormalization", batch_normalization},
    {"GroupNormalization", one<group_normalization>, 18},
    {"InstanceNormalization",
     one<[](const Node& n) { return instance_norm(n.in(0), n.in(1), n.in(2), epsilon_of(n)); }>, 6},
    {"LRN", one<local_response_normalization>},
    {"LayerNormalization", layer_normalization, 17},
    {"LpNormalization", one<lp_normalization>},
    {"MeanVarianceNormalization", one<mean_variance_normalization>, 9},
    {"RMSNormalization", one<rms_normalization>, 23},

    // ---- Losses
    {"NegativeLogLikelihoodLoss", one<negative_log_likelihood_loss>, 12},
    {"SoftmaxCrossEntropyLoss", softmax_cross_entropy_loss, 12},

    // ---- Counts
    {"TfIdfVectorizer", one<tf_idf>, 9, "no texts"},

    // ---- Products of matrices
    {"Det", one<[](const Node& n) { return in_f32(n.in(0), [](const Tensor& x) { return det(x); }); }>, 11},
    {"Einsum", one<einsum_of>, 12},
    {"Gemm", one<gemm>},
    {"MatMul", one<[](const Node& n) { return product(n.in(0), n.in(1)); }>},
};

// ---- Read backwards

// Over the axes, in the result's type.
std::string reduced_by(const Written& w, std::string_view op, const std::string& x, int rank) {
  Ints axes = w.integers("axes");
  std::string y = x;
  if (axes.empty()) {  // each element by itself
    Shape one = w.shape(0);
    one.push_back(1);
    y = w.reshape(y, one);
    axes = {rank};
    return w.node(op, {y, w.constant(axes)}, {{"keepdims", std::int64_t{0}}});
  }
  return w.node(op, {y, w.constant(axes)}, {{"keepdims", std::int64_t{w.flag("keep_dims")}}});
}
template <const char* op>
std::string reduce_written(const Written& w) {
  // (ONNX Runtime reduces no u32; what is kept of a wider sum are its low bits.)
  const DType type = w.result().dtype, in = type == DType::u32 ? DType::i64 : type;
  return w.cast(reduced_by(w, op, w.cast(w.in(0), w.dtype(), in), w.rank()), in, type);
}
constexpr char kSum[] = "ReduceSum", kMean[] = "ReduceMean", kProd[] = "ReduceProd", kMin[] = "ReduceMin",
               kMax[] = "ReduceMax", kSumSquare[] = "ReduceSumSquare", kL1[] = "ReduceL1", kL2[] = "ReduceL2",
               kLogSum[] = "ReduceLogSum", kLogSumExp[] = "ReduceLogSumExp";

// How many elements are not 0, whether one is, and whether all are.
std::string truth_written(const Written& w) {
  const DType type = w.dtype();
  std::string truth = w.in(0);
  if (type != DType::boolean) {
    const DType wide = bits(type) < 8 || (is_floating(type) && bits(type) == 8) ? DType::f32 : type;
    truth = w.node("Not", {w.node("Equal", {w.cast(truth, type, wide), w.scalar(0, wide)})});
  }
  if (w.op() == "reduce_count") {
    const DType counts =
        w.result().dtype == DType::i32 || w.result().dtype == DType::i64 ? w.result().dtype : DType::i64;
    return w.cast(reduced_by(w, kSum, w.cast(truth, DType::boolean, counts), w.rank()), counts, w.result().dtype);
  }
  // Of no elements a maximum has no value, and a sum has: all are true if none is false.
  const bool all = w.op() == "reduce_all";
  if (all) truth = w.node("Not", {truth});
  const std::string count = reduced_by(w, kSum, w.cast(truth, DType::boolean, DType::i32), w.rank());
  const std::string some = w.node("Greater", {count, w.scalar(0, DType::i32)});
  return all ? w.node("Not", {some}) : some;
}

template <const char* op>
std::string arg_written(const Written& w) {
  const Ints axes = w.integers("axes");
  // Several axes count in row-major order: they become one, behind all others.
  std::string x = w.in(0);
  Ints order;
  Shape flat, kept = w.shape(0);
  for (int d = 0; d < w.rank(); ++d) {
    if (std::ranges::count(axes, d)) continue;
    order.push_back(d);
    flat.push_back(w.shape(0)[d]);
  }
  std::int64_t count = 1;
  for (const std::int64_t a : axes) {
    order.push_back(a);
    count *= w.shape(0)[static_cast<int>(a)];
    kept[static_cast<int>(a)] = 1;
  }
  std::int64_t axis = axes.size() == 1 ? axes[0] : flat.rank();
  if (axes.size() != 1) {
    flat.push_back(count);
    x = w.reshape(w.transpose(x, order), flat);
  }
  const std::string y = w.node(op, {x}, {{"axis", axis}, {"keepdims", std::int64_t{0}}});
  const std::string typed = w.cast(y, DType::i64, w.result().dtype);
  return w.flag("keep_dims") ? w.reshape(typed, kept) : typed;
}
constexpr char kArgMax[] = "ArgMax", kArgMin[] = "ArgMin";

std::string cumsum_written(const Written& w) {
  const DType type = w.result().dtype;
  const std::string x = w.cast(w.in(0), w.dtype(), type);
  return w.node("CumSum", {x, w.scalar(w.integer("axis"), DType::i64)},
                {{"reverse", std::int64_t{w.flag("reverse")}}, {"exclusive", std::int64_t{w.flag("exclusive")}}});
}

std::string softmax_node(const Written& w) {
  const DType type = w.result().dtype;
  const bool wide = type != w.dtype();
  const std::string x = wide ? w.cast(w.in(0), w.dtype(), DType::f32) : w.in(0);
  const std::string y = w.node("Softmax", {x}, {{"axis", w.integer("axis")}});
  return wide ? w.cast(y, DType::f32, type) : y;
}
ValueNames softmax_written(const Written& w) {
  return w.result().dtype == w.dtype() ? ValueNames{softmax_node(w)} : w.function(written<softmax_node>);
}
std::string log_softmax_written(const Written& w) {
  return w.node("LogSoftmax", {w.in(0)}, {{"axis", w.integer("axis")}});
}

std::string filled(const Written& w, double value, const Shape& shape, DType type) {
  return w.node("Expand", {w.scalar(value, type), w.constant(Ints(shape.begin(), shape.end()))});
}
// What a norm has of it: operand i behind x, or a constant.
struct NormOperands {
  std::string x, scale, bias;
};
NormOperands norm_operands(const Written& w, const Shape& shape, DType type) {
  const bool has_scale = !w.has("scale") || w.flag("scale"), has_bias = !w.has("bias") || w.flag("bias");
  std::size_t next = 1;
  NormOperands all{w.cast(w.in(0), w.dtype(), type), {}, {}};
  const auto take = [&](bool has, double otherwise) {
    if (!has) return filled(w, otherwise, shape, type);
    const std::size_t i = next++;
    return w.cast(w.in(i), w.dtype(i), type);
  };
  all.scale = take(has_scale && w.size() > 1, 1);
  all.bias = take(has_bias && next < w.size(), 0);
  return all;
}
std::string layer_norm_written(const Written& w) {
  const auto axis = static_cast<int>(w.integer("first_axis"));
  const Shape row(std::span(w.shape().begin() + axis, w.shape().end()));
  const DType type = w.dtype() == DType::f64 ? DType::f64 : w.dtype() == w.result().dtype ? w.dtype() : DType::f32;
  const NormOperands all = norm_operands(w, row, type);
  const std::string y = w.node("LayerNormalization", {all.x, all.scale, all.bias},
                               {{"axis", std::int64_t{axis}}, {"epsilon", w.number("epsilon")}});
  return w.cast(y, type, w.result().dtype);
}
std::string rms_norm_written(const Written& w) {
  const auto axis = static_cast<int>(w.integer("first_axis"));
  const DType type = w.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const std::string x = w.cast(w.in(0), w.dtype(), type);
  Ints axes;
  for (int d = axis; d < w.rank(); ++d) axes.push_back(d);
  const std::string squares = w.node("ReduceMean", {w.node("Mul", {x, x}), w.constant(axes)});
  const std::string root = w.node("Sqrt", {w.node("Add", {squares, w.scalar(w.number("epsilon"), type)})});
  std::string y = w.node("Div", {x, root});
  if (w.size() > 1) y = w.node("Mul", {y, w.cast(w.in(1), w.dtype(1), type)});
  return w.cast(y, type, w.result().dtype);
}
// Group and instance norm, whose channels ONNX has as axis 1.
std::string channel_norm_written(const Written& w) {
  const auto axis = static_cast<int>(w.integer("channel_axis"));
  const DType type = w.dtype() == DType::f64 ? DType::f64 : DType::f32;
  NormOperands all = norm_operands(w, {w.shape()[axis]}, type);
  Ints there{0, axis}, back(static_cast<std::size_t>(w.rank()));
  for (int d = 1; d < w.rank(); ++d) {
    if (d != axis) there.push_back(d);
  }
  for (std::size_t i = 0; i < there.size(); ++i)
    back[static_cast<std::size_t>(there[i])] = static_cast<std::int64_t>(i);
  if (axis == 0) w.lacks("channels as the first axis");
  if (axis != 1) all.x = w.transpose(all.x, there);
  const bool groups = w.op() == "group_norm";
  WrittenAttributes attributes{{"epsilon", w.number("epsilon")}};
  if (groups) attributes.push_back({"num_groups", w.integer("groups")});
  const std::string y = w.node(groups ? "GroupNormalization" : "InstanceNormalization", {all.x, all.scale, all.bias},
                               std::move(attributes));
  return w.cast(axis != 1 ? w.transpose(y, back) : y, type, w.result().dtype);
}

bool is_byte(DType type) { return type == DType::i8 || type == DType::u8; }
std::string matmul_node(const Written& w) {
  const DType type = w.result().dtype;
  if (is_byte(w.dtype(0)) && is_byte(w.dtype(1)) && type == DType::i32)
    return w.node("MatMulInteger", {w.in(0), w.in(1)});
  const bool floats = is_floating(type);
  const DType in = floats && bits(type) < 32 ? DType::f32 : type;
  return w.cast(w.node("MatMul", {w.cast(w.in(0), w.dtype(0), in), w.cast(w.in(1), w.dtype(1), in)}), in, type);
}
ValueNames matmul_written(const Written& w) {
  const bool same = w.dtype(0) == w.dtype(1) && w.dtype(0) == w.result().dtype;
  if (same && bits(w.dtype()) >= 16) return w.nodes("MatMul", w.all(), 1);
  return w.function(written<matmul_node>);
}

constexpr WriteRow kWritten[] = {
    by("reduce_sum", written<reduce_written<kSum>>),
    by("reduce_mean", written<reduce_written<kMean>>),
    by("reduce_prod", written<reduce_written<kProd>>),
    by("reduce_min", written<reduce_written<kMin>>),
    by("reduce_max", written<reduce_written<kMax>>),
    by("reduce_sum_squares", written<reduce_written<kSumSquare>>),
    by("reduce_l1", written<reduce_written<kL1>>),
    by("reduce_l2", written<reduce_written<kL2>>),
    by("reduce_log_sum", written<reduce_written<kLogSum>>),
    by("reduce_log_sum_exp", written<reduce_written<kLogSumExp>>),
    as_function("reduce_any", written<truth_written>),
    as_function("reduce_all", written<truth_written>),
    as_function("reduce_count", written<truth_written>),
    as_function("argmax", written<arg_written<kArgMax>>),
    as_function("argmin", written<arg_written<kArgMin>>),
    by("scan_sum", written<cumsum_written>),
    by("softmax", softmax_written),
    by("log_softmax", written<log_softmax_written>),
    as_function("layer_norm", written<layer_norm_written>),
    as_function("rms_norm", written<rms_norm_written>),
    as_function("group_norm", written<channel_norm_written>),
    as_function("instance_norm", written<channel_norm_written>),
    by("matmul", matmul_written),
};

}  // namespace

OperatorRows reduction_rows() { return {"", kRows, kWritten}; }

}  // namespace weft::onnx
