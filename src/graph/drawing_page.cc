// The page of `weft graph --output FILE.html` and of graph_page(): a single file that loads nothing from elsewhere.
// Here its markup and style; graph_page() puts the script (drawing_script.cc), the drawing and the families' colours
// in.

#include <nlohmann/json.hpp>

#include "core/kernel_family.h"
#include "graph/drawing.h"

namespace weft {

extern const char* const kDrawingScript;  // drawing_script.cc

namespace {

const char* const kPage = R"PAGE(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Weft graph</title>
<style>
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --ink: #1b1f24; --soft: #5c6570; --line: #dfe3e8; --accent: #2a6fdb; --port: #dbe8f8;
  --frame: rgb(90 105 125 / .07); --edge: #8a939d;
  /*FAMILIES LIGHT*/
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171b; --card: #1c2026; --ink: #e6e9ed; --soft: #98a2ad; --line: #3a424c; --accent: #6ea8ff; --port: #21344d;
    --frame: rgb(160 180 210 / .07); --edge: #77818c;
    /*FAMILIES DARK*/
  }
}
* { box-sizing: border-box; }
html, body { height: 100%; }
body { margin: 0; background: var(--page); color: var(--ink); font: 14px/1.4 system-ui, sans-serif; display: flex;
  flex-direction: column; }
header { padding: 12px 16px 8px; border-bottom: 1px solid var(--line); background: var(--card); }
h1 { font-size: 18px; margin: 0 12px 0 0; letter-spacing: -.01em; overflow-wrap: anywhere; }
.bar { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; }
.bar .space { flex: 1; }
.soft { color: var(--soft); font-size: 13px; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 14px; margin-top: 6px; font-size: 13px; color: var(--soft); }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 6px; }
button { font: inherit; font-size: 13px; color: var(--ink); background: var(--card); border: 1px solid var(--line);
  border-radius: 6px; padding: 3px 10px; cursor: pointer; }
button:hover, button:focus-visible { border-color: var(--accent); outline: none; }
#scroll { flex: 1; overflow: auto; min-height: 0; position: relative; }
svg { display: block; margin: 0 auto; }
svg text { fill: var(--ink); font: 13px system-ui, sans-serif; }
svg text.title { font-weight: 600; }
svg text.small { fill: var(--soft); font-size: 12px; }
svg text.view { fill: var(--soft); font-size: 11.5px; font-style: italic; paint-order: stroke; stroke: var(--page);
  stroke-width: 3px; }
.box { cursor: pointer; outline: none; }
.box > rect { fill: var(--card); stroke: var(--line); }
.box.port > rect { fill: var(--port); }
.box:hover > rect, .box:focus-visible > rect, .box.chosen > rect { stroke: var(--accent); stroke-width: 1.75; }
.box.closed > rect.under { stroke: var(--line); fill: var(--card); }
.frame > rect { fill: var(--frame); stroke: var(--line); }
.frame > .head { cursor: pointer; outline: none; }
.frame > .head > rect { fill: transparent; }
.frame > .head:hover text, .frame > .head:focus-visible text { fill: var(--accent); }
.edge { fill: none; stroke: var(--edge); stroke-width: 1.25; }
.edge.lit { stroke: var(--accent); stroke-width: 2; }
.tip { fill: var(--edge); }
#about { position: fixed; right: 12px; bottom: 12px; width: min(440px, calc(100vw - 24px)); max-height: 46vh; overflow: auto;
  background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 12px 14px;
  box-shadow: 0 4px 18px rgb(0 0 0 / .2); font-size: 13px; }
#about h2 { font-size: 15px; margin: 0 28px 4px 0; overflow-wrap: anywhere; }
#about dl { display: grid; grid-template-columns: auto 1fr; gap: 2px 12px; margin: 0; }
#about dt { color: var(--soft); }
#about dd { margin: 0; overflow-wrap: anywhere; }
#about code { font: 12px ui-monospace, monospace; }
#about button { position: absolute; top: 8px; right: 8px; padding: 0 8px; }
</style>
</head>
<body>
<header>
  <div class="bar"><h1 id="title"></h1><span class="soft" id="count"></span><span class="space"></span>
    <button id="open">Open all</button><button id="close">Close all</button>
    <button id="smaller" aria-label="smaller">−</button><button id="larger" aria-label="larger">+</button><button
    id="fit">Fit</button></div>
  <div class="legend" id="legend"></div>
</header>
<div id="scroll"><svg id="drawing" role="group" aria-label="The graph"></svg></div>
<div id="about" role="status" hidden></div>
<script>
/*SCRIPT*/
</script>
</body>
</html>
)PAGE";

}  // namespace

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
  json["families"] = kKernelFamilies;
  // Text inside a script element must not close it or begin a comment.
  std::string data;
  for (const char c : json.dump(-1, ' ', false, ordered_json::error_handler_t::replace)) {
    if (c == '<')
      data += "\\u003c";
    else
      data += c;
  }
  std::string page = kPage;
  const auto put = [&](std::string_view mark, std::string_view text) {
    page.replace(page.find(mark), mark.size(), text);
  };
  put("/*FAMILIES LIGHT*/", family_colours(false));
  put("/*FAMILIES DARK*/", family_colours(true));
  put("/*SCRIPT*/", kDrawingScript);
  put("/*DATA*/", data);
  return page;
}

}  // namespace weft
