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
const percent = x => x > 0 && x < .0005 ? '<0.1%' : (x * 100).toFixed(x < .1 ? 1 : 0) + '%';

// A family of kernels has the same colour in every picture and on every page.
const colourOf = r => '--f' + P.families.indexOf(r.family);
const byFamily = new Map(P.families.map(f => [f, 0]));
for (const r of P.rows) byFamily.set(r.family, byFamily.get(r.family) + r.seconds);
const families = [...byFamily].filter(f => f[1] > 0).sort((a, b) => b[1] - a[1]);
const swatch = family => `<i class="swatch" style="background:var(--f${P.families.indexOf(family)})"></i>`;

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
for (const [family, seconds] of families) {
  $('legend').insertAdjacentHTML('beforeend', `<span>${swatch(family)}${esc(family)} ${percent(seconds / P.kernel_seconds)}</span>`);
}
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
// The page opens on one run, of the median length; ten are a barcode. windows: [start, end].
const windows = P.windows;
let run = P.shown_run, view;
function show(i) {
  run = i;
  view = i < 0 ? whole.slice() : windows[i].slice();
  drawView();
}
const order = P.runs.map((_, i) => i).sort((a, b) => P.runs[a][1] - P.runs[b][1]);
const xOf = (t, w) => LEFT + (t - view[0]) / (view[1] - view[0]) * (w - LEFT);
function ticks(low, high, most) {
  const raw = (high - low) / most, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= raw);
  const list = [];
  for (let t = Math.ceil(low / step) * step; t <= high; t += step) list.push(t);
  return list;
}
const gap = width => width > 6 ? 1 : 0;  // between neighbours, where there is room
function label(context, text, x, width, y) {
  if (width < 34) return;
  let s = text;
  while (s.length > 1 && context.measureText(s).width > width - 8) s = s.slice(0, -2);
  if (s !== text) s = s.slice(0, -1) + '…';
  if (s === text || s.length > 3) context.fillText(s, x + 4, y);
}
// Times of one run are counted from its start.
const origin = () => run >= 0 ? windows[run][0] : 0;
const clock = t => time(Math.max(t - origin(), 0));
function drawTimeline() {
  const ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  canvas.width = w * ratio; canvas.height = h * ratio;
  const c = canvas.getContext('2d');
  c.scale(ratio, ratio);
  c.font = '12px system-ui, sans-serif';
  c.textBaseline = 'middle';
  for (const t of ticks(view[0] - origin(), view[1] - origin(), w / 110).map(t => t + origin())) {
    const x = xOf(t, w);
    c.fillStyle = css('--grid'); c.fillRect(x, AXIS, 1, h);
    c.fillStyle = css('--soft'); c.fillText(clock(t), Math.min(x + 3, w - 48), 10);
  }
  c.save();
  c.beginPath(); c.rect(LEFT, 0, w - LEFT, h); c.clip();
  const accent = css('--soft');
  for (const [name, start, us] of P.host) {
    const x = xOf(start, w), width = Math.max(xOf(start + us, w) - x, 1);
    if (x > w || x + width < LEFT) continue;
    c.globalAlpha = .28; c.fillStyle = accent; c.fillRect(x, LANES[0][1], Math.max(width - gap(width), .75), HEIGHT);
    c.globalAlpha = 1; c.fillStyle = css('--ink'); label(c, name, x, width, LANES[0][1] + HEIGHT / 2);
  }
  const colours = P.rows.map(r => css(colourOf(r)));
  for (const i of order) {
    const [row, start, us] = P.runs[i];
    const x = xOf(start, w), width = Math.max(xOf(start + us, w) - x, .75);
    if (x > w || x + width < LEFT) continue;
    c.fillStyle = colours[row]; c.fillRect(x, LANES[1][1], width - gap(width), HEIGHT);
    if (width > 34) { c.fillStyle = css('--card'); label(c, P.rows[row].step, x, width, LANES[1][1] + HEIGHT / 2); }
  }
  c.restore();
  c.fillStyle = css('--soft');
  for (const [name, y] of LANES) c.fillText(name, 0, y + HEIGHT / 2);
  const single = windows.length < 2, at = windows[run];
  const length = time(view[1] - view[0]);
  $('range').textContent = (run >= 0 && at[0] === view[0] && at[1] === view[1] && !single ? length : `${clock(view[0])} to ${clock(view[1])}`) +
    '; scroll or pinch to zoom, drag to move';
  $('which').textContent = run >= 0 ? `Run ${run + 1} of ${windows.length}${run === P.shown_run && !single ? ' (median)' : ''}` : 'One run';
  $('before').disabled = run <= 0;
  $('next').disabled = run < 0 || run + 1 >= windows.length;
  for (const id of ['before', 'which', 'next', 'reset']) $(id).hidden = single && id !== 'which';
  if (single) $('which').textContent = 'Show all';
}
function zoom(factor, at) {
  const w = canvas.clientWidth, t = view[0] + (at - LEFT) / (w - LEFT) * (view[1] - view[0]);
  const span = Math.min(Math.max((view[1] - view[0]) * factor, 1), whole[1] - whole[0]);
  const low = Math.max(whole[0], Math.min(t - (t - view[0]) * span / (view[1] - view[0]), whole[1] - span));
  view = [low, low + span];
  drawView();
}
function pan(pixels) {
  const span = view[1] - view[0], by = pixels / (canvas.clientWidth - LEFT) * span;
  const low = Math.max(whole[0], Math.min(view[0] - by, whole[1] - span));
  view = [low, low + span];
  drawView();
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
  const call = lane === 1 && P.runs.find(r => within(r[1], r[2]));
  if (host) showTip(`<b>${esc(host[0])}</b>${time(host[2])}`, e.clientX, e.clientY);
  else if (call) showTip(rowTip(P.rows[call[0]], call[2]), e.clientX, e.clientY);
  else hideTip();
});
canvas.addEventListener('keydown', e => {
  const middle = canvas.clientWidth / 2;
  if (e.key === '+') zoom(.8, middle);
  if (e.key === '-') zoom(1.25, middle);
  if (e.key === 'ArrowLeft') pan(80);
  if (e.key === 'ArrowRight') pan(-80);
});
$('reset').onclick = () => show(-1);
$('which').onclick = () => show(windows.length < 2 ? -1 : run < 0 ? P.shown_run : run);
$('before').onclick = () => show(run - 1);
$('next').onclick = () => show(run + 1);

// ---- Past the limit
const past = r => P.calibration.copy_bandwidth > 0 && r.of_limit >= 1.005;
const PAST = 'these steps ran faster than the copies and products that the device was calibrated with. It may have been busy ' +
  'or clocked lower then: weft devices --calibrate --again measures it anew.';
$('past').textContent = P.rows.some(past) ? 'Past 100%: ' + PAST : '';

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
  const lowest = 10 ** x0, cached = limits.cache_bandwidth > limits.copy_bandwidth ? limits.cache_bandwidth : 0, measured = limits.copy_bandwidth > 0;
  const slope = (bandwidth, dash) => {
    const from = Math.max(lowest, 10 ** y0 / bandwidth), to = Math.min(Math.max(...roofs.map(r => r[1]), 1) / bandwidth, 10 ** x1);
    if (to > from) out += `<path class="roof" stroke-dasharray="${dash}" d="M${X(from)},${Y(from * bandwidth)} L${X(to)},${Y(to * bandwidth)}"/>`;
  };
  if (measured) slope(limits.copy_bandwidth, '');
  if (measured && cached) slope(cached, '1 3');
  roofs.sort((a, b) => b[1] - a[1]);
  const dashes = ['', '7 4', '2 4'];
  roofs.forEach(([, peak], i) => {
    const from = X(Math.max(peak / limits.copy_bandwidth, lowest));
    out += `<line class="roof" stroke-dasharray="${dashes[i]}" x1="${from}" x2="${w - R}" y1="${Y(peak)}" y2="${Y(peak)}"/>`;
  });
  const key = (d, dash) => `<svg width="26" height="10" style="display:inline;width:26px"><path class="roof" stroke-dasharray="${dash}" d="${d}"/></svg> `;
  $('roofs').innerHTML = !measured ? 'The device was not measured: weft devices --calibrate says why.' : `<span>${key('M2,9 L22,1', '')}copying ${speed(limits.copy_bandwidth)}</span>` +
    (cached ? `<span>${key('M2,9 L22,1', '1 3')}in the caches ${speed(cached)}, up to ${bytes(limits.cache_bytes)}</span>` : '') +
    roofs.map(([name, peak], i) => `<span>${key('M1,5 H25', dashes[i])}${name} ${rate(peak)}</span>`).join('');
  points.map((r, i) => [r, i]).sort((a, b) => b[0].share - a[0].share).forEach(([r, i]) => {
    out += `<circle data-row="${P.rows.indexOf(r)}" tabindex="0" cx="${X(intensity[i])}" cy="${Y(flops[i])}" r="${3 + 15 * Math.sqrt(r.share)}"
      fill="var(${colourOf(r)})" fill-opacity="${r.flops ? .55 : 0}" stroke="var(${colourOf(r)})"/>`;
  });
  svg.innerHTML = out;
  $('above').textContent = points.some(past) ? 'Dots above the lines: ' + PAST : '';
  for (const dot of svg.querySelectorAll('circle')) {
    const row = P.rows[dot.dataset.row];
    dot.onpointermove = e => showTip(rowTip(row), e.clientX, e.clientY);
    dot.onpointerleave = dot.onblur = hideTip;
    dot.onfocus = () => { const b = dot.getBoundingClientRect(); showTip(rowTip(row), b.x, b.y + b.height / 2); };
  }
}

// ---- Memory: of the part of the timeline that is shown. Intermediates stand on the weights, which are often a hundred
// times as much, and are then drawn shorter than they are.
const weights = P.constant_bytes || 0;
const live = order.map(i => [P.runs[i][1], P.runs[i][3], i]);
const atTime = (list, t) => { let v = 0; for (const p of list) { if (p[0] > t) break; v = p[1]; } return v; };
// The largest value in each pixel's time, so that a line of many runs is an outline.
function outline(list, w) {
  const [low, high] = view, shown = list.filter(p => p[0] >= low && p[0] <= high);
  const points = [[low, atTime(list, low)]];
  if (shown.length < w) return points.concat(shown);
  const most = new Map();
  for (const p of shown) {
    const pixel = Math.floor((p[0] - low) / (high - low) * w);
    if (!most.has(pixel) || most.get(pixel)[1] < p[1]) most.set(pixel, p);
  }
  return points.concat([...most.values()].sort((a, b) => a[0] - b[0]));
}
function drawMemory() {
  const svg = $('memory'), w = svg.clientWidth, h = Math.max(260, Math.min(360, w * .6));
  svg.setAttribute('viewBox', `0 0 ${w} ${h}`); svg.style.height = h + 'px';
  const L = 84, R = 12, T = 22, B = 38, [low, high] = view;
  const X = t => L + (t - low) / (high - low) * (w - L - R);
  let out = '';
  const text = (x, y, s, anchor) => { out += `<text x="${x}" y="${y}" text-anchor="${anchor || 'start'}">${s}</text>`; };
  const size = b => bytes(b).replace(/\.0+ /, ' ').replace(/(\.\d)0 /, '$1 ');
  const steps = (points, Y) => points.map((p, i) => i ? `H${X(p[0])}V${Y(p[1])}` : `M${X(p[0])},${Y(p[1])}`).join('') + `H${w - R}`;
  // A line on what takes `base` bytes all the time.
  function panel(points, top, bottom, base, colour) {
    const most = points.reduce((m, p) => Math.max(m, p[1]), 1) * 1.12, broken = base > 1.5 * most;
    const foot = bottom - (broken ? (bottom - top) * .26 : base / (base + most) * (bottom - top));
    const Y = v => foot - v / most * (foot - top), unit = 1024 ** Math.floor(Math.log(most) / Math.log(1024));
    for (const v of ticks(0, most / unit, (foot - top) / 44)) {
      out += `<line class="grid" x1="${L}" x2="${w - R}" y1="${Y(v * unit)}" y2="${Y(v * unit)}"/>`;
      text(L - 6, Y(v * unit) + 4, v ? (base ? '+ ' : '') + size(v * unit) : base ? size(base) : 0, 'end');
    }
    if (base) {
      out += `<rect x="${L}" y="${foot}" width="${w - L - R}" height="${bottom - foot}" fill="var(--soft)" fill-opacity=".22"/>`;
      text(L - 6, bottom + 4, 0, 'end');
      text(L + 8, (foot + bottom) / 2 + 4, `weights ${bytes(base)}${broken && w > 400 ? ', drawn shorter than they are' : broken ? ', shortened' : ''}`);
      if (broken) {
        const y = bottom - 10, zig = Array.from({length: 4}, (_, i) => `l4,-5 l4,5`).join(' ');
        out += `<path d="M${L - 8},${y} ${zig}" fill="none" stroke="var(--card)" stroke-width="5"/><path d="M${L - 8},${y} ${zig}" fill="none" stroke="var(--soft)"/>`;
      }
    }
    const line = steps(points, Y);
    out += `<path d="${line}V${foot}H${X(points[0][0])}Z" fill="var(${colour})" fill-opacity=".22"/>`;
    out += `<path d="${line}" fill="none" stroke="var(${colour})" stroke-width="1.75"/>`;
    return Y;
  }
  const intermediates = outline(live, w - L - R), peak = intermediates.reduce((m, p) => p[1] > m[1] ? p : m, [low, 0]);
  const pool = P.memory.length ? outline(P.memory, w - L - R) : [], used = pool.reduce((m, p) => Math.max(m, p[1]), 0);
  const alone = !weights && pool.length;  // of a program: what else it holds is only known from the pool
  const Y = panel(intermediates, T, alone ? (h - B) * .52 : h - B, weights, '--accent');
  text(L, 12, 'intermediates' + (weights ? ', on top of the weights' : ''));
  if (peak[1] > 0) {
    const x = X(Math.max(peak[0], low)), right = x > (L + w - R) / 2;
    out += `<circle cx="${x}" cy="${Y(peak[1])}" r="4" fill="var(--accent)"/>`;
    const step = peak.length > 2 ? P.rows[P.runs[peak[2]][0]].step : '';
    const most = Math.floor((right ? x - L : w - R - x) / 7) - 14, name = step.length > most ? step.slice(0, Math.max(most, 3)) + '…' : step;
    text(right ? x - 8 : x + 8, Y(peak[1]) - 6, `peak ${bytes(peak[1])}${name ? ': ' + esc(name) : ''}`, right ? 'end' : 'start');
  }
  if (alone) {
    text(L, (h - B) * .52 + 28, 'in use, of the pool');
    panel(pool, (h - B) * .52 + 36, h - B, 0, '--soft');
  }
  for (const t of ticks(low - origin(), high - origin(), Math.max(w / 150, 2)).map(t => t + origin())) {
    text(Math.min(X(t), w - R - 24), h - B + 15, clock(t), 'middle');
  }
  text((L + w - R) / 2, h - 5, 'time', 'middle');
  svg.innerHTML = out;
  $('memory_note').textContent = (weights ? `${bytes(weights + peak[1])} at the peak: weights ${bytes(weights)}, intermediates ${bytes(peak[1])}`
                                          : `intermediates up to ${bytes(peak[1])}`) + (used ? `; the pool has ${bytes(used)} in use` : '');
  svg.onpointermove = e => {
    const t = low + (e.offsetX - L) / (w - L - R) * (high - low);
    showTip(`<b>${clock(t)}</b>intermediates: ${bytes(atTime(live, t))}` + (weights ? `<br>weights: ${bytes(weights)}` : '') +
            (pool.length ? `<br>in use, of the pool: ${bytes(atTime(P.memory, t))}` : ''), e.clientX, e.clientY);
  };
  svg.onpointerleave = hideTip;
}

// ---- Table
// The shape, which tells rows apart, is never cut.
const stepCell = (step, family) => {
  const at = step.lastIndexOf(' ['), shape = at > 0 ? step.slice(at + 1) : '';
  return `${family ? swatch(family) : ''}<span class="name">${esc(shape ? step.slice(0, at) : step)}</span>` +
    (shape ? `<span class="shape">${esc(shape)}</span>` : '');
};
const columns = [
  ['step', r => stepCell(r.step, r.family), r => r.step], ['calls a run', r => digits(r.calls / n).replace('.00', '').replace('.0', ''), r => r.calls], ['time a run', r => time(r.seconds * 1e6 / n), r => r.seconds],
  ['share', r => `${percent(r.share)}<span class="bar"><i style="width:${r.share * 100}%;background:var(${colourOf(r)})"></i></span>`, r => r.share],
  ['GB/s', r => digits(r.bytes_per_second / 1e9), r => r.bytes_per_second],
  ['GFLOP/s', r => r.flops ? digits(r.flops_per_second / 1e9) : '', r => r.flops_per_second],
  ['limit', r => past(r) ? `<span class="past" title="Past 100%: ${PAST}">${percent(r.of_limit)}</span>` : limits.copy_bandwidth > 0 ? percent(r.of_limit) : '', r => r.of_limit], ['form', r => esc(r.variant), r => r.variant], ['why', r => esc(r.why), r => r.why],
];
let sorted = 2, descending = true;
function drawTable() {
  const value = columns[sorted][2] || columns[sorted][1];
  const rows = P.rows.slice().sort((a, b) => {
    const x = value(a), y = value(b);
    return (x < y ? -1 : x > y ? 1 : 0) * (descending ? -1 : 1);
  });
  const left = i => i > 7 ? ' class="left why"' : i > 6 ? ' class="left"' : '';
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
  const cells = d => [stepCell(d.step), esc(d.kernel), d.workgroups[0] ? d.workgroups.join(' × ') : '', time(d.seconds * 1e6),
    bytes(d.bytes), d.flops ? scaled(d.flops, ['FLOP', 'kFLOP', 'MFLOP', 'GFLOP', 'TFLOP'], 1000) : '', esc(d.variant), esc(d.why)];
  const row = (kind, list) => '<tr>' + list.map((c, i) => `<${kind}${i === 7 ? ' class="left why"' : [1, 6].includes(i) ? ' class="left"' : ''}>${c}</${kind}>`).join('') + '</tr>';
  $('list').innerHTML = '<thead>' + row('th', ['step', 'kernel', 'workgroups', 'time', 'moved', 'operations', 'form', 'why']) +
    '</thead><tbody>' + P.dispatch_report.map(d => row('td', cells(d))).join('') + '</tbody>';
}

// ---- Tables wider than the page: a shadow where there is more, and a line that counts it.
for (const wide of document.querySelectorAll('.wide')) {
  const scroll = wide.querySelector('.scroll'), hint = document.createElement('p');
  hint.className = 'soft columns';
  wide.before(hint);
  wide.mark = () => {
    const end = scroll.scrollLeft + scroll.clientWidth, heads = [...scroll.querySelectorAll('th')];
    const hidden = heads.filter(h => h.offsetLeft + h.offsetWidth > end + 24).map(h => h.textContent.replace(/ [▾▴]$/, ''));
    wide.classList.toggle('more', end + 2 < scroll.scrollWidth);
    wide.classList.toggle('scrolled', scroll.scrollLeft > 2);
    hint.hidden = scroll.scrollWidth <= scroll.clientWidth + 2;
    hint.textContent = hidden.length ? `Scroll for ${hidden.join(', ')} →` : 'The last column.';
  };
  scroll.addEventListener('scroll', wide.mark);
}
const markTables = () => { for (const wide of document.querySelectorAll('.wide')) wide.mark(); };

function drawView() { drawTimeline(); drawMemory(); }
function draw() { drawView(); drawRoofline(); markTables(); }
drawTable();
show(P.shown_run);
draw();
addEventListener('resize', draw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
