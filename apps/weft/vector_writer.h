// The vectors of `weft embed`, written in order.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "output.h"

namespace weft::app {

// What the name of --output ends in decides the form; case does not matter.
enum class VectorFormat : std::uint8_t {
  json_lines,   // {"embedding": [0.1, …]} a line
  npy,          // NumPy's: f32 [sentences, dimension]
  safetensors,  // the same, as the tensor "embeddings"
};

// '-', names without an extension, and .jsonl and .ndjson are JSON lines. Throws InvalidArgument for other extensions.
VectorFormat vector_format(const std::string& path);

class VectorWriter {
 public:
  // `advice`: what to try if values are not finite.
  VectorWriter(const std::string& path, int dimension, std::string advice);
  // Rows of `dimension` values. Throws InvalidArgument, naming the sentence, for values that are not finite.
  void write(std::span<const float> rows);
  void commit();

 private:
  void write_json(std::span<const float> rows);
  // What stands before the vectors: as many bytes whatever their number, so that it can be filled in at the end.
  std::string header() const;

  VectorFormat format_;
  Output out_;
  int dimension_;
  std::string advice_;
  std::uint64_t count_ = 0;
  std::string line_;
};

}  // namespace weft::app
