#include "files/npy.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <new>

#include "core/checked.h"
#include "core/format.h"
#include "core/git_lfs.h"
#include "core/host_memory.h"
#include "core/in_quotes.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr std::size_t kLargestHeader = 1 << 20;  // bytes; NumPy itself reads 10,000 unless told otherwise

// NumPy's code for each type, kind and bytes, which it writes; and what else numpy.dtype() takes for it, separated by
// spaces: names of NumPy, of C and of Python, and C's letters. C's long and pointers have 64 bits.
struct NumPyType {
  DType dtype;
  std::string_view code, others;
};
constexpr NumPyType kTypes[] = {{DType::f16, "f2", "float16 half e"},
                                {DType::f32, "f4", "float32 single f"},
                                {DType::f64, "f8", "float64 double float d"},
                                {DType::i8, "i1", "int8 byte b"},
                                {DType::i16, "i2", "int16 short h"},
                                {DType::i32, "i4", "int32 intc i"},
                                {DType::i64, "i8", "int64 int int_ intp long longlong l n p q"},
                                {DType::u8, "u1", "uint8 ubyte B"},
                                {DType::u16, "u2", "uint16 ushort H"},
                                {DType::u32, "u4", "uint32 uintc I"},
                                {DType::u64, "u8", "uint64 uint uintp ulong ulonglong L N P Q"},
                                {DType::c64, "c8", "complex64 csingle F"},
                                {DType::boolean, "b1", "bool bool_ ?"}};

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t end = 0; !words.empty(); words.remove_prefix(std::min(end + 1, words.size()))) {
    end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
  }
  return false;
}

// What NumPy calls a type that Weft does not have; empty: no type of NumPy's.
std::string_view foreign_type(std::string_view code) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"c16 complex128 complex cdouble D", "complex128"},
      {"c32 complex256 clongdouble G", "complex256"},
      {"c24 complex192", "complex192"},
      {"f16 float128 longdouble g", "float128"},
      {"f12 float96", "float96"},
      {"f1", "an 8-bit float of ml_dtypes, which NumPy cannot read either"},
      {"object object_", "Python objects"},
      {"bytes bytes_ c", "bytes"},
      {"str str_ unicode", "text"},
      {"void", "raw bytes"},
      {"datetime64", "datetime64"},
      {"timedelta64", "timedelta64"}};
  for (const auto& [words, name] : kNames) {
    if (has_word(words, code)) return name;
  }
  switch (code.empty() ? '\0' : code[0]) {
    case 'V':
      return "raw bytes; ml_dtypes stores bfloat16 and other types so, without saying which";
    case 'S':
    case 'a':
      return "bytes";
    case 'U':
      return "text";
    case 'O':
      return "Python objects";
    case 'M':
      return "datetime64";
    case 'm':
      return "timedelta64";
    case 'T':
      return "StringDType";
    default:
      return {};
  }
}

// A reader of the header's dictionary, which is Python's notation of one, in any order.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, std::string_view source, bool python2)
      : text_(text), source_(source), python2_(python2) {}

  NpyHeader read() {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr") {
        once(kDescr, key);
        descr();
      } else if (key == "fortran_order") {
        once(kOrder, key);
        header_.fortran_order = boolean();
      } else if (key == "shape") {
        once(kShape, key);
        shape();
      } else {
        fail("the unknown key {}", in_quotes(key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (at_ != text_.size()) fail("{} after the dictionary", next());
    for (const auto& [bit, key] : {std::pair(kDescr, "descr"), {kOrder, "fortran_order"}, {kShape, "shape"}}) {
      if (!(seen_ & bit)) fail("no '{}'", key);
    }
    check_size();
    return header_;
  }

 private:
  static constexpr int kDescr = 1, kOrder = 2, kShape = 4;

  void once(int bit, std::string_view key) {
    if (seen_ & bit) fail("'{}' twice", key);
    seen_ |= bit;
  }

  void descr() {
    skip_spaces();
    if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '(')) {
      throw Unsupported(
          "{}: the array's type is the structured {}; Weft has numbers only: save each field as an "
          "array",
          source_, in_quotes(next_text()));
    }
    const std::string_view descr = string();
    std::string_view code = descr;
    if (!code.empty() && std::string_view("<>|=").find(code[0]) != std::string_view::npos) code.remove_prefix(1);
    const auto* const type =
        std::ranges::find_if(kTypes, [&](const NumPyType& t) { return code == t.code || has_word(t.others, code); });
    if (code.empty() || type == std::end(kTypes)) {
      const std::string_view foreign = foreign_type(code);
      if (foreign.empty()) fail("the unknown type {}; expected one such as '<f4'", in_quotes(descr));
      throw Unsupported("{}: the array's type is {} ({}), which Weft does not have; convert it in NumPy first", source_,
                        in_quotes(descr), foreign);
    }
    header_.type.dtype = type->dtype;
    header_.big_endian = descr[0] == '>';
  }

  // "(2, 3)", "(2,)", "()"; Python 2 wrote "(2L,)".
  void shape() {
    expect('(');
    bool comma = true;
    int rank = 0;
    while (!accept(')')) {
      if (!comma) fail("{} in the shape, expected a comma", next());
      skip_spaces();
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) fail("{} in the shape, expected sizes from 0 to 2^63 - 1", next());
      at_ = static_cast<std::size_t>(end - text_.data());
      if (python2_ && at_ < text_.size() && text_[at_] == 'L') ++at_;
      if (++rank <= kMaxRank) header_.type.shape.push_back(size);
      comma = accept(',');
    }
    // Without its comma Python's (3) is a number.
    if (rank == 1 && !comma) fail("a number as the shape, expected a tuple such as (3,)");
    if (rank > kMaxRank) {
      throw Unsupported("{}: the array has {} dimensions, Weft has at most {}", source_, rank, kMaxRank);
    }
  }

  // Also of an array without elements, because its strides are computed.
  void check_size() const {
    std::int64_t bytes = bits(header_.type.dtype) / 8;
    for (const std::int64_t size : header_.type.shape) {
      if (multiply_overflows(bytes, std::max<std::int64_t>(size, 1), bytes)) {
        fail("the shape {}, which takes more than 2^63 bytes", to_string(header_.type.shape));
      }
    }
  }

  bool boolean() {
    skip_spaces();
    for (const auto& [word, value] : {std::pair(std::string_view("True"), true), {std::string_view("False"), false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    fail("{} as 'fortran_order', expected True or False", next());
  }

  std::string_view string() {
    skip_spaces();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) fail("{}, expected a string", next());
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return value;
  }

  void skip_spaces() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool accept(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail("{}, expected \"{}\"", next(), c);
  }

  // What comes next, for messages: a bracket with what is in it, a string, a word, or another character.
  std::string next() const { return at_ < text_.size() ? in_quotes(next_text()) : "its end"; }
  std::string_view next_text() const {
    const auto is_any_of = [](char c, std::string_view set) { return set.find(c) != std::string_view::npos; };
    std::size_t at = at_;
    int depth = 0;
    do {
      const char c = text_[at++];
      if (is_any_of(c, "'\""))
        at = std::min(text_.find(c, at), text_.size() - 1) + 1;
      else if (is_any_of(c, "([{"))
        ++depth;
      else if (is_any_of(c, ")]}"))
        --depth;
      else if (!is_any_of(c, ",: \t\r\n"))
        while (at < text_.size() && !is_any_of(text_[at], "'\"()[]{},: \t\r\n")) ++at;
    } while (depth > 0 && at < text_.size());
    return text_.substr(at_, at - at_);
  }
  template <class... Args>
  [[noreturn]] void fail(std::format_string<Args...> format, Args&&... args) const {
    throw FormatError("{}: the .npy header has {} (at byte {} of the dictionary)", source_,
                      std::format(format, std::forward<Args>(args)...), at_);
  }

  std::string_view text_, source_;
  const bool python2_;
  std::size_t at_ = 0;
  int seen_ = 0;
  NpyHeader header_;
};

unsigned byte_at(std::span<const std::byte> bytes, std::size_t i) { return std::to_integer<unsigned>(bytes[i]); }
// Version 1.0 stores the header's length in two bytes.
std::size_t length_bytes(std::span<const std::byte> prefix) { return byte_at(prefix, kNpyMagic.size()) == 1 ? 2 : 4; }
std::size_t dictionary_at(std::span<const std::byte> prefix) { return kNpyMagic.size() + 2 + length_bytes(prefix); }

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Reverses the bytes of each number; a complex one has two.
void swap_bytes(DType dtype, std::span<std::byte> bytes) {
  const auto size = static_cast<std::ptrdiff_t>(dtype == DType::c64 ? 4 : bits(dtype) / 8);
  for (auto at = bytes.begin(); at != bytes.end(); at += size) std::reverse(at, at + size);
}

}  // namespace

std::shared_ptr<std::byte[]> allocate_elements(std::uint64_t size, std::string_view source) {
  try {
    // A system that overcommits memory would report the shortage by ending the process.
    if (size > physical_memory()) throw std::bad_alloc();
    return std::make_shared_for_overwrite<std::byte[]>(size);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("{}: the array takes {} bytes, which this machine's memory does not have", source, size);
  }
}

std::size_t npy_header_size(std::span<const std::byte> prefix, std::string_view source) {
  if (!as_text(prefix).starts_with(kNpyMagic)) {
    throw FormatError(
        "{}: expected an .npy array, which begins with \"\\x93NUMPY\", got {}", source,
        prefix.empty() ? "nothing" : in_quotes(as_text(prefix.first(std::min(prefix.size(), kNpyMagic.size())))));
  }
  if (prefix.size() < kNpyPrefix) {
    throw FormatError("{}: {} bytes are too few for an .npy array; it may have been cut off", source, prefix.size());
  }
  const unsigned major = byte_at(prefix, kNpyMagic.size()), minor = byte_at(prefix, kNpyMagic.size() + 1);
  if (major < 1 || major > 3 || minor != 0) {
    throw FormatError("{}: the .npy version is {}.{}, expected 1.0, 2.0 or 3.0", source, major, minor);
  }
  std::size_t length = 0;
  for (std::size_t i = length_bytes(prefix); i-- > 0;) length = length << 8 | byte_at(prefix, kNpyMagic.size() + 2 + i);
  if (length > kLargestHeader) {
    throw FormatError("{}: the .npy header claims {} bytes, at most {} are read", source, length, kLargestHeader);
  }
  return dictionary_at(prefix) + length;
}

NpyHeader parse_npy_header(std::span<const std::byte> header, std::string_view source) {
  const bool python2 = byte_at(header, kNpyMagic.size()) < 3;
  return HeaderReader(as_text(header.subspan(dictionary_at(header))), source, python2).read();
}

NpyArray npy_array(const NpyHeader& header, std::span<const std::byte> elements, std::shared_ptr<const void> owner) {
  NpyArray array{{header.type.dtype, header.type.shape, elements, std::move(owner)}, header.fortran_order};
  std::reverse(array.data.shape.begin(), header.fortran_order ? array.data.shape.end() : array.data.shape.begin());
  if (header.big_endian && bits(header.type.dtype) > 8) {
    const auto swapped = allocate_elements(elements.size(), "a big-endian .npy array");
    const std::span<std::byte> bytes(swapped.get(), elements.size());
    std::ranges::copy(elements, bytes.begin());
    swap_bytes(header.type.dtype, bytes);
    array.data.bytes = bytes;
    array.data.owner = swapped;
  }
  return array;
}

NpyArray parse_npy(std::span<const std::byte> file, std::shared_ptr<const void> owner, std::string_view source) {
  refuse_git_lfs_pointer(as_text(file), source);
  const std::size_t start = npy_header_size(file.first(std::min(file.size(), kNpyPrefix)), source);
  if (start > file.size()) {
    throw FormatError("{}: the .npy header ends at byte {}, the file has {}; it may have been cut off", source, start,
                      file.size());
  }
  const NpyHeader header = parse_npy_header(file.first(start), source);
  const std::uint64_t expected = byte_size(header.type);
  if (file.size() - start < expected) {
    throw FormatError("{}: {} takes {} bytes, the file has {} after its header; it may have been cut off", source,
                      to_string(header.type), expected, file.size() - start);
  }
  return npy_array(header, file.subspan(start, expected), std::move(owner));
}

std::string npy_header(const TensorType& type) {
  const auto* const numpy = std::ranges::find(kTypes, type.dtype, &NumPyType::dtype);
  if (numpy == std::end(kTypes)) {
    throw TypeError("NumPy's formats have no {}; save it as .safetensors, or cast it", name(type.dtype));
  }
  std::string shape;
  for (const std::int64_t size : type.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
  std::string header =
      std::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", bits(type.dtype) == 8 ? '|' : '<',
                  numpy->code, shape, type.shape.rank() == 1 ? "," : "");
  // Room for the first axis to grow in place to any size, as NumPy leaves it.
  if (type.shape.rank() > 0) header += std::string(21 - std::to_string(type.shape[0]).size(), ' ');
  // The elements begin at a multiple of 64 bytes. Where the header ends at one already, NumPy pads by 64.
  const std::size_t before = kNpyMagic.size() + 4 + header.size() + 1;
  header += std::string(64 - before % 64, ' ') + '\n';
  const std::size_t length = header.size();
  return std::string(kNpyMagic) + '\x01' + '\0' + static_cast<char>(length & 255) + static_cast<char>(length >> 8) +
         header;
}

void write_npy(const std::filesystem::path& path, std::string source, const TensorType& type, const EntryData& data) {
  FileWriter file(path, std::move(source));
  file.write(npy_header(type));
  file.write(data(0));
  file.close();
}

}  // namespace weft
