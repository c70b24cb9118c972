// A model in ONNX's format recognises handwritten digits: onnx [MODEL.onnx].
#include <cstdio>
#include <string>

#include <weft/weft.h>

using namespace weft;

int main(int argc, char** argv) {
  const std::string data = WEFT_EXAMPLE_DATA, path = argc > 1 ? argv[1] : data + "/digits.onnx";

  auto model = onnx::Model::load(path);                  // on the default device: the best GPU, or the cpu
  for (const onnx::Port& port : model.inputs()) std::printf("%s: %s\n", port.name.c_str(), port.type.c_str());
  auto pictures = load(data + "/digits.npy");            // u8 [1797, 64]
  auto outputs = model.run({{"pixels", pictures}});      // compiled for this shape; returns before it is done
  auto digits = outputs[1].read<std::int64_t>();         // the only place that waits
  auto first = model.run({{"pixels", pictures[slice(0, 8)]}});  // another shape: compiled again, weights stay
  print(first[1]);

  const auto labels = load(data + "/digits_labels.npy").read<std::uint8_t>();
  std::size_t right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) right += digits[i] == labels[i];
  std::printf("%zu of %zu digits are recognised, %zu forms were compiled\n", right, labels.size(), model.compilations());
  return right > 1780 && model.compilations() == 2 && model.reads() == 0 ? 0 : 1;
}
