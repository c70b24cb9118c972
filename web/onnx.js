// The benchmark's work as models of ONNX, written in the format of protocol buffers.

// A field: numbers are varints; texts, bytes and messages have their length before them.
function field(number, value) {
  if (typeof value === 'number') return [...varint(number << 3), ...varint(value)];
  const bytes = typeof value === 'string' ? [...new TextEncoder().encode(value)] : value;
  return [...varint((number << 3) | 2), ...varint(bytes.length), ...bytes];
}
const varint = (value) => (value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))]);

const node = (op, inputs, output, attributes = []) => [
  ...inputs.flatMap((name) => field(1, name)), ...field(2, output), ...field(4, op), ...attributes.flatMap((a) => field(5, a)),
];
const float = (value) => [...new Uint8Array(new Float32Array([value]).buffer)];
const integer = (name, value) => [...field(1, name), ...field(3, value), ...field(20, 2)];
const epsilon = [...field(1, 'epsilon'), ...varint((2 << 3) | 5), ...float(1e-5), ...field(20, 1)];
const axis = () => integer('axis', 1);  // the last one of two
const scalar = (name, value) => [...field(2, 1), ...field(8, name), ...field(9, float(value))];  // TensorProto, f32
const valueInfo = (name, shape) => {
  const dimensions = shape.flatMap((size) => field(1, field(1, size)));
  return [...field(1, name), ...field(2, field(1, [...field(1, 1), ...field(2, dimensions)]))];
};

const WORKS = {
  matmul: {nodes: [node('MatMul', ['in0', 'in1'], 'out')]},
  softmax: {nodes: [node('Softmax', ['in0'], 'out', [axis()])]},
  chain: {
    nodes: [node('Mul', ['in0', 'a'], 't0'), node('Add', ['t0', 'b'], 't1'), node('Tanh', ['t1'], 't2'),
            node('Mul', ['t2', 'in0'], 't3'), node('Abs', ['t3'], 'out')],
    constants: [scalar('a', 1.5), scalar('b', 0.5)],
  },
  layernorm: {nodes: [node('LayerNormalization', ['in0', 'in1', 'in2'], 'out', [axis(), epsilon])]},
};

// The bytes of the model for that kind of work and shapes of inputs; undefined if there is none.
export function encodeModel(kind, shapes) {
  const work = WORKS[kind];
  if (!work) return undefined;
  const graph = [
    ...work.nodes.flatMap((n) => field(1, n)), ...field(2, kind), ...(work.constants ?? []).flatMap((c) => field(5, c)),
    ...shapes.flatMap((shape, i) => field(11, valueInfo(`in${i}`, shape))), ...field(12, valueInfo('out', shapes[0])),
  ];
  return new Uint8Array([...field(1, 8), ...field(7, graph), ...field(8, [...field(1, ''), ...field(2, 17)])]);
}
