// Trains the network that recognises drawn digits (digits.js), with Weft itself, and writes digits.safetensors.
//
//   ./dev web node web/train_digits.mjs [digits.csv.gz]
//
// The data are scikit-learn's: the test part of Alpaydin and Kaynak's "Optical Recognition of Handwritten Digits", 1797
// pictures of 8 x 8 counts from 0 to 16, in the order of their writers. Without the file, pip fetches the wheel that has it.
// The last 360, by people of whom the network has seen nothing, tell its accuracy.
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {gunzipSync} from 'node:zlib';

import * as weft from '../build/web/package/index.js';
import {reduceInk} from './digits.js';

const HELD_OUT = 360, EPOCHS = 160, BATCH = 48, RATE = 3e-3;

function readDigits(file) {
  if (file) return readFileSync(file);
  const directory = mkdtempSync(join(tmpdir(), 'weft-digits-'));
  try {
    const python = process.env.PYTHON ?? 'python3';
    execFileSync(python, ['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary=:all:', '--dest', directory,
                          'scikit-learn'], {stdio: ['ignore', 'inherit', 'inherit']});
    const wheel = join(directory, readdirSync(directory).find((name) => name.endsWith('.whl')));
    execFileSync(python, ['-m', 'zipfile', '-e', wheel, directory]);
    return readFileSync(join(directory, 'sklearn/datasets/data/digits.csv.gz'));
  } finally {
    rmSync(directory, {recursive: true, force: true});
  }
}

const digits = gunzipSync(readDigits(process.argv[2])).toString().trim().split('\n').map((line) => {
  const values = line.split(',').map(Number);
  return {pixels: Float32Array.from(values.slice(0, 64), (v) => v / 16), label: values[64]};
});
const training = digits.slice(0, -HELD_OUT), heldOut = digits.slice(-HELD_OUT);

// ---- Random numbers, the same in each run
let state = 46;
function random() {
  state = (state + 0x6d2b79f5) | 0;
  let z = Math.imul(state ^ (state >>> 15), 1 | state);
  z = (z + Math.imul(z ^ (z >>> 7), 61 | z)) ^ z;
  return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
}
const between = (low, high) => low + (high - low) * random();

function shuffled(list) {
  const result = [...list];
  for (let i = result.length - 1; i > 0; --i) {
    const j = Math.floor(random() * (i + 1));
    [result[i], result[j]] = [result[j], result[i]];
  }
  return result;
}

// The picture as another hand might write it: most are turned, slanted, stretched, bent, and thicker or thinner, and
// reduced as drawings are; the others are moved and scaled a little.
function varied(digit) {
  const {pixels, label} = digit;
  const at = (x, y) => (x < 0 || y < 0 || x > 7 || y > 7 ? 0 : pixels[8 * y + x]);
  const blended = (x, y) => {
    const x0 = Math.floor(x), y0 = Math.floor(y), fx = x - x0, fy = y - y0;
    return (1 - fy) * ((1 - fx) * at(x0, y0) + fx * at(x0 + 1, y0)) + fy * ((1 - fx) * at(x0, y0 + 1) + fx * at(x0 + 1, y0 + 1));
  };
  const reduced = random() < 0.7, reach = reduced ? 1 : 0.5;
  const turn = reach * between(-0.35, 0.35), slant = reach * between(-0.6, 0.6);
  const [a, b] = [0, 1].map(() => ({high: reach * between(0, 0.8), wide: between(0.4, 0.9), from: between(0, 2 * Math.PI)}));
  const sx = between(0.8, 1.3), sy = between(0.9, 1.15);
  const mx = between(-0.6, 0.6), my = between(-0.4, 0.4), c = Math.cos(turn), s = Math.sin(turn);
  const moved = (x, y) => {
    const u = x * sx + a.high * Math.sin(a.wide * y + a.from), v = y * sy + b.high * Math.sin(b.wide * x + b.from);
    return blended(3.5 + c * u - s * v + slant * v, 3.5 + s * u + c * v);
  };
  if (!reduced) {
    return {label, pixels: Float32Array.from({length: 64}, (_, i) => moved((i & 7) - 3.5 + mx, (i >> 3) - 3.5 + my))};
  }
  const threshold = between(0.25, 0.6), fine = 60;
  const ink = Uint8Array.from({length: fine * fine}, (_, i) =>
      moved((i % fine - fine / 2) / 5, (Math.floor(i / fine) - fine / 2) / 5) > threshold);
  return {label, pixels: reduceInk((x, y) => ink[y * fine + x], fine, fine) ?? pixels};
}

const tensors = (list) => ({
  x: weft.tensor(Float32Array.from(list.flatMap(({pixels}) => [...pixels])), {shape: [list.length, 1, 8, 8]}),
  labels: weft.tensor(Int32Array.from(list, ({label}) => label)),
});

// ---- The network
const forward = ({w1, b1, w2, b2, w3, b3}, x) => {
  const bias = (b) => b.reshape([-1, 1, 1]);
  const one = x.conv(w1, {padding: [1, 1], paddingAfter: [1, 1]}).add(bias(b1)).relu();
  const two = one.conv(w2, {padding: [1, 1], paddingAfter: [1, 1]}).add(bias(b2)).relu();
  return two.maxPool({window: [2, 2], strides: [2, 2]}).reshape([x.shape[0], -1]).matmul(w3).add(b3);
};

await weft.open({device: 'cpu'});
weft.random.seed(46);
const weights = (shape, inputs) => weft.random.normal(shape, {deviation: Math.sqrt(2 / inputs)});
let model = {
  w1: weights([16, 1, 3, 3], 9), b1: weft.zeros([16]),
  w2: weights([32, 16, 3, 3], 144), b2: weft.zeros([32]),
  w3: weights([512, 10], 512), b3: weft.zeros([10]),
};
const each = (f) => Object.fromEntries(Object.keys(model).map((name) => [name, f(name)]));
let state1 = each((name) => weft.zeros(model[name].shape)), state2 = each((name) => weft.zeros(model[name].shape));

// A step of Adam; the corrections for its start are in the rate.
const step = weft.compile((model, m, v, x, labels, rate) => {
  const loss = (w, x, labels) => forward(w, x).crossEntropy(labels, {labelSmoothing: 0.05});
  const [value, gradient] = weft.valueAndGrad(loss)(model, x, labels);
  const mean = each((n) => m[n].mul(0.9).add(gradient[n].mul(0.1)));
  const square = each((n) => v[n].mul(0.999).add(gradient[n].square().mul(0.001)));
  return {value, m: mean, v: square, model: each((n) => model[n].sub(mean[n].div(square[n].sqrt().add(1e-8)).mul(rate)))};
});
const predict = weft.compile((model, x) => forward(model, x).argmax({axes: [-1]}));

async function accuracy(list) {
  const {x} = tensors(list);
  const found = await predict(model, x).data();
  return list.filter(({label}, i) => Number(found[i]) === label).length / list.length;
}

const steps = EPOCHS * Math.floor(training.length / BATCH);
for (let epoch = 0, t = 0; epoch < EPOCHS; ++epoch) {
  const order = shuffled(training).map(varied);
  let sum = 0, count = 0;
  for (let i = 0; i + BATCH <= order.length; i += BATCH) {
    ++t;
    const rate = RATE * (0.5 + 0.5 * Math.cos(Math.PI * t / steps)) * Math.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t);
    const {x, labels} = tensors(order.slice(i, i + BATCH));
    const before = [model, state1, state2].flatMap(Object.values);
    const next = step(model, state1, state2, x, labels, weft.tensor(rate));
    ({model, m: state1, v: state2} = next);
    sum += await next.value.item();
    ++count;
    for (const tensor of [...before, x, labels, next.value]) tensor.dispose();
  }
  console.log(`epoch ${epoch + 1}: loss ${(sum / count).toFixed(4)}, held out ${(100 * await accuracy(heldOut)).toFixed(2)} %`);
}

// ---- Safetensors: the length of a header in JSON, the header, the bytes
const header = {}, parts = [];
let offset = 0;
for (const [name, tensor] of Object.entries(model)) {
  const values = await tensor.data();
  header[name] = {dtype: 'F32', shape: tensor.shape, data_offsets: [offset, offset += values.byteLength]};
  parts.push(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
}
const found = (100 * await accuracy(heldOut)).toFixed(2);
header.__metadata__ = {accuracy: `${found} % of ${HELD_OUT} digits by people of whom the network has seen none`};
let text = JSON.stringify(header);
text = text.padEnd(Math.ceil(text.length / 8) * 8);
const length = new Uint8Array(8);
new DataView(length.buffer).setUint32(0, text.length, true);
writeFileSync(new URL('digits.safetensors', import.meta.url), Buffer.concat([length, Buffer.from(text), ...parts]));
console.log(`digits.safetensors: ${offset} bytes of weights; right: ${found} % of the held-out digits, ` +
    `${(100 * await accuracy(training)).toFixed(2)} % of those it learned from`);
process.exit();
