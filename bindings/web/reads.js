// What weft.cc calls in api.js.
addToLibrary({
  weft_read_done__deps: ['$UTF8ToString'],
  weft_read_done(id, bytes, size, message) {
    const promise = Module.weftReads.waiting.get(id);
    Module.weftReads.waiting.delete(id);
    if (message) promise.reject(new Error(UTF8ToString(message)));
    else promise.resolve(HEAPU8.slice(bytes, bytes + size).buffer);
  },
});
