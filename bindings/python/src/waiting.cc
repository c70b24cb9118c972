// Python's lock, Ctrl-C, and objects of Python's that other threads drop.
#include "core.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

#include "weft/evaluate.h"
#include "weft/interruption.h"

namespace weft::python {
namespace {

std::atomic<bool> was_forked = false;

// What was dropped since Python's lock was held last.
struct Dropped {
  std::mutex mutex;
  std::vector<PyObject*> objects;
  bool asked = false;
};
Dropped& dropped() {
  static auto& value = *new Dropped;
  return value;
}

int drop_all(void*) {
  std::vector<PyObject*> objects;
  {
    const std::lock_guard lock(dropped().mutex);
    objects.swap(dropped().objects);
    dropped().asked = false;
  }
  for (PyObject* o : objects) Py_DECREF(o);
  return 0;
}

void drop_later(PyObject* object) {
  bool ask;
  {
    const std::lock_guard lock(dropped().mutex);
    dropped().objects.push_back(object);
    ask = !std::exchange(dropped().asked, true);
  }
  // Python's queue may be full; then the next object asks again.
  if (ask && Py_AddPendingCall(drop_all, nullptr) != 0) {
    const std::lock_guard lock(dropped().mutex);
    dropped().asked = false;
  }
}

// In a child. What C++ ends at the end of a process would wait there for threads that only the parent has.
void set_forked() {
  if (was_forked.exchange(true)) return;
#ifdef __GLIBC__
  // The last that is set up is the first to run.
  on_exit(
      [](int status, void*) {
        std::fflush(nullptr);
        _exit(status);
      },
      nullptr);
#endif
}

}  // namespace

SharedObject shared(nb::handle object) {
  object.inc_ref();
  return {object.ptr(), drop_later};
}

struct Released::Check {
  InterruptionScope scope{[] {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();
  }};
};

Released::Released() : state_(nullptr) {
  if (was_forked.load(std::memory_order_relaxed)) {
    throw nb::builtin_exception(
        nb::exception_type::runtime_error,
        "this process was forked from one that used Weft, whose threads and devices it does not have; start processes "
        "by multiprocessing's method 'spawn' instead");
  }
  check_ = std::make_unique<Check>();
  state_ = PyEval_SaveThread();
}
Released::~Released() { PyEval_RestoreThread(static_cast<PyThreadState*>(state_)); }

void add_waiting(nb::module_& m) {
  m.def("eval", [](nb::handle sequence) {
    const std::vector<Tensor> tensors = tensors_in(sequence);
    released([&] { eval(tensors); });
  });
  // Submits and waits.
  m.def("wait", [](nb::handle sequence) {
    const std::vector<Tensor> tensors = tensors_in(sequence);
    released([&] { async_eval(tensors).get(); });
  });
  m.def("drop_objects", [] { drop_all(nullptr); });
  m.def("set_forked", set_forked);
}

}  // namespace weft::python
