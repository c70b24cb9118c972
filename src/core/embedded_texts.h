// The texts that the build embeds (cmake/embed_texts.cmake): the pages' markup, styles and scripts.
#pragma once

namespace weft {

struct EmbeddedText {
  const char* path;  // in src/
  const char* text;
};
extern const EmbeddedText kEmbeddedTexts[];  // ends with a null path

}  // namespace weft
