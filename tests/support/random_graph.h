// Random graphs over all ops, small, with bounded values, reproducible from a seed.
#pragma once

#include <map>
#include <random>

#include "weft/graph.h"

namespace weft::test {

struct RandomGraph {
  Graph graph;
  std::map<std::string, TensorData> inputs;
};

// `dtype` is the type of floats inside the graph; outputs are f32.
RandomGraph random_graph(unsigned seed, DType dtype = DType::f32);

}  // namespace weft::test
