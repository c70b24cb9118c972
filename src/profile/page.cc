// The page of `weft profile --html` and of profile_page(): a single file that loads nothing from elsewhere. Here its
// markup and style; profile_page() puts the script (page_script.cc) and the families' colours in.

namespace weft {

extern const char* const kProfilePage;
const char* const kProfilePage = R"PAGE(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Weft profile</title>
<style>
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --ink: #1b1f24; --soft: #5c6570; --line: #dfe3e8; --grid: #edf0f3; --accent: #2a6fdb; --shade: rgb(20 30 45 / .22);
  /*FAMILIES LIGHT*/
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171b; --card: #1c2026; --ink: #e6e9ed; --soft: #98a2ad; --line: #323841; --grid: #262c33; --accent: #6ea8ff; --shade: rgb(0 0 0 / .6);
    /*FAMILIES DARK*/
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; }
main { max-width: 1360px; margin: 0 auto; padding: 24px 20px 48px; }
h1 { font-size: 24px; margin: 0 0 4px; letter-spacing: -.01em; }
h2 { font-size: 16px; margin: 0; }
p { margin: 0; }
.soft { color: var(--soft); font-size: 13px; }
.tiles { display: grid; grid-template-columns: repeat(6, 1fr); gap: 12px; margin: 20px 0; }
.tile, section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.tile { padding: 12px 14px; min-width: 0; }
.tile b { display: block; font-size: 20px; font-weight: 600; font-variant-numeric: tabular-nums; white-space: nowrap; }
section { padding: 16px; margin-bottom: 16px; }
.head { display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: baseline; margin-bottom: 10px; }
.head .soft { flex: 1; min-width: 200px; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; }
.pair section { min-width: 0; }
.buttons { display: flex; gap: 6px; }
button:disabled { opacity: .45; cursor: default; }
button { font: inherit; font-size: 13px; color: var(--ink); background: var(--card); border: 1px solid var(--line);
  border-radius: 6px; padding: 3px 10px; cursor: pointer; }
button:hover, button:focus-visible { border-color: var(--accent); outline: none; }
canvas, svg { display: block; width: 100%; }
canvas { height: 168px; touch-action: pan-y; cursor: grab; }
svg text { fill: var(--soft); font-size: 12px; }
svg .grid { stroke: var(--grid); }
svg .roof { fill: none; stroke: var(--soft); stroke-width: 1.5; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; margin-top: 10px; font-size: 13px; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 6px; }
.wide { position: relative; margin: 0 -16px -16px; }
.wide::after { content: ''; position: absolute; inset: 0 0 0 auto; width: 36px; border-radius: 0 0 10px 0; pointer-events: none;
  background: linear-gradient(to left, var(--shade), transparent); opacity: 0; transition: opacity .15s; }
.wide.more::after { opacity: 1; }
.scroll { overflow-x: auto; padding: 0 16px 16px; }
.wide.scrolled th:first-child, .wide.scrolled td:first-child { box-shadow: 10px 0 10px -8px var(--shade); }
.columns { margin: 0 0 8px; }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 10px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--grid); }
th { color: var(--soft); font-weight: 600; cursor: pointer; user-select: none; }
th:first-child, td:first-child, th.left, td.left { text-align: left; }
th:first-child, td:first-child { padding-left: 0; position: sticky; left: 0; background: var(--card); }
.name { display: inline-block; max-width: 330px; overflow: hidden; text-overflow: ellipsis; vertical-align: bottom; }
.name + .shape { margin-left: 6px; }
.swatch { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 7px; }
.past { font-weight: 600; }
td.left { color: var(--soft); }
td.why { white-space: normal; min-width: 200px; }
.bar { display: inline-block; width: 60px; height: 8px; border-radius: 2px; background: var(--grid); margin-left: 8px; }
.bar i { display: block; height: 8px; border-radius: 2px; background: var(--accent); }
#tip { position: fixed; z-index: 2; pointer-events: none; max-width: min(340px, 90vw); padding: 8px 10px; font-size: 13px;
  background: var(--card); color: var(--ink); border: 1px solid var(--line); border-radius: 8px;
  box-shadow: 0 4px 16px rgb(0 0 0 / .18); visibility: hidden; }
#tip b { display: block; overflow-wrap: anywhere; }
@media (max-width: 900px) {
  .tiles { grid-template-columns: repeat(2, 1fr); }
  .pair { grid-template-columns: 1fr; gap: 0; }
  main { padding: 16px 12px 32px; }
  .name { max-width: calc(44vw - 17px); }
  th, td { padding: 5px 7px; }
  td.why { white-space: nowrap; }
  .name + .shape { display: block; margin-left: 17px; color: var(--soft); }
  .tile b { font-size: 17px; white-space: normal; }
}
</style>
</head>
<body>
<main>
<h1 id="title"></h1>
<p id="device"></p>
<p class="soft" id="method"></p>
<div class="tiles" id="tiles"></div>
<section>
  <div class="head"><h2>Timeline</h2><span class="soft" id="range"></span>
    <span class="buttons"><button id="before" aria-label="the run before">‹</button><button id="which"></button><button
    id="next" aria-label="the next run">›</button><button id="reset">All runs</button></span></div>
  <canvas id="timeline" tabindex="0" aria-label="Timeline of host and device; scroll or pinch to zoom, drag to move"></canvas>
  <div class="legend" id="legend"></div>
</section>
<div class="pair">
  <section><div class="head"><h2>Roofline</h2><span class="soft">dots: steps, larger for more time, hollow where they
    compute nothing, which stand along the slope by the bytes they move; lines: what this device was measured to
    do</span></div><svg id="roofline" role="img" aria-label="Roofline"></svg>
    <div class="legend" id="roofs"></div><p class="soft" id="above"></p></section>
  <section><div class="head"><h2>Memory</h2><span class="soft" id="memory_note"></span></div>
    <svg id="memory" role="img" aria-label="Memory over time"></svg></section>
</div>
<section>
  <div class="head"><h2>Steps</h2><span class="soft">a step's dispatches of one form; click a heading to sort. Limit: the
    least time by the calibration, over the time taken.</span></div>
  <p class="soft" id="past"></p>
  <div class="wide"><div class="scroll" tabindex="0" role="region" aria-label="Steps"><table id="table"></table></div></div>
</section>
<section id="dispatches" hidden>
  <div class="head"><h2>Dispatches</h2><span class="soft">of one run, in their order</span></div>
  <div class="wide"><div class="scroll" tabindex="0" role="region" aria-label="Dispatches"><table id="list"></table></div></div>
</section>
</main>
<div id="tip" role="status"></div>
<script>
/*SCRIPT*/
</script>
</body>
</html>
)PAGE";

}  // namespace weft
