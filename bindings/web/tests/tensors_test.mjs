// Tensors in JavaScript, on the cpu and on WebGPU. Expected values are NumPy's, written out.
import * as weft from '../package/index.js';
import {check, close, equal, fails, test} from './harness.mjs';

const GPU = globalThis.navigator?.gpu && (await navigator.gpu.requestAdapter()) ? '0' : null;
const devices = {};
// A test of each device.
const onEach = (name, f) => {
  for (const device of ['cpu', ...(GPU ? [GPU] : [])]) {
    test(`${name} (${device === 'cpu' ? 'cpu' : 'gpu'})`, async () => {
      if (!devices[device]) devices[device] = await weft.open({device});
      weft.use(devices[device]);
      await f(devices[device]);
    });
  }
};

onEach('what the device says', (device) => {
  equal(device.gpu, device.name !== 'cpu');
  check(device.reason.length > 0, 'a reason');
});

onEach('values go in and come out', async () => {
  const x = weft.tensor([[1, 2, 3], [4, 5, 6]]);
  equal([x.dtype, x.shape, x.rank, x.size], ['f32', [2, 3], 2, 6]);
  equal(await x.data(), [1, 2, 3, 4, 5, 6]);
  equal(await x.toArray(), [[1, 2, 3], [4, 5, 6]]);
  for (const [array, dtype] of [
    [new Int32Array([-5, 7]), 'i32'], [new Uint8Array([255, 0]), 'u8'], [new BigInt64Array([-(2n ** 62n), 1n]), 'i64'],
    [new Float64Array([Math.PI, -0]), 'f64'], [new Uint16Array([65535]), 'u16'], [new BigUint64Array([2n ** 63n]), 'u64'],
    [new Int8Array([-128]), 'i8'], [new Int16Array([-32768]), 'i16'], [new Uint32Array([4294967295]), 'u32'],
  ]) {
    const t = weft.tensor(array);
    equal(t.dtype, dtype);
    const back = await t.data();
    check(back.constructor === array.constructor, `the type of ${dtype}`);
    equal(back, array);
  }
  equal(await weft.tensor([true, false]).toArray(), [true, false]);
  equal(await weft.tensor(7).item(), 7);
  equal(await weft.tensor([[]]).toArray(), [[]]);
  equal((await weft.tensor([]).data()).length, 0);
  equal(await weft.tensor(new Float32Array([1, NaN, Infinity, -Infinity, -0]).subarray(1)).data(),
        new Float32Array([NaN, Infinity, -Infinity, -0]));
  check(Object.is((await weft.tensor([-0]).data())[0], -0), '-0 stays');
  equal(await weft.tensor([1.5, -2.5], {dtype: 'f16'}).toArray(), [1.5, -2.5]);
  equal(await weft.tensor([16777217, -1], {dtype: 'i32'}).data(), [16777217, -1]);
});

onEach('arithmetic, broadcasting and types', async () => {
  const x = weft.tensor([[1, 2], [3, 4]]);
  equal(await x.add(1).toArray(), [[2, 3], [4, 5]]);
  equal(await x.mul(weft.tensor([10, 100])).toArray(), [[10, 200], [30, 400]]);
  equal(await x.matmul(x.T()).toArray(), [[5, 11], [11, 25]]);
  close(await x.softmax(-1).toArray(), [[0.26894142, 0.73105858], [0.26894142, 0.73105858]], 1e-6);
  equal(await x.sum().item(), 10);
  equal(await x.sum({axes: 0, keepDims: true}).toArray(), [[4, 6]]);
  equal(await x.max([1]).toArray(), [2, 4]);
  equal(await x.argmax(1).toArray(), [1, 1]);
  const i = weft.tensor(new Int32Array([7, -7]));
  equal([i.add(1).dtype, i.add(0.5).dtype], ['i32', 'f32']);
  equal(await i.divide(2).toArray(), [3.5, -3.5]);
  equal(await x.greater(2).toArray(), [[false, false], [true, true]]);
  equal(await weft.where(x.greater(2), x, x.neg()).toArray(), [[-1, -2], [3, 4]]);
  equal(await x.pow(Infinity).toArray(), [[1, Infinity], [Infinity, Infinity]]);
});

onEach('softmax of NaN and of infinity is NaN along the whole row', async () => {
  for (const n of [5, 300, 5000, 70001]) {
    for (const dtype of ['f32', 'bf16']) {
      for (const special of [NaN, Infinity]) {
        const values = new Float32Array(2 * n).map((_, i) => (i % 7) / 3);
        values[1] = special;
        const y = weft.tensor(values, {shape: [2, n]}).softmax(-1).cast(dtype).cast('f32');
        const data = await y.data();
        check(data.subarray(0, n).every(Number.isNaN), `${n} ${special}: ${data.slice(0, 4)}`);
        close([data.subarray(n).reduce((sum, v) => sum + v, 0)], [1], dtype === 'f32' ? 1e-5 : 1e-2);
      }
    }
  }
});

onEach('indices', async () => {
  const x = weft.arange(24).cast('f32').reshape([2, 3, 4]);
  equal(await x.at(1, 2).toArray(), [20, 21, 22, 23]);
  equal(await x.at(null, [1, 3], [null, null, 2]).toArray(), [[[4, 6], [8, 10]], [[16, 18], [20, 22]]]);
  equal(await x.at('...', -1).toArray(), [[3, 7, 11], [15, 19, 23]]);
  equal(await x.at(0, weft.tensor(new Int32Array([2, 0])), 1).toArray(), [9, 1]);
  equal(x.at('new').shape, [1, 2, 3, 4]);
  equal(await x.withAt([1, 2, 3], 0).at(1, 2).toArray(), [20, 21, 22, 0]);
  equal(await x.withAt([0, 0], weft.tensor([9, 8, 7, 6])).at(0, 0).toArray(), [9, 8, 7, 6]);
  await fails(() => x.at(5), 'IndexError', /5/);
  await fails(() => x.at({}), 'TypeError', /indices is an object/);
  await fails(() => x.at(NaN), 'InvalidArgument', /NaN/);
  await fails(() => x.at(0, 1.5), 'InvalidArgument', /1\.5/);
});

onEach('creation and random numbers', async () => {
  equal(await weft.zeros([2, 2]).toArray(), [[0, 0], [0, 0]]);
  equal(await weft.full([2], -Infinity).toArray(), [-Infinity, -Infinity]);
  equal(await weft.arange(0, 1, 0.25).toArray(), [0, 0.25, 0.5, 0.75]);
  equal(await weft.eye(2, 3).toArray(), [[1, 0, 0], [0, 1, 0]]);
  close(await weft.linspace(0, 1, 5).toArray(), [0, 0.25, 0.5, 0.75, 1], 1e-7);
  const key = weft.random.key(42);
  const a = await weft.random.normal([1000], {key}).data(), b = await weft.random.normal([1000], {key}).data();
  equal(a, b);
  const mean = a.reduce((s, v) => s + v) / 1000;
  check(Math.abs(mean) < 0.15, `a mean of ${mean}`);
  weft.random.seed(7);
  const c = await weft.random.uniform([4], {low: 2, high: 3}).data();
  weft.random.seed(7);
  equal(await weft.random.uniform([4], {low: 2, high: 3}).data(), c);
  check(c.every((v) => v >= 2 && v < 3), 'the range');
  equal(await weft.random.permutation(5).sort().toArray(), [0, 1, 2, 3, 4]);
  equal(await weft.stack([weft.ones([2]), weft.zeros([2])], 1).toArray(), [[1, 0], [1, 0]]);
  equal(await weft.einsum('ij,kj->ik', weft.eye(2), weft.tensor([[1, 2], [3, 4]])).toArray(), [[1, 3], [2, 4]]);
});

onEach('linear algebra and transforms', async () => {
  const a = weft.tensor([[4, 1], [2, 3]]);
  close(await a.inv().matmul(a).toArray(), [[1, 0], [0, 1]], 1e-6);
  close(await a.det().item(), 10, 1e-5);
  close(await weft.tensor([1, 2, 3, 4]).fft().abs().toArray(), [10, 2.8284271, 2, 2.8284271], 1e-5);
});

onEach('derivatives', async () => {
  const w = weft.tensor([[1, -2], [3, 4]]);
  const loss = (w, b) => w.mul(w).sum().add(b);
  equal(await weft.grad(loss)(w, 5).toArray(), [[2, -4], [6, 8]]);
  const [value, gradient] = weft.valueAndGrad(({a, list}) => a.mul(list[0]).sum())({a: w, list: [w.add(1)]});
  equal(await value.item(), 1 * 2 + -2 * -1 + 3 * 4 + 4 * 5);
  equal(await gradient.a.toArray(), [[2, -1], [4, 5]]);
  equal(await gradient.list[0].toArray(), [[1, -2], [3, 4]]);
  equal(await weft.grad((x) => weft.grad((y) => y.pow(3).sum())(x).sum())(weft.tensor([2, 3])).toArray(), [12, 18]);
  equal(await weft.vmap((row, s) => ({y: row.mul(s), z: row.sum()}))(w, weft.tensor([10, 100])).y.toArray(),
        [[10, -20], [300, 400]]);
  await fails(() => weft.grad((w) => w)(w), 'ShapeError');
  await fails(() => weft.grad(() => { throw new RangeError('mine'); })(w), 'RangeError', /mine/);
  await fails(() => weft.grad((w) => w.sum())(w.cast('i32')), 'TypeError');
});

onEach('compiled functions', async () => {
  let traced = 0;
  const step = weft.compile(({w, b}, x, scale) => {
    ++traced;
    return {y: x.matmul(w).add(b).mul(scale), scale, list: [w]};
  });
  const model = {w: weft.tensor([[1], [2]]), b: weft.tensor([0.5])};
  for (let i = 1; i <= 3; ++i) {
    const {y, scale, list} = step(model, weft.full([2, 2], i), 10);
    equal(await y.toArray(), [[30 * i + 5], [30 * i + 5]]);
    equal([scale, list[0].shape], [10, [2, 1]]);
  }
  equal(traced, 1);
  equal(await step(model, weft.full([1, 2], 1), 2).y.toArray(), [[7]]);
  equal(traced, 2);
  const sgd = weft.compile((w, x, y) => {
    const [loss, g] = weft.valueAndGrad((w) => x.matmul(w).sub(y).square().mean())(w);
    return [w.sub(g.mul(0.1)), loss];
  });
  const x = weft.random.normal([64, 3], {key: weft.random.key(1)}), truth = weft.tensor([[1], [-2], [0.5]]);
  let w = weft.zeros([3, 1]), loss;
  for (let i = 0; i < 100; ++i) [w, loss] = sgd(w, x, x.matmul(truth));
  close(await w.toArray(), [[1], [-2], [0.5]], 1e-3);
  await fails(() => weft.compile(() => { throw new SyntaxError('mine'); })(x), 'SyntaxError', /mine/);
  await fails(() => step(model, x, NaN), 'TypeError', /NaN/);
  step.dispose();
  await fails(() => step(model, x, 1), 'InvalidArgument', /disposed/);
});

onEach('errors say what', async () => {
  const x = weft.tensor([[1, 2], [3, 4]]);
  await fails(() => x.matmul(weft.tensor([1, 2, 3])), 'ShapeError', /inner sizes/);
  await fails(() => x.softmax({axes: 1}), 'InvalidArgument', /axes/);
  await fails(() => x.sum({axis: 1}), 'InvalidArgument', /axis.*axes, keepDims/);
  await fails(() => weft.operation('sofmax', [x]), 'InvalidArgument', /softmax/);
  await fails(() => weft.tensor([[1, 2], [3]]), 'ShapeError');
  await fails(() => weft.tensor([1, 'a']), 'TypeError');
  await fails(() => weft.tensor([1, 2], {dtype: 'f33'}), 'InvalidArgument', /f33/);
  await fails(() => weft.tensor(new Float32Array(3), {shape: [2, 2]}), 'InvalidArgument', /12 bytes/);
  await fails(() => weft.zeros([-1]), 'ShapeError');
  await fails(() => x.item(), 'ShapeError', /4 elements/);
  x.dispose();
  x.dispose();
  await fails(() => x.add(1), 'InvalidArgument', /disposed/);
  await fails(() => weft.open({device: 'warp drive'}), ...(GPU ? ['DeviceError', /warp drive/] : ['NoDevice']));
  await fails(() => weft.open({device: {}}), 'TypeError');
  await fails(() => weft.zeros([1 << 20, 1 << 20]).add(weft.random.uniform([1 << 20, 1 << 20])).data(), 'OutOfMemory');
  equal(await weft.tensor([1]).add(1).item(), 2);
});

onEach('numbers as operands are what they are in C++', async (device) => {
  const b = weft.tensor([true, false]), i = weft.tensor([5, 6], {dtype: 'i32'}), h = weft.tensor([1, 2], {dtype: 'f16'});
  equal([weft.where(b, i, 0).dtype, b.select(i, 0).dtype, weft.where(b, h, 0.5).dtype], ['i32', 'i32', 'f16']);
  equal([b.add(1).dtype, i.mul(2).dtype, i.mul(0.5).dtype, h.add(1).dtype, b.logicalOr(true).dtype],
        ['i32', 'i32', 'f32', 'f16', 'bool']);
  const large = weft.tensor([2n ** 53n + 1n, 7n]);
  equal(await weft.where(b, large, 0).toArray(), [2n ** 53n + 1n, 0n]);
  equal(await large.add(1n).toArray(), [2n ** 53n + 2n, 8n]);
  equal(await weft.tensor([2n ** 62n]).equal(2 ** 62).toArray(), [true]);
  equal(await weft.tensor([2n ** 60n]).sub(2 ** 60).toArray(), [0n]);
  equal(await weft.full([1], 2 ** 60, 'i64').toArray(), [2n ** 60n]);
  check(Object.is((await weft.tensor([1]).mul(-0).data())[0], -0), '1 · -0 is -0');
  equal(await weft.full([1], -0).reciprocal().data(), [-Infinity]);
  equal(await weft.tensor([1, 2]).pow(NaN).isNan().toArray(), [false, true]);
  equal(await weft.tensor([3, -4]).norm(Infinity).item(), 4);
  await fails(() => weft.ops.gather(weft.ones([3]), 1), 'InvalidArgument', /number/);
  if (device.gpu) return;
  equal(await weft.tensor([1, -2, 3], {dtype: 'i4'}).toArray(), [1, -2, 3]);
  equal(await weft.tensor([1.5], {dtype: 'f8e4m3'}).item(), 1.5);
});

onEach('complex numbers are pairs', async () => {
  const z = weft.tensor(new Float32Array([1, 2, 3, 4]), {dtype: 'c64'});
  equal([z.shape, await z.toArray()], [[2], [[1, 2], [3, 4]]]);
  equal(await z.at(1).conj().item(), [3, -4]);
});

onEach('one element has a gradient', async () => {
  const v = weft.tensor([1, 2, 3]);
  equal(await weft.grad((z) => z.at(0))(v).toArray(), [1, 0, 0]);
  equal(await weft.grad((z) => z.at(0).add(z.at(1).mul(2)))(v).toArray(), [1, 2, 0]);
  equal(await weft.grad((z) => z.sort().at(0))(v).toArray(), [1, 0, 0]);
});

onEach('functions with several results, and of C++ under their names', async () => {
  const [values, indices] = weft.tensor([[1, 5, 3], [9, 7, 8]]).topK(2);
  equal([await values.toArray(), await indices.toArray()], [[[5, 3], [9, 8]], [[1, 2], [0, 2]]]);
  const [a, b] = weft.ops.split(weft.arange(5), [2, 3]);
  equal([await a.toArray(), await b.toArray()], [[0, 1], [2, 3, 4]]);
  const [eigenvalues] = weft.tensor([[2, 1], [1, 2]]).eigh();
  close(await eigenvalues.toArray(), [1, 3], 1e-5);
  const q = weft.random.normal([1, 1, 4, 8], {key: weft.random.key(0)});
  const scores = q.matmul(q.T()).mul(1 / Math.sqrt(8)).softmax(-1).matmul(q);
  close(await weft.ops.attention(q, q, q).flatten().toArray(), await scores.flatten().toArray(), 1e-4);
});

test('what is no tensor is said to be none', async () => {
  const x = weft.tensor([[1, 2], [3, 4]]);
  for (const [f, pattern] of [
    [() => x.add(null), /b is null/], [() => x.add('1'), /b is "1"/], [() => x.add([1, 2]), /b is values/],
    [() => x.add(Promise.resolve(x)), /promise/], [() => weft.concat(x, x), /list/],
    [() => weft.use(x), /a Tensor, expected a Device/], [() => weft.use({}), /an object, expected a Device/],
    [() => x.to('cpu'), /"cpu", expected a Device/], [() => weft.tensor(undefined), /undefined/],
    [() => weft.tensor([, 1]), /undefined/], [() => weft.tensor('abc'), /"abc", expected numbers/],
    [() => x.sum(() => 1), /a function/], [() => x.withAt(0, 1), /0, expected a list/],
    [() => weft.tensor([1], {shape: 2}), /2, expected a list/], [() => weft.compile(async (x) => x)(x), /promise/],
    [() => weft.vmap(async (x) => x)(x), /vmap.*promise/], [() => weft.grad(() => undefined)(x), /grad.*undefined/],
    [() => weft.compile((x, d) => x)(x, new Date()), /an object/], [() => weft.tensor([NaN], {dtype: 'i32'}), /finite/],
  ]) {
    await fails(f, 'TypeError', pattern);
  }
  for (const [f, pattern] of [
    [() => x.add(x, x), /a Tensor more than/], [() => x.sum(0.5), /axes is 0\.5/], [() => x.reshape([4.5]), /4\.5/],
    [() => weft.zeros([1.5]), /1\.5/],
    [() => x.sum('0'), /axes is "0", expected a list of integers/], [() => x.cast(5), /dtype is 5, expected text/],
    [() => x.sum({axes: 0, keepDims: 2}), /keep_dims is 2, expected true or false/],
    [() => weft.arange(5, 'f32'), /stop is "f32", expected a number/], [() => weft.ops.split(x, 'two'), /sizes is "two"/],
    [() => weft.random.permutation(2.5), /2\.5/], [() => weft.operation('strided', [x]), /compiler/],
  ]) {
    await fails(f, 'InvalidArgument', pattern);
  }
});

test('a compiled function that is disposed of while it runs', async () => {
  for (let k = 0; k < 5; ++k) {
    const f = weft.compile((x) => {
      f.dispose();
      return x.add(1);
    });
    equal(await f(weft.tensor([1])).toArray(), [2]);
  }
});

onEach('a loop that awaits lets the page work', async () => {
  const v = weft.tensor([1, 2, 3]);
  let ticks = 0;
  const timer = setInterval(() => ++ticks, 5);
  for (const start = performance.now(); performance.now() - start < 200;) {
    await weft.tidy(() => v.add(1).data());
  }
  clearInterval(timer);
  check(ticks > 3, `${ticks} ticks in 200 ms`);
});

onEach('tidy and using', async () => {
  let inner, kept;
  const result = weft.tidy(() => {
    inner = weft.ones([4]);
    kept = inner.add(1);
    return {a: [kept], n: 3};
  });
  check(inner.disposed && !kept.disposed && result.n === 3, 'only the result is kept');
  const later = await weft.tidy(async () => {
    inner = weft.ones([2]);
    const values = await inner.data();
    return weft.tensor(values).add(values[0]);
  });
  equal([inner.disposed, await later.toArray()], [true, [2, 2]]);
  await fails(() => weft.tidy(() => { inner = weft.ones([1]); throw new RangeError('out'); }), 'RangeError');
  check(inner.disposed, 'what an error leaves is disposed of');
});

onEach('what is started comes in any order', async () => {
  const all = Array.from({length: 50}, (_, i) => weft.full([100], i).square().data());
  const values = await Promise.all(all.reverse());
  values.reverse().forEach((v, i) => equal(v[99], i * i));
  const t = weft.ones([8]).mul(3);
  await weft.evaluate(t, [t.add(1)]);
  equal(await t.toArray(), Array(8).fill(3));
});

onEach('a loop that never reads', async (device) => {
  let x = weft.ones([1000]);
  for (let i = 0; i < 500; ++i) {
    const next = x.mul(1.001);
    if (i % 50 === 49) await weft.evaluate(next);
    x.dispose();
    x = next;
  }
  await device.wait();
  close((await x.data())[0], 1.001 ** 500, 1e-3);
});

test('values go from device to device', async () => {
  if (!GPU) return;
  weft.use(devices[GPU]);
  const x = weft.tensor([1, 2, 3]).add(1);
  const y = await x.to(devices.cpu);
  weft.use(devices.cpu);
  equal(await y.mul(2).toArray(), [4, 6, 8]);
  equal(await (await y.to(devices[GPU])).add(1).toArray(), [3, 4, 5]);
  await fails(() => x.add(y).data(), 'DeviceError');
});

test('pictures', async () => {
  if (!globalThis.ImageData) return;
  const picture = new ImageData(new Uint8ClampedArray([255, 0, 51, 255, 0, 255, 0, 128]), 2, 1);
  const x = weft.fromPixels(picture);
  close(await x.toArray(), [[[1, 0, 0.2], [0, 1, 0]]], 1e-6);
  equal(Array.from((await weft.toPixels(x)).data), [255, 0, 51, 255, 0, 255, 0, 255]);
  const bitmap = await createImageBitmap(picture);
  equal(weft.fromPixels(bitmap, {width: 4, height: 2}).shape, [2, 4, 3]);
});

test('a device of the page, and its loss', async () => {
  if (!GPU) return;
  const adapter = await navigator.gpu.requestAdapter();
  const own = await adapter.requestDevice();
  const device = await weft.open({device: own});
  check(device.gpu, 'a GPU');
  equal(await weft.tensor([1, 2]).exp().sum().cast('i32').item(), 10);
  const started = weft.tensor([5, 6]).mul(2);
  const reading = started.data();
  own.destroy();
  await own.lost;
  const late = await reading.catch((e) => e);
  check(late.name === 'DeviceLost' || (late[0] === 10 && late[1] === 12), `${late}`);
  await fails(() => weft.tensor([1, 2]).exp().data(), 'DeviceLost', /lost/);
  // Others go on.
  weft.use(devices.cpu);
  equal(await weft.tensor([3]).add(1).item(), 4);
  await weft.open({device: GPU});
  equal(await weft.tensor([3]).add(1).item(), 4);
});
