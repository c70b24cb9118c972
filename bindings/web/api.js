// Weft's interface for JavaScript. Part of weft.js, after Emscripten's own code.
{
  const text = (address) => UTF8ToString(address);
  const arrays = {
    f32: Float32Array, f64: Float64Array, i8: Int8Array, i16: Int16Array, i32: Int32Array, u8: Uint8Array,
    u16: Uint16Array, u32: Uint32Array, i64: BigInt64Array, u64: BigUint64Array, bool: Uint8Array, f16: Uint16Array,
    bf16: Uint16Array,
  };
  if (globalThis.Float16Array) arrays.f16 = Float16Array;

  // Throws what the last call failed with.
  const check = (result) => {
    const message = text(_weft_error());
    if (message) throw new Error(message);
    return result;
  };
  const withStrings = (strings, f) => {
    const addresses = strings.map((s) => stringToNewUTF8(s));
    try {
      return check(f(...addresses));
    } finally {
      addresses.forEach(_free);
    }
  };
  const withBytes = (bytes, f) => {
    const address = _malloc(bytes.byteLength || 1);
    try {
      HEAPU8.set(bytes, address);
      return f(address);
    } finally {
      _free(address);
    }
  };

  // Tensors that a program forgets are dropped when the browser collects their objects; dispose() does it at once.
  const forgotten = new FinalizationRegistry((address) => _weft_release(address));

  class Tensor {
    #address;
    constructor(address) {
      this.#address = address;
      forgotten.register(this, address, this);
      Object.assign(this, JSON.parse(text(check(_weft_type(address)))));
    }
    get address() {
      if (!this.#address) throw new Error('this tensor was disposed of');
      return this.#address;
    }
    // A typed array of the elements, when they are there.
    read() {
      return new Promise((resolve, reject) => {
        const id = ++Module.weftReads.last;
        Module.weftReads.waiting.set(id, {resolve: (buffer) => resolve(new arrays[this.dtype](buffer)), reject});
        _weft_read(this.address, id);
        check();
      });
    }
    dispose() {
      if (!this.#address) return;
      forgotten.unregister(this);
      _weft_release(this.#address);
      this.#address = 0;
    }
  }
  if (Symbol.dispose) Tensor.prototype[Symbol.dispose] = Tensor.prototype.dispose;

  Module.weftReads = {last: 0, waiting: new Map()};
  Module.Tensor = Tensor;

  // A copy of a typed array's elements. `dtype` is told by the array, unless it is given ("bool").
  Module.tensor = (data, shape = [data.length], dtype) => {
    dtype ??= Object.keys(arrays).find((name) => data instanceof arrays[name]);
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    return new Tensor(withBytes(bytes, (address) => withStrings(
        [String(dtype), JSON.stringify(shape)], (d, s) => _weft_tensor(d, s, address, bytes.length))));
  };

  // The results of an operation by its name (docs/ops.md), and its attributes by theirs.
  Module.call = (op, operands, attributes = {}) => {
    const addresses = new Uint32Array(operands.map((t) => t?.address ?? 0));
    const results = withBytes(new Uint8Array(addresses.buffer), (list) => withStrings(
        [op, JSON.stringify(attributes)], (o, a) => text(_weft_call(o, list, addresses.length, a))));
    return JSON.parse(results).map((address) => new Tensor(address));
  };
}
