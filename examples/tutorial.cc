// The programs of docs/tutorial.md, in its order: a search for near vectors, from a first tensor to a kernel of its
// own.
//   tutorial [MODEL_DIR]      with a sentence encoder also the part on sentences
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "weft/weft.h"

using namespace weft;

namespace {

void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "not as the tutorial says: %s\n", what);
  std::exit(1);
}

void first_tensors() {
  auto points = tensor({3, 2}, {3, 4, 0, 2, -1, 0});  // f32 [3, 2]: three points of the plane
  print(points);
  auto lengths = sqrt((points * points).sum(1, true));  // [3, 1]: of each row
  auto unit = points / lengths;                         // [3, 1] broadcasts to [3, 2]
  print(unit);
  auto cosines = matmul(unit, unit.T());  // [3, 3]: of each point with each
  print(cosines);

  std::string message;
  try {
    auto wrong = points + lengths.T();
  } catch (const ShapeError& e) {
    message = e.what();
  }
  expect(message == "add: shapes [3, 2] and [1, 3] do not broadcast: sizes 2 and 3 meet 1 from the end",
         message.c_str());
  expect(to_string(unit) == "[[ 0.6  0.8]\n [ 0.   1. ]\n [-1.   0. ]]", to_string(unit).c_str());
  expect(std::abs(cosines[{0, 1}].item<float>() - 0.8f) < 1e-5f, "cosines");
}

void choosing() {
  auto table = arange(12).reshape({3, 4});  // i32 [3, 4]: rows 0…3, 4…7, 8…11
  auto row = table[1];                      // [4 5 6 7]
  auto corner = table[{slice(0, 2), -1}];   // [3 7]: the last column of the first two rows
  auto large = table[table > 8];            // [ 9 10 11]
  auto picked = table[tensor({2, 0})];      // rows 2 and 0
  table.set({all, 0}, 100);                 // a new value in this handle …
  print(table);
  print(row);  // … and [4 5 6 7] still in this one

  expect(to_string(corner) == "[3 7] i32" && to_string(large) == "[ 9 10 11] i32", "indexing");
  expect(to_string(row) == "[4 5 6 7] i32" && picked.sum().item<int>() == 38 + 6, "handles");
  expect(table[{1, 0}].item<int>() == 100, "set");
}

void laziness() {
  auto x = random::normal({1000, 64});
  auto y = exp(x) / 2;                 // nothing has run: y is a recipe
  const bool before = y.has_data();    // false
  eval(y);                             // submits the work, and does not wait
  const bool after = y.has_data();     // true: it has memory on the device
  auto mean = y.mean().item<float>();  // waits, and copies one number

  expect(!before && after, "has_data");
  expect(mean > 0.7f && mean < 1, "the mean of exp(normal) / 2 is near sqrt(e) / 2");
}

void places() {
  auto x = tensor({4}, {1, 2, 3, 4});                // uploaded to the default device
  std::printf("%s\n", x.device().reason().c_str());  // which one that is, and why
  std::vector<float> values = x.to_vector<float>();  // back in the program's memory
  auto reversed = x[slice(none, none, -1)];          // another view of the same memory: nothing moves
  auto on_cpu = to(reversed * 2, Device::cpu());     // computed where x is, then copied
  print(on_cpu);

  expect(values[3] == 4 && on_cpu.device() == Device::cpu(), "to(cpu)");
  expect(on_cpu.to_vector<float>() == std::vector<float>{8, 6, 4, 2}, "places");
}

void a_function() {
  struct Hits {
    Tensor scores, rows;
  };
  int traced = 0;
  auto search = compile([&](Tensor library, Tensor queries) {
    ++traced;
    auto best = top_k(matmul(queries, library.T()), 3);  // of each query the three nearest rows
    return Hits{best.values, best.indices};
  });
  auto library = random::normal({5000, 64});
  library /= sqrt((library * library).sum(1, true));
  auto hits = search(library, library[slice(0, 8)]);  // traced, compiled, and run
  hits = search(library, library[slice(8, 16)]);      // the same types: only run
  print(hits.rows[{all, 0}]);                         // each row is nearest to itself: 8 … 15

  expect(traced == 1, "traced once");
  expect(to_string(hits.rows[{all, 0}]) == "[ 8  9 10 11 12 13 14 15] i32", "hits");
}

void graphs() {
  const Device device = Device::open();
  Graph graph("search");
  auto library = graph.input("library", DType::f32, {5000, 64});
  auto queries = graph.input("queries", DType::f32, {8, 64});
  auto best = top_k(matmul(queries, library.T()), 3);
  graph.output("scores", best.values);
  graph.output("rows", best.indices);
  auto exe = compile(graph, device);
  for (const ScheduleStep& step : exe.report().steps) std::printf("  %s\n", step.label.c_str());

  Tensor vectors(device, DType::f32, {5000, 64}), some(device, DType::f32, {8, 64});
  std::vector<float> numbers(5000 * 64);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<float>(i * i % 9973));
  vectors.write(std::as_bytes(std::span(numbers)));
  some.write(std::as_bytes(std::span(numbers).first(8 * 64)));
  Tensor scores(device, DType::f32, {8, 3}), rows(device, DType::i32, {8, 3});
  exe.run({{"library", vectors}, {"queries", some}},  // returns when the work is submitted
          {{"scores", scores}, {"rows", rows}});
  auto first = rows.read<int>()[0];  // waits for it

  std::string message;
  try {
    exe.run({{"library", vectors}, {"query", some}}, {{"scores", scores}, {"rows", rows}});
  } catch (const InvalidArgument& e) {
    message = e.what();
  }

  save("search.safetensors", graph);  // its constants too, to the bit
  Graph shipped = load_graph("search.safetensors");

  expect(shipped.equals(graph), "a graph in a file");
  expect(first >= 0 && first < 5000 && scores.read<float>()[0] > 0, "graph");
  expect(message ==
             "run: the graph has no input \"query\"; it has \"library\", \"queries\"; the nearest name is "
             "\"queries\"",
         message.c_str());
}

void profiles() {
  auto x = random::normal({512, 512});
  eval(x);
  profile::Scope scope("three products");
  for (int i = 0; i < 3; ++i) {
    x = softmax(matmul(x, x) / 22, -1) * 512;
    eval(x);
  }
  const auto report = scope.report();                   // waits, and ends the scope
  std::printf("%s", profile_table(report, 5).c_str());  // the five steps that took the most time

  expect(!report.rows.empty() && report.kernel_seconds > 0, "profile");
}

// The signs of 32 neighbouring elements as the bits of a word.
std::shared_ptr<const CustomKernel> sign_bits() {
  auto kernel = std::make_shared<CustomKernel>();
  kernel->name = "sign_bits";
  kernel->inputs = {"x"};
  kernel->outputs = {"bits"};
  kernel->wgsl = R"(
fn kernel(i: u32) {
  var word = 0u;
  for (var k = 0u; k < 32; k++) { word |= select(0u, 1u, load_x(32 * i + k) < 0) << k; }
  store_bits(i, word);
})";
  kernel->infer = [](std::span<const TensorType> in) {
    if (in[0].shape.rank() != 2 || in[0].shape[1] % 32 != 0) {
      throw ShapeError("sign_bits: x is " + to_string(in[0]) + ", expected rows of a multiple of 32");
    }
    return std::vector<TensorType>{{DType::u32, {in[0].shape[0], in[0].shape[1] / 32}}};
  };
  kernel->cpu = [](std::span<const View> in, std::span<const View> out) {  // for the device cpu
    const auto* x = reinterpret_cast<const float*>(in[0].buffer.data() + in[0].offset);
    auto* bits = reinterpret_cast<std::uint32_t*>(out[0].buffer.data() + out[0].offset);
    for (std::int64_t i = 0; i < out[0].count(); ++i) {
      bits[i] = 0;
      for (int k = 0; k < 32; ++k) bits[i] |= (x[32 * i + k] < 0 ? 1u : 0u) << k;
    }
  };
  return kernel;
}

void own_kernel() {
  auto vectors = random::normal({1000, 64});
  auto codes = custom(sign_bits(), std::vector{vectors})[0];            // u32 [1000, 2]: a 32nd of the memory
  auto differing = popcount(codes ^ codes[7]).cast(DType::i32).sum(1);  // how many signs differ from row 7
  auto nearest = top_k(differing, 2, -1, false);
  print(nearest.indices);  // row 7 itself, and the next

  expect(nearest.indices[0].item<int>() == 7 && nearest.values[0].item<int>() == 0, "codes");
  auto by_hand = ((vectors < 0) != (vectors[7] < 0)).cast(DType::i32).sum(1);
  expect(all(differing == by_hand).item<bool>(), "popcount");
}

void sentences(const std::string& directory) {
  const std::vector<std::string> sentences = {"A cat sleeps on the sofa.", "The stock market fell today.",
                                              "Bread is baked in an oven.", "A kitten naps on the couch."};
  auto encoder = models::load(directory);   // config.json says which kind of model
  auto library = encoder.embed(sentences);  // f32 [4, 384], on the device
  auto query = encoder.embed(std::vector<std::string>{"Where is the little cat?"});
  auto hits = top_k(matmul(query, library.T()), 2);  // the vectors have length 1: products are cosines
  for (int row : hits.indices.to_vector<int>()) std::printf("%s\n", sentences[row].c_str());

  const auto rows = hits.indices.to_vector<int>();
  expect(rows[0] + rows[1] == 3 && rows[0] * rows[1] == 0, "the two sentences on cats");
}

}  // namespace

int main(int argc, char** argv) try {
  first_tensors();
  choosing();
  laziness();
  places();
  a_function();
  graphs();
  if (argc > 1) sentences(argv[1]);
  profiles();
  own_kernel();
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
