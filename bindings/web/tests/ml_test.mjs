// navigator.ml: the shape of its interfaces as WebIDL has it, conversions of arguments, errors, lost contexts, and tensors
// that are shared with WebGPU. What graphs compute is in conformance data (conformance.mjs).
import * as weft from '../package/ml.js';
import {check, equal, fails, test} from './harness.mjs';

const hasGpu = !!await globalThis.navigator?.gpu?.requestAdapter();
const newDevice = async () => (await navigator.gpu.requestAdapter()).requestDevice();
const unused = {};  // of navigator.ml before install()
const wasThere = 'ml' in navigator && !!navigator.ml;
await weft.install({force: true, device: 'cpu'});

const float32 = (...shape) => ({dataType: 'float32', shape});
const builderOf = async () => new MLGraphBuilder(await navigator.ml.createContext());

// Tells whether a graph computes on the context.
async function computes(context) {
  const b = new MLGraphBuilder(context), graph = await b.build({y: b.neg(b.input('x', float32(2)))});
  const [x, y] = await Promise.all([{writable: true}, {readable: true}].map((how) =>
      context.createTensor({...float32(2), ...how})));
  context.writeTensor(x, new Float32Array([1, -2]));
  context.dispatch(graph, {x}, {y});
  equal([...new Float32Array(await context.readTensor(y))], [-1, 2]);
}

// ---- The shape of interfaces

// Of the specification: attributes; operations with the number of their required arguments, and whether they give a
// promise; the number of the constructor's arguments, unless there is none.
const unary = ['abs', 'ceil', 'cos', 'erf', 'exp', 'floor', 'identity', 'log', 'neg', 'reciprocal', 'roundEven', 'sin',
               'sign', 'sqrt', 'tan', 'elu', 'gelu', 'hardSigmoid', 'hardSwish', 'leakyRelu', 'linear', 'relu', 'sigmoid',
               'softplus', 'softsign', 'tanh', 'clamp', 'averagePool2d', 'l2Pool2d', 'maxPool2d', 'reduceL1', 'reduceL2',
               'reduceLogSum', 'reduceLogSumExp', 'reduceMax', 'reduceMean', 'reduceMin', 'reduceProduct', 'reduceSum',
               'reduceSumSquare', 'instanceNormalization', 'layerNormalization', 'resample2d', 'reverse', 'transpose',
               'triangular', 'logicalNot', 'isNaN', 'isInfinite'];
const binary = ['add', 'sub', 'mul', 'div', 'max', 'min', 'pow', 'equal', 'notEqual', 'greater', 'greaterOrEqual', 'lesser',
                'lesserOrEqual', 'logicalAnd', 'logicalOr', 'logicalXor', 'matmul', 'argMin', 'argMax', 'cast', 'concat',
                'conv2d', 'convTranspose2d', 'cumulativeSum', 'expand', 'gather', 'gatherElements', 'gatherND', 'gemm',
                'prelu', 'reshape', 'softmax', 'split', 'tile'];
const operations = {batchNormalization: 3, dequantizeLinear: 3, quantizeLinear: 3, gru: 5, gruCell: 5, lstm: 5, lstmCell: 6,
                    pad: 3, scatterElements: 3, scatterND: 3, slice: 3, where: 3};
for (const name of unary) operations[name] = 1;
for (const name of binary) operations[name] = 2;

const interfaces = {
  ML: {promises: {createContext: 0}},
  MLContext: {
    attributes: ['accelerated', 'lost'],
    operations: {dispatch: 3, writeTensor: 2, opSupportLimits: 0, destroy: 0, exportToGPU: 1},
    promises: {createTensor: 1, createConstantTensor: 2, createExportableTensor: 2, readTensor: 1},
  },
  MLGraph: {operations: {destroy: 0}},
  MLOperand: {attributes: ['dataType', 'shape']},
  MLTensor: {attributes: ['dataType', 'shape', 'readable', 'writable', 'constant'], operations: {destroy: 0}},
  MLGraphBuilder: {constructs: 1, operations: {input: 2, constant: 1, ...operations}, promises: {build: 1}},
};

for (const [name, {attributes = [], operations = {}, promises = {}, constructs}] of Object.entries(interfaces)) {
  const Interface = globalThis[name];
  test(`the interface ${name}`, async () => {
    const global = Object.getOwnPropertyDescriptor(globalThis, name);
    equal([global.writable, global.enumerable, global.configurable], [true, false, true]);
    check(weft[name] === Interface, 'the module exports it');
    equal([typeof Interface, Interface.name, Interface.length], ['function', name, constructs ?? 0]);
    check(Object.getPrototypeOf(Interface) === Function.prototype, 'it inherits from Function');
    const own = Object.getOwnPropertyDescriptor(Interface, 'prototype');
    equal([own.writable, own.enumerable, own.configurable], [false, false, false]);
    const {prototype} = Interface;
    check(Object.getPrototypeOf(prototype) === Object.prototype, 'its objects inherit from Object');
    const constructor = Object.getOwnPropertyDescriptor(prototype, 'constructor');
    check(constructor.value === Interface, 'the constructor');
    equal([constructor.writable, constructor.enumerable, constructor.configurable], [true, false, true]);
    equal(Object.getOwnPropertyDescriptor(prototype, Symbol.toStringTag),
          {value: name, writable: false, enumerable: false, configurable: true});
    equal(Object.prototype.toString.call(prototype), `[object ${name}]`);
    await fails(() => Interface(), 'TypeError');
    await fails(() => new Interface(), 'TypeError', constructs ? /argument/ : /Illegal constructor/);
    equal(Reflect.ownKeys(prototype).filter((key) => typeof key === 'string').sort(),
          ['constructor', ...attributes, ...Object.keys(operations), ...Object.keys(promises)].sort());
    equal(Reflect.ownKeys(Interface).sort(), ['length', 'name', 'prototype']);
  });
  const strangers = [undefined, null, 1, {}, Object.create(Interface.prototype)];
  for (const attribute of attributes) {
    test(`the attribute ${name}.${attribute}`, async () => {
      const {get, set, enumerable, configurable} = Object.getOwnPropertyDescriptor(Interface.prototype, attribute);
      equal([typeof get, typeof set, enumerable, configurable], ['function', 'undefined', true, true]);
      equal([get.name, get.length], [`get ${attribute}`, 0]);
      for (const stranger of strangers) {
        if (attribute !== 'lost') await fails(() => get.call(stranger), 'TypeError');
        // One that is a promise fails.
        else await fails(async () => await get.call(stranger), 'TypeError');
      }
    });
  }
  for (const [operation, length] of Object.entries({...operations, ...promises})) {
    test(`the operation ${name}.${operation}`, async () => {
      const {value, writable, enumerable, configurable} = Object.getOwnPropertyDescriptor(Interface.prototype, operation);
      equal([typeof value, writable, enumerable, configurable], ['function', true, true, true]);
      equal([value.name, value.length], [operation, length]);
      check(Object.getPrototypeOf(value) === Function.prototype, 'it inherits from Function');
      check(!Object.hasOwn(value, 'prototype'), 'it has no prototype');
      await fails(() => new value(), 'TypeError');
      for (const stranger of strangers) {
        const calling = () => value.apply(stranger, [{}, {}, {}, {}, {}, {}]);
        if (operation in promises) {
          const promise = calling();
          check(promise instanceof Promise, 'a promise');
          await fails(() => promise, 'TypeError');
        } else {
          let thrown;
          try {
            calling();
          } catch (error) {
            thrown = error;
          }
          check(thrown instanceof TypeError, 'it throws a TypeError');
        }
      }
    });
  }
}

test('navigator.ml', async () => {
  check(navigator.ml === weft.ml && navigator.ml === navigator.ml, 'the same object');
  equal(Object.prototype.toString.call(navigator.ml), '[object ML]');
  const owner = [navigator, Object.getPrototypeOf(navigator)].find((o) => Object.hasOwn(o, 'ml'));
  const {get, set, enumerable, configurable} = Object.getOwnPropertyDescriptor(owner, 'ml');
  equal([get.name, get.length, typeof set, enumerable, configurable], ['get ml', 0, 'undefined', true, true]);
  await fails(() => get.call({}), 'TypeError');
});

test('a navigator.ml that is there stays unless asked', async () => {
  check(!wasThere, 'there was none');
  const owner = [navigator, Object.getPrototypeOf(navigator)].find((o) => Object.hasOwn(o, 'ml'));
  const own = Object.getOwnPropertyDescriptor(owner, 'ml');
  Object.defineProperty(owner, 'ml', {value: unused, configurable: true});
  try {
    check(await weft.install() === unused && navigator.ml === unused, 'it stays');
    check(await weft.install({force: true, device: 'cpu'}) === weft.ml && navigator.ml === weft.ml, 'it goes');
    await fails(() => weft.install({device: 5}), 'TypeError', /install: device is 5, expected a name or a GPUDevice/);
    await fails(() => weft.install({devices: 'cpu'}), 'InvalidArgument', /no option 'devices'/);
  } finally {
    Object.defineProperty(owner, 'ml', own);
  }
});

test('what objects are', async () => {
  const context = await navigator.ml.createContext({accelerated: false});
  const b = new MLGraphBuilder(context), x = b.input('x', float32(2, 3));
  const t = await context.createTensor({...float32(2, 3), readable: true});
  const graph = await b.build({y: b.relu(x)});
  for (const [object, Interface] of [[context, MLContext], [b, MLGraphBuilder], [x, MLOperand], [t, MLTensor],
                                     [graph, MLGraph]]) {
    check(object instanceof Interface, Interface.name);
    equal(Reflect.ownKeys(object), []);
    equal(String(object), `[object ${Interface.name}]`);
  }
  equal([x.dataType, x.shape, t.readable, t.writable, t.constant], ['float32', [2, 3], true, false, false]);
  check(x.shape === x.shape && Object.isFrozen(x.shape) && t.shape === t.shape && Object.isFrozen(t.shape), 'frozen');
  check(context.lost === context.lost && context.lost instanceof Promise, 'one promise');
  class Mine extends MLGraphBuilder {}
  const mine = new Mine(context);
  check(mine instanceof Mine && mine.input('x', float32(1)) instanceof MLOperand, 'a class of the page');
});

// ---- Conversions

const symbol = Symbol('s');

test('numbers of [EnforceRange]', async () => {
  const b = await builderOf(), x = b.input('x', float32(2, 3));
  for (const axis of [1, 1.9, '1', true, [1], {valueOf: () => 1}]) equal(b.argMax(x, axis).shape, [2]);
  for (const axis of [-0.9, null, false, '', -0]) equal(b.argMax(x, axis).shape, [3]);
  for (const axis of [NaN, Infinity, -1, 2 ** 32, undefined, 'a', {}, 1n, symbol]) {
    await fails(() => b.argMax(x, axis), 'TypeError');
  }
  await fails(() => b.argMax(x, 2), 'TypeError', /^argMax: /);
  equal(b.reshape(x, ['3', 2.5]).shape, [3, 2]);
  equal(b.triangular(x, {diagonal: -1}).shape, [2, 3]);
  for (const diagonal of [2 ** 31, -(2 ** 31) - 1]) await fails(() => b.triangular(x, {diagonal}), 'TypeError');
  await fails(() => b.input('y', float32(-1)), 'TypeError', /descriptor\.shape\[0\] is -1/);
});

test('doubles and floats', async () => {
  const b = await builderOf(), x = b.input('x', float32(1, 1, 2, 2));
  for (const alpha of [0.5, '0.5', null, true, -0]) b.elu(x, {alpha});
  for (const alpha of [NaN, Infinity, 'a', 1n, symbol]) await fails(() => b.elu(x, {alpha}), 'TypeError');
  equal(b.resample2d(x, {scales: ['2', 1.5]}).shape, [1, 1, 4, 3]);
  for (const scale of [NaN, 1e39]) await fails(() => b.resample2d(x, {scales: [scale, 1]}), 'TypeError');
});

test('sequences', async () => {
  const b = await builderOf(), x = b.input('x', float32(2, 3));
  equal(b.reshape(x, new Set([3, 2])).shape, [3, 2]);
  equal(b.reshape(x, new Uint8Array([3, 2])).shape, [3, 2]);
  equal(b.reshape(x, (function*() { yield 6; })()).shape, [6]);
  for (const shape of ['23', 6, null, undefined, {}, {length: 1, 0: 6}, {[Symbol.iterator]: 1}]) {
    await fails(() => b.reshape(x, shape), 'TypeError', /reshape/);
  }
  equal(b.concat([x, x], 0).shape, [4, 3]);
  await fails(() => b.concat([x, {}], 0), 'TypeError', /inputs\[1\]/);
  await fails(() => b.concat(x, 0), 'TypeError');
  equal(b.split(x, 3, {axis: 1}).map(({shape}) => shape), [[2, 1], [2, 1], [2, 1]]);
  equal(b.split(x, [1, 2], {axis: 1}).map(({shape}) => shape), [[2, 1], [2, 2]]);
  equal(b.split(x, '2').length, 2);
  await fails(() => b.split(x, {}), 'TypeError');
});

test('enumerations and strings', async () => {
  const b = await builderOf(), x = b.input('x', float32(2, 3));
  equal(b.cast(x, {toString: () => 'int32'}).dataType, 'int32');
  for (const type of ['float33', 'FLOAT32', '', undefined, null, symbol]) await fails(() => b.cast(x, type), 'TypeError');
  await fails(() => b.pad(x, [0, 0], [1, 1], {mode: 'mirror'}), 'TypeError', /mode is 'mirror'/);
  await fails(() => b.gru(x, x, x, 1, 1, {activations: ['relu', 'sin']}), 'TypeError', /activations\[1\]/);
  await fails(() => navigator.ml.createContext({powerPreference: 'low'}), 'TypeError', /powerPreference/);
  await fails(() => b.input(symbol, float32(1)), 'TypeError');
  await fails(() => b.input('', float32(1)), 'TypeError');
  // USVString: unpaired surrogates become U+FFFD. Names may have any characters.
  const name = 'a\ud800\0"\u{1f600}', context = await navigator.ml.createContext();
  const c = new MLGraphBuilder(context), y = c.input(name, float32(1));
  const graph = await c.build({[name]: c.neg(y)});
  const tensor = await context.createTensor({...float32(1), writable: true});
  const out = await context.createTensor({...float32(1), readable: true});
  context.writeTensor(tensor, new Float32Array([3]));
  context.dispatch(graph, {['a\ufffd\0"\u{1f600}']: tensor}, {[name]: out});
  equal([...new Float32Array(await context.readTensor(out))], [-3]);
  const {message} = await fails(() => c.relu(y, {label: 'my \u202elabel'}), 'InvalidStateError');
  check(message.includes('[my \\u{202e}label]'), message);
});

test('dictionaries', async () => {
  const b = await builderOf(), x = b.input('x', float32(2, 3));
  for (const options of [undefined, null, {}, [], () => {}, new Date(), {strange: 1}, {label: undefined}]) b.relu(x, options);
  for (const options of [1, 'a', true, symbol, 1n]) await fails(() => b.relu(x, options), 'TypeError', /options/);
  // Members are read in order: those of the base dictionary first, each in alphabetical order.
  const read = [];
  b.gemm(x, b.input('z', float32(3, 2)), new Proxy({}, {get: (_, key) => void read.push(key)}));
  equal(read, ['label', 'aTranspose', 'alpha', 'bTranspose', 'beta', 'c']);
  read.length = 0;
  const context = await navigator.ml.createContext();
  await context.createTensor(new Proxy({...float32(1)}, {get: (o, key) => (read.push(key), o[key])}));
  equal(read, ['dataType', 'shape', 'readable', 'writable']);
  for (const descriptor of [undefined, null, {}, {dataType: 'float32'}, {shape: [1]}, 5, 'a']) {
    await fails(() => b.input('y', descriptor), 'TypeError');
    await fails(() => context.createTensor(descriptor), 'TypeError');
  }
  // Any object with these members describes.
  equal(b.input('y', x).shape, [2, 3]);
  for (const bias of [null, {}, 1, x.shape]) {
    await fails(() => b.layerNormalization(x, {bias}), 'TypeError', /bias/);
  }
  equal(b.argMax(x, 0, {keepDimensions: 'yes'}).shape, [1, 3]);
});

test('records', async () => {
  const context = await navigator.ml.createContext(), b = new MLGraphBuilder(context);
  const y = b.relu(b.input('x', float32(1)));
  for (const outputs of [undefined, null, 1, 'y', {y: 1}, {y: undefined}, {[symbol]: y}]) {
    await fails(() => b.build(outputs), 'TypeError');
  }
  await fails(() => b.build({}), 'TypeError', /no outputs/);
  await fails(() => b.build({'': y}), 'TypeError', /empty/);
  const inherited = Object.create({z: 1});
  inherited.y = y;
  Object.defineProperty(inherited, 'hidden', {value: 1, enumerable: false});
  check(await b.build(inherited) instanceof MLGraph, 'own enumerable properties alone');
});

test('MLNumber', async () => {
  const context = await navigator.ml.createContext();
  const values = async (dataType, Kind, ...numbers) => {
    const b = new MLGraphBuilder(context), outputs = {};
    numbers.forEach((n, i) => outputs[i] = b.identity(b.constant(dataType, n)));
    const graph = await b.build(outputs);
    const tensors = {};
    for (const i in outputs) tensors[i] = await context.createTensor({dataType, shape: [], readable: true});
    context.dispatch(graph, {}, tensors);
    return await Promise.all(numbers.map(async (_, i) => new Kind(await context.readTensor(tensors[i]))[0]));
  };
  equal(await values('int64', BigInt64Array, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 64n, -(2n ** 70n), 1.5, '7', 2.5, {
    valueOf: () => 5n,
  }), [2n ** 63n - 1n, -(2n ** 63n), 2n ** 63n - 1n, -(2n ** 63n), 2n, 7n, 2n, 5n]);
  equal(await values('uint64', BigUint64Array, 2n ** 64n - 1n, -1n, 2n ** 65n, NaN),
        [2n ** 64n - 1n, 0n, 2n ** 64n - 1n, 0n]);
  const floats = await values('float32', Float32Array, NaN, Infinity, -Infinity, -0, 2n ** 64n, 10n ** 400n, 0.1);
  const expected = [NaN, Infinity, -Infinity, -0, 2 ** 64, Infinity, Math.fround(0.1)];
  check(floats.every((v, i) => Object.is(v, expected[i])), floats.join());
  equal(await values('int8', Int8Array, 200, -200, 127n, true, null), [127, -128, 127, 1, 0]);
  const b = new MLGraphBuilder(context);
  for (const value of [symbol, {valueOf: () => symbol}]) await fails(() => b.constant('float32', value), 'TypeError');
  const x = b.input('x', float32(1));
  b.clamp(x, {minValue: 0n, maxValue: 6});
  await fails(() => b.clamp(x, {minValue: 2, maxValue: 1n}), 'TypeError', /clamp/);
});

test('buffers', async () => {
  const context = await navigator.ml.createContext(), b = new MLGraphBuilder(context);
  const two = {dataType: 'int32', shape: [2]};
  const memory = new ArrayBuffer(32);
  new Int32Array(memory).set([1, 2, 3, 4, 5, 6, 7, 8]);
  const good = [memory.slice(0, 8), new Int32Array(memory, 8, 2), new Uint8Array(memory, 4, 8)];
  if (globalThis.SharedArrayBuffer) {
    good.push(new SharedArrayBuffer(8), new Int32Array(new SharedArrayBuffer(16), 4, 2));
  }
  for (const data of good) {
    b.constant(two, data);
    await context.createConstantTensor(two, data);
  }
  const detached = new ArrayBuffer(8);
  structuredClone(detached, {transfer: [detached]});
  const bad = [memory, new Int32Array(1), new Int32Array(3), detached, new Float32Array(2), new DataView(memory, 0, 8),
               new Uint8ClampedArray(8), new Float64Array(1), [1, 2], null, undefined, 8, {byteLength: 8},
               Object.create(ArrayBuffer.prototype)];
  if ('resizable' in memory) bad.push(new ArrayBuffer(8, {maxByteLength: 16}));
  for (const data of bad) {
    await fails(() => b.constant(two, data), 'TypeError');
    await fails(() => context.createConstantTensor(two, data), 'TypeError');
  }
  // For browsers without Float16Array; the type of elements counts.
  equal(b.constant({dataType: 'float16', shape: [2]}, new Uint16Array(2)).dataType, 'float16');
  await fails(() => b.constant(two, new Uint16Array(4)), 'TypeError', /int32/);
  const t = await context.createTensor({...two, readable: true, writable: true});
  context.writeTensor(t, good[1]);
  equal([...new Int32Array(await context.readTensor(t))], [3, 4]);
  for (const data of [memory, detached, new DataView(memory, 0, 8), [1, 2]]) {
    await fails(() => context.writeTensor(t, data), 'TypeError');
  }
  // Into a part of a buffer; a larger one keeps its end.
  const target = new Int32Array(8).fill(9);
  equal(await context.readTensor(t, target.subarray(2, 4)), undefined);
  equal([...target], [9, 9, 3, 4, 9, 9, 9, 9]);
  await context.readTensor(t, target.buffer);
  equal([...target], [3, 4, 3, 4, 9, 9, 9, 9]);
  for (const into of [new Int32Array(1), undefined, null, detached]) {
    await fails(() => context.readTensor(t, into), 'TypeError');
  }
  // Detached before the values come.
  const late = new ArrayBuffer(8), reading = context.readTensor(t, late);
  structuredClone(late, {transfer: [late]});
  await fails(() => reading, 'TypeError', /detached/);
});

test('overloads', async () => {
  const context = await navigator.ml.createContext(), b = new MLGraphBuilder(context);
  const constant = await context.createConstantTensor(float32(1), new Float32Array([4]));
  equal([constant.constant, constant.readable, constant.writable], [true, false, false]);
  equal(b.constant(constant).shape, [1]);
  equal(b.constant('int8', 1).dataType, 'int8');
  equal(b.constant(float32(1), new Float32Array(1)).shape, [1]);
  for (const given of [[], [float32(1)], ['float32'], [1, 1], [undefined, 1], [constant, 1], [true, 1]]) {
    await fails(() => b.constant(...given), 'TypeError');
  }
  const tensor = await context.createTensor(float32(1));
  await fails(() => b.constant(tensor), 'TypeError', /create_constant_tensor/);
  for (const given of [1, 'a', true, symbol]) await fails(() => navigator.ml.createContext(given), 'TypeError');
  for (const given of [undefined, null, {}, {powerPreference: undefined}]) {
    check(await navigator.ml.createContext(given) instanceof MLContext, 'options');
  }
  // An extension: softmax without an axis.
  const x = b.input('x', float32(2, 3));
  b.softmax(x);
  await fails(() => b.softmax(x, NaN), 'TypeError');
});

test('too few arguments', async () => {
  const context = await navigator.ml.createContext(), b = new MLGraphBuilder(context), x = b.input('x', float32(2));
  for (const [name, length] of Object.entries({...operations, input: 2})) {
    // Weft's softmax has an axis of its own.
    for (let n = 0; n < length - (name === 'softmax'); ++n) await fails(() => b[name](...Array(n).fill(x)), 'TypeError', /expected/);
  }
  await fails(() => context.dispatch({}, {}), 'TypeError', /2 arguments are given, expected 3/);
  for (const name of ['createTensor', 'createConstantTensor', 'readTensor', 'createExportableTensor']) {
    const promise = context[name]();
    check(promise instanceof Promise, 'a promise');
    await fails(() => promise, 'TypeError', /0 arguments are given/);
  }
  await fails(() => b.build(), 'TypeError');
});

// ---- Errors, and what is lost

test('objects of others', async () => {
  const context = await navigator.ml.createContext(), other = await navigator.ml.createContext();
  const b = new MLGraphBuilder(context), c = new MLGraphBuilder(context);
  const x = b.input('x', float32(1)), y = b.relu(x);
  await fails(() => c.add(x, x, {label: 'mine'}), 'TypeError', /^add \[mine\]: a is of another builder/);
  await fails(() => c.build({y}), 'TypeError', /another builder/);
  await fails(() => new MLGraphBuilder({}), 'TypeError');
  const graph = await b.build({y});
  await fails(() => b.relu(x), 'InvalidStateError', /built/);
  await fails(() => b.build({y}), 'InvalidStateError');
  const make = (of) => of.createTensor({...float32(1), readable: true, writable: true});
  const [t, u, v] = [await make(context), await make(context), await make(other)];
  await fails(() => context.dispatch(graph, {x: v}, {y: u}), 'TypeError', /another context/);
  await fails(() => other.dispatch(graph, {x: t}, {y: u}), 'TypeError');
  await fails(() => context.dispatch(graph, {x: t}, {y: t}), 'TypeError', /one tensor/);
  await fails(() => context.dispatch(graph, {z: t}, {y: u}), 'TypeError', /no input 'z'/);
  await fails(() => context.dispatch(graph, {x: t}, {}), 'TypeError');
  await fails(() => other.readTensor(t), 'TypeError');
  await fails(() => other.writeTensor(t, new Float32Array(1)), 'TypeError');
  await fails(async () => context.readTensor(await context.createTensor(float32(1))), 'TypeError', /not readable/);
  const {constructor} = await fails(async () => {
    graph.destroy();
    graph.destroy();
    context.dispatch(graph, {x: t}, {y: u});
  }, 'InvalidStateError', /the graph is destroyed/);
  check(constructor === DOMException, 'a DOMException');
});

test('a destroyed tensor', async () => {
  const context = await navigator.ml.createContext();
  const t = await context.createTensor({...float32(4), readable: true, writable: true});
  const reading = context.readTensor(t);
  t.destroy();
  t.destroy();
  await fails(() => reading, 'InvalidStateError', /destroyed/);
  await fails(() => context.writeTensor(t, new Float32Array(4)), 'InvalidStateError');
  await fails(() => context.readTensor(t), 'InvalidStateError');
  equal([t.dataType, t.shape, t.readable], ['float32', [4], true]);
});

// What the specification settles in a task of its own is pending while a program's microtasks run.
test('promises are pending until the next task', async () => {
  const microtasks = async () => {
    for (let i = 0; i < 100; ++i) await null;
  };
  for (const place of ['cpu', ...(hasGpu ? ['gpu'] : [])]) {
    const newContext = () => place === 'cpu' ? navigator.ml.createContext() : newDevice().then((own) => navigator.ml.createContext(own));
    const context = await newContext();
    const t = await context.createTensor({...float32(4), readable: true, writable: true}), target = new Float32Array(4).fill(7);
    context.writeTensor(t, new Float32Array([1, 2, 3, 4]));
    const reading = context.readTensor(t), into = context.readTensor(t, target);
    await microtasks();
    t.destroy();
    await fails(() => reading, 'InvalidStateError', /the tensor is destroyed/);
    await fails(() => into, 'InvalidStateError', /the tensor is destroyed/);
    equal([...target], [7, 7, 7, 7]);

    const u = await context.createTensor({...float32(4), readable: true}), b = new MLGraphBuilder(context);
    const pending = [context.readTensor(u), b.build({y: b.relu(b.input('x', float32(4)))}), context.createTensor(float32(4))];
    await microtasks();
    context.destroy();
    for (const promise of pending) await fails(() => promise, 'InvalidStateError', /the context is lost/);

    // They settle in the order in which they were asked for.
    const other = await newContext(), v = await other.createTensor({...float32(1), readable: true}), order = [];
    await Promise.all([0, 1, 2, 3].map((i) => other.readTensor(v).then(() => order.push(i))));
    equal(order, [0, 1, 2, 3]);
    other.destroy();
  }
});

test('a destroyed context', async () => {
  const context = await navigator.ml.createContext(), b = new MLGraphBuilder(context), c = new MLGraphBuilder(context);
  const y = b.relu(b.input('x', float32(4))), z = c.relu(c.input('x', float32(4)));
  const t = await context.createTensor({...float32(4), readable: true, writable: true});
  const graph = await b.build({y});
  const pending = [context.readTensor(t), c.build({z}), context.createTensor(float32(4))];
  let told;
  context.lost.then((info) => told = info);
  equal(context.destroy(), undefined);
  for (const promise of pending) await fails(() => promise, 'InvalidStateError');
  equal(Object.keys(await context.lost), ['message']);
  check(told.message.includes('destroy()'), told.message);
  context.destroy();
  await fails(() => new MLGraphBuilder(context), 'InvalidStateError');
  await fails(() => context.createTensor(float32(4)), 'InvalidStateError');
  await fails(() => context.createConstantTensor(float32(1), new Float32Array(1)), 'InvalidStateError');
  await fails(() => context.readTensor(t), 'InvalidStateError');
  await fails(() => context.writeTensor(t, new Float32Array(4)), 'InvalidStateError');
  await fails(() => context.dispatch(graph, {x: t}, {y: t}), 'InvalidStateError');
  await fails(() => c.input('w', float32(1)), 'InvalidStateError');
  // Arguments are converted before.
  await fails(() => c.input('w', {}), 'TypeError');
});

test('what opSupportLimits() says', async () => {
  const context = await navigator.ml.createContext(), limits = context.opSupportLimits();
  equal(Object.keys(limits).filter((key) => !(key in operations)).sort(),
        ['constant', 'input', 'maxTensorByteLength', 'output', 'preferredInputLayout']);
  equal(Object.keys(operations).filter((key) => !(key in limits)), []);
  check(['nchw', 'nhwc'].includes(limits.preferredInputLayout) && limits.maxTensorByteLength > 1e6, 'values');
  check(limits.input.dataTypes.includes('float32'), 'float32');
  equal(limits.conv2d.input.rankRange, {max: 4, min: 4});  // dictionaries in alphabetical order
  equal(Object.keys(limits.lstm).sort(), ['bias', 'initialCellState', 'initialHiddenState', 'input', 'output0', 'output1',
                                          'output2', 'peepholeWeight', 'recurrentBias', 'recurrentWeight', 'weight']);
  equal(Object.keys(limits.split).sort(), ['input', 'outputs']);
  check(context.opSupportLimits() !== limits, 'another object each time');
});

// The collector of garbage, where one can be had.
const {setFlagsFromString} = globalThis.process?.versions?.node ? await import('node:v8') : {};
setFlagsFromString?.('--expose-gc');
const collect = setFlagsFromString && (await import('node:vm')).runInNewContext('gc');
const collected = async () => {
  collect();
  await new Promise((resolve) => setTimeout(resolve, 10));
};

collect && test('objects that a program forgets are collected', async () => {
  const gone = [], registry = new FinalizationRegistry((name) => gone.push(name));
  await (async () => {
    const context = await navigator.ml.createContext(), b = new MLGraphBuilder(context), x = b.input('x', float32(4));
    const tensor = await context.createTensor({...float32(4), readable: true}), graph = await b.build({y: b.relu(x)});
    await context.readTensor(tensor);
    for (const [name, object] of Object.entries({context, b, x, tensor, graph})) registry.register(object, name);
  })();
  for (let i = 0; i < 100 && gone.length < 5; ++i) await collected();
  equal(gone.sort(), ['b', 'context', 'graph', 'tensor', 'x']);
});

// Loops whose memory must not grow: that of the module, and the objects of WebGPU that it holds.
for (const device of collect ? ['cpu', ...(hasGpu ? ['0'] : [])] : []) {
  const grows = (name, turn) => test(`${name} in a loop (${device === 'cpu' ? 'cpu' : 'gpu'})`, async () => {
    const {wasm} = await import('../package/core.js');
    await weft.install({force: true, device});
    try {
      const figures = [];
      for (let i = 1; i <= 300; ++i) {
        await turn();
        if (i % 20 === 0) await collected();
        if (i % 100 === 0) figures.push([wasm.HEAPU8.length, wasm.gpu.objects.length - wasm.gpu.unused.length]);
      }
      const [, [heap, objects], [heapAfter, objectsAfter]] = figures;
      check(heapAfter === heap && objectsAfter <= objects + 8, `bytes and objects: ${figures.join('; ')}`);
    } finally {
      await weft.install({force: true, device: 'cpu'});
    }
  });
  grows('a context with a graph', async () => {
    const context = await navigator.ml.createContext();
    await computes(context);
    context.destroy();
    await context.lost;
  });
  grows('contexts and graphs that are forgotten', async () => computes(await navigator.ml.createContext()));
  grows('errors', async () => {
    const b = await builderOf();
    await fails(() => b.reshape(b.input('x', float32(1000)), [7]), 'TypeError', /reshape/);
    await fails(() => b.build({y: b.input('y', float32(1))}), 'TypeError', /an input/);
  });
}

// ---- WebGPU
const onGpu = (name, f) => hasGpu && test(`${name} (gpu)`, async () => {
  const device = await newDevice();
  await f(await navigator.ml.createContext(device), device);
  device.destroy();
});

// The buffer's elements, read by the page.
async function read(device, buffer) {
  const copy = device.createBuffer({size: buffer.size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ});
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, copy, 0, buffer.size);
  device.queue.submit([encoder.finish()]);
  await copy.mapAsync(GPUMapMode.READ);
  const values = [...new Float32Array(copy.getMappedRange().slice(0))];
  copy.destroy();
  return values;
}

onGpu('tensors are shared without a copy', async (context, device) => {
  check(context.accelerated, 'on the GPU');
  const b = new MLGraphBuilder(context), x = b.input('x', float32(4));
  const graph = await b.build({y: b.add(x, b.constant('float32', 1))});
  const t = await context.createExportableTensor({...float32(4), writable: true, readable: true}, device);
  const out = await context.createExportableTensor({...float32(4), readable: true}, device);
  context.writeTensor(t, new Float32Array([1, 2, 3, 4]));
  const buffer = context.exportToGPU(t);
  check(buffer instanceof GPUBuffer, 'a GPUBuffer');
  equal([buffer.size, buffer.usage], [16, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST]);
  check(context.exportToGPU(t) === buffer, 'the same one again');
  equal(await read(device, buffer), [1, 2, 3, 4]);
  await fails(() => context.writeTensor(t, new Float32Array(4)), 'InvalidStateError', /exported/);
  await fails(() => context.readTensor(t), 'InvalidStateError', /exported/);
  await fails(() => context.dispatch(graph, {x: t}, {y: out}), 'InvalidStateError', /exported/);
  device.queue.writeBuffer(buffer, 0, new Float32Array([5, 6, 7, 8]));
  buffer.destroy();
  context.dispatch(graph, {x: t}, {y: out});
  equal([...new Float32Array(await context.readTensor(out))], [6, 7, 8, 9]);
  equal(await read(device, context.exportToGPU(out)), [6, 7, 8, 9]);
  check(context.exportToGPU(t) === buffer, 'lent again');
  // What is lent stays when its tensor goes.
  t.destroy();
  equal(await read(device, buffer), [5, 6, 7, 8]);
  buffer.destroy();
  await fails(() => context.exportToGPU(t), 'InvalidStateError');
  const lent = context.exportToGPU(out);
  context.destroy();
  equal(await read(device, lent), [6, 7, 8, 9]);
});

onGpu('what cannot be exported', async (context, device) => {
  await fails(async () => context.exportToGPU(await context.createTensor(float32(1))), 'TypeError');
  await fails(() => context.createExportableTensor(float32(1), {}), 'TypeError', /gpuDevice/);
  const other = await newDevice();
  await fails(() => context.createExportableTensor(float32(1), other), 'NotSupportedError');
  const onCpu = await navigator.ml.createContext();
  await fails(() => onCpu.createExportableTensor(float32(1), device), 'NotSupportedError');
  other.destroy();
});

onGpu('no memory for a tensor', async (context, device) => {
  const {maxTensorByteLength} = context.opSupportLimits();
  await fails(() => context.createTensor(float32(Math.ceil((maxTensorByteLength + 1) / 4))), 'TypeError');
  // As the browser tells that a buffer has none, and no later.
  device.popErrorScope = () => {
    delete device.popErrorScope;
    const popped = device.popErrorScope();
    return {then: (f, fail) => popped.then(() => f(new GPUOutOfMemoryError('no memory at all')), fail)};
  };
  await fails(() => context.createTensor(float32(1 << 20)), 'UnknownError', /no memory at all/);
  check(await context.createTensor(float32(4)) instanceof MLTensor, 'the context goes on');
  await computes(context);
});

onGpu('a lost device', async (context, device) => {
  const b = new MLGraphBuilder(context);
  const t = await context.createTensor({...float32(4), readable: true});
  const graph = await b.build({y: b.relu(b.input('x', float32(4)))});
  device.destroy();
  const {message} = await context.lost;
  check(typeof message === 'string' && message.length > 0, 'a message');
  await fails(() => context.readTensor(t), 'InvalidStateError');
  await fails(() => context.createTensor(float32(4)), 'InvalidStateError');
  await fails(() => context.dispatch(graph, {x: t}, {y: t}), 'InvalidStateError');
  await fails(() => new MLGraphBuilder(context), 'InvalidStateError');
});

onGpu('contexts of one device share it', async (context, device) => {
  const other = await navigator.ml.createContext(device);
  check(other !== context, 'another context');
  context.destroy();
  const t = await other.createTensor({...float32(2), readable: true});
  equal([...new Float32Array(await other.readTensor(t))], [0, 0]);
});

hasGpu && test('contexts on the device that install() names (gpu)', async () => {
  const device = await newDevice();
  try {
    // By the adapter's number, by a GPUDevice of the page's.
    for (const named of ['0', device]) {
      await weft.install({force: true, device: named});
      const contexts = [await navigator.ml.createContext({accelerated: false}), await navigator.ml.createContext()];
      equal(contexts.map(({accelerated}) => accelerated), [true, true]);
      for (const context of contexts) await computes(context);
    }
    await weft.install({force: true, device: 'no such device'});
    await fails(() => navigator.ml.createContext(), 'NotSupportedError', /no such device/);
    await weft.install({force: true});
    const cpu = await navigator.ml.createContext({accelerated: false});
    equal(cpu.accelerated, false);
    await computes(cpu);
    await computes(await navigator.ml.createContext({powerPreference: 'high-performance', accelerated: false}));
  } finally {
    await weft.install({force: true, device: 'cpu'});
    device.destroy();
  }
});

hasGpu && test("a GPU of Weft's own that is lost is opened anew (gpu)", async () => {
  const {wasm} = await import('../package/core.js');
  await weft.install({force: true, device: '0'});
  try {
    const contexts = [await navigator.ml.createContext(), await navigator.ml.createContext()];
    const reading = contexts[0].readTensor(await contexts[0].createTensor({...float32(4), readable: true}));
    for (const object of wasm.gpu.objects) if (object instanceof GPUDevice) object.destroy();
    for (const context of contexts) check((await context.lost).message.length > 0, 'a message');
    await fails(() => reading, 'InvalidStateError');
    await fails(() => contexts[1].createTensor(float32(4)), 'InvalidStateError');
    const context = await navigator.ml.createContext();
    equal(context.accelerated, true);
    await computes(context);
  } finally {
    await weft.install({force: true, device: 'cpu'});
  }
});

test('navigator.ml in a worker', async () => {
  if (!globalThis.Worker || !globalThis.document) return;
  const worker = new Worker(new URL('ml_worker.mjs', import.meta.url), {type: 'module'});
  const answer = await new Promise((resolve, reject) => {
    worker.onmessage = ({data}) => resolve(data);
    worker.onerror = (e) => reject(new Error(e.message));
  });
  worker.terminate();
  equal(answer, {ml: '[object ML]', values: [1, 0, 3]});
});
