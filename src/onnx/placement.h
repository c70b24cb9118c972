// Which nodes of a model a device cannot compute, and why.
#pragma once

#include <map>
#include <string>

#include "onnx/tracer.h"
#include "weft/compile.h"
#include "weft/device.h"

namespace weft::onnx {

struct Placement {
  Refused refused;  // other devices may have them
  Refused lacking;  // no device has them
};

// Traces the model node by node, and plans each for the device without compiling a kernel. Up to the first value that
// must be read: what depends on it is left out.
Placement find_refused(const Source& source, const Known& known,
                       const std::map<std::string, std::size_t, std::less<>>& sequences, const Device& device,
                       const CompileOptions& options);

// "'name' (Op)": how a message calls a node.
std::string in_words(const NodeProto& node);

}  // namespace weft::onnx
