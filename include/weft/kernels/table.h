// The kernel library by name: for frameworks with a table of operations, and for bindings to other languages. Each row
// lists what a kernel takes; its contract is in the header of its family.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// An integer also stands for a number or a truth value (0, 1).
using Attribute = std::variant<std::int64_t, double, std::string, std::vector<int>>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

struct Arguments {
  // In the order that the row names. An optional operand that is not given is left out at the end, or an empty View.
  std::span<const View> inputs;
  std::span<const View> outputs;
  Attributes attributes;
};

struct KernelInfo {
  std::string name;        // "softmax"
  std::string family;      // "softmax": its header is weft/kernels/softmax.h
  std::string inputs;      // "x scale? bias?": names, optional ones with a question mark, "x..." for any number
  std::string outputs;     // "y"
  std::string attributes;  // "axis:integer epsilon:number=1e-5 axes:integers op:text": a default makes it optional
  std::string summary;     // a line
  // Other names that find() and call() accept: "rint round_even". A form of the kernel with a name of its own, such as
  // argsort for sort, has its own operands and attributes, which are in the row that find() returns for it.
  std::string other_names;
  std::function<void(Stream&, const Arguments&)> run;
};

// All kernels, by family.
std::span<const KernelInfo> table();
// By its name or an alias; null if there is none of that name.
const KernelInfo* find(std::string_view name);

// Runs a kernel. Throws InvalidArgument if there is none of that name (the message names the nearest), if operands are
// too few or too many, if an attribute is missing, unknown or of another kind, and whatever the kernel itself throws.
void call(Stream& stream, std::string_view name, const Arguments& arguments);

}  // namespace weft::kernels
