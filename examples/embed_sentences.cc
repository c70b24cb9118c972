// Sentences to vectors in C++.  embed_sentences MODEL_DIR
#include <cstdio>

#include "weft/error.h"
#include "weft/models.h"

using namespace weft;

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: embed_sentences MODEL_DIR\n");
    return 2;
  }
  const std::string directory = argv[1];
  const std::vector<std::string> sentences = {"A cat sleeps on the sofa.", "A kitten naps on the couch.",
                                              "The stock market fell today."};

  auto encoder = models::load(directory);             // on the best device, or $WEFT_DEVICE
  auto vectors = encoder.embed(sentences);            // [n, 384], still on the device
  std::vector<float> values = vectors.read<float>();  // the only place that waits

  const auto cosine = [&](int i, int j) {  // the vectors are normalised
    double sum = 0;
    for (int k = 0; k < encoder.dimension(); ++k) {
      sum += values[i * encoder.dimension() + k] * values[j * encoder.dimension() + k];
    }
    return sum;
  };
  std::printf("cat and kitten: %.3f, cat and stock market: %.3f\n", cosine(0, 1), cosine(0, 2));
  return cosine(0, 1) > cosine(0, 2) ? 0 : 1;
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
