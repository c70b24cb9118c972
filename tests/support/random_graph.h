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

RandomGraph random_graph(unsigned seed);

}  // namespace weft::test
