// What a program in TypeScript may write, for its compiler alone. Lines with an error expected must be errors.
import * as weft from 'weft';
import {install, type MLOperand} from 'weft/ml';

async function use(): Promise<void> {
  const device: weft.Device = await weft.open({device: 'cpu'});
  const x = weft.tensor([[1, 2], [3, 4]], {dtype: 'f16'});
  const y: weft.Tensor = x.matmul(x.T()).softmax(-1).add(1).sum({axes: [0], keepDims: true});
  const values: weft.TypedArray = await y.data();
  const [w, g]: [weft.Tensor, {a: weft.Tensor}] =
      weft.valueAndGrad((p: {a: weft.Tensor}, n: number) => p.a.mul(n).sum())({a: x}, 3);
  interface Model { w: weft.Tensor }
  const ofModel: Model = weft.grad((m: Model) => m.w.sum())({w: x});
  ofModel.w.add(1n);
  const f = weft.compile((a: weft.Tensor, s: number) => ({y: a.mul(s)}));
  const {y: z} = f(g.a, 2);
  const [, indices] = z.topK(2);
  z.at(0, [1, null], indices).dispose();
  weft.concat([w, z], 0);
  weft.ops.layerNorm(x, null, null, {firstAxis: -1});
  await weft.random.normal([2], {key: weft.random.key(1)}).to(device);
  const encoder = await weft.models.load('model/', {progress: ({file, loaded, total}) => console.log(file, loaded / (total ?? 1))});
  const vectors: weft.Tensor = await encoder.embed(['one', 'two'], {batch: 1});
  const [first]: Float32Array[] = await encoder.vectors('one');
  const cosines: weft.Tensor = weft.models.similarity(vectors, vectors);
  console.log(weft.models.similarity(first!, first!) * 2, cosines.shape, encoder.tokenize('one')[0]);
  await weft.models.load({files: {'config.json': '{}', 'model.safetensors': new Blob([])}}, {device, cache: false});
  const model: weft.onnx.Model = await weft.onnx.load('m.onnx', {device, precision: 'f16', progress: ({file, loaded}) => console.log(file, loaded)});
  await weft.onnx.load(new Blob([]), {files: {'weights.bin': new Uint8Array(4)}});
  const {scores}: {[name: string]: weft.Tensor} = await model.run({x, ids: new BigInt64Array(2), parts: [x, new Float32Array(3)], none: null});
  const {parts} = await model.run<{parts: weft.Tensor[]}>({x: [[1, 2]]}, {signal: AbortSignal.timeout(1000)});
  console.log(scores?.shape, parts[0]?.dtype, model.inputs[0]?.shape?.[0], model.opsets['ai.onnx']);
  // @ts-expect-error: a text is no input
  await model.run({x: 'text'});
  // @ts-expect-error: no such precision
  await weft.onnx.load('m.onnx', {precision: 'f8'});
  console.log(values.length, device.name, await y.item());
  // @ts-expect-error: a text is no operand
  x.matmul('y');
  // @ts-expect-error: there is no such operation
  x.matmull(x);
  // @ts-expect-error: nor such an attribute
  x.sum({axis: 0});
  // @ts-expect-error: an encoder takes texts
  await encoder.embed([1]);
  // @ts-expect-error: f33 is no type
  weft.zeros([2], 'f33');
  // Attributes have types of their own.
  x.cast('bf16').gelu('tanh').sort(-1, true).sum([0, 1], true).reshape([1]).oneHot(3, 'f16', null);
  weft.ops.mseLoss(x, x, {reduction: 'sum'});
  // @ts-expect-error: no data type
  x.cast('nonsense');
  // @ts-expect-error: nor by name
  x.cast({dtype: 'nonsense'});
  // @ts-expect-error: no form of gelu
  x.gelu('exact');
  // @ts-expect-error: no reduction
  weft.ops.mseLoss(x, x, 'average');
  // @ts-expect-error: axes are integers
  x.sum('0');
  // @ts-expect-error: true or false
  x.sum({axes: 0, keepDims: 1});
  // @ts-expect-error: a shape is a list or a number
  x.reshape('2');
  // @ts-expect-error: five channels
  weft.fromPixels({}, {channels: 5});
  // @ts-expect-error: no such option
  weft.tensor([1], {type: 'f16'});
  // @ts-expect-error: no function
  weft.compile(5);
  const {numTensors, numBytes, moduleBytes, gpu}: weft.Memory = weft.memory();
  console.log(numTensors + numBytes + moduleBytes + (gpu?.live ?? 0));
  await weft.open({wasm: new DataView(new ArrayBuffer(8)), progress: ({loaded, total}) => console.log(loaded / (total ?? 1))});
  weft.random.seed(2n ** 63n);
  // @ts-expect-error: the argument is missing
  f(x);
}
use();

async function useWebnn(): Promise<void> {
  await install({device: 'cpu'});
  const context = await navigator.ml.createContext({powerPreference: 'low-power'});
  const builder = new MLGraphBuilder(context);
  const x: MLOperand = builder.input('x', {dataType: 'float32', shape: [1, 3, 8, 8]});
  const pooled = builder.maxPool2d(x, {windowDimensions: [2, 2], layout: 'nchw', label: 'pool'});
  const [first] = builder.split(builder.softmax(pooled, 1), [1, 2], {axis: 1});
  const graph = await builder.build({y: builder.clamp(first!, {minValue: 0n})});
  const tensor = await context.createTensor({dataType: 'float32', shape: x.shape, readable: true, writable: true});
  context.writeTensor(tensor, new Float32Array(192));
  context.dispatch(graph, {x: tensor}, {});
  const bytes: ArrayBuffer = await context.readTensor(tensor);
  console.log(bytes.byteLength, context.opSupportLimits().conv2d.filter.rankRange.max);
  // @ts-expect-error: there is no such mode
  builder.pad(x, [0], [0], {mode: 'mirror'});
  // @ts-expect-error: the context is missing
  new MLGraphBuilder();
}
useWebnn();
