// The kernel library by name: for frameworks that keep a table of operations, and for bindings of other languages. Each
// row is a schema (weft/schema.h) and how the kernel is called; its contract is in the header of its family.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "weft/schema.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

struct Arguments {
  // In the order of the schema. An optional operand that is not given is left out at the end, or an empty View.
  std::span<const View> inputs = {};
  std::span<const View> outputs = {};
  AttributeMap attributes = {};
};

// A kernel's row. family "softmax": its header is weft/kernels/softmax.h. A form of a kernel that has a name of its
// own, such as argsort of sort, takes operands and attributes of its own, as the row that find() gives for it says.
struct KernelInfo : Schema {
  std::function<void(Stream&, const Arguments&)> run;  // takes arguments that call() has checked and completed
};

// All kernels, by family.
std::span<const KernelInfo> table();
// By its name or an alias; null if there is none of that name.
const KernelInfo* find(std::string_view name);
// The same; throws InvalidArgument, with the nearest name, if there is none.
const KernelInfo& kernel(std::string_view name);

// Runs a kernel. Throws InvalidArgument if there is none of that name (the message names the nearest), for operands
// that are too few or too many or of types and ranks that do not fit its schema, for an attribute that is missing,
// unknown or of another kind, and whatever the kernel itself throws.
void call(Stream& stream, std::string_view name, const Arguments& arguments);

}  // namespace weft::kernels
