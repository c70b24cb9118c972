// What is drawn of a graph: boxes in a tree of groups, and edges between boxes. DOT (dot.cc) and the page
// (drawing_page.cc) show the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/html_page.h"
#include "weft/draw.h"

namespace weft {

struct DrawnBox {
  enum class Kind : std::uint8_t { input, constant, op, output };
  Kind kind = Kind::op;
  int group = 0;                       // in Drawing::groups
  std::string title;                   // "matmul+bias", or the name of an input, constant or output
  std::string name;                    // its label within the group: "query+key+value"; may be empty
  std::vector<std::string> types;      // of the results
  std::vector<std::string> constants;  // that it reads: "query.bias f32 [384]"
  std::string_view family;             // of an op, else empty (kernels/family.h)
  std::string text;                    // all that the graph's text says of it, and its whole labels
};

struct DrawnEdge {
  int from = 0, to = 0;            // in Drawing::boxes
  std::vector<std::string> views;  // between them, one of several edges a line: "slice, transpose [8, 12, 32, 32]"
};

// Everything whose labels begin with the same parts. Groups of one box are dissolved.
struct DrawnGroup {
  std::string name;  // "layers.0"; empty: the whole graph, which is group 0
  int parent = -1;
  int level = 0;  // of the whole graph: 0
};

struct Drawing {
  std::vector<DrawnBox> boxes;  // in an order in which they can be computed
  std::vector<DrawnEdge> edges;
  std::vector<DrawnGroup> groups;  // parents first

  // The closed group that stands for the box when groups below `depth` are closed; -1: the box itself is drawn.
  int closed_group(int box, int depth) const;
  // The families of the boxes, in the order of kernels::kernel_families().
  std::vector<std::string_view> families() const;
  // Of each group how many boxes there are of each title: "matmul+bias ×4, attention".
  std::vector<std::string> summaries() const;
};

Drawing draw(const Graph& graph);

extern const PageTexts kDrawingPage;  // drawing.html, drawing.css and drawing.js

}  // namespace weft
