// Tensors that functions make on their way: each function of the interface leaves as many as its result has, on the cpu
// and on WebGPU, also where it fails. A function without a case here fails.
import * as weft from '../package/index.js';
import {check, equal, served, test} from './harness.mjs';

const GPU = globalThis.navigator?.gpu && (await navigator.gpu.requestAdapter()) ? ['0'] : [];
const devices = {};
for (const name of ['cpu', ...GPU]) devices[name] = await weft.open({device: name});
const live = () => weft.memory().numTensors;

class Scaled {
  constructor(w) {
    this.w = w;
  }
  of(x) {
    return x.mul(this.w).sum();
  }
}
const thrower = () => {
  weft.ones([2]);
  throw new RangeError('mine');
};
const picture = {data: new Uint8ClampedArray(16), width: 2, height: 2};

// What cases are given: tensors t [2, 2], half (f16), mask, scalar, key and index, and the device.
const newFixture = (device) => ({
  t: weft.tensor([[1, 2], [3, 4]]), half: weft.ones([2, 2], 'f16'), mask: weft.tensor([[true, false], [true, true]]),
  scalar: weft.ones([]), key: weft.random.key(3), index: weft.tensor(new Int32Array([1, 0])), device,
});

// Of each function how many tensors it leaves, and calls of it.
const CASES = {
  tensor: {
    1: [() => weft.tensor([1, 2]), () => weft.tensor([1, 2], {dtype: 'f16'}), () => weft.tensor([[1, 2]], {dtype: 'c64'}),
        () => weft.tensor(new Uint8ClampedArray(2), {dtype: 'f32'}), () => weft.tensor(7n)],
    0: [() => weft.tensor([300], {dtype: 'u8'}), () => weft.tensor([1, 2], {dtype: 'nonsense'}), () => weft.tensor([1], {shape: [3]})],
  },
  full: {1: [() => weft.full([2], 3)], 0: [() => weft.full([-1], 3)]},
  zeros: {1: [() => weft.zeros([2])]},
  ones: {1: [() => weft.ones([2], 'f16')]},
  arange: {1: [() => weft.arange(3)]},
  linspace: {1: [() => weft.linspace(0, 1, 3)]},
  eye: {1: [() => weft.eye(3)]},
  concat: {1: [({t}) => weft.concat([t, t])], 0: [({t, scalar}) => weft.concat([t, scalar])]},
  stack: {1: [({t}) => weft.stack([t, t])]},
  where: {1: [({t, mask}) => weft.where(mask, t, 0)]},
  einsum: {1: [({t}) => weft.einsum('ij->ji', t)], 0: [({t}) => weft.einsum('i->j', t)]},
  'random.seed': {0: [() => weft.random.seed(1), () => weft.random.seed(-1)]},
  'random.key': {1: [() => weft.random.key(1)]},
  'random.split': {1: [({key}) => weft.random.split(key)]},
  'random.uniform': {1: [() => weft.random.uniform([2]), ({key}) => weft.random.uniform([2], {key})]},
  'random.normal': {1: [() => weft.random.normal([2])]},
  'random.integers': {1: [() => weft.random.integers([2], {low: 0, high: 9})]},
  'random.bernoulli': {1: [() => weft.random.bernoulli([2])], 0: [() => weft.random.bernoulli([2], {probability: 7})]},
  'random.permutation': {1: [() => weft.random.permutation(4)]},
  'Tensor.data': {0: [({t}) => t.data()]},
  'Tensor.item': {0: [({scalar}) => scalar.item(), ({t}) => t.item()]},
  'Tensor.toArray': {0: [({t}) => t.toArray(), ({half}) => half.toArray(), ({mask}) => mask.toArray()]},
  'Tensor.text': {0: [({t}) => t.text()]},
  'Tensor.toString': {0: [({t}) => t.toString()]},
  'Tensor.to': {1: [({t}) => t.to(devices.cpu)], 0: [({t}) => t.to('cpu')]},
  'Tensor.T': {1: [({t}) => t.T()]},
  'Tensor.at': {1: [({t}) => t.at(0, [0, 1]), ({t, index}) => t.at(0, index)], 0: [({t}) => t.at(9)]},
  'Tensor.withAt': {1: [({t}) => t.withAt([0], 5)], 0: [({t}) => t.withAt([0], 'five')]},
  operation: {2: [({t}) => weft.operation('top_k', [t], {k: 1})], 0: [({t}) => weft.operation('nonsense', [t])]},
  ops: {2: [({t}) => t.topK(1), ({t}) => weft.ops.split(t, [1, 1])], 1: [({t}) => t.add(1)], 0: [({t, index}) => t.matmul(index.at(9))]},
  evaluate: {0: [({t}) => weft.evaluate(t, [t]), ({t}) => weft.evaluate(t, 5)]},
  memory: {0: [() => weft.memory()]},
  use: {0: [({device}) => weft.use(device)]},
  open: {0: [({device}) => weft.open({device: device.gpu ? '0' : 'cpu'})]},
  Device: {0: [({device}) => device.wait()]},
  tidy: {
    0: [({t}) => weft.tidy(() => void t.add(1).mul(2)), () => weft.tidy(thrower), ({t}) => weft.tidy(async () => t.add(1).data()),
        () => weft.tidy(async () => thrower()), ({t}) => weft.tidy(() => { weft.tidy(() => t.add(1)); }), () => weft.tidy(5)],
    1: [({t}) => weft.tidy(() => t.add(1).mul(2)), ({t}) => weft.tidy(() => weft.tidy(() => t.add(1))), ({t}) => weft.tidy(() => {
      const a = {t: t.add(1)};
      t.mul(2);
      return Object.assign(a, {a});
    })],
    2: [({t}) => weft.tidy(() => ({a: [t.add(1).neg()], b: t.mul(2), c: 5, d: null, e: new Float32Array(3)}))],
  },
  grad: {
    0: [({t}) => weft.grad((w) => w.mul(w))(t), ({t}) => weft.grad(thrower)(t), ({t}) => weft.grad(() => 5)(t),
        ({t}) => weft.grad((w) => [w.sum(), w.sum()])(t), ({t}) => weft.grad((w) => [w.sum(), new Date()])(t)],
    1: [({t}) => weft.grad((w) => w.mul(w).sum())(t), ({scalar}) => weft.grad((w) => w)(scalar),
        ({t}) => weft.grad((m) => m.of(t))(new Scaled(t)), ({t}) => weft.grad((v) => weft.grad((w) => w.pow(3).sum())(v).sum())(t),
        ({t, index}) => weft.grad((w) => {
          try {
            w.mul(2).matmul(index.at(9));
          } catch {}
          return w.sum();
        })(t)],
  },
  valueAndGrad: {3: [({t}) => weft.valueAndGrad(({a, list}) => a.mul(list[0]).sum())({a: t, list: [t]})]},
  vmap: {
    0: [({t}) => weft.vmap(thrower)(t), ({t}) => weft.vmap((row) => [row.mul(2), new Date()])(t)],
    1: [({t}) => weft.vmap(() => t)(t), ({t}) => weft.vmap((row) => row)(t)],
    2: [({t}) => weft.vmap((row) => ({y: row.mul(2), z: [row.mul(3).sum()]}))(t)],
  },
  compile: {
    0: [({t}) => weft.compile(thrower)(t), ({t}) => weft.compile(() => 5)(t), ({t}) => weft.compile((a) => [a.mul(2), new Date()])(t)],
    1: [({t}) => weft.compile((w) => weft.grad((v) => v.mul(v).sum())(w))(t), ({t}) => weft.compile((w) => w)(t)],
    2: [({t}) => weft.compile((a, s) => ({y: a.mul(s).neg(), z: a.add(1)}))(t, 3)],
  },
  fromPixels: {1: [() => weft.fromPixels(picture)], 0: [() => weft.fromPixels(picture, {channels: 7})]},
  toPixels: {0: [({t}) => weft.toPixels(t), ({half}) => weft.toPixels(half), ({mask}) => weft.toPixels(mask), ({scalar}) => weft.toPixels(scalar)]},
  'models.similarity': {1: [({t}) => weft.models.similarity(t, t)], 0: [({t}) => weft.models.similarity(t, 5)]},
  'models.load': {0: [() => weft.models.load(`${served}none/`)]},
  'onnx.load': {
    0: [() => weft.onnx.load(`${served}none.onnx`), () => withDigits(() => {}), () => withDigits((model) => model.run({pixels: [1]}))],
    2: [() => withDigits((model) => model.run({pixels: new Uint8Array(64)}))],
  },
};
async function withDigits(use) {
  const model = await weft.onnx.load(`${served}examples/digits.onnx`, {cache: false});
  try {
    return await use(model);
  } finally {
    model.dispose();
  }
}
// What makes no tensors, or only on an object that models.load() gives (models_test.mjs).
const OTHERS = ['WeftError', 'Tensor', 'models.CACHE', 'models.SentenceEncoder', 'onnx.CACHE', 'onnx.Model', 'Tensor.rank', 'Tensor.size', 'Tensor.constructor'];

function dispose(value, seen = new Set()) {
  if (value instanceof weft.Tensor) return value.dispose();
  if (!value || typeof value !== 'object' || ArrayBuffer.isView(value) || seen.has(value)) return;
  seen.add(value);
  Object.values(value).forEach((v) => dispose(v, seen));
}

// Node has none.
globalThis.ImageData ??= class {
  constructor(data, width, height) {
    Object.assign(this, {data, width, height});
  }
};

for (const device of Object.values(devices)) {
  test(`each function leaves its results alone (${device.gpu ? 'gpu' : 'cpu'})`, async () => {
    for (const [name, cases] of Object.entries(CASES)) {
      for (const [count, calls] of Object.entries(cases)) {
        for (const f of calls) {
          weft.use(device);
          const fixture = newFixture(device), before = weft.memory();
          const result = await (async () => f(fixture))().catch((e) => e);
          const after = weft.memory();
          equal([name, String(f), `${after.numTensors - before.numTensors}`], [name, String(f), count]);
          check((after.numBytes > before.numBytes) === (count !== '0'), `${name}: ${after.numBytes} bytes, before ${before.numBytes}`);
          check(count === '0' || !(result instanceof Error), `${name}: ${f}: ${result}`);
          dispose(result);
          equal(live(), before.numTensors);
          dispose(fixture);
        }
      }
    }
  });
}

test('each function has a case', () => {
  const names = Object.entries(weft).flatMap(([name, value]) =>
      ['random', 'models', 'onnx'].includes(name) ? Object.keys(value).map((own) => `${name}.${own}`) : name);
  const methods = Object.getOwnPropertyNames(weft.Tensor.prototype).filter((name) => !(name in weft.ops) || name === 'at' || name === 'withAt');
  names.push(...methods.map((name) => `Tensor.${name}`));
  equal(names.filter((name) => !(name in CASES) && !OTHERS.includes(name)), []);
});

test('memory() counts tensors and bytes', async () => {
  weft.use(devices.cpu);
  const before = weft.memory();
  const made = [weft.zeros([10, 10]), weft.zeros([7], 'f16'), weft.zeros([3], 'c64'), weft.zeros([5], 'u4'), weft.zeros([0])];
  const after = weft.memory();
  equal([after.numTensors - before.numTensors, after.numBytes - before.numBytes], [5, 400 + 14 + 24 + 3]);
  check(after.moduleBytes > 1e6 && after.gpu === undefined, JSON.stringify(after));
  made.forEach((t) => t.dispose());
  equal(weft.memory().numTensors, before.numTensors);
  if (!GPU.length) return;
  weft.use(devices[0]);
  const {gpu} = weft.memory(), large = weft.tensor(new Float32Array(1 << 20));
  await weft.evaluate(large);
  const {gpu: now} = weft.memory();
  check(now.live >= gpu.live + (4 << 20) && now.peak >= now.live && now.cached >= 0, JSON.stringify([gpu, now]));
  large.dispose();
});

test('frames that are shown do not stay', async () => {
  for (const device of Object.values(devices)) {
    weft.use(device);
    const frame = weft.tensor(new Float32Array(256 * 256 * 3), {shape: [256, 256, 3]}).cast('f16');
    await weft.toPixels(frame);
    const before = weft.memory();
    for (let i = 0; i < 20; ++i) await weft.toPixels(frame);
    // (Garbage of tests before may have gone.)
    const after = weft.memory();
    for (const figure of ['numTensors', 'numBytes', 'moduleBytes']) {
      check(after[figure] <= before[figure], `${figure}: ${before[figure]}, then ${after[figure]}`);
    }
    check(!(after.gpu?.live > before.gpu?.live), `live: ${before.gpu?.live}, then ${after.gpu?.live}`);
  }
});

test('tidy does not look into arrays of numbers', async () => {
  const values = new Float32Array(1 << 24);
  let least = Infinity;
  for (let i = 0; i < 5; ++i) {
    const start = performance.now();
    equal((await weft.tidy(async () => ({values, list: [values]}))).values.length, 1 << 24);
    least = Math.min(least, performance.now() - start);
  }
  check(least < 20, `${least} ms`);
});
