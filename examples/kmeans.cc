// k-means finds the ten digits in 1,797 handwritten ones, without being told which is which: kmeans [DIRECTORY].
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "weft/array.h"
#include "weft/evaluate.h"
#include "weft/files.h"
#include "weft/graph.h"
#include "weft/indexing.h"
#include "weft/random.h"

using namespace weft;

namespace {

constexpr int kClusters = 10;

// The squared distances of points [n, d] to centres [k, d]: [n, k].
Tensor distances(const Tensor& points, const Tensor& centres) {
  return square(points).sum(1, true) - 2 * matmul(points, centres.T()) + square(centres).sum(1);
}

struct Clusters {
  Tensor centres;  // [k, d]
  Tensor nearest;  // i32 [n]: the centre of each point
  float spread;    // mean squared distance of a point to its centre
};

Clusters kmeans(const Tensor& points) {
  auto centres = random::permutation(points)[slice(0, kClusters)];
  for (float before = INFINITY;;) {
    auto distance = distances(points, centres);
    auto nearest = argmin(distance, 1);
    const auto spread = min(distance, 1).mean().item<float>();
    if (spread >= before) return {centres, nearest, spread};
    before = spread;
    auto member = one_hot(nearest, kClusters);  // [n, k]
    auto size = expand_dims(member.sum(0), 1);
    centres = where(size > 0, matmul(member.T(), points) / maximum(size, 1), centres);  // an empty cluster stays
  }
}

// Pictures of 8x8 pixels from 0 to 16, side by side.
void show(const std::vector<float>& pictures, int first, int count) {
  static const char* const kInk[] = {"  ", "░░", "▒▒", "▓▓", "██"};
  for (int row = 0; row < 8; ++row) {
    for (int i = first; i < first + count; ++i) {
      for (int column = 0; column < 8; ++column) {
        std::printf("%s", kInk[static_cast<int>(pictures[static_cast<std::size_t>(i * 64 + row * 8 + column)] / 3.4f)]);
      }
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path directory = argc > 1 ? argv[1] : WEFT_EXAMPLE_DATA;
  const auto points = load(directory / "digits.npy").cast(DType::f32);
  const auto labels = load(directory / "digits_labels.npy").cast(DType::i32);

  // It finds the best clusters near those that it begins with; of a few beginnings one is good.
  random::seed(3);
  Clusters best{.spread = INFINITY};
  for (int i = 0; i < 8; ++i) {
    auto found = kmeans(points);
    std::printf("mean squared distance to the next centre %.2f\n", found.spread);
    if (found.spread < best.spread) best = found;
  }
  // How often each digit is in each cluster. A cluster stands for its most frequent digit.
  auto table = matmul(one_hot(best.nearest, kClusters).T(), one_hot(labels, 10));
  auto digit = argmax(table, 1);
  const auto purity = max(table, 1).sum().item<float>() / static_cast<float>(points.shape()[0]);
  const auto order = argsort(digit);
  show(best.centres[order].to_vector<float>(), 0, 5);
  show(best.centres[order].to_vector<float>(), 5, 5);
  for (const int d : digit[order].to_vector<int>()) std::printf("%d ", d);
  std::printf("are what the clusters stand for; %.1f %% of the digits are in the right one\n", 100 * purity);
  return purity > 0.75f ? 0 : 1;
}
