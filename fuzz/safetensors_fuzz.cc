// Any bytes must be a well-formed file whose tensors lie inside it, or cause a typed error.
#include <cstdint>
#include <memory>
#include <string>

#include "check.h"
#include "files/safetensors_header.h"
#include "weft/error.h"
#include "weft/safetensors.h"

namespace {

volatile std::uint8_t sink;

void parse(std::shared_ptr<const std::string> file) {
  const auto bytes = std::as_bytes(std::span(*file));
  try {
    const auto weights = weft::SafeTensors::parse(bytes, file, "fuzz");
    std::size_t total = 0;
    for (const auto& name : weights.names()) try {
        const auto& tensor = weights.at(name);
        FUZZ_CHECK(tensor.bytes.size() ==
                   weft::byte_size(tensor.dtype, static_cast<std::uint64_t>(weft::element_count(tensor.shape))));
        for (const std::byte byte : tensor.bytes) sink = static_cast<std::uint8_t>(byte);
        total += tensor.bytes.size();
      } catch (const weft::Unsupported&) {  // this one; the others are read
      }
    FUZZ_CHECK(total <= bytes.size());
  } catch (const weft::FormatError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  parse(std::make_shared<const std::string>(input));

  // Again with a length before it that makes everything up to the first line feed the header.
  const std::size_t end = std::min(input.find('\n'), size);
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(end >> (8 * i));
  file += input.substr(0, end);
  if (end < size) file += input.substr(end + 1);
  parse(std::make_shared<const std::string>(std::move(file)));

  try {
    for (const auto& [tensor, shard] : weft::parse_safetensors_index(input, "fuzz")) {
      FUZZ_CHECK(shard.find('/') == std::string::npos);
    }
  } catch (const weft::FormatError&) {
  }
  return 0;
}
