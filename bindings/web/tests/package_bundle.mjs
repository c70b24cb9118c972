// A program that a bundler puts into one file: in a page it also runs as a worker.
import * as weft from 'weft';

// The sum of the squares, on any device.
export async function compute(values) {
  const device = await weft.open({device: 'cpu'});
  const x = weft.tensor(values);
  return {device: device.name, result: await x.mul(x).sum().item()};
}

if (globalThis.WorkerGlobalScope && self instanceof WorkerGlobalScope) {
  onmessage = async ({data}) => postMessage(await compute(data));
}
