// What a change of the inside must leave as it is: with WEFT_FREEZE=DIRECTORY, the texts of random graphs, what they
// become on each device, and the bits of their results go into files there, to be compared with another build's.
#include <cstdlib>
#include <fstream>

#include "compiler/bound.h"
#include "support/devices.h"
#include "support/random_graph.h"
#include "weft/compile.h"
#include "weft/evaluate.h"

namespace weft {
namespace {

std::uint64_t fnv(std::span<const std::byte> bytes, std::uint64_t hash = 0xcbf29ce484222325u) {
  for (const std::byte b : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3u;
  return hash;
}

std::vector<std::byte> bytes_of(const Tensor& x) {
  std::vector<std::byte> bytes(byte_size(x.type()));
  x.read_bytes(bytes);
  return bytes;
}

TEST(Frozen, RandomGraphs) {
  const char* directory = std::getenv("WEFT_FREEZE");
  if (!directory) GTEST_SKIP() << "WEFT_FREEZE is not set";
  std::ofstream texts(std::string(directory) + "/graphs.txt"), results(std::string(directory) + "/results.txt");
  ASSERT_TRUE(texts && results);
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (unsigned seed = 1; seed <= 200; ++seed) {
      const test::RandomGraph g = test::random_graph(seed, type);
      texts << "---- " << name(type) << ' ' << seed << '\n' << g.graph.to_string() << '\n';
    }
  }
  for (const std::string& device_name : test::all_devices()) {
    const Device device = test::device_named(device_name);
    std::ofstream compiled(std::string(directory) + "/compiled." + device_name + ".txt");
    for (unsigned seed = 1; seed <= (device.is_gpu() ? 40u : 200u); ++seed) {
      const test::RandomGraph g = test::random_graph(seed);
      Executable exe = compile(g.graph, device);
      compiled << "---- " << seed << '\n' << exe.report().graph << '\n';
      results << device_name << ' ' << seed;
      const test::Bound bound(device, g.graph, g.inputs);
      bound.run(exe);
      for (const auto& [output_name, output] : bound.outputs_)
        results << ' ' << std::hex << fnv(bytes_of(output)) << std::dec;
      results << '\n';
    }
  }
}

}  // namespace
}  // namespace weft
