// Graphs in files: to ship a computation without the program that recorded it, to look at it, to profile it.
//
//   save("step.safetensors", graph);
//   Graph again = load_graph("step.safetensors");     // computes the same bits
//
//   weft graph step.safetensors -o step.html          # on the command line
//   weft profile graph step.safetensors
//
// A file is a .safetensors file (weft/safetensors.h), so that every tool of that format reads its constants. What they
// are for is the string "weft.graph" of its metadata, a JSON text:
//   {"format": "weft graph", "version": 1, "name": "step", "nodes": [
//   {"op": "input", "name": "x", "results": [{"dtype": "f32", "shape": [2, 3]}]},
//   {"op": "constant", "name": "w", "tensor": "w", "results": [{"dtype": "f32", "shape": [3, 4]}]},
//   {"op": "matmul", "inputs": [[0, 0], [1, 0]], "attributes": {}, "results": [{"dtype": "f32", "shape": [2, 4]}],
//    "label": "layers.0"}], "outputs": [{"name": "y", "value": [2, 0]}]}
// - Nodes stand in an order in which they can be computed; an operand is the place of a node before it and which of its
//   results is meant. Inputs and numbers of the graph are nodes, in the graph's order.
// - Ops and their attributes are those of docs/ops.md. Numbers are exact: integers of up to 64 bits with all their
//   digits, floats as the shortest text that gives them back; what JSON has no number for is a text: "inf", "-inf",
//   "nan", or "nan:" and the 16 hexadecimal digits of another NaN.
// - A constant's "tensor" names its elements in the file; constants of equal elements share them, and one without
//   elements has none. Types that the format lacks (i4, u4, i2, u2) are there as the bytes that they take, U8 [bytes].
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "weft/graph.h"

namespace weft {

// Writes the graph as it was recorded. Tensors with data that it captured become constants with the values that they
// have now, which this waits for. A file that is there is replaced once the new one is complete. Throws Unsupported for
// what is no data: a custom kernel, and ops that only the compiler makes, in what optimized() returns; InvalidArgument
// for names and labels that are not UTF-8; IoError.
void save(const std::filesystem::path& path, const Graph& graph);

// The graph of such a file, with the same inputs, numbers, outputs and labels. The file is mapped: constants are read
// from it where they are needed, and not copied. Throws IoError; FormatError, which names the node, for a file that is
// damaged or says what cannot be: unknown attributes, operands that are not before their node, results that are not
// what the op makes of its operands, tensors that are missing; Unsupported for a later version of the format and for
// ops that this version of Weft does not have.
Graph load_graph(const std::filesystem::path& path);
// The same of a file in memory, which `owner` keeps for as long as a constant needs it; errors call it `source`.
Graph load_graph(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const std::string& source);

}  // namespace weft
