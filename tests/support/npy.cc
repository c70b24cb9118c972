#include "support/npy.h"

#include <charconv>
#include <cstring>
#include <fstream>

#include "support/data.h"
#include "weft/error.h"

namespace weft::test {
namespace {

// The text between `open` and `close` after the header's key.
std::string field(const std::string& header, const std::string& key, char open, char close, const std::string& name) {
  const std::size_t at = header.find("'" + key + "':");
  const std::size_t begin = at == std::string::npos ? at : header.find(open, at + key.size() + 3);
  const std::size_t end = begin == std::string::npos ? begin : header.find(close, begin + 1);
  if (end == std::string::npos) throw FormatError("{}: no '{}' in the header of this .npy file", name, key);
  return header.substr(begin + 1, end - begin - 1);
}

DType parse_type(const std::string& text, const std::string& name) {
  constexpr std::pair<std::string_view, DType> types[] = {
      {"<f4", DType::f32}, {"<f2", DType::f16}, {"<f8", DType::f64}, {"|i1", DType::i8},      {"<i2", DType::i16},
      {"<i4", DType::i32}, {"<i8", DType::i64}, {"|u1", DType::u8},  {"<u2", DType::u16},     {"<u4", DType::u32},
      {"<u8", DType::u64}, {"<c8", DType::c64}, {"|b1", DType::boolean}};
  for (const auto& [spelling, type] : types) {
    if (text == spelling) return type;
  }
  throw FormatError("{}: element type {} is not read", name, text);
}

}  // namespace

View load_npy(const std::string& name) {
  const std::string path = data_path(name).string();
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError("{}: cannot be opened; the scripts in tests/reference make it", path);
  char magic[10];
  file.read(magic, sizeof magic);
  if (!file || std::memcmp(magic, "\x93NUMPY\x01\x00", 8) != 0) {
    throw FormatError("{}: no .npy file of version 1", path);
  }
  std::uint16_t length;
  std::memcpy(&length, magic + 8, 2);
  std::string header(length, ' ');
  file.read(header.data(), length);
  const DType type = parse_type(field(header, "descr", '\'', '\'', path), path);
  if (header.find("'fortran_order': False") == std::string::npos) throw FormatError("{}: not in C order", path);
  const std::string sizes = field(header, "shape", '(', ')', path);
  Shape shape;
  for (const char* p = sizes.data(); p < sizes.data() + sizes.size();) {
    std::int64_t n = 0;
    const auto [next, error] = std::from_chars(p, sizes.data() + sizes.size(), n);
    if (error == std::errc()) shape.push_back(n);
    p = error == std::errc() ? next : p + 1;
  }
  const std::uint64_t bytes = byte_size(type, static_cast<std::uint64_t>(element_count(shape)));
  View view(Buffer::host((bytes + 15) / 16 * 16), 0, type, shape);
  file.read(reinterpret_cast<char*>(view.buffer.data()), static_cast<std::streamsize>(bytes));
  if (static_cast<std::uint64_t>(file.gcount()) != bytes) throw FormatError("{}: ends early", path);
  return view;
}

}  // namespace weft::test
