#include "models/config.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/format.h"
#include "core/in_quotes.h"
#include "core/json_reader.h"
#include "core/mapped_file.h"
#include "text/tokenizer_file.h"
#include "weft/error.h"
#include "weft/models.h"

namespace weft::models {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// A JSON object from a file, read key by key with messages that name both.
class ConfigFile {
 public:
  explicit ConfigFile(fs::path path) : path_(std::move(path)) {
    errno = 0;
    if (!std::ifstream(path_, std::ios::binary)) {
      throw IoError("{}: cannot be read: {}; a model is a directory in Hugging Face's layout", path_.string(),
                    std::error_code(errno ? errno : EIO, std::generic_category()).message());
    }
    value_ = parse_json(read_file(path_), path_.string());
  }

  const json& value() const { return value_; }
  std::string source() const { return path_.string(); }

  bool has(const char* key) const { return value_.is_object() && value_.contains(key) && !value_[key].is_null(); }

  template <class T>
  T get(const char* key) const {
    if (!value_.is_object() || !value_.contains(key)) throw FormatError("{}: '{}' is missing", source(), key);
    return convert<T>(key);
  }
  template <class T>
  T get(const char* key, T otherwise) const {
    return has(key) ? convert<T>(key) : otherwise;
  }
  // A positive size that fits a shape.
  std::int64_t size(const char* key) const {
    const auto n = get<std::int64_t>(key);
    if (n < 1 || n > (1 << 30)) throw FormatError("{}: '{}' is {}, expected 1 to 2^30", source(), key, n);
    return n;
  }

 private:
  template <class T>
  T convert(const char* key) const {
    const json& v = value_[key];
    const bool fits = std::is_same_v<T, bool>       ? v.is_boolean()
                      : std::is_integral_v<T>       ? v.is_number_integer()
                      : std::is_floating_point_v<T> ? v.is_number()
                                                    : v.is_string();
    if (!fits) {
      const char* wanted = std::is_same_v<T, bool>       ? "true or false"
                           : std::is_integral_v<T>       ? "an integer"
                           : std::is_floating_point_v<T> ? "a number"
                                                         : "a string";
      throw FormatError("{}: '{}' is {}, expected {}", source(), key, v.dump(), wanted);
    }
    return v.get<T>();
  }

  fs::path path_;
  json value_;
};

// The value of a name in a table of both. If it is not there, `refuse` is called with all names, and throws.
template <class Table, class Refuse>
auto named(const Table& table, std::string_view name, const Refuse& refuse) {
  std::string names;
  for (const auto& [known, value] : table) {
    if (name == known) return value;
    names += (names.empty() ? "" : &known == &std::rbegin(table)->first ? " and " : ", ") + std::string(known);
  }
  refuse(names);
  throw InternalError("{} was not refused", in_quotes(name));
}

ScalarOp activation(const ConfigFile& file, const char* key) {
  constexpr std::pair<std::string_view, ScalarOp> kActivations[] = {
      {"gelu", ScalarOp::gelu_erf},
      {"gelu_new", ScalarOp::gelu_tanh},
      {"gelu_pytorch_tanh", ScalarOp::gelu_tanh},
      {"gelu_fast", ScalarOp::gelu_tanh},
      {"quick_gelu", ScalarOp::gelu_quick},
      {"relu", ScalarOp::relu},
      {"silu", ScalarOp::silu},
      {"swish", ScalarOp::silu},
      {"tanh", ScalarOp::tanh},
  };
  const auto text = file.get<std::string>(key);
  return named(kActivations, text, [&](const std::string& names) {
    throw Unsupported("{}: '{}' is {}; Weft has {}", file.source(), key, in_quotes(text), names);
  });
}

EncoderConfig read_bert(const ConfigFile& file) {
  const auto positions = file.get<std::string>("position_embedding_type", "absolute");
  if (positions != "absolute") {
    throw Unsupported("{}: position_embedding_type {}; Weft has 'absolute'", file.source(), in_quotes(positions));
  }
  return {.architecture = Architecture::bert,
          .vocabulary = file.size("vocab_size"),
          .positions = file.size("max_position_embeddings"),
          .token_types = file.size("type_vocab_size"),
          .hidden = file.size("hidden_size"),
          .intermediate = file.size("intermediate_size"),
          .layers = file.size("num_hidden_layers"),
          .heads = file.size("num_attention_heads"),
          .epsilon = file.get<double>("layer_norm_eps", 1e-12),
          .activation = activation(file, "hidden_act")};
}

EncoderConfig read_distilbert(const ConfigFile& file) {
  return {.architecture = Architecture::distilbert,
          .vocabulary = file.size("vocab_size"),
          .positions = file.size("max_position_embeddings"),
          .token_types = 0,
          .hidden = file.size("dim"),
          .intermediate = file.size("hidden_dim"),
          .layers = file.size("n_layers"),
          .heads = file.size("n_heads"),
          .epsilon = 1e-12,  // fixed in the reference, not in the file
          .activation = activation(file, "activation")};
}

// As sentence-transformers names them, and, for each, the flag of its older files, in the order in which it
// concatenates what these name.
struct PoolingName {
  const char *name, *flag;
  Pooling mode;
};
constexpr PoolingName kPoolings[] = {
    {"cls", "pooling_mode_cls_token", Pooling::cls},
    {"max", "pooling_mode_max_tokens", Pooling::max},
    {"mean", "pooling_mode_mean_tokens", Pooling::mean},
    {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", Pooling::mean_sqrt_length},
    {"weightedmean", "pooling_mode_weightedmean_tokens", Pooling::weighted_mean},
    {"lasttoken", "pooling_mode_lasttoken", Pooling::last},
};

Pooling pooling_named(const json& name, const ConfigFile& file) {
  std::string known;
  for (const PoolingName& pooling : kPoolings) {
    if (name == pooling.name) return pooling.mode;
    known += (known.empty() ? "" : ", ") + std::string(pooling.name);
  }
  throw FormatError("{}: 'pooling_mode' has {}, expected one of {}", file.source(), name.dump(), known);
}

// A name, a list of names, or flags, which do not count beside names; without a name the mean.
std::vector<Pooling> read_pooling(const ConfigFile& file) {
  std::vector<Pooling> modes;
  if (file.has("pooling_mode")) {
    const json& names = file.value()["pooling_mode"];
    if (!names.is_array()) return {pooling_named(names, file)};
    for (const json& name : names) modes.push_back(pooling_named(name, file));
    if (modes.empty()) throw FormatError("{}: 'pooling_mode' is an empty list", file.source());
    return modes;
  }
  for (const PoolingName& pooling : kPoolings) {
    if (file.get<bool>(pooling.flag, false)) modes.push_back(pooling.mode);
  }
  if (modes.empty()) modes.push_back(Pooling::mean);
  return modes;
}

// Modules read and write the sentence's vector, unless their files name something else.
void require_sentence_vector(const ConfigFile& file) {
  for (const char* key : {"module_input_name", "module_output_name"}) {
    const auto name = file.get<std::string>(key, "sentence_embedding");
    if (name != "sentence_embedding") {
      throw Unsupported("{}: '{}' is {}; Weft has 'sentence_embedding'", file.source(), key, in_quotes(name));
    }
  }
}

DenseModule read_dense(const fs::path& directory) {
  const ConfigFile file(directory / "config.json");
  require_sentence_vector(file);
  DenseModule dense{.directory = directory,
                    .in = file.size("in_features"),
                    .out = file.size("out_features"),
                    .bias = file.get<bool>("bias", true),
                    .activation = {},
                    .residual = file.get<bool>("use_residual", false)};
  const auto name = file.get<std::string>("activation_function", "torch.nn.modules.activation.Tanh");
  constexpr std::pair<std::string_view, std::optional<ScalarOp>> kActivations[] = {
      {"Tanh", ScalarOp::tanh},       {"ReLU", ScalarOp::relu},  {"GELU", ScalarOp::gelu_erf},
      {"Sigmoid", ScalarOp::sigmoid}, {"SiLU", ScalarOp::silu},  {"Softplus", ScalarOp::softplus},
      {"Mish", ScalarOp::mish},       {"Identity", std::nullopt}};
  const bool pytorch = name.starts_with("torch.");
  const std::string_view last = std::string_view(name).substr(name.rfind('.') + 1);
  dense.activation = named(kActivations, pytorch ? last : "", [&](const std::string& names) {
    throw Unsupported("{}: activation_function {}; Weft has PyTorch's {}", file.source(), in_quotes(name), names);
  });
  return dense;
}

// Without modules.json nothing tells which of the folders 1_Pooling, 2_Dense, … count and whether vectors are
// normalised.
void refuse_modules_without_list(const fs::path& model_dir) {
  std::set<std::string> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(model_dir)) {
    const std::string name = entry.path().filename().string();
    const auto digits = name.find_first_not_of("0123456789");
    if (entry.is_directory() && digits != 0 && digits != std::string::npos && name[digits] == '_') folders.insert(name);
  }
  if (folders.empty()) return;
  throw FormatError(
      "{}: has {}, but no modules.json, which says what modules follow the encoder and whether vectors are "
      "normalised; copy it from where the model comes from, or remove the folder for mean pooling alone",
      model_dir.string(), *folders.begin());
}

}  // namespace

EncoderConfig read_encoder_config(const fs::path& transformer) {
  const ConfigFile file(transformer / "config.json");
  const auto type = file.get<std::string>("model_type");
  EncoderConfig config;
  if (type == "bert") {
    config = read_bert(file);
  } else if (type == "distilbert") {
    config = read_distilbert(file);
  } else {
    throw Unsupported("{}: model_type {}; Weft runs 'bert' and 'distilbert'", file.source(), in_quotes(type));
  }
  if (config.hidden % config.heads != 0) {
    throw FormatError("{}: hidden size {} does not divide into {} heads", file.source(), config.hidden, config.heads);
  }
  return config;
}

SentenceConfig read_sentence_config(const fs::path& model_dir) {
  if (!fs::is_directory(model_dir)) {
    throw IoError(
        "{}: {}; a model is a directory in Hugging Face's layout (config.json, model.safetensors, tokenizer.json)",
        model_dir.string(), fs::exists(model_dir) ? "not a directory" : "no such file or directory");
  }
  SentenceConfig config;
  config.transformer = text::transformer_directory(model_dir);
  const fs::path modules = model_dir / "modules.json";
  if (!fs::exists(modules)) {
    refuse_modules_without_list(model_dir);
    config.pooling = {Pooling::mean};  // as sentence-transformers does with a bare checkpoint
    return config;
  }
  const ConfigFile file(modules);
  if (!file.value().is_array()) throw FormatError("{}: expected a list of modules", file.source());
  for (const json& module : file.value()) {
    if (!module.is_object() || !module.contains("type") || !module["type"].is_string()) {
      throw FormatError("{}: expected objects with 'type' and 'path', got {}", file.source(), module.dump());
    }
    const auto type = module["type"].get<std::string>();
    const fs::path directory =
        model_dir /
        (module.contains("path") && module["path"].is_string() ? module["path"].get<std::string>() : std::string());
    const bool first = config.pooling.empty();
    if (type.ends_with(".Transformer") && &module == &file.value().front()) {
      continue;  // transformer_directory() has it
    }
    if (type.ends_with(".Pooling") && first) {
      const ConfigFile pooling(directory / "config.json");
      config.pooling = read_pooling(pooling);
      config.include_prompt = pooling.get<bool>("include_prompt", true);
    } else if (type.ends_with(".Dense") && !first) {
      config.modules.emplace_back(read_dense(directory));
    } else if (type.ends_with(".Normalize") && !first) {
      if (fs::exists(directory / "config.json")) require_sentence_vector(ConfigFile(directory / "config.json"));
      config.modules.emplace_back(std::nullopt);
    } else {
      throw Unsupported("{}: module {} here; Weft has Transformer, then Pooling, Dense and Normalize", file.source(),
                        in_quotes(type));
    }
  }
  if (config.pooling.empty()) throw Unsupported("{}: no Pooling module: token embeddings only", file.source());
  return config;
}

std::string prompt_text(const fs::path& model_dir, const std::optional<std::string>& name) {
  if (name == "none") return {};
  const fs::path path = model_dir / "config_sentence_transformers.json";
  // sentence-transformers has these two for every model, empty where the model does not say otherwise.
  std::map<std::string, std::string> prompts = {{"query", ""}, {"document", ""}};
  std::string wanted = name.value_or("");
  if (fs::exists(path)) {
    const json file = parse_json(read_file(path), path.string());
    const JsonReader config(file, path.string());
    if (const auto texts = config.find("prompts")) {
      for (const auto& [key, text] : texts->members()) prompts[key] = text.is_null() ? "" : text.text();
    }
    const auto usual = config.find("default_prompt_name");
    if (usual && !prompts.contains(usual->text())) {
      usual->expected("the name of one of \"prompts\"");
    }
    if (usual && !name) wanted = usual->text();
  }
  if (wanted.empty() && !name) return {};
  const auto found = prompts.find(wanted);
  if (found != prompts.end()) return found->second;
  std::string known;
  for (const auto& [key, text] : prompts) known += (known.empty() ? "" : ", ") + in_quotes(key);
  throw InvalidArgument("{}: there is no prompt {} among the model's: {}, none", model_dir.string(), in_quotes(wanted),
                        known);
}

}  // namespace weft::models
