// Sentences to vectors in C++.  embed_sentences MODEL_DIR
#include <cstdio>

#include "weft/error.h"
#include "weft/models.h"

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: embed_sentences MODEL_DIR\n");
    return 2;
  }
  auto encoder = weft::models::load(argv[1]);
  const std::vector<std::string> sentences = {"A cat sleeps on the sofa.", "A kitten naps on the couch.",
                                              "The stock market fell today."};
  const auto vectors = encoder.embed(sentences).read<float>();  // [3, 384], normalised
  const auto cosine = [&](int i, int j) {
    double sum = 0;
    for (int k = 0; k < encoder.dimension(); ++k) {
      sum += vectors[i * encoder.dimension() + k] * vectors[j * encoder.dimension() + k];
    }
    return sum;
  };
  std::printf("cat and kitten: %.3f, cat and stock market: %.3f\n", cosine(0, 1), cosine(0, 2));
  return cosine(0, 1) > cosine(0, 2) ? 0 : 1;
} catch (const weft::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
