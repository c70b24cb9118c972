// weft graph: draws the graph of a model, or of a file.

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <format>
#include <span>

#include "command_line.h"
#include "commands.h"
#include "core/format.h"
#include "core/suffix.h"
#include "model_inputs.h"
#include "output.h"
#include "weft/draw.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/graph_file.h"
#include "weft/models.h"
#include "weft/onnx.h"

namespace weft::app {
namespace {

// Runs Graphviz on `dot` and returns its SVG.
std::string render(const std::string& dot) {
  std::FILE* source = std::tmpfile();
  if (!source || std::fwrite(dot.data(), 1, dot.size(), source) != dot.size() || std::fflush(source) != 0) {
    throw IoError("the graph cannot be written to a temporary file: {}", std::strerror(errno));
  }
  std::rewind(source);
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) throw IoError("no pipe to Graphviz: {}", std::strerror(errno));
  const pid_t child = fork();
  if (child == 0) {
    dup2(fileno(source), STDIN_FILENO);
    dup2(pipe_ends[1], STDOUT_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    execlp("dot", "dot", "-Tsvg", nullptr);
    _exit(127);
  }
  std::fclose(source);
  close(pipe_ends[1]);
  std::string svg;
  char block[65536];
  for (ssize_t n; (n = read(pipe_ends[0], block, sizeof block)) > 0;) svg.append(block, static_cast<std::size_t>(n));
  close(pipe_ends[0]);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
      throw IoError(
          "Graphviz (the program dot) is not installed; install it, or write --output graph.html, which needs none");
    }
    throw IoError("Graphviz failed on the graph; --output graph.dot writes its source");
  }
  return svg;
}

struct GraphArguments {
  std::string model;
  std::string output = "graph.svg";
  int batch = 1;
  int length = 32;
  int depth = -1;
  bool compiled = false;
  InputArguments inputs;  // of a model of ONNX
};

// What fits a screen.
constexpr int kBoxes = 40;

constexpr const char* kFooter = R"(The picture
  Boxes are operations, coloured by their family as in the pages of weft profile. Constants are lines of the
  boxes that read them; reshape, transpose, slice and broadcast compute nothing, and are words on the arrows.
  What has a label in common, such as layers.0, is a layer. --depth 0 draws each layer as one box, 1 what is
  in it, and so on; without it as much is open as fits a screen. FILE.html is a page that needs no other file:
  its layers open at a click, and a box shows all that is known of it.

Files
  A graph that a program wrote, save("step.safetensors", graph) or f.save("step.safetensors", x) of a compiled
  function (weft/graph_file.h), is drawn with the shapes that it has, or those of --shape where sizes are no part
  of it. A model of ONNX is drawn for the shapes of --shape; sizes that it leaves open are 1 without it, and its nodes'
  names are the layers. Where the graph depends on what an input holds, -i NAME=VALUE makes that input a constant. -o FILE.onnx writes the graph as a model of ONNX instead of a picture, -o FILE.safetensors as a
  file of Weft's own, which keeps what ONNX has no words for: so both formats become each other.

Examples
  weft graph resnet50.onnx --shape batch=8 --compiled -o resnet50.html
  weft graph step.safetensors --compiled -o step.html
  weft graph MODEL --compiled --batch 32 --length 128 -o minilm.html
  weft graph MODEL --depth 0 -o minilm.svg
  weft graph step.safetensors --shape x=8,384 -o step.onnx
  weft graph encoder.onnx --shape ids=1,128 -o encoder.safetensors
  weft graph silero_vad.onnx --shape input=1,512 -i sr=16000 -o silero_vad.safetensors
  weft graph MODEL -o - | dot -Tpdf > minilm.pdf
)";

// Instead of a picture.
bool is_converted(const GraphArguments& a) {
  return has_suffix(a.output, ".onnx") || has_suffix(a.output, ".safetensors");
}

// Throws IoError where there is none.
void check_directory_of(const std::filesystem::path& path) {
  if (!path.has_parent_path()) return;
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path.parent_path(), error);
  if (std::filesystem::is_directory(status)) return;
  throw IoError("{}: cannot be written: {}", path.string(),
                std::strerror(status.type() == std::filesystem::file_type::regular ? ENOTDIR
                              : error                                              ? error.value()
                                                                                   : ENOENT));
}

std::string title_of(const GraphArguments& a, bool from_file) {
  std::string title = std::filesystem::weakly_canonical(a.model).filename().string();
  for (const std::string& shape : a.inputs.shapes) title += ", " + shape;
  for (const std::string& input : a.inputs.inputs) title += ", " + input;
  if (!from_file) title += std::format(": {} × {} tokens", a.batch, a.length);
  return title + (a.compiled ? ", compiled" : "");
}

Graph graph_of(const GraphArguments& a, bool from_file) {
  if (has_suffix(a.model, ".onnx")) {
    const DefaultDeviceScope host(Device::cpu());
    const auto model = onnx::Model::load(a.model, {.device = Device::cpu()});
    const FixedInputs fixed = fixed_inputs(a.model, model.inputs(), a.inputs, [](const std::string& note) {
      std::fprintf(stderr, "weft: %s\n", note.c_str());
    });
    std::vector<NamedTensor> constants;
    for (const onnx::NamedValue& v : fixed.values) {
      if (!v.value.tensor.defined())
        throw InvalidArgument("-i {}: it is no tensor, as constants of a graph are", v.name);
      constants.push_back({v.name, v.value.tensor});
    }
    return model.graph(fixed.shapes, constants);
  }
  if (from_file) return load_graph_file(a.model, a.inputs);
  const auto encoder = models::SentenceEncoder::load(a.model, Device::cpu(), {.tokenizer = false});
  return encoder.graph(a.batch, a.length);
}

}  // namespace

void add_graph(CLI::App& app) {
  auto a = std::make_shared<GraphArguments>();
  CLI::App* command =
      app.add_subcommand("graph", "Draw what a model, or a graph in a file, computes: a page, SVG or dot");
  command
      ->add_option(
          "MODEL", a->model,
          "Directory in Hugging Face's layout, a model FILE.onnx, or a graph in a file: FILE.safetensors, see below")
      ->required()
      ->check(check_path);
  command
      ->add_option("-o,--output", a->output,
                   "FILE.html, a page whose layers open; FILE.svg, through Graphviz; or FILE.dot, as is '-', which "
                   "prints it, and "
                   "a name without an ending; or the graph itself as FILE.onnx or FILE.safetensors")
      ->capture_default_str()
      ->check(check_path)
      ->check([](const std::string& path) {
        const bool known = !std::filesystem::path(path).has_extension() || has_suffix(path, ".html") ||
                           has_suffix(path, ".svg") || has_suffix(path, ".dot") || has_suffix(path, ".onnx") ||
                           has_suffix(path, ".safetensors");
        return known ? std::string()
                     : std::format("'{}' ends in none of .html, .svg, .dot, .onnx and .safetensors", path);
      });
  command->add_option("--depth", a->depth, "How many levels of layers are drawn open; default: as many as fit a screen")
      ->check(whole_number(0, 1000));
  command->add_option("--batch", a->batch, "Sentences")->check(whole_number(1, 65536))->capture_default_str();
  command->add_option("--length", a->length, "Tokens a sentence")->check(whole_number(1, 65536))->capture_default_str();
  command->add_flag("--compiled", a->compiled, "Draw it as it will run, after fusion, instead of as the model says it");
  add_shape_options(*command, a->inputs);
  add_input_option(*command, a->inputs,
                   "A value of a model's input, which becomes a constant of the graph: a number, zeros, random, "
                   "FILE.npy, or another file as weft run takes it");
  add_setting(*command, Flag::device, "Where it would run, for --compiled: as for weft embed");
  add_precision(*command);
  command->footer(kFooter);
  command->callback([a, command] {
    const bool from_file = is_graph_file(*command, a->model, {"--batch", "--length"});
    if (command->count("--shape") && !has_suffix(a->model, ".onnx") && !from_file)
      throw CLI::ValidationError("--shape", "is for models of ONNX and graphs in files");
    if (command->count("--input") && !has_suffix(a->model, ".onnx"))
      throw CLI::ValidationError("--input", "is for models of ONNX");
    if (a->compiled && is_converted(*a)) {
      throw CLI::ValidationError("--compiled", "is for pictures; a file holds the graph as it was recorded");
    }
    Graph graph = graph_of(*a, from_file);
    if (is_converted(*a)) {
      check_directory_of(a->output);
      if (has_suffix(a->output, ".onnx"))
        onnx::save(a->output, graph);
      else
        save(a->output, graph);
      std::fprintf(stderr, "weft: %s written\n", a->output.c_str());
      return;
    }
    if (a->compiled) graph = optimized(graph, Device::open());
    const DrawOptions draw{.depth = a->depth >= 0 ? a->depth : depth_of_boxes(graph, kBoxes)};
    Output out(a->output);
    if (has_suffix(a->output, ".html"))
      out.write(graph_page(graph, title_of(*a, from_file), draw));
    else if (has_suffix(a->output, ".svg"))
      out.write(render(to_dot(graph, draw)));
    else
      out.write(to_dot(graph, draw));
    out.commit();
    if (a->output != "-") std::fprintf(stderr, "weft: %s written\n", a->output.c_str());
  });
}

}  // namespace weft::app
