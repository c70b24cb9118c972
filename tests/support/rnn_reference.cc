// The reference of recurrent networks.
#include <algorithm>
#include <cmath>

#include "kernels/cpu_loops.h"
#include "kernels/rnn/recurrence.h"
#include "support/kernel_references.h"

namespace weft::test {
using namespace kernels;

namespace {

// Element [i…] of a view; 0 of one that is not given.
struct Reals {
  const View* view;
  double operator()(std::initializer_list<std::int64_t> at) const {
    if (!view) return 0;
    std::int64_t offset = 0;
    int axis = 0;
    for (const std::int64_t i : at) offset += i * view->strides()[axis++];
    return with_type(view->dtype, [&]<class T>() -> double {
      if constexpr (std::is_convertible_v<T, double>)
        return static_cast<double>(data<const T>(*view)[offset]);
      else
        return 0;
    });
  }
};

// Stores v; returns it as it was rounded.
double store(const View& view, std::initializer_list<std::int64_t> at, double v) {
  std::int64_t offset = 0;
  int axis = 0;
  for (const std::int64_t i : at) offset += i * view.strides()[axis++];
  with_type(view.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, double>)
      data<T>(view)[offset] = v;
    else if constexpr (std::is_constructible_v<T, float>)
      data<T>(view)[offset] = T(static_cast<float>(v));
  });
  return Reals{&view}(at);
}

double activate(const Recurrence& r, std::size_t k, double x) {
  const RnnActivation& a = r.activations[k];
  if (const auto limit = r.limit(k); limit && !std::isnan(x)) x = std::clamp(x, -*limit, *limit);
  switch (a.function) {
    case RnnFunction::sigmoid:
      return 1 / (1 + std::exp(-x));
    case RnnFunction::tanh:
      return std::tanh(x);
    case RnnFunction::relu:
      return x < 0 ? 0 : x;
    case RnnFunction::affine:
      return a.alpha * x + a.beta;
    case RnnFunction::leaky_relu:
      return x < 0 ? a.alpha * x : x;
    case RnnFunction::thresholded_relu:
      return x < a.alpha ? 0 : x;
    case RnnFunction::scaled_tanh:
      return a.alpha * std::tanh(a.beta * x);
    case RnnFunction::hard_sigmoid:
      return std::isnan(x) ? x : std::clamp(a.alpha * x + a.beta, 0.0, 1.0);
    case RnnFunction::elu:
      return x < 0 ? a.alpha * std::expm1(x) : x;
    case RnnFunction::softsign:
      return x / (1 + std::abs(x));
    case RnnFunction::softplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
  }
  return x;
}

}  // namespace

void recur_reference(const Recurrence& recurrence, const RnnInputs& in, const RnnOutputs& out) {
  const auto reals = [](const std::optional<View>& v) { return Reals{v ? &*v : nullptr}; };
  const Reals x{&in.x}, w{&in.w}, r{&in.r}, bias = reals(in.bias), recurrent_bias = reals(in.recurrent_bias);
  const Reals peephole = reals(in.peephole), lengths = reals(in.lengths);
  const Reals initial_h = reals(in.initial_h), initial_c = reals(in.initial_c);
  const std::int64_t steps = in.x.shape()[0], batch = in.x.shape()[1], inputs = in.x.shape()[2];
  const std::int64_t hidden = in.r.shape()[2];
  const auto n = static_cast<std::size_t>(hidden);
  for (std::int64_t d = 0; d < recurrence.directions(); ++d) {
    for (std::int64_t b = 0; b < batch; ++b) {
      std::vector<double> h(n), c(n), next(n), reset(n);
      for (std::int64_t j = 0; j < hidden; ++j) {
        h[static_cast<std::size_t>(j)] = store(out.h, {d, b, j}, initial_h({d, b, j}));
        c[static_cast<std::size_t>(j)] = initial_c({d, b, j});
      }
      const auto length =
          in.lengths ? std::clamp<std::int64_t>(static_cast<std::int64_t>(lengths({b})), 0, steps) : steps;
      for (std::int64_t i = 0; i < steps && out.y; ++i) {
        for (std::int64_t j = 0; j < hidden; ++j) store(*out.y, {i, d, b, j}, 0);
      }
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t t = recurrence.reverse(d) ? length - 1 - i : i;
        const auto row = [&](int gate, std::int64_t j) {
          return recurrence.places[static_cast<std::size_t>(gate)] * hidden + j;
        };
        const auto of_input = [&](int gate, std::int64_t j) {
          double sum = bias({d, row(gate, j)});
          for (std::int64_t k = 0; k < inputs; ++k) sum += x({t, b, k}) * w({d, row(gate, j), k});
          return sum;
        };
        const auto of_state = [&](int gate, std::int64_t j, const std::vector<double>& state) {
          double sum = recurrent_bias({d, row(gate, j)});
          for (std::int64_t k = 0; k < hidden; ++k) sum += state[static_cast<std::size_t>(k)] * r({d, row(gate, j), k});
          return sum;
        };
        const auto sum = [&](int gate, std::int64_t j) { return of_input(gate, j) + of_state(gate, j, h); };
        for (std::int64_t j = 0; j < hidden && recurrence.kind == RnnKind::gru; ++j) {
          reset[static_cast<std::size_t>(j)] = activate(recurrence, 0, sum(0, j));
        }
        std::vector<double> kept = h;
        for (std::size_t k = 0; k < n; ++k) kept[k] *= reset[k];
        for (std::int64_t j = 0; j < hidden; ++j) {
          const auto at = static_cast<std::size_t>(j);
          if (recurrence.kind == RnnKind::rnn) {
            next[at] = activate(recurrence, 0, sum(0, j));
          } else if (recurrence.kind == RnnKind::gru) {
            const double z = activate(recurrence, 0, sum(1, j));
            const double state = recurrence.reset_after ? reset[at] * of_state(2, j, h) : of_state(2, j, kept);
            next[at] = (1 - z) * activate(recurrence, 1, of_input(2, j) + state) + z * h[at];
          } else {
            const auto weight = [&](std::int64_t which) { return peephole({d, which * hidden + j}); };
            const double input = activate(recurrence, 0, sum(0, j) + weight(0) * c[at]);
            const double forget =
                recurrence.coupled ? 1 - input : activate(recurrence, 0, sum(1, j) + weight(2) * c[at]);
            const double before = c[at];
            c[at] = forget * c[at] + input * activate(recurrence, 1, sum(2, j));
            const double peeped = recurrence.output_peephole_after ? c[at] : before;
            next[at] = activate(recurrence, 0, sum(3, j) + weight(1) * peeped) * activate(recurrence, 2, c[at]);
          }
        }
        for (std::int64_t j = 0; j < hidden; ++j) {
          const auto at = static_cast<std::size_t>(j);
          h[at] = store(out.h, {d, b, j}, next[at]);
          if (out.y) store(*out.y, {t, d, b, j}, h[at]);
        }
      }
      for (std::int64_t j = 0; j < hidden && out.c; ++j) store(*out.c, {d, b, j}, c[static_cast<std::size_t>(j)]);
    }
  }
}

}  // namespace weft::test
