// Models in ONNX's format in JavaScript, on the cpu and on WebGPU. What operators compute is held to ONNX's own tests by the
// native program (weft check onnx); these are about loading, runs, and what JavaScript gives and takes.
import {wasm} from '../package/core.js';
import * as weft from '../package/index.js';
import {MemoryCache, cacheOf, check, close, equal, fails, served, test, withGlobals} from './harness.mjs';
import {TYPES, modelProto, tensorProto} from './onnx_writer.mjs';

const {onnx} = weft;
const GPU = globalThis.navigator?.gpu && (await navigator.gpu.requestAdapter()) ? '0' : null;
const bytes = async (name) => new Uint8Array(await (await fetch(`${served}examples/${name}`)).arrayBuffer());
const f32 = (...values) => Float32Array.from(values);
const i64 = (...values) => BigInt64Array.from(values, BigInt);

// y = (x + x) @ w, with w [3, 2].
const product = (weight) => ({
  inputs: [['x', 'f32', ['rows', 3]]], outputs: [['y', 'f32', ['rows', 2]]],
  nodes: [['Add', ['x', 'x'], ['a']], ['MatMul', ['a', 'w'], ['y']]],
  initializers: [weight ?? tensorProto('w', 'f32', [3, 2], f32(1, 2, 3, 4, 5, 6))],
});
const small = modelProto(product());

for (const [kind, device] of [...(GPU ? [['gpu', GPU]] : []), ['cpu', 'cpu']]) {
  const onDevice = (name, f) => test(`${name} (${kind})`, async (given) => {
    const opened = await weft.open({device});
    await f({...given, opened});
  });
  const load = (graph, opset) => onnx.load(modelProto(graph, opset));

  onDevice('digits are recognised', async ({opened}) => {
    const told = [];
    const model = await onnx.load(`${served}examples/digits.onnx`, {cache: false, progress: (step) => told.push(step)});
    equal(model.inputs, [{name: 'pixels', type: 'tensor(uint8)', dtype: 'u8', shape: ['n', 64]}]);
    equal(model.outputs.map(({name, dtype}) => [name, dtype]), [['probabilities', 'f32'], ['digit', 'i64']]);
    equal([model.gpu, model.parameters > 9000, model.opsets['ai.onnx'] > 6], [opened.gpu, true, true]);
    check(told.length && told.every(({file, loaded, total}) => file === 'digits.onnx' && loaded <= total), JSON.stringify(told));
    equal(told.at(-1).loaded, told.at(-1).total);
    const pixels = (await bytes('digits.npy')).slice(-1797 * 64), labels = (await bytes('digits_labels.npy')).slice(-1797);
    const some = kind === 'cpu' ? 1797 : 200;
    const {probabilities, digit} = await model.run({pixels: pixels.subarray(0, 64 * some)});
    equal([probabilities.shape, digit.shape, digit.dtype], [[some, 10], [some], 'i64']);
    const right = Array.from(await digit.data()).filter((d, i) => Number(d) === labels[i]).length;
    check(right > 0.99 * some, `${right} of ${some} are right`);
    equal(model.compilations, 1);
    model.dispose();
  });

  onDevice('shapes, and what stays compiled', async () => {
    const model = await load(product());
    equal(await (await model.run({x: weft.tensor([[1, 1, 1]])})).y.toArray(), [[18, 24]]);
    equal(await (await model.run({x: [[1, 0, 0]]})).y.toArray(), [[2, 4]]);
    equal(await (await model.run({x: f32(1, 0, 0)})).y.toArray(), [[2, 4]]);
    equal(model.compilations, 1);
    equal((await model.run({x: f32(1, 0, 0, 0, 1, 0)})).y.shape, [2, 2]);
    equal([model.compilations, model.reads], [2, 0]);
    model.dispose();
    equal(model.disposed, true);
    await fails(() => model.run({x: [[1, 0, 0]]}), 'InvalidArgument', /disposed/);
  });

  onDevice('types of inputs', async () => {
    const inputs = [['h', 'f16', [2]], ['b', 'bool', [2]], ['i', 'i64', [2]], ['s', 'f32', []], ['e', 'bf16', [2]]];
    const model = await load({
      inputs, outputs: inputs.map(([name, type, shape]) => [`${name}2`, type, shape]),
      nodes: inputs.map(([name]) => ['Identity', [name], [`${name}2`]]),
    });
    const given = {h: [0.5, -2], b: [true, false], i: [3, -4], s: 7, e: [1, 2]};
    const results = await model.run(given);
    equal(Object.keys(results), ['h2', 'b2', 'i2', 's2', 'e2']);
    equal(await results.h2.toArray(), [0.5, -2]);
    equal(await results.b2.toArray(), [true, false]);
    equal(await results.i2.toArray(), [3n, -4n]);
    equal(await results.s2.item(), 7);
    const arrays = {...given, h: Uint16Array.of(0x3800, 0xc000), b: Uint8Array.of(1, 0), i: i64(3, -4), s: f32(7), e: Uint8Array.of(0x80, 0x3f, 0, 0x40)};
    const again = await model.run(arrays);
    equal(await again.h2.toArray(), [0.5, -2]);
    equal(await again.b2.toArray(), [true, false]);
    equal(await again.i2.toArray(), [3n, -4n]);
    equal(await again.e2.toArray(), [1, 2]);
    await fails(() => model.run({...arrays, i: Int32Array.of(3, 4)}), 'TypeError', /input 'i' is i32, expected i64/);
    await fails(() => model.run({...arrays, s: Uint8Array.of(3)}), 'TypeError', /input 's' is u8, expected f32/);
    await fails(() => model.run({...given, i: [0.5, 2 ** 70]}), 'InvalidArgument', /i64/);
  });

  // Reads between the stages, where a page cannot wait.
  onDevice('shapes that depend on data', async () => {
    const model = await load({
      inputs: [['x', 'f32', [null]]], outputs: [['y', 'f32', [null]]],
      nodes: [['Sin', ['x'], ['s']], ['NonZero', ['s'], ['at']], ['Squeeze', ['at'], ['i']], ['Gather', ['s', 'i'], ['y']]],
    }, 11);
    const one = Math.fround(Math.sin(1));
    close(await (await model.run({x: [0, 1, 0, 1]})).y.toArray(), [one, one], 1e-6);
    equal((await model.run({x: [1, 1, 0, 1]})).y.shape, [3]);
    equal(model.reads, 2);
    check(model.readbacks.every(({value, node, op, bytes, count}) => value && op && bytes && count), JSON.stringify(model.readbacks));
  });

  onDevice('nodes on the cpu', async ({opened}) => {
    const graph = modelProto({
      inputs: [['x', 'f32', [null]]], outputs: [['y', 'f32', [null]], ['d', 'f64', [null]]],
      nodes: [
        ['Exp', ['x'], ['e']], ['Cast', ['e'], ['w'], {to: TYPES.f64}], ['Add', ['w', 'w'], ['d']],
        ['Cast', ['d'], ['n'], {to: TYPES.f32}], ['Mul', ['n', 'e'], ['y']],
      ],
    });
    const model = await onnx.load(graph, {fallback: 'cpu'});
    for (const n of [3, 5, 3]) {
      const {y, d} = await model.run({x: new Float32Array(n)});
      equal([await y.toArray(), await d.toArray()], [Array(n).fill(2), Array(n).fill(2)]);
    }
    check(!opened.gpu || model.onFallback.some(({op, reason}) => op === 'Add' && /f64/.test(reason)), JSON.stringify(model.onFallback));
    equal(model.onFallback.length > 0, opened.gpu);
    if (opened.gpu) await fails(async () => (await onnx.load(graph)).run({x: [0]}), 'Unsupported', /Add/);
    await fails(() => onnx.load(graph, {fallback: 'gpu'}), 'InvalidArgument', /expected 'cpu'/);
  });

  onDevice('branches and loops that depend on data', async () => {
    const model = await load({
      inputs: [['x', 'f32', [2]]], outputs: [['y', 'f32', [2]]],
      initializers: [tensorProto('zero', 'f32', [], f32(0)), tensorProto('limit', 'f32', [], f32(100))],
      nodes: [
        ['ReduceSum', ['x'], ['s'], {keepdims: 0}], ['Greater', ['s', 'zero'], ['c']],
        ['If', ['c'], ['i'], {
          then_branch: {nodes: [['Add', ['x', 'x'], ['a']]], outputs: [['a', 'f32', [2]]]},
          else_branch: {nodes: [['Neg', ['x'], ['b']]], outputs: [['b', 'f32', [2]]]},
        }],
        ['ReduceMax', ['i'], ['top'], {keepdims: 0}], ['Less', ['top', 'limit'], ['begins']],
        ['Loop', ['', 'begins', 'i'], ['y'], {body: {
          inputs: [['n', 'i64', []], ['go', 'bool', []], ['c', 'f32', [2]]], outputs: [['less', 'bool', []], ['next', 'f32', [2]]],
          nodes: [['Add', ['c', 'c'], ['next']], ['ReduceMax', ['next'], ['most'], {keepdims: 0}], ['Less', ['most', 'limit'], ['less']]],
        }}],
      ],
    });
    equal(await (await model.run({x: [20, 5]})).y.toArray(), [160, 40]);
    equal(await (await model.run({x: [-300, 5]})).y.toArray(), [300, -5]);
    equal(await (await model.run({x: [20, 5]})).y.toArray(), [160, 40]);
  });

  onDevice('sequences', async () => {
    const model = await load({
      inputs: [['parts', 'seq f32', [null]]], outputs: [['whole', 'f32', [null]], ['more', 'seq f32', [null]]],
      nodes: [['ConcatFromSequence', ['parts'], ['whole'], {axis: 0}], ['SequenceInsert', ['parts', 'whole'], ['more']]],
    });
    const {whole, more} = await model.run({parts: [weft.tensor([1, 2]), f32(3)]});
    equal(await whole.toArray(), [1, 2, 3]);
    equal(await Promise.all(more.map((t) => t.toArray())), [[1, 2], [3], [1, 2, 3]]);
    await fails(() => model.run({parts: f32(3)}), 'TypeError', /expected a list of tensors/);
  });

  onDevice('random numbers', async () => {
    const model = await load({
      inputs: [['x', 'f32', [1000]]], outputs: [['y', 'f32', [1000]], ['z', 'f32', [1000]]],
      nodes: [['RandomUniformLike', ['x'], ['y']], ['RandomUniformLike', ['x'], ['z']]],
    });
    const drawn = [];
    for (let i = 0; i < 2; ++i) {
      const {y, z} = await model.run({x: new Float32Array(1000)});
      drawn.push(await y.data(), await z.data());
    }
    for (const values of drawn) {
      check(values.every((v) => v >= 0 && v < 1), 'they are from 0 to 1');
      close([values.reduce((a, b) => a + b) / 1000], [0.5], 0.06);
    }
    check(new Set(drawn.map((values) => values.slice(0, 8).join())).size === 4, 'each run and each node draws its own');
  });

  onDevice('runs at the same time', async () => {
    const model = await load({
      inputs: [['x', 'f32', ['n']]], outputs: [['y', 'f32', [null]]],
      nodes: [['Add', ['x', 'x'], ['d']], ['NonZero', ['d'], ['at']], ['Squeeze', ['at'], ['i'], {axes: [0]}], ['Gather', ['d', 'i'], ['y']]],
    }, 11);
    const inputs = [[1, 0], [0, 2], [0, 3, 4], [5, 0, 6], [0, 7]];
    const results = await Promise.all(inputs.map(async (x) => (await model.run({x})).y.toArray()));
    equal(results, [[2], [4], [6, 8], [10, 12], [14]]);
  });

  // Those of a GPU are on the GPU alone; those of the cpu there once.
  onDevice('large weights in pieces', async ({opened, print}) => {
    const [rows, columns] = [4096, 2048], weights = new Float32Array(rows * columns);
    for (let i = 0; i < rows; ++i) weights[i * columns + (i % columns)] = 1;
    const file = modelProto({
      inputs: [['x', 'f32', [1, rows]]], outputs: [['y', 'f32', [1, columns]]], nodes: [['MatMul', ['x', 'w'], ['y']]],
      initializers: [tensorProto('w', 'f32', [rows, columns], weights)],
    });
    const before = wasm.HEAPU8.length;
    const model = await onnx.load(new Blob([file]));
    const x = Float32Array.from({length: rows}, (_, i) => i);
    const {y} = await model.run({x});
    const values = await y.data();
    for (const i of [0, 1, 1000, 2047]) equal(values[i], i + i + columns);
    const grown = wasm.HEAPU8.length - before;
    print(`        a model of ${file.length} bytes: the heap grew by ${grown}`);
    if (opened.gpu) check(grown < 8 << 20, `the heap grew by ${grown} bytes`);
    model.dispose();
  });

  onDevice('memory does not grow', async () => {
    const model = await load(product());
    const runOnce = async () => {
      const {y} = await model.run({x: [[1, 2, 3]]});
      await y.data();
      y.dispose();
    };
    for (let i = 0; i < 3; ++i) await runOnce();
    const {numTensors} = weft.memory(), {length} = wasm.HEAPU8;
    for (let i = 0; i < 50; ++i) await runOnce();
    await fails(() => model.run({x: [[1, 2]]}), 'ShapeError');
    equal([weft.memory().numTensors, wasm.HEAPU8.length], [numTensors, length]);
    model.dispose();
  });
}

test('a device that is not the one in use', async () => {
  const [gpu, cpu] = [GPU && await weft.open({device: GPU}), await weft.open({device: 'cpu'})];
  for (const [on, used] of gpu ? [[gpu, cpu], [cpu, gpu]] : [[cpu, cpu]]) {
    weft.use(used);
    const model = await onnx.load(modelProto({
      inputs: [['x', 'f32', [2]]], outputs: [['y', 'f32', [2]]],
      nodes: [['RandomUniformLike', ['x'], ['r']], ['Floor', ['r'], ['z']], ['Add', ['x', 'z'], ['y']]],
    }), {device: on});
    equal(model.gpu, on.gpu);
    const {y} = await model.run({x: [1, 2]});
    equal(await y.toArray(), [1, 2]);
    const {y: again} = await model.run({x: y});
    equal(await (await again.to(used)).toArray(), [1, 2]);
    model.dispose();
  }
});

// ---- Where files come from, on the cpu
const fileTest = (name, f) => test(name, async (given) => {
  await weft.open({device: 'cpu'});
  await f(given);
});
const ROOT = 'https://models.example/a%20b/';
const fetchFile = globalThis.fetch;
// Of these files by their names there; asked: what was fetched.
function siteOf(files, asked = []) {
  return async (address, ...rest) => {
    if (!String(address).startsWith(ROOT)) return fetchFile(address, ...rest);
    const name = String(address).slice(ROOT.length);
    asked.push(name);
    const file = files[name];
    if (file instanceof Error) throw file;
    if (file instanceof Response) return file;
    return file ? new Response(file, {headers: {'content-length': file.length}}) : new Response('', {status: 404});
  };
}
const computes = async (model) => {
  equal(await (await model.run({x: [[1, 0, 0]]})).y.toArray(), [[2, 4]]);
  model.dispose();
};
const external = (location, offset = 4, length = 24) =>
  modelProto(product(tensorProto('w', 'f32', [3, 2], null, [location, offset, length])));
const values = new Uint8Array(f32(9, 1, 2, 3, 4, 5, 6).buffer);

fileTest('bytes, Blobs, streams and Responses', async () => {
  for (const source of [
    small, small.slice().buffer, new DataView(small.slice().buffer), new Blob([small]), new Blob([small]).stream(), new Response(small),
    // (The page's policy lets it fetch from its own server alone.)
    ...(globalThis.document ? [] : [URL.createObjectURL(new Blob([small]))]),
  ]) await computes(await onnx.load(source));
  const named = new File([external('w.bin')], 'own.onnx'), seen = new Set();
  await computes(await onnx.load(named, {files: {'w.bin': values}, progress: ({file}) => seen.add(file)}));
  equal([...seen], ['own.onnx', 'w.bin']);
  await computes(await onnx.load(external('./w.bin'), {files: [new File([values], 'w.bin')]}));
});

fileTest('other files are beside the model', async () => {
  const asked = [], files = {'m.onnx?token=1': external('parts/w 1.bin'), 'parts/w%201.bin?token=1': values};
  await withGlobals({fetch: siteOf(files, asked)}, async () => computes(await onnx.load(`${ROOT}m.onnx?token=1`, {cache: false})));
  equal(asked, ['m.onnx?token=1', 'parts/w%201.bin?token=1']);
});

fileTest('a second load needs no network', async () => {
  const cache = new MemoryCache(), files = {'m.onnx': external('w.bin'), 'w.bin': values};
  const over = (f) => withGlobals({caches: cacheOf(cache), fetch: siteOf(f)}, () => onnx.load(new URL(`${ROOT}m.onnx`)));
  await computes(await over(files));
  equal([...cache.kept.keys()], [`${ROOT}m.onnx`, `${ROOT}w.bin`]);
  await computes(await over({'m.onnx': new TypeError('offline')}));
  // What is malformed is not kept.
  cache.kept.clear();
  await fails(() => over({...files, 'w.bin': values.slice(1)}), 'FormatError', /'w.bin' has 27 bytes; the model has 24 from 4 on/);
  equal(cache.kept.size, 0);
  await fails(() => over({...files, 'w.bin': new TypeError('offline')}), 'IoError', /w.bin: offline/);
  equal([...cache.kept.keys()], [`${ROOT}m.onnx`]);
  if (!globalThis.caches) return;
  await caches.delete(onnx.CACHE);
  const address = `${served}examples/digits.onnx`, offline = async () => Promise.reject(new TypeError('offline'));
  (await onnx.load(address)).dispose();
  equal((await (await caches.open(onnx.CACHE)).keys()).map(({url}) => url), [address]);
  const onlyPrints = (a, ...rest) => (String(a).includes('digits') ? offline() : fetchFile(a, ...rest));
  await withGlobals({fetch: onlyPrints}, async () => (await onnx.load(address)).dispose());
  await caches.delete(onnx.CACHE);
});

fileTest('files of this machine, in Node', async () => {
  if (!globalThis.process?.versions?.node) return;
  const [{mkdtempSync, rmSync, writeFileSync}, {tmpdir}, {join}, {pathToFileURL}] =
      await Promise.all(['fs', 'os', 'path', 'url'].map((name) => import(`node:${name}`)));
  const folder = mkdtempSync(join(tmpdir(), 'weft-onnx-'));
  try {
    writeFileSync(join(folder, 'm.onnx'), external('w.bin'));
    await fails(() => onnx.load(join(folder, 'm.onnx')), 'IoError', /w.bin: no such file, in which the model has weights/);
    writeFileSync(join(folder, 'w.bin'), values);
    await computes(await onnx.load(join(folder, 'm.onnx')));
    await computes(await onnx.load(pathToFileURL(join(folder, 'm.onnx'))));
    await fails(() => onnx.load(join(folder, 'none.onnx')), 'IoError', /^file:.*none.onnx: no such file/);
  } finally {
    rmSync(folder, {recursive: true});
  }
});

fileTest('what is no model', async () => {
  const {load} = onnx;
  await fails(() => load(new Uint8Array(0)), 'FormatError', /'model\/model.onnx': onnx: ModelProto: no graph/);
  await fails(() => load(new TextEncoder().encode('<!doctype html><title>Not found')), 'FormatError', /is of kind/);
  await fails(() => load(small.subarray(0, small.length - 9)), 'FormatError', /GraphProto.*the file ends here/);
  await fails(() => load(modelProto({...product(), nodes: [['Nothing', ['x'], ['y']]]})), 'Unsupported', /'y' \(Nothing\)/);
  await fails(() => load(modelProto(product(), 99)), 'Unsupported', /opset 99/);
  await fails(() => load(external('../w.bin')), 'FormatError', /not inside of the model's folder/);
  await fails(() => load(external('/w.bin')), 'FormatError', /not inside of the model's folder/);
  await fails(() => load(external('w.bin', 4, 20)), 'FormatError', /takes 24 bytes, and is said to be 20/);
  await fails(() => load(external('w.bin')), 'IoError', /^model\/w.bin: no such file, in which the model has weights/);
  await fails(() => load(5), 'TypeError', /the model is 5, expected an address/);
  await fails(() => load(undefined), 'TypeError', /the model is undefined/);
  for (const nothing of ['', '  ']) await fails(() => load(nothing), 'InvalidArgument', /the address is empty/);
  await fails(() => load('http://['), 'InvalidArgument', /is no URL/);
  await fails(() => load(`${ROOT}m.onnx`, {files: {}}), 'InvalidArgument', /files are for a model that is given/);
  await fails(() => load(small, {device: 'cpu'}), 'TypeError', /device is "cpu", expected a Device/);
  await fails(() => load(small, {precision: 'half'}), 'InvalidArgument', /precision is 'half'/);
  await fails(() => load(small, {forms: 0}), 'InvalidArgument', /forms is 0/);
  await fails(() => load(small, {progres() {}}), 'InvalidArgument', /no option 'progres'/);
  await fails(() => load(small, {signal: AbortSignal.abort()}), 'AbortError');
  const page = () => new Response('<html>', {headers: {'content-type': 'text/html; charset=utf-8'}});
  const over = (files, name, pattern) =>
    withGlobals({fetch: siteOf(files)}, () => fails(() => load(`${ROOT}m.onnx`, {cache: false}), name, pattern));
  await over({}, 'IoError', /^https:.*m.onnx: no such file/);
  await over({'m.onnx': page()}, 'IoError', /no such file/);
  await over({'m.onnx': new Response('', {status: 500})}, 'IoError', /m.onnx: 500/);
  await over({'m.onnx': new TypeError('offline')}, 'IoError', /m.onnx: offline/);
  await computes(await load(small));
});

fileTest('what a run refuses', async () => {
  const model = await onnx.load(small, {precision: 'strict', forms: 2});
  await fails(() => model.run({}), 'InvalidArgument', /input 'x' is missing/);
  await fails(() => model.run({x: [[1, 2, 3]], z: 1}), 'InvalidArgument', /no input is called 'z'; there are 'x'/);
  await fails(() => model.run({x: [[1, 2]]}), 'ShapeError', /input 'x' is \[1, 2\], expected \[rows, 3\]/);
  await fails(() => model.run({x: f32(1, 2)}), 'ShapeError', /input 'x' is 2 numbers, expected a multiple of 3/);
  await fails(() => model.run({x: weft.tensor([[1n, 2n, 3n]])}), 'TypeError', /input 'x' is i64, expected f32/);
  await fails(() => model.run({x: 'text'}), 'TypeError', /input 'x' is "text"/);
  await fails(() => model.run({x: null}), 'InvalidArgument', /'x'/);
  await fails(() => model.run([1]), 'TypeError', /the inputs are values/);
  await fails(() => model.run({x: [[1, 2, 3]]}, {signal: AbortSignal.abort()}), 'AbortError');
  const gone = weft.tensor([[1, 2, 3]]);
  gone.dispose();
  await fails(() => model.run({x: gone}), 'InvalidArgument', /input 'x' is .*, which was disposed of/);
  const open = await onnx.load(modelProto({inputs: [['x', 'f32', ['n', 'm']]], outputs: [['y', 'f32', ['n', 'm']]], nodes: [['Neg', ['x'], ['y']]]}));
  await fails(() => open.run({x: f32(1, 2)}), 'ShapeError', /input 'x' is 2 numbers for \[n, m\], expected a tensor/);
  await computes(model);
});
