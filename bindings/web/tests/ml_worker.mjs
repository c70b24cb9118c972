// A worker that computes by navigator.ml, for ml_test.mjs.
import {install} from '../package/ml.js';

await install({force: true});
const context = await navigator.ml.createContext({accelerated: false}), builder = new MLGraphBuilder(context);
const descriptor = {dataType: 'float32', shape: [3]};
const graph = await builder.build({y: builder.relu(builder.input('x', descriptor))});
const x = await context.createTensor({...descriptor, writable: true});
const y = await context.createTensor({...descriptor, readable: true});
context.writeTensor(x, new Float32Array([1, -2, 3]));
context.dispatch(graph, {x}, {y});
postMessage({ml: String(navigator.ml), values: [...new Float32Array(await context.readTensor(y))]});
