// Tensors in files, against files that NumPy and safetensors wrote (tests/reference/files.py).
#include "weft/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <complex>
#include <fstream>
#include <future>
#include <iterator>

#include "compiler/bound.h"
#include "core/compiler.h"
#include "support/data.h"
#include "support/temp_dir.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/evaluate.h"
#include "weft/indexing.h"
#include "weft/small_float.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// The types of NumPy, by its codes, and those that only safetensors has.
const std::vector<std::pair<std::string, DType>> kNumPyTypes = {
    {"f2", DType::f16}, {"f4", DType::f32}, {"f8", DType::f64},    {"i1", DType::i8},  {"i2", DType::i16},
    {"i4", DType::i32}, {"i8", DType::i64}, {"u1", DType::u8},     {"u2", DType::u16}, {"u4", DType::u32},
    {"u8", DType::u64}, {"c8", DType::c64}, {"b1", DType::boolean}};
constexpr DType kOtherTypes[] = {DType::bf16, DType::f8e4m3, DType::f8e5m2};

template <class T, class F>
std::vector<std::byte> bytes_of(std::int64_t count, const F& value) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(value(i)));
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// What values() in files.py gives.
std::vector<std::byte> elements(DType dtype, std::int64_t count) {
  const auto half = [](std::int64_t i) { return static_cast<float>(i - 2) / 2; };
  const auto whole = [](std::int64_t i) { return i - 2; };
  const auto natural = [](std::int64_t i) { return i * 7; };
  switch (dtype) {
    case DType::f16:
      return bytes_of<float16>(count, half);
    case DType::bf16:
      return bytes_of<bfloat16>(count, half);
    case DType::f8e4m3:
      return bytes_of<float8_e4m3>(count, half);
    case DType::f8e5m2:
      return bytes_of<float8_e5m2>(count, half);
    case DType::f32:
      return bytes_of<float>(count, half);
    case DType::f64:
      return bytes_of<double>(count, half);
    case DType::i8:
      return bytes_of<std::int8_t>(count, whole);
    case DType::i16:
      return bytes_of<std::int16_t>(count, whole);
    case DType::i32:
      return bytes_of<std::int32_t>(count, whole);
    case DType::i64:
      return bytes_of<std::int64_t>(count, whole);
    case DType::u8:
      return bytes_of<std::uint8_t>(count, natural);
    case DType::u16:
      return bytes_of<std::uint16_t>(count, natural);
    case DType::u32:
      return bytes_of<std::uint32_t>(count, natural);
    case DType::u64:
      return bytes_of<std::uint64_t>(count, natural);
    case DType::boolean:
      return bytes_of<std::uint8_t>(count, [](std::int64_t i) { return i % 2; });
    default:
      return bytes_of<std::complex<float>>(
          count, [](std::int64_t i) { return std::complex<float>(static_cast<float>(i), static_cast<float>(-2 * i)); });
  }
}

Tensor made(DType dtype, const Shape& shape) { return tensor(dtype, shape, elements(dtype, element_count(shape))); }

std::vector<std::byte> bytes_in(const Tensor& t) {
  std::vector<std::byte> bytes(byte_size(t.type()));
  t.read_bytes(bytes);
  return bytes;
}

void expect_made(const Tensor& t, DType dtype, const Shape& shape, const std::string& what) {
  EXPECT_EQ(to_string(t.type()), to_string(TensorType{dtype, shape})) << what;
  EXPECT_EQ(bytes_in(t), elements(dtype, element_count(shape))) << what;
}

fs::path data(const std::string& name) { return data_path("files/" + name); }

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// The names in a directory.
std::vector<std::string> listed(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

class FilesTest : public testing::TestWithParam<std::string> {
 protected:
  FilesTest() { set_default_device(device); }
  ~FilesTest() override { set_default_device(before_); }
  Device before_ = default_device();
  Device device = device_named(GetParam());
  TempDir directory;
  fs::path at(const std::string& name) const { return directory.path() / name; }
};

INSTANTIATE_TEST_SUITE_P(Devices, FilesTest, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

TEST_P(FilesTest, ReadsWhatNumPyWrote) {
  for (const auto& [code, dtype] : kNumPyTypes) {
    const Tensor t = load(data(code + ".npy"));
    expect_made(t, dtype, {2, 3}, code);
    EXPECT_EQ(t.device(), device);
    if (bits(dtype) > 8) expect_made(load(data(code + "_big.npy")), dtype, {2, 3}, code + ", big-endian");
  }
  expect_made(load(data("scalar.npy")), DType::f32, {}, "scalar");
  expect_made(load(data("vector.npy")), DType::f32, {5}, "vector");
  expect_made(load(data("empty.npy")), DType::f32, {3, 0, 2}, "empty");
  expect_made(load(data("long.npy")), DType::u8, {1, 1, 1, 1, 1, 1, 1, 300}, "long");
  expect_made(load(data("fortran.npy")), DType::i32, {2, 3, 4}, "Fortran");
  expect_made(load(data("fortran_big.npy")), DType::i32, {2, 3, 4}, "Fortran, big-endian");
  expect_made(load(data("version2.npy")), DType::i16, {4}, "2.0");
  expect_made(load(data("version3.npy")), DType::i16, {4}, "3.0");
  const TensorMap one = load_all(data("vector.npy"));
  ASSERT_EQ(one.size(), 1u);
  expect_made(one.at("vector"), DType::f32, {5}, "by its stem");
}

// Exactly: also the spaces that NumPy leaves in the header.
TEST_P(FilesTest, WritesNpyAsNumPyDoes) {
  const auto expect_same = [&](const Tensor& t, const std::string& name) {
    save(at(name), t);
    EXPECT_EQ(contents(at(name)), contents(data(name))) << name;
  };
  for (const auto& [code, dtype] : kNumPyTypes) expect_same(made(dtype, {2, 3}), code + ".npy");
  expect_same(made(DType::f32, {}), "scalar.npy");
  expect_same(made(DType::f32, {5}), "vector.npy");
  expect_same(made(DType::f32, {3, 0, 2}), "empty.npy");
  expect_same(made(DType::u8, {1, 1, 1, 1, 1, 1, 1, 300}), "long.npy");
}

TEST_P(FilesTest, ReadsNpz) {
  for (const char* name : {"stored.npz", "compressed.npz"}) {
    TensorMap all = load_all(data(name));
    for (const auto& [code, dtype] : kNumPyTypes) expect_made(all.at(code), dtype, {2, 3}, name + (" " + code));
    expect_made(all.at("layer.0/w"), DType::f32, {2, 3, 4}, name);
    expect_made(all.at("é"), DType::f32, {}, name);
    expect_made(all.at("none"), DType::i64, {0}, name);
    const auto fortran = all.extract("fortran");
    EXPECT_EQ(fortran.empty(), name != std::string("compressed.npz"));
    if (!fortran.empty()) expect_made(fortran.mapped(), DType::i32, {2, 3, 4}, name);
    EXPECT_EQ(all.size(), kNumPyTypes.size() + 3);
  }
  expect_made(load(data("one.npz")), DType::f32, {2, 3}, "the only one");
  EXPECT_TRUE(load_all(data("nothing.npz")).empty());
}

// Folders and other files in an archive are no arrays; a member that Weft cannot read refuses none but itself.
TEST_P(FilesTest, ReadsTheArraysOfAnyArchive) {
  EXPECT_TRUE(load_all(data("text.npz")).empty());
  expect_made(load(data("folders.npz")), DType::f32, {2, 3}, "the only array");
  const TensorMap all = load_all(data("folders.npz"));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all.begin()->first, "folder/x");
  expect_made(load(data("mixed.npz"), "x"), DType::f32, {2, 3}, "beside others");
  expect_made(load(data("mixed.npz"), "trailing"), DType::f32, {2, 3}, "with more behind it");
  expect_made(load(data("mixed.npz"), "bare"), DType::f32, {2, 3}, "without .npy in its name");
  expect_made(load(data("trailing.npy")), DType::f32, {2, 3}, "with more behind it");
  EXPECT_THAT(thrown_by([&] { (void)load(data("mixed.npz"), "complex"); }), StartsWith("Unsupported: "));
  EXPECT_THAT(thrown_by([&] { (void)load(data("mixed.npz"), "bzip2"); }),
              AllOf(StartsWith("Unsupported: "), HasSubstr("method 12")));
  EXPECT_THAT(thrown_by([&] { (void)load(data("mixed.npz"), "y"); }),
              AllOf(StartsWith("InvalidArgument: "), HasSubstr("no array \"y\"")));
  EXPECT_THAT(thrown_by([&] { (void)load(data("vector.npy"), "x"); }), StartsWith("InvalidArgument: "));
  EXPECT_THAT(thrown_by([&] { (void)load_all(data("mixed.npz")); }), StartsWith("Unsupported: "));
}

// A tensor of a type that Weft does not have, as another library may write it.
TEST_P(FilesTest, ReadsTheTensorsBesideOneOfAForeignType) {
  const fs::path path = data("foreign.safetensors");
  EXPECT_THAT(SafeTensors::open(path).names(), ElementsAre("scale", "x"));
  expect_made(load(path, "x"), DType::f32, {2, 3}, "x");
  EXPECT_THAT(thrown_by([&] { (void)load(path, "scale"); }), AllOf(StartsWith("Unsupported: "), HasSubstr("F8_E8M0")));
  EXPECT_THAT(thrown_by([&] { (void)load_all(path); }), AllOf(StartsWith("Unsupported: "), HasSubstr("\"scale\"")));
}

TEST_P(FilesTest, SafeTensorsAreWrittenAsTheirLibraryDoes) {
  TensorMap tensors = {
      {"a \"b\"\n\\", made(DType::f32, {})}, {"é/0", made(DType::f32, {5})}, {"none", made(DType::i64, {0, 3})}};
  for (const auto& [code, dtype] : kNumPyTypes) tensors.emplace(name(dtype), made(dtype, {2, 3}));
  for (const DType dtype : kOtherTypes) tensors.emplace(name(dtype), made(dtype, {2, 3}));
  const TensorMap read = load_all(data("all.safetensors"));
  ASSERT_EQ(read.size(), tensors.size());
  for (const auto& [name, expected] : tensors) expect_made(read.at(name), expected.dtype(), expected.shape(), name);
  save(at("all.safetensors"), tensors, {{"format", "weft \"1\""}});
  EXPECT_EQ(contents(at("all.safetensors")), contents(data("all.safetensors")));
  EXPECT_EQ(SafeTensors::open(at("all.safetensors")).metadata().at("format"), "weft \"1\"");
  save(at("one.safetensors"), {{"x", made(DType::f32, {2, 3})}});
  EXPECT_EQ(contents(at("one.safetensors")), contents(data("one.safetensors")));
  expect_made(load(data("one.safetensors")), DType::f32, {2, 3}, "the only one");
  save(at("nothing.safetensors"), TensorMap(), {{"a", "1"}, {"b", "2"}});
  EXPECT_EQ(SafeTensors::open(at("nothing.safetensors")).metadata().size(), 2u);
}

TEST_P(FilesTest, AModelInPieces) {
  fs::create_directory(at("model"));
  save(at("model/1.safetensors"), {{"a", made(DType::f32, {3})}});
  save(at("model/2.safetensors"), {{"b", made(DType::i8, {2})}});
  std::ofstream(at("model/model.safetensors.index.json"))
      << R"({"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}})";
  for (const fs::path& path : {at("model"), at("model/model.safetensors.index.json")}) {
    const TensorMap all = load_all(path);
    ASSERT_EQ(all.size(), 2u);
    expect_made(all.at("a"), DType::f32, {3}, path.string());
    expect_made(all.at("b"), DType::i8, {2}, path.string());
  }
}

TEST_P(FilesTest, RoundTrips) {
  for (const char* extension : {".npz", ".safetensors"}) {
    TensorMap tensors;
    for (const auto& [code, dtype] : kNumPyTypes) {
      for (const Shape& shape : {Shape{}, {0}, {7}, {3, 1, 5}, {4, 0, 2}}) {
        tensors.emplace(code + to_string(shape), made(dtype, shape));
      }
    }
    save(at("all") += extension, tensors);
    const TensorMap read = load_all(at("all") += extension);
    ASSERT_EQ(read.size(), tensors.size());
    for (const auto& [name, expected] : tensors) expect_made(read.at(name), expected.dtype(), expected.shape(), name);
    save(at("none") += extension, TensorMap());
    EXPECT_TRUE(load_all(at("none") += extension).empty()) << extension;
    save(at("one") += extension, made(DType::i16, {3}));
    expect_made(load(at("one") += extension), DType::i16, {3}, extension);
  }
  EXPECT_THAT(load_all(at("one.npz")), ElementsAre(testing::Key("arr_0")));
  EXPECT_THAT(load_all(at("one.safetensors")), ElementsAre(testing::Key("tensor")));
  // Equal tensors are equal files.
  save(at("two.npz"), made(DType::i16, {3}));
  EXPECT_EQ(contents(at("two.npz")), contents(at("one.npz")));
}

// A program that unpacks an archive writes where the names of its members say.
TEST_P(FilesTest, NamesInAnArchiveStayInItsFolder) {
  for (const char* name : {"../x", "a/../../x", "a/..", "..", "/x", "/", "a//x", "a/", "..\\x", "\\x", "C:x", "c:/x"}) {
    EXPECT_THAT(thrown_by([&] { save(at("x.npz"), {{name, ones({2})}}); }),
                AllOf(StartsWith("InvalidArgument: "), HasSubstr("outside of the archive's folder")))
        << name;
    if (std::string_view(name) == "../x") save(at("x.safetensors"), {{name, ones({2})}});  // no folders there
  }
  EXPECT_FALSE(fs::exists(at("x.npz")));
  save(at("kept.npz"), {{"layer.0/weight", ones({2})}, {"..a", ones({2})}, {"ab:c", ones({2})}, {"", ones({2})}});
  EXPECT_THAT(load_all(at("kept.npz")),
              ElementsAre(testing::Key(""), testing::Key("..a"), testing::Key("ab:c"), testing::Key("layer.0/weight")));
}

TEST_P(FilesTest, ViewsAndWhatIsNotComputedYet) {
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor y = x * 2.0, sum = y.sum();
  for (const char* extension : {".npz", ".safetensors"}) {
    const fs::path path = at("x") += extension;
    save(path, {{"columns", x.T()},
                {"part", slice(x, 1, 2, -1, -1)},
                {"y", y},
                {"sum", sum},
                {"ones", ones({2, 2})},
                {"row", broadcast_to(tensor({3}, {1, 2, 3}), {2, 3})}});
    TensorMap read = load_all(path);
    EXPECT_EQ(read.at("columns").shape(), (Shape{3, 2}));
    EXPECT_THAT(read.at("columns").read<float>(), ElementsAre(1, 4, 2, 5, 3, 6));
    EXPECT_THAT(read.at("part").read<float>(), ElementsAre(3, 2, 1, 6, 5, 4));
    EXPECT_THAT(read.at("y").read<float>(), ElementsAre(2, 4, 6, 8, 10, 12));
    EXPECT_THAT(read.at("sum").read<float>(), ElementsAre(42));
    EXPECT_THAT(read.at("ones").read<float>(), ElementsAre(1, 1, 1, 1));
    EXPECT_THAT(read.at("row").read<float>(), ElementsAre(1, 2, 3, 1, 2, 3));
  }
  EXPECT_TRUE(y.has_data()) << "saving evaluates";
  const Tensor columns = load(data("fortran.npy"));
  EXPECT_THAT((columns[{1, 2}] + 1).read<std::int32_t>(), ElementsAre(19, 20, 21, 22)) << "a view computes as any";
}

TEST_P(FilesTest, TensorsOfSeveralDevices) {
  const Tensor here = tensor({2}, {1, 2});
  set_default_device(Device::cpu());
  const Tensor there = tensor({2}, {3, 4});
  save(at("x.npz"), {{"here", here * 2.0}, {"there", there * 3.0}});
  const TensorMap read = load_all(at("x.npz"));
  EXPECT_EQ(read.at("here").device(), Device::cpu()) << "the default device";
  EXPECT_THAT(read.at("here").read<float>(), ElementsAre(2, 4));
  EXPECT_THAT(read.at("there").read<float>(), ElementsAre(9, 12));
}

TEST_P(FilesTest, WithoutWaiting) {
  for (const char* name : {"x.npz", "x.safetensors"}) {
    Tensor a = tensor({3}, {1, 2, 3});
    const Tensor b = a * 2.0;
    Future<void> saved = async_save(at(name), {{"a", a}, {"b", b}, {"none", zeros({0})}});
    const std::vector<float> later = {9, 9, 9};
    a.write(std::as_bytes(std::span(later)));
    EXPECT_FALSE(fs::exists(at(name)));
    saved.get();
    const TensorMap read = load_all(at(name));
    EXPECT_THAT(read.at("a").read<float>(), ElementsAre(1, 2, 3)) << "as it was when the save began";
    EXPECT_THAT(read.at("b").read<float>(), ElementsAre(2, 4, 6));
    EXPECT_EQ(read.at("none").shape(), Shape{0});
  }
  bool called = false;
  async_save(at("y.npy"), tensor({3}, {1, 2, 3}) + 1.0).then([&](Future<void> done) {
    done.get();
    called = true;
  });
  device.wait();
  if (device.is_gpu()) device.gpu().poll();
  EXPECT_TRUE(called);
  EXPECT_THAT(load(at("y.npy")).read<float>(), ElementsAre(2, 3, 4));
  Future<void> two = async_save(at("z.npz"), {{"a", tensor({1}, {1}) + 1.0}, {"b", tensor({1}, {5}) + 1.0}});
  while (!two.ready()) continue;
  two.get();
  EXPECT_THAT(load_all(at("z.npz")).at("b").read<float>(), ElementsAre(6));
  int calls = 0;
  async_save(at("w.npz"), {{"a", tensor({1}, {1}) + 1.0}, {"b", tensor({1}, {7}) + 1.0}}).then([&](Future<void> done) {
    done.get();
    ++calls;
  });
  device.wait();
  if (device.is_gpu()) device.gpu().poll();
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(load_all(at("w.npz")).at("b").read<float>(), ElementsAre(8));
  EXPECT_THAT(thrown_by([&] { async_save(at("no/x.npy"), ones({1})).get(); }), StartsWith("IoError: "));
}

TEST_P(FilesTest, AFailureLeavesTheOldFile) {
  save(at("x.npz"), {{"a", ones({3})}});
  save(at("x.npy"), ones({3}));
  save(at("x.safetensors"), {{"a", ones({3})}});
  for (const char* name : {"x.npz", "x.npy", "x.safetensors"}) {
    const std::string before = contents(at(name));
    EXPECT_THAT(thrown_by([&] { save(at(name), TensorMap{{"a", made(DType::f32, {2})}, {"b", Tensor()}}); }),
                StartsWith("InvalidArgument: "));
    // Fails while it is written: the graph's input has no value.
    Graph graph;
    const Tensor input = graph.input("i", DType::f32, {2});
    EXPECT_THAT(thrown_by([&] { save(at(name), input); }), HasSubstr("input \"i\""));
    EXPECT_EQ(contents(at(name)), before);
  }
  EXPECT_THAT(listed(directory.path()), ElementsAre("x.npy", "x.npz", "x.safetensors")) << "nothing else is left";
}

// A broadcast takes no memory, so that it may be larger than any disk. Nothing is written.
TEST_P(FilesTest, WhatTheDiskHasNoSpaceForIsNotBegun) {
  const std::int64_t most = std::int64_t{1} << 31;
  for (const auto& [dtype, needed] :
       {std::pair(DType::u8, std::to_string(most * most)), {DType::f32, "more than 2^63"}}) {
    const Tensor huge = zeros({most, most}, dtype);
    for (const char* name : {"x.npy", "x.npz", "x.safetensors"}) {
      const auto refusal = AllOf(StartsWith("IoError: "), HasSubstr(name), HasSubstr("it takes "), HasSubstr(needed),
                                 HasSubstr(directory.path().string() + " has space for "));
      EXPECT_THAT(thrown_by([&] { save(at(name), huge); }), refusal);
      EXPECT_THAT(thrown_by([&] { async_save(at(name), huge).get(); }), refusal);
    }
    for (const char* name : {"x.npz", "x.safetensors"}) {
      EXPECT_THAT(thrown_by([&] { save(at(name), {{"a", ones({2})}, {"b", huge}}); }), StartsWith("IoError: "));
    }
  }
  EXPECT_TRUE(listed(directory.path()).empty());
}

// The array of an .npy file is called as the file.
TEST_P(FilesTest, TheNameOfAnNpyFilesArray) {
  save(at("n1.npy"), ones({3}));
  save(at("n2.npy"), {{"n2", ones({2})}});
  EXPECT_EQ(load(at("n1.npy"), "n1").shape(), Shape{3});
  EXPECT_EQ(load(at("n2.npy"), "n2").shape(), Shape{2});
  save(at("n1.npy"), load_all(at("n1.npy")));
  EXPECT_EQ(load_all(at("n1.npy")).at("n1").shape(), Shape{3});
  EXPECT_THAT(thrown_by([&] { (void)load(at("n1.npy"), "n2"); }),
              AllOf(StartsWith("InvalidArgument: "), HasSubstr("no array \"n2\""), HasSubstr("\"n1\"")));
  for (const char* name : {"a", "tensor", "", "n1.npy"}) {
    const auto refusal = AllOf(StartsWith("InvalidArgument: "), HasSubstr("n1.npy"), HasSubstr("\"n1\""));
    EXPECT_THAT(thrown_by([&] { save(at("n1.npy"), {{name, ones({4})}}); }), refusal);
    EXPECT_THAT(thrown_by([&] { (void)async_save(at("n1.npy"), {{name, ones({4})}}); }), refusal);
  }
  EXPECT_EQ(load(at("n1.npy")).shape(), Shape{3});
}

TEST_P(FilesTest, FilesAreReplaced) {
  save(at("x.npy"), ones({3}));
  fs::permissions(at("x.npy"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("x.npy", at("link.npy"));
  save(at("link.npy"), zeros({2}));
  EXPECT_TRUE(fs::is_symlink(at("link.npy")));
  EXPECT_EQ(load(at("x.npy")).shape(), Shape{2});
  EXPECT_EQ(fs::status(at("x.npy")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  // A tensor of a mapped file may be written over that file.
  const Tensor x = load(at("x.npy"));
  save(at("x.npy"), x + 1.0);
  EXPECT_THAT(load(at("x.npy")).read<float>(), ElementsAre(1, 1));
  fs::create_directory(at("d.npy"));
  EXPECT_THAT(thrown_by([&] { save(at("d.npy"), x); }), AllOf(StartsWith("IoError: "), HasSubstr("a directory")));
}

TEST_P(FilesTest, TheCaseOfTheNameDoesNotMatter) {
  for (const char* name : {"x.NPY", "x.Npz", "x.SafeTensors"}) {
    save(at(name), ones({3}));
    EXPECT_EQ(load(at(name)).shape(), Shape{3}) << name;
  }
  EXPECT_EQ(contents(at("x.NPY")).substr(1, 5), "NUMPY");
}

// The longest names that file systems take.
TEST_P(FilesTest, NamesOfAnyLength) {
  for (const std::size_t length : {242, 243, 250, 255}) {
    const std::string name = std::string(length - 4, 'n') + ".npz";
    save(at(name), ones({3}));
    save(at(name), ones({2}));  // and over the old one
    EXPECT_EQ(load(at(name)).shape(), Shape{2});
  }
  EXPECT_EQ(listed(directory.path()).size(), 4u) << "nothing else is left";
}

// What links lead to is written, and the links stay: through several, relative ones, and to nothing yet.
TEST_P(FilesTest, LinksAreFollowed) {
  fs::create_directory(at("inner"));
  save(at("inner/x.npy"), ones({3}));
  fs::create_symlink("inner/x.npy", at("one.npy"));
  fs::create_symlink(at("one.npy"), at("two.npy"));
  fs::create_symlink("inner/new.npy", at("dangling.npy"));
  save(at("two.npy"), ones({4}));
  save(at("dangling.npy"), ones({5}));
  for (const char* link : {"one.npy", "two.npy", "dangling.npy"}) EXPECT_TRUE(fs::is_symlink(at(link))) << link;
  EXPECT_EQ(load(at("inner/x.npy")).shape(), Shape{4});
  EXPECT_EQ(load(at("inner/new.npy")).shape(), Shape{5});
  EXPECT_THAT(listed(at("inner")), ElementsAre("new.npy", "x.npy"));
  fs::create_symlink("loop.npy", at("loop.npy"));
  EXPECT_THAT(thrown_by([&] { save(at("loop.npy"), ones({1})); }),
              AllOf(StartsWith("IoError: "), HasSubstr("loop.npy"), HasSubstr("symbolic links")));
}

TEST_P(FilesTest, ReadOnlyFilesStay) {
  save(at("x.npz"), ones({3}));
  fs::permissions(at("x.npz"), fs::perms::owner_read | fs::perms::group_read);
  EXPECT_THAT(thrown_by([&] { save(at("x.npz"), ones({4})); }), AllOf(StartsWith("IoError: "), HasSubstr("read-only")));
  EXPECT_EQ(load(at("x.npz")).shape(), Shape{3});
  EXPECT_THAT(listed(directory.path()), ElementsAre("x.npz"));
}

// A pipe, and a link to a descriptor of this process, which is open on a file that has a beginning already.
TEST_P(FilesTest, WhatIsNoFileIsWrittenToAsItIs) {
  if (!WEFT_POSIX) GTEST_SKIP() << "descriptors have no names";
  for (const std::string name : {"x.npy", "x.npz", "x.safetensors"}) {
    SCOPED_TRACE(name);
    save(at(name), ones({3}));
    const std::string expected = contents(at(name));
    const fs::path pipe = at("pipe_" + name);
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::future<std::string> read = std::async(std::launch::async, [&] { return contents(pipe); });
    save(pipe, ones({3}));
    EXPECT_EQ(read.get(), expected);
    EXPECT_TRUE(fs::is_fifo(pipe));

    const fs::path file = at("file"), link = at("link_" + name);
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ASSERT_GE(descriptor, 0);
    ASSERT_EQ(::write(descriptor, "start", 5), 5);
    fs::create_symlink("/dev/fd/" + std::to_string(descriptor), link);
    save(link, ones({3}));
    ::close(descriptor);
    EXPECT_EQ(contents(file), "start" + expected);
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_THAT(thrown_by([&] { save(link, ones({3})); }),
                AllOf(StartsWith("IoError: "), HasSubstr("Bad file descriptor")));
  }
  fs::create_symlink("/dev/full", at("full.npy"));
  EXPECT_THAT(thrown_by([&] { save(at("full.npy"), ones({3})); }), AllOf(StartsWith("IoError: "), HasSubstr("space")));
}

TEST_P(FilesTest, RefusesWhatItCannotWrite) {
  const Tensor x = ones({2});
  const auto refused = [&](const std::string& name, const TensorMap& tensors,
                           const SafeTensors::Metadata& metadata = {}) {
    const std::string text = thrown_by([&] { save(at(name), tensors, metadata); });
    EXPECT_FALSE(fs::exists(at(name))) << name;
    EXPECT_EQ(thrown_by([&] { (void)async_save(at(name), tensors, metadata); }), text);
    return text;
  };
  EXPECT_THAT(refused("x.txt", {{"a", x}}),
              AllOf(StartsWith("InvalidArgument: "), HasSubstr(".npy, .npz or .safetensors")));
  EXPECT_THAT(refused("x.npy", {{"a", x}, {"b", x}}), HasSubstr("one array, 2 given"));
  EXPECT_THAT(refused("x.npz", {{"a", x}}, {{"k", "v"}}), HasSubstr("only .safetensors holds metadata"));
  EXPECT_THAT(refused("x.safetensors", {{"__metadata__", x}}), HasSubstr("__metadata__"));
  EXPECT_THAT(refused("x.safetensors", {{"\xff", x}}), HasSubstr("UTF-8"));
  EXPECT_THAT(refused("x.safetensors", {{"x", x}}, {{"k", "\xff"}}), HasSubstr("UTF-8"));
  EXPECT_THAT(refused("x.npz", {{std::string("a\0b", 3), x}}), HasSubstr("zero"));
  EXPECT_THAT(refused("x.npz", {{"\xff", x}}), HasSubstr("UTF-8"));
  for (const DType dtype : {DType::bf16, DType::f8e4m3, DType::f8e5m2, DType::i4, DType::u2}) {
    for (const char* name : {"x.npy", "x.npz"}) {
      EXPECT_THROW(save(at(name), {{"a", zeros({4}, dtype)}}), TypeError) << weft::name(dtype);
    }
  }
  for (const DType dtype : {DType::i4, DType::u4, DType::i2, DType::u2}) {
    EXPECT_THROW(save(at("x.safetensors"), zeros({4}, dtype)), TypeError) << name(dtype);
  }
  EXPECT_THAT(thrown_by([&] { save(at("x.npz"), {{"w", zeros({4}, DType::bf16)}}); }),
              AllOf(HasSubstr("x.npz"), HasSubstr("\"w\""), HasSubstr("bf16"), HasSubstr(".safetensors")));
  EXPECT_TRUE(listed(directory.path()).empty());
}

TEST_P(FilesTest, RefusesWhatItCannotRead) {
  const auto refused = [&](const fs::path& path) {
    const std::string text = thrown_by([&] { (void)load(path); });
    EXPECT_EQ(thrown_by([&] { (void)load_all(path); }), text);
    return text;
  };
  EXPECT_THAT(refused(at("x.npy")), AllOf(StartsWith("IoError: "), HasSubstr("no such file")));
  EXPECT_THAT(refused(at("x.npz")), StartsWith("IoError: "));
  EXPECT_THAT(refused(at("x.safetensors")), StartsWith("IoError: "));
  EXPECT_THAT(refused(at("x.txt")), AllOf(StartsWith("InvalidArgument: "), HasSubstr(".npy, .npz or .safetensors")));
  EXPECT_THAT(refused(data("complex128.npy")), AllOf(StartsWith("Unsupported: "), HasSubstr("complex128")));
  EXPECT_THAT(refused(data("structured.npy")), AllOf(StartsWith("Unsupported: "), HasSubstr("'a', '<f4'")));
  EXPECT_THAT(refused(data("text.npy")), AllOf(StartsWith("Unsupported: "), HasSubstr("text")));
  EXPECT_THAT(refused(data("time.npy")), AllOf(StartsWith("Unsupported: "), HasSubstr("datetime64")));
  EXPECT_THAT(refused(data("bfloat16.npy")), AllOf(StartsWith("Unsupported: "), HasSubstr("bfloat16")));
  EXPECT_THAT(refused(data("bzip2.npz")), AllOf(StartsWith("Unsupported: "), HasSubstr("method 12")));
  EXPECT_THAT(thrown_by([&] { (void)load(data("text.npz")); }), HasSubstr("holds no tensors"));
  EXPECT_THAT(thrown_by([&] { (void)load(data("nothing.npz")); }), StartsWith("InvalidArgument: "));
  EXPECT_THAT(thrown_by([&] { (void)load(data("stored.npz")); }),
              AllOf(StartsWith("InvalidArgument: "), HasSubstr("16 tensors"), HasSubstr("load_all")));
  EXPECT_THAT(thrown_by([&] { (void)load(data("all.safetensors")); }), StartsWith("InvalidArgument: "));
}

}  // namespace
}  // namespace weft::test
