// Any bytes must be the file of a graph, which is verified and written to the same file again, or cause a typed error.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "check.h"
#include "weft/error.h"
#include "weft/graph_file.h"

namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void load(std::shared_ptr<const std::string> file) {
  try {
    const weft::Graph graph = weft::load_graph(std::as_bytes(std::span(*file)), file, "fuzz");
    graph.verify();
    FUZZ_CHECK(graph.hash() == weft::Graph(graph).hash());
    // What is written of it is read as the same. (Nodes that no output needs are not written.)
    static const auto path =
        std::filesystem::temp_directory_path() / ("weft_fuzz_" + std::to_string(std::rand()) + ".safetensors");
    weft::save(path, graph);
    const std::string first = contents(path);
    weft::save(path, weft::load_graph(path));
    FUZZ_CHECK(contents(path) == first);
    std::filesystem::remove(path);
  } catch (const weft::FormatError&) {
  } catch (const weft::Unsupported&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  load(std::make_shared<const std::string>(input));

  // Again as the text of the graph, in a file with two constants.
  nlohmann::json header{{"__metadata__", {{"weft.graph", input}}},
                        {"w", {{"dtype", "F32"}, {"shape", {3}}, {"data_offsets", {0, 12}}}},
                        {"b", {{"dtype", "U8"}, {"shape", {4}}, {"data_offsets", {12, 16}}}}};
  const std::string head = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(head.size() >> (8 * i));
  load(std::make_shared<const std::string>(file + head + std::string(16, '\1')));
  return 0;
}
