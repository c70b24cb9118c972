// Embeddings against those of transformers (values by tests/reference/sentences.py and encoders.py), on every device.
#include "weft/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "gpu/wait.h"
#include "support/data.h"
#include "support/dawn_counters.h"
#include "support/devices.h"
#include "support/npy.h"
#include "support/temp_dir.h"
#include "support/throws.h"
#include "text/input.h"
#include "weft/creation.h"
#include "weft/files.h"

namespace weft {
namespace {

std::vector<std::string> all_devices() {
  std::vector<std::string> names = test::device_names();
  names.push_back("cpu");
  return names;
}

class SentenceEncoderTest : public testing::TestWithParam<std::string> {
 protected:
  static Device device() { return GetParam() == "cpu" ? Device::cpu() : Device(test::device(GetParam())); }
};

struct Difference {
  double smallest_cosine = 1, largest_error = 0;
};

constexpr double kInf = std::numeric_limits<double>::infinity();

// A NaN gives an infinite difference and a cosine of -infinity.
Difference compare(std::span<const float> got, std::span<const float> expected, std::size_t dimension) {
  Difference d;
  for (std::size_t row = 0; row < expected.size(); row += dimension) {
    double dot = 0, a = 0, b = 0;
    for (std::size_t i = row; i < row + dimension; ++i) {
      dot += double{got[i]} * expected[i];
      a += double{got[i]} * got[i];
      b += double{expected[i]} * expected[i];
      const double error = std::abs(double{got[i]} - expected[i]);
      d.largest_error = std::max(d.largest_error, std::isnan(error) ? kInf : error);
    }
    const double cosine = dot / std::sqrt(a * b);
    d.smallest_cosine = std::min(d.smallest_cosine, std::isnan(cosine) ? -kInf : cosine);
  }
  return d;
}

TEST(SentenceComparison, NothingHidesWhatIsNoNumber) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> expected{1, 0, 0, 1, 1, 0};
  const Difference first = compare(std::vector<float>{kNaN, 0, 0, 1, 1, 0}, expected, 2);
  const Difference last = compare(std::vector<float>{1, 0, 0, 1, 1, kNaN}, expected, 2);
  for (const Difference& d : {first, last}) {
    EXPECT_EQ(d.largest_error, kInf);
    EXPECT_EQ(d.smallest_cosine, -kInf);
  }
  const Difference turned = compare(std::vector<float>{-1, 0, 0, 1, 1, 0}, expected, 2);
  EXPECT_EQ(turned.largest_error, 2);
  EXPECT_EQ(turned.smallest_cosine, -1);
}

std::span<const float> values(const View& view) {
  return {reinterpret_cast<const float*>(view.buffer.data() + view.offset), static_cast<std::size_t>(view.count())};
}

// all-MiniLM-L6-v2 on sentences in many scripts, including empty and very long ones. f32 has 24 bits; six layers of
// sums of 384 to 1,536 terms have errors of about 1e-6 in vectors of norm 1; the bound is the project's documented one.
TEST_P(SentenceEncoderTest, MiniLmEqualsTransformers) {
  const char* model = std::getenv("WEFT_MODEL_DIR");
  if (!model) GTEST_SKIP() << "WEFT_MODEL_DIR names no model (./dev test sets it)";
  auto reader = text::SentenceReader::open(test::data_path("sentences.jsonl"));
  std::vector<std::string> sentences;
  for (std::string s; reader.next(s);) sentences.push_back(s);
  ASSERT_GE(sentences.size(), 200u);
  const View expected = test::load_npy("sentence_embeddings.npy");
  auto encoder = models::load(model, device());
  const std::vector<float> got = encoder.embed(sentences).read<float>();
  ASSERT_EQ(got.size(), static_cast<std::size_t>(expected.count()));
  const Difference d = compare(got, values(expected), static_cast<std::size_t>(encoder.dimension()));
  EXPECT_GE(d.smallest_cosine, 0.99999);
  EXPECT_LE(d.largest_error, 2e-5);
}

// More than are sorted by length together: each is where it belongs, as in a call of its own.
TEST_P(SentenceEncoderTest, ManySentences) {
  auto encoder = models::load(test::data_path("encoders") / "bert_cls", device());
  const std::vector<std::string> few = {"a", "the end of it all", "one, two and three: a line", "b c"};
  const std::vector<float> expected = encoder.embed(few).read<float>();
  std::vector<std::string> many;
  for (std::size_t i = 0; i < 2 * 8192 + 5; ++i) many.push_back(few[i % few.size()]);
  const std::vector<float> got = encoder.embed(many).read<float>();
  const auto dimension = static_cast<std::size_t>(encoder.dimension());
  ASSERT_EQ(got.size(), many.size() * dimension);
  for (const std::size_t i : {0UL, 1UL, 2UL, 3UL, 8190UL, 8191UL, 8192UL, 8193UL, 16383UL, 16384UL, 16387UL, 16388UL}) {
    const Difference d = compare(std::span(got).subspan(i * dimension, dimension),
                                 std::span(expected).subspan(i % few.size() * dimension, dimension), dimension);
    EXPECT_LE(d.largest_error, 2e-6) << i;  // batches of other lengths sum in another order
  }
}

// As in a browser: a model is loaded for a future, on a device that is still to come, and its first sentences compile
// it.
TEST_P(SentenceEncoderTest, LoadsAndEmbedsWithoutWaiting) {
  const auto folder = test::data_path("encoders") / "bert_cls";
  const std::vector<std::string> sentences = {"one", "and another one", "the third"};
  auto encoder = models::load(folder, device());
  const std::vector<float> expected = encoder.embed(sentences).read<float>();
  Future<std::vector<float>> vectors;
  {
    const gpu::NoWaiting guard;
    Future<Device> opening({}, [opened = device()] { return opened; });
    Future<models::SentenceEncoder> loading = models::load_async(folder, std::move(opening));
    vectors = std::move(loading).and_then(
        [&](models::SentenceEncoder loaded) { return loaded.embed(sentences).async_read<float>(); });
    (void)vectors.ready();  // the device is there, so the model is
    EXPECT_THAT(guard.places(), testing::IsEmpty());
  }
  EXPECT_EQ(vectors.get(), expected);
  EXPECT_THROW(models::load_async(folder / "nothing").get(), IoError);
}

// Half the memory for weights and activations: every sentence stays within a cosine of 0.9995. Its weights are
// ordinary, so that automatic chooses f16 for all.
TEST_P(SentenceEncoderTest, MiniLmInF16) {
  const char* model = std::getenv("WEFT_MODEL_DIR");
  if (!model) GTEST_SKIP() << "WEFT_MODEL_DIR names no model (./dev test sets it)";
  auto reader = text::SentenceReader::open(test::data_path("sentences.jsonl"));
  std::vector<std::string> sentences;
  for (std::string s; reader.next(s);) sentences.push_back(s);
  const View expected = test::load_npy("sentence_embeddings.npy");
  CompileOptions options;
  options.precision = Precision::automatic;
  auto encoder = models::load(model, device(), {.batch = 32, .progress = {}, .compile = options});
  const CompileReport report = encoder.executable(2, 16).report();
  EXPECT_EQ(report.precision.size(), 25u);  // four products in each of six layers, and the word embeddings
  for (const PrecisionDecision& d : report.precision) EXPECT_TRUE(d.f16) << d.weights << ": " << d.reason;
  EXPECT_EQ(report.graph.find(": f32 [2, 16, 384]"), std::string::npos) << report.graph;
  const std::vector<float> got = encoder.embed(sentences).read<float>();
  const Difference d = compare(got, values(expected), static_cast<std::size_t>(encoder.dimension()));
  EXPECT_GE(d.smallest_cosine, 0.9995);
  RecordProperty("smallest_cosine", std::to_string(d.smallest_cosine));
}

// Random weights, so values reach some tens and errors grow with them: relative to the largest value.
TEST_P(SentenceEncoderTest, OtherArchitecturesPoolingsAndModules) {
  for (const char* name : {"bert_cls", "bert_max_mean_dense", "bert_f16_weights", "distilbert_mean_sqrt"}) {
    SCOPED_TRACE(name);
    const auto folder = test::data_path("encoders") / name;
    const auto sentences =
        nlohmann::json::parse(std::ifstream(folder / "sentences.json")).get<std::vector<std::string>>();
    const View expected = test::load_npy(std::string("encoders/") + name + "/embeddings.npy");
    auto encoder = models::load(folder, device());
    const std::vector<float> got = encoder.embed(sentences).read<float>();
    ASSERT_EQ(got.size(), static_cast<std::size_t>(expected.count()));
    float largest = 0;
    for (float v : values(expected)) largest = std::max(largest, std::abs(v));
    const Difference d = compare(got, values(expected), static_cast<std::size_t>(encoder.dimension()));
    EXPECT_LE(d.largest_error, 2e-5 * std::max(largest, 1.0f));
  }
}

// A copy of a model whose files can be changed.
struct ModelCopy {
  explicit ModelCopy(const char* name) {
    std::filesystem::copy(test::data_path("encoders") / name, path, std::filesystem::copy_options::recursive);
  }
  nlohmann::json read(const char* file) const { return nlohmann::json::parse(std::ifstream(path / file)); }
  void write(const std::string& file, const nlohmann::json& json) const {
    std::filesystem::create_directories((path / file).parent_path());
    std::ofstream(path / file) << json;
  }
  std::string refusal(models::EmbedOptions options = {}) const {
    return test::thrown_by([&] { models::load(path, Device::cpu(), std::move(options)); });
  }

  test::TempDir dir;
  std::filesystem::path path = dir.path() / "model";
};

// What sentence-transformers computes with other poolings, dense layers and prompts (tests/reference/modules.py).
TEST_P(SentenceEncoderTest, ModulesOfSentenceTransformers) {
  namespace fs = std::filesystem;
  const fs::path data = test::data_path("modules");
  const auto reference = nlohmann::json::parse(std::ifstream(data / "cases.json"));
  const auto sentences = reference["sentences"].get<std::vector<std::string>>();
  for (const auto& entry : reference["cases"]) {
    SCOPED_TRACE(entry["name"]);
    const ModelCopy model("bert_cls");
    if (const auto folder = entry["folder"].get<std::string>(); !folder.empty()) {
      std::vector<fs::path> files;
      for (const auto& file : fs::directory_iterator(model.path)) {
        if (file.is_regular_file() && file.path().filename() != "modules.json") files.push_back(file.path());
      }
      fs::create_directory(model.path / folder);
      for (const fs::path& file : files) fs::rename(file, model.path / folder / file.filename());
    }
    for (const auto& [name, contents] : entry["files"].items()) {
      if (!contents.is_string())
        model.write(name, contents);
      else
        fs::copy(data / contents.get<std::string>(), model.path / name);
    }
    models::EmbedOptions options;
    if (!entry["prompt"].is_null()) options.prompt = entry["prompt"].get<std::string>();
    auto encoder = models::load(model.path, device(), options);
    std::vector<float> expected;
    for (const auto& row : entry["embeddings"]) {
      for (const float v : row) expected.push_back(v);
    }
    const std::vector<float> got = encoder.embed(sentences).read<float>();
    ASSERT_EQ(got.size(), expected.size());
    float largest = 1;
    for (const float v : expected) largest = std::max(largest, std::abs(v));
    const Difference d = compare(got, expected, static_cast<std::size_t>(encoder.dimension()));
    EXPECT_LE(d.largest_error, 2e-5 * largest);
  }
}

TEST_P(SentenceEncoderTest, OrderAndBatchesDoNotMatter) {
  const auto folder = test::data_path("encoders") / "distilbert_mean_sqrt";
  std::vector<std::string> sentences;
  for (int i = 0; i < 70; ++i) sentences.push_back(std::string(static_cast<std::size_t>(i * 7 % 23), 'a') + " hello");
  for (std::size_t i = 0; i < sentences.size(); i += 3) sentences[i] = "a b c hello world";
  auto whole = models::load(folder, device(), {.batch = 64, .progress = {}, .compile = {}});
  auto pieces = models::load(folder, device(), {.batch = 3, .progress = {}, .compile = {}});
  const auto a = whole.embed(sentences).read<float>(), b = pieces.embed(sentences).read<float>();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-5 * std::max(1.0f, std::abs(a[i]))) << i;
  EXPECT_EQ(whole.embed({}).shape(), (Shape{0, whole.dimension()}));
}

TEST_P(SentenceEncoderTest, SteadyStateMakesNothing) {
  if (GetParam() == "cpu") GTEST_SKIP() << "nothing of Dawn's here";
  auto encoder = models::load(test::data_path("encoders") / "bert_cls", device());
  Executable exe = encoder.executable(4, 8);
  Tensor ids(device(), DType::i32, {4, 8}), lengths(device(), DType::i32, {4});
  const Tensor out(device(), DType::f32, {4, encoder.dimension()});
  const std::vector<std::int32_t> host_ids(32, 7), host_lengths(4, 8);
  const auto run = [&] {
    ids.write(std::as_bytes(std::span(host_ids)));
    lengths.write(std::as_bytes(std::span(host_lengths)));
    exe.run({{"ids", ids}, {"lengths", lengths}}, {{"embeddings", out}});
    return out.read<float>();
  };
  const auto first = run();
  run();
  const auto before = test::DawnCounters::now();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run(), first);
  const auto made = test::DawnCounters::now() - before;
  EXPECT_EQ(made.created(), 0u) << made.text();
}

TEST(SentenceEncoder, SaysWhatAModelIs) {
  EXPECT_EQ(
      test::thrown_by([] { models::load("/nowhere"); }),
      "IoError: /nowhere: no such file or directory; a model is a directory in Hugging Face's layout (config.json, "
      "model.safetensors, tokenizer.json)");
  EXPECT_EQ(test::thrown_by([] { models::load("/dev/null"); }),
            "IoError: /dev/null: not a directory; a model is a directory in Hugging Face's layout (config.json, "
            "model.safetensors, tokenizer.json)");
}

TEST(SentenceEncoder, RefusesModulesWithoutTheirList) {
  const ModelCopy model("bert_cls");
  EXPECT_EQ(model.refusal(), "nothing");
  std::filesystem::remove(model.path / "modules.json");
  EXPECT_EQ(model.refusal(), "FormatError: " + model.path.string() +
                                 ": has 1_Pooling, but no modules.json, which says what modules follow "
                                 "the encoder and whether vectors are normalised; copy it from where the model comes "
                                 "from, or remove the folder "
                                 "for mean pooling alone");
  std::filesystem::remove_all(model.path / "1_Pooling");
  EXPECT_EQ(model.refusal(), "nothing");
}

TEST(SentenceEncoder, RefusesModulesThatItDoesNotHave) {
  const ModelCopy model("bert_cls");
  const auto refused = [&](const char* file, const nlohmann::json& json, const std::string& message) {
    const nlohmann::json before = model.read(file);
    model.write(file, json);
    EXPECT_EQ(model.refusal(), message);
    model.write(file, before);
  };
  const std::string pooling = (model.path / "1_Pooling" / "config.json").string();
  const std::string known = "expected one of cls, max, mean, mean_sqrt_len_tokens, weightedmean, lasttoken";
  refused("1_Pooling/config.json", {{"pooling_mode", "mean_tokens"}},
          "FormatError: " + pooling + ": 'pooling_mode' has \"mean_tokens\", " + known);
  refused("1_Pooling/config.json", {{"pooling_mode", {"cls", "m"}}},
          "FormatError: " + pooling + ": 'pooling_mode' has \"m\", " + known);
  refused("1_Pooling/config.json", {{"pooling_mode", nlohmann::json::array()}},
          "FormatError: " + pooling + ": 'pooling_mode' is an empty list");

  const std::string dense = (model.path / "2_Dense" / "config.json").string();
  nlohmann::json settings = {{"in_features", 24}, {"out_features", 24}, {"use_residual", true}};
  model.write("2_Dense/config.json", settings);
  std::filesystem::copy(test::data_path("modules") / "same.safetensors", model.path / "2_Dense" / "model.safetensors");
  nlohmann::json modules = model.read("modules.json");
  modules.push_back({{"type", "sentence_transformers.models.Dense"}, {"path", "2_Dense"}});
  model.write("modules.json", modules);
  EXPECT_EQ(model.refusal(), "nothing");
  for (const char* name : {"torch.nn.modules.activation.PReLU", "my.own.Tanh", "Tanh"}) {
    settings["activation_function"] = name;
    refused("2_Dense/config.json", settings,
            "Unsupported: " + dense + ": activation_function \"" + name +
                "\"; Weft has PyTorch's Tanh, ReLU, GELU, Sigmoid, SiLU, Softplus, Mish and Identity");
  }
  settings.erase("activation_function");
  nlohmann::json config = model.read("config.json");
  for (const auto& [name, quoted] : {std::pair("gelu_10", "gelu_10"), {"a\x1b[2J\x7f", "a\\x1b[2J\\x7f"}}) {
    config["hidden_act"] = name;
    refused("config.json", config,
            "Unsupported: " + (model.path / "config.json").string() + ": 'hidden_act' is \"" + quoted +
                "\"; Weft has gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, quick_gelu, relu, silu, swish and tanh");
  }
  settings["module_input_name"] = "token_embeddings";
  refused("2_Dense/config.json", settings,
          "Unsupported: " + dense + ": 'module_input_name' is \"token_embeddings\"; Weft has 'sentence_embedding'");
}

// What follows from bytes of a file is told, but the bytes themselves do not reach the terminal.
TEST(SentenceEncoder, BytesThatAreNoTextAreNotPrinted) {
  for (const char* file : {"config.json", "modules.json", "1_Pooling/config.json", "tokenizer_config.json"}) {
    const ModelCopy model("bert_cls");
    std::ofstream(model.path / file) << "{\"model_type\": \"b\xff\x1b[2Jert\"}";
    EXPECT_THAT(model.refusal(), testing::StartsWith("FormatError: " + (model.path / file).string() + ":1:"));
    EXPECT_THAT(model.refusal(), testing::EndsWith(": broken JSON; the file may be damaged or cut off"));
  }
}

TEST(SentenceEncoder, FindsWeightsBehindAnyPrefix) {
  const auto model = [] { return ModelCopy("bert_cls"); };
  const ModelCopy plain = model();
  const auto embed = [](const ModelCopy& m) {
    return models::load(m.path, Device::cpu()).embed(std::vector<std::string>{"hello world"}).read<float>();
  };
  const TensorMap weights = load_all(plain.path / "model.safetensors");
  for (const char* prefix : {"bert.", "model.", "0.auto_model.", "model.bert."}) {
    TensorMap renamed;
    for (const auto& [name, tensor] : weights) renamed.emplace(prefix + name, tensor);
    renamed.emplace("classifier.weight", zeros({2, 2}));
    const ModelCopy other = model();
    save(other.path / "model.safetensors", renamed);
    EXPECT_EQ(embed(other), embed(plain)) << prefix;
  }
}

TEST(SentenceEncoder, KnowsItsPrompts) {
  const ModelCopy model("bert_cls");
  const auto text = [&](const std::optional<std::string>& name) { return models::prompt_text(model.path, name); };
  const auto set = [&](nlohmann::json prompts, nlohmann::json usual) {
    model.write("config_sentence_transformers.json",
                {{"prompts", std::move(prompts)}, {"default_prompt_name", std::move(usual)}});
  };
  EXPECT_EQ(text({}), "") << "no file";
  EXPECT_EQ(text("query"), "") << "a prompt that every model has";
  set({{"a", "one "}, {"b", nullptr}}, "a");
  EXPECT_EQ(text({}), "one ");
  EXPECT_EQ(text("a"), "one ");
  EXPECT_EQ(text("b"), "");
  EXPECT_EQ(text("none"), "");
  EXPECT_EQ(test::thrown_by([&] { text("c"); }),
            "InvalidArgument: " + model.path.string() +
                ": there is no prompt \"c\" among the model's: \"a\", \"b\", \"document\", \"query\", none");
  EXPECT_EQ(model.refusal({.prompt = "c"}), test::thrown_by([&] { text("c"); }));
  const auto encoder = models::load(model.path, Device::cpu());
  EXPECT_EQ(encoder.tokenizer().prompt(), "one ");
  set({{"a", "one "}}, nullptr);
  EXPECT_EQ(text({}), "");
  set({{"a", "one "}}, "z");
  EXPECT_EQ(test::thrown_by([&] { text({}); }),
            "FormatError: " + (model.path / "config_sentence_transformers.json").string() +
                ": at \"default_prompt_name\": expected the name of one of \"prompts\", got \"z\"");
}

TEST(SentenceEncoder, NeedsNoTokenizerForItsGraph) {
  const ModelCopy model("bert_cls");
  std::filesystem::remove(model.path / "vocab.txt");
  EXPECT_THROW(models::load(model.path, Device::cpu()), IoError);
  auto encoder = models::SentenceEncoder::load(model.path, Device::cpu(), {.tokenizer = false});
  EXPECT_NO_THROW(encoder.graph(2, 8));
  EXPECT_EQ(encoder.vocabulary(), 15);
  auto whole = models::load(test::data_path("encoders") / "bert_cls", Device::cpu());
  const std::vector<text::Ids> ids = {{2, 10, 11, 3}};
  EXPECT_EQ(encoder.embed_ids(ids).read<float>(), whole.embed_ids(ids).read<float>());
  EXPECT_EQ(test::thrown_by([&] { encoder.embed(std::vector<std::string>{"a"}); }),
            "InvalidArgument: the model was loaded without its tokenizer");
}

TEST(SentenceEncoder, RefusesLayersThatTheConfigDoesNotCount) {
  const ModelCopy model("bert_cls");
  nlohmann::json config = model.read("config.json");
  ASSERT_GT(config["num_hidden_layers"], 1);
  config["num_hidden_layers"] = 1;
  model.write("config.json", config);
  EXPECT_EQ(model.refusal(),
            "FormatError: " + (model.path / "model.safetensors").string() +
                ": \"encoder.layer.1.attention.output.LayerNorm.bias\" is a weight of a layer past the "
                "1 of config.json; one of the two files belongs to another model");
}

TEST(SentenceEncoder, NamesWeightsThatItDoesNotUse) {
  const ModelCopy model("bert_cls");
  const auto file = model.path / "model.safetensors";
  TensorMap weights = load_all(file);
  weights.emplace("pooler.dense.weight", zeros({2, 2}));  // of a head, as in most checkpoints
  save(file, weights);
  testing::internal::CaptureStderr();
  EXPECT_EQ(model.refusal(), "nothing");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  weights.emplace("encoder.adapter.weight", zeros({2, 2}));
  weights.emplace("encoder.layer.0.attention.self.gate.weight", zeros({2, 2}));
  save(file, weights);
  testing::internal::CaptureStderr();
  EXPECT_EQ(model.refusal(), "nothing");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "weft warning: " + file.string() +
                                                        ": 2 weights are not used: \"encoder.adapter.weight\", "
                                                        "\"encoder.layer.0.attention.self.gate.weight\"\n");
}

// Batches that are done are counted, and each only when it is.
TEST_P(SentenceEncoderTest, TellsBatchesThatAreDone) {
  std::vector<std::size_t> done;
  auto encoder =
      models::load(test::data_path("encoders") / "bert_cls", device(),
                   {.batch = 2, .progress = [&](std::size_t count) { done.push_back(count); }, .compile = {}});
  const std::vector<std::string> sentences(7, "hello");
  encoder.embed(sentences).read<float>();
  EXPECT_EQ(done, (std::vector<std::size_t>{2, 4, 6})) << "the seventh is done when it is read";
}

INSTANTIATE_TEST_SUITE_P(Devices, SentenceEncoderTest, testing::ValuesIn(all_devices()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace weft
