// What makes a Model of a file that was read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include "onnx/tracer.h"
#include "weft/onnx.h"

namespace weft::onnx {

// A file that was read, whose bytes the owner keeps; external data are looked for in the folder. Throws FormatError.
Source source_of(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                 const std::filesystem::path& folder);
Description describe(const Source& source);
// Throws Unsupported for an opset or for operators that Weft lacks, which it lists with their nodes.
void check_operators(const Source& source, const Description& description);
// Calls f with each tensor of the model that has data in another file; `main`: it is an initializer of the main graph.
void each_external(const ModelProto& model, const std::function<void(const TensorProto& tensor, bool main)>& f);

// Of a source whose `initializers` and `resident` have what was read elsewhere; the others are read here.
std::shared_ptr<Model::Impl> make_model(Source source, const Options& options);

}  // namespace weft::onnx
