// What `weft embed` writes to files, read back by the library.
#include "vector_writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "support/temp_dir.h"
#include "support/throws.h"
#include "weft/files.h"

namespace weft::app {
namespace {

std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) / 3 - 1;
  return values;
}

TEST(VectorWriter, TheLibraryReadsItsFiles) {
  const test::TempDir dir;
  for (const std::string extension : {".npy", ".safetensors"}) {
    for (const std::int64_t rows : {0, 1, 1000}) {
      SCOPED_TRACE(extension + " " + std::to_string(rows));
      const std::string path = (dir.path() / ("v" + extension)).string();
      constexpr int kDimension = 7;
      const std::vector<float> values = numbers(static_cast<std::size_t>(rows) * kDimension);
      {
        VectorWriter writer(path, kDimension, "");
        const auto half = static_cast<std::size_t>(rows / 2) * kDimension;  // in two parts
        writer.write(std::span(values).first(half));
        writer.write(std::span(values).subspan(half));
        writer.commit();
      }
      const Tensor read = load(path);
      EXPECT_EQ(read.shape(), (Shape{rows, kDimension}));
      EXPECT_EQ(read.dtype(), DType::f32);
      EXPECT_EQ(read.read<float>(), values);
      const TensorMap all = load_all(path);
      ASSERT_EQ(all.size(), 1u);
      EXPECT_EQ(all.begin()->first, extension == ".npy" ? "v" : "embeddings");
    }
  }
}

TEST(VectorWriter, LeavesNothingWithoutCommit) {
  const test::TempDir dir;
  const std::vector<float> values = numbers(4);
  {
    VectorWriter writer((dir.path() / "v.npy").string(), 2, "");
    writer.write(values);
    EXPECT_FALSE(std::filesystem::is_empty(dir.path()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(VectorWriter, TakesTheFormFromTheName) {
  EXPECT_EQ(vector_format("-"), VectorFormat::json_lines);
  EXPECT_EQ(vector_format("/dev/full"), VectorFormat::json_lines);
  EXPECT_EQ(vector_format("v.jsonl"), VectorFormat::json_lines);
  EXPECT_EQ(vector_format("a.b/v.npy"), VectorFormat::npy);
  EXPECT_EQ(vector_format("v.safetensors"), VectorFormat::safetensors);
  EXPECT_EQ(test::thrown_by([] { vector_format("v.npz"); }),
            "InvalidArgument: 'v.npz' ends in none of .npy, .safetensors, .jsonl and .ndjson");
}

}  // namespace
}  // namespace weft::app
