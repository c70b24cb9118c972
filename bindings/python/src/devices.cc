// Devices, their memory, and settings.
#include "core.h"

#include "weft/device.h"

#include "weft/devices.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/flags.h"
#include "weft/memory.h"

namespace weft::python {
namespace {

// The default device of a thread between enter() and leave().
struct DeviceScope {
  std::optional<DefaultDeviceScope> scope;
};

const FlagInfo& flag_named(const std::string& given) {
  std::string text = given;
  for (char& c : text) c = c == '_' ? '-' : c;
  for (const FlagInfo& f : flags()) {
    if (f.name == text) return f;
  }
  throw InvalidArgument("there is no setting '" + given + "'");
}

}  // namespace

void add_devices(nb::module_& m) {
  nb::class_<Device> type(m, "Device", nb::is_final());
  type.attr("__module__") = "weft";
  type.attr("__doc__") =
      "Where arrays are and functions are computed: a GPU, or the cpu. device() opens one by its name.";
  type.def_prop_ro("name", &Device::name, "As devices() has it.")
      .def_prop_ro("is_gpu", &Device::is_gpu, "Whether it is a GPU, also one of software.")
      .def_prop_ro(
          "reason", [](const Device& d) { return d.reason(); }, "Why this one was chosen.")
      .def(
          "wait", [](const Device& d) { released([&] { d.wait(); }); }, "Waits until all that was submitted is done.")
      .def("__eq__",
           [](const Device& a, nb::handle b) {
             Device* other = nullptr;
             if (nb::try_cast(b, other) && other) return a == *other;
             return PyUnicode_Check(b.ptr()) && nb::cast<std::string>(b) == a.name();
           })
      .def("__hash__", [](const Device& d) { return nb::hash(nb::str(d.name().c_str())); })
      .def("__str__", &Device::name)
      .def("__repr__", [](const Device& d) { return "weft.device('" + d.name() + "')"; });
  m.def("open_device", [](const std::string& name) {
    return released([&] { return name == "cpu" ? Device::cpu() : Device::open(name); });
  });
  m.def("default_device", [] { return released([] { return default_device(); }); });
  m.def("set_default_device", &set_default_device);
  nb::class_<DeviceScope>(m, "DeviceScope")
      .def(nb::init<>())
      .def("enter", [](DeviceScope& s, const Device& d) { s.scope.emplace(d); })
      .def("leave", [](DeviceScope& s) { s.scope.reset(); });
  m.def("available_devices", [] {
    nb::list list;
    for (const DeviceDescription& d : released([] { return available_devices(); })) {
      nb::object memory = nb::none();
      if (d.memory) memory = nb::int_(*d.memory);
      list.append(nb::make_tuple(d.open_as, d.name, d.backend, d.type, d.description, memory));
    }
    return list;
  });
  m.def("to_device", [](const Tensor& x, const Device& device) {
    return array(released([&] { return device_of(x) == device ? x : to(x, device); }));
  });
  m.def("contiguous", [](const Tensor& x) { return array(contiguous(x)); });
  m.def("memory_live", [](const Device& d) { return memory::live(d); });
  m.def("memory_peak", [](const Device& d) { return memory::peak(d); });
  m.def("memory_cached", [](const Device& d) { return memory::cached(d); });
  m.def("memory_reset_peak", [](const Device& d) { memory::reset_peak(d); });
  m.def("memory_clear_cache", [](const Device& d) { released([&] { memory::clear_cache(d); }); });
  m.def(
      "memory_set_limit", [](std::optional<std::uint64_t> bytes, const Device& d) { memory::set_limit(bytes, d); },
      nb::arg("bytes").none(), nb::arg("device"));
  m.def("setting", [](const std::string& name) { return flag_text(flag_named(name).flag); });
  m.def("set_setting",
        [](const std::string& name, const std::string& value) { set_flag(flag_named(name).flag, value); });
  m.def("settings", [] {
    nb::list list;
    for (const FlagInfo& f : flags()) list.append(nb::make_tuple(std::string(f.name), std::string(f.help)));
    return list;
  });
}

}  // namespace weft::python
