// Runs a test program of the web build, or a file of tests in JavaScript (harness.mjs), in Node or in Chromium without a
// window.
//
//   node run.mjs node|chromium PROGRAM.mjs [ARGS...]
//   node run.mjs node|chromium X_test.mjs [FILTER]
//
// Variables of the environment whose names begin with WEFT_ or GTEST_ are the program's. Node has the WebGPU of the
// package `webgpu` in the directory WEFT_WEB_MODULES, if that is set; Chromium has SwiftShader's.
import {readFileSync} from 'node:fs';
import {dirname, join, normalize, relative, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

import {runInChromium, useWebGpu} from './place.mjs';

const [, , place, program, ...args] = process.argv;
const isTests = program.endsWith('_test.mjs');
const directory = dirname(resolve(program));
const root = isTests ? dirname(directory) : directory;  // of what the server gives
const variables = Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(WEFT|GTEST)_/.test(name)));

async function runInNode() {
  await useWebGpu();
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
const file = (path) => readFileSync(join(root, normalize(path)));

try {
  process.exitCode = place === 'node' ? await runInNode() : await runInChromium(page, file);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
process.exit();
