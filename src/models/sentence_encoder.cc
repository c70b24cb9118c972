#include <algorithm>
#include <list>
#include <numeric>
#include <optional>

#include "core/format.h"
#include "core/git_lfs.h"
#include "core/system.h"
#include "cpu/executor.h"
#include "models/encoder_graph.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/kernels.h"
#include "weft/log.h"
#include "weft/models.h"

namespace weft::models {
namespace {

// Lengths are rounded up to these, so that few shapes are compiled. The cpu compiles no shaders, and gains more from
// shorter rows.
constexpr std::int64_t kLengthStep = 8, kLengthStepOnCpu = 4;
// Bytes of a batch's largest tensor, so that memory does not grow with the batch that is asked for. Batches of so many
// tokens keep any device busy.
constexpr std::int64_t kLargestTensor = 256 << 20;
// Sentences that are sorted by length together.
constexpr std::size_t kWindow = 8192;
// That many are kept.
constexpr std::size_t kExecutables = 64;

// Runs kernel calls on a device at once: submitted on a GPU, computed on the CPU. The future is ready when they, and
// all that was submitted before, are done.
template <class F>
Future<void> run_kernels(const Device& device, F&& calls) {
  if (device.is_gpu()) {
    gpu::Encoder encoder(device.gpu());
    calls(encoder);
    return encoder.submit();
  }
  cpu::Executor executor;
  calls(executor);
  return Future<void>({}, [] {});
}

void prefetch(EncoderWeights& weights) {
  for_each_weight(weights, [](const Weight& w) { weft::prefetch(w.data.bytes); });
}

text::Tokenizer load_tokenizer(const std::filesystem::path& model_dir, const EncoderConfig& encoder,
                               const std::optional<std::string>& prompt) {
  text::Tokenizer tokenizer = text::Tokenizer::load(model_dir).with_prompt(prompt_text(model_dir, prompt));
  log_mark("the tokenizer is loaded");
  if (tokenizer.vocab_size() > encoder.vocabulary) {
    throw FormatError("{}: the tokenizer has {} tokens, the model's vocab_size is {}", model_dir.string(),
                      tokenizer.vocab_size(), encoder.vocabulary);
  }
  if (tokenizer.max_length() > encoder.positions) {
    throw FormatError("{}: sentences of {} tokens, but config.json has {} positions", model_dir.string(),
                      tokenizer.max_length(), encoder.positions);
  }
  return tokenizer;
}

// What a model's files say, but for the weights.
struct ModelFiles {
  ModelFiles(const std::filesystem::path& model_dir, EmbedOptions given) : options(std::move(given)) {
    if (options.batch < 1) throw InvalidArgument("embed: a batch of {}; expected at least 1", options.batch);
    sentence = read_sentence_config(model_dir);
    encoder = read_encoder_config(sentence.transformer);
    if (options.tokenizer) tokenizer = load_tokenizer(model_dir, encoder, options.prompt);
  }

  EmbedOptions options;
  SentenceConfig sentence;
  EncoderConfig encoder;
  std::optional<text::Tokenizer> tokenizer;
};

}  // namespace

struct SentenceEncoder::Impl : ModelFiles {
  Impl(ModelFiles files, Device d, EncoderWeights w)
      : ModelFiles(std::move(files)), device(std::move(d)), weights(std::move(w)) {
    if (!sentence.include_prompt && tokenizer) unpooled = static_cast<std::int64_t>(tokenizer->prompt_length());
    dimension = embedding_dimension(encoder, sentence);
    if (!options.compile.constants) options.compile.constants = make_constant_store(device);
  }

  Device device;
  EncoderWeights weights;
  std::int64_t dimension = 0;
  std::int64_t unpooled = 0;  // tokens of a prompt that does not take part in the pooling
  // By batch and length, the most recently used first.
  std::list<std::pair<std::pair<std::int64_t, std::int64_t>, Executable>> executables;
  // Buffers of the current batch; they grow to the largest batch. The device's queue is in order, so the next batch may
  // be written while the last one runs.
  Buffer ids, lengths, result;

  Graph graph(std::int64_t batch, std::int64_t length) const {
    if (batch < 1 || length < 1 || length > encoder.positions) {
      throw InvalidArgument(
          "{} sentences of {} tokens: expected at least 1, and 1 to {} tokens, as many as the model has "
          "positions",
          batch, length, encoder.positions);
    }
    const text::Ids types = tokenizer && tokenizer->has_type_ids() && encoder.token_types > 0
                                ? tokenizer->type_ids(static_cast<std::size_t>(length))
                                : text::Ids{};
    return encoder_graph(encoder, sentence, weights, types, unpooled, batch, length);
  }

  // Null if it is not compiled.
  const Executable* compiled(std::int64_t batch, std::int64_t length) {
    const auto it = std::ranges::find(executables, std::pair(batch, length), [](const auto& e) { return e.first; });
    if (it == executables.end()) return nullptr;
    executables.splice(executables.begin(), executables, it);
    return &executables.front().second;
  }
  Executable keep(std::int64_t batch, std::int64_t length, Executable made) {
    executables.emplace_front(std::pair(batch, length), std::move(made));
    if (executables.size() > kExecutables) executables.pop_back();
    return executables.front().second;
  }
  Executable executable(std::int64_t batch, std::int64_t length) {
    if (const Executable* known = compiled(batch, length)) return *known;
    return keep(batch, length, compile(graph(batch, length), device, options.compile));
  }

  Tensor tensor(Buffer& buffer, DType dtype, const Shape& shape) const {
    const std::uint64_t bytes = byte_size(dtype, static_cast<std::uint64_t>(element_count(shape)));
    if (buffer.size() < bytes) buffer = device.allocate(bytes);
    return {device, View(buffer, 0, dtype, shape)};
  }

  // Sentences of `length` that fit into one batch of at most `most`: no tensor may exceed the device's binding limit,
  // or kLargestTensor.
  std::int64_t batch_limit(std::int64_t length, std::int64_t most) const {
    const std::int64_t row = length * std::max(3 * encoder.hidden, encoder.intermediate) * 4;
    std::int64_t limit = std::min<std::int64_t>(most, kLargestTensor / row);
    if (device.is_gpu()) {
      limit = std::min(limit, static_cast<std::int64_t>(device.gpu().capabilities().max_binding) / row);
    }
    return std::max<std::int64_t>(limit, 1);
  }
};

// Sentences go longest first: the largest buffers are allocated once, and rows of one batch have nearly the same
// length.
struct EmbedSteps::Impl {
  Impl(std::shared_ptr<SentenceEncoder::Impl> encoder, std::vector<text::Ids> given, std::int64_t most_in_batch)
      : model(std::move(encoder)), ids(std::move(given)), most(most_in_batch), order(ids.size()) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i].empty() || static_cast<std::int64_t>(ids[i].size()) > model->encoder.positions) {
        throw InvalidArgument("embed: row {} has {} ids, expected 1 to {}", i, ids[i].size(), model->encoder.positions);
      }
    }
    result = Tensor(model->device, DType::f32, {count(), model->dimension});
    if (ids.empty()) return;
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater(), [&](std::int32_t i) { return ids[i].size(); });
    sorted = Tensor(model->device, DType::f32, {count(), model->dimension});
  }

  std::shared_ptr<SentenceEncoder::Impl> model;
  std::vector<text::Ids> ids;
  std::int64_t most;  // sentences in a batch
  std::vector<std::int32_t> order;
  Tensor sorted, result;
  std::int64_t first = 0;  // of those in `order` that are still to be done

  std::int64_t count() const { return static_cast<std::int64_t>(ids.size()); }
  bool done() const { return first == count(); }
  // The shape of the next batch.
  std::int64_t length() const {
    const auto longest = static_cast<std::int64_t>(ids[order[first]].size());
    const std::int64_t step = model->device.is_gpu() ? kLengthStep : kLengthStepOnCpu;
    return std::min((longest + step - 1) / step * step, model->encoder.positions);
  }
  std::int64_t batch() const { return std::min(model->batch_limit(length(), most), count() - first); }

  // Runs the next batch, and writes its embeddings to the same rows of `sorted`; the last one brings all into the
  // caller's order. The future is ready when they are there.
  Future<void> run(Executable executable) {
    SentenceEncoder::Impl& m = *model;
    const std::int64_t rows = batch(), columns = length();
    std::vector<std::int32_t> host_ids(static_cast<std::size_t>(rows * columns),
                                       m.tokenizer ? m.tokenizer->pad_id() : 0);
    std::vector<std::int32_t> host_lengths;
    for (std::int64_t i = 0; i < rows; ++i) {
      const text::Ids& row = ids[order[first + i]];
      std::ranges::copy(row, host_ids.begin() + i * columns);
      host_lengths.push_back(static_cast<std::int32_t>(row.size()));
    }
    Tensor in = m.tensor(m.ids, DType::i32, {rows, columns});
    Tensor in_lengths = m.tensor(m.lengths, DType::i32, {rows});
    const Tensor out = m.tensor(m.result, DType::f32, {rows, m.dimension});
    in.write(std::as_bytes(std::span(host_ids)));
    in_lengths.write(std::as_bytes(std::span(host_lengths)));
    executable.run({{"ids", in}, {"lengths", in_lengths}}, {{"embeddings", out}});
    const View all = sorted.view();
    const View target(all.buffer, all.offset + static_cast<std::uint64_t>(first * m.dimension) * sizeof(float),
                      DType::f32, {rows, m.dimension});
    first += rows;
    return run_kernels(m.device, [&](Stream& stream) {
      kernels::copy(stream, out.view(), target);
      if (done()) restore_order(stream);
    });
  }

  // Row i of the result is the sorted row that holds sentence i.
  void restore_order(Stream& stream) {
    std::vector<std::int32_t> rank(ids.size());
    for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<std::int32_t>(i);
    Tensor indices(model->device, DType::i32, {count()});
    indices.write(std::as_bytes(std::span(rank)));
    kernels::gather(stream, sorted.view(), indices.view(), result.view(), 0);
  }
};

bool EmbedSteps::done() const { return impl_->done(); }
std::size_t EmbedSteps::sentences_done() const { return static_cast<std::size_t>(impl_->first); }

Future<void> EmbedSteps::next() {
  Impl& s = *impl_;
  if (s.done()) throw InvalidArgument("embed: all {} sentences are done", s.count());
  SentenceEncoder::Impl& m = *s.model;
  const std::int64_t batch = s.batch(), length = s.length();
  if (const Executable* known = m.compiled(batch, length)) return s.run(*known);
  return compile_async(m.graph(batch, length), m.device, m.options.compile)
      .and_then([impl = impl_, batch, length](Executable made) {
        return impl->run(impl->model->keep(batch, length, std::move(made)));
      });
}

Tensor EmbedSteps::result() const {
  if (!impl_->done()) throw InvalidArgument("embed: {} of {} sentences are done", impl_->first, impl_->count());
  return impl_->result;
}

SentenceEncoder SentenceEncoder::load(const std::filesystem::path& model_dir, Device device, EmbedOptions options) {
  return load(model_dir, Future<Device>({}, [device] { return device; }), std::move(options));
}

SentenceEncoder SentenceEncoder::load(const std::filesystem::path& model_dir, Future<Device> device,
                                      EmbedOptions options) {
  return load_async(model_dir, std::move(device), std::move(options)).get();
}

Future<SentenceEncoder> SentenceEncoder::load_async(const std::filesystem::path& model_dir, Future<Device> device,
                                                    EmbedOptions options) try {
  ModelFiles files(model_dir, std::move(options));
  EncoderWeights weights = read_weights(files.encoder, files.sentence, SafeTensors::open(files.sentence.transformer));
  log_mark("weights are mapped");
  // The last step that needs no device: reads the pages of the weights while it opens.
  if (!device.ready()) prefetch(weights);
  log_mark("waiting for the device");
  return std::move(device).map([files = std::move(files), weights = std::move(weights)](Device opened) {
    log_mark("the device is open");
    return SentenceEncoder(std::make_shared<Impl>(files, std::move(opened), weights));
  });
} catch (const std::filesystem::filesystem_error& e) {
  throw IoError("{}", e.what());
}

void SentenceEncoder::restore(Device device) {
  Impl& m = *impl_;
  for_each_weight(m.weights, [](const Weight& w) {
    if (!w.tensor.defined()) return;
    throw InvalidArgument("restore: the device alone had the weights; load the model again");
  });
  m.ids = m.lengths = m.result = {};
  m.device = std::move(device);
  m.options.compile.constants = make_constant_store(m.device);
  m.executables.clear();
}

const text::Tokenizer& SentenceEncoder::tokenizer() const {
  if (!impl_->tokenizer) throw InvalidArgument("the model was loaded without its tokenizer");
  return *impl_->tokenizer;
}
const Device& SentenceEncoder::device() const { return impl_->device; }
int SentenceEncoder::dimension() const { return static_cast<int>(impl_->dimension); }
int SentenceEncoder::vocabulary() const { return static_cast<int>(impl_->encoder.vocabulary); }
Graph SentenceEncoder::graph(int batch, int length) const { return impl_->graph(batch, length); }
Executable SentenceEncoder::executable(int batch, int length) { return impl_->executable(batch, length); }

Tensor SentenceEncoder::embed(std::span<const std::string> sentences) {
  if (sentences.size() <= kWindow || impl_->options.progress) return embed_ids(tokenizer().encode_batch(sentences));
  // While the device works on one window, the next one's tokens are made.
  const auto columns = static_cast<std::int64_t>(dimension());
  Tensor all(device(), DType::f32, {static_cast<std::int64_t>(sentences.size()), columns});
  const View rows = all.view();
  for (std::size_t first = 0; first < sentences.size(); first += kWindow) {
    const auto window = sentences.subspan(first, std::min(kWindow, sentences.size() - first));
    const Tensor part = embed_ids(tokenizer().encode_batch(window));
    const View target(rows.buffer, rows.offset + first * static_cast<std::uint64_t>(columns) * sizeof(float),
                      DType::f32, {static_cast<std::int64_t>(window.size()), columns});
    run_kernels(device(), [&](Stream& stream) { kernels::copy(stream, part.view(), target); });
  }
  return all;
}

Tensor SentenceEncoder::embed_ids(std::span<const text::Ids> ids) {
  EmbedSteps::Impl steps(impl_, {ids.begin(), ids.end()}, impl_->options.batch);
  Future<void> running;
  while (!steps.done()) {
    const std::int64_t first = steps.first;
    Future<void> next = steps.run(impl_->executable(steps.batch(), steps.length()));
    if (impl_->options.progress && first > 0) {
      running.get();  // while the next batch is under way
      impl_->options.progress(static_cast<std::size_t>(first));
    }
    running = std::move(next);
  }
  return steps.result;
}

EmbedSteps SentenceEncoder::embed_steps(std::span<const std::string> sentences, int batch) {
  if (batch < 0) throw InvalidArgument("embed: a batch of {}; expected at least 1", batch);
  return EmbedSteps(std::make_shared<EmbedSteps::Impl>(impl_, tokenizer().encode_batch(sentences),
                                                       batch ? batch : impl_->options.batch));
}

struct EncoderLoader::Impl {
  Impl(ModelFiles f, Device d) : files(std::move(f)), device(std::move(d)) {}

  // Memory of the device for bytes of the file.
  struct Target {
    std::uint64_t begin, end;
    Buffer buffer;
  };

  ModelFiles files;
  Device device;
  std::vector<std::byte> header;
  std::uint64_t at = 0, size = 0;  // both 0 until the header is there
  std::vector<Target> targets;     // in the order of the file
  std::size_t next = 0;
  EncoderWeights weights;

  std::string source() const { return (files.sentence.transformer / "model.safetensors").string(); }

  // Takes what belongs to the header; returns the rest.
  std::span<const std::byte> take_header(std::span<const std::byte> bytes) {
    const auto fill = [&](std::uint64_t wanted) {
      const auto part = bytes.first(std::min<std::uint64_t>(bytes.size(), wanted - header.size()));
      header.insert(header.end(), part.begin(), part.end());
      bytes = bytes.subspan(part.size());
      return header.size() == wanted;
    };
    if (header.empty()) refuse_git_lfs_pointer({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, source());
    if (header.size() < SafeTensors::kLengthBytes && !fill(SafeTensors::kLengthBytes)) return bytes;
    if (fill(SafeTensors::header_size(header, source()))) begin(SafeTensors::parse_header(header, source()));
    return bytes;
  }

  // Makes room for the weights of the encoder.
  void begin(const SafeTensors& file) {
    size = header.size();
    for (const std::string& name : file.names()) size = std::max(size, file.position(name).second);
    at = header.size();
    weights = read_weights(files.encoder, files.sentence, file, [&](const std::string& name, const TensorData& data) {
      const auto [first, last] = file.position(name);
      Weight weight;
      if (device.is_gpu()) {
        weight.tensor = Tensor(device, data.dtype, data.shape);
        targets.push_back({first, last, weight.tensor.view().buffer});
      } else {
        const auto data_size = static_cast<std::size_t>(last - first);
        const auto memory = std::make_shared<const Buffer>(device.allocate(data_size));
        weight.data = {data.dtype, data.shape, {memory->data(), data_size}, memory};
        targets.push_back({first, last, *memory});
      }
      return weight;
    });
    std::ranges::sort(targets, {}, &Target::begin);
  }

  void take(std::span<const std::byte> bytes) {
    if (size == 0) bytes = take_header(bytes);
    if (bytes.size() > size - at) {
      throw FormatError("{}: there is more than the {} bytes that its header tells", source(), size);
    }
    while (!bytes.empty()) {
      // To the end of a weight, or to the beginning of the next one.
      const bool wanted = next < targets.size() && targets[next].begin <= at;
      const std::uint64_t end = wanted ? targets[next].end : next < targets.size() ? targets[next].begin : size;
      const auto part = bytes.first(std::min<std::uint64_t>(bytes.size(), end - at));
      if (wanted) device.upload(targets[next].buffer, at - targets[next].begin, part);
      at += part.size();
      bytes = bytes.subspan(part.size());
      if (wanted && at == end) ++next;
    }
  }
};

EncoderLoader::EncoderLoader(const std::filesystem::path& model_dir, Device device, EmbedOptions options) try
    : impl_(std::make_shared<Impl>(ModelFiles(model_dir, std::move(options)), std::move(device))) {
} catch (const std::filesystem::filesystem_error& e) {
  throw IoError("{}", e.what());
}

void EncoderLoader::take(std::span<const std::byte> bytes) { impl_->take(bytes); }
const Device& EncoderLoader::device() const { return impl_->device; }
std::uint64_t EncoderLoader::size() const { return impl_->size; }

SentenceEncoder EncoderLoader::finish() {
  Impl& m = *impl_;
  if (m.size == 0 || m.at < m.size) {
    throw FormatError("{}: {} bytes of {}; the download may have been cut off", m.source(),
                      m.size == 0 ? m.header.size() : m.at, m.size == 0 ? "its header" : std::to_string(m.size));
  }
  // Half floats are widened once.
  std::vector<Tensor> widened;
  for_each_weight(m.weights, [&](Weight& w) {
    if (!w.tensor.defined() || w.tensor.dtype() == DType::f32) return;
    w.tensor = cast(w.tensor, DType::f32);
    widened.push_back(w.tensor);
  });
  if (!widened.empty()) eval(widened);
  return SentenceEncoder(std::make_shared<SentenceEncoder::Impl>(std::move(m.files), m.device, std::move(m.weights)));
}

}  // namespace weft::models
