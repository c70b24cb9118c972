#include <algorithm>
#include <format>
#include <map>

#include "kernels/family.h"
#include "reports/drawing.h"

namespace weft {
namespace {

constexpr const char* kPort = "#cfe2f3";  // inputs and outputs

std::string escaped(std::string_view text) {
  std::string s;
  for (const char c : text) {
    if (c == '"' || c == '\\') s += '\\';
    s += c;
  }
  return s;
}

std::string html(std::string_view text) {
  std::string s;
  for (const char c : text) {
    if (c == '&')
      s += "&amp;";
    else if (c == '<')
      s += "&lt;";
    else if (c == '>')
      s += "&gt;";
    else
      s += c;
  }
  return s;
}

// A tint that black text is read on.
std::string tint(std::string_view family) { return kernels::family_colour(family, false) + "50"; }

class DotWriter {
 public:
  DotWriter(const Drawing& drawing, int depth)
      : drawing_(drawing), depth_(depth), summaries_(drawing.summaries()), members_(drawing.groups.size()) {
    for (std::size_t i = 0; i < drawing.boxes.size(); ++i) {
      members_[static_cast<std::size_t>(drawing.boxes[i].group)].boxes.push_back(static_cast<int>(i));
    }
    for (std::size_t g = 1; g < drawing.groups.size(); ++g) {
      members_[static_cast<std::size_t>(drawing.groups[g].parent)].groups.push_back(static_cast<int>(g));
    }
  }

  std::string run() {
    text_ =
        "digraph weft {\n  rankdir=TB;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", "
        "fontsize=10, color=\"#999999\", margin=\"0.12,0.06\"];\n  edge [fontname=\"sans-serif\", fontsize=9, "
        "fontcolor=\"#555555\", "
        "color=\"#777777\", arrowsize=0.7];\n  graph [fontname=\"sans-serif\", fontsize=11, ranksep=0.3, nodesep=0.25, "
        "color=\"#b0b0b0\", style=rounded];\n";
    legend();
    members(0, "  ");
    struct Drawn {
      std::string from, to, views;
      int latest = 0;  // of the boxes that it comes from
    };
    std::vector<Drawn> edges;
    std::map<std::pair<std::string, std::string>, std::size_t> known;
    std::map<std::string, int> latest;  // of all edges to a box
    for (const DrawnEdge& e : drawing_.edges) {
      const std::string from = name(e.from), to = name(e.to);
      if (from == to) continue;
      const auto [at, fresh] = known.emplace(std::pair(from, to), edges.size());
      if (fresh) edges.push_back({from, to, {}, 0});
      Drawn* const it = &edges[at->second];
      it->latest = std::max(it->latest, e.from);
      latest[to] = std::max(latest[to], e.from);
      for (const std::string& line : e.views) {
        if (it->views.find(line) == std::string::npos) it->views += (it->views.empty() ? "" : "\\n") + escaped(line);
      }
    }
    for (const Drawn& e : edges) {
      // The edge from what was computed last is straight, if it can be, so that layers stand below each other.
      text_ += std::format("  {} -> {}", e.from, e.to);
      const bool straight = e.latest == latest[e.to];
      if (straight || !e.views.empty()) {
        text_ += std::format(" [{}{}{}]", e.views.empty() ? "" : std::format("label=\"{}\"", e.views),
                             straight && !e.views.empty() ? ", " : "", straight ? "weight=20" : "");
      }
      text_ += ";\n";
    }
    return std::move(text_) + "}\n";
  }

 private:
  std::string name(int box) const {
    const int closed = drawing_.closed_group(box, depth_);
    return closed >= 0 ? std::format("g{}", closed) : std::format("n{}", box);
  }

  // What is directly in a group: its boxes, and the groups in it, closed or as clusters.
  void members(int group, const std::string& indent) {
    for (const int i : members_[static_cast<std::size_t>(group)].boxes) box(i, indent);
    for (const int g : members_[static_cast<std::size_t>(group)].groups) {
      const DrawnGroup& inner = drawing_.groups[static_cast<std::size_t>(g)];
      if (inner.level > depth_) {
        text_ += std::format(
            "{}g{} [label=\"{}\\l{}\\l\", shape=folder, style=filled, color=\"#999999\", fillcolor=\"#eeeeee\"];\n",
            indent, g, escaped(inner.name), wrapped(summaries_[static_cast<std::size_t>(g)]));
        continue;
      }
      text_ +=
          std::format("{0}subgraph cluster_{1} {{\n{0}  label=\"{2}\"; labeljust=l;\n", indent, g, escaped(inner.name));
      members(g, indent + "  ");
      text_ += indent + "}\n";
    }
  }

  void box(int index, const std::string& indent) {
    const DrawnBox& b = drawing_.boxes[static_cast<std::size_t>(index)];
    const char* const kind = b.kind == DrawnBox::Kind::input      ? "input "
                             : b.kind == DrawnBox::Kind::output   ? "output "
                             : b.kind == DrawnBox::Kind::constant ? "constant "
                                                                  : "";
    // \l: a line that is aligned to the left.
    std::string label = kind + escaped(b.title) + "\\l";
    if (!b.name.empty()) label += escaped(b.name) + "\\l";
    for (const std::string& type : b.types) label += type + "\\l";
    for (const std::string& constant : b.constants) label += "· " + escaped(constant) + "\\l";
    const std::string colour = b.kind == DrawnBox::Kind::op         ? tint(b.family)
                               : b.kind == DrawnBox::Kind::constant ? "#eeeeee"
                                                                    : kPort;
    text_ += std::format("{}n{} [label=\"{}\", fillcolor=\"{}\"];\n", indent, index, label, colour);
  }

  // Graphviz breaks no lines by itself: after a comma, where the next item would pass 44 characters.
  static std::string wrapped(std::string_view text) {
    std::string s;
    std::size_t line = 0;
    while (!text.empty()) {
      const auto comma = text.find(", ");
      const std::string_view item = text.substr(0, comma == std::string_view::npos ? comma : comma + 2);
      if (line > 0 && line + item.size() > 44) {
        s += "\\l";
        line = 0;
      }
      s += escaped(item);
      line += item.size();
      text.remove_prefix(item.size());
    }
    return s;
  }

  void legend() {
    text_ += "  legend [shape=plain, style=\"\", label=<<table border=\"0\" cellborder=\"0\" cellspacing=\"3\">";
    const auto row = [&](std::string_view colour, std::string_view words) {
      text_ +=
          std::format("<tr><td bgcolor=\"{}\" width=\"14\"></td><td align=\"left\">{}</td></tr>", colour, html(words));
    };
    row(kPort, "input, output");
    for (const std::string_view family : drawing_.families()) row(tint(family), family);
    const auto line = [&](std::string_view sign, std::string_view words) {
      text_ += std::format("<tr><td>{}</td><td align=\"left\">{}</td></tr>", html(sign), html(words));
    };
    line("·", "a constant that the box reads");
    line("→", "words on an arrow: a view, which moves nothing");
    bool open = false, closed = false;
    for (const DrawnGroup& g : drawing_.groups) (g.level > depth_ ? closed : open) |= g.level > 0;
    if (open) line("▢", "a frame: what has a label in common");
    if (closed) line("▤", "grey: a layer, closed (--depth opens it)");
    text_ += "</table>>];\n";
  }

  struct Members {
    std::vector<int> boxes, groups;
  };

  const Drawing& drawing_;
  int depth_;
  std::vector<std::string> summaries_;  // of each group
  std::vector<Members> members_;        // of each group
  std::string text_;
};

}  // namespace

std::string to_dot(const Graph& graph, const DrawOptions& options) {
  const Drawing drawing = draw(graph);
  return DotWriter(drawing, options.depth).run();
}

std::string Graph::to_dot() const { return weft::to_dot(*this, {}); }

}  // namespace weft
