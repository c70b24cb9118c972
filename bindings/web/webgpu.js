// WebGPU of the page, for webgpu.cc beside it: each function is one call of the browser's interface. An object of the
// browser is a number here, its place in a table; strings are an address and a number of bytes; an answer that comes
// later goes to gpu_settled with the number of the call's future.
const library = {
  $gpu__deps: ['gpu_settled', 'gpu_lost', '$stringToNewUTF8', '$UTF8ToString', 'free'],
  $gpu: {
    objects: [undefined],
    unused: [],
    waiting: [],  // functions to call when an answer comes
    put(object) {
      const id = gpu.unused.pop() ?? gpu.objects.length;
      gpu.objects[id] = object;
      return id;
    },
    text: (address, bytes) => UTF8ToString(address, bytes),
    // Calls the function with a string of C++, which is gone afterwards. The package is told of a module that trapped.
    withText(text, f) {
      try {
        const address = stringToNewUTF8(text ?? '');
        f(address);
        _free(address);
      } catch (error) {
        if (!Module['weft']?.broke(error)) throw error;
      }
    },
    settle(future, status, value, message) {
      gpu.withText(message, (text) => _gpu_settled(future, status, value, text));
      for (const wake of gpu.waiting.splice(0)) wake();
    },
    // Tells when the device is lost, if its number is still its own then.
    watch(id) {
      const device = gpu.objects[id];
      device.lost.then((info) => {
        if (gpu.objects[id] !== device) return;
        gpu.withText(info.message, (text) => _gpu_lost(id, info.reason === 'destroyed' ? 2 : 1, text));
      });
    },
    // WGPUErrorType
    typeOf(error) {
      if (error instanceof GPUValidationError) return 2;
      if (error instanceof GPUOutOfMemoryError) return 3;
      return error instanceof GPUInternalError ? 4 : 5;
    },
  },

  gpu_release(id) {
    gpu.objects[id] = undefined;
    gpu.unused.push(id);
  },

  // ---- Adapters and devices
  gpu_has_wgsl_feature(name, bytes) {
    return globalThis.navigator?.gpu?.wgslLanguageFeatures?.has(gpu.text(name, bytes)) ? 1 : 0;
  },
  gpu_request_adapter(future, compatibility, power, fallback) {
    const options = {
      featureLevel: compatibility ? 'compatibility' : 'core',
      powerPreference: [undefined, 'low-power', 'high-performance'][power],
      forceFallbackAdapter: !!fallback,
    };
    const interface_ = globalThis.navigator?.gpu;
    if (!interface_) {
      queueMicrotask(() => gpu.settle(future, 3, 0, 'there is no WebGPU here'));
      return;
    }
    interface_.requestAdapter(options).then(
        (adapter) => adapter ? gpu.settle(future, 1, gpu.put(adapter)) :
                               gpu.settle(future, 3, 0, 'the browser has no adapter'),
        (error) => gpu.settle(future, 4, 0, error.message));
  },
  gpu_limit(id, name, bytes) {
    return gpu.objects[id].limits[gpu.text(name, bytes)] ?? -1;
  },
  gpu_has_feature(id, name, bytes) {
    return gpu.objects[id].features.has(gpu.text(name, bytes)) ? 1 : 0;
  },
  // A word of the adapter's description, as a string that C++ frees; a number of it, or -1.
  gpu_info_text__deps: ['$stringToNewUTF8'],
  gpu_info_text(id, name, bytes) {
    return stringToNewUTF8(String(gpu.objects[id].info?.[gpu.text(name, bytes)] ?? ''));
  },
  gpu_info_number(id, name, bytes) {
    return Number(gpu.objects[id].info?.[gpu.text(name, bytes)] ?? -1);
  },
  // `descriptor` is JSON.
  gpu_request_device__deps: ['gpu_uncaptured'],
  gpu_request_device(future, adapter, descriptor, bytes) {
    const asked = JSON.parse(gpu.text(descriptor, bytes));
    gpu.objects[adapter].requestDevice(asked).then(
        (device) => {
          const id = gpu.put(device);
          gpu.settle(future, 1, id);
          gpu.watch(id);
          device.onuncapturederror = (event) => {
            if (gpu.objects[id] === device) {
              gpu.withText(event.error.message, (text) => _gpu_uncaptured(id, gpu.typeOf(event.error), text));
            }
          };
        },
        (error) => gpu.settle(future, 3, 0, error.message));
  },
  // The adapter of a page's device, as far as devices tell.
  gpu_device_adapter(device) {
    const {adapterInfo: info, limits, features} = gpu.objects[device];
    return gpu.put({info, limits, features});
  },
  gpu_watch: (device) => gpu.watch(device),
  gpu_device_destroy(device) {
    gpu.objects[device].onuncapturederror = null;
    gpu.objects[device].destroy();
  },
  gpu_device_queue: (device) => gpu.put(gpu.objects[device].queue),
  gpu_push_error_scope(device, filter) {
    gpu.objects[device].pushErrorScope([, 'validation', 'out-of-memory', 'internal'][filter]);
  },
  gpu_pop_error_scope(future, device) {
    gpu.objects[device].popErrorScope().then(
        (error) => gpu.settle(future, 1, error ? gpu.typeOf(error) : 1, error?.message),
        (error) => gpu.settle(future, 3, 1, error.message));
  },

  // ---- Buffers
  gpu_create_buffer(device, size, usage, mapped, label, bytes) {
    return gpu.put(gpu.objects[device].createBuffer(
        {size, usage, mappedAtCreation: !!mapped, label: gpu.text(label, bytes)}));
  },
  // A buffer that is lent to the page has a destroy() of its own, which gives it back (api/ml.js).
  gpu_destroy_buffer: (buffer) => Object.getPrototypeOf(gpu.objects[buffer]).destroy.call(gpu.objects[buffer]),
  gpu_map(future, buffer, mode, offset, size) {
    gpu.objects[buffer].mapAsync(mode, offset, size).then(
        () => gpu.settle(future, 1, 0),
        (error) => gpu.settle(future, error.name === 'AbortError' ? 4 : 3, 0, error.message));
  },
  gpu_read_mapped(buffer, offset, size, target_) {
    HEAPU8.set(new Uint8Array(gpu.objects[buffer].getMappedRange(offset, size)), target_);
  },
  gpu_write_mapped(buffer, offset, size, source_) {
    new Uint8Array(gpu.objects[buffer].getMappedRange(offset, size)).set(HEAPU8.subarray(source_, source_ + size));
  },
  gpu_unmap: (buffer) => gpu.objects[buffer].unmap(),

  // ---- Shaders and what they are bound to
  gpu_create_shader_module(device, code, codeBytes, label, bytes) {
    return gpu.put(gpu.objects[device].createShaderModule(
        {code: gpu.text(code, codeBytes), label: gpu.text(label, bytes)}));
  },
  gpu_compilation_info__deps: ['gpu_compilation_message'],
  gpu_compilation_info(future, module) {
    gpu.objects[module].getCompilationInfo().then(
        (info) => {
          for (const message of info.messages) {
            const type = {error: 1, warning: 2, info: 3}[message.type];
            gpu.withText(message.message, (text) => _gpu_compilation_message(future, type, message.lineNum, text));
          }
          gpu.settle(future, 1, 0);
        },
        (error) => gpu.settle(future, 2, 0, error.message));
  },
  // `entries`: of each binding its number, its type as in WGPUBufferBindingType, and whether it has a dynamic offset.
  gpu_create_bind_group_layout(device, entries, count, label, bytes) {
    const list = [];
    for (let i = 0; i < count; ++i) {
      const at = (entries >>> 2) + 3 * i;
      list.push({
        binding: HEAPU32[at],
        visibility: 4,  // compute
        buffer: {
          type: [, , 'uniform', 'storage', 'read-only-storage'][HEAPU32[at + 1]],
          hasDynamicOffset: !!HEAPU32[at + 2],
        },
      });
    }
    return gpu.put(gpu.objects[device].createBindGroupLayout({entries: list, label: gpu.text(label, bytes)}));
  },
  gpu_create_pipeline_layout(device, group, label, bytes) {
    return gpu.put(gpu.objects[device].createPipelineLayout(
        {bindGroupLayouts: [gpu.objects[group]], label: gpu.text(label, bytes)}));
  },
  // `entries`: of each binding its number, its buffer, offset and size (negative: all of it).
  gpu_create_bind_group(device, layout, entries, count, label, bytes) {
    const list = [];
    for (let i = 0; i < count; ++i) {
      const at = (entries >>> 3) + 4 * i, size = HEAPF64[at + 3];
      list.push({
        binding: HEAPF64[at],
        resource: {
          buffer: gpu.objects[HEAPF64[at + 1]],
          offset: HEAPF64[at + 2],
          size: size < 0 ? undefined : size,
        },
      });
    }
    return gpu.put(gpu.objects[device].createBindGroup(
        {layout: gpu.objects[layout], entries: list, label: gpu.text(label, bytes)}));
  },
  gpu_create_compute_pipeline(future, device, layout, module, entry, entryBytes, label, bytes) {
    gpu.objects[device].createComputePipelineAsync({
      layout: gpu.objects[layout],
      compute: {module: gpu.objects[module], entryPoint: gpu.text(entry, entryBytes)},
      label: gpu.text(label, bytes),
    }).then((pipeline) => gpu.settle(future, 1, gpu.put(pipeline)),
            (error) => gpu.settle(future, error.reason === 'validation' ? 3 : 4, 0, error.message));
  },
  gpu_create_compute_pipeline_now(device, layout, module, entry, entryBytes, label, bytes) {
    return gpu.put(gpu.objects[device].createComputePipeline({
      layout: gpu.objects[layout],
      compute: {module: gpu.objects[module], entryPoint: gpu.text(entry, entryBytes)},
      label: gpu.text(label, bytes),
    }));
  },
  gpu_create_query_set(device, count, label, bytes) {
    return gpu.put(gpu.objects[device].createQuerySet({type: 'timestamp', count, label: gpu.text(label, bytes)}));
  },

  // ---- Commands
  gpu_create_command_encoder(device, label, bytes) {
    return gpu.put(gpu.objects[device].createCommandEncoder({label: gpu.text(label, bytes)}));
  },
  gpu_begin_pass(encoder, queries, begin, end, label, bytes) {
    const descriptor = {label: gpu.text(label, bytes)};
    if (queries) {
      descriptor.timestampWrites =
          {querySet: gpu.objects[queries], beginningOfPassWriteIndex: begin, endOfPassWriteIndex: end};
    }
    return gpu.put(gpu.objects[encoder].beginComputePass(descriptor));
  },
  gpu_copy(encoder, source, from, target, to, size) {
    gpu.objects[encoder].copyBufferToBuffer(gpu.objects[source], from, gpu.objects[target], to, size);
  },
  gpu_resolve_queries(encoder, queries, first, count, target, offset) {
    gpu.objects[encoder].resolveQuerySet(gpu.objects[queries], first, count, gpu.objects[target], offset);
  },
  gpu_finish: (encoder) => gpu.put(gpu.objects[encoder].finish()),
  gpu_set_pipeline: (pass, pipeline) => gpu.objects[pass].setPipeline(gpu.objects[pipeline]),
  gpu_set_bind_group(pass, index, group, offsets_, count) {
    gpu.objects[pass].setBindGroup(index, gpu.objects[group], HEAPU32, offsets_ >>> 2, count);
  },
  gpu_dispatch: (pass, x, y, z) => gpu.objects[pass].dispatchWorkgroups(x, y, z),
  gpu_push_debug_group: (pass, label, bytes) => gpu.objects[pass].pushDebugGroup(gpu.text(label, bytes)),
  gpu_pop_debug_group: (pass) => gpu.objects[pass].popDebugGroup(),
  gpu_end_pass: (pass) => gpu.objects[pass].end(),

  // ---- The queue
  gpu_submit: (queue, commands) => gpu.objects[queue].submit([gpu.objects[commands]]),
  gpu_write_buffer(queue, buffer, offset, source_, size) {
    gpu.objects[queue].writeBuffer(gpu.objects[buffer], offset, HEAPU8, source_, size);
  },
  gpu_work_done(future, queue) {
    gpu.objects[queue].onSubmittedWorkDone().then(
        () => gpu.settle(future, 1, 0), (error) => gpu.settle(future, 3, 0, error.message));
  },
};

// All of them need `gpu`. Addresses past 2 GiB would be negative numbers but for the signatures, where "p" is an address.
const addresses = ['name', 'code', 'label', 'descriptor', 'entries', 'entry', 'source_', 'target_', 'offsets_'];
for (const [name, f] of Object.entries(library)) {
  if (!name.startsWith('gpu_') || typeof f != 'function') continue;
  (library[name + '__deps'] ??= []).push('$gpu');
  const parameters = f.toString().match(/\(([^)]*)\)/)[1].split(', ').filter(Boolean);
  library[name + '__sig'] = 'i' + parameters.map((p) => addresses.includes(p) ? 'p' : 'i').join('');
}
addToLibrary(library);
