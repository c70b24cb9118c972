// Files of models: at addresses, kept in the browser's cache, or given by the page.
import {WeftError, fail, isNode, isResponse, nodes, shown} from './core.js';

// Bytes that are handed over at a time, and that may be under way to the device.
export const PIECE = 1 << 20;
export const UNDER_WAY = 32 << 20;

const reason = (error) => error.cause?.message || error.message;

// Only where caches are allowed: not in pages without a secure origin, nor in Node.
export const openCache = async (name) => globalThis.caches?.open(name).catch(() => undefined);

// ---- Where files are
// get(name) gives a Response, undefined if there is no such file. read(name, response, take) calls take(chunk) with its
// bytes, one after the other. loaded() and failed() are told how it ended. `folder` is what the library's errors call the
// place.

// `where` is the function that messages name, `of` what the address is that of: a folder, or a file in it, whose `name`
// it then has.
export class Site {
  #url;
  #signal;
  #cache;
  #kept = new WeakSet();
  #asked = new Set();   // addresses of this load
  #absent = new Set();  // of which there is no file
  constructor(url, {where, of, signal, cache, isFile = false, base}) {
    if (!String(url ?? '').trim()) fail(`${where}: the address is empty, expected that of ${of}`);
    try {
      this.#url = new URL(url, globalThis.document?.baseURI ?? globalThis.location?.href ?? base);
    } catch {
      fail(`${where}: ${url} is no URL`);
    }
    const {pathname} = this.#url, last = pathname.lastIndexOf('/') + 1;
    if (isFile) {
      this.name = pathname.slice(last);
      this.#url.pathname = pathname.slice(0, last);
    } else if (last !== pathname.length) {
      this.#url.pathname += '/';
    }
    this.folder = (this.#url.protocol === 'file:' ? 'file://' : this.#url.origin) + this.#url.pathname;
    this.#signal = signal;
    this.#cache = cache;
  }

  address(name) {
    const address = new URL(this.#url);
    address.pathname += name;
    return address.href;
  }

  async get(name) {
    const address = this.address(name);
    if (isNode() && this.#url.protocol === 'file:') return await this.#heed(address, fileOf(address));
    this.#asked.add(address);
    const kept = await this.#cache?.match(address);
    if (kept) {
      this.#kept.add(kept);
      return kept.ok ? kept : undefined;
    }
    const response = await this.#heed(address, fetch(address, {signal: this.#signal}));
    // Sites that show one page at all addresses send it for a file that is not there, too.
    const page = response.headers.get('content-type')?.startsWith('text/html');
    if (page || [403, 404, 410].includes(response.status)) {
      await response.body?.cancel();
      this.#absent.add(address);
      return undefined;
    }
    if (!response.ok) fail(`${address}: ${response.status} ${response.statusText}`.trim(), 'IoError');
    return response;
  }

  // The cache takes chunks as they are read. What it has no room for is read without it.
  async read(name, response, take) {
    const address = this.address(name);
    const reader = response.body.getReader();
    let turn = Promise.resolve();
    const next = () => turn = turn.then(async () => {
      const {done, value} = await this.#heed(address, reader.read());
      if (!done) await take(value);
      return done ? undefined : value;
    });
    try {
      if (!this.#kept.has(response)) {
        const body = new ReadableStream({
          async pull(controller) {
            const chunk = await next();
            if (chunk) controller.enqueue(chunk);
            else controller.close();
          },
        }, {highWaterMark: 0});
        await this.#keep(address, new Response(body, {headers: response.headers}));
      }
      while (await next());
    } catch (error) {
      reader.cancel().catch(() => {});
      throw error;
    }
  }

  // Of a model that was loaded also what it does not have is kept, so that the next time needs no network.
  async loaded() {
    for (const address of this.#absent) await this.#keep(address, new Response(null, {status: 404}));
  }
  // What was malformed is fetched again the next time; without a network files stay.
  async failed(error) {
    if (!(error instanceof WeftError) || error.name === 'IoError') return;
    for (const address of this.#asked) await this.#cache?.delete(address);
  }

  async #keep(address, response) {
    try {
      await this.#cache?.put(address, response);
    } catch {
      // Its place is full, or it may keep nothing.
    }
  }

  async #heed(address, answer) {
    try {
      return await answer;
    } catch (error) {
      if (this.#signal?.aborted) throw error;
      return fail(`${address}: ${reason(error)}`, 'IoError');
    }
  }
}

// A file of this machine, in Node; undefined if there is none.
async function fileOf(address) {
  const [{createReadStream}, {stat}, {Readable}] =
      await Promise.all(['node:fs', 'node:fs/promises', 'node:stream'].map(nodes));
  const url = new URL(address), found = await stat(url).catch((e) => (e.code === 'ENOENT' ? undefined : fail(e.message, 'IoError')));
  if (!found) return undefined;
  return new Response(Readable.toWeb(createReadStream(url)), {headers: {'content-length': found.size}});
}

// Files that a page has: an object of Blobs, buffers, texts, streams or Responses by their names in the model's folder, or
// the list of a folder that was chosen or dropped.
export class GivenFiles {
  #files;
  folder = 'model/';
  constructor(files, where) {
    if (files === null || typeof files !== 'object') {
      fail(`${where}: files is ${shown(files)}, expected an object of files or a list of them`, 'TypeError');
    }
    const path = ({name, webkitRelativePath}) => webkitRelativePath?.replace(/^[^/]*\//, '') || name;
    this.#files = new Map(Symbol.iterator in files ? Array.from(files, (file) => [path(file), file]) : Object.entries(files));
  }
  get names() {
    return [...this.#files.keys()];
  }
  address(name) {
    return this.folder + name;
  }
  async get(name) {
    const file = this.#files.get(name);
    return file === undefined || isResponse(file) ? file : new Response(file);
  }
  loaded() {}
  failed() {}
  async read(name, response, take) {
    const reader = response.body?.getReader();
    for (let part; reader && !(part = await reader.read()).done;) await take(part.value);
  }
}

// How `place` is read: read(name, response, take) calls take(chunk) as above, and `progress({file, loaded, total})` behind
// it. take() may return the number of all bytes, if it knows better than the server.
export function reader(place, {progress, signal}) {
  return async (name, response, take) => {
    const told = response.headers.get('content-encoding') ? 0 : Number(response.headers.get('content-length'));
    let loaded = 0;
    await place.read(name, response, async (chunk) => {
      signal?.throwIfAborted();
      const total = await take(chunk) || told || undefined;
      loaded += chunk.byteLength;
      progress?.({file: name, loaded, total});
    });
    signal?.throwIfAborted();
  };
}
