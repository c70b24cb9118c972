// NumPy's .npy format.
// Source: NumPy Enhancement Proposal 1 (Kern, 2007) and numpy/lib/_format_impl.py: the magic "\x93NUMPY", two bytes of
// version (1.0, 2.0, 3.0), the length of the header in two bytes (1.0) or four, and the header, a Python dictionary:
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
// then the elements.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "files/write.h"
#include "weft/tensor_data.h"
#include "weft/tensor_type.h"

namespace weft {

struct NpyHeader {
  TensorType type;             // as NumPy calls it
  bool fortran_order = false;  // the first axis is the one whose elements are neighbours
  bool big_endian = false;
};

// The bytes of a file or a member of an archive. Of a Fortran-ordered array `data` is the transposed one, all of whose
// axes are in reverse order.
struct NpyArray {
  TensorData data;
  bool fortran_order = false;
};

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";
// So many bytes from the start tell how long the header is; a file that is shorter has none.
inline constexpr std::size_t kNpyPrefix = 12;
// Bytes before the elements. Throws FormatError unless a file that begins so can be an .npy file.
std::size_t npy_header_size(std::span<const std::byte> prefix, std::string_view source);
// Of all the bytes before the elements. Throws FormatError; Unsupported for types and ranks that Weft does not have.
// The elements' bytes are as many as an int64 can count.
NpyHeader parse_npy_header(std::span<const std::byte> header, std::string_view source);
// The elements, of which there are as many as the header says. `owner` keeps `elements` alive; big-endian ones are
// converted in memory of their own.
NpyArray npy_array(const NpyHeader& header, std::span<const std::byte> elements, std::shared_ptr<const void> owner);
// A whole file, which may go on after the array, as NumPy reads it. Throws FormatError, Unsupported.
NpyArray parse_npy(std::span<const std::byte> file, std::shared_ptr<const void> owner, std::string_view source);

// What NumPy writes before the elements of such an array in C order. Throws TypeError for types that NumPy lacks.
std::string npy_header(const TensorType& type);
void write_npy(const std::filesystem::path& path, std::string source, const TensorType& type, const EntryData& data);

// Memory for `size` bytes. Throws OutOfMemory, naming what it is for.
std::shared_ptr<std::byte[]> allocate_elements(std::uint64_t size, std::string_view source);

}  // namespace weft
