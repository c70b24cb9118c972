// What a person has as inputs of a model of ONNX: arrays, pictures, sounds, texts, or nothing but shapes.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "pictures.h"
#include "weft/onnx.h"
#include "weft/text.h"

namespace weft::app {

struct InputArguments {
  std::vector<std::string> inputs, shapes, texts;
  std::string tokenizer;
  PictureOptions pictures;
  std::int64_t rate = 0;
  int seed = 0;
  // Whose options these are: those for files are refused where no input is such a file. None: they were not offered.
  const CLI::App* command = nullptr;
};

// --shape and --seed, of commands that make inputs.
void add_shape_options(CLI::App& command, InputArguments& arguments);
// -i, with what the command does with inputs.
void add_input_option(CLI::App& command, InputArguments& arguments, const char* help);
// These, and all that read files.
void add_input_options(CLI::App& command, InputArguments& arguments);

// What the footers of the commands say of inputs.
extern const char* const kModelInputsHelp;

// "x f32 [n, 3, 224, 224]".
std::string to_text(const onnx::Port& port);

// The graph in a file, with the shapes that --shape gives its inputs.
Graph load_graph_file(const std::filesystem::path& path, const InputArguments& arguments);
// The inputs of a graph, and behind them its numbers, as those of a model: with the shapes that it was recorded with,
// in place of which make_inputs() and input_shapes() take others.
std::vector<onnx::Port> ports_of(const Graph& graph);
onnx::Port port_of(const Graph::Port& port);

// A value for each input of a model, on the cpu. `note` is told what was not said: inputs that are random, sizes that
// were cut. Throws InvalidArgument, ShapeError and TypeError, which name the input, and what reading files does.
std::vector<onnx::NamedValue> make_inputs(const std::filesystem::path& model, const std::vector<onnx::Port>& ports,
                                          const InputArguments& arguments,
                                          const std::function<void(const std::string&)>& note);

// The input for the ids of texts. Throws InvalidArgument if there is none.
std::string ids_port(const std::vector<onnx::Port>& ports);
// Texts as the inputs for ids, attention masks, token types and positions that the model has, [texts, length], on the
// cpu.
std::vector<onnx::NamedValue> text_inputs(const std::vector<onnx::Port>& ports, const std::string& ids_name,
                                          std::span<const text::Ids> ids, const text::Tokenizer& tokenizer,
                                          std::size_t length);

// What -i gives, for graphs that have these inputs as constants, and the shapes of the others.
struct FixedInputs {
  std::vector<onnx::NamedValue> values;
  std::vector<NamedShape> shapes;
};
FixedInputs fixed_inputs(const std::filesystem::path& model, const std::vector<onnx::Port>& ports,
                         const InputArguments& arguments, const std::function<void(const std::string&)>& note);

// The shapes alone, which --shape and the model give; sizes that both leave open are 1.
std::vector<NamedShape> input_shapes(const std::filesystem::path& model, const std::vector<onnx::Port>& ports,
                                     const InputArguments& arguments);

}  // namespace weft::app
