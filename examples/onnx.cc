// A model in ONNX's format recognises handwritten digits, with an operator of the program's own, and is written again:
// onnx [MODEL.onnx].
#include <cstdio>
#include <filesystem>
#include <string>

#include <weft/weft.h>

using namespace weft;

int main(int argc, char** argv) {
  const std::string data = WEFT_EXAMPLE_DATA, path = argc > 1 ? argv[1] : data + "/digits.onnx";

  auto model = onnx::Model::load(path);              // on the default device: the best GPU, or the cpu
  auto pictures = load(data + "/digits.npy");        // u8 [1797, 64]
  auto outputs = model.run({{"pixels", pictures}});  // compiled for this shape; returns before it is done
  auto digits = outputs[1].read<std::int64_t>();     // the only place that waits
  for (const onnx::Port& port : model.inputs()) std::printf("%s: %s\n", port.name.c_str(), port.type.c_str());
  auto eight = pictures[slice(0, 8)];
  print(model.run({{"pixels", eight}})[1]);  // another shape: compiled again, the weights stay

  Tensor answers(model.device(), DType::i64, {8});       // memory of the program's own
  model.run({{"pixels", eight}}, {{"digit", answers}});  // written there, run after run

  const auto labels = load(data + "/digits_labels.npy").read<std::uint8_t>();
  std::size_t right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) right += digits[i] == labels[i];
  std::printf("%zu of %zu digits are recognised, %zu forms were compiled\n", right, labels.size(),
              model.compilations());
  bool good = answers.read<std::int64_t>()[3] == labels[3];
  good &= right > 1780 && model.compilations() == 2 && model.reads() == 0;

  // An operator of the program's own: here in place of one that there is.
  onnx::Options options;
  options.operators.push_back({"ai.onnx", "Relu", [](const onnx::OperatorCall& node) {
                                 const double slope = node.number("slope", 0.01);  // 0.01 without the attribute
                                 return std::vector{leaky_relu(node.input(0), slope)};
                               }});
  auto leaky = onnx::Model::load(path, options);
  print(leaky.run({{"pixels", eight}})[1]);

  // The model as a graph, of which another one is made and written.
  Graph recognise = leaky.graph({{"pixels", {8, 64}}});
  const std::string written = (std::filesystem::temp_directory_path() / "weft_example_leaky.onnx").string();
  onnx::save(written, recognise);
  auto again = onnx::Model::load(written);  // and ONNX Runtime loads it
  print(again.run({{"pixels", eight}})[1]);
  good &=
      again.run({{"pixels", eight}})[1].read<std::int64_t>() == leaky.run({{"pixels", eight}})[1].read<std::int64_t>();

  // A function that compile() made.
  auto gate = compile([](Tensor x, Tensor w) { return silu(matmul(x, w)); });
  onnx::save(written, gate.graph(ones({2, 3}), ones({3, 4})));
  good &= onnx::describe(written).inputs.size() == 2;
  std::filesystem::remove(written);
  return good ? 0 : 1;
}
