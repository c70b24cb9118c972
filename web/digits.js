// The network that recognises drawn digits, as WebNN has it, and drawings as the network knows them.
//
// train_digits.mjs trained it on pictures of 8 x 8 numbers, each of which counts the ink in 4 x 4 dots of a digit that
// fills 32 x 32 dots. Drawings are reduced in the same way.

export const SIZE = 8;
const BLOCK = 4, DOTS = SIZE * BLOCK;

// ---- The network

// The tensors of a file of safetensors, as {shape, values} by their names.
export function readSafetensors(buffer) {
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  delete header.__metadata__;
  return Object.fromEntries(Object.entries(header).map(([name, {shape, data_offsets: [begin, end]}]) =>
      [name, {shape, values: new Float32Array(buffer.slice(8 + length + begin, 8 + length + end))}]));
}

// The network on a context of navigator.ml: recognise(pixels) gives the ten digits' probabilities.
export async function createRecogniser(context, weights) {
  const builder = new MLGraphBuilder(context);
  const constant = (name) => builder.constant({dataType: 'float32', shape: weights[name].shape}, weights[name].values);
  const shape = [1, 1, SIZE, SIZE];
  const padding = [1, 1, 1, 1];
  const pixels = builder.input('pixels', {dataType: 'float32', shape});
  const one = builder.relu(builder.conv2d(pixels, constant('w1'), {bias: constant('b1'), padding}));
  const two = builder.relu(builder.conv2d(one, constant('w2'), {bias: constant('b2'), padding}));
  const pooled = builder.maxPool2d(two, {windowDimensions: [2, 2], strides: [2, 2]});
  const flat = builder.reshape(pooled, [1, weights.w3.shape[0]]);
  const scores = builder.gemm(flat, constant('w3'), {c: constant('b3')});
  const graph = await builder.build({probabilities: builder.softmax(scores, 1)});

  const input = await context.createTensor({dataType: 'float32', shape, writable: true});
  const output = await context.createTensor({dataType: 'float32', shape: [1, 10], readable: true});
  return async (values) => {
    context.writeTensor(input, values);
    context.dispatch(graph, {pixels: input}, {probabilities: output});
    return new Float32Array(await context.readTensor(output));
  };
}

// ---- Drawings

// In the pictures that the network has seen, digits of few lines have thick ones: all have about as much ink.
const INK = 19.5 * BLOCK ** 2, PEN = [4, 6.5];

// Lines of points [x, y], moved and scaled so that they fill the dots, and the thickness of the pen.
function fitted(lines) {
  const points = lines.flat();
  const [left, top] = [0, 1].map((i) => Math.min(...points.map((p) => p[i])));
  const [right, bottom] = [0, 1].map((i) => Math.max(...points.map((p) => p[i])));
  const size = Math.max(right - left, bottom - top, 1e-6);
  const length = lines.reduce((all, line) => line.slice(1).reduce(
      (sum, [x, y], i) => sum + Math.hypot(x - line[i][0], y - line[i][1]), all), 0);
  const pen = Math.min(Math.max(INK / Math.max(length / size * DOTS, 1), PEN[0]), PEN[1]);
  const scale = (DOTS - pen) / size;
  const x = (DOTS - (right - left) * scale) / 2, y = (DOTS - (bottom - top) * scale) / 2;
  return {pen, lines: lines.map((line) => line.map(([px, py]) => [x + (px - left) * scale, y + (py - top) * scale]))};
}

const distance = ([px, py], [ax, ay], [bx, by]) => {
  const dx = bx - ax, dy = by - ay;
  const along = Math.min(Math.max(((px - ax) * dx + (py - ay) * dy) / (dx * dx + dy * dy || 1), 0), 1);
  return Math.hypot(px - ax - along * dx, py - ay - along * dy);
};

// Each block's part of ink, from 0 to 1: counts from 0 to 16 over 16.
function counted(isInk) {
  const pixels = new Float32Array(SIZE * SIZE);
  for (let y = 0; y < DOTS; ++y) {
    for (let x = 0; x < DOTS; ++x) {
      if (isInk(x, y)) pixels[SIZE * Math.floor(y / BLOCK) + Math.floor(x / BLOCK)] += 1 / BLOCK ** 2;
    }
  }
  return pixels;
}

// The picture that the network knows, of a drawing: lines, each a list of points [x, y].
export function reduceLines(lines) {
  const {pen, lines: placed} = fitted(lines);
  const parts = placed.flatMap((line) => line.map((point, i) => [point, line[i + 1] ?? point]));
  return counted((x, y) => parts.some(([a, b]) => distance([x + 0.5, y + 0.5], a, b) <= pen / 2));
}

// The same of a picture (ImageData) of a digit, dark on light or light on dark; undefined if nothing is on it.
export function reducePicture({data, width, height}) {
  const grey = Float32Array.from({length: width * height}, (_, i) => {
    const [r, g, b, a] = data.subarray(4 * i, 4 * i + 4);
    return 255 + (0.299 * r + 0.587 * g + 0.114 * b - 255) * (a / 255);
  });
  const threshold = separation(grey);
  let dark = 0;
  for (const v of grey) dark += v < threshold;
  const inkIsDark = dark * 2 < grey.length;  // most of it is paper
  const isInk = (x, y) => (grey[y * width + x] < threshold) === inkIsDark;
  return threshold === 0 ? undefined : reduceInk(isInk, width, height);
}

// The same of what is ink among so many points; undefined if nothing is.
export function reduceInk(isInk, width, height) {
  let left = width, right = -1, top = height, bottom = -1;
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      if (!isInk(x, y)) continue;
      [left, right] = [Math.min(left, x), Math.max(right, x)];
      [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
    }
  }
  if (right < 0) return undefined;
  const w = right - left + 1, h = bottom - top + 1, scale = Math.max(w, h) / DOTS;
  const x0 = left + (w - DOTS * scale) / 2, y0 = top + (h - DOTS * scale) / 2;
  return counted((x, y) => {
    const px = Math.floor(x0 + (x + 0.5) * scale), py = Math.floor(y0 + (y + 0.5) * scale);
    return px >= left && px <= right && py >= top && py <= bottom && isInk(px, py);
  });
}

// The grey that best separates two kinds of points (Otsu's method); 0 if all are alike.
function separation(grey) {
  const counts = new Float64Array(256);
  for (const v of grey) counts[Math.round(v)]++;
  const sum = counts.reduce((all, n, v) => all + n * v, 0);
  let below = 0, sumBelow = 0, best = 0, at = 0;
  for (let v = 0; v < 255; ++v) {
    below += counts[v];
    sumBelow += counts[v] * v;
    const above = grey.length - below;
    if (!below || !above) continue;
    const apart = below * above * (sumBelow / below - (sum - sumBelow) / above) ** 2;
    if (apart > best) [best, at] = [apart, v + 0.5];
  }
  return at;
}

// ---- Digits as a hand draws them, in a square from 0 to 1

const arc = (cx, cy, rx, ry, from, to) => Array.from({length: 25}, (_, i) => {
  const angle = (from + (to - from) * i / 24) * Math.PI / 180;
  return [cx + rx * Math.cos(angle), cy + ry * Math.sin(angle)];
});

export const EXAMPLES = [
  [arc(0.5, 0.5, 0.26, 0.4, -90, 270)],
  [[[0.36, 0.26], [0.54, 0.1], [0.54, 0.9]]],
  [[...arc(0.5, 0.32, 0.25, 0.22, -170, 40), [0.27, 0.88], [0.77, 0.88]]],
  [[...arc(0.46, 0.3, 0.24, 0.2, -160, 85), ...arc(0.46, 0.69, 0.27, 0.21, -85, 160)]],
  [[[0.5, 0.1], [0.24, 0.58], [0.78, 0.58]], [[0.62, 0.36], [0.6, 0.92]]],
  [[[0.74, 0.12], [0.36, 0.12], [0.32, 0.46], ...arc(0.47, 0.66, 0.26, 0.23, -115, 150)]],
  [[[0.62, 0.1], [0.4, 0.36], ...arc(0.5, 0.67, 0.22, 0.22, -170, 190)]],
  [[[0.24, 0.12], [0.76, 0.12], [0.44, 0.9]]],
  [[...arc(0.5, 0.3, 0.19, 0.19, 90, -270), ...arc(0.5, 0.7, 0.23, 0.21, -90, 270)]],
  [[...arc(0.5, 0.33, 0.22, 0.22, 10, -330), [0.71, 0.4], [0.6, 0.9]]],
];
