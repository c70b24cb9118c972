// A network learns the motion of a damped spring from its equation alone, without a single measurement:
// fit_physics [OUTPUT.svg]. The loss contains the network's first and second derivatives in time; its gradient is a
// third. (Lagaris, Likas and Fotiadis, "Artificial Neural Networks for Solving Ordinary and Partial Differential
// Equations", 1998.)
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "weft/array.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/random.h"
#include "weft/traced.h"

using namespace weft;

namespace {

// u'' + 2 damping u' + stiffness u = 0, u(0) = 1, u'(0) = 0.
constexpr double kDamping = 0.5, kStiffness = 9;
constexpr int kSteps = 5000, kTimes = 128;
constexpr double kEnd = 3;

struct Layer {
  Tensor weights, bias;
};
using Network = std::vector<Layer>;

struct State {  // of Adam: means of the gradient and of its square
  Network mean, square;
  Tensor step;
};

Layer layer(std::int64_t from, std::int64_t to) {
  return {random::normal({from, to}, 0, std::sqrt(2.0 / static_cast<double>(from + to))), zeros({to})};
}

// [n, 1] times → [n, 1]: 1 + t² N(t), which has the right start whatever the network N says.
Tensor displacement(const Network& net, const Tensor& t) {
  Tensor h = t * (2 / kEnd) - 1;
  for (std::size_t i = 0; i < net.size(); ++i) {
    h = matmul(h, net[i].weights) + net[i].bias;
    if (i + 1 < net.size()) h = tanh(h);
  }
  return 1 + t * t * h;
}

// How far the equation is from being fulfilled, as a mean of squares.
Tensor loss(const Network& net, const Tensor& t) {
  const auto u = [&](const Tensor& at) { return displacement(net, at); };
  return mean(square(nth_derivative(u, 2)(t) + 2 * kDamping * nth_derivative(u, 1)(t) + kStiffness * u(t)));
}

// Adam (Kingma and Ba, 2015) on one tensor.
Tensor update(Tensor& mean, Tensor& squares, const Tensor& parameter, const Tensor& gradient, const Tensor& step) {
  constexpr double kFirst = 0.9, kSecond = 0.999, kRate = 1e-2;
  mean = kFirst * mean + (1 - kFirst) * gradient;
  squares = kSecond * squares + (1 - kSecond) * square(gradient);
  // The rate falls to a hundredth.
  const Tensor rate = kRate * exp(step * (std::log(0.01) / kSteps));
  return parameter - rate * (mean / (1 - pow(kFirst, step))) / (sqrt(squares / (1 - pow(kSecond, step))) + 1e-8);
}

double exact(double t) {
  const double w = std::sqrt(kStiffness - kDamping * kDamping);
  return std::exp(-kDamping * t) * (std::cos(w * t) + kDamping / w * std::sin(w * t));
}

std::string curve(const std::vector<float>& t, const std::vector<float>& u) {
  std::string points;
  for (std::size_t i = 0; i < t.size(); ++i) {
    points += std::to_string(60 + t[i] / kEnd * 560) + "," + std::to_string(200 - u[i] * 150) + " ";
  }
  return points;
}

// The motion as it is and as the network has it.
void draw(const std::string& path, const std::vector<float>& t, const std::vector<float>& learned,
          const std::vector<float>& truth) {
  std::ofstream svg(path);
  svg << R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 400" font-family="sans-serif" font-size="13">
<rect width="640" height="400" fill="#fff"/>
<line x1="60" y1="200" x2="620" y2="200" stroke="#bbb"/><line x1="60" y1="40" x2="60" y2="360" stroke="#bbb"/>
<text x="50" y="54" text-anchor="end">1</text><text x="50" y="204" text-anchor="end">0</text>
<text x="50" y="354" text-anchor="end">-1</text><text x="620" y="220" text-anchor="end">3 s</text>
<text x="60" y="24" font-size="15">u″ + u′ + 9 u = 0, learned from the equation alone</text>
<polyline fill="none" stroke="#c8cdd3" stroke-width="7" points=")"
      << curve(t, truth) << R"("/>
<polyline fill="none" stroke="#0b62d6" stroke-width="2" points=")"
      << curve(t, learned) << R"("/>
<line x1="430" y1="60" x2="460" y2="60" stroke="#c8cdd3" stroke-width="7"/><text x="470" y="64">the solution</text>
<line x1="430" y1="84" x2="460" y2="84" stroke="#0b62d6" stroke-width="2"/><text x="470" y="88">the network</text>
</svg>
)";
}

}  // namespace

int main(int argc, char** argv) {
  random::seed(3);
  Network net{layer(1, 32), layer(32, 32), layer(32, 1)};
  State state{net, net, tensor(0.0f)};
  for (Network* part : {&state.mean, &state.square}) {
    for (Layer& l : *part) l = {zeros_like(l.weights), zeros_like(l.bias)};
  }
  const Tensor t = reshape(linspace(0, kEnd, kTimes), {kTimes, 1});

  // A whole step of training is one function: it is traced once, and runs as a few kernels.
  const auto step = compile([](Network net, State state, const Tensor& t) {
    const auto [value, gradient] = value_and_grad(loss)(net, t);
    state.step = state.step + 1;
    for (std::size_t i = 0; i < net.size(); ++i) {
      net[i].weights =
          update(state.mean[i].weights, state.square[i].weights, net[i].weights, gradient[i].weights, state.step);
      net[i].bias = update(state.mean[i].bias, state.square[i].bias, net[i].bias, gradient[i].bias, state.step);
    }
    return std::tuple(net, state, value);
  });
  Tensor value;
  for (int i = 0; i < kSteps; ++i) {
    std::tie(net, state, value) = step(net, state, t);
    if (i % 1000 == 0) std::printf("step %4d  loss %.3g\n", i, value.item<double>());
  }

  const auto times = t.to_vector<float>(), learned = displacement(net, t).to_vector<float>();
  std::vector<float> truth;
  double worst = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    truth.push_back(static_cast<float>(exact(times[i])));
    worst = std::max(worst, std::abs(static_cast<double>(truth[i] - learned[i])));
  }
  std::printf("step %4d  loss %.3g; the motion is right within %.2g\n", kSteps, value.item<double>(), worst);
  const std::string path = argc > 1 ? argv[1] : "fit_physics.svg";
  draw(path, times, learned, truth);
  std::printf("%s shows it\n", path.c_str());
  return worst < 0.05 ? 0 : 1;
}
