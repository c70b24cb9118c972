// Profiles of what runs on a device.
#include "core.h"

#include "weft/profile.h"
#include "weft/profile_report.h"

namespace weft::python {

void add_profiles(nb::module_& m) {
  nb::class_<ProfileReport>(m, "ProfileReport")
      .def_prop_ro("title", [](const ProfileReport& r) { return r.title; })
      .def_prop_ro("device", [](const ProfileReport& r) { return r.profile.device; })
      .def_prop_ro("driver", [](const ProfileReport& r) { return r.profile.driver; })
      .def_prop_ro("method", [](const ProfileReport& r) { return r.profile.method; })
      .def_prop_ro("seconds", [](const ProfileReport& r) { return r.profile.seconds; })
      .def_prop_ro("kernel_seconds", [](const ProfileReport& r) { return r.kernel_seconds; })
      .def_prop_ro("repeats", [](const ProfileReport& r) { return r.repeats; })
      .def("rows",
           [](const ProfileReport& r) {
             nb::list rows;
             for (const ProfileRow& row : r.rows) {
               rows.append(nb::make_tuple(row.step, row.kernel, row.variant, row.why, row.calls, row.seconds,
                                          row.work.flops, row.work.bytes, row.share, row.of_limit));
             }
             return rows;
           })
      .def("table", [](const ProfileReport& r, std::size_t rows) { return profile_table(r, rows); })
      .def("json", [](const ProfileReport& r) { return profile_json(r); })
      .def("page", [](const ProfileReport& r) { return released([&] { return profile_page(r); }); })
      .def("trace", [](const ProfileReport& r) { return released([&] { return chrome_trace(r.profile); }); });

  struct ScopeObject {
    std::optional<profile::Scope> scope;
  };
  nb::class_<ScopeObject>(m, "ProfileScope")
      .def("__init__",
           [](ScopeObject* self, const std::string& name, const Device& device) {
             auto made = std::make_unique<ScopeObject>();
             released([&] { made->scope.emplace(name, device); });
             new (self) ScopeObject(std::move(*made));
           })
      // `spans`: (name, start, seconds) of parts of the host's work, from the scope's start on.
      .def("finish",
           [](ScopeObject& s, nb::handle spans, int repeats) {
             if (!s.scope) throw InvalidArgument("profile: the profile has ended");
             std::vector<HostSpan> host;
             for (const nb::handle span : nb::borrow<nb::object>(spans)) {
               const auto t = nb::cast<nb::tuple>(span);
               host.push_back({nb::cast<std::string>(t[0]), nb::cast<double>(t[1]), nb::cast<double>(t[2])});
             }
             return released([&] {
               ProfileReport report = s.scope->report();
               s.scope.reset();
               report.profile.host.insert(report.profile.host.end(), host.begin(), host.end());
               return make_report(std::move(report.profile), report.limits, report.title, repeats);
             });
           })
      .def("end", [](ScopeObject& s) { released([&] { s.scope.reset(); }); });
}

}  // namespace weft::python
