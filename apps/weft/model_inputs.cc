#include "model_inputs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <format>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "command_line.h"
#include "core/ascii.h"
#include "core/error_context.h"
#include "core/format.h"
#include "core/mapped_file.h"
#include "core/suffix.h"
#include "sounds.h"
#include "tensor_summary.h"
#include "text/input.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/files.h"
#include "weft/graph.h"
#include "weft/graph_file.h"
#include "weft/number_range.h"
#include "weft/random.h"
#include "weft/text.h"

namespace weft::app {

namespace fs = std::filesystem;

const char* const kModelInputsHelp = R"(Inputs
  NAME=FILE.npy, NAME=FILE.npz (its array NAME), NAME=FILE.pb (as ONNX's test data), NAME=FILE.png or .jpg, a picture;
  NAME=FILE.wav, a sound; NAME=FILE.txt, a text a line, through the tokenizer; NAME=random, NAME=zeros, or NAME=NUMBER,
  which every element gets. NAME= may be left out where the model has one input. An input that is given several times is a
  batch. Inputs that are not given are random: floats of the normal distribution, integers 0 and 1. Sizes that the model
  leaves open are those of the files, or 1, unless --shape gives them.

Pictures
  are resized to the input's height and width (linearly, with antialiasing), and an element is (pixel - mean) · scale, by
  default pixel / 255 of floats and the pixel of integers. The input's shape says whether channels come first or last, and
  whether a picture is grey. --normalize unit is the default, none gives 0 to 255, signed -1 to 1, and imagenet the mean and
  deviation that most classifiers were trained with; --mean and --scale are others.
Sounds
  are WAV files, mixed to one channel unless the model has several, as floats between -1 and 1. Nothing is resampled: --rate
  says which rate the model wants, and a file of another one is refused.
Texts
  come from --text or FILE.txt. The tokenizer is --tokenizer, a tokenizer.json or a directory that has one, or what lies
  beside the model; it fills the inputs for ids, attention masks, token types and positions.
)";

namespace {

using Size = std::optional<std::int64_t>;

// Where the name in front of a value ends: names may have "=" in them, and the longest that is known counts.
template <class F>
std::size_t end_of_name(const std::string& text, const F& is_known) {
  for (std::size_t at = text.rfind('='); at != std::string::npos && at != 0; at = text.rfind('=', at - 1)) {
    if (is_known(text.substr(0, at))) return at;
  }
  return text.find('=');
}

template <class F>
std::pair<std::string, std::string> name_and_value(const std::string& text, const char* what, const F& is_known) {
  const std::size_t at = end_of_name(text, is_known);
  if (at == std::string::npos || at == 0) throw InvalidArgument("'{}' is no {}: NAME=VALUE", text, what);
  return {text.substr(0, at), text.substr(at + 1)};
}

// Nothing for what is no number.
std::optional<Number> number_in(const std::string& text) {
  const char *const begin = text.data(), *const end = begin + text.size();
  const auto read = [&](auto value) -> std::optional<Number> {
    const auto [at, error] = std::from_chars(begin, end, value);
    return error == std::errc() && at == end ? std::optional<Number>(value) : std::nullopt;
  };
  if (const auto n = read(std::int64_t{0})) return n;
  if (const auto n = read(std::uint64_t{0})) return n;
  return read(0.0);
}

Shape shape_of(const std::string& text) {
  Shape shape;
  const char *at = text.data(), *const end = at + text.size();
  while (at != end) {
    std::int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 0 || (next != end && (*next != ',' || next + 1 == end))) {
      throw InvalidArgument("'{}' is no shape, such as 1,3,224,224", text);
    }
    shape.push_back(size);
    at = next == end ? end : next + 1;
  }
  return shape;
}

enum class Kind : std::uint8_t { array, text, picture, sound, made };
Kind kind_of(const std::string& value) {
  if (has_suffix(value, ".npy") || has_suffix(value, ".npz") || has_suffix(value, ".pb")) return Kind::array;
  if (has_suffix(value, ".txt")) return Kind::text;
  if (is_picture_name(value)) return Kind::picture;
  if (has_suffix(value, ".wav")) return Kind::sound;
  return Kind::made;
}

bool names_one_of(const std::string& name, std::initializer_list<const char*> parts) {
  const std::string small = lower(name);
  return std::ranges::any_of(parts, [&](const char* part) { return small.find(part) != std::string::npos; });
}
// What the inputs of encoders of texts are called.
bool is_mask(const onnx::Port& p) { return names_one_of(p.name, {"mask"}); }
bool is_types(const onnx::Port& p) { return names_one_of(p.name, {"type_id", "segment"}); }
bool is_positions(const onnx::Port& p) { return names_one_of(p.name, {"position"}); }

text::Tokenizer load_tokenizer(const std::string& given, const fs::path& model) {
  if (!given.empty()) {
    const fs::path path(given);
    if (fs::is_directory(path)) return text::Tokenizer::load(path);
    if (!fs::exists(path)) throw IoError("{}: there is no such file", given);
    if (path.filename() == "tokenizer.json" || path.filename() == "vocab.txt") {
      return text::Tokenizer::load(path.has_parent_path() ? path.parent_path() : fs::path("."));
    }
    return text::Tokenizer::parse(read_file(path), given);
  }
  // Exports lie beside their tokenizer, or in a folder onnx beside it.
  const fs::path folder = model.has_parent_path() ? model.parent_path() : fs::path(".");
  for (const fs::path& place : {folder, folder / ".."}) {
    if (fs::exists(place / "tokenizer.json") || fs::exists(place / "vocab.txt")) return text::Tokenizer::load(place);
  }
  throw InvalidArgument("a text needs a tokenizer, and none lies beside the model: name it by --tokenizer FILE");
}

DType type_of(const onnx::Port& port) {
  if (!port.dtype) throw InvalidArgument("the model takes a {}, which comes from a file.pb alone", port.type);
  return *port.dtype;
}

class Inputs {
 public:
  Inputs(const fs::path& model, const std::vector<onnx::Port>& ports, const InputArguments& a,
         const std::function<void(const std::string&)>& note)
      : model_(model), ports_(ports), a_(a), note_(note) {}

  std::vector<onnx::NamedValue> make() {
    read();
    std::vector<onnx::NamedValue> all;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const onnx::Port& port = ports_[i];
      if (!made_.contains(port.name)) {
        const bool is_given = given_.contains(port.name);
        if (!is_given && port.type.starts_with("optional")) continue;
        fill(port, i);
        if (!is_given)
          note_(std::format("input {} is random {}", port.name, to_string(made_.at(port.name).tensor.type())));
      }
      all.push_back({port.name, made_.at(port.name)});
    }
    return all;
  }
  std::vector<NamedShape> shapes() {
    read_shapes();
    return shapes_without({});
  }

  FixedInputs fixed() {
    FixedInputs all;
    read();
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const onnx::Port& port = ports_[i];
      if (!made_.contains(port.name)) {
        if (!given_.contains(port.name)) continue;
        fill(port, i);
      }
      all.values.push_back({port.name, made_.at(port.name)});
    }
    all.shapes = shapes_without(made_);
    return all;
  }

 private:
  // Reads what is given; what is left has no file.
  void read() {
    read_inputs();
    read_shapes();
    refuse_useless();
    const auto of_kind = [&](Kind kind, const auto& make) {
      for (const onnx::Port& port : ports_) {
        const auto it = given_.find(port.name);
        if (it == given_.end() || kind_of(it->second[0]) != kind) continue;
        in_context([&] { return std::format("input '{}'", port.name); }, [&] { take(port, make(port, it->second)); });
      }
    };
    // What has its shape goes first: it says what open sizes are.
    of_kind(Kind::array, [&](const onnx::Port& port, const auto& values) { return arrays(port, values); });
    fill_texts();
    of_kind(Kind::picture, [&](const onnx::Port& port, const auto& values) { return pictures(port, values); });
    of_kind(Kind::sound, [&](const onnx::Port& port, const auto& values) { return sounds(port, values); });
  }

  // Numbers, zeros or random ones.
  void fill(const onnx::Port& port, std::size_t index) {
    const auto it = given_.find(port.name);
    in_context([&] { return std::format("input '{}'", port.name); },
               [&] {
                 take(port, {.tensor = filled(port, it == given_.end() ? "random" : it->second[0],
                                              a_.seed + static_cast<int>(index))});
               });
  }

  // Options for files of a kind that no input is.
  void refuse_useless() const {
    if (!a_.command) return;
    const auto is_given = [&](Kind kind) {
      return std::ranges::any_of(given_, [&](const auto& one) { return kind_of(one.second[0]) == kind; });
    };
    const auto refuse = [&](std::initializer_list<const char*> options, const char* what) {
      for (const char* option : options) {
        if (a_.command->count(option)) throw InvalidArgument("{} is for {}, and no input is one", option, what);
      }
    };
    if (!is_given(Kind::picture))
      refuse({"--size", "--fit", "--layout", "--channels", "--normalize", "--mean", "--scale"},
             "pictures (FILE.png, FILE.jpg)");
    if (!is_given(Kind::sound)) refuse({"--rate"}, "sounds (FILE.wav)");
    if (a_.texts.empty() && !is_given(Kind::text)) refuse({"--tokenizer"}, "texts (--text, FILE.txt)");
  }

  const onnx::Port* find(const std::string& name) const {
    const auto it = std::ranges::find(ports_, name, &onnx::Port::name);
    return it == ports_.end() ? nullptr : &*it;
  }
  [[noreturn]] void unknown(const std::string& name, const char* what) const {
    std::string all;
    for (const onnx::Port& port : ports_) all += (all.empty() ? " " : ", ") + to_text(port);
    throw InvalidArgument("{} has no {} '{}'; its inputs are{}", model_.string(), what, name,
                          all.empty() ? " none" : all);
  }

  void read_inputs() {
    for (const std::string& text : a_.inputs) {
      // A value alone is that of the only input; a file's name may have "=" in it.
      const auto is_known = [&](const std::string& name) { return find(name) != nullptr; };
      const std::size_t at = end_of_name(text, is_known);
      std::error_code ignored;
      const bool named =
          at != std::string::npos && at > 0 && (is_known(text.substr(0, at)) || !fs::exists(text, ignored));
      if (!named && ports_.size() == 1) {
        given_[ports_[0].name].push_back(text);
        continue;
      }
      auto [name, value] = name_and_value(text, "input", is_known);
      if (!find(name)) unknown(name, "input");
      if (value.empty()) throw InvalidArgument("input '{}' has an empty value", name);
      given_[name].push_back(value);
    }
    for (const auto& [name, values] : given_) {
      for (const std::string& v : values) {
        if (kind_of(v) != kind_of(values[0]) || (values.size() > 1 && kind_of(v) == Kind::made)) {
          throw InvalidArgument("input '{}' is given {} times; several files of one kind are a batch", name,
                                values.size());
        }
      }
    }
  }

  bool is_size(const std::string& name) const {
    return std::ranges::any_of(ports_, [&](const onnx::Port& port) {
      return port.shape && std::ranges::find(*port.shape, name, &onnx::Dimension::name) != port.shape->end();
    });
  }

  void read_shapes() {
    for (const std::string& text : a_.shapes) {
      const auto [name, value] =
          name_and_value(text, "shape", [&](const std::string& n) { return find(n) || is_size(n); });
      const std::string option = "--shape " + text;
      const Shape shape = shape_of(value);
      if (const onnx::Port* port = find(name)) {
        if (port->shape && port->shape->size() != static_cast<std::size_t>(shape.rank())) {
          throw ShapeError("{}: the model has {}", option, to_text(*port));
        }
        const auto [it, is_new] = shapes_.try_emplace(name, Given<Shape>{shape, option});
        if (!is_new && it->second.value != shape) throw InvalidArgument("{} contradicts {}", option, it->second.option);
        each_name(*port, shape, [&](const std::string& d, std::int64_t size) { set_size(d, size, option); });
        continue;
      }
      if (!is_size(name)) unknown(name, "input or size");
      if (shape.rank() != 1) throw InvalidArgument("{}: '{}' is a size, and has one number", option, name);
      set_size(name, shape[0], option);
    }
  }

  // A size with a name that an option gives.
  void set_size(const std::string& name, std::int64_t size, const std::string& option) {
    const auto [it, is_new] = names_.try_emplace(name, Given<std::int64_t>{size, option});
    if (is_new || it->second.value == size) return;
    throw InvalidArgument("{} contradicts {}: '{}' is {} of the one, and {} of the other", option, it->second.option,
                          name, size, it->second.value);
  }

  template <class F>
  static void each_name(const onnx::Port& port, const Shape& shape, const F& f) {
    if (!port.shape || port.shape->size() != static_cast<std::size_t>(shape.rank())) return;
    for (std::size_t d = 0; d < port.shape->size(); ++d) {
      if (const std::string& name = (*port.shape)[d].name; !name.empty()) f(name, shape[static_cast<int>(d)]);
    }
  }

  // Of a value's shape: sizes with names are the same in all inputs.
  void learn(const onnx::Port& port, const Shape& shape) {
    if (const auto it = shapes_.find(port.name); it != shapes_.end() && it->second.value != shape)
      throw ShapeError("it is {}, which {} contradicts", to_string(shape), it->second.option);
    each_name(port, shape, [&](const std::string& name, std::int64_t size) {
      const auto [it, is_new] = names_.try_emplace(name, Given<std::int64_t>{size, {}});
      // (Two files that contradict each other the model refuses.)
      if (is_new || it->second.value == size || it->second.option.empty()) return;
      throw ShapeError("it is {}, which {} contradicts: '{}' is {} here", to_string(shape), it->second.option, name,
                       size);
    });
  }

  // What is known of an input's sizes; nothing if the model does not even say how many there are.
  std::optional<std::vector<Size>> sizes(const onnx::Port& port) const {
    if (const auto it = shapes_.find(port.name); it != shapes_.end())
      return std::vector<Size>(it->second.value.begin(), it->second.value.end());
    if (!port.shape) return std::nullopt;
    std::vector<Size> all;
    for (const onnx::Dimension& d : *port.shape) {
      const auto it = names_.find(d.name);
      all.push_back(d.size ? d.size : !d.name.empty() && it != names_.end() ? Size(it->second.value) : Size());
    }
    return all;
  }

  void take(const onnx::Port& port, onnx::PortValue value) {
    if (value.tensor.defined()) learn(port, value.tensor.shape());
    made_.insert_or_assign(port.name, std::move(value));
  }

  // Several along the first axis.
  static Tensor batch(const std::vector<Tensor>& all) { return all.size() == 1 ? all[0] : concat(all, 0); }

  onnx::PortValue arrays(const onnx::Port& port, const std::vector<std::string>& values) const {
    std::vector<Tensor> all;
    for (const std::string& value : values) {
      if (has_suffix(value, ".pb")) {
        onnx::PortValue one = onnx::load_value(value, port.type);
        if (!one.tensor.defined()) {
          if (values.size() > 1) throw InvalidArgument("'{}' is no tensor, of which a batch is made", value);
          return one;
        }
        all.push_back(one.tensor);
        continue;
      }
      Tensor x = has_suffix(value, ".npz") ? load(value, port.name) : load(value);
      // NumPy's own types are wider than most models'.
      const bool close = port.dtype && ((is_floating(x.dtype()) && is_floating(*port.dtype)) ||
                                        (is_integer(x.dtype()) && is_integer(*port.dtype)));
      if (close && x.dtype() != *port.dtype) {
        note_(std::format("input {} is {}, of which {} was made", port.name, to_string(x.type()), name(*port.dtype)));
        const DefaultDeviceScope host(Device::cpu());
        x = to(x, Device::cpu());
        if (is_integer(*port.dtype)) check_range(x, *port.dtype);
        x = cast(x, *port.dtype);
      }
      all.push_back(x);
    }
    const DefaultDeviceScope host(Device::cpu());
    return {.tensor = batch(all)};
  }

  // Throws for an integer that the type does not have.
  static void check_range(const Tensor& x, DType type) {
    const auto check = [&](const auto& numbers) {
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (can_hold(type, Number(numbers[i]))) continue;
        throw InvalidArgument("its element {} is {}, which is none of {}, expected {}", place_text(x.shape(), i),
                              numbers[i], name(type), range_text(type));
      }
    };
    if (x.dtype() == DType::u64)
      check(x.read<std::uint64_t>());
    else
      check(cast(x, DType::i64).read<std::int64_t>());
  }

  onnx::PortValue pictures(const onnx::Port& port, const std::vector<std::string>& values) const {
    const DefaultDeviceScope host(Device::cpu());
    std::vector<Tensor> all;
    for (const std::string& value : values)
      all.push_back(picture_tensor(read_picture(value), sizes(port), type_of(port), a_.pictures));
    return {.tensor = batch(all)};
  }

  onnx::PortValue sounds(const onnx::Port& port, const std::vector<std::string>& values) const {
    const DefaultDeviceScope host(Device::cpu());
    std::vector<Tensor> all;
    for (const std::string& value : values) {
      const Sound sound = read_wav(value);
      if (a_.rate && sound.rate != a_.rate) {
        throw InvalidArgument("{} has {} samples a second, and --rate says {}: resample it first", value, sound.rate,
                              a_.rate);
      }
      std::string note;
      all.push_back(sound_tensor(sound, sizes(port), type_of(port), note));
      if (!note.empty()) note_(std::format("input {} has {}", port.name, note));
    }
    return {.tensor = batch(all)};
  }

  void fill_texts() {
    std::vector<std::string> texts = a_.texts;
    const onnx::Port* ids = nullptr;
    for (const auto& [name, values] : given_) {
      if (kind_of(values[0]) != Kind::text) continue;
      ids = find(name);
      for (const std::string& path : values) {
        auto reader = text::SentenceReader::open(path, text::InputFormat::lines);
        for (std::string line; reader.next(line);) texts.push_back(line);
      }
    }
    if (texts.empty()) return;
    if (!ids) ids = find(ids_port(ports_));
    const text::Tokenizer tokenizer = load_tokenizer(a_.tokenizer, model_);
    std::size_t cut = 0;
    std::vector<text::Ids> all = tokenizer.encode_batch(texts, &cut);
    std::size_t longest = 0;
    for (const text::Ids& one : all) longest = std::max(longest, one.size());
    const auto of_model = sizes(*ids);
    if (of_model && of_model->size() != 2) {
      throw ShapeError("input '{}' is {}; ids of texts are [texts, tokens]", ids->name, to_text(*ids));
    }
    const std::size_t length = of_model && (*of_model)[1] ? static_cast<std::size_t>(*(*of_model)[1]) : longest;
    if (length < longest)
      throw ShapeError("input '{}': a text has {} tokens, and {} are wanted", ids->name, longest, length);
    if (cut)
      note_(std::format("{} of {} texts had more than {} tokens and were cut there", cut, texts.size(),
                        tokenizer.max_length()));
    for (onnx::NamedValue& v : text_inputs(ports_, ids->name, all, tokenizer, length)) {
      if (v.name != ids->name && given_.contains(v.name)) continue;
      in_context([&] { return std::format("input '{}'", v.name); }, [&] { take(*find(v.name), std::move(v.value)); });
    }
  }

  std::vector<NamedShape> shapes_without(const std::map<std::string, onnx::PortValue>& made) const {
    std::vector<NamedShape> all;
    for (const onnx::Port& port : ports_) {
      if (!made.contains(port.name)) all.push_back({port.name, filled_shape(port)});
    }
    return all;
  }

  // Open sizes are 1.
  Shape filled_shape(const onnx::Port& port) const {
    Shape shape;
    if (const auto known = sizes(port)) {
      for (const Size& size : *known) shape.push_back(size.value_or(1));
    }
    return shape;
  }

  Tensor filled(const onnx::Port& port, const std::string& value, int seed) const {
    const DType type = type_of(port);
    const Shape shape = filled_shape(port);
    const DefaultDeviceScope host(Device::cpu());
    if (value == "random") {
      const Tensor key = random::key(static_cast<std::uint64_t>(seed));
      return is_floating(type) ? cast(random::normal(shape, 0, 1, DType::f32, key), type)
                               : cast(random::integers(shape, 0, 2, DType::i32, key), type);
    }
    if (value == "zeros") return zeros(shape, type);
    if (const std::optional<Number> number = number_in(value)) {
      if (!can_hold(type, *number))
        throw InvalidArgument("{} is no element of {}, expected {}", value, name(type), range_text(type));
      return full(shape, *number, type);
    }
    throw InvalidArgument("'{}' is no FILE of .npy, .npz, .pb, .png, .jpg, .wav or .txt, nor random, zeros or a number",
                          value);
  }

  const fs::path& model_;
  const std::vector<onnx::Port>& ports_;
  const InputArguments& a_;
  const std::function<void(const std::string&)>& note_;
  std::map<std::string, std::vector<std::string>> given_;
  // What an option says, with the option; with none, what the inputs' values say.
  template <class T>
  struct Given {
    T value;
    std::string option;
  };
  std::map<std::string, Given<Shape>> shapes_;
  std::map<std::string, Given<std::int64_t>> names_;  // sizes by their names
  std::map<std::string, onnx::PortValue> made_;
};

template <class Enum>
void add_choice(CLI::App& command, const char* option, Enum& to, const std::map<std::string, Enum>& choices,
                const char* help) {
  std::string all;
  for (const auto& [name, value] : choices) all += (all.empty() ? "" : "|") + name;
  const auto set = [&to, choices, all, option](const std::string& text) {
    const auto it = choices.find(text);
    if (it == choices.end()) throw CLI::ValidationError(std::format("{}: '{}' is none of {}", option, text, all));
    to = it->second;
  };
  command.add_option_function<std::string>(option, set, help)->type_name(all);
}

}  // namespace

std::string to_text(const onnx::Port& port) {
  std::string text = std::format("{} {}", port.name, port.dtype ? std::string(name(*port.dtype)) : port.type);
  if (!port.shape) return text;
  text += " [";
  for (std::size_t i = 0; i < port.shape->size(); ++i) {
    const onnx::Dimension& d = (*port.shape)[i];
    text += std::format("{}{}", i ? ", " : "", d.size ? std::to_string(*d.size) : d.name.empty() ? "?" : d.name);
  }
  return text + "]";
}

onnx::Port port_of(const Graph::Port& port) {
  onnx::Port made{
      .name = port.name, .type = std::format("tensor({})", name(port.type.dtype)), .dtype = port.type.dtype};
  made.shape.emplace();
  for (const std::int64_t size : port.type.shape) made.shape->push_back({.size = size});
  return made;
}
std::vector<onnx::Port> ports_of(const Graph& graph) {
  std::vector<onnx::Port> ports;
  for (const Graph::Port& port : graph.inputs()) ports.push_back(port_of(port));
  for (const Graph::Port& port : graph.numbers()) ports.push_back(port_of(port));
  return ports;
}

Graph load_graph_file(const fs::path& path, const InputArguments& a) {
  const Graph graph = load_graph(path);
  if (a.shapes.empty()) return graph;
  std::vector<NamedShape> shapes = input_shapes(path, ports_of(graph), a);
  shapes.resize(graph.inputs().size());  // numbers have none
  return graph.with_shapes(shapes);
}

void add_shape_options(CLI::App& command, InputArguments& a) {
  command
      .add_option("--shape", a.shapes,
                  "NAME=1,3,224,224: the shape of an input, or NAME=8: a size that the model leaves open and calls so")
      ->allow_extra_args(false)
      ->type_name("NAME=SIZES");
  command.add_option("--seed", a.seed, "Of random inputs")->check(whole_number(0, 1 << 30))->capture_default_str();
}

void add_input_option(CLI::App& command, InputArguments& a, const char* help) {
  command.add_option("-i,--input", a.inputs, help)->allow_extra_args(false)->type_name("NAME=VALUE");
}

void add_input_options(CLI::App& command, InputArguments& a) {
  a.command = &command;
  add_input_option(command, a, "A file or a value, see below; for each input");
  add_shape_options(command, a);
  command.add_option("--text", a.texts, "A text, which the tokenizer makes ids of; several are a batch")
      ->allow_extra_args(false);
  command.add_option("--tokenizer", a.tokenizer, "tokenizer.json, or a directory that has one")->check(check_path);
  PictureOptions& p = a.pictures;
  command
      .add_option("--size", p.size,
                  "Height and width that a picture gets where the model leaves them open; or one number for both")
      ->delimiter(',')
      ->expected(1, 2)
      ->type_name("HEIGHT,WIDTH")
      ->check(whole_number(1, 1 << 20));
  using Fit = PictureOptions::Fit;
  add_choice<Fit>(
      command, "--fit", p.fit, {{"stretch", Fit::stretch}, {"crop", Fit::crop}, {"pad", Fit::pad}},
      "How a picture comes to a size of another form: stretched (default); the middle of what covers it; or all of "
      "it, with zeros to the right or below");
  using Layout = PictureOptions::Layout;
  add_choice<Layout>(
      command, "--layout", p.layout, {{"nchw", Layout::nchw}, {"nhwc", Layout::nhwc}},
      "Whether channels come before height and width or behind them; by default what the input's shape says");
  using Channels = PictureOptions::Channels;
  add_choice<Channels>(
      command, "--channels", p.channels,
      {{"rgb", Channels::rgb}, {"bgr", Channels::bgr}, {"grey", Channels::grey}, {"rgba", Channels::rgba}},
      "A picture's channels; by default rgb, or what the input's shape says");
  command
      .add_option_function<std::string>(
          "--normalize",
          [&p](const std::string& text) {
            if (text == "unit")
              p.scale = {1.0 / 255};
            else if (text == "none")
              p.scale = {1};
            else if (text == "signed")
              p.mean = {127.5}, p.scale = {1 / 127.5};
            else if (text == "imagenet")
              p.mean = {123.675, 116.28, 103.53}, p.scale = {1 / 58.395, 1 / 57.12, 1 / 57.375};
            else
              throw CLI::ValidationError(std::format("--normalize: '{}' is none of none|unit|signed|imagenet", text));
          },
          "What a picture's elements are, see below")
      ->type_name("none|unit|signed|imagenet");
  const auto numbers = [&](const char* option, std::vector<double>& to, const char* help) {
    command.add_option(option, to, help)
        ->delimiter(',')
        ->expected(1, 4)
        ->type_name("NUMBER,…")
        ->excludes("--normalize")
        ->check([](const std::string& text) {
          const std::optional<Number> number = number_in(text);
          return number && std::isfinite(number->value())
                     ? std::string()
                     : std::format("'{}' is no number, expected one, or one a channel: 123.7,116.3,103.5", text);
        });
  };
  numbers("--mean", p.mean, "What is subtracted from pixels of 0 to 255; a number, or one a channel");
  numbers("--scale", p.scale, "What they are multiplied by then, such as 0.00392; a number, or one a channel");
  command.add_option("--rate", a.rate, "Samples a second that a sound must have")->check(whole_number(1, 10000000));
}

std::string ids_port(const std::vector<onnx::Port>& ports) {
  const onnx::Port* only = nullptr;
  std::size_t count = 0;
  for (const onnx::Port& port : ports) {
    if (is_mask(port) || is_types(port) || is_positions(port) || !port.dtype || !is_integer(*port.dtype)) continue;
    if (names_one_of(port.name, {"input_ids", "token"})) return port.name;
    only = &port;
    ++count;
  }
  if (count == 1) return only->name;
  throw InvalidArgument("the model has no input for the ids of a text, such as input_ids; -i NAME=FILE.txt names it");
}

std::vector<onnx::NamedValue> text_inputs(const std::vector<onnx::Port>& ports, const std::string& ids_name,
                                          std::span<const text::Ids> ids, const text::Tokenizer& tokenizer,
                                          std::size_t length) {
  const DefaultDeviceScope host(Device::cpu());
  std::vector<onnx::NamedValue> all;
  const auto fill = [&](const onnx::Port& port, const auto& value) {
    std::vector<std::int64_t> numbers;
    for (const text::Ids& one : ids) {
      for (std::size_t i = 0; i < length; ++i) numbers.push_back(value(one, i));
    }
    const Shape shape{static_cast<std::int64_t>(ids.size()), static_cast<std::int64_t>(length)};
    Tensor x = cast(Graph::constant(TensorData::of<std::int64_t>(shape, std::span<const std::int64_t>(numbers))),
                    type_of(port));
    eval(x);
    all.push_back({port.name, {.tensor = x}});
  };
  for (const onnx::Port& port : ports) {
    if (port.name == ids_name) {
      fill(port, [&](const text::Ids& one, std::size_t i) { return i < one.size() ? one[i] : tokenizer.pad_id(); });
    } else if (is_mask(port)) {
      fill(port, [](const text::Ids& one, std::size_t i) { return i < one.size(); });
    } else if (is_types(port)) {
      fill(port,
           [&](const text::Ids& one, std::size_t i) { return i < one.size() ? tokenizer.type_ids(one.size())[i] : 0; });
    } else if (is_positions(port)) {
      fill(port, [](const text::Ids&, std::size_t i) { return static_cast<std::int64_t>(i); });
    }
  }
  return all;
}

std::vector<onnx::NamedValue> make_inputs(const fs::path& model, const std::vector<onnx::Port>& ports,
                                          const InputArguments& a,
                                          const std::function<void(const std::string&)>& note) {
  return Inputs(model, ports, a, note).make();
}

FixedInputs fixed_inputs(const fs::path& model, const std::vector<onnx::Port>& ports, const InputArguments& a,
                         const std::function<void(const std::string&)>& note) {
  return Inputs(model, ports, a, note).fixed();
}

std::vector<NamedShape> input_shapes(const fs::path& model, const std::vector<onnx::Port>& ports,
                                     const InputArguments& a) {
  const std::function<void(const std::string&)> none = [](const std::string&) {};
  return Inputs(model, ports, a, none).shapes();
}

}  // namespace weft::app
