// Writes the package's types: types.d.ts with the methods and functions of the library's operations, and ml_types.d.ts
// with those of WebNN.
//
//   node make_types.mjs PACKAGE types.d.ts > index.d.ts
//   node make_types.mjs PACKAGE ml_types.d.ts > ml.d.ts
import {readFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

const [, , directory, types] = process.argv;
const {callJson, ready} = await import(pathToFileURL(resolve(join(directory, 'core.js'))));
const {Tensor, open} = await import(pathToFileURL(resolve(join(directory, 'index.js'))));
const own = new Set(Object.getOwnPropertyNames(Tensor.prototype));
await ready();
await open({device: 'cpu'});

const camel = (name) => name.replace(/_([a-z0-9])/g, (_, c) => c.toUpperCase());
const safe = (name) => (/^(from|in|new|default|function|var|with)$/.test(name) ? name + '_' : name);

const union = (names) => names.map((name) => `'${name}'`).join(' | ');
// The types of attributes by their kinds; those that are left out are null or undefined.
const INTEGER = 'number | bigint';
const ATTRIBUTES = {
  boolean: 'boolean', dtype: 'DType', indices: 'readonly unknown[]', integer: INTEGER, number: INTEGER, text: 'string',
  integers: `${INTEGER} | readonly (${INTEGER})[]`, numbers: `${INTEGER} | readonly (${INTEGER})[]`,
};
const DATA_TYPES = ['dtype', 'type', 'values', 'scales'];  // texts that name one
const attributeType = ({name, kind, choices}) => {
  const isDataType = kind === 'text' && !choices && DATA_TYPES.includes(name);
  const type = isDataType ? 'DType' : choices ? union(choices) : ATTRIBUTES[kind];
  if (!type) throw new Error(`there is no type for attributes of the kind ${kind}`);
  return `${type} | null`;
};

// The forms of an operation: with its attributes in their order, and with an object of them.
function forms({inputs, outputs, attributes}, asMethod) {
  const taken = inputs.slice(asMethod ? 1 : 0), last = taken.findLastIndex(([, arity]) => arity !== 'optional');
  const operands = taken.map(([name, arity], i) => {
    const named = safe(camel(name));
    if (arity === 'repeated') return `${named}: readonly Tensor[]`;
    if (arity === 'one') return `${named}: Operand`;
    // TypeScript wants what may be left out behind what may not.
    return i < last ? `${named}: Operand | null` : `${named}?: Operand | null`;
  });
  const result = outputs === 1 ? 'Tensor' : 'Tensor[]';
  const listed = attributes.map((a) => `${safe(camel(a.name))}?: ${attributeType(a)}`);
  const all = [[...operands, ...listed]];
  if (listed.length) {
    const object = `attributes?: {${attributes.map((a) => `${camel(a.name)}?: ${attributeType(a)}`).join('; ')}}`;
    all.push([...operands, object]);
    // Optional operands may be left out before it.
    const required = operands.filter((o) => !o.includes('?:'));
    if (required.length < operands.length) all.push([...required, object]);
  }
  return all.map((list) => `(${list.join(', ')}): ${result}`);
}

const methods = [], functions = [];
for (const op of callJson('ops')) {
  const name = camel(op.name);
  if (name.includes('.')) continue;
  functions.push(...forms(op, false).map((form) => `${name}${form};`));
  const repeated = op.inputs.at(-1)?.[1] === 'repeated';
  if (op.inputs.length && !repeated && !own.has(name)) methods.push(...forms(op, true).map((form) => `${name}${form};`));
}

// ---- WebNN
const {install, MLGraphBuilder} = await import(pathToFileURL(resolve(join(directory, 'ml.js'))));
await install({device: 'cpu', force: true});
const limits = (await navigator.ml.createContext()).opSupportLimits();
const ops = callJson('ml_ops');

const kinds = {
  operand: () => 'MLOperand', operands: () => 'Iterable<MLOperand>', boolean: () => 'boolean', size: () => 'number',
  integer: () => 'number', sizes: () => 'Iterable<number>', splits: () => 'number | Iterable<number>',
  number: () => 'MLNumber', real: () => 'number', reals: () => 'Iterable<number>', choice: union,
  choices: (choices) => `Iterable<${union(choices)}>`, data_type: () => 'MLOperandDataType',
};
const typed = ({name, kind, choices}, mark = '') => `${name}${mark}: ${kinds[kind](choices)}`;
const webnn = ops.map(({name, list, arguments: all}) => {
  const required = all.slice(0, MLGraphBuilder.prototype[name].length), options = all.slice(required.length);
  const members = options.length ? ` & {${options.map((o) => typed(o, '?')).join('; ')}}` : '';
  const listed = [...required.map((a) => typed(a)), `options?: MLOperatorOptions${members}`];
  return `${name}(${listed.join(', ')}): MLOperand${list ? '[]' : ''};`;
});
const operandLimits = ops.map(({name}) => `${name}: Record<${union(Object.keys(limits[name]))}, MLTensorLimits>;`);

const lines = {METHODS: methods, FUNCTIONS: functions, OPERATIONS: webnn, LIMITS: operandLimits,
               DATA_TYPES: [union(limits.input.dataTypes)]};
process.stdout.write(readFileSync(types, 'utf8').replace(/\/\*([A-Z_]+)\*\//g, (_, name) => lines[name].join('\n  ')));
