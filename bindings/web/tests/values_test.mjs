// Values on their way in and out: ranges of integers, complex numbers, arrays and objects of other realms, pictures, seeds,
// objects of classes, and what messages say of wrong ones. Expected values are NumPy's, or by the definitions.
import * as weft from '../package/index.js';
import {check, close, equal, fails, test} from './harness.mjs';

const GPU = globalThis.navigator?.gpu && (await navigator.gpu.requestAdapter()) ? ['0'] : [];
const devices = {};
for (const name of ['cpu', ...GPU]) devices[name] = await weft.open({device: name});
const onEach = (name, f) => {
  for (const device of ['cpu', ...GPU]) {
    test(`${name} (${device === 'cpu' ? 'cpu' : 'gpu'})`, async () => {
      weft.use(devices[device]);
      await f(devices[device]);
    });
  }
};

// The classes of another realm: an iframe's, or a context's of Node.
async function otherRealm() {
  if (globalThis.document) {
    const frame = document.createElement('iframe');
    document.body.append(frame);
    return frame.contentWindow;
  }
  const vm = 'node:vm', {runInNewContext} = await import(vm);
  return runInNewContext('globalThis');
}
const other = await otherRealm();

// ---- Integers
const RANGES = {
  i8: [-128, 127], u8: [0, 255], i16: [-32768, 32767], u16: [0, 65535], i32: [-(2 ** 31), 2 ** 31 - 1], u32: [0, 2 ** 32 - 1],
  i64: [-(2n ** 63n), 2n ** 63n - 1n], u64: [0n, 2n ** 64n - 1n], i4: [-8, 7], u4: [0, 15], i2: [-2, 1], u2: [0, 3],
};

onEach('lists for integer types hold what the type holds', async (device) => {
  for (const [dtype, [low, high]] of Object.entries(RANGES)) {
    if (device.gpu && ['i4', 'u4', 'i2', 'u2'].includes(dtype)) continue;
    const large = typeof low === 'bigint', one = large ? 1n : 1;
    for (const of of [(v) => v, BigInt]) {
      equal([dtype, await weft.tensor([of(low), of(high)], {dtype}).toArray()], [dtype, [low, high]]);
      for (const [i, v] of [[0, of(low) - of(one)], [1, of(high) + of(one)]]) {
        const list = i ? [of(low), v] : [v, of(high)];
        await fails(() => weft.tensor(list, {dtype}), 'InvalidArgument',
                    new RegExp(`^tensor: element \\[${i}\\] is ${v}, expected ${dtype}, which goes from ${low} to ${high}$`));
      }
    }
  }
  await fails(() => weft.tensor([300], {dtype: 'u8'}), 'InvalidArgument', /element \[0\] is 300/);
  await fails(() => weft.tensor([2 ** 40], {dtype: 'i32'}), 'InvalidArgument', /1099511627776/);
  await fails(() => weft.tensor([[1, 2], [3, -1]], {dtype: 'u16'}), 'InvalidArgument', /element \[1, 1\] is -1/);
  await fails(() => weft.tensor(300, {dtype: 'u8'}), 'InvalidArgument', /the value is 300/);
  await fails(() => weft.tensor([2n ** 63n]), 'InvalidArgument', /9223372036854775808, expected i64/);
  await fails(() => weft.tensor([2 ** 63], {dtype: 'i64'}), 'InvalidArgument', /expected i64/);
  await fails(() => weft.tensor([2 ** 64], {dtype: 'u64'}), 'InvalidArgument', /expected u64/);
  // Fractions are cut off first, as by cast().
  equal(await weft.tensor([255.9, -0.9, 2.5], {dtype: 'u8'}).toArray(), [255, 0, 2]);
  equal(await weft.tensor([2 ** 62, -1.5], {dtype: 'i64'}).toArray(), [2n ** 62n, -1n]);
  for (const v of [NaN, Infinity, -Infinity]) await fails(() => weft.tensor([v], {dtype: 'u32'}), 'TypeError', /not finite, expected u32/);
  equal(await weft.tensor([true, false], {dtype: 'i16'}).toArray(), [1, 0]);
});

onEach('bigints and numbers for other types', async (device) => {
  equal(await weft.tensor([2n ** 64n - 1n], {dtype: 'u64'}).item(), 2n ** 64n - 1n);
  // 2^40 + 1 is the nearest f32 2^40.
  equal(await weft.tensor([2n ** 40n + 1n, -3n], {dtype: 'f32'}).toArray(), [2 ** 40, -3]);
  equal(await weft.tensor([2n ** 100n], {dtype: 'f32'}).toArray(), [2 ** 100]);
  equal(await weft.tensor([0n, 5n, 2n ** 70n], {dtype: 'bool'}).toArray(), [false, true, true]);
  equal(await weft.tensor([0, 1e-60, NaN, -0], {dtype: 'bool'}).toArray(), [false, true, true, false]);
  equal(await weft.tensor(new Uint8Array([0, 1, 2, 255]), {dtype: 'bool'}).cast('i32').toArray(), [0, 1, 1, 1]);
  if (device.gpu) return;
  equal(await weft.tensor([2n ** 53n + 1n, 2n ** 100n], {dtype: 'f64'}).toArray(), [2 ** 53, 2 ** 100]);
});

// ---- Round trips
const EVERY = {
  f32: [[1.5, -0], [Infinity, 3]], f16: [[1.5, -2], [0, 65504]], bf16: [[1.5, -2], [0, 256]], f64: [[Math.PI, 1e300], [0, 1]],
  i8: [[-128, 127], [0, 1]], i16: [[-32768, 1], [0, 1]], i32: [[-(2 ** 31), 1], [0, 1]], i64: [[-(2n ** 63n), 1n], [0n, 1n]],
  u8: [[255, 1], [0, 1]], u16: [[65535, 1], [0, 1]], u32: [[2 ** 32 - 1, 1], [0, 1]], u64: [[2n ** 64n - 1n, 1n], [0n, 1n]],
  bool: [[true, false], [false, true]], c64: [[[1, 2], [3, -4]], [[0, Infinity], [5, 6]]], f8e4m3: [[1.5, -2], [0, 448]],
  f8e5m2: [[1.5, -2], [0, 57344]], i4: [[-8, 7], [0, 1]], u4: [[15, 1], [0, 1]], i2: [[-2, 1], [0, 1]], u2: [[3, 1], [0, 1]],
};
onEach('what toArray() and data() give goes in again, in every type', async (device) => {
  for (const [dtype, values] of Object.entries(EVERY)) {
    if (device.gpu && /^f8|^[iu][24]$|f64/.test(dtype)) continue;
    const x = weft.tensor(values, {dtype});
    equal([x.dtype, x.shape], [dtype, [2, 2]]);
    equal([dtype, await x.toArray()], [dtype, values]);
    equal([dtype, await weft.tensor(await x.toArray(), {dtype}).toArray()], [dtype, values]);
    equal([dtype, await weft.tensor(await x.data(), {dtype, shape: [2, 2]}).toArray()], [dtype, values]);
  }
});

onEach('pairs are complex numbers', async () => {
  const z = weft.tensor([[1, 2], [3, 4], [5, 6]], {dtype: 'c64'});
  equal([z.dtype, z.shape, await z.toArray()], ['c64', [3], [[1, 2], [3, 4], [5, 6]]]);
  equal(await z.mul(z).toArray(), [[-3, 4], [-7, 24], [-11, 60]]);
  for (const shape of [[], [1], [2, 1], [2, 2, 3], [0], [2, 0]]) {
    const size = shape.reduce((a, b) => a * b, 1);
    const given = weft.tensor(Float32Array.from({length: 2 * size}, (_, i) => i), {shape, dtype: 'c64'});
    const back = weft.tensor(await given.toArray(), {dtype: 'c64'});
    equal([back.shape, await back.toArray()], [shape, await given.toArray()]);
  }
  equal(await weft.tensor(5, {dtype: 'c64'}).item(), [5, 0]);
  equal(weft.tensor([[1, 2], [3, 4]], {dtype: 'c64', shape: [2, 1]}).shape, [2, 1]);
  equal(await weft.tensor([1, 2, 3]).cast('c64').toArray(), [[1, 0], [2, 0], [3, 0]]);
  await fails(() => weft.tensor([1, 2, 3], {dtype: 'c64'}), 'ShapeError', /lists of 3.*pairs \[real, imaginary\].*cast\('c64'\)/);
  await fails(() => weft.tensor(new Float32Array(3), {dtype: 'c64'}), 'ShapeError', /3 numbers, expected pairs/);
});

// ---- Arrays and objects of other realms
onEach('arrays of another realm, and clamped ones', async () => {
  equal(await weft.tensor(new Uint8ClampedArray([300, 7])).toArray(), [255, 7]);
  equal([weft.tensor(new Uint8ClampedArray(4)).dtype, weft.tensor(new Uint8ClampedArray(4), {dtype: 'f32'}).shape], ['u8', [4]]);
  for (const [name, dtype] of [
    ['Float32Array', 'f32'], ['Int8Array', 'i8'], ['Int16Array', 'i16'], ['Int32Array', 'i32'], ['Uint8Array', 'u8'],
    ['Uint8ClampedArray', 'u8'], ['Uint16Array', 'u16'], ['Uint32Array', 'u32'], ['BigInt64Array', 'i64'], ['BigUint64Array', 'u64'],
  ]) {
    const array = other[name].from(/^Big/.test(name) ? [1n, 2n] : [1, 2]);
    check(!(array instanceof globalThis[name]), 'it is of another realm');
    const x = weft.tensor(array);
    equal([name, x.dtype, await x.cast('i32').toArray()], [name, dtype, [1, 2]]);
  }
  equal(weft.tensor(new other.Uint16Array(2), {dtype: 'f16'}).dtype, 'f16');
  equal(await weft.tensor(new other.Float32Array([1, 2]), {dtype: 'c64'}).toArray(), [[1, 2]]);
  equal(await weft.tensor(other.Array.from([other.Array.from([1, 2])])).toArray(), [[1, 2]]);
  await fails(() => weft.tensor(new DataView(new ArrayBuffer(4))), 'TypeError', /a DataView, expected numbers/);
  const object = (entries) => Object.assign(new other.Object(), entries);
  const x = weft.tensor([[1, 2], [3, 4]], object({dtype: 'f32'}));
  equal(await x.sum(object({axes: 0, keepDims: true})).toArray(), [[4, 6]]);
  equal(await weft.compile(({a}) => object({b: a.add(1)}))(object({a: x})).b.toArray(), [[2, 3], [4, 5]]);
  equal(await weft.grad(({a}) => a.mul(a).sum())(object({a: x})).a.toArray(), [[2, 4], [6, 8]]);
  equal(await x.sum(Object.assign(Object.create(null), {axes: 0})).toArray(), [4, 6]);
});

// ---- Pictures
const bytes = [255, 0, 51, 255, 0, 255, 0, 128];
onEach('pixels become tensors', async () => {
  for (const Bytes of [Uint8ClampedArray, Uint8Array, other.Uint8ClampedArray]) {
    const picture = {data: Bytes.from(bytes), width: 2, height: 1};
    close(await weft.fromPixels(picture).toArray(), [[[1, 0, 0.2], [0, 1, 0]]], 1e-6);
    close(await weft.fromPixels(picture, {channels: 4, width: 2}).toArray(), [[[1, 0, 0.2, 1], [0, 1, 0, 128 / 255]]], 1e-6);
    close(await weft.fromPixels(picture, {channels: 1}).toArray(), [[[1], [0]]], 1e-6);
  }
  const picture = {data: Uint8ClampedArray.from(bytes), width: 2, height: 1};
  for (const channels of [0, 7, 2.5, -1, '3', NaN, null]) {
    await fails(() => weft.fromPixels(picture, {channels}), 'InvalidArgument', /channels is .*, expected 1 to 4/);
  }
  for (const size of [{width: 0}, {height: -2}, {width: 2.5}, {height: '3'}, {width: NaN}]) {
    await fails(() => weft.fromPixels(picture, size), 'InvalidArgument', /(width|height) is .*, expected an integer from 1/);
  }
  for (const source of [null, undefined, 5, 'a.png', weft.ones([2, 2])]) {
    await fails(() => weft.fromPixels(source), 'TypeError', /the source is .*, expected a picture/);
  }
  await fails(() => weft.fromPixels({}), 'InvalidArgument', /undefined x undefined pixels/);
  await fails(() => weft.fromPixels({width: 0, height: 0}), 'InvalidArgument', /0 x 0 pixels, expected a picture that is loaded/);
  await fails(() => weft.fromPixels(picture, 4), 'TypeError', /the options are 4/);
  await fails(() => weft.fromPixels(picture, {chanels: 4}), 'InvalidArgument', /no option 'chanels'/);
  if (!globalThis.OffscreenCanvas) {
    await fails(() => weft.fromPixels(picture, {width: 4}), 'Unsupported', /no canvas here/);
  }
});

test('pictures of the browser, scaled', async () => {
  if (!globalThis.OffscreenCanvas) return;
  weft.use(devices.cpu);
  // Left red, right blue, opaque.
  const half = new Uint8ClampedArray(4 * 64).map((_, i) => [i % 32 < 16 ? 200 : 0, 0, i % 32 < 16 ? 0 : 100, 255][i % 4]);
  const picture = new ImageData(half, 8, 8), frame = new other.ImageData(half, 8, 8);
  const bitmap = await createImageBitmap(picture), canvas = new OffscreenCanvas(8, 8);
  canvas.getContext('2d').putImageData(picture, 0, 0);
  for (const source of [picture, frame, {data: half, width: 8, height: 8}, bitmap, canvas]) {
    equal(weft.fromPixels(source).shape, [8, 8, 3]);
    const scaled = weft.fromPixels(source, {width: 4, height: 2});
    equal(scaled.shape, [2, 4, 3]);
    const [[left, , , right]] = await scaled.toArray();
    close([left, right], [[200 / 255, 0, 0], [0, 0, 100 / 255]], 1.5 / 255);
    equal(weft.fromPixels(source, {width: 16}).shape, [8, 16, 3]);
  }
  await fails(() => weft.fromPixels({width: 2, height: 2}), 'TypeError', /an object, expected a picture/);
});

onEach('tensors become pixels', async (device) => {
  // Node has none.
  globalThis.ImageData ??= class {
    constructor(data, width, height) {
      Object.assign(this, {data, width, height});
    }
  };
  const pixels = async (t) => Array.from((await weft.toPixels(t)).data);
  const grey = (...values) => values.flatMap((v) => [v, v, v, 255]);
  equal(await pixels(weft.tensor([[0, 0.2, 1, 2, -1]])), grey(0, 51, 255, 255, 0));
  equal(await pixels(weft.tensor([[true, false]])), grey(255, 0));
  for (const dtype of ['f16', 'bf16', ...(device.gpu ? [] : ['f64', 'f8e4m3', 'f8e5m2'])]) {
    equal([dtype, await pixels(weft.tensor([[0, 1, 0.5]], {dtype}))], [dtype, grey(0, 255, 128)]);
  }
  for (const dtype of ['u8', 'i8', 'i16', 'u16', 'i32', 'u32', 'i64', 'u64', ...(device.gpu ? [] : ['i4', 'u4'])]) {
    equal([dtype, await pixels(weft.tensor([[0, 7, 1]], {dtype}))], [dtype, grey(0, 7, 1)]);
  }
  equal(await pixels(weft.tensor([[300, -5, 2 ** 31 - 1]], {dtype: 'i32'})), grey(255, 0, 255));
  equal(await pixels(weft.tensor([[2n ** 40n, -(2n ** 40n)]])), grey(255, 0));
  equal(await pixels(weft.tensor([[[1, 2, 3, 4]]], {dtype: 'u8'})), [1, 2, 3, 4]);
  await fails(() => weft.toPixels(5), 'TypeError', /toPixels: the tensor is 5, expected a Tensor/);
  await fails(() => weft.toPixels(undefined), 'TypeError', /the tensor is undefined/);
  await fails(() => weft.toPixels(weft.zeros([2, 2], 'c64')), 'TypeError', /the tensor is c64/);
  for (const shape of [[], [3], [2, 2, 2], [2, 2, 3, 1], [0, 3], [3, 0, 4]]) {
    await fails(() => weft.toPixels(weft.zeros(shape)), 'ShapeError', /expected \[height, width\]/);
  }
});

// ---- Seeds and probabilities
onEach('seeds are 64 bits, and probabilities from 0 to 1', async () => {
  for (const bad of [-1, 1.5, NaN, Infinity, -1n, 2n ** 64n, 2 ** 64]) {
    await fails(() => weft.random.seed(bad), 'InvalidArgument', /^random\.seed: the seed is .*, expected an integer from 0 to 2\^64 - 1/);
    await fails(() => weft.random.key(bad), 'InvalidArgument', /^random::key: seed is .*, expected an integer from 0/);
  }
  for (const bad of [null, '1', [1]]) await fails(() => weft.random.seed(bad), 'InvalidArgument', /the seed is/);
  for (const bad of [undefined, {}]) await fails(() => weft.random.seed(bad), 'TypeError', /the seed is/);
  for (const seed of [0, 7, 2 ** 53 - 1, 2n ** 64n - 1n]) {
    weft.random.seed(seed);
    const first = await weft.random.uniform([3]).data();
    weft.random.seed(seed);
    equal(await weft.random.uniform([3]).data(), first);
  }
  equal(await weft.random.key(2n ** 64n - 2n).toArray(), [2 ** 32 - 2, 2 ** 32 - 1]);
  for (const probability of [7, -0.1, 1.0001, NaN, Infinity]) {
    await fails(() => weft.random.bernoulli([2], {probability}), 'InvalidArgument', /the probability is .*, expected 0 to 1/);
  }
  equal(await weft.random.bernoulli([2], {probability: 1}).toArray(), [true, true]);
  equal(await weft.random.bernoulli([2], {probability: 0}).toArray(), [false, false]);
  for (const f of [
    () => weft.random.uniform([2], {low: 2, high: 1}), () => weft.random.normal([2], {deviation: -1}),
    () => weft.random.integers([2], {low: 3, high: 3}), () => weft.random.integers([2], {low: 0, high: 300, dtype: 'u8'}),
    () => weft.random.permutation(-1), () => weft.random.uniform([2], {hihg: 1}),
  ]) {
    await fails(f, 'InvalidArgument');
  }
  for (const f of [() => weft.random.uniform([2], 5), () => weft.random.normal([2], 'f16'), () => weft.random.uniform([2], [0, 1])]) {
    await fails(f, 'TypeError', /random\.(uniform|normal): the options are/);
  }
});

// ---- Objects of classes
onEach('objects of classes keep their methods', async () => {
  class Layer {
    constructor(w, b, name) {
      Object.assign(this, {w, b, name});
    }
    get size() {
      return this.w.size;
    }
    of(x) {
      return x.matmul(this.w).add(this.b);
    }
  }
  class Network {
    layers = [new Layer(weft.tensor([[1, 2], [3, 4]]), weft.tensor([0, 1]), 'first'), new Layer(weft.ones([2, 1]), weft.tensor([0.5]), 'second')];
    settings = new Date(0);
    of(x) {
      return this.layers.reduce((y, layer) => layer.of(y), x).sum();
    }
  }
  const network = new Network(), x = weft.tensor([[1, -1]]);
  const [value, gradient] = weft.valueAndGrad((n, x) => {
    check(n instanceof Network && n.layers[0] instanceof Layer && n.layers[0].size === 4, 'classes');
    check(n.settings === network.settings && n.layers[1].name === 'second', 'what is no tensor stays');
    return n.of(x);
  })(network, x);
  // ((1, -1) W + b) · 1 + 0.5: of W the outer product of x and ones.
  equal(await value.item(), (1 - 3) + (2 - 4 + 1) + 0.5);
  check(gradient instanceof Network && gradient.layers[0] instanceof Layer, 'of the gradient, too');
  equal(await gradient.layers[0].w.toArray(), [[1, 1], [-1, -1]]);
  equal(await gradient.layers[1].b.toArray(), [1]);
  equal(gradient.layers[0].name, 'first');
  equal(await weft.vmap((n, x) => n.of(x))(new Layer(weft.ones([3, 2, 2]), weft.zeros([3, 2])), weft.ones([3, 2])).toArray(),
        [[2, 2], [2, 2], [2, 2]]);
  const cyclic = {w: x};
  cyclic.self = cyclic;
  await fails(() => weft.grad((m) => m.w.sum())(cyclic), 'TypeError', /contains itself/);
  await fails(() => weft.compile((m) => m.w)(new Layer(x)), 'TypeError', /an object of Layer/);
});

// ---- Messages
onEach('what is no function, no tensor, and what is gone', async () => {
  for (const [name, f] of Object.entries({compile: weft.compile, grad: weft.grad, valueAndGrad: weft.valueAndGrad, vmap: weft.vmap, tidy: weft.tidy})) {
    await fails(() => f(5), 'TypeError', new RegExp(`^${name}: 5, expected a function`));
    await fails(() => f(weft.ones([1])), 'TypeError', /a Tensor, expected a function/);
    await fails(() => f(), 'TypeError', /undefined, expected a function/);
  }
  const t = weft.ones([2, 3]), gone = weft.ones([2, 3]), f = weft.compile((x) => x);
  gone.dispose();
  for (const [use, where] of [
    [() => gone.add(t), 'add: a'], [() => t.add(gone), 'add: b'], [() => weft.concat([t, gone]), 'concat: parts'],
    [() => gone.data(), 'data: the tensor'], [() => gone.text(), 'text: the tensor'], [() => gone.to(devices.cpu), 'to: the tensor'],
    [() => weft.toPixels(gone), 'toPixels: the tensor'], [() => weft.evaluate(t, gone), 'evaluate: a tensor'],
    [() => weft.grad((x) => x.sum())(gone), 'grad: the first argument'], [() => weft.vmap((x) => x)(gone), 'vmap: an argument'],
    [() => f(gone), 'compile: an argument'], [() => weft.grad(() => gone)(t), "grad: the function's result"],
    [() => t.at(gone), 'at: tensors'],
  ]) {
    await fails(use, 'InvalidArgument', new RegExp(`^${where} is Tensor\\(f32 \\[2, 3\\]\\), which was disposed of$`));
  }
  f.dispose();
  await fails(() => f(t), 'InvalidArgument', /the function is a compiled function, which was disposed of/);
  await fails(() => weft.evaluate(5), 'TypeError', /evaluate: a tensor is 5, expected a Tensor/);
  await fails(() => weft.operation('add', 5), 'TypeError', /the operands are 5, expected a list/);
  await fails(() => weft.tensor([1], 'f16'), 'TypeError', /tensor: the options are "f16", expected an object/);
  await fails(() => weft.tensor([1], {type: 'f16'}), 'InvalidArgument', /no option 'type'; there are shape, dtype/);
  await fails(() => t.cast('nonsense'), 'InvalidArgument', /dtype is "nonsense", expected a data type/);
  await fails(() => t.gelu('exact'), 'InvalidArgument', /gelu: attribute form is "exact", expected one of erf, tanh, quick/);
  await fails(() => weft.ops.mseLoss(t, t, 'average'), 'InvalidArgument', /reduction is "average", expected one of none, mean, sum/);
  close(await t.gelu({form: 'tanh'}).at(0, 0).item(), 0.841192, 1e-5);
  equal([await weft.ops.mseLoss(t, t.add(2)).item(), await weft.ops.mseLoss(t, t.add(2), 'sum').item()], [4, 24]);
});

// ---- Errors that are caught inside of a function
onEach('an error that is caught in a function is over', async () => {
  const bad = (x) => x.matmul(weft.ones([7, 7]));
  const mine = () => {
    throw new RangeError('mine');
  };
  const attempts = {
    operation: bad, grad: (x) => weft.grad(bad)(x), thrown: (x) => weft.grad(mine)(x), compiled: (x) => weft.compile(bad)(x),
    vmap: (x) => weft.vmap(mine)(x), seed: () => weft.random.seed(-1), tensor: () => weft.tensor([1], {shape: [2]}),
    nested: (x) => weft.grad((y) => {
      try {
        mine();
      } catch {}
      return bad(y);
    })(x),
  };
  for (const [name, attempt] of Object.entries(attempts)) {
    let caught;
    const f = (x) => {
      try {
        attempt(x);
      } catch (error) {
        caught = error.name;
      }
      return x.mul(x).sum();
    };
    const x = weft.tensor([[1, 2], [3, 4]]), run = async (outer, use) => {
      caught = undefined;
      equal([name, outer, await use().toArray()], [name, outer, {value: 30, grad: [[2, 4], [6, 8]], vmap: [5, 25]}[outer]]);
      check(caught !== undefined, `${name} failed inside of ${outer}`);
    };
    await run('grad', () => weft.grad(f)(x));
    await run('value', () => weft.valueAndGrad(f)(x)[0]);
    await run('vmap', () => weft.vmap(f)(x));
    await run('value', () => weft.compile(f)(x));
    await run('grad', () => weft.compile((x) => weft.grad(f)(x))(x));
    await run('grad', () => weft.grad((x) => weft.vmap((row) => row.mul(row).sum())(x).sum().add(f(x).mul(0)))(x));
  }
  // What is not caught comes through, the last one.
  const x = weft.ones([2]);
  await fails(() => weft.grad((x) => {
    try {
      bad(x);
    } catch {}
    throw new RangeError('later');
  })(x), 'RangeError', /later/);
  await fails(() => weft.grad((x) => {
    try {
      weft.grad(mine)(x);
    } catch {}
    return bad(x);
  })(x), 'ShapeError');
  equal(await weft.grad((x) => x.sum())(x).toArray(), [1, 1]);
});
