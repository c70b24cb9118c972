// Models of ONNX for tests, written as the format has them.

// Protocol Buffers' wire format: bytes of the fields of a message.
const varint = (value) => {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
};
export const joined = (parts) => {
  const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};
// Integers are varints; texts, bytes and messages have their length before them.
export function field(number, value) {
  if (typeof value === 'number' || typeof value === 'bigint') return joined([varint(number << 3), varint(value)]);
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value;
  return joined([varint((number << 3) | 2), varint(bytes.length), bytes]);
}
const message = (number, ...fields) => field(number, joined(fields.flat()));

export const TYPES = {f32: 1, u8: 2, i8: 3, i32: 6, i64: 7, bool: 9, f16: 10, f64: 11, u32: 12, bf16: 16};
const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

// A TensorProto; `external`: [location, offset, length], instead of values.
export const tensorProto = (name, type, dims, values, external) => joined([
  ...dims.map((d) => field(1, d)), field(2, TYPES[type]), field(8, name),
  ...(external ? [...['location', 'offset', 'length'].map((key, i) => message(13, field(1, key), field(2, String(external[i])))), field(14, 1)]
               : [field(9, bytesOf(values))]),
]);

const attribute = (name, value) => {
  const [number, type] = Number.isInteger(value) ? [3, 2] : typeof value === 'string' ? [4, 3] : Array.isArray(value) ? [8, 7]
      : value.nodes ? [6, 5] : [5, 4];
  const fields = Array.isArray(value) ? value.map((v) => field(8, v)) : [field(number, value.nodes ? graphProto(value) : value)];
  return message(5, field(1, name), ...fields, field(20, type));
};
const dimension = (d) => message(1, ...(typeof d === 'string' ? [field(2, d)] : d === null ? [] : [field(1, d)]));
const tensorType = (type, dims) => message(1, field(1, TYPES[type]), message(2, ...dims.map(dimension)));
// A port: [name, type, dims]; `seq f32` is the type of a sequence.
const port = (number, [name, type, dims]) => {
  const [, element] = /^seq (.*)/.exec(type) ?? [];
  const inner = element ? message(4, message(1, tensorType(element, dims))) : tensorType(type, dims);
  return message(number, field(1, name), message(2, inner));
};

// {nodes: [[op, inputs, outputs, attributes, domain], …], inputs, outputs: ports, initializers: TensorProtos}.
export const graphProto = ({name = '', nodes, inputs = [], outputs = [], initializers = []}) => joined([
  ...nodes.map(([op, ins, outs, attributes = {}, domain = '']) => message(
      1, ...ins.map((i) => field(1, i)), ...outs.map((o) => field(2, o)), field(4, op),
      ...Object.entries(attributes).map(([key, value]) => attribute(key, value)), field(7, domain))),
  field(2, name), ...initializers.map((t) => field(5, t)), ...inputs.map((p) => port(11, p)), ...outputs.map((p) => port(12, p)),
]);
export const modelProto = (graph, opset = 21, metadata = {}) => joined([
  field(1, 10), field(2, 'onnx_writer'), message(8, field(1, ''), field(2, opset)), field(7, graphProto(graph)),
  ...Object.entries(metadata).map(([key, value]) => message(14, field(1, key), field(2, value))),
]);
