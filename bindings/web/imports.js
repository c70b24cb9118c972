// What the module's C++ calls: core.js hands over the functions, as Module.weft.
addToLibrary({
  weft_resolve__deps: ['$UTF8ToString'],
  weft_resolve__sig: 'vip',
  weft_resolve: (promise, json) => Module.weft.settle(promise, (p) => p.resolve(JSON.parse(UTF8ToString(json)))),
  weft_resolve_bytes__sig: 'vipp',
  weft_resolve_bytes: (promise, bytes, size) =>
    Module.weft.settle(promise, (p) => p.resolve(HEAPU8.slice(bytes, bytes + size).buffer)),
  weft_reject__deps: ['$UTF8ToString'],
  weft_reject__sig: 'vipp',
  weft_reject: (promise, name, message) =>
    Module.weft.settle(promise, (p) => p.reject(Module.weft.error(UTF8ToString(name), UTF8ToString(message)))),
  weft_apply__deps: ['$UTF8ToString', '$stringToNewUTF8'],
  weft_apply__sig: 'pipp',
  weft_apply(function_, tensors, text) {
    const results = Module.weft.apply(function_, JSON.parse(UTF8ToString(tensors)), UTF8ToString(text));
    return results ? stringToNewUTF8(JSON.stringify(results)) : 0;
  },
});
