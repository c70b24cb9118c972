// Serves a folder on this machine, compressed: node serve.mjs FOLDER [PORT]. Any other static server does as well.
import {createReadStream} from 'node:fs';
import {readFile, stat} from 'node:fs/promises';
import {createServer} from 'node:http';
import {extname, join, normalize} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {brotliCompress, constants, gzip} from 'node:zlib';

const TYPES = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css',
  '.json': 'application/json', '.svg': 'image/svg+xml', '.wasm': 'application/wasm', '.txt': 'text/plain; charset=utf-8',
};

// Weights and pictures do not get smaller.
const isCompressible = (type) => /^(text\/|application\/(json|wasm)|image\/svg)/.test(type);
// By their names in headers, the best first.
const ENCODERS = {
  br: (bytes) => promisify(brotliCompress)(bytes, {params: {[constants.BROTLI_PARAM_QUALITY]: 5}}),
  gzip: promisify(gzip),
};

// The one of them that an Accept-Encoding takes; undefined if there is none.
function encodingOf(accepted = '') {
  const weights = Object.fromEntries(accepted.split(',').map((part) => {
    const [name, weight] = part.split(';').map((text) => text.trim());
    return [name.toLowerCase(), weight?.startsWith('q=') ? Number(weight.slice(2)) : 1];
  }));
  return Object.keys(ENCODERS).find((name) => (weights[name] ?? weights['*'] ?? 0) > 0);
}

// Compressed files, by their names and times.
const compressed = new Map();
function compress(file, found, encoding) {
  const key = `${encoding} ${found.mtimeMs} ${file}`;
  if (!compressed.has(key)) {
    const made = readFile(file).then(ENCODERS[encoding]);
    compressed.set(key, made);
    made.catch(() => compressed.delete(key));
  }
  return compressed.get(key);
}

// Resolves to the server, which listens at the port; 0 is any that is free. `others`: folders by the names that they have in
// this one.
export function serve(folder, port = 0, others = {}) {
  const server = createServer(async (request, response) => {
    try {
      if (!['GET', 'HEAD'].includes(request.method)) return response.writeHead(405).end();
      // normalize() takes what leaves the folder away.
      const path = normalize(decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
      const [, first, ...rest] = path.split('/');
      let file = Object.hasOwn(others, first) ? join(others[first], ...rest) : join(folder, path);
      let found = await stat(file);
      if (found.isDirectory()) found = await stat(file = join(file, 'index.html'));
      const type = TYPES[extname(file)] ?? 'application/octet-stream';
      const headers = {'content-type': type, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff'};
      if (isCompressible(type)) headers.vary = 'accept-encoding';
      const encoding = isCompressible(type) ? encodingOf(request.headers['accept-encoding']) : undefined;
      if (encoding) {
        const bytes = await compress(file, found, encoding);
        response.writeHead(200, {...headers, 'content-encoding': encoding, 'content-length': bytes.length});
        return response.end(request.method === 'HEAD' ? undefined : bytes);
      }
      response.writeHead(200, {...headers, 'content-length': found.size});
      if (request.method === 'HEAD') return response.end();
      createReadStream(file).on('error', () => response.destroy()).pipe(response);
    } catch {
      response.writeHead(404, {'content-type': 'text/plain'}).end('There is no such file.\n');
    }
  });
  return new Promise((done, fail) => {
    server.once('error', fail);
    server.listen(port, '127.0.0.1', () => done(server));
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , folder, port = 8000] = process.argv;
  try {
    const server = await serve(folder, Number(port));
    console.log(`http://localhost:${server.address().port}/  (Ctrl+C ends it)`);
  } catch (error) {
    console.error(error.code === 'EADDRINUSE' ? `port ${port} is in use; name another one` : error.message);
    process.exitCode = 1;
  }
}
