// Runs a test program of the web build, or a file of tests in JavaScript (harness.mjs), in Node or in Chromium without a
// window.
//
//   node run.mjs node|chromium PROGRAM.mjs [ARGS...]
//   node run.mjs node|chromium X_test.mjs [FILTER]
//
// What a page fetches is beside the program; tests in JavaScript also get model/ and data/: the model of WEFT_MODEL_DIR and
// tests/data of the sources. Variables of the environment whose names begin with WEFT_ or GTEST_ are the program's. Node has the WebGPU of the
// package `webgpu` in the directory WEFT_WEB_MODULES, if that is set; Chromium has SwiftShader's.
import {spawn} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {createServer} from 'node:http';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {dirname, extname, join, normalize, relative, resolve} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

const [, , place, program, ...args] = process.argv;
const isTests = program.endsWith('_test.mjs');
const directory = dirname(resolve(program));
const root = isTests ? dirname(directory) : directory;  // of what the server gives
const variables = Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(WEFT|GTEST)_/.test(name)));

const served = {model: process.env.WEFT_MODEL_DIR, data: fileURLToPath(new URL('../../../tests/data', import.meta.url))};
// The bytes at that path of an address. Throws if there are none.
function fileAt(path) {
  const [, first, ...rest] = normalize(path).split('/');
  return readFileSync(isTests && first in served ? join(served[first], ...rest) : join(root, normalize(path)));
}

async function runInNode() {
  if (process.env.WEFT_WEB_MODULES) {
    const require = createRequire(join(resolve(process.env.WEFT_WEB_MODULES), 'none.js'));
    const {create, globals} = await import(pathToFileURL(require.resolve('webgpu')));
    Object.assign(globalThis, globals);
    Object.defineProperty(globalThis, 'navigator', {value: {gpu: create([])}, configurable: true});
  }
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

const page = `<!doctype html><meta charset="utf-8"><title>Weft's tests</title><script type="module">
const send = (path, text) => fetch(path, {method: 'POST', body: text});
let lines = [], sending = Promise.resolve();
const flush = () => {
  if (lines.length) sending = sending.then(((text) => () => send('/print', text))(lines.splice(0).join('\\n') + '\\n'));
  return sending;
};
const print = (line) => { lines.push(line); if (lines.length == 1) setTimeout(flush, 50); };
let code = 1;
try {
  const {default: load} = await import('PROGRAM');
  if (load) {
    const module = await load({print, printErr: print, preRun: [(m) => Object.assign(m.ENV, VARIABLES)]});
    code = await module.callMain(ARGS);
  } else {
    const {run} = await import(new URL('harness.mjs', new URL('PROGRAM', location.href)));
    code = await run({filter: ARGS[0], print});
  }
} catch (error) {
  print(String(error?.stack ?? error));
}
await flush();
await send('/exit', String(code));
</script>`;

const types = {'.mjs': 'text/javascript', '.js': 'text/javascript', '.wasm': 'application/wasm', '.html': 'text/html'};

function runInChromium() {
  return new Promise((done, fail) => {
    const profile = mkdtempSync(join(tmpdir(), 'weft-chromium-'));
    const end = (code) => {
      browser.removeAllListeners('exit');
      browser.once('exit', () => {
        rmSync(profile, {recursive: true, force: true, maxRetries: 5});
        done(code);
      });
      browser.kill();
      server.close();
    };
    const server = createServer(async (request, response) => {
      const path = new URL(request.url, 'http://localhost').pathname;
      if (request.method === 'POST') {
        let body = '';
        for await (const part of request) body += part;
        response.end();
        if (path === '/print') process.stdout.write(body);
        if (path === '/exit') end(Number(body));
        return;
      }
      try {
        const text = path === '/' ?
            page.replaceAll('PROGRAM', () => '/' + relative(root, resolve(program)))
                .replaceAll('VARIABLES', () => JSON.stringify(variables))
                .replaceAll('ARGS', () => JSON.stringify(args)) :
            fileAt(path);
        response.setHeader('content-type', types[path === '/' ? '.html' : extname(path)] ?? 'application/octet-stream');
        response.end(text);
      } catch {
        response.statusCode = 404;
        response.end();
      }
    });
    let browser;
    server.listen(0, '127.0.0.1', () => {
      browser = spawn('chromium', [
        '--headless=new', '--no-sandbox', '--no-first-run', '--disable-dev-shm-usage', `--user-data-dir=${profile}`,
        '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader', '--disable-gpu-watchdog',
        `http://127.0.0.1:${server.address().port}/`], {stdio: 'ignore'});
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => end(1));
      browser.once('error', fail);
      browser.once('exit', () => fail(new Error('Chromium ended before the program did')));
    });
  });
}

try {
  process.exitCode = place === 'node' ? await runInNode() : await runInChromium();
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
process.exit();
