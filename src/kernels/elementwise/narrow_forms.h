// Shorter forms of functions: for narrow floats, which need less precision, and for devices whose own functions passed
// a test.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/library.h"
#include "weft/expression.h"

namespace weft::kernels {

// The float type for which each node's function is computed: its operands' type, or, if these are f32, the narrow type
// to which the result is rounded on all of its paths, if there are only selections and constant factors on them, so
// that the relative error of the short form is that of the end result. The factors are limited: large ones might
// magnify what the short form flushes to 0.
std::vector<DType> computed_for(const Expression& expression);

// The name, without a suffix, of the node's function if it has a short form for narrow floats; else empty. `type`, here
// and below: the type for which it is computed.
std::string_view narrow_function(const Expression::Node& node, DType type);
// What is appended to that name: "_narrow", or another suffix where the arguments or the type have a form of their own.
std::string_view narrow_suffix(const Expression& expression, const Expression::Node& node, DType type);

// A function of the library, and the suffix of its device-specific form that reports the arguments which need the slow
// path.
struct ReportingForm {
  std::string_view name, suffix, form_suffix;
};
// Nothing if the device has none.
std::optional<ReportingForm> reporting_form(const Expression::Node& node, DType type, const DeviceForms& device_forms);

// A function's form for narrow floats that leaves the slow path of some arguments to the caller. `test` is the function
// that says which of them do; if it takes a limit, that is `limit`.
struct FastPathForm {
  std::string_view name, suffix;
  std::string_view test_suffix;   // of a test of the function's own name; empty: is_beyond_f32
  std::string_view limit_suffix;  // of the limit that is_beyond_f32 takes
};
// Nothing if the function has no short form on the device, or one without exceptions.
std::optional<FastPathForm> fast_path_form(const Expression& expression, const Expression::Node& node, DType type,
                                           const DeviceForms& device_forms);

}  // namespace weft::kernels
