// Loops whose memory must not grow: that of the module, and the objects of WebGPU that it holds. WEFT_MEMORY_TURNS says
// how many turns, where there are variables of the environment; else it is 500.
import {wasm} from '../package/core.js';
import * as weft from '../package/index.js';
import {check, close, test} from './harness.mjs';

const turns = Number(globalThis.process?.env.WEFT_MEMORY_TURNS) || 500;
const GPU = globalThis.navigator?.gpu && (await navigator.gpu.requestAdapter()) ? ['0'] : [];

// Memory after a third of the turns, and at the end.
const grows = (name, turn) => {
  for (const name_ of ['cpu', ...GPU]) {
    test(`${name} (${name_ === 'cpu' ? 'cpu' : 'gpu'})`, async () => {
      const device = await weft.open({device: name_});
      const figures = [];
      for (let i = 0; i < turns; ++i) {
        await weft.tidy(() => turn(i));
        if (i === Math.floor(turns / 3) || i === turns - 1) {
          await device.wait();
          figures.push({heap: wasm.HEAPU8.length, objects: wasm.gpu.objects.length - wasm.gpu.unused.length});
        }
      }
      const [before, after] = figures;
      check(after.heap === before.heap, `the heap stays: ${before.heap}, then ${after.heap} bytes`);
      check(after.objects <= before.objects + 8, `objects stay: ${before.objects}, then ${after.objects}`);
    });
  }
};

grows('computing and reading', async (i) => {
  const x = weft.full([64, 64], i % 7);
  close((await x.matmul(x).sum().data())[0], 64 ** 3 * (i % 7) ** 2, 1);
});

grows('errors', async (i) => {
  try {
    weft.ones([2, i % 5 + 3]).matmul(weft.ones([2, 2]));
  } catch (error) {
    return error.name === 'ShapeError' || Promise.reject(error);
  }
  throw new Error('there was no error');
});

grows('derivatives', async (i) => {
  const g = weft.grad((w) => w.mul(w).sum())(weft.full([100], i % 3));
  close((await g.data())[99], 2 * (i % 3), 1e-6);
});

let step;
const compiledStep = () => weft.compile((w, x) => {
  const [loss, g] = weft.valueAndGrad((w) => x.matmul(w).square().mean())(w);
  return {w: w.sub(g.mul(0.01)), loss};
});
grows('training by a compiled step', async (i) => {
  step ??= compiledStep();
  const {w, loss} = step(weft.full([8, 1], 1), weft.full([16, 8], 1 + (i % 5)));
  await Promise.all([w.data(), loss.data()]);
});
