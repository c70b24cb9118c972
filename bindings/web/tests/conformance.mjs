// Conformance data (docs/conformance.md) through navigator.ml:
//
//   node conformance.mjs node|chromium DIR [--device cpu|gpu] [--filter TEXT]
//
// on the cpu and on WebGPU unless one of them is named. A data case on WebGPU has failed if no kernel ran there for it.

import {install} from '../package/ml.js';

// ---- Numbers that JSON lacks
const SPECIAL = {'NaN': NaN, 'Infinity': Infinity, '-Infinity': -Infinity, '-0': -0};
const parse = (text) => JSON.parse(text, (_, value, {source} = {}) =>
    typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ?
    BigInt(source) : value);
const numberOf = (value) =>
    value?.special !== undefined ? SPECIAL[value.special] :
    value?.bigint !== undefined ? BigInt(value.bigint) :
    typeof value === 'string' ? BigInt(value) : value;

// ---- Elements
const ARRAYS = {
  float32: Float32Array, float16: globalThis.Float16Array, int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array,
  uint64: BigUint64Array, int8: Int8Array, uint8: Uint8Array,
};
const BITS = {float32: Uint32Array, float16: Uint16Array};
const isPacked = (type) => type === 'int4' || type === 'uint4';

// As an element of the array, of which integers keep the low bits.
const fitting = (Kind, value) => {
  const number = numberOf(value);
  if (/^Big/.test(Kind.name)) return typeof number === 'bigint' ? number : BigInt(Math.trunc(number));
  if (typeof number !== 'bigint') return number;
  return /^Float/.test(Kind.name) ? Number(number) : Number(BigInt.asIntN(32, number));
};
const filled = (array, data) => {
  if (!Array.isArray(data)) return array.fill(fitting(array.constructor, data));
  if (data.length !== array.length) throw new Error(`there are ${data.length} elements, expected ${array.length}`);
  data.forEach((value, i) => array[i] = fitting(array.constructor, value));
  return array;
};
const count = (shape) => shape.reduce((a, b) => a * b, 1);

function elementsOf(data, {dataType, shape}) {
  if (!isPacked(dataType)) return filled(new ARRAYS[dataType](count(shape)), data);
  const nibbles = filled(new Uint8Array(count(shape)), data);
  const bytes = new Uint8Array(Math.ceil(nibbles.length / 2));
  nibbles.forEach((value, i) => bytes[i >> 1] |= (value & 15) << (4 * (i & 1)));
  return bytes;
}
function unpacked(bytes, dataType, size) {
  return Array.from({length: size}, (_, i) => {
    const value = bytes[i >> 1] >> (4 * (i & 1)) & 15;
    return dataType === 'int4' && value > 7 ? value - 16 : value;
  });
}

// ---- Comparing
// The bits of a floating number as an integer that is in the order of the values.
function ordered(value, type) {
  const bits = new BITS[type](ARRAYS[type].of(value).buffer)[0], sign = type === 'float16' ? 0x8000 : 0x80000000;
  return bits >= sign ? sign - bits : bits;
}

// What the first element is that is too far from the expected one.
function mismatch(got, type, expected, tolerance = {metricType: 'ULP', value: 0}, ofFill = 1000) {
  const list = Array.isArray(expected);
  if (list && expected.length !== got.length) return `there are ${got.length} elements, expected ${expected.length}`;
  const allowed = (value) => {
    const most = Number(numberOf(tolerance.value));
    return tolerance.metricType === 'RELATIVE' ? most * Math.abs(Number(value)) : most;
  };
  for (let i = 0; i < (list ? got.length : Math.min(got.length, ofFill)); ++i) {
    const wanted = numberOf(list ? expected[i] : expected), a = got[i];
    let distance, b = wanted;
    if (/^float/.test(type)) {
      b = ARRAYS[type].of(Number(wanted))[0];
      if (a === b || (a !== a && b !== b)) continue;
      distance = a !== a || b !== b          ? Infinity :
          tolerance.metricType === 'ULP' ? Math.abs(ordered(a, type) - ordered(b, type)) : Math.abs(a - b);
    } else {
      distance = Math.abs(Number(BigInt(a) - BigInt(wanted)));
    }
    if (!(distance <= allowed(b)) || distance === Infinity) {
      return `element ${i} is ${a}, expected ${b}: ${distance} apart, ${allowed(b)} allowed`;
    }
  }
}

// ---- Data cases
class DataCase {
  // `counts`: of the device's dispatches; none on the cpu.
  constructor(context, {graph, tolerance}, counts) {
    Object.assign(this, {context, graph, tolerance, counts, operands: new Map()});
  }

  // An argument, or a member of the options, in which operands are by their names; null is an absent one.
  value(given) {
    if (given === null) return undefined;
    if (typeof given === 'string') return this.operands.get(given) ?? given;
    if (Array.isArray(given)) return given.map((v) => this.value(v));
    if (typeof given !== 'object') return given;
    if ('special' in given || 'bigint' in given) return numberOf(given);
    return withNewNames(Object.fromEntries(Object.entries(given).map(([key, v]) => [key, this.value(v)])));
  }

  async run() {
    const {context, graph} = this;
    const builder = new MLGraphBuilder(context), inputs = {}, outputs = {}, named = {};
    for (const [name, {data, descriptor, constant}] of Object.entries(graph.inputs)) {
      const elements = elementsOf(data, descriptor);
      if (constant) {
        this.operands.set(name, builder.constant(descriptor, elements));
      } else {
        this.operands.set(name, builder.input(name, descriptor));
        inputs[name] = await context.createTensor({...descriptor, writable: true});
        context.writeTensor(inputs[name], elements);
      }
    }
    for (const {name, arguments: given, outputs: names} of graph.operators) {
      const results = builder[name](...given.flatMap((one) => Object.values(one ?? {})).map((v) => this.value(v)));
      [names].flat().forEach((output, i) => this.operands.set(output, Array.isArray(results) ? results[i] : results));
    }
    for (const name of Object.keys(graph.expectedOutputs)) named[name] = this.operands.get(name);
    const built = await builder.build(named);
    for (const [name, {dataType, shape}] of Object.entries(named)) {
      outputs[name] = await context.createTensor({dataType, shape, readable: true});
    }
    const before = this.counts?.dispatches;
    context.dispatch(built, inputs, outputs);
    if (this.counts && this.counts.dispatches === before) throw new Error('no kernel ran on the device for this graph');
    for (const [name, {data, descriptor: {dataType, shape}}] of Object.entries(graph.expectedOutputs)) {
      const output = outputs[name], bytes = await context.readTensor(output);
      const got = `${output.dataType} [${output.shape}]`, wanted = `${dataType} [${shape}]`;
      if (got !== wanted) throw new Error(`${name} is ${got}, expected ${wanted}`);
      const elements = isPacked(dataType) ? unpacked(new Uint8Array(bytes), dataType, count(shape)) :
                                            new ARRAYS[dataType](bytes);
      const wrong = mismatch(elements, dataType, data, this.tolerance);
      if (wrong) throw new Error(`${name}: ${wrong}`);
    }
    for (const object of [built, ...Object.values(inputs), ...Object.values(outputs)]) object.destroy();
  }
}

// Older data's roundingType.
function withNewNames({roundingType, ...options}, unknown = []) {
  if (roundingType === undefined || unknown.includes('roundingType')) return options;
  return {outputShapeRounding: roundingType, ...options};
}

// ---- Programs
const PROMISES = ['createContext', 'createTensor', 'createConstantTensor', 'readTensor', 'build'];
const settled = (promise) => promise.then((value) => ({value}), (error) => ({error}));

class Program {
  constructor(limit) {
    this.limit = limit;
    this.results = new Map();
  }

  async result(id) {
    const result = this.results.get(id);
    if (result.pending) Object.assign(result, await result.pending, {pending: undefined});
    return result;
  }
  async object(id) {
    const {value, target, error} = await this.result(id);
    if (error) throw new Error(`uses ${id}, which failed: ${error}`);
    return target ?? value;
  }

  buffer({buffer: kind, byteLength, data, fill, shared, detached}) {
    const Buffer = shared || kind === 'SharedArrayBuffer' ? SharedArrayBuffer : ArrayBuffer;
    const bytes = new Buffer(byteLength), View = globalThis[kind];
    const elements = View.BYTES_PER_ELEMENT ? new View(bytes) : new Uint8Array(bytes);
    if (data ?? fill !== undefined) filled(elements, data ?? fill);
    if (detached) structuredClone(bytes, {transfer: [bytes]});
    return View.BYTES_PER_ELEMENT ? elements : kind === 'DataView' ? new DataView(bytes) : bytes;
  }
  async argument(given) {
    if (given === null || given === undefined) return undefined;
    if (Array.isArray(given)) return Promise.all(given.map((v) => this.argument(v)));
    if (typeof given !== 'object') return given;
    if ('ref' in given) return this.object(given.ref);
    if ('undefined' in given) return undefined;
    if ('special' in given || 'bigint' in given) return numberOf(given);
    if ('limit' in given) return (this.limit + (given.add ?? 0)) / (given.divide ?? 1);
    if ('buffer' in given) return this.buffer(given);
    const members = Object.entries(given).map(async ([key, v]) => [key, await this.argument(v)]);
    return Object.fromEntries(await Promise.all(members));
  }

  async step(step) {
    if (step.do === 'await') return this.check(await this.result(step.of), step);
    if (step.do === 'awaitLost') return this.awaitLost(step);
    if (step.do === 'expect') return this.expect(step);
    const args = await Promise.all((step.args ?? []).map((v) => this.argument(v)));
    const last = step.args?.at(-1);
    if (last && typeof last === 'object' && 'roundingType' in last) {
      args.push(withNewNames(args.pop(), step.unknownMembers));
    }
    const on = step.on && await this.object(step.on);
    const result = {};
    try {
      const value = step.do === 'createContext' ? navigator.ml.createContext(...args) :
                    step.do === 'createBuilder' ? new MLGraphBuilder(...args) :
                                                  on[step.do](...args);
      if (PROMISES.includes(step.do)) {
        if (!(value instanceof Promise)) throw new Error(`${step.do} gave no promise`);
        result.pending = settled(value);
      } else {
        result.value = value;
      }
    } catch (error) {
      if (PROMISES.includes(step.do)) throw new Error(`${step.do} threw ${error}, expected a promise`);
      result.error = error;
    }
    if (step.do === 'readTensor') result.type = args[0].dataType;
    if (step.do === 'readTensor' && args.length > 1) {
      result.target = args[1];
      result.original = bytesOf(args[1]).slice();
    }
    const ids = [step.out].flat();
    if (step.expect || !result.pending) {
      if (result.pending) Object.assign(result, await result.pending, {pending: undefined});
      this.check(result, step);
    }
    if (Array.isArray(step.out)) {
      if (!result.error && result.value.length !== ids.length) {
        throw new Error(`gave ${result.value.length} results, expected ${ids.length}`);
      }
      ids.forEach((id, i) => this.results.set(id, {...result, value: result.value?.[i]}));
    } else if (step.out) {
      this.results.set(step.out, result);
    }
  }

  check({error}, {expect = 'ok', labelInMessage}) {
    if (!error) {
      if (expect !== 'ok') throw new Error(`succeeded, expected ${expect}`);
      return;
    }
    if (error.name !== expect) throw new Error(`${error.name}: ${error.message}; expected ${expect}`);
    if ((error.name === 'TypeError') !== (error instanceof TypeError) ||
        (error.name !== 'TypeError' && !(error instanceof DOMException))) {
      throw new Error(`the ${error.name} is a ${error.constructor.name}`);
    }
    if (labelInMessage && !new RegExp(labelInMessage).test(error.message)) {
      throw new Error(`the message is '${error.message}', which does not match '${labelInMessage}'`);
    }
  }

  async awaitLost(step) {
    const context = await this.object(step.on);
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error('the context is not lost')), 1e4));
    const info = await Promise.race([context.lost, late]);
    if (typeof info.message !== 'string') throw new Error(`lost gives ${info.message}, expected a message`);
  }

  async expect(step) {
    if (step.what === 'shape' || step.what === 'dataType') {
      const got = (await this.object(step.of))[step.what];
      if (JSON.stringify(got) !== JSON.stringify(step.equals)) {
        throw new Error(`the ${step.what} is ${got}, expected ${step.equals}`);
      }
    } else if (step.what === 'data') {
      const buffer = await this.object(step.of);
      this.expectData(step, buffer, this.results.get(step.of).type);
    } else if (step.what === 'untouched') {
      const {target, original} = await this.result(step.of);
      if (step.equals !== undefined || step.fill !== undefined) return this.expectData(step, target);
      if (bytesOf(target).some((byte, i) => byte !== original[i])) throw new Error('the buffer was written to');
    } else {
      throw new Error(`there is no expectation '${step.what}'`);
    }
  }

  // `read`: the type of the tensor of which it is a copy.
  expectData(step, buffer, read) {
    const Kind = step.as ? globalThis[step.as] :
        ArrayBuffer.isView(buffer) ? buffer.constructor : ARRAYS[read] ?? Uint8Array;
    const size = step.equals === undefined ? step.count : Array.isArray(step.equals) ? step.equals.length : 1;
    const bytes = bytesOf(buffer).slice(step.byteOffset ?? (step.index ?? 0) * Kind.BYTES_PER_ELEMENT);
    const got = new Kind(bytes.buffer, 0, Math.min(size, Math.floor(bytes.length / Kind.BYTES_PER_ELEMENT)));
    if (got.length < size) throw new Error(`there are ${got.length} elements, expected ${size}`);
    const type = Object.entries(ARRAYS).find(([, Array_]) => Array_ === Kind)?.[0] ?? 'integer';
    const wrong = mismatch(got, type, step.equals ?? step.fill, undefined, size);
    if (wrong) throw new Error(wrong);
  }
}

const bytesOf = (buffer) => new Uint8Array(new Uint8Array(
    ArrayBuffer.isView(buffer) ? buffer.buffer : buffer, buffer.byteOffset ?? 0, buffer.byteLength));

async function runProgram(steps, limit) {
  const program = new Program(limit);
  for (const [i, step] of steps.entries()) {
    try {
      await program.step(step);
    } catch (error) {
      throw new Error(`step ${i + 1}, ${step.do}: ${error.message}`);
    }
  }
}

// ---- Running

// A GPUDevice of all that the adapter has, which counts its dispatches.
async function countingDevice() {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) throw new Error('there is no WebGPU here');
  const requiredLimits = {};
  for (const name in adapter.limits) requiredLimits[name] = adapter.limits[name];
  const wanted = ['shader-f16', 'subgroups', 'core-features-and-limits'];
  const device = await adapter.requestDevice(
      {requiredLimits, requiredFeatures: wanted.filter((feature) => adapter.features.has(feature))});
  const wrap = (object, name, f) => {
    const own = object[name].bind(object);
    Object.defineProperty(object, name, {value: (...args) => f(own(...args))});
    return object;
  };
  const counts = {dispatches: 0};
  wrap(device, 'createCommandEncoder', (encoder) =>
      wrap(encoder, 'beginComputePass', (pass) =>
          wrap(pass, 'dispatchWorkgroups', () => void ++counts.dispatches)));
  return {device, counts, name: adapter.info?.description || adapter.info?.device || 'WebGPU'};
}

export default async function check({print, files, read, devices, filter}) {
  let failed = 0, passed = 0;
  for (const place of devices) {
    const gpu = place === 'gpu' ? await countingDevice() : undefined;
    print(`on ${gpu?.name ?? 'the cpu'}`);
    await install({force: true, device: gpu?.device ?? 'cpu', constantFolding: false});
    const context = await navigator.ml.createContext();
    const {maxTensorByteLength} = context.opSupportLimits();
    const counts = {data: [0, 0], programs: [0, 0]};
    for (const file of files) {
      const start = performance.now(), inFile = [0, 0];
      for (const test of parse(await read(file))) {
        const name = test.name + (test.variant ? ` [${test.variant}]` : '');
        if (!name.includes(filter)) continue;
        let failure;
        try {
          if (test.graph) {
            await new DataCase(context, test, gpu?.counts).run();
          } else {
            await runProgram(test.steps, maxTensorByteLength);
          }
        } catch (error) {
          failure = error;
        }
        ++inFile[failure ? 1 : 0];
        ++counts[test.graph ? 'data' : 'programs'][failure ? 1 : 0];
        if (failure) print(`  ${name}\n    ${String(failure.message ?? failure).slice(0, 500)}`);
      }
      if (inFile[0] + inFile[1]) {
        print(`${file}: ${inFile[0]} passed, ${inFile[1]} failed, ${((performance.now() - start) / 1000).toFixed(1)} s`);
      }
    }
    for (const [kind, [good, bad]] of Object.entries(counts)) {
      print(`${gpu?.name ?? 'cpu'}: ${kind}: ${good} passed, ${bad} failed`);
      passed += good;
      failed += bad;
    }
  }
  print(`${passed} passed, ${failed} failed`);
  return failed || !passed ? 1 : 0;
}

if (globalThis.process?.argv?.[1] && import.meta.url.endsWith(encodeURI(process.argv[1].split('/').at(-1)))) {
  const [{readdirSync}, {join}, {runModule}] =
      await Promise.all([import('node:fs'), import('node:path'), import('./place.mjs')]);
  const [, , place, folder, ...rest] = process.argv;
  const option = (name) => rest.includes(name) ? rest[rest.indexOf(name) + 1] : undefined;
  const names = readdirSync(folder, {recursive: true}).filter((name) => name.endsWith('.json')).sort();
  runModule(import.meta.url, place, {
    files: Object.fromEntries(names.map((name) => [name, join(folder, name)])),
    devices: option('--device') ? [option('--device')] : ['cpu', 'gpu'],
    filter: option('--filter') ?? '',
  });
}
