// The programs of docs/tensors.md, with what they give.
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "weft/weft.h"

using namespace weft;

namespace {

void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "not as the page says: %s\n", what);
  std::exit(1);
}

void expect(const Tensor& x, const std::string& text) {
  if (to_string(to(x, default_device())) == text) return;
  std::fprintf(stderr, "expected %s\ngot %s\n", text.c_str(), to_string(x).c_str());
  std::exit(1);
}

void making() {
  std::vector<std::uint8_t> pixels = {0, 64, 128, 255};

  auto a = tensor({{1, 2}, {3, 4}});            // i32 [2, 2]
  auto b = tensor({2, 3}, {1, 2, 3, 4, 5, 6});  // f32 [2, 3]: the shape, and the elements
  auto c = tensor(pixels);                      // of a std::vector<std::uint8_t>: u8 [4]
  auto h = tensor({2, 2}, pixels, DType::f32);  // with a shape, converted
  auto d = full({2, 3}, 7, DType::i32);         // also zeros, ones, zeros_like, …
  auto e = arange(0, 1, 0.25);                  // [0.   0.25 0.5  0.75]
  auto f = linspace(0, 1, 5, DType::f16);       // [0.   0.25 0.5  0.75 1.  ] f16
  auto g = eye(3);                              // ones on the diagonal

  expect(a, "[[1 2]\n [3 4]] i32");
  expect(b.dtype() == DType::f32 && b.shape() == Shape{2, 3}, "tensor");
  expect(c, "[  0  64 128 255] u8");
  expect(h, "[[  0.  64.]\n [128. 255.]]");
  expect(d.sum().item<int>() == 42, "full");
  expect(e, "[0.   0.25 0.5  0.75]");
  expect(f, "[0.   0.25 0.5  0.75 1.  ] f16");
  expect(g.sum().item<int>() == 3, "eye");
}

void arithmetic() {
  auto x = tensor({3}, {1, 2, 3});
  auto i = arange(3);                                 // i32
  auto a = x + i;                                     // f32: an integer beside a float takes its type
  auto b = i + 1;                                     // i32: a number takes the type of the tensor
  auto c = i * 0.5;                                   // f32, because no integer is 0.5
  auto d = x.cast(DType::f16) * 2;                    // f16
  auto e = x.cast(DType::f16) + x.cast(DType::bf16);  // f32, which holds both
  auto inside = (x > 1) & (x < 3);                    // bool
  auto f = where(inside, x, 0) / 2;
  auto table = expand_dims(x, 1) * x;  // [3, 1] and [3] broadcast to [3, 3]
  x += 1;

  expect(a, "[1. 3. 5.]");
  expect(b, "[1 2 3] i32");
  expect(c, "[0.  0.5 1. ]");
  expect(d, "[2. 4. 6.] f16");
  expect(e.dtype() == DType::f32, "f16 and bf16");
  expect(inside.dtype() == DType::boolean, "comparison");
  expect(f, "[0. 1. 0.]");
  expect(table, "[[1. 2. 3.]\n [2. 4. 6.]\n [3. 6. 9.]]");
  expect(x, "[2. 3. 4.]");
}

void statistics() {
  auto x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  auto total = x.sum();             // of all elements: a tensor of shape []
  auto columns = x.mean(0);         // [2.5 3.5 4.5]
  auto rows = x.max(1, true);       // [2, 1], so that x - rows broadcasts
  auto place = x.argmax(-1);        // [2 2] i32
  auto product = matmul(x, x.T());  // [2, 2]
  auto same_product = einsum("ik,jk->ij", {x, x});

  expect(total.item<int>() == 21, "sum");
  expect(columns, "[2.5 3.5 4.5]");
  expect(rows, "[[3.]\n [6.]]");
  expect(place, "[2 2] i32");
  expect(all(product == same_product).item<bool>(), "einsum");
}

void indexing() {
  auto x = arange(12).reshape({3, 4});
  auto a = x[0];                             // [0 1 2 3]
  auto b = x[{-1, slice(1, 3)}];             // [ 9 10]
  auto c = x[{all, slice(none, none, -1)}];  // columns in reverse order
  auto d = x[{ellipsis, 0}];                 // [0 4 8]
  auto e = x[{0, newaxis}];                  // [1, 4]
  auto f = x[{arange(2), arange(2)}];        // [0 5]: index tensors choose together
  auto g = x[x > 8];                         // [ 9 10 11]; waits for their number

  expect(a, "[0 1 2 3] i32");
  expect(b, "[ 9 10] i32");
  expect(c[0], "[3 2 1 0] i32");
  expect(d, "[0 4 8] i32");
  expect(e.shape() == Shape{1, 4}, "newaxis");
  expect(f, "[0 5] i32");
  expect(g, "[ 9 10 11] i32");
}

void updates() {
  auto x = arange(12).reshape({3, 4});
  auto row = x[0];
  x.set({slice(0, 2), 0}, -1);          // one number for all of them
  x.set(2, tensor({4}, {9, 8, 7, 6}));  // converted to x's type
  x.add_at({all, -1}, 100);             // also max_at and min_at
  print(x);
  print(row);  // [0 1 2 3] i32: it keeps the old value

  expect(x, "[[ -1   1   2 103]\n [ -1   5   6 107]\n [  9   8   7 106]] i32");
  expect(row, "[0 1 2 3] i32");
}

void views() {
  auto x = random::normal({1000, 64});
  auto y = x.T()[slice(0, 32)].reshape({2, 16, 1000});  // nothing is copied
  auto z = contiguous(y);                               // a copy, dense in memory

  expect(z.shape() == Shape{2, 16, 1000} && all(z[{1, 3}] == x[{all, 19}]).item<bool>(), "views");
}

void evaluation() {
  auto x = random::normal({256, 256});
  auto y = exp(x * 0.01f);  // describes what to compute
  auto z = matmul(y, y);
  eval(z);                               // submits it, and does not wait; y is held, so it is kept, too
  auto values = z.read<float>();         // waits; the elements as they are: T is their type
  auto numbers = z.to_vector<double>();  // waits, and converts
  auto mean = z.mean().item<float>();    // waits; of a tensor with one element

  for (int i = 0; i < 100; ++i) {
    z = matmul(y, z) / 256;  // compiled in the first turn, found in the others
    eval(z);                 // without it all turns are only described, and computed at the next read
  }

  auto later = z.async_read<float>();  // a Future<std::vector<float>>
  auto first = later.get()[0];         // waits

  expect(y.has_data() && values.size() == 65536 && numbers[5] == values[5] && mean > 250 && first > 0, "evaluation");
}

void compiled() {
  const auto x = random::normal({8, 16});
  struct Layer {
    Tensor weight, bias;
  };
  const Layer first{random::normal({16, 16}), zeros({16})}, second{eye(16), ones({16})};
  auto layer = compile([](Layer l, Tensor x) { return relu(matmul(x, l.weight) + l.bias); });
  auto y = layer(first, x);   // traced and compiled for these types, and run
  auto z = layer(second, y);  // the same types: only run

  expect(layer.cached() == 1 && all(z == y + 1).item<bool>(), "compile");
  std::string message;
  auto positive = compile([](Tensor a) { return a.sum().item<float>() > 0 ? a : -a; });
  try {
    positive(x);
  } catch (const InvalidArgument& e) {
    message = e.what();
  }

  expect(message ==
             "eval: what depends on argument 0 was read while compile() or vmap() traces a function, which has values "
             "only "
             "when it runs",
         message.c_str());
}

void files() {
  const auto x = random::normal({3, 4}), w = random::normal({4, 4}), b = zeros({4});
  save("x.npy", x);           // numpy.load("x.npy") reads it
  auto same = load("x.npy");  // on the default device
  save("model.safetensors", {{"weight", w}, {"bias", b}});
  auto model = load_all("model.safetensors");  // a map from names to tensors
  auto weight = model.at("weight");

  expect(all(same == x).item<bool>() && all(weight == w).item<bool>() && model.size() == 2, "files");
}

void memory_figures() {
  auto before = memory::live();  // bytes of the default device that tensors hold
  auto x = exp(zeros({1024, 1024}));
  eval(x);
  auto more = memory::live() - before;        // about 4 MiB; memory::peak() is the most that was held at once
  memory::clear_cache();                      // gives what is kept for later tensors back to the system
  memory::set_limit(std::uint64_t{8} << 30);  // more than 8 GiB throws OutOfMemory

  memory::set_limit({});
  expect(more >= 4 << 20 && more < 5 << 20 && memory::peak() >= before + more, "memory");
}

void random_numbers() {
  random::seed(7);  // of the default generator
  auto x = random::normal({2, 3});
  auto y = random::integers({4}, 1, 7);  // dice

  auto key = random::key(42);  // the same numbers wherever it is used
  auto [for_weights, for_order] = random::split<2>(key);
  auto w = random::uniform({3, 3}, -1, 1, DType::f32, for_weights);
  auto order = random::permutation(52, for_order);

  auto waits = random::exponential({1000}, 2.5);  // of mean 2.5
  auto rates = random::gamma({3}, 2);
  auto counts = random::poisson(std::nullopt, rates);                    // i32, one for each rate
  auto words = random::categorical({2, 5}, tensor({3}, {0, 1, 0.5}));    // by logits
  auto points = random::multivariate_normal({100}, zeros({2}), eye(2));  // [100, 2]
  auto sample = random::choice(x, {2}, {.replace = false, .axis = 1});

  random::seed(7);
  expect(all(x == random::normal({2, 3})).item<bool>(), "seed");
  expect(all((y >= 1) & (y < 7)).item<bool>() && all(abs(w) <= 1).item<bool>(), "ranges");
  expect(all(sort(order) == arange(52)).item<bool>(), "permutation");
  expect(all(waits > 0).item<bool>() && all((counts >= 0) & (rates > 0)).item<bool>(), "positive numbers");
  expect(all((words >= 0) & (words < 3)).item<bool>(), "categories");
  expect(points.shape() == Shape{100, 2} && sample.shape() == Shape{2, 2}, "shapes");
}

void linear_algebra() {
  auto a = tensor({3, 3}, {4, 1, 0, 1, 3, 1, 0, 1, 2});
  auto x = solve(a, tensor({3}, {1, 2, 3}));  // a x = [1 2 3]; a batch of matrices is in front of their axes
  auto [inverse, info] = inv_ex(a);           // info tells whether a is singular
  auto [sign, logarithm] = slogdet(a);
  auto l = cholesky(a);              // a = l lᵀ
  auto [values, vectors] = eigh(a);  // of a symmetric matrix, in ascending order
  auto [q, r] = qr(random::normal({100, 3}));
  auto [u, s, vh] = svd(random::normal({4, 3}), false);  // singular values, in descending order
  auto line = lstsq(vander(arange(0, 5, 1, DType::f32), 2), tensor({5}, {1, 3, 5, 7, 9})).solution;

  expect(all(abs(matmul(a, x) - tensor({3}, {1, 2, 3})) < 1e-5).item<bool>() && info.item<int>() == 0, "solve");
  expect(all(abs(matmul(a, inverse) - eye(3)) < 1e-5).item<bool>(), "inv_ex");
  expect(abs(sign * exp(logarithm) - 18).item<float>() < 1e-4, "slogdet");
  expect(all(abs(matmul(l, l.T()) - a) < 1e-5).item<bool>(), "cholesky");
  expect(all(abs(matmul(a, vectors) - vectors * values) < 1e-5).item<bool>(), "eigh");
  expect(q.shape() == Shape{100, 3} && r.shape() == Shape{3, 3}, "qr");
  expect(u.shape() == Shape{4, 3} && s.shape() == Shape{3} && vh.shape() == Shape{3, 3}, "svd");
  expect(all(abs(line - tensor({2}, {2, 1})) < 1e-5).item<bool>(), "lstsq");
}

void quantised() {
  auto x = tensor({2, 4}, {0.1, -0.6, 2.5, 0.9, 1.1, 0.4, -2, 3});
  auto q = quantize(x, 0.1);                                       // i8: x / 0.1, rounded to the nearest integer
  auto near = dequantize(q, 0.1);                                  // f32 again
  auto [values, scale, zero] = dynamic_quantize(x, {.axes = -1});  // u8, each row by its own range
  auto packed = quantize(x, full({2, 2}, 0.5), {}, {.dtype = DType::i4, .block = 2});  // a scale for 2 elements each
  auto sums = matmul_integer(q, q.T());                                                // i32
  auto y = requantize(sums, 0.05);  // i8 again, in the product's kernel

  expect(q, "[[  1  -6  25   9]\n [ 11   4 -20  30]] i8");
  expect(all(abs(near - x) < 1e-6).item<bool>(), "dequantize");
  expect(values.dtype() == DType::u8 && scale.shape() == Shape{2, 1} && zero.dtype() == DType::u8, "dynamic_quantize");
  expect(packed, "[[ 0 -1  5  2]\n [ 2  1 -4  6]] i4");
  expect(y, "[[ 37 -12]\n [-12  72]] i8");
}

void quantised_weights() {
  auto weights = random::normal({256, 128});
  auto x = random::normal({3, 128});
  auto w = quantize_weights(weights, {QuantizedScheme::affine, 4, 64});  // a scale and a bias for 64 elements, as MLX
  auto y = quantized_matmul(x, w);                                       // [3, 256]: x wᵀ, dequantised as it is read
  auto back = dequantize_weights(w);                                     // f32 [256, 128]
  auto rows = quantized_embedding(w, tensor({2}, {7, 0}, DType::i32));   // [2, 128]: rows 7 and 0
  auto size = w.bytes();                                                 // 20,480, of 131,072

  expect(y.shape() == Shape{3, 256} && size == 20480, "quantize_weights");
  expect(all(abs(y - matmul(x, back.T())) < 1e-3).item<bool>(), "quantized_matmul");
  expect(all(abs(back - weights) < 0.5).item<bool>(), "dequantize_weights");
  expect(all(rows[0] == back[7]).item<bool>() && all(rows[1] == back[0]).item<bool>(), "quantized_embedding");

  std::vector<std::byte> gguf(256 * 288), words(256 * 64 * 4), bytes(256 * 16 * 16);
  auto scales = ones({256, 8}, DType::f16), biases = zeros({256, 8}, DType::f16), factors = ones({256, 16});
  // Each of 256 rows and 512 columns: a tensor of a GGUF file, a matrix of MLX's, ONNX's MatMulNBits.
  auto blocks = QuantizedWeights{{QuantizedScheme::q4_k}, tensor(DType::u8, {256, 288}, gguf)};
  auto mlx = QuantizedWeights{{QuantizedScheme::affine, 4, 64}, tensor(DType::u32, {256, 64}, words), scales, biases};
  auto onnx = QuantizedWeights{{QuantizedScheme::nbits, 4, 32}, tensor(DType::u8, {256, 16, 16}, bytes), factors};

  for (const auto& m : {blocks, mlx, onnx}) expect(m.shape() == Shape{256, 512}, "formats");
  expect(all(dequantize_weights(onnx) == -8).item<bool>(), "nbits");

  auto experts = quantize_weights(random::normal({8, 256, 128}), {QuantizedScheme::q8_0});
  auto chosen = tensor({3, 2}, {0, 5, 7, 7, 2, 1}, DType::i32);  // two of the eight for each of three tokens
  auto mixed = quantized_matmul(x.reshape({3, 1, 1, 128}), experts, {.chosen = chosen});  // [3, 2, 1, 256]

  auto of_last = matmul(x[slice(1, 2)], dequantize_weights(experts)[7].T());
  expect(mixed.shape() == Shape{3, 2, 1, 256} && all(abs(mixed[{1, 0}] - of_last) < 1e-3).item<bool>(), "chosen");

  auto w8 = quantize_weights(weights, {QuantizedScheme::integers});  // i8, a scale for each row
  auto y8 = quantized_matmul(x, w8, {.activations = DType::i8});     // x is rounded to i8 too, and sums are in i32

  expect(all(abs(y8 - matmul(x, weights.T())) < 2).item<bool>(), "activations");

  auto layer = compile([&](const Tensor& v) { return relu(matmul(v, dequantize_weights(w).T())); });
  auto z = layer(x);  // one kernel, which reads 4 bits a weight

  expect(all(abs(z - relu(y)) < 1e-3).item<bool>(), "compiled");
}

void devices() {
  auto x = tensor({2}, {1, 2});
  for (const auto& d : available_devices()) {  // "cpu", "NVIDIA H200 (vulkan, discrete, 140.4 GiB)"
    std::printf("Device::open(\"%s\") opens %s\n", d.open_as.c_str(), d.description.c_str());
  }
  std::printf("%s\n", default_device().reason().c_str());  // which device, and why
  auto y = to(x * 3, Device::cpu());                       // computed where x is, then copied
  const auto before = default_device();
  set_default_device(Device::cpu());  // or Device::open("vulkan"), Device::open("1")
  auto z = full({2}, 4) + y;          // on the cpu
  set_default_device(before);

  expect(z.to_vector<int>() == std::vector<int>{7, 10} && z.device() == Device::cpu(), "devices");
}

void errors() {
  std::string message;
  try {
    auto y = tensor({2}, {1, 2}) + tensor({3}, {1, 2, 3});
  } catch (const ShapeError& e) {
    message = e.what();
  }

  expect(message == "add: shapes [2] and [3] do not broadcast: sizes 2 and 3 meet 1 from the end", message.c_str());
  message.clear();
  try {
    (void)arange(4)[7];
  } catch (const IndexError& e) {
    message = e.what();
  }
  expect(message == "index: index 7 is outside of axis 0 of i32 [4]", message.c_str());
}

void printing() {
  auto x = linspace(0, 1, 6).reshape({2, 3});
  print(x);
  print(x * 1000, {.precision = 1});
  print(arange(1'000'000));  // [     0      1      2 ... 999997 999998 999999] i32
  auto text = to_string(x);  // and std::cout << x

  expect(text == "[[0.  0.2 0.4]\n [0.6 0.8 1. ]]", "printing");
}

void threads() {
  auto x = random::normal({64, 64});
  std::vector<float> sums(4);
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&sums, i, x] { sums[i] = exp(x * i).sum().item<float>(); });
  }
  for (std::thread& worker : workers) worker.join();

  expect(sums[0] == 64 * 64, "threads");
}

}  // namespace

int main() {
  making();
  arithmetic();
  statistics();
  indexing();
  updates();
  views();
  evaluation();
  compiled();
  random_numbers();
  linear_algebra();
  quantised();
  quantised_weights();
  files();
  memory_figures();
  devices();
  errors();
  printing();
  threads();
}
