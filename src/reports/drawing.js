'use strict';
const G = /*DATA*/;
const $ = id => document.getElementById(id);
const esc = s => String(s).replace(/[&<>"]/g, c => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'}[c]));
const colourOf = family => `var(--f${G.families.indexOf(family)})`;
const measure = (() => {
  const context = document.createElement('canvas').getContext('2d'), family = getComputedStyle(document.body).fontFamily;
  return (text, size, weight) => { context.font = `${weight || 400} ${size}px ${family}`; return context.measureText(text).width; };
})();

// ---- What is open
const open = G.groups.map(g => g.level <= G.depth);
const pathOf = box => { const path = []; for (let g = G.boxes[box].group; g >= 0; g = G.groups[g].parent) path.unshift(g); return path; };
const paths = G.boxes.map((_, i) => pathOf(i));
const families = group => G.families.filter(f => G.boxes.some((b, i) => b.family === f && paths[i].includes(group)));

// ---- Layout. An item is a box or a group inside of the group that is laid out, or a port: where an edge from or to the
// outside crosses the frame.
const LINE = 17, PAD = 10, GAP_X = 26, GAP_Y = 34, FRAME = 16, HEAD = 30, VIEW = 15;
const cut = (s, n) => s.length > n ? s.slice(0, n - 1) + '…' : s;

function boxItem(i) {
  const b = G.boxes[i], lines = [[b.title, 'title', 13, 600]];
  if (b.kind !== 'op') lines[0][0] = b.kind + ' ' + b.title;
  if (b.name) lines.push([cut(b.name, 48), 'small', 12]);
  for (const t of b.types) lines.push([t, 'small', 12]);
  b.constants.slice(0, 4).forEach(c => lines.push(['· ' + cut(c, 52), 'small', 12]));
  if (b.constants.length > 4) lines.push([`· ${b.constants.length - 4} more constants`, 'small', 12]);
  const width = Math.max(...lines.map(l => measure(l[0], l[2], l[3]))) + 2 * PAD + 6;
  return {box: i, lines, w: Math.ceil(width), h: lines.length * LINE + 12};
}
function closedItem(g) {
  const lines = [['▸ ' + G.groups[g].name, 'title', 13, 600]], words = G.groups[g].summary.split(', ');
  let line = '';
  for (const word of words) {
    if (line && line.length + word.length > 46) { lines.push([line + ',', 'small', 12]); line = ''; }
    line += (line ? ', ' : '') + word;
  }
  lines.push([line, 'small', 12]);
  const width = Math.max(...lines.map(l => measure(l[0], l[2], l[3]))) + 2 * PAD + 6;
  return {closed: g, lines, w: Math.ceil(width), h: lines.length * LINE + 12};
}

// Positions as near to the wanted ones as their distances allow, heavy ones nearer (pool adjacent violators).
function spread(wanted, weight, distance) {
  const blocks = [];
  let offset = 0;
  wanted.forEach((want, i) => {
    if (i) offset += distance(i);
    blocks.push({sum: (want - offset) * weight[i], weight: weight[i], offsets: [offset]});
    while (blocks.length > 1) {
      const b = blocks[blocks.length - 1], a = blocks[blocks.length - 2];
      if (a.sum / a.weight <= b.sum / b.weight) break;
      a.sum += b.sum; a.weight += b.weight; a.offsets.push(...b.offsets);
      blocks.pop();
    }
  });
  return blocks.flatMap(b => b.offsets.map(o => b.sum / b.weight + o));
}

function layout(group) {
  const items = [], at = new Map();
  const item = (key, make) => {
    if (!at.has(key)) { at.set(key, items.length); items.push(Object.assign(make(), {key, out: new Map(), into: []})); }
    return at.get(key);
  };
  const depth = group ? G.groups[group].level : 0;
  // The item of this group that holds the box; -1: the box is outside.
  const child = box => {
    const path = paths[box];
    if (path[depth] !== group) return -1;
    if (path.length === depth + 1) return item('b' + box, () => boxItem(box));
    const g = path[depth + 1];
    return item('g' + g, () => open[g] ? layout(g) : closedItem(g));
  };
  G.boxes.forEach((_, i) => child(i));
  G.edges.forEach(e => {
    let from = child(e.from), to = child(e.to);
    if (from < 0 && to < 0 || from === to) return;
    if (from < 0) from = item('in' + e.from, () => ({port: 'in', w: 0, h: 0, source: e.from}));
    if (to < 0) to = item('out' + e.from, () => ({port: 'out', w: 0, h: 0, source: e.from}));
    // An edge of the same tensor to the same item is drawn once. Views are written where the edge ends at a box.
    const inner = items[to].closed === undefined && items[to].group === undefined && !items[to].port;
    const key = e.from + '>' + to;
    const edge = items[from].out.get(key) || {from, to, source: e.from, views: []};
    if (inner || items[to].closed !== undefined) for (const v of e.views) if (!edge.views.includes(v)) edge.views.push(v);
    items[from].out.set(key, edge);
  });
  const edges = items.flatMap(i => [...i.out.values()]);
  for (const e of edges) items[e.to].into.push(e);
  for (const i of items) {
    i.views = Math.max(0, ...i.into.map(e => e.views.length));
    // Room for what is written beside the ends of edges.
    const labels = i.into.map(e => Math.max(0, ...e.views.map(v => measure(v, 11.5) + 12)));
    i.room = Math.max(i.w, i.into.length > 1 ? labels.reduce((a, b) => a + b, 0) + 16 * labels.length : (labels[0] || 0) * 2);
  }

  // Layers: each item below all that it needs (but for a group of which another item reads before the group is through); what nothing precedes right above the first that needs it.
  const order = [], state = items.map(() => 0);
  (function visitAll() {
    const visit = i => { if (state[i]) return; state[i] = 1; for (const e of items[i].into) visit(e.from); order.push(i); };
    items.forEach((_, i) => visit(i));
  })();
  const inner = items.some(i => i.port);
  for (const i of order) {
    const it = items[i];
    it.layer = Math.max(it.port === 'in' || !inner ? 0 : 1, ...it.into.map(e => (items[e.from].layer ?? -1) + 1));
  }
  for (const i of order.slice().reverse()) {
    const it = items[i], outs = [...it.out.values()];
    if (!it.into.length && it.port !== 'in' && outs.length) it.layer = Math.max(it.layer, Math.min(...outs.map(e => items[e.to].layer)) - 1);
  }
  let last = Math.max(0, ...items.map(i => i.port === 'out' ? 0 : i.layer));
  if (items.some(i => i.port === 'out')) ++last;
  for (const i of items) if (i.port === 'out') i.layer = last;

  // A tensor that passes layers goes through one point in each, from which edges to several items part.
  const layers = Array.from({length: last + 1}, () => []), links = [];
  items.forEach(i => layers[i.layer].push(i));
  for (const it of items) {
    const bySource = new Map();
    for (const e of it.out.values()) bySource.set(e.source, [...(bySource.get(e.source) || []), e]);
    for (const list of bySource.values()) {
      const deepest = Math.max(...list.map(e => items[e.to].layer));
      for (const e of list) if (items[e.to].layer <= it.layer) links.push({from: it, to: items[e.to], edge: e, back: true});
      let point = it;
      for (let l = it.layer + 1; l <= deepest; ++l) {
        for (const e of list) if (items[e.to].layer === l) links.push({from: point, to: items[e.to], edge: e});
        if (l < deepest) {
          const next = {point: true, w: 0, h: 0, room: 12, views: 0, layer: l};
          layers[l].push(next);
          links.push({from: point, to: next, edge: list[0], passes: true});
          point = next;
        }
      }
    }
  }
  const up = new Map(), down = new Map();
  for (const layer of layers) for (const i of layer) { up.set(i, []); down.set(i, []); }
  for (const l of links) if (!l.back) { up.get(l.to).push(l.from); down.get(l.from).push(l.to); }

  // Order by the mean place of the neighbours, downwards and upwards in turn.
  const number = layer => layer.forEach((i, k) => { i.place = k; });
  layers.forEach(number);
  const mean = list => list.reduce((a, b) => a + b, 0) / list.length;
  for (let sweep = 0; sweep < 12; ++sweep) {
    const near = sweep % 2 ? down : up, list = sweep % 2 ? layers.slice().reverse() : layers;
    for (const layer of list) {
      const value = new Map(layer.map(i => [i, near.get(i).length ? mean(near.get(i).map(n => n.place / layers[n.layer].length)) : i.place / layer.length]));
      layer.sort((a, b) => value.get(a) - value.get(b));
      number(layer);
    }
  }
  // Positions: as near to the neighbours as the neighbours in the layer allow. Boxes that follow each other stand
  // straight below each other, and so does a long edge; where the edge meets a box it bends.
  const pulled = (i, near) => {
    if (!near.length) return i.x;
    let sum = 0, weight = 0;
    for (const n of near) {
      const w = Boolean(n.point) === Boolean(i.point) ? 20 : 1;
      sum += n.x * w; weight += w;
    }
    return sum / weight;
  };
  for (const layer of layers) {
    let x = 0;
    for (const i of layer) { i.x = x + i.room / 2; x += i.room + GAP_X; }
    const shift = x / 2;
    for (const i of layer) i.x -= shift;
  }
  for (let sweep = 0; sweep < 16; ++sweep) {
    const near = sweep % 2 ? down : up, list = sweep % 2 ? layers.slice().reverse() : layers;
    for (const layer of list) {
      const wanted = layer.map(i => pulled(i, near.get(i)));
      const xs = spread(wanted, layer.map(i => i.point ? 1 : 20), k => (layer[k - 1].room + layer[k].room) / 2 + GAP_X);
      layer.forEach((i, k) => { i.x = xs[k]; });
    }
  }
  let y = 0;
  layers.forEach((layer, l) => {
    const ports = layer.every(i => i.port || i.point);
    const above = Math.max(0, ...layer.map(i => i.views)) * VIEW;
    if (l) y += (ports || layers[l - 1].every(i => i.port) ? 18 : GAP_Y) + above;
    const height = Math.max(0, ...layer.map(i => i.h));
    for (const i of layer) { i.y = y; i.bottom = i.point || i.port ? y + height : y + i.h; i.floor = y + height; }
    y += height;
  });
  const left = Math.min(...layers.flat().map(i => i.x - (i.room || i.w) / 2)), right = Math.max(...layers.flat().map(i => i.x + (i.room || i.w) / 2));
  const top = group ? HEAD : 0, width = Math.max(right - left, group ? measure(G.groups[group].name, 13, 600) + 40 : 0);
  const side = group ? FRAME : 0, shift = side - left + (width - (right - left)) / 2;
  for (const i of layers.flat()) { i.x += shift; i.y += top; i.bottom += top; i.floor += top; }
  const h = y + top + (group ? (items.some(i => i.port === 'out') ? 0 : FRAME) : 0);
  return {group, items, links, w: width + 2 * side, h, closed: undefined};
}

// ---- Drawing
function boxSvg(i, x, y) {
  const left = x - i.w / 2, closed = i.closed !== undefined, b = closed ? null : G.boxes[i.box];
  let s = `<g class="box${closed ? ' closed' : b.kind === 'op' ? '' : ' port'}" tabindex="0" role="button" ` +
    (closed ? `data-group="${i.closed}" aria-expanded="false">` : `data-box="${i.box}">`);
  if (closed) s += `<rect class="under" x="${left + 4}" y="${y + 4}" width="${i.w}" height="${i.h}" rx="7"/>`;
  s += `<rect x="${left}" y="${y}" width="${i.w}" height="${i.h}" rx="${b && b.kind !== 'op' ? 12 : 7}"/>`;
  const list = closed ? families(i.closed) : b.family ? [b.family] : [];
  list.forEach((f, k) => { s += `<rect x="${left + 1}" y="${y + 6 + k * (i.h - 12) / list.length}" width="4" height="${(i.h - 12) / list.length}" style="fill:${colourOf(f)};stroke:none"/>`; });
  i.lines.forEach((l, k) => { s += `<text class="${l[1]}" x="${left + PAD + 4}" y="${y + 19 + k * LINE}">${esc(l[0])}</text>`; });
  return s + '</g>';
}

function groupSvg(g, x, y) {
  // x, y: the left upper corner.
  let frames = '', edges = '', boxes = '', labels = '';
  if (g.group) {
    frames += `<g class="frame"><rect x="${x}" y="${y}" width="${g.w}" height="${g.h}" rx="10"/>` +
      `<g class="head" tabindex="0" role="button" aria-expanded="true" data-group="${g.group}"><rect x="${x}" y="${y}" width="${g.w}" height="${HEAD - 4}"/>` +
      `<text class="title" x="${x + 12}" y="${y + 20}">▾ ${esc(G.groups[g.group].name)}</text></g></g>`;
  }
  // Ends of edges at an item are side by side, in the order of what they come from; a frame's are at its ports.
  const portX = (item, port, source) => {
    const p = item.items && item.items.find(i => i.port === port && i.source === source);
    return p ? x + item.x - item.w / 2 + p.x : null;
  };
  const ends = new Map();
  for (const l of g.links) if (!l.to.point) ends.set(l.to, [...(ends.get(l.to) || []), l]);
  const endX = new Map();
  for (const [item, list] of ends) {
    // As near to straight as the ends' distances allow; views are written to the right of an end.
    list.sort((a, b) => a.from.x - b.from.x);
    const reach = Math.max(item.w / 2 - 12, 0), step = Math.min(item.w * .6 / list.length, 46);
    const wanted = list.map(l => Math.min(Math.max(l.from.x, item.x - reach), item.x + reach));
    const after = k => Math.min(Math.max(step, ...list[k - 1].edge.views.map(v => measure(v, 11.5) + 20)), 2 * reach / Math.max(list.length - 1, 1));
    const xs = spread(wanted, list.map(l => l.from.point ? 1 : 20), after);
    list.forEach((l, k) => endX.set(l, x + Math.min(Math.max(xs[k], item.x - reach), item.x + reach)));
  }
  const curve = (x1, y1, x2, y2) => Math.abs(x1 - x2) < .5 ? `M${x1},${y1}L${x2},${y2}` : `M${x1},${y1}C${x1},${(y1 + y2) / 2} ${x2},${(y1 + y2) / 2} ${x2},${y2}`;
  for (const l of g.links) {
    const from = l.from, to = l.to;
    const x1 = (from.point || from.port ? null : portX(from, 'out', l.edge.source)) ?? x + from.x, y1 = y + from.bottom;
    const x2 = (to.point || to.port ? null : portX(to, 'in', l.edge.source)) ?? (to.point || to.port ? x + to.x : endX.get(l)), y2 = y + to.y;
    // Beside taller neighbours the edge goes straight down first.
    const floor = y + from.floor, start = from.port === 'in' ? y : y1;  // from the frame's upper side
    const bend = floor > start ? `M${x1},${start}L${x1},${floor}` : '';
    let d = bend + curve(x1, Math.max(floor, y1), x2, y2);
    if (l.back) {
      const out = x + Math.max(from.x + from.w / 2, to.x + to.w / 2) + 30;
      d = `M${x1},${y1}C${x1},${y1 + 30} ${out},${y1 + 30} ${out},${(y1 + y2) / 2}S${x2},${y2 - 40} ${x2},${y2}`;
    }
    if (to.point) d += `M${x2},${y2}L${x2},${y + to.bottom}`;
    const target = to.box ?? -1;
    edges += `<path class="edge" data-source="${l.edge.source}" data-target="${target}" d="${d}"/>`;
    if (!to.point && !to.port && !to.items) edges += `<path class="tip" d="M${x2},${y2}l-4,-7h8z"/>`;
    if (!to.point) l.edge.views.forEach((v, k) => { labels += `<text class="view" x="${x2 + 8}" y="${y2 - 9 - (l.edge.views.length - 1 - k) * VIEW}">${esc(v)}</text>`; });
  }
  for (const i of g.items) {
    if (i.port) continue;
    if (i.items) {
      const inner = groupSvg(i, x + i.x - i.w / 2, y + i.y);
      frames += inner.frames; edges += inner.edges; boxes += inner.boxes; labels += inner.labels;
    } else {
      boxes += boxSvg(i, x + i.x, y + i.y);
    }
  }
  return {frames, edges, boxes, labels};
}

let scale = 0, natural = {w: 1, h: 1};
function size() {
  const svg = $('drawing');
  svg.setAttribute('width', natural.w * scale);
  svg.setAttribute('height', natural.h * scale);
}
function fit() {
  const view = $('scroll'), wide = view.clientWidth / natural.w, high = view.clientHeight / natural.h;
  // The whole, unless that could not be read: then its width, and then not even that.
  scale = Math.min(1.25, Math.max(Math.min(wide, high), Math.min(wide, .8), .45));
  size();
}
function draw(anchor) {
  const M = 24, root = layout(0), svg = $('drawing');
  const parts = groupSvg(root, M, M);
  natural = {w: root.w + 2 * M, h: root.h + 2 * M + 8};
  svg.setAttribute('viewBox', `0 0 ${natural.w} ${natural.h}`);
  svg.innerHTML = parts.frames + parts.edges + parts.boxes + parts.labels;
  const drawn = svg.querySelectorAll('.box').length;
  $('count').textContent = `${drawn} of ${G.boxes.length} boxes`;
  if (!scale) fit(); else size();
  if (anchor) {
    const at = svg.querySelector(anchor);
    if (at) { at.focus({preventScroll: true}); at.scrollIntoView({block: 'nearest', inline: 'center'}); }
  }
}

// ---- Looking closer
function lightUp(box) {
  for (const e of document.querySelectorAll('.edge')) e.classList.toggle('lit', box >= 0 && (+e.dataset.source === box || +e.dataset.target === box));
  for (const b of document.querySelectorAll('.box')) b.classList.toggle('chosen', box >= 0 && +b.dataset.box === box);
}
function about(box) {
  const b = G.boxes[box], name = i => esc(G.boxes[i].title + (G.boxes[i].name ? ' · ' + G.boxes[i].name : ''));
  const rows = [];
  const labels = paths[box].slice(1).map(g => G.groups[g].name).concat(b.name || []).join('.');
  if (labels) rows.push(['label', esc(labels)]);
  b.types.forEach((t, i) => rows.push([i ? '' : 'result', esc(t)]));
  G.edges.filter(e => e.to === box).forEach((e, i) => rows.push([i ? '' : 'reads', name(e.from) + (e.views.length ? ` <span class="soft">as ${esc(e.views.join('; '))}</span>` : '')]));
  b.constants.forEach((c, i) => rows.push([i ? '' : 'constants', esc(c)]));
  G.edges.filter(e => e.from === box).forEach((e, i) => rows.push([i ? '' : 'read by', name(e.to)]));
  if (b.text) rows.push(['text', `<code>${esc(b.text)}</code>`]);
  $('about').innerHTML = `<button aria-label="close">×</button><h2>${esc(b.title)}</h2><dl>` + rows.map(r => `<dt>${r[0]}</dt><dd>${r[1]}</dd>`).join('') + '</dl>';
  $('about').hidden = false;
  $('about').querySelector('button').onclick = leave;
  lightUp(box);
}
function leave() { $('about').hidden = true; lightUp(-1); }
function act(e) {
  const target = e.target.closest('[data-group], [data-box]');
  if (!target) return leave();
  if (target.dataset.group) {
    const g = +target.dataset.group;
    open[g] = !open[g];
    leave();
    draw(`[data-group="${g}"]`);
  } else {
    about(+target.dataset.box);
  }
}
const svg = $('drawing');
svg.addEventListener('click', act);
svg.addEventListener('keydown', e => { if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); act(e); } });
addEventListener('keydown', e => { if (e.key === 'Escape') leave(); });
const all = state => { open.fill(state); open[0] = true; leave(); draw(); fit(); };
$('open').onclick = () => all(true);
$('close').onclick = () => all(false);
$('larger').onclick = () => { scale = Math.min(scale * 1.25, 4); size(); };
$('smaller').onclick = () => { scale = Math.max(scale / 1.25, .1); size(); };
$('fit').onclick = fit;
if (G.groups.length < 2) $('open').hidden = $('close').hidden = true;

$('title').textContent = document.title = G.title;
$('legend').innerHTML = families(0).map(f => `<span><i style="background:${colourOf(f)}"></i>${esc(f)}</span>`).join('') +
  '<span><i style="background:var(--port)"></i>input, output</span><span>· a constant that the box reads</span>' +
  '<span><em>italic</em>: a view on the way</span>' + (G.groups.length > 1 ? '<span>▸ ▾ a layer: click to open or close</span>' : '');
draw();
addEventListener('resize', fit);
