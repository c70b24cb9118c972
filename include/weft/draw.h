// Drawings of graphs: Graphviz source, and a page on which a model's layers open and close. Labels group what they
// name: everything labelled "layers.0.query" or "layers.0.attention" is part of the layer "layers.0". Constants are
// lines of the boxes that read them, and views (reshape, transpose, slice, broadcast) are words on the edges, because
// neither computes anything.
#pragma once

#include <string>
#include <string_view>

#include "weft/graph.h"

namespace weft {

inline constexpr int kAllLevels = 1 << 20;

struct DrawOptions {
  // How many levels of layers are open: 0 draws each layer as one box, 1 what is in them, and so on.
  int depth = kAllLevels;
};

// Graphviz source, with a legend; layers that are open are clusters.
std::string to_dot(const Graph& graph, const DrawOptions& options = {});
// One self-contained HTML page, which lays the graph out by itself. `depth` is how it opens.
std::string graph_page(const Graph& graph, std::string_view title, const DrawOptions& options = {});
// The greatest depth at which a drawing has at most that many boxes, or 0.
int depth_of_boxes(const Graph& graph, int boxes);

}  // namespace weft
