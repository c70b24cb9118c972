// Any bytes must be a well-formed .npy file or .npz archive whose arrays have the bytes that their types take, or cause
// a typed error.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "check.h"
#include "files/npy.h"
#include "files/npz.h"
#include "weft/error.h"

namespace {

using Text = std::shared_ptr<const std::string>;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

volatile std::uint8_t sink;

void check(const weft::NpyArray& array) {
  const weft::TensorData& data = array.data;
  FUZZ_CHECK(data.bytes.size() == weft::byte_size({data.dtype, data.shape}));
  for (const std::byte byte : data.bytes) sink = static_cast<std::uint8_t>(byte);
}

template <class F>
void reads(const F& read) {
  try {
    read();
  } catch (const weft::FormatError&) {
  } catch (const weft::Unsupported&) {
  }
}

void parse(const Text& file) {
  reads([&] {
    const weft::NpyArray array = weft::parse_npy(bytes_of(*file), file, "fuzz");
    check(array);
    // What is written of it is read as the same.
    const weft::TensorType type{array.data.dtype, array.data.shape};
    std::string again = weft::npy_header(type);
    FUZZ_CHECK(again.size() % 64 == 0);
    again.append(reinterpret_cast<const char*>(array.data.bytes.data()), array.data.bytes.size());
    const weft::NpyArray same = weft::parse_npy(bytes_of(again), nullptr, "fuzz");
    FUZZ_CHECK(!same.fortran_order && same.data.dtype == type.dtype && same.data.shape == type.shape);
    FUZZ_CHECK(std::ranges::equal(same.data.bytes, array.data.bytes));
  });
  reads([&] {
    const weft::NpzFile archive(bytes_of(*file), file, "fuzz");
    for (std::size_t i = 0; i < archive.names().size(); ++i) {
      reads([&] { check(archive.read(i)); });
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  parse(std::make_shared<const std::string>(input));

  // Again with what makes everything up to the first line feed the dictionary.
  const std::size_t end = std::min(input.find('\n'), size);
  std::string file("\x93NUMPY\x02\x00", 8);
  for (int i = 0; i < 4; ++i) file += static_cast<char>(end >> (8 * i));
  file += input.substr(0, end);
  if (end < size) file += input.substr(end + 1);
  parse(std::make_shared<const std::string>(std::move(file)));
  return 0;
}
