// Loads weft.js in Node, where no fetch reads files.
import {readFileSync} from 'node:fs';

import load from './weft.js';

export default (options = {}) => load({
  instantiateWasm(imports, done) {
    WebAssembly.instantiate(readFileSync(new URL('weft.wasm', import.meta.url)), imports)
        .then(({instance}) => done(instance));
  },
  ...options,
});
