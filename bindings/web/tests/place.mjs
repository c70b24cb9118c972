// Where tests of the web build run: Node with the package `webgpu`, or Chromium without a window.
import {spawn} from 'node:child_process';
import {randomBytes} from 'node:crypto';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {readFile} from 'node:fs/promises';
import {createServer} from 'node:http';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {dirname, extname, join, normalize, relative, resolve} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

// Gives Node the WebGPU of the package in the directory WEFT_WEB_MODULES, if that is set.
export async function useWebGpu() {
  if (!process.env.WEFT_WEB_MODULES) return;
  const require = createRequire(join(resolve(process.env.WEFT_WEB_MODULES), 'none.js'));
  const {create, globals} = await import(pathToFileURL(require.resolve('webgpu')));
  Object.assign(globalThis, globals);
  Object.defineProperty(globalThis, 'navigator', {value: {gpu: create([])}, configurable: true, writable: true});
}

// As strict as a page can be that runs WebAssembly.
const nonce = randomBytes(16).toString('base64');
const policy = `default-src 'none'; script-src 'self' 'nonce-${nonce}' 'wasm-unsafe-eval'; connect-src 'self'; worker-src 'self'`;

const types = {'.mjs': 'text/javascript', '.js': 'text/javascript', '.wasm': 'application/wasm', '.html': 'text/html'};

// The exit code that `script` returns, the body of an asynchronous function that a page runs, with print(). The page has
// what `file` reads of a path; it may share memory (SharedArrayBuffer).
export function runInChromium(script, file) {
  const page = `<!doctype html><meta charset="utf-8"><title>Weft's tests</title><script type="module" nonce="${nonce}">
const send = (path, text) => fetch(path, {method: 'POST', body: text});
let lines = [], sending = Promise.resolve();
const flush = () => {
  if (lines.length) sending = sending.then(((text) => () => send('/print', text))(lines.splice(0).join('\\n') + '\\n'));
  return sending;
};
const print = (line) => { lines.push(line); if (lines.length == 1) setTimeout(flush, 50); };
let code = 1;
try {
  code = await (async () => {${script}})();
} catch (error) {
  print(String(error?.stack ?? error));
}
await flush();
await send('/exit', String(code));
</script>`;
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
      const {pathname} = new URL(request.url, 'http://localhost');
      if (request.method === 'POST') {
        let body = '';
        for await (const part of request) body += part;
        response.end();
        if (pathname === '/print') process.stdout.write(body);
        if (pathname === '/exit') end(Number(body));
        return;
      }
      try {
        const text = pathname === '/' ? page : file(decodeURIComponent(pathname));
        response.setHeader('content-type', types[pathname === '/' ? '.html' : extname(pathname)] ?? 'application/octet-stream');
        response.setHeader('content-security-policy', policy);
        response.setHeader('cross-origin-opener-policy', 'same-origin');
        response.setHeader('cross-origin-embedder-policy', 'require-corp');
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

// Runs the default export of the module at `url` in Node or in Chromium, and ends with the exit code that it returns. It
// is called with {print, files: the names of `files`, read: gives the text of one, ...options}. `files`: paths, by their
// names.
export async function runModule(url, place, {files = {}, ...options} = {}) {
  const path = fileURLToPath(url), root = dirname(dirname(path));
  const given = {files: Object.keys(files), ...options};
  try {
    if (place === 'node') {
      await useWebGpu();
      const {default: run} = await import(url);
      process.exitCode = await run({print: console.log, read: (name) => readFile(files[name], 'utf8'), ...given});
    } else {
      const script = `
const {default: run} = await import('/${relative(root, path)}');
const read = async (name) => (await fetch('/files/' + encodeURIComponent(name))).text();
return run({print, read, ...${JSON.stringify(given)}});`;
      process.exitCode = await runInChromium(script, (asked) => {
        const name = asked.match(/^\/files\/(.*)/)?.[1];
        return readFileSync(name === undefined ? join(root, normalize(asked)) : files[name]);
      });
    }
  } catch (error) {
    console.error(String(error?.stack ?? error).slice(0, 2000));
    process.exitCode = 1;
  }
  process.exit();
}
