// Sizes past any memory, broadcasts read and printed: typed errors, and no copies of what is only repeated.
#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#ifdef __linux__
#include <sys/resource.h>
#include <unistd.h>
#endif

#include "support/on_device.h"
#include "support/temp_dir.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/convolution.h"
#include "weft/error.h"
#include "weft/files.h"
#include "weft/indexing.h"
#include "weft/memory.h"
#include "weft/pooling.h"
#include "weft/print.h"
#include "weft/resampling.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

template <class T>
bool all_are(const std::vector<T>& values, T expected) {
  return std::ranges::all_of(values, [&](T v) { return v == expected; });
}

constexpr std::int64_t power(int bits) { return std::int64_t{1} << bits; }

TEST(ByteSize, IsExactOrRefused) {
  EXPECT_EQ(byte_size(DType::f32, 0), 0u);
  EXPECT_EQ(byte_size(DType::i4, 3), 2u);
  EXPECT_EQ(byte_size(DType::u2, 9), 3u);
  EXPECT_EQ(byte_size(DType::f64, 7), 56u);
  EXPECT_EQ(byte_size(DType::f32, power(59)), std::uint64_t{1} << 61);
  EXPECT_EQ(byte_size(DType::u8, (std::uint64_t{1} << 63) - 8), (std::uint64_t{1} << 63) - 8);
  EXPECT_EQ(byte_size(TensorType{DType::u2, {power(62) + 1}}), (std::uint64_t{1} << 60) + 1);
  EXPECT_THROW(byte_size(DType::f64, power(60)), OutOfMemory);
  EXPECT_THROW(byte_size(TensorType{DType::f32, {power(62) + 2}}), OutOfMemory);
  EXPECT_THROW(byte_size(DType::c64, ~std::uint64_t{0}), OutOfMemory);
}

class HostMemoryTest : public OnDevice {
 protected:
  ~HostMemoryTest() override { memory::set_limit(std::nullopt, device); }
};
INSTANTIATE_TEST_SUITE_P(Devices, HostMemoryTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(HostMemoryTest, SizesPastAnyMemoryAreTypedErrors) {
  const Tensor terabytes = zeros({power(45)}), past = full({power(62) + 2}, 1), x = tensor({3}, {1, 2, 3});
  const std::vector<std::function<void()>> calls = {[&] { Tensor(device, DType::f32, {power(59)}); },
                                                    [&] { Tensor(device, DType::f32, {power(62) + 2}); },
                                                    [&] { Tensor(device, DType::c64, {power(31), power(31)}); },
                                                    [&] { terabytes.to_vector<float>(); },
                                                    [&] { terabytes.to_vector<double>(); },
                                                    [&] { terabytes.to_vector<bool>(); },
                                                    [&] { terabytes.read<float>(); },
                                                    [&] { terabytes.async_read<float>().get(); },
                                                    [&] { terabytes.async_to_vector<int>().get(); },
                                                    [&] { terabytes.async_read_bytes().get(); },
                                                    [&] { past.read<float>(); },
                                                    [&] { past.to_vector<std::int64_t>(); },
                                                    [&] { past.async_read<float>().get(); },
                                                    [&] { (void)byte_size(past.type()); },
                                                    [&] { eval(contiguous(past)); },
                                                    [&] { arange(0.0, 1e18, 1.0).read<float>(); },
                                                    [&] { eval(x[0] + arange(0.0, 1e18, 1.0)); },
                                                    [&] { (void)unstack(terabytes); },
                                                    [&] { to_string(past, {.threshold = power(62) + 5}); },
                                                    [&] { to_string(terabytes, {.threshold = power(50)}); }};
  for (std::size_t i = 0; i < calls.size(); ++i) EXPECT_THROW(calls[i](), OutOfMemory) << "call " << i;
  // What is small of them is there.
  EXPECT_THAT(past[slice(power(62), none)].read<float>(), ElementsAre(1, 1));
  const Tensor one = terabytes.reshape({power(20), power(25)})[{5, 7}];
  EXPECT_EQ(one.item<float>(), 0);
  EXPECT_EQ(sum(x).item<float>(), 6) << "the library works on";
}

TEST_P(HostMemoryTest, AFileThatClaimsMoreThanMemoryIsMalformed) {
  const TempDir directory;
  const auto path = directory.path() / "large.npy";
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (576460752303423488,), }";
  header.resize(117, ' ');
  header += '\n';
  std::ofstream(path, std::ios::binary) << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << header << "1234";
  try {
    load(path);
    ADD_FAILURE() << "it was read";
  } catch (const FormatError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("large.npy"), HasSubstr("2305843009213693952 bytes")));
  }
}

TEST_P(HostMemoryTest, WithinALimit) {
  const Tensor row = tensor({1024}, std::vector<float>(1024, 3)), x = row * 2;
  eval(x);
  memory::clear_cache();
  memory::set_limit(memory::live() + (64 << 10));
  const Tensor wide = broadcast_to(x, {4096, 1024});  // 16 MiB
  EXPECT_TRUE(all_are(wide.to_vector<double>(), 6.0));
  EXPECT_TRUE(all_are(wide.read<float>(), 6.0f));
  EXPECT_TRUE(all_are(wide.async_read<float>().get(), 6.0f));
  EXPECT_THAT(to_string(wide), StartsWith("[[6. 6. 6. ... 6. 6. 6.]\n [6. 6. 6. ..."));
  EXPECT_THAT(to_string(broadcast_to(x, {100'000, 100'000, 1024})), StartsWith("[[[6. 6. 6. ... 6. 6. 6.]"));
  EXPECT_THAT(async_to_string(wide.T()).get(), StartsWith("[[6. 6. 6. ..."));
  EXPECT_TRUE(all_are(flatten(wide).to_vector<int>(), 6));
  EXPECT_THAT(to_string(wide.reshape({2048, 2048})), StartsWith("[[6. 6. 6. ..."));
  const TempDir directory;
  for (const char* name : {"wide.npy", "wide.npz", "wide.safetensors"}) {
    const auto path = directory.path() / name;
    save(path, wide);
    memory::set_limit(std::nullopt);
    {
      const Tensor read = load(path);
      EXPECT_EQ(read.shape(), wide.shape());
      EXPECT_EQ(sum(read != 6).item<int>(), 0) << name;
    }
    memory::clear_cache();
    memory::set_limit(memory::live() + (64 << 10));
  }
  EXPECT_THROW(eval(contiguous(wide)), OutOfMemory);
}

// Views of which no strides say where their elements are.
TEST_P(HostMemoryTest, PrintsTheEndsOfReshapedBroadcasts) {
  const Tensor x = arange(1000) * 3;
  for (const Tensor& view : {flatten(broadcast_to(x, {40, 1000})), flatten(broadcast_to(expand_dims(x, 1), {1000, 7})),
                             broadcast_to(x, {4, 1000}).T().reshape({2000, 2}), x.reshape({20, 50}).T().reshape({1000}),
                             flip(flatten(broadcast_to(x, {3, 1000}))).reshape({3, 5, 200})}) {
    const Tensor copy = contiguous(view);
    eval(copy);
    EXPECT_EQ(to_string(view, {.threshold = 500}), to_string(copy, {.threshold = 500})) << to_string(view.type());
  }
  EXPECT_THAT(to_string(flatten(broadcast_to(x, {1'000'000, 1000}))),
              StartsWith("[   0    3    6 ... 2991 2994 2997] i32"));
}

// Every kind of view whose elements repeat, against a copy of it.
TEST_P(HostMemoryTest, BroadcastsAreReadAsTheirCopies) {
  const TempDir directory;
  for (const DType type : {DType::f32, DType::f16, DType::u8, DType::i64, DType::boolean}) {
    const Tensor x = cast(arange(6).reshape({2, 3}), type), number = full({}, 3, type);
    for (const Tensor& view :
         {broadcast_to(x, {4, 2, 3}), broadcast_to(expand_dims(x, 1), {2, 5, 3}), broadcast_to(number, {7}),
          broadcast_to(x.T(), {3, 3, 2}), flip(broadcast_to(x, {4, 2, 3})), broadcast_to(x, {4, 2, 3}).T(),
          broadcast_to(x[{all, slice(none, none, -2)}], {9, 2, 2}), broadcast_to(x, {5, 2, 3})[{slice(1, 4), 1}],
          broadcast_to(x, {4, 2, 3}).reshape({2, 2, 6}), broadcast_to(x[{all, 1}], {300, 2}), full({2, 0}, 1, type)}) {
      const Tensor copy = contiguous(view);
      eval(copy);
      EXPECT_EQ(view.to_vector<double>(), copy.to_vector<double>()) << to_string(view.type());
      EXPECT_EQ(view.async_read_bytes().get(), copy.async_read_bytes().get()) << to_string(view.type());
      save(directory.path() / "view.npy", view);
      EXPECT_EQ(load(directory.path() / "view.npy").to_vector<double>(), copy.to_vector<double>());
    }
  }
}

TEST_P(HostMemoryTest, BroadcastsOfPackedTypes) {
  EXPECT_THAT(full({7}, 3, DType::i4).to_vector<int>(), Each(3));
  EXPECT_THAT(broadcast_to(tensor({{1, -2}}, DType::i2).reshape({2}), {3, 2}).to_vector<int>(),
              ElementsAre(1, -2, 1, -2, 1, -2));
}

// Pieces of several MiB, whose ends lie within rows, and of rows longer than a piece.
TEST_P(HostMemoryTest, SavesInPieces) {
  const TempDir directory;
  const auto path = directory.path() / "x.npy";
  const Tensor x = arange(1000);
  for (const Tensor& view : {broadcast_to(x, {3, 1500, 1000}), broadcast_to(expand_dims(x, 1), {1000, 3001}),
                             broadcast_to(expand_dims(x[slice(0, 3)], 1), {3, 2'000'000})}) {
    save(path, view);
    const Tensor read = load(path);
    EXPECT_EQ(read.shape(), view.shape());
    EXPECT_TRUE(all(read == view).item<bool>());
  }
}

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// What does not find the memory that it needs throws nothing but errors of Weft's: 0, or the names of what did not.
int leaked_exceptions() {
  set_default_device(Device::cpu());
  constexpr std::int64_t kElements = 1 << 18;
  const Tensor x = arange(kElements) * 1.5f, u = cast(x, DType::u8), m = x.reshape({1 << 8, 1 << 10}),
               images = x.reshape({1, 4, 1 << 8, 1 << 8}), i = arange(kElements);
  eval(x, u, m, images, i);
  const std::vector<float> values(static_cast<std::size_t>(kElements), 1);
  const TempDir directory;
  const auto file = [&](const char* name) { return directory.path() / name; };
  const std::vector<std::pair<const char*, std::function<void()>>> calls = {
      {"add", [&] { eval(x + 1); }},
      {"sort", [&] { eval(sort(x)); }},
      {"argsort", [&] { eval(argsort(u)); }},
      {"top_k", [&] { eval(top_k(x, 1000).values); }},
      {"unique", [&] { unique(x); }},
      {"mask", [&] { (void)x[x > 3]; }},
      {"roll", [&] { eval(roll(x, 5)); }},
      {"tile", [&] { eval(tile(x, {8})); }},
      {"repeat", [&] { eval(repeat(x, 8)); }},
      {"cumsum", [&] { eval(cumsum(m, 0)); }},
      {"matmul", [&] { eval(matmul(m, m.T())); }},
      {"softmax", [&] { eval(softmax(m, 0)); }},
      {"conv", [&] { eval(conv(images, ones({8, 4, 3, 3}))); }},
      {"max_pool", [&] { eval(max_pool(images, {.window = {3, 3}})); }},
      {"resize", [&] { eval(resize(images, {1, 4, 450, 450})); }},
      {"gather", [&] { eval(x[i]); }},
      {"scatter", [&] { eval(at_add(x, i, 1)); }},
      {"contiguous", [&] { eval(contiguous(m.T())); }},
      {"read", [&] { x.read<float>(); }},
      {"to_vector", [&] { x.to_vector<double>(); }},
      {"async_read", [&] { x.async_to_vector<double>().get(); }},
      {"print", [&] { to_string(x[slice(0, 1 << 14)], {.threshold = kElements}); }},
      {"tensor", [&] { tensor({kElements}, values, DType::f64); }},
      {"constant", [&] { Graph::constant(TensorData::of<float>({kElements}, values)); }},
      {"unstack", [&] { (void)unstack(m.reshape({1 << 14, 16})); }},
      {"save npz", [&] { save(file("a.npz"), x + 1); }},
      {"load npz", [&] { load(file("a.npz")); }},
      {"save npy", [&] { save(file("a.npy"), x); }},
      {"load npy", [&] { load(file("a.npy")); }}};
  for (const auto& [name, call] : calls) call();
  memory::clear_cache();
  std::string leaked;
  for (const int room : {1, 3}) {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    const rlimit before = limit;
    limit.rlim_cur =
        static_cast<rlim_t>(pages) * static_cast<rlim_t>(getpagesize()) + (static_cast<rlim_t>(room) << 20);
    setrlimit(RLIMIT_AS, &limit);
    for (const auto& [name, call] : calls) {
      try {
        call();
      } catch (const Error&) {
      } catch (const std::exception& e) {
        leaked += std::format(" {}: {};", name, e.what());
      }
    }
    setrlimit(RLIMIT_AS, &before);
  }
  std::fprintf(stderr, "leaked:%s\n", leaked.c_str());
  return leaked.empty() ? 0 : 1;
}

TEST(HostMemoryDeathTest, ErrorsAreTypedWhereTheSystemGivesNoMemory) {
  // A process of its own, which has no threads of a GPU's.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(leaked_exceptions()), testing::ExitedWithCode(0), "leaked:");
}

#endif

}  // namespace
}  // namespace weft::test
