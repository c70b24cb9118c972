// Models, for api/models.js.
#include <emscripten.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "exports.h"
#include "weft/device.h"
#include "weft/error.h"
#include "weft/models.h"

namespace weft::web {
namespace {

namespace fs = std::filesystem;

// The work of embedding some texts, and what must live until it is done.
struct Embedding {
  models::SentenceEncoder encoder;
  models::EmbedSteps steps;
};

}  // namespace
}  // namespace weft::web

using namespace weft;
using namespace weft::web;

extern "C" {

// A small file of a model, in memory, until weft_loader() has read it. Its path is what errors call it: a page's URL.
EMSCRIPTEN_KEEPALIVE void weft_file(const char* path, const std::byte* bytes, std::size_t size) {
  guarded([&] {
    const fs::path file(path);
    fs::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes), static_cast<std::streamsize>(size));
    if (!out.flush()) throw IoError(std::string(path) + ": does not fit into the module's memory");
  });
}

// Begins to load the encoder whose files, but for the weights, are in that directory, which is removed. `device`: null
// for the default one. `options`: {"prompt"}.
EMSCRIPTEN_KEEPALIVE models::EncoderLoader* weft_loader(const char* directory, const Device* device,
                                                        const char* options) {
  return guarded([&] {
    const auto remove = [](const char* path) {
      std::error_code ignored;
      fs::remove_all(path, ignored);
    };
    const std::unique_ptr<const char, decltype(remove)> files(directory, remove);
    const json given = json::parse(options);
    models::EmbedOptions embed;
    if (given.contains("prompt")) embed.prompt = given["prompt"].get<std::string>();
    return new models::EncoderLoader(directory, device ? *device : default_device(), std::move(embed));
  });
}

EMSCRIPTEN_KEEPALIVE void weft_release_loader(models::EncoderLoader* loader) { delete loader; }

// The next bytes of the weights. Returns how many the file has in all, 0 if that is not known yet, as a text.
EMSCRIPTEN_KEEPALIVE const char* weft_loader_take(models::EncoderLoader* loader, const std::byte* bytes,
                                                  std::size_t size) {
  return guarded([&] {
    loader->take({bytes, size});
    return returned(std::to_string(loader->size()));
  });
}

// Done when the device has what was handed over.
EMSCRIPTEN_KEEPALIVE void weft_loader_wait(const models::EncoderLoader* loader, int promise) {
  guarded([&] { settle(loader->device().async_wait(), promise, [promise] { weft_resolve(promise, "null"); }); });
}

// The encoder: {"address", "dimension", "maxLength", "gpu"}.
EMSCRIPTEN_KEEPALIVE const char* weft_loader_finish(models::EncoderLoader* loader) {
  return guarded([&] {
    auto encoder = std::make_unique<models::SentenceEncoder>(loader->finish());
    json made = {{"dimension", encoder->dimension()},
                 {"maxLength", encoder->tokenizer().max_length()},
                 {"gpu", encoder->device().is_gpu()}};
    made["address"] = address_of(encoder.release());
    return returned(made.dump());
  });
}

EMSCRIPTEN_KEEPALIVE void weft_release_encoder(models::SentenceEncoder* encoder) { delete encoder; }

// The ids of each text: [[101, …], …].
EMSCRIPTEN_KEEPALIVE const char* weft_encode(const models::SentenceEncoder* encoder, const char* texts) {
  return guarded([&] {
    const auto all = json::parse(texts).get<std::vector<std::string>>();
    return returned(json(encoder->tokenizer().encode_batch(all)).dump());
  });
}

EMSCRIPTEN_KEEPALIVE Embedding* weft_embed(const models::SentenceEncoder* encoder, const char* texts, int batch) {
  return guarded([&] {
    models::SentenceEncoder own = *encoder;
    models::EmbedSteps steps = own.embed_steps(json::parse(texts).get<std::vector<std::string>>(), batch);
    return new Embedding{std::move(own), std::move(steps)};
  });
}

EMSCRIPTEN_KEEPALIVE void weft_release_embedding(Embedding* embedding) { delete embedding; }

// Computes the next batch; gives how many texts are done.
EMSCRIPTEN_KEEPALIVE void weft_embed_next(Embedding* embedding, int promise) {
  guarded([&] {
    const models::EmbedSteps steps = embedding->steps;
    settle(embedding->steps.next(), promise,
           [steps, promise] { weft_resolve(promise, std::to_string(steps.sentences_done()).c_str()); });
  });
}

// The vectors: a tensor.
EMSCRIPTEN_KEEPALIVE const char* weft_embed_result(const Embedding* embedding) {
  return guarded([&] { return returned(given_away(embedding->steps.result()).dump()); });
}

}  // extern "C"
