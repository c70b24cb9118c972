// The page of `weft profile --html` and of profile_page(): a single file that loads nothing from elsewhere. profile_page() replaces /*DATA*/
// by the profile.

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
  --page: #f6f7f9; --card: #fff; --ink: #1b1f24; --soft: #5c6570; --line: #dfe3e8; --grid: #edf0f3; --accent: #2a6fdb;
  --k0: #2a6fdb; --k1: #d9822b; --k2: #1f9e6e; --k3: #c0392b; --k4: #7a52c7; --k5: #0f8fa8; --k6: #b0457b; --k7: #8a919a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171b; --card: #1c2026; --ink: #e6e9ed; --soft: #98a2ad; --line: #323841; --grid: #262c33; --accent: #6ea8ff;
    --k0: #6ea8ff; --k1: #f0a35e; --k2: #4cc99a; --k3: #ef7a6d; --k4: #ab8bf0; --k5: #4dbdd3; --k6: #e083b1; --k7: #8a939d;
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
.scroll { overflow-x: auto; margin: 0 -16px -16px; padding: 0 16px 16px; }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 10px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--grid); }
th { color: var(--soft); font-weight: 600; cursor: pointer; user-select: none; }
th:first-child, td:first-child, th.left, td.left { text-align: left; }
th:first-child, td:first-child { padding-left: 0; position: sticky; left: 0; background: var(--card); }
td:first-child { max-width: 380px; overflow: hidden; text-overflow: ellipsis; }
td.left { color: var(--soft); }
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
  td:first-child { max-width: 46vw; }
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
  <div class="head"><h2>Timeline</h2><span class="soft" id="range"></span><button id="reset">Show all</button></div>
  <canvas id="timeline" tabindex="0" aria-label="Timeline of host and device; scroll or pinch to zoom, drag to move"></canvas>
  <div class="legend" id="legend"></div>
</section>
<div class="pair">
  <section><div class="head"><h2>Roofline</h2><span class="soft">dots: steps, larger for more time, hollow where they
    compute nothing, which stand along the slope by the bytes they move; lines: what this device was measured to
    do</span></div><svg id="roofline" role="img" aria-label="Roofline"></svg>
    <div class="legend" id="roofs"></div></section>
  <section><div class="head"><h2>Memory</h2><span class="soft" id="memory_note"></span></div>
    <svg id="memory" role="img" aria-label="Memory over time"></svg></section>
</div>
<section>
  <div class="head"><h2>Steps</h2><span class="soft">a step's dispatches of one form; click a heading to sort. Limit: the
    least time by the calibration, over the time taken.</span></div>
  <div class="scroll"><table id="table"></table></div>
</section>
<section id="dispatches" hidden>
  <div class="head"><h2>Dispatches</h2><span class="soft">of one run, in their order</span></div>
  <div class="scroll"><table id="list"></table></div>
</section>
</main>
<div id="tip" role="status"></div>
<script>
'use strict';
const P = /*DATA*/;
const $ = id => document.getElementById(id);
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const esc = s => String(s).replace(/[&<>"]/g, c => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'}[c]));
const digits = x => x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2);
function scaled(x, units, base) {
  let u = 0;
  while (x >= base && u + 1 < units.length) { x /= base; ++u; }
  return digits(x) + ' ' + units[u];
}
const time = us => us <= 0 ? '0' : us >= 1e6 ? digits(us / 1e6) + ' s' : us >= 1e3 ? digits(us / 1e3) + ' ms' : digits(us) + ' µs';
const bytes = b => scaled(b, ['B', 'KiB', 'MiB', 'GiB', 'TiB'], 1024);
const rate = f => scaled(f, ['FLOP/s', 'kFLOP/s', 'MFLOP/s', 'GFLOP/s', 'TFLOP/s', 'PFLOP/s'], 1000);
const speed = b => scaled(b, ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s'], 1000);
const percent = x => (x * 100).toFixed(x < .1 ? 1 : 0) + '%';

// Colours: the seven kernels that take most time, grey for the rest.
const byKernel = new Map();
for (const r of P.rows) byKernel.set(r.kernel, (byKernel.get(r.kernel) || 0) + r.seconds);
const kernels = [...byKernel].sort((a, b) => b[1] - a[1]).map(k => k[0]);
const colourOf = kernel => '--k' + Math.min(kernels.indexOf(kernel), 7);

$('title').textContent = P.title;
$('device').textContent = P.device + (P.driver ? ' · ' + P.driver : '');
$('method').textContent = 'Timed by ' + P.timing + (P.runs_left_out ? `. The last ${P.runs_left_out} dispatches are not drawn.` : '.');
const n = P.repeats;
for (const [value, what] of [
  [time(P.kernel_seconds * 1e6 / n), 'in kernels, a run'],
  [time(P.seconds * 1e6 / n), `whole, a run (${n} profiled)`],
  [percent(P.kernel_seconds / P.seconds), 'of it in kernels'],
  [Math.round(P.dispatches / n), 'dispatches a run'],
  [speed(P.bytes / P.kernel_seconds), 'in kernels'],
  [rate(P.flops / P.kernel_seconds), 'in kernels'],
]) $('tiles').insertAdjacentHTML('beforeend', `<div class="tile"><b>${value}</b><span class="soft">${what}</span></div>`);
kernels.slice(0, 7).forEach((k, i) => $('legend').insertAdjacentHTML('beforeend',
  `<span><i style="background:var(--k${i})"></i>${esc(k)} ${percent(byKernel.get(k) / P.kernel_seconds)}</span>`));
if (kernels.length > 7) $('legend').insertAdjacentHTML('beforeend', '<span><i style="background:var(--k7)"></i>other</span>');

// ---- Tooltip
const tip = $('tip');
function showTip(html, x, y) {
  tip.innerHTML = html;
  tip.style.visibility = 'visible';
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 4)) + 'px';
  tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18) + 'px';
}
const hideTip = () => { tip.style.visibility = 'hidden'; };
const rowTip = (r, us) => `<b>${esc(r.step)}</b>${esc(r.kernel)}${r.variant ? ' · ' + esc(r.variant) : ''}<br>` +
  (us === undefined ? `${r.calls} calls, ${time(r.seconds * 1e6)}` : time(us)) +
  `<br>${speed(r.bytes_per_second)} · ${r.flops ? rate(r.flops_per_second) + ' · ' : ''}${percent(r.of_limit)} of the limit` +
  (r.why ? `<br><span class="soft">${esc(r.why)}</span>` : '');

// ---- Timeline
const canvas = $('timeline'), last = P.runs_left_out ? 0 : P.seconds * 1e6;
const LEFT = 58, AXIS = 22, LANES = [['host', 30], ['device', 92]], HEIGHT = 46;
// Where some are left out, everything ends with the last that is not.
const ends = P.runs.map(r => r[1] + r[2]).concat(P.runs_left_out ? [] : P.host.map(h => h[1] + h[2]));
const whole = [Math.min(0, ...P.runs.slice(0, 1).map(r => r[1])), Math.max(last, ends.reduce((a, b) => Math.max(a, b), 0))];
let view = whole.slice();
const order = P.runs.map((_, i) => i).sort((a, b) => P.runs[a][1] - P.runs[b][1]);
const xOf = (t, w) => LEFT + (t - view[0]) / (view[1] - view[0]) * (w - LEFT);
function ticks(low, high, most) {
  const raw = (high - low) / most, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= raw);
  const list = [];
  for (let t = Math.ceil(low / step) * step; t <= high; t += step) list.push(t);
  return list;
}
function label(context, text, x, width, y) {
  if (width < 34) return;
  let s = text;
  while (s.length > 1 && context.measureText(s).width > width - 8) s = s.slice(0, -2);
  if (s !== text) s = s.slice(0, -1) + '…';
  if (s === text || s.length > 3) context.fillText(s, x + 4, y);
}
function drawTimeline() {
  const ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  canvas.width = w * ratio; canvas.height = h * ratio;
  const c = canvas.getContext('2d');
  c.scale(ratio, ratio);
  c.font = '12px system-ui, sans-serif';
  c.textBaseline = 'middle';
  for (const t of ticks(view[0], view[1], w / 110)) {
    const x = xOf(t, w);
    c.fillStyle = css('--grid'); c.fillRect(x, AXIS, 1, h);
    c.fillStyle = css('--soft'); c.fillText(time(Math.max(t, 0)), Math.min(x + 3, w - 48), 10);
  }
  c.save();
  c.beginPath(); c.rect(LEFT, 0, w - LEFT, h); c.clip();
  const accent = css('--soft');
  for (const [name, start, us] of P.host) {
    const x = xOf(start, w), width = Math.max(xOf(start + us, w) - x, 1);
    if (x > w || x + width < LEFT) continue;
    c.globalAlpha = .28; c.fillStyle = accent; c.fillRect(x, LANES[0][1], Math.max(width - 1, .75), HEIGHT);
    c.globalAlpha = 1; c.fillStyle = css('--ink'); label(c, name, x, width, LANES[0][1] + HEIGHT / 2);
  }
  const colours = P.rows.map(r => css(colourOf(r.kernel)));
  for (const i of order) {
    const [row, start, us] = P.runs[i];
    const x = xOf(start, w), width = Math.max(xOf(start + us, w) - x, .75);
    if (x > w || x + width < LEFT) continue;
    c.fillStyle = colours[row]; c.fillRect(x, LANES[1][1], width > 3 ? width - 1 : width, HEIGHT);
    if (width > 34) { c.fillStyle = css('--card'); label(c, P.rows[row].step, x, width, LANES[1][1] + HEIGHT / 2); }
  }
  c.restore();
  c.fillStyle = css('--soft');
  for (const [name, y] of LANES) c.fillText(name, 0, y + HEIGHT / 2);
  $('range').textContent = `${time(Math.max(view[0], 0))} to ${time(view[1])}; scroll or pinch to zoom, drag to move`;
}
function zoom(factor, at) {
  const w = canvas.clientWidth, t = view[0] + (at - LEFT) / (w - LEFT) * (view[1] - view[0]);
  const span = Math.min(Math.max((view[1] - view[0]) * factor, 1), whole[1] - whole[0]);
  const low = Math.max(whole[0], Math.min(t - (t - view[0]) * span / (view[1] - view[0]), whole[1] - span));
  view = [low, low + span];
  drawTimeline();
}
function pan(pixels) {
  const span = view[1] - view[0], by = pixels / (canvas.clientWidth - LEFT) * span;
  const low = Math.max(whole[0], Math.min(view[0] - by, whole[1] - span));
  view = [low, low + span];
  drawTimeline();
}
const pointers = new Map();
canvas.addEventListener('wheel', e => { e.preventDefault(); zoom(e.deltaY > 0 ? 1.25 : .8, e.offsetX); }, {passive: false});
canvas.addEventListener('pointerdown', e => { pointers.set(e.pointerId, e.offsetX); canvas.setPointerCapture(e.pointerId); });
canvas.addEventListener('pointerup', e => pointers.delete(e.pointerId));
canvas.addEventListener('pointercancel', e => pointers.delete(e.pointerId));
canvas.addEventListener('pointerleave', hideTip);
canvas.addEventListener('pointermove', e => {
  if (pointers.has(e.pointerId)) {
    const before = pointers.get(e.pointerId);
    if (pointers.size === 2) {
      const other = [...pointers].find(p => p[0] !== e.pointerId)[1];
      const gap = Math.max(Math.abs(e.offsetX - other), 8);
      zoom(Math.max(Math.abs(before - other), 8) / gap, (e.offsetX + other) / 2);
    } else {
      pan(e.offsetX - before);
    }
    pointers.set(e.pointerId, e.offsetX);
    return hideTip();
  }
  const w = canvas.clientWidth, t = view[0] + (e.offsetX - LEFT) / (w - LEFT) * (view[1] - view[0]);
  const slack = (view[1] - view[0]) / w * 2;
  const lane = LANES.findIndex(([, y]) => e.offsetY >= y && e.offsetY < y + HEIGHT);
  const within = (start, us) => t >= start - slack && t <= start + us + slack;
  const host = lane === 0 && P.host.find(h => within(h[1], h[2]));
  const run = lane === 1 && P.runs.find(r => within(r[1], r[2]));
  if (host) showTip(`<b>${esc(host[0])}</b>${time(host[2])}`, e.clientX, e.clientY);
  else if (run) showTip(rowTip(P.rows[run[0]], run[2]), e.clientX, e.clientY);
  else hideTip();
});
canvas.addEventListener('keydown', e => {
  const middle = canvas.clientWidth / 2;
  if (e.key === '+') zoom(.8, middle);
  if (e.key === '-') zoom(1.25, middle);
  if (e.key === 'ArrowLeft') pan(80);
  if (e.key === 'ArrowRight') pan(-80);
});
$('reset').onclick = () => { view = whole.slice(); drawTimeline(); };

// ---- Roofline
const limits = P.calibration;
function drawRoofline() {
  const svg = $('roofline'), w = svg.clientWidth, h = Math.max(260, Math.min(360, w * .6));
  svg.setAttribute('viewBox', `0 0 ${w} ${h}`); svg.style.height = h + 'px';
  const points = P.rows.filter(r => r.bytes > 0 && r.seconds > 0);
  const roofs = [['f32', limits.f32_rate], ['f16', limits.f16_rate], ['cooperative', limits.matrix_rate]].filter(r => r[1] > 0);
  // Without FLOPs: side by side before a tenth, as far below the slope as the step is below the bandwidth.
  const moves = points.filter(r => !r.flops), place = r => 10 ** ((moves.indexOf(r) + .5) / moves.length - 2);
  const intensity = points.map(r => r.flops ? r.flops / r.bytes : place(r));
  const flops = points.map((r, i) => intensity[i] * r.bytes_per_second);
  const top = Math.max(...roofs.map(r => r[1]), ...flops, 1);
  const x0 = Math.floor(Math.log10(Math.min(.1, ...intensity))), x1 = Math.ceil(Math.log10(Math.max(1000, ...intensity)));
  const y0 = Math.floor(Math.log10(Math.max(Math.min(top / 1e4, ...flops), top / 1e7))), y1 = Math.ceil(Math.log10(top * 1.5));
  const L = 70, R = 12, T = 10, B = 38;
  const X = v => L + (Math.log10(v) - x0) / (x1 - x0) * (w - L - R);
  const Y = v => h - B - (Math.log10(Math.max(v, 10 ** y0)) - y0) / (y1 - y0) * (h - T - B);
  let out = '';
  const every = Math.ceil(60 / ((w - L - R) / (x1 - x0)));
  for (let e = x0; e <= x1; ++e) {
    const x = X(10 ** e), text = 10 ** e < 1 ? 10 ** e : (10 ** e).toLocaleString('en');
    out += `<line class="grid" x1="${x}" x2="${x}" y1="${T}" y2="${h - B}"/>`;
    if ((x1 - e) % every) continue;
    out += `<text x="${x}" y="${h - B + 15}" text-anchor="${e === x1 ? 'end' : 'middle'}">${text}</text>`;
  }
  for (let e = y0; e <= y1; ++e) {
    out += `<line class="grid" x1="${L}" x2="${w - R}" y1="${Y(10 ** e)}" y2="${Y(10 ** e)}"/>`;
    out += `<text x="${L - 6}" y="${Y(10 ** e) + 4}" text-anchor="end">${rate(10 ** e).replace('.00', '').replace('.0', '').replace('LOP/s', '')}</text>`;
  }
  out += `<text x="${(L + w - R) / 2}" y="${h - 5}" text-anchor="middle">FLOP a byte moved</text>`;
  out += `<text x="12" y="${(h - B) / 2}" text-anchor="middle" transform="rotate(-90 12 ${(h - B) / 2})">FLOP/s</text>`;
  const lowest = 10 ** x0, measured = limits.copy_bandwidth > 0, ridge = Math.max(...roofs.map(r => r[1]), 1) / limits.copy_bandwidth;
  const start = Math.max(lowest, 10 ** y0 / limits.copy_bandwidth);
  if (measured) out += `<path class="roof" d="M${X(start)},${Y(start * limits.copy_bandwidth)} L${X(Math.min(ridge, 10 ** x1))},${Y(Math.min(ridge, 10 ** x1) * limits.copy_bandwidth)}"/>`;
  roofs.sort((a, b) => b[1] - a[1]);
  const dashes = ['', '7 4', '2 4'];
  roofs.forEach(([, peak], i) => {
    const from = X(Math.max(peak / limits.copy_bandwidth, lowest));
    out += `<line class="roof" stroke-dasharray="${dashes[i]}" x1="${from}" x2="${w - R}" y1="${Y(peak)}" y2="${Y(peak)}"/>`;
  });
  const key = (d, dash) => `<svg width="26" height="10" style="display:inline;width:26px"><path class="roof" stroke-dasharray="${dash}" d="${d}"/></svg> `;
  $('roofs').innerHTML = !measured ? 'The device was not measured: weft devices --calibrate says why.' : `<span>${key('M2,9 L22,1', '')}copying ${speed(limits.copy_bandwidth)}</span>` +
    roofs.map(([name, peak], i) => `<span>${key('M1,5 H25', dashes[i])}${name} ${rate(peak)}</span>`).join('');
  points.map((r, i) => [r, i]).sort((a, b) => b[0].share - a[0].share).forEach(([r, i]) => {
    out += `<circle data-row="${P.rows.indexOf(r)}" tabindex="0" cx="${X(intensity[i])}" cy="${Y(flops[i])}" r="${3 + 15 * Math.sqrt(r.share)}"
      fill="var(${colourOf(r.kernel)})" fill-opacity="${r.flops ? .55 : 0}" stroke="var(${colourOf(r.kernel)})"/>`;
  });
  svg.innerHTML = out;
  for (const dot of svg.querySelectorAll('circle')) {
    const row = P.rows[dot.dataset.row];
    dot.onpointermove = e => showTip(rowTip(row), e.clientX, e.clientY);
    dot.onpointerleave = dot.onblur = hideTip;
    dot.onfocus = () => { const b = dot.getBoundingClientRect(); showTip(rowTip(row), b.x, b.y + b.height / 2); };
  }
}

// ---- Memory
function drawMemory() {
  const svg = $('memory'), w = svg.clientWidth, h = Math.max(260, Math.min(360, w * .6));
  svg.setAttribute('viewBox', `0 0 ${w} ${h}`); svg.style.height = h + 'px';
  const live = order.map(i => [P.runs[i][1], P.runs[i][3]]), L = 70, R = 12, B = 38, end = whole[1];
  const X = t => L + t / end * (w - L - R);
  // A scale of its own for each: weights are often a hundred times what a step needs.
  const panels = [['in use, of the pool', P.memory.filter(m => m[0] <= end), '--k1'], ['intermediates', live, '--k0']].filter(p => p[1].length);
  const steps = (points, Y) => points.map((p, i) => i ? `H${X(p[0])}V${Y(p[1])}` : `M${X(p[0])},${Y(p[1])}`).join('');
  let out = '', top = 8;
  panels.forEach(([name, points, colour], i) => {
    const bottom = h - B - (i + 1 < panels.length ? (h - B) * .6 : 0), most = points.reduce((m, p) => Math.max(m, p[1]), 1) * 1.1;
    const Y = v => bottom - v / most * (bottom - top - 16), unit = 1024 ** Math.floor(Math.log(most) / Math.log(1024));
    for (const v of ticks(0, most / unit, i + 1 < panels.length ? 2 : 4)) {
      out += `<line class="grid" x1="${L}" x2="${w - R}" y1="${Y(v * unit)}" y2="${Y(v * unit)}"/>`;
      out += `<text x="${L - 6}" y="${Y(v * unit) + 4}" text-anchor="end">${v ? bytes(v * unit).replace('.00', '').replace('.0 ', ' ') : 0}</text>`;
    }
    const line = steps(points, Y) + `H${X(end)}`;
    out += `<path d="${line}V${Y(0)}H${X(points[0][0])}Z" fill="var(${colour})" fill-opacity=".25"/>`;
    out += `<path d="${line}" fill="none" stroke="var(${colour})" stroke-width="1.5"/>`;
    out += `<text x="${L}" y="${top + 10}">${name}</text>`;
    top = bottom + 18;
  });
  for (const t of ticks(0, end, Math.max(w / 130, 2))) {
    out += `<text x="${Math.min(X(t), w - R - 24)}" y="${h - B + 15}" text-anchor="middle">${time(t)}</text>`;
  }
  out += `<text x="${(L + w - R) / 2}" y="${h - 5}" text-anchor="middle">time</text>`;
  svg.innerHTML = out;
  const peak = points => bytes(points.reduce((m, p) => Math.max(m, p[1]), 0));
  $('memory_note').textContent = panels.map(([name, points]) => `${name} up to ${peak(points)}`).join('; ');
  svg.onpointermove = e => {
    const t = (e.offsetX - L) / (w - L - R) * end;
    const at = list => { let v = 0; for (const p of list) { if (p[0] > t) break; v = p[1]; } return v; };
    showTip(`<b>${time(t)}</b>` + panels.map(([name, points]) => `${name}: ${bytes(at(points))}`).join('<br>'), e.clientX, e.clientY);
  };
  svg.onpointerleave = hideTip;
}

// ---- Table
const columns = [
  ['step', r => esc(r.step), r => r.step], ['calls a run', r => digits(r.calls / n).replace('.00', '').replace('.0', ''), r => r.calls], ['time a run', r => time(r.seconds * 1e6 / n), r => r.seconds],
  ['share', r => `${percent(r.share)}<span class="bar"><i style="width:${r.share * 100}%;background:var(${colourOf(r.kernel)})"></i></span>`, r => r.share],
  ['GB/s', r => digits(r.bytes_per_second / 1e9), r => r.bytes_per_second],
  ['GFLOP/s', r => r.flops ? digits(r.flops_per_second / 1e9) : '', r => r.flops_per_second],
  ['limit', r => percent(r.of_limit), r => r.of_limit], ['form', r => esc(r.variant), r => r.variant], ['why', r => esc(r.why), r => r.why],
];
let sorted = 2, descending = true;
function drawTable() {
  const value = columns[sorted][2] || columns[sorted][1];
  const rows = P.rows.slice().sort((a, b) => {
    const x = value(a), y = value(b);
    return (x < y ? -1 : x > y ? 1 : 0) * (descending ? -1 : 1);
  });
  const left = i => i > 6 ? ' class="left"' : '';
  $('table').innerHTML = '<thead><tr>' + columns.map((c, i) =>
    `<th scope="col"${left(i)} tabindex="0" data-column="${i}">${c[0]}${i === sorted ? (descending ? ' ▾' : ' ▴') : ''}</th>`).join('') +
    '</tr></thead><tbody>' + rows.map(r => '<tr>' + columns.map((c, i) =>
      `<td${left(i)}${i ? '' : ` title="${esc(r.step)}"`}>${c[1](r)}</td>`).join('') + '</tr>').join('') + '</tbody>';
  for (const head of $('table').querySelectorAll('th')) {
    head.onclick = () => {
      const column = +head.dataset.column;
      descending = column === sorted ? !descending : column !== 0 && column < 7;
      sorted = column;
      drawTable();
    };
    head.onkeydown = e => { if (e.key === 'Enter') head.onclick(); };
  }
}

// ---- Dispatches
if (P.dispatch_report) {
  $('dispatches').hidden = false;
  const cells = d => [esc(d.step), esc(d.kernel), d.workgroups[0] ? d.workgroups.join(' × ') : '', time(d.seconds * 1e6),
    bytes(d.bytes), d.flops ? scaled(d.flops, ['FLOP', 'kFLOP', 'MFLOP', 'GFLOP', 'TFLOP'], 1000) : '', esc(d.variant), esc(d.why)];
  const row = (kind, list) => '<tr>' + list.map((c, i) => `<${kind}${[1, 6, 7].includes(i) ? ' class="left"' : ''}>${c}</${kind}>`).join('') + '</tr>';
  $('list').innerHTML = '<thead>' + row('th', ['step', 'kernel', 'workgroups', 'time', 'moved', 'operations', 'form', 'why']) +
    '</thead><tbody>' + P.dispatch_report.map(d => row('td', cells(d))).join('') + '</tbody>';
}

function draw() { drawTimeline(); drawRoofline(); drawMemory(); }
draw();
drawTable();
addEventListener('resize', draw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
</script>
</body>
</html>
)PAGE";

}  // namespace weft
