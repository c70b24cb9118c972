// Runs a test program of the web build, or a file of tests in JavaScript (harness.mjs), in Node or in Chromium without a
// window.
//
//   node run.mjs node|chromium PROGRAM.mjs [ARGS...]
//   node run.mjs node|chromium X_test.mjs [FILTER]
//
// What a page fetches is beside the program; tests in JavaScript also get model/, data/ and examples/: the model of
// WEFT_MODEL_DIR, and tests/data and examples/data of the sources. Variables of the environment whose names begin with WEFT_ or GTEST_ are the program's.
// Node has the WebGPU of the package `webgpu` in the directory WEFT_WEB_MODULES, if that is set; Chromium has
// SwiftShader's.
import {readFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {dirname, join, normalize, relative, resolve} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

import {runInChromium, useWebGpu} from './place.mjs';

const [, , place, program, ...args] = process.argv;
const isTests = program.endsWith('_test.mjs');
const directory = dirname(resolve(program));
const root = isTests ? dirname(directory) : directory;  // of what the server gives
const variables = Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(WEFT|GTEST)_/.test(name)));

const folder = (path) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const served = {model: process.env.WEFT_MODEL_DIR, data: folder('tests/data'), examples: folder('examples/data')};
// The bytes at that path of an address. Throws if there are none.
function fileAt(path) {
  const [, first, ...rest] = normalize(path).split('/');
  return readFileSync(isTests && first in served ? join(served[first], ...rest) : join(root, normalize(path)));
}

async function runInNode() {
  await useWebGpu();
  if (isTests) {
    const server = createServer((request, response) => {
      try {
        response.end(fileAt(new URL(request.url, 'http://localhost').pathname));
      } catch {
        response.writeHead(404).end();
      }
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    process.env.WEFT_TEST_ORIGIN = `http://127.0.0.1:${server.address().port}`;
  }
  const {default: load} = await import(pathToFileURL(resolve(program)));
  if (isTests) return await (await import(pathToFileURL(join(directory, 'harness.mjs')))).run({filter: args[0]});
  const module = await load({
    preRun: [(m) => Object.assign(m.ENV, variables)],
    locateFile: (name) => join(directory, name),
  });
  return await module.callMain(args);
}

const page = `
const program = new URL('/${relative(root, resolve(program))}', location.href);
const {default: load} = await import(program);
const args = ${JSON.stringify(args)}, variables = ${JSON.stringify(variables)};
if (!load) return (await import(new URL('harness.mjs', program))).run({filter: args[0], print});
const module = await load({print, printErr: print, preRun: [(m) => Object.assign(m.ENV, variables)]});
return module.callMain(args);`;

try {
  process.exitCode = place === 'node' ? await runInNode() : await runInChromium(page, fileAt);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
process.exit();
