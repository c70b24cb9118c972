#include <algorithm>
#include <numeric>
#include <optional>

#include "core/format.h"
#include "core/system.h"
#include "cpu/executor.h"
#include "models/encoder_graph.h"
#include "weft/error.h"
#include "weft/kernels.h"
#include "weft/log.h"
#include "weft/models.h"

namespace weft::models {
namespace {

// Lengths are rounded up to this, so that few shapes are compiled.
constexpr std::int64_t kLengthStep = 8;
// Bytes of a batch's largest tensor, so that memory does not grow with the batch that is asked for. Batches of so many
// tokens keep any device busy.
constexpr std::int64_t kLargestTensor = 256 << 20;

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

void prefetch(const EncoderWeights& weights) {
  for (const TensorData* t : {&weights.words, &weights.positions}) weft::prefetch(t->bytes);
  for (const LayerWeights& layer : weights.layers) {
    for (const LinearWeights* l :
         {&layer.query, &layer.key, &layer.value, &layer.attention_output, &layer.intermediate, &layer.output}) {
      weft::prefetch(l->weight.bytes);
    }
  }
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

}  // namespace

struct SentenceEncoder::Impl {
  Impl(Device d, std::optional<text::Tokenizer> t, EmbedOptions o)
      : device(std::move(d)), tokenizer(std::move(t)), options(std::move(o)), executables(device) {}

  Device device;
  std::optional<text::Tokenizer> tokenizer;
  EmbedOptions options;
  EncoderConfig encoder;
  SentenceConfig sentence;
  EncoderWeights weights;
  ExecutableCache executables;
  std::int64_t dimension = 0;
  std::int64_t unpooled = 0;  // tokens of a prompt that does not take part in the pooling
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

  Executable executable(std::int64_t batch, std::int64_t length) {
    return executables.get(std::format("{}x{}", batch, length), [&] { return graph(batch, length); }, options.compile);
  }

  Tensor tensor(Buffer& buffer, DType dtype, const Shape& shape) const {
    const std::uint64_t bytes = byte_size(dtype, static_cast<std::uint64_t>(element_count(shape)));
    if (buffer.size() < bytes) buffer = device.allocate(bytes);
    return {device, View(buffer, 0, dtype, shape)};
  }

  // Sentences of `length` that fit into one batch: no tensor may exceed the device's binding limit, or kLargestTensor.
  std::int64_t batch_limit(std::int64_t length) const {
    const std::int64_t row = length * std::max(3 * encoder.hidden, encoder.intermediate) * 4;
    std::int64_t limit = std::min<std::int64_t>(options.batch, kLargestTensor / row);
    if (device.is_gpu()) {
      limit = std::min(limit, static_cast<std::int64_t>(device.gpu().capabilities().max_binding) / row);
    }
    return std::max<std::int64_t>(limit, 1);
  }

  // Runs rows [first, first + batch) of `order` and writes their embeddings to the same rows of `sorted`. The future is
  // ready when they are there.
  Future<void> run_batch(std::span<const text::Ids> all, std::span<const std::int32_t> order, std::int64_t first,
                         std::int64_t batch, std::int64_t length, const View& sorted) {
    std::vector<std::int32_t> host_ids(static_cast<std::size_t>(batch * length), tokenizer ? tokenizer->pad_id() : 0);
    std::vector<std::int32_t> host_lengths;
    for (std::int64_t i = 0; i < batch; ++i) {
      const text::Ids& row = all[order[first + i]];
      std::ranges::copy(row, host_ids.begin() + i * length);
      host_lengths.push_back(static_cast<std::int32_t>(row.size()));
    }
    Executable exe = executable(batch, length);
    Tensor in = tensor(ids, DType::i32, {batch, length});
    Tensor in_lengths = tensor(lengths, DType::i32, {batch});
    const Tensor out = tensor(result, DType::f32, {batch, dimension});
    in.write(std::as_bytes(std::span(host_ids)));
    in_lengths.write(std::as_bytes(std::span(host_lengths)));
    exe.run({{"ids", in}, {"lengths", in_lengths}}, {{"embeddings", out}});
    const View target(sorted.buffer, sorted.offset + static_cast<std::uint64_t>(first * dimension) * sizeof(float),
                      DType::f32, {batch, dimension});
    return run_kernels(device, [&](Stream& stream) { kernels::copy(stream, out.view(), target); });
  }
};

SentenceEncoder SentenceEncoder::load(const std::filesystem::path& model_dir, Device device, EmbedOptions options) {
  return load(model_dir, Future<Device>({}, [device] { return device; }), std::move(options));
}

SentenceEncoder SentenceEncoder::load(const std::filesystem::path& model_dir, Future<Device> device,
                                      EmbedOptions options) {
  return load_async(model_dir, std::move(device), std::move(options)).get();
}

Future<SentenceEncoder> SentenceEncoder::load_async(const std::filesystem::path& model_dir, Future<Device> device,
                                                    EmbedOptions options) try {
  if (options.batch < 1) throw InvalidArgument("embed: a batch of {}; expected at least 1", options.batch);
  SentenceConfig sentence = read_sentence_config(model_dir);
  EncoderConfig encoder = read_encoder_config(sentence.transformer);
  EncoderWeights weights = read_weights(encoder, sentence);
  log_mark("weights are mapped");
  std::optional<text::Tokenizer> tokenizer;
  if (options.tokenizer) tokenizer = load_tokenizer(model_dir, encoder, options.prompt);
  // The last step that needs no device: reads the pages of the weights while it opens.
  if (!device.ready()) prefetch(weights);
  log_mark("waiting for the device");
  return std::move(device).map([encoder = std::move(encoder), sentence = std::move(sentence),
                                weights = std::move(weights), tokenizer = std::move(tokenizer),
                                options = std::move(options)](Device opened) {
    log_mark("the device is open");
    auto impl = std::make_shared<Impl>(std::move(opened), tokenizer, options);
    impl->encoder = encoder;
    impl->sentence = sentence;
    impl->weights = weights;
    if (!sentence.include_prompt && impl->tokenizer) {
      impl->unpooled = static_cast<std::int64_t>(impl->tokenizer->prompt_length());
    }
    impl->dimension = embedding_dimension(impl->encoder, impl->sentence);
    if (!impl->options.compile.constants) impl->options.compile.constants = make_constant_store(impl->device);
    return SentenceEncoder(std::move(impl));
  });
} catch (const std::filesystem::filesystem_error& e) {
  throw IoError("{}", e.what());
}

void SentenceEncoder::restore(Device device) {
  Impl& m = *impl_;
  m.ids = m.lengths = m.result = {};
  m.device = std::move(device);
  m.options.compile.constants = make_constant_store(m.device);
  m.executables = ExecutableCache(m.device);
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
  return embed_ids(tokenizer().encode_batch(sentences));
}

Tensor SentenceEncoder::embed_ids(std::span<const text::Ids> ids) {
  Impl& m = *impl_;
  const auto count = static_cast<std::int64_t>(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i].empty() || static_cast<std::int64_t>(ids[i].size()) > m.encoder.positions) {
      throw InvalidArgument("embed: row {} has {} ids, expected 1 to {}", i, ids[i].size(), m.encoder.positions);
    }
  }
  Tensor result(m.device, DType::f32, {count, m.dimension});
  if (count == 0) return result;

  // Longest first: the largest buffers are allocated once, and rows of one batch have nearly the same length.
  std::vector<std::int32_t> order(ids.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::int32_t i) { return ids[i].size(); });

  const Tensor sorted(m.device, DType::f32, {count, m.dimension});
  Future<void> running;
  for (std::int64_t first = 0; first < count;) {
    const auto longest = static_cast<std::int64_t>(ids[order[first]].size());
    const std::int64_t length = std::min((longest + kLengthStep - 1) / kLengthStep * kLengthStep, m.encoder.positions);
    const std::int64_t batch = std::min(m.batch_limit(length), count - first);
    Future<void> next = m.run_batch(ids, order, first, batch, length, sorted.view());
    if (m.options.progress && first > 0) {
      running.get();  // while the next batch is under way
      m.options.progress(static_cast<std::size_t>(first));
    }
    running = std::move(next);
    first += batch;
  }

  // Back into the caller's order: row i of the result is the sorted row that holds sentence i.
  std::vector<std::int32_t> rank(ids.size());
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<std::int32_t>(i);
  Tensor indices(m.device, DType::i32, {count});
  indices.write(std::as_bytes(std::span(rank)));
  run_kernels(m.device,
              [&](Stream& stream) { kernels::gather(stream, sorted.view(), indices.view(), result.view(), 0); });
  return result;
}

}  // namespace weft::models
