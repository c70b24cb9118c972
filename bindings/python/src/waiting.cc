// Python's lock, Ctrl-C, and objects of Python's that other threads drop.
#include "core.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "weft/evaluate.h"
#include "weft/interruption.h"
#include "weft/process.h"

namespace weft::python {
namespace {

// For which a daemon thread stays at the end of the process, which is gone before.
constexpr std::chrono::seconds kPatience(10);

// As Python counts them.
unsigned long main_thread = 0;
std::atomic<unsigned long> ender = 0;
std::atomic<bool> ending = false;
std::atomic<int> returning = 0;  // threads that take Python's lock again

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

}  // namespace

SharedObject shared(nb::handle object) {
  object.inc_ref();
  return {object.ptr(), drop_later};
}

struct Released::State {
  PyThreadState* python = PyEval_SaveThread();
  std::optional<InterruptionScope> interruptible;
  InWeft inside;
};

Released::Released() {
  if (is_forked()) {
    throw nb::builtin_exception(
        nb::exception_type::runtime_error,
        "this process was forked from one that used Weft, whose threads and devices it does not have; start processes "
        "by multiprocessing's method 'spawn' instead");
  }
  state_ = std::make_unique<State>();
  // Signals are the main thread's.
  if (PyThread_get_thread_ident() != main_thread) return;
  state_->interruptible.emplace([] {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();
  });
}

Released::~Released() {
  PyThreadState* const python = state_->python;
  state_.reset();
  // The interpreter would end the thread in PyEval_RestoreThread, through frames that allow no exception.
  ++returning;
  if (ending && PyThread_get_thread_ident() != ender) {
    --returning;
    std::this_thread::sleep_for(kPatience);
    ++returning;
  }
  PyEval_RestoreThread(python);
  --returning;
}

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
  main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  // From now on daemon threads that have computed stay where they are.
  m.def("begin_end", [] {
    ender = PyThread_get_thread_ident();
    ending = true;
    // Those that wait for Python's lock get it.
    const nb::gil_scoped_release others_run;
    while (returning > 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  });
  end_before_static_objects();
}

}  // namespace weft::python
