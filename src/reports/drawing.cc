#include "reports/drawing.h"

#include <algorithm>
#include <format>
#include <iterator>
#include <map>
#include <ranges>
#include <set>

#include "core/in_quotes.h"
#include "graph/graph.h"
#include "graph/leaf.h"
#include "kernels/family.h"

namespace weft {
namespace {

using Path = std::vector<std::string>;

// "layers.0.query" → {"layers.0", "query"}: a number belongs to the part before it.
Path parts_of(std::string_view label) {
  Path parts;
  while (!label.empty()) {
    const auto dot = label.find('.');
    const std::string part(label.substr(0, dot));
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    if (number && !parts.empty())
      parts.back() += "." + part;
    else
      parts.push_back(part);
    label = dot == std::string_view::npos ? "" : label.substr(dot + 1);
  }
  return parts;
}

std::string joined(std::span<const std::string> parts, std::string_view between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : std::string(between)) + part;
  return text;
}

// A node's own label and those of what was fused into it.
std::vector<Path> labels_of(const Node& node, const Graph& graph) {
  std::vector<Path> paths;
  const auto add = [&](const std::string* label) {
    if (Path path = parts_of(*label); std::ranges::find(paths, path) == paths.end()) paths.push_back(std::move(path));
  };
  if (node.label()) add(node.label());
  if (const auto it = graph.impl().labels.find(node.sequence()); it != graph.impl().labels.end()) {
    for (const std::string* label : it->second) add(label);
  }
  return paths;
}

// How many parts all of them begin with.
std::size_t common_parts(const std::vector<Path>& paths) {
  if (paths.empty()) return 0;
  std::size_t n = 0;
  while (std::ranges::all_of(paths, [&](const Path& p) { return p.size() > n && p[n] == paths[0][n]; })) ++n;
  return n;
}

// A view in NumPy's terms (transpose, slice, …); for strides, into which the compiler merges views, found from the
// layout.
std::vector<std::string> words_of(const Node& view) {
  const std::string_view name = view.op().name();
  if (name == "permute") return {"transpose"};
  if (name != "strided") return {std::string(name)};
  const Layout source(view.inputs()[0].shape());
  const std::optional<Placement> shown = view.op().view_layout(source);
  if (!shown) return {std::string(name)};
  std::vector<std::string> words;
  std::int64_t reached = 1, before = 0;
  bool broadcast = false, transposed = false;
  for (int d = 0; d < shown->layout.rank(); ++d) {
    const std::int64_t size = shown->layout.shape[d], stride = shown->layout.strides[d];
    if (size == 1) continue;
    if (stride == 0) {
      broadcast = true;
      continue;
    }
    transposed |= before > 0 && std::abs(stride) > before;
    before = std::abs(stride);
    reached *= size;
  }
  if (reached < element_count(source.shape)) words.push_back("slice");
  if (transposed) words.push_back("transpose");
  if (broadcast) words.push_back("broadcast");
  if (words.empty()) words.push_back("reshape");
  return words;
}

// A value without the views above it, and these as a line: "slice, transpose [8, 12, 32, 32]"; empty: none.
struct Source {
  Tensor value;
  std::string views;
};
Source source_of(const Tensor& v) {
  Source s{v, {}};
  std::vector<std::string> words;
  for (; s.value.node()->op().is_view(); s.value = s.value.node()->inputs()[0]) {
    std::vector<std::string> more = words_of(*s.value.node());
    std::ranges::move(more | std::views::reverse, std::back_inserter(words));
  }
  std::ranges::reverse(words);
  const auto doubled = std::ranges::unique(words);
  words.erase(doubled.begin(), doubled.end());
  if (!words.empty()) s.views = joined(words, ", ") + " " + to_string(v.shape());
  return s;
}

// A name without the groups that it is in anyway: "query.bias" of "layers.0.query.bias" in "layers.0" or below.
std::string_view within(std::string_view name, std::span<const std::string> group) {
  for (const std::string& part : group) {
    if (!name.starts_with(part) || name.size() == part.size() || name[part.size()] != '.') break;
    name.remove_prefix(part.size() + 1);
  }
  return name;
}

// The same of several: "query+key" of "layers.0.query+layers.0.key".
std::string all_within(std::string_view names, std::span<const std::string> group) {
  std::string text;
  while (!names.empty()) {
    const auto plus = names.find('+');
    text += (text.empty() ? "" : "+") + std::string(within(names.substr(0, plus), group));
    names = plus == std::string_view::npos ? "" : names.substr(plus + 1);
  }
  return text;
}

std::string constant_text(const Node& node, std::span<const std::string> group) {
  const ConstantOp& op = *node.op().constant();
  std::string text = all_within(op.constant_name(), group);
  if (const auto value = op.scalar()) text += (text.empty() ? "" : " = ") + to_string(Number(*value));
  return (text.empty() ? "constant" : text) + " " + to_string(node.types()[0]);
}

class Drawer {
 public:
  explicit Drawer(const Graph& graph) : graph_(graph) { drawing_.groups.push_back({}); }

  Drawing run() {
    for (const NodePtr& node : graph_.impl().nodes()) {
      if (!node->op().is_view() && !node->op().constant()) add(*node);
    }
    for (const GraphPort& o : graph_.impl().outputs) {
      const Source source = source_of(o.value);
      if (source.value.node()->op().constant()) add(*source.value.node());
      DrawnBox box{.kind = DrawnBox::Kind::output, .title = o.name, .types = {to_string(o.value.type())}};
      box.text = std::format("output {}", in_quotes(o.name));
      connect(source, static_cast<int>(drawing_.boxes.size()));
      drawing_.boxes.push_back(std::move(box));
    }
    dissolve();
    return std::move(drawing_);
  }

 private:
  int group(std::span<const std::string> path) {
    int at = 0;
    for (std::size_t n = 1; n <= path.size(); ++n) {
      const auto [it, fresh] = groups_.emplace(Path(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(n)),
                                               static_cast<int>(drawing_.groups.size()));
      if (fresh) drawing_.groups.push_back({path[n - 1], at, static_cast<int>(n)});
      at = it->second;
    }
    return at;
  }

  void add(const Node& node) {
    if (boxes_.contains(node)) return;
    const int index = static_cast<int>(drawing_.boxes.size());
    boxes_.insert(node, index);
    DrawnBox box;
    box.text = to_string(node, graph_);
    for (const TensorType& t : node.types()) box.types.push_back(to_string(t));
    const Op& op = node.op();
    if (op.is_leaf()) {
      box.kind = op.constant() ? DrawnBox::Kind::constant : DrawnBox::Kind::input;
      box.title = op.input()      ? op.input()->input_name()
                  : op.number()   ? op.number()->number_name()
                  : op.constant() ? op.constant()->constant_name()
                                  : std::string("data");
      if (box.title.empty()) box.title = op.name();
      drawing_.boxes.push_back(std::move(box));
      return;
    }
    const std::vector<Path> labels = labels_of(node, graph_);
    const std::size_t shared = common_parts(labels);
    std::span<const std::string> path;
    if (!labels.empty()) path = std::span(labels[0]).first(shared);
    box.group = group(path);
    std::vector<std::string> names;
    for (const Path& label : labels) {
      if (label.size() > shared) names.push_back(joined(std::span(label).subspan(shared), "."));
    }
    box.name = joined(names, "+");
    box.title = op.label(node.input_types());
    box.family = kernels::kernel_family(op.name());
    for (const Tensor& v : node.inputs()) {
      const Source source = source_of(v);
      if (source.value.node()->op().constant())
        box.constants.push_back(constant_text(*source.value.node(), path));
      else
        connect(source, index);
    }
    drawing_.boxes.push_back(std::move(box));
  }

  void connect(const Source& source, int to) {
    const int from = boxes_.find(*source.value.node());
    auto [it, fresh] = edges_.emplace(std::pair(from, to), drawing_.edges.size());
    if (fresh) drawing_.edges.push_back({from, to, {}});
    std::vector<std::string>& views = drawing_.edges[it->second].views;
    if (!source.views.empty() && std::ranges::find(views, source.views) == views.end()) views.push_back(source.views);
  }

  // A frame around one box says nothing that the box does not.
  void dissolve() {
    std::vector<DrawnGroup>& groups = drawing_.groups;
    std::vector<int> boxes(groups.size(), 0), heir(groups.size());
    for (const DrawnBox& box : drawing_.boxes) {
      for (int g = box.group; g >= 0; g = groups[static_cast<std::size_t>(g)].parent)
        ++boxes[static_cast<std::size_t>(g)];
    }
    std::vector<DrawnGroup> kept;
    std::vector<std::string> prefix(groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto parent = static_cast<std::size_t>(std::max(groups[g].parent, 0));
      if (g > 0 && boxes[g] < 2) {
        heir[g] = heir[parent];
        prefix[g] = prefix[parent] + groups[g].name + ".";
        continue;
      }
      heir[g] = static_cast<int>(kept.size());
      const int above = g ? heir[parent] : -1;
      kept.push_back({groups[g].name, above, g ? kept[static_cast<std::size_t>(above)].level + 1 : 0});
    }
    for (DrawnBox& box : drawing_.boxes) {
      const auto g = static_cast<std::size_t>(box.group);
      box.name = prefix[g] + box.name;
      if (box.name.ends_with('.')) box.name.pop_back();
      if (box.name == box.title) box.name.clear();
      box.group = heir[g];
    }
    groups = std::move(kept);
  }

  const Graph& graph_;
  Drawing drawing_;
  NodeIds boxes_;  // in drawing_
  std::map<Path, int> groups_;
  std::map<std::pair<int, int>, std::size_t> edges_;
};

}  // namespace

Drawing draw(const Graph& graph) { return Drawer(graph).run(); }

int Drawing::closed_group(int box, int depth) const {
  int closed = -1;
  for (int g = boxes[static_cast<std::size_t>(box)].group; g > 0; g = groups[static_cast<std::size_t>(g)].parent) {
    if (groups[static_cast<std::size_t>(g)].level > depth) closed = g;
  }
  return closed;
}

std::vector<std::string_view> Drawing::families() const {
  std::vector<std::string_view> list;
  for (const std::string_view family : kernels::kernel_families()) {
    if (std::ranges::find(boxes, family, &DrawnBox::family) != boxes.end()) list.push_back(family);
  }
  return list;
}

std::vector<std::string> Drawing::summaries() const {
  struct Counts {
    std::vector<std::pair<std::string_view, int>> titles;  // in order
    std::map<std::string_view, std::size_t> index;
  };
  std::vector<Counts> counts(groups.size());
  for (const DrawnBox& box : boxes) {
    for (int g = box.group; g >= 0; g = groups[static_cast<std::size_t>(g)].parent) {
      Counts& of = counts[static_cast<std::size_t>(g)];
      const auto [it, fresh] = of.index.emplace(box.title, of.titles.size());
      if (fresh) of.titles.emplace_back(box.title, 0);
      ++of.titles[it->second].second;
    }
  }
  std::vector<std::string> texts;
  for (const Counts& of : counts) {
    std::string& text = texts.emplace_back();
    for (const auto& [title, count] : of.titles) {
      text += (text.empty() ? "" : ", ") + std::string(title) + (count > 1 ? std::format(" ×{}", count) : "");
    }
  }
  return texts;
}

int depth_of_boxes(const Graph& graph, int boxes) {
  const Drawing drawing = draw(graph);
  int deepest = 0, depth = 0;
  for (const DrawnGroup& g : drawing.groups) deepest = std::max(deepest, g.level);
  for (int d = 1; d <= deepest; ++d) {
    std::set<int> closed;
    int drawn = 0;
    for (std::size_t i = 0; i < drawing.boxes.size(); ++i) {
      const int g = drawing.closed_group(static_cast<int>(i), d);
      if (g < 0 || closed.insert(g).second) ++drawn;
    }
    if (drawn > boxes) break;
    depth = d;
  }
  return depth;
}

}  // namespace weft
