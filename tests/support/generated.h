// Generates the same strings as tests/reference/generated.py.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::test {

// String number `index`; `words` are mixed in.
std::string generated_string(std::uint64_t index, std::span<const std::string> words = {});

constexpr std::uint64_t kHashStart = 0xcbf29ce484222325u;
// FNV-1a, 64 bits.
std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t hash = kHashStart);
// The hash of the ids as 32-bit little endian.
std::uint64_t hash_ids(std::span<const std::int32_t> ids);

// Files of tests/data.
std::string read_data(const std::string& name);
std::vector<std::uint64_t> read_hashes(const std::string& name);  // 64-bit little endian
std::vector<std::string> reference_sentences();

}  // namespace weft::test
