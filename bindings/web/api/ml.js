// navigator.ml, the W3C's Web Neural Network API, on Weft: for pages whose browser has none.
//
//   import {install} from 'weft/ml';
//   await install();
//   const context = await navigator.ml.createContext();
//
// What WebIDL says of values, calls and interfaces is here; the specification's own steps are in C++. Operations and
// their arguments come from there, too.
import {
  Handle, WeftError, adopt, arrayName, call, callJson, callLater, isArrayBuffer, isGpuDevice, isShared, letPageWork,
  optionsOf, ready, wasm,
} from './core.js';

const held = (release) => class extends Handle {
  static release = release;
};
const HeldDevice = held('release_device'), HeldContext = held('ml_release_context');
const HeldTensor = held('ml_release_tensor'), HeldGraph = held('ml_release_graph');
const HeldBuilder = held('ml_release_builder'), HeldOperand = held('ml_release_operand');

// ---- Errors
const EXCEPTIONS = ['InvalidStateError', 'NotSupportedError', 'OperationError', 'UnknownError'];

// The specification's exception for an error of the library.
function exception(error, otherwise = 'UnknownError') {
  if (!(error instanceof WeftError)) return error;
  if (error.name === 'TypeError') return new TypeError(error.message);
  const name = error.name === 'DeviceLost' ? 'InvalidStateError' : error.name;
  return new DOMException(error.message, EXCEPTIONS.includes(name) ? name : otherwise);
}

// What f returns, with the specification's exceptions.
function checked(f) {
  try {
    return f();
  } catch (error) {
    throw exception(error);
  }
}

// A method that gives a promise does not throw.
function promised(f) {
  try {
    return Promise.resolve(f()).catch((error) => {
      throw exception(error);
    });
  } catch (error) {
    return Promise.reject(exception(error));
  }
}

// ---- WebIDL's conversions: of a value, called `what` in messages.
const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';

function refuse(value, what, expected) {
  const shown = typeof value === 'string' ? `'${value}'` :
                typeof value === 'symbol' ? 'a symbol' :
                typeof value === 'function' ? 'a function' :
                isObject(value) ? 'an object' : String(value);
  throw new TypeError(`${what} is ${shown}, expected ${expected}`);
}

const boolean = (value) => !!value;
const usvString = (value) => `${value}`.toWellFormed();

// [EnforceRange]
const integer = (least, most) => (value, what) => {
  const number = Math.trunc(+value);
  if (!(number >= least && number <= most)) refuse(value, what, `an integer from ${least} to ${most}`);
  return number + 0;  // -0 is 0
};
const unsignedLong = integer(0, 2 ** 32 - 1);
const long = integer(-(2 ** 31), 2 ** 31 - 1);

// As functions.h has it.
const written = (number) => Number.isFinite(number) && !Object.is(number, -0) ? number :
                            {number: Object.is(number, -0) ? '-0' : String(number)};
const double = (value, what) => {
  const number = +value;
  if (!Number.isFinite(number)) refuse(number, what, 'a finite number');
  return written(number);
};
const float = (value, what) => {
  const number = Math.fround(+value);
  if (!Number.isFinite(number)) refuse(number, what, 'a finite float');
  return number;
};
// MLNumber: a bigint, or any number. Bigints of more than 64 bits saturate, or are infinite, as the number does.
const mlNumber = (value) => {
  const number = value++;  // ToNumeric
  if (typeof number !== 'bigint') return written(number);
  const fits = BigInt.asIntN(64, number) === number || BigInt.asUintN(64, number) === number;
  return fits ? {number: String(number)} : written(Number(number));
};

const enumeration = (choices) => (value, what) => {
  const name = `${value}`;
  if (!choices.includes(name)) refuse(name, what, choices.join(', '));
  return name;
};

const sequence = (convert) => (value, what) => {
  const method = isObject(value) ? value[Symbol.iterator] : undefined;
  if (typeof method !== 'function') refuse(value, what, 'a sequence');
  const iterator = method.call(value), {next} = iterator, list = [];
  for (let step; !(step = next.call(iterator)).done;) list.push(convert(step.value, `${what}[${list.length}]`));
  return list;
};

// A list of [name, value].
const record = (convert) => (value, what) => {
  if (!isObject(value)) refuse(value, what, 'an object');
  const map = new Map();
  for (const key of Reflect.ownKeys(value)) {
    if (!Object.getOwnPropertyDescriptor(value, key)?.enumerable) continue;
    const name = usvString(key);
    map.set(name, convert(value[key], `${what}: '${name}'`));
  }
  return [...map];
};

// Of dictionaries that inherit from each other, the first one first; members are {name: {convert, required, otherwise}}.
const dictionary = (...parts) => {
  const members = parts.flatMap((part) => Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  return (value, what) => {
    if (value !== undefined && value !== null && !isObject(value)) refuse(value, what, 'an object');
    const result = {};
    for (const [name, {convert, required, otherwise}] of members) {
      const member = value?.[name];
      if (member !== undefined) result[name] = convert(member, `${what}.${name}`);
      else if (required) throw new TypeError(`${what} has no ${name}`);
      else if (otherwise !== undefined) result[name] = otherwise;
    }
    return result;
  };
};

// An object of an interface, as its slots.
const interface_ = (Interface) => (value, what) => {
  const found = slots.get(value);
  if (found?.Interface !== Interface) refuse(value, what, `an ${Interface.name}`);
  return found;
};

// The types of typed arrays' elements; those of bytes are good for every data type.
const ELEMENTS = {
  Float32Array: 'float32', Float16Array: 'float16', Uint16Array: 'uint16', Int32Array: 'int32', Uint32Array: 'uint32',
  BigInt64Array: 'int64', BigUint64Array: 'uint64', Int8Array: 'int8', Uint8Array: '',
};

// AllowSharedBufferSource, as its bytes, and the type of its elements.
function bufferSource(value, what) {
  const isView = ArrayBuffer.isView(value);
  if (!isView && !isArrayBuffer(value) && !isShared(value)) refuse(value, what, 'an ArrayBuffer or a view of one');
  const buffer = isView ? value.buffer : value;
  if (buffer.resizable || buffer.growable) throw new TypeError(`${what} can be resized, expected a buffer of one size`);
  const type = isView ? ELEMENTS[arrayName(value)] : '';
  if (type === undefined) {
    throw new TypeError(`${what} is a ${arrayName(value) ?? 'DataView'}, expected an ArrayBuffer, bytes, or ` +
                        'elements of an MLOperandDataType');
  }
  // Detached buffers are empty.
  const bytes = isView ? value.byteLength : buffer.byteLength;
  return {type, bytes: bytes ? new Uint8Array(buffer, isView ? value.byteOffset : 0, bytes) : new Uint8Array()};
}

const needs = (given, count, what) => {
  if (given < count) {
    throw new TypeError(`${what}: ${given} argument${given === 1 ? ' is' : 's are'} given, expected ${count}`);
  }
};

// int4 and uint4 are Weft's own.
const DATA_TYPES =
    ['float32', 'float16', 'int32', 'uint32', 'int64', 'uint64', 'int8', 'uint8', 'int4', 'uint4'];
const dataType = enumeration(DATA_TYPES);
const descriptorMembers = {
  dataType: {convert: dataType, required: true},
  shape: {convert: sequence(unsignedLong), required: true},
};
const operandDescriptor = dictionary(descriptorMembers);
const tensorDescriptor = dictionary(descriptorMembers, {
  readable: {convert: boolean, otherwise: false},
  writable: {convert: boolean, otherwise: false},
});
const contextOptions = dictionary({
  accelerated: {convert: boolean, otherwise: true},
  powerPreference: {
    convert: enumeration(['default', 'high-performance', 'low-power']),
    otherwise: 'default',
  },
});

// ---- Interfaces. What the specification calls an object's internal slots is kept apart from it.
const slots = new WeakMap();

function made(Interface, own) {
  const object = Object.create(Interface.prototype);
  slots.set(object, {Interface, ...own});
  return object;
}

// The slots of a method's object.
function of(Interface, object, what) {
  const found = slots.get(object);
  if (found?.Interface !== Interface) throw new TypeError(`${Interface.name}.${what}: this is no ${Interface.name}`);
  return found;
}

const illegal = () => {
  throw new TypeError('Illegal constructor');
};

const json = JSON.stringify;

// Promises that fail at once when what they are about is gone.
class Pending {
  #aborts = new Set();
  abort(message) {
    for (const abort of [...this.#aborts]) abort(message);
  }
  // The promise, which fails when one of `all` is aborted. It settles in a task of its own, as the specification has it:
  // what the cpu computed at once may be aborted until then.
  static of(promise, ...all) {
    return new Promise((resolve, reject) => {
      const end = (settle) => async (value) => {
        await letPageWork();
        for (const pending of all) pending.#aborts.delete(abort);
        settle(value);
      };
      const abort = (message) => {
        for (const pending of all) pending.#aborts.delete(abort);
        reject(new DOMException(message, 'InvalidStateError'));
      };
      for (const pending of all) pending.#aborts.add(abort);
      promise.then(end(resolve), end(reject));
    });
  }
}

export class MLOperand {
  constructor() {
    illegal();
  }
  get dataType() {
    return of(MLOperand, this, 'dataType').dataType;
  }
  get shape() {
    return of(MLOperand, this, 'shape').shape;
  }
}

const operand = ({address, dataType, shape}) =>
    made(MLOperand, {handle: new HeldOperand(address), dataType, shape: Object.freeze(shape)});

export class MLTensor {
  constructor() {
    illegal();
  }
  get dataType() {
    return of(MLTensor, this, 'dataType').dataType;
  }
  get shape() {
    return of(MLTensor, this, 'shape').shape;
  }
  get readable() {
    return of(MLTensor, this, 'readable').readable;
  }
  get writable() {
    return of(MLTensor, this, 'writable').writable;
  }
  get constant() {
    return of(MLTensor, this, 'constant').constant;
  }
  destroy() {
    const tensor = of(MLTensor, this, 'destroy');
    checked(() => call('ml_destroy_tensor', tensor.handle.address));
    tensor.destroyed = true;
    tensor.pending.abort('read tensor: the tensor is destroyed');
  }
}

const tensor = ({address, dataType, shape, readable, writable, constant}) => made(MLTensor, {
  handle: new HeldTensor(address), dataType, shape: Object.freeze(shape), readable, writable, constant,
  destroyed: false, pending: new Pending(),
});

export class MLGraph {
  constructor() {
    illegal();
  }
  destroy() {
    const graph = of(MLGraph, this, 'destroy');
    checked(() => call('ml_destroy_graph', graph.handle.address));
  }
}

const namedTensors = record(interface_(MLTensor));
const namedAddresses = (list) => json(list.map(([name, {handle}]) => [name, handle.address]));

export class MLContext {
  constructor() {
    illegal();
  }
  dispatch(graph, inputs, outputs) {
    const context = of(MLContext, this, 'dispatch');
    needs(arguments.length, 3, 'dispatch');
    const {handle} = interface_(MLGraph)(graph, 'dispatch: graph');
    const from = namedTensors(inputs, 'dispatch: inputs'), to = namedTensors(outputs, 'dispatch: outputs');
    checked(() => void call('ml_dispatch', context.handle.address, handle.address, namedAddresses(from),
                            namedAddresses(to)));
  }
  createTensor(descriptor) {
    return promised(() => {
      const context = of(MLContext, this, 'createTensor');
      needs(arguments.length, 1, 'createTensor');
      return newTensor(context, tensorDescriptor(descriptor, 'createTensor: descriptor'), 0);
    });
  }
  createExportableTensor(descriptor, gpuDevice) {
    return promised(() => {
      const context = of(MLContext, this, 'createExportableTensor');
      needs(arguments.length, 2, 'createExportableTensor');
      const described = tensorDescriptor(descriptor, 'createExportableTensor: descriptor');
      if (!isGpuDevice(gpuDevice)) refuse(gpuDevice, 'createExportableTensor: gpuDevice', 'a GPUDevice');
      if (context.gpuDevice !== gpuDevice) {
        throw new DOMException(
            'create exportable tensor: the context is not of this GPUDevice, expected one of createContext(gpuDevice)',
            'NotSupportedError');
      }
      return newTensor(context, described, 1);
    });
  }
  createConstantTensor(descriptor, inputData) {
    return promised(() => {
      const context = of(MLContext, this, 'createConstantTensor');
      needs(arguments.length, 2, 'createConstantTensor');
      const described = operandDescriptor(descriptor, 'createConstantTensor: descriptor');
      const {type, bytes} = bufferSource(inputData, 'createConstantTensor: inputData');
      return tensor(callJson('ml_create_constant_tensor', context.handle.address, json(described), type, bytes));
    });
  }
  readTensor(tensor, ...rest) {
    return promised(() => {
      const context = of(MLContext, this, 'readTensor');
      needs(arguments.length, 1, 'readTensor');
      const read = interface_(MLTensor)(tensor, 'readTensor: tensor');
      const target = rest.length ? bufferSource(rest[0], 'readTensor: outputData') : undefined;
      const reading = callLater('ml_read', context.handle.address, read.handle.address,
                                target ? target.bytes.byteLength : -1);
      return Pending.of(reading, context.life.pending, read.pending).then((bytes) => {
        if (!target) return bytes;
        if (target.bytes.byteLength < bytes.byteLength) throw new TypeError('readTensor: outputData is detached');
        target.bytes.set(new Uint8Array(bytes));
      });
    });
  }
  writeTensor(tensor, inputData) {
    const context = of(MLContext, this, 'writeTensor');
    needs(arguments.length, 2, 'writeTensor');
    const {handle} = interface_(MLTensor)(tensor, 'writeTensor: tensor');
    const {bytes} = bufferSource(inputData, 'writeTensor: inputData');
    checked(() => void call('ml_write', context.handle.address, handle.address, bytes));
  }
  // Lends the tensor's own buffer to the page, until that calls the buffer's destroy().
  exportToGPU(tensor) {
    const context = of(MLContext, this, 'exportToGPU');
    needs(arguments.length, 1, 'exportToGPU');
    const lent = interface_(MLTensor)(tensor, 'exportToGPU: tensor');
    const buffer = checked(() => wasm.gpu.objects[call('ml_export', context.handle.address, lent.handle.address)]);
    Object.defineProperty(buffer, 'destroy', {
      value: function destroy() {
        delete buffer.destroy;
        if (lent.destroyed || context.life.lost) return buffer.destroy();
        checked(() => void call('ml_return', context.handle.address, lent.handle.address));
      },
      configurable: true,
      writable: true,
    });
    return buffer;
  }
  opSupportLimits() {
    const context = of(MLContext, this, 'opSupportLimits');
    return checked(() => callJson('ml_limits', context.handle.address));
  }
  destroy() {
    const context = of(MLContext, this, 'destroy');
    context.life.destroyed = true;
    checked(() => void call('ml_destroy_context', context.handle.address));
    context.life.pending.abort('the context is lost: destroy() was called on it');
  }
  get accelerated() {
    return of(MLContext, this, 'accelerated').accelerated;
  }
  get lost() {
    try {
      return of(MLContext, this, 'lost').lost;
    } catch (error) {
      return Promise.reject(error);
    }
  }
}

const newTensor = (context, descriptor, exportable) =>
    Pending.of(callLater('ml_create_tensor', context.handle.address, json(descriptor), exportable).then(tensor),
               context.life.pending);

const namedOperands = record(interface_(MLOperand));

export class MLGraphBuilder {
  constructor(context) {
    needs(arguments.length, 1, 'MLGraphBuilder');
    const {handle, life} = interface_(MLContext)(context, 'MLGraphBuilder: context');
    slots.set(this, {
      Interface: MLGraphBuilder,
      handle: new HeldBuilder(checked(() => call('ml_builder', handle.address))),
      life,
    });
  }
  input(name, descriptor) {
    const builder = of(MLGraphBuilder, this, 'input');
    needs(arguments.length, 2, 'input');
    const called = json(usvString(name)), described = json(operandDescriptor(descriptor, 'input: descriptor'));
    return checked(() => operand(callJson('ml_input', builder.handle.address, called, described)));
  }
  constant(first, ...rest) {
    const builder = of(MLGraphBuilder, this, 'constant');
    needs(arguments.length, 1, 'constant');
    const give = (name, ...given) =>
        checked(() => operand(callJson(name, builder.handle.address, ...given)));
    if (!rest.length) {
      return give('ml_constant_of', interface_(MLTensor)(first, 'constant: tensor').handle.address);
    }
    if (first === undefined || first === null || isObject(first)) {
      const described = operandDescriptor(first, 'constant: descriptor');
      const {type, bytes} = bufferSource(rest[0], 'constant: buffer');
      return give('ml_constant', json(described), type, bytes);
    }
    const type = dataType(first, 'constant: dataType');
    return give('ml_scalar', type, json(mlNumber(rest[0])));
  }
  build(outputs) {
    return promised(() => {
      const builder = of(MLGraphBuilder, this, 'build');
      needs(arguments.length, 1, 'build');
      const named = namedOperands(outputs, 'build: outputs');
      const building = callLater('ml_build', builder.handle.address, namedAddresses(named), settings.constantFolding ? 1 : 0)
          .then(({address}) => made(MLGraph, {handle: new HeldGraph(address)}));
      return Pending.of(building, builder.life.pending).catch((error) => {
        throw exception(error, 'OperationError');
      });
    });
  }
}

// ---- Operations, which are known when the module is loaded.
const CONVERSIONS = {
  operand: () => (value, what) => interface_(MLOperand)(value, what).handle.address,
  operands: () => sequence(CONVERSIONS.operand()),
  boolean: () => boolean,
  size: () => unsignedLong,
  integer: () => long,
  sizes: () => sequence(unsignedLong),
  splits: () => (value, what) =>
      (isObject(value) && value[Symbol.iterator] ? sequence(unsignedLong) : unsignedLong)(value, what),
  number: () => mlNumber,
  real: () => double,
  reals: () => sequence(float),
  choice: ({choices}) => enumeration(choices),
  choices: ({choices}) => sequence(enumeration(choices)),
  data_type: () => dataType,
};

function defineOperation({name, list, arguments: schemas}) {
  const converted = schemas.map((schema) => ({...schema, convert: CONVERSIONS[schema.kind](schema)}));
  // The specification's softmax has its axis behind the input; without one it is 1 here.
  const positional = ({required, name: argument}) => required || (name === 'softmax' && argument === 'axis');
  const required = converted.filter(positional), optional = converted.filter((a) => !positional(a));
  const options = dictionary(
      {label: {convert: usvString}},
      Object.fromEntries(optional.map(({name: option, convert}) => [option, {convert}])));
  const methods = {
    [name](...given) {
      const builder = of(MLGraphBuilder, this, name);
      needs(given.length, converted.filter((a) => a.required).length, name);
      const values = {};
      required.forEach((a, i) => {
        if (a.required || given[i] !== undefined) values[a.name] = a.convert(given[i], `${name}: ${a.name}`);
      });
      Object.assign(values, options(given[required.length], `${name}: options`));
      return checked(() => {
        const results = callJson('ml_op', builder.handle.address, name, json(values)).map(operand);
        return list ? results : results[0];
      });
    },
  };
  Object.defineProperty(methods[name], 'length', {value: required.length, configurable: true});
  Object.defineProperty(MLGraphBuilder.prototype, name,
                        {value: methods[name], writable: true, enumerable: true, configurable: true});
}

let defined = false;
async function load() {
  await ready(settings.wasm);
  if (!defined) callJson('ml_ops').forEach(defineOperation);
  defined = true;
}

// ---- ML
// What install() sets.
const settings = {device: undefined, constantFolding: true, wasm: undefined};

// Devices that were opened, by what they were asked for, and those of the page. Contexts share them.
const opened = new Map(), adopted = new WeakMap();

function open(name) {
  if (!opened.has(name)) {
    const opening = callLater('open', name).then(({address, gpu}) => ({handle: new HeldDevice(address), gpu}));
    opened.set(name, opening);
    opening.catch(() => opened.delete(name));
  }
  return opened.get(name);
}

function adoptOnce(gpuDevice) {
  if (adopted.get(gpuDevice)?.handle.disposed ?? true) {
    const handle = adopt(gpuDevice, ({address}) => new HeldDevice(address));
    adopted.set(gpuDevice, {handle, gpu: true, gpuDevice});
    gpuDevice.lost.then(() => adopted.delete(gpuDevice));
  }
  return adopted.get(gpuDevice);
}

function contextOn({handle: device, gpu, gpuDevice}, forget) {
  const handle = new HeldContext(call('ml_context', device.address));
  // Not the context itself, so that one that is forgotten is collected.
  const life = {pending: new Pending(), destroyed: false, lost: false};
  const lost = callLater('ml_lost', handle.address).catch(({message}) => ({message})).then((info) => {
    life.lost = true;
    if (!life.destroyed) forget?.();
    life.pending.abort(`the context is lost: ${info.message}`);
    return info;
  });
  return made(MLContext, {handle, life, lost, accelerated: gpu, gpuDevice, device});
}

export class ML {
  constructor() {
    illegal();
  }
  createContext(...given) {
    return promised(() => {
      of(ML, this, 'createContext');
      const page = given.length && isGpuDevice(given[0]) ? given[0] : undefined;
      const options = page ? undefined : contextOptions(given[0], 'createContext: options');
      const make = async () => {
        await load();
        const cpu = !page && options.powerPreference === 'default' && !options.accelerated;
        const name = page ?? settings.device ?? (cpu ? 'cpu' : '');
        if (typeof name !== 'string') return contextOn(adoptOnce(name));
        return contextOn(await open(name), () => opened.delete(name));
      };
      return make().catch((error) => {
        throw exception(error, 'NotSupportedError');
      });
    });
  }
}

// WebIDL's properties: those of interfaces are enumerable, and their prototypes say their names.
const INTERFACES = {ML, MLContext, MLGraph, MLGraphBuilder, MLOperand, MLTensor};
for (const [name, {prototype}] of Object.entries(INTERFACES)) {
  for (const key of Object.getOwnPropertyNames(prototype)) {
    if (key !== 'constructor') Object.defineProperty(prototype, key, {enumerable: true});
  }
  Object.defineProperty(prototype, Symbol.toStringTag, {value: name, configurable: true});
}

// The object that install() puts at navigator.ml.
export const ml = made(ML, {});

// Puts the interfaces where pages look for them, and gives navigator.ml when the operations are there, too. A browser's
// own navigator.ml stays, unless `force` is true. `device`: as of open() in index.js, that of contexts which are made from
// options, instead of what they ask for. `constantFolding`: whether what depends on
// constants alone is computed when a graph is built. `wasm`: where weft.wasm is, as in open().
export async function install(options) {
  const {force = false, device, constantFolding = true, wasm: file} =
      optionsOf(options, 'install', ['force', 'device', 'constantFolding', 'wasm']);
  if (device !== undefined && typeof device !== 'string' && !isGpuDevice(device)) {
    refuse(device, 'install: device', 'a name or a GPUDevice');
  }
  globalThis.navigator ??= {};
  if (navigator.ml && navigator.ml !== ml && !force) return navigator.ml;
  Object.assign(settings, {device, constantFolding, wasm: file});
  for (const [name, value] of Object.entries(INTERFACES)) {
    Object.defineProperty(globalThis, name, {value, writable: true, configurable: true});
  }
  const prototype = Object.getPrototypeOf(navigator);
  const target = prototype === Object.prototype ? navigator : prototype;
  const attribute = {
    get ml() {
      if (this !== undefined && this !== navigator) throw new TypeError('Navigator.ml: this is no Navigator');
      return ml;
    },
  };
  Object.defineProperty(target, 'ml', Object.getOwnPropertyDescriptor(attribute, 'ml'));
  await load();
  return ml;
}
