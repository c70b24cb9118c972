// Serves a folder on this machine: node serve.mjs FOLDER [PORT]. Any other static server does as well.
import {createReadStream} from 'node:fs';
import {stat} from 'node:fs/promises';
import {createServer} from 'node:http';
import {extname, join, normalize} from 'node:path';
import {fileURLToPath} from 'node:url';

const TYPES = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css',
  '.json': 'application/json', '.svg': 'image/svg+xml', '.wasm': 'application/wasm', '.txt': 'text/plain; charset=utf-8',
};

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
      response.writeHead(200, {
        'content-type': TYPES[extname(file)] ?? 'application/octet-stream', 'content-length': found.size,
        'cache-control': 'no-cache', 'x-content-type-options': 'nosniff',
      });
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
