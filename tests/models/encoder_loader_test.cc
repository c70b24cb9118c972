// Encoders whose weights come in pieces, and embeddings in steps, against those that come at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "gpu/wait.h"
#include "support/data.h"
#include "support/devices.h"
#include "support/temp_dir.h"
#include "support/throws.h"
#include "weft/models.h"

namespace weft::models {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> all_devices() {
  std::vector<std::string> names = test::device_names();
  names.push_back("cpu");
  return names;
}

// A model's folder without its weights, and their bytes.
struct Parts {
  explicit Parts(const char* name) {
    fs::copy(test::data_path("encoders") / name, path, fs::copy_options::recursive);
    std::ifstream file(path / "model.safetensors", std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
    fs::remove(path / "model.safetensors");
  }
  std::span<const std::byte> all() const { return std::as_bytes(std::span(bytes)); }
  SentenceEncoder load(const Device& device, const std::function<std::size_t()>& piece) const {
    EncoderLoader loader(path, device);
    for (auto rest = all(); !rest.empty();) {
      const auto part = rest.first(std::min(piece(), rest.size()));
      loader.take(part);
      rest = rest.subspan(part.size());
    }
    EXPECT_EQ(loader.size(), bytes.size());
    return loader.finish();
  }
  std::string refusal(std::span<const std::byte> given) const {
    return test::thrown_by([&] {
      EncoderLoader loader(path, Device::cpu());
      loader.take(given);
      loader.finish();
    });
  }

  test::TempDir dir;
  fs::path path = dir.path() / "model";
  std::string bytes;
};

const std::vector<std::string> kSentences = {"one", "and another one", "the third", "", "one two three four five six"};

class EncoderLoaderTest : public testing::TestWithParam<std::string> {
 protected:
  static Device device() { return GetParam() == "cpu" ? Device::cpu() : Device(test::device(GetParam())); }
};

TEST_P(EncoderLoaderTest, WeightsInPiecesAreTheSame) {
  for (const char* name : {"bert_cls", "bert_max_mean_dense", "bert_f16_weights", "distilbert_mean_sqrt"}) {
    SCOPED_TRACE(name);
    const auto expected = models::load(test::data_path("encoders") / name, device()).embed(kSentences).read<float>();
    float largest = 1;
    for (const float v : expected) largest = std::max(largest, std::abs(v));
    const Parts parts(name);
    std::minstd_rand random(7);
    const std::function<std::size_t()> pieces[] = {
        [] { return std::size_t{1} << 30; }, [&] { return 1 + random() % 5000; }, [] { return std::size_t{997}; }};
    for (const auto& piece : pieces) {
      const auto got = parts.load(device(), piece).embed(kSentences).read<float>();
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 2e-5 * largest) << i;
    }
  }
}

TEST_P(EncoderLoaderTest, StepsGiveTheSame) {
  const Parts parts("bert_cls");
  auto encoder = parts.load(device(), [] { return 100'000; });
  const auto expected = encoder.embed(kSentences).read<float>();
  for (const int batch : {0, 1, 2}) {
    Future<std::vector<float>> vectors;
    {
      const gpu::NoWaiting guard;
      EmbedSteps steps = encoder.embed_steps(kSentences, batch);
      std::size_t before = 0;
      while (!steps.done()) {
        // A page awaits it; here the next step begins when what it needs is compiled.
        Future<void> step = steps.next();
        while (steps.sentences_done() == before && !step.ready()) {
        }
        before = steps.sentences_done();
      }
      EXPECT_EQ(before, kSentences.size());
      vectors = steps.result().async_read<float>();
      EXPECT_THAT(guard.places(), testing::IsEmpty());
      EXPECT_THROW(steps.next(), InvalidArgument);
    }
    const auto got = vectors.get();
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 2e-5 * std::abs(expected[i]) + 2e-5);
  }
  EmbedSteps steps = encoder.embed_steps(kSentences);
  EXPECT_THROW(steps.result(), InvalidArgument);
  EXPECT_THROW(encoder.embed_steps(kSentences, -1), InvalidArgument);
  EXPECT_TRUE(encoder.embed_steps({}).done());
}

TEST(EncoderLoader, RefusesOtherFiles) {
  const Parts parts("bert_cls");
  const std::string source = (parts.path / "model.safetensors").string();
  const auto all = parts.all();
  const auto text = [](std::string_view t) { return std::as_bytes(std::span(t)); };
  EXPECT_EQ(parts.refusal(all), "nothing");
  EXPECT_EQ(parts.refusal(all.first(4)),
            "FormatError: " + source + ": 4 bytes of its header; the download may have been cut off");
  EXPECT_EQ(parts.refusal(all.first(all.size() - 1)), "FormatError: " + source + ": " + std::to_string(all.size() - 1) +
                                                          " bytes of " + std::to_string(all.size()) +
                                                          "; the download may have been cut off");
  EXPECT_EQ(parts.refusal(text(parts.bytes + "x")), "FormatError: " + source + ": there is more than the " +
                                                        std::to_string(all.size()) + " bytes that its header tells");
  EXPECT_THAT(parts.refusal(text("<!doctype html><title>Not found</title>")),
              testing::EndsWith("this is not a safetensors file"));
  EXPECT_THAT(parts.refusal(text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")),
              testing::HasSubstr("Git LFS"));
  // When the header is there, before any weight is.
  EXPECT_THAT(Parts("distilbert_mean_sqrt")
                  .refusal(all.first(8 + static_cast<unsigned char>(parts.bytes[0]) +
                                     256 * static_cast<unsigned char>(parts.bytes[1]))),
              testing::HasSubstr("has shape [15, 24], expected [15, 32]"));
  auto encoder = parts.load(Device::cpu(), [] { return 1000; });
  encoder.restore(Device::cpu());  // the host has them
  EXPECT_EQ(encoder.embed(kSentences).shape()[0], 5);
}

INSTANTIATE_TEST_SUITE_P(Devices, EncoderLoaderTest, testing::ValuesIn(all_devices()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace weft::models
