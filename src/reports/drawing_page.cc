// The page of `weft graph --output FILE.html` and of graph_page(): a single file that loads nothing from elsewhere. Its
// body, style and script are drawing.html, drawing.css and drawing.js.

#include <nlohmann/json.hpp>

#include "kernels/family.h"
#include "reports/drawing.h"

namespace weft {

std::string graph_page(const Graph& graph, std::string_view title, const DrawOptions& options) {
  using nlohmann::ordered_json;
  const Drawing drawing = draw(graph);
  constexpr const char* kKinds[] = {"input", "constant", "op", "output"};
  ordered_json json{{"title", title}, {"depth", options.depth}};
  for (const char* list : {"boxes", "edges", "groups"}) json[list] = ordered_json::array();
  for (const DrawnBox& b : drawing.boxes) {
    json["boxes"].push_back({{"kind", kKinds[static_cast<int>(b.kind)]},
                             {"group", b.group},
                             {"title", b.title},
                             {"name", b.name},
                             {"types", b.types},
                             {"constants", b.constants},
                             {"family", b.family},
                             {"text", b.text}});
  }
  for (const DrawnEdge& e : drawing.edges)
    json["edges"].push_back({{"from", e.from}, {"to", e.to}, {"views", e.views}});
  const std::vector<std::string> summaries = drawing.summaries();
  for (std::size_t g = 0; g < drawing.groups.size(); ++g) {
    const DrawnGroup& group = drawing.groups[g];
    json["groups"].push_back(
        {{"name", group.name}, {"parent", group.parent}, {"level", group.level}, {"summary", g ? summaries[g] : ""}});
  }
  json["families"] = kernels::kernel_families();
  return html_page(kDrawingPage, json.dump(-1, ' ', false, ordered_json::error_handler_t::replace),
                   kernels::family_colours(false), kernels::family_colours(true));
}

}  // namespace weft
