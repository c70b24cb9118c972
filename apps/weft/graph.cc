// weft graph: draws the graph of a model.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <format>

#include "command_line.h"
#include "commands.h"
#include "output.h"
#include "weft/error.h"
#include "weft/models.h"

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
      throw IoError("Graphviz (the program dot) is not installed; install it, or write --output graph.dot");
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
  bool compiled = false;
};

}  // namespace

void add_graph(CLI::App& app) {
  auto a = std::make_shared<GraphArguments>();
  CLI::App* command = app.add_subcommand("graph", "Draw what a model computes, as SVG (through Graphviz) or dot");
  command->add_option("MODEL", a->model, "Directory in Hugging Face's layout")->required();
  command->add_option("-o,--output", a->output, "FILE.svg or FILE.dot; '-' prints dot")
      ->capture_default_str()
      ->check([](const std::string& path) {
        const bool known = path == "-" || path.ends_with(".svg") || path.ends_with(".dot");
        return known ? std::string() : std::format("'{}' ends in neither .svg nor .dot", path);
      });
  command->add_option("--batch", a->batch, "Sentences")->check(CLI::Range(1, 65536))->capture_default_str();
  command->add_option("--length", a->length, "Tokens a sentence")->check(CLI::Range(1, 65536))->capture_default_str();
  command->add_flag("--compiled", a->compiled, "Draw it as it will run, after fusion, instead of as the model says it");
  add_setting(*command, Flag::device, "Where it would run, for --compiled: as for weft embed");
  add_precision(*command);
  command->footer("Example: weft graph MODEL --compiled --batch 32 --length 128 -o minilm.svg\n");
  command->callback([a] {
    const models::SentenceEncoder encoder = models::SentenceEncoder::load(a->model, Device::cpu());
    Graph graph = encoder.graph(a->batch, a->length);
    if (a->compiled) graph = optimized(graph, Device::open());
    const std::string dot = graph.to_dot();
    Output out(a->output);
    out.write(a->output.ends_with(".svg") ? render(dot) : dot);
    out.commit();
    if (a->output != "-") std::fprintf(stderr, "weft: %s written\n", a->output.c_str());
  });
}

}  // namespace weft::app
