// Memory that other libraries read (buffers, DLPack), and theirs.
#include "core.h"

#include <cstring>
#include <memory>

#include "dlpack.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/graph.h"

namespace weft::python {
namespace {

// Elements of a tensor in the host's memory: where they are of one on the cpu, else a copy.
struct HostElements {
  std::shared_ptr<const void> owner;
  std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::vector<std::int64_t> sizes, strides;  // in elements
  bool copied = false;
};

HostElements host_elements(const Tensor& x, bool must_copy) {
  HostElements e;
  e.dtype = x.dtype();
  e.sizes.assign(x.shape().begin(), x.shape().end());
  released([&] {
    async_eval(x).get();  // a matrix that is singular is an error, as where elements are copied
    if (x.device().is_gpu() || must_copy) {
      const Buffer copy = Buffer::host(std::max<std::uint64_t>(byte_size(x.type()), 1));
      x.read_bytes({copy.data(), static_cast<std::size_t>(byte_size(x.type()))});
      e.owner = std::make_shared<Buffer>(copy);
      e.data = copy.data();
      e.copied = true;
    } else {
      Tensor held = x;
      View view;
      try {
        view = held.view();
      } catch (const InvalidArgument&) {  // strides do not find its elements
        held = contiguous(x);
        eval(held);
        view = held.view();
      }
      e.data = view.buffer ? view.buffer.data() + view.offset : nullptr;
      if (view.rank() == x.rank()) e.strides.assign(view.strides().begin(), view.strides().end());
      e.owner = std::make_shared<Tensor>(held);
    }
  });
  if (e.strides.size() != e.sizes.size()) {
    e.strides.resize(e.sizes.size());
    std::int64_t stride = 1;
    for (std::size_t i = e.sizes.size(); i-- > 0;) {
      e.strides[i] = stride;
      stride *= e.sizes[i];
    }
  }
  return e;
}

// ---- The buffer protocol

const char* format_of(DType type) {
  switch (type) {
    case DType::f32:
      return "f";
    case DType::f16:
      return "e";
    case DType::f64:
      return "d";
    case DType::i8:
      return "b";
    case DType::i16:
      return "h";
    case DType::i32:
      return "i";
    case DType::i64:
      return "q";
    case DType::u8:
      return "B";
    case DType::u16:
      return "H";
    case DType::u32:
      return "I";
    case DType::u64:
      return "Q";
    case DType::boolean:
      return "?";
    case DType::c64:
      return "Zf";
    default:
      return nullptr;
  }
}

struct Export {
  HostElements elements;
  std::vector<Py_ssize_t> sizes, strides;
};

}  // namespace

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  try {
    const Tensor& x = tensor_in(self);
    const char* format = format_of(x.dtype());
    const std::string type = nb::cast<std::string>(nb::str(dtype_object(x.dtype())));
    if (!format)
      throw nb::builtin_exception(nb::exception_type::buffer_error, ("no buffer has the type " + type).c_str());
    if (flags & PyBUF_WRITABLE) {
      throw nb::builtin_exception(nb::exception_type::buffer_error, "an array's memory is read only: copy it");
    }
    auto own = std::make_unique<Export>();
    own->elements = host_elements(x, false);
    const Py_ssize_t itemsize = bits(x.dtype()) / 8;
    bool is_dense = true;
    Py_ssize_t expected = itemsize;
    for (std::size_t i = own->elements.sizes.size(); i-- > 0;) {
      const auto n = static_cast<Py_ssize_t>(own->elements.sizes[i]);
      own->sizes.insert(own->sizes.begin(), n);
      own->strides.insert(own->strides.begin(), static_cast<Py_ssize_t>(own->elements.strides[i]) * itemsize);
      if (n > 1 && own->strides.front() != expected) is_dense = false;
      expected *= n;
    }
    const bool takes_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    const bool wants_dense =
        (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS || (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS;
    if (x.size() > 0 && !is_dense && (!takes_strides || wants_dense)) {
      own->elements = host_elements(x, true);
      for (std::size_t i = 0; i < own->strides.size(); ++i) {
        own->strides[i] = static_cast<Py_ssize_t>(own->elements.strides[i]) * itemsize;
      }
      is_dense = true;
    }
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && x.rank() > 1) {
      throw nb::builtin_exception(nb::exception_type::buffer_error, "an array's memory is in C's order");
    }
    static char nothing = 0;
    *view = Py_buffer{};
    view->buf = own->elements.data ? static_cast<void*>(own->elements.data) : &nothing;
    view->len = static_cast<Py_ssize_t>(x.size()) * itemsize;
    view->itemsize = itemsize;
    view->readonly = 1;
    view->ndim = x.rank();
    view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(format) : nullptr;
    view->shape = (flags & PyBUF_ND) ? own->sizes.data() : nullptr;
    view->strides = takes_strides ? own->strides.data() : nullptr;
    view->internal = own.release();
    view->obj = Py_NewRef(self);
    return 0;
  } catch (...) {
    view->obj = nullptr;
    set_error();
    return -1;
  }
}
void release_buffer(PyObject*, Py_buffer* view) noexcept { delete static_cast<Export*>(view->internal); }

// ---- DLPack

namespace {

std::optional<dlpack::DataType> dlpack_type(DType type) {
  const auto width = static_cast<std::uint8_t>(bits(type));
  switch (type) {
    case DType::bf16:
      return dlpack::DataType{dlpack::kBfloat, width, 1};
    case DType::boolean:
      return dlpack::DataType{dlpack::kBool, width, 1};
    case DType::c64:
      return dlpack::DataType{dlpack::kComplex, width, 1};
    case DType::f8e4m3:
      return dlpack::DataType{dlpack::kFloat8E4m3fn, width, 1};
    case DType::f8e5m2:
      return dlpack::DataType{dlpack::kFloat8E5m2, width, 1};
    default:
      break;
  }
  if (width < 8) return {};
  if (is_floating(type)) return dlpack::DataType{dlpack::kFloat, width, 1};
  return dlpack::DataType{info(type).kind == DTypeKind::signed_integer ? dlpack::kInt : dlpack::kUInt, width, 1};
}
std::optional<DType> type_of_dlpack(const dlpack::DataType& type) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto own = static_cast<DType>(i);
    const auto its = dlpack_type(own);
    if (its && its->code == type.code && its->bits == type.bits && type.lanes == 1) return own;
  }
  return {};
}

[[noreturn]] void refuse(const std::string& text) {
  throw nb::builtin_exception(nb::exception_type::buffer_error, text.c_str());
}

template <class Managed>
struct Exported {
  HostElements elements;
  Managed managed{};
};
template <class Managed>
const char* capsule_name() {
  return std::is_same_v<Managed, dlpack::ManagedTensor> ? "dltensor" : "dltensor_versioned";
}
template <class Managed>
void delete_managed(Managed* self) {
  delete static_cast<Exported<Managed>*>(self->context);
}
// Of a capsule that nobody took; its name tells.
template <class Managed>
void delete_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, capsule_name<Managed>())) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, capsule_name<Managed>()));
  managed->deleter(managed);
}

template <class Managed>
nb::object capsule_of(HostElements elements) {
  auto own = std::make_unique<Exported<Managed>>();
  own->elements = std::move(elements);
  HostElements& e = own->elements;
  own->managed.tensor = {.data = e.data,
                         .device = {dlpack::kCpu, 0},
                         .ndim = static_cast<std::int32_t>(e.sizes.size()),
                         .dtype = *dlpack_type(e.dtype),
                         .shape = e.sizes.data(),
                         .strides = e.strides.data(),
                         .byte_offset = 0};
  own->managed.context = own.get();
  own->managed.deleter = delete_managed<Managed>;
  if constexpr (std::is_same_v<Managed, dlpack::ManagedTensorVersioned>) {
    own->managed.version = {1, 0};
    own->managed.flags = e.copied ? dlpack::kIsCopied : dlpack::kReadOnly;
  }
  PyObject* capsule = PyCapsule_New(&own->managed, capsule_name<Managed>(), delete_capsule<Managed>);
  if (!capsule) nb::raise_python_error();
  own.release();
  return nb::steal(capsule);
}

nb::object to_dlpack(const Tensor& x, bool versioned, bool host_asked, std::optional<bool> copy) {
  if (!dlpack_type(x.dtype())) refuse("__dlpack__: DLPack has no type for " + std::string(name(x.dtype())));
  const bool on_gpu = released([&] {
    eval(x);
    return x.device().is_gpu();
  });
  if (on_gpu && !host_asked) {
    refuse(
        "__dlpack__: the array is on a GPU, whose memory WebGPU does not share; __dlpack__(dl_device=(1, 0)) copies "
        "it");
  }
  if (on_gpu && copy == false) refuse("__dlpack__: copy=False of an array on a GPU");
  // Consumers of the old form do not know of read-only memory.
  HostElements e = host_elements(x, copy == true || !versioned);
  return versioned ? capsule_of<dlpack::ManagedTensorVersioned>(std::move(e))
                   : capsule_of<dlpack::ManagedTensor>(std::move(e));
}

// The capsule's tensor, which is ours from then on.
struct Imported {
  nb::object capsule;  // renamed: used
  const dlpack::Tensor* tensor = nullptr;
  bool read_only = false;
  bool copied = false;
};

template <class Managed>
void delete_used(PyObject* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (managed && managed->deleter) managed->deleter(managed);
}

Imported take(nb::object capsule) {
  Imported got;
  const auto use = [&]<class Managed>(std::type_identity<Managed>, const char* used) {
    auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), capsule_name<Managed>()));
    if (!managed) nb::raise_python_error();
    got.tensor = &managed->tensor;
    if constexpr (std::is_same_v<Managed, dlpack::ManagedTensorVersioned>) {
      if (managed->version.major > 1) refuse("from_dlpack: DLPack of a version above 1");
      got.read_only = managed->flags & dlpack::kReadOnly;
      got.copied = managed->flags & dlpack::kIsCopied;
    }
    // A capsule of our own, whose end is the tensor's.
    if (PyCapsule_SetName(capsule.ptr(), used) != 0) nb::raise_python_error();
    PyObject* own = PyCapsule_New(managed, "weft_dltensor", delete_used<Managed>);
    if (!own) nb::raise_python_error();
    got.capsule = nb::steal(own);
  };
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned"))
    use(std::type_identity<dlpack::ManagedTensorVersioned>(), "used_dltensor_versioned");
  else if (PyCapsule_IsValid(capsule.ptr(), "dltensor"))
    use(std::type_identity<dlpack::ManagedTensor>(), "used_dltensor");
  else
    throw TypeError("from_dlpack: __dlpack__ gave no capsule that is unused");
  return got;
}

nb::object call_dlpack(nb::handle object, std::optional<bool> copy, bool on_host) {
  const nb::object method = object.attr("__dlpack__");
  nb::dict newest;
  newest["max_version"] = nb::make_tuple(1, 0);
  if (!on_host) newest["dl_device"] = nb::make_tuple(static_cast<int>(dlpack::kCpu), 0);
  if (copy == false || !on_host) newest["copy"] = !on_host;
  PyObject* capsule = PyObject_Call(method.ptr(), nb::steal(PyTuple_New(0)).ptr(), newest.ptr());
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {  // of before version 1
    PyErr_Clear();
    if (!on_host)
      refuse("from_dlpack: the array is on another device, and its library does not copy; copy it to the host");
    capsule = PyObject_CallNoArgs(method.ptr());
  }
  if (!capsule) nb::raise_python_error();
  return nb::steal(capsule);
}

}  // namespace

Tensor from_dlpack(nb::handle object, std::optional<bool> copy) {
  if (is_array(object)) return tensor_in(object);
  bool on_host = true;
  if (nb::hasattr(object, "__dlpack_device__")) {
    const nb::object device = object.attr("__dlpack_device__")();
    on_host = integer_from(device[nb::int_(0)], "__dlpack_device__") == dlpack::kCpu;
  }
  if (!on_host && copy == false) refuse("from_dlpack: copy=False of an array that is not on the host");
  const Imported got = take(call_dlpack(object, copy, on_host));
  const dlpack::Tensor& t = *got.tensor;
  if (t.device.type != dlpack::kCpu) refuse("from_dlpack: the array is not in the host's memory");
  const std::optional<DType> type = type_of_dlpack(t.dtype);
  if (!type) throw TypeError("from_dlpack: an array of a type that Weft does not have");
  Py_buffer view{};
  const Py_ssize_t itemsize = t.dtype.bits / 8;
  std::vector<Py_ssize_t> sizes(t.shape, t.shape + t.ndim), strides(sizes.size());
  Py_ssize_t stride = itemsize, count = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = t.strides ? static_cast<Py_ssize_t>(t.strides[i]) * itemsize : stride;
    stride *= sizes[i];
    count *= sizes[i];
  }
  view.buf = static_cast<char*>(t.data) + t.byte_offset;
  view.itemsize = itemsize;
  view.len = count * itemsize;
  view.ndim = t.ndim;
  view.shape = sizes.data();
  view.strides = strides.data();
  view.readonly = got.read_only || got.copied;
  return of_memory(view, *type, got.capsule, copy);
}

void add_interchange(nb::module_& m) {
  m.def(
      "to_dlpack",
      [](const Tensor& x, bool versioned, bool host_asked, std::optional<bool> copy) {
        return to_dlpack(x, versioned, host_asked, copy);
      },
      nb::arg("x"), nb::arg("versioned"), nb::arg("host_asked"), nb::arg("copy").none());
  m.def(
      "from_dlpack",
      [](nb::handle object, const std::optional<Device>& device, std::optional<bool> copy) {
        std::optional<DefaultDeviceScope> scope;
        if (device && !is_array(object)) scope.emplace(*device);
        Tensor x = from_dlpack(object, copy);
        if (!device) return array(std::move(x));
        return array(released([&] { return device_of(x) == *device ? x : to(x, *device); }));
      },
      nb::arg("x"), nb::arg("device").none(), nb::arg("copy").none());
}

}  // namespace weft::python
